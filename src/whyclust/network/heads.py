"""Heads: what a clustering compares a point with, in the space of its features.

A head is a description. ``head.fold(features, ...)`` moves it into the space of the user's
columns, where :mod:`whyclust.network.nodes` does the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from whyclust.network.competition import Competition
from whyclust.network.features import AffineMap
from whyclust.network.folded import Folded
from whyclust.network.nodes import Nodes
from whyclust.network.noise import Noise
from whyclust.network.tournament import Tournament
from whyclust.saving.registry import saved


@runtime_checkable
class Head(Protocol):
    """What a network asks of the layer that compares clusters."""

    @property
    def name(self) -> str:
        """Kind of head."""
        ...

    @property
    def probability_stiffness(self) -> float | None:
        """Stiffness of the softmax over logits that gives probabilities; None: a hard clustering."""
        ...

    @property
    def noise(self) -> float | None:
        """The outlier score of noise, which is the last cluster then; None where no row is noise."""
        ...

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        ...

    @property
    def n_inputs(self) -> int:
        """Number of features it reads."""
        ...

    def fold(self, linear: AffineMap, dtype: np.dtype, centred: bool) -> Folded:
        """The same head, moved to the input of an affine map."""
        ...

    def typical_points(self, linear: AffineMap) -> tuple[NDArray, NDArray] | None:
        """Points that stand for the clusters, and the cluster of each, if there are any."""
        ...

    def without_noise(self) -> Head:
        """The same clusters, without noise among them."""
        ...


@saved
@dataclass(frozen=True)
class PrototypeHead:
    """Clusters as sets of prototypes; a cluster is as near as its soft-nearest prototype.

    The outlier score of cluster k is
    ``o_k(a) = −(1/γ) log(Σ_{j∈k} exp(−γ(‖a − u_j‖² + offset_j)) + background_k)``
    and its logit is ``−scale · o_k``. One prototype a cluster is (soft) k-means; several, with
    offset log|C_k|/γ, are kernel k-means (Eqs. 6, 7).

    Parameters
    ----------
    prototypes : ndarray of shape (n_prototypes, n_features)
        Ordered by cluster.
    members : ndarray of int of shape (n_prototypes,)
        The cluster of each prototype, ascending, every cluster at least once.
    offsets : ndarray of shape (n_prototypes,) or None
        Added to squared distances.
    gamma : float
        γ of the kernel; without effect when each cluster has one prototype. Infinite: the nearest
        prototype alone counts.
    background : ndarray of shape (n_clusters,) or None
        A constant similarity: what makes kernel k-means in feature space (Eq. 5), whose
        centroids differ in norm, exactly this head. It has no direction, so no relevance.
    scale : float
        τ of soft k-means (Eq. 31).
    probability_stiffness : float or None
        Probabilities are softmax(stiffness · logits).
    noise : float or None
        The outlier score of noise, which is one more cluster, the last one, without prototypes: it wins
        where all clusters have a larger outlier score.
    """

    prototypes: NDArray
    members: NDArray
    offsets: NDArray | None = None
    gamma: float = 1.0
    background: NDArray | None = None
    scale: float = 1.0
    probability_stiffness: float | None = None
    noise: float | None = None
    name: ClassVar[str] = "prototypes"

    def __post_init__(self) -> None:
        if self.noise is not None and not np.isfinite(self.noise):
            raise ValueError(
                f"noise={self.noise} is no outlier score: pass a finite number, or None for no noise."
            )

    @classmethod
    def one_each(
        cls, centers: NDArray, *, scale: float = 1.0, probability_stiffness: float | None = None
    ) -> PrototypeHead:
        """One prototype per cluster: k-means and its relatives."""
        return cls(
            np.asarray(centers),
            np.arange(len(centers)),
            scale=scale,
            probability_stiffness=probability_stiffness,
        )

    @property
    def n_clusters(self) -> int:
        """Number of clusters, noise among them."""
        return int(self.members[-1]) + (1 if self.noise is None else 2)

    @property
    def n_inputs(self) -> int:
        """Number of features it reads."""
        return self.prototypes.shape[1]

    def without_noise(self) -> PrototypeHead:
        """The same prototypes, and no noise."""
        return replace(self, noise=None)

    def typical_points(self, linear: AffineMap) -> tuple[NDArray, NDArray]:
        """The prototypes, as points of the input space."""
        return linear.preimage(self.prototypes.astype(float)), self.members

    def fold(self, linear: AffineMap, dtype: np.dtype, centred: bool) -> Competition:
        """The same head, moved to the input of an affine map."""
        nodes = fold_prototypes(self.prototypes, self.offsets, linear, dtype, centred, self.scale)
        members, background, noise = self.members, self.background, None
        if background is not None and not np.any(background > 0):
            background = None
        if self.noise is not None:
            noise = Noise.fold(linear, self.scale, dtype)
            nodes = noise.append(nodes, self.scale * self.noise)
            members = np.append(members, self.n_clusters - 1)
            background = None if background is None else np.append(background, 0.0)
        one_each = len(members) == self.n_clusters
        return Competition(
            nodes,
            starts=None
            if one_each and background is None
            else np.searchsorted(members, np.arange(self.n_clusters)),
            gamma=self.gamma / self.scale,
            background=background,
            metric=None if background is None else linear.matrix * np.sqrt(self.scale),
            noise=noise,
        )


def fold_prototypes(
    prototypes: NDArray,
    offsets: NDArray | None,
    linear: AffineMap,
    dtype: np.dtype,
    centred: bool,
    scale: float = 1.0,
) -> Nodes:
    """Closed form 3: v = Aᵀμ, p a pre-image of μ, both around a common origin.

    Everything is computed in float64 around the origin and rounded once.
    """
    prototypes = np.asarray(prototypes, dtype=np.float64)
    offsets = np.zeros(len(prototypes)) if offsets is None else np.asarray(offsets, float)
    preimages = linear.preimage(prototypes)
    center = preimages.mean(axis=0)
    # Columns far from zero would lose their digits; those near it need no subtraction.
    near_zero = np.abs(center) <= 2.0 * preimages.std(axis=0)
    if not centred or near_zero.all():
        center = np.zeros(linear.n_inputs)
    same = (prototypes == prototypes[0]).all(axis=0)
    if centred and linear.columnwise and same.any():
        # Where all prototypes agree a column tells nothing apart: at the origin it has no slope at all.
        alike = (preimages == preimages[0]).all(axis=0)
        center = np.where(alike, preimages[0], center)
    # The origin must be a number that the points' own type can hold.
    center = center.astype(dtype)
    origin = center.astype(np.float64)
    relative = prototypes - linear(origin[None])
    if centred and linear.columnwise:
        relative[:, same] = 0.0
    positions = preimages - origin
    duals = linear.pull(relative)
    constants = np.einsum("ij,ij->i", relative, relative) + offsets
    # What the prototype has outside the range of the map cannot be reached by any input.
    missed = (linear.matrix @ positions.T).T - relative
    outside = np.einsum("ij,ij->i", relative, missed)
    negligible = 1e-12 * np.einsum("ij,ij->i", relative, relative)
    outside[np.abs(outside) <= negligible] = 0.0
    return Nodes(
        slopes=(2.0 * scale * duals).astype(dtype),
        constants=(scale * constants).astype(dtype),
        positions=positions.astype(dtype),
        bases=(scale * (outside - offsets)).astype(dtype),
        center=center,
        symmetric=linear.columnwise,
    )


@saved
@dataclass(frozen=True)
class LinearHead:
    """Logits z_k = w_k·a + b_k (softmax heads, Props. 6 and 7), explained against a reference.

    Parameters
    ----------
    weights : ndarray of shape (n_clusters, n_features)
    biases : ndarray of shape (n_clusters,)
    probability_stiffness : float or None
        Probabilities are softmax(stiffness · logits).
    reference : ndarray of shape (n_features,) or None
        From where features are seen, usually the mean of the data: what the logits are there is base. None is
        zero, for activations, which have one.
    """

    weights: NDArray
    biases: NDArray
    probability_stiffness: float | None = 1.0
    reference: NDArray | None = None
    noise: ClassVar[float | None] = None
    name: ClassVar[str] = "linear"

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.weights)

    @property
    def n_inputs(self) -> int:
        """Number of features it reads."""
        return self.weights.shape[1]

    def without_noise(self) -> LinearHead:
        """No row is noise here."""
        return self

    def typical_points(self, linear: AffineMap) -> None:
        """A linear head has no points of its own."""
        return

    def fold(self, linear: AffineMap, dtype: np.dtype, centred: bool) -> Competition:
        """The same head, moved to the input of an affine map."""
        weights = np.asarray(self.weights, dtype=np.float64)
        seen_from = np.zeros(self.n_inputs) if self.reference is None else self.reference
        reference = linear.preimage(np.asarray(seen_from, dtype=np.float64)[None])[0]
        center = (reference if centred else np.zeros_like(reference)).astype(dtype)
        at_center = weights @ linear(center.astype(float)[None])[0] + self.biases
        position = reference - center
        slopes = linear.pull(weights)
        nodes = Nodes(
            slopes=slopes.astype(dtype),
            constants=(-at_center).astype(dtype),
            positions=np.broadcast_to(position, slopes.shape).astype(dtype),
            bases=(at_center + slopes @ position).astype(dtype),  # the logits at the reference
            center=center,
            symmetric=not position.any(),
        )
        return Competition(nodes, starts=None, gamma=1.0, background=None, metric=None)


@saved
@dataclass(frozen=True)
class TreeHead:
    """A binary tree of centres: a cluster's competitors are the siblings of its ancestors.

    Parameters
    ----------
    centers : ndarray of shape (n_nodes, n_features)
        Every node but the root; siblings are neighbours, the left one at an even row.
    children : ndarray of int of shape (n_nodes,)
        Row of a node's left child, or −1 for a leaf. The root's children are rows 0 and 1.
    leaves : ndarray of int of shape (n_nodes,)
        The cluster of a leaf, −1 for inner nodes.
    """

    centers: NDArray
    children: NDArray
    leaves: NDArray
    probability_stiffness: float | None = None
    noise: ClassVar[float | None] = None
    name: ClassVar[str] = "tree"

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.leaves.max()) + 1

    @property
    def n_inputs(self) -> int:
        """Number of features it reads."""
        return self.centers.shape[1]

    def without_noise(self) -> TreeHead:
        """No row is noise here."""
        return self

    def typical_points(self, linear: AffineMap) -> tuple[NDArray, NDArray]:
        """The leaves' centres, as points of the input space."""
        is_leaf = self.leaves >= 0
        return linear.preimage(self.centers[is_leaf].astype(float)), self.leaves[is_leaf]

    def fold(self, linear: AffineMap, dtype: np.dtype, centred: bool) -> Tournament:
        """The same head, moved to the input of an affine map."""
        nodes = fold_prototypes(self.centers, None, linear, dtype, centred)
        return Tournament(nodes, self.children, self.leaves)
