"""Scores that need no perturbation: random, squared columns, nearest centroid analysis (section VII)."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyclust.baselines.asked import Asked, Attribution, seeded
from whyclust.baselines.references import read_reference
from whyclust.baselines.registry import baseline
from whyclust.network import PrototypeHead
from whyclust.perturbing.encoded import as_rows


@baseline(
    "random",
    title="columns in random order",
    scores="drawn from [0, 1): what any method should beat",
    usual=True,
    measures="random score, which knows no clusters",
)
def random_scores(asked: Asked, *, random_state: Any = 0) -> Attribution:
    """Scores drawn from [0, 1): what any method should beat.

    Chance knows nothing, not even which columns the model reads.
    """
    n_rows = len(asked.points)
    values = seeded(random_state).random((n_rows, asked.n_columns))
    return Attribution(values, np.zeros(n_rows), collected=True)


@baseline(
    "squared",
    title="squared distance from the mean",
    scores="(x − x̃)², without looking at the model",
    usual=True,
    measures="squared distance from the mean, which knows no clusters",
)
def squared(asked: Asked, *, reference: Any = "mean") -> Attribution:
    """(x − x̃)², in the units of the features: a strong trivial baseline on standardised columns."""
    moved = (asked.points - read_reference(asked, reference)) * asked.lengths
    return Attribution.without_base(moved * moved)


@baseline(
    "nca",
    title="nearest centroid alone",
    scores="(x − μ_k)² − (x − μ_c)², k the nearest competing centroid; models with one centroid a cluster",
    usual=True,
)
def nearest_centroid(asked: Asked) -> Attribution:
    """(x − μ_k)² − (x − μ_c)², k the nearest competing centroid.

    That is the relevance against this competitor alone; behind a map that mixes columns, too.
    """
    head = asked.net.head
    if not isinstance(head, PrototypeHead) or head.background is not None or _several(head):
        raise TypeError(
            f"method='nca' compares centroids, but {asked.net.model or 'this model'} has not one centroid "
            "for each cluster: use it for k-means, or another method."
        )
    found = asked.net.relevance_rows(as_rows(asked.points), cluster=asked.clusters, against=asked.competitors)
    return Attribution(found.values, found.base_values)


def _several(head: PrototypeHead) -> bool:
    """Whether a cluster has several prototypes, or none, as noise has."""
    return len(head.prototypes) != head.n_clusters
