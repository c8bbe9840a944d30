"""Numbers as people write them: '$219 B', '12.5 %', '180 cm', '98/100', '(1,200) €'.

A column of text is a column of numbers with a unit if all its entries are numbers beside the same unit, or
beside units of one kind. What commas and points mean in the numbers is not decided here, but for the whole
file (`whyclust.tables.signs`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.columns.deciding import NUMERIC_SHARE, blemished
from whyclust.tables.entries import GAPS, MAGNITUDES, Entry, counts_ones, entry_of
from whyclust.tables.signs import read_signs
from whyclust.tables.units import conversions, currencies_in
from whyclust.tables.written_notes import currency_notes, dress_notes, sign_notes, unit_notes

# Entries that are looked at before all of them are, and how many of these must be numbers.
_GLANCE, _MOSTLY = 40, 0.6
# Of so many different numbers, those that stand with and without a minus behind them are grades.
_GRADES = 10


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
    plain : ndarray of bool
        Rows with a number alone, where others have a unit.
    known : dict of str to Entry
        All different entries that are numbers, as they are written.
    """

    bare: pd.Series
    factors: NDArray
    unit: str
    gaps: dict[str, int]
    plain: NDArray
    known: dict[str, Entry]


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
    n_numbers, n_entries = counts[is_number].sum(), counts[~is_gap].sum()
    odd = blemished(n_numbers, n_entries, int(is_number.sum()), int((~is_number & ~is_gap).sum()))
    if (n_numbers < NUMERIC_SHARE * n_entries and not odd) or is_number.sum() < 2:
        return None
    known = {text: entry for text, entry in zip(texts, entries, strict=True) if entry is not None}
    measured = measure_of(
        [(entry, int(often)) for entry, often in zip(entries, counts, strict=True) if entry]
    )
    dressed = any(entry.changed or not entry.plain for entry in known.values())
    if measured is None or not (dressed or odd or is_gap.any()):
        return None
    unit, by_unit = measured
    ones = counts_ones(list(known.values()))
    bare = np.array([None if entry is None else entry.number for entry in entries], dtype=object)
    factors = np.array([_factor(entry, by_unit, ones) for entry in entries])
    has_unit = any(entry.unit or entry.currency for entry in known.values())
    alone = np.array([has_unit and entry is not None and entry.plain for entry in entries])
    gaps = {texts[place]: int(counts[place]) for place in np.flatnonzero(~is_number)}
    missing = codes < 0
    numbers = bare[codes]
    numbers[missing] = None
    return Dressed(
        pd.Series(list(numbers), index=column.index, dtype="object"),
        np.where(missing, 1.0, factors[codes]),
        unit,
        gaps,
        alone[codes] & ~missing,
        known,
    )


def _factor(entry: Entry | None, by_unit: Mapping[str, float], ones: bool) -> float:
    if entry is None:
        return 1.0
    return by_unit.get(entry.unit, 1.0) * (MAGNITUDES.get(entry.magnitude, 1.0) if ones else 1.0)


def measure_of(counted: list[tuple[Entry, int]]) -> tuple[str, dict[str, float]] | None:
    """What all entries are counted in, and what to multiply those in other units of its kind with.

    Parameters
    ----------
    counted : list of (Entry, int)
        The different entries, with how often each is there.

    Returns
    -------
    (str, dict of str to float) or None
        None where they cannot be compared, or where most have no unit.
    """
    entries = [entry for entry, _ in counted]
    currencies = sorted({entry.currency for entry in entries if entry.currency})
    units: Counter[str] = Counter()
    for entry, often in counted:
        if entry.unit:
            units[entry.unit] += often
    magnitudes = {entry.magnitude for entry in entries if entry.magnitude}
    if len(currencies_in(currencies)) > 1 or (units and magnitudes):
        return None
    # '5 $/kg' is a price; '$5' beside '5 kg' is two things, and 'NZD' a currency that is not known here.
    if currencies and any(entry.unit and not entry.currency for entry in entries):
        return None
    plain = {entry.number for entry in entries if entry.plain}
    by_unit = dict.fromkeys(units, 1.0)
    target = next(iter(units), "")
    if len(units) > 1:
        # A number alone could be in any of them.
        converted = None if plain or currencies else conversions(units)
        if converted is None:
            return None
        target, by_unit = converted
    with_unit = [entry.number for entry in entries if entry.currency or entry.unit]
    # '4' and '4a' are no amounts, and '98' beside '98/100' may be out of anything.
    sure = bool(currencies) or target == "%"
    if with_unit and (2 * len(with_unit) < len(entries) or (not sure and plain.intersection(with_unit))):
        return None
    if plain and target.startswith("of "):
        return None
    if magnitudes and not currencies and not counts_ones(entries) and plain:
        return None
    if not _signs_agree(entries, bool(currencies)):
        return None
    unit = " ".join([*currencies[:1], *([target] if target else [])])
    if not unit and any(entry.small for entry in entries) and len(magnitudes) == 1:
        return "k", by_unit
    return unit or " and ".join(sorted(magnitude.upper() for magnitude in magnitudes)), by_unit


