"""What is refused, and in which words; some of it was refused only because nothing could be done yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.cluster import KMeans, MeanShift
from sklearn.decomposition import FastICA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import whyclust as wc
from recording_parts.cases import CLOSED, DEEP, TEXT, Numbers, add, explained
from recording_parts.data import blobs, moons, scaled, wine
from recording_parts.of_deep import FITS, SHORT, fitted, modules
from recording_parts.of_labels import surrogate
from recording_parts.of_networks import k_means, kernel
from whyclust import deep


class OtherLabels(KMeans):
    """k-means whose clusters have their numbers turned round."""

    def predict(self, X: Any) -> np.ndarray:
        """The other numbers."""
        return self.n_clusters - 1 - super().predict(X)


def turned_arrow() -> Numbers:
    model = KMeans(3, n_init=2, random_state=0).fit(wine())
    names = list(wine().columns)[::-1]
    table = pa.table({name: wine()[name].to_numpy() for name in names})
    return explained(wc.explain(model, table))


def embedded() -> Numbers:
    model = make_pipeline(FITS["AutoencoderKMeans"](), KMeans(4, n_init=2, random_state=0)).fit(blobs())
    return explained(wc.explain(model, blobs()))


def orphans() -> Numbers:
    model = MeanShift(bandwidth=0.6, cluster_all=False).fit(moons())
    return explained(wc.explain(model, moons())) | {"labels": model.labels_}


OPEN: dict[str, tuple[str, Callable[[], Numbers]]] = {
    "threshold of kernel k-means": (
        CLOSED,
        lambda: explained(wc.explain(kernel(), scaled(), threshold=0.6)),
    ),
    "threshold of a surrogate": (
        CLOSED,
        lambda: explained(wc.explain(surrogate(), moons(), threshold=0.6)),
    ),
    "threshold of DKM": (DEEP, lambda: explained(wc.explain(fitted("DKM"), blobs(), threshold=0.6))),
    "probabilities of DEC's network": (
        DEEP,
        lambda: {"probabilities": wc.neuralize(fitted("DEC"), blobs()).predict_proba(blobs())},
    ),
    "an autoencoder before k-means": (DEEP, embedded),
    "independent components": (
        CLOSED,
        lambda: explained(
            wc.explain(
                make_pipeline(FastICA(4, random_state=0), KMeans(3, n_init=2, random_state=0)).fit(scaled()),
                scaled(),
            )
        ),
    ),
    "centres as init of ClusteringModule": (
        DEEP,
        lambda: explained(
            wc.explain(
                deep.ClusteringModule(4, epochs=2, init=blobs()[:4], random_state=0).fit(blobs()), blobs()
            )
        ),
    ),
    "a subclass with labels of its own": (
        CLOSED,
        lambda: explained(wc.explain(OtherLabels(3, n_init=2, random_state=0).fit(scaled()), scaled())),
    ),
    "an arrow table in another order": (CLOSED, turned_arrow),
    "mean shift with orphans": (CLOSED, orphans),
}
for name, (kind, measure) in OPEN.items():
    add(f"refusals: {name}", kind, measure)


def nan() -> np.ndarray:
    X = scaled().copy()
    X[3, 2] = np.nan
    return X


REFUSED: dict[str, Callable[[], Any]] = {
    "missing value": lambda: wc.explain(k_means(), nan()),
    "too few columns": lambda: wc.explain(k_means(), scaled()[:, :5]),
    "unknown cluster": lambda: wc.explain(k_means(), scaled(), cluster=9),
    "against itself": lambda: wc.explain(k_means(), scaled(), cluster=1, against=1),
    "unknown rule": lambda: wc.explain(k_means(), scaled(), rule="most"),
    "unknown method": lambda: wc.explain(k_means(), scaled(), method="lime"),
    "unknown option": lambda: wc.explain(k_means(), scaled(), method="ig", stops=3),
    "threshold of k-means": lambda: wc.explain(k_means(), scaled(), threshold=0.5),
    "not fitted": lambda: wc.explain(KMeans(3), scaled()),
    "polynomials": lambda: wc.explain(
        make_pipeline(PolynomialFeatures(), KMeans(3, n_init=1, random_state=0)).fit(scaled()), scaled()
    ),
    "labels of another length": lambda: wc.explain([0, 1, 1, 0], scaled()),
    "column in two groups": lambda: wc.explain(k_means(), scaled(), groups={"a": [0], "b": [0, 1]}),
    "learning rate": lambda: deep.DEC(3, **SHORT, learning_rate=-1.0).fit(blobs()),
    "batch size": lambda: deep.CNet(3, **{**SHORT, "batch_size": 0}).fit(blobs()),
    "modules of another width": lambda: deep.DEC(3, autoencoder=modules(), epochs=1, pretrain_epochs=0).fit(
        scaled()
    ),
    "audit of one refit": lambda: wc.audit(k_means(), scaled(), n_refits=1),
    "saving a foreign model": lambda: wc.save(k_means(), "model.npz"),
}


def refused(ask: Callable[[], Any]) -> Numbers:
    ask()
    return {"error": "nothing was refused"}


for name, ask in REFUSED.items():
    add(f"refusals: sentence for {name}", TEXT, refused, ask)
