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
    """From a row to μ of each gate: one hidden layer (appendix B), and μ between −1 and 1.

    The bound is that of the released code: a gate that cannot be shut for good is opened now and then by the
    noise, and can come back.
    """
    network = nn.Sequential(
        nn.Linear(n_columns, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_gates), nn.Tanh()
    )
    first, last = network[0], network[2]
    nn.init.xavier_uniform_(first.weight, generator=generator)
    nn.init.normal_(last.weight, std=_FIRST_SPREAD, generator=generator)
    for layer in (first, last):
        nn.init.zeros_(layer.bias)
    return network
