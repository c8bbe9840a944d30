"""Every head, pool, rule and question, on the columns themselves."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import AffinityPropagation, Birch, BisectingKMeans, KMeans, MeanShift, MiniBatchKMeans
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

import whyclust as wc
from recording_parts.cases import CLOSED, TRAINING, Numbers, add, attributes, case, explained
from recording_parts.data import blobs, images, moons, scaled, wine
from whyclust.cluster import KernelKMeans, SoftKMeans

COVARIANCES = ("full", "tied", "diag", "spherical")
KERNEL = {
    "em": {"n_support": 4, "max_iter": 30},
    "standard": {"gamma": 0.1},
    "leave_one_out": {"gamma": 0.1},
}


@cache
def k_means() -> KMeans:
    return KMeans(3, n_init=3, random_state=0).fit(scaled())


@cache
def bisecting() -> BisectingKMeans:
    return BisectingKMeans(6, n_init=2, random_state=0).fit(scaled())


@cache
def soft(decision: str = "relative") -> SoftKMeans:
    return SoftKMeans(3, n_init=3, decision=decision, threshold=0.7, random_state=0).fit(scaled())


@cache
def kernel(algorithm: str = "em") -> KernelKMeans:
    settings: dict[str, Any] = KERNEL[algorithm]
    return KernelKMeans(3, algorithm=algorithm, n_init=2, random_state=0, **settings).fit(scaled())


@cache
def mixture(covariance: str) -> GaussianMixture:
    return GaussianMixture(3, covariance_type=covariance, random_state=0).fit(blobs())


def questions(model: Any, X: np.ndarray) -> Numbers:
    """Every rule and question that a network with a minimum answers."""
    rows = len(X)
    others = np.arange(rows) % 2
    asked: dict[str, dict[str, Any]] = {
        "expected": {},
        "min_take_most": {"rule": "min_take_most"},
        "cluster 1": {"cluster": 1},
        "cluster per row": {"cluster": others},
        "cluster 1 against 0": {"cluster": 1, "against": 0},
        "against per row": {"cluster": others, "against": 1 - others},
        "background": {"background": X[::2]},
    }
    found: Numbers = {}
    for name, options in asked.items():
        found |= explained(wc.explain(model, X, **options), f"{name}/")
    return found


def network(model: Any, X: Any) -> Numbers:
    """What the network itself says, with and without a background."""
    net, alone = wc.neuralize(model, X), wc.neuralize(model)
    return {
        "predict": net.predict(X),
        "evidence": net.evidence(X),
        "evidence of 1": net.evidence(X, cluster=1),
        "gradient": net.gradient(X),
        "beta": net.beta,
        "beta without data": alone.beta,
        **explained(wc.explain(alone, X), "without data/"),
    }


MODELS = {
    "k-means": (k_means, scaled),
    "bisecting k-means": (bisecting, scaled),
    "soft k-means": (soft, scaled),
    "kernel k-means, em": (kernel, scaled),
    **{f"mixture, {kind}": (lambda kind=kind: mixture(kind), blobs) for kind in COVARIANCES},
}
for name, (fitted, table) in MODELS.items():
    add(
        f"networks: questions of {name}",
        CLOSED,
        lambda fitted=fitted, table=table: questions(fitted(), table()),
    )
    add(f"networks: network of {name}", CLOSED, lambda fitted=fitted, table=table: network(fitted(), table()))

OTHERS = {
    "mini-batch k-means": lambda: (
        MiniBatchKMeans(3, n_init=2, batch_size=64, random_state=0).fit(scaled()),
        scaled(),
    ),
    "mean shift": lambda: (MeanShift(bandwidth=1.0).fit(moons()), moons()),
    "affinity propagation": lambda: (AffinityPropagation(random_state=0).fit(blobs()), blobs()),
    "birch": lambda: (Birch(threshold=1.0, n_clusters=3).fit(blobs()), blobs()),
    "bayesian mixture": lambda: (
        BayesianGaussianMixture(n_components=3, random_state=0).fit(blobs()),
        blobs(),
    ),
    "kernel k-means, standard": lambda: (kernel("standard"), scaled()),
    "kernel k-means, leave one out": lambda: (kernel("leave_one_out"), scaled()),
}
for name, made in OTHERS.items():
    add(f"networks: explain {name}", CLOSED, lambda made=made: explained(wc.explain(*made())))


@case("networks: threshold of soft k-means", CLOSED)
def _soft_threshold() -> Numbers:
    found = explained(wc.explain(soft(), scaled(), threshold=0.6), "0.6/")
    found |= explained(wc.explain(soft(), scaled(), threshold=0.6, cluster=2), "0.6 of 2/")
    found |= explained(wc.explain(soft("absolute"), scaled()), "absolute/")
    return found | {"probabilities": wc.neuralize(soft()).predict_proba(scaled())}


@case("networks: threshold of mixtures", CLOSED)
def _mixture_threshold() -> Numbers:
    found: Numbers = {}
    for covariance in COVARIANCES:
        found |= explained(wc.explain(mixture(covariance), blobs(), threshold=0.5), f"{covariance}/")
    return found


def _fitted(model: Any, *names: str) -> Numbers:
    return attributes(model, "labels_", "n_iter_", "objective_", "beta_", *names)


@case("networks: fit of soft k-means", TRAINING)
def _soft_fit() -> Numbers:
    model = soft()
    return {
        **_fitted(model, "cluster_centers_", "stiffness_"),
        "probabilities": model.predict_proba(scaled()),
        "decision": model.decision_function(scaled()),
        "distances": model.transform(scaled()),
    }


def kernel_fit(algorithm: str) -> Numbers:
    model = kernel(algorithm)
    names = ("support_vectors_", "support_clusters_", "support_offsets_", "background_", "gamma_")
    return {
        **_fitted(model, *names),
        "probabilities": model.predict_proba(scaled()),
        "scores": model.outlier_scores(scaled()),
    }


for algorithm in KERNEL:
    add(f"networks: fit of kernel k-means, {algorithm}", TRAINING, kernel_fit, algorithm)


@case("networks: groups", CLOSED)
def _groups() -> Numbers:
    model = KMeans(3, n_init=3, random_state=0).fit(wine())
    named = {"colour": ["color_intensity", "hue"], "taste": ["alcohol", "malic_acid", "proline"]}
    found = explained(wc.explain(model, wine(), groups=named), "by name/")
    placed = {"first": [0, 1, 2], "last": [12]}
    found |= explained(wc.explain(k_means(), scaled(), groups=placed), "by position/")
    kernelled = wc.explain(kernel(), scaled(), groups=placed, cluster=0, against=2)
    return found | explained(kernelled, "kernel/")


@case("networks: single precision", CLOSED)
def _single() -> Numbers:
    X = (scaled() + 100).astype(np.float32)
    return explained(wc.explain(KMeans(3, n_init=2, random_state=0).fit(X), X))


@case("networks: far from zero", CLOSED)
def _far() -> Numbers:
    X = scaled() + 1e6
    return explained(wc.explain(KMeans(3, n_init=2, random_state=0).fit(X), X))


@case("networks: on boundaries", CLOSED)
def _boundary() -> Numbers:
    centers = np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    model = KMeans(3, init=centers, n_init=1, max_iter=1).fit(centers)
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [5.0, 5.0], [1.0, 0.0]])
    found = explained(wc.explain(model, X, background=centers), "expected/")
    return found | explained(wc.explain(model, X, background=centers, rule="min_take_most"), "paper/")


@case("networks: one row, slices and frames in another order", CLOSED)
def _rows() -> Numbers:
    model = KMeans(3, n_init=3, random_state=0).fit(wine())
    net = wc.neuralize(model, wine())
    found = explained(wc.explain(net, wine().iloc[[5]]), "row 5/")
    found |= explained(wc.explain(net, wine())[20:30], "slice/")
    turned = wine()[wine().columns[::-1]]
    return found | explained(wc.explain(net, turned), "turned/")


@case("networks: images", CLOSED)
def _images() -> Numbers:
    X = images().reshape(len(images()), -1)
    model = KMeans(5, n_init=2, random_state=0).fit(X)
    ex = wc.explain(model, images())
    columns, values = ex.top(5)
    return {**explained(ex), "images": ex.images, "top columns": columns, "top values": values}
