"""What becomes of every column of a table that was read, as asked for on the command line."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from whyclust.columns import ColumnFacts, TablePlan, column_facts, plan_columns
from whyclust.columns.plan import listed
from whyclust.columns.scaling import AUTO, ROBUST
from whyclust.tables.repeats import repeats


def plan_table(
    frame: pd.DataFrame,
    *,
    columns: Sequence[str] | None = None,
    drop: Collection[str] = (),
    aside: Collection[str] = (),
    scale: str = "auto",
) -> TablePlan:
    """Decide how every column of a table takes part in a clustering.

    Numbers are scaled; text, booleans and categories are one-hot encoded, of many categories the frequent
    ones. Left out, each with a reason, are columns that are constant or empty, that say the same as another,
    dates and years, identifiers, codes and ranks, and text whose values hardly repeat.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, with unique column names.
    columns : sequence of str, optional
        Use only these. A column asked for by name is used wherever that is possible.
    drop : collection of str
        Columns to leave out.
    aside : collection of str
        Columns that are no features unless named in `columns` (identifiers, labels).
    scale : {"auto", "standard", "robust", "rank", "none"}
        How numbers are scaled; 'auto' takes 'robust' for columns with numbers far outside, else 'standard'.

    Returns
    -------
    TablePlan
        Its `apply` converts the table, or any part of it.

    Raises
    ------
    ValueError
        For an unknown column, an infinite number, or when no usable column is left.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"age": [30.0, None, 50.0], "sex": ["f", "m", "f"], "unit": ["cm", "cm", "cm"]}
    ... )
    >>> plan = plan_table(frame)
    >>> plan.numeric, plan.categorical, plan.missing
    (['age'], ['sex'], {'age': 1})
    >>> plan.dropped
    {'unit': 'has the same value in every row'}
    """
    if len(frame) == 0:
        raise ValueError("the table has no rows: expected at least two.")
    names = candidates(frame.columns, columns=columns, drop=drop, aside=aside)
    facts, asked = _as_numbered(column_facts(frame, names), frame), columns or ()
    plan = plan_columns(facts, asked=asked, scale=scale)
    plan = replace(plan, notes=[*plan.notes, *_farthest(frame, plan, scale)])
    repeated = {} if columns else repeats(frame, [column.name for column in plan.columns])
    if not repeated:
        return plan
    others = {name: found for name, found in facts.items() if name not in repeated}
    plan = plan_columns(others, asked=asked, scale=scale)
    plan = replace(plan, notes=[*plan.notes, *_farthest(frame, plan, scale)])
    dropped = {name: f"says the same as '{other}'" for name, other in repeated.items()}
    told = listed([f"'{name}' (as '{other}')" for name, other in repeated.items()])
    note = f"Columns that say the same as another were left out: {told}."
    return replace(plan, dropped={**plan.dropped, **dropped}, notes=[*plan.notes, note])


def _farthest(frame: pd.DataFrame, plan: TablePlan, scale: str) -> list[str]:
    """Which rows hold the numbers that lie farthest outside: they may be wrong, and means count them."""
    told = []
    for column in plan.columns:
        if scale == AUTO and column.scaling is not None and column.scaling.kind == ROBUST:
            numbers = np.asarray(column.apply(frame[column.name]), dtype=np.float64)
            place = int(np.nanargmax(np.abs(numbers - column.scaling.center)))
            row = _row_numbers(frame)[place] + 1
            told.append(f"'{column.name}' is {numbers[place]:,.15g} in row {row}")
    if not told:
        return []
    return [f"Farthest outside: {listed(told)}. Mend or leave out what is wrong: means are told with it."]


def _row_numbers(frame: pd.DataFrame) -> list[int]:
    """The rows' numbers in their file, from 0: where some were left out, the others keep theirs."""
    if isinstance(frame.index, pd.RangeIndex) or not pd.api.types.is_integer_dtype(frame.index.dtype):
        return list(range(len(frame)))
    return [int(label) for label in frame.index]


def _as_numbered(facts: dict[str, ColumnFacts], frame: pd.DataFrame) -> dict[str, ColumnFacts]:
    """The facts with the numbers that rows have in their file, for messages."""
    rows = _row_numbers(frame)
    if rows == list(range(len(frame))):
        return facts
    found = {}
    for name, one in facts.items():
        if one.numbers is not None and one.numbers.infinite_row is not None:
            numbers = replace(one.numbers, infinite_row=rows[one.numbers.infinite_row])
            one = replace(one, numbers=numbers)
        if one.texts is not None:
            first = {word: rows[place] for word, place in one.texts.first.items()}
            one = replace(one, texts=replace(one.texts, first=first))
        found[name] = one
    return found


def candidates(
    known: Collection[str],
    *,
    columns: Sequence[str] | None = None,
    drop: Collection[str] = (),
    aside: Collection[str] = (),
) -> list[str]:
    """Columns that may take part, in their order; arguments as for `plan_table`."""
    for name in [*(columns or ()), *drop]:
        if name not in known:
            raise ValueError(unknown_column(name, known))
    asked = list(dict.fromkeys(columns)) if columns else []
    chosen = asked or [name for name in known if name not in set(aside)]
    return [name for name in chosen if name not in drop]


def unknown_column(name: str, columns: Collection[str]) -> str:
    """Say that a column does not exist, and which one may be meant.

    Examples
    --------
    >>> unknown_column("pirce", ["price", "name"])
    "there is no column 'pirce': did you mean 'price'?"
    """
    import difflib

    close = difflib.get_close_matches(name, [str(column) for column in columns], n=1)
    if close:
        return f"there is no column '{name}': did you mean '{close[0]}'?"
    known = ", ".join(f"'{column}'" for column in list(columns)[:10])
    more = ", ..." if len(columns) > 10 else ""
    return f"there is no column '{name}': the table has {known}{more}."
