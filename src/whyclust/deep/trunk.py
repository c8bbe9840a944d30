"""The layers of an encoder up to its last activation, as part of a network's features.

The affine layers after it are folded into the head, which is then seen from reference zero (what it says
there goes to the base); from there relevance goes down by LRP. Nothing is divided by the embedding.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from whyclust.propagate import Centered, Flat, Gamma, Rule, WSquare, ZBox, propagate
from whyclust.propagate.torch_affine import WEIGHTED, Affine, is_builtin
from whyclust.propagate.torch_assignment import PRESETS, Assignment, named_layers

_BLOCK = 1024
# Measured on pen positions and digits (docs/measurements.md): the paper's 0.1 is less faithful.
DEFAULT = Gamma(0.01)


@dataclass(frozen=True, eq=False)
class Trunk:
    """A module from rows of numbers to activations, and the way back.

    Parameters
    ----------
    module : nn.Module
        In eval mode; not changed.
    n_inputs, n_outputs : int
    reference : ndarray of shape (n_inputs,)
        From where the first layer sees its inputs, usually the mean of the data: columns may have no
        natural zero, and what is usual says nothing of a cluster.
    rules : str, Rule, mapping or callable
        How relevance passes its layers: see :func:`whyclust.propagate.propagate`. With None it does not:
        other methods need no rules, so they explain layers that have none.
    """

    module: nn.Module
    n_inputs: int
    n_outputs: int
    reference: NDArray
    rules: Any = DEFAULT

    @classmethod
    def of(cls, module: nn.Module, reference: NDArray) -> Trunk:
        """A copy on the CPU, measured with the reference."""
        hooked = [name for name, part in module.named_modules() if has_hooks(part)]
        if hooked:
            raise TypeError(
                f"Layer {hooked[0]!r} of the encoder has a hook, which relevance cannot be led through: "
                "remove it, or make it a layer."
            )
        module = copy.deepcopy(module).cpu().float().eval().requires_grad_(False)
        reference = np.asarray(reference, dtype=np.float32)
        return cls(module, len(reference), int(module(torch.from_numpy(reference[None])).shape[1]), reference)

    def behind(self, matrix: NDArray, origin: NDArray, offset: NDArray) -> Trunk:
        """The same layers behind a linear step, a·(x − origin) + offset (a PCA, say).

        The step is one with the first layer if that is linear: relevance then passes a layer less.
        """
        layers = list(self.module) if isinstance(self.module, nn.Sequential) else [self.module]
        weight, bias = np.asarray(matrix, dtype=np.float64), offset - matrix @ origin
        if type(layers[0]) is nn.Linear:
            first = layers.pop(0)
            own = first.weight.numpy().astype(np.float64)
            weight, bias = own @ weight, own @ bias
            bias = bias if first.bias is None else bias + first.bias.numpy()
        step = nn.utils.skip_init(nn.Linear, weight.shape[1], weight.shape[0]).requires_grad_(False)
        step.weight.copy_(torch.from_numpy(weight))
        step.bias.copy_(torch.from_numpy(bias))
        seen_from = origin + np.linalg.pinv(np.asarray(matrix)) @ (self.reference - offset)
        return replace(
            self,
            module=nn.Sequential(step, *layers).eval(),
            n_inputs=weight.shape[1],
            reference=seen_from.astype(np.float32),
        )

    def then(self, other: Trunk) -> Trunk:
        """These layers, followed by others."""
        module = nn.Sequential(self.module, other.module).eval()
        return replace(self, module=module, n_outputs=other.n_outputs)

    def silent(self) -> Trunk:
        """The same layers, through which no relevance passes."""
        return replace(self, rules=None)

    @property
    def told(self) -> str | None:
        """How relevance passes the layers, in words."""
        if self.rules is None:
            return None
        rule = PRESETS.get(self.rules, self.rules) if isinstance(self.rules, str) else self.rules
        return f"layer-wise relevance propagation, {rule}, columns seen from their mean"

    @cached_property
    def _rules(self) -> Any:
        """The rules, with the first layer that has weights seen from the reference."""
        return _FromReference(self.rules, self.module, torch.from_numpy(self.reference[None]))

    def activations(self, rows: NDArray) -> NDArray:
        """Outputs of the module, in the type of the rows."""
        with torch.no_grad():
            parts = [self.module(part).numpy() for part in self._parts(rows)]
        return np.concatenate(parts).astype(rows.dtype, copy=False)

    def relevance(self, rows: NDArray, at_outputs: NDArray) -> NDArray:
        """Relevance of the rows' columns, given that of the outputs."""
        if self.rules is None:
            return np.zeros_like(rows)
        parts = [
            propagate(self.module, part, relevance, rules=self._rules).numpy()
            for part, relevance in zip(self._parts(rows), self._parts(at_outputs), strict=True)
        ]
        return np.concatenate(parts).astype(rows.dtype, copy=False)

    def gradient(self, rows: NDArray, at_outputs: NDArray) -> NDArray:
        """Slopes along the rows' columns, given those along the outputs."""
        parts = []
        for part, slopes in zip(self._parts(rows), self._parts(at_outputs), strict=True):
            part.requires_grad_(True)
            with torch.enable_grad():
                (found,) = torch.autograd.grad(self.module(part), part, slopes)
            parts.append(found.numpy())
        return np.concatenate(parts).astype(rows.dtype, copy=False)

    @staticmethod
    def _parts(rows: NDArray) -> list[torch.Tensor]:
        return list(torch.from_numpy(np.array(rows, dtype=np.float32)).split(_BLOCK))


def has_hooks(module: nn.Module) -> bool:
    """Whether something is called before or after the module's own forward."""
    return bool(module._forward_hooks or module._forward_pre_hooks)


class _FromReference(Assignment):
    """Rules of which that of the first layer with weights sees its inputs from those of a reference."""

    def __init__(self, rules: Any, module: nn.Module, reference: torch.Tensor) -> None:
        super().__init__(rules, module)
        self.first, self.seen = "", torch.zeros(0)
        found = _Inputs(rules, module)
        # What a layer sees is what the walk gives it: a normalisation before it may be merged into it.
        propagate(module, reference, torch.zeros_like(module(reference)), rules=found)
        for name, layer in named_layers(module):
            if name in found.seen and is_builtin(layer, WEIGHTED):
                self.first, self.seen = name, found.seen[name]
                return

    def rule(self, name: str, layer: nn.Module) -> Rule:
        """The rule of a layer."""
        found = super().rule(name, layer)
        # These do not ask where inputs are zero.
        if name != self.first or not len(self.seen) or isinstance(found, (Centered, ZBox, WSquare, Flat)):
            return found
        return Centered(self.seen, found)


class _Inputs(Assignment):
    """Takes note of what layers are given, and hands nothing down."""

    def __init__(self, rules: Any, module: nn.Module) -> None:
        super().__init__(rules, module)
        self.seen: dict[str, torch.Tensor] = {}

    def rule(self, name: str, layer: nn.Module) -> Rule:
        """A rule that takes note."""
        return _Note(self.seen, name)


@dataclass(frozen=True, eq=False)
class _Note(Rule):
    seen: dict[str, torch.Tensor]
    name: str

    def hand_down(
        self, layer: Affine, inputs: torch.Tensor, relevance: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Nothing, but a note."""
        self.seen[self.name] = inputs
        return torch.zeros_like(inputs), relevance
