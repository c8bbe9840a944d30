"""Every deep model after a fixed short fit: weights, labels and history, and its relevance."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import whyclust as wc
from recording_parts.cases import AUDIT, CLOSED, DEEP, TRAINING, Numbers, add, attributes, case, explained
from recording_parts.cases import flat as flattened
from recording_parts.data import blobs, images, wine
from whyclust import cluster, deep, propagate

torch.set_num_threads(1)

# It needs no torch, and may stand with the other clusterings that do not.
MixtureEM = getattr(cluster, "ClusteringModuleEM", None) or deep.ClusteringModuleEM

SMALL: dict[str, Any] = {"hidden": (12, 8), "batch_size": 32, "random_state": 0}
SHORT: dict[str, Any] = {**SMALL, "epochs": 3, "pretrain_epochs": 3}
PICTURES: dict[str, Any] = {"image_shape": (1, 8, 8), "hidden": (4, 6), "batch_size": 50, "random_state": 0}


class Fuse(nn.Module):
    """Passes its inputs on, until it blows: a fit that is killed, by means that any user has."""

    left: int | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The inputs."""
        if Fuse.left is not None:
            Fuse.left -= 1
            if Fuse.left < 0:
                raise RuntimeError("The fuse has blown.")
        return x


# Batches of two kills: in the first start, and after it.
KILLED_AFTER = (22, 40)


def kill(model: Any, calls: int) -> None:
    """Begin a fit whose fuse lets so many batches pass."""
    Fuse.left = calls
    try:
        model.fit(blobs())
    except RuntimeError:
        return
    finally:
        Fuse.left = None
    raise ValueError(f"The fit was over after {calls} batches: kill it earlier.")


