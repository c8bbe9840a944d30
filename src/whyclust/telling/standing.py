"""How the columns of a cluster stand against the competitors that matter.

Relevance weighs competitors by α. A column's part of it that is due to competitor k goes with α_k times the
squared difference of the two means (the closed form of k-means says so exactly, the others nearly). So these
products decide with whom a column is compared: a cluster can lie above one competitor and below another.
Where no α is known, the clusters whose own data are nearest count most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.moments.clusters import ClusterMoments
from whyclust.moments.columns import ColumnMoments

# Means are similar that differ by less than this part of what rows of either cluster differ among themselves.
_SIMILAR = 0.1
# A side with less of a column's weight is not told: the cluster lies above or below, not between.
_A_SIDE = 0.05
# A mean within this part of the way from one end of all clusters to the other is not in the middle.
_AN_END = 0.1
# A category of at least so many rows of a cluster is often there; of fewer, only more often than elsewhere.
_OFTEN = 1 / 3


@dataclass(frozen=True)
class Standing:
    """One column of a cluster, compared.

    Attributes
    ----------
    direction : str
        Where the cluster's mean lies: ``above`` or ``below`` the competitors that matter, ``between`` them,
        or ``similar`` to theirs; ``missing`` where the cluster has gaps only, ``unusual`` for noise, and
        nothing where there is no one to compare with. For categories ``mostly``, ``often``, ``more often``
        or ``similar``.
    inside : float
        The mean in the cluster, or the share of the category.
    outside : float
        The same in all rows elsewhere.
    against : cluster id or None
        The competitor that matters most for this column.
    there : float
        Its mean, or its share of the category.
    other_side : cluster id or None
        Where the cluster lies between: the competitor on the other side.
    above : bool
        Whether the cluster lies above `against`.
    extreme : bool
        Whether it lies on the same side of all other clusters, and there are several.
    level : str
        Its place among all clusters: ``high``, ``low``, ``middling``, or nothing where they do not differ.
    category : str or None
        The category that is more frequent here than in the competitors by the most.
    broad : float
        The share of all other clusters of which this is true: they lie on that side (for ``between`` on
        either), by at least a tenth of the way from the lowest mean of all clusters to the highest.
    """

    direction: str
    inside: float
    outside: float = np.nan
    against: Any = None
    there: float = np.nan
    other_side: Any = None
    above: bool = False
    extreme: bool = False
    level: str = ""
    category: str | None = None
    broad: float = 1.0


class Standings:
    """Every cluster's columns, compared: ``standings(cluster)`` has those of one."""

    def __init__(self, known: ClusterMoments, is_noise: Callable[[Any], bool]) -> None:
        self.known = known
        self.labels = list(known.columns)
        self.noise = np.array([bool(is_noise(label)) for label in self.labels], dtype=bool)
        parts = known.columns.values()
        self.means = np.array([part.means for part in parts])
        self.counts = np.array([part.numbers.count for part in parts])
        self.deviations = np.sqrt([part.numbers.variance for part in parts])

    @cached_property
    def whole(self) -> ColumnMoments:
        """The columns of all rows."""
        return self.known.whole()

    def __call__(self, cluster: Any) -> Compared:
        """Compare the columns of one cluster."""
        if cluster not in self.known.columns:  # asked about, but no row is in it
            return Compared.unknown(self.means.shape[1])
        own = self.labels.index(cluster)
        weights = self._weights(own)
        found = Compared.of(self.means, self.deviations, own, weights, self.labels, self.noise)
        if self.noise[own]:
            # Noise lies on all sides, so a mean says little; where it has relevance it is far off.
            compares = np.isin(found.direction, ("above", "below", "between", "similar"))
            found = replace(found, direction=np.where(compares, "unusual", found.direction))
        categories = {position: self._category(position, own, weights) for position in self.whole.categories}
        return replace(found, outside=self._elsewhere(own), categories=categories)

    def _weights(self, own: int) -> NDArray:
        """How much each label counts as a competitor; those without rows cannot be compared with."""
        rivalry = self.known.rivalry
        shares = {} if rivalry is None else rivalry.of(self.labels[own])
        weights = np.array([shares.get(label, 0.0) for label in self.labels])
        weights[own] = 0.0
        return weights if weights.sum() > 0 else self._nearness(own)

    def _nearness(self, own: int) -> NDArray:
        """Weights by the distance of the clusters' own data, where no α is known."""
        nearness = np.where(self._rivals[own], np.exp(-self._far[own] * self._stiffness), 0.0)
        return nearness if nearness.any() else self._rivals[own].astype(float)

    @cached_property
    def _rivals(self) -> NDArray:
        """Who competes with whom: noise with no cluster, unless there is no other."""
        others = ~np.eye(len(self.labels), dtype=bool)
        real = others & ~self.noise
        return np.where(real.any(axis=1, keepdims=True), real, others)

    @cached_property
    def _far(self) -> NDArray:
        """Squared distances of the clusters' means, in standard deviations of the columns."""
        spread = np.sqrt(self.whole.numbers.variance)
        places = self.means / np.where(spread > 0, spread, 1.0)
        shares = [self._shares(position)[1] for position in self.whole.categories]
        found = [
            (np.nan_to_num(places - place) ** 2).sum(axis=1)
            + sum(((part - part[own]) ** 2).sum(axis=1) for part in shares)
            for own, place in enumerate(places)
        ]
        return np.array(found)

    @cached_property
    def _stiffness(self) -> float:
        """As β = 1/E[f_c]: one over the mean distance from the nearest cluster."""
        nearest = np.where(self._rivals, self._far, np.inf).min(axis=1)
        mean = nearest[np.isfinite(nearest)].mean() if np.isfinite(nearest).any() else 0.0
        return 1.0 / mean if mean > 0 else 0.0

    def _elsewhere(self, own: int) -> NDArray:
        """Means of all rows that are not in the cluster."""
        others = np.arange(len(self.labels)) != own
        counts = self.counts[others]
        total = counts.sum(axis=0)
        means = np.nan_to_num(self.means[others])
        return np.where(total > 0, (counts / np.maximum(total, 1) * means).sum(axis=0), self.whole.absent)

    def _shares(self, position: int) -> tuple[list[str], NDArray]:
        """Categories of a column, and their shares in the rows of every label."""
        names = sorted(self.whole.categories[position].counts)
        shares = []
        for part in self.known.columns.values():
            counts = part.category_counts(position).counts
            shares.append([counts.get(name, 0) / max(part.n_rows, 1) for name in names])
        return names, np.array(shares)

    def _category(self, position: int, own: int, weights: NDArray) -> Standing:
        """The category that is more frequent than in the competitors by the most."""
        names, shares = self._shares(position)
        sizes = np.array([float(part.n_rows) for part in self.known.columns.values()])
        sizes[own] = 0.0
        outside = sizes @ shares / max(sizes.sum(), 1.0)
        total = weights.sum()
        best = int(np.argmax(shares[own] - (weights @ shares / total if total > 0 else outside)))
        chosen = shares[:, [best]]
        deviations = np.sqrt(chosen * (1.0 - chosen))
        found = Compared.of(chosen, deviations, own, weights, self.labels, self.noise)[0]
        word = "mostly" if found.inside > 0.5 else "often" if found.inside >= _OFTEN else "more often"
        word = found.direction if found.direction == "similar" else word
        return replace(found, direction=word, outside=float(outside[best]), category=names[best], level="")


