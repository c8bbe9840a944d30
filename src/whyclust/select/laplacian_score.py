"""LaplacianScore: columns in which neighbouring rows are alike (He, Cai and Niyogi, NIPS 2005)."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import NDArray

from whyclust.saving.registry import saved
from whyclust.select.graphs import CONSTRAINTS, neighbour_graph, smoothness
from whyclust.select.ranking import RankingSelector


@saved
class LaplacianScore(RankingSelector):
    """Keep the columns that vary least between neighbouring rows, for how much they vary at all.

    A graph joins each row to its nearest neighbours, with weights S_ij = exp(−‖x_i − x_j‖² / t). The
    Laplacian score of a column f is L_r = f̃ᵀ L f̃ / f̃ᵀ D f̃, with D = diag(S 1), L = D − S and f̃ the column
    less its weighted mean. Low is good; `scores_` holds 1 − L_r, so that high is good here as everywhere.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number of them, a share of all, or None for half of them.
    n_neighbors : int, default=5
        Neighbours of each row; all other rows where there are fewer.
    bandwidth : float or None, default=None
        t of the weights. None takes 2 σ², σ the mean distance of a row to its neighbours.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        1 − L_r, from −1 to 1. Constant columns have −1.
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
    SRCFS : The same in many random subspaces, for tables of many columns.
    MCFS : Columns that explain clusters together.

    Notes
    -----
    Distances depend on units: put a scaler before it. Sparse tables stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.select import LaplacianScore
    >>> noise = np.random.default_rng(0).normal(size=60)
    >>> X = np.column_stack([noise, np.repeat([0.0, 9.0], 30)])
    >>> LaplacianScore(1).fit(X).get_support()
    array([False,  True])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankingSelector._parameter_constraints,
        **CONSTRAINTS,
    }
    _sparse = True

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        n_neighbors: int = 5,
        bandwidth: float | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth

    def _scores(self, X: Any) -> NDArray:
        return smoothness(X, neighbour_graph(X, self.n_neighbors, self.bandwidth))
