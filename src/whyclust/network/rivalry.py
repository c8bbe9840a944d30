"""Which other clusters count for a cluster: the weights α of its competitors, summed over its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.network.folded import Folded
from whyclust.saving.registry import saved


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class Rivalry:
    """How much each cluster counts as a competitor of each other one.

    Attributes
    ----------
    clusters : ndarray of shape (n_clusters,)
        Their ids.
    weights : ndarray of shape (n_clusters, n_clusters)
        α of the competitor in the column, summed over the rows that are in the cluster of the line. Parts
        of a table add up.

    Examples
    --------
    >>> one = Rivalry(np.array([0, 1, 2]), np.array([[0.0, 3.0, 1.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    >>> one.of(0), one.of(2)
    ({1: 0.75, 2: 0.25}, {})
    """

    clusters: NDArray
    weights: NDArray

    def of(self, cluster: Any) -> dict[Any, float]:
        """The competitors of a cluster and their shares; none where no row is in it."""
        known = self.clusters.tolist()
        weights = self.weights[known.index(cluster)] if cluster in known else np.zeros(0)
        total = weights.sum()
        found = zip(known, (weights / (total or 1.0)).tolist(), strict=False)
        return {other: share for other, share in found if share > 0}

    def __add__(self, other: Rivalry) -> Rivalry:
        return replace(self, weights=self.weights + other.weights)

    def without_noise_of(self, other: Rivalry) -> Rivalry:
        """The same, with clusters as another one knows them, which does not know the last, noise."""
        weights = self.weights.copy()
        weights[:-1] = 0.0
        weights[:-1, :-1] = other.weights
        return replace(self, weights=weights)


def tally(total: NDArray, folded: Folded, response: Any, clusters: NDArray, weights: NDArray) -> None:
    """Add the weights of the competitors of some points, which are in `clusters`, to `total`."""
    for position, weight in enumerate(weights):
        asked = np.broadcast_to(np.intp(position), len(clusters))
        others = folded.cluster_of(response, asked)
        if others is asked or (len(others) and bool((others == position).all())):  # a cluster itself
            total[:, position] += np.bincount(clusters, weights=weight, minlength=len(total))
        else:
            np.add.at(total, (clusters, others), weight)
