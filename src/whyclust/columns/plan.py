"""What becomes of every column of a table: decided once, applied to any part."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from whyclust.columns.deciding import (
    COUNTS_ROWS,
    DATE,
    FLAG,
    IDENTIFIERS,
    IDENTIFIES,
    NOT_CLUSTERED,
    NUMBER,
    NUMBER_IN_TEXT,
    NUMBERS_ROWS,
    STEPS,
    VARIED_TEXT,
    Decision,
    decide,
)
from whyclust.columns.facts import ColumnFacts, as_numbers, as_text, as_years, numbers_in
from whyclust.columns.scaling import AUTO, FAR, LIMIT, NONE, RANK, ROBUST, Scaling, check_scale, scaling_of

MISSING_CATEGORY = "missing"
# Columns of a converted table that may lie apart in memory.
MOST_APART = 100
# Notes are for reading; the plan itself has every column.
LONGEST_LIST = 20
_PLURALS = {"has": "have", "is": "are", "goes": "go", "identifies": "identify"}


@dataclass(frozen=True)
class ColumnPlan:
    """What becomes of one column that is used.

    Attributes
    ----------
    name : str
    kind : {"number", "number in text", "steps", "date", "flag", "text"}
    n_missing : int
        Gaps seen; those of numbers become the center, those of text a category of their own.
    scaling : Scaling or None
        Of numbers.
    categories : tuple of str
        Of what is one-hot encoded; other values are none of these. Of steps of a scale in their order.
    """

    name: str
    kind: str
    n_missing: int = 0
    scaling: Scaling | None = None
    categories: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether it is scaled, and not one-hot encoded."""
        return self.scaling is not None

    def apply(self, column: pd.Series) -> Any:
        """Convert some rows of the column to floats, booleans or text."""
        if self.kind == NUMBER_IN_TEXT:
            return numbers_in(as_text(column))
        if self.kind == FLAG:
            if column.isna().any():
                raise ValueError(
                    f"column '{self.name}' has a gap, but had none when the table was planned: plan the "
                    "whole table, or fill the gap."
                )
            if not column.isin([0, 1]).all():
                raise ValueError(
                    f"column '{self.name}' holds something else than 0 and 1, which it held when the table "
                    "was planned: plan the whole table, or convert the column."
                )
            return column.astype(bool)
        if self.kind == STEPS:
            places = {step: float(place) for place, step in enumerate(self.categories, 1)}
            return np.array([places.get(word, np.nan) for word in as_text(column)], dtype=np.float64)
        if self.kind == DATE:
            return as_years(pd.to_datetime(column))
        if self.kind != NUMBER:
            return as_text(column)
        try:
            return as_numbers(column)
        except (TypeError, ValueError):
            raise ValueError(
                f"column '{self.name}' holds something else than numbers, but held numbers when the table "
                "was planned: plan the whole table, or convert the column."
            ) from None


