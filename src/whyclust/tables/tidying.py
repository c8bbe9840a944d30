"""Rows and numbers that are no data: totals below a table, and numbers that stand for a gap."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.saving.registry import saved

_TOTAL = re.compile(
    r"(grand )?(total|totals|sum|subtotal|average|mean|summe|gesamt|gesamtsumme|totaal|total general)\s*:?",
    re.IGNORECASE,
)
# What programs write where they have no number, if it is far from all others.
GAP_NUMBERS = (-99999.0, -9999.0, -999.0, -99.0, 999.0, 9999.0, 99999.0, 999999.0)
# Such a number is so many times as far from the others as these are from each other.
_FAR = 2.0
_FEWEST = 10
# A table of fewer rows has no total below it.
FEWEST_ABOVE = 3
# Below a table there are no more remarks than this, and one in so many rows. Beside fewer columns, or of
# fewer words, a text may be the name of a row that has nothing else.
_MOST_BELOW, _TIMES, _FEWEST_COLUMNS, _WORDS = 5, 10, 3, 3


@saved(alone=False)
@dataclass(frozen=True, eq=False)
class GapNumbers:
    """Which numbers of a column may stand for a gap, and how the others lie; those of parts add up.

    Attributes
    ----------
    counts : ndarray
        How often each of `GAP_NUMBERS` is there.
    n_others : int
        Finite numbers that are none of them.
    lowest, highest : float
        Of these.

    Examples
    --------
    >>> parts = GapNumbers.of(np.arange(15.0, 25.0)), GapNumbers.of(np.array([-999.0, np.nan, -999.0]))
    >>> (parts[0] + parts[1]).gaps()
    {-999.0: 2}
    """

    counts: NDArray
    n_others: int
    lowest: float
    highest: float

    @classmethod
    def of(cls, numbers: NDArray) -> GapNumbers:
        """Of some rows, NaN for gaps."""
        finite = numbers[np.isfinite(numbers)]
        counts = np.zeros(len(GAP_NUMBERS), dtype=np.int64)
        # Most columns have no number as large as the smallest of these.
        if len(finite) and max(-finite.min(), finite.max()) >= min(map(abs, GAP_NUMBERS)):
            found = np.isin(finite, GAP_NUMBERS)
            if found.any():
                counts[:] = [(finite[found] == gap).sum() for gap in GAP_NUMBERS]
                finite = finite[~found]
        lowest, highest = finite.min(initial=np.inf), finite.max(initial=-np.inf)
        return cls(counts, len(finite), float(lowest), float(highest))

    def __add__(self, other: GapNumbers) -> GapNumbers:
        return GapNumbers(
            self.counts + other.counts,
            self.n_others + other.n_others,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )

    def gaps(self) -> dict[float, int]:
        """The numbers that are far from all others, each with how often it is there."""
        there = {
            gap: int(count) for gap, count in zip(GAP_NUMBERS, self.counts.tolist(), strict=True) if count
        }
        found: dict[float, int] = {}
        for gap in list(there):
            count = there.pop(gap)
            lowest, highest = min([self.lowest, *there]), max([self.highest, *there])
            away = lowest - gap if gap < lowest else gap - highest
            enough = self.n_others + sum(there.values()) >= _FEWEST and lowest != highest
            if enough and away > _FAR * (highest - lowest):
                found[gap] = count
            else:
                there[gap] = count
        return found


def is_total(text: object) -> bool:
    """Whether a text is what the last row of a table is called where it sums the others up.

    >>> is_total("Grand total:"), is_total("totally")
    (True, False)
    """
    return isinstance(text, str) and _TOTAL.fullmatch(text.strip()) is not None


def total_note(word: str) -> str:
    """Say that a last row was left out."""
    return f"The last row is called '{word.strip()}': it was left out."


def gap_number_note(name: str, gap: float, count: int) -> str:
    """Say that a number counts as missing."""
    rows = f"{count} row{'s' if count > 1 else ''}"
    return f"Column '{name}' holds {gap:g} in {rows}, far from all its other numbers: these count as missing."


def without_total(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Leave out a last row that is called total, sum or the like, and remarks below a table, and say so.

    >>> table = pd.DataFrame({"shop": ["a", "b", "Total"], "sales": [1, 2, 3]})
    >>> without_total(table)
    (  shop  sales
    0    a      1
    1    b      2, ["The last row is called 'Total': it was left out."])
    """
    frame, notes = _without_remarks(frame)
    if len(frame) < FEWEST_ABOVE:
        return frame, notes
    for name in frame.columns:
        last = frame[name].iloc[-1]
        if is_total(last) and (frame[name] == last).sum() == 1:
            return frame.iloc[:-1], [*notes, total_note(last)]
    return frame, notes


