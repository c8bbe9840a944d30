"""What the metrics are given, read and checked: labels, relevance, and the table they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import in_rows_of, take_columns
from whyclust.explaining.explanation import Explanation
from whyclust.inputs.reading import (
    InputTable,
    is_sparse,
    named_columns,
    numeric,
    read_input,
    refuse_not_finite,
)
from whyclust.labels.given import label_values, noise_of

# Metrics compare dense rows; this many numbers take 160 MB.
MOST_DENSE_NUMBERS = 20_000_000


def read_codes(labels: Any, called: str, table: InputTable | None = None) -> tuple[NDArray, NDArray]:
    """Return the position of each row's label among the labels, and the labels themselves, sorted.

    >>> read_codes(["b", "a", "b"], "labels")
    (array([1, 0, 1]), array(['a', 'b'], dtype='<U1'))
    """
    values = label_values(labels, called, table)
    names, codes = np.unique(values.astype(int) if values.dtype == bool else values, return_inverse=True)
    return codes, names


def noise_rows(codes: NDArray, names: NDArray) -> NDArray:
    """Which rows are labelled -1, or '-1' among names."""
    return np.asarray(names == noise_of(names))[codes]


def refuse_too_large(table: InputTable, called: str) -> None:
    """Sparse tables are made dense here, which must not fill the memory."""
    if is_sparse(table.data) and table.shape[0] * table.shape[1] > MOST_DENSE_NUMBERS:
        raise ValueError(
            f"{called} is sparse with {table.shape[0]} rows and {table.shape[1]} columns, too many to be "
            "compared densely: take fewer rows, or reduce the columns first."
        )


def read_numbers(X: Any, called: str = "X") -> NDArray:
    """A table as a dense array of finite float64 numbers."""
    table = read_input(X, called)
    refuse_too_large(table, called)
    values = numeric(table.data, called)
    values = np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)
    if not np.isfinite(values).all():
        names = table.names or [f"x{column}" for column in range(table.shape[1])]
        refuse_not_finite(values, names, 0, called)
    return values


def explanation_in(given: Any) -> Explanation | None:
    """The explanation, where one was given; None where it is relevance in an array or a frame.

    Metrics take either: this is where they are told apart.
    """
    return given if isinstance(given, Explanation) else None


def read_relevance(
    explanation: Any, called: str, columns: list[str] | None = None, index: Any = None
) -> NDArray:
    """Relevance, or another importance, of each row as a dense array; some of it must not be zero.

    Named columns of a frame are brought into the order of `columns` (of an array, x0, x1, …), its rows into
    that of `index`.
    """
    explained = explanation_in(explanation)
    if explained is not None:
        if explained.is_factored:
            refuse_too_large(read_input(explained.data), called)
        values = np.asarray(explained.values, dtype=np.float64)
    else:
        table = read_input(in_rows_of(explanation, index, called), called)
        refuse_too_large(table, called)
        values = numeric(table.data, called)
        values = np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)
        if table.names is not None and table.names != columns:
            values = values[:, _places(table.names, columns, called)]
    refuse_bad_relevance(values, called)
    return values


def _places(names: list[str], columns: list[str] | None, called: str) -> list[int]:
    """Where each of the columns is among the names; columns that are only numbered stand as they are.

    Columns of an array have no names, but numbers: names that are numbers are brought into their order.
    """
    numbered = [[f"{start}{place}" for place in range(len(names))] for start in ("", "x")]
    if columns is None:
        columns = next((order for order in numbered if set(order) == set(names)), names)
    if set(names) != set(columns) and names in numbered:
        return list(range(len(names)))
    missing = [name for name in columns if name not in set(names)]
    if missing or len(names) != len(columns):
        told = f"no column {missing[0]!r}" if missing else f"{len(names)} columns, not {len(columns)}"
        raise ValueError(f"{called} has {told}: expected the columns of X, by name.")
    return [names.index(name) for name in columns]


def refuse_bad_relevance(values: NDArray, called: str) -> None:
    """NaN tells nothing, and a constant tells no column from another."""
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise ValueError(
            f"{called} holds {bad} value(s) that are not finite, expected a number for every row and column."
        )
    if values.size > 1 and values.min() == values.max():
        raise ValueError(
            f"{called} is {values.flat[0]:g} everywhere, so it tells no column from another: expected "
            "relevance that differs."
        )


def refuse_other_rows(explained: tuple[int, int], X: tuple[int, int], called: str) -> None:
    """An explanation must be of this table."""
    if explained[0] != X[0]:
        raise ValueError(
            f"{called} has {explained[0]} rows, but X has {X[0]}: expected an explanation of these very rows."
        )
    if explained[1] != X[1]:
        raise ValueError(
            f"{called} has {explained[1]} columns, but X has {X[1]}: expected one column for each of X, "
            "explained without groups."
        )


def in_order_of(explained: Explanation | None, X: Any) -> Any:
    """The table with its columns in the order of the explanation, where both have names."""
    table = read_input(X)
    if explained is None or table.names is None:
        return table.data
    names = explained.feature_names
    # An explanation of an array, by a model fitted on one, calls its columns x0, x1, ...
    unnamed = names == [f"x{column}" for column in range(len(names))]
    if unnamed or names == table.names:
        return table.data
    if len(names) != len(table.names):  # columns that a pipeline drops are no features
        fewer = set(names) < set(table.names)
        return named_columns(table, names).data if fewer else table.data
    other = [name for name in table.names if name not in set(names)]
    if other:
        raise ValueError(
            f"X has the column {other[0]!r}, which the explanation does not have: expected the table that "
            "was explained."
        )
    return take_columns(table.data, [table.names.index(name) for name in names])


def read_top(top: Any, n_features: int) -> int:
    """How many features count, checked."""
    if not isinstance(top, (int, np.integer)) or isinstance(top, bool) or not 1 <= top <= n_features:
        raise ValueError(
            f"top={top!r}, expected a whole number from 1 to the number of features, {n_features}."
        )
    return int(top)


def top_mask(strength: NDArray, top: int | None) -> NDArray:
    """Which features of each row are among its strongest; those of strength 0 never are.

    Of equal ones the first column counts, so that the answer does not depend on the sorting.

    >>> top_mask(np.array([[3.0, 0.0, 1.0, 2.0], [1.0, 0.0, 0.0, 0.0]]), 2)
    array([[ True, False, False,  True],
           [ True, False, False, False]])
    """
    chosen = strength > 0
    if top is not None:
        order = np.argsort(-strength, axis=1, kind="stable")[:, : read_top(top, strength.shape[1])]
        among = np.zeros(strength.shape, dtype=bool)
        np.put_along_axis(among, order, True, axis=1)
        chosen &= among
    return chosen
