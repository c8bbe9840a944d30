"""MCFS: the few columns from which the clusters of a graph can be read (Cai, Zhang and He, KDD 2010)."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path
from sklearn.manifold import spectral_embedding
from sklearn.utils._param_validation import Interval

from whyclust.saving.registry import saved
from whyclust.select.graphs import CONSTRAINTS, neighbour_graph
from whyclust.select.ranking import RankingSelector

# Up to so many rows all eigenvectors are cheap; of more rows the first are searched for.
_FEW_ROWS = 500
# Weights below this part of the largest join nothing: eigenvectors divide by a row's sum of them, and a row
# that is far from all others would have coordinates of 1e49.
_LEAST_WEIGHT = 1e-10


def flat_embedding(graph: Any, n_components: int, random_state: Any) -> NDArray:
    """Y: eigenvectors of L y = λ D y with the smallest eigenvalues, but for the constant one (Eq. 2)."""
    n_rows = graph.shape[0]
    n_components = min(n_components, n_rows - 1)
    graph = graph.copy()
    graph.data[graph.data < _LEAST_WEIGHT * graph.data.max()] = 0.0
    graph.eliminate_zeros()
    if n_rows <= _FEW_ROWS or n_components == n_rows - 1:  # a search does not find all of them
        degrees = np.diag(np.asarray(graph.sum(axis=1)).ravel())
        # A row without neighbours stands alone.
        degrees[np.diag_indices(n_rows)] += np.diag(degrees) == 0
        _, vectors = eigh(degrees - graph.toarray(), degrees, subset_by_index=[0, n_components])
        return vectors[:, 1:]
    with warnings.catch_warnings():
        # Parts of the graph that nothing joins are clusters, and their eigenvectors say so.
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        return spectral_embedding(graph, n_components=n_components, random_state=random_state)


def sparse_coefficients(X: NDArray, y: NDArray, n_nonzero: int) -> NDArray:
    """A: min ‖y − X a‖² + β |a|₁, with the β at which so many coefficients are there (Eqs. 3 and 5).

    LARS follows the solutions as β falls, and stops after so many steps. X and y are centred.
    """
    with warnings.catch_warnings():
        # A column that others make up is left out, and a y that is reached ends the path: as it should be.
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, _, found = lars_path(X, y, method="lasso", max_iter=n_nonzero, return_path=False)
    return found


@saved
class MCFS(RankingSelector):
    """Keep the columns from which the clusters can be read together.

    MCFS stands for multi-cluster feature selection. A graph joins each row to its nearest neighbours. Its
    first eigenvectors y_1 … y_K unfold the clusters: L y = λ D y. Each of them is then regressed on the
    columns with an L1 penalty, which leaves as many coefficients as columns are wanted. A column's score is
    its largest coefficient, max_k |a_kj|. So, other than with the Laplacian score, of two columns that say
    the same one is enough.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number of them, a share of all, or None for half of them.
    n_clusters : int, default=5
        K, the number of eigenvectors. The paper takes the number of clusters that are looked for.
    n_neighbors : int, default=5
        Neighbours of each row; all other rows where there are fewer.
    bandwidth : float or None, default=None
        t of the weights exp(−‖x_i − x_j‖² / t). None takes 2 σ², σ the mean distance of a row to its
        neighbours.
    random_state : int, RandomState instance or None, default=None
        Where the search for eigenvectors begins, in tables of more than 500 rows.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        max_k |a_kj|; zero for columns that no eigenvector needs.
    coefficients_ : ndarray of shape (n_clusters, n_features)
        a_kj.
    ranking_ : ndarray of int of shape (n_features,)
        1 is the best column. Of equal scores, the first column comes first.
    n_features_ : int
        Columns that are kept.
    n_features_in_ : int
        Columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the table had any.

    See Also
    --------
    LaplacianScore : Columns one by one.

    Notes
    -----
    Coefficients depend on units: put a scaler before it. There are no more coefficients than rows, so that in
    tables of few rows and many columns fewer columns have a score than may be wanted.

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.select import MCFS
    >>> X = np.random.default_rng(0).normal(size=(60, 10))
    >>> X[:30, 4] += 9.0
    >>> MCFS(1, n_clusters=1, random_state=0).fit(X).get_support(indices=True)
    array([4])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankingSelector._parameter_constraints,
        **CONSTRAINTS,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        n_clusters: int = 5,
        n_neighbors: int = 5,
        bandwidth: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.random_state = random_state

    def _scores(self, X: NDArray) -> NDArray:
        graph = neighbour_graph(X, self.n_neighbors, self.bandwidth)
        embedding = flat_embedding(graph, self.n_clusters, self.random_state)
        X = X.astype(np.float64)
        X = X - X.mean(axis=0)
        wanted = self._count(X.shape[1])
        self.coefficients_ = np.array(
            [sparse_coefficients(X, y, wanted) for y in (embedding - embedding.mean(axis=0)).T]
        )
        return np.abs(self.coefficients_).max(axis=0)
