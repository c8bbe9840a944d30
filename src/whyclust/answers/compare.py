"""Why two rows are together, or apart: the difference of their evidence, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust.answers.smallest_change import plain, row_position
from whyclust.explaining.explanation import Explanation
from whyclust.telling.rounding import exact, number
from whyclust.telling.sentences import join

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two rows, compared column by column.

    ``values.sum() + base_value == evidence[0] - evidence[1]``. A positive value speaks more for the
    cluster in the first row than in the second.

    Attributes
    ----------
    rows : tuple of labels
    clusters : tuple of cluster ids
        The clusters that the rows are in.
    cluster, against : cluster id
        The evidence is for `cluster`, against all others where `against` is None: the rows are together then.
    evidence : tuple of float
        Of both rows.
    feature_names : list of str
    values : ndarray of shape (n_columns,)
        The difference of the rows' relevances.
    base_value : float
        The part of the difference that belongs to no column.
    data : tuple of ndarrays
        The rows' own values.
    told : dict of cluster id to str
        What the clusters are called.
    """

    rows: tuple[Any, Any]
    clusters: tuple[Any, Any]
    cluster: Any
    against: Any
    evidence: tuple[float, float]
    feature_names: list[str]
    values: NDArray
    base_value: float
    data: tuple[NDArray, NDArray]
    told: dict[Any, str]

    @property
    def together(self) -> bool:
        """Whether both rows are in one cluster."""
        return self.against is None

    def to_pandas(self) -> pd.DataFrame:
        """Return one line for each column, the largest difference first, with both rows' values."""
        import pandas as pd

        first, second = (str(label) for label in self.rows)
        if first == second:
            second += " (second)"
        frame = pd.DataFrame(
            {first: list(self.data[0]), second: list(self.data[1]), "difference": self.values},
            index=pd.Index(self.feature_names, name="column"),
        )
        return frame.iloc[np.argsort(-np.abs(self.values), kind="stable")]

    def describe(self, *, top: int = 3) -> str:
        """Say why the rows are together or apart, by the columns that differ most in what they say.

        Parameters
        ----------
        top : int
            How many columns to name.
        """
        first, second = self.rows
        if self.together:
            begin = f"Rows {first} and {second} are both in {self.told[self.cluster]}"
            stronger = first if self.evidence[0] >= self.evidence[1] else second
            difference = number(abs(self.evidence[0] - self.evidence[1]))
            begin += f"; the evidence for it is larger by {difference} in row {stronger}."
        else:
            begin = (
                f"Row {first} is in {self.told[self.cluster]}, row {second} in {self.told[self.against]}; "
                f"their evidence for the first against the second is {number(self.evidence[0])} and "
                f"{number(self.evidence[1])}."
            )
        order = np.argsort(-np.abs(self.values), kind="stable")[:top]
        named = [place for place in order if self.values[place] != 0]
        if not named:
            return f"{begin} No column tells them apart."
        parts = [
            f"{self.feature_names[place]} ({_shown(self.data[0][place])} and {_shown(self.data[1][place])}, "
            f"{self.values[place]:+.3g})"
            for place in named
        ]
        return f"{begin} The largest differences are in {join(parts)}."


def _shown(value: Any) -> str:
    numeric = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))
    return exact(float(value)) if numeric else str(value)


def compare(explanation: Explanation, i: Any, j: Any) -> Comparison:
    """Explain why two rows are together, or apart.

    Rows of one cluster: the difference of their evidence for it. Rows of two clusters: that of their evidence
    for the cluster of `i` against the cluster of `j`, which is positive for one and negative for the other.

    Parameters
    ----------
    explanation : Explanation
    i, j : position or label
        The rows.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X, feature_names=["age", "income"])
    >>> comparison = ex.compare(0, 3)
    >>> comparison.to_pandas()
              0    3  difference
    column
    age     0.0  4.0        32.0
    income  0.0  1.0         0.0
    >>> comparison.describe()
    'Row 0 is in cluster 1, row 3 in cluster 0; their evidence for the first against the second is 16 and -16.
    The largest differences are in age (0 and 4, +32).'
    """
    places = [row_position(explanation, one) for one in (i, j)]
    if places[0] == places[1]:
        raise ValueError(f"i={i!r} and j={j!r} are one row, expected two.")
    pair = explanation[places]
    own, other = (plain(label) for label in pair.labels)
    together = bool(own == other)
    asked = explanation.question
    if not together:
        pair = pair.ask(cluster=own, against=other)
    elif asked.duel or asked.about in ("chosen", "ignored") or (pair.clusters != own).any():
        pair = pair.ask(cluster=own)
    values = np.asarray(pair.values)
    evidence = (float(pair.evidence[0]), float(pair.evidence[1]))
    difference = values[0] - values[1] + 0.0  # which makes 0 of -0
    columns = range(pair.shape[1])
    rows = [np.array([pair._column(column)[place] for column in columns], dtype=object) for place in (0, 1)]
    return Comparison(
        rows=(plain(explanation.index[places[0]]), plain(explanation.index[places[1]])),
        clusters=(own, other),
        cluster=own,
        against=None if together else other,
        evidence=evidence,
        feature_names=list(pair.feature_names),
        values=difference,
        base_value=evidence[0] - evidence[1] - float(difference.sum()),
        data=(rows[0], rows[1]),
        told={own: explanation.named(own), other: explanation.named(other)},
    )
