"""CM: a mixture of Gaussians, learned by a two-layer autoencoder whose code is the soft assignment."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from whyclust._checks import one_of, positive, whole_number
from whyclust.deep.base import DeepClusterer
from whyclust.deep.models.clustering_head import (
    ClusteringHead,
    check_prior,
    k_means,
    one_lloyd_step,
    total_variance,
    usual_alpha,
)
from whyclust.deep.parameters import number, optional, setting, whole, yes_or_no
from whyclust.deep.presets import NAMES, columns, of_table
from whyclust.deep.training.averaging import AveragedWeights
from whyclust.deep.training.loop import Progress
from whyclust.deep.training.phases import (
    Adam,
    AffineLogits,
    Batch,
    DeepModel,
    Phase,
    Terms,
    Update,
    linear_logits,
)

# A step of Adam moves a weight by about the learning rate. Responsibilities become clear when weights have
# grown by a few units: so far the steps of a fit should reach together.
_REACH = 5.0
_USUAL_RATE, _LARGEST_RATE = 1e-3, 1e-2


class ClusteringModuleModel(DeepModel):
    """A clustering head on the rows themselves.

    Parameters
    ----------
    n_features : int
    settings : ClusteringModule
    rate : float
        Learning rate.
    generator : torch.Generator
        Of the random weights that the head begins with.
    """

    def __init__(self, n_features: int, settings: Any, rate: float, generator: torch.Generator) -> None:
        super().__init__()
        self.settings, self.rate = settings, rate
        self.head = ClusteringHead(n_features, settings.n_clusters, generator)
        self.average = AveragedWeights(
            self.head.parameters(), settings.epochs, always=settings.patience is not None
        )

    def phases(self) -> list[Phase]:
        """One phase; its last epoch is averaged."""
        settings, average = self.settings, self.average
        # "Standard parameters" (section 4.3.1): those of TensorFlow, whose ε is 1e-7.
        whole = Phase(
            "clustering module",
            settings.epochs,
            [Update(self.loss, list(self.head.parameters()), Adam(self.rate, epsilon=1e-7))],
            settings.batch_size,
            begin=self.begin,
            patience=settings.patience,
        )
        return [average.added_to(whole) if settings.averaging else whole]

    def loss(self, batch: Batch) -> Terms:
        """Eq. (11)."""
        return self.head.terms(batch.x, self.settings.e3_weight)

    def begin(self, data: Tensor, generator: torch.Generator) -> None:
        """Set the prior and, unless they are random, the weights."""
        settings = self.settings
        alpha = settings.alpha
        if alpha is None:
            alpha = usual_alpha(total_variance(data), len(data), settings.batch_size, settings.n_clusters)
        self.head.concentrate(alpha, settings.prior)
        if not isinstance(settings.init, str):
            self.head.place(torch.tensor(np.asarray(settings.init, dtype=np.float64)))
        elif settings.init != "random":
            seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
            start = one_lloyd_step if settings.init == "k-means++" else k_means
            self.head.place(torch.from_numpy(start(data.cpu().numpy(), settings.n_clusters, seed)))

    def affine_logits(self) -> AffineLogits:
        """x W_enc + b_enc, whose softmax are the responsibilities (Props. 6 and 7 of NEON)."""
        return linear_logits(self.head.encoder, 1.0)

    def embed(self, x: Tensor) -> Tensor:
        """Rows as they are: this model compares clusters in the space of the table."""
        return x

    def logits(self, z: Tensor) -> Tensor:
        """z W_enc + b_enc."""
        return self.head.encoder(z)

    def decode(self, z: Tensor) -> Tensor:
        """γ W_dec + b_dec: from responsibilities, the code of this autoencoder, to rows."""
        return self.head.decoder(z)

    def cluster_centers(self) -> Tensor:
        """W_dec + b_dec."""
        return self.head.centers()


class ClusteringModule(DeepClusterer):
    """The clustering module (CM): close to k-means, soft, and trained by gradient descent.

    A softmax layer gives responsibilities γ, a linear layer brings them back to the table. What it minimises
    is the negative Q-function of a mixture of Gaussians with covariance ½ I and a Dirichlet prior on the mean
    responsibilities, written as a reconstruction E₁, a sparsity E₂, a merging term E₃ and a balance E₄
    (Eq. 11). It has no hidden layer: borders between clusters are planes. :class:`CNet` nests it in an
    autoencoder.

    The paper does not standardise its data; its scores on pen positions come with a range of 0..1.
    Standardise columns of different units; in any case they should be near zero compared with their spread.

    Parameters
    ----------
    alpha : float or None, default=None
        Concentration α of the Dirichlet prior: large values make clusters equally large, 1 is no prior,
        values below 1 empty them. All terms of the loss are sums over a batch, so α belongs to the batch
        size. None takes 1 + 0.33 B/K Var, with B the rows of a step, K the clusters and Var the variance of
        all columns together.
    prior : sequence of n_clusters floats or None, default=None
        Expected shares of the clusters, in any order (appendix A.2): α_k = K α f_k. None is equal shares.
    e3_weight : float, default=1.0
        Factor of the merging term E₃: with more clusters than the data have, values above 1 put centroids on
        top of each other, 0 leaves them apart (appendix A.3). Less than 1 + K/(K − 1), where the loss loses
        its lower bound; 1.5 is much already.
    init : {"k-means++", "k-means", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        k-means++ and a single step of Lloyd's algorithm, all steps of it, random weights, or these centres.
    averaging : bool, default=True
        Train one more epoch and keep the mean of the weights after each of its steps.
    learning_rate : float or None, default=None
        Adam's. None takes 1e-3, the paper's, or more (5 / steps, at most 1e-2) where a small table makes few
        steps.
    n_init : int, default=1
        Starts, of which the one with the least ambiguous responsibilities is kept: the lowest L_sp = E₂ − E₃
        on the whole table (section 4.3.3). Starts with empty clusters come last.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        μ = W_dec + b_dec, in the space of the table.
    labels_ : ndarray of shape (n_samples,)
        Cluster of the largest responsibility.
    alpha_ : ndarray of shape (n_clusters,)
        Concentrations that were used.
    learning_rate_ : float
        Adam's, that was used.
    history_ : dict
        ``history_["clustering module"]``: E1, E2, -E3 and E4 as they enter the loss, means over the batches
        of each epoch; the averaging epoch is the last one.
    scores_ : ndarray of shape (n_init,)
        L_sp of each start.
    empty_clusters_ : ndarray of int
        Clusters without members.

    See Also
    --------
    ClusteringModuleEM : The same mixture by expectation maximisation.
    CNet : The same module in the embedding of an autoencoder.

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.deep import ClusteringModule
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [8, 8]], 30, axis=0)
    >>> model = ClusteringModule(2, epochs=40, random_state=0).fit(X - X.mean(axis=0))
    >>> np.bincount(model.labels_)
    array([30, 30])
    """

    alpha: float | None = setting(None, optional(number()))
    prior: Any = setting(None)
    e3_weight: float = setting(1.0, number(zero=True))
    init: Any = setting("k-means++")
    averaging: bool = setting(True, yes_or_no)
    epochs: int = setting(150, whole(1))
    batch_size: int = 64
    learning_rate: float | None = setting(None, optional(number()))

    presets = of_table(
        alpha=columns(177, 80, 40, 164, 10, 11, 1000, 13),
        batch_size=columns(111, 35, 150, 350, 400, 85, 500, 80),
        learning_rate=dict.fromkeys(NAMES, 1e-3),
        init=dict.fromkeys(NAMES, "random"),
    )

    def _check_settings(self) -> None:
        super()._check_settings()
        check_prior(self.prior, self.n_clusters)
        # All centroids in one place μ and γ even: the loss is n‖μ‖² (1 + (1 − w)(1 − 1/K)) for large μ.
        most = 1.0 + self.n_clusters / (self.n_clusters - 1) if self.n_clusters > 1 else np.inf
        if self.e3_weight >= most:
            raise ValueError(
                f"e3_weight={self.e3_weight!r}, expected less than {most:g}: above 1 + K/(K − 1) the loss of "
                f"n_clusters={self.n_clusters} has no lowest value."
            )
        if isinstance(self.init, str) or np.ndim(self.init) == 0:
            one_of("init", self.init, ["k-means++", "k-means", "random"])

    def _prepare(self, table: NDArray) -> None:
        if not isinstance(self.init, str):
            wanted = (self.n_clusters, table.shape[1])
            try:
                centers = np.asarray(self.init, dtype=float)
            except (TypeError, ValueError):
                centers = np.empty(0)
            if centers.shape != wanted or not np.isfinite(centers).all():
                raise ValueError(
                    f"init has shape {np.shape(self.init)}, expected finite numbers of shape {wanted}: a "
                    "centre for each cluster."
                )
        n_steps = self.epochs * -(-len(table) // self.batch_size)
        usual = min(_LARGEST_RATE, max(_USUAL_RATE, _REACH / n_steps))
        self.learning_rate_ = usual if self.learning_rate is None else float(self.learning_rate)

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        return ClusteringModuleModel(n_features, self, self.learning_rate_, generator)

    def _score(self, model: Any, data: Tensor, progress: Progress) -> float:
        return model.head.ambiguity(data)

    def _take(self, *arguments: Any) -> None:
        super()._take(*arguments)
        self._n_features_out = self.n_clusters
        self.alpha_ = self.model_.head.alpha.cpu().numpy().astype(float)

    # --- the code of this autoencoder is γ, and clusters are in the space of the table -----------

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the responsibilities γ of each row, the code of this autoencoder (as `predict_proba`).

        :meth:`decode` takes them back to rows; the unit vectors give the centroids.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        return self.predict_proba(X)

    def decoded_centers(self) -> NDArray:
        """Return the centroids, which are rows already.

        Returns
        -------
        ndarray of shape (n_clusters, n_features)
        """
        check_is_fitted(self)
        return self.cluster_centers_.copy()

    def interpolate(self, cluster_a: int, cluster_b: int, *, steps: int = 9) -> NDArray:
        """Return rows on the straight way from one centroid to another.

        Parameters
        ----------
        cluster_a, cluster_b : int
        steps : int
            Rows, both centroids among them.

        Returns
        -------
        ndarray of shape (steps, n_features)
        """
        check_is_fitted(self)
        whole_number("steps", steps, 2)
        start, stop = (np.eye(self.n_clusters)[self._known(cluster)] for cluster in (cluster_a, cluster_b))
        share = np.linspace(0.0, 1.0, steps)[:, None]
        return self.decode((1 - share) * start + share * stop)

    def sample(
        self, cluster: int, *, n_samples: int = 10, scale: float = 1.0, random_state: Any = None
    ) -> NDArray:
        """Return made-up rows: normal around the centroid, with the spread of its members in each column.

        Parameters
        ----------
        cluster : int
        n_samples : int
        scale : float
            Factor of the spread; 0 gives the centroid.
        random_state : int, RandomState or None

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        whole_number("n_samples", n_samples, 1)
        positive("scale", scale, zero=True)
        center, spread = self._center_and_spread(cluster)
        noise = check_random_state(random_state).standard_normal((n_samples, len(center)))
        return (center + scale * noise * spread).astype(np.float32)
