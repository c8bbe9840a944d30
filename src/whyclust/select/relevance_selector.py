"""RelevanceSelector: the columns that a clustering used."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval

from whyclust.cluster.elbow import TooFewPointsError, inertia_curve
from whyclust.saving.registry import saved
from whyclust.select.ranking import RankingSelector
from whyclust.select.reaching import SEEDS

# What clusters where nothing else is given, so that files can keep it as a part of the selector.
saved(KMeans, alone=False)


def mean_relevance(explanation: Any) -> NDArray:
    """The mean of |relevance| over rows, of each column."""
    values = explanation.values
    if not explanation.is_factored:
        return np.abs(values).mean(axis=0)
    total = np.zeros(values.shape[1])
    for _, block in values.blocks():  # relevance of sparse tables is made block by block
        total += np.abs(block).sum(axis=0)
    return total / values.shape[0]


def kept_after(n_features: int, n_wanted: int, n_rounds: int) -> list[int]:
    """Columns left after each round: the same share goes in each of them.

    >>> kept_after(1000, 10, 2), kept_after(8, 4, 1)
    ([100, 10], [4])
    """
    share = (n_wanted / n_features) ** (1.0 / n_rounds)
    steps = [round(n_features * share**number) for number in range(1, n_rounds)]
    return [*(max(n_wanted, step) for step in steps), n_wanted]


def _n_clusters(X: Any, seed: int) -> int:
    """As many clusters as the elbow of the inertia tells; two where rows are too few or too alike for one."""
    try:
        return inertia_curve(X, random_state=seed).k
    except TooFewPointsError:
        return min(2, X.shape[0])


@saved
class RelevanceSelector(RankingSelector):
    """Keep the columns that matter most to a clustering: cluster, select, cluster again.

    The table is clustered, every row is explained, and a column's score is the mean of its absolute
    relevance. What is clustered afterwards, with the columns that are kept, sees less noise.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number of them, a share of all, or None for half of them.
    estimator : clustering or None, default=None
        What :func:`whyclust.explain` can explain after its ``fit``; it is copied. None takes k-means with
        ten starts and 2 to 10 clusters, as many as the elbow of its inertia tells, anew in each round;
        ``estimator_`` has them. Where you know how many clusters there are, say so: ``KMeans(4)``.
    n_rounds : int, default=1
        How often columns are left out and the rest is clustered again. Each round leaves out the same
        share.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means and of the elbow, where `estimator` is None.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The mean of |relevance| in the last round that a column took part in, as a share of all columns'.
    ranking_ : ndarray of int of shape (n_features,)
        1 is the best column. Columns of a later round come before those that were left out earlier.
    estimator_ : clustering
        The one of the last round.
    n_features_ : int
        Columns that are kept.
    n_features_in_ : int
        Columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the table had any.

    See Also
    --------
    whyclust.explain : Where relevance comes from.

    Notes
    -----
    Clusterings depend on units: put a scaler before it. Whether sparse tables can be taken, the clustering
    decides. A clustering that has found nothing in the table has nothing to tell of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from whyclust.select import RelevanceSelector
    >>> X = np.random.default_rng(0).normal(size=(60, 10))
    >>> X[:30, 4] += 9.0
    >>> RelevanceSelector(1, estimator=KMeans(2, n_init=1, random_state=0)).fit(X).get_support(indices=True)
    array([4])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankingSelector._parameter_constraints,
        "estimator": [HasMethods(["fit"]), None],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    _sparse = True

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        estimator: Any = None,
        n_rounds: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.estimator = estimator
        self.n_rounds = n_rounds
        self.random_state = random_state

    def _clustering(self, X: Any) -> Any:
        if self.estimator is not None:
            return clone(self.estimator)
        seed = check_random_state(self.random_state).randint(SEEDS)
        return KMeans(_n_clusters(X, seed), n_init=10, random_state=seed)

    def _scores(self, X: Any) -> NDArray:
        from whyclust.explaining import explain

        n_features = X.shape[1]
        left = np.arange(n_features)
        scores = np.zeros(n_features)
        self._rounds = np.zeros(n_features, dtype=np.intp)
        for number, n_kept in enumerate(kept_after(n_features, self._count(n_features), self.n_rounds)):
            part = X[:, left]
            self.estimator_ = self._clustering(part).fit(part)
            found = mean_relevance(explain(self.estimator_, part))
            scores[left] = found / (found.sum() or 1.0)
            self._rounds[left] = number
            left = np.sort(left[np.argsort(-found, kind="stable")[:n_kept]])
        return scores

    def _order(self) -> NDArray:
        return np.lexsort((-self.scores_, -self._rounds))
