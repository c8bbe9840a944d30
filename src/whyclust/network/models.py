"""Which network a fitted clustering is, by registered type.

A new clustering is supported by one function that returns (features, head, pool)::

    @neuralizer(MyClustering)
    def _my_clustering(model):
        return Features.identity(model.n_features_in_), PrototypeHead.one_each(model.centers_), MinPool()
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import (
    AffinityPropagation,
    Birch,
    BisectingKMeans,
    KMeans,
    MeanShift,
    MiniBatchKMeans,
)
from sklearn.exceptions import NotFittedError
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from whyclust._validation import Table, is_sparse, match_columns, read_table
from whyclust.cluster import KernelKMeans, PrototypeSurrogate, SoftKMeans
from whyclust.network.beta import prototype_stiffness
from whyclust.network.features import AffineMap, Features
from whyclust.network.heads import Head, PrototypeHead, TreeHead
from whyclust.network.network import Neuralized
from whyclust.network.pipelines import (
    append_part,
    append_trunk,
    feature_parts,
    read_less,
    refuse,
    trace_features,
)
from whyclust.network.pools import MinPool, Pool, SoftMinPool
from whyclust.network.quadratic import QuadraticHead
from whyclust.network.steps import UnsupportedStep

Parts = tuple[Features, Head, Pool]


@singledispatch
def network_parts(model: Any) -> Parts:
    """Return (features, head, pool) of a fitted model; unknown types are refused."""
    raise TypeError(
        f"{type(model).__name__} cannot be neuralised yet, expected one of "
        f"{', '.join(_known_models())} or a Pipeline that ends in one: fit one of these "
        "(PrototypeSurrogate().fit(X, labels) stands for any labels), or register a function for your type "
        "with whyclust.neuralizer."
    )


def _known_models() -> list[str]:
    hidden = (object, Pipeline)
    return sorted(kind.__name__ for kind in network_parts.registry if kind not in hidden)


def neuralizer(*types: type) -> Callable[[Callable[[Any], Parts]], Callable[[Any], Parts]]:
    """Register the function that returns (features, head, pool) for models of these types."""

    def register(function: Callable[[Any], Parts]) -> Callable[[Any], Parts]:
        for kind in types:
            network_parts.register(kind)(function)
        return function

    return register


@neuralizer(KMeans, MiniBatchKMeans)
def _k_means(model: KMeans) -> Parts:
    centers = model.cluster_centers_
    return Features.identity(centers.shape[1]), PrototypeHead.one_each(centers), MinPool()


@neuralizer(BisectingKMeans)
def _bisecting_k_means(model: BisectingKMeans) -> Parts:
    """`predict` descends the tree of splits and is not the nearest centre."""
    mean = getattr(model, "_X_mean", 0.0)
    centers: list[NDArray] = []
    children: list[int] = []
    leaves: list[int] = []
    waiting = [(-1, model._bisecting_tree)]
    while waiting:  # breadth first: children stand after their parents, siblings side by side
        row, node = waiting.pop(0)
        if node.left is None:
            continue
        if row >= 0:
            children[row] = len(centers)
        for child in (node.left, node.right):
            waiting.append((len(centers), child))
            centers.append(child.center + mean)
            children.append(-1)
            leaves.append(-1 if child.left is not None else child.label)
    if not centers:
        centers, children, leaves = [model.cluster_centers_[0]], [-1], [0]
    head = TreeHead(np.array(centers), np.array(children), np.array(leaves))
    return Features.identity(head.n_inputs), head, MinPool()


@neuralizer(MeanShift, AffinityPropagation)
def _nearest_center(model: Any) -> Parts:
    centers = getattr(model, "cluster_centers_", None)
    if centers is None or len(centers) == 0:
        raise ValueError(
            f"This {type(model).__name__} has no cluster centres (it did not converge, or was fitted on "
            "precomputed affinities): fit it again on the table itself, with other parameters."
        )
    if is_sparse(centers):
        centers = centers.toarray()
    return Features.identity(centers.shape[1]), PrototypeHead.one_each(centers), MinPool()


@neuralizer(Birch)
def _birch(model: Birch) -> Parts:
    """A point takes the label of its nearest subcluster, so a cluster is its nearest subcluster."""
    labels = np.asarray(model.subcluster_labels_, dtype=np.intp)
    order = np.argsort(labels, kind="stable")
    head = PrototypeHead(np.asarray(model.subcluster_centers_)[order], labels[order], gamma=np.inf)
    return Features.identity(head.n_inputs), head, MinPool()


@neuralizer(SoftKMeans)
def _soft_k_means(model: SoftKMeans) -> Parts:
    head = PrototypeHead.one_each(
        model.cluster_centers_, scale=float(model.stiffness_), probability_stiffness=1.0
    )
    absolute = model.decision == "absolute"
    pool: Pool = SoftMinPool(float(model.threshold)) if absolute else MinPool()
    return Features.identity(head.n_inputs), head, pool


@neuralizer(KernelKMeans)
def _kernel_k_means(model: KernelKMeans) -> Parts:
    if model.kernel != "rbf":
        raise TypeError(
            f"KernelKMeans with kernel={model.kernel!r} has no equivalent network, only the Gaussian "
            "kernel has one (Prop. 4): fit it with kernel='rbf'."
        )
    head = PrototypeHead(
        model.support_vectors_,
        np.asarray(model.support_clusters_),
        offsets=model.support_offsets_,
        gamma=float(model.gamma_),
        background=model.background_,
        probability_stiffness=float(model.gamma_ if model.stiffness is None else model.stiffness),
    )
    return Features.identity(head.n_inputs), head, MinPool()


@neuralizer(PrototypeSurrogate)
def _prototype_surrogate(model: PrototypeSurrogate) -> Parts:
    head = PrototypeHead(
        model.support_vectors_,
        np.asarray(model.support_clusters_),
        offsets=model.support_offsets_,
        gamma=float(model.gamma_),
        noise=model.noise_threshold_,
        probability_stiffness=float(model.stiffness_),
    )
    units = sp.csr_array(sp.diags_array(1.0 / model.scale_))
    linear = AffineMap(units, model.center_, np.zeros(head.n_inputs), mean=model.center_)
    return Features(linear), head, MinPool()


@neuralizer(GaussianMixture, BayesianGaussianMixture)
def _gaussian_mixture(model: GaussianMixture) -> Parts:
    means = np.asarray(model.means_)
    count, width = means.shape
    roots = np.asarray(model.precisions_cholesky_)
    if model.covariance_type == "tied":
        roots = np.broadcast_to(roots, (count, width, width))
    elif model.covariance_type == "spherical":
        roots = np.broadcast_to(roots[:, None], (count, width))
    # What a component says of its own mean holds all its constants, log π and log-determinant among them.
    constants = np.diagonal(model._estimate_weighted_log_prob(means)).copy()
    return Features.identity(width), QuadraticHead(means, roots, constants), MinPool()


@neuralizer(Pipeline)
def _pipeline(model: Pipeline) -> Parts:
    if not model.steps or model.steps[-1][1] in (None, "passthrough"):
        raise TypeError("The Pipeline does not end in a clustering: append one and fit it.")
    features, head, pool = network_parts(model.steps[-1][1])
    try:
        before = trace_features(model.steps[:-1], first_step(model).n_features_in_)
        for part in feature_parts(features):
            before = append_part(before, part)
        if features.trunk is not None:
            before = append_trunk(before, features.trunk)
    except UnsupportedStep as error:
        raise refuse(error) from None
    return read_less(before), head, pool


def first_step(model: Any) -> Any:
    """What sees the user's table first: it knows the columns."""
    while isinstance(model, Pipeline):
        model = next(step for _, step in model.steps if step is not None and step != "passthrough")
    return model


