"""DCN: hard assignments, and centroids that follow their members."""

from __future__ import annotations

from typing import Any

import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from whyclust.deep.autoencoding import CentroidClusterer
from whyclust.deep.models.centroids import CentroidModel, rows_encoded, squared_distances, squared_error
from whyclust.deep.networks.autoencoders import Autoencoder
from whyclust.deep.parameters import number, setting, yes_or_no
from whyclust.deep.presets import EMBEDDING, HIDDEN, NAMES, of_table
from whyclust.deep.training.loop import evaluating
from whyclust.deep.training.phases import Adam, Batch, DeepModel, Phase, Update

# Members that a centroid is taken to have had before the first: it moves by 1/count with each.
_FIRST_COUNT = 100
# Epochs after which k-means brings centroids to their members again, as in the released code: slower and
# slower, they fall behind an embedding that shrinks.
_SETTLED_EVERY = 10


class _DeepClusteringNetwork(CentroidModel):
    counts: Tensor
    earlier_counts: Tensor

    def __init__(self, autoencoder: Autoencoder, settings: Any) -> None:
        super().__init__(autoencoder, settings)
        counts = torch.full((settings.n_clusters,), _FIRST_COUNT, dtype=torch.long)
        self.register_buffer("counts", counts)
        self.register_buffer("earlier_counts", counts.clone())

    def nearest(self, z: Tensor) -> Tensor:
        """The cluster of each point."""
        return squared_distances(z, self.centroids).argmin(dim=1)

    def clustering(self, points: Tensor, seen: Tensor, batch: Batch) -> Tensor:
        """½ λ ‖z − μ_s‖², s the nearest centroid, mean over rows (Yang et al., Eq. 4)."""
        own = self.centroids[self.nearest(seen.detach())]
        return 0.5 * self.settings.lam * squared_error(points, own)

    def move_centers(self, batch: Batch) -> None:
        """Eq. (8): each member moves its centroid by 1/count, and is counted.

        Steps of 1/(n + 1), …, 1/(n + m) from μ end at (n μ + Σ z) / (n + m): no loop over rows.
        """
        with evaluating(self):
            z = self.encoder(batch.x)
        labels = self.nearest(self.space.points(z))
        members = torch.bincount(labels, minlength=len(self.centers))
        sums = torch.zeros_like(self.centers).index_add_(0, labels, z)
        before, after = self.counts[:, None].to(z.dtype), (self.counts + members)[:, None].to(z.dtype)
        self.centers.copy_((before * self.centers + sums) / after)
        self.counts += members

    def begin_again(self, data: Tensor) -> None:
        """Counts are as at first."""
        self.counts.fill_(_FIRST_COUNT)
        self.earlier_counts.fill_(0)

    def revive(self, data: Tensor, epoch: int) -> None:
        """Give centroids that had no member in the last epoch another place, and their first count."""
        if epoch and epoch % _SETTLED_EVERY == 0:
            self.settle(data)
        empty = torch.nonzero(self.counts == self.earlier_counts).flatten().tolist() if epoch else []
        if empty and self.settings.reseed:
            self.seed_empty(empty, rows_encoded(self, data))
            self.counts[empty] = _FIRST_COUNT
        self.earlier_counts.copy_(self.counts)

    def stages(self) -> list[Phase]:
        settings = self.settings
        adam = Adam(settings.learning_rate)
        return [
            self.pretraining(settings.pretrain_epochs, adam),
            Phase(
                "clustering",
                settings.epochs,
                [Update(self.loss, list(self.autoencoder.parameters()), adam)],
                settings.batch_size,
                begin=self.cluster_embedding,
                before_epoch=self.revive,
                after_step=self.move_centers,
                end=self.settle,
                patience=settings.patience,
                **self.options(),
            ),
        ]


class DCN(CentroidClusterer):
    """Deep clustering network (Yang, Fu, Sidiropoulos and Hong, 2017).

    Steps of the autoencoder, which bring rows nearer to their centroids, take turns with steps of the
    centroids, which follow their members at a rate of 1/count. The count begins at 100 and is never reset, so
    centroids come to rest; every ten epochs and at the end k-means on all rows, begun with the centroids as
    they are, brings them to their members again, as in the released code.

    Parameters
    ----------
    lam : float
        λ, twice the weight of the clustering term.
    reseed : bool
        Whether centroids that had no member in an epoch are moved to rows far from all others.
    epochs : int
        After pretraining.
    pretrain_epochs : int
        Of the autoencoder alone; 0 begins at random, which this method was not made for.

    Attributes
    ----------
    n_reseeded_ : int
        How often a centroid without members was moved.
    labels_, cluster_centers_, cluster_spreads_, empty_clusters_, history_, scores_, model_, device_
        See :class:`whyclust.deep.base.DeepClusterer`.
    """

    lam: float = setting(0.1, number(zero=True))
    reseed: bool = setting(True, yes_or_no)

    # γ of table 9 is DCN's λ. It has no u here: its centroids move with every step, as in its own paper.
    presets = of_table(lam=dict.fromkeys(NAMES, 0.1), embedding_dim=EMBEDDING, hidden=HIDDEN)

    @property
    def n_reseeded_(self) -> int:
        """How often a centroid without members was moved."""
        check_is_fitted(self)
        return int(self.model_.reseeded)

    def in_two_spaces(self) -> dict[str, Any]:
        """Eq. (5) of ACe/DeC weighs its terms equally, which is λ = 2 here."""
        return self._without_trade_off("lam", 2.0)

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        return _DeepClusteringNetwork(self._autoencoder(n_features, generator), self)
