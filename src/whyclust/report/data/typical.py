"""Of each row the typical row of its cluster that is there for the most similar reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

# Rows whose relevance is at hand at a time.
_BLOCK = 4096


def nearest_typical(explanation: Explanation, typical: Mapping[Any, Sequence[int]], rows: NDArray) -> NDArray:
    """The position of each row's nearest typical row, by the cosine of their relevance; −1 for none.

    As ``ex.similar`` measures it, among the typical rows of the cluster that the row is explained for. A row
    is not compared with itself.

    Parameters
    ----------
    explanation : Explanation
    typical : mapping of cluster to positions of rows
    rows : ndarray of int
        Positions of the rows that are asked about.

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0], [0.0, 1.0], [0.5, 0.2], [4.0, 4.0], [4.0, 5.0], [5.0, 4.0]]
    >>> ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    >>> nearest_typical(ex, {ex.clusters[0]: [1, 2]}, np.arange(4))
    array([ 2,  2,  1, -1])
    """
    found = np.full(len(rows), -1, dtype=np.intp)
    clusters = np.asarray(explanation.clusters)[rows]
    for cluster, known in typical.items():
        if not len(known):
            continue
        kinds = np.asarray(known, dtype=np.intp)
        ways = _directions(explanation, kinds)
        places = np.flatnonzero(clusters == cluster)
        for first in range(0, len(places), _BLOCK):
            some = places[first : first + _BLOCK]
            cosines = _directions(explanation, rows[some]) @ ways.T
            cosines[rows[some][:, None] == kinds] = -np.inf
            best = cosines.argmax(axis=1)
            alone = ~np.isfinite(cosines[np.arange(len(some)), best])
            found[some] = np.where(alone, -1, kinds[best])
    return found


def _directions(explanation: Explanation, rows: NDArray) -> NDArray:
    """Relevance of rows, each of length 1 (or 0)."""
    values = np.asarray(explanation.values[rows], dtype=np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(lengths > 0, lengths, 1.0)
