"""Conditions of rules, in the table's own units, and the values of a column that can be told apart by them.

A column is cut into bins by numbers that people would say, or has a bin for each of its categories. Whoever
looks for a condition says how much each bin speaks for the cluster; the stretch of bins that gathers the most
is the condition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Bins of a column of numbers, the widest gaps that are cuts as well, and how many rows, in shares of the
# cluster's size, a cut may be moved past in order to be a round number.
_BINS = 40
_WIDEST = 8
_MOVED = 0.01
# An end of a stretch is left open for so much of what the stretch gathers.
_OPEN = 0.05
# Missing values match a condition if they gather so much of what it gathers.
_MISSING = 0.05
# Categories that are told apart in a column, and that a condition names.
_MOST_CATEGORIES = 50
_MOST_NAMED = 4


@dataclass(frozen=True)
class Condition:
    """What a column must be: more than `low` and at most `high`, or one of some categories.

    Attributes
    ----------
    column : str
    position : int
        The column's place in the table.
    low, high : float
        Infinite on an open side.
    categories : tuple or None
        For a column of categories those that match, or, where `others`, those that do not.
    others : bool
    missing : bool
        Whether a missing value matches.
    is_word : bool
        Whether the column counts a word of texts, which is there above 0.
    """

    column: str
    position: int
    low: float = -math.inf
    high: float = math.inf
    categories: tuple[Any, ...] | None = None
    others: bool = False
    missing: bool = False
    is_word: bool = False

    @property
    def n_comparisons(self) -> int:
        """How many numbers, or lists of categories, a value is compared with."""
        return 1 if self.categories is not None else math.isfinite(self.low) + math.isfinite(self.high)

    def matches(self, values: NDArray) -> NDArray:
        """Which values of the column match."""
        if self.categories is None:
            numbers = as_numbers(values)
            found = (numbers > self.low) & (numbers <= self.high)
            return np.where(np.isnan(numbers), self.missing, found)
        import pandas as pd

        series = pd.Series(values)
        found = series.isin(self.categories).to_numpy() != self.others
        return np.where(series.isna().to_numpy(), self.missing, found)

    def describe(self) -> str:
        """The condition in words.

        >>> Condition("age", 0, 30, 52).describe(), Condition("region", 1, categories=("north",)).describe()
        ('30 < age ≤ 52', 'region is north')
        """
        missing = " (or missing)" if self.missing else ""
        if self.is_word:
            return f"contains {_quoted(self.column)}" if self.low == 0 else f"lacks {_quoted(self.column)}"
        if self.categories is not None:
            said = [told(value) for value in self.categories]
            listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}"
            return f"{self.column} {'is not' if self.others else 'is'} {listed}{missing}"
        if math.isinf(self.low):
            only = f"{self.column} ≤ {told(self.high)}{missing}"
            return f"{self.column} is not missing" if math.isinf(self.high) else only
        if math.isinf(self.high):
            return f"{self.column} > {told(self.low)}{missing}"
        return f"{told(self.low)} < {self.column} ≤ {told(self.high)}{missing}"


def _quoted(word: str) -> str:
    return f'"{word}"'


def told(value: Any) -> str:
    """A number in all its digits, as cuts are round; whatever else as it is.

    >>> told(33000.0), told(0.55), told("north"), told(1987.0)
    ('33,000', '0.55', 'north', '1987')
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        return str(value)
    number = float(value) + 0.0
    if number != 0 and not 1e-4 <= abs(number) < 1e15:
        return str(number)
    return (f"{number:,}" if abs(number) >= 1e4 else str(number)).removesuffix(".0")


