"""Clusterings of the same rows for every number of clusters, each started from one tree of small clusters.

Starting k-means anew for every k is slow, and for many clusters it often ends in a poor optimum. Here many
small clusters are found once and merged two by two, as Ward's linkage does. Cut at k, the tree gives starting
points from which a few iterations are enough.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from whyclust._checks import one_of
from whyclust._threads import is_small, one_thread_if_small
from whyclust.cluster._distances import FloatArray, IntArray, squared_distances

# Small clusters that the tree begins with, for each cluster that will be asked for.
_SMALL_PER_CLUSTER = 2
_STEPS_OF_SMALL, _STEPS = 10, 30
_STEPS_OF_MIXTURES = 10
# Fewer rows a component than this many times its columns give no covariance worth the name.
_ROWS_PER_COLUMN = 2
# Columns that stand for the kernel's feature space.
_KERNEL_COLUMNS = 100


@dataclass(frozen=True, eq=False)
class Partition:
    """Clusters of some rows, by which others can be assigned.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Clusters of the rows that it was fitted on.
    scores : callable
        Outlier scores of any rows, one column per cluster; the lowest is the row's cluster.
    depth : ndarray of shape (n_clusters, n_clusters)
        By how much the score of cluster j is above that of cluster i, on average over the rows of i.
    """

    labels: IntArray
    scores: Callable[[FloatArray], FloatArray]
    depth: FloatArray


Path = Callable[[FloatArray, Sequence[int], int], Iterator[tuple[int, Partition]]]
Around = Callable[[FloatArray, IntArray, int], Partition]


@dataclass(frozen=True)
class Family:
    """Clusterings of one kind.

    Attributes
    ----------
    path : callable
        ``path(X, ks, seed)`` yields k and a partition for each k that X has enough distinct rows for.
    around : callable
        ``around(X, labels, k)`` is the partition of this kind that rows with known labels, 0 to k − 1, make.
    embed : callable or None
        ``embed(X, seed)`` returns the points that are clustered, where these are not the rows themselves.
    n_splits, n_references : int
        How often rows are halved, and how many references of each kind are drawn: fewer where fits are slow.
    most_rows : int
        Larger tables are cut to a random sample.
    """

    path: Path
    around: Around
    embed: Callable[[FloatArray, int], FloatArray] | None = None
    n_splits: int = 4
    n_references: int = 3
    most_rows: int = 3000


_FAMILIES: dict[str, Family] = {}


def families() -> list[str]:
    """Names of the kinds of clusterings."""
    return list(_FAMILIES)


def family(name: str) -> Family:
    """The clusterings of this name."""
    return _FAMILIES[one_of("method", name, _FAMILIES)]


def merge_centers(centers: FloatArray, weights: FloatArray, ks: Sequence[int]) -> dict[int, FloatArray]:
    """Merge centres two by two, by Ward's criterion, and return those that are left at each k.

    Parameters
    ----------
    centers : ndarray of shape (n_centers, n_features)
    weights : ndarray of shape (n_centers,)
        Number of rows of each, positive.
    ks : sequence of int
        At most as many as there are centres.

    Examples
    --------
    >>> merge_centers(np.array([[0.0], [1.0], [9.0]]), np.array([3.0, 1.0, 1.0]), [2])[2].ravel().tolist()
    [0.25, 9.0]
    """
    centers, weights = centers.copy(), weights.astype(float)
    left = np.ones(len(centers), dtype=bool)
    # What merging two clusters adds to the inertia.
    costs = squared_distances(centers, centers) * weights * weights[:, None] / (weights + weights[:, None])
    np.fill_diagonal(costs, np.inf)
    found = {}
    for k in range(len(centers), 0, -1):
        if k in ks:
            found[k] = centers[left].copy()
        if k == 1:
            break
        one, other = sorted(divmod(int(costs.argmin()), len(centers)))
        both = weights[one] + weights[other]
        centers[one] = (weights[one] * centers[one] + weights[other] * centers[other]) / both
        weights[one], left[other] = both, False
        away = squared_distances(centers, centers[[one]])[:, 0] * weights * both / (weights + both)
        away[~left] = away[one] = np.inf
        costs[one], costs[:, one] = away, away
        costs[other], costs[:, other] = np.inf, np.inf
    return found


def k_means_path(X: FloatArray, ks: Sequence[int], seed: int) -> Iterator[tuple[int, Partition]]:
    """k-means for each k, in increasing order."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    X = np.ascontiguousarray(X)
    n_distinct = len(np.unique(X, axis=0))
    asked = sorted(k for k in ks if k <= n_distinct)
    if not asked:
        return
    n_small = min(_SMALL_PER_CLUSTER * asked[-1], n_distinct)
    with one_thread_if_small(X), warnings.catch_warnings():
        # Rows that differ by rounding only may share a centre.
        warnings.simplefilter("ignore", ConvergenceWarning)
        small = KMeans(n_small, n_init=1, max_iter=_STEPS_OF_SMALL, random_state=seed).fit(X)
        sizes = np.maximum(np.bincount(small.labels_, minlength=n_small), 1)
        starts = merge_centers(small.cluster_centers_, sizes, asked)
        moved = _moved(X, [starts[k] for k in asked], seed)
    for k, (centers, labels) in zip(asked, moved, strict=True):
        yield k, _around(centers, labels)


