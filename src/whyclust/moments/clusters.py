"""What a summary needs of every cluster, from parts of an explanation.

One pass over the parts gives sizes, means and the rows with the least evidence (`ClusterMoments`). Which
rows are typical is known only when the means are, so that takes a second pass (`TypicalRows`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust.moments.columns import ColumnMoments, Columns
from whyclust.moments.merging import merge
from whyclust.moments.numbers import Mean
from whyclust.moments.rows import LeastRows, known_share, row_keys
from whyclust.saving.registry import saved

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

# A row with less than this part of the values that are usual in its cluster is less typical the fewer it has;
# one without any is as one that has the second part of them.
_MOSTLY, _LEAST_KNOWN = 2 / 3, 1e-3


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class GroupMoments:
    """What is known of rows that are explained for one cluster.

    Attributes
    ----------
    relevance : Mean
        Of every column.
    evidence : Mean
    borderline : LeastRows
        The rows with the least evidence.
    levels : tuple of ndarray
        The evidence of every row where relevance is kept as factors, else nothing: there rows are typical by
        their evidence's distance from the median, which no smaller thing gives.
    """

    relevance: Mean
    evidence: Mean
    borderline: LeastRows
    levels: tuple[NDArray, ...] = ()

    @classmethod
    def of(cls, part: Explanation, rows: NDArray, first_row: int, members: int) -> GroupMoments:
        """Of some rows of a part whose first row is `first_row` of the whole table."""
        evidence = np.asarray(part.evidence[rows])
        return cls(
            Mean.of(part.shown[rows]) if len(rows) else Mean(0, np.zeros(part.shape[1])),
            Mean.of(evidence),
            LeastRows.of(evidence, rows + first_row, members, _keys(part, rows)),
            (evidence,) if part.is_factored else (),
        )

    def __add__(self, other: GroupMoments) -> GroupMoments:
        return GroupMoments(
            self.relevance + other.relevance,
            self.evidence + other.evidence,
            self.borderline + other.borderline,
            self.levels + other.levels,
        )

    @property
    def count(self) -> int:
        """Rows seen."""
        return self.evidence.count

    @property
    def center(self) -> NDArray:
        """What typical rows are near: the mean relevance, or the median evidence."""
        return np.median(np.concatenate(self.levels)) if self.levels else self.relevance.value


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class ClusterMoments:
    """What is known of every cluster.

    Attributes
    ----------
    n_rows : int
    own : dict of cluster to GroupMoments
        Rows explained for a cluster that they are in, by the label given and by the surrogate.
    other : dict of cluster to GroupMoments
        The other rows explained for it: they say why not.
    columns : dict of label to ColumnMoments
        The user's values of the rows that have a label.
    rivalry : Rivalry or None
        Which other clusters count as competitors of each, if all parts know it.
    """

    n_rows: int
    own: dict[Any, GroupMoments]
    other: dict[Any, GroupMoments]
    columns: dict[Any, ColumnMoments]
    rivalry: Any = None

    @classmethod
    def of(cls, part: Explanation, first_row: int = 0, members: int = 3) -> ClusterMoments:
        """Of a part whose first row is `first_row` of the whole table.

        Parameters
        ----------
        part : Explanation
        first_row : int
        members : int
            How many borderline rows to keep.
        """
        own, other = _split(part)
        read = Columns.of(part.data)
        return cls(
            len(part),
            {c: GroupMoments.of(part, rows, first_row, members) for c, rows in own.items()},
            {c: GroupMoments.of(part, rows, first_row, members) for c, rows in other.items()},
            {label: ColumnMoments.of(read[rows]) for label, rows in _places(part.labels).items()},
            part.rivalry,
        )

    def __add__(self, other: ClusterMoments) -> ClusterMoments:
        return ClusterMoments(
            self.n_rows + other.n_rows,
            merge(self.own, other.own),
            merge(self.other, other.other),
            merge(self.columns, other.columns),
            None if self.rivalry is None or other.rivalry is None else self.rivalry + other.rivalry,
        )

    def without(self, few: Collection[Any]) -> ClusterMoments:
        """As if the rows that are in some clusters, and explained for them, had not been there."""

        def kept(groups: dict[Any, Any]) -> dict[Any, Any]:
            return {cluster: group for cluster, group in groups.items() if cluster not in few}

        gone = sum(self.size(cluster) for cluster in self.clusters if cluster in few)
        left = {"own": kept(self.own), "other": kept(self.other), "columns": kept(self.columns)}
        return replace(self, n_rows=self.n_rows - gone, **left)

    @property
    def clusters(self) -> list[Any]:
        """Clusters that are explained, sorted."""
        return sorted({*self.own, *self.other})

    def size(self, cluster: Any) -> int:
        """Rows explained for a cluster."""
        return sum(group[cluster].count for group in (self.own, self.other) if cluster in group)

    def speaking(self, cluster: Any) -> GroupMoments:
        """The rows that tell a cluster: its own, or where it has none those that say why not."""
        return self.own[cluster] if cluster in self.own else self.other[cluster]

    def whole(self) -> ColumnMoments:
        """The columns of all rows."""
        return reduce(add, self.columns.values())


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class TypicalRows:
    """The rows nearest each cluster's mean relevance; the one closest to leaving is not typical.

    Attributes
    ----------
    rows : dict of cluster to LeastRows
        By their distance.
    """

    rows: dict[Any, LeastRows]

    @classmethod
    def of(
        cls, part: Explanation, known: ClusterMoments, first_row: int = 0, members: int = 3
    ) -> TypicalRows:
        """Of a part, once the means of the whole are known."""
        own, other = _split(part)
        found = {}
        for cluster in {*own, *other}:
            # Rows that say why not count only where no part has any of the cluster's own.
            rows = (own if cluster in known.own else other).get(cluster)
            if rows is not None:
                rows = _without(part, rows, known.speaking(cluster), first_row)
                away = _distances(part, rows, known.speaking(cluster).center)
                # What was filled in is what is usual: a row of gaps would be the most typical one.
                usual = known.columns[cluster].known if cluster in known.columns else 1.0
                share = known_share(part.data, rows) / max(usual, _LEAST_KNOWN)
                away = np.where(share < _MOSTLY, away / np.maximum(share, _LEAST_KNOWN) ** 2, away)
                found[cluster] = LeastRows.of(away, rows + first_row, members, _keys(part, rows))
        return cls(found)

    def __add__(self, other: TypicalRows) -> TypicalRows:
        return TypicalRows(merge(self.rows, other.rows))


def _split(part: Explanation) -> tuple[dict[Any, NDArray], dict[Any, NDArray]]:
    """Rows explained for a cluster that they are in, and those that are not, by cluster."""
    belongs = (part.labels == part.clusters) & ~part.disagrees
    return tuple(_places(part.clusters, among) for among in (belongs, ~belongs))  # type: ignore[return-value]


def _places(labels: NDArray, among: NDArray | None = None) -> dict[Any, NDArray]:
    """The rows of every label, where there are any."""
    if among is not None:
        rows = np.flatnonzero(among)
        return {label: rows[places] for label, places in _places(labels[rows]).items()}
    return {label.item(): np.flatnonzero(labels == label) for label in np.unique(labels)}


def _keys(part: Explanation, rows: NDArray) -> Callable[[NDArray], NDArray]:
    """Of rows that are copies of each other, one is named."""
    return lambda places: _row_keys(part, rows[places])


def _row_keys(part: Explanation, rows: NDArray) -> NDArray:
    """The same number for copies; where the rows were left out, for those of the same relevance."""
    if getattr(part.data, "left_out", None) is not True:
        return row_keys(part.data, rows)
    digits, exponents = np.frexp(np.asarray(part.shown[rows], dtype=np.float64))
    return row_keys(np.ldexp(np.round(digits, 5), exponents), np.arange(len(rows)))


def _without(part: Explanation, rows: NDArray, group: GroupMoments, first_row: int) -> NDArray:
    """Rows but for the one closest to leaving their cluster and its copies, unless there is no other."""
    least = group.borderline
    if group.count == 1 or (least.keys is not None and least.limit > 1 and len(least.rows) == 1):
        return rows
    left = rows[~np.isin(rows + first_row, least.rows[:1])]
    # Copies have the same evidence but for rounding: only such rows need to be compared.
    near = np.isclose(np.asarray(part.evidence[left], dtype=np.float64), least.values[:1], rtol=1e-9)
    if least.keys is not None:
        near[near] = _row_keys(part, left[near]) == least.keys[0]
        left = left[~near]
    return left


def _distances(part: Explanation, rows: NDArray, center: NDArray) -> NDArray:
    """How far rows are from what is typical."""
    if part.is_factored:  # distances between rows would make the whole matrix
        return np.abs(np.asarray(part.evidence[rows]) - center)
    digits, exponents = np.frexp(((part.shown[rows] - center) ** 2).sum(axis=1))
    # Two rows are equally far from their mean: which is nearer must not depend on how it was rounded.
    return np.ldexp(np.round(digits, 10), exponents)
