"""Files that a version has written, and what another makes of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from recording_parts.cases import CLOSED, DEEP, TRAINING, Case, Numbers, explained, flat
from recording_parts.data import blobs, counts, images, mixed, moons, numbers_missing, scaled, wine
from recording_parts.of_deep import SHORT, fitted, kill, killed, learned, mixture_em, rows_of
from recording_parts.of_labels import dbscan, surrogate
from recording_parts.of_networks import bisecting, k_means, kernel, mixture, soft
from recording_parts.of_pipelines import behind_pca_model, usual_columns
from recording_parts.of_results import mixed_explained, wine_explained
from whyclust import deep


@dataclass(frozen=True)
class Written:
    """A file: how it is written, and what is asked of it when it is read."""

    name: str
    kind: str
    write: Callable[[Path], Any]
    ask: Callable[[Path], Numbers]

    def case(self, folder: Path) -> Case:
        """Reading it, as a case."""
        return Case(self.name, self.kind, lambda: self.ask(folder / self.name))


def _explanation(path: Path) -> Numbers:
    ex = wc.load(path)
    found = explained(ex) | {"names": ex.feature_names, "describe": ex.describe(), "row": ex[1].describe()}
    found["index"] = np.asarray(ex.index).astype(str)
    data = ex.data
    found["data"] = (data.toarray() if hasattr(data, "toarray") else np.asarray(data)).astype(str)
    if ex.fidelity is not None:
        found |= flat(ex.fidelity.to_json(), "fidelity")
    return found | flat(ex.summary().to_json(), "summary")


def _network(table: Callable[[], Any]) -> Callable[[Path], Numbers]:
    def ask(path: Path) -> Numbers:
        net, X = wc.load(path), table()
        return explained(wc.explain(net, X)) | {"predict": net.predict(X), "evidence of it": net.evidence(X)}

    return ask


def _model(table: Callable[[], Any], *, trained: bool = False) -> Callable[[Path], Numbers]:
    def ask(path: Path) -> Numbers:
        model, X = wc.load(path), table()
        found = explained(wc.explain(model, X)) | {"predict": model.predict(X)}
        found["probabilities"] = model.predict_proba(X)
        return found | (learned(model) if trained else {})

    return ask


def _with_images() -> Any:
    return wc.explain(KMeans(5, n_init=2, random_state=0).fit(images().reshape(200, -1)), images())


@cache
def _columns_net() -> Any:
    model = make_pipeline(usual_columns(), KMeans(3, n_init=3, random_state=0)).fit(mixed())
    return wc.neuralize(model, mixed())


@cache
def _deep_net() -> Any:
    return wc.neuralize(make_pipeline(StandardScaler(), deep.DEC(3, **SHORT)).fit(wine()), wine())


EXPLANATIONS: dict[str, Callable[[], Any]] = {
    "table": wine_explained,
    "mixed": mixed_explained,
    "images": _with_images,
    "labels": lambda: wc.explain(dbscan(), moons()),
    "grouped": lambda: wc.explain(
        KMeans(3, n_init=3, random_state=0).fit(wine()), wine(), groups={"colour": ["hue", "color_intensity"]}
    ),
    "duel": lambda: wc.explain(k_means(), scaled(), cluster=1, against=0),
    "threshold": lambda: wc.explain(soft(), scaled(), threshold=0.6),
    "deep": lambda: wc.explain(fitted("DEC"), blobs()),
    "baseline": lambda: wc.explain(k_means(), scaled(), method="ig"),
}
NETWORKS: dict[str, tuple[str, Callable[[], Any], Callable[[], Any]]] = {
    "k-means": (CLOSED, lambda: wc.neuralize(k_means(), scaled()), scaled),
    "bisecting": (CLOSED, lambda: wc.neuralize(bisecting(), scaled()), scaled),
    "kernel": (CLOSED, lambda: wc.neuralize(kernel(), scaled()), scaled),
    "threshold": (CLOSED, lambda: wc.neuralize(soft(), scaled(), threshold=0.6), scaled),
    "mixture": (CLOSED, lambda: wc.neuralize(mixture("full"), blobs()), blobs),
    "noise": (CLOSED, lambda: wc.neuralize(surrogate()), moons),
    "columns": (CLOSED, _columns_net, mixed),
    "imputed": (CLOSED, lambda: wc.neuralize(_imputed(), numbers_missing()), numbers_missing),
    "pca": (CLOSED, lambda: wc.neuralize(behind_pca_model("mixture"), wine()), wine),
    "sparse": (CLOSED, lambda: wc.neuralize(_sparse(), counts()), counts),
    "deep": (DEEP, _deep_net, wine),
    "deep-cnet": (DEEP, lambda: wc.neuralize(fitted("CNet"), blobs()), blobs),
    "deep-images": (DEEP, lambda: wc.neuralize(fitted("DEC of images"), rows_of("DEC of images")), images),
    "deep-given": (DEEP, lambda: wc.neuralize(fitted("given modules"), blobs()), blobs),
    "deep-linear": (DEEP, lambda: wc.neuralize(fitted("ClusteringModule"), blobs()), blobs),
}
ESTIMATORS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "SoftKMeans": (soft, scaled),
    "KernelKMeans": (kernel, scaled),
    "PrototypeSurrogate": (surrogate, moons),
    "ClusteringModuleEM": (mixture_em, blobs),
}
DEEP_MODELS = (
    "AutoencoderKMeans",
    "DEC",
    "IDEC",
    "DCN",
    "DKM",
    "ClusteringModule",
    "CNet",
    "AutoencoderKMeans of images",
    "IDEC, handed an autoencoder",
)


def _imputed() -> Any:
    from sklearn.impute import SimpleImputer

    steps = (SimpleImputer(add_indicator=True), StandardScaler(), KMeans(3, n_init=2, random_state=0))
    return make_pipeline(*steps).fit(numbers_missing())


def _sparse() -> Any:
    steps = (StandardScaler(with_mean=False), KMeans(3, n_init=2, random_state=0))
    return make_pipeline(*steps).fit(counts())


def _sparse_explained() -> Any:
    return wc.explain(_sparse(), counts())


def _go_on(path: Path) -> Numbers:
    """Resume a fit from a copy of its checkpoint: the file stays as it was."""
    with tempfile.TemporaryDirectory() as folder:
        copied = shutil.copy(path, Path(folder) / path.name)
        return learned(killed(deep.DCN)(checkpoint=copied, checkpoint_every=1).fit(blobs()))


def _begin(path: Path) -> None:
    path.unlink(missing_ok=True)
    kill(killed(deep.DCN)(checkpoint=path, checkpoint_every=1), 22)


def written() -> list[Written]:
    """All files."""
    found = []
    for name, made in EXPLANATIONS.items():
        for suffix in ("parquet", "npz"):
            found.append(
                Written(
                    f"explanation-{name}.{suffix}",
                    CLOSED,
                    lambda path, made=made: made().save(path),
                    _explanation,
                )
            )
    found.append(
        Written("explanation-sparse.npz", CLOSED, lambda path: _sparse_explained().save(path), _explanation)
    )
    for name, (kind, made, table) in NETWORKS.items():
        found.append(
            Written(
                f"network-{name}.npz", kind, lambda path, made=made: wc.save(made(), path), _network(table)
            )
        )
    for name, (made, table) in ESTIMATORS.items():
        found.append(
            Written(
                f"estimator-{name}.npz", CLOSED, lambda path, made=made: wc.save(made(), path), _model(table)
            )
        )
    for name in DEEP_MODELS:
        found.append(
            Written(
                f"deep-{name.replace(', ', '-').replace(' ', '-')}.npz",
                DEEP,
                lambda path, name=name: wc.save(fitted(name), path),
                _model(lambda name=name: rows_of(name), trained=True),
            )
        )
    found.append(Written("checkpoint.npz", TRAINING, _begin, _go_on))
    return found
