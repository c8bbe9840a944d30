"""Rows that a deep clustering makes up: decoded centroids, paths between them, samples around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from whyclust._checks import positive, whole_number


class Generative:
    """What a clustering with a decoder can show of its clusters."""

    # The shape of a row that is an image; what is made for tables has none.
    image_shape: tuple[int, int, int] | None = None
    cluster_centers_: NDArray
    cluster_spreads_: NDArray
    empty_clusters_: NDArray

    @property
    def _n_found(self) -> int:
        """Clusters of the fit: `n_clusters` may be set anew after it."""
        return len(self.cluster_centers_)

    def decode(self, Z: ArrayLike) -> NDArray:
        """Return the rows that points of the embedding stand for."""
        raise NotImplementedError

    def decoded_centers(self) -> NDArray:
        """Return the row that each centroid stands for.

        Returns
        -------
        ndarray of shape (n_clusters, n_features)
        """
        check_is_fitted(self)
        return self.decode(self.cluster_centers_)

    def interpolate(self, cluster_a: int, cluster_b: int, *, steps: int = 9) -> NDArray:
        """Return rows on the straight way from one centroid to another, in the embedding.

        Parameters
        ----------
        cluster_a, cluster_b : int
        steps : int
            Rows, both centroids among them.

        Returns
        -------
        ndarray of shape (steps, n_features)
        """
        check_is_fitted(self)
        whole_number("steps", steps, 2)
        start, stop = (self.cluster_centers_[self._known(c)] for c in (cluster_a, cluster_b))
        share = np.linspace(0.0, 1.0, steps, dtype=np.float32)[:, None]
        return self.decode((1 - share) * start + share * stop)

    def sample(
        self, cluster: int, *, n_samples: int = 10, scale: float = 1.0, random_state: Any = None
    ) -> NDArray:
        """Return made-up rows of a cluster.

        Points are drawn from a normal distribution around the centroid, with the spread of the members of
        the cluster in each direction of the embedding, and decoded.

        Parameters
        ----------
        cluster : int
        n_samples : int
        scale : float
            Factor of the spread; 0 gives the decoded centroid.
        random_state : int, RandomState or None

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        whole_number("n_samples", n_samples, 1)
        positive("scale", scale, zero=True)
        center, spread = self._center_and_spread(cluster)
        noise = check_random_state(random_state).standard_normal((n_samples, len(center)))
        return self.decode(center + scale * noise * spread)

    def _center_and_spread(self, cluster: Any) -> tuple[NDArray, NDArray]:
        cluster = self._known(cluster)
        if cluster in self.empty_clusters_:
            raise ValueError(
                f"cluster {cluster} has no members whose spread could be followed: choose another."
            )
        return self.cluster_centers_[cluster], self.cluster_spreads_[cluster]

    def _known(self, cluster: Any) -> int:
        number = isinstance(cluster, (int, np.integer)) and not isinstance(cluster, bool)
        if not number or not 0 <= cluster < self._n_found:
            raise ValueError(f"cluster {cluster!r} is unknown, expected one of 0 to {self._n_found - 1}.")
        return int(cluster)


def spreads(embedded: NDArray, labels: NDArray, n_clusters: int) -> NDArray:
    """Standard deviation of each cluster's members in each dimension; zero where there are none."""
    result = np.zeros((n_clusters, embedded.shape[1]), dtype=np.float32)
    for cluster in np.unique(labels):
        result[cluster] = embedded[labels == cluster].std(axis=0, dtype=np.float64)
    return result


def moments(table: NDArray, block: int = 4096) -> tuple[NDArray, NDArray]:
    """Mean and standard deviation of each column, summed in double precision, block by block.

    In single precision the sum of a million rows can be off in its third digit.
    """
    mean = table.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for start in range(0, len(table), block):
        squares += ((table[start : start + block] - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(squares / len(table))
