"""The gates of DUFS, and the loss that opens and shuts them (Lindenbaum et al., 2021)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from whyclust.deep.training.phases import Adam, Batch, DeepModel, Phase, Terms, Update

# Added to the number of open gates, which may be divided by (δ of Eq. 4).
_DELTA = 1e-6
# Bandwidths below this are those of rows that are all the same.
_NARROWEST = 1e-8
# Of Adam: slopes of the ratio are as small as there are many columns.
_EPSILON = 1e-10


def random_walk(points: Tensor, n_neighbors: int, factor: float) -> Tensor:
    """P = D⁻¹ W, W_ij = exp(−‖x_i − x_j‖² / b), D = diag(W 1).

    b is `factor` times the median over rows of the squared distance to the neighbour of this number.
    """
    squares = points.square().sum(dim=1)
    distances = (squares[:, None] + squares - 2.0 * points @ points.T).clamp(min=0.0)
    distances = distances - torch.diag(distances.diagonal())  # rounding, where it matters most
    nearest = distances.topk(min(n_neighbors, len(points) - 1) + 1, largest=False).values[:, -1]
    bandwidth = factor * nearest.quantile(0.5)
    bandwidth = torch.where(bandwidth < _NARROWEST, torch.ones_like(bandwidth), bandwidth)
    weights = torch.exp(-distances / bandwidth)
    return weights / weights.sum(dim=1, keepdim=True)


class GatedLaplacian(DeepModel):
    """A gate for each column; the rows behind them, as smooth on their own graph as few gates allow."""

    def __init__(
        self,
        n_features: int,
        *,
        lam: float | None,
        sigma: float,
        n_neighbors: int,
        bandwidth_factor: float,
        walk: int,
        epochs: int,
        batch_size: int,
        learning_rate: float,
    ) -> None:
        super().__init__()
        self.means = nn.Parameter(torch.zeros(n_features))  # μ
        self.lam, self.sigma, self.walk = lam, sigma, walk
        self.n_neighbors, self.bandwidth_factor = n_neighbors, bandwidth_factor
        self.epochs, self.batch_size, self.learning_rate = epochs, batch_size, learning_rate

    def phases(self) -> list[Phase]:
        """One: gates open and shut."""
        update = Update(self.loss, [self.means], Adam(self.learning_rate, epsilon=_EPSILON))
        return [Phase("gates", self.epochs, [update], self.batch_size, comparable=False)]

    def gates(self, noise: Tensor) -> Tensor:
        """Z = min(1, max(0, ½ + μ + ε)), ε of this noise times σ (section 4.1)."""
        return (0.5 + self.means + self.sigma * noise).clamp(0.0, 1.0)

    def open(self) -> Tensor:
        """P(Z > 0) = Φ((½ + μ) / σ) of each gate."""
        return 0.5 * (1.0 + torch.erf((0.5 + self.means) / (self.sigma * math.sqrt(2.0))))

    def smoothness(self, gated: Tensor) -> Tensor:
        """Tr[X̃ᵀ Pᵗ X̃] / m, P the random walk on the graph of the gated rows themselves."""
        walk = random_walk(gated, self.n_neighbors, self.bandwidth_factor)
        moved = gated
        for _ in range(self.walk):
            moved = walk @ moved
        return (gated * moved).sum() / len(gated)

    def loss(self, batch: Batch) -> Terms:
        """−Tr[X̃ᵀ L X̃]/m + λ Σ_i P(Z_i > 0), per column (Eq. 3); or their ratio (Eq. 4)."""
        noise = torch.randn(len(self.means), generator=batch.generator).to(self.means)
        smooth = self.smoothness(batch.x * self.gates(noise))
        if self.lam is None:
            return {"ratio": -smooth / (self.open().sum() + _DELTA)}
        n_features = len(self.means)
        return {"smoothness": -smooth / n_features, "gates": self.lam * self.open().sum() / n_features}
