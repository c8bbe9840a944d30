"""What users hand in, checked once, and the sentences that say what is wrong with it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from whyclust._checks import refuse_too_large
from whyclust._frames import (
    documents_told,
    is_frame,
    read_frame,
    refuse_repeated,
    take_columns,
    take_rows,
)
from whyclust.inputs import InputKind, kind_of
from whyclust.inputs.annotated import annotated_parts, is_annotated
from whyclust.inputs.kind import TABLE


@dataclass(frozen=True)
class InputTable:
    """The user's table: a 2-D array, a CSR matrix or a pandas frame, and its names.

    `names` and `index` are None where the user's table names no columns, or no rows. Whatever the user
    has, images say, is rows of columns here; `kind` tells what they were. `called` is what errors call it,
    `notes` are sentences on what was done to it.
    """

    data: Any
    names: list[str] | None
    index: NDArray | None
    kind: InputKind = TABLE
    called: str = "X"
    notes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.data.shape

    def working_type(self, columns: NDArray | None = None) -> np.dtype:
        """float32 where all (of these) columns are; float64 otherwise."""
        kinds = self._types
        return working_type(kinds if columns is None or len(kinds) == 1 else [kinds[i] for i in columns])

    @cached_property
    def _types(self) -> list[Any]:
        """The types of the columns, which a frame takes long to tell; of an array one for all."""
        return _types(self.data)

    def rows(self, chosen: slice | NDArray) -> Any:
        """Some rows, as the same kind of table."""
        return take_rows(self.data, chosen)

    def take(self, chosen: NDArray) -> InputTable:
        """Some rows, as a table."""
        index = None if self.index is None else self.index[chosen]
        return replace(self, data=self.rows(chosen), index=index, kind=self.kind.take(chosen))

    @property
    def row_labels(self) -> Any:
        """The rows' own index, to which what comes with one is matched; None where they have none."""
        return self.data.index if self.index is not None and is_frame(self.data) else self.index


def is_sparse(data: Any) -> bool:
    """Whether this is a scipy sparse array or matrix."""
    return bool(sp.issparse(data))


