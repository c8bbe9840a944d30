"""SRCFS: Laplacian scores of many random subspaces together (Huang, Cai and Wang, 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from whyclust.saving.registry import saved
from whyclust.select.graphs import CONSTRAINTS, neighbour_graph, smoothness
from whyclust.select.ranking import RankingSelector

# A column alone is as smooth as can be on its own graph: subspaces of fewer columns say little.
_FEWEST = 10


def partitions(
    n_features: int, n_partitions: int, n_subspaces: int, random_state: np.random.RandomState
) -> Iterator[list[NDArray]]:
    """Random partitions of the columns into subspaces whose sizes differ by one at most.

    >>> [len(part) for part in next(partitions(7, 1, 3, np.random.RandomState(0)))]
    [3, 2, 2]
    """
    for _ in range(n_partitions):
        yield np.array_split(random_state.permutation(n_features), n_subspaces)


@saved
class SRCFS(RankingSelector):
    """Keep the columns with the best Laplacian scores in random subspaces, on the mean.

    SRCFS stands for feature selection by multi-subspace randomisation and collaboration. The columns are
    split at random into subspaces of similar size, several times over. Each subspace has a graph of
    neighbours of its own, on which its columns get their Laplacian scores; a column's score is the mean of
    those it got, one in each partition. Many useless columns then spoil some graphs, not the only one.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number of them, a share of all, or None for half of them.
    n_partitions : int, default=10
        m, how often the columns are split.
    n_subspaces : int, default=20
        s, the subspaces of each partition. There are fewer where they would have less than ten columns:
        one alone, which is LaplacianScore, in tables of less than twenty.
    n_neighbors : int, default=5
        K, neighbours of each row; all other rows where there are fewer.
    bandwidth : float or None, default=None
        t of the weights exp(−‖x_i − x_j‖² / t). None takes 2 σ² in each subspace, σ the mean distance of a
        row to its neighbours there.
    random_state : int, RandomState instance or None, default=None
        Source of the partitions.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The mean of 1 − L_r over partitions, from −1 to 1. Constant columns have −1.
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
    LaplacianScore : The score in all columns at once.

    Notes
    -----
    Distances depend on units: put a scaler before it. Sparse tables stay sparse. Defaults are those of the
    authors' program; there, the last subspaces of a partition may be smaller than the others, or missing.

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.select import SRCFS
    >>> X = np.random.default_rng(0).normal(size=(60, 40))
    >>> X[:30, 7] += 9.0
    >>> SRCFS(1, random_state=0).fit(X).get_support(indices=True)
    array([7])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankingSelector._parameter_constraints,
        **CONSTRAINTS,
        "n_partitions": [Interval(Integral, 1, None, closed="left")],
        "n_subspaces": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    _sparse = True

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        n_partitions: int = 10,
        n_subspaces: int = 20,
        n_neighbors: int = 5,
        bandwidth: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_partitions = n_partitions
        self.n_subspaces = n_subspaces
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.random_state = random_state

    def _scores(self, X: Any) -> NDArray:
        n_features = X.shape[1]
        n_subspaces = min(self.n_subspaces, max(1, n_features // _FEWEST))
        drawn = partitions(n_features, self.n_partitions, n_subspaces, check_random_state(self.random_state))
        total = np.zeros(n_features)
        for subspaces in drawn:
            for columns in subspaces:
                part = X[:, columns]
                graph = neighbour_graph(part, self.n_neighbors, self.bandwidth)
                total[columns] += smoothness(part, graph)
        return total / self.n_partitions
