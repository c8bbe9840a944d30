"""Clusters as polyhedra: what stands between a row and another cluster, where all scores are affine.

A piece is a set of half-spaces ``normals @ x >= levels``, in the encoded columns. A cluster is a union of
pieces, and so is all that lies outside it. k-means has one piece for each cluster; a tree has one half-space
for each of its splits; Birch has a piece for each sub-cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whyclust.network.competition import Competition
from whyclust.network.network import Neuralized
from whyclust.network.quadratic import Quadratics
from whyclust.network.tournament import Tournament


@dataclass(frozen=True)
class Piece:
    """Points x with ``normals @ x >= levels``."""

    normals: NDArray
    levels: NDArray

    def part(self, columns: NDArray, fixed: NDArray) -> Piece:
        """The same for some columns, where the others have the values that they have in `fixed`."""
        others = np.ones(len(fixed), dtype=bool)
        others[columns] = False
        return Piece(self.normals[:, columns], self.levels - self.normals[:, others] @ fixed[others])


class Regions(Protocol):
    """What a clustering with affine scores looks like from a row of it."""

    def outside(self, cluster: int) -> list[Piece]:
        """Pieces whose union is all that is not in this cluster."""
        ...

    def inside(self, cluster: int) -> list[Piece]:
        """Pieces whose union is this cluster."""
        ...


@dataclass(frozen=True)
class NodeRegions:
    """Nodes with affine scores ``slopes @ x - constants``; a cluster is as strong as its strongest node."""

    slopes: NDArray
    constants: NDArray
    members: NDArray

    def _ahead(self, nodes: NDArray, others: NDArray) -> list[Piece]:
        return [
            Piece(self.slopes[node] - self.slopes[others], self.constants[node] - self.constants[others])
            for node in nodes
        ]

    def outside(self, cluster: int) -> list[Piece]:
        """For each node of another cluster, where it is ahead of all of this one's."""
        own = self.members == cluster
        return self._ahead(np.flatnonzero(~own), np.flatnonzero(own))

    def inside(self, cluster: int) -> list[Piece]:
        """For each node of the cluster, where it is ahead of all of the others'."""
        own = self.members == cluster
        return self._ahead(np.flatnonzero(own), np.flatnonzero(~own))


@dataclass(frozen=True)
class TreeRegions:
    """A tree of splits: a cluster is where every ancestor is ahead of its sibling."""

    slopes: NDArray
    constants: NDArray
    holds: NDArray

    def _split(self, nodes: NDArray) -> Piece:
        siblings = nodes ^ 1
        return Piece(
            self.slopes[nodes] - self.slopes[siblings], self.constants[nodes] - self.constants[siblings]
        )

    def outside(self, cluster: int) -> list[Piece]:
        """For each ancestor, its sibling's side."""
        return [self._split(np.array([node]) ^ 1) for node in np.flatnonzero(self.holds[cluster])]

    def inside(self, cluster: int) -> list[Piece]:
        """All splits on the way to the leaf."""
        return [self._split(np.flatnonzero(self.holds[cluster]))]


def regions_of(net: Neuralized) -> Regions | None:
    """The polyhedra of a network's clusters in its encoded columns; None where their borders are bent."""
    if net.features.norm is not None or net.features.trunk is not None:
        return None
    folded: Any = net.folded(np.dtype(np.float64))
    if isinstance(folded, Tournament):
        slopes, constants = _uncentred(folded)
        return TreeRegions(slopes, constants, folded.holds)
    if isinstance(folded, Competition):
        one_each = folded.starts is None or np.isinf(folded.gamma)
        if not one_each or folded.noise is not None or folded.background is not None:
            return None
        return NodeRegions(*_uncentred(folded), folded.members)
    if isinstance(folded, Quadratics) and (folded.maps == folded.maps[0]).all():
        # Equal precisions: squares of the point cancel in every difference of scores.
        diagonal, shifts = folded.maps.ndim == 2, folded.shifts
        slopes = shifts * folded.maps[0] if diagonal else shifts @ folded.maps[0]
        constants = 0.5 * np.einsum("ij,ij->i", shifts, shifts) - folded.constants + slopes @ folded.center
        return NodeRegions(slopes, constants, np.arange(len(slopes)))
    return None


def _uncentred(folded: Any) -> tuple[NDArray, NDArray]:
    """Scores as functions of the encoded columns themselves, not of their distance from the centre."""
    nodes = folded.nodes
    return nodes.slopes, nodes.constants + nodes.slopes @ nodes.center
