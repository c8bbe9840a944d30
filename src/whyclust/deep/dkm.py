"""DKM: k-means with a softmax for the minimum, which sharpens as training goes on."""

from __future__ import annotations

import math
from typing import Any

import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from whyclust.deep.base import DeepClusterer
from whyclust.deep.centroids import CentroidModel, squared_distances, squared_error
from whyclust.deep.networks import Autoencoder
from whyclust.deep.phases import Adam, DeepModel, Phase, Terms, rows_embedded
from whyclust.deep.presets import WithPresets
from whyclust.deep.settings import check_settings, positive, whole_number

# Constant inverse temperature after pretraining, and the first value where it is annealed.
_CONSTANT = 1000.0
_FIRST = 0.1


def annealed(number: int) -> float:
    """α_1 = 0.1, α_i = 2^(1 / ln(i)²) α_{i−1}: the inverse temperature at position `number` = i."""
    return _FIRST * 2.0 ** sum(1.0 / math.log(i) ** 2 for i in range(2, number + 1))


class _SoftKMeans(CentroidModel):
    alpha: Tensor

    def __init__(self, autoencoder: Autoencoder, settings: Any, alpha: float | None, epochs: int) -> None:
        super().__init__(autoencoder, settings, learned=True)
        self.constant, self.epochs = alpha, epochs
        self.register_buffer("alpha", torch.tensor(_FIRST if alpha is None else float(alpha)))

    def logits(self, z: Tensor) -> Tensor:
        """−α ‖z − μ‖²; a softmax is taken of them, which subtracts the largest."""
        return -self.alpha * squared_distances(z, self.centers)

    def loss(self, x: Tensor, rows: Tensor) -> Terms:
        """‖x − x̂‖² + λ Σ_k G_k ‖z − μ_k‖², G the softmax, mean over rows (Fard et al., Eqs. 2 and 4)."""
        z, back = self.autoencoder(x)
        distances = squared_distances(z, self.centers)
        weights = (-self.alpha * distances).softmax(dim=1)
        return {
            "reconstruction": squared_error(x, back),
            "clustering": self.settings.lam * (weights * distances).sum() / len(x),
        }

    def begin(self, data: Tensor, generator: torch.Generator) -> None:
        """Centroids by k-means after pretraining, else uniform in −1 … 1."""
        if self.settings._starts_pretrained():
            self.cluster_embedding(data, generator)
        else:
            self.centers.data.copy_(torch.rand(self.centers.shape, generator=generator) * 2.0 - 1.0)

    def sharpen(self, data: Tensor, epoch: int) -> None:
        """Take the value of α for this epoch; with each, give centroids without rows another place."""
        if self.constant is None:
            self.alpha.fill_(annealed(1 + epoch // self.settings.alpha_epochs))
        if self.settings.reseed and epoch and epoch % self.settings.alpha_epochs == 0:
            z = rows_embedded(self, data)
            members = torch.bincount(self.logits(z).argmax(dim=1), minlength=len(self.centers))
            empty = torch.nonzero(members == 0).flatten().tolist()
            if empty:
                self.seed_empty(empty, z)

    def phases(self) -> list[Phase]:
        settings = self.settings
        # DKM's own Adam, unlike that of the other models (section 5.2.1 of CM).
        adam = Adam(settings.learning_rate, epsilon=1e-7)
        return [
            self.pretraining(settings.pretrain_epochs, adam),
            Phase(
                "clustering",
                self.epochs,
                self.loss,
                [*self.autoencoder.parameters(), self.centers],
                adam,
                settings.batch_size,
                begin=self.begin,
                before_epoch=self.sharpen,
                # While α rises so does the loss: that it does not fall tells nothing.
                patience=None if self.constant is None else settings.patience,
                comparable=self.constant is not None,
            ),
        ]


class DKM(WithPresets, DeepClusterer):
    """Deep k-means (Moradi Fard, Thonet and Gaussier, 2020).

    Autoencoder and centroids are trained together; the distance to the nearest centroid is replaced by a
    mean of the distances to all, weighted by a softmax with inverse temperature α. After pretraining α is
    constant; from a random start (``pretrain_epochs=0``) it rises every few epochs, from 0.1.

    Parameters
    ----------
    n_clusters : int
    lam : float
        λ, weight of the clustering term. Results depend on it much; published values go from 1e-4 to 1.
    alpha : float or None
        Constant inverse temperature; None takes 1000 after pretraining, and the rising values otherwise.
    alpha_epochs : int
        Epochs between two rising values.
    reseed : bool
        Whether centroids that are nearest to no row are moved to rows far from all others, every
        `alpha_epochs`. The paper does not; but from a random start small networks then leave clusters empty
        (three to nine of ten on scikit-learn's digits).
    epochs : int or None
        After pretraining; None takes the published 100 for a constant α, 200 for a rising one.
    pretrain_epochs : int
        Of the autoencoder alone; 0 begins at random.
    embedding_dim, hidden, activation, image_shape, autoencoder, batch_size, learning_rate, patience, \
    n_init, device, random_state, verbose, checkpoint, checkpoint_every
        As in :class:`AutoencoderKMeans`.

    Attributes
    ----------
    n_reseeded_ : int
        How often a centroid without members was moved.
    labels_, cluster_centers_, cluster_spreads_, empty_clusters_, history_, scores_, model_, device_
        See :class:`whyclust.deep.base.DeepClusterer`.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        lam: float = 0.1,
        alpha: float | None = None,
        alpha_epochs: int = 5,
        reseed: bool = True,
        embedding_dim: int | None = None,
        hidden: Any = None,
        activation: str = "relu",
        image_shape: tuple[int, int, int] | None = None,
        autoencoder: Any = None,
        epochs: int | None = None,
        pretrain_epochs: int = 50,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        patience: int | None = None,
        n_init: int = 1,
        device: Any = "auto",
        random_state: Any = None,
        verbose: bool = False,
        checkpoint: Any = None,
        checkpoint_every: int = 10,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.alpha = alpha
        self.alpha_epochs = alpha_epochs
        self.reseed = reseed
        self.embedding_dim = embedding_dim
        self.hidden = hidden
        self.activation = activation
        self.image_shape = image_shape
        self.autoencoder = autoencoder
        self.epochs = epochs
        self.pretrain_epochs = pretrain_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.n_init = n_init
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    @property
    def n_reseeded_(self) -> int:
        """How often a centroid without members was moved."""
        check_is_fitted(self)
        return int(self.model_.reseeded)

    def _check_settings(self) -> None:
        settings = self.get_params(deep=False)
        if self.epochs is None:
            del settings["epochs"]
        check_settings(settings)
        positive("lam", self.lam, zero=True)
        whole_number("alpha_epochs", self.alpha_epochs, 1)
        if self.alpha is not None:
            positive("alpha", self.alpha)

    def _starts_pretrained(self) -> bool:
        return self._pretrained() or self.pretrain_epochs > 0

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        alpha = _CONSTANT if self.alpha is None and self._starts_pretrained() else self.alpha
        usual = 200 if alpha is None else 100
        epochs = usual if self.epochs is None else self.epochs
        return _SoftKMeans(self._autoencoder(n_features, generator), self, alpha, epochs)
