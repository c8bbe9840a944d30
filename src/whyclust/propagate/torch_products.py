"""Products in a forward: which factor is a gate, and where relevance goes.

A gate says how much of a signal passes, not what: it is taken for a weight, and the signal takes all
relevance, as in LRP of gated units (Arras et al., "Explaining recurrent neural network predictions in
sentiment analysis", 2017). A gate is what comes out of a sigmoid, a softmax or a clamp, and what does not
depend on the inputs at all (parameters, numbers). Factors that are both gates, or neither, share evenly.
Relevance is conserved in all cases.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (as PyTorch itself writes it)
from torch import fx, nn

from whyclust.propagate.torch_affine import is_builtin

# Strings are methods of tensors.
MULTIPLYING = {operator.mul, operator.imul, torch.mul, torch.multiply, "mul", "mul_", "multiply"}
DIVIDING = {operator.truediv, operator.itruediv, torch.div, torch.divide, "div", "div_", "divide"}
GATES = (nn.Sigmoid, nn.Hardsigmoid, nn.Hardtanh, nn.Softmax)
GATING = {
    *(torch.sigmoid, F.sigmoid, "sigmoid", "sigmoid_", F.hardsigmoid, F.hardtanh),
    *(torch.clamp, torch.clip, "clamp", "clamp_", "clip", torch.softmax, F.softmax, "softmax"),
}
# What a gate may pass and still be one.
_PASSING = {
    *("reshape", "view", "flatten", "squeeze", "unsqueeze", "expand", "expand_as", "permute", "transpose"),
    *(torch.reshape, torch.flatten, torch.squeeze, torch.unsqueeze, torch.permute, torch.transpose),
    *("contiguous", F.dropout),
}
# Key of a node's note whether it is the same for all inputs: a parameter, or made of such.
_FIXED = "whyclust_fixed"
_PASSING_LAYERS = (nn.Identity, nn.Dropout, nn.Flatten, nn.Unflatten)


def relevant(nodes: list[fx.Node], module: nn.Module) -> set[fx.Node]:
    """Nodes that relevance reaches from the output: all but gates, and what gates are made of."""
    for node in nodes:
        made_of = [other.meta[_FIXED] for other in node.all_input_nodes]
        node.meta[_FIXED] = node.op == "get_attr" or (node.op != "placeholder" and all(made_of))
    waiting, found = [nodes[-1]], set()
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        taken = takers(node, module) if node.target in MULTIPLYING | DIVIDING else []
        waiting.extend(taken or node.all_input_nodes)
    return {node for node in found if not node.meta[_FIXED]}


def takers(node: fx.Node, module: nn.Module) -> list[fx.Node]:
    """The factors of a product, or the dividend of a quotient by a constant, that take its relevance."""
    if len(node.args) != 2 or node.kwargs:
        return []
    live = [factor for factor in node.args if isinstance(factor, fx.Node) and not factor.meta[_FIXED]]
    if node.target in DIVIDING:
        return live if live == [node.args[0]] else []
    signals = [factor for factor in live if not _is_gate(factor, module)]
    return signals if len(signals) == 1 else live


def _is_gate(node: fx.Node, module: nn.Module) -> bool:
    """Whether the node is the outcome of a function that opens and closes."""
    while node.target in _PASSING and node.all_input_nodes:
        node = node.all_input_nodes[0]
    if node.op != "call_module":
        return node.target in GATING
    return _ends_in_gate(module.get_submodule(str(node.target)))


def _ends_in_gate(layer: Any) -> bool:
    while is_builtin(layer, (nn.Sequential,)) and len(layer):
        kept = [part for part in layer if not is_builtin(part, _PASSING_LAYERS)]
        layer = (kept or list(layer))[-1]
    if is_builtin(layer, GATES):
        return True
    if type(layer).__module__.startswith("torch."):
        return False
    try:
        nodes = list(OneForward().trace(layer).nodes)
    except Exception:  # a forward may fail in any way on what are not tensors
        return False
    (ends,) = nodes[-1].args
    return isinstance(ends, fx.Node) and _is_gate(ends, layer)


class OneForward(fx.Tracer):
    """Reads one forward; the modules it calls are one node each."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether a call of this module is one node."""
        return True
