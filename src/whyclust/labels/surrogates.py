"""From labels, or a clustering of which only the labels are known, to a surrogate."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import FeatureAgglomeration
from sklearn.pipeline import Pipeline

from whyclust._frames import is_frame
from whyclust.cluster import PrototypeSurrogate
from whyclust.columns import column_facts, plan_columns, preparation
from whyclust.columns.facts import DATES
from whyclust.columns.scaling import STANDARD
from whyclust.inputs.reading import (
    InputTable,
    is_sparse,
    match_columns,
    numeric,
    read_input,
    refuse_not_finite,
)
from whyclust.labels.given import is_labels, read_labels
from whyclust.network.models import first_step, last_step
from whyclust.network.neuralizing import is_encoder_pair
from whyclust.network.parts import has_network
from whyclust.network.pipelines import read_less, trace_features
from whyclust.network.steps import UnsupportedStep

# A surrogate compares dense rows; this many numbers take 160 MB.
MOST_DENSE_NUMBERS = 20_000_000


@dataclass(frozen=True)
class FittedSurrogate:
    """Rows, their labels, and the model fitted to them.

    Attributes
    ----------
    model : PrototypeSurrogate, or Pipeline that ends in one
    table : InputTable
        The rows, as the model takes them.
    labels : ndarray of shape (n_rows,)
    source : str
        Where the labels are from.
    """

    model: Any
    table: InputTable
    labels: NDArray
    source: str


def surrogate_of(
    model: Any, X: Any, check: Callable[[NDArray, InputTable], object] = lambda labels, table: None
) -> FittedSurrogate | None:
    """Fit a surrogate where `model` is labels, or a clustering of which only its labels are known.

    Parameters
    ----------
    model : labels, fitted clustering, or Pipeline that ends in one
    X : table
        The rows that were clustered.
    check : callable, optional
        Called with the labels and the table, to refuse what is asked of them before a fit that takes long.

    Returns
    -------
    FittedSurrogate or None
        None where the model needs no surrogate, or is no clustering at all.
    """
    if is_encoder_pair(model):
        return None
    if is_labels(model):
        if hasattr(X, "fit") or hasattr(X, "predict"):
            raise TypeError(
                f"X is a {type(X).__name__}, expected a table: the model comes first, explain(model, X)."
            )
        table = _dense(read_input(X))
        source, labels = "given labels", read_labels(model, table=table)
        check(labels, table)
    else:
        last = last_step(model)
        if isinstance(last, type) or not hasattr(last, "labels_") or has_network(last):
            return None
        source = type(last).__name__
        if isinstance(last, FeatureAgglomeration):
            raise TypeError(
                f"{source} clusters columns, and rows are explained: cluster X.T by AgglomerativeClustering "
                "and explain that."
            )
        labels = read_labels(last.labels_, f"the labels_ of this {source}")
        table = _dense(read_input(X))
        if len(labels) != table.shape[0]:
            raise ValueError(
                f"This {source} was fitted on {len(labels)} rows, but X has {table.shape[0]}: pass the same "
                "rows, and to explain new ones PrototypeSurrogate().fit(X, labels)."
            )
        check(labels, table)
        if "precomputed" not in (getattr(last, "metric", None), getattr(last, "affinity", None)):
            table = _as_fitted(model, table)
            _refuse_other_rows(last, table, isinstance(model, Pipeline))
            if isinstance(model, Pipeline):
                return FittedSurrogate(_replace_last(model, table.data, labels), table, labels, source)
        elif table.shape[0] == table.shape[1]:
            raise ValueError(
                f"This {source} was fitted on precomputed distances or affinities, which have no columns to "
                "explain it by: pass the table of the same rows as X."
            )
    fitted, table = _fit_to_columns(labels, table)
    return FittedSurrogate(fitted, table, labels, source)


def surrogate_in(model: Any) -> PrototypeSurrogate | None:
    """The surrogate that a model is, or that its Pipeline ends in; None where it is no surrogate."""
    last = last_step(model)
    return last if isinstance(last, PrototypeSurrogate) else None


def _refuse_other_rows(model: Any, table: InputTable, prepared: bool) -> None:
    """DBSCAN keeps the rows at its cores: where they are others now, the labels belong to other rows."""
    cores, places = getattr(model, "components_", None), getattr(model, "core_sample_indices_", None)
    if prepared or cores is None or places is None or len(cores) != len(places):
        return
    now = np.asarray(table.data)[places]
    if now.shape == cores.shape and now.dtype.kind in "biuf" and not np.allclose(now, cores):
        raise ValueError(
            f"X has other rows than this {type(model).__name__} was fitted on, or another order of them: "
            "pass the same rows in the same order."
        )


def _as_fitted(model: Any, table: InputTable) -> InputTable:
    """The columns in the order in which the model saw them; those that its steps ignore may be missing."""
    first = first_step(model)
    names = getattr(first, "feature_names_in_", None)
    count = getattr(first, "n_features_in_", table.shape[1])
    if names is None or table.names is None:
        return match_columns(table, None, count)
    read, given = _read_by_steps(model, count), set(table.names)
    known = [name for position, name in enumerate(names) if position in read or name in given]
    return match_columns(table, known, len(known))


def _read_by_steps(model: Any, count: int) -> set[int]:
    """Positions of the columns that the steps before a clustering look at."""
    try:
        steps = model.steps[:-1] if isinstance(model, Pipeline) else []
        columns = read_less(trace_features(steps, count)).columns
    except UnsupportedStep:  # told when the steps are followed
        columns = None
    return set(range(count)) if columns is None else set(columns.tolist())


def _dense(table: InputTable) -> InputTable:
    if not is_sparse(table.data):
        return table
    n_rows, n_columns = table.shape
    if n_rows * n_columns > MOST_DENSE_NUMBERS:
        raise ValueError(
            f"X is sparse with {n_rows} rows and {n_columns} columns, too many to fit a surrogate of labels, "
            "which needs dense rows: reduce the columns first (TruncatedSVD in a Pipeline; of an AnnData, "
            "take adata[:, adata.var['highly_variable']])."
        )
    return replace(table, data=table.data.toarray())


def _fit_to_columns(labels: NDArray, table: InputTable) -> tuple[Any, InputTable]:
    """A surrogate on the table's own columns; text is encoded and gaps filled in, as on the command line."""
    data = table.data
    if is_frame(data) and len({isinstance(name, str) for name in data.columns}) > 1:
        data = data.set_axis(list(table.names or ()), axis=1)  # scikit-learn takes no names of several kinds
        table = replace(table, data=data)
    if is_frame(data) and any(getattr(kind, "kind", "O") not in "biuf" for kind in data.dtypes):
        return _fit_to_plan(labels, table, data)
    values = numeric(data)
    if not np.isfinite(values).all():
        names = table.names or [f"x{column}" for column in range(table.shape[1])]
        if np.isinf(values).any():
            refuse_not_finite(np.where(np.isinf(values), values, 0.0), names, 0)
        import pandas as pd

        return _fit_to_plan(labels, table, pd.DataFrame(values, table.row_labels, names))
    return fit_surrogate(data, labels), table


