"""β, the stiffness of the min-take-most rule: it belongs to the network, not to a call."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust.inputs.reading import plain_tensor
from whyclust.moments.numbers import Mean
from whyclust.saving.registry import saved

if TYPE_CHECKING:
    from whyclust.network.network import Neuralized


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class EvidenceMoments:
    """The evidence of some points, as far as β needs it; parts add up.

    Attributes
    ----------
    all : Mean
        Of all points.
    inside : Mean
        Of the points inside their clusters, where evidence is positive.

    Examples
    --------
    >>> parts = EvidenceMoments.of(np.array([1.0])), EvidenceMoments.of(np.array([3.0]))
    >>> (parts[0] + parts[1]).stiffness()
    0.5
    """

    all: Mean
    inside: Mean

    @classmethod
    def of(cls, evidence: NDArray) -> EvidenceMoments:
        """Of the evidence of some points."""
        return cls(Mean.of(evidence), Mean.of(evidence[evidence > 0]))

    def __add__(self, other: EvidenceMoments) -> EvidenceMoments:
        return EvidenceMoments(self.all + other.all, self.inside + other.inside)

    def stiffness(self) -> float:
        """β = 1/E[f_c] (Eq. 3), positive and finite whatever the evidence."""
        mean = float(self.all.value)
        if not mean > 0:
            some = self.inside.count > 0
            mean = float(self.inside.value) if some else 1.0
            warnings.warn(
                "The mean evidence of the background is not positive, so β was taken from "
                + ("the points inside their clusters." if some else "1: all points are on boundaries."),
                UserWarning,
                stacklevel=4,
            )
        tiny = np.finfo(float).tiny
        return float(1.0 / min(max(mean, tiny * 4), np.finfo(float).max / 4))


def stiffness(evidence: NDArray) -> float:
    """β = 1/E[f_c] (Eq. 3) of the evidence of all points at once.

    >>> stiffness(np.array([1.0, 3.0]))
    0.5
    """
    return EvidenceMoments.of(evidence).stiffness()


def prototype_stiffness(net: Neuralized, labels: Any) -> float:
    """1/β ≈ Σ_c π_c E[f_c at the prototypes of c]: no data are at hand."""
    typical = net.head.typical_points(net.features.folded)
    if typical is None:
        warnings.warn(
            "No background is known for this network, so β = 1 was taken: pass background=X.",
            UserWarning,
            stacklevel=3,
        )
        return 1.0
    points, members = typical
    folded = net.folded(np.dtype(np.float64))
    response = folded.respond(points - folded.center)
    h = folded.evidence(response, members)
    evidence = net.pool.evidence(h, h.min(axis=0))
    counts = np.bincount(members, minlength=len(net.clusters)).astype(float)
    shares = np.full(len(net.clusters), 1.0 / len(net.clusters))
    # Labels of any type; what is no cluster of the network, noise among it, says nothing of the shares.
    found = Counter([] if labels is None else np.ravel(plain_tensor(labels)).tolist())
    sizes = np.array([found[cluster] for cluster in net.clusters.tolist()], dtype=float)
    if net.head.noise is not None:
        sizes[-1] = 0.0
    if sizes.any():
        shares = sizes / sizes.sum()
    if (counts == 0).any():  # noise has no prototypes: the clusters share its part
        shares = np.where(counts > 0, shares, 0.0)
        shares /= shares.sum() or 1.0
        counts = np.maximum(counts, 1.0)
    weights = (shares / counts)[members]
    return stiffness(np.array([float(evidence @ weights)]))
