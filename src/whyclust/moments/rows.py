"""The few rows with the least of something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._frames import is_frame
from whyclust.inputs.reading import is_sparse
from whyclust.saving.registry import saved

# Rows that are compared with each other at first; each time twice as many.
_AT_ONCE = 64


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class LeastRows:
    """Rows with the least value, ascending; of equal ones the first.

    Attributes
    ----------
    limit : int
        How many are kept.
    values : ndarray
    rows : ndarray of int
        Their positions in the whole table.
    keys : ndarray of int or None
        The same for rows that are copies of each other, of which one is kept.

    Examples
    --------
    >>> some = LeastRows.of(np.array([3.0, 1.0, 2.0]), np.array([0, 1, 2]), 2)
    >>> (some + LeastRows.of(np.array([1.0, 0.5]), np.array([3, 4]), 2)).rows.tolist()
    [4, 1]
    >>> keys = np.array([7, 7, 8])
    >>> LeastRows.of(np.array([1.0, 1.0, 2.0]), np.array([0, 1, 2]), 2, lambda places: keys[places]).rows
    array([0, 2])
    """

    limit: int
    values: NDArray
    rows: NDArray
    keys: NDArray | None = None

    @classmethod
    def of(
        cls,
        values: NDArray,
        rows: NDArray,
        limit: int,
        keys: Callable[[NDArray], NDArray] | None = None,
    ) -> LeastRows:
        """Of the values of some rows; `keys` gives those of some places among them."""
        order = np.lexsort((rows, values))
        if keys is None:
            order = order[:limit]
            return cls(limit, values[order], rows[order])
        chosen, found = order[:0], np.zeros(0, dtype=np.uint64)
        start, size = 0, max(_AT_ONCE, limit)
        while len(chosen) < limit and start < len(order):
            some = order[start : start + size]
            together = np.concatenate([found, keys(some)])
            first = np.sort(np.unique(together, return_index=True)[1])[:limit]
            chosen, found = np.concatenate([chosen, some])[first], together[first]
            start, size = start + size, 2 * size
        return cls(limit, values[chosen], rows[chosen], found)

    def __add__(self, other: LeastRows) -> LeastRows:
        values = np.concatenate([self.values, other.values])
        rows = np.concatenate([self.rows, other.rows])
        if self.keys is None or other.keys is None:
            return LeastRows.of(values, rows, self.limit)
        keys = np.concatenate([self.keys, other.keys])
        return LeastRows.of(values, rows, self.limit, lambda places: keys[places])


def row_keys(data: Any, rows: NDArray) -> NDArray:
    """One number for each of some rows, the same for copies.

    >>> frame = pd.DataFrame({"a": [1.0, 1.0, 2.0], "b": ["x", "x", "y"]})
    >>> keys = row_keys(frame, np.arange(3))
    >>> bool(keys[0] == keys[1]), bool(keys[0] == keys[2])
    (True, False)
    """
    if not len(rows):
        return np.zeros(0, dtype=np.uint64)
    if is_sparse(data):
        some = pd.DataFrame(data.tocsr()[rows].toarray())
    elif is_frame(data):
        some = data.iloc[rows]
    else:
        some = pd.DataFrame(np.asarray(data)[rows].reshape(len(rows), -1))
    if all(getattr(kind, "kind", "O") in "iufb" for kind in some.dtypes):
        # Hashing column by column is slow where there are thousands; 0 and -0 are the same number.
        numbers = np.ascontiguousarray(some.to_numpy(dtype=np.float64)) + 0.0
        texts = [row.tobytes() for row in numbers]
        return pd.util.hash_array(np.array([*texts, None], dtype=object))[:-1]
    try:
        return pd.util.hash_pandas_object(some, index=False).to_numpy()
    except TypeError:  # what cannot be hashed
        return pd.util.hash_pandas_object(some.astype(str), index=False).to_numpy()


def known_share(data: Any, rows: NDArray) -> NDArray:
    """Which part of its values each of some rows has; of words, whether it has any.

    >>> known_share(np.array([[1.0, np.nan], [1.0, 2.0]]), np.arange(2))
    array([0.5, 1. ])
    """
    if getattr(data, "left_out", None) is True or not len(rows):
        return np.ones(len(rows))
    if is_sparse(data):
        return (np.diff(data.tocsr()[rows].indptr) > 0).astype(float)
    if is_frame(data):
        return np.asarray(data.iloc[rows].notna()).mean(axis=1)
    table = np.asarray(data).reshape(len(data), -1)
    gaps = np.isnan(table) if table.dtype.kind == "f" else pd.isna(table)
    return 1.0 - gaps[rows].mean(axis=1)
