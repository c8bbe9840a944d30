"""The layers of an encoder up to its last activation, as part of a network's features.

The affine layers after it are folded into the head, which is then seen from reference zero (what it says
there goes to the base); from there relevance goes down by LRP. Nothing is divided by the embedding.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from whyclust.network.features import AffineMap
from whyclust.propagate import Centered, Gamma, Rule, propagate
from whyclust.propagate.torch_affine import WEIGHTED, Affine, all_finite, is_builtin
from whyclust.propagate.torch_assignment import PRESETS, Assignment, named_layers
from whyclust.propagate.torch_modules import Gated, Residual
from whyclust.propagate.torch_propagate import Ascent
from whyclust.propagate.torch_walk import UNCHANGED

_BLOCK = 1024
# Measured on pen positions and digits (docs/measurements.md): the paper's 0.1 is less faithful.
DEFAULT = Gamma(0.01)


@dataclass(frozen=True, eq=False)
class TorchTrunk:
    """A module from rows of numbers to activations, and the way back.

    Rows are led to the device on which the module is.

    Parameters
    ----------
    module : nn.Module
        In eval mode and single precision; not changed.
    n_inputs, n_outputs : int
    reference : ndarray of shape (n_inputs,)
        From where the first layer sees its inputs, usually the mean of the data: columns may have no
        natural zero, and what is usual says nothing of a cluster.
    rules : str, Rule, mapping or callable
        How relevance passes its layers: see :func:`whyclust.propagate.propagate`. With None it does not:
        other methods need no rules, so they explain layers that have none.
    embedding : AffineMap or None
        The affine layers after these, where they are folded into the head: from activations to the encoder's
        own output, for whoever asks for that.
    """

    module: nn.Module
    n_inputs: int
    n_outputs: int
    reference: NDArray
    rules: Any = DEFAULT
    embedding: AffineMap | None = None

    @classmethod
    def of(cls, module: nn.Module, reference: NDArray) -> TorchTrunk:
        """A copy on the module's own device, measured with the reference."""
        hooked = [name for name, part in module.named_modules() if has_hooks(part)]
        if hooked:
            raise TypeError(
                f"Layer {hooked[0]!r} of the encoder has a hook, which relevance cannot be led through: "
                "remove it, or make it a layer."
            )
        module = copy.deepcopy(module).float().eval().requires_grad_(False)
        reference = np.array(reference, dtype=np.float32)
        outputs = module(torch.from_numpy(reference[None]).to(device_of(module)))
        return cls(module, len(reference), int(outputs.shape[1]), reference)

    @property
    def device(self) -> torch.device:
        """Where the module is."""
        return device_of(self.module)

    def behind(self, matrix: NDArray, origin: NDArray, offset: NDArray) -> TorchTrunk:
        """The same layers behind a linear step, a·(x − origin) + offset (a PCA, say).

        The step is one with the first layer if that is linear: relevance then passes a layer less.
        """
        layers = list(self.module) if isinstance(self.module, nn.Sequential) else [self.module]
        weight, bias = np.asarray(matrix, dtype=np.float64), offset - matrix @ origin
        if type(layers[0]) is nn.Linear:
            first = layers.pop(0)
            own = first.weight.cpu().numpy().astype(np.float64)
            weight, bias = own @ weight, own @ bias
            bias = bias if first.bias is None else bias + first.bias.cpu().numpy()
        step = nn.utils.skip_init(nn.Linear, weight.shape[1], weight.shape[0]).requires_grad_(False)
        step.weight.copy_(torch.from_numpy(weight))
        step.bias.copy_(torch.from_numpy(bias))
        seen_from = origin + np.linalg.pinv(np.asarray(matrix)) @ (self.reference - offset)
        return replace(
            self,
            module=nn.Sequential(step.to(self.device), *layers).eval(),
            n_inputs=weight.shape[1],
            reference=seen_from.astype(np.float32),
        )

    def then(self, other: TorchTrunk) -> TorchTrunk:
        """These layers, followed by others."""
        module = nn.Sequential(self.module, other.module).eval()
        return replace(self, module=module, n_outputs=other.n_outputs, embedding=other.embedding)

    def silent(self) -> TorchTrunk:
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
        reference = torch.from_numpy(self.reference[None]).to(self.device)
        return _FromReference(self.rules, self.module, reference)

    def activations(self, rows: NDArray) -> NDArray:
        """Outputs of the module, in single precision."""
        with torch.no_grad():
            return np.concatenate([self.module(part).cpu().numpy() for part in self._parts(rows)])

    @cached_property
    def gate(self) -> nn.Module | None:
        """What rows are multiplied by before all layers with weights, if anything."""
        return leading_gate(self.module)

    def gates(self, rows: NDArray) -> NDArray:
        """The factor of each column of each row; ones where there is no gate."""
        if self.gate is None:
            return np.ones_like(rows)
        with torch.no_grad():
            found = [self.gate(part).expand_as(part).cpu().numpy() for part in self._parts(rows)]
        return np.concatenate(found)

    def ungated(self) -> TorchTrunk:
        """The layers after the gate, for rows that were multiplied by it."""
        rest = nn.Sequential(*list(in_one_row(self.module))[self.gate is not None :])
        return replace(self, module=rest.eval())

    def passage(self, rows: NDArray) -> TorchPassage:
        """Lead rows up, once, and keep what relevance needs to come down."""
        parts = self._parts(rows)
        # What is not finite has no relevance to come down; the network tells where it stands.
        if self.rules is None or not all(map(all_finite, parts)):
            return TorchPassage(self.activations(rows), [], self.n_inputs)
        ascents = [Ascent(self.module, part, self._rules.of_rows(part)) for part in parts]
        activations = np.concatenate([ascent.outputs.cpu().numpy() for ascent in ascents])
        return TorchPassage(activations, ascents, self.n_inputs)

    def gradient(self, rows: NDArray, at_outputs: NDArray) -> NDArray:
        """Slopes along the rows' columns, given those along the outputs."""
        parts = []
        for part, slopes in zip(self._parts(rows), self._parts(at_outputs), strict=True):
            part = part.detach().requires_grad_(True)
            with torch.enable_grad():
                (found,) = torch.autograd.grad(self.module(part), part, slopes)
            parts.append(found.cpu().numpy())
        return np.concatenate(parts).astype(rows.dtype, copy=False)

    def _parts(self, rows: NDArray) -> list[torch.Tensor]:
        return _blocks(rows, self.device)


