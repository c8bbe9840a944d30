"""What users hand in, checked once, and the sentences that say what is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


@dataclass(frozen=True)
class Table:
    """The user's table: a 2-D array, a CSR matrix or a pandas frame, and its names.

    Images are rows of pixels here; `image_shape` is the shape that each had. `called` is what errors call it.
    """

    data: Any
    names: list[str] | None
    index: NDArray | None
    image_shape: tuple[int, ...] | None = None
    called: str = "X"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.data.shape

    def rows(self, chosen: slice) -> Any:
        """A block of rows, as the same kind of table."""
        return self.data.iloc[chosen] if is_frame(self.data) else self.data[chosen]


def _from_polars(X: Any, name: str) -> Any:
    """A pandas frame in which missing text is None, as scikit-learn sees it in polars."""
    import pandas as pd

    if not hasattr(X, "to_pandas"):
        raise TypeError(f"{name} is a polars {type(X).__name__}, expected a DataFrame: call collect() first.")
    if not hasattr(X, "columns"):
        return X.to_pandas()
    columns = {}
    for column in X.columns:
        series = X[column]
        text = str(series.dtype).startswith(("String", "Utf8", "Categorical", "Enum"))
        columns[column] = pd.Series(series.to_list(), dtype=object) if text else series.to_pandas()
    return pd.DataFrame(columns)


def refuse_other_images(found: Sequence[int] | None, expected: Sequence[int] | None, name: str) -> None:
    """Images of another shape have their pixels in another order, even where there are as many."""
    if found is None or expected is None:
        return
    found, expected = tuple(found), tuple(expected)
    if found != expected and found != expected[expected[0] == 1 :]:  # one channel may go unsaid
        raise ValueError(
            f"{name} has images of shape {found}, but the model was made for {expected}: bring the axes into "
            "that order (channels, height, width)."
        )


def is_sparse(data: Any) -> bool:
    """Whether this is a scipy sparse array or matrix."""
    return bool(sp.issparse(data))


def is_frame(data: Any) -> bool:
    """Whether this is a pandas frame, told without importing pandas."""
    return hasattr(data, "iloc") and hasattr(data, "columns")


def read_table(X: Any, name: str = "X") -> Table:
    """Accept arrays, lists, sparse matrices, pandas and polars frames.

    >>> read_table([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    if isinstance(X, Table):
        return X
    names = index = None
    if type(X).__module__.split(".")[0] == "polars":
        X = _from_polars(X, name)
    if hasattr(X, "iloc") and not hasattr(X, "columns"):
        raise ValueError(
            f"{name} is a pandas Series, expected a table of two dimensions: "
            "use frame[['column']] for one column or frame.iloc[[i]] for one row."
        )
    if is_frame(X):
        names = [str(column) for column in X.columns]
        repeated = [column for column, count in Counter(names).items() if count > 1]
        if repeated:
            raise ValueError(
                f"{name} has more than one column called {repeated[0]!r}: rename them so that "
                "every column has a name of its own."
            )
        index = np.asarray(X.index)
        data: Any = X
    elif is_sparse(X):
        data = X if X.format == "csr" else X.tocsr()
    else:
        if np.ma.isMaskedArray(X):
            X = np.ma.filled(X.astype(float), np.nan)  # what is masked is missing
        try:
            data = np.asarray(X)
        except ValueError:
            raise ValueError(f"{name} has rows of different lengths, expected a table.") from None
        if data.ndim == 0:
            raise TypeError(
                f"{name} is a {type(X).__name__}, expected a table of rows and columns: an array, or a frame "
                "(pandas.read_csv reads one from a file)."
            )
        if data.ndim in (3, 4) and data.size:
            return Table(data.reshape(len(data), -1), None, None, data.shape[1:], name)
        if data.ndim != 2:
            raise ValueError(
                f"{name} has {data.ndim} dimension(s), expected a table of rows and columns: use "
                f"{name}.reshape(1, -1) for one point or {name}.reshape(-1, 1) for one column."
            )
    if data.shape[0] == 0 or data.shape[1] == 0:
        raise ValueError(
            f"{name} is empty ({data.shape[0]} rows, {data.shape[1]} columns): expected at least "
            "one row and one column."
        )
    return Table(data, names, index, called=name)


def working_type(data: Any, columns: NDArray | None = None) -> np.dtype:
    """float32 where all (of these) columns are; float64 otherwise."""
    kinds = list(data.dtypes) if is_frame(data) else [data.dtype]
    if columns is not None and is_frame(data):
        kinds = [kinds[column] for column in columns]
    kinds = [getattr(kind, "subtype", kind) for kind in kinds]  # of pandas' sparse columns
    small = all(getattr(kind, "kind", "O") == "f" and kind.itemsize <= 4 for kind in kinds)
    return np.dtype(np.float32 if small else np.float64)


def numeric(data: Any, name: str = "X") -> Any:
    """Numbers of a table as float32 or float64 (kept) or float64 (all else), or an error."""
    if is_frame(data):
        data = _frame_numbers(data, name)
    if is_sparse(data):
        if data.dtype not in (np.float32, np.float64):
            data = data.astype(np.float64)
        return data
    if data.dtype in (np.float32, np.float64):
        return data
    if data.dtype == np.float16:
        return data.astype(np.float32)
    if data.dtype.kind in "cmM":
        kind = "complex numbers" if data.dtype.kind == "c" else "dates or times"
        raise ValueError(f"{name} holds {kind}, expected real numbers: convert them first.")
    try:
        return data.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} holds values that are not numbers ({_first_text(data)!r} is one): encode them "
            "in a Pipeline (OneHotEncoder) and explain the pipeline, or drop their columns."
        ) from None