@dataclass(frozen=True, eq=False)
class Compared:
    """The columns of one cluster, compared: ``compared[position]`` is a Standing.

    Attributes
    ----------
    direction, inside, outside, against, there, other_side, above, extreme, level, broad : ndarray
        As of a Standing, one for each column.
    categories : dict of int to Standing
        The columns of categories, by position.
    """

    direction: NDArray
    inside: NDArray
    outside: NDArray
    against: NDArray
    there: NDArray
    other_side: NDArray
    above: NDArray
    extreme: NDArray
    level: NDArray
    broad: NDArray
    categories: dict[int, Standing] = field(default_factory=dict)

    @classmethod
    def unknown(cls, n_columns: int) -> Compared:
        """Of a cluster without rows, of which nothing can be said."""
        nothing, no_one = np.full(n_columns, np.nan), np.full(n_columns, None)
        never, no_word = np.zeros(n_columns, dtype=bool), np.full(n_columns, "")
        return cls(no_word, nothing, nothing, no_one, nothing, no_one, never, never, no_word, nothing)

    @classmethod
    def of(
        cls,
        means: NDArray,
        deviations: NDArray,
        own: int,
        weights: NDArray,
        labels: list[Any],
        noise: NDArray,
    ) -> Compared:
        """Of the means of every label (labels × columns), the weights of the competitors among them."""
        columns = np.arange(means.shape[1])
        known = np.isfinite(means)
        gap = np.nan_to_num(means[own] - means)
        size = np.abs(np.nan_to_num(means))
        enough = np.maximum(
            _SIMILAR * np.minimum(deviations, deviations[own]), 1e-9 * np.maximum(size, size[own])
        )
        differs = known & known[own] & (np.abs(gap) > enough)
        largest = np.abs(gap).max(axis=0)
        heavy = weights[:, None] * (gap / np.where(largest > 0, largest, 1.0)) ** 2 * differs
        below_it, above_it = heavy * (gap > 0), heavy * (gap < 0)
        upper, lower = below_it.sum(axis=0), above_it.sum(axis=0)
        above, told = upper >= lower, upper + lower > 0
        between = told & (np.minimum(upper, lower) >= _A_SIDE * (upper + lower))
        # Where none differs, the competitor that matters most is as good as any.
        nearest = (weights[:, None] * known).argmax(axis=0)
        comparable = known[own] & ((weights[:, None] * known).max(axis=0) > 0)
        ends = np.where(above, below_it.argmax(axis=0), above_it.argmax(axis=0))
        first = np.where(told, ends, nearest)
        second = np.where(above, above_it.argmax(axis=0), below_it.argmax(axis=0))
        ids: NDArray = np.empty(len(labels), dtype=object)
        ids[:] = labels
        no_one: NDArray = np.full(len(columns), None)
        counted = differs & ~noise[:, None]
        n_below, n_above = (counted & (gap > 0)).sum(axis=0), (counted & (gap < 0)).sum(axis=0)
        n_others = (known & ~noise[:, None] & (np.arange(len(labels)) != own)[:, None]).sum(axis=0)
        words = np.where(between, "between", np.where(above, "above", "below"))
        words = np.where(told, words, np.where(comparable, "similar", ""))
        lowest, highest = _ends(means, own, noise)
        apart = counted & (np.abs(gap) >= _AN_END * np.maximum(highest - lowest, 0.0))
        right_side = between | np.where(above, gap > 0, gap < 0)
        broad = (apart & right_side).sum(axis=0) / np.maximum(n_others, 1)
        return cls(
            np.where(known[own], words, "missing"),
            means[own],
            np.full(len(columns), np.nan),
            np.where(comparable, ids[first], no_one),
            np.where(comparable, means[first, columns], np.nan),
            np.where(between, ids[second], no_one),
            above & told,
            told & (n_others > 1) & (np.where(above, n_below, n_above) == n_others),
            levels(n_below, n_above, _place(means, own, noise)),
            broad,
        )

    def __getitem__(self, position: int) -> Standing:
        if position in self.categories:
            return self.categories[position]
        return Standing(
            str(self.direction[position]),
            float(self.inside[position]),
            float(self.outside[position]),
            self.against[position],
            float(self.there[position]),
            self.other_side[position],
            bool(self.above[position]),
            bool(self.extreme[position]),
            str(self.level[position]),
            broad=float(self.broad[position]),
        )


