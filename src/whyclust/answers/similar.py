"""Rows with the same reason: the nearest by relevance, not by their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import whole_number
from whyclust.answers.smallest_change import plain, row_position
from whyclust.explaining.explanation import Explanation
from whyclust.telling.sentences import join

if TYPE_CHECKING:
    import pandas as pd

_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class SimilarRows:
    """Rows of the same cluster whose relevance points in the same direction.

    Attributes
    ----------
    row : label
        The row that was asked about.
    positions : ndarray of int
        Positions of the similar rows, the most similar first.
    labels : ndarray
        Their labels.
    similarity : ndarray
        The cosine of the relevance of both rows: 1 for the same reason, however strong.
    shared : list of str
        The columns that carry most of the reason that they share, the first first.
    told : str
        What the cluster is called.
    """

    row: Any
    positions: NDArray
    labels: NDArray
    similarity: NDArray
    shared: list[str]
    told: str

    def to_pandas(self) -> pd.DataFrame:
        """Return one line for each similar row: its position and its similarity."""
        import pandas as pd

        return pd.DataFrame({"position": self.positions, "similarity": self.similarity}, index=self.labels)

    def describe(self) -> str:
        """Say which rows are there for the same reason, and what it is."""
        if not len(self.positions):
            return f"Row {self.row} is the only one that is explained for {self.told}."
        rows = join([str(label) for label in self.labels.tolist()])
        alone = len(self.labels) == 1
        mainly = f", mainly {join(self.shared)}" if self.shared else ""
        least = f"{self.similarity[-1]:.2f}"
        least = least if least == "1.00" else f"{least} or more"
        return (
            f"{'Row' if alone else 'Rows'} {rows} {'is' if alone else 'are'} in {self.told} for the reason "
            f"nearest to that of row {self.row}{mainly} (cosine {least})."
        )


def similar(explanation: Explanation, row: Any, count: int = 5) -> SimilarRows:
    """Find rows that are in the cluster for the same reason.

    Rows that are explained for the same cluster are compared by the cosine of their relevance: it does not
    matter how strong the evidence is, nor how near the rows are in the table, only where it comes from.

    Parameters
    ----------
    explanation : Explanation
    row : position or label
    count : int
        How many rows; fewer where the cluster has no more.

    Returns
    -------
    SimilarRows

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0], [0.0, 1.0], [0.5, 0.2], [4.0, 4.0], [4.0, 5.0], [5.0, 4.0]]
    >>> ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    >>> found = ex.similar(0, count=1)
    >>> found.positions
    array([2])
    """
    whole_number("count", count)
    if explanation.question.about == "ignored":
        raise ValueError(
            f"The explanation is about {explanation.question}, but here it is asked which rows are in their "
            "cluster for the same reason: explain without space=."
        )
    position = row_position(explanation, row)
    own = np.asarray(explanation.values[position : position + 1], dtype=np.float64)[0]
    same = np.flatnonzero(explanation.clusters == explanation.clusters[position])
    same = same[same != position]
    cosines = np.zeros(len(same))
    for first in range(0, len(same), _BLOCK):
        chosen = same[first : first + _BLOCK]
        values = np.asarray(explanation.values[chosen], dtype=np.float64)
        lengths = np.linalg.norm(values, axis=1) * np.linalg.norm(own)
        cosines[first : first + _BLOCK] = np.divide(
            values @ own, lengths, out=np.zeros(len(values)), where=lengths > 0
        )
    order = np.argsort(-cosines, kind="stable")[:count]
    found = same[order]
    products = (
        np.asarray(explanation.values[found], dtype=np.float64).mean(axis=0) * own if len(found) else own * 0
    )
    strongest = [place for place in np.argsort(-products, kind="stable")[:2] if products[place] > 0]
    return SimilarRows(
        row=plain(explanation.index[position]),
        positions=found,
        labels=explanation.index[found],
        similarity=np.clip(cosines[order], -1.0, 1.0),
        shared=[explanation.feature_names[place] for place in strongest],
        told=explanation.named(plain(explanation.clusters[position])),
    )
