"""Diversity: do different clusters have different features? (IDC, section 5)"""

from __future__ import annotations

from collections.abc import Iterable, Set
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import one_of
from whyclust.explaining.explanation import Explanation
from whyclust.inputs.reading import numeric, read_input
from whyclust.metrics.reading import explanation_in, refuse_bad_relevance, top_mask

_ALL_THE_SAME = (
    "Every feature has some importance for every cluster, so that all sets would be the same: give "
    "top, the number of features to compare."
)

#: How pairs of clusters are counted, in words.
FORMS = {
    "mean": "mean over pairs of clusters",
    "printed": "ordered pairs over the number of unordered ones, as printed",
    "released": "a cluster with itself counted, as in the released code",
}


class Diversity(float):
    """A diversity, which is a number that knows how it was taken.

    Attributes
    ----------
    form : {"mean", "printed", "released"}
        As it was asked for.
    n_clusters : int
    """

    form: str
    n_clusters: int

    @classmethod
    def of(cls, value: float, form: str, n_clusters: int) -> Diversity:
        """Join a number and its form."""
        found = cls(value)
        found.form, found.n_clusters = form, n_clusters
        return found

    def __repr__(self) -> str:
        return f"<Diversity {float(self):.4g} of {self.n_clusters} clusters, {FORMS[self.form]}>"


def diversity(importance: Any, *, top: int | None = None, form: str = "mean") -> Diversity:
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
    form : {"mean", "printed", "released"}
        ``"mean"`` is the mean over pairs of clusters. ``"printed"`` takes the paper's formula to the letter,
        which counts every pair twice: 1 − 2 (1 − mean). ``"released"`` is what the paper's program computes:
        each cluster is also compared with itself, so that K clusters cannot exceed 1 − 1/(K − 1) unless one
        has no feature at all; and of an explanation a cluster's features are those that at least half of its
        rows have, among the `top` of each row if it is given.

    Returns
    -------
    Diversity
        A float with its `form`: between 0, where all clusters have the same features, and 1, where none
        has one of another. It is as low as -1 if it is ``"printed"``, and 1 − K/(K − 1) if ``"released"``.

    Examples
    --------
    >>> diversity([[3.0, 2.0, 0.0], [0.0, 2.0, 3.0]], top=2)
    <Diversity 0.6667 of 2 clusters, mean over pairs of clusters>
    >>> float(diversity([{"age", "income"}, {"hue"}]))
    1.0
    >>> diversity([{"age"}, {"hue"}, {"income"}], form="released")
    <Diversity 0.5 of 3 clusters, a cluster with itself counted, as in the released code>
    """
    one_of("form", form, FORMS)
    sets = _given_sets(importance, form)
    if sets is None:
        explained = explanation_in(importance) if form == "released" else None
        sets = _top_sets(importance, top) if explained is None else _usual_sets(explained, top)
    elif top is not None:
        raise ValueError(
            f"top={top!r} was given with sets of features, which are taken whole: leave top out."
        )
    if len(sets) < 2:
        raise ValueError(
            f"Found {len(sets)} cluster(s), expected at least two: diversity compares pairs of clusters."
        )
    similarity = float(np.mean([jaccard(one, other) for one, other in combinations(sets, 2)]))
    if form == "printed":
        similarity *= 2.0
    elif form == "released":  # ΣΣ J / (K (K − 1)), the diagonal among them
        similarity += sum(jaccard(one, one) for one in sets) / (len(sets) * (len(sets) - 1))
    return Diversity.of(1.0 - similarity, form, len(sets))


def jaccard(one: Set[Any], other: Set[Any]) -> float:
    """Size of the intersection over that of the union; 0 where both are empty.

    >>> jaccard({1, 2, 3}, {2, 3, 4})
    0.5
    """
    return len(one & other) / max(1, len(one | other))


def _usual_sets(explained: Explanation, top: int | None) -> list[frozenset[int]]:
    """Features that at least half of a cluster's rows have: where the median over its rows is not zero."""
    if not explained.is_factored:
        refuse_bad_relevance(explained.values, "importance")
    names, codes = np.unique(explained.clusters, return_inverse=True)
    counts = np.zeros((len(names), explained.shape[1]))
    for rows, block in _blocks(explained):
        np.add.at(counts, codes[rows], top_mask(np.abs(block), top))
    usual = 2 * counts >= np.bincount(codes)[:, None]
    if top is None and usual.all():
        raise ValueError(_ALL_THE_SAME)
    real = [not explained.is_noise(name) for name in names]
    return [frozenset(np.flatnonzero(row).tolist()) for row in usual[real]]


def _given_sets(importance: Any, form: str) -> list[frozenset[Any]] | None:
    """The features of each cluster, where they are given as sets; None where they are not."""
    if not isinstance(importance, (list, tuple)) or not any(isinstance(one, Set) for one in importance):
        return None
    for position, one in enumerate(importance):
        if not isinstance(one, Set) or (len(one) == 0 and form != "released"):
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
        raise ValueError(_ALL_THE_SAME)
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
