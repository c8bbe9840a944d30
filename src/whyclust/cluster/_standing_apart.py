"""How many of k clusters stand apart: they come back in halves of the rows, with few rows on their borders.

All rows are clustered, and halves of them. Each half's clusters are matched with those of all rows, and
judged on the rows of the other half, which had no part in them. A cluster comes back as far as the matched
ones share its rows (Jaccard's index). Between two clusters lies a valley if fewer rows are found on the
border than beside the two centres: one lump that was cut in two has no valley, however often the same cut
comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from whyclust.cluster._distances import FloatArray, IntArray
from whyclust.cluster._k_paths import Family, Partition

# Positions between two clusters: 0 is the border, 1/2 is where the rows of a cluster are on average.
BORDER = 0.15
BESIDE = (0.35, 0.65)
# A cluster that shares less of its rows than this does not come back; at 1 it does entirely.
LEAST_SHARED = 0.7
# Rows on the border per row beside the centres: up to the first a valley, from the second on none.
VALLEY = (0.5, 1.05)
# Added to both counts: a border without rows says little between clusters of a few rows.
_PRIOR_ROWS = 0.5
# Smaller clusters are outliers.
SMALLEST = 5


class Tally:
    """What is known of the clusters of all rows, for one k: counts from all halves, added up."""

    def __init__(self, labels: IntArray, k: int) -> None:
        self.labels = labels
        self.sizes = np.bincount(labels, minlength=k)
        self.shared = np.zeros(k)
        self.border = np.zeros((k, k))
        self.beside = np.zeros((k, k))
        self.count = 0

    def add(self, half: Partition, rows: FloatArray, places: IntArray) -> None:
        """Judge the clusters of a half on rows of the other half; places are theirs among all rows."""
        k = len(self.sizes)
        scores = half.scores(rows)
        found = scores.argmin(axis=1)
        shared = jaccard(self.labels[places], found, k)
        own, matched = linear_sum_assignment(shared, maximize=True)
        self.shared += shared[own, matched]
        self.count += 1
        name = np.empty(k, dtype=int)
        name[matched] = own
        lowest = scores[np.arange(len(rows)), found]
        # In units of twice the mean: then rows of a cluster are at 1/2 on average.
        position = (scores - lowest[:, None]) / (2.0 * np.maximum(half.depth[found], 1e-12))
        members = (found == np.arange(k)[:, None]).astype(float)
        near = members @ (position < BORDER)
        self.border[np.ix_(name, name)] += near + near.T
        self.beside[np.ix_(name, name)] += members @ ((position > BESIDE[0]) & (position < BESIDE[1]))

    @property
    def agreement(self) -> float:
        """How far clusters come back, on average."""
        return float(self.shared.mean() / self.count) if self.count else 0.0

    def standing(self) -> FloatArray:
        """How far each cluster stands apart, from 0 to 1."""
        if len(self.sizes) == 1:
            return np.ones(1)
        if not self.count:
            return np.zeros(len(self.sizes))
        # Each row is in the other half once for every two halves.
        border, beside = 2.0 * self.border / self.count, 2.0 * self.beside / self.count
        ratio = (border + _PRIOR_ROWS) / (np.minimum(beside, beside.T) + _PRIOR_ROWS)
        np.fill_diagonal(ratio, -np.inf)
        valley = np.clip((VALLEY[1] - ratio.max(axis=1)) / (VALLEY[1] - VALLEY[0]), 0.0, 1.0)
        back = np.clip((self.shared / self.count - LEAST_SHARED) / (1.0 - LEAST_SHARED), 0.0, 1.0)
        return valley * back * (self.sizes >= SMALLEST)


def jaccard(one: IntArray, other: IntArray, k: int) -> FloatArray:
    """Rows that two clusters share, as a share of the rows of both, for all pairs.

    Examples
    --------
    >>> jaccard(np.array([0, 0, 0, 1]), np.array([1, 1, 0, 0]), 2).round(2).tolist()
    [[0.25, 0.67], [0.5, 0.0]]
    """
    both = np.bincount(one * k + other, minlength=k * k).reshape(k, k).astype(float)
    either = both.sum(axis=1)[:, None] + both.sum(axis=0) - both
    return both / np.maximum(either, 1.0)


def tallies(
    X: FloatArray,
    ks: Sequence[int],
    family: Family,
    n_splits: int,
    generator: np.random.Generator,
    done: Callable[[float], None] = lambda share: None,
) -> dict[int, Tally]:
    """Cluster all rows and halves of them, for every k.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    ks : sequence of int
        Numbers of clusters, 2 or more; those that X has too few distinct rows for are left out.
    family : Family
    n_splits : int
        How often the rows are halved.
    generator : numpy.random.Generator
    done : callable
        Called with the share that is over.

    Returns
    -------
    dict of int to Tally
    """
    points = X if family.embed is None else family.embed(X, _seed(generator))
    found = {k: Tally(whole.labels, k) for k, whole in family.path(points, ks, _seed(generator))}
    for number, (fitted, held) in enumerate(_halves(len(X), n_splits, generator)):
        done((1 + number) / (1 + 2 * n_splits))
        rows = points[held]
        for k, half in family.path(points[fitted], list(found), _seed(generator)):
            found[k].add(half, rows, held)
    return found


def tally_of(
    points: FloatArray,
    labels: IntArray,
    k: int,
    family: Family,
    n_splits: int,
    generator: np.random.Generator,
) -> Tally:
    """Judge clusters that are given, whoever found them, by halves in which their labels are known.

    Nothing is clustered again: whether clusters come back in refits is another question.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        As the family embeds them.
    labels : ndarray of shape (n_samples,)
        0 to k − 1.
    k : int
    family : Family
        What kind of borders the clusters have.
    n_splits : int
    generator : numpy.random.Generator

    Returns
    -------
    Tally
    """
    found = Tally(labels, k)
    for fitted, held in _halves(len(points), n_splits, generator):
        found.add(family.around(points[fitted], labels[fitted], k), points[held], held)
    return found


def _halves(
    n_rows: int, n_splits: int, generator: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray]]:
    for _ in range(n_splits):
        order = generator.permutation(n_rows)
        one, other = np.sort(order[: n_rows // 2]), np.sort(order[n_rows // 2 :])
        yield one, other
        yield other, one


def _seed(generator: np.random.Generator) -> int:
    return int(generator.integers(2**31 - 1))