def _without_remarks(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Leave out last rows that fill nothing but the first column, with words of their own, as no other."""
    if frame.shape[1] < _FEWEST_COLUMNS or not len(frame):
        return frame, []
    alone = (frame.iloc[:, 0].notna() & frame.iloc[:, 1:].isna().all(axis=1)).to_numpy()
    below = int(alone[::-1].argmin())
    if not 0 < below <= min(_MOST_BELOW, len(frame) // _TIMES) or alone[: len(frame) - below].any():
        return frame, []
    texts = frame.iloc[-below:, 0]
    first = texts.iloc[0]
    if not all(isinstance(text, str) and not is_total(text) for text in texts):
        return frame, []
    # A name is a word or two, a remark is longer; what other rows have too is neither.
    remarks = all(len(text.split()) >= _WORDS for text in texts)
    if not remarks or texts.isin(set(frame.iloc[:-below, 0].dropna())).any():
        return frame, []
    told = "1 line" if below == 1 else f"{below} lines"
    was = "was" if below == 1 else "were"
    return frame.iloc[:-below], [f"{told} below the table {was} left out ('{first.strip()}')."]


def without_empty_rows(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Leave out rows that hold nothing, and say so; the others keep their numbers.

    >>> table = pd.DataFrame({"shop": ["a", None, "b"], "sales": [1, None, 2]})
    >>> without_empty_rows(table)
    (  shop  sales
    0    a    1.0
    2    b    2.0, ['1 row that holds nothing was left out.'])
    """
    empty = frame.isna().all(axis=1).to_numpy()
    if not empty.any() or empty.all():
        return frame, []
    count = int(empty.sum())
    told = "1 row that holds nothing was" if count == 1 else f"{count:,} rows that hold nothing were"
    return frame[~empty], [f"{told} left out."]


def without_gap_numbers(frame: pd.DataFrame, but: Collection[str] = ()) -> tuple[pd.DataFrame, list[str]]:
    """Read −999 and the like as gaps, where they are far from all other numbers of their column.

    Columns named in `but` stay as they are.

    >>> table = pd.DataFrame({"temperature": [*range(15, 25), -999, -999]})
    >>> without_gap_numbers(table)[1]
    ["Column 'temperature' holds -999 in 2 rows, far from all its other numbers: these count as missing."]
    """
    changed, notes = {}, []
    for name in frame.columns:
        column = frame[name]
        if name in but:
            continue
        if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
            continue
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        gaps = GapNumbers.of(numbers).gaps()
        if gaps:
            notes += [gap_number_note(str(name), gap, count) for gap, count in gaps.items()]
            numbers = np.where(np.isin(numbers, list(gaps)), np.nan, numbers)
            changed[name] = pd.Series(numbers, index=column.index)
    return replaced(frame, changed), notes


def replaced(frame: pd.DataFrame, columns: dict[str, pd.Series]) -> pd.DataFrame:
    """The frame with other columns in the place of some; the frame itself where there are none."""
    frame = frame.copy(deep=False) if columns else frame
    for name, column in columns.items():
        frame[name] = column
    return frame


def title_rows(rows: list[list[str]], most: int = 10) -> int:
    """How many rows stand above the names of the columns: titles, remarks and empty ones.

    Parameters
    ----------
    rows : list of list of str
        The first rows of a file, empty cells as "".
    most : int
        Titles of more rows than this are not looked for.

    Examples
    --------
    >>> title_rows([["Sales of 2024", "", ""], ["", "", ""], ["shop", "visits", "sales"], ["a", "1", "2"]])
    2
    >>> title_rows([["shop", "visits", "sales"], ["a", "1", "2"]])
    0
    """
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    if len(rows) < 3 or max(filled) < 3:
        return 0
    usual = int(np.median(filled[1:]))
    # A header names nearly all columns; a title is in one cell or two.
    if filled[0] > max(usual // 2, 1):
        return 0
    for place in range(1, min(most, len(rows) - 1)):
        names = [cell.strip() for cell in rows[place] if cell.strip()]
        if len(names) >= max(0.8 * usual, 2):
            numbers = sum(name.replace(".", "", 1).replace("-", "", 1).isdecimal() for name in names)
            return place if len(set(names)) == len(names) and numbers == 0 else 0
    return 0


def title_note(cells: list[str]) -> str:
    """Say what was left out above the names of the columns."""
    written = [cell.strip() for cell in cells if cell.strip()]
    told = f" ('{written[0][:60]}')" if written else ""
    return f"The lines above the names of the columns were left out{told}."


def unique_names(columns: Iterable[object]) -> tuple[list[str], list[str]]:
    """A name of its own for every column, without blanks around it, and notes on those that had none.

    >>> unique_names([" a", "b", "a", ""])[0]
    ['a', 'b', 'a (2)', 'column 4']
    """
    original = ["" if name is None else str(name).strip() for name in columns]
    taken, names, repeated, nameless = set(original), [], [], []
    seen: set[str] = set()
    for position, name in enumerate(original):
        unique = name or f"column {position + 1}"
        number = 2
        while unique in seen or (unique != name and unique in taken):
            unique = f"{name or f'column {position + 1}'} ({number})"
            number += 1
        if name and unique != name:
            repeated.append(f"'{unique}'")
        elif not name:
            nameless.append(f"'{unique}'")
        seen.add(unique)
        names.append(unique)
    notes = []
    if nameless:
        notes.append(f"Columns without a name are called by their position: {', '.join(nameless)}.")
    if repeated:
        notes.append(f"Column names that occur more than once were numbered: {', '.join(repeated)}.")
    return names, notes
