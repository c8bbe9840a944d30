"""Rows and numbers that are no data: totals below a table, and numbers that stand for a gap."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np
import pandas as pd

_TOTAL = re.compile(
    r"(grand )?(total|totals|sum|subtotal|average|mean|summe|gesamt|gesamtsumme|totaal|total general)\s*:?",
    re.IGNORECASE,
)
# What programs write where they have no number, if it is far from all others.
GAP_NUMBERS = (-99999.0, -9999.0, -999.0, -99.0, 999.0, 9999.0, 99999.0, 999999.0)
# Such a number is so many times as far from the others as these are from each other.
_FAR = 2.0
_FEWEST = 10


def without_total(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Leave out a last row that is called total, sum or the like, and say so.

    >>> table = pd.DataFrame({"shop": ["a", "b", "Total"], "sales": [1, 2, 3]})
    >>> without_total(table)
    (  shop  sales
    0    a      1
    1    b      2, ["The last row is called 'Total': it was left out."])
    """
    if len(frame) < 3:
        return frame, []
    for name in frame.columns:
        last = frame[name].iloc[-1]
        if isinstance(last, str) and _TOTAL.fullmatch(last.strip()) and (frame[name] == last).sum() == 1:
            return frame.iloc[:-1], [f"The last row is called '{last.strip()}': it was left out."]
    return frame, []


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
        for gap in GAP_NUMBERS:
            found = numbers == gap
            rest = numbers[~found & np.isfinite(numbers)]
            if not found.any() or len(rest) < _FEWEST or rest.min() == rest.max():
                continue
            away = rest.min() - gap if gap < rest.min() else gap - rest.max()
            if away > _FAR * (rest.max() - rest.min()):
                numbers = np.where(found, np.nan, numbers)
                rows = f"{int(found.sum())} row{'s' if found.sum() > 1 else ''}"
                notes.append(
                    f"Column '{name}' holds {gap:g} in {rows}, far from all its other numbers: these count "
                    "as missing."
                )
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
