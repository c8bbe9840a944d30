"""How far the two spaces of ACe/DeC are apart, and what must be said where they are not.

Sentences are here, above all rooms that tell them, and need no PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whyclust.cluster.sub_k_means import SubKMeans
from whyclust.saving.registry import saved

# A smaller share of what is ignored changes no list of columns.
_FEW = 0.05


def collapsed(n_cluster: int, n_shared: int) -> str | None:
    """What is said where one of the spaces has no dimension; else None.

    >>> collapsed(2, 5)
    >>> collapsed(0, 7)
    'The spaces have collapsed: all 7 dimensions of the embedding are in the shared space, so what the
    clusters use cannot be told from what they ignore.'
    """
    if n_cluster and n_shared:
        return None
    place, so = (
        ("cluster", "it cannot be told what the clusters ignore")
        if n_cluster
        else ("shared", "what the clusters use cannot be told from what they ignore")
    )
    return (
        f"The spaces have collapsed: all {n_cluster + n_shared} dimensions of the embedding are in the "
        f"{place} space, so {so}."
    )


@saved(alone=False)
@dataclass(frozen=True)
class SpacesApart:
    """How far the spaces are apart, for rows of which it is told what is ignored.

    Attributes
    ----------
    n_cluster, n_shared : int
        Dimensions of each space.
    leftover : float
        The share of what is ignored of the rows that lies in dimensions of the cluster space: these have a
        weight in the shared space, too, as long as weights are soft.
    """

    n_cluster: int
    n_shared: int
    leftover: float

    @property
    def doubt(self) -> str | None:
        """What must be known of columns that are ignored, if anything."""
        told = collapsed(self.n_cluster, self.n_shared)
        if told is not None or not self.leftover > _FEW:
            return told
        return (
            f"Weights are soft: {self.leftover:.0%} of what is ignored lies in dimensions of the cluster "
            "space, so columns that the clusters use are among it. model.hardened(X) parts the two spaces."
        )


def without_spaces(model: Any) -> str:
    """What is said where a model is asked for spaces that it has not learned."""
    name = model.__name__ if isinstance(model, type) else type(model).__name__
    told = (
        f"{name} has no cluster space and shared space that were learned with a decoder: expected a fitted "
        "whyclust.deep.ACeDeC, or a Pipeline that ends in one."
    )
    if isinstance(model, SubKMeans):
        told += " The directions of its own shared space are model.rotation_[:, model.n_components_:]."
    return told
