"""Pools: from the evidence against each competitor to the evidence for the cluster.

A pool takes the evidence h, one row per competitor and one column per point, with the largest
number of its type where a row is no competitor of that point's cluster (so that zero times it is
zero). It returns f_c and the weights α with which each h_k takes part in the explanation: what
is explained is Σ_k α_k h_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from whyclust.network.nodes import first_equal
from whyclust.saving.registry import saved

RULES = ("min_take_most", "expected")


@runtime_checkable
class Pool(Protocol):
    """What a network asks of its last layer."""

    @property
    def name(self) -> str:
        """Kind of pool."""
        ...

    @property
    def rule(self) -> str:
        """What the rule is called that it takes where none is asked for."""
        ...

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules that can be asked for; none where it has one of its own."""
        ...

    @property
    def threshold(self) -> float | None:
        """The probability that a cluster's must exceed; None where the largest one wins."""
        ...

    @property
    def takes_beta(self) -> bool:
        """Whether β is the stiffness of its weights, and not one of its own."""
        ...

    def evidence(self, h: NDArray, smallest: NDArray) -> NDArray:
        """f_c of every point, given the smallest h of each."""
        ...

    def offset(self, h: NDArray) -> NDArray | float:
        """The part of f_c that belongs to no competitor: it goes to the base value."""
        ...

    def weights(
        self, h: NDArray, smallest: NDArray, inside: NDArray, beta: float, rule: str | None
    ) -> tuple[NDArray, NDArray]:
        """α, of the shape of h, zero where there is no competitor, and Σ_k α_k h_k."""
        ...

    def slopes(self, h: NDArray, smallest: NDArray) -> NDArray:
        """∂f_c/∂h_k, of the shape of h."""
        ...


def absent(dtype: np.dtype) -> float:
    """The evidence against no one."""
    return float(np.finfo(dtype).max)


def _competitors(h: NDArray) -> NDArray:
    """How many competitors each point has."""
    return (h < absent(h.dtype)).sum(axis=0)


def _nearness(h: NDArray, smallest: NDArray, stiffness: float) -> NDArray:
    """exp(−stiffness·(h − min h)): 1 for the nearest competitor, 0 for absent ones."""
    with np.errstate(over="ignore"):  # far competitors: exp(−inf) is the zero we want
        p = np.subtract(smallest, h)
        p *= h.dtype.type(min(stiffness, float(np.finfo(h.dtype).max)))
    np.exp(p, out=p)
    return p


def _softmin(h: NDArray, smallest: NDArray, stiffness: float, total: NDArray | float = 1.0) -> NDArray:
    """Softmax of −stiffness·h over the competitors, times `total`; absent ones get zero."""
    p = _nearness(h, smallest, stiffness)
    p *= total / p.sum(axis=0)
    return p


@saved
@dataclass(frozen=True)
class MinPool:
    """f_c = min_k h_k: the nearest competitor decides (Prop. 1, layer 2)."""

    name: ClassVar[str] = "min"
    rule: ClassVar[str] = "expected"
    rules: ClassVar[tuple[str, ...]] = RULES
    threshold: ClassVar[float | None] = None
    takes_beta: ClassVar[bool] = True

    def evidence(self, h: NDArray, smallest: NDArray) -> NDArray:
        """f_c of every point."""
        return smallest

    def offset(self, h: NDArray) -> float:
        """A minimum has no part of its own."""
        return 0.0

    def weights(
        self, h: NDArray, smallest: NDArray, inside: NDArray, beta: float, rule: str | None
    ) -> tuple[NDArray, NDArray]:
        """Weights of the competitors.

        ``expected``, the default, is p_k, scaled to conserve f_c for points that are in the cluster.
        ``min_take_most`` is Eq. (2), α_k = p_k f_c / h_k, and only for points that are in the
        cluster, where 0 ≤ f_c ≤ h_k.
        """
        everywhere = bool(inside.all())
        if rule == "min_take_most":
            if not everywhere:
                raise ValueError(
                    "rule='min_take_most' was asked for a cluster that some points are not in, where it "
                    "divides by evidence that may be zero: use rule='expected' or leave rule=None."
                )
            if smallest.min() > 0:
                p = _softmin(h, smallest, beta, total=smallest)
                p /= h
                return p, smallest
            p = _softmin(h, smallest, beta)
            p *= _ratio(smallest, h)
            return p, np.einsum("kn,kn->n", p, h)
        p = _nearness(h, smallest, beta)
        total = np.einsum("kn,kn->n", p, h)
        if everywhere and smallest.min() > 0:  # the usual case, in few passes
            p *= smallest / total
            return p, smallest
        p /= p.sum(axis=0)
        factor = _ratio(smallest, np.einsum("kn,kn->n", p, h))
        p *= factor if everywhere else np.where(inside, factor, h.dtype.type(1))
        return p, np.einsum("kn,kn->n", p, h)

    def slopes(self, h: NDArray, smallest: NDArray) -> NDArray:
        """1 for the strongest competitor, the first of equals."""
        slopes = np.zeros_like(h)
        slopes[first_equal(h, smallest), np.arange(h.shape[1])] = 1.0
        return slopes


def _ratio(numerator: NDArray, denominator: NDArray) -> NDArray:
    """numerator / denominator, where 0/0 on a boundary counts as 1."""
    ratio = np.ones(np.broadcast_shapes(numerator.shape, denominator.shape), denominator.dtype)
    # Where a point is not in the cluster the quotient may be anything; it is not used there.
    with np.errstate(all="ignore"):
        np.divide(numerator, denominator, out=ratio, where=denominator != numerator)
    return ratio


@saved
@dataclass(frozen=True)
class SoftMinPool:
    """f_c = LME⁻¹_k {s h_k − log(N−1) + log((1−θ)/θ)}: is p_c above θ? (Prop. 7, Eq. 30).

    Parameters
    ----------
    threshold : float
        θ.
    stiffness : float
        s, where probabilities are softmax(s · logits): the evidence is in log-odds then.
    """

    threshold: float = 0.5
    stiffness: float = 1.0
    name: ClassVar[str] = "soft_min"
    rule: ClassVar[str] = "soft_min"
    rules: ClassVar[tuple[str, ...]] = ()
    takes_beta: ClassVar[bool] = False

    def offset(self, h: NDArray) -> NDArray:
        """log((1−θ)/θ) − log(N−1), N−1 the number of competitors."""
        odds = np.log1p(-self.threshold) - np.log(self.threshold)
        return (odds - np.log(_competitors(h))).astype(h.dtype)

    def evidence(self, h: NDArray, smallest: NDArray) -> NDArray:
        """log(p_c / (1 − p_c)) + log((1−θ)/θ)."""
        total = _nearness(h, smallest, self.stiffness).sum(axis=0)
        nearest = smallest * h.dtype.type(self.stiffness)
        return nearest - np.log(total / _competitors(h)).astype(h.dtype) + self.offset(h)

    def weights(
        self, h: NDArray, smallest: NDArray, inside: NDArray, beta: float, rule: str | None
    ) -> tuple[NDArray, NDArray]:
        """s softmax(−s h): Eq. (2) with β = 1 and the reassignment R_k ← R_k h_k / f_c, simplified."""
        p = self.slopes(h, smallest)
        return p, np.einsum("kn,kn->n", p, h)

    def slopes(self, h: NDArray, smallest: NDArray) -> NDArray:
        """s softmax(−s h): the very weights, because f_c is smooth."""
        return _softmin(h, smallest, self.stiffness, total=h.dtype.type(self.stiffness))
