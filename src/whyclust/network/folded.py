"""What a network asks of a head that has been folded into the space of the points."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray


class Folded(Protocol):
    """What a network asks of a folded head."""

    @property
    def center(self) -> NDArray:
        """What is subtracted from points before anything else."""
        ...

    @property
    def is_finite(self) -> bool:
        """Whether its numbers fit their type."""
        ...

    @property
    def width(self) -> int:
        """Numbers kept per point beside its features: decides the size of a block."""
        ...

    @property
    def n_competitors(self) -> int:
        """Rows of the evidence."""
        ...

    @property
    def separable(self) -> bool:
        """Whether relevance follows from points, clusters and weights, without the response."""
        ...

    def seen_from_zero(self) -> Any:
        """The same head, folded without a centre, whose points are explained against zero.

        For activations, which have a natural zero; what the head says there is base.
        """
        ...

    def respond(self, points: Any) -> Any:
        """Whatever must be computed once for a block."""
        ...

    def logits(self, response: Any) -> NDArray | None:
        """One row per cluster, or None where clusters have no logits of their own."""
        ...

    def assign(self, response: Any) -> NDArray:
        """The cluster of each point."""
        ...

    def evidence(self, response: Any, clusters: NDArray) -> NDArray:
        """Evidence for each point's cluster against each competitor, `absent` where there is none."""
        ...

    def competitor_of(self, clusters: NDArray, others: NDArray) -> NDArray:
        """The competitor (row of the evidence) that stands between a cluster and another one."""
        ...

    def cluster_of(self, response: Any, competitors: NDArray) -> NDArray:
        """The cluster that a competitor means, for each point."""
        ...

    def base(self, clusters: NDArray, weights: NDArray) -> NDArray:
        """Base values, where they do not depend on the points beyond the weights."""
        ...

    def gradient(self, points: Any, response: Any, clusters: NDArray, weights: NDArray) -> NDArray:
        """Σ_k α_k ∇h_k at each point, in the coordinates of the points."""
        ...

    def spread(
        self,
        points: NDArray,
        response: Any,
        clusters: NDArray,
        weights: NDArray,
        out: NDArray,
        scratch: NDArray,
    ) -> NDArray:
        """Write relevance into `out` and return the base values."""
        ...
