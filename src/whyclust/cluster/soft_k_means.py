"""Soft k-means: probabilities from scaled squared distances (000, supplement E)."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from whyclust._checks import refuse_too_large
from whyclust.cluster._distances import FloatArray, IntArray, row_blocks, squared_distances
from whyclust.cluster._margins import inverse_mean_margin
from whyclust.cluster._mixture_em import (
    EPSILON,
    em_step,
    mean_variance,
    scale_from_spread,
)
from whyclust.cluster._starts import SEED_LIMIT, check_enough_distinct_points, is_better
from whyclust.saving.registry import saved

#: Soft k-means is a single mixture with one component per cluster.
ONE_GROUP = np.array([0])


@saved
class SoftKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """K-means with probabilities p_c(x) ∝ exp(−τ‖x − μ_c‖²).

    Centres (and the stiffness τ, unless it is given) maximise the likelihood of an
    equal-weight mixture of Gaussians that share one isotropic covariance.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    stiffness : float, default=None
        τ of Eq. (31). None estimates it: τ = 1/(2σ²) for the common variance σ².
    decision : {"relative", "absolute"}, default="relative"
        What membership means: to be more probable than any other cluster (Eq. 24), or
        to exceed a probability (Eq. 28). `predict` returns the most probable cluster in
        both cases; `decision_function` and explanations answer the question asked here.
    threshold : float, default=0.5
        θ of the absolute decision, between 0 and 1.
    init : {"k-means++", "random"} or array-like of shape (n_clusters, n_features), \
