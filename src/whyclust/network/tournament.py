"""A tree of splits: bisecting k-means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.network.nodes import Nodes, OnNodes, Scores, subtract_cross
from whyclust.network.pools import absent
from whyclust.saving.registry import saved


@saved
@dataclass(frozen=True)
class Tournament(OnNodes):
    """A tree: at each split the point's side against the other side.

    The evidence against a node does not depend on the leaf, only whether it counts does.
    """

    nodes: Nodes
    children: NDArray
    leaves: NDArray

    @property
    def width(self) -> int:
        """Numbers kept per point beside its features."""
        return 5 * len(self.nodes.slopes)

    @property
    def n_competitors(self) -> int:
        """Rows of the evidence."""
        return len(self.leaves)

    @property
    def separable(self) -> bool:
        """The weights of the competitors tell everything."""
        return True

    @cached_property
    def sibling(self) -> NDArray:
        """Siblings stand side by side."""
        return np.arange(len(self.leaves)) ^ 1

    @cached_property
    def holds(self) -> NDArray:
        """holds[c, j]: cluster c is at or below node j."""
        holds = np.zeros((self.leaves.max() + 1, len(self.leaves)), dtype=bool)
        for node in reversed(range(len(self.leaves))):  # children stand after their parent
            if self.leaves[node] >= 0:
                holds[self.leaves[node], node] = True
            else:
                left = self.children[node]
                holds[:, node] = holds[:, left] | holds[:, left + 1]
        return holds

    @cached_property
    def competes(self) -> NDArray:
        """competes[c, j]: node j is a competitor of cluster c, being the sibling of its ancestor."""
        return self.holds[:, self.sibling]

    def respond(self, points: Any) -> Scores:
        """Node scores, and for each node the cluster where a point lands that starts there."""
        scores = self.nodes.scores(points)
        landing = np.empty(scores.shape, dtype=np.intp)
        for node in reversed(range(len(self.leaves))):
            if self.leaves[node] >= 0:
                landing[node] = self.leaves[node]
            else:
                landing[node] = self._nearer(scores, landing, self.children[node])
        return Scores(scores, landing, scores.max(axis=0))

    @staticmethod
    def _nearer(scores: NDArray, landing: NDArray, left: int) -> NDArray:
        """At a tie the left child wins, as in scikit-learn."""
        return np.where(scores[left] >= scores[left + 1], landing[left], landing[left + 1])

    def logits(self, response: Scores) -> None:
        """Clusters of a tree have no logits: each is compared with other things."""
        return

    def assign(self, response: Scores) -> NDArray:
        """Descend from the root, whose children are nodes 0 and 1."""
        return self._nearer(response.nodes, response.clusters, 0)

    def evidence(self, response: Scores, clusters: NDArray) -> NDArray:
        """h against each sibling of an ancestor."""
        h = response.nodes[self.sibling] - response.nodes
        h[~self.competes[clusters].T] = absent(h.dtype)
        return h

    def competitor_of(self, clusters: NDArray, others: NDArray) -> NDArray:
        """The node at which the paths to the two clusters part."""
        return (self.competes[clusters] & self.holds[others]).argmax(axis=1)

    def cluster_of(self, response: Scores, competitors: NDArray) -> NDArray:
        """Where the point would land on the competitor's side."""
        return response.clusters[competitors, np.arange(len(competitors))]

    def base(self, clusters: NDArray, weights: NDArray) -> NDArray:
        """Σ_k α_k h_k(m_k)."""
        return (weights[self.sibling] - weights).T @ self.nodes.bases

    def gradient(self, points: Any, response: Any, clusters: NDArray, weights: NDArray) -> NDArray:
        """Σ_k α_k ∇h_k over the splits."""
        return (weights[self.sibling] - weights).T @ self.nodes.slopes

    def spread(
        self,
        points: NDArray,
        response: Any,
        clusters: NDArray,
        weights: NDArray,
        out: NDArray,
        scratch: NDArray,
    ) -> NDArray:
        """Eq. (4) summed over the splits."""
        nodes, sibling = self.nodes, self.sibling
        nodes.distribute(points, weights[sibling] - weights, out, scratch)
        if not nodes.symmetric:
            pairs = nodes.slopes[sibling] * nodes.positions
            pairs -= nodes.positions[sibling] * nodes.slopes
            subtract_cross(weights.T @ pairs, out)
        return self.base(clusters, weights)
