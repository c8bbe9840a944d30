"""What becomes of every column of a table that was read, as asked for on the command line."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from whyclust.columns import TablePlan, column_facts, plan_columns


def plan_table(
    frame: pd.DataFrame,
    *,
    columns: Sequence[str] | None = None,
    drop: Collection[str] = (),
    aside: Collection[str] = (),
) -> TablePlan:
    """Decide how every column of a table takes part in a clustering.

    Numbers are standardised; text, booleans and categories are one-hot encoded. Left out, each with
    a reason, are columns that are constant or empty, dates, identifiers (text that differs in every
    row, whole numbers that count the rows, ...) and text with more than 30 different values.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, with unique column names.
    columns : sequence of str, optional
        Use only these. A column asked for by name is not taken for an identifier.
    drop : collection of str
        Columns to leave out.
    aside : collection of str
        Columns that are no features unless named in `columns` (identifiers, labels).

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
    return plan_columns(column_facts(frame, names), asked=columns or ())


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