def _signs_agree(entries: list[Entry], money: bool) -> bool:
    """Whether brackets and a minus behind a number can stand for negative numbers."""
    bracketed = sum(entry.bracketed for entry in entries)
    behind = sum(entry.behind for entry in entries)
    before = any(entry.number[0] == "-" and not (entry.behind or entry.bracketed) for entry in entries)
    # Without money, numbers that are mostly in brackets are references, and programs write one kind of minus.
    if bracketed and not money and (2 * bracketed > len(entries) or before or behind):
        return False
    if not behind:
        return True
    # '2' and '2-', of few numbers, are grades.
    with_minus = {entry.number.lstrip("-") for entry in entries if entry.behind}
    without = {entry.number for entry in entries if not entry.behind}
    graded = len(with_minus | without) <= _GRADES and bool(with_minus & without)
    return 2 * behind <= len(entries) and not before and (money or not graded)


def are_fractions(percents: NDArray, others: NDArray) -> bool:
    """Whether numbers without a sign, beside others in per cent, are these divided by 100.

    Examples
    --------
    >>> are_fractions(np.array([10.0, 30.0, 20.0]), np.array([0.12, 0.28]))
    True
    >>> are_fractions(np.array([10.0, 30.0, 20.0]), np.array([12.0, 28.0]))
    False
    """
    if not len(percents) or not len(others) or np.abs(others).max() > 1:
        return False
    lowest, highest = percents.min() / 100, percents.max() / 100
    room = (highest - lowest) / 2
    if others.min() < lowest - room or others.max() > highest + room:
        return False
    usual, other = np.median(np.abs(percents)), np.median(np.abs(others))
    if usual == 0 or other == 0:
        return False
    # 0.4 beside 0.2 % and 40 % may be both: what is nearer to most of them counts.
    return bool(abs(np.log(100 * other / usual)) < abs(np.log(other / usual)))


def read_numbers(
    frame: pd.DataFrame,
    names: list[str],
    delimiter: str = ",",
    delimiter_name: str = "commas",
    as_text: Callable[[list[int]], pd.DataFrame] | None = None,
    as_written: Collection[str] = (),
    *,
    decimal_commas: bool = False,
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
    decimal_commas : bool
        Whether other columns, which are numbers already, have shown that commas are decimal marks.

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
    signed, told = read_signs(
        bare, names, delimiter, delimiter_name, as_text, as_written, decimal_commas=decimal_commas
    )
    numbers = {position: column for position, column in signed.items() if position not in dressed}
    kept: dict[int, Dressed] = {}
    fractions: list[int] = []
    for position, column in dressed.items():
        plain = signed[position] if position in signed else pd.to_numeric(column.bare, errors="coerce")
        plain = plain.astype(float)
        if (plain.isna() & column.bare.notna()).any():
            continue  # digits and signs, but no number
        numbers[position] = plain * column.factors
        kept[position] = column
        if column.unit == "%" and column.plain.any():
            with_sign = numbers[position][~column.plain].dropna().to_numpy()
            if are_fractions(with_sign, plain[column.plain].to_numpy()):
                numbers[position] = plain * np.where(column.plain, 100.0, 1.0)
                fractions.append(position)
    notes = dress_notes(kept, texts, numbers, names, fractions)
    unread = {position: column.known for position, column in dressed.items() if position not in kept}
    notes += sign_notes(unread, names)
    others = {name: column for name, column in texts.items() if name not in numbers and name not in unread}
    return numbers, [*told, *notes, *currency_notes(others, names), *unit_notes(others, names)]
