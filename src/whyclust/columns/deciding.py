"""From the facts of a column to what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from whyclust.columns.dates import looks_like_date, looks_like_time, read_dates
from whyclust.columns.facts import (
    COMPLEX,
    DATES,
    EMPTY,
    FLAGS,
    IDENTIFYING_SHARE,
    ColumnFacts,
    NumberFacts,
    numbers_in,
)
from whyclust.columns.meaning import CODE, IDENTIFIER, NUMBERING, RANK, YEAR, meaning_of
from whyclust.columns.ordered import steps_of
from whyclust.moments.categories import CategoryCounts

# Of more categories than this only the frequent ones count: one-hot columns would swamp the numeric ones.
MAX_CATEGORIES = 30
# The same of a column that was asked for by name.
MOST_ASKED = 100
# A value is frequent that so many rows have, and 1% of them.
FREQUENT_ROWS = 5
# Text is free text, and no category, where its frequent values hold less than this share of the rows.
FREQUENT_SHARE = 0.5
# Squares of larger numbers overflow, and with them every distance.
LARGEST_NUMBER = 1e150
# A text column is a number column with blemishes if at least this share of its entries are numbers.
NUMERIC_SHARE = 0.95
# It is one, too, with more numbers than this and at most so many different words among them, if half of its
# entries are numbers: an age is no category because somebody wrote 'forty'.
FEW_NUMBERS, MOST_ODD, ODD_SHARE = 10, 5, 0.5
# In a handful of rows 1, 2, 3 may well be a measurement.
FEWEST_IDENTIFIED = 10
# Fewer ranks, in a table of more than twice as many rows, are levels such as those of professors.
MANY_RANKS = 30

SAME_VALUE = "has the same value in every row"
TOO_CLOSE = "differs only beyond the 16 digits of its numbers (subtract a constant from it first)"
NUMBERS_ROWS = "numbers the rows"
COUNTS_ROWS = "goes up by one in every row (an identifier)"
NAMED_IDENTIFIER = "identifies the rows"
IDENTIFIES = "is an identifier: its numbers measure nothing"
CODES = "holds codes: their numbers measure nothing"
RANKS = "ranks the rows"
YEARS = "holds years, and dates are not clustered"
TEXT_IDENTIFIER = "is different in every row (an identifier)"
NEARLY_IDENTIFIES = "identifies nearly all rows"
VARIED_TEXT = "is text with"
IDENTIFIERS = frozenset({NUMBERS_ROWS, COUNTS_ROWS, NAMED_IDENTIFIER, NEARLY_IDENTIFIES, TEXT_IDENTIFIER})
TIMES = "holds times or durations, which are not clustered: write durations as numbers, such as minutes"
NOT_CLUSTERED = "holds dates or times, which are not clustered"

# How a column is converted.
NUMBER, NUMBER_IN_TEXT, FLAG, WORD, DATE = "number", "number in text", "flag", "text", "date"
STEPS = "steps"


@dataclass(frozen=True, eq=False)
class Decision:
    """What becomes of a column.

    Attributes
    ----------
    kind : str or None
        How it is converted: 'number', 'number in text', 'steps', 'date', 'flag' or 'text'; None: left out.
    reason : str
        Why it is left out.
    note : str
        What a reader should know.
    n_missing : int
        Gaps, entries that are no numbers among them.
    numbers : NumberFacts or None
    categories : tuple of str
        Sorted; steps of a scale from the lowest on.
    """

    kind: str | None
    reason: str = ""
    note: str = ""
    n_missing: int = 0
    numbers: NumberFacts | None = None
    categories: tuple[str, ...] = ()


def decide(name: str, facts: ColumnFacts, asked: bool) -> Decision:
    """Decide about one column.

    Parameters
    ----------
    name : str
    facts : ColumnFacts
        Of all rows.
    asked : bool
        Whether the column was asked for by name: then it is not taken for an identifier.

    Raises
    ------
    ValueError
        For infinite numbers, and numbers whose squares overflow.
    """
    if facts.kind == EMPTY:
        return Decision(None, "has no values")
    if facts.kind == DATES:
        return _decide_dates(name, facts, asked)
    if facts.kind == COMPLEX:
        return Decision(None, "holds complex numbers")
    if facts.numbers is not None:
        return _decide_numbers(name, facts.numbers, facts.n_rows, facts.n_missing, asked)
    if facts.texts is None:
        return Decision(None, f"holds values of kind '{facts.kind}', not numbers or text")
    if facts.kind == FLAGS:
        if len(facts.texts.counts) == 1 and not facts.n_missing:
            return Decision(None, SAME_VALUE)
        # With gaps the column must be text, for gaps to become a category of their own.
        kind = WORD if facts.n_missing else FLAG
        return Decision(kind, n_missing=facts.n_missing, categories=tuple(sorted(facts.texts.counts)))
    numbers, note = _numbers_among(name, facts.texts)
    if numbers is None:
        return _decide_text(name, facts.texts, facts.n_rows, facts.n_missing, asked)
    n_missing = facts.n_rows - int(numbers.moments.count[0])
    found = _decide_numbers(name, numbers, facts.n_rows, n_missing, asked)
    # Words stay words where the numbers among them would be flags.
    return replace(found, kind=found.kind and NUMBER_IN_TEXT, numbers=numbers, note=note)


def _decide_dates(name: str, facts: ColumnFacts, asked: bool) -> Decision:
    if not asked or facts.numbers is None:
        return Decision(None, NOT_CLUSTERED)
    if facts.numbers.spread <= 0:
        return Decision(None, SAME_VALUE)
    note = f"The dates of column '{name}' count as years: 2020.5 is the middle of 2020."
    return Decision(DATE, note=note, n_missing=facts.n_missing, numbers=facts.numbers)


def blemished(n_numbers: int, n_entries: int, n_different: int, n_odd: int) -> bool:
    """Whether a column of many numbers has a few words among them, which are no categories.

    Parameters
    ----------
    n_numbers, n_entries : int
        Entries that are numbers, and all that are no gaps.
    n_different, n_odd : int
        Different numbers, and different words.

    Examples
    --------
    >>> blemished(80, 100, 40, 2), blemished(40, 100, 40, 2), blemished(80, 100, 5, 2)
    (True, False, False)
    """
    few = 0 < n_odd <= MOST_ODD and 4 * n_odd <= n_different
    return bool(few and n_different > FEW_NUMBERS and n_numbers >= ODD_SHARE * n_entries)


def _numbers_among(name: str, texts: CategoryCounts) -> tuple[NumberFacts | None, str]:
    """The facts of a column whose texts are numbers, with a note on those that are not; else None."""
    words = sorted(texts.counts, key=lambda word: texts.first[word])
    counts = np.array([texts.counts[word] for word in words])
    rows = np.array([texts.first[word] for word in words])
    values = numbers_in(words)
    is_number = ~np.isnan(values)
    n_numbers, n_different = counts[is_number].sum(), len(np.unique(values[is_number]))
    mostly = n_numbers >= NUMERIC_SHARE * counts.sum() and n_different > MAX_CATEGORIES
    if not (mostly or blemished(n_numbers, counts.sum(), n_different, int((~is_number).sum()))):
        return None, ""
    note = ""
    if not is_number.all():
        first, odd = int(np.argmin(is_number)), int(counts[~is_number].sum())
        note = (
            f"Column '{name}' holds numbers but for {odd} {'entry' if odd == 1 else 'entries'} such as "
            f"'{words[first]}' (row {rows[first] + 1}), which count as missing."
        )
    # Where all numbers are different they stand in their order here; else the order tells nothing.
    facts = NumberFacts.of(np.repeat(values, counts)[np.repeat(is_number, counts)], name=name)
    infinite = np.isinf(values)
    return (replace(facts, infinite_row=int(rows[infinite][0])) if infinite.any() else facts), note


def _decide_numbers(name: str, numbers: NumberFacts, n_rows: int, n_missing: int, asked: bool) -> Decision:
    if numbers.infinite_row is not None:
        raise ValueError(
            f"column '{name}' holds an infinite number in row {numbers.infinite_row + 1} (the "
            "first row of data is 1): put a finite number in its place, or leave the column out."
        )
    if numbers.largest > LARGEST_NUMBER:
        raise ValueError(
            f"column '{name}' holds a number larger than {LARGEST_NUMBER:g}, whose square cannot "
            "be computed: rescale the column, or leave it out."
        )
    # Differences in the last digit are rounding, and standardising would blow them up.
    if numbers.spread <= 4 * np.finfo(np.float64).eps * numbers.largest:
        differs = numbers.exact is not None and numbers.exact[0] < numbers.exact[1]
        return Decision(None, TOO_CLOSE if differs else SAME_VALUE)
    if not asked and not n_missing and n_rows >= FEWEST_IDENTIFIED:
        counts = numbers.counts_up and numbers.first.is_integer()
        if counts and numbers.first in (0, 1):
            return Decision(None, NUMBERS_ROWS)
        if numbers.different is not None and numbers.whole and len(numbers.different) == n_rows:
            return Decision(None, NAMED_IDENTIFIER)
        # A customer number from 1000 on is as little a measurement as a row number.
        if counts:
            return Decision(None, COUNTS_ROWS)
    reason = None if asked else _no_quantity(name, numbers, n_rows, n_missing)
    if reason is not None:
        return Decision(None, reason)
    # 0 and 1 are no and yes: a rare yes is one category among two, and not an outlier.
    if (numbers.lowest, numbers.highest, numbers.whole, n_missing) == (0.0, 1.0, True, 0):
        return Decision(FLAG, categories=("False", "True"))
    return Decision(NUMBER, n_missing=n_missing, numbers=numbers)


def _no_quantity(name: str, numbers: NumberFacts, n_rows: int, n_missing: int) -> str | None:
    """Why numbers of this name measure nothing, if so."""
    meaning = meaning_of(name) if numbers.whole and n_rows >= FEWEST_IDENTIFIED else None
    # Few small numbers under such a name are levels of something, which may be ordered.
    # 'column 1' is what a first column without a name is called.
    if meaning == IDENTIFIER and numbers.highest >= FEWEST_IDENTIFIED and name != "column 1":
        return IDENTIFIES
    # A customer number that some rows lack, or that is there twice, is none the less one.
    told = numbers.different is not None and n_missing <= (1 - IDENTIFYING_SHARE) * n_rows
    if meaning == NUMBERING and told and numbers.highest >= FEWEST_IDENTIFIED:
        return NEARLY_IDENTIFIES
    if meaning == CODE and numbers.lowest >= FEWEST_IDENTIFIED:
        return CODES
    # Ranks go from 1 up to at most as many as there are rows; those of every year are there several times.
    of_years = numbers.lowest == 1 and numbers.highest >= MANY_RANKS
    many = (of_years or numbers.highest >= n_rows / 2) and numbers.highest <= n_rows
    if meaning == RANK and numbers.lowest in (0, 1) and many:
        return RANKS
    if meaning == YEAR and numbers.lowest >= 1000 and numbers.highest <= 2200:
        return YEARS
    return None


def _decide_text(name: str, seen: CategoryCounts, n_rows: int, n_missing: int, asked: bool) -> Decision:
    texts = sorted(seen.counts)
    if len(texts) == 1 and not n_missing:
        return Decision(None, SAME_VALUE)
    # Versions and bank codes look like dates, and are none.
    if all(looks_like_date(text) for text in texts) and read_dates({0: pd.Series(texts)}, [name])[0]:
        return Decision(None, NOT_CLUSTERED)
    different = len(texts) == n_rows - n_missing > 2
    # A few times, as those at which shifts begin, are categories.
    if (different or len(texts) > MAX_CATEGORIES) and not asked and all(map(looks_like_time, texts)):
        return Decision(None, TIMES)
    if different and not asked:
        return Decision(None, TEXT_IDENTIFIER)
    steps = steps_of(texts)
    if steps:
        return _decide_steps(name, seen, steps, n_missing)
    most = MOST_ASKED if asked else MAX_CATEGORIES
    if len(texts) <= most:
        return Decision(WORD, n_missing=n_missing, categories=tuple(texts))
    # What is asked for by name needs to repeat at least: sentences are no categories.
    fewest = 2 if asked else max(FREQUENT_ROWS, n_rows / MOST_ASKED)
    frequent = sorted(texts, key=lambda text: -seen.counts[text])[:most]
    frequent = [text for text in frequent if seen.counts[text] >= fewest]
    n_told = sum(seen.counts[text] for text in frequent)
    if n_told < FREQUENT_SHARE * (n_rows - n_missing):
        return Decision(None, f"{VARIED_TEXT} {len(texts)} different values, few of which repeat")
    note = (
        f"Of the {len(texts)} different values of column '{name}' the {len(frequent)} most frequent count, "
        f"which {n_told / (n_rows - n_missing):.0%} of its rows have; the others count as none of these."
    )
    return Decision(WORD, note=note, n_missing=n_missing, categories=tuple(sorted(frequent)))


def _decide_steps(name: str, seen: CategoryCounts, steps: tuple[str, ...], n_missing: int) -> Decision:
    """Words of a scale are numbers from 1 on: their order would be lost among categories."""
    counts = [seen.counts[step] for step in steps]
    numbers = NumberFacts.of(np.repeat(np.arange(1.0, len(steps) + 1), counts), name=name)
    note = (
        f"The words of column '{name}' are steps of a scale: '{steps[0]}' counts as 1, and so on up to "
        f"'{steps[-1]}' as {len(steps)}."
    )
    return Decision(STEPS, note=note, n_missing=n_missing, numbers=numbers, categories=steps)