def _first_text(data: NDArray) -> Any:
    for value in data.ravel():
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return data.ravel()[0]


def _frame_numbers(frame: Any, name: str) -> NDArray:
    kinds = frame.dtypes
    wrong = [
        str(column)
        for column, kind in zip(frame.columns, kinds, strict=True)
        if getattr(kind, "kind", "O") not in "biuf"
    ]
    if wrong:
        raise ValueError(
            f"{name} has a column of type {kinds.get(wrong[0], 'text')}, "
            f"{wrong[0]!r}, expected numbers: encode it in a Pipeline (OneHotEncoder) and explain "
            "the pipeline, or drop the column."
        )
    return frame.to_numpy(dtype=working_type(frame), na_value=np.nan)


def match_columns(table: Table, names: Sequence[str] | None, count: int, called: str = "X") -> Table:
    """Bring a table's columns into the order the model was fitted on, or say what differs."""
    if table.names is not None and names is not None:
        given, known = set(table.names), set(names)
        missing = [name for name in names if name not in given]
        if missing:
            raise ValueError(
                f"{called} lacks the column {missing[0]!r}"
                + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
                + ", which the model was fitted on: pass the columns it knows, under the same names."
            )
        extra = [name for name in table.names if name not in known]
        if extra:
            raise ValueError(
                f"{called} has the column {extra[0]!r}"
                + (f" and {len(extra) - 1} more" if len(extra) > 1 else "")
                + ", which the model was not fitted on: drop it first."
            )
        if list(names) != table.names:
            place = {name: position for position, name in enumerate(table.names)}
            order = [place[name] for name in names]
            return replace(table, data=table.data.iloc[:, order], names=list(names))
    if table.shape[1] != count:
        raise ValueError(
            f"{called} has {table.shape[1]} columns, but the model was fitted on {count}: pass the same "
            "columns in the same order."
        )
    return table


def refuse_not_finite(data: Any, names: Sequence[str], first_row: int, called: str = "X") -> None:
    """Say where NaN or infinity stands; called only when a result was not finite."""
    values = data.data if is_sparse(data) else np.asarray(data)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        if is_sparse(data):
            place = bad[0, 0]
            row = np.searchsorted(data.indptr, place, side="right") - 1
            column, value = data.indices[place], values[place]
        else:
            row, column = bad[0]
            value = values[row, column]
        what = "NaN (a missing value)" if np.isnan(value) else "infinity"
        raise ValueError(
            f"{called} holds {what} in row {first_row + row}, column {names[column]!r}, expected finite "
            "numbers: impute it (a Pipeline with SimpleImputer is explained as a whole) or drop the row."
        )
    largest = np.abs(values).max()
    raise ValueError(
        f"{called} holds values as large as {largest:.3g}, too large for {values.dtype} arithmetic: "
        "rescale the columns (StandardScaler in a Pipeline) or pass float64."
    )
