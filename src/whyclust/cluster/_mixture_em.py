"""EM for mixtures of tied isotropic Gaussians, one mixture per cluster (000, supplement F).

A cluster k is the equal-weight mixture of the Gaussians around its support vectors (Eq. 34).
Points belong to the mixture of largest likelihood. With a single group that holds one
component per cluster the very same steps fit soft k-means (supplement E, Eq. 31).
"""

from typing import NamedTuple

import numpy as np

from whyclust.cluster._distances import (
    FloatArray,
    IntArray,
    group_log_sum_exp,
    row_blocks,
    squared_distances,
)

#: ε of supplement F, in units of the mean variance of the data.
EPSILON = 1e-9
#: Standard deviation of the noise on support vectors, in units of the data's own.
NOISE = 1e-6


class Mixture(NamedTuple):
    """State of the EM procedure after a step."""

    support_vectors: FloatArray  #: (m, d), sorted by group
    gamma: float
    objective: float  #: Eq. (36), of the state *before* the step
    labels: IntArray  #: (n,) group that each point was assigned to in the E-step
    log_likelihoods: FloatArray  #: (n,) without the term in log γ


def mean_variance(X: FloatArray) -> float:
    """Variance of a feature, averaged over features; 1 where nothing varies.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data.

    Returns
    -------
    float
        The unit in which ε and the noise of supplement F are measured, so that the result
        does not depend on the unit of the data. It is 1 for standardised data.

    Examples
    --------
    >>> import numpy as np
    >>> mean_variance(np.array([[0.0, 5.0], [2.0, 5.0]]))
    0.5
    """
    variance = float(np.var(X, axis=0, dtype=np.float64).mean())
    return variance if variance > 0 else 1.0


def mixture_objective(best: FloatArray, gamma: float, n_features: int) -> float:
    """L of Eq. (36) from the log-likelihood of each point under its own mixture.

    Parameters
    ----------
    best : ndarray of shape (n,)
        −γ LME of Eq. (35) for the mixture that the point belongs to.
    gamma : float
        Scale γ.
    n_features : int
        d.

    Returns
    -------
    float
    """
    return float(-best.sum() - 0.5 * len(best) * n_features * np.log(gamma))


def scale_from_spread(spread: float, shape: tuple[int, ...], epsilon: float) -> float:
    """γ of Eq. (38) from the sum over n and j of K_nj ‖x_n − u_j‖².

    Parameters
    ----------
    spread : float
        The double sum.
    shape : tuple of int
        (N, d) of the data.
    epsilon : float
        Keeps γ finite where every point is its own support vector.

    Returns
    -------
    float

    Examples
    --------
    >>> scale_from_spread(8.0, shape=(4, 2), epsilon=0.0)
    0.5
    """
    return 1.0 / (2.0 * max(spread, 0.0) / (shape[0] * shape[1]) + epsilon)