def column_names(model: Any) -> list[str] | None:
    """The columns that a model or a network was fitted on, if it knows their names."""
    if isinstance(model, Neuralized):
        return list(model.feature_names) if model.named else None
    names = getattr(first_step(model), "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def read_for(model: Any, X: Any) -> Table:
    """A table with the columns of a model or a network, in its order."""
    if isinstance(model, Neuralized):
        return model.read(X)
    table = read_table(X)
    count = getattr(first_step(model), "n_features_in_", table.shape[1])
    return match_columns(table, column_names(model), count)


def last_step(model: Any) -> Any:
    """What clusters: it knows the clusters' names and β."""
    while isinstance(model, Pipeline) and model.steps:
        model = model.steps[-1][1]
    return model


def _check_fitted(model: Any) -> None:
    steps = [model]
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    for step in steps:
        if step is not model and isinstance(step, Pipeline):
            _check_fitted(step)
        elif hasattr(step, "fit"):
            try:
                check_is_fitted(step)
            except NotFittedError:
                name = type(model).__name__
                part = "" if step is model else f" (its {type(step).__name__})"
                raise NotFittedError(
                    f"This {name}{part} is not fitted yet: call fit(X) before explaining it."
                ) from None


def _cluster_ids(model: Any, n_clusters: int) -> NDArray:
    """The ids that ``predict`` returns: the model's own names, or positions."""
    names = getattr(model, "cluster_ids_", None)
    return np.arange(n_clusters, dtype=np.int32) if names is None else np.asarray(names)


def _absolute(head: Head, threshold: float, model: str) -> SoftMinPool:
    """The pool that asks whether a cluster's probability exceeds a threshold (Prop. 7)."""
    if not 0.0 < threshold < 1.0:
        raise ValueError(f"threshold={threshold!r} is no probability to exceed: choose one between 0 and 1.")
    if head.probability_stiffness != 1.0:
        raise TypeError(
            f"threshold={threshold!r} was given, but {model} decides by distances, not by probabilities: "
            "use SoftKMeans, a Gaussian mixture, ClusteringModule or CNet, or leave threshold=None."
        )
    return SoftMinPool(float(threshold))


def _image_shape(model: Any, n_columns: int) -> tuple[int, ...] | None:
    """Of the images a model was made for, unless a step before it made other columns of the pixels."""
    shape = tuple(int(size) for size in getattr(model, "image_shape", None) or ())
    return shape if shape and int(np.prod(shape)) == n_columns else None


def neuralize(model: Any, background: Any = None, *, threshold: float | None = None) -> Neuralized:
    """Return the network that a fitted clustering already is.

    Parameters
    ----------
    model : fitted clustering, or Pipeline that ends in one
    background : table, optional
        Points over which β = 1/E[f_c] (Eq. 3) is taken. Without one, what the model kept from
        its fit is used, or else its centres.
    threshold : float, optional
        Explain the absolute decision, whether the probability of a cluster exceeds this, instead of
        the relative one, which cluster is the most probable. For SoftKMeans and Gaussian mixtures.

    Returns
    -------
    Neuralized

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> net = wc.neuralize(KMeans(2, n_init=1, random_state=0).fit(X), X)
    >>> net.evidence(X)
    array([16., 16., 16., 16.])
    """
    if isinstance(model, Neuralized):
        if threshold is not None:
            model = replace(model, pool=_absolute(model.head, threshold, model.model))
        return model if background is None else model.with_beta(background)
    last = last_step(model)
    if isinstance(model, type):
        raise TypeError(
            f"{model.__name__} is a class, expected a fitted model: create one, call fit, pass it."
        )
    _check_fitted(model)
    features, head, pool = network_parts(model)
    if threshold is not None:
        pool = _absolute(head, threshold, type(last).__name__)
    names = getattr(first_step(model), "feature_names_in_", None)
    net = Neuralized(
        features,
        head,
        pool,
        beta=1.0,
        clusters=_cluster_ids(last, head.n_clusters),
        feature_names=tuple(
            [f"x{column}" for column in range(features.n_columns)] if names is None else map(str, names)
        ),
        named=names is not None,
        model=type(last).__name__,
        image_shape=_image_shape(last, features.n_columns),
    )
    if background is not None or isinstance(pool, SoftMinPool):
        return net if background is None else net.with_beta(background)
    kept = getattr(last, "beta_", None)
    beta = prototype_stiffness(net, getattr(last, "labels_", None)) if kept is None else float(kept)
    return replace(net, beta=beta)