def modules(*, last: tuple[int, ...] = (3,), normalised: bool = False, fuse: bool = False) -> Any:
    """An encoder and a decoder with fixed weights; the encoder ends in linear layers of these sizes."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first: list[nn.Module] = [Fuse()] if fuse else []
        first += [nn.Linear(6, 10), *([nn.BatchNorm1d(10)] if normalised else []), nn.ReLU()]
        width = 10
        for size in last:
            first.append(nn.Linear(width, size))
            width = size
        return nn.Sequential(*first), nn.Sequential(nn.Linear(width, 10), nn.ReLU(), nn.Linear(10, 6))


def pixels() -> np.ndarray:
    return images().reshape(len(images()), -1).astype(np.float32)


@cache
def first_autoencoder() -> Any:
    return deep.AutoencoderKMeans(4, **SMALL, epochs=4).fit(blobs())


# Name of the case → what is fitted; all on the blobs.
FITS: dict[str, Callable[[], Any]] = {
    "AutoencoderKMeans": lambda: deep.AutoencoderKMeans(4, **SMALL, epochs=4),
    "DEC": lambda: deep.DEC(4, **SHORT),
    "DEC, updates and tol": lambda: deep.DEC(4, **SHORT, update_interval=3, tol=0.0, kmeans_starts=2),
    "IDEC": lambda: deep.IDEC(4, **SHORT),
    "DCN": lambda: deep.DCN(4, **{**SHORT, "epochs": 12}),
    "DKM": lambda: deep.DKM(4, **SHORT),
    "DKM, random start": lambda: deep.DKM(4, **{**SHORT, "pretrain_epochs": 0}, alpha_epochs=1),
    "ClusteringModule": lambda: deep.ClusteringModule(4, epochs=4, batch_size=32, random_state=0),
    "ClusteringModule, random start": lambda: deep.ClusteringModule(
        4, epochs=3, init="random", prior=[0.4, 0.3, 0.2, 0.1], e3_weight=1.2, averaging=False, random_state=0
    ),
    "CNet": lambda: deep.CNet(4, **SHORT),
    "CNet, random start": lambda: deep.CNet(
        4, **{**SHORT, "pretrain_epochs": 0}, init="random", final_learning_rate=1e-4, embedding_dim=5
    ),
    "CNet, beta 5": lambda: deep.CNet(4, **SHORT, beta=5.0),
    "DCN, two starts": lambda: deep.DCN(4, **SHORT, n_init=2),
    "CNet, two starts": lambda: deep.CNet(4, **SHORT, n_init=2),
    "DEC, patience": lambda: deep.DEC(4, **{**SHORT, "pretrain_epochs": 20}, patience=2, activation="tanh"),
    "linear encoder": lambda: deep.AutoencoderKMeans(4, hidden=(), batch_size=32, epochs=3, random_state=0),
    "IDEC, handed an autoencoder": lambda: deep.IDEC(4, **SHORT, autoencoder=first_autoencoder()),
    "DCN, handed an autoencoder": lambda: deep.DCN(4, **SHORT, autoencoder=first_autoencoder()),
    "DKM, handed an autoencoder": lambda: deep.DKM(4, **SHORT, autoencoder=first_autoencoder()),
    "CNet, handed an autoencoder": lambda: deep.CNet(4, **SHORT, autoencoder=first_autoencoder()),
    "given modules": lambda: deep.AutoencoderKMeans(
        4, autoencoder=modules(normalised=True), epochs=3, batch_size=32, random_state=0
    ),
    "given modules, two linear layers last": lambda: deep.DEC(
        4, autoencoder=modules(last=(5, 3)), epochs=2, pretrain_epochs=2, batch_size=32, random_state=0
    ),
}
PICTURE_FITS: dict[str, Callable[[], Any]] = {
    "AutoencoderKMeans of images": lambda: deep.AutoencoderKMeans(5, **PICTURES, epochs=2),
    "DEC of images": lambda: deep.DEC(5, **PICTURES, epochs=1, pretrain_epochs=1),
    "CNet of images": lambda: deep.CNet(5, **PICTURES, epochs=1, pretrain_epochs=1, embedding_dim=6),
}


@cache
def fitted(name: str) -> Any:
    if name in PICTURE_FITS:
        return PICTURE_FITS[name]().fit(pixels())
    return FITS[name]().fit(blobs())


def rows_of(name: str) -> np.ndarray:
    return pixels() if name in PICTURE_FITS else blobs()


def learned(model: Any) -> Numbers:
    """Weights, labels and history, which are to stay bit for bit."""
    found: Numbers = {f"weights/{name}": value for name, value in model.model_.state_dict().items()}
    names = ("labels_", "cluster_centers_", "cluster_spreads_", "empty_clusters_", "scores_")
    found |= attributes(model, *names, "feature_means_", "alpha_", "n_reseeded_", "learning_rate_")
    for phase, terms in model.history_.items():
        found |= {f"history/{phase}/{term}": values for term, values in terms.items()}
    return found


def answers(model: Any, X: np.ndarray) -> Numbers:
    """What a fitted model says of rows, and its relevance."""
    found = explained(wc.explain(model, X))
    found |= explained(wc.explain(model, X, rule="min_take_most"), "paper/")
    found |= explained(wc.explain(model, X, cluster=1, against=0), "duel/")
    return {
        **found,
        "predict": model.predict(X),
        "probabilities": model.predict_proba(X),
        "embedding": model.transform(X),
        "decoded": model.decoded_centers(),
        "between": model.interpolate(0, 1, steps=3),
        "samples": model.sample(int(model.labels_[0]), n_samples=3, random_state=0),
    }


for name in (*FITS, *PICTURE_FITS):
    add(f"deep: fit of {name}", TRAINING, lambda name=name: learned(fitted(name)))
    add(f"deep: explain {name}", DEEP, lambda name=name: answers(fitted(name), rows_of(name)))


@case("deep: fit of ClusteringModuleEM", TRAINING)
def _em_fit() -> Numbers:
    model = mixture_em()
    names = ("cluster_centers_", "weights_", "labels_", "objective_", "objectives_", "alpha_", "n_iter_")
    found = attributes(model, *names) | {"probabilities": model.predict_proba(blobs())}
    weighted = MixtureEM(3, init="random", random_state=1, alpha=1.0)
    weighted.fit(blobs(), sample_weight=np.arange(len(blobs())) % 3 + 1.0)
    return found | {f"weighted/{name}": value for name, value in attributes(weighted, *names).items()}


@cache
def mixture_em() -> Any:
    return MixtureEM(4, n_init=2, random_state=0).fit(blobs())


@case("deep: explain ClusteringModuleEM", CLOSED)
def _em() -> Numbers:
    found = explained(wc.explain(mixture_em(), blobs()))
    found |= explained(wc.explain(mixture_em(), blobs(), cluster=1, against=0), "duel/")
    found |= explained(wc.explain(mixture_em(), blobs(), threshold=0.5), "threshold/")
    return found | {"network": wc.neuralize(mixture_em()).predict_proba(blobs())}


def resumed(make: Callable[..., Any]) -> Numbers:
    """A fit that was killed twice and went on, beside one that was not."""
    whole = make().fit(blobs())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.npz"
        for calls in KILLED_AFTER:
            kill(make(checkpoint=path, checkpoint_every=1), calls)
        model = make(checkpoint=path, checkpoint_every=1).fit(blobs())
    mine, others = learned(model), learned(whole)
    same = all(np.array_equal(np.asarray(mine[name]), np.asarray(others[name])) for name in others)
    return mine | {"as if it had not been killed": same and set(mine) == set(others)}


def killed(kind: type) -> Callable[..., Any]:
    options: dict[str, Any] = {"epochs": 4, "pretrain_epochs": 3, "batch_size": 32, "random_state": 0}
    return lambda **more: kind(4, autoencoder=modules(fuse=True), **options, n_init=2, **more)


for kind in (deep.DCN, deep.IDEC, deep.CNet):
    add(f"deep: fit of {kind.__name__}, killed and resumed", TRAINING, resumed, killed(kind))


@case("deep: fit of AutoencoderKMeans, usual layers", TRAINING)
def _usual() -> Numbers:
    model = deep.AutoencoderKMeans(4, epochs=1, random_state=0).fit(blobs())
    return {name: value for name, value in learned(model).items() if not name.startswith("weights/")}


def absolute(name: str) -> Numbers:
    return explained(wc.explain(fitted(name), blobs(), threshold=0.6))


for name in ("ClusteringModule", "CNet"):
    add(f"deep: threshold of {name}", DEEP, absolute, name)


@case("deep: behind a scaler", DEEP)
def _behind_scaler() -> Numbers:
    model = make_pipeline(StandardScaler(), deep.DEC(3, **SHORT)).fit(wine())
    found = explained(wc.explain(model, wine()))
    grouped = wc.explain(model, wine(), groups={"colour": ["hue", "color_intensity"]})
    found |= explained(grouped, "grouped/") | {"text": wc.explain(model, wine()).describe(top=2)}
    return found | explained(wc.explain(wc.neuralize(model, wine()), wine().iloc[[3]]), "row/")


@case("deep: behind a pca", DEEP)
def _behind_pca() -> Numbers:
    steps = (StandardScaler(), PCA(5, random_state=0))
    return explained(wc.explain(make_pipeline(*steps, deep.DCN(3, **SHORT)).fit(wine()), wine()))


@case("deep: explain arrays of images", DEEP)
def _images() -> Numbers:
    ex = wc.explain(fitted("DEC of images"), images()[:, None].astype(np.float32))
    return explained(ex) | {"images": ex.images}


@case("deep: baselines", DEEP)
def _baselines() -> Numbers:
    found: Numbers = {}
    for method in ("ig", "sensitivity", "pda_zero", "squared"):
        found |= explained(wc.explain(fitted("DEC"), blobs()[::3], method=method), f"{method}/")
    return found


@case("deep: audit of DEC", AUDIT)
def _audit() -> Numbers:
    result = wc.audit(fitted("DEC"), blobs(), n_repeats=2, n_refits=2, max_rows=30, random_state=0)
    return flattened(result.to_json())


@case("deep: other rules for layers", DEEP)
def _rules() -> Numbers:
    found: Numbers = {}
    net = wc.neuralize(fitted("DEC"), blobs())
    for rule in (propagate.Gamma(0.25), propagate.Epsilon(0.01), propagate.ZPlus(), propagate.AlphaBeta()):
        found |= explained(wc.explain(deep.with_rules(net, rule), blobs()), f"{rule}/")
    return found


@case("deep: saved and loaded", DEEP)
def _saved() -> Numbers:
    found: Numbers = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        for name in ("DEC", "DKM", "CNet", "ClusteringModule", "given modules", "DEC of images"):
            if name != "given modules":  # whose code no file holds
                model = wc.load(wc.save(fitted(name), path))
                found |= explained(wc.explain(model, rows_of(name)), f"{name}/")
            net = wc.load(wc.save(wc.neuralize(fitted(name), rows_of(name)), path))
            found |= explained(wc.explain(net, rows_of(name)), f"network of {name}/")
    return found


@case("deep: the network as a torch module", DEEP)
def _module() -> Numbers:
    module = wc.neuralize(fitted("DEC"), blobs()).to_torch()
    return {"evidence": module(torch.tensor(blobs()))}