@dataclass(frozen=True, eq=False)
class TorchPassage:
    """Rows that have passed the layers.

    Attributes
    ----------
    activations : ndarray of shape (n_rows, n_outputs)
    ascents : list of Ascent
        One for each block of rows; none where no relevance passes.
    n_inputs : int
    """

    activations: NDArray
    ascents: list[Ascent]
    n_inputs: int

    def relevance(self, at_outputs: NDArray) -> NDArray:
        """Relevance of the rows' columns, given that of the outputs; asked for once."""
        if not self.ascents:
            return np.zeros((len(self.activations), self.n_inputs), dtype=self.activations.dtype)
        parts = _blocks(at_outputs, self.ascents[0].outputs.device)
        found = [ascent.down(part).inputs for ascent, part in zip(self.ascents, parts, strict=True)]
        return np.concatenate([part.cpu().numpy() for part in found])


def _blocks(rows: NDArray, device: torch.device) -> list[torch.Tensor]:
    """Rows in single precision, as few at a time as layers work well on; a copy, which is ours."""
    return list(torch.from_numpy(np.array(rows, dtype=np.float32)).to(device).split(_BLOCK))


def device_of(module: nn.Module) -> torch.device:
    """Where a module's numbers are; one without any works anywhere."""
    tensors = (tensor for group in (module.parameters(), module.buffers()) for tensor in group)
    return next((tensor.device for tensor in tensors), torch.device("cpu"))


def has_hooks(module: nn.Module) -> bool:
    """Whether something is called before or after the module's own forward."""
    return bool(module._forward_hooks or module._forward_pre_hooks)


class _FromReference(Assignment):
    """Rules of which those of the first layers with weights see their inputs from those of a reference.

    Behind gates the reference passes the gates of the row that is explained, not its own: gates are held
    constant, and what a shut gate hides is hidden of the reference, too, so that it differs by nothing.
    """

    def __init__(self, rules: Any, module: nn.Module, reference: torch.Tensor) -> None:
        super().__init__(rules, module)
        self.reference, self.gate = reference, leading_gate(module)
        found = _Inputs(rules, module)
        # What a layer sees is what the walk gives it: a normalisation before it may be merged into it.
        propagate(module, reference, torch.zeros_like(module(reference)), rules=found)
        weighted = [
            name for name, layer in named_layers(module) if name in found.seen and is_builtin(layer, WEIGHTED)
        ]
        gated = [name for name, layer in named_layers(module) if is_builtin(layer, (Gated,))]
        gates = [f"{name}.gate." if name else "gate." for name in gated]
        # The first one that rows pass and, where relevance goes down gates, the first one there.
        inside = [name for name in weighted if name.startswith(tuple(gates))]
        outside = [name for name in weighted if name not in inside]
        self.first = outside[0] if outside else ""
        self.seen = {name: found.seen[name] for name in (*outside[:1], *inside[:1])}

    def of_rows(self, rows: torch.Tensor) -> _FromReference:
        """The rules for these rows, where what is seen from depends on them."""
        if self.gate is None or not self.first:
            return self
        with torch.no_grad():
            seen = self.reference * self.gate(rows)
        result = copy.copy(self)
        result.seen = {**self.seen, self.first: seen.reshape(len(rows), *self.seen[self.first].shape[1:])}
        return result

    def rule(self, name: str, layer: nn.Module) -> Rule:
        """The rule of a layer."""
        found = super().rule(name, layer)
        # Some rules do not ask where inputs are zero.
        return Centered(self.seen[name], found) if name in self.seen and found.sees_zero else found


def with_product_rule(trunk: TorchTrunk, rule: Rule) -> TorchTrunk:
    """The same layers, with this rule for products with gates; where relevance did not pass, it does."""
    rules = trunk.rules
    if not isinstance(rules, Mapping):
        named = PRESETS.get(rules, DEFAULT) if isinstance(rules, str) else rules
        rules = {nn.Module: named if isinstance(named, Rule) else DEFAULT}
    return replace(trunk, rules={**rules, Gated: rule})


def leading_gate(module: nn.Module) -> nn.Module | None:
    """The gate that rows are multiplied by before the first layer with weights; None where there is none."""
    layers = list(in_one_row(module))
    if not layers or not is_builtin(layers[0], (Gated,)) or not is_builtin(layers[0].signal, (nn.Identity,)):
        return None
    for layer in layers[1:]:
        if is_builtin(layer, (*WEIGHTED, Residual)):
            return layers[0].gate
        if not is_builtin(layer, (nn.Flatten, nn.Unflatten, *UNCHANGED)):
            return None
    return None


def in_one_row(module: nn.Module) -> Iterator[nn.Module]:
    """Layers of nested Sequentials, one after the other."""
    if type(module) is nn.Sequential:
        for child in module:
            yield from in_one_row(child)
    else:
        yield module


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