def levels(n_below: NDArray, n_above: NDArray, place: NDArray) -> NDArray:
    """Words for the place among all clusters: high in the upper third of them, low in the lower.

    Of the others those are middling whose mean is not at an end: `place` is 0 at the lowest mean of all
    clusters, and 1 at the highest.

    >>> levels(np.array([2, 1, 1, 0]), np.array([0, 1, 2, 0]), np.array([1.0, 0.3, 0.2, 0.0])).tolist()
    ['high', 'middling', 'low', '']
    >>> levels(np.array([1, 1]), np.array([1, 1]), np.array([0.03, 0.98])).tolist()
    ['low', 'high']
    """
    total = n_below + n_above
    middle = np.where(place < _AN_END, "low", np.where(place > 1 - _AN_END, "high", "middling"))
    words = np.where(3 * n_below <= total, "low", np.where(3 * n_below >= 2 * total, "high", middle))
    return np.where(total > 0, words, "")


def _ends(means: NDArray, own: int, noise: NDArray) -> tuple[NDArray, NDArray]:
    """The lowest and the highest mean of all clusters but noise; infinite where there is none."""
    clusters = means[~noise | (np.arange(len(means)) == own)]
    lowest = np.where(np.isfinite(clusters), clusters, np.inf).min(axis=0)
    return lowest, np.where(np.isfinite(clusters), clusters, -np.inf).max(axis=0)


def _place(means: NDArray, own: int, noise: NDArray) -> NDArray:
    """Where the cluster's means lie between the lowest (0) and the highest (1) of all but noise."""
    lowest, highest = _ends(means, own, noise)
    ordered = np.isfinite(means[own]) & (highest > lowest)
    with np.errstate(invalid="ignore"):
        return np.where(ordered, (means[own] - lowest) / np.where(ordered, highest - lowest, 1.0), 0.5)
