"""Kernel k-means in feature space: standard (000, Eq. 5) and leave-one-out (001, appendix E).

All functions take the sums of `_kernels.KernelSums.over_clusters`, in which the kernel of a
point with itself is left out.
"""

from collections.abc import Callable

import numpy as np

from whyclust.cluster._distances import FloatArray, IntArray
from whyclust.cluster._kernels import KernelSums

Distances = Callable[[FloatArray, FloatArray, IntArray], FloatArray]


def cluster_norms(sums: FloatArray, diagonal: FloatArray, labels: IntArray) -> FloatArray:
    """‖Σ_{i∈C_k} Φ(x_i)‖² of every cluster, from kernel sums.

    Parameters
    ----------
    sums : ndarray of shape (n, K)
        Kernel sums without the diagonal.
    diagonal : ndarray of shape (n,)
        K(x_i, x_i).
    labels : ndarray of shape (n,)
        Cluster of every point.

    Returns
    -------
    ndarray of shape (K,)
        Zero for an empty cluster; clipped at zero for kernels that are not positive.

    Examples
    --------
    Two points of kernel 0.5 with each other, one alone:

    >>> import numpy as np
    >>> sums = np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.0]])
    >>> cluster_norms(sums, np.ones(3), np.array([0, 0, 1]))
    array([3., 1.])
    """
    own = sums[np.arange(len(labels)), labels] + diagonal
    return np.maximum(np.bincount(labels, weights=own, minlength=sums.shape[1]), 0.0)


def standard_distances(sums: FloatArray, diagonal: FloatArray, labels: IntArray) -> FloatArray:
    """‖Φ(x_i) − μ_k‖² with μ_k the mean of the cluster's members (Eq. 5).

    Parameters
    ----------
    sums, diagonal, labels
        See `cluster_norms`.

    Returns
    -------
    ndarray of shape (n, K)
        Infinite for an empty cluster.
    """
    rows = np.arange(len(labels))
    counts = np.bincount(labels, minlength=sums.shape[1])
    divisors = np.maximum(counts, 1)
    products = sums.copy()
    products[rows, labels] += diagonal
    norms = cluster_norms(sums, diagonal, labels) / divisors**2
    distances = diagonal[:, None] - 2.0 * products / divisors + norms
    distances[:, counts == 0] = np.inf
    return distances


def leave_one_out_distances(sums: FloatArray, diagonal: FloatArray, labels: IntArray) -> FloatArray:
    """‖Φ(x_ℓ) − μ_k^(−ℓ)‖² to centroids normalised without the point itself (001, E.2).

    Parameters
    ----------
    sums, diagonal, labels
        See `cluster_norms`.

    Returns
    -------
    ndarray of shape (n, K)
        A centroid without members, as the one of a point that is alone in its cluster,
        counts as orthogonal to the point; an empty cluster is infinitely far.
    """
    rows = np.arange(len(labels))
    counts = np.bincount(labels, minlength=sums.shape[1])
    totals = cluster_norms(sums, diagonal, labels)
    norms = np.repeat(totals[None], len(labels), axis=0)
    # Without row and column ℓ: Σ_jj' K − 2 Σ_{j≠ℓ} K_ℓj − K_ℓℓ.
    norms[rows, labels] -= 2.0 * sums[rows, labels] + diagonal
    # Where all members leave, a sum of rounding errors remains: it has no direction.
    present = norms > 1e-14 * np.maximum(totals, np.finfo(np.float64).tiny)
    present[rows, labels] &= counts[labels] > 1
    similarities = np.zeros_like(sums)
    np.divide(sums, np.sqrt(norms, where=present, out=np.ones_like(norms)), similarities, where=present)
    distances = diagonal[:, None] + 1.0 - 2.0 * similarities
    distances[:, counts == 0] = np.inf
    return distances


def nearest_clusters(distances: FloatArray, labels: IntArray) -> IntArray:
    """Nearest cluster of every point; a tie is no reason to leave the present one.

    Parameters
    ----------
    distances : ndarray of shape (n, K)
        Distances to the clusters.
    labels : ndarray of shape (n,)
        Present clusters.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> nearest_clusters(np.array([[1.0, 1.0], [2.0, 1.0]]), np.array([1, 0]))
    array([1, 1])
    """
    rows = np.arange(len(labels))
    nearest = distances.argmin(axis=1)
    return np.where(distances[rows, nearest] < distances[rows, labels], nearest, labels)


def fill_empty_clusters(labels: IntArray, distances: FloatArray, n_clusters: int) -> IntArray:
    """Give every empty cluster the point that fits worst where it is.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Cluster of every point.
    distances : ndarray of shape (n,)
        Distance of every point to its own cluster.
    n_clusters : int
        K, at most n.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> fill_empty_clusters(np.array([0, 0, 1]), np.array([0.1, 0.3, 0.9]), n_clusters=3)
    array([0, 2, 1])
    """
    labels = labels.copy()
    counts = np.bincount(labels, minlength=n_clusters)
    for cluster in np.flatnonzero(counts == 0):
        # A point that is alone may not leave, or its own cluster would be empty next.
        worst = int(np.where(counts[labels] > 1, distances, -np.inf).argmax())
        counts[labels[worst]] -= 1
        counts[cluster] += 1
        labels[worst] = cluster
    return labels


def run_lloyd(
    kernel_sums: KernelSums,
    labels: IntArray,
    n_clusters: int,
    distances_of: Distances,
    max_iter: int,
) -> tuple[IntArray, float, int]:
    """Reassign all points until no label changes.

    Parameters
    ----------
    kernel_sums : KernelSums
        Kernel of the training data.
    labels : ndarray of shape (n,)
        Start.
    n_clusters : int
        K.
    distances_of : callable
        `standard_distances` or `leave_one_out_distances`.
    max_iter : int
        Largest number of reassignments.

    Returns
    -------
    labels : ndarray of shape (n,)
        No cluster is empty.
    objective : float
        Sum of the distances of all points to their own clusters.
    n_iter : int
        Reassignments done.
    """
    rows = np.arange(len(labels))
    best_labels, best_objective = labels, np.inf
    for n_iter in range(max_iter + 1):
        sums = kernel_sums.over_clusters(labels, n_clusters)
        distances = distances_of(sums, kernel_sums.diagonal, labels)
        objective = float(distances[rows, labels].sum())
        nearest = nearest_clusters(distances, labels)
        updated = fill_empty_clusters(nearest, distances[rows, nearest], n_clusters)
        if n_iter < max_iter and np.array_equal(updated, labels):
            return labels, objective, n_iter + 1
        # Leave-one-out distances are no descent: points may swap clusters for ever. Of the
        # assignments visited, the start not counted, the best one is then the result.
        if objective < best_objective and (n_iter > 0 or max_iter == 0):
            best_labels, best_objective = labels, objective
        labels = updated
    return best_labels, best_objective, max_iter
