"""AE+KM: an autoencoder, then k-means on its embedding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from whyclust.deep.base import DeepClusterer
from whyclust.deep.centroids import CentroidModel, squared_error
from whyclust.deep.phases import Adam, DeepModel, Phase
from whyclust.deep.presets import WithPresets
from whyclust.deep.training import Progress


class _AutoencoderKMeans(CentroidModel):
    def phases(self) -> list[Phase]:
        train = self.pretraining(self.settings.epochs, Adam(self.settings.learning_rate))
        return [train, Phase("k-means", 0, self.reconstruction, [], begin=self.cluster_embedding)]


class AutoencoderKMeans(WithPresets, DeepClusterer):
    """k-means on the embedding of an autoencoder (AE+KM).

    The autoencoder learns to reconstruct rows, nothing else; then k-means, best of 20 starts, finds
    clusters in its embedding. Fitted, it is a common beginning for other models: pass it to them as
    ``autoencoder``.

    Parameters
    ----------
    n_clusters : int
    embedding_dim : int or None
        Size of the embedding; None takes `n_clusters`.
    hidden : sequence of int or None
        Sizes of the encoder's hidden layers; the decoder mirrors them. With `image_shape`, channels of
        convolutions. None takes (500, 500, 2000), and (32, 64, 128) for images.
    activation : {"leaky_relu", "relu", "gelu", "tanh"}
    image_shape : (channels, height, width) or None
        Take the columns of X for the pixels of images and use convolutions.
    autoencoder : None, (encoder, decoder) or fitted deep clustering
        Modules to begin with, which are copied; a fitted model's autoencoder is taken as it is. Modules get
        rows of X, or images of `image_shape` if they take those.
    epochs : int
        Of the autoencoder.
    batch_size : int
    learning_rate : float
        Adam's, with ε = 1e-3 (section 5.2.1 of CM).
    patience : int or None
        Stop after so many epochs in which the loss did not fall by a thousandth.
    n_init : int
        Starts, of which the one is kept whose decoded centroids are nearest to the rows.
    device : str
        ``"auto"`` is a CUDA card where there is one.
    random_state : int, RandomState or None
    verbose : bool
        Whether to show a progress bar.
    checkpoint : path or None
        File from which a fit that was killed goes on, with the same result; needs a whole number as
        `random_state`.
    checkpoint_every : int
        Epochs between writes.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        embedding_dim: int | None = None,
        hidden: Any = None,
        activation: str = "leaky_relu",
        image_shape: tuple[int, int, int] | None = None,
        autoencoder: Any = None,
        epochs: int = 100,
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
        self.embedding_dim = embedding_dim
        self.hidden = hidden
        self.activation = activation
        self.image_shape = image_shape
        self.autoencoder = autoencoder
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.n_init = n_init
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        return _AutoencoderKMeans(self._autoencoder(n_features, generator), self)

    def _score(self, model: DeepModel, data: Tensor, progress: Progress) -> float:
        """Squared distance of rows to the decoded centroid of their cluster.

        Embeddings have no scale of their own, so distances in them tell nothing about a start.
        """
        decoded = model.decode(model.cluster_centers())
        return float(squared_error(data, decoded[self._labels(model, data)]))
