"""Labels of any origin, explained by a surrogate; noise among them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from recording_parts.cases import CLOSED, TRAINING, Numbers, attributes, case, explained, flat
from recording_parts.data import blobs, mixed, moons, scaled, wine_classes
from whyclust.cluster import PrototypeSurrogate


@cache
def dbscan() -> DBSCAN:
    return DBSCAN(eps=0.25).fit(moons())


@cache
def surrogate() -> PrototypeSurrogate:
    return PrototypeSurrogate(random_state=0, cv=3).fit(moons(), dbscan().labels_)


@cache
def agglomerative() -> AgglomerativeClustering:
    return AgglomerativeClustering(3).fit(blobs())


def labelled(ex: Any, prefix: str = "") -> Numbers:
    """An explanation of labels, and how well its surrogate reproduces them."""
    return {
        **explained(ex, prefix),
        f"{prefix}disagrees": ex.disagrees,
        **flat(ex.fidelity.to_json(), f"{prefix}fidelity"),
    }


@case("labels: fit of the surrogate", TRAINING)
def _fit() -> Numbers:
    names = ("support_vectors_", "support_clusters_", "support_offsets_", "gamma_", "scale_", "center_")
    more = ("noise_threshold_", "stiffness_", "shrinkage_", "n_support_", "labels_", "beta_", "cluster_ids_")
    found = attributes(surrogate(), *names, *more)
    return found | {"probabilities": surrogate().predict_proba(moons())}


@case("labels: surrogate with noise, every question", CLOSED)
def _questions() -> Numbers:
    found: Numbers = {}
    asked: dict[str, dict[str, Any]] = {
        "assigned": {},
        "paper": {"rule": "min_take_most"},
        "cluster 0": {"cluster": 0},
        "noise": {"cluster": -1},
        "against noise": {"cluster": 0, "against": -1},
        "duel": {"cluster": 1, "against": 0},
    }
    for name, options in asked.items():
        found |= explained(wc.explain(surrogate(), moons(), **options), f"{name}/")
    return found


@case("labels: dbscan", CLOSED)
def _dbscan() -> Numbers:
    ex = wc.explain(dbscan(), moons())
    return labelled(ex) | {"text": ex.describe(), "row": ex[150].describe()}


@case("labels: agglomerative", CLOSED)
def _agglomerative() -> Numbers:
    return labelled(wc.explain(agglomerative(), blobs()))


@case("labels: numbers", CLOSED)
def _numbers() -> Numbers:
    ex = wc.explain(wine_classes(), scaled())
    return labelled(ex) | {"text": ex.describe()}


@case("labels: names, text columns and groups", CLOSED)
def _names() -> Numbers:
    frame = mixed().drop(columns="age")
    labels = pd.Series(np.array(["early", "middle", "late"])[np.arange(96) % 3], index=frame.index)
    ex = wc.explain(labels, frame)
    found = labelled(ex) | {"text": ex.describe()}
    few = frame[["income", "visits"]].iloc[:60]
    grouped = wc.explain(labels.iloc[:60], few, groups={"money": ["income", "visits"]}, cluster="late")
    return found | explained(grouped, "grouped/")


@case("labels: dbscan behind a pca", CLOSED)
def _behind() -> Numbers:
    model = make_pipeline(StandardScaler(), PCA(3, random_state=0), DBSCAN(eps=0.9)).fit(blobs())
    return labelled(wc.explain(model, blobs()))


@case("labels: baselines with noise", CLOSED)
def _baselines() -> Numbers:
    found: Numbers = {}
    for method in ("ig", "pda_zero", "squared"):
        found |= explained(wc.explain(surrogate(), moons(), method=method), f"{method}/")
    return found


@case("labels: a surrogate of k-means agrees with it", CLOSED)
def _agrees() -> Numbers:
    labels = KMeans(3, n_init=2, random_state=0).fit_predict(blobs())
    return labelled(wc.explain(labels, blobs(), rule="min_take_most"))
