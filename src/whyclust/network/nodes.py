"""Nodes: the arithmetic of evidence and relevance, on blocks of points.

A node j (a prototype, a linear logit, a centre in a tree) has the score
``z_j(x) = s_j·x − b_j`` and stands at position p_j. The evidence of node i against node j is
``h = z_i − z_j``, explained around the mid-point (p_i + p_j)/2 as in Eq. (4):

    R_ij = (x − (p_i + p_j)/2) ⊙ (s_i − s_j).

Summed over pairs with weights, the products separate into matrix products with the nodes'
own arrays, so no array of points × competitors × features is ever built.

Evidence and weights have one row per competitor and one column per point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.inputs.reading import is_sparse
from whyclust.saving.registry import saved


@saved
@dataclass(frozen=True)
class Nodes:
    """Scores ``slopes·x − constants`` around `center`, at `positions`.

    `bases` is a node's part of the evidence at the mid-points. `symmetric` says
    that s_i ⊙ p_j = p_i ⊙ s_j for all pairs, as it is without a mixing map.
    """

    slopes: NDArray
    constants: NDArray
    positions: NDArray
    bases: NDArray
    center: NDArray
    symmetric: bool

    @cached_property
    def moments(self) -> NDArray:
        """½ p ⊙ s."""
        half = self.slopes.dtype.type(0.5)
        return half * self.positions * self.slopes

    @cached_property
    def momentless(self) -> bool:
        """Whether all of these are zero, as seen from zero."""
        return not self.moments.any()

    @cached_property
    def baseless(self) -> bool:
        """Whether all evidence vanishes at the mid-points, as in k-means."""
        return not self.bases.any()

    @property
    def is_finite(self) -> bool:
        """Whether all numbers fit their type."""
        return bool(np.isfinite(self.slopes).all() and np.isfinite(self.constants).all())

    @property
    def dtype(self) -> np.dtype:
        """Type of all arrays."""
        return self.slopes.dtype

    def seen_from_zero(self) -> Nodes:
        """The same scores, explained around zero instead of the mid-points."""
        return replace(self, positions=np.zeros_like(self.positions), bases=-self.constants, symmetric=True)

    def scores(self, points: Any) -> NDArray:
        """z, one row per node and one column per point."""
        product = self.slopes @ points.T
        product = np.ascontiguousarray(product.todense() if is_sparse(product) else product)
        product -= self.constants[:, None]
        return product

    def columns(self, chosen: NDArray) -> Nodes:
        """The same nodes on some of the columns: enough to distribute, not to score."""
        return Nodes(
            np.ascontiguousarray(self.slopes[:, chosen]),
            self.constants,
            np.ascontiguousarray(self.positions[:, chosen]),
            self.bases,
            self.center[chosen],
            self.symmetric,
        )

    def distribute(self, points: NDArray, signed: NDArray, out: NDArray, scratch: NDArray) -> None:
        """Write x ⊙ Σ w s − Σ w ½ p⊙s for node weights w (nodes × points)."""
        weights = signed.T
        np.matmul(weights, self.slopes, out=out)
        np.multiply(points, out, out=out)
        if self.momentless:
            return
        np.matmul(weights, self.moments, out=scratch)
        np.subtract(out, scratch, out=out)


class OnNodes:
    """A folded head that consists of nodes."""

    nodes: Nodes

    @property
    def center(self) -> NDArray:
        """What is subtracted from points before anything else."""
        return self.nodes.center

    @property
    def is_finite(self) -> bool:
        """Whether its numbers fit their type."""
        return self.nodes.is_finite

    def seen_from_zero(self) -> Any:
        """The same head, whose points are explained against zero."""
        own: Any = self
        return replace(own, nodes=self.nodes.seen_from_zero())


@dataclass(frozen=True)
class Scores:
    """A block's response: node scores, what clusters make of them, and the largest score.

    Whatever in a point is not finite reaches its largest score.
    """

    nodes: NDArray
    clusters: NDArray
    largest: NDArray

    @cached_property
    def assigned(self) -> NDArray:
        """The cluster of largest score, where clusters have scores."""
        return first_equal(self.clusters, self.largest)


def first_equal(rows: NDArray, wanted: NDArray) -> NDArray:
    """Position of the first row that equals `wanted`, in each column.

    What argmin and argmax along the first axis would give, several times as fast.

    >>> first_equal(np.array([[3.0, 1.0], [2.0, 1.0]]), np.array([2.0, 1.0]))
    array([1, 0])
    """
    count = len(rows)
    ranks = np.arange(count, 0, -1, dtype=np.int32 if count > 250 else np.uint8)
    found = np.multiply(rows == wanted, ranks[:, None]).max(axis=0)
    return count - found.astype(np.intp)


def subtract_cross(cross: NDArray, out: NDArray) -> None:
    """Take the terms p_i ⊙ s_j that a mixing map leaves from `out`; a row of them sums to zero."""
    cross *= cross.dtype.type(0.5)
    out -= cross
