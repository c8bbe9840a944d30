"""What is known of a column before anything is decided about it; facts of parts add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.columns.meaning import IDENTIFIER, NUMBERING, meaning_of
from whyclust.moments.categories import CategoryCounts
from whyclust.moments.numbers import NumberMoments
from whyclust.saving.registry import saved

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

# Numbers identify rows if at least this share of them are different: some rows may be there twice.
IDENTIFYING_SHARE = 0.9
# Rows of which numbers are kept for medians and ranks, drawn by their place.
SAMPLE = 1000


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class Sample:
    """Finite numbers of some rows, drawn by their place: the same for a table in parts.

    Attributes
    ----------
    keys : ndarray
        What the place of each row was scattered to; the smallest are drawn.
    numbers : ndarray

    Examples
    --------
    >>> values = np.arange(5000.0)
    >>> parts = Sample.of(values[:3000]) + Sample.of(values[3000:], 3000)
    >>> len(parts.numbers), bool((np.sort(parts.numbers) == np.sort(Sample.of(values).numbers)).all())
    (1000, True)
    """

    keys: NDArray
    numbers: NDArray

    @classmethod
    def of(cls, values: NDArray, first_row: int = 0) -> Sample:
        """Of the numbers of some rows; gaps and infinite ones are left out."""
        finite = np.isfinite(values)
        places = np.flatnonzero(finite).astype(np.uint64) + np.uint64(first_row)
        return cls(scattered(places), values[finite])._drawn()

    def __add__(self, other: Sample) -> Sample:
        keys = np.concatenate([self.keys, other.keys])
        return Sample(keys, np.concatenate([self.numbers, other.numbers]))._drawn()

    def _drawn(self) -> Sample:
        if len(self.keys) <= SAMPLE:
            return self
        kept = np.argpartition(self.keys, SAMPLE - 1)[:SAMPLE]
        return Sample(self.keys[kept], self.numbers[kept])


def scattered(places: NDArray) -> NDArray:
    """Mix the bits of whole numbers (splitmix64), so that neighbours end up far apart."""
    with np.errstate(over="ignore"):
        mixed = places * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


@saved(alone=False)
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
        The different numbers, sorted, if nearly all are different and that is worth knowing.
    exact : (int, int) or None
        The lowest and the highest of whole numbers, which may have more digits than a float.
    sample : Sample or None
        Numbers of some rows, for medians and ranks.
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
    sample: Sample | None = None

    @classmethod
    def of(cls, values: NDArray, first_row: int = 0, *, name: str = "") -> NumberFacts:
        """Of the numbers of some rows, NaN for gaps."""
        may_identify = meaning_of(name) in (IDENTIFIER, NUMBERING)
        infinite = np.isinf(values)
        present = values[~(infinite | np.isnan(values))]
        different = np.unique(present) if may_identify else None
        return cls(
            NumberMoments.of(present[:, None]),
            float(present.min(initial=np.inf)),
            float(present.max(initial=-np.inf)),
            int(np.argmax(infinite)) + first_row if infinite.any() else None,
            float(values[0]),
            float(values[-1]),
            bool((np.diff(values) == 1).all()),
            bool((present == np.floor(present)).all()),
            different if different is not None and _nearly_all(len(different), len(present)) else None,
            sample=Sample.of(values, first_row),
        )

    def __add__(self, other: NumberFacts) -> NumberFacts:
        different = None
        if self.different is not None and other.different is not None:
            different = np.union1d(self.different, other.different)
            n_present = int(self.moments.count[0] + other.moments.count[0])
            different = different if _nearly_all(len(different), n_present) else None
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
            _sum(self.sample, other.sample),
        )

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return max(abs(self.lowest), abs(self.highest))

    @property
    def spread(self) -> float:
        """From the lowest to the highest."""
        return self.highest - self.lowest


@saved(alone=False)
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
        Of a column of numbers, and of dates as years.
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
        if kind == DATES and pd.api.types.is_datetime64_any_dtype(column.dtype):
            numbers = NumberFacts.of(as_years(column), first_row, name=str(column.name))
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


def _nearly_all(different: int, present: int) -> bool:
    return different >= IDENTIFYING_SHARE * present


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
    """Numbers of any type as float64, NaN for gaps; those that are too large are infinite."""
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except OverflowError:  # whole numbers of Python have no largest one
        return np.array([np.nan if pd.isna(one) else float(str(one)) for one in column], dtype=np.float64)


def as_years(column: pd.Series) -> NDArray:
    """Dates as years with a fraction, NaN for gaps.

    >>> as_years(pd.Series(pd.to_datetime(["2001-01-01 00:00", "2001-07-02 12:00"])))
    array([2001. , 2001.5])
    """
    dates = pd.DatetimeIndex(column)
    dates = dates if dates.tz is None else dates.tz_convert("UTC").tz_localize(None)
    starts = pd.to_datetime({"year": dates.year, "month": 1, "day": 1}, errors="coerce")
    lengths = 365.0 + dates.is_leap_year
    passed = (dates - pd.DatetimeIndex(starts)) / pd.Timedelta(days=1)
    return np.asarray(dates.year + passed / lengths, dtype=np.float64)


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
