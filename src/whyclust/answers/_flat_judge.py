"""What an affine model says of rows whose unknown columns are filled in, without making these rows.

A score is a sum over columns. So that of a filled-in row is the score of the row it is filled in from, and
the known columns' difference times their slopes: a small product of matrices for each set of columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyclust.answers._regions import NodeRegions, regions_of
from whyclust.network.network import Neuralized

# Of more encoded columns, rows are made after all.
_MOST_COLUMNS = 256


@dataclass(frozen=True, eq=False)
class FlatJudge:
    """An affine model, and half of a background.

    Attributes
    ----------
    clusters : ndarray of shape (n_clusters,)
    slopes : ndarray of shape (n_clusters, n_encoded)
    middle : ndarray of shape (n_encoded,)
        What columns are measured from, as single precision has few digits.
    columns : ndarray of shape (n_encoded, n_half)
        The rows of the half, from the middle.
    scores : ndarray of shape (n_clusters, n_half)
        The rows' own scores.
    """

    clusters: NDArray
    slopes: NDArray
    middle: NDArray
    columns: NDArray
    scores: NDArray

    @classmethod
    def of(cls, net: Neuralized, points: NDArray) -> FlatJudge | None:
        """For the rows of a half; None where a model's scores are not affine, one for each cluster."""
        regions = regions_of(net) if net.pool.threshold is None else None
        if not isinstance(regions, NodeRegions) or points.shape[1] > _MOST_COLUMNS:
            return None
        if not np.array_equal(regions.members, np.arange(len(net.clusters))):
            return None
        middle = points.mean(axis=0)
        # What all scores have in common decides nothing.
        slopes = regions.slopes - regions.slopes.mean(axis=0)
        constants = regions.constants - slopes @ middle
        columns = (points - middle).T
        scores = slopes @ columns - (constants - constants.mean())[:, None]
        single = (slopes.astype(np.float32), np.ascontiguousarray(columns, dtype=np.float32))
        return cls(net.clusters, single[0], middle, single[1], scores.astype(np.float32))

    def inside(self, points: NDArray, known: NDArray, clusters: NDArray) -> NDArray:
        """Whether points that are known in part are in clusters, filled in from each row of the half.

        Parameters
        ----------
        points : ndarray of shape (n_pairs, n_encoded)
        known : ndarray of bool of shape (n_pairs, n_encoded)
        clusters : ndarray of shape (n_pairs,)

        Returns
        -------
        ndarray of bool of shape (n_pairs, n_half)
        """
        order = np.argsort(self.clusters, kind="stable")
        own = order[np.searchsorted(self.clusters, clusters, sorter=order)]
        masked = np.where(known[:, None], self.slopes, np.float32(0.0))
        from_middle = (points - self.middle).astype(np.float32)
        scores = self.scores - np.matmul(masked, self.columns)
        scores += np.matmul(masked, from_middle[:, :, None])
        best = scores.max(axis=1)
        return scores[np.arange(len(own)), own] >= best
