"""How the numbers of a column were written, kept so that other rows of it are read alike.

A file alone may not show it: '1,250' is above a thousand in one table and below two in another, and '900 K'
are 900 where a column counts in thousands, and 900,000 where it has 'K' beside 'M'.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.saving.registry import saved
from whyclust.tables.entries import GAPS, MAGNITUDES, Entry, counts_ones, entry_of
from whyclust.tables.signs import is_written
from whyclust.tables.units import conversions, currencies_in

# What pandas takes for a gap in a file, in small letters; and the question mark, as in `delimited`.
NO_ENTRY = GAPS | {"", "?", "nan", "null", "<na>", "#n/a", "#na", "-nan", "1.#ind", "1.#qnan", "#n/a n/a"}


@saved(alone=False)
@dataclass(frozen=True)
class Spelling:
    """How a column was written.

    Attributes
    ----------
    comma : bool or None
        Whether a comma is the decimal mark, and points separate thousands; None where nothing showed it.
    currency, unit : str
        What stands beside the numbers.
    magnitude : str
        'm' where all are millions and their numbers were taken as written.
    counts : bool
        Whether 'K' and 'M' are thousands and millions.
    gaps : tuple of float
        Numbers that stand for a gap.
    day_first : bool
        Of dates.
    fractions : bool
        Whether numbers alone, among others in per cent, are these divided by 100.
    words : tuple of str
        Odd words among the numbers, in small letters, which counted as gaps.

    Examples
    --------
    >>> texts = pd.Series(["1.250,5 €", "3,25 €"])
    >>> spelling = Spelling.of(texts, pd.Series([1250.5, 3.25]))
    >>> spelling.comma, spelling.currency
    (True, '€')
    >>> spelling.read(["1,250 €", "2", "n/a"])[0]
    array([1.25, 2.  ,  nan])
    """

    comma: bool | None = None
    currency: str = ""
    unit: str = ""
    magnitude: str = ""
    counts: bool = False
    gaps: tuple[float, ...] = ()
    day_first: bool = False
    fractions: bool = False
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, column: pd.Series, numbers: pd.Series) -> Spelling:
        """How texts were written that were read as these numbers."""
        if pd.api.types.is_numeric_dtype(column.dtype):
            # Points that were decimal marks for pandas, and separate thousands.
            return cls(comma=True)
        codes, words = pd.factorize(column.astype(object))
        values = np.full(len(words), np.nan)
        values[codes[codes >= 0]] = numbers.to_numpy(dtype=np.float64, na_value=np.nan)[codes >= 0]
        found = [entry_of(str(word)) for word in words]
        odd = {str(word).strip().lower() for word, one in zip(words, found, strict=True) if one is None}
        known = [
            (one, value) for one, value in zip(found, values, strict=True) if one and not np.isnan(value)
        ]
        entries = [one for one, _ in known]
        counts = counts_ones(entries)
        magnitudes = sorted({one.magnitude for one in entries if one.magnitude})
        comma, unit = (
            _comma(known, counts),
            _unit(found, np.bincount(codes[codes >= 0], minlength=len(found))),
        )
        return cls(
            comma,
            next((one.currency for one in entries if one.currency), ""),
            unit,
            "" if counts or not magnitudes else magnitudes[0],
            counts,
            fractions=unit == "%" and _are_fractions(known, bool(comma)),
            words=tuple(sorted(odd - NO_ENTRY)),
        )

    @property
    def measure(self) -> str:
        """What its numbers are counted in, in words; empty for plain ones.

        >>> Spelling(unit="km").measure, Spelling(counts=True).measure, Spelling().measure
        ("'km'", 'thousands and millions', '')
        """
        beside = " ".join(word for word in (self.currency, self.unit, self.magnitude.upper()) if word)
        told = [f"'{beside}'"] if beside else []
        # With a currency, 'K' and 'M' are always counted.
        return " ".join([*told, *(["thousands and millions"] if self.counts and not self.currency else [])])

    def measures_as(self, other: Spelling) -> bool:
        """Whether the numbers of another column are counted in the same."""
        if not (self.currency and other.currency):
            return self.measure == other.measure
        same = len(currencies_in([self.currency, other.currency])) == 1
        return same and self.measure == replace(other, currency=self.currency).measure

    def possible_marks(self, texts: Sequence[str]) -> tuple[bool, bool]:
        """Whether a decimal comma is possible in all texts, and whether a point is.

        >>> Spelling().possible_marks(["1,5", "2"]), Spelling().possible_marks(["1.250", "n/a"])
        ((True, False), (True, True))
        """
        found = (self._bare(text) for text in texts if text.strip().lower() not in NO_ENTRY)
        written = [one[0] for one in found if one is not None]
        comma, point = (all(is_written(one, mark) for one in written) for mark in (True, False))
        return comma, point

    def read(self, texts: Sequence[str]) -> tuple[NDArray, NDArray]:
        """The numbers of texts, NaN for gaps, and which texts are no such numbers.

        Texts that are all written with the other decimal mark are read with that.
        """
        bare, factors, unread = self._bares(texts)
        comma = _fitting([one for one in bare if one is not None], bool(self.comma))
        return self._values(bare, factors, unread, comma)

    def read_part(self, texts: Sequence[str]) -> tuple[NDArray, NDArray]:
        """The same of a part of a column: its decimal mark is that of the column, whatever the part shows.

        >>> Spelling(comma=False).read(["1,25"])[0], Spelling(comma=False).read_part(["1,25"])[0]
        (array([1.25]), array([nan]))
        """
        return self._values(*self._bares(texts), bool(self.comma))

    def _bares(self, texts: Sequence[str]) -> tuple[list[str | None], NDArray, NDArray]:
        """The numbers alone, what they are multiplied with, and which texts are none."""
        bare: list[str | None] = [None] * len(texts)
        factors, unread = np.ones(len(texts)), np.zeros(len(texts), dtype=bool)
        for place, text in enumerate(texts):
            if text.strip().lower() in (*NO_ENTRY, *self.words):
                continue
            found = self._bare(text)
            unread[place] = found is None
            if found is not None:
                bare[place], factors[place] = found
        return bare, factors, unread

    def _values(
        self, bare: list[str | None], factors: NDArray, unread: NDArray, comma: bool
    ) -> tuple[NDArray, NDArray]:
        values = np.full(len(bare), np.nan)
        for place, one in enumerate(bare):
            if one is not None:
                values[place] = _number(one, comma)
                unread[place] = math.isnan(values[place])
        return self.without_gaps(values * factors), unread

    def without_gaps(self, values: NDArray) -> NDArray:
        """The same, with NaN for numbers that stand for a gap."""
        return np.where(np.isin(values, self.gaps), np.nan, values) if self.gaps else values

    def _bare(self, text: str) -> tuple[str, float] | None:
        """The number alone and what it is multiplied with; None where it is in other units."""
        entry = entry_of(text)
        if entry is None:
            # '007' is no amount, but a number.
            return (
                (text.strip(), 1.0) if _number(text.strip(), False) == _number(text.strip(), False) else None
            )
        factor = 100.0 if self.fractions and not entry.unit else 1.0
        if entry.unit and entry.unit != self.unit:
            converted = conversions({self.unit: 2, entry.unit: 1}) if self.unit else None
            if converted is None:
                return None
            factor = converted[1][entry.unit]
        # Of weights, '5 M' is no million, and '$5' no weight.
        if self.unit and (entry.magnitude or (entry.currency and not self.currency)):
            return None
        # A currency may be added, but not another one.
        if entry.currency and self.currency and len(currencies_in([entry.currency, self.currency])) > 1:
            return None
        if not self.magnitude:
            return entry.number, factor * MAGNITUDES.get(entry.magnitude, 1.0)
        if not entry.magnitude:
            return None
        return entry.number, MAGNITUDES[entry.magnitude] / MAGNITUDES[self.magnitude]


def spellings_of(frame: pd.DataFrame, numbers: Mapping[int, pd.Series]) -> dict[int, Spelling]:
    """How the columns of numbers of a file are written, those among them that pandas has read.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns are called by their positions.
    numbers : mapping of int to Series
        What texts were read as.

    Examples
    --------
    >>> frame = pd.DataFrame({0: ["1,5", "2,25"], 1: [3, 4], 2: [0.5, 0.25], 3: ["a", "b"]})
    >>> found = spellings_of(frame, {0: pd.Series([1.5, 2.25])})
    >>> {position: one.comma for position, one in found.items()}
    {0: True, 1: True, 2: False}
    """
    found = {position: Spelling.of(frame[position], column) for position, column in numbers.items()}
    shown = {one.comma for one in found.values() if one.comma is not None}
    # A sign has one meaning in a file, unless it has shown two.
    of_file = shown.pop() if len(shown) == 1 else None
    for position, kind in enumerate(frame.dtypes):
        if position not in found and getattr(kind, "kind", "O") in "iuf":
            found[position] = Spelling(
                comma=False if kind.kind == "f" and frame[position].mod(1).any() else of_file
            )
        elif position in found and found[position].comma is None:
            found[position] = replace(found[position], comma=of_file)
    return dict(sorted(found.items()))


def gap_spellings(
    before: pd.DataFrame, after: pd.DataFrame, spellings: Mapping[str, Spelling]
) -> dict[str, Spelling]:
    """Spellings of the columns of which some numbers became gaps, with these numbers."""
    found = {}
    for name in before.columns:
        if before[name] is not after[name] and before[name].dtype.kind in "iuf":
            gone = before[name][after[name].isna() & before[name].notna()].unique()
            if len(gone):
                gaps = tuple(float(gap) for gap in gone)
                found[name] = replace(spellings.get(name, Spelling()), gaps=gaps)
    return found


def _unit(entries: Sequence[Entry | None], counts: NDArray) -> str:
    """What all were converted to: the most frequent of several units."""
    units: Counter[str] = Counter()
    for entry, count in zip(entries, counts, strict=True):
        if entry is not None and entry.unit:
            units[entry.unit] += int(count)
    return units.most_common(1)[0][0] if units else ""


def _are_fractions(known: list[tuple[Entry, float]], comma: bool) -> bool:
    alone = [(_number(entry.number, comma), value) for entry, value in known if not entry.unit]
    return any(number and math.isclose(100 * number, value) for number, value in alone)


def _comma(known: list[tuple[Entry, float]], counts: bool) -> bool | None:
    """Whether the numbers that were read show a decimal comma."""
    for entry, value in known:
        factor = MAGNITUDES.get(entry.magnitude, 1.0) if counts else 1.0
        if "," in entry.number or "." in entry.number:
            as_comma, as_point = (_number(entry.number, comma) * factor for comma in (True, False))
            if as_comma != as_point and value in (as_comma, as_point):
                return bool(value == as_comma)
    return None


def _fitting(written: list[str], comma: bool) -> bool:
    """The decimal mark that was kept, unless only the other one is possible for all."""
    if all(is_written(one, comma) for one in written):
        return comma
    return not comma if all(is_written(one, not comma) for one in written) else comma


def _number(text: str, comma: bool) -> float:
    """NaN where it is not written so.

    >>> _number("1.250,5", True), _number("1,250", False), _number("1,25", False)
    (1250.5, 1250.0, nan)
    """
    if not is_written(text, comma):
        return math.nan
    plain = text.replace(".", "").replace(" ", "").replace(",", ".") if comma else text.replace(",", "")
    try:
        return float(plain)
    except ValueError:
        return math.nan
