"""Is there structure at all? Given clusters, whoever found them, against those of one lump.

It is counted how many of the clusters stand apart: rows that had no part in drawing the borders are rare on
them (`_standing_apart`). Tables of one lump that are made like the given one (`_one_lump`) are cut into as
many clusters, and what stands apart there is subtracted. Other numbers of clusters are tried, too. Clusters
that k-means finds again count as they do where k is chosen, so that both say the same of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from whyclust._progress import done, step
from whyclust.cluster._distances import FloatArray, IntArray, squared_distances
from whyclust.cluster._k_paths import Family, family
from whyclust.cluster._one_lump import LUMPS, blurred, kinds_of_columns, one_lump
from whyclust.cluster._standing_apart import SMALLEST, tally_of
from whyclust.cluster._standing_counts import Counts, count_clusters
from whyclust.cluster.choose_k import EACH_FURTHER, FEWEST_ROWS, ONE_CLUSTER, ChosenK

BoolArray = NDArray[np.bool_]

# Kinds of borders: centres first, then the one that tells the clusters of most rows not seen.
_KINDS = ("kmeans", "mixture", "kernel")
_CENTRES_AGREE, _ENOUGH_AGREEMENT = 0.995, 0.9
# Adjusted Rand index from which on clusters are those that are found where k is chosen.
_FOUND_AGAIN = 0.9
# Other numbers of clusters that are tried: these, and up to half as many more as were given.
_TRIED, _MOST_TRIED = 10, 30
# By more clusters than this another number must be better supported.
_BETTER = 0.5
_RESAMPLES = 10
# Few rows are outliers if they are farther from all clusters than so many times what is usual.
_FAR = 3.0


@dataclass(frozen=True)
class Structure:
    """How many clusters stand apart, and how many do where there are none.

    Attributes
    ----------
    k : int
        Clusters that were counted.
    apart, by_chance : float
        How many stand apart, here and in tables of one lump.
    error : float
        Standard error of `apart` over samples of the rows.
    better : tuple of int and float, or None
        Another number of clusters that is better supported, with its support; the same number where
        another clustering is.
    n_rows : int
        Rows that were used.
    unknown : str or None
        Why nothing was counted.
    """

    k: int = 0
    apart: float = 0.0
    by_chance: float = 0.0
    error: float = 0.0
    better: tuple[int, float] | None = None
    n_rows: int = 0
    unknown: str | None = None

    @property
    def support(self) -> float:
        """Clusters that stand apart beyond chance."""
        return max(self.apart - self.by_chance, 0.0)

    @property
    def stands_out(self) -> bool:
        """Whether the clusters are better supported than one cluster of all rows."""
        return self.k > 1 and self.support > enough_support(self.k)


def structure(
    rows: FloatArray,
    labels: IntArray,
    *,
    others: bool = True,
    chosen: ChosenK | None = None,
    random_state: int = 0,
    progress: Callable[[str], None] = lambda message: None,
) -> Structure:
    """Count the clusters that stand apart.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        As they were clustered: scaled, without noise and outliers.
    labels : ndarray of shape (n_samples,)
        The cluster of each row; one cluster is none that could stand apart.
    others : bool
        Whether to try other numbers of clusters.
    chosen : ChosenK, optional
        What was counted on these rows when their number of clusters was chosen. It is counted anew where it
        is not known, or was counted by borders of another kind.
    random_state : int
        Seed of halves, references and samples.
    progress : callable
        Called with a short text at every step.

    Returns
    -------
    Structure

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> rows = generator.normal(size=(200, 2))
    >>> halves = (rows[:, 0] > 0).astype(int)
    >>> structure(rows, halves).stands_out, structure(rows + 6.0 * halves[:, None], halves).stands_out
    (False, True)
    """
    names, codes = np.unique(labels, return_inverse=True)
    k = len(names)
    found = Structure(k=k, n_rows=len(rows))
    if k < 2:
        return found
    if len(rows) < max(FEWEST_ROWS, SMALLEST * k):
        return replace(found, unknown=f"{len(rows)} rows are too few for {k} clusters")
    rows = rows - rows.mean(axis=0)
    generator = np.random.default_rng(random_state)
    progress("Looking for structure: clusters that stand apart")
    step(0, 2)
    kind = _kind_of(rows, codes, k, generator)
    if kind is None:
        return replace(
            found, unknown="neither centres nor Gaussians nor a kernel tell these clusters of rows not seen"
        )
    apart, error = _apart(rows, codes, k, kind, generator)
    progress("Looking for structure: tables without any")
    step(1, 2)
    by_chance = _by_chance(rows, k, kind, generator)
    if kind is not family(_KINDS[0]) and k - by_chance <= enough_support(k):
        return replace(found, unknown="cut by such borders, pieces of one lump stand apart as well")
    found = replace(found, apart=apart, error=error, by_chance=by_chance)
    if not others:
        return found
    progress("Looking for structure: other numbers of clusters")
    if chosen is not None and family(chosen.method) is kind and k in chosen.apart:
        counts = Counts(chosen.apart, chosen.by_chance, chosen.agreement)
    else:
        largest = min(max(_TRIED, min(3 * k // 2, _MOST_TRIED)), len(rows) // SMALLEST)
        counts = count_clusters(rows, range(2, largest + 1), kind, generator, lambda message: None)
    if _found_again(rows, codes, k, kind, generator):
        counted = replace(found, apart=counts.apart[k], by_chance=counts.by_chance[k])
        found = max(found, counted, key=lambda one: one.support)
    return replace(found, better=_better(found, counts))


def outlier_clusters(rows: FloatArray, labels: IntArray, few: BoolArray) -> list[int]:
    """Which of the clusters of a few rows are far from all others.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,)
        0 to k − 1.
    few : ndarray of bool of shape (k,)
        What `few_rows` says of them.

    Examples
    --------
    >>> rows = np.append(np.arange(100.0), [900.0, 901.0])[:, None]
    >>> outlier_clusters(rows, np.repeat([0, 1, 2], [50, 50, 2]), np.array([False, False, True]))
    [2]
    """
    if not few.any() or few.all():
        return []
    centers = np.array([rows[labels == one].mean(axis=0) for one in np.flatnonzero(~few)])
    distances = np.sqrt(squared_distances(rows, centers).min(axis=1))
    usual = float(np.median(distances[~few[labels]]))
    return [int(one) for one in np.flatnonzero(few) if distances[labels == one].min() > _FAR * usual]


def few_rows(sizes: IntArray) -> BoolArray:
    """Which clusters have so few rows that they may be outliers: fewer than 5 and at most 5%, or 10 and 1%.

    >>> few_rows(np.array([4, 10, 11, 975])), few_rows(np.array([4, 6]))
    (array([ True,  True, False, False]), array([False, False]))
    """
    share = sizes / sizes.sum()
    return ((sizes < SMALLEST) & (share <= 0.05)) | ((sizes <= 2 * SMALLEST) & (share <= 0.01))


def enough_support(k: int) -> float:
    """What k clusters must exceed to be better supported than one, as in choosing k.

    >>> enough_support(2), enough_support(5)
    (1.25, 2.0)
    """
    return ONE_CLUSTER + EACH_FURTHER * (k - 1)


def _embedded(rows: FloatArray, kind: Family, generator: np.random.Generator) -> FloatArray:
    return rows if kind.embed is None else kind.embed(rows, int(generator.integers(2**31 - 1)))


def _kind_of(rows: FloatArray, labels: IntArray, k: int, generator: np.random.Generator) -> Family | None:
    """Borders of the kind that the clusters have; None where they have none of these.

    Clusters of centres are known by their own rows: if the centres cannot tell others, nothing stands apart.
    Gaussians and kernels can bend around any rows, so the clusters of others must be told.
    """
    centres, *others = (family(name) for name in _KINDS)
    order = generator.permutation(len(rows))
    if _agreement(rows, labels, k, centres, order, order) >= _CENTRES_AGREE:
        return centres
    fitted, held = order[: len(rows) // 2], order[len(rows) // 2 :]
    told = [
        (_agreement(_embedded(rows, kind, generator), labels, k, kind, fitted, held), kind)
        for kind in (centres, *others)
    ]
    best, kind = max(told, key=lambda pair: pair[0])
    return kind if best >= _ENOUGH_AGREEMENT else None


def _agreement(
    points: FloatArray, labels: IntArray, k: int, kind: Family, fitted: IntArray, judged: IntArray
) -> float:
    """Share of the judged rows whose cluster is told by borders of this kind, drawn by the fitted ones."""
    found = kind.around(points[fitted], labels[fitted], k).scores(points[judged]).argmin(axis=1)
    return float((found == labels[judged]).mean())


def _apart(
    rows: FloatArray, labels: IntArray, k: int, kind: Family, generator: np.random.Generator
) -> tuple[float, float]:
    """How many clusters stand apart, and the standard error of that."""
    points = _embedded(blurred(rows, generator), kind, generator)
    value = tally_of(points, labels, k, kind, kind.n_splits, generator).standing().sum()
    again = []
    for number in range(_RESAMPLES):
        done((1 + number) / (1 + _RESAMPLES))
        drawn = generator.integers(len(rows), size=len(rows))
        tally = tally_of(points[drawn], labels[drawn], k, kind, 1, generator)
        again.append(tally.standing().sum())
    return float(value), float(np.std(again, ddof=1))


def _by_chance(rows: FloatArray, k: int, kind: Family, generator: np.random.Generator) -> float:
    """How many of k clusters stand apart in tables of one lump, the more of the two kinds of lumps."""
    mixed = bool(kinds_of_columns(rows)[1])
    most, n_references = 0.0, kind.n_references * (2 if mixed else 1)
    for place, lump in enumerate(LUMPS):
        drawn = []
        for number in range(n_references):
            done((place + number / n_references) / len(LUMPS))
            points = _embedded(blurred(one_lump(rows, lump, generator), generator), kind, generator)
            for _, cut in kind.path(points, [k], int(generator.integers(2**31 - 1))):
                tally = tally_of(points, cut.labels, k, kind, kind.n_splits, generator)
                drawn.append(float(tally.standing().sum()))
        if drawn:
            # As in choosing k: by which category rows are cut differs from one reference to the next.
            most = max(most, max(drawn) if mixed else float(np.mean(drawn)))
    return most


def _found_again(
    rows: FloatArray, labels: IntArray, k: int, kind: Family, generator: np.random.Generator
) -> bool:
    """Whether these are the clusters that are counted where k is chosen."""
    points = _embedded(rows, kind, generator)
    path = kind.path(points, [k], int(generator.integers(2**31 - 1)))
    return any(adjusted_rand_score(labels, cut.labels) >= _FOUND_AGAIN for _, cut in path)


def _better(found: Structure, counts: Counts) -> tuple[int, float] | None:
    """The best supported number of clusters, if it stands out and is clearly better than the given."""
    support = {k: counts.apart[k] - counts.by_chance[k] for k in counts.apart if k > 1}
    given = 0.0
    if found.stands_out:
        # What a number of clusters can have counts for those that have it.
        given = max(found.support, support.pop(found.k, 0.0))
    enough = [k for k in support if support[k] > enough_support(k)]
    if not enough:
        return None
    best = max(enough, key=lambda k: (support[k], -k))
    return (best, support[best]) if support[best] > given + _BETTER else None
