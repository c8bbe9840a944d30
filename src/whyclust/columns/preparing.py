"""A plan as a fitted scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.columns.deciding import FLAG
from whyclust.columns.plan import MISSING_CATEGORY, ColumnPlan, TablePlan
from whyclust.columns.scaling import LIMIT, RANK, ROBUST, STANDARD, Scaling


def preparation(plan: TablePlan) -> Any:
    """Build the transformer that a plan asks for, fitted by the statistics of the plan.

    Numeric columns: gaps become the center of the column (its mean, or its median), then it is scaled as
    planned. Categorical columns: gaps become a category of their own, then one-hot encoding; values that
    are not in the plan are none of its categories. No rows are needed any more, so that it is the same
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
    from sklearn.preprocessing import OneHotEncoder

    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    fill = SimpleImputer(strategy="constant", fill_value=MISSING_CATEGORY)
    numbers: dict[str, list[ColumnPlan]] = {}
    for column in plan.columns:
        if column.scaling is not None:
            numbers.setdefault(column.scaling.kind, []).append(column)
    whole = [column.name for column in plan.columns if not column.is_number and not column.n_missing]
    gappy = [column.name for column in plan.columns if not column.is_number and column.n_missing]
    steps: list[tuple[str, Any, list[str]]] = [
        (kind, Pipeline([("impute", SimpleImputer(strategy="mean")), *_scalers(kind)]), _names(columns))
        for kind, columns in numbers.items()
    ]
    if whole:
        steps.append(("categorical", encode, whole))
    if gappy:
        steps.append(("incomplete", Pipeline([("impute", fill), ("encode", encode)]), gappy))
    # A few rows that have every category teach the encoders all they need; numbers follow by their plans.
    fitted = ColumnTransformer(steps).fit(_examples(plan))
    for kind, columns in numbers.items():
        impute, *scalers = fitted.named_transformers_[kind].named_steps.values()
        scalings = [column.scaling for column in columns if column.scaling is not None]
        impute.statistics_ = np.array([one.center for one in scalings])
        _teach(scalers, scalings, plan.n_rows)
    return fitted


def _names(columns: list[ColumnPlan]) -> list[str]:
    return [column.name for column in columns]


def _scalers(kind: str) -> list[tuple[str, Any]]:
    """The steps of scikit-learn that scale numbers in this way."""
    from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

    if kind == ROBUST:
        return [("limit", MinMaxScaler(feature_range=(-LIMIT, LIMIT), clip=True))]
    if kind == RANK:
        return [("rank", QuantileTransformer(n_quantiles=1)), ("scale", StandardScaler())]
    return [("scale", StandardScaler())] if kind == STANDARD else []


def _teach(scalers: list[Any], scalings: list[Scaling], n_rows: int) -> None:
    """Give the steps what they would have learned from all rows."""
    center = np.array([one.center for one in scalings])
    scale = np.array([one.scale for one in scalings])
    kind = scalings[0].kind
    if kind == ROBUST:
        (limit,) = scalers
        limit.data_min_, limit.data_max_ = center - LIMIT * scale, center + LIMIT * scale
        limit.data_range_ = 2 * LIMIT * scale
        limit.scale_, limit.min_ = 1.0 / scale, -center / scale
        limit.n_samples_seen_ = n_rows
    if kind == RANK:
        ranks, standard = scalers
        ranks.quantiles_ = np.array([one.knots for one in scalings]).T
        ranks.n_quantiles_ = len(ranks.quantiles_)
        ranks.references_ = np.linspace(0.0, 1.0, ranks.n_quantiles_)
        # Ranks are uniform between 0 and 1.
        _standardise(standard, np.full(len(scalings), 0.5), np.full(len(scalings), 12**-0.5), n_rows)
    if kind == STANDARD:
        _standardise(scalers[0], center, scale, n_rows)


def _standardise(scaler: Any, mean: NDArray, scale: NDArray, n_rows: int) -> None:
    scaler.mean_, scaler.scale_, scaler.var_ = mean.copy(), scale, scale**2
    scaler.n_samples_seen_ = n_rows


def _examples(plan: TablePlan) -> pd.DataFrame:
    """A few rows that have every category of every column, and a gap where there was one."""
    n_rows = max(1, *(len(column.categories) + bool(column.n_missing) for column in plan.columns))
    return pd.DataFrame({column.name: _example(column, n_rows) for column in plan.columns})


def _example(column: ColumnPlan, n_rows: int) -> Any:
    if column.scaling is not None:
        return np.full(n_rows, column.scaling.center, dtype=np.float64)
    if column.kind == FLAG:
        return np.resize([False, True], n_rows)
    values = np.array([*column.categories, *([np.nan] if column.n_missing else [])], dtype=object)
    return pd.Series(np.resize(values, n_rows), dtype=object)
