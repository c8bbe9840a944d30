"""CM-EM: expectation maximisation of the mixture that the clustering module learns by gradient descent.

All covariances are ½ I (Eq. 2), so that ‖x − μ_k‖² is the exponent itself. The prior of Eq. (3) sits on the
mean responsibilities γ̃; after a maximisation step these equal the weights of the mixture (Eq. 4), and with
the two merged it is a Dirichlet prior on the weights φ. Then both steps are closed forms:

- expectation: γ_ik ∝ φ_k exp(−‖x_i − μ_k‖²);
- maximisation: μ_k = Σ_i γ_ik x_i / Σ_i γ_ik and φ_k = (Σ_i γ_ik + α_k − 1) / (n + Σ_l (α_l − 1)),

the latter from Σ_k (Σ_i γ_ik + α_k − 1) log φ_k under Σ_k φ_k = 1. Neither lets the objective

    Σ_i log Σ_k φ_k exp(−‖x_i − μ_k‖²) + Σ_k (α_k − 1) log φ_k

fall.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
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
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from whyclust.cluster._distances import row_blocks, squared_distances
from whyclust.saving.registry import saved

_SEEDS = np.iinfo(np.int32).max
# A cluster of less than this part of a row has no mean of its own: it keeps its centre.
_NOTHING = 1e-12


# Squares of larger numbers, summed over columns, leave double precision.
_LARGEST = 1e150


def _refuse_huge(table: NDArray) -> None:
    largest = float(np.abs(table).max())
    if largest > _LARGEST:
        raise ValueError(
            f"X holds values as large as {largest:.3g}, whose squares are no numbers any more: rescale the "
            "columns (StandardScaler in a Pipeline)."
        )


def expectation(X: NDArray, centers: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
    """Responsibilities, and the log-likelihood of each row up to a constant.

    Parameters
    ----------
    X : array of shape (n, d)
    centers : array of shape (K, d)
    weights : array of shape (K,)

    Returns
    -------
    responsibilities : array of shape (n, K)
    log_likelihoods : array of shape (n,)
    """
    logits = np.log(weights) - squared_distances(X, centers)
    log_likelihoods = logsumexp(logits, axis=1)
    return np.exp(logits - log_likelihoods[:, None]), log_likelihoods


def step_with_prior(
    X: NDArray, centers: NDArray, weights: NDArray, alpha: float, counts: NDArray
) -> tuple[NDArray, NDArray, float]:
    """One expectation and one maximisation; row i counts as often as `counts` has it.

    Returns
    -------
    centers, weights : arrays
        After the step.
    objective : float
        Before the step.
    """
    mass, sums, objective = np.zeros(len(centers)), np.zeros_like(centers), 0.0
    for block in row_blocks(len(X), max(centers.shape)):
        responsibilities, log_likelihoods = expectation(X[block], centers, weights)
        responsibilities *= counts[block, None]
        mass += responsibilities.sum(axis=0)
        sums += responsibilities.T @ X[block]
        objective += float(log_likelihoods @ counts[block])
    objective += (alpha - 1.0) * float(np.log(weights).sum())
    held = mass > _NOTHING
    moved = np.where(held[:, None], sums / np.where(held, mass, 1.0)[:, None], centers)
    # Without a prior (α = 1) the weight of an empty cluster is zero, and its logarithm has no bottom.
    new_weights = np.maximum(mass + alpha - 1.0, np.finfo(float).tiny)
    return moved, new_weights / new_weights.sum(), objective


@saved
class ClusteringModuleEM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """The clustering module's mixture, fitted by expectation maximisation (CM-EM).

    A mixture of Gaussians with the fixed covariance ½ I and a Dirichlet prior on its weights. The covariance
    has the unit of the data: where no direction has a variance above ½, all centres fall on the mean (pen
    positions scaled to 0..1 are such a case, in the paper too). Standardise the columns.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float, default=None
        Concentration of the symmetric prior, 1 or more; 1 is no prior. None takes 1 + n_samples /
        n_clusters: weights half-way between those of the data and equal ones, so that no cluster dies.
    init : {"k-means++", "random"}, default="k-means++"
        First centres: chosen far apart, or at random among the rows.
    n_init : int, default=1
        Number of starts; the one with the highest objective is kept.
    max_iter : int, default=150
        Largest number of steps of each start.
    tol : float, default=1e-4
        Stop when a step raises the objective, per row, by no more than this.
    random_state : int, RandomState instance or None, default=None
        Source of the starts.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        μ_k.
    weights_ : ndarray of shape (n_clusters,)
        φ_k.
    labels_ : ndarray of shape (n_samples,)
        Most probable cluster of every training row.
    objective_ : float
        Log-likelihood of the data and log-density of the prior, up to constants. Higher is better.
    objectives_ : list of float
        The same, before every step of the best start.
    alpha_ : float
        Concentration that was used.
    empty_clusters_ : ndarray of int
        Clusters that are most probable for no row.
    n_iter_ : int
        Steps of the best start.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the data had any.

    See Also
    --------
    ClusteringModule : The same mixture, by gradient descent.

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.cluster import ClusteringModuleEM
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]])
    >>> model = ClusteringModuleEM(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> model.predict_proba([[2.0, 0.5]]).round(3)
    array([[0.5, 0.5]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 1, None, closed="left"), None],
        "init": [StrOptions({"k-means++", "random"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float | None = None,
        init: str = "k-means++",
        n_init: int = 1,
        max_iter: int = 150,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find centres and weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored; present for the sake of pipelines.
        sample_weight : array of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        ClusteringModuleEM
            The fitted estimator.
        """
        table = validate_data(self, X, dtype=np.float64, reset=True)
        _refuse_huge(table)
        if len(table) < self.n_clusters:
            raise ValueError(
                f"Found n_samples={len(table)}, fewer rows than n_clusters={self.n_clusters}: use fewer "
                "clusters or more rows."
            )
        random_state = check_random_state(self.random_state)
        counts = _check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
        self.alpha_ = 1.0 + float(counts.sum()) / self.n_clusters if self.alpha is None else float(self.alpha)
        mean = table.mean(axis=0)  # data far from zero would lose digits
        centred = table - mean
        best: list[float] = []
        for _ in range(self.n_init):
            first = self._first_centers(centred, counts, random_state)
            centers, weights, objectives = self._run(centred, counts, first)
            if not best or objectives[-1] > best[-1]:
                best, self.weights_ = objectives, weights
                self.cluster_centers_ = centers + mean
        self.objectives_, self.objective_, self.n_iter_ = best, best[-1], max(1, len(best) - 1)
        self._n_features_out = self.n_clusters
        self.labels_ = self._responsibilities(table).argmax(axis=1)
        self.empty_clusters_ = np.setdiff1d(np.arange(self.n_clusters), self.labels_)
        if len(self.empty_clusters_):
            warnings.warn(
                f"The clusters have collapsed: {len(self.empty_clusters_)} of {self.n_clusters} are empty. "
                "The covariance is ½ I in the unit of the columns: standardise or enlarge them, or use fewer "
                "clusters.",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _first_centers(self, table: NDArray, counts: NDArray, random_state: np.random.RandomState) -> NDArray:
        if self.init == "random":
            enough = np.count_nonzero(counts) >= self.n_clusters
            chance = counts / counts.sum() if enough else None
            return table[random_state.choice(len(table), self.n_clusters, replace=False, p=chance)]
        seed = random_state.randint(_SEEDS)
        return kmeans_plusplus(table, self.n_clusters, sample_weight=counts, random_state=seed)[0]

    def _run(self, table: NDArray, counts: NDArray, centers: NDArray) -> tuple[NDArray, NDArray, list[float]]:
        weights = np.full(self.n_clusters, 1.0 / self.n_clusters)
        objectives: list[float] = []
        for _ in range(self.max_iter + 1):
            moved, new_weights, objective = step_with_prior(table, centers, weights, self.alpha_, counts)
            objectives.append(objective)  # of the state before the step
            settled = len(objectives) > 1 and objective - objectives[-2] <= self.tol * counts.sum()
            if settled or len(objectives) > self.max_iter:
                break
            centers, weights = moved, new_weights
        return centers, weights, objectives

    def _responsibilities(self, table: NDArray) -> NDArray:
        parts = [
            expectation(table[block], self.cluster_centers_, self.weights_)[0]
            for block in row_blocks(len(table), max(self.cluster_centers_.shape))
        ]
        return np.concatenate(parts)

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Return the responsibilities γ of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, reset=False)
        _refuse_huge(table)
        return self._responsibilities(table)

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the most probable cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.predict_proba(X).argmax(axis=1)

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the responsibilities, the code of the clustering module; see `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        return self.predict_proba(X)