default="k-means++"
        First centres: chosen far apart, chosen at random among the points, or given
        (then there is one start).
    n_init : int, default=10
        Number of starts; the one with the lowest objective is kept.
    max_iter : int, default=300
        Largest number of iterations of each start.
    tol : float, default=1e-4
        Stop when an iteration improves the mean log-likelihood by no more than this.
    random_state : int, RandomState instance or None, default=None
        Source of the starts. The global generator is never used for an integer and its
        seed is never changed.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        μ_k.
    stiffness_ : float
        τ, given or estimated.
    labels_ : ndarray of shape (n_samples,)
        Most probable cluster of every training point.
    n_iter_ : int
        Iterations of the best start.
    objective_ : float
        Negative log-likelihood of the training data up to a constant: Eq. (36) of
        supplement F for one mixture. Lower is better.
    beta_ : float
        1/E[f_c] on the training data, f_c = τ (second smallest − smallest squared
        distance): the contrast of the explaining network's pool.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the data had any.

    See Also
    --------
    KernelKMeans : Clusters that are not convex.

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.cluster import SoftKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]])
    >>> model = SoftKMeans(n_clusters=2, stiffness=0.1, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> model.predict_proba([[2.0, 0.5]]).round(3)
    array([[0.5, 0.5]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "stiffness": [Interval(Real, 0, None, closed="neither"), None],
        "decision": [StrOptions({"relative", "absolute"})],
        "threshold": [Interval(Real, 0, 1, closed="neither")],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        stiffness: float | None = None,
        decision: str = "relative",
        threshold: float = 0.5,
        init: str | ArrayLike = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.stiffness = stiffness
        self.decision = decision
        self.threshold = threshold
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Find the centres and, unless it is given, the stiffness.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data, finite and dense. Single precision is kept.
        y : None
            Ignored; present for the sake of pipelines.

        Returns
        -------
        SoftKMeans
            The fitted estimator.
        """
        X = self._validated(X, reset=True)
        refuse_too_large(X)
        check_enough_distinct_points(X, self.n_clusters)
        random_state = check_random_state(self.random_state)
        mean = X.mean(axis=0, dtype=np.float64)
        centred = X - mean
        n_starts = self.n_init if isinstance(self.init, str) else 1
        objective = np.inf
        for _ in range(n_starts):
            start = self._first_centres(centred, mean, random_state)
            centres, stiffness, reached, n_iter = self._run(centred, start)
            if is_better(reached, objective, len(X)):
                objective, self.n_iter_, self.stiffness_ = reached, n_iter, stiffness
                self.cluster_centers_ = (centres + mean).astype(X.dtype)
        if not np.isfinite(objective):
            raise ValueError(
                "X holds values so near to each other that the squares of their distances vanish, expected "
                "larger differences: rescale the columns (StandardScaler in a Pipeline)."
            )
        self.objective_ = objective
        self._n_features_out = self.n_clusters
        distances = self._squared_distances(X)
        self.labels_ = distances.argmin(axis=1)
        self.beta_ = inverse_mean_margin(self.stiffness_ * distances)
        return self

    def _first_centres(
        self, X: FloatArray, mean: FloatArray, random_state: np.random.RandomState
    ) -> FloatArray:
        if not isinstance(self.init, str):
            given = np.asarray(self.init, dtype=np.float64)
            expected = (self.n_clusters, X.shape[1])
            if given.shape != expected or not np.isfinite(given).all():
                raise ValueError(
                    f"Found init of shape {given.shape} but expected finite centres of shape "
                    f"{expected}: give one row for every cluster."
                )
            return given - mean
        if self.init == "random":
            return X[random_state.choice(len(X), self.n_clusters, replace=False)]
        seed = random_state.randint(SEED_LIMIT)
        return np.asarray(kmeans_plusplus(X, self.n_clusters, random_state=seed)[0])

    def _run(self, X: FloatArray, centres: FloatArray) -> tuple[FloatArray, float, float, int]:
        """EM from one start: centres, stiffness, objective, iterations."""
        epsilon = EPSILON * mean_variance(X)
        if self.stiffness is None:
            spread = sum(
                float(squared_distances(X[block], centres).min(axis=1).sum())
                for block in row_blocks(len(X), max(centres.shape))
            )
            stiffness = scale_from_spread(spread, X.shape, epsilon)
        else:
            stiffness = float(self.stiffness)
        previous = np.inf
        for n_iter in range(self.max_iter + 1):
            step = em_step(
                X,
                centres,
                ONE_GROUP,
                stiffness,
                epsilon=epsilon,
                learn_gamma=self.stiffness is None,
            )
            # A step reports the objective of the state it started from.
            if previous - step.objective <= self.tol * len(X) or n_iter == self.max_iter:
                break
            previous, centres, stiffness = step.objective, step.support_vectors, step.gamma
        return centres, stiffness, step.objective, max(n_iter, 1)

    def _squared_distances(self, X: FloatArray) -> FloatArray:
        distances = np.empty((len(X), len(self.cluster_centers_)))
        for block in row_blocks(len(X), max(self.cluster_centers_.shape)):
            distances[block] = squared_distances(X[block], self.cluster_centers_)
        return distances

    def _validated(self, X: ArrayLike, *, reset: bool = False) -> FloatArray:
        if not reset:
            check_is_fitted(self)
        return validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)

    def predict(self, X: ArrayLike) -> IntArray:
        """Most probable cluster of every point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._squared_distances(self._validated(X)).argmin(axis=1)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of every cluster, softmax(−τ‖x − μ_k‖²) (Eqs. 23 and 31).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        X = self._validated(X)
        probabilities = softmax(-self.stiffness_ * self._squared_distances(X), axis=1)
        return probabilities.astype(X.dtype, copy=False)

    def transform(self, X: ArrayLike) -> FloatArray:
        """Euclidean distance of every point to every centre, as in `sklearn.cluster.KMeans`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        X = self._validated(X)
        return np.sqrt(self._squared_distances(X)).astype(X.dtype, copy=False)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Evidence f_c(x) of every cluster; positive where the point belongs to it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            ``decision="relative"``: log(p_c / max_{k≠c} p_k) (Eq. 25); ``"absolute"``:
            log(p_c / (1 − p_c)) + log((1 − θ) / θ) (Eq. 29). Infinite for a single cluster,
            which has no competitor.
        """
        X = self._validated(X)
        n_clusters = len(self.cluster_centers_)
        if n_clusters < 2:
            return np.full((len(X), 1), np.inf, dtype=X.dtype)
        logits = -self.stiffness_ * self._squared_distances(X)
        evidence = np.empty_like(logits)
        for cluster in range(n_clusters):
            others = np.delete(logits, cluster, axis=1)
            if self.decision == "relative":
                evidence[:, cluster] = logits[:, cluster] - others.max(axis=1)
            else:
                evidence[:, cluster] = logits[:, cluster] - logsumexp(others, axis=1)
        if self.decision == "absolute":
            evidence += np.log1p(-self.threshold) - np.log(self.threshold)
        return evidence.astype(X.dtype, copy=False)

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Mean log-likelihood of the points under the mixture.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : None
            Ignored; present for the sake of pipelines.

        Returns
        -------
        float
            Higher is better.
        """
        X = self._validated(X)
        logits = -self.stiffness_ * self._squared_distances(X)
        constant = 0.5 * X.shape[1] * np.log(self.stiffness_ / np.pi) - np.log(logits.shape[1])
        return float(logsumexp(logits, axis=1).mean() + constant)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
