"""The concrete selector layer and its decoder (Balın, Abid and Zou, 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from whyclust.deep.networks.autoencoders import dense, initialise
from whyclust.deep.training.phases import Adam, Batch, DeepModel, Phase, Terms, Update

# Keeps logarithms of uniform noise finite.
_SMALLEST = 1e-7
# Of Adam, as where the method was published.
_EPSILON = 1e-7


class ConcreteSelector(DeepModel):
    """k neurons that each learn to take one column, and a decoder that makes all columns of these."""

    def __init__(
        self,
        n_features: int,
        n_neurons: int,
        hidden: Sequence[int],
        generator: torch.Generator,
        *,
        epochs: int,
        batch_size: int,
        learning_rate: float,
        first_temperature: float,
        last_temperature: float,
        decided: float,
    ) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.empty(n_neurons, n_features))
        nn.init.xavier_normal_(self.log_alpha, generator=generator)
        self.decoder = dense([n_neurons, *hidden, n_features], "leaky_relu")
        initialise(self.decoder, generator)
        self.epochs, self.batch_size, self.learning_rate = epochs, batch_size, learning_rate
        self.first_temperature, self.last_temperature = first_temperature, last_temperature
        self.decided = decided

    def phases(self) -> list[Phase]:
        """One: the temperature falls, and the neurons decide."""
        update = Update(self.loss, list(self.parameters()), Adam(self.learning_rate, epsilon=_EPSILON))
        return [
            Phase(
                "selection",
                self.epochs,
                [update],
                self.batch_size,
                before_epoch=lambda data, epoch: self.certainty() >= self.decided,
                comparable=False,
            )
        ]

    def temperature(self, done: float) -> float:
        """T(b) = T_0 (T_B / T_0)^(b/B) (Eq. 2)."""
        return self.first_temperature * (self.last_temperature / self.first_temperature) ** done

    def chances(self) -> Tensor:
        """p_ij: how likely neuron i takes column j, α normalised."""
        return self.log_alpha.softmax(dim=1)

    def certainty(self) -> float:
        """The mean over neurons of their largest probability."""
        return float(self.chances().detach().amax(dim=1).mean())

    def samples(self, uniform: Tensor, temperature: float) -> Tensor:
        """m_j = exp((log α_j + g_j) / T) / Σ_k exp((log α_k + g_k) / T), g = −log(−log u) (Eq. 1)."""
        gumbel = -torch.log(-torch.log(uniform))
        return ((self.log_alpha + gumbel) / temperature).softmax(dim=1)

    def loss(self, batch: Batch) -> Terms:
        """Squared error of the reconstruction, mean over rows and columns."""
        uniform = torch.rand(self.log_alpha.shape, generator=batch.generator).to(self.log_alpha)
        uniform = uniform.clamp(_SMALLEST, 1.0 - _SMALLEST)
        chosen = batch.x @ self.samples(uniform, self.temperature(batch.done)).T
        return {"reconstruction": (batch.x - self.decoder(chosen)).square().mean()}
