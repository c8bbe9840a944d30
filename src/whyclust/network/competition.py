"""Every cluster against every other one: k-means, soft and kernel k-means, linear logits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.network.nodes import Nodes, OnNodes, Scores, subtract_cross
from whyclust.network.noise import Noise
from whyclust.network.pools import absent
from whyclust.saving.registry import saved


class EveryOther:
    """Clusters that have a score each: every one competes with every other one."""

    def logits(self, response: Scores) -> NDArray:
        """One row per cluster."""
        return response.clusters

    def assign(self, response: Scores) -> NDArray:
        """The cluster of largest logit."""
        return response.assigned

    def evidence(self, response: Scores, clusters: NDArray) -> NDArray:
        """h_k = logit_c − logit_k."""
        # Flat indices are twice as fast as pairs of them; all arrays here are in C order.
        own = clusters * len(clusters) + np.arange(len(clusters))
        if clusters is response.assigned:  # no need to gather what is known
            h = response.largest - response.clusters
        else:
            h = response.clusters.ravel().take(own, mode="clip") - response.clusters
        h.ravel()[own] = absent(h.dtype)
        return h

    def competitor_of(self, clusters: NDArray, others: NDArray) -> NDArray:
        """Competitors are the clusters themselves."""
        return others

    def cluster_of(self, response: Scores, competitors: NDArray) -> NDArray:
        """Competitors are the clusters themselves."""
        return competitors


@dataclass(frozen=True)
class KernelScores(Scores):
    """Scores of several nodes a cluster, and their similarities to the points.

    `total` is the sum over a cluster's nodes and its background, `nodes_only` without the latter.
    """

    similarity: NDArray
    nodes_only: NDArray
    total: NDArray


@saved
@dataclass(frozen=True)
class Competition(EveryOther, OnNodes):
    """Every cluster against every other one.

    `starts` is the first node of each cluster, or None for one node a cluster. With `noise` the last
    node, alone in the last cluster, is that of noise.
    """

    nodes: Nodes
    starts: NDArray | None
    gamma: float
    background: NDArray | None
    metric: Any
    noise: Noise | None = None

    @property
    def width(self) -> int:
        """Numbers kept per point beside its features."""
        return 4 * len(self.nodes.slopes) + (0 if self.noise is None else 2 * self.nodes.slopes.shape[1])

    @property
    def n_competitors(self) -> int:
        """Rows of the evidence."""
        return len(self.nodes.slopes) if self.starts is None else len(self.starts)

    @property
    def separable(self) -> bool:
        """One node a cluster: the weights of the competitors tell everything."""
        return self.starts is None and self.noise is None

    @cached_property
    def members(self) -> NDArray:
        """The cluster of each node."""
        starts = np.arange(len(self.nodes.slopes)) if self.starts is None else self.starts
        return np.repeat(np.arange(len(starts)), np.diff([*starts, len(self.nodes.slopes)]))

    def respond(self, points: Any) -> Scores:
        """Node scores, and within each cluster −LME of the distances (Eq. 7)."""
        scores = self.nodes.scores(points)
        if self.noise is not None:  # a constant, where all others leave out the point's squared length
            scores[-1] += self.noise.squared_length(points)
        if self.starts is None:
            return Scores(scores, scores, scores.max(axis=0))
        gamma = scores.dtype.type(self.gamma)
        largest = np.maximum.reduceat(scores, self.starts, axis=0)
        constant = None
        if self.background is not None:
            # The squared length that all node scores leave out, here it does not cancel.
            image = self.metric @ points.T
            with np.errstate(divide="ignore"):
                level = (np.log(self.background) / self.gamma).astype(scores.dtype)
            constant = np.einsum("ij,ij->j", image, image) + level[:, None]
            largest = np.maximum(largest, constant)
        # Clusters far from a point underflow to zero: that is what the softmax says of them.
        similarity = scores - largest[self.members]
        if np.isinf(gamma):  # the nearest prototype alone stands for its cluster
            similarity = (similarity == 0).astype(scores.dtype)
        else:
            similarity *= gamma
            np.exp(similarity, out=similarity)
        total = np.add.reduceat(similarity, self.starts, axis=0)
        nodes_only = total if constant is None else total.copy()
        if constant is not None:
            total += np.exp(gamma * (constant - largest))
        pooled = largest + np.log(total) / gamma
        return KernelScores(scores, pooled, pooled.max(axis=0), similarity, nodes_only, total)

    @staticmethod
    def _signed(clusters: NDArray, weights: NDArray) -> NDArray:
        """Node weights: what the competitors lose, the cluster gains."""
        signed = np.negative(weights, order="C")  # so that its flat form is a view
        signed.ravel()[clusters * len(clusters) + np.arange(len(clusters))] = weights.sum(axis=0)
        return signed

    def base(self, clusters: NDArray, weights: NDArray) -> NDArray:
        """Σ_k α_k h_k(m_k), for one node a cluster."""
        if self.nodes.baseless:
            return np.zeros(len(clusters), dtype=self.nodes.dtype)
        return self._signed(clusters, weights).T @ self.nodes.bases

    def spread(
        self,
        points: NDArray,
        response: Any,
        clusters: NDArray,
        weights: NDArray,
        out: NDArray,
        scratch: NDArray,
    ) -> NDArray:
        """Closed forms 1 to 3; with several prototypes Eqs. (2), (4) and (10) at once."""
        nodes = self.nodes
        if self.starts is None:
            signed, base = self._signed(clusters, weights), self.base(clusters, weights)
        else:
            signed, base = self._shared(response, clusters, weights)
        nodes.distribute(points, signed, out, scratch)
        if not nodes.symmetric:
            self._mix(response, clusters, weights, out)
        if self.noise is not None:
            pairs = None if nodes.symmetric else self._pairs_with_noise(response, clusters, weights, signed)
            self.noise.spread(points, signed[-1], pairs, nodes, out)
        return base

    def gradient(self, points: Any, response: Any, clusters: NDArray, weights: NDArray) -> NDArray:
        """Σ_k α_k ∇h_k: slopes of the nodes, and what is quadratic in the point."""
        signed = self._signed(clusters, weights)
        per_node = signed
        if self.starts is not None:
            per_node = (signed / response.total)[self.members] * response.similarity
        result = per_node.T @ self.nodes.slopes
        if self.background is not None:
            constant = (signed * (response.total - response.nodes_only) / response.total).sum(axis=0)
            result += 2.0 * constant[:, None] * (self.metric.T @ (self.metric @ points.T)).T
        if self.noise is not None:
            result += signed[-1][:, None] * self.noise.gradient(points)
        return result.astype(self.nodes.dtype, copy=False)

    def _shared(self, response: KernelScores, clusters: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
        """Node weights and base values, for several nodes a cluster.

        h_ijk = d_j − d_i, so softmax_i does not depend on j, nor softmax_j on i: each node's share of
        its cluster is all there is to know. Eq. (10) sends h_ijk itself down, so pairs enter with the
        product of their shares; pairs with the background have no direction and stay in the base.
        """
        columns = np.arange(len(clusters))
        mass = response.nodes_only / response.total  # 1 without a background
        own_mass = mass[clusters, columns]
        per_cluster = -weights * own_mass
        per_cluster[clusters, columns] = np.einsum("kn,kn->n", weights, mass)
        signed = (per_cluster / response.total)[self.members]
        signed *= response.similarity
        base = weights.sum(axis=0) * response.clusters[clusters, columns]
        base -= np.einsum("kn,kn->n", weights, response.clusters)
        base -= np.einsum("mn,mn->n", signed, response.nodes)
        base += signed.T @ self.nodes.bases
        return signed, base

    def _own(self, response: Any, clusters: NDArray) -> NDArray:
        """Each node's share of the point's cluster (nodes × points), zero for all other nodes."""
        own = self.members[:, None] == clusters
        return own if self.starts is None else own * (response.similarity / response.total[self.members])

    def _mix(self, response: Any, clusters: NDArray, weights: NDArray, out: NDArray) -> None:
        """Take the cross terms of a map that mixes columns from `out`."""
        nodes = self.nodes
        if self.starts is None:
            cross = nodes.slopes[clusters] * (weights.T @ nodes.positions)
            cross -= nodes.positions[clusters] * (weights.T @ nodes.slopes)
        else:
            own = self._own(response, clusters).T
            others = (response.similarity / response.total[self.members] * weights[self.members]).T
            cross = (own @ nodes.slopes) * (others @ nodes.positions)
            cross -= (own @ nodes.positions) * (others @ nodes.slopes)
        subtract_cross(cross, out)

    def _pairs_with_noise(
        self, response: Any, clusters: NDArray, weights: NDArray, signed: NDArray
    ) -> NDArray:
        """All node weights where noise is the cluster, elsewhere what the cluster gains against it."""
        return np.where(clusters == self.members[-1], signed, self._own(response, clusters) * weights[-1])