def em_step(
    X: FloatArray,
    support_vectors: FloatArray,
    starts: IntArray,
    gamma: float,
    *,
    epsilon: float = EPSILON,
    learn_gamma: bool = True,
    given: IntArray | None = None,
) -> Mixture:
    """One E-step (hard over groups, soft inside) and one M-step, Eqs. (36)–(38).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred data; the spread is taken as a difference of squares.
    support_vectors : ndarray of shape (m, d)
        Sorted by group.
    starts : ndarray of shape (K,)
        First support vector of every group.
    gamma : float
        Scale γ.
    epsilon : float
        Added to the right-hand side of Eq. (38) before the inverse is taken.
    learn_gamma : bool
        Whether γ is updated or kept.
    given : ndarray of shape (n,), optional
        The group of each point, where it is known: it is then not assigned.

    Returns
    -------
    Mixture
        New support vectors and γ; objective and labels of the state that came in.
    """
    n_samples, n_features = X.shape
    sizes = np.diff(starts, append=len(support_vectors))
    labels = np.empty(n_samples, dtype=np.intp)
    best = np.empty(n_samples)
    weights = np.zeros(len(support_vectors))
    sums = np.zeros_like(support_vectors)
    squares = 0.0
    for block in row_blocks(n_samples, max(support_vectors.shape)):
        rows = X[block]
        logits = -gamma * squared_distances(rows, support_vectors)
        totals = group_log_sum_exp(logits, starts)
        likelihoods = totals - np.log(sizes)
        own = likelihoods.argmax(axis=1) if given is None else given[block]
        labels[block] = own
        best[block] = likelihoods[np.arange(len(rows)), own]
        # K_nj: softmax inside the assigned group, zero elsewhere. An infinite total
        # switches a group off, so that one exp makes both.
        totals[own[:, None] != np.arange(len(starts))] = np.inf
        responsibilities = np.exp(logits - np.repeat(totals, sizes, axis=1))
        weights += responsibilities.sum(axis=0)
        sums += responsibilities.T @ rows
        squares += float(np.einsum("ij,ij->", rows, rows))
    # Eq. (37). A component without any weight stays where it is.
    alive = weights > np.finfo(np.float64).tiny
    updated = support_vectors.copy()
    updated[alive] = sums[alive] / weights[alive, None]
    if learn_gamma:
        # Eq. (38) with the new support vectors: Σ K ‖x − u‖² = Σ ‖x‖² − Σ_j (Σ_n K_nj) ‖u_j‖²,
        # because the responsibilities of a point sum to one.
        spread = squares - float(weights[alive] @ np.square(updated[alive]).sum(axis=1))
        new_gamma = scale_from_spread(spread, X.shape, epsilon)
    else:
        new_gamma = gamma
    return Mixture(updated, new_gamma, mixture_objective(best, gamma, n_features), labels, best)


def reseed_empty_groups(X: FloatArray, state: Mixture, starts: IntArray) -> FloatArray:
    """Move the support vectors of groups without points to where the fit is worst.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data.
    state : Mixture
        Result of a step.
    starts : ndarray of shape (K,)
        First support vector of every group.

    Returns
    -------
    ndarray of shape (m, d)
        The support vectors; each empty group sits on the points nearest to the one
        that is least likely, so the objective can only fall.
    """
    members = np.bincount(state.labels, minlength=len(starts))
    empty = np.flatnonzero(members == 0)
    if not len(empty):
        return state.support_vectors
    support_vectors = state.support_vectors.copy()
    ends = np.append(starts[1:], len(support_vectors))
    available = state.log_likelihoods.copy()
    for group in empty:
        size = ends[group] - starts[group]
        worst = int(available.argmin())
        distances = squared_distances(X, X[worst : worst + 1])[:, 0]
        nearest = np.argsort(distances, kind="stable")[:size]
        support_vectors[starts[group] : ends[group]] = X[np.resize(nearest, size)]
        # The next empty group must start elsewhere, also when points are repeated.
        available[nearest] = np.inf
        available[distances == 0] = np.inf
    return support_vectors


def run_em(
    X: FloatArray,
    support_vectors: FloatArray,
    starts: IntArray,
    gamma: float,
    *,
    epsilon: float,
    learn_gamma: bool,
    max_iter: int,
    noise: float,
    random_state: np.random.RandomState,
    given: IntArray | None = None,
) -> Mixture:
    """Run the whole procedure of supplement F from one start.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred data.
    support_vectors, starts, gamma
        The start.
    epsilon, learn_gamma
        See `em_step`.
    max_iter : int
        Number of iterations.
    noise : float
        Standard deviation of the noise added to all support vectors before the E-step.
    random_state : RandomState
        Source of the noise.
    given
        See `em_step`.

    Returns
    -------
    Mixture
        With the objective and labels of the final support vectors.
    """
    # The number of iterations is fixed: small steps may be the beginning of a way down from a saddle.
    for _ in range(max_iter):
        shaken = support_vectors + noise * random_state.standard_normal(support_vectors.shape)
        step = em_step(X, shaken, starts, gamma, epsilon=epsilon, learn_gamma=learn_gamma, given=given)
        support_vectors, gamma = reseed_empty_groups(X, step, starts), step.gamma
    final = em_step(X, support_vectors, starts, gamma, epsilon=epsilon, learn_gamma=False, given=given)
    return final._replace(support_vectors=support_vectors, gamma=gamma)
