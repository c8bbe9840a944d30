"""A plan as a fitted scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from whyclust.columns.deciding import FLAG
from whyclust.columns.plan import MISSING_CATEGORY, ColumnPlan, TablePlan


def preparation(plan: TablePlan) -> Any:
    """Build the transformer that a plan asks for, fitted by the statistics of the plan.

    Numeric columns: mean imputation, then standardisation. Categorical columns: gaps become a
    category of their own, then one-hot encoding. No rows are needed any more, so that it is the same
    for a table that was planned in parts.

    Parameters
    ----------
    plan : TablePlan

    Returns
    -------
    sklearn.compose.ColumnTransformer
        Fitted; it takes what `plan.apply` returns.

    Examples
    --------
    >>> from whyclust.tables import plan_table
    >>> table = pd.DataFrame({"age": [30.0, None, 50.0], "sex": ["f", "m", "f"]})
    >>> plan = plan_table(table)
    >>> preparation(plan).transform(plan.apply(table)).round(2).tolist()
    [[-1.22, 1.0, 0.0], [0.0, 0.0, 1.0], [1.22, 1.0, 0.0]]
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    impute, scale = SimpleImputer(strategy="mean"), StandardScaler()
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    fill = SimpleImputer(strategy="constant", fill_value=MISSING_CATEGORY)
    whole = [column.name for column in plan.columns if not column.is_number and not column.n_missing]
    gappy = [column.name for column in plan.columns if not column.is_number and column.n_missing]
    steps: list[tuple[str, Any, list[str]]] = []
    if plan.numeric:
        steps.append(("numeric", Pipeline([("impute", impute), ("scale", scale)]), plan.numeric))
    if whole:
        steps.append(("categorical", encode, whole))
    if gappy:
        steps.append(("incomplete", Pipeline([("impute", fill), ("encode", encode)]), gappy))
    # A few rows that have every category teach the encoders all they need; numbers follow by their moments.
    fitted = ColumnTransformer(steps).fit(_examples(plan))
    if plan.numeric:
        numbers = [column for column in plan.columns if column.is_number]
        impute, scale = fitted.named_transformers_["numeric"].named_steps.values()
        means = np.array([column.mean for column in numbers], dtype=np.float64)
        impute.statistics_ = means
        scale.mean_ = means.copy()
        scale.scale_ = np.array([column.scale for column in numbers], dtype=np.float64)
        scale.var_ = scale.scale_**2
        scale.n_samples_seen_ = plan.n_rows
    return fitted


def _examples(plan: TablePlan) -> pd.DataFrame:
    """A few rows that have every category of every column, and a gap where there was one."""
    n_rows = max(1, *(len(column.categories) + bool(column.n_missing) for column in plan.columns))
    return pd.DataFrame({column.name: _example(column, n_rows) for column in plan.columns})


def _example(column: ColumnPlan, n_rows: int) -> Any:
    if column.is_number:
        return np.full(n_rows, column.mean, dtype=np.float64)
    if column.kind == FLAG:
        return np.resize([False, True], n_rows)
    values = np.array([*column.categories, *([np.nan] if column.n_missing else [])], dtype=object)
    return pd.Series(np.resize(values, n_rows), dtype=object)