def _moved(X: FloatArray, starts: list[FloatArray], seed: int) -> list[tuple[FloatArray, IntArray]]:
    """Centres and labels of k-means from each of these starts."""
    from sklearn.cluster import KMeans

    lloyd = _steps_of_k_means() if is_small(X) and X.dtype == np.float64 else None
    if lloyd is None:
        fits = [KMeans(len(c), init=c, n_init=1, max_iter=_STEPS, random_state=seed).fit(X) for c in starts]
        return [(fit.cluster_centers_, fit.labels_) for fit in fits]
    # What the fit does, number by number, without its checks: there are some three hundred fits of a few
    # dozen rows for each cluster of a report, and checks take four times as long as the steps.
    mean, weights = X.mean(axis=0), np.ones(len(X))
    tolerance = KMeans().tol * np.mean(np.var(X, axis=0))
    rows, found = X - mean, []
    for start in starts:
        labels, _, centers, _ = lloyd(rows, weights, start - mean, max_iter=_STEPS, tol=tolerance)
        found.append((centers + mean, labels))
    return found


@cache
def _steps_of_k_means() -> Callable[..., Any] | None:
    """scikit-learn's steps of k-means, if they are where they have been, and give what its k-means gives."""
    from sklearn.cluster import KMeans

    rows = np.array([[-3.0], [-2.5], [1.0], [4.5]])
    expected = KMeans(2, init=rows[:2], n_init=1).fit(rows)
    try:
        from sklearn.cluster._kmeans import _kmeans_single_lloyd as lloyd

        labels, _, centers, _ = lloyd(rows, np.ones(4), rows[:2].copy(), max_iter=9, tol=0.0)
        same = np.array_equal(labels, expected.labels_) and np.array_equal(centers, expected.cluster_centers_)
    except Exception:  # another version: it may be gone, or want something else
        return None
    return lloyd if same else None


def _around(centers: FloatArray, labels: IntArray) -> Partition:
    # Over the rows of i, whose mean is centre i, the squared distance from centre j exceeds that from
    # centre i on average by the squared distance of the two.
    return Partition(
        labels, lambda rows: squared_distances(rows, centers), squared_distances(centers, centers)
    )


def around_means(X: FloatArray, labels: IntArray, k: int) -> Partition:
    """The mean of each label's rows, the nearest of which is a row's cluster."""
    members = (labels == np.arange(k)[:, None]).astype(float)
    # A label without rows is near to none.
    counts = members.sum(axis=1)
    means = members @ X / np.maximum(counts, 1.0)[:, None]
    means[counts == 0] = 1e6 * (1.0 + np.abs(X).max())
    return _around(means, labels)


