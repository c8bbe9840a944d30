"""How a table was read, kept with the model of its rows so that new rows are read alike."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.columns.dates import dates_in
from whyclust.columns.deciding import DATE, FLAG, STEPS
from whyclust.columns.facts import as_numbers, as_years
from whyclust.columns.plan import TablePlan, listed
from whyclust.inputs.reading import InputTable
from whyclust.saving.registry import saved
from whyclust.tables.matching import matched
from whyclust.tables.spelling import NO_ENTRY, Spelling
from whyclust.tables.tidying import replaced
from whyclust.tables.unread import Unread, UnreadWarning


@saved(alone=False)
@dataclass(frozen=True)
class ColumnReading:
    """How one column was read.

    Attributes
    ----------
    name : str
    kind : str
        That of its `ColumnPlan`.
    categories : tuple of str
        Of what is one-hot encoded.
    spelling : Spelling
        Of numbers and dates.
    gaps : bool
        Whether there were any.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    spelling: Spelling = field(default_factory=Spelling)
    gaps: bool = False

    def apply(self, column: pd.Series) -> tuple[Any, NDArray]:
        """The column as the model takes it, and which rows hold what it does not know."""
        if self.kind == STEPS and pd.api.types.is_numeric_dtype(column.dtype):
            return as_numbers(column), np.zeros(len(column), dtype=bool)  # read already
        if self.categories:
            given = _without_gap_words(column)
            found, unknown = matched(given, self.categories)
            unknown = unknown if self.gaps else unknown | given.isna().to_numpy()
            if self.kind == STEPS:
                places = {step: float(place) for place, step in enumerate(self.categories, 1)}
                return np.array(
                    [places.get(word, np.nan) for word in found]
                ), unknown & given.notna().to_numpy()
            if self.kind == FLAG:
                # What is neither stays text, which is none of the model's values.
                answers = {"True": True, "False": False}
                found = np.array([answers.get(value, str(value)) for value in found], dtype=object)
                found = found if unknown.any() else found.astype(bool)
            return found, unknown
        numbers, unread = self._numbers(column)
        # A model fills gaps in. Where its table had none, or nothing is left, this is to be told.
        missing = np.isnan(numbers)
        told = not self.gaps or (len(column) > 1 and missing.all())
        return numbers, missing if told else unread

    def possible_marks(self, column: pd.Series) -> tuple[bool, bool] | None:
        """Whether all of a column of numbers as text may have a decimal comma, and whether a point."""
        if self.categories or self.kind == DATE or not _is_text(column):
            return None
        return self.spelling.possible_marks([str(word) for word in column.dropna().unique()])

    def with_comma(self, comma: bool) -> ColumnReading:
        """The same, for a file with another decimal mark."""
        return replace(self, spelling=replace(self.spelling, comma=comma))

    def _numbers(self, column: pd.Series) -> tuple[NDArray, NDArray]:
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            if self.kind == DATE:
                return as_years(column), np.zeros(len(column), dtype=bool)
            return np.full(len(column), np.nan), column.notna().to_numpy()
        if pd.api.types.is_numeric_dtype(column.dtype):
            numbers = as_numbers(column)
            return self.spelling.without_gaps(numbers), np.zeros(len(column), dtype=bool)
        return self._of_texts(column)

    def _of_texts(self, column: pd.Series) -> tuple[NDArray, NDArray]:
        codes, words = pd.factorize(column.map(str).where(column.notna(), None).astype(object))
        read = self._dates if self.kind == DATE else self.spelling.read_part
        numbers, unread = read([str(word) for word in words])
        return np.append(numbers, np.nan)[codes], np.append(unread, False)[codes]

    def _dates(self, texts: list[str]) -> tuple[NDArray, NDArray]:
        """Dates as years, in the order of day and month that the first table had."""
        numbers, unread = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=bool)
        for place, text in enumerate(texts):
            if text.strip().lower() in NO_ENTRY:
                continue
            found = dates_in([text], self.spelling.day_first)
            unread[place] = found is None
            if found is not None:
                numbers[place] = as_years(found)[0]
        return numbers, unread


