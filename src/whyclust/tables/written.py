"""Numbers as people write them: '$219 B', '12.5 %', '180 cm', '98/100', '(1,200) €'.

A column of text is a column of numbers with a unit if all its entries are numbers beside the same unit. What
commas and points mean in the numbers is not decided here, but for the whole file (`whyclust.tables.signs`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.columns.plan import listed
from whyclust.tables.signs import read_signs

# What stands for a gap in a column of numbers, beside what pandas takes for one.
GAPS = frozenset(
    {"-", "--", "–", "—", ".", "..", "...", "n.a.", "n/a", "na", "none", "nil", "unknown", "missing", "tbd"}
    | {"not available", "not known", "k.a.", "s/d", "x"}
)
CURRENCIES = (
    *("US$", "A$", "C$", "R$", "HK$", "S$", "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "zł", "Fr.", "kr."),
    *("kr", "Rs.", "Rs", "USD", "EUR", "GBP", "CHF", "JPY", "INR", "AUD", "CAD", "CNY", "RMB", "SEK", "NOK"),
    *("DKK", "BRL", "MXN", "PLN", "TRY", "ZAR", "Euro", "euro", "euros", "dollars", "pounds"),
)
# How many ones a word stands for; those of a single letter may be units as well (metres, kelvin).
MAGNITUDES = {
    **dict.fromkeys(("k", "tsd", "thousand"), 1e3),
    **dict.fromkeys(("m", "mn", "mio", "mln", "million", "millions"), 1e6),
    **dict.fromkeys(("b", "bn", "mrd", "billion", "billions"), 1e9),
    **dict.fromkeys(("t", "tn", "trillion", "trillions"), 1e12),
    **dict.fromkeys(("lakh", "lakhs"), 1e5),
    **dict.fromkeys(("cr", "crore", "crores"), 1e7),
}
_MONEY = "|".join(re.escape(name) for name in CURRENCIES)
# Digits of other scripts are none of pandas'.
_FORM = re.compile(
    rf"""\s*(?P<minus>[-−])?\s*(?P<open>\()?\s*
    (?P<before>{_MONEY})?\s*(?P<inside>\()?\s*
    (?P<number>[+\-−]?(?:[0-9](?:[0-9.,'’\u00a0\u202f ]*[0-9])?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?)\s*
    (?P<after>[%‰]|/\s*[0-9]+|[^\W\d_°"'′″µ][^\d()]{{0,14}}|[°"'′″µ£€$¥₹][^\d()]{{0,14}})?
    \s*(?P<close>\))?\s*""",
    re.VERBOSE,
)
_GROUPS = re.compile(r"(?<=\d)['’\u00a0\u202f ](?=\d{3}(?!\d))")
_GROUPED = re.compile(r"-?[1-9]\d{0,2}(?:['’\u00a0\u202f ]\d{3})+(?:[.,]\d+)?")
# What stands behind numbers and is no unit: times of day, months, places in an order.
_NO_UNITS = frozenset(
    {"am", "pm", "uhr", "st", "nd", "rd", "th", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep"}
    | {"oct", "nov", "dec"}
)
# Longer texts are no numbers.
_LONGEST = 40
# Entries that are looked at before all of them are, and how many of these must be numbers.
_GLANCE, _MOSTLY = 40, 0.8
# A few entries may be something else: they count as gaps.
SHARE = 0.95
MISSING = "these count as missing."


@dataclass(frozen=True)
class Entry:
    """A number as it is written, with what stands around it.

    Attributes
    ----------
    number : str
        With its signs, but without blanks and brackets.
    currency, magnitude, unit : str
        Empty where there is none.
    changed, bracketed : bool
        Whether the number is written otherwise in the text, and whether in brackets.
    """

    number: str
    currency: str = ""
    magnitude: str = ""
    unit: str = ""
    changed: bool = False
    bracketed: bool = False


@dataclass(frozen=True)
class Dressed:
    """A column of numbers with a unit.

    Attributes
    ----------
    bare : pandas.Series
        The numbers alone, as text; gaps where there is none.
    factors : ndarray
        What each is multiplied with.
    unit : str
        What was taken off.
    gaps : dict of str to int
        Entries that are no numbers, with how often each is there.
    """

    bare: pd.Series
    factors: NDArray
    unit: str
    gaps: dict[str, int]


def undress(columns: Mapping[int, pd.Series]) -> dict[int, Dressed]:
    """Find the columns of text that hold numbers with a unit, or with other words for gaps.

    Parameters
    ----------
    columns : mapping of positions to Series

    Returns
    -------
    dict of positions to Dressed

    Examples
    --------
    >>> found = undress({0: pd.Series(["$1.5 B", "$900 M", "-"]), 1: pd.Series(["Q1", "Q2", "Q3"])})
    >>> list(found), found[0].bare.tolist()[:2], found[0].factors.tolist(), found[0].gaps
    ([0], ['1.5', '900'], [1000000000.0, 1000000.0, 1.0], {'-': 1})
    """
    found = {position: _undressed(column) for position, column in columns.items()}
    return {position: column for position, column in found.items() if column is not None}


def _undressed(column: pd.Series) -> Dressed | None:
    try:
        codes, words = pd.factorize(column.astype(object))
    except TypeError:  # lists and the like
        return None
    if not any(isinstance(word, str) for word in words):
        return None
    # Spreadsheets have numbers and text in one column.
    texts = [repr(word) if isinstance(word, (int, float)) else str(word) for word in words]
    some = [entry_of(text) for text in texts[:_GLANCE] if text.strip().lower() not in GAPS]
    if not some or sum(entry is not None for entry in some) < _MOSTLY * len(some):
        return None
    entries = [None if text.strip().lower() in GAPS else entry_of(text) for text in texts]
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    is_number = np.array([entry is not None for entry in entries])
    is_gap = np.array([text.strip().lower() in GAPS for text in texts])
    known = [entry for entry in entries if entry is not None]
    if counts[is_number].sum() < SHARE * counts[~is_gap].sum() or is_number.sum() < 2:
        return None
    unit = _unit(known)
    dressed = any(entry.currency or entry.magnitude or entry.unit or entry.changed for entry in known)
    if unit is None or not (dressed or is_gap.any()):
        return None
    ones = counts_ones(known)
    bare = np.array([None if entry is None else entry.number for entry in entries], dtype=object)
    factors = np.array([MAGNITUDES.get(entry.magnitude, 1.0) if entry and ones else 1.0 for entry in entries])
    gaps = {texts[place]: int(counts[place]) for place in np.flatnonzero(~is_number)}
    missing = codes < 0
    numbers = bare[codes]
    numbers[missing] = None
    return Dressed(
        pd.Series(list(numbers), index=column.index, dtype="object"),
        np.where(missing, 1.0, factors[codes]),
        unit,
        gaps,
    )


def entry_of(text: str) -> Entry | None:
    """A number with what stands around it; None where the text is something else."""
    text = text.strip()
    match = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    brackets = bool(match["open"]) + bool(match["inside"])
    if brackets != bool(match["close"]):
        return None
    number = match["number"].replace("−", "-")
    grouped = _GROUPS.sub("", number)
    # '030 123' is a telephone number, and '007' a code.
    if (grouped != number and not _GROUPED.fullmatch(number)) or re.match(r"[+-]?0\d", number):
        return None
    number = grouped
    if any(sign in number for sign in " '’\u00a0\u202f"):
        return None
    if brackets or match["minus"]:  # accountants write (5) for −5
        if number[0] in "+-":
            return None
        number = f"-{number}"
    currency, after = match["before"] or "", (match["after"] or "").strip()
    first, _, rest = after.partition(" ")
    magnitude = ""
    # 'B' of '$219 B', and 'Mio' of '3 Mio €'.
    # Alone, small letters are units: 'm' is a metre, and 'k' may be anything.
    word = first.lower().rstrip(".")
    counts = word in MAGNITUDES and (len(word) > 1 or first in "KMBT" or currency or rest)
    if counts and (not rest or rest in CURRENCIES):
        magnitude, after = word, rest
    elif len(after) > 1 and after[0] in "kKMB" and after[1:] in CURRENCIES:
        magnitude, after = after[0].lower(), after[1:]
    if after in CURRENCIES and not currency:
        currency, after = after, ""
    if any(symbol in after for symbol in "$€£¥₹"):
        return None
    if after.startswith("/"):
        after = f"of {after[1:].strip()}"
    # '1 star' and '2 stars' are one unit.
    unit = after[:-1] if len(after) > 3 and after.endswith("s") else after
    if unit.lower().rstrip(".") in _NO_UNITS:
        return None
    changed = number != match["number"]
    return Entry(number, currency.rstrip("."), magnitude, unit.strip(), changed, bool(brackets))


def _unit(entries: list[Entry]) -> str | None:
    """The one unit of all that have one; None where there are several, or where most have none."""
    currencies = {entry.currency for entry in entries if entry.currency}
    units = {entry.unit for entry in entries if entry.unit}
    magnitudes = {entry.magnitude for entry in entries if entry.magnitude}
    if len(currencies) > 1 or len(units) > 1 or (units and magnitudes):
        return None
    plain = {entry.number for entry in entries if not (entry.currency or entry.unit or entry.magnitude)}
    with_unit = [entry.number for entry in entries if entry.currency or entry.unit]
    # '4' and '4a' are no amounts, and '98' beside '98/100' may be out of anything.
    if with_unit and (2 * len(with_unit) < len(entries) or plain.intersection(with_unit)):
        return None
    if plain and any(unit.startswith("of ") for unit in units):
        return None
    if magnitudes and not currencies and not counts_ones(entries) and plain:
        return None
    # Accountants' brackets are for amounts of money.
    if not currencies and any(entry.bracketed for entry in entries):
        return None
    unit = " ".join([*currencies, *units])
    return unit or " and ".join(sorted(magnitude.upper() for magnitude in magnitudes))


def counts_ones(entries: list[Entry]) -> bool:
    """Whether 'K' and 'M' are thousands and millions, and no units."""
    magnitudes = {entry.magnitude for entry in entries if entry.magnitude}
    words = any(len(magnitude) > 1 for magnitude in magnitudes)
    return words or len(magnitudes) > 1 or (bool(magnitudes) and any(entry.currency for entry in entries))


def read_numbers(
    frame: pd.DataFrame,
    names: list[str],
    delimiter: str = ",",
    delimiter_name: str = "commas",
    as_text: Callable[[list[int]], pd.DataFrame] | None = None,
    as_written: Collection[str] = (),
) -> tuple[dict[int, pd.Series], list[str]]:
    """Find the columns of text that are numbers, as people write them.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns are called by their positions.
    names : list of str
        What they are called in notes.
    delimiter, delimiter_name : str
        Of the file, which may show what commas mean.
    as_text : callable, optional
        Reads columns of numbers again, as they are written; None where they were never text.
    as_written : collection of str
        Names of columns that stay as they are.

    Returns
    -------
    numbers : dict of int to Series
        The columns that change, by position.
    notes : list of str

    Examples
    --------
    >>> frame = pd.DataFrame({0: ["12 km", "1,200 km"], 1: ["5 %", "7.5 %"]})
    >>> numbers, notes = read_numbers(frame, ["way", "share"])
    >>> numbers[0].tolist(), numbers[1].tolist()
    ([12.0, 1200.0], [5.0, 7.5])
    >>> notes[-1]
    "Numbers with '%' were read as such ('5 %' as 5) in 'share'."
    """
    texts = {
        position: frame[position]
        for position, kind in enumerate(frame.dtypes)
        if not (pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind))
        and names[position] not in as_written
    }
    dressed = undress(texts)
    bare = frame.copy(deep=False)
    for position, column in dressed.items():
        bare[position] = column.bare
    signed, told = read_signs(bare, names, delimiter, delimiter_name, as_text, as_written)
    numbers = {position: column for position, column in signed.items() if position not in dressed}
    kept = {}
    for position, column in dressed.items():
        plain = signed[position] if position in signed else pd.to_numeric(column.bare, errors="coerce")
        plain = plain.astype(float)
        if (plain.isna() & column.bare.notna()).any():
            continue  # digits and signs, but no number
        numbers[position] = plain * column.factors
        kept[position] = column
    others = {position: column for position, column in texts.items() if position not in numbers}
    return numbers, [*told, *_notes(kept, texts, numbers, names), *_currency_notes(others, names)]


def _currency_notes(texts: Mapping[int, pd.Series], names: list[str]) -> list[str]:
    """Amounts of several currencies are no numbers that can be compared, and should not go without a word."""
    notes = []
    for position, column in texts.items():
        words = [word for word in column.dropna().head(10 * _GLANCE) if isinstance(word, str)]
        entries = [entry_of(word) for word in words if word.strip().lower() not in GAPS]
        found = sorted({entry.currency for entry in entries if entry is not None and entry.currency})
        if len(found) > 1 and sum(entry is not None for entry in entries) >= SHARE * len(entries):
            told = " and ".join(f"'{one}'" for one in found[:3])
            notes.append(
                f"Column '{names[position]}' holds amounts in several currencies ({told}), which cannot be "
                "compared: it is not read as numbers. Convert them to one currency."
            )
    return notes


def _notes(
    found: Mapping[int, Dressed],
    texts: Mapping[int, pd.Series],
    numbers: Mapping[int, pd.Series],
    names: list[str],
) -> list[str]:
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
    bare = [position for position, column in found.items() if not column.unit and not column.gaps]
    if bare:
        called = listed([f"'{names[position]}'" for position in bare])
        notes.append(f"Blanks and apostrophes between digits were read as separating thousands in {called}.")
    for position, column in found.items():
        if column.gaps:
            notes.append(gap_note(names[position], column.gaps))
    return notes


def gap_note(name: str, gaps: Mapping[str, int]) -> str:
    """Say which entries of a column of numbers are none.

    >>> gap_note("price", {"-": 3, "soon": 1})
    "Column 'price' holds numbers but for '-' (3), 'soon' (1); these count as missing."
    """
    words: Iterable[str] = (f"'{word}' ({count})" for word, count in list(gaps.items())[:3])
    more = f" and {len(gaps) - 3} others" if len(gaps) > 3 else ""
    return f"Column '{name}' holds numbers but for {', '.join(words)}{more}; {MISSING}"
