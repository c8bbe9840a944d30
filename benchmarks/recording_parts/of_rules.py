"""Rules by which relevance passes the layers of a torch module."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import nn

from recording_parts.cases import CLOSED, Numbers, add, case
from recording_parts.data import blobs, images
from whyclust import propagate

torch.set_num_threads(1)

RULES: dict[str, Any] = {
    "zero": lambda: propagate.Zero(),
    "epsilon": lambda: propagate.Epsilon(0.05),
    "gamma": lambda: propagate.Gamma(0.25),
    "z plus": lambda: propagate.ZPlus(),
    "alpha beta": lambda: propagate.AlphaBeta(2.0, 1.0),
    "box": lambda: {nn.Module: propagate.Gamma(0.1), "0": propagate.ZBox(-3.0, 3.0)},
    "squared weights": lambda: {nn.Module: propagate.Gamma(0.1), "0": propagate.WSquare()},
    "flat": lambda: {nn.Module: propagate.Gamma(0.1), "0": propagate.Flat()},
    "centered": lambda: propagate.Centered(0.5, propagate.Gamma(0.1)),
}


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    """A module in double precision whose weights are the same each time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make().double().eval()


@cache
def dense() -> nn.Module:
    return seeded(
        lambda: nn.Sequential(
            nn.Linear(6, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, 7), nn.GELU(), nn.Linear(7, 3)
        )
    )


@cache
def convolutional() -> nn.Module:
    return seeded(
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.MaxPool2d(2),
            propagate.Residual(nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU())),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(16, 3),
        )
    )


def passed(module: nn.Module, inputs: torch.Tensor, rules: Any) -> Numbers:
    outputs = module(inputs).detach()
    relevance = torch.zeros_like(outputs)
    relevance[:, 0] = outputs[:, 0]
    found = propagate.propagate_layers(module, inputs, relevance, rules=rules)
    return {
        "values": found.inputs,
        **{f"layer {name}": value for name, value in found.layers.items()},
        **{f"absorbed by {name or 'all'}": value for name, value in found.absorbed.items()},
    }


for name, make in RULES.items():
    add(
        f"rules: {name}, dense",
        CLOSED,
        lambda make=make: passed(dense(), torch.tensor(blobs()[:20]), make()),
    )
for name in ("epsilon", "gamma", "z plus", "box"):
    add(
        f"rules: {name}, convolutional",
        CLOSED,
        lambda name=name: passed(convolutional(), torch.tensor(images()[:6, None]), RULES[name]()),
    )


@case("rules: image preset and stops", CLOSED)
def _image() -> Numbers:
    inputs = torch.tensor(images()[:6, None])
    module = convolutional()
    found = passed(module, inputs, "image")
    stopped = propagate.propagate(module, inputs, module(inputs).detach(), stop="3")
    return found | {"stopped": stopped}
