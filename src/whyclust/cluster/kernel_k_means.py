"""Kernel k-means: clusters as sets of support vectors (000, section III and supplement F)."""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from whyclust._checks import refuse_too_large
from whyclust.cluster._distances import FloatArray, IntArray, group_starts, row_blocks
from whyclust.cluster._kernel_fits import (
    KernelFit,
    fit_feature_space,
    fit_mixtures,
    scale_gamma,
)
from whyclust.cluster._kernels import Kernel
from whyclust.cluster._margins import inverse_mean_margin
from whyclust.cluster._scores import expansion_distances, outlier_scores
from whyclust.cluster._starts import (
    check_enough_distinct_points,
    check_start_labels,
    random_labels,
    run_k_means,
)
from whyclust.saving.registry import saved


@saved
class KernelKMeans(ClusterMixin, BaseEstimator):
    """K-means in the feature space of a kernel.

    Each cluster owns support vectors u_j. For the Gaussian kernel exp(−γ‖x − u‖²) every
    algorithm ends in outlier scores of one form, and a point belongs to the cluster with
    the smallest::

        o_k(x) = −1/γ log( Σ_{j of k} exp(−γ (‖x − u_j‖² + offset_j)) + background_k )

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    algorithm : {"em", "standard", "leave_one_out"}, default="em"
        - "em" learns a few support vectors per cluster (000, supplement F); Gaussian only.
        - "standard" is kernel k-means in feature space (000, Eq. 5): every training point
          is a support vector.
        - "leave_one_out" uses normalised centroids and removes each point's own bump while
          it is assigned (001, appendix E), which helps where the bandwidth is small.
    n_support : int, default=10
        Support vectors per cluster of algorithm "em".
    kernel : str or callable, default="rbf"
        A kernel that `sklearn.metrics.pairwise.pairwise_kernels` knows, or a function of
        two rows. Only the Gaussian kernel "rbf" can be explained.
    gamma : float, default=None
        γ of the kernel. None: "em" learns it, the others use
        1 / (n_features * X.var()).
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial and the sigmoid kernel.
    stiffness : float, default=None
        β of `predict_proba`. None stands for γ, which makes it the posterior of the
        mixtures (for other kernels, which have no such scale, for `beta_`).
    init : {"k-means++", "random"} or array-like of shape (n_samples,), default="k-means++"
        First labels: from k-means, at random, or given (then there is one start).
    n_init : int, default=10
        Number of starts; the one with the lowest objective is kept.
    max_iter : int, default=100
        Number of iterations of each start ("em": exactly; else fewer if no label changes). Zero
        is allowed with given labels: they are turned into support vectors as they are.
    fixed_labels : bool, default=False
        Keep the labels given as `init` while support vectors are fitted to each cluster's own points.
        Where clusters overlap, `predict` may still put points elsewhere. The other algorithms than "em"
        have nothing to fit then: it is as if `max_iter` were zero.
    random_state : int, RandomState instance or None, default=None
        Source of the starts and of the noise. The global generator's seed is never changed.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_support_vectors, n_features)
        u_j, sorted by cluster.
    support_clusters_ : ndarray of shape (n_support_vectors,)
        Cluster of every support vector, ascending; every cluster has at least one.
    support_offsets_ : ndarray of shape (n_support_vectors,)
        log(Z_k)/γ with the normaliser Z_k of Prop. 4: the number of support vectors, or
        ‖Σ Φ(u_j)‖ for "leave_one_out". Gaussian kernel only.
    background_ : ndarray of shape (n_clusters,)
        What makes the scores of "standard" agree with Eq. (5) where the centroids' norms
        differ: (max_j ‖μ_j‖² − ‖μ_k‖²)/2. Zero for the other algorithms.
    normalizers_ : ndarray of shape (n_clusters,)
        Z_k of μ_k = 1/Z_k Σ_j Φ(u_j).
    squared_norms_ : ndarray of shape (n_clusters,)
        ‖μ_k‖².
    gamma_ : float
        γ, given, learned or derived.
    labels_ : ndarray of shape (n_samples,)
        ``predict`` of the training data.
    n_iter_ : int
        Iterations of the best start.
    objective_ : float
        Of the best start; lower is better. "em": L of Eq. (36); otherwise the sum of
        squared distances in feature space (to leave-one-out centroids for that variant).
    beta_ : float
        1/E[f_c] on the training data, f_c = second smallest − smallest outlier score: the
        contrast of the explaining network's pool.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the data had any.

    See Also
    --------
    SoftKMeans : One prototype per cluster.

    Examples
    --------
    A blob inside a ring cannot be separated by k-means:

    >>> import numpy as np
    >>> from whyclust.cluster import KernelKMeans
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X = np.concatenate([0.1 * ring, ring])
    >>> model = KernelKMeans(2, algorithm="standard", gamma=0.5, random_state=0).fit(X)
    >>> len(set(model.labels_[:60])), len(set(model.labels_[60:]))
    (1, 1)
    >>> model.predict([[0.0, 0.0]])[0] == model.labels_[0]
    np.True_
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"em", "standard", "leave_one_out"})],
        "n_support": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS)), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "stiffness": [Interval(Real, 0, None, closed="neither"), None],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "fixed_labels": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        algorithm: str = "em",
        n_support: int = 10,
        kernel: str | Callable[[FloatArray, FloatArray], float] = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        stiffness: float | None = None,
        init: str | ArrayLike = "k-means++",
        n_init: int = 10,
        max_iter: int = 100,
        fixed_labels: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.n_support = n_support
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.stiffness = stiffness
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.fixed_labels = fixed_labels
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Find the clusters and their support vectors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data, finite and dense. Single precision is kept.
        y : None
            Ignored; present for the sake of pipelines.

        Returns
        -------
        KernelKMeans
            The fitted estimator.
        """
        X = self._validated(X, reset=True)
        self._check_combination()
        refuse_too_large(X)
        check_enough_distinct_points(X, self.n_clusters)
        random_state = check_random_state(self.random_state)
        starts = self._first_labels(X, random_state)
        if self.algorithm == "em":
            # Its matrix products are small: several threads only wait for each other.
            with threadpool_limits(limits=1, user_api="blas"):
                fitted = fit_mixtures(
                    X,
                    starts,
                    self.n_clusters,
                    self.n_support,
                    self.gamma,
                    self.max_iter,
                    random_state,
                    fixed_labels=self.fixed_labels,
                )
        else:
            gamma = float(scale_gamma(X) if self.gamma is None else self.gamma)
            fitted = fit_feature_space(
                X,
                starts,
                self.n_clusters,
                Kernel(self.kernel, gamma, self.degree, self.coef0),
                0 if self.fixed_labels else self.max_iter,
                leave_one_out=self.algorithm == "leave_one_out",
            )
        self._store(fitted, X.dtype)
        scores = self._scores(X)
        self.labels_ = scores.argmin(axis=1)
        self.beta_ = inverse_mean_margin(scores)
        return self

    def _check_combination(self) -> None:
        if self.algorithm == "em" and self.kernel != "rbf":
            raise ValueError(
                f"Found kernel={self.kernel!r} but algorithm='em' is defined for 'rbf' only: "
                "choose algorithm='standard' or 'leave_one_out' for other kernels."
            )
        if self.fixed_labels and isinstance(self.init, str):
            raise ValueError(
                f"Found fixed_labels=True with init={self.init!r} but there are no labels to keep: give "
                "labels as init or choose fixed_labels=False."
            )
        if self.max_iter == 0 and isinstance(self.init, str):
            raise ValueError(
                f"Found max_iter=0 with init={self.init!r} but zero iterations need labels to "
                "keep: give labels as init or choose max_iter >= 1."
            )

    def _first_labels(self, X: FloatArray, random_state: np.random.RandomState) -> Iterator[IntArray]:
        """Labels of every start."""
        if not isinstance(self.init, str):
            yield check_start_labels(self.init, len(X), self.n_clusters)
            return
        centred = X - X.mean(axis=0, dtype=np.float64)
        for _ in range(self.n_init):
            if self.init == "random":
                yield random_labels(len(X), self.n_clusters, random_state)
            else:
                yield run_k_means(centred, self.n_clusters, random_state)[1]

    def _store(self, fitted: KernelFit, dtype: np.dtype[Any]) -> None:
        self.support_vectors_ = fitted.support_vectors.astype(dtype)
        self.support_clusters_ = fitted.support_clusters
        self.normalizers_ = fitted.normalizers.astype(dtype)
        self.squared_norms_ = fitted.squared_norms.astype(dtype)
        self.background_ = fitted.background.astype(dtype)
        self.gamma_ = fitted.gamma
        self.objective_ = fitted.objective
        self.n_iter_ = fitted.n_iter
        if self.kernel == "rbf":
            # H_k of Prop. 4 as an offset of the squared distances.
            offsets = np.log(fitted.normalizers) / fitted.gamma
            self.support_offsets_ = offsets[fitted.support_clusters].astype(dtype)

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma_, self.degree, self.coef0)

    def _scores(self, X: FloatArray) -> FloatArray:
        """Outlier scores in double precision, block by block."""
        scores = np.empty((len(X), len(self.background_)))
        kernel, starts = self._kernel(), group_starts(self.support_clusters_)
        for block in row_blocks(len(X), max(self.support_vectors_.shape)):
            if self.kernel == "rbf":
                scores[block] = outlier_scores(
                    X[block],
                    self.support_vectors_,
                    self.support_offsets_,
                    starts,
                    self.gamma_,
                    self.background_,
                )
            else:
                scores[block] = expansion_distances(
                    kernel.block(X[block], self.support_vectors_),
                    kernel.diagonal(X[block]),
                    starts,
                    self.normalizers_,
                    self.squared_norms_,
                )
        return scores

    def _validated(self, X: ArrayLike, *, reset: bool = False) -> FloatArray:
        if not reset:
            check_is_fitted(self)
        return validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)

    def predict(self, X: ArrayLike) -> IntArray:
        """Cluster with the smallest outlier score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(self._validated(X)).argmin(axis=1)

    def outlier_scores(self, X: ArrayLike) -> FloatArray:
        """How far every point is from every cluster, o_k(x).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            A soft minimum of squared distances for the Gaussian kernel (Eq. 6); the
            squared distance in feature space (Eq. 5) for all others.
        """
        X = self._validated(X)
        return self._scores(X).astype(X.dtype, copy=False)

    def inlierness(self, X: ArrayLike) -> FloatArray:
        """How well every point fits every cluster, i_k(x) = ⟨Φ(x), μ_k⟩ + background_k.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Largest for the assigned cluster; exp(−γ o_k) for the Gaussian kernel.
        """
        X = self._validated(X)
        scores = self._scores(X)
        if self.kernel == "rbf":
            inlierness = np.exp(-self.gamma_ * scores)
        else:
            norms = self.squared_norms_ + self._kernel().diagonal(X)[:, None]
            inlierness = (norms - scores) / 2.0 + self.background_
        return inlierness.astype(X.dtype, copy=False)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of every cluster, P ∝ exp(−β o_k) = i_k^(β/γ) (001, A and B).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        X = self._validated(X)
        beta = self.stiffness or (self.gamma_ if self.kernel == "rbf" else self.beta_)
        return softmax(-beta * self._scores(X), axis=1).astype(X.dtype, copy=False)
