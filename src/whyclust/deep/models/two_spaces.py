"""The spaces of ACe/DeC: one that tells clusters apart, one for what all of them share.

Miklautz, Bauer, Mautz, Tschiatschek, Böhm and Plant, 2021. The embedding z is turned by V, and each dimension
of Vᵀz has two weights: β_cs in the cluster space and β_ss = 1 − β_cs in the shared space.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from whyclust.deep.models.centroids import CentroidModel, rows_encoded, squared_error
from whyclust.deep.models.spaces import Space
from whyclust.deep.training.phases import Batch, Phase, Terms, Update, refuse_infinite

# A dimension that is assigned to a space at the beginning has this weight in it.
_ASSIGNED = 0.9
# b moves faster than all else by this factor, as in the public re-implementation.
_FASTER = 10.0
# Rows on which k-means begins.
_ROWS = 10_000
# Directions with a smaller part of the largest variance are not blown up to the size of the others.
_NEGLIGIBLE = 1e-4
#: A dimension is shared where β_ss is larger than this. At the optimum β_cs = L_s / (L_s + L_c), which is
#: never below one half, since centroids fit no worse than the mean: one half would call nothing shared.
SHARED = 0.45


class FreeTurn(nn.Module):
    """V, any matrix."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(width))

    def assign(self, rotation: Tensor) -> None:
        """Set V."""
        self.weight.copy_(rotation)


class Turn(nn.Module):
    """V = V₀ exp(A − Aᵀ), orthogonal whatever A is. PyTorch's own parametrisations cannot be pickled."""

    start: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("start", torch.eye(width))
        self.angles = nn.Parameter(torch.zeros(width, width))

    @property
    def weight(self) -> Tensor:
        """V."""
        half = self.angles.tril(-1)
        return self.start @ torch.linalg.matrix_exp(half - half.T)

    def assign(self, rotation: Tensor) -> None:
        """Set V."""
        self.start.copy_(rotation)
        self.angles.zero_()


