"""An autoencoder and centroids of its embedding: what AE+KM, DEC, IDEC, DCN and DKM have in common."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from whyclust.deep.models.spaces import Space
from whyclust.deep.networks.autoencoders import Autoencoder, initialise
from whyclust.deep.training.augmenting import Augmentation, checked
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
    another one in its place; distances are taken there, to `centroids`. `centers` are the same in the
    embedding, which is also what the decoder takes.

    Parameters
    ----------
    autoencoder : Autoencoder
    settings : estimator
        With ``n_clusters`` and the settings of the phases.
    learned : bool
        Whether centroids are moved by gradients.
    """

    rows_add_up = True
    centers: Tensor
    reseeded: Tensor
    #: Whether the reconstruction stays in the loss after pretraining.
    reconstructs = True
    #: Whether the best centroids are the means of their members.
    has_means = True

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

    def anneal(self, epoch: int) -> None:
        """Set what the model changes from epoch to epoch."""

    def weight_beside_squares(self, x: Tensor) -> float:
        """Weight of the clustering term beside sums of squares that the model itself has not."""
        return 1.0

    def options(self) -> dict[str, Any]:
        """What all centroid models may do in the phase in which they cluster."""
        every = self.settings.reset_every
        return {"augment": self.augmentation, "renew": self.soft_reset, "renew_every": every}

    @property
    def augmentation(self) -> Augmentation | None:
        """How rows are changed, if they are."""
        given = self.settings.augment
        return None if given is None else checked(given)

    def clustering(self, points: Tensor, seen: Tensor, batch: Batch) -> Tensor:
        """The clustering term of the loss, of points that belong to clusters as those `seen` do.

        Both are the same for the rows themselves; for augmented ones `seen` are the originals.
        """
        raise NotImplementedError

    def phases(self) -> list[Phase]:
        """The phases of the model in its space."""
        return self.space.around(self, self.stages())

    def soft_reset(self, data: Tensor, generator: torch.Generator) -> list[Tensor]:
        """Mix new weights into the encoder's, and place the centroids anew (Miklautz et al., 2025).

        Returns
        -------
        list of tensors
            Of which the optimiser forgets what it knew: the centroids, where it moves them.
        """
        fresh = copy.deepcopy(self.encoder)
        initialise(fresh, generator)
        for ours, new in zip(self.encoder.parameters(), fresh.parameters(), strict=True):
            ours.data.lerp_(new.data, self.settings.reset_share)
        settle(self.encoder, data)
        z = rows_encoded(self, data)
        self.cluster_points(z, generator, starts=self.kmeans_starts)
        self.space.begin_again(z)
        self.begin_again(data)
        return [self.centers] if isinstance(self.centers, nn.Parameter) else []

    def begin_again(self, data: Tensor) -> None:
        """Forget what was remembered of the centroids before they were placed anew."""

    @property
    def encoder(self) -> nn.Module:
        """The autoencoder's."""
        return self.autoencoder.encoder

    @property
    def centroids(self) -> Tensor:
        """The centroids in the space in which clusters are compared."""
        return self.space.points(self.centers)

    def loss(self, batch: Batch) -> Terms:
        """The clustering term, and the reconstruction where it stays; of two views, the mean of theirs.

        An augmented row is pulled to where the original belongs (section 2.2 of ACe/DeC).
        """
        seen: Tensor | None = None
        terms: Terms = {}
        for x in batch.views:
            z = self.encoder(x)
            points = self.space.points(z)
            seen = points if seen is None else seen.detach()
            found = {"clustering": self.clustering(points, seen, batch)}
            if self.reconstructs:
                found["reconstruction"] = squared_error(x, self.autoencoder.decoder(self.space.through(z)))
            terms = {name: 0.5 * (terms[name] + one) for name, one in found.items()} if terms else found
        return terms

    def embed(self, x: Tensor) -> Tensor:
        """Points of the space in which clusters are compared."""
        return self.space.points(self.encoder(x))

    def decode(self, z: Tensor) -> Tensor:
        """The rows that points of the space stand for."""
        return self.autoencoder.decoder(self.space.back(z))

    def cluster_centers(self) -> Tensor:
        """The centroids."""
        return self.centroids

    def logits(self, z: Tensor) -> Tensor:
        """Minus the squared distances."""
        return -squared_distances(z, self.centroids)

    def affine_logits(self) -> AffineLogits:
        """−‖A z + c − μ‖² without what all clusters share: 2 μ·(A z + c) − ‖μ‖²."""
        centers = numbers(self.centroids)
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
        """Squared error of the autoencoder, summed over columns, mean over rows; of two views their mean."""
        errors = [squared_error(x, self.autoencoder(x)[1]) for x in batch.views]
        return {"reconstruction": errors[0] if len(errors) == 1 else 0.5 * (errors[0] + errors[1])}

    def pretraining(self, epochs: int, adam: Adam, schedule: Callable[[float], float] | None = None) -> Phase:
        """A phase in which the autoencoder learns alone; none if it is another model's."""
        return Phase(
            "autoencoder",
            0 if self.settings.pretrained else epochs,
            [Update(self.reconstruction, list(self.autoencoder.parameters()), adam, schedule)],
            self.settings.batch_size,
            augment=self.augmentation,
            patience=self.settings.patience,
        )

    @property
    def kmeans_starts(self) -> int:
        """Starts of k-means on the embedding."""
        return _STARTS

    def cluster_embedding(self, data: Tensor, generator: torch.Generator) -> None:
        """Set the centroids by k-means on the embedding of all rows."""
        self.cluster_points(rows_encoded(self, data), generator, starts=self.kmeans_starts)

    def cluster_points(self, z: Tensor, generator: torch.Generator, *, starts: int = 1) -> None:
        """Set the centroids by k-means on embedded rows, as the space shows them."""
        seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
        self._place(z, slice(None), n_init=starts, random_state=seed)

    def settle(self, data: Tensor) -> None:
        """Move centroids that have members to where k-means takes them from where they are."""
        z = rows_encoded(self, data)
        used = squared_distances(self.space.points(z), self.centroids).argmin(dim=1).unique()
        self._place(z, used, init=self.centroids[used].detach().cpu().numpy(), n_init=1)

    def _place(self, z: Tensor, which: Any, **settings: Any) -> None:
        """Set some of the centroids by k-means on embedded rows."""
        points = self.space.points(z)
        refuse_infinite(points)
        found, labels = k_means(points, len(self.centers[which]), **settings)
        self.centers.data[which] = self.space.centers(found.to(self.centers), z, labels.to(z.device))

    def seed_empty(self, empty: list[int], z: Tensor) -> None:
        """Move centroids, one after the other, to the embedded row that is farthest from all others."""
        others = [cluster for cluster in range(len(self.centers)) if cluster not in empty]
        points = self.space.points(z)
        distance = squared_distances(points, self.centroids[others]).amin(dim=1)
        for cluster in empty:
            self.centers.data[cluster] = z[distance.argmax()]
            moved = self.centroids[cluster]
            distance = torch.minimum(distance, (points - moved).square().sum(dim=1))
        self.reseeded += len(empty)