@dataclass(frozen=True)
class TablePlan:
    """What becomes of every column.

    It is made from all rows, once, and holds whatever statistics it needs; `apply` converts any part of the
    table the same way.

    Attributes
    ----------
    columns : tuple of ColumnPlan
        The columns that are used, in their order.
    n_rows : int
        Rows that the plan was made from.
    dropped : dict of str to str
        Columns that are left out, each with the reason.
    notes : list of str
        Sentences for the reader of a report.
    """

    columns: tuple[ColumnPlan, ...]
    n_rows: int
    dropped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def numeric(self) -> list[str]:
        """Columns that are standardised."""
        return [column.name for column in self.columns if column.is_number]

    @property
    def categorical(self) -> list[str]:
        """Columns that are one-hot encoded."""
        return [column.name for column in self.columns if not column.is_number]

    @property
    def missing(self) -> dict[str, int]:
        """Number of missing values of the columns that are used and have any."""
        return {column.name: column.n_missing for column in self.columns if column.n_missing}

    @property
    def identifiers(self) -> list[str]:
        """Columns that were left out because they tell the rows apart; first what people know rows by."""
        found = [name for name, reason in self.dropped.items() if reason in IDENTIFIERS]
        return sorted(found, key=lambda name: name not in self.naming)

    @property
    def naming(self) -> list[str]:
        """Columns that were left out and tell people which row it is: names, ids, dates, varied text."""
        # Whose row it is, and of which day, tells it, too; what counts the rows tells no more than they do.
        named = (IDENTIFIERS | {IDENTIFIES, NOT_CLUSTERED}) - {NUMBERS_ROWS, COUNTS_ROWS}
        return [
            name for name, reason in self.dropped.items() if reason in named or reason.startswith(VARIED_TEXT)
        ]

    def apply(self, part: pd.DataFrame) -> pd.DataFrame:
        """Convert some rows of the table to what `preparation` and the clustering behind it take.

        Parameters
        ----------
        part : pandas.DataFrame
            Any rows of the table that was planned, or new ones with the same columns.

        Returns
        -------
        pandas.DataFrame
            The columns used: floats, booleans and text, under the labels of the rows.

        Examples
        --------
        >>> from whyclust.tables import plan_table
        >>> table = pd.DataFrame({"age": [30, None, 50], "sex": ["f", "m", "f"], "unit": ["cm"] * 3})
        >>> plan_table(table).apply(table.iloc[1:])
            age sex
        1   NaN   m
        2  50.0   f
        """
        lacking = [column.name for column in self.columns if column.name not in part.columns]
        if lacking:
            raise ValueError(
                f"this part of the table lacks the column '{lacking[0]}', which the plan uses: pass the "
                "columns that were planned, under the same names."
            )
        used = {column.name: column.apply(part[column.name]) for column in self.columns}
        # Columns that stay as they are need no room of their own; but thousands apart are slow to work with.
        return pd.DataFrame(used, index=part.index, copy=len(used) > MOST_APART)

    def to_json(self) -> dict[str, Any]:
        """Return plain lists, dictionaries, numbers and strings.

        Examples
        --------
        >>> from whyclust.tables import plan_table
        >>> plan_table(pd.DataFrame({"sex": ["f", "m", "f"], "unit": ["cm"] * 3})).to_json()["columns"]
        [{'name': 'sex', 'kind': 'text', 'n_missing': 0, 'categories': ['f', 'm']}]
        """
        columns = []
        for column in self.columns:
            told = {"name": column.name, "kind": column.kind, "n_missing": column.n_missing}
            if column.scaling is not None:
                one = column.scaling
                columns.append({**told, "scaling": one.kind, "center": one.center, "scale": one.scale})
            else:
                columns.append({**told, "categories": list(column.categories)})
        return {
            "n_rows": self.n_rows,
            "columns": columns,
            "dropped": dict(self.dropped),
            "notes": list(self.notes),
        }


def plan_columns(
    facts: Mapping[str, ColumnFacts], *, asked: Collection[str] = (), scale: str = AUTO
) -> TablePlan:
    """Decide how columns take part in a clustering.

    Parameters
    ----------
    facts : mapping of str to ColumnFacts
        Of the candidates, in their order: those of a whole table, or of its parts, merged.
    asked : collection of str
        Columns asked for by name, which are not taken for identifiers.
    scale : {"auto", "standard", "robust", "rank", "none"}
        How numbers are scaled.

    Returns
    -------
    TablePlan

    Raises
    ------
    ValueError
        For an infinite number, or when no usable column is left.

    Examples
    --------
    >>> from whyclust.columns import column_facts
    >>> from whyclust.moments.merging import merge
    >>> table = pd.DataFrame({"age": [30, None, 50, 40], "sex": ["f", "m", "f", "d"]})
    >>> parts = column_facts(table[:2], table), column_facts(table[2:], table, first_row=2)
    >>> plan = plan_columns(merge(*parts))
    >>> plan.columns[0].scaling.center, plan.columns[1].categories
    (40.0, ('d', 'f', 'm'))
    """
    check_scale(scale)
    decisions = {name: decide(name, found, name in asked) for name, found in facts.items()}
    n_rows = max((found.n_rows for found in facts.values()), default=0)
    dropped = {name: one.reason for name, one in decisions.items() if one.kind is None}
    columns = tuple(
        _planned(name, one, n_rows, scale) for name, one in decisions.items() if one.kind is not None
    )
    if not columns:
        found = "; ".join(f"'{name}' {reason}" for name, reason in list(dropped.items())[:4])
        raise ValueError(
            f"no column can be used for clustering ({found or 'all were left out'}): "
            "expected at least one numeric or categorical column with different values. Texts are explained "
            "from Python, by a pipeline that begins with a vectorizer."
        )
    notes = [one.note for one in decisions.values() if one.note]
    notes += _missing_notes(columns, n_rows)
    notes += _scale_notes(columns, scale)
    if dropped:
        by_reason: dict[str, list[str]] = {}
        for name, reason in dropped.items():
            by_reason.setdefault(reason, []).append(f"'{name}'")
        parts = [
            f"{listed(names)} ({_of_several(reason, len(names))})" for reason, names in by_reason.items()
        ]
        notes.append(f"Columns left out: {'; '.join(parts)}.")
    return TablePlan(columns, n_rows, dropped, notes)


