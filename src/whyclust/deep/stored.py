"""Deep clusterings as a description and named arrays, and back: nothing in between can run code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whyclust.deep.autoencoding import AutoencoderClusterer
from whyclust.deep.base import DeepClusterer
from whyclust.deep.networks.autoencoders import PAPERS
from whyclust.deep.training.augmenting import MaskAndJitter, TurnAndShift
from whyclust.deep.training.divergence import refuse_broken
from whyclust.deep.training.phases import DeepModel
from whyclust.saving.registry import of_name, of_thing

# Settings that an autoencoder is built from.
_ARCHITECTURE = ("embedding_dim", "hidden", "activation", "image_shape", "batch_norm")
# What may stand among the settings besides numbers, words and models.
_AUGMENTATIONS: dict[str, Any] = {kind.__name__: kind for kind in (TurnAndShift, MaskAndJitter)}
# Settings of the machine, not of the model.
_LOCAL = {"checkpoint": None, "device": "auto"}
# Numbers that a module may begin with beyond those that it was saved with: buffers may shrink.
_MOST_UNKNOWN = 1 << 20
# Learned attributes that have a place of their own in the description.
_APART = {"model_", "device_", "history_", "n_features_in_", "feature_names_in_"}


def to_arrays(estimator: DeepClusterer) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Describe a fitted model in JSON's words, and name its arrays.

    Returns
    -------
    description : dict
        Class, settings, sizes, history.
    arrays : dict of ndarray
        ``state.*`` of the torch module, ``fitted.*`` of the estimator.
    """
    refuse_broken(estimator.model_)
    entry: Any = of_thing(estimator)
    fitted: dict[str, Any] = {}
    description = {
        "class": entry.name,
        "settings": _settings(estimator) | _of_the_fit(estimator.model_),
        "n_features": int(estimator.n_features_in_),
        "n_embedding": int(estimator._n_features_out),
        "layers": _layers(estimator, int(estimator.n_features_in_)),
        "feature_names": [str(name) for name in getattr(estimator, "feature_names_in_", [])],
        "history": estimator.history_,
        "fitted": fitted,
    }
    state = estimator.model_.state_dict()
    arrays = {f"state.{name}": tensor.cpu().numpy() for name, tensor in state.items()}
    for name, value in vars(estimator).items():
        if name in _APART or not name.endswith("_") or name.startswith("_"):
            continue
        if isinstance(value, np.ndarray):
            arrays[f"fitted.{name}"] = value
        else:
            fitted[name] = _plain(value, name)
    _refuse_other_settings(estimator, description, arrays)
    return description, arrays


def _of_the_fit(model: DeepModel) -> dict[str, Any]:
    """Settings by which the network answers, as they were when it was fitted."""
    return {name: _plain(getattr(model, name), name) for name in model.answers_with}


def _refuse_other_settings(estimator: Any, description: dict[str, Any], arrays: dict[str, NDArray]) -> None:
    """Refuse settings that were changed after the fit, if they no longer describe its network."""
    twin = _described(description, arrays)
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]), _layers_of_file(twin, description), torch.device("meta"):
        again = twin._model(description["n_features"], generator)
    fitted, described = (
        # Of what is no parameter, rows that were counted for instance, the fit may have changed the shape.
        (dict.fromkeys(model.state_dict()) | {name: one.shape for name, one in model.named_parameters()})
        for model in (estimator.model_, again)
    )
    if fitted != described or twin.n_clusters != len(estimator.cluster_centers_):
        raise ValueError(
            f"The settings of this {type(estimator).__name__} were changed after it was fitted (set_params) "
            "and do not describe its network, expected those of the fit: set them back, or fit it again."
        )


def from_arrays(description: dict[str, Any], arrays: dict[str, NDArray]) -> DeepClusterer:
    """Build the model that :func:`to_arrays` described; it is on the processor."""
    estimator = _described(description, arrays)
    state = {key[6:]: torch.from_numpy(np.array(a)) for key, a in arrays.items() if key.startswith("state.")}
    model = _built(estimator, description, sum(tensor.numel() for tensor in state.values()))
    model.restore(state)
    estimator.model_ = model.eval()
    estimator.device_ = "cpu"
    estimator.history_ = description["history"]
    estimator.n_features_in_ = description["n_features"]
    estimator._n_features_out = description["n_embedding"]
    if description["feature_names"]:
        estimator.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    return estimator


def _described(description: dict[str, Any], arrays: dict[str, NDArray]) -> Any:
    """The estimator with its learned attributes, but without its network."""
    estimator = _unfitted(description["class"], description["settings"])
    for key, value in description["fitted"].items():
        setattr(estimator, key, value)
    for key, array in arrays.items():
        if key.startswith("fitted."):
            setattr(estimator, key[7:], np.array(array))
    return estimator


