"""The networks of scikit-learn's clusterings and of our own, and of pipelines that end in one."""

from __future__ import annotations

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
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import Pipeline

from whyclust.cluster import ClusteringModuleEM, KernelKMeans, PrototypeSurrogate, SoftKMeans, SubKMeans
from whyclust.inputs.reading import InputTable, is_sparse, match_columns, read_input
from whyclust.network.features import AffineMap, Features
from whyclust.network.heads import PrototypeHead, TreeHead
from whyclust.network.network import Neuralized
from whyclust.network.parts import Parts, network_parts, neuralizer
from whyclust.network.pipelines import (
    append_part,
    feature_parts,
    read_less,
    refuse,
    trace_features,
)
from whyclust.network.pools import MinPool, Pool, SoftMinPool
from whyclust.network.quadratic import QuadraticHead
from whyclust.network.steps import UnsupportedStep


@neuralizer(KMeans, MiniBatchKMeans)
def _k_means(model: KMeans) -> Parts:
    centers = model.cluster_centers_
    return Parts(Features.identity(centers.shape[1]), PrototypeHead.one_each(centers), MinPool())


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
    return Parts(Features.identity(head.n_inputs), head, MinPool())


@neuralizer(MeanShift)
def _mean_shift(model: MeanShift) -> Parts:
    """With ``cluster_all=False`` rows beyond the bandwidth are orphans: −1, noise in our words."""
    parts = _nearest_center(model)
    if model.cluster_all or not (np.asarray(model.labels_) == -1).any():
        return parts
    if model.bandwidth is None:
        raise ValueError(
            "This MeanShift has orphans (label -1), but has not kept the bandwidth it found: fit it with "
            "bandwidth=sklearn.cluster.estimate_bandwidth(X), or explain its labels, "
            "wc.explain(model.labels_, X)."
        )
    head = PrototypeHead(
        np.asarray(model.cluster_centers_),
        np.arange(len(model.cluster_centers_)),
        noise=float(model.bandwidth) ** 2,
    )
    return parts._replace(head=head)


@neuralizer(AffinityPropagation)
def _nearest_center(model: Any) -> Parts:
    centers = getattr(model, "cluster_centers_", None)
    if centers is None or len(centers) == 0:
        raise ValueError(
            f"This {type(model).__name__} has no cluster centres (it did not converge, or was fitted on "
            "precomputed affinities): fit it again on the table itself, with other parameters."
        )
    if is_sparse(centers):
        centers = centers.toarray()
    return Parts(Features.identity(centers.shape[1]), PrototypeHead.one_each(centers), MinPool())


@neuralizer(Birch)
def _birch(model: Birch) -> Parts:
    """A point takes the label of its nearest subcluster, so a cluster is its nearest subcluster."""
    labels = np.asarray(model.subcluster_labels_, dtype=np.intp)
    order = np.argsort(labels, kind="stable")
    head = PrototypeHead(np.asarray(model.subcluster_centers_)[order], labels[order], gamma=np.inf)
    return Parts(Features.identity(head.n_inputs), head, MinPool())


@neuralizer(SoftKMeans)
def _soft_k_means(model: SoftKMeans) -> Parts:
    head = PrototypeHead.one_each(
        model.cluster_centers_, scale=float(model.stiffness_), probability_stiffness=1.0
    )
    absolute = model.decision == "absolute"
    pool: Pool = SoftMinPool(float(model.threshold)) if absolute else MinPool()
    return Parts(Features.identity(head.n_inputs), head, pool, float(model.beta_))


@neuralizer(SubKMeans)
def _sub_k_means(model: SubKMeans) -> Parts:
    """K-means behind the rotation into the clustered space."""
    features = trace_features([("clustered space", model)], model.n_features_in_)
    centers = features.folded(np.asarray(model.cluster_centers_, dtype=np.float64))
    return Parts(features, PrototypeHead.one_each(centers), MinPool(), float(model.beta_))


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
    return Parts(Features.identity(head.n_inputs), head, MinPool(), float(model.beta_))


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
    return Parts(Features(linear), head, MinPool(), float(model.beta_), model.cluster_ids_)


@neuralizer(ClusteringModuleEM)
def _mixture_of_clustering_module(estimator: ClusteringModuleEM) -> Parts:
    """log φ_k − ‖x − μ_k‖², whose softmax are the responsibilities."""
    centers = np.asarray(estimator.cluster_centers_, dtype=np.float64)
    with np.errstate(divide="ignore"):
        offsets = -np.log(estimator.weights_)
    # A cluster without weight is never assigned; the largest finite offset says so.
    offsets = np.minimum(offsets, np.finfo(np.float32).max / 1e8)
    head = PrototypeHead(centers, np.arange(len(centers)), offsets=offsets, probability_stiffness=1.0)
    return Parts(Features.identity(centers.shape[1]), head, MinPool())


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
    return Parts(Features.identity(width), QuadraticHead(means, roots, constants), MinPool())


@neuralizer(Pipeline)
def _pipeline(model: Pipeline) -> Parts:
    if not model.steps or model.steps[-1][1] in (None, "passthrough"):
        raise TypeError("The Pipeline does not end in a clustering: append one and fit it.")
    parts = network_parts(model.steps[-1][1])
    first = first_step(model)
    if not hasattr(first, "n_features_in_"):
        raise TypeError(
            f"The pipeline begins with {type(first).__name__}, which reads no table of columns: explain what "
            "follows it, wc.explain(pipeline[1:], pipeline[0].transform(X)), with feature_names=pipeline[0]"
            ".get_feature_names_out() of a vectorizer."
        )
    try:
        before = trace_features(model.steps[:-1], first.n_features_in_)
        for part in feature_parts(parts.features):
            before = append_part(before, part)
    except UnsupportedStep as error:
        raise refuse(error) from None
    return parts._replace(features=read_less(before))


@neuralizer(FrozenEstimator)
def _frozen(model: FrozenEstimator) -> Parts:
    return network_parts(model.estimator)


def first_step(model: Any) -> Any:
    """What sees the user's table first: it knows the columns."""
    while isinstance(model, Pipeline):
        model = next(step for _, step in model.steps if step is not None and step != "passthrough")
    return model


@singledispatch
def column_names(model: Any) -> list[str] | None:
    """The columns that a model or a network was fitted on, if it knows their names."""
    names = getattr(first_step(model), "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


@column_names.register
def _(model: Neuralized) -> list[str] | None:
    return list(model.feature_names) if model.named else None


@singledispatch
def read_for(model: Any, X: Any) -> InputTable:
    """A table with the columns of a model or a network, in its order."""
    table = read_input(X)
    count = getattr(first_step(model), "n_features_in_", table.shape[1])
    return match_columns(table, column_names(model), count)


@read_for.register
def _(model: Neuralized, X: Any) -> InputTable:
    return model.read(X)


def last_step(model: Any) -> Any:
    """What clusters: it knows the clusters' names."""
    while isinstance(model, FrozenEstimator) or (isinstance(model, Pipeline) and model.steps):
        model = model.estimator if isinstance(model, FrozenEstimator) else model.steps[-1][1]
    return model
