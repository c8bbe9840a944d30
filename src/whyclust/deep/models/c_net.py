"""C-Net: the clustering module in the embedding of an autoencoder, both trained at once (section 5 of CM)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from whyclust.deep.autoencoding import PretrainedClusterer
from whyclust.deep.models.centroids import CentroidModel
from whyclust.deep.models.clustering_head import ClusteringHead, check_prior, total_variance, usual_alpha
from whyclust.deep.models.mixture_loss import network_terms
from whyclust.deep.networks.autoencoders import Autoencoder
from whyclust.deep.parameters import choice, number, optional, setting, whole, yes_or_no
from whyclust.deep.presets import EMBEDDING, HIDDEN, NAMES, columns, of_table
from whyclust.deep.training.averaging import AveragedWeights
from whyclust.deep.training.loop import Progress
from whyclust.deep.training.phases import (
    Adam,
    AffineLogits,
    Batch,
    DeepModel,
    Linear,
    Phase,
    Terms,
    Update,
    linear_logits,
    rows_embedded,
)

# Size of the embedding of wide tables, where none is given; table 8 has 10 to 100.
_WIDEST = 64


class ClusteringNetworkModel(DeepModel):
    """An autoencoder and a clustering head on its embedding.

    Parameters
    ----------
    autoencoder : Autoencoder
    settings : CNet
    generator : torch.Generator
        Of the random weights that the head begins with.
    """

    beta: Tensor
    fixed: Tensor

    def __init__(self, autoencoder: Autoencoder, settings: Any, generator: torch.Generator) -> None:
        super().__init__()
        self.autoencoder, self.settings = autoencoder, settings
        self.head = ClusteringHead(autoencoder.embedding_dim, settings.n_clusters, generator)
        self.register_buffer("beta", torch.ones(()))
        # The embedding of all rows, while the head learns alone.
        self.register_buffer("fixed", torch.zeros(0))
        trained = [*autoencoder.parameters(), *self.head.parameters()]
        self.average = AveragedWeights(trained, settings.epochs, always=settings.patience is not None)

    def phases(self) -> list[Phase]:
        """Pretraining, if asked for, and joint training."""
        settings = self.settings
        adam = Adam(settings.learning_rate, betas=(settings.momentum, 0.999))
        last = settings.final_learning_rate
        falls = None if last is None else Linear(last / settings.learning_rate)
        joint = Phase(
            "clustering network",
            settings.epochs,
            [Update(self.joint_loss, self.average.targets, adam, falls)],
            settings.batch_size,
            begin=self.begin_joint,
            patience=settings.patience,
        )
        joint = self.average.added_to(joint) if settings.averaging else joint
        if settings.init == "random":
            return [joint]
        head_alone = Phase(
            "clustering module",
            settings.pretrain_epochs,
            [Update(self.head_loss, list(self.head.parameters()), adam)],
            settings.batch_size,
            begin=self.begin_head,
            end=self.end_head,
            patience=settings.patience,
        )
        return [self._with_centroids().pretraining(settings.pretrain_epochs, adam), head_alone, joint]

    def _with_centroids(self) -> CentroidModel:
        """AE+KM on the same autoencoder."""
        return CentroidModel(self.autoencoder, self.settings)

    def begin_head(self, data: Tensor, generator: torch.Generator) -> None:
        """k-means on the embedding, and its centroids into the head."""
        start = self._with_centroids()
        start.cluster_embedding(data, generator)
        self.head.place(start.centers * to_unit_scale(self.autoencoder, start.centers))
        self.fixed = rows_embedded(self, data)
        settings, alpha = self.settings, self.settings.alpha
        if alpha is None:
            variance = total_variance(self.fixed)
            alpha = usual_alpha(variance, len(data), settings.batch_size, settings.n_clusters)
        self.head.concentrate(alpha, settings.prior)

    def head_loss(self, batch: Batch) -> Terms:
        """Eq. (11) on the embedding as it is: centroids are not orthonormal yet."""
        return self.head.terms(self.fixed[batch.rows])

    def end_head(self, data: Tensor) -> None:
        """Forget the embedding, which now begins to move."""
        self.fixed = torch.zeros(0, device=data.device)

    def begin_joint(self, data: Tensor, generator: torch.Generator) -> None:
        """Set the prior and the weight of the reconstruction."""
        settings = self.settings
        n_steps = -(-len(data) // settings.batch_size)
        # Centroids have norm 1, the embedding has no other unit: α K / B of table 8 has a median of 1.2.
        usual = 1.0 + len(data) / n_steps / settings.n_clusters
        self.head.concentrate(usual if settings.alpha is None else settings.alpha, settings.prior)
        variance = total_variance(data) / data.shape[1]
        self.beta.fill_((1.0 / variance if variance > 0 else 1.0) if settings.beta is None else settings.beta)

    def joint_loss(self, batch: Batch) -> Terms:
        """Eq. (14)."""
        z, back = self.autoencoder(batch.x)
        shares, centers, alpha = self.head.responsibilities(z), self.head.centers(), self.head.alpha
        return network_terms(batch.x, back, z, shares, centers, alpha, beta=self.beta, lam=self.settings.lam)

    @property
    def encoder(self) -> nn.Module:
        """The autoencoder's."""
        return self.autoencoder.encoder

    def affine_logits(self) -> AffineLogits:
        """z W_enc + b_enc, whose softmax are the responsibilities (Props. 6 and 7 of NEON)."""
        return linear_logits(self.head.encoder, 1.0)

    def affine_embedding(self) -> tuple[NDArray, NDArray]:
        """The encoder's output itself."""
        width = self.autoencoder.embedding_dim
        return np.eye(width), np.zeros(width)

    def embed(self, x: Tensor) -> Tensor:
        """The output of the autoencoder's encoder."""
        return self.encoder(x)

    def decode(self, z: Tensor) -> Tensor:
        """The output of the autoencoder's decoder."""
        return self.autoencoder.decoder(z)

    def logits(self, z: Tensor) -> Tensor:
        """z W_enc + b_enc."""
        return self.head.encoder(z)

    def cluster_centers(self) -> Tensor:
        """W_dec + b_dec."""
        return self.head.centers()


