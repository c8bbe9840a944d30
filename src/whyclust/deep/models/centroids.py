"""An autoencoder and centroids of its embedding: what AE+KM, DEC, IDEC, DCN and DKM have in common."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from whyclust.deep.models.spaces import Space
from whyclust.deep.networks.autoencoders import Autoencoder
from whyclust.deep.training.phases import (
    Adam,
    AffineLogits,
    Batch,
    DeepModel,
    Phase,
    Terms,
    Update,
    numbers,
    refuse_infinite,
    rows_embedded,
)

# Starts of k-means on the embedding (section 5.2.1 of CM).
_STARTS = 20


def squared_distances(z: Tensor, centers: Tensor) -> Tensor:
    """‖z − μ‖² of all pairs, by one matrix product.

    Around the median of the centroids, so that neither an embedding far from the origin nor a centroid far
    from the others costs digits.
    """
    middle = centers.detach().median(dim=0).values
    z, centers = z - middle, centers - middle
    squares = (z**2).sum(dim=1, keepdim=True) + (centers**2).sum(dim=1)
    return (squares - 2.0 * z @ centers.T).clamp_min(0.0)


class CentroidModel(DeepModel):
    """An autoencoder and centroids: the one that is nearest to an embedded row wins.

    What a subclass calls points lies in the model's `space`, the embedding itself unless somebody puts
    another one in its place; distances and centroids are of that space, the decoder takes the embedding.

    Parameters
    ----------
    autoencoder : Autoencoder
    settings : estimator
        With ``n_clusters`` and the settings of the phases.
    learned : bool
        Whether centroids are moved by gradients.
    """

    centers: Tensor
    reseeded: Tensor

    def __init__(self, autoencoder: Autoencoder, settings: Any, *, learned: bool = False) -> None:
        super().__init__()
        self.autoencoder = autoencoder
        self.space = Space()
        self.settings = settings
        centers = torch.zeros(settings.n_clusters, autoencoder.embedding_dim)
        if learned:
            self.centers = nn.Parameter(centers)
        else:
            self.register_buffer("centers", centers)
        self.register_buffer("reseeded", torch.zeros((), dtype=torch.long))

    def stages(self) -> list[Phase]:
        """The phases of the model itself, in order."""
        raise NotImplementedError

    def phases(self) -> list[Phase]:
        """The phases of the model in its space."""
        return self.space.around(self, self.stages())

    @property
    def encoder(self) -> nn.Module:
        """The autoencoder's."""
        return self.autoencoder.encoder

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Points of the space in which clusters are compared, and the reconstruction."""
        z, back = self.autoencoder(x)
        return self.space.points(z), back

    def embed(self, x: Tensor) -> Tensor:
        """Points of the space in which clusters are compared."""
        return self.space.points(self.encoder(x))

    def decode(self, z: Tensor) -> Tensor:
        """The rows that points of the space stand for."""
        return self.autoencoder.decoder(self.space.back(z))

    def cluster_centers(self) -> Tensor:
        """The centroids."""
        return self.centers

    def logits(self, z: Tensor) -> Tensor:
        """Minus the squared distances."""
        return -squared_distances(z, self.centers)

    def affine_logits(self) -> AffineLogits:
        """−‖A z + c − μ‖² without what all clusters share: 2 μ·(A z + c) − ‖μ‖²."""
        centers = numbers(self.centers)
        matrix, offset = self.affine_embedding()
        return AffineLogits(
            2.0 * centers @ matrix, 2.0 * centers @ offset - (centers**2).sum(axis=1), self.stiffness
        )

    def affine_embedding(self) -> tuple[NDArray, NDArray]:
        """Points of the space."""
        return self.space.affine(self.autoencoder.embedding_dim)

    @property
    def stiffness(self) -> float | None:
        """The factor with which a softmax of −‖z − μ‖² gives probabilities; None if none does."""
        return 1.0

    def reconstruction(self, batch: Batch) -> Terms:
        """Squared error of the autoencoder, summed over columns, mean over rows."""
        _, back = self.autoencoder(batch.x)
        return {"reconstruction": squared_error(batch.x, back)}

    def pretraining(self, epochs: int, adam: Adam) -> Phase:
        """A phase in which the autoencoder learns alone; none if it is another model's."""
        return Phase(
            "autoencoder",
            0 if self.settings.pretrained else epochs,
            [Update(self.reconstruction, list(self.autoencoder.parameters()), adam)],
            self.settings.batch_size,
            patience=self.settings.patience,
        )

    def cluster_embedding(self, data: Tensor, generator: torch.Generator, *, starts: int = _STARTS) -> None:
        """Set the centroids by k-means on the embedding of all rows."""
        embedded = rows_embedded(self, data)
        refuse_infinite(embedded)
        seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
        self.centers.data.copy_(_k_means(embedded, len(self.centers), n_init=starts, random_state=seed))

    def settle(self, data: Tensor) -> None:
        """Move centroids that have members to where k-means takes them from where they are."""
        embedded = rows_embedded(self, data)
        refuse_infinite(embedded)
        used = squared_distances(embedded, self.centers).argmin(dim=1).unique()
        start = self.centers[used].detach().cpu().numpy()
        self.centers.data[used] = _k_means(embedded, len(used), init=start, n_init=1).to(self.centers)

    def seed_empty(self, empty: list[int], z: Tensor) -> None:
        """Move centroids, one after the other, to the embedded row that is farthest from all others."""
        others = [cluster for cluster in range(len(self.centers)) if cluster not in empty]
        distance = squared_distances(z, self.centers[others]).amin(dim=1)
        for cluster in empty:
            self.centers.data[cluster] = z[distance.argmax()]
            distance = torch.minimum(distance, (z - self.centers[cluster]).square().sum(dim=1))
        self.reseeded += len(empty)


def _k_means(embedded: Tensor, n_clusters: int, **settings: Any) -> Tensor:
    """Centroids of k-means."""
    model = KMeans(n_clusters, **settings)
    # One thread: sums in the order of several are not the same twice. Too few distinct rows are
    # reported as a collapse when the fit is over.
    with threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(embedded.cpu().numpy())
    return torch.from_numpy(model.cluster_centers_)


def squared_error(x: Tensor, back: Tensor) -> Tensor:
    """Summed over columns, mean over rows."""
    return (x - back).square().sum() / len(x)