def mixture_path(X: FloatArray, ks: Sequence[int], seed: int) -> Iterator[tuple[int, Partition]]:
    """Gaussian mixtures, started from k-means, for each k that leaves enough rows for every covariance."""
    n_rows, n_columns = X.shape
    most = max(n_rows // (_ROWS_PER_COLUMN * (n_columns + 1)), 2)
    for k, start in k_means_path(X, [k for k in ks if k <= most], seed):
        yield k, _mixture(X, start.labels, k, _STEPS_OF_MIXTURES, seed)


def around_gaussians(X: FloatArray, labels: IntArray, k: int) -> Partition:
    """A Gaussian of each label's rows; the most probable is a row's cluster."""
    return _mixture(X, labels, k, 1, 0)


def _mixture(X: FloatArray, start: IntArray, k: int, steps: int, seed: int) -> Partition:
    """A mixture after so many steps from the Gaussians of these labels."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    ridge = 1e-3 * float(X.var(axis=0).mean()) or 1.0
    means, precisions = _moments(X, start, k, ridge)
    sizes = np.bincount(start, minlength=k) + 1.0
    model = GaussianMixture(
        k,
        weights_init=sizes / sizes.sum(),
        means_init=means,
        precisions_init=precisions,
        reg_covar=ridge,
        max_iter=steps,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    scores = _mixture_scores(model)
    own = scores(X)
    labels = own.argmin(axis=1)
    rise = own - own[np.arange(len(X)), labels][:, None]
    counts = np.bincount(labels, minlength=k)
    members = labels == np.arange(k)[:, None]
    return Partition(labels, scores, members @ rise / np.maximum(counts, 1)[:, None])


def _mixture_scores(model: object) -> Callable[[FloatArray], FloatArray]:
    def scores(rows: FloatArray) -> FloatArray:
        # −2 log(π_k N_k(x)), up to what is the same for all k: the scale of squared distances.
        return -2.0 * np.log(np.maximum(model.predict_proba(rows), 1e-300))  # type: ignore[attr-defined]

    return scores


def _moments(X: FloatArray, labels: IntArray, k: int, ridge: float) -> tuple[FloatArray, FloatArray]:
    """Means and inverse covariances of clusters; small ones lean on the covariance within all of them."""
    n_columns = X.shape[1]
    members = (labels == np.arange(k)[:, None]).astype(float)
    means = members @ X / np.maximum(members.sum(axis=1), 1.0)[:, None]
    apart = X - means[labels]
    within = apart.T @ apart / len(X)
    inverses = np.empty((k, n_columns, n_columns))
    for i in range(k):
        own = apart[labels == i]
        covariance = (own.T @ own + n_columns * within) / (len(own) + n_columns)
        inverses[i] = np.linalg.inv(covariance + ridge * np.eye(n_columns))
    return means, (inverses + inverses.transpose(0, 2, 1)) / 2.0


def kernel_columns(X: FloatArray, seed: int) -> FloatArray:
    """Rows in the feature space of the Gaussian kernel, by Nyström's method."""
    from sklearn.kernel_approximation import Nystroem

    from whyclust.cluster._kernel_fits import scale_gamma

    count = min(_KERNEL_COLUMNS, len(X))
    points = Nystroem(gamma=scale_gamma(X), n_components=count, random_state=seed).fit_transform(X)
    return points - points.mean(axis=0)


_FAMILIES["kmeans"] = Family(k_means_path, around_means)
# Its clusters are those of the nearest prototypes.
_FAMILIES["soft"] = Family(k_means_path, around_means)
_FAMILIES["kernel"] = Family(k_means_path, around_means, embed=kernel_columns)
_FAMILIES["mixture"] = Family(mixture_path, around_gaussians, n_splits=2, n_references=1, most_rows=2000)
