"""The network as a torch module of linear and pooling layers, for any other tool.

These are the papers' layers written out, one neuron per pair of clusters (Prop. 1) or of
support vectors (Prop. 5): equal to the closed forms, and as large as they are not.
"""

from __future__ import annotations

import copy
import math
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from whyclust.inputs.reading import is_sparse
from whyclust.network.competition import Competition
from whyclust.network.pools import MinPool, Pool, SoftMinPool
from whyclust.network.quadratic import Quadratics
from whyclust.network.tournament import Tournament

if TYPE_CHECKING:
    from whyclust.network.network import Neuralized

# Neurons of the four-layer network above which the module is refused: about 2 GB in float64.
MOST_WEIGHTS = 1 << 28


def build_module(net: Neuralized) -> nn.Module:
    """Return a module from encoded rows to f_c of every cluster."""
    folded = net.folded(np.dtype(np.float64))
    scale: nn.Module | None = RowScale(net) if net.features.norm is not None else None
    if net.features.trunk is not None:
        scale = Encoder(net)
    return ClusterNetwork(folded.center, scale, detecting(folded), pooling(net.pool))


@singledispatch
def detecting(folded: Any) -> list[nn.Module]:
    """Layers from points to the evidence of each cluster against each of its competitors."""
    raise TypeError(
        f"{type(folded).__name__} has no torch module yet: register a function that makes its layers with "
        "whyclust.network.torch_module.detecting.register."
    )


@detecting.register
def _(folded: Tournament) -> list[nn.Module]:
    return [tree_detection(folded), Select(torch.tensor(folded.competes))]


@detecting.register
def _(folded: Quadratics) -> list[nn.Module]:
    return [QuadraticDetection(folded), Others(len(folded.constants))]


@detecting.register
def _(folded: Competition) -> list[nn.Module]:
    if folded.background is not None:
        raise TypeError(
            "Kernel k-means in feature space with centroids of unequal norm compares with a constant, "
            "which is no linear layer: fit it with algorithm='em' or 'leave_one_out'."
        )
    layers: list[nn.Module] = [pair_detection(folded)]
    if folded.noise is not None:
        layers = [NoiseDetection(layers[0], folded.noise.root, len(folded.members))]
    if folded.starts is not None:
        layers.append(SupportPooling(folded))
    return [*layers, Others(len(np.unique(folded.members)))]


@singledispatch
def pooling(pool: Pool) -> nn.Module:
    """The layer that pools competitors."""
    raise TypeError(
        f"The pool {type(pool).__name__} has no torch module yet: register a function that makes one with "
        "whyclust.network.torch_module.pooling.register."
    )


@pooling.register
def _(pool: MinPool) -> nn.Module:
    return MinPooling()


@pooling.register
def _(pool: SoftMinPool) -> nn.Module:
    return SoftMinPooling(pool.threshold, pool.stiffness)


class ClusterNetwork(nn.Module):
    """Scale or encode, move to the centre, detect, pool."""

    def __init__(
        self, center: np.ndarray, scale: nn.Module | None, layers: list[nn.Module], pool: nn.Module
    ) -> None:
        super().__init__()
        self.register_buffer("center", torch.tensor(center))
        self.scale = scale
        self.layers = nn.Sequential(*layers)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:
        """f_c of every row (rows × clusters)."""
        moved = x if self.scale is None else self.scale(x)
        return self.pool(self.layers(moved - self.center))


