"""Decimal and thousands signs: what commas and points mean, decided once for a whole file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import pandas as pd

from whyclust.columns.plan import listed

DECIMAL, THOUSANDS = "decimal marks", "thousands separators"

# Digits of other scripts are none of pandas'.
DECIMAL_COMMA = re.compile(r"\s*[+-]?([0-9]+|[0-9]{1,3}([. ][0-9]{3})+)(,[0-9]+)?([eE][+-]?[0-9]+)?\s*")
THOUSANDS_COMMA = re.compile(
    r"\s*[+-]?[1-9][0-9]{0,2}(,[0-9]{3})*(\.[0-9]+)?\s*|\s*[+-]?(0(\.[0-9]+)?|\.[0-9]+)\s*"
)
DECIMAL_POINT = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
THOUSANDS_POINT = re.compile(r"\s*[+-]?([1-9][0-9]{0,2}(\.[0-9]{3})*|0)\s*")
PATTERNS = {
    ",": {DECIMAL: DECIMAL_COMMA, THOUSANDS: THOUSANDS_COMMA},
    ".": {DECIMAL: DECIMAL_POINT, THOUSANDS: THOUSANDS_POINT},
}


@dataclass(frozen=True)
class _Column:
    """A column of text that is numbers with commas or points, and what these can mean in it."""

    position: int
    entries: pd.Series
    sign: str
    meanings: tuple[str, ...]

    def numbers(self, meaning: str) -> pd.Series:
        plain = self.entries
        if self.sign == ".":
            plain = plain.str.replace(".", "", regex=False) if meaning == THOUSANDS else plain
        elif meaning == THOUSANDS:
            plain = plain.str.replace(",", "", regex=False)
        else:
            plain = plain.str.replace(r"[. ]", "", regex=True).str.replace(",", ".", regex=False)
        return as_floats(plain)

    def example(self, meaning: str) -> str:
        first = int(self.entries.str.contains(self.sign, regex=False).to_numpy().argmax())
        return f"'{self.entries.iloc[first].strip()}' as {self.numbers(meaning).iloc[first]:.15g}"


def as_floats(texts: pd.Series) -> pd.Series:
    """Numbers of plain texts; those that are too long for any type are infinite."""
    try:
        return pd.to_numeric(texts).astype(float)
    except OverflowError:
        return texts.map(float)


def read_signs(
    frame: pd.DataFrame,
    names: list[str],
    delimiter: str,
    delimiter_name: str,
    as_text: Callable[[list[int]], pd.DataFrame] | None,
    as_written: Collection[str] = (),
    *,
    decimal_commas: bool = False,
) -> tuple[dict[int, pd.Series], list[str]]:
    """Find the columns of numbers that are written with commas, or with points between thousands.

    A sign has one meaning in the whole file, the one that any column shows in which only one is possible:
    '0,5' has a decimal comma, '1,234,567' has not, and where '0.5' has a decimal point '1,250' is above
    a thousand. Where nothing shows it, commas are decimal marks between semicolons, and elsewhere separate
    thousands.

    Parameters
    ----------
    frame : pandas.DataFrame
        As read with decimal points; columns are called by their positions.
    names : list of str
        What they are called in notes.
    delimiter, delimiter_name : str
    as_text : callable or None
        Reads columns of numbers again, as they are written; None where they were never text.
    as_written : collection of str
        Names of columns that stay as they are.
    decimal_commas : bool
        Whether columns that are numbers already have shown that commas are decimal marks.

    Returns
    -------
    numbers : dict of int to Series
        The columns that change, by position.
    notes : list of str
    """
    kinds = list(frame.dtypes)
    columns = {
        position: frame.iloc[:, position]
        for position, kind in enumerate(kinds)
        if not (pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind))
        and names[position] not in as_written
    }
    with_commas = _with_sign(",", columns)
    if not with_commas and delimiter != ";" and not decimal_commas:
        return {}, []
    floats = [
        position
        for position, kind in enumerate(kinds)
        if kind.kind == "f" and names[position] not in as_written
    ]
    if floats and as_text is not None:
        written = as_text(floats)
        columns |= {position: written.iloc[:, place] for place, position in enumerate(floats)}
    with_points = _with_sign(".", columns)
    if not with_commas and not decimal_commas:
        return _points_alone(frame, with_points, names)
    comma, settled = _meaning_of_commas(with_commas, with_points, delimiter, decimal_commas)
    found: list[tuple[_Column, str]] = [
        (column, comma if comma in column.meanings else column.meanings[0]) for column in with_commas
    ]
    if comma == DECIMAL and not any(column.meanings == (DECIMAL,) for column in with_points):
        found += [(column, THOUSANDS) for column in with_points]
    notes = _notes(found, names)
    doubtful = [names[column.position] for column in with_commas if len(column.meanings) > 1]
    if doubtful and not settled:
        notes.append(_doubt(with_commas, doubtful, delimiter_name))
    return {column.position: column.numbers(meaning).reindex(frame.index) for column, meaning in found}, notes


def is_written(text: str, comma: bool) -> bool:
    """Whether a text is a number with a decimal comma, or with a decimal point.

    >>> is_written("6.1", True), is_written("175,5", False), is_written("1,250", True)
    (False, False, True)
    """
    if comma:
        return DECIMAL_COMMA.fullmatch(text) is not None
    return DECIMAL_POINT.fullmatch(text) is not None or THOUSANDS_COMMA.fullmatch(text) is not None


def _points_alone(
    frame: pd.DataFrame, with_points: list[_Column], names: list[str]
) -> tuple[dict[int, pd.Series], list[str]]:
    """Points between semicolons separate thousands, where that is possible in every column.

    Three digits after every point, and numbers below a thousand without one, are no accident.
    """
    if not with_points or any(THOUSANDS not in column.meanings for column in with_points):
        return {}, []
    if all(column.entries.str.contains(".", regex=False).all() for column in with_points):
        return {}, []
    called = listed([f"'{names[column.position]}'" for column in with_points])
    notes = _notes([(column, THOUSANDS) for column in with_points], names)
    notes.append(
        f"Nothing in the file shows what its points mean, but that it has semicolons: check {called}."
    )
    found = {column.position: column.numbers(THOUSANDS).reindex(frame.index) for column in with_points}
    return found, notes


def _with_sign(sign: str, columns: dict[int, pd.Series]) -> list[_Column]:
    """The columns of text in which all entries are numbers, and some have this sign."""
    found = []
    for position, column in columns.items():
        entries = column.dropna().astype(str)
        entries = entries[entries.str.strip() != ""]
        if entries.empty or not entries.str.contains(sign, regex=False).any():
            continue
        meanings = tuple(
            meaning for meaning, pattern in PATTERNS[sign].items() if _all_match(entries, pattern)
        )
        if meanings:
            found.append(_Column(position, entries, sign, meanings))
    return found


def _all_match(entries: Iterable[str], pattern: re.Pattern[str]) -> bool:
    return all(pattern.fullmatch(entry) for entry in entries)


def _meaning_of_commas(
    with_commas: list[_Column], with_points: list[_Column], delimiter: str, decimal_commas: bool
) -> tuple[str, bool]:
    """What commas mean in the file, and whether the file shows it."""
    shown = {column.meanings[0] for column in with_commas if len(column.meanings) == 1}
    shown |= {DECIMAL} if decimal_commas else set()
    if len(shown) == 1:
        return shown.pop(), True
    if not shown and any(column.meanings == (DECIMAL,) for column in with_points):
        return THOUSANDS, True
    if not shown and any(column.meanings == (THOUSANDS,) for column in with_points):
        return DECIMAL, True
    return (DECIMAL if delimiter == ";" else THOUSANDS), False


def _notes(found: list[tuple[_Column, str]], names: list[str]) -> list[str]:
    notes = []
    for sign, meaning in [(",", DECIMAL), (",", THOUSANDS), (".", THOUSANDS)]:
        columns = [column for column, read_as in found if (column.sign, read_as) == (sign, meaning)]
        if columns:
            called = listed([f"'{names[column.position]}'" for column in columns])
            word = "Commas" if sign == "," else "Points"
            notes.append(f"{word} were read as {meaning} ({columns[0].example(meaning)}) in {called}.")
    return notes


def _doubt(with_commas: list[_Column], doubtful: list[str], delimiter_name: str) -> str:
    called = listed([f"'{name}'" for name in doubtful])
    if len(doubtful) < len(with_commas):
        return (
            f"Commas have different meanings in this file, so that its delimiter ({delimiter_name}) decided "
            f"where both are possible: check {called}."
        )
    return (
        f"Nothing else in the file shows what its commas mean, so that its delimiter ({delimiter_name}) "
        f"decided it: check {called}."
    )
