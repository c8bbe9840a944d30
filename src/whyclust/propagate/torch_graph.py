"""Modules with a ``forward`` of their own, read as a graph of known layers and functions (torch.fx)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (as PyTorch itself writes it)
from torch import Tensor, fx, nn

from whyclust.propagate.torch_affine import plain, unweighted
from whyclust.propagate.torch_modules import Sum
from whyclust.propagate.torch_products import DIVIDING, MULTIPLYING, OneForward, relevant, takers
from whyclust.propagate.torch_walk import Down, Walk, by_rule, evaluating, leaves_of, moved, padded, run

# What a forward may call besides its layers; strings are methods of tensors.
ADDING = {operator.add, operator.iadd, torch.add, "add", "add_"}
JOINING = {torch.cat, torch.concat, torch.concatenate}
ELEMENTWISE = {
    *(F.relu, F.leaky_relu, F.gelu, F.elu, F.silu, F.softplus, F.tanh, F.sigmoid),
    *(torch.relu, torch.tanh, torch.sigmoid, "relu", "relu_", "tanh", "sigmoid", "contiguous"),
    *(torch.clamp, torch.clip, "clamp", "clip", F.hardtanh, F.hardsigmoid),
}
DROPPING = {F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout}
MOVING = {
    *(torch.flatten, torch.reshape, torch.squeeze, torch.unsqueeze, torch.permute, torch.transpose),
    *("flatten", "reshape", "view", "squeeze", "unsqueeze", "permute", "transpose"),
    *(F.max_pool1d, F.max_pool2d, F.max_pool3d),
}
AVERAGING = {
    *(F.avg_pool1d, F.avg_pool2d, F.avg_pool3d, torch.mean, "mean"),
    *(F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d),
}
# Attributes of tensors that are the same numbers in another order.
TURNED = {"T", "mT", "H", "mH"}
# Questions about shapes, whose answers are numbers.
ASKING = {"size", "dim", getattr, operator.getitem}

SharesDown = Callable[[Tensor], tuple[Tensor, ...]]


def graph(module: nn.Module, name: str, inputs: Tensor, walk: Walk) -> tuple[Tensor, Down]:
    """Lead inputs through the calls of a module's forward; return outputs and the way down."""
    nodes = _trace(module, name)
    reached = relevant(nodes, module)
    start = nodes[0]
    values: dict[fx.Node, Any] = {start: inputs}
    ways: list[tuple[fx.Node, list[fx.Node], SharesDown]] = []
    place = 1
    while nodes[place].op != "output":
        first = nodes[place]
        if first not in reached:
            values[first] = _value(first, module, values)
        elif first.op == "call_module":
            last = _end_of_run(nodes, place)
            leaves = [
                leaf
                for node in nodes[place : last + 1]
                for leaf in leaves_of(module.get_submodule(node.target), _joined(name, node.target))
            ]
            source = _only_input(first, name)
            if getattr(leaves[0][1], "inplace", False) and len(source.users) > 1:
                raise TypeError(
                    f"Layer {leaves[0][0][0]!r} overwrites inputs that are also used elsewhere, so the "
                    "order of calls decides what they are there: set inplace=False."
                )
            values[nodes[last]], down = run(leaves, values[source], walk)
            ways.append((nodes[last], [source], _single(down)))
            place = last
        else:
            values[first], sources, shares_down = _called(first, module, name, values, walk)
            ways.append((first, sources, shares_down))
        place += 1
    (end,) = nodes[place].all_input_nodes or [start]

    def way_down(relevance: Tensor) -> Tensor:
        amounts = {end: relevance}
        for node, sources, shares_down in reversed(ways):
            if node not in amounts:  # numbers, and what does not reach the outputs
                continue
            shares = shares_down(amounts.pop(node))
            if walk.reached:
                return shares[0]
            for source, share in zip(sources, shares, strict=True):
                amounts[source] = amounts[source] + share if source in amounts else share
        return amounts[start] if start in amounts else torch.zeros_like(inputs)

    return values[end], way_down


def _value(node: fx.Node, module: nn.Module, values: dict[fx.Node, Any]) -> Any:
    """What a node computes, where no relevance passes it: a gate, a parameter."""
    target: Any = node.target
    if node.op == "get_attr":
        return plain(operator.attrgetter(target)(module))

    # Some functions work in place: what they are given may be used elsewhere.
    def own(other: fx.Node) -> Any:
        return values[other].clone() if isinstance(values[other], Tensor) else values[other]

    args, kwargs = fx.node.map_arg((node.args, node.kwargs), own)
    if node.op == "call_module":
        layer = module.get_submodule(target)
        with evaluating(layer):
            return plain(layer(*args, **kwargs))
    function = getattr(type(args[0]), target) if isinstance(target, str) else target
    return function(*args, **kwargs)


