"""SubKMeans: k-means and the subspace in which its clusters differ (Mautz et al., KDD 2017)."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from whyclust._checks import refuse_too_large
from whyclust.cluster._distances import FloatArray, IntArray
from whyclust.cluster._feature_space import fill_empty_clusters
from whyclust.cluster._margins import inverse_mean_margin
from whyclust.cluster._starts import SEED_LIMIT, check_enough_distinct_points, is_better
from whyclust.cluster._subspace import (
    best_rotation,
    cluster_means,
    clustered_distances,
    count_clustered,
    random_rotation,
    shared_scatter,
)
from whyclust.saving.registry import saved


class _Split(NamedTuple):
    """Where one start ended: centred centres, V, m, and how many iterations it took."""

    centres: FloatArray
    rotation: FloatArray
    n_components: int
    n_iter: int

    @property
    def basis(self) -> FloatArray:
        return self.rotation[:, : self.n_components]


@saved
class SubKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """K-means that also finds the subspace in which the clusters differ.

    The table is rotated by an orthogonal V. In the first m dimensions, the clustered space, every row is
    near the centre of its cluster; in the others, the shared space, all rows have one centre, the data
    mean μ_D. Minimised is the sum of the squared distances to these centres,
    J = Σ_k Σ_{x∈C_k} ‖P_Cᵀ Vᵀ(x − μ_k)‖² + Σ_x ‖P_Nᵀ Vᵀ(x − μ_D)‖².

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_components : int, default=None
        m, the dimensions of the clustered space. None takes every direction in which clusters differ by
        more than `tol`.
    n_init : int, default=10
        Number of starts; the one with the lowest cost is kept. Where m is found, tol · tr S_D for each
        dimension is a part of it.
    max_iter : int, default=300
        Largest number of iterations of each start. It ends earlier when no row changes its cluster.
    tol : float, default=1e-10
        Which eigenvalues of Σ_k S_k − S_D count as negative, where m is found: those below −tol times the
        total scatter, tr S_D. Each dimension has then to explain more than this part of the scatter. The
        default leaves out rounding only; a larger one, such as 1e-3, also leaves out directions in which
        clusters differ a little, perhaps by chance. Used where `n_components` is None.
    random_state : int, RandomState instance or None, default=None
        Source of the starts. The global generator is never used for an integer and its
        seed is never changed.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        μ_k, in the columns of the table.
    rotation_ : ndarray of shape (n_features, n_features)
        V. Its first `n_components_` columns span the clustered space, the direction in which clusters
        differ most first.
    n_components_ : int
        m.
    mean_ : ndarray of shape (n_features,)
        μ_D, the mean of the table.
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row.
    inertia_ : float
        The cost J.
    n_iter_ : int
        Iterations of the best start.
    beta_ : float
        1/E[f_c] on the training data, f_c = second smallest − smallest squared distance in the clustered
        space: the contrast of the explaining network's pool.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the data had any.

    See Also
    --------
    SoftKMeans : Clusters with probabilities, in all dimensions.

    Notes
    -----
    K centres and their common mean span at most K − 1 directions. So Σ_k S_k − S_D has at most K − 1
    negative eigenvalues, and no more dimensions are found; with ``tol=0`` rounding adds one.

    If all these directions are kept, the centres agree in the shared space. Then the nearest centre is the
    same in the clustered space as in all columns, and J is the inertia of k-means: the result is one of
    k-means, and its subspace comes with it. With fewer dimensions (a given `n_components` or a larger
    `tol`) the clusters are others, and what lies in the shared space does not move rows between them.

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.cluster import SubKMeans
    >>> X = np.array([[0.0, 3.0], [0.0, -3.0], [9.0, 3.0], [9.0, -3.0]])
    >>> model = SubKMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> model.n_components_, model.inertia_
    (1, 36.0)
    >>> model.transform(X).round(3)
    array([[-4.5],
           [-4.5],
           [ 4.5],
           [ 4.5]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_components: int | None = None,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Find the centres, the rotation and, unless it is given, the number of dimensions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data, finite and dense. Single precision is kept.
        y : None
            Ignored; present for the sake of pipelines.

        Returns
        -------
        SubKMeans
            The fitted estimator.
        """
        X = self._validated(X, reset=True)
        refuse_too_large(X)
        check_enough_distinct_points(X, self.n_clusters)
        if self.n_components is not None and self.n_components > X.shape[1]:
            raise ValueError(
                f"Found {X.shape[1]} columns but n_components={self.n_components}, and a rotation has no "
                f"more dimensions than columns: choose at most {X.shape[1]}, or None to find the number."
            )
        random_state = check_random_state(self.random_state)
        mean = X.mean(axis=0, dtype=np.float64)
        centred = X - mean
        scatter = float(np.einsum("ij,ij->", centred, centred))
        lowest = np.inf
        for _ in range(self.n_init):
            found = self._run(centred, self.tol * scatter, random_state)
            reached = self._objective(centred, found, self.tol * scatter)
            if is_better(reached, lowest, scatter):
                lowest, best = reached, found
        self.mean_ = mean
        self.cluster_centers_ = (best.centres + mean).astype(X.dtype)
        self.rotation_ = best.rotation
        self.n_components_ = self._n_features_out = best.n_components
        self.n_iter_ = best.n_iter
        distances = self._squared_distances(X)
        self.labels_ = distances.argmin(axis=1)
        self.inertia_ = self._cost(X, distances)
        self.beta_ = inverse_mean_margin(distances)
        in_use = len(np.unique(self.labels_))
        if in_use < self.n_clusters:
            warnings.warn(
                f"Only {in_use} of {self.n_clusters} clusters have rows: rows that differ agree in the "
                "subspace. Take fewer clusters, or more n_components.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _run(self, X: FloatArray, price: float, random_state: np.random.RandomState) -> _Split:
        """One start: a random half of the space, then rows, centres and rotation in turn."""
        rotation = random_rotation(X.shape[1], random_state)
        n_components = self.n_components or (X.shape[1] + 1) // 2
        seed = random_state.randint(SEED_LIMIT)
        _, rows = kmeans_plusplus(X @ rotation[:, :n_components], self.n_clusters, random_state=seed)
        split = _Split(X[rows], rotation, n_components, 0)
        labels, nearest = self._assign(X, split)
        for n_iter in range(1, self.max_iter + 1):
            labels = fill_empty_clusters(labels, nearest, self.n_clusters)
            means, counts = cluster_means(X, labels, self.n_clusters)
            rotation, eigenvalues = best_rotation(means, counts)
            n_components = self.n_components or count_clustered(eigenvalues, price)
            split = _Split(means, rotation, n_components, n_iter)
            before = labels
            labels, nearest = self._assign(X, split)
            if np.array_equal(labels, before):
                break
        return split

    def _assign(self, X: FloatArray, split: _Split) -> tuple[IntArray, FloatArray]:
        """The nearest centre in the clustered space, and the squared distance to it."""
        distances = clustered_distances(X, split.centres, split.basis)
        return distances.argmin(axis=1), distances.min(axis=1)

    def _objective(self, X: FloatArray, split: _Split, price: float) -> float:
        """What the iterations lower: J and, where m is found, the price of m dimensions."""
        cost = float(self._assign(X, split)[1].sum()) + shared_scatter(X, split.basis)
        return cost if self.n_components else cost + price * split.n_components

    @property
    def _basis(self) -> FloatArray:
        return self.rotation_[:, : self.n_components_]

    def _squared_distances(self, X: FloatArray) -> FloatArray:
        return clustered_distances(X - self.mean_, self.cluster_centers_ - self.mean_, self._basis)

    def _cost(self, X: FloatArray, distances: FloatArray) -> float:
        return float(distances.min(axis=1).sum()) + shared_scatter(X - self.mean_, self._basis)

    def _validated(self, X: ArrayLike, *, reset: bool = False) -> FloatArray:
        if not reset:
            check_is_fitted(self)
        return validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)

    def predict(self, X: ArrayLike) -> IntArray:
        """Cluster of every row: the nearest centre in the clustered space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._squared_distances(self._validated(X)).argmin(axis=1)

    def transform(self, X: ArrayLike) -> FloatArray:
        """Coordinates of every row in the clustered space, P_Cᵀ Vᵀ(x − μ_D).

        Not the distances to the centres, as `sklearn.cluster.KMeans` has them: the subspace is what this
        clustering is for. k-means with the transformed centres makes the same assignments there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        X = self._validated(X)
        return ((X - self.mean_) @ self._basis).astype(X.dtype, copy=False)

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Opposite of the cost J of the rows, each in its nearest cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored; present for the sake of pipelines.

        Returns
        -------
        float
            Higher is better.
        """
        X = self._validated(X)
        return -self._cost(X, self._squared_distances(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
