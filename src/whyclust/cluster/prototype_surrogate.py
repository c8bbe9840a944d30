"""A surrogate for clusterings that have no network of their own: prototypes fitted to their labels."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from whyclust._progress import stage, waiting
from whyclust.cluster._distances import FloatArray, IntArray, row_blocks
from whyclust.cluster._labelled_rows import LabelledRows, Setting
from whyclust.cluster._margins import inverse_mean_margin
from whyclust.cluster._own_order import OwnOrder, own_order
from whyclust.cluster._prototype_fit import Prototypes
from whyclust.cluster._surrogate_selection import Given, Validation, screen, search
from whyclust.cluster.fidelity import Fidelity
from whyclust.saving.registry import saved

# Settings are compared on at most this many rows.
_SELECTION_ROWS = 2_000
# Columns of nearly one scale need no standardising.
_ONE_SCALE = 3.0


@saved
class PrototypeSurrogate(ClassifierMixin, BaseEstimator):
    """Prototypes that reproduce given labels, so that these can be explained.

    Density-based, hierarchical and spectral clusterings, or labels made by hand, have no
    function from points to clusters. This fits one, of the form that kernel k-means has
    (000, section V): it starts from the clusters' members, or from centres of k-means within
    each cluster, and moves prototypes, their weights and the clusters' offsets until its
    boundaries coincide with the labels. Among the settings that agree best with held-out
    labels, within one standard error, it takes the smoothest: the smallest change from the
    start, then fewest prototypes, then the smallest γ, then the fewest columns. ``fidelity_``
    says how well it agrees::

        o_k(x) = −1/γ log Σ_{j of k} exp(−γ (‖a − u_j‖² + offset_j)),  a = (x − center_)/scale_

    A point belongs to the cluster of smallest o_k, or is noise where all are above
    ``noise_threshold_``.

    Parameters
    ----------
    n_support : int or "auto", default="auto"
        Prototypes per cluster, at most. "auto": chosen by cross-validation.
    gamma : float or "auto", default="auto"
        γ, one for all clusters, in the units of a. "auto": chosen by cross-validation.
    standardize : bool or "auto", default="auto"
        Whether columns are divided by their standard deviations. "auto": chosen by
        cross-validation where they differ in scale.
    shrinkage : float or "auto", default="auto"
        Columns in which a cluster is within so many standard errors of where most clusters
        are have no part in it. "auto": as many as cross-validation allows.
    noise_label : int or str, default=-1
        Label of rows in no cluster. They get no prototypes; a threshold is fitted to them.
        Without such rows there is no noise. Where labels are text, its text is meant.
    cv : int, default=5
        Number of folds.
    max_samples : int, default=10_000
        Rows that are fitted, at most; every cluster keeps its share and at least one row.
        The others then serve as held-out rows.
    random_state : int, RandomState instance or None, default=None
        Source of folds, samples and starts. The global generator's seed is never changed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels given, sorted, noise among them.
    cluster_ids_ : ndarray of shape (n_classes,)
        The same with noise last.
    support_vectors_ : ndarray of shape (n_support_vectors, n_features)
        u_j, ordered by cluster.
    support_clusters_ : ndarray of shape (n_support_vectors,)
        Position of its cluster in ``cluster_ids_``, ascending.
    support_offsets_ : ndarray of shape (n_support_vectors,)
    gamma_ : float
    center_, scale_ : ndarray of shape (n_features,)
        The units of a.
    noise_threshold_ : float or None
    n_support_ : int
        Prototypes per cluster, at most.
    shrinkage_ : float
    stiffness_ : float
        Probabilities are softmax(−stiffness · o), calibrated on held-out rows.
    fidelity_ : Fidelity
        Agreement with the given labels, in sample and held out, overall and per cluster.
    given_ : ndarray of shape (n_samples,)
        The labels given.
    labels_ : ndarray of shape (n_samples,)
        ``predict`` of the training data.
    beta_ : float
        1/E[f_c] on the training data.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    See Also
    --------
    KernelKMeans : Clusters of the same form that are found, not given.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN
    >>> from sklearn.datasets import make_moons
    >>> from whyclust.cluster import PrototypeSurrogate
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> labels = DBSCAN(eps=0.2).fit_predict(X)
    >>> surrogate = PrototypeSurrogate(random_state=0).fit(X, labels)
    >>> surrogate.fidelity_.overall_held_out
    0.99
    >>> surrogate.predict([[0.0, 1.0], [1.0, -0.5]])
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_support": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "standardize": ["boolean", StrOptions({"auto"})],
        "shrinkage": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "noise_label": [Integral, str],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "max_samples": [Interval(Integral, 10, None, closed="left")],
        "random_state": ["random_state"],
    }

    # Asked for before anyone finds out whether the model is fitted.
    fidelity_: Fidelity | None = None

    def __init__(
        self,
        *,
        n_support: int | str = "auto",
        gamma: float | str = "auto",
        standardize: bool | str = "auto",
        shrinkage: float | str = "auto",
        noise_label: int | str = -1,
        cv: int = 5,
        max_samples: int = 10_000,
        random_state: Any = None,
    ) -> None:
        self.n_support = n_support
        self.gamma = gamma
        self.standardize = standardize
        self.shrinkage = shrinkage
        self.noise_label = noise_label
        self.cv = cv
        self.max_samples = max_samples
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit prototypes to given labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The labels; ``noise_label`` marks rows in no cluster.

        Returns
        -------
        self
        """
        if y is not None and (count := _num_samples(y)) != (rows := _num_samples(X)):
            raise ValueError(f"y has {count} labels, but X has {rows} rows: expected one label per row.")
        points, y = validate_data(self, X, y, dtype=np.float64, order="C")  # sums depend on it
        check_classification_targets(y)
        y = np.asarray(y)
        if y.dtype == object:  # names, as frames have them
            y = np.array(y.tolist())
        self.classes_ = np.unique(y)
        self.cluster_ids_, has_noise = self._order_clusters(self.classes_)
        n_clusters = len(self.cluster_ids_) - has_noise
        places = np.empty(len(self.classes_), dtype=np.intp)
        places[np.searchsorted(self.classes_, self.cluster_ids_)] = np.arange(len(self.classes_))
        codes = places[np.searchsorted(self.classes_, y)]
        order = own_order(points, codes, n_clusters)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        # Small products are slower with several threads than with one.
        with threadpool_limits(limits=1, user_api="blas"), waiting({"Fitting a surrogate": 1.0}):
            own = self._fit(points[order.rows], order.ranks[codes[order.rows]], n_clusters, seed)
            unseen = self._in_given_order(order, *own)
        scores = self._outlier_scores(points)
        self.labels_ = self.cluster_ids_[scores.argmin(axis=1)]
        self.given_ = y
        self.beta_ = inverse_mean_margin(scores)
        self.fidelity_ = self._fidelity(codes, scores.argmin(axis=1), *unseen)
        return self

    def _order_clusters(self, classes: Any) -> tuple[Any, bool]:
        label = str(self.noise_label) if classes.dtype.kind in "UO" else self.noise_label
        is_noise = np.array([one == label for one in classes.tolist()])
        n_clusters = int((~is_noise).sum())
        if n_clusters == 0:
            raise ValueError(
                "All rows are noise, so there is no cluster to explain: give labels with at least one "
                "class beside noise."
            )
        if n_clusters == 1 and not is_noise.any():
            raise ValueError(
                f"All rows are of one class, {classes.tolist()[0]!r}, so there is no other one to be in: "
                "give labels of two clusters or more."
            )
        return np.concatenate([classes[~is_noise], classes[is_noise]]), bool(is_noise.any())

    def _fit(self, X: FloatArray, codes: IntArray, n_clusters: int, seed: int) -> tuple[IntArray, IntArray]:
        """Choose a setting, fit it, and return given and assigned clusters of rows not seen."""
        fitted = _sample(codes, self.max_samples, seed)
        chosen = _sample(codes[fitted], _SELECTION_ROWS, seed)
        self.center_ = X[fitted].mean(axis=0)
        given = Given(
            None if self.n_support == "auto" else int(self.n_support),
            None if self.gamma == "auto" else float(self.gamma),
            None if self.shrinkage == "auto" else float(self.shrinkage),
        )
        options = []
        for scale in self._scales(X[fitted]):
            rows = LabelledRows((X[fitted] - self.center_) / scale, codes[fitted], n_clusters, seed)
            rescale = _rescale(X[fitted[chosen]], scale)
            options.append((Validation(rows.take(chosen), self.cv, rescale=rescale), rows, scale))
        if len(options) > 1:
            # The first units win where both do as well.
            options.sort(key=lambda option: -screen(option[0], given))
        validation, rows, self.scale_ = options[0]
        setting = search(validation, given)
        stage("Fitting a surrogate: the chosen one")
        self._keep(rows.fit(setting), setting)
        # Other folds than those that chose the setting, which did best there by chance, too.
        stage("Fitting a surrogate: its agreement with other rows")
        again = Validation(rows, self.cv, seed + 10, _rescale(X[fitted], self.scale_))
        logits = np.concatenate(again.logits([setting])[0])
        of_deals = np.tile(codes[fitted], again.n_deals)
        self.stiffness_ = self.gamma_ * _temperature(logits, of_deals)
        # Rows beyond the sample were seen by nobody: they count as often as the others.
        rest = np.setdiff1d(np.arange(len(codes)), fitted)
        unseen = self._outlier_scores(X[rest]).argmin(axis=1) if len(rest) else rest
        assigned = np.concatenate([logits.argmax(axis=1), np.tile(unseen, again.n_deals)])
        given_codes = np.concatenate([of_deals, np.tile(codes[rest], again.n_deals)])
        return given_codes, assigned

    def _in_given_order(
        self, order: OwnOrder, given: IntArray, assigned: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Prototypes, and clusters of rows not seen, in the order of `cluster_ids_`."""
        self.support_clusters_: IntArray = order.clusters[self.support_clusters_]
        places = np.argsort(self.support_clusters_, kind="stable")
        for name in ("support_clusters_", "support_vectors_", "support_offsets_"):
            setattr(self, name, getattr(self, name)[places])
        return order.clusters[given], order.clusters[assigned]

    def _scales(self, points: FloatArray) -> list[FloatArray]:
        """The units to try: one for all columns, or one for each."""
        deviation, moving = _deviation(points)
        widest = float(deviation.max()) or 1.0
        common = widest * (float(np.sqrt(np.mean((deviation / widest) ** 2))) or 1.0)
        single = np.full(points.shape[1], common)
        own = np.where(moving, deviation, 1.0)
        if self.standardize != "auto":
            return [own if self.standardize else single]
        spread = deviation[moving]
        if len(spread) == 0 or spread.max() < _ONE_SCALE * spread.min():
            return [single]
        return [own, single]

    def _keep(self, prototypes: Prototypes, setting: Setting) -> None:
        self.gamma_ = setting.gamma
        self.n_support_ = setting.n_support
        self.shrinkage_ = setting.shrinkage
        self.support_vectors_ = prototypes.vectors
        self.support_clusters_ = prototypes.members
        self.support_offsets_ = -prototypes.weights / setting.gamma
        self.noise_threshold_ = None if prototypes.noise is None else -prototypes.noise / setting.gamma

    def _outlier_scores(self, X: FloatArray) -> FloatArray:
        """o_k of every row, and the noise threshold in the last column if there is one."""
        factor = float(np.sqrt(2.0 * self.gamma_))
        noise = None if self.noise_threshold_ is None else -self.gamma_ * self.noise_threshold_
        prototypes = Prototypes(
            self.support_vectors_ * factor,
            self.support_clusters_,
            -self.gamma_ * self.support_offsets_,
            noise,
        )
        scores = np.empty((len(X), len(self.cluster_ids_)))
        for block in row_blocks(len(X), len(self.support_vectors_) + X.shape[1]):
            points = (X[block] - self.center_) / self.scale_ * factor
            lengths = 0.5 * np.einsum("ij,ij->i", points, points)
            scores[block] = (lengths[:, None] - prototypes.logits(points)) / self.gamma_
        return scores

    def _fidelity(
        self, codes: IntArray, assigned: IntArray, unseen_codes: IntArray, unseen_assigned: IntArray
    ) -> Fidelity:
        """Count agreement: of all rows, and of rows not seen."""
        count = len(self.cluster_ids_)

        def shares(agreed: Any, groups: IntArray) -> tuple[FloatArray, IntArray]:
            sizes = np.bincount(groups, minlength=count)
            return np.bincount(groups, weights=agreed, minlength=count) / np.maximum(sizes, 1), sizes

        in_sample, sizes = shares(assigned == codes, codes)
        agreed = unseen_assigned == unseen_codes
        precision, n_assigned = shares(agreed, unseen_assigned)
        return Fidelity(
            clusters=self.cluster_ids_,
            sizes=sizes,
            in_sample=in_sample,
            held_out=shares(agreed, unseen_codes)[0],
            precision=np.where(n_assigned > 0, precision, 1.0),
            noise=None if self.noise_threshold_ is None else self.cluster_ids_.tolist()[-1],
        )

    def _scores(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, reset=False)
        return self._outlier_scores(points)

    def predict(self, X: ArrayLike) -> Any:
        """Return the label of each row, ``noise_label`` for rows in no cluster."""
        positions = self._scores(X).argmin(axis=1)
        return self.cluster_ids_[positions]

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each label, in the order of ``classes_``."""
        scores = self._scores(X)
        found = softmax(-self.stiffness_ * scores, axis=1)
        return found[:, np.argsort(self.cluster_ids_, kind="stable")]


def _deviation(points: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Standard deviation of each column, and whether it is more than rounding."""
    # Columns may be of any size: squares of what is left after division stay within bounds.
    largest = np.abs(points).max(axis=0)
    deviation = (points / np.where(largest > 0, largest, 1.0)).std(axis=0) * largest
    return deviation, deviation > 8 * np.finfo(np.float64).eps * largest


