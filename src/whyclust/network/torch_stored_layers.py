"""Layers that files keep: each class says by which settings it is made again; its weights are arrays.

A file holds names, numbers and arrays, and no code. A layer comes back if its class is registered here, in
whyclust or by whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from whyclust.propagate.torch_modules import Concatenate, Gated, Residual, Sum, UnitLength
from whyclust.saving.packing import is_plain
from whyclust.saving.registry import UnknownKindError

Kind = TypeVar("Kind", bound=type[nn.Module])
# Marks a setting that is a layer, or several in a row.
_INSIDE = "inside"
# What stands for layers of any class.
_ANY = "any"
_IN_A_ROW: dict[str, Callable[[list[nn.Module]], nn.Module]] = {
    "Sequential": lambda layers: nn.Sequential(*layers),
    "ModuleList": nn.ModuleList,
}


@dataclass(frozen=True)
class StoredLayer:
    """How layers of one class are made again."""

    kind: type[nn.Module]
    name: str
    settings: tuple[str, ...]
    make: Callable[..., nn.Module]


_BY_NAME: dict[str, StoredLayer] = {}


def stored_layer(
    *settings: str, name: str | None = None, make: Callable[..., nn.Module] | None = None
) -> Callable[[Kind], Kind]:
    """Register a class of layers, so that :func:`whyclust.save` keeps networks that have them.

    A setting is an attribute of the layer from which it is made again: a number, text, None, a tuple of
    these, or other layers. Weights need none: they are kept as arrays, as ``state_dict()`` has them. Of a
    setting that is a tensor (``bias``) it is kept only that it is there.

    Parameters
    ----------
    *settings : str
        Names of attributes that are also arguments of the constructor.
    name : str, optional
        What files call the class; its own name by default.
    make : callable, optional
        From the settings, by name, to a layer; the class itself by default.

    Examples
    --------
    >>> @stored_layer("width")
    ... class ColumnGates(nn.Module):
    ...     def __init__(self, width):
    ...         super().__init__()
    ...         self.width, self.scores = width, nn.Linear(width, width)
    ...
    ...     def forward(self, x):
    ...         return x * self.scores(x).sigmoid()
    >>> described(ColumnGates(3))
    {'layer': 'ColumnGates', 'room': '...', 'settings': {'width': 3}}
    >>> made(described(ColumnGates(3))).width
    3
    """
    if not all(isinstance(setting, str) for setting in settings):
        raise TypeError(
            "stored_layer was not given names of settings: write @stored_layer('width') above the class, or "
            "@stored_layer() where it has none."
        )

    def register(kind: Kind) -> Kind:
        if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
            raise TypeError(f"{getattr(kind, '__name__', kind)!r} is no class of torch.nn.Module's.")
        called = kind.__name__ if name is None else name
        known = _BY_NAME.get(called)
        # The same class once more is a module or a notebook's cell that was run again.
        if known is not None and _origin(known.kind) != _origin(kind):
            raise ValueError(
                f"{called!r} is already what files call {'.'.join(_origin(known.kind))}: register "
                f"{'.'.join(_origin(kind))} with another name=."
            )
        _BY_NAME[called] = StoredLayer(kind, called, settings, kind if make is None else make)
        return kind

    return register


def _origin(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def name_of(kind: type[nn.Module]) -> str:
    """What files call a class of layers, or all classes."""
    found = [entry.name for entry in _BY_NAME.values() if entry.kind is kind]
    if not found and kind is not nn.Module:
        raise TypeError(
            f"The rules of this network name the layers {kind.__name__}, which a file without code cannot "
            "bring back: register the class with whyclust.deep.stored_layer."
        )
    return found[0] if found else _ANY


def kind_of_name(name: str) -> type[nn.Module]:
    """The class of layers that files call by this name."""
    if name == _ANY:
        return nn.Module
    if name not in _BY_NAME:
        raise UnknownKindError(name, "")
    return _BY_NAME[name].kind


def described(layer: nn.Module) -> dict[str, Any]:
    """A layer in JSON's words, without its weights."""
    # A subclass may compute something else, so it is not kept as its parent.
    entry = next((entry for entry in _BY_NAME.values() if entry.kind is type(layer)), None)
    if entry is None:
        raise TypeError(
            f"The network has a layer {type(layer).__name__}, which a file without code cannot bring back: "
            "register its class with whyclust.deep.stored_layer, or keep the code of the modules, and save "
            "their state_dict() with torch."
        )
    missing = [name for name in entry.settings if not hasattr(layer, name)]
    if missing:
        raise TypeError(
            f"A layer {entry.name} has no attribute {missing[0]!r}, which stored_layer was given as a "
            "setting: keep it in the constructor, or leave it out."
        )
    settings = {name: _plain(getattr(layer, name), name, entry.name) for name in entry.settings}
    room = entry.kind.__module__.split(".")[0]
    # Layers of PyTorch are registered by whyclust: where one is not known, whyclust is older than the file.
    return {"layer": entry.name, "room": "whyclust" if room == "torch" else room, "settings": settings}