def rows_encoded(model: DeepModel, data: Tensor, block: int = 4096) -> Tensor:
    """The encoder's output for all rows, block by block."""
    encoder: Any = model.encoder
    return torch.cat([encoder(part) for part in data.split(block)])


def settle(encoder: nn.Module, data: Tensor, block: int = 4096) -> None:
    """Give batch normalisation the means and variances that rows have with the weights as they are now."""
    norms = [one for one in encoder.modules() if isinstance(one, nn.modules.batchnorm._BatchNorm)]
    paces = [(one, one.momentum, one.training) for one in norms if one.track_running_stats]
    if not paces:
        return
    for one, _, _ in paces:
        one.reset_running_stats()
        one.momentum = None  # the mean of all blocks
        one.train()
    with torch.no_grad():
        for part in data.split(block):
            if len(part) > 1:  # one row has no variance
                encoder(part)
    for one, momentum, training in paces:
        one.momentum = momentum
        one.train(training)


def k_means(points: Tensor, n_clusters: int, **settings: Any) -> tuple[Tensor, Tensor]:
    """Centroids of k-means, and the labels of the points."""
    model = KMeans(n_clusters, **settings)
    # One thread: sums in the order of several are not the same twice. Too few distinct rows are
    # reported as a collapse when the fit is over.
    with threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points.detach().cpu().numpy())
    return torch.from_numpy(model.cluster_centers_), torch.from_numpy(model.labels_).long()


def squared_error(x: Tensor, back: Tensor) -> Tensor:
    """Summed over columns, mean over rows."""
    return (x - back).square().sum() / len(x)
