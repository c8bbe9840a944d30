"""Quadratic heads: Gaussian mixtures (closed form 4).

The score of cluster k is ``z_k(a) = b_k − ½‖Lᵀ_k (a − μ_k)‖²``, L_k a root of its precision matrix. The
evidence h = z_c − z_k is quadratic, and its exact Shapley value with the mid-point m of the two means as
reference is ``(x − m) ⊙ ½(∇h(x) + ∇h(m))``; h(m) is base.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whyclust.network.competition import EveryOther
from whyclust.network.features import AffineMap
from whyclust.network.nodes import Scores
from whyclust.saving.registry import saved


@saved
@dataclass(frozen=True)
class QuadraticHead:
    """Clusters with a mean, a precision matrix and a constant each.

    Parameters
    ----------
    means : ndarray of shape (n_clusters, n_features)
    roots : ndarray of shape (n_clusters, n_features, n_features) or (n_clusters, n_features)
        L_k, or their diagonals where they are diagonal.
    constants : ndarray of shape (n_clusters,)
        The score at the mean: log π_k + ½ log|Λ_k|, up to what all clusters share.
    """

    means: NDArray
    roots: NDArray
    constants: NDArray
    probability_stiffness: float | None = 1.0
    noise: ClassVar[float | None] = None
    name: ClassVar[str] = "quadratic"

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.means)

    @property
    def n_inputs(self) -> int:
        """Number of features it reads."""
        return self.means.shape[1]

    def without_noise(self) -> QuadraticHead:
        """No row is noise here."""
        return self

    def typical_points(self, linear: AffineMap) -> tuple[NDArray, NDArray]:
        """The means, as points of the input space."""
        return linear.preimage(self.means.astype(float)), np.arange(self.n_clusters)

    def fold(self, linear: AffineMap, dtype: np.dtype, centred: bool) -> Quadratics:
        """The same head, moved to the input of an affine map."""
        means = np.asarray(self.means, dtype=np.float64)
        preimages = linear.preimage(means)
        center = (preimages.mean(axis=0) if centred else np.zeros(linear.n_inputs)).astype(dtype)
        origin = center.astype(np.float64)
        relative = means - linear(origin[None])
        diagonal = self.roots.ndim == 2
        if diagonal and linear.is_identity:
            maps = np.asarray(self.roots, dtype=np.float64)
            shifts = maps * relative
        else:
            roots = [np.diag(root) if diagonal else root for root in self.roots]
            maps = np.stack([linear.pull(np.asarray(root, dtype=np.float64).T) for root in roots])
            shifts = np.stack([root.T @ mean for root, mean in zip(roots, relative, strict=True)])
        return Quadratics(
            maps.astype(dtype),
            shifts.astype(dtype),
            np.asarray(self.constants, dtype=dtype),
            (preimages - origin).astype(dtype),
            center,
        )


@dataclass(frozen=True)
class Quadratics(EveryOther):
    """z_k(x) = constants_k − ½‖maps_k x − shifts_k‖² around `center`, at `positions`.

    `maps` has three dimensions, or two where every map is diagonal.
    """

    maps: NDArray
    shifts: NDArray
    constants: NDArray
    positions: NDArray
    center: NDArray

    @property
    def is_finite(self) -> bool:
        """Whether its numbers fit their type."""
        return all(np.isfinite(part).all() for part in (self.maps, self.shifts, self.constants))

    def seen_from_zero(self) -> Quadratics:
        """The same scores, explained against zero instead of the mid-points."""
        return replace(self, positions=np.zeros_like(self.positions))

    @property
    def width(self) -> int:
        """Numbers kept per point beside its features."""
        return 4 * len(self.constants) + 3 * self.shifts.shape[1]

    @property
    def n_competitors(self) -> int:
        """Rows of the evidence."""
        return len(self.constants)

    @property
    def separable(self) -> bool:
        """The gradient depends on the point, so weights do not tell everything."""
        return False

    def _residuals(self, points: NDArray, cluster: int) -> NDArray:
        """Lᵀ(a − μ) of a cluster."""
        if self.maps.ndim == 2:
            return points * self.maps[cluster] - self.shifts[cluster]
        return points @ self.maps[cluster].T - self.shifts[cluster]

    def _gradient(self, points: NDArray, cluster: int) -> NDArray:
        """∇z of a cluster."""
        residuals = self._residuals(points, cluster)
        return -residuals * self.maps[cluster] if self.maps.ndim == 2 else -residuals @ self.maps[cluster]

    def _score(self, points: NDArray, cluster: int) -> NDArray:
        residuals = self._residuals(points, cluster)
        half = points.dtype.type(0.5)
        return self.constants[cluster] - half * np.einsum("ij,ij->i", residuals, residuals)

    def respond(self, points: Any) -> Scores:
        """Log-likelihoods, up to what all clusters share."""
        scores = np.stack([self._score(points, cluster) for cluster in range(len(self.constants))])
        return Scores(scores, scores, scores.max(axis=0))

    @cached_property
    def _pairs(self) -> dict[int, tuple[NDArray, NDArray, NDArray]]:
        return {}

    def _pair(self, cluster: int) -> tuple[NDArray, NDArray, NDArray]:
        """Mid-points with all competitors; ∇h and h there."""
        if cluster not in self._pairs:
            middles = (self.positions[cluster] + self.positions) * self.positions.dtype.type(0.5)
            others = range(len(self.constants))
            gradients = np.concatenate([self._gradient(middles[k : k + 1], k) for k in others])
            values = np.concatenate([self._score(middles[k : k + 1], k) for k in others])
            gradients = self._gradient(middles, cluster) - gradients
            self._pairs[cluster] = middles, gradients, self._score(middles, cluster) - values
        return self._pairs[cluster]

    def base(self, clusters: NDArray, weights: NDArray) -> NDArray:
        """Σ_k α_k h_k(m_k)."""
        result = np.empty(len(clusters), dtype=weights.dtype)
        for cluster in np.unique(clusters):
            rows = clusters == cluster
            result[rows] = self._pair(int(cluster))[2] @ weights[:, rows]
        return result

    def gradient(self, points: Any, response: Any, clusters: NDArray, weights: NDArray) -> NDArray:
        """Σ_k α_k ∇h_k."""
        total = weights.sum(axis=0)
        result = np.zeros_like(points)
        for k in range(len(self.constants)):
            signed = np.where(clusters == k, total, -weights[k])
            result += signed[:, None] * self._gradient(points, k)
        return result

    def spread(
        self,
        points: NDArray,
        response: Any,
        clusters: NDArray,
        weights: NDArray,
        out: NDArray,
        scratch: NDArray,
    ) -> NDArray:
        """Σ_k α_k (x − m_k) ⊙ ½(∇h_k(x) + ∇h_k(m_k))."""
        half = points.dtype.type(0.5)
        own_gradient = scratch
        out[...] = 0.0
        own_position = self.positions[clusters]
        for k in range(len(self.constants)):
            gradient = self._gradient(points, k)
            own = clusters == k
            own_gradient[own] = gradient[own]
            gradient *= points - half * (own_position + self.positions[k])
            gradient *= weights[k][:, None]  # zero for the cluster itself
            out -= gradient
        total = weights.sum(axis=0)[:, None]
        out += own_gradient * (total * (points - half * own_position) - half * (weights.T @ self.positions))
        for cluster in np.unique(clusters):
            rows = clusters == cluster
            middles, gradients, _ = self._pair(int(cluster))
            share = weights[:, rows].T
            out[rows] += points[rows] * (share @ gradients) - share @ (middles * gradients)
        out *= half
        return self.base(clusters, weights)