class Encoder(nn.Module):
    """The layers of a deep clustering's encoder, behind the scalers of its pipeline."""

    def __init__(self, net: Neuralized) -> None:
        super().__init__()
        inner, trunk = net.features.inner, net.features.trunk
        self.register_buffer("origin", torch.tensor(inner.origin))
        self.register_buffer("offset", torch.tensor(inner.offset))
        self.register_buffer("matrix", torch.tensor(_dense(inner.matrix)))
        self.module = copy.deepcopy(trunk.module).cpu() if trunk is not None else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Activations, computed in single precision, as the deep clustering does."""
        scaled = (x - self.origin) @ self.matrix.T + self.offset
        return self.module(scaled.float()).to(x.dtype)


class RowScale(nn.Module):
    """Divide each row, seen from a fixed point, by its norm after the first steps."""

    def __init__(self, net: Neuralized) -> None:
        super().__init__()
        inner = net.features.inner
        self.register_buffer("shift", torch.tensor(net.features.shift))
        self.register_buffer("origin", torch.tensor(inner.origin))
        self.register_buffer("offset", torch.tensor(inner.offset))
        self.register_buffer("matrix", torch.tensor(_dense(inner.matrix)))
        self.tiny = 10 * float(np.finfo(np.float64).eps)  # as scikit-learn has it
        self.order = {"l1": 1.0, "l2": 2.0, "max": math.inf}[str(net.features.norm)]

    def forward(self, x: Tensor) -> Tensor:
        """Scaled rows."""
        image = (x - self.origin) @ self.matrix.T + self.offset
        norm = torch.linalg.vector_norm(image, ord=self.order, dim=1, keepdim=True)
        return (x - self.shift) / torch.where(norm < self.tiny, torch.ones_like(norm), norm)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if is_sparse(matrix) else matrix


def _linear(weights: np.ndarray, biases: np.ndarray) -> nn.Linear:
    layer = nn.Linear(weights.shape[1], weights.shape[0], dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weights))
        layer.bias.copy_(torch.tensor(biases))
    return layer


def pair_detection(folded: Competition) -> nn.Linear:
    """h_ij = (s_i − s_j)·x + (b_j − b_i) for all pairs of nodes (layer 1 of Props. 1 and 5)."""
    slopes, constants = folded.nodes.slopes, folded.nodes.constants
    count, width = slopes.shape
    if count * count * width > MOST_WEIGHTS:
        raise ValueError(
            f"The network of {count} prototypes has {count * count:,} neurons of {width} weights, too many "
            "for a torch module: use fewer support vectors (n_support), or relevance(), which needs "
            "no such network."
        )
    weights = (slopes[:, None] - slopes[None]).reshape(-1, width)
    return _linear(weights, (constants[None] - constants[:, None]).ravel())


def tree_detection(folded: Tournament) -> nn.Linear:
    """Evidence against every node, for its sibling."""
    slopes, constants, sibling = folded.nodes.slopes, folded.nodes.constants, folded.sibling
    return _linear(slopes[sibling] - slopes, constants - constants[sibling])


class QuadraticDetection(nn.Module):
    """h_ck = z_c − z_k of quadratic scores, for all pairs of clusters."""

    def __init__(self, folded: Quadratics) -> None:
        super().__init__()
        maps = torch.tensor(folded.maps)
        self.register_buffer("maps", torch.diag_embed(maps) if maps.ndim == 2 else maps)
        self.register_buffer("shifts", torch.tensor(folded.shifts))
        self.register_buffer("constants", torch.tensor(folded.constants))

    def forward(self, x: Tensor) -> Tensor:
        """Rows × pairs."""
        residuals = torch.einsum("ne,kre->nkr", x, self.maps) - self.shifts
        scores = self.constants - 0.5 * residuals.square().sum(dim=2)
        return (scores[:, :, None] - scores[:, None]).flatten(1)


class NoiseDetection(nn.Module):
    """Linear pairs; those with the last node, noise, have the point's squared length besides."""

    def __init__(self, pairs: nn.Module, root: np.ndarray, nodes: int) -> None:
        super().__init__()
        self.pairs = pairs
        self.register_buffer("root", torch.tensor(root))
        is_noise = torch.arange(nodes) == nodes - 1
        self.register_buffer("sign", (is_noise[:, None].double() - is_noise[None].double()).flatten())

    def forward(self, x: Tensor) -> Tensor:
        """Rows × pairs."""
        image = x * self.root if self.root.ndim == 1 else x @ self.root.T
        return self.pairs(x) + image.square().sum(dim=1, keepdim=True) * self.sign


class SupportPooling(nn.Module):
    """LME^γ over the cluster's supports, then LME^−γ over the competitor's (layers 2 and 3)."""

    def __init__(self, folded: Competition) -> None:
        super().__init__()
        members = torch.tensor(folded.members)
        self.clusters = int(members.max()) + 1
        self.gamma = float(folded.gamma)
        # Offsets are part of the scores already, so plain sums are the papers' means.
        self.register_buffer("inside", members[None] == torch.arange(self.clusters)[:, None])

    def forward(self, pairs: Tensor) -> Tensor:
        """From pairs of supports to pairs of clusters."""
        size = self.inside.shape[1]
        h = pairs.reshape(len(pairs), 1, size, size)  # rows, cluster, i, j
        outside = ~self.inside
        if math.isinf(self.gamma):
            h_jk = h.masked_fill(outside[None, :, :, None], -torch.inf).amax(dim=2)
            return h_jk[:, :, None].masked_fill(outside[None, None], torch.inf).amin(dim=3).flatten(1)
        own = (self.gamma * h).masked_fill(outside[None, :, :, None], -torch.inf)
        h_jk = torch.logsumexp(own, dim=2) / self.gamma  # rows, c, j
        other = (-self.gamma * h_jk)[:, :, None].masked_fill(outside[None, None], -torch.inf)
        return (-torch.logsumexp(other, dim=3) / self.gamma).flatten(1)


class Others(nn.Module):
    """Keep, for each cluster, its pairs with the others."""

    def __init__(self, clusters: int) -> None:
        super().__init__()
        self.clusters = clusters
        kept = [[c * clusters + k for k in range(clusters) if k != c] for c in range(clusters)]
        self.register_buffer("kept", torch.tensor(kept))

    def forward(self, pairs: Tensor) -> Tensor:
        """Rows × clusters × competitors."""
        return pairs[:, self.kept]


class Select(nn.Module):
    """Keep, for each cluster, the nodes it competes with."""

    def __init__(self, competes: Tensor) -> None:
        super().__init__()
        self.register_buffer("competes", competes)

    def forward(self, h: Tensor) -> Tensor:
        """Rows × clusters × nodes, infinite where there is no competition."""
        return torch.where(self.competes[None], h[:, None], torch.inf)


class MinPooling(nn.Module):
    """f_c = min_k h_k."""

    def forward(self, h: Tensor) -> Tensor:
        """Rows × clusters."""
        return h.amin(dim=2)


class SoftMinPooling(nn.Module):
    """f_c = −log Σ_k exp(−s h_k) + log((1−θ)/θ) (Eq. 30)."""

    def __init__(self, threshold: float, stiffness: float = 1.0) -> None:
        super().__init__()
        self.stiffness = stiffness
        self.odds = math.log1p(-threshold) - math.log(threshold)

    def forward(self, h: Tensor) -> Tensor:
        """Rows × clusters."""
        return -torch.logsumexp(-self.stiffness * h, dim=2) + self.odds
