"""What is known of a column before anything is decided about it; facts of parts add up."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.moments.categories import CategoryCounts
from whyclust.moments.numbers import NumberMoments

# Kinds of columns; any other is what pandas calls it.
NUMBERS, FLAGS, TEXT, DATES, COMPLEX, EMPTY, MIXED = (
    "numbers",
    "flags",
    "text",
    "dates",
    "complex",
    "empty",
    "mixed",
)
_KINDS = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal"), NUMBERS),
    **dict.fromkeys(("string", "categorical"), TEXT),
    **dict.fromkeys(("datetime", "datetime64", "date", "timedelta", "timedelta64", "time", "period"), DATES),
    "boolean": FLAGS,
}

# Columns of these names usually tell the rows apart: only of them are all different numbers kept.
IDENTIFIER = re.compile(r"id|index|.*[_ .-]id|row([_ ]?(number|nr|no))?|unnamed: 0|column 1|uuid|guid")


@dataclass(frozen=True, eq=False)
class NumberFacts:
    """What is known of a column of numbers.

    Attributes
    ----------
    moments : NumberMoments
        Of the finite numbers.
    lowest, highest : float
        Of the finite numbers.
    infinite_row : int or None
        The first row with an infinite number.
    first, last : float
        The numbers in the first and in the last row.
    counts_up : bool
        Whether each number is the one before it plus one.
    whole : bool
        Whether all are whole.
    different : ndarray or None
        All numbers, sorted, if they are all different and that is worth knowing.
    exact : (int, int) or None
        The lowest and the highest of whole numbers, which may have more digits than a float.
    """

    moments: NumberMoments
    lowest: float
    highest: float
    infinite_row: int | None
    first: float
    last: float
    counts_up: bool
    whole: bool
    different: NDArray | None
    exact: tuple[int, int] | None = None

    @classmethod
    def of(cls, values: NDArray, first_row: int = 0, *, name: str = "") -> NumberFacts:
        """Of the numbers of some rows, NaN for gaps."""
        may_identify = IDENTIFIER.fullmatch(name.strip().lower()) is not None
        infinite = np.isinf(values)
        present = values[~(infinite | np.isnan(values))]
        different = np.unique(values) if may_identify else None
        return cls(
            NumberMoments.of(present[:, None]),
            float(present.min(initial=np.inf)),
            float(present.max(initial=-np.inf)),
            int(np.argmax(infinite)) + first_row if infinite.any() else None,
            float(values[0]),
            float(values[-1]),
            bool((np.diff(values) == 1).all()),
            bool((values == np.floor(values)).all()),
            different if different is not None and len(different) == len(values) else None,
        )

    def __add__(self, other: NumberFacts) -> NumberFacts:
        different = None
        if self.different is not None and other.different is not None:
            different = np.union1d(self.different, other.different)
            different = different if len(different) == len(self.different) + len(other.different) else None
        return NumberFacts(
            self.moments + other.moments,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            other.infinite_row if self.infinite_row is None else self.infinite_row,
            self.first,
            other.last,
            self.counts_up and other.counts_up and other.first - self.last == 1,
            self.whole and other.whole,
            different,
            None
            if self.exact is None or other.exact is None
            else (min(self.exact[0], other.exact[0]), max(self.exact[1], other.exact[1])),
        )

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return max(abs(self.lowest), abs(self.highest))

    @property
    def spread(self) -> float:
        """From the lowest to the highest."""
        return self.highest - self.lowest


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What is known of a column.

    Attributes
    ----------
    kind : str
        What its values are: 'numbers', 'flags', 'text', 'dates', 'complex', 'empty', 'mixed', or what pandas
        calls them.
    n_rows, n_missing : int
    numbers : NumberFacts or None
        Of a column of numbers.
    texts : CategoryCounts or None
        Of a column of text or flags.

    Examples
    --------
    >>> whole = ColumnFacts.of(pd.Series(["a", "b"])) + ColumnFacts.of(pd.Series(["a", None]), 2)
    >>> whole.kind, whole.n_rows, whole.n_missing, whole.texts.counts
    ('text', 4, 1, {'a': 2, 'b': 1})
    """

    kind: str
    n_rows: int
    n_missing: int
    numbers: NumberFacts | None = None
    texts: CategoryCounts | None = None

    @classmethod
    def of(cls, column: pd.Series, first_row: int = 0) -> ColumnFacts:
        """Of a part of a column whose first row is `first_row` of the whole table."""
        present = column.dropna()
        n_rows, n_missing = len(column), len(column) - len(present)
        if present.empty:
            return cls(EMPTY, n_rows, n_missing)
        found = pd.api.types.infer_dtype(present, skipna=True)
        kind = _KINDS.get(found, found)
        if kind == found and isinstance(column.dtype, pd.CategoricalDtype):
            kind = TEXT
        if kind == NUMBERS:
            numbers = NumberFacts.of(as_numbers(column), first_row, name=str(column.name))
            if found == "integer":
                numbers = replace(numbers, exact=(int(present.min()), int(present.max())))
            return cls(kind, n_rows, n_missing, numbers=numbers)
        if kind in (TEXT, FLAGS):
            texts = CategoryCounts.of(as_text(column).to_numpy(), first_row)
            return cls(kind, n_rows, n_missing, texts=texts)
        return cls(kind, n_rows, n_missing)

    def __add__(self, other: ColumnFacts) -> ColumnFacts:
        n_rows, n_missing = self.n_rows + other.n_rows, self.n_missing + other.n_missing
        if EMPTY in (self.kind, other.kind):
            some = other if self.kind == EMPTY else self
            return replace(some, n_rows=n_rows, n_missing=n_missing)
        if self.kind != other.kind:
            return ColumnFacts(MIXED, n_rows, n_missing)
        return ColumnFacts(
            self.kind, n_rows, n_missing, _sum(self.numbers, other.numbers), _sum(self.texts, other.texts)
        )


def _sum(one: Any, other: Any) -> Any:
    return None if one is None else one + other


def column_facts(frame: pd.DataFrame, names: Iterable[str], first_row: int = 0) -> dict[str, ColumnFacts]:
    """The facts of some columns of a part of a table.

    Parameters
    ----------
    frame : pandas.DataFrame
    names : iterable of str
    first_row : int
        The number of rows before this part.

    Returns
    -------
    dict of str to ColumnFacts
        To be merged with those of the other parts by `whyclust.moments.merging.merge`.
    """
    return {name: ColumnFacts.of(frame[name], first_row) for name in names}


def as_numbers(column: pd.Series) -> NDArray:
    """Numbers of any type as float64, NaN for gaps."""
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def as_text(column: pd.Series) -> pd.Series:
    """Plain objects with NaN for gaps: what SimpleImputer and OneHotEncoder take for text."""
    text = column.astype(object).map(str).astype(object)
    return text.where(column.notna(), np.nan)


def numbers_in(texts: Any) -> NDArray:
    """The numbers that texts tell, NaN for every other text.

    >>> numbers_in(["1.5", "n.n."])
    array([1.5, nan])
    """
    return np.asarray(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce"), dtype=np.float64)