def to_unit_scale(autoencoder: Autoencoder, centers: Tensor) -> float:
    """Rescale the embedding to the spread of orthonormal centroids, without changing the reconstruction.

    An autoencoder learns an embedding of any scale, but in Eq. (14) its square stands beside sparsities
    between 0 and 1: at a scale of 5 the reconstruction of the module outweighs them, and responsibilities
    blur when joint training begins. The factor goes into the last layer of the encoder and, inverted, into
    the first one of the decoder; modules of a user that have other layers there stay as they are.

    Returns
    -------
    float
        The factor, 1 where nothing was changed.
    """
    last, first = _layer(autoencoder.encoder, -1), _layer(autoencoder.decoder, 0)
    spread = float((centers - centers.mean(dim=0)).square().sum(dim=1).mean())
    # Weights that are computed from others (a parametrisation, a hook) cannot be set.
    plain = type(last) is nn.Linear and type(first) is nn.Linear
    if not plain or last._forward_pre_hooks or first._forward_pre_hooks or spread == 0:
        return 1.0
    # K orthonormal vectors have a mean squared distance of 1 − 1/K to their mean.
    factor = ((1.0 - 1.0 / len(centers)) / spread) ** 0.5
    if factor == 0:
        return 1.0
    for weight in last.parameters():
        weight.data *= factor
    first.weight.data /= factor
    return factor


def _layer(module: nn.Module, position: int) -> nn.Module:
    return module[position] if isinstance(module, nn.Sequential) and len(module) else module


