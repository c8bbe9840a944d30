"""What would have to change for a row to be in another cluster: the nearest point there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whyclust._checks import counted
from whyclust._clusters import cluster_meant, clusters_listed
from whyclust._frames import column_values, take_rows
from whyclust.answers._asked import Asked, read_asked
from whyclust.answers._changeable import Changeable
from whyclust.answers._near_data import NearData
from whyclust.answers._searching import Found, Search
from whyclust.explaining.choosing import positions_of, unfit_rows
from whyclust.explaining.explanation import Explanation
from whyclust.inputs.reading import InputTable
from whyclust.network.network import Neuralized
from whyclust.telling.rounding import compared, number
from whyclust.telling.sentences import join

if TYPE_CHECKING:
    import pandas as pd

# How far beyond the border the point lies: the first of these at which the network agrees.
STEPS = tuple(10.0**power for power in range(-9, -1))
# Changes that a sentence names.
_MOST_NAMED = 4


@dataclass(frozen=True, eq=False)
class SmallestChange:
    """The nearest point of another cluster.

    Attributes
    ----------
    row : label
        The row's label.
    point : frame or array of one row
        The row as it would have to be, in the user's columns; the clustering assigns it to `to`.
    own, to : cluster id
        The cluster the row is in, and the one of the point.
    distance : float
        From the row to the point, by `metric`.
    changes : DataFrame
        One line for each column that changes, the largest change first: ``column``, ``from`` and ``to``.
    step : float
        How far the point lies beyond the border, in units of the distance.
    metric : str
        The distance, in words.
    exact : bool
        Whether no point is nearer (but for the step); otherwise it is the nearest that a search has found.
    near_row : label or None
        With `near_data`: the actual row of the cluster that the point is near to.
    """

    row: Any
    point: Any
    own: Any
    to: Any
    distance: float
    changes: pd.DataFrame
    step: float
    metric: str
    exact: bool
    told: tuple[str, str]
    near_row: Any = None

    def describe(self) -> str:
        """Say in a sentence or two what would have to change."""
        lines = list(self.changes.itertuples(index=False))
        named = [_one(*line) for line in lines[:_MOST_NAMED]]
        left = len(lines) - len(named)
        parts = named + ([f"{counted(left, 'further column')} changed"] if left else [])
        only = "nearest" if self.exact else "nearest that was found"
        only += "" if self.near_row is None else f" that is plausible (like row {self.near_row})"
        return (
            f"Row {self.row}, which is in {self.told[0]}, would be in {self.told[1]} if {join(parts)}. "
            f"This point is the {only}, at a distance of {number(self.distance)} ({self.metric})."
        )

    def __repr__(self) -> str:
        return f"<SmallestChange of row {self.row} to {self.told[1]}, distance {self.distance:.4g}>"


def _one(column: str, before: Any, after: Any) -> str:
    """A change in words; what is missing is a number that is none, or nothing."""
    if _is_number(before) and _is_number(after) and before == before:
        after = 0.0 if abs(after) < 1e-12 * abs(before) else after  # what rounding leaves of a zero
        told = compared(float(after), float(before))
        return f"{column} were {told[0]} instead of {told[1]}"
    shown = number(float(after)) if _is_number(after) else str(after)
    missing = before is None or before != before
    return f"{column} were {shown} instead of {'missing' if missing else before}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def smallest_change(
    explanation: Explanation,
    row: Any,
    *,
    to: Any = None,
    fixed: Sequence[Any] = (),
    bounds: Mapping[Any, tuple[float | None, float | None]] | str | None = None,
    sparse: bool = False,
    whole: Sequence[Any] = (),
    near_data: bool = False,
) -> SmallestChange:
    """Find the nearest point in another cluster.

    For k-means and its relatives, soft k-means, tied mixtures and linear heads, also behind linear steps of
    a pipeline, the answer is exact: no point is nearer. Kernel k-means, other mixtures, surrogates of labels
    and encoders are searched, and the answer says so. In every case the network of the clustering is asked,
    and puts the point into the cluster.

    Parameters
    ----------
    explanation : Explanation
    row : position or label
        The row that is to change.
    to : cluster id, optional
        The cluster it is to be in; by default any other.
    fixed : names or positions of columns
        Columns that stay as they are.
    bounds : mapping of columns to (lowest, highest), or "data", optional
        Limits of columns, in their own units, None for an open side; ``"data"`` is the range of the rows
        explained. A column that is not named, and is nowhere below zero in the rows, stays so; name it with
        ``(None, None)`` to lift this. Where `sparse`, the default is the range of the data.
    sparse : bool
        Whether few columns are to change: the sum of absolute changes is smallest then, instead of the
        Euclidean distance.
    whole : names or positions of columns
        Columns that take whole numbers; those of False and True take no others anyway. A list of columns
        among them is a one-hot group, in which a single column is 1 and the others are 0.
    near_data : bool
        Whether the point must be plausible: as near to an actual row of its cluster as 95 % of the cluster's
        rows are to another one, by the same distance. Not together with `sparse`.

    Returns
    -------
    SmallestChange

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X, feature_names=["age", "income"])
    >>> change = ex.smallest_change(0)
    >>> change.point.round(3)
    array([[2., 0.]])
    >>> change.changes
      column  from   to
    0    age   0.0  2.0
    >>> change.describe()
    'Row 0, which is in cluster 1, would be in cluster 0 if age were 2 instead of 0. This point is the
    nearest, at a distance of 2 (Euclidean, as the clustering scales the columns).'
    """
    if near_data and sparse:
        raise ValueError(
            "near_data=True measures how near a point is by the Euclidean distance, sparse=True by the sum "
            "of absolute changes: choose one of them."
        )
    subject = Subject.of(explanation)
    asked = read_asked(subject.names, fixed, bounds, whole, sparse=sparse)
    return subject.changed(row_position(explanation, row), to, asked, sparse=sparse, near_data=near_data)


def row_position(explanation: Explanation, row: Any) -> int:
    """The position of the one row that is meant."""
    try:
        marked = np.arange(len(explanation))[positions_of(explanation, row)]
    except IndexError:
        raise unfit_rows(row, len(explanation)) from None
    if np.size(marked) != 1:
        raise ValueError(f"row={row!r} stands for {counted(np.size(marked), 'row')}, expected a single one.")
    return int(np.ravel(marked)[0])


@dataclass(frozen=True, eq=False)
class Subject:
    """What is asked about: an explanation, its network, and the rows as the network reads them."""

    explanation: Explanation
    net: Neuralized
    table: InputTable
    names: list[str]
    _before: list[Changeable] = field(default_factory=list)

    @classmethod
    def of(cls, explanation: Explanation) -> Subject:
        """The network and the rows that an explanation came from."""
        origin = explanation._origin()
        net, table = origin.network, origin.network.match(origin.table)
        names = explanation.feature_names
        if origin.options["groups"] is not None:  # single columns change, not sums of them
            names = list(net.feature_names if table.names is None else table.names)
        return cls(explanation, net, table, names)

    def place(self, cluster: Any) -> int:
        """The position of a cluster among the network's."""
        known = self.net.clusters.tolist()
        meant = cluster_meant(cluster, known)
        if meant is None:
            raise ValueError(f"to={cluster!r} is no cluster, expected one of {clusters_listed(known)}.")
        return int(known.index(meant))

    def assigned(self, rows: Any) -> Any:
        """The cluster of one row, as a table of the user's columns."""
        return self.net.predict_rows(InputTable(rows, self.table.names, None))[0]

    def _row(self, position: int, asked: Asked) -> Changeable:
        """A row; what was found of the table's columns for one before it, asked alike, is not found again."""
        if not self._before or self._before[0].asked is not asked:
            self._before[:] = [Changeable(self.net, self.table, position, asked)]
        return self._before[0].at(position)

    def changed(
        self, position: int, to: Any, asked: Asked, *, sparse: bool, near_data: bool = False
    ) -> SmallestChange:
        """The smallest change of one row."""
        row = self._row(position, asked)
        before = take_rows(self.table.data, np.array([position]))
        own = self.assigned(before)
        goal = None if to is None else self.place(to)
        if goal is not None and self.net.clusters[goal] == own:
            raise ValueError(
                f"Row {self.explanation.index[position]} is in cluster {own} already: choose another one for "
                "to=, or None for the nearest."
            )
        near = NearData.of(row) if near_data else None
        search = Search(row, self.place(own), goal, sparse, near)
        # Scores beyond a bent border rise slowly, and the model's own rounding is not the network's.
        for step in STEPS[3:] if search.bent else STEPS:
            found = search.find(step)
            if found is None:
                raise ValueError(self._told_none(position, own, goal, asked, search))
            point = row.point(found.point, found.chosen)
            landed = self.assigned(point)
            if landed == (landed if goal is None else self.net.clusters[goal]) and landed != own:
                answer = self._answer(row, point, found, own, landed, step, sparse)
                if near is None:
                    return answer
                like, _ = near.nearest_row(found.point * row.scale, self.place(landed))
                return replace(answer, near_row=plain(self.explanation.index[row.sampled[like]]))
        raise ValueError(
            f"Row {self.explanation.index[position]} lies so near a border that numbers of its type cannot "
            "tell the sides apart: pass float64, or rescale the columns."
        )

    def _told_none(self, position: int, own: Any, goal: int | None, asked: Asked, search: Search) -> str:
        """Why there is no answer, in a sentence."""
        where = "any other cluster" if goal is None else self.explanation.named(self.net.clusters[goal])
        limits = []
        if asked.fixed:
            names = [self.names[column] for column in sorted(asked.fixed)]
            more = [counted(len(names) - 3, "further column")] if len(names) > 3 else []
            limits.append(f"{join([*names[:3], *more])} fixed")
        if asked.bounds or asked.within_data:
            limits.append("these bounds" if asked.bounds else "values within the data's range")
        elif search.row.never_negative:
            limits.append("columns that are nowhere below zero kept so")
        if asked.whole or asked.groups:
            limits.append("whole numbers")
        if search.near is not None:
            limits.append("points near the data only")
        given = f", with {join(limits)}" if limits else ""
        found = "was found" if search.bent else "exists"
        remedy = "free a column or widen the bounds" if limits else "choose another cluster"
        remedy += ", or allow points that are not near the data" if search.near is not None else ""
        row = f"row {self.explanation.index[position]}, which is in {self.explanation.named(own)}"
        return f"No point of {where} {found} for {row}{given}: {remedy}."

    def _answer(
        self, row: Changeable, point: Any, found: Found, own: Any, landed: Any, step: float, sparse: bool
    ) -> SmallestChange:
        import pandas as pd

        moved = np.abs(found.point - row.start) * row.scale
        size = np.zeros(len(self.names))
        np.maximum.at(size, self.net.features.sources, moved)
        order = [column for column in np.argsort(-size, kind="stable") if size[column] > 0]
        before = take_rows(self.table.data, np.array([row.position]))
        lines = [
            (
                self.names[column],
                plain(column_values(before, column)[0]),
                plain(column_values(point, column)[0]),
            )
            for column in order
        ]
        kind = "sum of absolute changes" if sparse else "Euclidean"
        return SmallestChange(
            row=plain(self.explanation.index[row.position]),
            point=point,
            own=plain(own),
            to=plain(landed),
            distance=found.distance,
            changes=pd.DataFrame(
                {
                    name: pd.Series(list(values), dtype=_dtype(values))
                    for name, values in zip(("column", "from", "to"), zip(*lines, strict=True), strict=True)
                }
            ),
            step=step,
            metric=f"{kind}, {row.measured}",
            exact=found.exact,
            told=(self.explanation.named(own), self.explanation.named(landed)),
        )


def plain(value: Any) -> Any:
    """A scalar of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _dtype(values: Sequence[Any]) -> Any:
    """Numbers stay numbers; a table of texts and numbers holds both."""
    return np.float64 if all(_is_number(value) for value in values) else object
