"""How IDC learns: gates with an autoencoder first, then clusters and their gates (section 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (as PyTorch itself writes it)
from torch import Tensor, nn

from whyclust.deep.models.coding_rate import coding_rate, directions, gumbel_softmax, head_loss
from whyclust.deep.models.gated_network import GatedNetwork
from whyclust.deep.models.head_starts import best_start, k_means_start
from whyclust.deep.models.linear_embedding import balance, linear_ends, take_own_axes
from whyclust.deep.models.sparsity import Sparsity
from whyclust.deep.models.stochastic_gates import gate_noise, hard_gates, learning_rates, open_probability
from whyclust.deep.networks.autoencoders import Autoencoder
from whyclust.deep.training.loop import evaluating
from whyclust.deep.training.phases import (
    SGD,
    Adam,
    Batch,
    Cosine,
    Phase,
    Terms,
    Update,
    refuse_infinite,
    rows_embedded,
)

# Share of stage 1 in which the autoencoder learns without gates.
_UNGATED = 0.1
# Of the inputs of the denoising reconstruction, and spread of the noise of the embedding (appendix G).
_MASKED, _LATENT_NOISE = 0.9, 0.01
# ε of the coding rates of gates and of embeddings, of the released code.
_GATE_ERROR, _HEAD_ERROR = 1.0, 0.1
# Learning rates of the head and of the global gates, as multiples of that of the rest (appendix C).
_OF_HEAD, _OF_GLOBAL = 10.0, 100.0
# Learning rates fall along a cosine to this part of the first.
_LAST_RATE = 1e-3
# Heads that are begun, each with this part of the steps of stage 2.
_STARTS, _SHARE_OF_STARTS = 5, 10
# Rows of a step, at most, and where rows are fewer than columns: gates need some hundred steps to move.
_ROWS, _FEW_ROWS = 100, 16
# Rows of a step of the head, at most, where rows are fewer than columns.
_ROWS_OF_HEAD = 1024
_BLOCK = 4096


@dataclass(frozen=True)
class Form:
    """What the paper and the code released with it do differently.

    Attributes
    ----------
    noise : float
        σ of the gates' noise (Eq. 1).
    sigma : float
        σ of the regulariser (Eq. 3).
    mean : bool
        Whether errors and open gates are means over columns, and not sums.
    squared : bool
        Whether reconstructions are judged by squares, and not by absolute values.
    diversity : float
        Weight of the gates' coding rate (Eq. 4), for each row and column.
    """

    noise: float
    sigma: float
    mean: bool
    squared: bool
    diversity: float


FORMS = {"paper": Form(0.5, 0.5, False, False, 0.2), "released": Form(0.25, 1.0, True, True, 0.01)}


def rows_of_step(batch_size: int | str | None, few_rows: bool) -> int:
    """What a batch size stands for: a number, ``"auto"``, or None for all rows at once."""
    if batch_size == "auto":
        return _FEW_ROWS if few_rows else _ROWS
    return 2**31 - 1 if batch_size is None else int(batch_size)


class GatedClusteringModel(GatedNetwork):
    """The network of IDC with its losses and phases.

    Parameters
    ----------
    few_rows : bool
        Whether the table has fewer rows than columns.
    autoencoder, n_features, settings, *others
        As for :class:`GatedNetwork`.
    """

    def __init__(
        self, autoencoder: Autoencoder, n_features: int, settings: Any, *others: Any, few_rows: bool
    ) -> None:
        super().__init__(autoencoder, n_features, settings, *others)
        self.few_rows = few_rows
        self.n_columns = n_features
        self.form = FORMS[settings.form]
        self.sparsity = Sparsity(settings, n_features)
        # Rows times their gates, the embedding of them and its directions, while the head learns: what is
        # made again needs no place in a checkpoint.
        self.cache: tuple[Tensor, Tensor, Tensor] | None = None

    # --- stage 1 --------------------------------------------------------------------------------

    def error(self, x: Tensor, back: Tensor) -> Tensor:
        """‖x − x̂‖₁, mean over rows; the square, and the mean over columns, in the released form."""
        found = (back - x).square() if self.form.squared else (back - x).abs()
        return found.mean() if self.form.mean else found.sum() / len(x)

    def ungated_loss(self, batch: Batch) -> Terms:
        """The reconstruction alone, from which all others begin."""
        return {"clean": self.error(batch.x, self.autoencoder(batch.x)[1])}

    def denoising_loss(self, batch: Batch) -> Terms:
        """Reconstructions of appendix G, with those of gated rows, the gates' coding rate and their number.

        All inputs are led through the network at once: of many columns and few rows this is faster.
        """
        x, generator = batch.x, batch.generator
        kept = (torch.rand(x.shape, generator=generator) >= _MASKED).to(x)
        inputs, names = [x, x * kept], ["clean", "masked"]
        terms: Terms = {}
        if self.gating is not None:
            mu = self.mu(x)
            gates = hard_gates(mu, gate_noise(mu, self.form.noise, generator))
            inputs.append(x * self.spread(gates))
            names.append("gated")
            terms = self.gate_terms(mu, gates, batch.done)
        z = self.autoencoder.encoder(torch.cat(inputs))
        clean = z[: len(x)]
        noise = 1.0 + _LATENT_NOISE * torch.randn(clean.shape, generator=generator).to(x)
        backs = self.autoencoder.decoder(torch.cat([z, clean * noise])).split(len(x))
        for name, back in zip([*names, "latent"], backs, strict=True):
            terms[name] = self.error(x, back)
        return terms

    def opened(self, mu: Tensor) -> Tensor:
        """Eq. (3): the expected number of open gates of a row; their share, in the released form."""
        probability = open_probability(mu, self.form.sigma)
        return probability.mean() if self.form.mean else probability.sum() / len(mu)

    def gate_terms(self, mu: Tensor, gates: Tensor, done: float) -> Terms:
        """Eq. (3), weighed by λ(t), and Eq. (4).

        The rate is taken per row, and grows with the columns as errors do. As printed it would count once for
        the whole batch: then the gates of mere noise stay open, to be different (docs/idc.md). Gates that m
        columns share count once, times √m: the products of rows are the same, without columns that are alike,
        of which single precision has no determinant.
        """
        n, d = len(gates), self.n_columns
        given = self.settings.diversity
        weight = (self.form.diversity if given is None else given) * (1 if self.form.mean else d)
        # λ₁ = d / (B ε): the paper prints d · (B ε), which is no rate (Yu et al., 2020).
        shared = gates if isinstance(self.spread, nn.Identity) else gates * self.spread.sizes.sqrt()
        rate = coding_rate(shared, d / (n * _GATE_ERROR)) / n
        return {"open": self.sparsity.weight(done) * self.opened(mu), "diversity": -weight * rate}

    # --- stage 2 --------------------------------------------------------------------------------

    @property
    def rows(self) -> tuple[Tensor, Tensor, Tensor]:
        """Gated rows, their embedding and its directions, which no longer change."""
        if self.cache is None:
            raise RuntimeError("Rows are not cached yet.")
        return self.cache

    def remember(self, data: Tensor) -> None:
        """Make the cache, where there is none."""
        if self.cache is None:
            with evaluating(self):
                gated = torch.cat([self.gated(part) for part in data.split(_BLOCK)])
                embedded = torch.cat([self.autoencoder.encoder(part) for part in gated.split(_BLOCK)])
            refuse_infinite(embedded)
            self.cache = gated, embedded, self.directions(embedded)

    def settle(self, data: Tensor) -> None:
        """Take one of the embeddings that restore the same, where the autoencoder is linear."""
        ends = linear_ends(self.autoencoder) if self.settings.coding == "rays" else None
        if ends is not None:
            points = rows_embedded(self, data)
            take_own_axes(self.autoencoder, ends, points, data, self.settings.n_clusters)

    def clustering_loss(self, batch: Batch) -> Terms:
        """Eq. (6), of directions of the embedding and Gumbel's memberships."""
        self.remember(batch.data)
        _, z, h = self.rows
        rows = batch.rows
        if self.few_rows:
            rows = torch.randperm(len(z), generator=batch.generator)[: self.rows_of_head].to(z.device)
        return {"coding": self.coding(h[rows], self.head(z[rows]), batch.generator)}

    def directions(self, z: Tensor) -> Tensor:
        """What coding rates are taken of: h of Eq. (6), given the embedding of all rows."""
        return directions(z, beside=self.settings.coding == "rays")

    def coding(self, h: Tensor, logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Eq. (6); without a generator of noise rows belong to one cluster each."""
        if generator is None:
            shares = F.one_hot(logits.argmax(dim=1), logits.shape[1]).to(h.dtype)
        else:
            shares = gumbel_softmax(logits, self.settings.temperature, generator)
        # λ₂ = p / ε.
        return head_loss(h, shares, h.shape[1] / _HEAD_ERROR, printed=self.settings.coding == "printed")

    def begin_clusters(self, data: Tensor, generator: torch.Generator) -> None:
        """Begin with k-means where rows are few, or else with the best of some heads."""
        self.settle(data)
        self.remember(data)
        steps = self.settings.epochs * -(-len(data) // self.batch_size) // _SHARE_OF_STARTS
        _, z, h = self.rows
        common: dict[str, Any] = {
            "steps": steps,
            "batch_size": self.rows_of_head,
            "optimizer": lambda: self.of_head.build(list(self.head.parameters())),
            "generator": generator,
        }
        if steps and self.few_rows:
            k_means_start(self.head, z, h, **common)
        elif steps:
            best_start(
                self.head,
                z,
                lambda rows, logits: self.coding(h[rows], logits, generator),
                lambda logits: self.coding(h, logits),
                starts=_STARTS,
                **common,
            )

    @property
    def of_head(self) -> Adam:
        """The optimiser of the head."""
        return Adam(_OF_HEAD * self.settings.learning_rate, epsilon=1e-8)

    @property
    def batch_size(self) -> int:
        """Rows of a step, at most."""
        return rows_of_step(self.settings.batch_size, self.few_rows)

    @property
    def rows_of_head(self) -> int:
        """Rows of a step of the head, at most.

        Of a few rows in each cluster coding rates are not those of the clusters: the loss of batches falls
        while that of the table rises. So where rows are few a step takes all of them; they are embedded
        already.
        """
        return _ROWS_OF_HEAD if self.few_rows else self.batch_size

    def global_loss(self, batch: Batch) -> Terms:
        """Cross-entropy of the classifier on x ⊙ z ⊙ z_G^k, and Eq. (3) of the clusters' gates."""
        self.remember(batch.data)
        gated, embedded, _ = self.rows
        with evaluating(self.head):
            labels = self.head(embedded[batch.rows]).argmax(dim=1)
        mu = self.global_mu[labels]
        gates = self.spread(hard_gates(mu, gate_noise(mu, self.form.noise, batch.generator)))
        found = self.classifier(gated[batch.rows] * gates)
        rising = 0.5 * (1.0 - math.cos(math.pi * batch.done))
        weight = self.settings.global_sparsity * rising
        return {"classifier": F.cross_entropy(found, labels), "global open": weight * self.opened(mu)}

    def place(self, data: Tensor) -> None:
        """Take note of each cluster's mean embedding, and forget the rows."""
        self.remember(data)
        z = self.rows[1]
        labels = self.logits(z).argmax(dim=1)
        for cluster in labels.unique().tolist():
            self.centers[cluster] = z[labels == cluster].mean(dim=0)
        self.cache = None

    # --- phases ---------------------------------------------------------------------------------

    @property
    def n_gate_epochs(self) -> int:
        """Epochs of stage 1 after those without gates."""
        return self.settings.pretrain_epochs - math.ceil(_UNGATED * self.settings.pretrain_epochs)

    def phases(self) -> list[Phase]:
        """Without gates, with gates, and with clusters."""
        settings = self.settings
        rate = settings.learning_rate
        falls = Cosine(_LAST_RATE)
        coder = list(self.autoencoder.parameters())
        gating = [] if self.gating is None else learning_rates(self.gating, rate, few_rows=self.few_rows)
        ungated = settings.pretrain_epochs - self.n_gate_epochs
        adam = Adam(rate, epsilon=1e-8)
        common = {"batch_size": self.batch_size, "patience": settings.patience}
        return [
            Phase(
                "autoencoder",
                0 if settings.pretrained else ungated,
                [Update(self.ungated_loss, coder, adam)],
                **common,
            ),
            Phase(
                "gates" if gating else "denoising",
                self.n_gate_epochs,
                [Update(self.denoising_loss, [{"params": coder}, *gating], adam, falls)],
                before_epoch=self.before_gates,
                comparable=False,
                **common,
            ),
            Phase(
                "clusters",
                settings.epochs,
                [
                    Update(self.clustering_loss, list(self.head.parameters()), self.of_head, falls),
                    Update(
                        self.global_loss,
                        [*self.classifier.parameters(), self.global_mu],
                        SGD(_OF_GLOBAL * rate),
                    ),
                ],
                begin=self.begin_clusters,
                end=self.place,
                comparable=False,
                fixed_length=True,
                **common,
            ),
        ]

    def before_gates(self, data: Tensor, epoch: int) -> None:
        """Let λ follow the number of features that are asked for; a given autoencoder may learn on."""
        ends = linear_ends(self.autoencoder) if self.settings.pretrained and not epoch else None
        if ends is not None:
            balance(ends)
        if self.gating is not None:
            self.sparsity.follow(self, data, epoch)
