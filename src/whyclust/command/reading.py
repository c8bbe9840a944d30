"""Stages one and two: which rows and columns there are, and what becomes of the columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from whyclust.columns import TablePlan
from whyclust.command.options import Options
from whyclust.tables import Table, plan_table, unknown_column
from whyclust.tables.repeats import copies
from whyclust.tables.spelling import Spelling
from whyclust.telling.lines import id_name

# Columns shown beside the rows, which have no part in the clustering.
MOST_BESIDE = 3
# Rows that are looked at to see whether one column says what others do.
_GLANCE = 1000
# What a first column without a name is called here, and by pandas where it has written the table again.
_NAMELESS = ("column 1", "Unnamed: 0")


@dataclass(frozen=True)
class RowNames:
    """What the rows are called.

    Attributes
    ----------
    ids : list
        As the table has them.
    distinct : list
        The same, with what tells rows of the same id apart.
    called : str
        What the ids are called in the results.
    notes : list of str
    """

    ids: list[Any]
    distinct: list[Any]
    called: str
    notes: list[str]


@dataclass(frozen=True)
class Rows:
    """The rows to cluster.

    Attributes
    ----------
    frame : pandas.DataFrame
        With all columns of the file.
    options : Options
        With the names of columns as the table has them.
    aside : list of str
        Columns that are no features unless asked for.
    names : RowNames
    notes : list of str
    spellings : dict of str to Spelling
        How numbers and dates were written in the file.
    """

    frame: pd.DataFrame
    options: Options
    aside: list[str]
    names: RowNames
    notes: list[str]
    spellings: dict[str, Spelling] = field(default_factory=dict)


def read_rows(table: Table, options: Options) -> Rows:
    """Find the rows to cluster, and their names.

    Raises
    ------
    ValueError
        For a column that does not exist or is asked for twice, and for too few rows.
    """
    frame, notes = table.frame, list(table.notes)
    for name in options.not_features:
        if name not in frame.columns:
            raise ValueError(unknown_column(name, frame.columns))
    options = column_names(options, frame.columns)
    if _named_by_first(frame, options):
        options = replace(options, id_column=str(frame.columns[0]))
        notes.append(
            f"'{options.id_column}', which has no name and another text in every row, names the rows. It is "
            "used as a feature only if it is named in --columns."
        )
    if options.labels is not None:
        unlabelled = frame[options.labels].isna()
        if unlabelled.any():
            frame = frame[~unlabelled]
            notes.append(f"{int(unlabelled.sum())} rows without a label were left out.")
    if len(frame) < 2:
        raise ValueError(f"found {len(frame)} row(s) to cluster, expected at least two.")
    return Rows(
        frame,
        options,
        [*table.aside, *options.not_features],
        row_names(frame, options.id_column),
        notes,
        table.spellings,
    )


def _named_by_first(frame: pd.DataFrame, options: Options) -> bool:
    """Whether the first column is what R and pandas write for the names of rows: an index without a name."""
    first = str(frame.columns[0]) if len(frame.columns) else ""
    if options.id_column is not None or first not in _NAMELESS:
        return False
    if first in (*options.columns, *options.drop, options.labels):
        return False
    names = frame.iloc[:, 0]
    return names.is_unique and all(isinstance(name, str) for name in names)


def copy_notes(rows: Rows, plan: TablePlan) -> list[str]:
    """Say how many rows are the same as others, but for what tells all rows apart."""
    named = {*plan.identifiers, rows.options.id_column}
    copied = int(copies(rows.frame[[name for name in rows.frame.columns if name not in named]]).sum())
    if not copied:
        return []
    told = "is a copy of another" if copied == 1 else "are copies of others"
    but = " (but for what identifies them)" if named & set(rows.frame.columns) else ""
    return [f"{copied:,} of {len(rows.frame):,} rows {told}{but}: each counts as a row of its own."]


def named_beside(rows: Rows, plan: TablePlan) -> pd.DataFrame | None:
    """Columns that were left out and tell people which row it is: a car's model says more than its number."""
    told = [name for name in plan.naming if name in rows.frame.columns]
    # A gap holds no words, and is part of any.
    glance = rows.frame[told].head(_GLANCE)
    words = {name: glance[name].map(str).where(glance[name].notna(), "").tolist() for name in told}
    # 'Honda' and 'Accord' say nothing beside 'Honda Accord'.
    said = [
        name
        for place, name in enumerate(told)
        if not any(
            _within(words[name], words[other]) and (position < place or words[name] != words[other])
            for position, other in enumerate(told)
            if other != name
        )
    ]
    return rows.frame[said[:MOST_BESIDE]] if said else None


def _within(parts: list[str], texts: list[str]) -> bool:
    """Whether each text holds the part that stands in the same row."""
    return all(part in text for part, text in zip(parts, texts, strict=True))


def plan_rows(rows: Rows) -> TablePlan:
    """Decide what becomes of every column."""
    options = rows.options
    return plan_table(
        rows.frame,
        columns=options.columns or None,
        drop=options.drop,
        aside=rows.aside,
        scale=options.scale,
    )


def column_names(options: Options, known: Collection[str]) -> Options:
    """The options with the names of columns as the table has them.

    Raises
    ------
    ValueError
        For a column that is asked for twice.
    """
    columns, drop = _names(options.columns, known), _names(options.drop, known)
    overlap = [name for name in options.not_features if name in columns]
    if overlap:
        raise ValueError(
            f"column '{overlap[0]}' is asked for as a feature and as the id or the labels: "
            "take it out of one of them."
        )
    both = [name for name in drop if name in columns]
    if both:
        raise ValueError(
            f"column '{both[0]}' is in --columns and in --drop: take it out of one of them (--columns alone "
            "leaves all others out)."
        )
    return replace(options, columns=columns, drop=drop)


def _names(entries: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Cut 'a,b' at its commas, unless a column has just that name."""
    names: list[str] = []
    for entry in entries:
        parts = [entry] if entry in known else [part.strip() for part in entry.split(",")]
        names += [part for part in parts if part]
    return tuple(names)


def row_names(frame: pd.DataFrame, id_column: str | None) -> RowNames:
    """Name the rows: by a column, else by their number in the file, counted from 1."""
    numbers = [int(position) + 1 for position in range(len(frame))]
    if not isinstance(frame.index, pd.RangeIndex):
        # Rows were left out; the others keep the numbers they have in the file.
        numbers = [int(label) + 1 for label in frame.index]
    if id_column is None:
        return RowNames(numbers, numbers, "row", [])
    column = frame[id_column]
    ids = [
        f"row {number}" if missing else value if isinstance(value, Hashable) else str(value)
        for value, missing, number in zip(column, column.isna(), numbers, strict=True)
    ]
    distinct, notes = ids, []
    n_repeated = len(ids) - len(set(ids))
    if n_repeated:
        often = Counter(ids)
        distinct = [
            f"{value} (row {number})" if often[value] > 1 else str(value)
            for value, number in zip(ids, numbers, strict=True)
        ]
        notes.append(f"Column '{id_column}' does not tell all rows apart: {n_repeated} ids repeat.")
    return RowNames(ids, distinct, id_name(id_column), notes)