def _layers(estimator: DeepClusterer, n_features: int) -> list[int] | None:
    """Sizes of the autoencoder's hidden layers, if there is one: what stands for None may change."""
    if not isinstance(estimator, AutoencoderClusterer):
        return None
    if isinstance(estimator.autoencoder, DeepClusterer):
        return list(_architecture(estimator.autoencoder)["hidden"])
    return estimator._layers(n_features)


@contextmanager
def _layers_of_file(estimator: Any, description: dict[str, Any]) -> Iterator[None]:
    """Meanwhile hidden layers are those of the file, whatever stands for None by now."""
    layers = description.get("layers", _layers(estimator, description["n_features"]))
    if layers is None:
        yield
        return
    given = estimator.hidden
    # Files from when the papers' sizes were the usual ones do not tell them.
    older = "layers" not in description and given is None and estimator.image_shape is None
    estimator.hidden = PAPERS if older else tuple(layers)
    try:
        yield
    finally:
        estimator.hidden = given


def _built(estimator: Any, description: dict[str, Any], n_numbers: int) -> DeepModel:
    """The module, with the layers of the file, which holds so many numbers."""
    n_features = description["n_features"]
    with torch.random.fork_rng(devices=[]), _layers_of_file(estimator, description):
        with torch.device("meta"):  # sizes alone, before memory is taken for them
            empty = estimator._model(n_features, torch.Generator().manual_seed(0)).state_dict()
        if sum(tensor.numel() for tensor in empty.values()) > n_numbers + _MOST_UNKNOWN:
            raise ValueError("The layers are larger than what the file holds of them.")
        return estimator._model(n_features, torch.Generator().manual_seed(0))


def _unfitted(name: str, settings: dict[str, Any]) -> DeepClusterer:
    kind = of_name(name, "whyclust.deep").kind
    if not issubclass(kind, DeepClusterer):
        raise ValueError(f"{kind.__name__} is not a deep clustering.")
    return kind(**{key: _value(value) for key, value in settings.items()})


def _own_settings(estimator: DeepClusterer) -> dict[str, Any]:
    """Settings from which the module can be built again, with no other model or module among them."""
    settings = estimator.get_params(deep=False)
    given = settings.get("autoencoder")
    if given is None:
        return settings
    if not isinstance(given, DeepClusterer):
        raise TypeError(
            f"This {type(estimator).__name__} was given modules of your own, which a file without code "
            "cannot bring back: save wc.neuralize(model), if its layers are PyTorch's own, or keep the code "
            "and save model_.state_dict() with torch."
        )
    network: Any = given.model_
    settings |= _architecture(given)
    return settings | {"autoencoder": None, "embedding_dim": network.autoencoder.embedding_dim}


def _architecture(given: Any) -> dict[str, Any]:
    """Settings from which the autoencoder of a fitted model was built, be it its own or another's."""
    if isinstance(given.autoencoder, DeepClusterer):
        return _architecture(given.autoencoder)
    found = {name: getattr(given, name) for name in _ARCHITECTURE}
    return found | {"hidden": tuple(given._layers(int(given.n_features_in_)))}


def _settings(estimator: DeepClusterer) -> dict[str, Any]:
    """Settings in JSON's words; a model among them (the one that another is put around) with its own."""
    settings = _own_settings(estimator)
    settings |= {name: value for name, value in _LOCAL.items() if name in settings}
    augment = settings.get("augment")
    if augment is not None and type(augment).__name__ not in _AUGMENTATIONS:
        warnings.warn(
            "augment is a function, which a file without code cannot keep: the loaded model predicts and "
            "explains without it, but has to be given it again before another fit.",
            UserWarning,
            stacklevel=2,
        )
        settings["augment"] = None
    if not isinstance(settings.get("random_state"), (int, np.integer, type(None))):
        settings["random_state"] = None  # a generator's state is of no use to a fitted model
    return {name: _plain(value, name) for name, value in settings.items()}


@singledispatch
def _plain(value: Any, name: str) -> Any:
    """A value in JSON's words."""
    if isinstance(value, (tuple, list)):
        return [_plain(item, name) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist(), name)
    if isinstance(value, (np.generic, np.bool_)):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{name} is a {type(value).__name__}, which cannot be written to a file without code.")


@_plain.register(TurnAndShift)
@_plain.register(MaskAndJitter)
def _(value: Any, name: str) -> dict[str, Any]:
    parts = {field.name: getattr(value, field.name) for field in fields(value)}
    return {"class": type(value).__name__, "settings": {key: _plain(one, name) for key, one in parts.items()}}


@_plain.register
def _(value: DeepClusterer, name: str) -> dict[str, Any]:
    entry: Any = of_thing(value)
    return {"class": entry.name, "settings": _settings(value)}


def _value(stored: Any) -> Any:
    """A setting as it was: lists were tuples, mappings are models with settings of their own."""
    if isinstance(stored, dict):
        kind = _AUGMENTATIONS.get(stored["class"])
        if kind is not None:
            return kind(**{key: _value(value) for key, value in stored["settings"].items()})
        return _unfitted(stored["class"], stored["settings"])
    return tuple(_value(item) for item in stored) if isinstance(stored, list) else stored