class TwoSpaces(Space):
    """β_cs ⊙ Vᵀz, where clusters are compared, and β_ss ⊙ Vᵀz beside it.

    Parameters
    ----------
    width : int
        Dimensions of the embedding.
    settings : ACeDeC
    generator : torch.Generator
    """

    middle: Tensor
    members: Tensor
    pace: Tensor
    fixed: Tensor
    hard: Tensor

    def __init__(self, width: int, settings: Any, generator: torch.Generator) -> None:
        super().__init__()
        self.settings = settings
        self.turn = Turn(width) if settings.orthogonal == "exact" else FreeTurn(width)
        self.scores = nn.Parameter(torch.zeros(width))  # b
        self.register_buffer("middle", torch.zeros(width))  # μ
        n_clusters = settings.n_clusters
        self.register_buffer("members", torch.zeros(n_clusters))  # of each cluster in this epoch
        self.register_buffer("pace", torch.zeros(n_clusters))  # n̄
        self.register_buffer("fixed", torch.empty(0, width))  # the embedding, while the encoder stands
        self.register_buffer("hard", torch.zeros((), dtype=torch.bool))
        self._held = False
        self._latest: tuple[Tensor, Tensor] | None = None
        self.assign(random_rotation(width, generator), torch.full((width,), 0.5))

    # --- the spaces --------------------------------------------------------------------------------

    @property
    def rotation(self) -> Tensor:
        """V; its columns are the directions of the dimensions."""
        return self.turn.weight.detach() if self._held else self.turn.weight

    @property
    def cluster_weights(self) -> Tensor:
        """β_cs, the sigmoid of b; 0 or 1 after hardening."""
        soft = self.scores.sigmoid()
        weights = (1.0 - soft <= SHARED).to(soft) if self.hard else soft
        return weights.detach() if self._held else weights

    def assign(self, rotation: Tensor, weights: Tensor) -> None:
        """Set V and β_cs."""
        with torch.no_grad():
            self.turn.assign(rotation.to(self.scores))
            self.scores.copy_(weights.logit())

    def points(self, z: Tensor) -> Tensor:
        """β_cs ⊙ Vᵀz: distances here are those of Eq. (2)."""
        return (z @ self.rotation) * self.cluster_weights

    def back(self, points: Tensor) -> Tensor:
        """V (p + β_ss ⊙ Vᵀμ): what the cluster space leaves out stands at the mean."""
        return (points + (1.0 - self.cluster_weights) * (self.middle @ self.rotation)) @ self.rotation.T

    def shared(self, z: Tensor) -> Tensor:
        """β_ss ⊙ Vᵀ(z − μ)."""
        return ((z - self.middle) @ self.rotation) * (1.0 - self.cluster_weights)

    def shared_back(self, z: Tensor) -> Tensor:
        """V (β_ss ⊙ Vᵀz + β_cs ⊙ Vᵀμ): what the shared space leaves out stands at the mean."""
        return (self.shared(z) + self.middle @ self.rotation) @ self.rotation.T

    def through(self, z: Tensor) -> Tensor:
        """V Vᵀz."""
        return (z @ self.rotation) @ self.rotation.T

    def centers(self, found: Tensor, z: Tensor, labels: Tensor) -> Tensor:
        """The means of the members: β_cs may be zero, so there is no way back from the space."""
        sums = z.new_zeros(len(found), z.shape[1]).index_add_(0, labels, z)
        return sums / torch.bincount(labels, minlength=len(found)).clamp_min(1)[:, None]

    def spread(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and covariance of Vᵀz."""
        turned = (z @ self.rotation).double()
        return turned.mean(dim=0), torch.cov(turned.T, correction=0).reshape(len(self.scores), -1)

    @contextmanager
    def held(self) -> Iterator[None]:
        """V and β as they are: gradients pass through them, but do not move them."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    # --- learning ----------------------------------------------------------------------------------

    def around(self, model: CentroidModel, phases: list[Phase]) -> list[Phase]:
        """The model's phases, with one of the spaces alone before the one in which clusters are learned."""
        *before, last = phases
        optimizer = (last if last.updates else before[-1]).updates[0].optimizer
        moved: list[dict[str, Any]] = [{"params": list(self.turn.parameters())}]
        moved += [{"params": [self.scores], "lr": _FASTER * optimizer.learning_rate}]
        alone = Phase(
            "spaces",
            self.settings.space_epochs,
            [Update(partial(self.alone, model), moved, optimizer)],
            model.settings.batch_size,
            begin=partial(self.begin, model),
            end=self.release,
        )
        if not last.updates:  # k-means on an encoder that stands
            return [*before, alone, last]
        weights = [*last.updates[0].parameters, *model.autoencoder.parameters()]
        if self._mini_batch(model):
            weights = [tensor for tensor in weights if tensor is not model.centers]
        once = list({id(tensor): tensor for tensor in weights}.values())
        joint = replace(
            last,
            updates=[Update(partial(self.loss, model), [{"params": once}, *moved], optimizer)],
            after_step=partial(self.follow, model, last),
            end=partial(self.end, model, last),
        )
        if self._mini_batch(model):
            joint = replace(joint, before_epoch=partial(self.revive, model))
        return [*before, alone, joint]

    def _mini_batch(self, model: CentroidModel) -> bool:
        """Whether centroids follow their members here, and not by gradients or by the model's own steps.

        L_shared makes the embedding smaller, faster than gradients can move centroids (DKM).
        """
        return self.settings.centroids == "mini-batch" and model.has_means

    def begin(self, model: CentroidModel, data: Tensor, generator: torch.Generator) -> None:
        """Place the centroids, with V and β to begin with; embedded rows are kept for the phase."""
        if self.settings.start == "whitened":
            whiten(model, data)
        z = rows_encoded(model, data)
        self.fixed = z
        self.middle.copy_(z.mean(dim=0))
        seen = z[torch.randperm(len(z), generator=generator)[:_ROWS].to(z.device)]
        if self.settings.start == "random":
            self.begin_at_random(model, seen, generator)
        else:
            model.cluster_points(seen, generator, starts=self.settings.starts)

    def begin_at_random(self, model: CentroidModel, z: Tensor, generator: torch.Generator) -> None:
        """A random V, each dimension in one of the spaces at random, and k-means (section 2.2).

        Of several of these that with the lowest cost, as in the public re-implementation.
        """
        lowest, best = (
            math.inf,
            (self.rotation.detach().clone(), self.cluster_weights.detach().clone(), model.centers),
        )
        for _ in range(self.settings.starts):
            rotation, weights = random_rotation(z.shape[1], generator), random_weights(z.shape[1], generator)
            self.assign(rotation, weights)
            model.cluster_points(z, generator)
            cost = float(self.squares(model, z) + self.shared(z).square().sum() / len(z))
            if cost < lowest:
                lowest, best = cost, (rotation, weights, model.centers.detach().clone())
        self.assign(*best[:2])
        model.centers.data.copy_(best[2])

    def squares(self, model: CentroidModel, z: Tensor, seen: Tensor | None = None) -> Tensor:
        """L_cluster of Eq. (5), mean over rows: to the centroid that the model itself assigns."""
        points = self.points(z)
        labels = model.logits((points if seen is None else self.points(seen)).detach()).argmax(dim=1)
        return squared_error(points, self.points(model.centers.detach())[labels])

    def rest(self, z: Tensor) -> Terms:
        """L_shared of Eq. (5), mean over rows, and the penalty of a V that is not orthogonal if asked for."""
        terms = {"shared": self.shared(z).square().sum() / len(z)}
        if self.settings.orthogonal == "penalty":
            unit = torch.eye(len(self.scores), device=z.device)
            terms["orthogonality"] = (self.rotation.T @ self.rotation - unit).square().sum()
        return terms

    def alone(self, model: CentroidModel, batch: Batch) -> Terms:
        """Eq. (5), mean over rows, of the embedding as it stands."""
        model.autoencoder.decoder.eval()  # it stands, with the statistics that it would move
        z = self.fixed.index_select(0, batch.rows)
        back = squared_error(batch.x, model.autoencoder.decoder(self.through(z)))
        return {"clustering": self.squares(model, z), **self.rest(z), "reconstruction": back}

    def loss(self, model: CentroidModel, batch: Batch) -> Terms:
        """The model's own clustering term in the cluster space, L_shared and L_rec; the mean of two views.

        The clustering term moves encoder and centroids; V and β follow the squares of Eq. (5), whatever the
        model's own term is. Where it is these squares (DCN), all follow Eq. (5).
        """
        terms: Terms = {}
        first: Tensor | None = None
        for number, x in enumerate(batch.views):
            z = model.encoder(x)
            first = z if first is None else first.detach()
            with self.held():
                points = self.points(z)
                seen = points if number == 0 else self.points(first)
                clustering = model.weight_beside_squares(x) * model.clustering(points, seen, batch)
            squares = self.squares(model, z.detach(), first.detach())
            found = {
                "clustering": clustering + (squares - squares.detach()),  # of squares only the gradient
                **self.rest(z),
                "reconstruction": squared_error(x, model.autoencoder.decoder(self.given(z, number, batch))),
            }
            terms = {name: 0.5 * (terms[name] + one) for name, one in found.items()} if terms else found
            if number == 0:
                labels = model.logits(points.detach()).argmax(dim=1)
                self._latest = batch.gather(z.detach()), batch.gather(labels)
        return terms

    def given(self, z: Tensor, number: int, batch: Batch) -> Tensor:
        """What the decoder gets: V Vᵀz; or for two views, the first from the cluster space alone."""
        if batch.view is None or self.settings.views == "whole":
            return self.through(z)
        return self.back(self.points(z)) if number == 0 else self.shared_back(z)

    def follow(self, model: CentroidModel, last: Phase, batch: Batch) -> None:
        """Move μ by half of the way to the batch's mean, and centroids without gradients to their members.

        n̄ ← (n + n̄) / 2, η = 1 / (1 + n̄), μ_k ← (1 − η) μ_k + η · mean of the batch's members.
        """
        if self._latest is None:
            return
        z, labels = self._latest
        self.middle.lerp_(z.mean(dim=0), 0.5)
        if not self._mini_batch(model):
            last.after_step(batch)
            return
        counts = torch.bincount(labels, minlength=len(model.centers)).to(z.dtype)
        self.members += counts
        self.pace.add_(counts).mul_(0.5)
        rate = torch.where(counts > 0, 1.0 / (1.0 + self.pace), 0.0)[:, None]
        model.centers.data.lerp_(self.centers(model.centers, z, labels), rate)

    def begin_again(self, z: Tensor) -> None:
        """μ is that of the new embedding; that a former centroid had no members tells nothing."""
        self.middle.copy_(z.mean(dim=0))
        self.members.fill_(1.0)
        self.pace.zero_()

    def revive(self, model: CentroidModel, data: Tensor, epoch: int) -> None:
        """Give centroids that had no member in the last epoch another place."""
        model.anneal(epoch)
        empty = torch.nonzero(self.members == 0).flatten().tolist() if epoch else []
        if empty and len(empty) < len(self.members) and model.settings.reseed:
            model.seed_empty(empty, rows_encoded(model, data))
        self.members.zero_()

    def end(self, model: CentroidModel, last: Phase, data: Tensor) -> None:
        """μ is the mean of the embedding again; the last batch is of no use any more."""
        self._latest = None
        self.middle.copy_(rows_encoded(model, data).mean(dim=0))
        last.end(data)

    def release(self, data: Tensor) -> None:
        """The embedding of single rows is of no use any more."""
        self.fixed = self.fixed[:0].clone()


# --- beginning --------------------------------------------------------------------------------------


def random_rotation(width: int, generator: torch.Generator) -> Tensor:
    """A random orthogonal matrix, by Haar's measure."""
    q, r = torch.linalg.qr(torch.randn(width, width, generator=generator))
    return q * torch.diagonal(r).sign()


def random_weights(width: int, generator: torch.Generator) -> Tensor:
    """β_cs of dimensions that are assigned at random, at least one of them to the cluster space."""
    clustered = torch.rand(width, generator=generator) < 0.5
    clustered[int(torch.randint(width, (1,), generator=generator))] = True
    return torch.where(clustered, _ASSIGNED, 1.0 - _ASSIGNED)


def whiten(model: CentroidModel, data: Tensor) -> None:
    """Give the embedding the same variance in all directions; the autoencoder computes the same as before.

    Any invertible map can move from an encoder's end to the decoder's beginning, so the scale of a
    direction of the embedding says nothing, but k-means goes by it. Needs linear layers at both places; an
    autoencoder without them stays as it is.
    """
    whole = model.autoencoder
    last, first = _linear(whole.encoder, -1), _linear(whole.decoder, 0)
    if last is None or first is None or not (_stands_alone(whole, last) and _stands_alone(whole, first)):
        return
    z = rows_encoded(model, data).double()
    refuse_infinite(z)
    mean = z.mean(dim=0)
    variances, directions = torch.linalg.eigh(torch.cov(z.T, correction=0).reshape(z.shape[1], -1))
    largest = float(variances.max())
    if largest <= 0:
        return
    scales = (variances.clamp_min(_NEGLIGIBLE * largest) / variances.mean()).sqrt()
    up, down = (directions / scales) @ directions.T, (directions * scales) @ directions.T
    weight, inverse = last.weight.data.double(), first.weight.data.double()
    first.bias.data.copy_(first.bias.data.double() + inverse @ mean)
    first.weight.data.copy_(inverse @ down)
    last.bias.data.copy_(up @ (last.bias.data.double() - mean))
    last.weight.data.copy_(up @ weight)


def _stands_alone(whole: nn.Module, layer: nn.Linear) -> bool:
    """Whether weights of the layer are used there alone, and nothing else sets or follows them.

    Hooks may compute them (spectral norm); a decoder may share an encoder's.
    """
    own = {id(tensor) for tensor in layer.parameters()}
    places = whole.named_modules(remove_duplicate=False)
    users = [one for _, one in places if own & {id(tensor) for tensor in one.parameters(recurse=False)}]
    return len(users) == 1 and not (layer._forward_hooks or layer._forward_pre_hooks)


def _linear(module: nn.Module, place: int) -> nn.Linear | None:
    """The first or the last layer, if it is linear with a bias."""
    # Of other classes, which may compute anything of their layers in any order, nothing is known.
    while type(module) is nn.Sequential and len(module):
        module = module[place]
    return module if type(module) is nn.Linear and module.bias is not None else None
