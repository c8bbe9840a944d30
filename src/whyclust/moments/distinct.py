"""How many values of a column are different, and whether any repeats, from a few thousand of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.saving.registry import saved

# Values that are followed through the whole table; of fewer different ones everything is known.
MOST_FOLLOWED = 4096


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class Distinct:
    """Values that are followed through a column: those with the smallest keys; those of parts add up.

    A value has the same key wherever it stands. So each value that is followed at the end has been counted
    from the first row to the last, and they are a sample of all different values.

    Attributes
    ----------
    keys : ndarray of uint64
        Sorted.
    counts : ndarray of int
        Rows of each.
    n_rows : int
        Rows with a value.

    Examples
    --------
    >>> values = np.arange(10_000)
    >>> parts = Distinct.of(values), Distinct.of(values[:100])
    >>> parts[0].repeats, (parts[0] + parts[1]).repeats, Distinct.of(["a", "b", "a"]).n_repeated
    (False, True, 1)
    """

    keys: NDArray
    counts: NDArray
    n_rows: int

    @classmethod
    def of(cls, values: Any, counts: Sequence[int] | None = None) -> Distinct:
        """Of some values without gaps, or of different ones with how often each is there."""
        keys = _keys(values)
        often = np.ones(len(keys), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
        return cls._of_keys(keys, often, int(often.sum()))

    @classmethod
    def _of_keys(cls, keys: NDArray, counts: NDArray, n_rows: int) -> Distinct:
        found, places = np.unique(keys, return_inverse=True)
        often = np.zeros(len(found), dtype=np.int64)
        np.add.at(often, places, counts)
        return cls(found[:MOST_FOLLOWED], often[:MOST_FOLLOWED], n_rows)

    def __add__(self, other: Distinct) -> Distinct:
        keys, counts = (
            np.concatenate(both) for both in ((self.keys, other.keys), (self.counts, other.counts))
        )
        return Distinct._of_keys(keys, counts, self.n_rows + other.n_rows)

    @property
    def exact(self) -> bool:
        """Whether all values are followed."""
        return len(self.keys) < MOST_FOLLOWED

    @property
    def repeats(self) -> bool:
        """Whether a value that is followed is there more than once."""
        return bool((self.counts > 1).any())

    @property
    def n_repeated(self) -> int:
        """Rows whose value is in an earlier row: exact, or what the followed values say."""
        if self.exact:
            return self.n_rows - len(self.keys)
        return round(self.n_rows * float(1.0 - len(self.keys) / self.counts.sum()))


def _keys(values: Any) -> NDArray:
    """A whole number for each value; 5 and 5.0, which a gap makes of it, have the same."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        whole = (array == np.floor(array)) & (np.abs(array) < 2**53)
        keys = pd.util.hash_array(array.astype(np.float64), categorize=False)
        keys[whole] = pd.util.hash_array(array[whole].astype(np.int64), categorize=False)
        return keys
    if array.dtype.kind in "iu":
        return pd.util.hash_array(array.astype(np.int64), categorize=False)
    texts = np.array([str(value) for value in array.tolist()], dtype=object)
    return pd.util.hash_array(texts, categorize=False)
