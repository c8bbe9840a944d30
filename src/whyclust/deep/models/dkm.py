"""DKM: k-means with a softmax for the minimum, which sharpens as training goes on."""

from __future__ import annotations

import math
from typing import Any

import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from whyclust.deep.autoencoding import CentroidClusterer
from whyclust.deep.models.centroids import CentroidModel, rows_encoded, squared_distances
from whyclust.deep.networks.autoencoders import Autoencoder
from whyclust.deep.parameters import number, optional, setting, whole, yes_or_no
from whyclust.deep.presets import EMBEDDING, HIDDEN, columns, of_table
from whyclust.deep.training.phases import Adam, Batch, DeepModel, Phase, Update

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
        return -self.alpha * squared_distances(z, self.centroids)

    @property
    def stiffness(self) -> float:
        """α: the assignment is a softmax of −α ‖z − μ‖²."""
        return float(self.alpha)

    def clustering(self, points: Tensor, seen: Tensor, batch: Batch) -> Tensor:
        """λ Σ_k G_k ‖z − μ_k‖², G the softmax, mean over rows (Fard et al., Eqs. 2 and 4)."""
        distances = squared_distances(points, self.centroids)
        own = distances if seen is points else squared_distances(seen, self.centroids)
        weights = (-self.alpha * own).softmax(dim=1)
        return self.settings.lam * (weights * distances).sum() / len(points)

    def begin(self, data: Tensor, generator: torch.Generator) -> None:
        """Centroids by k-means after pretraining, else uniform in −1 … 1."""
        if self.settings.starts_pretrained:
            self.cluster_embedding(data, generator)
        else:
            self.centers.data.copy_(torch.rand(self.centers.shape, generator=generator) * 2.0 - 1.0)

    def anneal(self, epoch: int) -> None:
        """Take the value of α for this epoch."""
        if self.constant is None:
            self.alpha.fill_(annealed(1 + epoch // self.settings.alpha_epochs))

    def sharpen(self, data: Tensor, epoch: int) -> None:
        """Take the value of α for this epoch; with each, give centroids without rows another place."""
        self.anneal(epoch)
        if self.settings.reseed and epoch and epoch % self.settings.alpha_epochs == 0:
            z = rows_encoded(self, data)
            labels = self.logits(self.space.points(z)).argmax(dim=1)
            members = torch.bincount(labels, minlength=len(self.centers))
            empty = torch.nonzero(members == 0).flatten().tolist()
            if empty:
                self.seed_empty(empty, z)

    def stages(self) -> list[Phase]:
        settings = self.settings
        # DKM's own Adam, unlike that of the other models (section 5.2.1 of CM).
        adam = Adam(settings.learning_rate, epsilon=1e-7)
        return [
            self.pretraining(settings.pretrain_epochs, adam),
            Phase(
                "clustering",
                self.epochs,
                [Update(self.loss, [*self.autoencoder.parameters(), self.centers], adam)],
                settings.batch_size,
                begin=self.begin,
                before_epoch=self.sharpen,
                # While α rises so does the loss: that it does not fall tells nothing.
                patience=None if self.constant is None else settings.patience,
                comparable=self.constant is not None,
                **self.options(),
            ),
        ]


class DKM(CentroidClusterer):
    """Deep k-means (Moradi Fard, Thonet and Gaussier, 2020).

    Autoencoder and centroids are trained together; the distance to the nearest centroid is replaced by a
    mean of the distances to all, weighted by a softmax with inverse temperature α. After pretraining α is
    constant; from a random start (``pretrain_epochs=0``) it rises every few epochs, from 0.1.

    Parameters
    ----------
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

    Attributes
    ----------
    n_reseeded_ : int
        How often a centroid without members was moved.
    labels_, cluster_centers_, cluster_spreads_, empty_clusters_, history_, scores_, model_, device_
        See :class:`whyclust.deep.base.DeepClusterer`.
    """

    lam: float = setting(0.1, number(zero=True))
    alpha: float | None = setting(None, optional(number()))
    alpha_epochs: int = setting(5, whole(1))
    reseed: bool = setting(True, yes_or_no)
    epochs: int | None = setting(None, optional(whole(0)))  # type: ignore[assignment]
    pretrain_epochs: int = 50
    activation: str = "relu"

    presets = of_table(
        lam=columns(1.0, 0.01, 0.1, 0.1, 1.0, 0.01, 1e-4, 1e-4), embedding_dim=EMBEDDING, hidden=HIDDEN
    )
    # λʳ of table 9.
    presets_from_random = of_table(lam=columns(0.1, 0.01, 0.01, 0.01, 0.01, 1e-4, 1e-4, 1e-4))

    @property
    def n_reseeded_(self) -> int:
        """How often a centroid without members was moved."""
        check_is_fitted(self)
        return int(self.model_.reseeded)

    @property
    def starts_pretrained(self) -> bool:
        """Whether the autoencoder has learned something before centroids are placed."""
        return self.pretrained or self.pretrain_epochs > 0

    def in_two_spaces(self) -> dict[str, Any]:
        """Eq. (5) of ACe/DeC weighs its terms equally: with less, L_shared draws all clusters together."""
        return self._without_trade_off("lam", 1.0)

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        alpha = _CONSTANT if self.alpha is None and self.starts_pretrained else self.alpha
        usual = 200 if alpha is None else 100
        epochs = usual if self.epochs is None else self.epochs
        return _SoftKMeans(self._autoencoder(n_features, generator), self, alpha, epochs)