def as_numbers(values: NDArray) -> NDArray:
    """A column of numbers as float64, what is missing as NaN."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    import pandas as pd

    return pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def is_number(values: NDArray) -> bool:
    """Whether a column has numbers to be cut, and not categories."""
    if values.dtype.kind in "biuf":
        return values.dtype.kind != "b"
    import pandas as pd

    known = pd.Series(values).dropna()
    return all(isinstance(one, (int, float, np.number)) and not isinstance(one, bool) for one in known)


@dataclass(frozen=True, eq=False)
class Bins:
    """The values of a column in bins.

    Attributes
    ----------
    name, position
        Of the column.
    codes : ndarray of int of shape (n_rows,)
        The bin of each row; the last one holds what is missing, and the one before, of categories, the rest.
    n_bins : int
    cuts : ndarray or None
        Upper ends of the bins of numbers, but for the last.
    categories : list or None
    is_word : bool
    """

    name: str
    position: int
    codes: NDArray
    n_bins: int
    cuts: NDArray | None = None
    categories: list[Any] | None = None
    is_word: bool = False

    @classmethod
    def of(
        cls, name: str, position: int, values: NDArray, weights: NDArray, sizes: NDArray, *, is_word: bool
    ) -> Bins:
        """Cut the values of a column, as :func:`round_cuts` does."""
        if is_word:
            numbers = as_numbers(values)
            return cls(name, position, (numbers > 0).astype(np.intp), 3, np.zeros(1), is_word=True)
        if is_number(values):
            numbers = as_numbers(values)
            known = np.isfinite(numbers)
            distinct = np.unique(numbers[known])
            if len(distinct) > 2:
                cuts = round_cuts(numbers[known], weights[known], sizes[known])
                codes = np.searchsorted(cuts, numbers, side="left")
                return cls(name, position, np.where(known, codes, len(cuts) + 1), len(cuts) + 2, cuts)
            values = numbers
        import pandas as pd

        counts = pd.Series(values).value_counts(sort=True)
        listed = counts.index.tolist()[:_MOST_CATEGORIES]
        places = pd.Series(values).map({one: place for place, one in enumerate(listed)})
        missing = pd.Series(values).isna().to_numpy()
        codes = np.where(missing, len(listed) + 1, places.astype(float).fillna(len(listed)).to_numpy())
        return cls(name, position, codes.astype(np.intp), len(listed) + 2, categories=listed)

    def sums(self, weights: NDArray) -> NDArray:
        """The sum of rows' weights in each bin."""
        return np.bincount(self.codes, weights=weights, minlength=self.n_bins)

    def best(self, gains: NDArray) -> list[NDArray]:
        """The bins, as masks, that gather the most: one for each line of gains for which there are some.

        Of numbers it is one stretch of bins, of categories those that gain, four at most, and what is missing
        if it gains. What would match every row is left out.
        """
        chosen = (self._stretches if self.cuts is not None else self._gaining)(gains)
        # What is missing in a few rows only would make a condition long.
        chosen[:, -1] = gains[:, -1] > _MISSING * np.maximum(gains, 0.0).sum(axis=1)
        some = chosen[:, :-1].any(axis=1) & ~chosen[:, self._here].all(axis=1)
        return list(chosen[some])

    @cached_property
    def _here(self) -> NDArray:
        """Bins that hold rows."""
        return np.flatnonzero(np.bincount(self.codes, minlength=self.n_bins))

    def _stretches(self, gains: NDArray) -> NDArray:
        """The stretch of the largest sum, of each line; nothing where that is not positive."""
        lines = np.arange(len(gains))
        sums = np.zeros(gains.shape)
        np.cumsum(gains[:, :-1], axis=1, out=sums[:, 1:])
        lowest = np.minimum.accumulate(sums[:, :-1], axis=1)
        end = np.argmax(sums[:, 1:] - lowest, axis=1)
        start = np.argmax(sums[:, :-1] == lowest[lines, end][:, None], axis=1)
        most = sums[lines, end + 1] - sums[lines, start]
        # An end that hardly matters is left open.
        start = np.where(sums[lines, end + 1] >= (1.0 - _OPEN) * most, 0, start)
        end = np.where(sums[:, -1] - sums[lines, start] >= (1.0 - _OPEN) * most, self.n_bins - 2, end)
        places = np.arange(self.n_bins)
        found = (places >= start[:, None]) & (places <= end[:, None]) & (most > 0)[:, None]
        return found

    def _gaining(self, gains: NDArray) -> NDArray:
        """Categories that gain, of each line: the best four, or all but a few."""
        found = np.zeros(gains.shape, dtype=bool)
        for line, among in enumerate(gains[:, :-2]):
            order = np.argsort(-among, kind="stable")
            gaining = order[among[order] > 0]
            left = len(among) - len(gaining)
            all_but_few = 0 < left <= min(_MOST_NAMED, len(gaining) - 1)
            found[line, gaining if all_but_few else gaining[:_MOST_NAMED]] = True
            found[line, -2] = all_but_few
        return found

    def ends(self, chosen: NDArray) -> int:
        """How many thresholds it takes to choose these bins; of categories it is always one list."""
        return 1 if self.cuts is None else int(not chosen[0]) + int(not chosen[-2])

    def opened(self, chosen: NDArray) -> list[NDArray]:
        """The same stretch, open on either side; nothing where it is open, or of categories."""
        if self.ends(chosen) < 2:
            return []
        stretch = np.flatnonzero(chosen[:-1])
        below, above = chosen.copy(), chosen.copy()
        below[: stretch[0]] = True
        above[stretch[-1] : -1] = True
        return [below, above]

    def condition(self, chosen: NDArray) -> Condition:
        """The condition that chooses these bins."""
        missing = bool(chosen[-1])
        if self.cuts is not None:
            stretch = np.flatnonzero(chosen[:-1])
            low = -math.inf if stretch[0] == 0 else float(self.cuts[stretch[0] - 1])
            high = math.inf if stretch[-1] == len(self.cuts) else float(self.cuts[stretch[-1]])
            return Condition(self.name, self.position, low, high, missing=missing, is_word=self.is_word)
        categories = self.categories or []
        others = bool(chosen[-2])
        named = [one for one, own in zip(categories, chosen[:-2], strict=True) if own != others]
        return Condition(self.name, self.position, categories=tuple(named), others=others, missing=missing)