def _rescale(points: FloatArray, scale: FloatArray) -> Callable[[IntArray], FloatArray] | None:
    """From these units to those of some of the rows; None where all columns have one, or rows tell them."""
    if len(points) >= points.shape[1] or (scale == scale[0]).all():
        return None

    def rescale(seen: IntArray) -> FloatArray:
        deviation, moving = _deviation(points[seen])
        return np.where(moving, deviation, 1.0) / scale

    return rescale


def _sample(codes: IntArray, count: int, seed: int) -> IntArray:
    """Rows of a sample in which every cluster has its share, and at least one row."""
    if len(codes) <= count:
        return np.arange(len(codes))
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    first = np.unique(codes[order], return_index=True)[1]
    evenly = np.linspace(0, len(order) - 1, count).round().astype(np.intp)
    return np.sort(order[np.union1d(evenly, first)])


def _temperature(logits: FloatArray, codes: IntArray) -> float:
    """The factor on held-out logits that makes their softmax most likely.

    Where nothing is ever wrong any factor above some is fine; then it stays within bounds.
    """
    usable = np.isfinite(logits[np.arange(len(codes)), codes])
    logits, codes = logits[usable], codes[usable]
    if len(codes) == 0:
        return 1.0

    def loss(exponent: float) -> float:
        probabilities = log_softmax(np.exp(exponent) * logits, axis=1)
        return -float(probabilities[np.arange(len(codes)), codes].mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-7.0, 7.0), method="bounded").x))
