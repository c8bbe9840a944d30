"""Sums, concatenations, products and lengths as modules, so that relevance can be led through them."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Sum(nn.Module):
    """The sum of what its branches make of the same inputs.

    >>> layer = Sum(nn.Linear(3, 2), nn.Linear(3, 2))
    >>> layer(torch.zeros(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def named_branches(self) -> list[tuple[str, nn.Module]]:
        """What is added up, with its name."""
        return [(f"branches.{place}", branch) for place, branch in enumerate(self.branches)]

    def forward(self, inputs: Tensor) -> Tensor:
        """Σ of the branches."""
        return torch.stack([branch(inputs) for branch in self.branches]).sum(dim=0)


class Residual(nn.Module):
    """Inputs plus what a chain of layers makes of them.

    Parameters
    ----------
    *layers : nn.Module
        The chain.
    shortcut : nn.Module, optional
        What the inputs pass instead of being added as they are, where shapes differ.

    >>> layer = Residual(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
    >>> layer(torch.zeros(5, 3)).shape
    torch.Size([5, 3])
    """

    def __init__(self, *layers: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.shortcut = nn.Identity() if shortcut is None else shortcut

    def named_branches(self) -> list[tuple[str, nn.Module]]:
        """What is added up, with its name."""
        return [("shortcut", self.shortcut), ("layers", self.layers)]

    def forward(self, inputs: Tensor) -> Tensor:
        """Shortcut plus chain."""
        return self.shortcut(inputs) + self.layers(inputs)


class Gated(nn.Module):
    """Inputs, or what a signal makes of them, times a gate that is computed from the same inputs.

    A gate says how much passes, not what: all relevance goes to the signal (Arras et al., 2017), and the
    gate may be any module.

    Parameters
    ----------
    gate : nn.Module
        Returns factors, of the shape of the signal or one that broadcasts to it.
    signal : nn.Module, optional
        What the inputs pass before they are weighed.

    >>> layer = Gated(nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()))
    >>> layer(torch.zeros(5, 3)).shape
    torch.Size([5, 3])
    """

    def __init__(self, gate: nn.Module, *, signal: nn.Module | None = None) -> None:
        super().__init__()
        self.gate = gate
        self.signal = nn.Identity() if signal is None else signal

    def forward(self, inputs: Tensor) -> Tensor:
        """Signal times gate."""
        return self.signal(inputs) * self.gate(inputs)


class UnitLength(nn.Module):
    """Inputs divided by their length, row by row.

    The length is a weight, as a gate is: all relevance goes to what is divided. Rows of length zero stay.

    >>> UnitLength()(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """

    def forward(self, inputs: Tensor) -> Tensor:
        """x / ‖x‖."""
        return nn.functional.normalize(inputs, dim=1)


class Concatenate(nn.Module):
    """What its branches make of the same inputs, side by side.

    Parameters
    ----------
    *branches : nn.Module
        ``nn.Identity()`` keeps the inputs themselves.
    dim : int
        The axis along which they are joined: channels, by default.

    >>> layer = Concatenate(nn.Identity(), nn.Linear(3, 2))
    >>> layer(torch.zeros(5, 3)).shape
    torch.Size([5, 5])
    """

    def __init__(self, *branches: nn.Module, dim: int = 1) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)
        self.dim = dim

    def forward(self, inputs: Tensor) -> Tensor:
        """The branches, joined."""
        return torch.cat([branch(inputs) for branch in self.branches], dim=self.dim)
