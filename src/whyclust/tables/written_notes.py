"""What is told of numbers as people write them: units, signs, words for gaps, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from whyclust.columns.deciding import NUMERIC_SHARE
from whyclust.columns.plan import listed
from whyclust.tables.entries import GAPS, Entry, entry_of
from whyclust.tables.signs import is_written
from whyclust.tables.units import currencies_in, is_unit

if TYPE_CHECKING:
    from whyclust.tables.written import Dressed

# Entries that are looked at in a column that is no numbers.
_GLANCE = 400
MISSING = "these count as missing."


def dress_notes(
    found: Mapping[int, Dressed],
    texts: Mapping[int, pd.Series],
    numbers: Mapping[int, pd.Series],
    names: list[str],
    fractions: Collection[int] = (),
) -> list[str]:
    """What was taken off numbers, and what was read as negative, as the same unit or as a gap."""
    notes = []
    by_unit: dict[str, list[int]] = {}
    for position, column in found.items():
        if column.unit:
            by_unit.setdefault(column.unit, []).append(position)
    for unit, positions in by_unit.items():
        first = positions[0]
        # The first entry that shows the unit.
        shows = (
            texts[first].astype(str).str.contains(unit.split()[-1], case=False, regex=False)
            & numbers[first].notna()
        )
        place = int(shows.to_numpy().argmax())
        text, number = str(texts[first].iloc[place]).strip(), float(numbers[first].iloc[place])
        called = listed([f"'{names[position]}'" for position in positions])
        notes.append(f"Numbers with '{unit}' were read as such ('{text}' as {number:,.15g}) in {called}.")
    bare = [
        position
        for position, column in found.items()
        if not column.unit and any(entry.grouped for entry in column.known.values())
    ]
    if bare:
        called = listed([f"'{names[position]}'" for position in bare])
        notes.append(f"Blanks and apostrophes between digits were read as separating thousands in {called}.")
    for position, column in found.items():
        name = f"'{names[position]}'"
        notes += [f"{told} in {name}." for told in _negative(column.known)]
        notes += _several_names(name, column.known)
        notes += _without_unit(name, column, texts[position], numbers[position], position in fractions)
        if column.gaps:
            notes.append(gap_note(names[position], column.gaps))
    return notes


def _negative(known: Mapping[str, Entry]) -> Iterator[str]:
    ways = (
        ("Numbers in brackets", [text for text, entry in known.items() if entry.bracketed]),
        ("Numbers with a minus behind them", [text for text, entry in known.items() if entry.behind]),
    )
    for called, found in ways:
        if found:
            yield f"{called} were read as negative ('{found[0].strip()}' as {known[found[0]].number})"


def _several_names(name: str, known: Mapping[str, Entry]) -> Iterator[str]:
    """Spellings of one currency, and units of one kind."""
    currencies = sorted({entry.currency for entry in known.values() if entry.currency})
    if len(currencies) > 1:
        yield f"In column {name} {_quoted(currencies)} were read as the same currency."
    units = sorted({entry.unit for entry in known.values() if entry.unit})
    if len(units) > 1:
        yield f"Column {name} holds numbers in several units ({_quoted(units)}): they were converted to one."


def _without_unit(
    name: str, column: Dressed, texts: pd.Series, numbers: pd.Series, fractions: bool
) -> Iterator[str]:
    """Numbers alone among others with a unit: they may be in another one."""
    alone, entries = int(column.plain.sum()), int(numbers.notna().sum())
    if not alone:
        return
    place = int(column.plain.argmax())
    text, number = str(texts.iloc[place]).strip(), float(numbers.iloc[place])
    where = f"{alone:,} of {entries:,} numbers of column {name} stand without '{column.unit}'"
    if fractions:
        yield f"{where} and are at most 1: they were read as fractions ('{text}' as {number:.15g} %)."
    else:
        yield f"{where}: they were read as if it were there ('{text}' as {number:,.15g}). Check them."


def gap_note(name: str, gaps: Mapping[str, int]) -> str:
    """Say which entries of a column of numbers are none.

    >>> gap_note("price", {"-": 3, "soon": 1})
    "Column 'price' holds numbers but for '-' (3), 'soon' (1); these count as missing."
    """
    words: Iterable[str] = (f"'{word.strip()}' ({count})" for word, count in list(gaps.items())[:3])
    more = f" and {len(gaps) - 3} others" if len(gaps) > 3 else ""
    return f"Column '{name}' holds numbers but for {', '.join(words)}{more}; {MISSING}"


def sign_notes(unread: Mapping[int, Mapping[str, Entry]], names: list[str]) -> list[str]:
    """Say which columns have decimal points and decimal commas, each of which alone could be read.

    >>> known = {text: entry_of(text) for text in ("170 cm", "6.1 ft", "175,5 cm")}
    >>> sign_notes({0: known}, ["height"])[0].split(":")[0]
    "Column 'height' holds decimal points ('6.1 ft') and decimal commas ('175,5 cm')"
    """
    notes = []
    for position, known in unread.items():
        point, comma = (
            next((text.strip() for text, entry in known.items() if not is_written(entry.number, other)), None)
            for other in (True, False)
        )
        if point and comma:
            notes.append(
                f"Column '{names[position]}' holds decimal points ('{point}') and decimal commas "
                f"('{comma}'): it is not read as numbers. Write all of them with one of the two."
            )
    return notes


def currency_notes(texts: Mapping[int, pd.Series], names: list[str]) -> list[str]:
    """Amounts of several currencies are no numbers that can be compared, and should not go without a word."""
    notes = []
    for position, entries in _amounts(texts):
        found = sorted({entry.currency for entry in entries if entry.currency})
        if len(currencies_in(found)) > 1:
            notes.append(
                f"Column '{names[position]}' holds amounts in several currencies ({_quoted(found)}), which "
                "cannot be compared: it is not read as numbers. Convert them to one currency."
            )
    return notes


def unit_notes(texts: Mapping[int, pd.Series], names: list[str]) -> list[str]:
    """The same of lengths, weights and times in one column, or of some numbers without a unit."""
    notes = []
    for position, entries in _amounts(texts):
        found = sorted({entry.unit for entry in entries if entry.unit})
        if len(found) > 1 and all(map(is_unit, found)):
            notes.append(
                f"Column '{names[position]}' holds numbers in several units ({_quoted(found)}), which cannot "
                "be compared: it is not read as numbers. Convert them to one unit."
            )
    return notes


def _amounts(texts: Mapping[int, pd.Series]) -> Iterator[tuple[int, list[Entry]]]:
    """The columns of which nearly all entries are numbers with something beside them."""
    for position, column in texts.items():
        words = [word for word in column.dropna().head(_GLANCE) if isinstance(word, str)]
        entries = [entry_of(word) for word in words if word.strip().lower() not in GAPS]
        known = [entry for entry in entries if entry is not None]
        if known and len(known) >= NUMERIC_SHARE * len(entries):
            yield position, known


def _quoted(names: list[str]) -> str:
    return " and ".join(f"'{one}'" for one in names[:3])
