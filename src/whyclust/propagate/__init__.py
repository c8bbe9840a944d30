"""Layer-wise relevance propagation through PyTorch modules, for what stands below a clustering.

``propagate(module, inputs, relevance)`` takes relevance at a network's outputs down to its inputs or to
any layer of it; ``propagate_layers`` returns it everywhere, with what each layer absorbed. PyTorch is
imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from whyclust._extras import missing

if TYPE_CHECKING:
    from whyclust.propagate.torch_assignment import image_rules
    from whyclust.propagate.torch_modules import Concatenate, Gated, Residual, Sum, UnitLength
    from whyclust.propagate.torch_propagate import Propagation, propagate, propagate_layers
    from whyclust.propagate.torch_rules import (
        AlphaBeta,
        Centered,
        Epsilon,
        Flat,
        Gamma,
        Halves,
        Rule,
        WSquare,
        ZBox,
        Zero,
        ZPlus,
    )
    from whyclust.propagate.torch_walk import register_rule

__all__ = [
    "AlphaBeta",
    "Centered",
    "Concatenate",
    "Epsilon",
    "Flat",
    "Gamma",
    "Gated",
    "Halves",
    "Propagation",
    "Residual",
    "Rule",
    "Sum",
    "UnitLength",
    "WSquare",
    "ZBox",
    "ZPlus",
    "Zero",
    "image_rules",
    "propagate",
    "propagate_layers",
    "register_rule",
]

_MODULES = {
    "torch_assignment": ("image_rules",),
    "torch_modules": ("Concatenate", "Gated", "Residual", "Sum", "UnitLength"),
    "torch_propagate": ("Propagation", "propagate", "propagate_layers"),
    "torch_rules": (
        "AlphaBeta",
        "Centered",
        "Epsilon",
        "Flat",
        "Gamma",
        "Halves",
        "Rule",
        "WSquare",
        "ZBox",
        "Zero",
        "ZPlus",
    ),
    "torch_walk": ("register_rule",),
}
_EXPORTS = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'whyclust.propagate' has no attribute {name!r}")
    try:
        module = importlib.import_module(f"whyclust.propagate.{_EXPORTS[name]}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise missing("Relevance propagation", "torch") from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return list(__all__)
