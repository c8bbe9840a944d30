"""DEC and IDEC: soft assignments are pulled towards their own sharpened form."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from whyclust.deep.autoencoding import CentroidClusterer
from whyclust.deep.models.centroids import CentroidModel, squared_distances
from whyclust.deep.networks.autoencoders import Autoencoder
from whyclust.deep.parameters import number, optional, setting, whole
from whyclust.deep.presets import EMBEDDING, HIDDEN, NAMES, columns, of_table
from whyclust.deep.training.phases import Adam, Batch, DeepModel, Phase, Update, rows_embedded

# u of table 9, which DEC and IDEC call the interval of their updates.
_UPDATES = columns(140, 140, 30, 140, 20, 20, 20, 20)


def target_distribution(q: Tensor) -> Tensor:
    """p_ij ∝ q_ij² / Σ_i q_ij, over the clusters j (Xie et al., Eq. 3)."""
    weight = q**2 / q.sum(dim=0).clamp_min(torch.finfo(q.dtype).tiny)
    return weight / weight.sum(dim=1, keepdim=True)


class _SelfTrained(CentroidModel):
    """DEC, and IDEC where the reconstruction keeps a part in the loss."""

    target: Tensor
    labels: Tensor
    has_means = False  # they follow a divergence

    def __init__(self, autoencoder: Autoencoder, settings: Any, *, gamma: float | None = None) -> None:
        super().__init__(autoencoder, settings, learned=True)
        self.gamma = gamma
        self.register_buffer("target", torch.empty(0, settings.n_clusters))
        self.register_buffer("labels", torch.empty(0, dtype=torch.long))

    def logits(self, z: Tensor) -> Tensor:
        """Their softmax is Student's t with one degree of freedom, q ∝ 1 / (1 + ‖z − μ‖²) (Eq. 1)."""
        return -torch.log1p(squared_distances(z, self.centroids))

    @property
    def stiffness(self) -> None:
        """Student's t is no softmax of distances."""

    @property
    def kmeans_starts(self) -> int:
        """As the settings say."""
        return self.settings.kmeans_starts

    def weight_beside_squares(self, x: Tensor) -> float:
        """DEC's divergence stands beside means over columns, as in IDEC's released code; IDEC has them."""
        return float(x[0].numel()) if self.gamma is None else 1.0

    @property
    def reconstructs(self) -> bool:  # type: ignore[override]
        """IDEC does."""
        return self.gamma is not None

    def clustering(self, points: Tensor, seen: Tensor, batch: Batch) -> Tensor:
        """KL(p‖q) (Eq. 2), mean over rows; for IDEC γ d KL(p‖q), for d columns."""
        p = self.target.index_select(0, batch.rows)
        divergence = (torch.xlogy(p, p) - p * self.logits(points).log_softmax(dim=1)).sum() / len(points)
        return divergence if self.gamma is None else self.gamma * batch.x[0].numel() * divergence

    def update_target(self, data: Tensor, step: int) -> bool:
        """Compute p on all rows; True if hardly a label has changed since the last time."""
        settings = self.settings
        if settings.update_interval is None and step % max(1, -(-len(data) // settings.batch_size) // 2):
            return False
        q = self.probabilities(rows_embedded(self, data))
        labels = q.argmax(dim=1)
        known = len(self.labels) == len(labels)
        settled = step > 0 and known and float((labels != self.labels).float().mean()) < settings.tol
        self.target, self.labels = target_distribution(q), labels
        return settled

    def begin_again(self, data: Tensor) -> None:
        """The target is that of the new centroids; its labels say nothing of how much is still changing."""
        self.update_target(data, 0)
        self.labels = self.labels[:0].clone()

    def forget(self, data: Tensor) -> None:
        """Targets of single rows are of no use after the fit."""
        self.target, self.labels = self.target[:0].clone(), self.labels[:0].clone()

    def stages(self) -> list[Phase]:
        settings = self.settings
        adam = Adam(settings.learning_rate)
        moved = self.autoencoder.encoder if self.gamma is None else self.autoencoder
        return [
            self.pretraining(settings.pretrain_epochs, adam),
            Phase(
                "clustering",
                settings.epochs,
                [Update(self.loss, [*moved.parameters(), self.centers], adam)],
                settings.batch_size,
                begin=self.cluster_embedding,
                before_step=self.update_target,
                every=settings.update_interval or 1,
                end=self.forget,
                patience=settings.patience,
                comparable=False,
                **self.options(),
            ),
        ]


class DEC(CentroidClusterer):
    """Deep embedded clustering (Xie, Girshick and Farhadi, 2016).

    After pretraining, k-means places centroids in the embedding; then encoder and centroids are trained to
    make the soft assignments q, Student's t around the centroids, match a sharper target p that is computed
    from q on the whole data every few steps. The decoder is left as pretraining made it, so what it makes
    of the embedding afterwards means little: :class:`IDEC` keeps it in training.

    Parameters
    ----------
    update_interval : int or None
        Steps between updates of p; None takes half an epoch. Published: 140 for MNIST, 30 for USPS, 20 for
        smaller sets.
    tol : float
        Stop when a smaller share of the labels has changed from one update to the next.
    kmeans_starts : int
        Of the k-means that places the centroids; the best by its own criterion is taken, which need not be
        the best to begin with.
    epochs : int
        At most, after pretraining.
    pretrain_epochs : int
        Of the autoencoder alone; 0 begins at random. How well this is done decides most of the result.

    Attributes
    ----------
    labels_, cluster_centers_, cluster_spreads_, empty_clusters_, history_, scores_, model_, device_
        See :class:`whyclust.deep.base.DeepClusterer`.
    """

    update_interval: int | None = setting(None, optional(whole(1)))
    tol: float = setting(1e-3, number(zero=True))
    kmeans_starts: int = setting(20, whole(1))

    presets = of_table(update_interval=_UPDATES, embedding_dim=EMBEDDING, hidden=HIDDEN)

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        return _SelfTrained(self._autoencoder(n_features, generator), self)


class IDEC(DEC):
    """Improved deep embedded clustering (Guo, Gao, Liu and Yin, 2017): DEC that keeps reconstructing.

    The loss is ‖x − x̂‖² + γ d KL(p‖q), mean over rows, for d columns. This is the balance of the released
    code, which takes the mean of the squares and γ KL(p‖q). The paper prints their sum without d: with the
    784 pixels of an image clusters would then hardly count.

    Parameters
    ----------
    gamma : float
        Weight of the clustering term.

    Attributes
    ----------
    labels_, cluster_centers_, cluster_spreads_, empty_clusters_, history_, scores_, model_, device_
        See :class:`whyclust.deep.base.DeepClusterer`.
    """

    gamma: float = setting(0.1, number(zero=True))

    presets = of_table(
        update_interval=_UPDATES, embedding_dim=EMBEDDING, hidden=HIDDEN, gamma=dict.fromkeys(NAMES, 0.1)
    )

    def in_two_spaces(self) -> dict[str, Any]:
        """The divergence must hold clusters apart against the shared term, too: γ = 1, as for DEC there."""
        return self._without_trade_off("gamma", 1.0)

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        return _SelfTrained(self._autoencoder(n_features, generator), self, gamma=self.gamma)
