"""Means and squared deviations that merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.saving.registry import saved


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of rows.

    Attributes
    ----------
    count : int
        Rows seen.
    value : ndarray
        Their mean, zero before any was seen.

    Examples
    --------
    >>> whole = Mean.of(np.array([1.0, 2.0])) + Mean.of(np.array([6.0]))
    >>> whole.count, float(whole.value)
    (3, 3.0)
    """

    count: int
    value: NDArray

    @classmethod
    def of(cls, values: Any) -> Mean:
        """Of an array, or of relevance kept as factors, over its rows."""
        count = values.shape[0]
        if count == 0:
            return cls(0, np.zeros(values.shape[1:]))
        if isinstance(values, np.ndarray):
            return cls(count, np.asarray(values.mean(axis=0, dtype=np.float64)))
        return cls(count, np.asarray(values.mean(axis=0), dtype=np.float64))

    def __add__(self, other: Mean) -> Mean:
        count = self.count + other.count
        weight = other.count / max(count, 1)
        return Mean(count, self.value + (other.value - self.value) * weight)


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class NumberMoments:
    """Count, mean and squared deviations of columns of numbers; gaps are left out.

    Attributes
    ----------
    count : ndarray of shape (n_columns,)
        Numbers seen.
    mean : ndarray of shape (n_columns,)
        Zero where none was seen.
    squares : ndarray of shape (n_columns,)
        Sum of the squared deviations from the mean.

    Examples
    --------
    >>> table = np.array([[1.0, np.nan], [2.0, 5.0], [6.0, 7.0]])
    >>> whole = NumberMoments.of(table[:2]) + NumberMoments.of(table[2:])
    >>> whole.count, whole.mean, whole.squares
    (array([3, 2]), array([3., 6.]), array([14.,  2.]))
    """

    count: NDArray
    mean: NDArray
    squares: NDArray

    @classmethod
    def nothing(cls, n_columns: int) -> NumberMoments:
        """Of no rows."""
        return cls(np.zeros(n_columns, dtype=np.int64), np.zeros(n_columns), np.zeros(n_columns))

    @classmethod
    def of(cls, values: NDArray) -> NumberMoments:
        """Of the columns of an array."""
        if len(values) == 0:
            return cls.nothing(values.shape[1])
        # Sums along columns that lie in one piece are pairwise, and lose no digits in long tables.
        values = np.asfortranarray(values, dtype=np.float64)
        absent = np.isnan(values)
        whole = not absent.any()
        count = len(values) - absent.sum(axis=0)
        divisor = np.maximum(count, 1)
        # Numbers whose squares overflow have no finite deviation; they are refused where it matters.
        with np.errstate(over="ignore", invalid="ignore"):
            mean = (values if whole else np.where(absent, 0.0, values)).sum(axis=0) / divisor
            away = values - mean
            if not whole:
                away[absent] = 0.0
            # What rounding has left of the deviations' own mean is taken out of their squares.
            squares = (away**2).sum(axis=0) - away.sum(axis=0) ** 2 / divisor
        return cls(count, mean, np.maximum(squares, 0.0))

    @classmethod
    def of_sparse(cls, matrix: Any) -> NumberMoments:
        """Of the columns of a CSR matrix, zeros included."""
        n_rows, n_columns = matrix.shape
        if n_rows == 0:
            return cls.nothing(n_columns)
        entries = np.asarray(matrix.data, dtype=np.float64)
        places = matrix.indices
        mean = np.bincount(places, weights=entries, minlength=n_columns) / n_rows
        stored = np.bincount(places, minlength=n_columns)
        squares = np.bincount(places, weights=(entries - mean[places]) ** 2, minlength=n_columns)
        count = np.full(n_columns, n_rows, dtype=np.int64)
        return cls(count, mean, squares + (n_rows - stored) * mean**2)

    def __add__(self, other: NumberMoments) -> NumberMoments:
        count = self.count + other.count
        weight = other.count / np.maximum(count, 1)
        with np.errstate(over="ignore", invalid="ignore"):
            away = other.mean - self.mean
            between = away * (away * (self.count * weight))
            return NumberMoments(count, self.mean + away * weight, self.squares + other.squares + between)

    @property
    def variance(self) -> NDArray:
        """Mean squared deviation, zero where nothing was seen."""
        return self.squares / np.maximum(self.count, 1)
