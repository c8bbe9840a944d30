"""The network of IDC: gates before an autoencoder, a clustering head, and gates of clusters (figure 1)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from whyclust.deep.models.head_starts import begin_head
from whyclust.deep.models.stochastic_gates import HardGate, SharedGates, bounded, gating_network, hard_gates
from whyclust.deep.networks.autoencoders import Autoencoder, dense, initialise
from whyclust.deep.training.phases import AffineLogits, DeepModel, linear_logits, numbers
from whyclust.propagate.torch_modules import Gated


class GatedNetwork(DeepModel):
    """Gates, an autoencoder, a clustering head, and gates of clusters with the classifier that trains them.

    Parameters
    ----------
    autoencoder : Autoencoder
    n_features : int
    settings : IDC
    members : ndarray of int of shape (n_features,) or None
        The group of each column, where columns share gates.
    n_hidden : (int, int)
        Of the gating network, and of the head and the classifier: one hidden layer each (appendix B).
    generator : torch.Generator
        Of the random weights.
    """

    answers_with: ClassVar = ("temperature",)
    centers: Tensor

    def __init__(
        self,
        autoencoder: Autoencoder,
        n_features: int,
        settings: Any,
        members: NDArray | None,
        n_hidden: tuple[int, int],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.autoencoder, self.settings = autoencoder, settings
        self.temperature = float(settings.temperature)  # of the fit, whatever is set afterwards
        of_gates, of_head = n_hidden
        n_gates = n_features if members is None else int(members.max()) + 1
        self.spread = nn.Identity() if members is None else SharedGates(n_features, members)
        self.gating: Any = None
        if settings.gates:
            self.gating = gating_network(n_features, of_gates, n_gates, generator)
        width, n_clusters = autoencoder.embedding_dim, settings.n_clusters
        self.head = dense([width, of_head, n_clusters], "relu", batch_norm=True)
        self.classifier = dense([n_features, of_head, n_clusters], "relu", batch_norm=True)
        begin_head(self.head, generator)
        initialise(self.classifier, generator)
        self.global_mu = nn.Parameter(torch.zeros(n_clusters, n_gates))
        self.register_buffer("centers", torch.zeros(n_clusters, width))

    # --- what is computed -----------------------------------------------------------------------

    def mu(self, x: Tensor) -> Tensor:
        """μ of each gate (one for each column, or group of columns), between −1 and 1."""
        return bounded(self.gating(x))

    def local_gates(self, x: Tensor) -> Tensor:
        """The gate of each column, without noise; 1 where there are no gates."""
        return torch.ones_like(x) if self.gating is None else hard_gates(self.spread(self.mu(x)))

    def global_gates(self) -> Tensor:
        """The gate of each column for each cluster, without noise."""
        return hard_gates(self.spread(self.global_mu))

    def gated(self, x: Tensor) -> Tensor:
        """Rows times their gates."""
        return x if self.gating is None else x * self.local_gates(x)

    def embed(self, x: Tensor) -> Tensor:
        """The encoder's output for gated rows."""
        return self.autoencoder.encoder(self.gated(x))

    def decode(self, z: Tensor) -> Tensor:
        """The output of the autoencoder's decoder."""
        return self.autoencoder.decoder(z)

    def logits(self, z: Tensor) -> Tensor:
        """The head's output."""
        return self.head(z)

    def probabilities(self, z: Tensor) -> Tensor:
        """Eq. (5) without noise."""
        return (self.logits(z) / self.temperature).softmax(dim=1)

    def cluster_centers(self) -> Tensor:
        """The mean embedding of each cluster's rows."""
        return self.centers

    # --- what is explained ----------------------------------------------------------------------

    def gate_layers(self) -> list[nn.Module]:
        """The product of rows and gates, as a layer that relevance passes.

        That μ is bounded makes no difference to gates without noise.
        """
        if self.gating is None:
            return []
        spread = [] if isinstance(self.spread, nn.Identity) else [self.spread]
        return [Gated(nn.Sequential(*self.gating, *spread, HardGate()))]

    @property
    def embedding_encoder(self) -> nn.Module:
        """What makes embeddings of rows."""
        return nn.Sequential(*self.gate_layers(), self.autoencoder.encoder)

    @property
    def encoder(self) -> nn.Module:
        """All layers before the last one of the head.

        Nothing is between the encoder's last layer and the head's first: where both are linear they are one.
        """
        there = self.autoencoder.encoder
        layers = list(there) if isinstance(there, nn.Sequential) else [there]
        first, *others = list(self.head)[:-1]
        if layers and type(layers[-1]) is nn.Linear:
            first = _one(layers.pop(), first)
        return nn.Sequential(*self.gate_layers(), *layers, first, *others)

    def affine_logits(self) -> AffineLogits:
        """The head's last layer."""
        return linear_logits(self.head[-1], 1.0 / self.temperature)

    def affine_embedding(self) -> tuple[NDArray, NDArray]:
        """The output of `embedding_encoder` itself."""
        width = self.autoencoder.embedding_dim
        return torch.eye(width).double().numpy(), torch.zeros(width).double().numpy()


def _one(first: nn.Linear, second: nn.Linear) -> nn.Linear:
    """Two linear layers as one."""
    weight = numbers(first.weight)
    bias = np.zeros(len(weight)) if first.bias is None else numbers(first.bias)
    outer = numbers(second.weight)
    layer = nn.utils.skip_init(nn.Linear, weight.shape[1], len(outer), device=first.weight.device)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(outer @ weight))
        layer.bias.copy_(torch.from_numpy(outer @ bias + numbers(second.bias)))
    return layer
