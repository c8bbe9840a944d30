"""The user's own columns: numbers by their moments, everything else by its categories."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._frames import is_frame
from whyclust.inputs.reading import is_sparse
from whyclust.moments.categories import CategoryCounts
from whyclust.moments.numbers import NumberMoments
from whyclust.saving.registry import saved

# What a gap among categories is called.
MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of some rows, read once.

    Attributes
    ----------
    numbers : ndarray or CSR matrix of shape (n_rows, n_columns)
        NaN for gaps, and in columns of categories.
    categories : dict of int to ndarray of shape (n_rows,)
        Texts of the columns that are not numbers, by position.
    """

    numbers: Any
    categories: dict[int, NDArray]

    @classmethod
    def of(cls, data: Any) -> Columns:
        """Of an array, a sparse matrix or a frame."""
        if is_sparse(data):
            return cls(data.tocsr(), {})
        if not is_frame(data):
            if data.dtype.kind in "iuf":
                return cls(data, {})
            data = pd.DataFrame(data)
        numbers = np.full(data.shape, np.nan, order="F")
        categories: dict[int, NDArray] = {}
        for position in range(data.shape[1]):
            values = data.iloc[:, position]
            if _holds_numbers(values):
                numbers[:, position] = pd.to_numeric(values).to_numpy(dtype=float, na_value=np.nan)
            else:
                texts = values.astype(str).to_numpy(dtype=object)
                categories[position] = np.where(values.isna().to_numpy(), MISSING, texts)
        return cls(numbers, categories)

    def __getitem__(self, rows: NDArray) -> Columns:
        """Some of the rows."""
        chosen = {position: texts[rows] for position, texts in self.categories.items()}
        return Columns(self.numbers[rows], chosen)


def _holds_numbers(values: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(values.dtype) and values.dtype != bool:
        return True
    if values.dtype != object:
        return False
    numbers = all(isinstance(value, Number) or value is None for value in values)
    return numbers and not all(isinstance(value, bool) for value in values)


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """What is known of the columns of some rows.

    Attributes
    ----------
    n_rows : int
    numbers : NumberMoments
        Of every column; nothing was seen in columns of categories.
    categories : dict of int to CategoryCounts
        By position; a gap is the category 'missing'.
    absent : float
        The mean of numbers in no rows: NaN, or zero in a sparse table, where what is not there is zero.
    """

    n_rows: int
    numbers: NumberMoments
    categories: dict[int, CategoryCounts]
    absent: float = np.nan

    @classmethod
    def of(cls, part: Columns) -> ColumnMoments:
        """Of columns that have been read."""
        n_rows = part.numbers.shape[0]
        if is_sparse(part.numbers):
            return cls(n_rows, NumberMoments.of_sparse(part.numbers), {}, 0.0)
        counted = {position: CategoryCounts.of(texts) for position, texts in part.categories.items()}
        return cls(n_rows, NumberMoments.of(part.numbers), counted)

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        categories = {
            position: self.category_counts(position) + other.category_counts(position)
            for position in sorted({*self.categories, *other.categories})
        }
        return ColumnMoments(
            self.n_rows + other.n_rows, self.numbers + other.numbers, categories, self.absent
        )

    def category_counts(self, position: int) -> CategoryCounts:
        """Of a column that holds categories in some rows at least."""
        if position in self.categories:
            return self.categories[position]
        if self.numbers.count[position] > 0:
            raise ValueError(
                f"column {position} holds numbers in one part of the table and text in another: convert the "
                "parts alike, by the apply() of one plan, before they are explained."
            )
        # Gaps only, which tell no kind.
        return CategoryCounts({MISSING: self.n_rows}, {MISSING: 0}) if self.n_rows else CategoryCounts({}, {})

    @property
    def known(self) -> float:
        """Which part of the values is there; all of a sparse table."""
        if not np.isnan(self.absent) or not self.n_rows or not len(self.numbers.count):
            return 1.0
        there = float(self.numbers.count.sum())
        for counted in self.categories.values():
            there += sum(counted.counts.values()) - counted.counts.get(MISSING, 0)
        return there / (self.n_rows * len(self.numbers.count))

    @property
    def means(self) -> NDArray:
        """Means of the columns of numbers."""
        return np.where(self.numbers.count > 0, self.numbers.mean, self.absent)