def _of_several(reason: str, count: int) -> str:
    """A reason of one column, said of as many as have it.

    >>> _of_several("has the same value in every row", 2), _of_several("numbers the rows", 2)
    ('have the same value in every row', 'number the rows')
    >>> _of_several("is an identifier: its numbers measure nothing", 2)
    'are identifiers: their numbers measure nothing'
    """
    if count == 1:
        return reason
    verb, rest = reason.split(" ", 1)
    for one, several in (("an identifier", "identifiers"), (" its ", " their "), ("from it ", "from them ")):
        rest = rest.replace(one, several)
    return f"{_PLURALS.get(verb, verb.removesuffix('s'))} {rest}"


def _planned(name: str, decision: Decision, n_rows: int, scale: str) -> ColumnPlan:
    kind = str(decision.kind)
    if decision.numbers is None:
        return ColumnPlan(name, kind, decision.n_missing, categories=decision.categories)
    scaling = scaling_of(decision.numbers, n_rows, scale)
    return ColumnPlan(name, kind, decision.n_missing, scaling, decision.categories)


def _scale_notes(columns: Collection[ColumnPlan], scale: str) -> list[str]:
    limited = [f"'{one.name}'" for one in columns if one.scaling is not None and one.scaling.kind == ROBUST]
    if scale == AUTO and limited:
        return [
            f"Some numbers are more than {FAR:g} standard deviations from the mean. So that they do not "
            f"become clusters of their own, these columns are scaled by median and quartiles and limited to "
            f"{LIMIT:g} times the spread that the quartiles tell: {listed(limited)}. Scale 'standard' "
            "takes them as they are."
        ]
    numbers = [one.scaling for one in columns if one.scaling is not None]
    if scale == NONE and len(numbers) > 1:
        return ["Numbers are not scaled: columns of large numbers decide most."]
    return []


def _missing_notes(columns: Collection[ColumnPlan], n_rows: int) -> list[str]:
    notes = []
    gappy = [column for column in columns if column.n_missing]
    means = [f"'{column.name}' ({column.n_missing})" for column in gappy if column.is_number]
    categories = [f"'{column.name}' ({column.n_missing})" for column in gappy if not column.is_number]
    medians = {one.scaling.kind in (ROBUST, RANK) for one in gappy if one.scaling is not None}
    middle = {True: "median", False: "mean"}[medians.pop()] if len(medians) == 1 else "mean or median"
    if means:
        notes.append(
            f"Missing values (of {n_rows}) were replaced by the {middle} of their column: {listed(means)}."
        )
    if categories:
        notes.append(
            f"Missing values (of {n_rows}) are a category of their own, '{MISSING_CATEGORY}': "
            f"{listed(categories)}."
        )
    return notes


def listed(parts: list[str]) -> str:
    """Names one after the other, the first of them where there are many."""
    more = f" and {len(parts) - LONGEST_LIST} more" if len(parts) > LONGEST_LIST else ""
    return ", ".join(parts[:LONGEST_LIST]) + more