class CNet(PretrainedClusterer):
    """The clustering network (C-Net): an autoencoder and a clustering module that learn together.

    The module (see :class:`ClusteringModule`) clusters the embedding, and its loss shapes the embedding in
    turn; centroids are drawn towards orthonormal vectors (Eq. 14).

    Parameters
    ----------
    alpha : float or None, default=None
        Concentration α of the Dirichlet prior, which keeps clusters in use. All terms of the loss are sums
        over a batch, so α and β belong to the batch size. None takes 1 + B/K, with B the rows of a step.
    beta : float or None, default=None
        Weight β of the autoencoder's reconstruction. None takes 1 / mean variance of the columns: 1 for a
        standardised table.
    lam : float, default=1.0
        λ, weight of the orthonormality of the centroids.
    prior : sequence of n_clusters floats or None, default=None
        Expected shares of the clusters, in any order (appendix A.2). None is equal shares.
    init : {"pretrained", "random"}, default="pretrained"
        "pretrained": the autoencoder is trained first, k-means (20 starts) on its embedding places the
        centroids, and the module is trained alone, before all are trained. "random": all at once, from random
        weights, which needs thousands of steps and can find better clusters on large tables (appendix B.1:
        pretrained models depend less on the other settings).
    averaging : bool, default=True
        Train one more epoch and keep the mean of the weights after each of its steps.
    embedding_dim : int or None, default=None
        Size p of the embedding. None takes the number of columns, but no more than 64 and no fewer than
        `n_clusters`: a narrow embedding of a small table is contorted, and clusters blur. With fewer
        dimensions than clusters centroids cannot be orthonormal: lower `lam` then.
    epochs : int, default=150
        Of the joint training.
    pretrain_epochs : int, default=100
        Of the autoencoder, and then of the module alone, if `init` is "pretrained".
    batch_size : int, default=64
        Rows of a step, at most. Joint training wants thousands of steps, so small tables want small batches.
    final_learning_rate : float or None, default=None
        Let the learning rate of the joint training fall to this, linearly (the paper prints 1e-4 for some
        data sets).
    momentum : float, default=0.9
        β₁ of Adam (the paper prints 0.99, its released code has 0.9).
    n_init : int, default=1
        Starts, of which the one with the least ambiguous responsibilities is kept: the lowest L_sp = E₂ − E₃
        on the whole table (section 5.2.3). Starts with empty clusters come last.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, embedding_dim)
        μ = W_dec + b_dec, in the embedding; :meth:`decoded_centers` brings them to the table.
    labels_ : ndarray of shape (n_samples,)
        Cluster of the largest responsibility.
    alpha_ : ndarray of shape (n_clusters,)
        Concentrations that were used.
    beta_ : float
        Weight of the reconstruction that was used.
    history_ : dict
        ``history_["clustering network"]``: reconstruction, E1, sparsity, E4 and orthonormality as they enter
        the loss, means over the batches of each epoch; the averaging epoch is the last one.
    scores_ : ndarray of shape (n_init,)
        L_sp of each start.
    empty_clusters_ : ndarray of int
        Clusters without members.

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.deep import CNet
    >>> X = np.random.default_rng(0).normal(size=(90, 4)) + np.repeat(8 * np.eye(3, 4), 30, axis=0)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = CNet(3, hidden=(16,), epochs=40, pretrain_epochs=40, random_state=0).fit(X)
    >>> np.bincount(model.labels_)
    array([30, 30, 30])
    >>> model.transform(X).shape
    (90, 4)
    """

    alpha: float | None = setting(None, optional(number()))
    beta: float | None = setting(None, optional(number(zero=True)))
    lam: float = setting(1.0, number(zero=True))
    prior: Any = setting(None)
    init: str = setting("pretrained", choice(["random", "pretrained"]))
    averaging: bool = setting(True, yes_or_no)
    epochs: int = setting(150, whole(1))
    batch_size: int = 64
    final_learning_rate: float | None = setting(None, optional(number()))
    momentum: float = setting(0.9, number(zero=True, below=1))

    presets = of_table(
        alpha=columns(230, 13, 3, 64, 1.7, 10, 7, 13),
        beta=columns(5, 47, 0.04, 1, 2.3, 232, 15, 0.5),
        lam=columns(1, 1, 1, 1, 1, 1, 1, 1),
        batch_size=columns(500, 175, 45, 256, 250, 300, 7, 80),
        embedding_dim=EMBEDDING,
        hidden=HIDDEN,
        init=dict.fromkeys(NAMES, "random"),
    )

    def _check_settings(self) -> None:
        super()._check_settings()
        check_prior(self.prior, self.n_clusters)

    def _embedding_width(self, n_features: int) -> int:
        return max(self.n_clusters, min(n_features, _WIDEST))

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        return ClusteringNetworkModel(self._autoencoder(n_features, generator), self, generator)

    def _score(self, model: Any, data: Tensor, progress: Progress) -> float:
        return model.head.ambiguity(rows_embedded(model, data))

    def _take(self, *arguments: Any) -> None:
        super()._take(*arguments)
        self.alpha_ = self.model_.head.alpha.cpu().numpy().astype(float)
        self.beta_ = float(self.model_.beta)
