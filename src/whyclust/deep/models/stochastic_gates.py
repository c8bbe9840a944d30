"""Stochastic gates: columns that open and shut (section 4.2 of IDC).

A gate is a number between 0 and 1 by which a column is multiplied. While it learns, noise is added, so that
it is drawn to one of the ends; afterwards there is none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from whyclust.network.torch_stored_layers import stored_layer
from whyclust.propagate.torch_walk import register_rule

# Spread of the weights from which gates begin half open, whatever the row.
_FIRST_SPREAD = 1e-3
# Inputs of the gating network's layers for digits, in the paper.
_USUAL_INPUTS = 784, 512
# Rates by which a step moves a sum of the gating network, where rows are fewer than columns.
_MOVED = 10.0


def hard_gates(mu: Tensor, noise: Tensor | None = None) -> Tensor:
    """z = max(0, min(1, 0.5 + μ + ε)) (Eq. 1); without noise, where gates are used and not learned."""
    return (0.5 + mu if noise is None else 0.5 + mu + noise).clamp(0.0, 1.0)


def open_probability(mu: Tensor, sigma: float) -> Tensor:
    """P(z > 0) = Φ((μ + 0.5) / σ), whose sum over columns is the expected number of open gates (Eq. 3)."""
    return 0.5 - 0.5 * torch.erf(-(mu + 0.5) / (math.sqrt(2.0) * sigma))


def gate_noise(like: Tensor, sigma: float, generator: torch.Generator) -> Tensor:
    """ε of Eq. (1), from the generator of a fit, which is on the processor."""
    return sigma * torch.randn(like.shape, generator=generator).to(like.device)


@stored_layer()
class HardGate(nn.Module):
    """The gates that values μ stand for, without noise: Eq. (1) as a layer."""

    def forward(self, mu: Tensor) -> Tensor:
        """Max(0, min(1, 0.5 + μ))."""
        return (0.5 + mu).clamp(0.0, 1.0)


@stored_layer("n_columns")
class SharedGates(nn.Module):
    """One value for each group of columns, given to all of its columns.

    Parameters
    ----------
    n_columns : int
    members : ndarray of int of shape (n_columns,), optional
        The group of each column; a file brings them.
    """

    members: Tensor

    def __init__(self, n_columns: int, members: NDArray | None = None) -> None:
        super().__init__()
        self.n_columns = n_columns
        given = torch.zeros(n_columns) if members is None else torch.from_numpy(np.array(members))
        self.register_buffer("members", given.long())

    @property
    def sizes(self) -> Tensor:
        """Columns of each group."""
        return self.members.bincount()

    def forward(self, values: Tensor) -> Tensor:
        """The value of each column's group."""
        return values.index_select(1, self.members)


@register_rule(HardGate)
def _through_hard_gate(layer: nn.Module, inputs: Tensor, outputs: Tensor, relevance: Tensor) -> Tensor:
    """A gate that is fully open or shut does not depend on the row: it keeps what it is given."""
    return torch.where((outputs > 0) & (outputs < 1), relevance, 0.0)


@register_rule(SharedGates)
def _through_shared_gates(layer: Any, inputs: Tensor, outputs: Tensor, relevance: Tensor) -> Tensor:
    """A group's value gets what its columns have."""
    return torch.zeros_like(inputs).index_add_(1, layer.members, relevance)


def gating_network(n_columns: int, n_hidden: int, n_gates: int, generator: torch.Generator) -> nn.Sequential:
    """From a row to μ of each gate, before it is :func:`bounded`: one hidden layer (appendix B)."""
    network = nn.Sequential(nn.Linear(n_columns, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_gates))
    first, last = network[0], network[2]
    nn.init.xavier_uniform_(first.weight, generator=generator)
    nn.init.normal_(last.weight, std=_FIRST_SPREAD, generator=generator)
    for layer in (first, last):
        nn.init.zeros_(layer.bias)
    return network


class _Bounded(torch.autograd.Function):
    """Between −1 and 1; beyond them only the gradient that leads back counts."""

    @staticmethod
    def forward(ctx: Any, mu: Tensor) -> Tensor:
        ctx.save_for_backward(mu)
        return mu.clamp(-1.0, 1.0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (mu,), (gradient,) = ctx.saved_tensors, gradients
        away = ((mu > 1.0) & (gradient < 0)) | ((mu < -1.0) & (gradient > 0))
        return gradient.masked_fill(away, 0.0)


def bounded(mu: Tensor) -> Tensor:
    """μ between −1 and 1 while gates learn: noise opens a shut gate now and then, so that it can come back.

    The released code bounds by tanh, which has no gradient far out: in tables of thousands of columns some
    rows had all gates open at once and never shut them again, at any price. Here the way back is open.
    """
    return _Bounded.apply(mu)


def learning_rates(network: nn.Sequential, rate: float, *, few_rows: bool) -> list[dict[str, Any]]:
    """The network's parameters in groups for Adam, which moves weights by its rate, whatever their gradient.

    So a sum over d inputs moves by d rates in a step. Of more inputs than the paper's networks for digits
    have, rates fall as these rise, or one step would turn all gates at once.

    Where rows are fewer than columns, that is not enough. A row's sum then moves by hundreds of rates and the
    bias, which all rows share, by one: gates know their rows one by one, and those of a new row are all
    open. So there weights and bias move a sum by the same.
    """
    groups: list[dict[str, Any]] = []
    for layer, usual in zip((network[0], network[2]), _USUAL_INPUTS, strict=True):
        n_inputs = layer.weight.shape[1]
        of_weights, of_bias = rate * min(1.0, usual / n_inputs), rate
        if few_rows:
            of_weights, of_bias = min(of_weights, _MOVED * rate / n_inputs), _MOVED * rate
        groups.append({"params": [layer.weight], "lr": of_weights})
        groups.append({"params": [layer.bias], "lr": of_bias})
    return groups
