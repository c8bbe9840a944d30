"""The layers of an encoder as a description and named arrays, and back: no code is kept in a file."""

from __future__ import annotations

import copy
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from whyclust import propagate
from whyclust.network.torch_stored_layers import described, in_a_row, made
from whyclust.network.torch_trunk import TorchTrunk
from whyclust.saving.registry import saved

_RULES = ("Zero", "Epsilon", "Gamma", "ZPlus", "AlphaBeta", "WSquare", "Flat")


def to_arrays(trunk: TorchTrunk) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Describe an encoder's layers in JSON's words, and name their arrays.

    Returns
    -------
    description : dict
    arrays : dict of ndarray
    """
    arrays = {"reference": np.asarray(trunk.reference)}
    layers = []
    for number, layer in enumerate(in_a_row(trunk.module)):
        layers.append(described(layer))
        for key, tensor in layer.state_dict().items():
            arrays[f"{number}.{key}"] = tensor.cpu().numpy()
    description = {
        "layers": layers,
        "n_inputs": trunk.n_inputs,
        "n_outputs": trunk.n_outputs,
        "rules": _described_rules(trunk.rules),
    }
    if not _comes_back(trunk, description, arrays):
        raise TypeError(
            "The network's layers do more than their settings say (a hook, a parametrisation), which a file "
            "without code cannot bring back: keep the code, and save their state_dict() with torch."
        )
    return description, arrays


def _comes_back(trunk: TorchTrunk, description: dict[str, Any], arrays: dict[str, NDArray]) -> bool:
    """Whether what is written computes the same: hooks and the like are not among a layer's settings."""
    spread = np.random.default_rng(0).normal(size=(16, trunk.n_inputs))
    rows = (trunk.reference + spread).astype(np.float32)
    try:
        again = from_arrays(description, arrays)
    except (RuntimeError, ValueError):
        return False
    # On the processor, as what comes from a file is: other devices add in another order.
    here = replace(trunk, module=copy.deepcopy(trunk.module).cpu())
    return np.array_equal(here.activations(rows), again.activations(rows))


def from_arrays(description: dict[str, Any], arrays: dict[str, NDArray]) -> TorchTrunk:
    """Build the layers that :func:`to_arrays` described."""
    layers = []
    for number, part in enumerate(description["layers"]):
        with torch.random.fork_rng(devices=[]):  # nobody else's numbers change when a file is read
            layer = made(part)
        start = f"{number}."
        state = {
            key[len(start) :]: torch.from_numpy(np.array(array))
            for key, array in arrays.items()
            if key.startswith(start)
        }
        layer.load_state_dict(state, strict=True)
        layers.append(layer)
    trunk = TorchTrunk(
        nn.Sequential(*layers).eval().requires_grad_(False),
        int(description["n_inputs"]),
        int(description["n_outputs"]),
        np.asarray(arrays["reference"], dtype=np.float32),
        _rules(description["rules"]),
    )
    if trunk.reference.shape != (trunk.n_inputs,):
        raise ValueError(f"reference has shape {trunk.reference.shape}, expected ({trunk.n_inputs},).")
    if trunk.activations(trunk.reference[None]).shape != (1, trunk.n_outputs):
        raise ValueError("The layers do not give as many outputs as the file says.")
    return trunk


def _described_rules(rules: Any) -> Any:
    if isinstance(rules, str):
        return rules
    name = type(rules).__name__
    if name in _RULES and type(rules) is getattr(propagate, name):
        settings = {part.name: getattr(rules, part.name) for part in fields(rules)}
        return {"rule": name, "settings": {key: np.asarray(value).item() for key, value in settings.items()}}
    raise TypeError(
        f"The rules of this network are a {name}, which a file without code cannot bring back: save it with "
        "rules given by name or as one rule for all layers."
    )


def _rules(told: Any) -> Any:
    if isinstance(told, str):
        return told
    if told["rule"] not in _RULES:
        raise ValueError(f"{told['rule']!r} is not a rule that whyclust writes.")
    return getattr(propagate, told["rule"])(**told["settings"])


def _take_apart(trunk: TorchTrunk) -> dict[str, Any]:
    description, arrays = to_arrays(trunk)
    return {"description": description, "arrays": arrays}


saved(
    TorchTrunk,
    name="Trunk",
    take_apart=_take_apart,
    put_together=lambda parts: from_arrays(parts["description"], parts["arrays"]),
    alone=False,
)
