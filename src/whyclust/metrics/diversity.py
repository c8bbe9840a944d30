"""Diversity: do different clusters have different features? (IDC, section 5)"""

from __future__ import annotations

from collections.abc import Iterable, Set
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.explaining.explanation import Explanation
from whyclust.inputs.reading import numeric, read_input
from whyclust.metrics.reading import explanation_in, refuse_bad_relevance, top_mask


def diversity(importance: Any, *, top: int | None = None) -> float:
    """One minus the mean Jaccard similarity of the clusters' features, over all pairs of clusters.

    The paper's formula sums over ordered pairs and divides by the number of unordered ones, so that
    equal sets would give -1: it is read as the mean over unordered pairs.

    Parameters
    ----------
    importance : Explanation, array of shape (n_clusters, n_features), or list of sets
        Of an explanation, a cluster's importance is the mean of |relevance| over the rows explained
        for it; noise is no cluster. Of an array, its absolute value. Sets are the features
        themselves, by name or position.
    top : int, optional
        Features per cluster. Those without any importance never count, so that a cluster may have
        fewer. By default all that have some, which is meant for gates that are shut or open.

    Returns
    -------
    float
        Between 0, where all clusters have the same features, and 1, where none has one of another.

    Examples
    --------
    >>> diversity([[3.0, 2.0, 0.0], [0.0, 2.0, 3.0]], top=2)
    0.6666666666666667
    >>> diversity([{"age", "income"}, {"hue"}])
    1.0
    """
    sets = _given_sets(importance)
    if sets is None:
        sets = _top_sets(importance, top)
    elif top is not None:
        raise ValueError(
            f"top={top!r} was given with sets of features, which are taken whole: leave top out."
        )
    if len(sets) < 2:
        raise ValueError(
            f"Found {len(sets)} cluster(s), expected at least two: diversity compares pairs of clusters."
        )
    return 1.0 - float(np.mean([jaccard(one, other) for one, other in combinations(sets, 2)]))


def jaccard(one: Set[Any], other: Set[Any]) -> float:
    """Size of the intersection over that of the union.

    >>> jaccard({1, 2, 3}, {2, 3, 4})
    0.5
    """
    return len(one & other) / len(one | other)


def _given_sets(importance: Any) -> list[frozenset[Any]] | None:
    """The features of each cluster, where they are given as sets; None where they are not."""
    if not isinstance(importance, (list, tuple)) or not any(isinstance(one, Set) for one in importance):
        return None
    for position, one in enumerate(importance):
        if not isinstance(one, Set) or len(one) == 0:
            raise ValueError(
                f"importance[{position}] is {one!r}, expected a set of at least one feature for each cluster."
            )
    return [frozenset(one) for one in importance]


def _top_sets(importance: Any, top: int | None) -> list[frozenset[int]]:
    explained = explanation_in(importance)
    if explained is not None:
        names, strength = cluster_importance(explained)
        called = [explained.named(name) for name in names.tolist()]
    else:
        strength = np.abs(np.asarray(numeric(read_input(importance, "importance").data, "importance"), float))
        called = [f"cluster {position}" for position in range(len(strength))]
    refuse_bad_relevance(strength, "importance")
    for name, row in zip(called, strength, strict=True):
        # A constant says nothing of what sets this cluster apart, unless all features are asked for.
        if row.min() == row.max() and top != len(row):
            raise ValueError(
                f"The importance of {name} is {row[0]:g} for every feature, so that it has no top features: "
                "expected importance that differs."
            )
    chosen = top_mask(strength, top)
    if top is None and chosen.all():
        raise ValueError(
            "Every feature has some importance for every cluster, so that all sets would be the same: give "
            "top, the number of features to compare."
        )
    return [frozenset(np.flatnonzero(row).tolist()) for row in chosen]


def cluster_importance(explanation: Explanation) -> tuple[NDArray, NDArray]:
    """Clusters other than noise, and the mean of |relevance| over the rows explained for each."""
    names, codes = np.unique(explanation.clusters, return_inverse=True)
    total = np.zeros((len(names), explanation.shape[1]))
    for rows, block in _blocks(explanation):
        np.add.at(total, codes[rows], np.abs(block))
    total /= np.bincount(codes)[:, None]
    real = np.array([not explanation.is_noise(name) for name in names])
    return names[real], total[real]


def _blocks(explanation: Explanation) -> Iterable[tuple[NDArray, NDArray]]:
    """Relevance of sparse tables is made block by block, never all at once."""
    values = explanation.values
    return values.blocks() if explanation.is_factored else [(np.arange(len(values)), values)]
