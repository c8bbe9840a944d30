"""Graphs of neighbours, and how smooth columns are on them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import kneighbors_graph
from sklearn.utils._param_validation import Interval

from whyclust.inputs.reading import is_sparse

#: Checks of the parameters of a graph, for methods that have one.
CONSTRAINTS: dict[str, list[Any]] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
}
# The least that 1 − L_r can be: the score of columns that have no other.
LEAST = -1.0


def neighbour_graph(X: Any, n_neighbors: int, bandwidth: float | None = None) -> Any:
    """S_ij = exp(−‖x_i − x_j‖² / t), where i is among the nearest of j or j among those of i; sparse.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
    n_neighbors : int
        Of each row; all others where there are fewer.
    bandwidth : float or None
        t. None takes 2 σ², σ the mean distance of a row to its neighbours.

    Examples
    --------
    >>> neighbour_graph(np.array([[0.0], [1.0], [3.0]]), 1, bandwidth=1.0).toarray().round(3)
    array([[0.   , 0.368, 0.   ],
           [0.368, 0.   , 0.018],
           [0.   , 0.018, 0.   ]])
    """
    n_neighbors = min(n_neighbors, X.shape[0] - 1)
    graph: Any = sp.csr_array(kneighbors_graph(X, n_neighbors, mode="distance", include_self=False))
    distances = graph.data.astype(np.float64)
    t = 2.0 * float(distances.mean()) ** 2 if bandwidth is None else float(bandwidth)
    # Where all rows are the same, all weights are 1, whatever t is.
    graph.data = np.exp(-(distances**2) / (t or 1.0))
    if not graph.data.any():
        raise ValueError(
            f"bandwidth={bandwidth!r} is so small that no row has a neighbour, expected about the square of "
            "the distance between neighbours: choose a larger one, or None."
        )
    joined: Any = sp.csr_array(graph.maximum(graph.T))
    # scikit-learn's spectral embedding takes no others; there are far fewer edges than 2³¹.
    joined.indices, joined.indptr = joined.indices.astype(np.int32), joined.indptr.astype(np.int32)
    return joined


def smoothness(X: Any, graph: Any) -> NDArray:
    """1 − L_r of each column, L_r the Laplacian score (He et al., 2005, Eq. 1 of section 2.2).

    L_r = f̃ᵀ L f̃ / f̃ᵀ D f̃, where D = diag(S 1), L = D − S and f̃ = f − (fᵀ D 1 / 1ᵀ D 1) 1. So this is
    f̃ᵀ S f̃ / f̃ᵀ D f̃: near 1 where neighbours have nearly the same value, −1 at least. Constant columns
    have no Laplacian score, and the least here.

    Examples
    --------
    >>> smoothness(np.eye(2), sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    array([-1., -1.])
    """
    degrees = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
    total = degrees.sum()
    X = X.astype(np.float64)
    means = np.asarray(X.T @ degrees).ravel() / total
    if is_sparse(X):
        # Sums of squares less those of the means: sparse rows stay sparse.
        centre = means * means * total
        squares = np.asarray(X.multiply(X).T @ degrees).ravel()
        spread = squares - centre
        shared = np.asarray(X.multiply(graph @ X).sum(axis=0)).ravel() - centre
    else:
        X = X - means
        squares = degrees @ (X * X) + means * means * total
        spread = degrees @ (X * X)
        shared = (X * (graph @ X)).sum(axis=0)
    # What is left of a constant column is rounding.
    varies = spread > 1e-14 * squares
    return np.divide(shared, spread, out=np.full(len(spread), LEAST), where=varies)
