"""TELL: k-means as a layer of a network, on the unit sphere (Peng et al., JMLR 2022)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from whyclust._checks import positive
from whyclust.deep.autoencoding import AugmentedClusterer
from whyclust.deep.networks.autoencoders import PAPERS, Autoencoder
from whyclust.deep.parameters import number, setting, yes_or_no
from whyclust.deep.training.augmenting import checked
from whyclust.deep.training.phases import (
    Adadelta,
    AffineLogits,
    Batch,
    DeepModel,
    Phase,
    Terms,
    Update,
    numbers,
    rows_embedded,
)
from whyclust.propagate.torch_modules import UnitLength

# Epochs after which centres without rows are looked for.
_REVIVED_EVERY = 10
# Beyond these α, lengths of 2 α and squares of gradients leave single precision.
_ALPHAS = 1e-10, 1e10
# Centres that are not farther than this from where they began, on the mean, have not learned: they are drawn
# with length 1. Fewer epochs than these say nothing about it.
_HARDLY, _FEW_EPOCHS = 0.05, 10


def check_alpha(name: str, value: Any) -> None:
    """A number in whose units centres can be kept."""
    positive(name, value)
    least, most = _ALPHAS
    if not least <= value <= most:
        raise ValueError(
            f"{name}={value!r}, expected a number from {least:g} to {most:g}: beyond, the centres are lost "
            "in single precision. The published value is 0.001."
        )


class _RowsOfLength(torch.autograd.Function):
    """The tensor itself, whose gradient is brought to a given length, row by row."""

    @staticmethod
    def forward(context: Any, tensor: Tensor, length: float) -> Tensor:
        context.length = length
        return tensor.view_as(tensor)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Any:
        return nn.functional.normalize(gradient, dim=1) * context.length, None


class _Tell(DeepModel):
    """An autoencoder whose embedding has length 1, and a layer of weights W = 2 α Ω, Ω the centres."""

    answers_with: ClassVar = ("alpha",)
    first: Tensor
    reseeded: Tensor

    def __init__(self, autoencoder: Autoencoder, settings: Any, generator: torch.Generator) -> None:
        super().__init__()
        self.autoencoder = autoencoder
        self.unit = UnitLength()
        self.settings = settings
        self.alpha = float(settings.alpha)  # of the fit, whatever is set afterwards
        drawn = torch.randn(settings.n_clusters, autoencoder.embedding_dim, generator=generator)
        self.weight = nn.Parameter(drawn)  # W
        self.register_buffer("reseeded", torch.zeros((), dtype=torch.long))
        self.renew_lengths()
        self.register_buffer("first", self.centers.detach().clone())

    @property
    def encoder(self) -> nn.Module:
        """The autoencoder's, with the embedding brought to length 1."""
        return nn.Sequential(self.autoencoder.encoder, self.unit)

    @property
    def centers(self) -> Tensor:
        """Ω: centres of length 1."""
        return self.weight / (2.0 * self.alpha)

    @torch.no_grad()
    def renew_lengths(self, batch: Batch | None = None) -> None:
        """Bring the centres back to length 1, and so the weights to 2 α."""
        self.weight.copy_(self.unit(self.weight) * (2.0 * self.alpha))

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Load a state; older files do not say where centres began."""
        super().restore({"first": self.first, **state})

    def moved(self) -> float:
        """How far centres are from where they began, on the mean."""
        return float((self.centers.detach() - self.first).norm(dim=1).mean())

    def phases(self) -> list[Phase]:
        """One, in which centres and encoder take turns, epoch by epoch."""
        settings = self.settings
        moved = [*self.autoencoder.parameters(), self.weight]
        return [
            Phase(
                "clustering",
                settings.epochs,
                [Update(self.loss, moved, Adadelta(settings.learning_rate))],
                settings.batch_size,
                augment=None if settings.augment is None else checked(settings.augment),
                before_epoch=self.revive,
                after_step=self.renew_lengths,
                patience=settings.patience,
            )
        ]

    def revive(self, data: Tensor, epoch: int) -> None:
        """Give centres without rows another place, each where the row is that is farthest from all."""
        if not self.settings.reseed or epoch == 0 or epoch % _REVIVED_EVERY:
            return
        z = rows_embedded(self, data)
        outputs = self.logits(z)
        members = torch.bincount(outputs.argmax(dim=1), minlength=len(self.weight))
        empty = torch.nonzero(members == 0).flatten().tolist()
        outputs[:, empty] = -torch.inf
        for cluster in empty:
            farthest = z[outputs.amax(dim=1).argmin()]
            self.weight.data[cluster] = 2.0 * self.alpha * farthest
            outputs[:, cluster] = z @ self.weight[cluster]
        self.reseeded += len(empty)

    def loss(self, batch: Batch) -> Terms:
        """The clustering loss and the reconstruction; of two views, the mean of theirs.

        In even epochs, from 0, the clustering loss moves the centres, in odd ones the encoder. The
        reconstruction moves the autoencoder in all.
        """
        chosen: Tensor | None = None
        terms: Terms = {}
        for x in batch.views:
            z = self.unit(self.autoencoder.encoder(x))
            if batch.epoch % 2 == 0:
                length = self.settings.center_step * self.alpha
                outputs = z.detach() @ _RowsOfLength.apply(self.weight, length).T
            else:
                outputs = z @ self.weight.detach().T
            # An augmented row is pulled to where the original belongs.
            chosen = outputs.detach().argmax(dim=1) if chosen is None else chosen
            back = self.autoencoder.decoder(z)
            found = {
                "clustering": self.clustering(outputs, chosen),
                "reconstruction": (x - back).square().mean(),
            }
            terms = {name: 0.5 * (terms[name] + one) for name, one in found.items()} if terms else found
        return terms

    def clustering(self, outputs: Tensor, chosen: Tensor) -> Tensor:
        """λ/α times the mean over rows and clusters of 2 α − δ ∘ (W z), δ 1 for the nearest centre.

        Of a row and its centre 2 α − 2 α Ω·z = α ‖z − Ω‖²: what k-means lowers.
        """
        nearest = outputs.gather(1, chosen[:, None])
        return self.settings.lam / self.alpha * (2.0 * self.alpha - nearest.sum() / outputs.numel())

    def embed(self, x: Tensor) -> Tensor:
        """The embedding, of length 1."""
        return self.unit(self.autoencoder.encoder(x))

    def logits(self, z: Tensor) -> Tensor:
        """W z = 2 α Ω·z, which is −α ‖z − Ω‖² but for what all clusters share."""
        return z @ self.weight.T

    def decode(self, z: Tensor) -> Tensor:
        """The rows that points of the embedding stand for."""
        return self.autoencoder.decoder(z)

    def cluster_centers(self) -> Tensor:
        """The centres, of length 1."""
        return self.centers

    def affine_logits(self) -> AffineLogits:
        """2 Ω·z, of which a softmax with stiffness α gives the probabilities."""
        centers = numbers(self.centers)
        return AffineLogits(2.0 * centers, np.zeros(len(centers)), self.alpha)

    def affine_embedding(self) -> tuple[NDArray, NDArray]:
        """The embedding itself."""
        width = self.autoencoder.embedding_dim
        return np.eye(width), np.zeros(width)


class TELL(AugmentedClusterer):
    """Interpretable neural clustering (Peng, Li, Tsang, Zhu, Lv and Zhou, 2022).

    Embedding and centres have length 1, so that the nearest centre is the largest of the outputs W z of one
    layer, with W twice the centres. The clustering loss moves the centres in every second epoch, and the
    encoder in the others; the reconstruction is there in all.

    Parameters
    ----------
    alpha : float
        α of W = 2 α Ω. It is the inverse temperature of the probabilities, which are nearly equal for a value
        as small as the published one: use `predict`. Adadelta's steps do not grow with it, so that centres
        hardly move from 1 on; there is a warning then.
    lam : float
        λ, weight of the clustering loss; it is λ/α there.
    center_step : float
        Gradients of the centres are brought to this times α, row by row.
    reseed : bool
        Whether centres that are nearest to no row are moved to rows far from all others, every ten epochs.
        The paper does not; but from a random start two of eight centres then stay without rows on
        scikit-learn's digits.
    epochs : int
        The published number, which large tables need hours for.
    learning_rate : float
        Adadelta's.

    Attributes
    ----------
    n_reseeded_ : int
        How often a centre without members was moved.
    labels_, cluster_centers_, cluster_spreads_, empty_clusters_, history_, scores_, model_, device_
        See :class:`whyclust.deep.base.DeepClusterer`.

    Notes
    -----
    Columns should lie near zero, as after a scaler. The authors' program for images uses convolutions with
    batch normalisation; give them as `autoencoder`.

    In an explanation the length of the embedding is a weight, and no part of the evidence.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from whyclust.deep import TELL
    >>> X, _ = make_blobs(200, centers=3, n_features=5, random_state=0)
    >>> model = TELL(3, hidden=(16,), epochs=30, batch_size=32, n_init=3, random_state=0).fit(X / 10)
    >>> model.transform(X / 10).shape
    (200, 3)
    """

    alpha: float = setting(1e-3, check_alpha)
    lam: float = setting(0.01, number(zero=True))
    center_step: float = setting(0.2, number())
    reseed: bool = setting(True, yes_or_no)
    epochs: int = 3001
    learning_rate: float = 1.0

    presets: ClassVar = {
        "mnist": {"n_clusters": 10, "embedding_dim": 10, "hidden": PAPERS, "activation": "relu"}
    }

    @property
    def n_reseeded_(self) -> int:
        """How often a centre without members was moved."""
        check_is_fitted(self)
        return int(self.model_.reseeded)

    def _complaints(self) -> Iterator[str]:
        yield from super()._complaints()
        model: Any = self.model_
        moved = model.moved()
        trained = len(self.history_["clustering"]["clustering"]) if self.history_.get("clustering") else 0
        if trained >= _FEW_EPOCHS and moved < _HARDLY:
            yield (
                f"The centres have hardly moved: they are {moved:.1g} from their random start, on the mean, "
                f"and rows were brought to them instead. Lower alpha (now {self.alpha:g}; 0.001 is usual), "
                f"raise center_step (now {self.center_step:g}) or train longer (epochs)."
            )

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        return _Tell(self._autoencoder(n_features, generator), self, generator)
