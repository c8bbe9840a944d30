"""The few rows with the least of something."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyclust.saving.registry import saved


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

    Examples
    --------
    >>> some = LeastRows.of(np.array([3.0, 1.0, 2.0]), np.array([0, 1, 2]), 2)
    >>> (some + LeastRows.of(np.array([1.0, 0.5]), np.array([3, 4]), 2)).rows.tolist()
    [4, 1]
    """

    limit: int
    values: NDArray
    rows: NDArray

    @classmethod
    def of(cls, values: NDArray, rows: NDArray, limit: int) -> LeastRows:
        """Of the values of some rows."""
        order = np.lexsort((rows, values))[:limit]
        return cls(limit, values[order], rows[order])

    def __add__(self, other: LeastRows) -> LeastRows:
        values = np.concatenate([self.values, other.values])
        return LeastRows.of(values, np.concatenate([self.rows, other.rows]), self.limit)