def round_cuts(values: NDArray, weights: NDArray, sizes: NDArray) -> NDArray:
    """Numbers that people would say, which cut values into some forty parts, and where gaps are widest.

    Parts are of about the same sum of `weights`. In order to be round, a cut may move past rows whose `sizes`
    sum to little.

    >>> round_cuts(np.array([1.0, 1.2, 12.93, 13.05]), np.full(4, 0.25), np.full(4, 1.0)).tolist()
    [1.0, 10.0, 13.0]
    """
    order = np.argsort(values, kind="stable")
    distinct, first = np.unique(values[order], return_index=True)
    # The sums over all rows below each gap.
    below, sizes_below = (
        np.concatenate([[0.0], np.cumsum(part[order])])[first][1:] for part in (weights, sizes)
    )
    gaps = np.arange(len(distinct) - 1)
    if len(gaps) > 2 * _BINS:
        wanted = below[0] + (below[-1] - below[0]) * np.linspace(0.0, 1.0, _BINS + 1)
        widest = np.argsort(-np.diff(distinct), kind="stable")[:_WIDEST]
        gaps = np.union1d(np.searchsorted(below, wanted).clip(0, len(below) - 1), widest)
    low = np.searchsorted(sizes_below, sizes_below[gaps] - _MOVED, side="left")
    high = np.searchsorted(sizes_below, sizes_below[gaps] + _MOVED, side="right") - 1
    found = {roundest(distinct[i], distinct[j + 1]) for i, j in zip(low, high, strict=True)}
    return np.array(sorted(found))


def roundest(low: float, high: float) -> float:
    """The number with the fewest digits that is at least `low` and less than `high`.

    >>> roundest(32870.0, 33410.0), roundest(2.0, 3.0), roundest(-0.013, 0.4), roundest(0.5467, 0.5492)
    (33000.0, 2.0, 0.0, 0.548)
    """
    low, high = float(low), float(high)
    if low <= 0 < high:
        return 0.0
    middle = low + (high - low) / 2
    largest = math.floor(math.log10(max(abs(low), abs(high))))
    for power in range(largest, largest - 17, -1):
        for step in (1.0, 0.5):
            count = round(middle / (step * 10.0**power))
            for multiple in (count, count - 1, count + 1):
                # By way of a text, as 3 × 0.1 is not 0.3.
                number = float(f"{multiple * step * 10.0**power:.12g}")
                if low <= number < high:
                    return number
    return low
