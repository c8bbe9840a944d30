"""One walk up through a module, storing inputs, and the way back down with relevance.

Every kind of layer is a function that returns its outputs and the function that takes relevance down,
so that containers are made of the ways of their children. User's modules are read, never
written: no weight, mode, flag or hook of theirs is touched, and their hooks are not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (as PyTorch itself writes it)
from torch import Tensor, nn

from whyclust.propagate.torch_affine import (
    NORMS,
    WEIGHTED,
    Affine,
    affine_of,
    is_builtin,
    merged_after,
    merged_before,
    plain,
    unweighted,
)
from whyclust.propagate.torch_assignment import Assignment
from whyclust.propagate.torch_modules import Concatenate, Gated, Residual, Sum, UnitLength
from whyclust.propagate.torch_rules import Halves, Rule

Down = Callable[[Tensor], Tensor]
Leaf = tuple[list[str], nn.Module]
Registered = Callable[[nn.Module, Tensor, Tensor, Tensor], Tensor]

# What acts on each number alone hands its relevance to that number.
ELEMENTWISE = (
    nn.ReLU,
    nn.ReLU6,
    nn.LeakyReLU,
    nn.PReLU,
    nn.ELU,
    nn.SELU,
    nn.CELU,
    nn.GELU,
    nn.SiLU,
    nn.Mish,
    nn.Softplus,
    nn.Softsign,
    nn.Tanh,
    nn.Hardtanh,
    nn.Sigmoid,
)
UNCHANGED = (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)
# What only moves numbers moves relevance the same way, the winner of a maximum taking all.
MAXIMA = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
MOVING = (
    *MAXIMA,
    nn.AdaptiveMaxPool1d,
    nn.AdaptiveMaxPool2d,
    nn.AdaptiveMaxPool3d,
    nn.Flatten,
    nn.Unflatten,
    nn.PixelShuffle,
)
PADDING = (nn.ZeroPad1d, nn.ZeroPad2d, nn.ZeroPad3d)

_REGISTERED: dict[type, Registered] = {}


def register_rule(*kinds: type) -> Callable[[Registered], Registered]:
    """Register the function that leads relevance through modules of these types.

    The function gets the module, its inputs, its outputs and the relevance of the outputs, and returns
    the relevance of the inputs. The module runs in eval mode.

    >>> class Double(nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> @register_rule(Double)
    ... def _double(layer, inputs, outputs, relevance):
    ...     return relevance
    """

    def register(function: Registered) -> Registered:
        for kind in kinds:
            _REGISTERED[kind] = function
        return function

    return register


@dataclass
class Walk:
    """What one walk knows and what it finds: relevance at the outputs of layers, and what was absorbed."""

    rules: Assignment
    stop: str | None = None
    layers: dict[str, Tensor] = field(default_factory=dict)
    absorbed: dict[str, Tensor] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        """Whether the layer to stop at has its relevance."""
        return self.stop is not None and self.stop in self.layers

    def absorb(self, name: str, amount: Tensor) -> None:
        """Note what a layer kept of each row's relevance."""
        # A forward may call a layer more than once.
        self.absorbed[name] = self.absorbed.get(name, 0) + amount.flatten(1).sum(dim=1)


def chain(module: nn.Module, name: str, inputs: Tensor, walk: Walk) -> tuple[Tensor, Down]:
    """Lead inputs through a module and what it is made of; return outputs and the way down."""
    return run(list(leaves_of(module, name)), inputs, walk)


def run(leaves: list[Leaf], inputs: Tensor, walk: Walk) -> tuple[Tensor, Down]:
    """Lead inputs through a row of layers, merging normalisations into their neighbours."""
    downs: list[tuple[list[str], Down]] = []
    place = 0
    while place < len(leaves):
        end, affine = _merged(leaves, place, inputs, walk)
        if affine is None:
            names, layer = leaves[place]
            inputs, down = _layer(layer, names[0], inputs, walk)
        else:
            # The weighted layer of the pair gives its name and its rule.
            names, layer = next(
                leaf for leaf in (leaves[place], leaves[end]) if is_builtin(leaf[1], WEIGHTED)
            )
            rule = walk.rules.rule(names[0], layer)
            inputs, down = by_rule(affine, rule, names[0], inputs, walk)
        downs.append(([name for names, _ in leaves[place : end + 1] for name in names], down))
        place = end + 1

    def way_down(relevance: Tensor) -> Tensor:
        for names, down in reversed(downs):
            walk.layers.update(dict.fromkeys(names, relevance))
            if walk.reached:
                return relevance
            relevance = down(relevance)
            if walk.reached:  # somewhere inside
                return relevance
        return relevance

    return inputs, way_down


def leaves_of(module: nn.Module, name: str) -> Iterator[Leaf]:
    """Layers of nested Sequentials in one row, each with its name and those of the containers it ends."""
    if _registered(module) or not is_builtin(module, (nn.Sequential,)) or len(module) == 0:
        yield [name], module
        return
    children = [(f"{name}.{key}" if name else key, child) for key, child in module._modules.items()]
    leaves = [leaf for child_name, child in children for leaf in leaves_of(child, child_name)]
    leaves[-1][0].append(name)
    yield from leaves


def _merged(leaves: list[Leaf], place: int, inputs: Tensor, walk: Walk) -> tuple[int, Affine | None]:
    """A weighted layer and the normalisation after or before it, as one affine layer, and where it ends."""
    end = place + 1
    while end < len(leaves) and is_builtin(leaves[end][1], UNCHANGED):
        end += 1
    if end >= len(leaves):
        return place, None
    (names, first), (later_names, second) = leaves[place], leaves[end]
    for (name, *_), layer in ((names, first), (later_names, second)):
        # A normalisation with a rule of its own, and anything registered, stands alone.
        if _registered(layer) or (is_builtin(layer, NORMS) and walk.rules.given(name, layer)):
            return place, None
    # Rows of several vectors: channels of a linear layer are last, those of a normalisation second.
    if any(isinstance(layer, nn.Linear) for layer in (first, second)) and inputs.ndim != 2:
        return place, None
    if is_builtin(first, WEIGHTED) and is_builtin(second, NORMS):
        return end, merged_after(first, second)
    if is_builtin(first, NORMS) and is_builtin(second, WEIGHTED):
        return end, merged_before(first, second, inputs)
    return place, None


def _registered(layer: nn.Module) -> Registered | None:
    return next((_REGISTERED[kind] for kind in type(layer).__mro__ if kind in _REGISTERED), None)


def _layer(layer: nn.Module, name: str, inputs: Tensor, walk: Walk) -> tuple[Tensor, Down]:
    """Lead inputs through one layer that is no Sequential."""
    function = _registered(layer)
    if function is not None:
        return _custom(layer, function, name, inputs, walk)
    affine = affine_of(layer, inputs)
    rule = walk.rules.given(name, layer)
    if affine is not None:
        return by_rule(affine, walk.rules.rule(name, layer), name, inputs, walk)
    if is_builtin(layer, MAXIMA) and rule is not None:
        return layer.forward(inputs), by_rule(_window(layer, name, inputs), rule, name, inputs, walk)[1]
    if is_builtin(layer, MOVING):
        return moved(layer.forward, inputs)
    if is_builtin(layer, PADDING):
        return padded(layer.forward, inputs, name, walk)
    if is_builtin(layer, ELEMENTWISE):
        # Some work in place: the inputs may be the user's, another branch's, or what a rule will need.
        own = inputs.clone() if getattr(layer, "inplace", False) else inputs
        return layer.forward(own), lambda relevance: relevance
    if is_builtin(layer, (UnitLength,)):  # the length is a weight of what it divides
        return layer.forward(inputs), lambda relevance: relevance
    if is_builtin(layer, (*UNCHANGED, nn.Sequential)):
        return inputs, lambda relevance: relevance
    if is_builtin(layer, (Sum, Residual)):
        return _sum(layer, name, inputs, walk)
    if is_builtin(layer, (Concatenate,)):
        return _concatenation(layer, name, inputs, walk)
    if is_builtin(layer, (Gated,)):
        return _gated(layer, name, inputs, walk)
    # PyTorch's own layers without a rule are told by name; what a user has written is read.
    if any(True for _ in layer.children()) or not type(layer).__module__.startswith("torch."):
        # This module is above the one that reads forwards, which calls back for every layer found.
        from whyclust.propagate.torch_graph import graph

        return graph(layer, name, inputs, walk)
    kind = type(layer).__name__
    raise TypeError(
        f"Layer {name!r} is a {kind}, which has no rule: build it from nn.Sequential, Residual, Sum and "
        f"Concatenate of layers that have one, or register a function with register_rule({kind})(function); "
        "explain(..., method='ig') needs no rules."
    )


def by_rule(affine: Affine, rule: Rule, name: str, inputs: Tensor, walk: Walk) -> tuple[Tensor, Down]:
    """What adds up, shared by its rule."""
    passed = affine.passing(inputs)
    known = replace(affine, passed=passed)

    def down(relevance: Tensor) -> Tensor:
        handed, absorbed = rule.hand_down(known, inputs, relevance)
        walk.absorb(name, absorbed)
        return handed

    return passed.outputs, down


def _window(layer: nn.Module, name: str, inputs: Tensor) -> Affine:
    """The mean over the windows of a maximum, which shares relevance among all of them."""
    dilation = layer.dilation if isinstance(layer.dilation, tuple) else (layer.dilation,)
    if any(step != 1 for step in dilation):
        raise ValueError(f"Layer {name!r} is a maximum with dilation, which has no mean: give it no rule.")
    mean = {nn.MaxPool1d: F.avg_pool1d, nn.MaxPool2d: F.avg_pool2d, nn.MaxPool3d: F.avg_pool3d}
    function = next(mean[kind] for kind in MAXIMA if isinstance(layer, kind))
    options = (layer.kernel_size, layer.stride, layer.padding, layer.ceil_mode)
    return unweighted(lambda x: function(x, *options), inputs)


def moved(function: Down, inputs: Tensor) -> tuple[Tensor, Down]:
    """Numbers and, the way back, relevance."""
    with torch.enable_grad():
        start = inputs.detach().requires_grad_()
        outputs = function(start)
    return outputs.detach(), lambda relevance: torch.autograd.grad(outputs, start, relevance)[0]


def padded(function: Down, inputs: Tensor, name: str, walk: Walk) -> tuple[Tensor, Down]:
    """Numbers and zeros around them, which absorb what they are given."""
    outputs, back = moved(function, inputs)

    def down(relevance: Tensor) -> Tensor:
        handed = back(relevance)
        walk.absorb(name, _row_sums(relevance) - _row_sums(handed))
        return handed

    return outputs, down


def _sum(layer: Any, name: str, inputs: Tensor, walk: Walk) -> tuple[Tensor, Down]:
    """Branches contribute to their sum as inputs do to a linear layer with weights one: the rule shares."""
    branches = [(f"{name}.{key}" if name else key, branch) for key, branch in layer.named_branches()]
    ways = [chain(branch, place, inputs, walk) for place, branch in branches]
    parts = torch.stack([outputs for outputs, _ in ways], dim=1)
    total = unweighted(lambda x: x.sum(dim=1), inputs)
    outputs, share = by_rule(total, walk.rules.rule(name, layer), name, parts, walk)

    def down(relevance: Tensor) -> Tensor:
        return _gathered([way for _, way in ways], share(relevance).unbind(dim=1), walk)

    return outputs, down


def _concatenation(layer: nn.Module, name: str, inputs: Tensor, walk: Walk) -> tuple[Tensor, Down]:
    prefix = f"{name}.branches" if name else "branches"
    ways = [chain(branch, f"{prefix}.{i}", inputs, walk) for i, branch in enumerate(layer.branches)]
    parts = [outputs for outputs, _ in ways]

    def down(relevance: Tensor) -> Tensor:
        shares = relevance.split([part.shape[layer.dim] for part in parts], dim=layer.dim)
        return _gathered([way for _, way in ways], shares, walk)

    return torch.cat(parts, dim=layer.dim), down


def _gated(layer: nn.Module, name: str, inputs: Tensor, walk: Walk) -> tuple[Tensor, Down]:
    """The gate is a weight of the signal, which takes all; or half, where the rule says so."""
    rule = walk.rules.given(name, layer)
    if isinstance(rule, Halves):
        return _halved(layer, rule, name, inputs, walk)
    with evaluating(layer.gate):
        gate = plain(layer.gate(inputs.clone()))
    outputs, down = chain(layer.signal, f"{name}.signal" if name else "signal", inputs, walk)
    return outputs * gate, lambda relevance: down(relevance.sum_to_size(outputs.shape))


def _halved(layer: nn.Module, rule: Halves, name: str, inputs: Tensor, walk: Walk) -> tuple[Tensor, Down]:
    prefix = f"{name}." if name else ""
    signal, of_signal = chain(layer.signal, f"{prefix}signal", inputs, walk)
    gate, of_gate = chain(layer.gate, f"{prefix}gate", inputs, walk)
    ways = {"signal": (of_signal, signal.shape), "gates": (of_gate, gate.shape)}
    chosen = [way for part, way in ways.items() if rule.part in (part, "both")]

    def down(relevance: Tensor) -> Tensor:
        half = 0.5 * relevance
        walk.absorb(name, (len(ways) - len(chosen)) * half)
        shares = tuple(half.sum_to_size(shape) for _, shape in chosen)
        return _gathered([way for way, _ in chosen], shares, walk)

    return signal * gate, down


def _gathered(ways: list[Down], shares: tuple[Tensor, ...], walk: Walk) -> Tensor:
    """What all branches hand to the inputs they share."""
    total: Tensor | None = None
    for way, share in zip(ways, shares, strict=True):
        handed = way(share)
        if walk.reached:  # what came back is of some layer inside
            return handed
        total = handed if total is None else total + handed
    return total


def _custom(
    layer: nn.Module, function: Registered, name: str, inputs: Tensor, walk: Walk
) -> tuple[Tensor, Down]:
    with evaluating(layer):
        outputs = layer(inputs.clone()).detach()

    def down(relevance: Tensor) -> Tensor:
        with evaluating(layer):
            handed = function(layer, inputs, outputs, relevance)
        if not isinstance(handed, Tensor) or handed.shape != inputs.shape:
            found = tuple(handed.shape) if isinstance(handed, Tensor) else handed
            raise ValueError(
                f"The rule registered for {type(layer).__name__} returned {found!r} at layer {name!r}, "
                f"expected relevance of the shape of its inputs, {tuple(inputs.shape)}."
            )
        handed = handed.detach()
        walk.absorb(name, _row_sums(relevance) - _row_sums(handed))
        return handed

    return outputs, down


def _row_sums(values: Tensor) -> Tensor:
    return values.flatten(1).sum(dim=1, keepdim=True)


@contextmanager
def evaluating(layer: nn.Module) -> Iterator[None]:
    """A module of unknown kind in eval mode, and then as it was."""
    training = [part for part in layer.modules() if part.training]
    try:
        for part in training:
            part.training = False
        yield
    finally:
        for part in training:
            part.training = True
