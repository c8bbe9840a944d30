"""Outlier scores of kernel clusters: soft minima and distances in feature space."""

import numpy as np

from whyclust.cluster._distances import (
    FloatArray,
    IntArray,
    group_log_sum_exp,
    squared_distances,
)

#: Differences of norms below this are the rounding of a sum over all pairs.
NORM_TOLERANCE = 1e-12


def standard_background(squared_norms: FloatArray) -> FloatArray:
    """Constant that turns inlierness into the decision of standard kernel k-means.

    Eq. (5) prefers the largest ⟨Φ(x), μ_k⟩ − ‖μ_k‖²/2. Adding max_j ‖μ_j‖²/2, the same for
    all clusters, leaves non-negative terms only, of which a logarithm can be taken.

    Parameters
    ----------
    squared_norms : ndarray of shape (K,)
        ‖μ_k‖².

    Returns
    -------
    ndarray of shape (K,)
        (max_j ‖μ_j‖² − ‖μ_k‖²)/2; exactly zero where norms are equal up to rounding, and then
        Eq. (5) is Eq. (6).

    Examples
    --------
    >>> import numpy as np
    >>> standard_background(np.array([0.5, 0.9, 0.9 - 1e-15]))
    array([0.2, 0. , 0. ])
    """
    largest = squared_norms.max()
    background = (largest - squared_norms) / 2.0
    background[background <= NORM_TOLERANCE * largest] = 0.0
    return background


def outlier_scores(
    X: FloatArray,
    support_vectors: FloatArray,
    offsets: FloatArray,
    starts: IntArray,
    gamma: float,
    background: FloatArray,
) -> FloatArray:
    """o_k(x) = −1/γ log( Σ_j exp(−γ (‖x − u_j‖² + offset_j)) + background_k ).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        One block of points.
    support_vectors : ndarray of shape (m, d)
        Sorted by cluster.
    offsets : ndarray of shape (m,)
        Added to the squared distances.
    starts : ndarray of shape (K,)
        First support vector of every cluster.
    gamma : float
        γ.
    background : ndarray of shape (K,)
        Non-negative.

    Returns
    -------
    ndarray of shape (n, K)
        Finite, also where every single exponential underflows.

    Examples
    --------
    With one support vector per cluster these are squared distances:

    >>> import numpy as np
    >>> vectors = np.array([[0.0], [3.0]])
    >>> zeros = np.zeros(2)
    >>> outlier_scores(np.array([[100.0]]), vectors, zeros, np.array([0, 1]), 2.0, zeros)
    array([[10000., 9409.]])
    """
    logits = -gamma * (squared_distances(X, support_vectors) + offsets)
    inlierness = group_log_sum_exp(logits, starts)
    with_background = background > 0
    inlierness[:, with_background] = np.logaddexp(
        inlierness[:, with_background], np.log(background[with_background], dtype=np.float64)
    )
    return inlierness / -gamma


def expansion_distances(
    kernel: FloatArray,
    diagonal: FloatArray,
    starts: IntArray,
    normalizers: FloatArray,
    squared_norms: FloatArray,
) -> FloatArray:
    """‖Φ(x) − μ_k‖² = K(x, x) − 2/Z_k Σ_j K(x, u_j) + ‖μ_k‖² (Eq. 5).

    Parameters
    ----------
    kernel : ndarray of shape (n, m)
        K(x, u_j), support vectors sorted by cluster.
    diagonal : ndarray of shape (n,)
        K(x, x).
    starts : ndarray of shape (K,)
        First support vector of every cluster.
    normalizers, squared_norms : ndarray of shape (K,)
        Z_k and ‖μ_k‖².

    Returns
    -------
    ndarray of shape (n, K)

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> expansion_distances(np.array([[0.25]]), one, np.array([0]), one, one)
    array([[1.5]])
    """
    products = np.add.reduceat(kernel, starts, axis=1) / normalizers
    return diagonal[:, None] - 2.0 * products + squared_norms
