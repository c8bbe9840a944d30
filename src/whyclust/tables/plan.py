"""What becomes of every column of a table before it is clustered."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

# More categories than this are taken for free text: one-hot columns would swamp the numeric ones.
MAX_CATEGORIES = 30
# Squares of larger numbers overflow, and with them every distance.
LARGEST_NUMBER = 1e150
MISSING_CATEGORY = "missing"
# Notes are for reading; the plan itself has every column.
LONGEST_LIST = 20

SAME_VALUE = "has the same value in every row"
TOO_CLOSE = "differs only beyond the 16 digits of its numbers (subtract a constant from it first)"
NUMBERS_ROWS = "numbers the rows"
COUNTS_ROWS = "goes up by one in every row (an identifier)"
NAMED_IDENTIFIER = "identifies the rows"
TEXT_IDENTIFIER = "is different in every row (an identifier)"

# A text column is a number column with blemishes if at least this share of its entries are numbers.
NUMERIC_SHARE = 0.95

DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})( .*)?")
IDENTIFIER = re.compile(r"id|index|.*[_ .-]id|row([_ ]?(number|nr|no))?|unnamed: 0|column 1|uuid|guid")


@dataclass(frozen=True)
class TablePlan:
    """What becomes of every column.

    Attributes
    ----------
    numeric : list of str
        Columns that are standardised.
    categorical : list of str
        Columns that are one-hot encoded.
    dropped : dict of str to str
        Columns that are left out, each with the reason.
    missing : dict of str to int
        Number of missing values of the columns that are used.
    notes : list of str
        Sentences for the reader of a report.
    features : pandas.DataFrame
        The columns used, ready for `preparation`: floats, booleans and strings.
    """

    numeric: list[str]
    categorical: list[str]
    dropped: dict[str, str]
    missing: dict[str, int]
    notes: list[str] = field(default_factory=list)
    features: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    @property
    def identifiers(self) -> list[str]:
        """Columns that were left out because they tell the rows apart."""
        reasons = {NUMBERS_ROWS, COUNTS_ROWS, NAMED_IDENTIFIER, TEXT_IDENTIFIER}
        return [name for name, reason in self.dropped.items() if reason in reasons]


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
    for name in [*(columns or ()), *drop]:
        if name not in frame.columns:
            raise ValueError(unknown_column(name, frame.columns))
    asked = list(dict.fromkeys(columns)) if columns else []
    candidates = asked or [name for name in frame.columns if name not in set(aside)]
    numeric: list[str] = []
    categorical: list[str] = []
    used: dict[str, pd.Series] = {}
    dropped: dict[str, str] = {}
    missing: dict[str, int] = {}
    notes: list[str] = []
    for name in candidates:
        if name in drop:
            continue
        column, reason, note = _examine(frame[name], name, name in asked)
        notes += [note] if note else []
        if column is None:
            dropped[name] = reason
            continue
        used[name] = column
        (numeric if column.dtype.kind == "f" else categorical).append(name)
        n_missing = int(column.isna().sum())
        if n_missing:
            missing[name] = n_missing
    if not used:
        found = "; ".join(f"'{name}' {reason}" for name, reason in list(dropped.items())[:4])
        raise ValueError(
            f"no column can be used for clustering ({found or 'all were left out'}): "
            "expected at least one numeric or categorical column with different values."
        )
    notes += _missing_notes(missing, numeric, len(frame))
    if dropped:
        by_reason: dict[str, list[str]] = {}
        for name, reason in dropped.items():
            by_reason.setdefault(reason, []).append(f"'{name}'")
        parts = [f"{listed(names)} ({reason})" for reason, names in by_reason.items()]
        notes.append(f"Columns left out: {'; '.join(parts)}.")
    features = pd.DataFrame(used, index=frame.index)
    return TablePlan(numeric, categorical, dropped, missing, notes, features)


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


def _missing_notes(missing: dict[str, int], numeric: list[str], n_rows: int) -> list[str]:
    notes = []
    means = [f"'{name}' ({count})" for name, count in missing.items() if name in numeric]
    categories = [f"'{name}' ({count})" for name, count in missing.items() if name not in numeric]
    if means:
        notes.append(
            f"Missing values (of {n_rows}) were replaced by the mean of their column: {listed(means)}."
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


def _examine(column: pd.Series, name: str, asked: bool) -> tuple[pd.Series | None, str, str]:
    """Return the column as float, bool or string (or None), the reason to drop it, and a note."""
    note = ""
    present = column.dropna()
    if present.empty:
        return None, "has no values", note
    kind = pd.api.types.infer_dtype(present, skipna=True)
    if kind in {"datetime", "datetime64", "date", "timedelta", "timedelta64", "time", "period"}:
        return None, "holds dates or times, which are not clustered", note
    if kind == "complex":
        return None, "holds complex numbers", note
    if kind == "boolean":
        if present.nunique() == 1 and len(present) == len(column):
            return None, SAME_VALUE, note
        # With gaps the column must be text, for gaps to become a category of their own.
        whole = column.astype(bool) if len(present) == len(column) else _as_text(column)
        return whole, "", note
    if kind in {"integer", "floating", "mixed-integer-float", "decimal"}:
        return *_examine_numbers(column, name, asked), note
    if kind in {"string", "categorical"} or isinstance(column.dtype, pd.CategoricalDtype):
        text = _as_text(column)
        numbers = pd.to_numeric(text, errors="coerce").where(text.notna())
        n_text, n_numbers = int(text.notna().sum()), int(numbers.notna().sum())
        if n_numbers >= NUMERIC_SHARE * n_text and numbers.nunique() > MAX_CATEGORIES:
            odd = text[text.notna() & numbers.isna()]
            if len(odd):
                row = int(np.flatnonzero(column.index == odd.index[0])[0]) + 1
                note = (
                    f"Column '{name}' holds numbers but for {len(odd)} entries such as "
                    f"'{odd.iloc[0]}' (row {row}); these count as missing."
                )
            return *_examine_numbers(numbers, name, asked), note
        return *_examine_text(text, asked), note
    return None, f"holds values of kind '{kind}', not numbers or text", note


def _examine_numbers(column: pd.Series, name: str, asked: bool) -> tuple[pd.Series | None, str]:
    numbers = pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan), index=column.index)
    values = numbers.to_numpy()
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"column '{name}' holds an infinite number in row {int(np.argmax(infinite)) + 1} (the "
            "first row of data is 1): put a finite number in its place, or leave the column out."
        )
    present = values[~np.isnan(values)]
    if np.abs(present).max() > LARGEST_NUMBER:
        raise ValueError(
            f"column '{name}' holds a number larger than {LARGEST_NUMBER:g}, whose square cannot "
            "be computed: rescale the column, or leave it out."
        )
    # Differences in the last digit are rounding, and standardising would blow them up.
    spread = np.ptp(present)
    if spread <= 4 * np.finfo(np.float64).eps * np.abs(present).max():
        exact = pd.api.types.infer_dtype(column, skipna=True) == "integer" and column.nunique() > 1
        return None, TOO_CLOSE if exact else SAME_VALUE
    # In a handful of rows 1, 2, 3 may well be a measurement.
    if not asked and len(present) == len(values) and len(values) >= 10:
        steps = np.diff(values)
        counts = bool((steps == 1).all()) and float(values[0]).is_integer()
        if counts and values[0] in (0, 1):
            return None, NUMBERS_ROWS
        distinct = len(np.unique(values)) == len(values)
        whole = bool((values == np.floor(values)).all())
        if distinct and whole and IDENTIFIER.fullmatch(name.strip().lower()):
            return None, NAMED_IDENTIFIER
        # A customer number from 1000 on is as little a measurement as a row number.
        if counts:
            return None, COUNTS_ROWS
    return numbers, ""


def _examine_text(text: pd.Series, asked: bool) -> tuple[pd.Series | None, str]:
    present = text.dropna()
    n_distinct = present.nunique()
    if n_distinct == 1 and len(present) == len(text):
        return None, SAME_VALUE
    if present.map(lambda entry: bool(DATE.fullmatch(entry.strip()))).all():
        return None, "holds dates or times, which are not clustered"
    if n_distinct == len(present) and len(present) > 2 and not asked:
        return None, TEXT_IDENTIFIER
    if n_distinct > MAX_CATEGORIES:
        return (
            None,
            f"is text with {n_distinct} different values (at most {MAX_CATEGORIES} are used)",
        )
    return text, ""


def _as_text(column: pd.Series) -> pd.Series:
    # Plain objects with NaN for gaps: what SimpleImputer and OneHotEncoder take for text.
    text = column.astype(object).map(str).astype(object)
    return text.where(column.notna(), np.nan)


def preparation(plan: TablePlan) -> Any:
    """Build the unfitted transformer that a plan asks for.

    Numeric columns: mean imputation, then standardisation. Categorical columns: gaps become a
    category of their own, then one-hot encoding.

    Parameters
    ----------
    plan : TablePlan

    Returns
    -------
    sklearn.compose.ColumnTransformer
        To be fitted on `plan.features`.

    Examples
    --------
    >>> import pandas as pd
    >>> plan = plan_table(pd.DataFrame({"age": [30.0, None, 50.0], "sex": ["f", "m", "f"]}))
    >>> preparation(plan).fit_transform(plan.features).round(2).tolist()
    [[-1.22, 1.0, 0.0], [0.0, 0.0, 1.0], [1.22, 1.0, 0.0]]
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = Pipeline([("impute", SimpleImputer(strategy="mean")), ("scale", StandardScaler())])
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    fill = SimpleImputer(strategy="constant", fill_value=MISSING_CATEGORY)
    whole = [name for name in plan.categorical if name not in plan.missing]
    gappy = [name for name in plan.categorical if name in plan.missing]
    steps: list[tuple[str, Any, list[str]]] = []
    if plan.numeric:
        steps.append(("numeric", numbers, plan.numeric))
    if whole:
        steps.append(("categorical", encode, whole))
    if gappy:
        steps.append(("incomplete", Pipeline([("impute", fill), ("encode", encode)]), gappy))
    return ColumnTransformer(steps)