def _trace(module: nn.Module, name: str) -> list[fx.Node]:
    kind = type(module).__name__
    advice = (
        f"build it from nn.Sequential, Residual, Sum and Concatenate, or register a function with "
        f"register_rule({kind})(function)."
    )
    try:
        with evaluating(module):
            nodes = list(OneForward().trace(module).nodes)
    except Exception as error:  # a forward may fail in any way on what are not tensors
        raise TypeError(
            f"Layer {name!r} is a {kind}, whose forward cannot be read as a graph ({error}): {advice}"
        ) from error
    inputs = [node for node in nodes if node.op == "placeholder"]
    outputs = nodes[-1].args[0]
    if len(inputs) != 1 or not isinstance(outputs, fx.Node):
        raise TypeError(f"Layer {name!r} is a {kind}, which has not one input and one output: {advice}")
    return nodes


def _joined(name: str, target: str) -> str:
    return f"{name}.{target}" if name else target


def _only_input(node: fx.Node, name: str) -> fx.Node:
    if len(node.all_input_nodes) != 1 or len(node.args) + len(node.kwargs) != 1:
        raise TypeError(f"Layer {_joined(name, str(node.target))!r} is called with more than its inputs.")
    return node.all_input_nodes[0]


def _end_of_run(nodes: list[fx.Node], place: int) -> int:
    """Where a row of layers ends that only feed each other, so that normalisations can be merged."""
    while True:
        node, after = nodes[place], nodes[place + 1]
        if after.op != "call_module" or list(node.users) != [after] or after.all_input_nodes != [node]:
            return place
        place += 1


def _single(down: Down) -> SharesDown:
    return lambda relevance: (down(relevance),)


def _called(
    node: fx.Node, module: nn.Module, name: str, values: dict[fx.Node, Any], walk: Walk
) -> tuple[Any, list[fx.Node], SharesDown]:
    """A function or a method of tensors: its value, the nodes it takes, and the way down to these."""
    target: Any = node.target
    args, kwargs = fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
    sources = [other for other in node.all_input_nodes if isinstance(values[other], Tensor)]
    own_name = _joined(name, node.name)

    def call(first: Tensor) -> Any:
        if isinstance(target, str):
            return getattr(first, target)(*args[1:], **kwargs)
        return target(first, *args[1:], **kwargs)

    one = len(sources) == 1 and args and args[0] is values[sources[0]]
    turned = one and target is getattr and args[1] in TURNED
    if target in ASKING and not (target is operator.getitem and sources) and not turned:
        answer = call(args[0])
        if not isinstance(answer, Tensor):
            return answer, [], lambda relevance: ()
    if target in ADDING and len(sources) == 2 and not kwargs and args[0].shape == args[1].shape:
        total = unweighted(lambda x: x.sum(dim=1), args[0])
        rule = walk.rules.rule(own_name, Sum())
        outputs, down = by_rule(total, rule, own_name, torch.stack(args, dim=1), walk)
        return outputs, list(node.args), lambda relevance: down(relevance).unbind(dim=1)
    if target in MULTIPLYING | DIVIDING:
        taken = takers(node, module)
        if taken:
            outputs = args[0] * args[1] if target in MULTIPLYING else args[0] / args[1]
            shapes = [values[other].shape for other in taken]
            count = len(taken)
            return (
                outputs,
                taken,
                lambda relevance: tuple((relevance / count).sum_to_size(shape) for shape in shapes),
            )
    if target in JOINING:
        joined: Any = node.kwargs.get("tensors", node.args[0] if node.args else ())
        parts, dim = [values[part] for part in joined], kwargs.get("dim", args[1] if len(args) > 1 else 0)
        sizes = [part.shape[dim] for part in parts]
        return torch.cat(parts, dim), list(joined), lambda relevance: relevance.split(sizes, dim)
    if one and target in ELEMENTWISE:
        return call(args[0].clone()), sources, lambda relevance: (relevance,)
    if one and target in DROPPING:
        return args[0], sources, lambda relevance: (relevance,)
    if one and target is F.pad:
        outputs, down = padded(call, args[0], own_name, walk)
        return outputs, sources, _single(down)
    if one and (target in MOVING or turned):
        outputs, down = moved(call, args[0])
        return outputs, sources, _single(down)
    if one and target in AVERAGING:
        rule = walk.rules.rule(own_name, nn.AvgPool1d(1))
        outputs, down = by_rule(unweighted(call, args[0]), rule, own_name, args[0], walk)
        return outputs, sources, _single(down)
    kind = type(module).__name__
    raise TypeError(
        f"Layer {name!r} is a {kind}, whose forward calls {node.name!r}, which has no rule: use a layer, "
        "Sum, Residual or Concatenate in its place, or register a function with "
        f"register_rule({kind})(function)."
    )