@saved(alone=False)
@dataclass(frozen=True)
class Reading:
    """How the columns of a table were read.

    Attributes
    ----------
    columns : tuple of ColumnReading
        Those that are used.
    id_column : str
        The column that named the rows, if any.

    Examples
    --------
    >>> from whyclust.tables import plan_table
    >>> table = pd.DataFrame({"price": [1.5, 2.0, 4.0], "sold": [0, 1, 1]})
    >>> reading = Reading.of(plan_table(table), {"price": Spelling(comma=True)})
    >>> frame, notes = reading.apply(pd.DataFrame({"price": ["1,250", "soon"], "sold": ["yes", "no"]}))
    >>> frame["price"].tolist(), frame["sold"].tolist()
    ([1.25, nan], [True, False])
    >>> notes
    ["In 1 of 2 rows column 'price' holds no number as the model's table had them ('soon'): it counts ..."]
    """

    columns: tuple[ColumnReading, ...]
    id_column: str = ""

    @classmethod
    def of(cls, plan: TablePlan, spellings: Mapping[str, Spelling], id_column: str | None = None) -> Reading:
        """From what became of the columns, how each was written, and what named the rows."""
        return cls(
            tuple(
                ColumnReading(
                    one.name,
                    one.kind,
                    one.categories,
                    spellings.get(one.name, Spelling()),
                    bool(one.n_missing),
                )
                for one in plan.columns
            ),
            id_column or "",
        )

    @property
    def names(self) -> list[str]:
        """The columns that are used."""
        return [column.name for column in self.columns]

    def apply(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
        """The frame with its columns read as those of the first table, and notes on what is unknown."""
        found, notes = self._read(frame)
        return found, [str(note) for note in notes]

    def _read(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str | Unread]]:
        settled, notes = self.settled(self.possible_marks(frame))
        found, unread = settled._read(frame)
        return found, [*notes, *unread]

    def possible_marks(self, frame: pd.DataFrame) -> dict[str, tuple[bool, bool]]:
        """For columns of numbers as text, whether a decimal comma is possible, and whether a point is.

        What is possible in a table is possible in all of its parts.
        """
        there = [column for column in self.columns if column.name in frame.columns]
        marks = {column.name: column.possible_marks(frame[column.name]) for column in there}
        return {name: one for name, one in marks.items() if one is not None}

    def settled(
        self, possible: Mapping[str, tuple[bool, bool]] | None = None
    ) -> tuple[SettledReading, list[str]]:
        """The same for all parts of a table, with the decimal marks that it shows, and notes on these.

        A sign has one meaning in a file: where some columns can only be written with the other mark, and none
        only with its own, '1,250' in a third column is written with the other one as well. Of a table that is
        not known, columns keep their own marks.
        """
        possible = possible or {}
        own = {column.name: bool(column.spelling.comma) for column in self.columns}
        shown = {name: comma for name, (comma, point) in possible.items() if comma != point}
        others = {comma for name, comma in shown.items() if comma != own[name]}
        agreed = len(others) == 1 and all(comma != own[name] for name, comma in shown.items())
        marks = dict.fromkeys(possible, *others) if agreed else shown
        columns = tuple(
            column.with_comma(marks[column.name]) if column.name in marks else column
            for column in self.columns
        )
        told = [
            f"'{column.name}'"
            for column in self.columns
            if agreed
            and column.spelling.comma is not None
            and marks.get(column.name, own[column.name]) != own[column.name]
        ]
        names = ("commas", "points") if others == {True} else ("points", "commas")
        note = f"Decimal {names[0]} were read in {listed(told)}, where the model's table has {names[1]}."
        return SettledReading(columns, self.id_column), [note] if told else []

    def of_rows(self, table: InputTable) -> InputTable:
        """The same of rows that a network is given; notes are warned of."""
        frame, notes = self._read(table.data.set_axis(table.names, axis=1))
        for note in notes:
            warning = UnreadWarning(note) if isinstance(note, Unread) else UserWarning(note)
            warnings.warn(warning, stacklevel=4)
        return replace(table, data=frame, notes=(*table.notes, *map(str, notes)))


class SettledReading(Reading):
    """The same with decimal marks that are settled: a row is read alike in any part of a table."""

    def _read(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str | Unread]]:
        changed: dict[str, pd.Series] = {}
        notes: list[str | Unread] = []
        for column in self.columns:
            # Columns that are not there are told by whoever matches them.
            if column.name not in frame.columns:
                continue
            given = frame[column.name]
            found, unknown = column.apply(given)
            changed[column.name] = pd.Series(found, index=frame.index)
            if unknown.any():
                notes.append(_unread(column, given, unknown))
        return replaced(frame, changed), notes


def _is_text(column: pd.Series) -> bool:
    kind = column.dtype
    return not (pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_datetime64_any_dtype(kind))


def _without_gap_words(column: pd.Series) -> pd.Series:
    """Empty text is a gap, as it is in files."""
    plain = column.astype(object)
    empty = np.array([isinstance(value, str) and not value.strip() for value in plain], dtype=bool)
    return plain.mask(empty, np.nan)


def _unread(column: ColumnReading, given: pd.Series, unknown: NDArray) -> Unread:
    found = given[unknown]
    # What is written there tells more than a gap.
    is_gap = found.map(lambda value: pd.isna(value) or str(value).strip().lower() in NO_ENTRY)
    first = found.iloc[int(is_gap.to_numpy(dtype=bool).argmin())]
    example = "" if is_gap.all() else str(first)[:40]
    if column.categories:
        what, meaning = "something that the model does not know", "it counts as none of its values"
    else:
        kind = "date" if column.kind == DATE else "number"
        what, meaning = f"no {kind} as the model's table had them", "it counts as missing"
    usual = int(is_gap.sum()) if column.gaps and not column.categories else 0
    return Unread(column.name, what, meaning, example, int(unknown.sum()), len(given), usual)