def _fit_to_plan(labels: NDArray, table: InputTable, frame: Any) -> tuple[Any, InputTable]:
    """A surrogate on columns of a frame that need preparation; what was done is said."""
    names = list(table.names or frame.columns)
    frame = frame.set_axis(names, axis=1)
    facts = column_facts(frame, names)
    # Whoever passes a table means its columns, but for dates.
    # Numbers stay what they are, as they do in a table that needs no preparation.
    asked = [name for name in names if facts[name].kind != DATES]
    plan = plan_columns(facts, asked=asked, scale=STANDARD)
    features = plan.apply(frame)
    for note in plan.notes:
        warnings.warn(note, UserWarning, stacklevel=5)
    prepared = read_input(features)
    index = prepared.index if table.index is not None else None
    prepared = replace(prepared, index=index, notes=(*table.notes, *plan.notes))
    return surrogate_pipeline(preparation(plan), features, labels), prepared


def fit_surrogate(X: Any, labels: NDArray, *, random_state: int = 0) -> Any:
    """Fit a surrogate to labels that `read_labels` has returned."""
    return PrototypeSurrogate(random_state=random_state).fit(X, labels)


def surrogate_pipeline(prepared: Any, rows: Any, labels: NDArray, *, random_state: int = 0) -> Pipeline:
    """Fit a surrogate behind a fitted transformer."""
    matrix = prepared.transform(rows)
    matrix = matrix.toarray() if is_sparse(matrix) else matrix
    surrogate = fit_surrogate(matrix, labels, random_state=random_state)
    return Pipeline([("prepare", prepared), ("cluster", surrogate)])


def _replace_last(model: Pipeline, rows: Any, labels: NDArray) -> Pipeline:
    """The same steps with a surrogate in place of the clustering at their end."""
    steps = model.steps
    while isinstance(steps[-1][1], Pipeline):
        steps = [*steps[:-1], *steps[-1][1].steps]
    # Steps of nested pipelines may have the same names.
    steps = [(f"{position}-{name}", step) for position, (name, step) in enumerate(steps)]
    before = steps[:-1]
    if before:
        rows = Pipeline(before).transform(rows)
        try:
            trace_features(before, first_step(model).n_features_in_)
        except UnsupportedStep as error:
            raise TypeError(
                f"Relevance cannot be followed through {error}: explain the labels by the columns of X, "
                "wc.explain(pipeline[-1].labels_, X)."
            ) from None
    surrogate = fit_surrogate(rows.toarray() if is_sparse(rows) else rows, labels)
    return Pipeline([*before, ("cluster", surrogate)])
