"""How often each category was seen, and where first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.saving.registry import saved


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """Rows of every category.

    It keeps one entry per different text, so a column of free text takes as much memory as its texts.

    Attributes
    ----------
    counts : dict of str to int
        In the order in which the categories were first seen.
    first : dict of str to int
        The row in which each was first seen, counted over all parts.

    Examples
    --------
    >>> parts = CategoryCounts.of(np.array(["b", "a", "b"])), CategoryCounts.of(np.array(["c", "a"]), 3)
    >>> (parts[0] + parts[1]).counts
    {'b': 2, 'a': 2, 'c': 1}
    >>> (parts[0] + parts[1]).first
    {'b': 0, 'a': 1, 'c': 3}
    """

    counts: dict[str, int]
    first: dict[str, int]

    @classmethod
    def of(cls, texts: NDArray, first_row: int = 0) -> CategoryCounts:
        """Of texts; gaps (None, NaN) are left out."""
        codes, names = pd.factorize(np.asarray(texts, dtype=object))
        rows = np.flatnonzero(codes >= 0)
        codes = codes[rows]
        counts = np.bincount(codes, minlength=len(names))
        places = np.zeros(len(names), dtype=np.int64)
        places[codes[::-1]] = rows[::-1]  # the first of each is written last
        return cls(
            dict(zip(names, counts.tolist(), strict=True)),
            dict(zip(names, (places + first_row).tolist(), strict=True)),
        )

    def __add__(self, other: CategoryCounts) -> CategoryCounts:
        counts = dict(self.counts)
        for name, count in other.counts.items():
            counts[name] = counts.get(name, 0) + count
        first = dict(self.first)
        for name, row in other.first.items():
            first[name] = min(first.get(name, row), row)
        return CategoryCounts(counts, first)
