"""AE+KM: an autoencoder, then k-means on its embedding."""

from __future__ import annotations

import torch
from torch import Tensor

from whyclust.deep.autoencoding import AugmentedClusterer
from whyclust.deep.models.centroids import CentroidModel, squared_error
from whyclust.deep.models.layers_alone import layer_phases
from whyclust.deep.parameters import number, optional, setting, whole
from whyclust.deep.presets import EMBEDDING, HIDDEN, of_table
from whyclust.deep.training.loop import Progress
from whyclust.deep.training.phases import Adam, DeepModel, Linear, Phase


class _AutoencoderKMeans(CentroidModel):
    why_alone = (
        "layer_epochs= leaves parts of rows out at random, which processes cannot share. Pretrain without "
        "torchrun, save the model, and give it to the others as autoencoder="
    )

    @property
    def rows_add_up(self) -> bool:  # type: ignore[override]
        """Not where single layers draw what they leave out."""
        return not self.settings.layer_epochs

    def stages(self) -> list[Phase]:
        settings = self.settings
        adam, last = Adam(settings.learning_rate), settings.final_learning_rate
        falls = None if last is None else Linear(last / settings.learning_rate)
        alone: list[Phase] = []
        if settings.layer_epochs and not settings.pretrained:
            alone = layer_phases(self.autoencoder, settings.layer_epochs, settings, adam, falls)
        train = self.pretraining(settings.epochs, adam, falls)
        return [*alone, train, Phase("k-means", 0, begin=self.cluster_embedding)]


class AutoencoderKMeans(AugmentedClusterer):
    """k-means on the embedding of an autoencoder (AE+KM).

    The autoencoder learns to reconstruct rows, nothing else; then k-means, best of 20 starts, finds
    clusters in its embedding. Fitted, it is a common beginning for other models: pass it to them as
    ``autoencoder``.

    Parameters
    ----------
    epochs : int
        Of the autoencoder.
    layer_epochs : int
        Of each layer alone, before that: with its mirror image in the decoder it restores what the layers
        before it give, with a fifth of it left out at random (Xie et al., 2016). It takes a multiple of the
        time.
    final_learning_rate : float or None
        Let the learning rate of each of these parts fall to this, linearly, as the recipe of Xie et al. does
        in steps.
    n_init : int
        Starts, of which the one is kept whose decoded centroids are nearest to the rows.

    Attributes
    ----------
    labels_, cluster_centers_, cluster_spreads_, empty_clusters_, history_, scores_, model_, device_
        See :class:`whyclust.deep.base.DeepClusterer`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from whyclust.deep import AutoencoderKMeans
    >>> X, _ = make_blobs(200, centers=3, n_features=5, random_state=0)
    >>> model = AutoencoderKMeans(3, hidden=(16,), epochs=5, batch_size=32, random_state=0).fit(X / 10)
    >>> model.transform(X / 10).shape, model.decoded_centers().shape
    ((200, 3), (3, 5))
    """

    layer_epochs: int = setting(0, whole(0))
    final_learning_rate: float | None = setting(None, optional(number()))

    presets = of_table(embedding_dim=EMBEDDING, hidden=HIDDEN)

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        return _AutoencoderKMeans(self._autoencoder(n_features, generator), self)

    def _score(self, model: DeepModel, data: Tensor, progress: Progress) -> float:
        """Squared distance of rows to the decoded centroid of their cluster.

        Embeddings have no scale of their own, so distances in them tell nothing about a start.
        """
        decoded = model.decode(model.cluster_centers())
        return float(squared_error(data, decoded[self._labels(model, data)]))