def read_input(X: Any, name: str = "X", *, layer: str | None = None, obsm: str | None = None) -> InputTable:
    """Accept arrays, lists, sparse matrices, tensors, AnnData, and frames of any library that narwhals knows.

    `layer` or `obsm` choose what is read of an AnnData.

    >>> read_input([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    if isinstance(X, InputTable):
        return X
    names = index = None
    if is_annotated(X):
        X, names, index = annotated_parts(X, name, layer=layer, obsm=obsm)
    X, kind = kind_of(X, name)
    frame = read_frame(X, name)
    if frame is not None:
        import pandas as pd

        names = [str(column) for column in frame.columns]
        refuse_repeated(names, name)
        # Rows of polars and pyarrow have no names: they were numbered when they became a pandas frame.
        numbered = frame is not X and isinstance(frame.index, pd.RangeIndex)
        index = None if numbered else np.asarray(frame.index)
        data: Any = frame
    elif is_sparse(X):
        if X.ndim != 2:
            raise ValueError(_dimensions(X.ndim, name))
        data = X if X.format == "csr" else X.tocsr()
    else:
        data = _array(X, name)
        if kind is TABLE:  # lists of images are seen only now
            data, kind = kind_of(data, name)
        if data.ndim == 1 and len(data) and all(isinstance(entry, str) for entry in data.tolist()):
            raise ValueError(documents_told(name))
        if data.ndim != 2:
            raise ValueError(_dimensions(data.ndim, name))
    if data.shape[0] == 0 or data.shape[1] == 0:
        raise ValueError(
            f"{name} is empty ({data.shape[0]} rows, {data.shape[1]} columns): expected at least "
            "one row and one column."
        )
    return InputTable(data, names, index, kind, name)


def _array(X: Any, name: str) -> NDArray:
    if np.ma.isMaskedArray(X):
        X = np.ma.filled(X.astype(float), np.nan)  # what is masked is missing
    try:
        data = np.asarray(plain_tensor(X))
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths, expected a table.") from None
    if type(X).__name__ == "Raw" and hasattr(X, "to_adata"):
        raise TypeError(f"{name} is the raw part of an AnnData, expected a table: pass {name}.to_adata().")
    if data.ndim == 0:
        raise TypeError(
            f"{name} is a {type(X).__name__}, expected a table of rows and columns: an array, or a frame "
            "(pandas.read_csv reads one from a file)."
        )
    return data


def plain_tensor(X: Any) -> Any:
    """A PyTorch tensor that numpy can read, whatever its device, type and history; all else as it is."""
    if type(X).__module__.split(".")[0] != "torch" or not hasattr(X, "detach"):
        return X
    X = X.detach().to("cpu")
    X = X.to_dense() if str(X.layout) != "torch.strided" else X
    return X.float() if str(X.dtype) == "torch.bfloat16" else X  # numpy has no such type


def _dimensions(count: int, name: str) -> str:
    return (
        f"{name} has {count} dimension(s), expected a table of rows and columns: use "
        f"{name}.reshape(1, -1) for one point or {name}.reshape(-1, 1) for one column."
    )


def _types(data: Any) -> list[Any]:
    return list(data.dtypes) if is_frame(data) else [data.dtype]


def working_type(kinds: list[Any]) -> np.dtype:
    """float32 where all columns are; float64 otherwise."""
    kinds = [getattr(kind, "subtype", kind) for kind in kinds]  # of pandas' sparse columns
    small = all(getattr(kind, "kind", "O") == "f" and kind.itemsize <= 4 for kind in kinds)
    return np.dtype(np.float32 if small else np.float64)


def numeric(data: Any, name: str = "X") -> Any:
    """Numbers of a table as float32 or float64 (kept) or float64 (all else), or an error."""
    if is_frame(data):
        data = _frame_numbers(data, name)
    if data.dtype in (np.float32, np.float64):
        return data
    if data.dtype.kind in "cmM":
        kind = "complex numbers" if data.dtype.kind == "c" else "dates or times"
        raise ValueError(f"{name} holds {kind}, expected real numbers: convert them first.")
    if is_sparse(data):
        return data.astype(np.float64)
    if data.dtype == np.float16:
        return data.astype(np.float32)
    try:
        return data.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} holds values that are not numbers ({_first_text(data)!r} is one): encode them "
            "in a Pipeline (OneHotEncoder) and explain the pipeline, or drop their columns."
        ) from None


def _first_text(data: NDArray) -> Any:
    for value in data.ravel().tolist():
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return data.ravel().tolist()[0]


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
    return frame.to_numpy(dtype=working_type(_types(frame)), na_value=np.nan)


def match_columns(
    table: InputTable, names: Sequence[str] | None, count: int, called: str = "X"
) -> InputTable:
    """Bring a table's columns into the order the model was fitted on, or say what differs."""
    if table.names is not None and names is not None:
        given = set(table.names)
        missing = [name for name in names if name not in given]
        if missing:
            raise ValueError(
                f"{called} lacks the column {missing[0]!r}"
                + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
                + ", which the model was fitted on: pass the columns it knows, under the same names."
            )
        table = without_unknown(table, names, called)
        if list(names) != table.names:
            return named_columns(table, names)
    if table.shape[1] != count:
        raise ValueError(
            f"{called} has {table.shape[1]} columns, but the model was fitted on {count}: pass the same "
            "columns in the same order."
        )
    return table


def without_unknown(table: InputTable, names: Sequence[str] | None, called: str = "X") -> InputTable:
    """The table without columns that a model was not fitted on; a warning and a note say so."""
    known = set(names or ())
    extra = [name for name in table.names or () if name not in known]
    # A table that lacks columns besides may well be another one: its errors come first.
    if not extra or names is None or not known <= set(table.names or ()):
        return table
    listed = ", ".join(map(repr, extra[:5])) + (f" and {len(extra) - 5} more" if len(extra) > 5 else "")
    note = f"Columns of {called} that the model was not fitted on were left out: {listed}."
    warnings.warn(note, UserWarning, stacklevel=3)
    kept = named_columns(table, [name for name in table.names or () if name in known])
    return replace(kept, notes=(*table.notes, note))


