"""Baselines, metrics and audits."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from recording_parts.cases import AUDIT, CLOSED, Numbers, add, attributes, case, explained, flat
from recording_parts.data import blobs, mixed, moons, scaled, wine, wine_classes
from recording_parts.of_labels import dbscan, surrogate
from recording_parts.of_networks import bisecting, k_means, kernel, mixture
from recording_parts.of_pipelines import usual_columns
from whyclust import datasets, metrics

BASELINES: dict[str, dict[str, Any]] = {
    "random": {"random_state": 3},
    "squared": {},
    "pda_zero": {"on": "evidence"},
    "pda_kde": {"on": "evidence", "n_samples": 4, "random_state": 1},
    "sensitivity": {},
    "ig": {"steps": 5},
    "nca": {},
    "shap": {"n_background": 10, "n_evaluations": 30, "random_state": 0},
    "gradient_shap": {"n_samples": 8, "random_state": 0},
    "forest": {"n_estimators": 10, "random_state": 0},
    "tree": {"max_leaf_nodes": 6, "random_state": 0},
}
_SMALL = slice(0, None, 4)


@cache
def columns_model() -> Any:
    return make_pipeline(usual_columns(), KMeans(3, n_init=3, random_state=0)).fit(mixed())


def baseline(method: str) -> Numbers:
    """A baseline on k-means, for one cluster, and behind encoders of mixed columns."""
    options = BASELINES[method]
    net, X = wc.neuralize(k_means(), scaled()), scaled()[_SMALL]
    asked = {"background": scaled(), "method": method, **options}
    found = explained(wc.explain(net, X, **asked)) | explained(wc.explain(net, X, cluster=1, **asked), "1/")
    if method not in ("shap", "forest", "tree"):
        found |= explained(wc.explain(net, X, cluster=1, against=0, **asked), "duel/")
    if method == "shap":
        options = {**options, "n_evaluations": None, "n_background": 3}
    mixed_rows = wc.explain(columns_model(), mixed(), method=method, **options)
    return found | explained(mixed_rows, "columns/")


for method in BASELINES:
    add(f"measures: baseline {method}", CLOSED, baseline, method)


@case("measures: gradients of other heads", CLOSED)
def _gradients() -> Numbers:
    found: Numbers = {}
    heads = {"kernel": (kernel(), scaled()), "tree": (bisecting(), scaled())}
    heads["mixture"] = (mixture("full"), blobs())
    for name, (model, X) in heads.items():
        for method in ("sensitivity", "ig"):
            found |= explained(wc.explain(model, X[_SMALL], method=method), f"{name} {method}/")
    return found


@cache
def wine_duo() -> tuple[Any, Any]:
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)).fit(wine())
    return model, wc.explain(model, wine())


def flipped(result: Any, prefix: str) -> Numbers:
    names = ("auc", "error", "curve", "per_point", "per_repeat")
    return {f"{prefix}/{name}": getattr(result, name) for name in names}


@case("measures: algorithm 1", CLOSED)
def _flipping() -> Numbers:
    model, ex = wine_duo()
    X, net = wine().iloc[_SMALL], wc.neuralize(model, wine())
    part = ex[_SMALL]
    options: dict[str, Any] = {"n_repeats": 3, "background": wine(), "random_state": 5}
    found: Numbers = {}
    for imputer in ("kde", "zero", "mean"):
        for order in ("insert", "delete"):
            result = metrics.flipping_auc(net, X, part, imputer=imputer, order=order, **options)
            found |= flipped(result, f"{imputer} {order}")
    found |= flipped(metrics.flipping_auc(model, X, np.asarray(part.values), **options), "array")
    by_function = metrics.flipping_auc(
        k_means().predict, scaled(), wc.explain(k_means(), scaled()).values, imputer="zero", n_repeats=1
    )
    return found | flipped(by_function, "function")


@case("measures: algorithm 1 on columns, noise and probabilities", CLOSED)
def _flipping_more() -> Numbers:
    model = columns_model()
    found = flipped(metrics.flipping_auc(model, mixed(), wc.explain(model, mixed()), n_repeats=3), "columns")
    noise = wc.explain(surrogate(), moons())
    found |= flipped(metrics.flipping_auc(surrogate(), moons(), noise, n_repeats=3), "noise")
    likely = wc.explain(mixture("diag"), blobs(), threshold=0.6)
    return found | flipped(metrics.flipping_auc(mixture("diag"), blobs(), likely, n_repeats=2), "threshold")


@case("measures: faithfulness", CLOSED)
def _faithfulness() -> Numbers:
    model, ex = wine_duo()
    asked: dict[str, dict[str, Any]] = {
        "mean": {},
        "permuted": {"imputer": "permute", "random_state": 2},
        "cumulative": {"cumulative": True},
        "labels, top 3": {"labels": wine_classes(), "top": 3},
    }
    names = ("value", "spearman", "importance", "drop", "performance", "full_performance")
    found: Numbers = {}
    for name, options in asked.items():
        result = metrics.faithfulness(model, wine(), ex, **options)
        found |= {f"{name}/{key}": value for key, value in attributes(result, *names).items()}
    return found


@case("measures: uniqueness and diversity", CLOSED)
def _unique() -> Numbers:
    X, ex = scaled(), wc.explain(k_means(), scaled())
    names = ("value", "mean", "median", "radius", "n_pairs")
    asked: dict[str, dict[str, Any]] = {
        "all": {},
        "top": {"top": 3, "radius": 2.0},
        "sets": {"as_sets": True, "top": 4},
    }
    found: Numbers = {}
    for name, options in asked.items():
        result = metrics.uniqueness(ex, X, **options)
        found |= {f"{name}/{key}": value for key, value in attributes(result, *names).items()}
    found["diversity"] = [metrics.diversity(ex, top=top) for top in (1, 3, 5)]
    found["diversity of sets"] = metrics.diversity([{"a", "b"}, {"b", "c"}, {"d"}])
    return found


@case("measures: scores", CLOSED)
def _scores() -> Numbers:
    labels = surrogate().labels_
    one, other = wine_classes(), k_means().labels_
    pairs = {"wine": (one, other, {}), "noise": (labels, np.roll(labels, 3), {"ignore_noise": True})}
    found: Numbers = {}
    for name, (first, second, options) in pairs.items():
        for score in (
            metrics.clustering_accuracy,
            metrics.purity,
            metrics.normalized_mutual_information,
            metrics.adjusted_rand_index,
        ):
            found[f"{name}/{score.__name__}"] = score(first, second, **options)
        both = metrics.agreement(first, second, **options)
        names = ("n_rows", "n_ignored", "adjusted_rand_index", "normalized_mutual_information")
        found |= {f"{name}/agreement {key}": value for key, value in attributes(both, *names).items()}
        found[f"{name}/matching"] = sorted(both.matching.items())
    found["silhouette"] = metrics.silhouette(scaled(), other)
    found["silhouette of a sample"] = metrics.silhouette(scaled(), other, max_rows=50, random_state=1)
    return found


@case("measures: selected features", CLOSED)
def _selection() -> Numbers:
    ex = wc.explain(k_means(), scaled())
    truth = np.tile(np.arange(13) < 5, (len(ex), 1))
    result = metrics.selection_scores(ex, truth, top=4)
    names = ("precision_per_row", "recall_per_row", "f1_per_row", "precision", "recall", "f1", "pooled_f1")
    sets = metrics.selection_scores([1, 2, 5], [2, 3], n_features=8)
    return {
        **attributes(result, *names),
        **{f"sets/{key}": value for key, value in attributes(sets, *names).items()},
    }


@case("measures: heat maps", CLOSED)
def _heatmaps() -> Numbers:
    random = np.random.default_rng(0)
    maps, masks = random.random((3, 6, 6)), random.integers(0, 4, (6, 6))
    result = metrics.match_heatmaps(maps, masks, ignore_label=3)
    return attributes(result, "mean", "pairs", "similarities", "cosines", "labels")


def stable(model: Any, X: Any, **options: Any) -> Numbers:
    result = metrics.stability(model, X, n_repeats=3, random_state=0, **options)
    names = [f"{one}_per_repeat" for one in ("ari", "share", "jaccard", "pearson", "spearman", "profile")]
    return attributes(result, "clusters", "sizes", *names)


@case("measures: stability", AUDIT)
def _stability() -> Numbers:
    fresh = KMeans(3, n_init=1, random_state=0).fit(scaled())
    settings = {
        "other rows": (wine_duo()[0], wine(), {}),
        "other seeds": (fresh, scaled(), {"bootstrap": False, "reseed": True}),
        "columns": (columns_model(), mixed(), {}),
    }
    found: Numbers = {}
    for name, (model, X, options) in settings.items():
        found |= {f"{name}/{key}": value for key, value in stable(model, X, **options).items()}
    return found


def audited(model: Any, X: Any, **options: Any) -> Numbers:
    result = wc.audit(model, X, n_repeats=3, n_refits=3, random_state=0, **options)
    return {**flat(result.to_json()), "clusters": result.clusters, "repr": repr(result)}


AUDITS: dict[str, Any] = {
    "k-means": lambda: audited(*wine_duo()[:1], wine()),
    "k-means, all methods": lambda: audited(
        k_means(), scaled(), methods=["pda_kde", "gradient_shap", "tree"], max_rows=40
    ),
    "mixed columns": lambda: audited(columns_model(), mixed()),
    "labels with noise": lambda: audited(dbscan().labels_, moons()),
    "surrogate": lambda: audited(surrogate(), moons(), max_rows=60),
    "mixture": lambda: audited(mixture("full"), blobs()),
    "kernel k-means": lambda: audited(kernel("standard"), scaled(), methods=["ig"], max_rows=50),
    "network": lambda: audited(wc.neuralize(bisecting(), scaled()), scaled(), max_rows=50),
}
for name, measure in AUDITS.items():
    add(f"measures: audit of {name}", AUDIT, measure)


@case("measures: generated data", AUDIT)
def _generated() -> Numbers:
    found: Numbers = {}
    for make in (datasets.make_synth, datasets.make_idc_synthetic, datasets.make_five_gaussians):
        made = make(60, random_state=0)
        X, y = (made.X, made.y) if hasattr(made, "X") else made[:2]
        found |= {f"{make.__name__}/X": X, f"{make.__name__}/y": y}
    return found
