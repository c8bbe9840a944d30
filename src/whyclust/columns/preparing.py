"""A plan as a fitted scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.columns.deciding import FLAG
from whyclust.columns.plan import MISSING_CATEGORY, ColumnPlan, TablePlan
from whyclust.columns.scaling import LIMIT, RANK, ROBUST, STANDARD


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

    numbers: dict[str, list[ColumnPlan]] = {}
    for column in plan.columns:
        if column.scaling is not None:
            numbers.setdefault(column.scaling.kind, []).append(column)
    whole = [column for column in plan.columns if not column.is_number and not column.n_missing]
    gappy = [column for column in plan.columns if not column.is_number and column.n_missing]
    steps: list[tuple[str, Any, list[str]]] = []
    for kind, columns in numbers.items():
        impute = SimpleImputer(strategy="median" if kind in (ROBUST, RANK) else "mean")
        steps.append((kind, Pipeline([("impute", impute), *_scalers(columns)]), _names(columns)))
    if whole:
        steps.append(("categorical", _encoder(whole), _names(whole)))
    if gappy:
        fill = SimpleImputer(strategy="constant", fill_value=MISSING_CATEGORY)
        steps.append(("incomplete", Pipeline([("impute", fill), ("encode", _encoder(gappy))]), _names(gappy)))
    # A few rows that have every category teach the encoders all they need; numbers follow by their plans.
    fitted = ColumnTransformer(steps).fit(_examples(plan))
    for kind, columns in numbers.items():
        impute, *scalers = fitted.named_transformers_[kind].named_steps.values()
        impute.statistics_ = _of(columns, "center")
        if kind == STANDARD:
            (scaler,) = scalers
            scaler.mean_, scaler.scale_ = _of(columns, "center"), _of(columns, "scale")
            scaler.var_, scaler.n_samples_seen_ = scaler.scale_**2, plan.n_rows
    return fitted


def _names(columns: list[ColumnPlan]) -> list[str]:
    return [column.name for column in columns]


def _of(columns: list[ColumnPlan], what: str) -> NDArray:
    return np.array([getattr(column.scaling, what) for column in columns], dtype=np.float64)


def _encoder(columns: list[ColumnPlan]) -> Any:
    """One-hot columns of the planned categories, whatever others there are."""
    from sklearn.preprocessing import OneHotEncoder

    known: list[Any] = []
    for column in columns:
        if column.kind == FLAG:
            known.append(np.array([False, True]))
        else:
            gap = [MISSING_CATEGORY] if column.n_missing else []
            known.append(np.array(sorted({*column.categories, *gap}), dtype=object))
    return OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)


def _scalers(columns: list[ColumnPlan]) -> list[tuple[str, Any]]:
    """The steps of scikit-learn that scale these numbers, all in the same way.

    Limits and ranks are frozen: fitted again, as an audit does, they would follow the outliers.
    """
    from sklearn.frozen import FrozenEstimator
    from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

    scalings = [column.scaling for column in columns if column.scaling is not None]
    kind = scalings[0].kind
    if kind == ROBUST:
        center, reach = _of(columns, "center"), LIMIT * _of(columns, "scale")
        limit = MinMaxScaler(feature_range=(-LIMIT, LIMIT), clip=True).fit([center - reach, center + reach])
        return [("limit", FrozenEstimator(limit))]
    if kind == RANK:
        knots = np.array([one.knots for one in scalings]).T
        ranks = QuantileTransformer(n_quantiles=len(knots), subsample=None).fit(knots)
        # Uniform between 0 and 1, but where many numbers are the same.
        scale = StandardScaler().fit(ranks.transform(knots))
        return [("rank", FrozenEstimator(ranks)), ("scale", FrozenEstimator(scale))]
    return [("scale", StandardScaler())] if kind == STANDARD else []


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