def named_columns(table: InputTable, names: Sequence[str]) -> InputTable:
    """Some columns of a table that has names, in this order."""
    place = {name: position for position, name in enumerate(table.names or ())}
    order = [place[name] for name in names]
    return replace(table, data=take_columns(table.data, order), names=list(names))


def in_columns_of(X: Any, table: InputTable, name: str = "background") -> Any:
    """A second table with its columns in the order of the first, where both have the same names."""
    other = read_input(X, name)
    names = table.names
    if names is None or other.names in (None, names) or set(other.names or ()) != set(names):
        return X
    return match_columns(other, names, table.shape[1], name)


def finite_table(estimator: Any, X: Any, most: float, **options: Any) -> Any:
    """What scikit-learn's ``validate_data`` returns; the place of a gap is told, and numbers have a limit.

    >>> from sklearn.cluster import KMeans
    >>> finite_table(KMeans(), [[1.0, float("nan")]], 1e150)
    Traceback (most recent call last):
    ValueError: X holds NaN (a missing value) in row 0, column 'x1', expected finite numbers: impute it (a
    Pipeline with SimpleImputer is explained as a whole) or drop the row.
    """
    from sklearn.utils.validation import validate_data

    if is_annotated(X):  # numpy would make objects of it, cell by cell
        raise TypeError(
            f"X is an {type(X).__name__}, expected a table: pass X.to_df(), a layer by X.to_df(layer=...). "
            "wc.explain(model, adata) takes it as it is."
        )
    try:
        table: Any = validate_data(estimator, X, ensure_all_finite=False, **options)
    except (TypeError, ValueError):
        _refuse_words(X)
        raise
    values = table.data if is_sparse(table) else table
    with np.errstate(over="ignore", invalid="ignore"):  # a sum is much cheaper than a look at each number
        doubtful = not np.isfinite(values.sum())
    if doubtful and not np.isfinite(values).all():
        names = getattr(estimator, "feature_names_in_", [f"x{column}" for column in range(table.shape[1])])
        refuse_not_finite(table, [str(name) for name in names], 0)
    refuse_too_large(table, most)
    return table


def _refuse_words(X: Any) -> None:
    """Say where a table holds what is no number, if it does."""
    frame = hasattr(X, "columns") and hasattr(X, "iloc")
    rows = X.to_numpy(dtype=object) if frame else np.asarray(X, dtype=object) if not is_sparse(X) else None
    if rows is None or rows.ndim != 2:
        return
    names = list(X.columns) if frame else [f"x{column}" for column in range(rows.shape[1])]
    for column, name in enumerate(names):
        for row, value in enumerate(rows[:, column]):
            if isinstance(value, str) and not _is_number(value):
                raise ValueError(
                    f"X holds {value!r} in row {row}, column {str(name)!r}, expected numbers: encode the "
                    "column (a Pipeline with OneHotEncoder is explained as a whole) or leave it out."
                )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
        what, remedy = (
            "NaN (a missing value)",
            "impute it (a Pipeline with SimpleImputer is explained as a whole)",
        )
        if np.isinf(value):  # which no imputer takes for missing
            what, remedy = "infinity", "put a finite number in its place, or NaN if a Pipeline imputes that,"
        raise ValueError(
            f"{called} holds {what} in row {first_row + row}, column {names[column]!r}, expected finite "
            f"numbers: {remedy} or drop the row."
        )
    largest = np.abs(values).max()
    raise ValueError(
        f"{called} holds values as large as {largest:.3g}, too large for {values.dtype} arithmetic: "
        "rescale the columns (StandardScaler in a Pipeline) or pass float64."
    )
