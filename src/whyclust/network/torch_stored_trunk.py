"""The layers of an encoder as a description and named arrays, and back: no code is kept in a file."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from whyclust import propagate
from whyclust.network.torch_stored_layers import (
    described,
    in_a_row,
    kind_of_name,
    made,
    name_of,
    refuse_other_sizes,
)
from whyclust.network.torch_trunk import DEFAULT, TorchTrunk
from whyclust.propagate.torch_assignment import Assignment, named_layers
from whyclust.propagate.torch_rules import Rule
from whyclust.saving.registry import saved

_FIRST_RULES = ("Zero", "Epsilon", "Gamma", "ZPlus", "AlphaBeta", "WSquare", "Flat")


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
        again = from_arrays(description, arrays, DEFAULT)
    except (RuntimeError, ValueError):
        return False
    # On the processor, as what comes from a file is: other devices add in another order.
    here = replace(trunk, module=copy.deepcopy(trunk.module).cpu())
    return np.array_equal(here.activations(rows), again.activations(rows))


def from_arrays(description: dict[str, Any], arrays: dict[str, NDArray], rules: Any = None) -> TorchTrunk:
    """Build the layers that :func:`to_arrays` described; older descriptions hold their rules, too."""
    layers = []
    for number, part in enumerate(description["layers"]):
        start = f"{number}."
        state = {
            key[len(start) :]: torch.from_numpy(np.array(array))
            for key, array in arrays.items()
            if key.startswith(start)
        }
        with torch.random.fork_rng(devices=[]):  # nobody else's numbers change when a file is read
            refuse_other_sizes(part, state)
            layer = made(part)
        layer.load_state_dict(state, strict=True)
        layers.append(layer)
    trunk = TorchTrunk(
        nn.Sequential(*layers).eval().requires_grad_(False),
        int(description["n_inputs"]),
        int(description["n_outputs"]),
        np.asarray(arrays["reference"], dtype=np.float32),
        _rules(description["rules"] if rules is None else rules),
    )
    Assignment(trunk.rules, trunk.module)  # refuses what are no rules
    if trunk.reference.shape != (trunk.n_inputs,):
        raise ValueError(f"reference has shape {trunk.reference.shape}, expected ({trunk.n_inputs},).")
    if trunk.activations(trunk.reference[None]).shape != (1, trunk.n_outputs):
        raise ValueError("The layers do not give as many outputs as the file says.")
    return trunk


def _told_rules(rules: Any, module: nn.Module) -> Any:
    """Rules as registered things, text, and pairs of these for a mapping by layers."""
    if isinstance(rules, (str, Rule)):
        return rules
    if isinstance(rules, Mapping):
        # Layers of nested Sequentials stand in one row afterwards, under other names.
        in_one_row = nn.Sequential(*in_a_row(module))
        flat = [name for name, _ in named_layers(module)] == [name for name, _ in named_layers(in_one_row)]
        if flat or not any(isinstance(key, str) for key in rules):
            return [(key if isinstance(key, str) else {"layer": name_of(key)}, rules[key]) for key in rules]
    raise TypeError(
        f"The rules of this network are a {type(rules).__name__}, which a file without code cannot bring "
        "back: save it with rules given by name, as one rule for all layers, or by types of layers."
    )


def _rules(told: Any) -> Any:
    if isinstance(told, list):
        return {kind_of_name(key["layer"]) if isinstance(key, dict) else key: rule for key, rule in told}
    if not isinstance(told, dict):
        return told
    # As older files have it.
    if told["rule"] not in _FIRST_RULES:
        raise ValueError(f"{told['rule']!r:.60} is not a rule that whyclust writes.")
    return getattr(propagate, told["rule"])(**told["settings"])


def _take_apart(trunk: TorchTrunk) -> dict[str, Any]:
    description, arrays = to_arrays(trunk)
    rules = _told_rules(trunk.rules, trunk.module)
    return {"description": description, "arrays": arrays, "rules": rules, "embedding": trunk.embedding}


def _put_together(parts: dict[str, Any]) -> TorchTrunk:
    trunk = from_arrays(parts["description"], parts["arrays"], parts.get("rules"))
    embedding = parts.get("embedding")  # older files have none
    if embedding is not None and embedding.n_inputs != trunk.n_outputs:
        raise ValueError(f"embedding reads {embedding.n_inputs} columns, expected {trunk.n_outputs}.")
    return replace(trunk, embedding=embedding)


saved(TorchTrunk, name="Trunk", take_apart=_take_apart, put_together=_put_together, alone=False)
