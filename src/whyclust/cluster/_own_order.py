"""Rows and clusters in an order of their own: by what they hold, and not as they happened to come.

Folds and starts are drawn by position. In this order the same rows with the same clusters give the same
surrogate, however the rows were sorted and whatever the clusters are called.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from whyclust.cluster._distances import FloatArray, IntArray

# Columns that are looked at together; more only where these do not tell all rows apart.
_SOME_COLUMNS = 16


@dataclass(frozen=True, eq=False)
class OwnOrder:
    """Rows and clusters by what they hold.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Positions of the rows, in their own order.
    ranks : ndarray of shape (n_clusters,), one more with noise
        The place of each cluster in the clusters' own order; noise keeps the last.
    """

    rows: IntArray
    ranks: IntArray

    @property
    def clusters(self) -> IntArray:
        """Clusters in their own order."""
        return np.argsort(self.ranks)


def own_order(points: FloatArray, codes: IntArray, n_clusters: int) -> OwnOrder:
    """Order rows by their columns, and clusters by size, then by their rows.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of shape (n,)
        Cluster of each row; `n_clusters` marks noise.
    n_clusters : int

    Examples
    --------
    >>> points = np.array([[3.0], [1.0], [2.0]])
    >>> order = own_order(points, np.array([1, 0, 0]), 2)
    >>> order.rows.tolist(), order.clusters.tolist()
    ([1, 2, 0], [0, 1])
    >>> own_order(points[::-1], np.array([1, 1, 0]), 2).clusters.tolist()
    [1, 0]
    """
    contents = _contents(points)
    _warn_of_contradictions(contents, codes)
    members = [np.sort(contents[codes == cluster]) for cluster in range(n_clusters)]
    first = sorted(range(n_clusters), key=lambda cluster: (-len(members[cluster]), members[cluster].tolist()))
    ranks = np.arange(int(codes.max(initial=n_clusters - 1)) + 1)
    ranks[first] = np.arange(n_clusters)
    # Rows that are equal are told apart by their cluster, if by anything.
    return OwnOrder(np.lexsort((ranks[codes], contents)), ranks)


def _contents(points: FloatArray) -> IntArray:
    """The place of each row among the different rows, in the order of their columns."""
    moving = np.flatnonzero(points.min(axis=0) < points.max(axis=0))
    contents = np.zeros(len(points), dtype=np.intp)
    for start in range(0, len(moving), _SOME_COLUMNS):
        if contents.max() == len(points) - 1:
            break
        some = points[:, moving[start : start + _SOME_COLUMNS]]
        order = np.lexsort((*some.T[::-1], contents))
        sorted_rows, before = some[order], contents[order]
        differs = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1) | (before[1:] != before[:-1])
        contents = np.empty_like(contents)
        contents[order] = np.concatenate([[0], np.cumsum(differs)])
    return contents


def _warn_of_contradictions(contents: IntArray, codes: IntArray) -> None:
    lowest = np.full(int(contents.max()) + 1, codes.max() + 1)
    highest = np.full(len(lowest), -1)
    np.minimum.at(lowest, contents, codes)
    np.maximum.at(highest, contents, codes)
    n_rows = int((lowest != highest)[contents].sum())
    if n_rows:
        warnings.warn(
            f"{n_rows} rows equal a row with another label in every column, so no explanation by these "
            "columns can tell their clusters apart: add columns, or check the labels.",
            UserWarning,
            stacklevel=5,
        )
