"""The three ways to fit kernel k-means, each from several starts to its best result."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from whyclust.cluster._distances import FloatArray, IntArray, group_starts, squared_distances
from whyclust.cluster._feature_space import (
    cluster_norms,
    leave_one_out_distances,
    run_lloyd,
    standard_distances,
)
from whyclust.cluster._kernels import Kernel, KernelSums
from whyclust.cluster._mixture_em import (
    EPSILON,
    NOISE,
    mean_variance,
    run_em,
    scale_from_spread,
)
from whyclust.cluster._scores import standard_background
from whyclust.cluster._starts import is_better, seed_support_vectors

#: The first γ of EM as a part of the one that the first support vectors suggest. A wider start
#: lets neighbouring support vectors share points before they settle; on wine, iris, breast
#: cancer, moons and circles the objective (36) reached is lower or about the same.
FIRST_SCALE = 0.1
NO_START = "Found no start but expected at least one: choose n_init >= 1."


class KernelFit(NamedTuple):
    """Clusters as sums of support vectors in feature space, μ_k = 1/Z_k Σ_j Φ(u_j)."""

    support_vectors: FloatArray  #: (m, d), sorted by cluster
    support_clusters: IntArray  #: (m,)
    normalizers: FloatArray  #: (K,) Z_k
    squared_norms: FloatArray  #: (K,) ‖μ_k‖²
    background: FloatArray  #: (K,)
    gamma: float
    objective: float
    n_iter: int


def scale_gamma(X: FloatArray) -> float:
    """γ = 1 / (d · variance of all entries), the "scale" of support vector machines.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data.

    Returns
    -------
    float
        With variance 1 where nothing varies.

    Examples
    --------
    >>> import numpy as np
    >>> scale_gamma(np.array([[0.0, 2.0], [2.0, 0.0]]))
    0.5
    """
    variance = float(np.var(X, dtype=np.float64))
    return 1.0 / (X.shape[1] * (variance if variance > 0 else 1.0))


def fit_mixtures(
    X: FloatArray,
    starts: Iterable[IntArray],
    n_clusters: int,
    n_support: int,
    gamma: float | None,
    max_iter: int,
    random_state: np.random.RandomState,
    *,
    fixed_labels: bool = False,
) -> KernelFit:
    """Best of several runs of the EM of supplement F.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data.
    starts : iterable of ndarray of shape (n,)
        First labels of every run.
    n_clusters, n_support : int
        K and M.
    gamma : float or None
        γ to keep; None learns it.
    max_iter : int
        Iterations of each run.
    random_state : RandomState
        Source of support vectors and noise.
    fixed_labels : bool
        Whether points keep their first labels.

    Returns
    -------
    KernelFit
    """
    mean = X.mean(axis=0, dtype=np.float64)
    centred = X - mean
    variance = mean_variance(centred)
    groups = np.repeat(np.arange(n_clusters), n_support)
    best = None
    for labels in starts:
        support_vectors, spread = seed_support_vectors(centred, labels, n_clusters, n_support, random_state)
        first_gamma = gamma or scale_from_spread(spread, centred.shape, EPSILON * variance)
        if gamma is None and max_iter > 0:
            first_gamma *= FIRST_SCALE
        state = run_em(
            centred,
            support_vectors,
            group_starts(groups),
            first_gamma,
            epsilon=EPSILON * variance,
            learn_gamma=gamma is None,
            max_iter=max_iter,
            noise=NOISE * np.sqrt(variance),
            random_state=random_state,
            given=labels if fixed_labels else None,
        )
        if best is None or is_better(state.objective, best.objective, len(X)):
            clusters = np.split(state.support_vectors, n_clusters)
            squared_norms = [np.exp(-state.gamma * squared_distances(own, own)).mean() for own in clusters]
            best = KernelFit(
                support_vectors=state.support_vectors + mean,
                support_clusters=groups,
                normalizers=np.full(n_clusters, float(n_support)),
                squared_norms=np.array(squared_norms),
                background=np.zeros(n_clusters),
                gamma=float(state.gamma),
                objective=state.objective,
                n_iter=max_iter,
            )
    if best is None:
        raise ValueError(NO_START)
    return best


def fit_feature_space(
    X: FloatArray,
    starts: Iterable[IntArray],
    n_clusters: int,
    kernel: Kernel,
    max_iter: int,
    *,
    leave_one_out: bool,
) -> KernelFit:
    """Best of several runs of Lloyd's algorithm in feature space.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data; every point becomes a support vector.
    starts : iterable of ndarray of shape (n,)
        First labels of every run.
    n_clusters : int
        K.
    kernel : Kernel
        The kernel.
    max_iter : int
        Largest number of iterations of each run.
    leave_one_out : bool
        001, appendix E, with normalised centroids, instead of Eq. (5).

    Returns
    -------
    KernelFit
    """
    kernel_sums = KernelSums(kernel, X)
    distances_of = leave_one_out_distances if leave_one_out else standard_distances
    unit = float(np.abs(kernel_sums.diagonal).sum())
    objective = np.inf
    for start in starts:
        run = run_lloyd(kernel_sums, start, n_clusters, distances_of, max_iter)
        if objective == np.inf or is_better(run[1], objective, unit):
            labels, objective, n_iter = run
    sums = kernel_sums.over_clusters(labels, n_clusters)
    totals = cluster_norms(sums, kernel_sums.diagonal, labels)
    if leave_one_out:
        # A sum of zero norm (possible where the kernel takes both signs) has no direction.
        normalizers = np.sqrt(np.where(totals > 0, totals, 1.0))
    else:
        normalizers = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    squared_norms = totals / np.square(normalizers)
    order = np.argsort(labels, kind="stable")
    return KernelFit(
        support_vectors=X[order],
        support_clusters=labels[order],
        normalizers=normalizers,
        squared_norms=squared_norms,
        background=np.zeros(n_clusters) if leave_one_out else standard_background(squared_norms),
        gamma=kernel.gamma,
        objective=objective,
        n_iter=n_iter,
    )