def made(description: dict[str, Any]) -> nn.Module:
    """The layer that was described, with whatever weights it begins with."""
    name, settings = description["layer"], description["settings"]
    if name not in _BY_NAME:
        raise UnknownKindError(name, description.get("room", ""))
    entry = _BY_NAME[name]
    unknown = set(settings) - set(entry.settings)
    if unknown:
        raise ValueError(f"{name} has no setting {min(unknown)!r:.60}.")
    values = {key: _value(value) for key, value in settings.items()}
    try:
        return entry.make(**values)
    except TypeError as error:
        raise TypeError(
            f"A layer {name} is not made by its settings ({error}): name in stored_layer what its "
            "constructor takes, or give make=."
        ) from None


def refuse_other_sizes(description: dict[str, Any], state: Mapping[str, Tensor]) -> None:
    """Compare the sizes of a layer with those of its arrays, before memory is taken for it."""
    try:
        with torch.device("meta"):
            sizes = {key: tensor.shape for key, tensor in made(description).state_dict().items()}
    except (RuntimeError, NotImplementedError):
        # Layers of others may look at their numbers, which there are none of yet.
        if all(entry.kind.__module__.startswith(("torch.", "whyclust.")) for entry in _BY_NAME.values()):
            raise
        return
    if sizes != {key: tensor.shape for key, tensor in state.items()}:
        raise ValueError("The arrays are not of the sizes that the layers have.")


def in_a_row(module: nn.Module) -> list[nn.Module]:
    """Layers of nested Sequentials, one after the other."""
    if type(module) is nn.Sequential:
        return [layer for child in module for layer in in_a_row(child)]
    return [module]


def _plain(value: Any, name: str, layer: str) -> Any:
    if isinstance(value, Tensor):
        return True
    if type(value) in (nn.Sequential, nn.ModuleList):
        return {_INSIDE: [_plain(part, name, layer) for part in value], "kind": type(value).__name__}
    if isinstance(value, nn.Module):
        return {_INSIDE: described(value)}
    if isinstance(value, (tuple, list)):
        return [_plain(part, name, layer) for part in value]
    value = value.item() if isinstance(value, np.generic) else value
    if not is_plain(value):
        raise TypeError(
            f"The setting {name!r} of a layer {layer} is a {type(value).__name__}, which a file without code "
            "cannot bring back: expected a number, text, None, a tuple of these, or other layers."
        )
    return value


def _value(setting: Any) -> Any:
    if isinstance(setting, list):
        return tuple(_value(part) for part in setting)
    if not isinstance(setting, dict):
        return setting
    inside = setting[_INSIDE]
    if "kind" not in setting:
        return made(inside)
    return _IN_A_ROW[setting["kind"]]([_value(part) for part in inside])


_CONVOLUTION = (
    *("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups"),
    *("padding_mode", "bias"),
)
_NORM = ("num_features", "eps", "momentum", "affine", "track_running_stats")

for _kind, _settings in {
    nn.Linear: ("in_features", "out_features", "bias"),
    nn.Conv1d: _CONVOLUTION,
    nn.Conv2d: _CONVOLUTION,
    nn.BatchNorm1d: _NORM,
    nn.BatchNorm2d: _NORM,
    nn.LayerNorm: ("normalized_shape", "eps", "elementwise_affine", "bias"),
    nn.MaxPool2d: ("kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    nn.AvgPool2d: ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"),
    nn.AdaptiveAvgPool2d: ("output_size",),
    nn.LeakyReLU: ("negative_slope",),
    nn.ReLU: (),
    nn.GELU: ("approximate",),
    nn.Tanh: (),
    nn.Sigmoid: (),
    nn.Hardsigmoid: (),
    nn.Hardtanh: ("min_val", "max_val"),
    nn.Softmax: ("dim",),
    nn.Identity: (),
    nn.Dropout: ("p",),
    nn.Flatten: ("start_dim", "end_dim"),
    nn.Unflatten: ("dim", "unflattened_size"),
    Gated: ("gate", "signal"),
    UnitLength: (),
}.items():
    stored_layer(*_settings)(_kind)
stored_layer("branches", make=lambda branches: Sum(*branches))(Sum)
stored_layer("branches", "dim", make=lambda branches, dim: Concatenate(*branches, dim=dim))(Concatenate)
stored_layer("layers", "shortcut", make=lambda layers, shortcut: Residual(*layers, shortcut=shortcut))(
    Residual
)
