"""Frames of any library, read by name once; from there on a frame is a pandas frame."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


def is_frame(data: Any) -> bool:
    """Whether this is a pandas frame, told without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def is_dask(data: Any) -> bool:
    """Whether this is an array or a frame of dask, told without importing it."""
    return type(data).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(data, "to_delayed")


def read_frame(X: Any, name: str = "X") -> pd.DataFrame | None:
    """Any frame as a pandas frame, column by column by name; None for what is no frame.

    Pandas frames are returned as they are. Missing text is None, as scikit-learn sees it in polars and
    pyarrow; decimals become floats.

    >>> import polars
    >>> read_frame(polars.DataFrame({"a": [1, 2], "b": ["x", None]})).columns.tolist()
    ['a', 'b']
    >>> read_frame([[1, 2]]) is None
    True
    """
    if type(X).__module__.split(".")[0] == "narwhals" and hasattr(X, "to_native"):
        X = X.to_native()
    if is_frame(X) or isinstance(X, (np.ndarray, list, tuple, str)) or sp.issparse(X):
        return X if is_frame(X) else None
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        found = nw.from_native(X, pass_through=True, allow_series=True)
        if found is X and hasattr(X, "__arrow_c_stream__"):  # a RecordBatch, say
            found = nw.from_arrow(X, backend="pyarrow")
    except DuplicateError:
        refuse_repeated([str(column) for column in X.column_names], name)
        raise
    if isinstance(found, nw.LazyFrame):
        raise TypeError(
            f"{name} is a {_library(found)} {type(found.to_native()).__name__}, whose rows are not computed "
            "yet: call collect() or compute() first."
        )
    if isinstance(found, nw.Series):
        if found.dtype == nw.String:
            raise ValueError(documents_told(name))
        raise ValueError(
            f"{name} is a {_library(found)} Series, expected a table of two dimensions: use "
            "frame[['column']] for one column or frame.iloc[[i]] for one row."
        )
    if not isinstance(found, nw.DataFrame):
        return None
    if found.implementation.is_pandas_like():  # modin, cuDF: with an index
        return found.to_pandas()
    import pandas as pd

    columns = {column: _column(found[column]) for column in found.columns}
    return pd.DataFrame(columns, index=range(len(found)))


def documents_told(name: str) -> str:
    """What to do with texts, one for each row, where a table is expected."""
    return (
        f"{name} holds one text for each row, expected a table of rows and columns: explain a pipeline that "
        "begins with a vectorizer, make_pipeline(TfidfVectorizer(), KMeans(20)).fit(texts), or choose words, "
        "words = TfidfVectorizer().fit(texts), and pass words.transform(texts) with "
        "feature_names=words.get_feature_names_out()."
    )


def _library(found: Any) -> str:
    return str(found.implementation.value)


def _column(series: Any) -> Any:
    import narwhals.stable.v2 as nw
    import pandas as pd

    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return pd.Series(series.to_list(), dtype=object)
    if series.dtype == nw.Decimal:
        series = series.cast(nw.Float64)
    return series.to_pandas()


def in_library_of(frame: pd.DataFrame, X: Any) -> Any:
    """A pandas frame as one of X's own library, for a model that was fitted on such."""
    import narwhals.stable.v2 as nw

    library = getattr(nw.from_native(X, pass_through=True), "implementation", None)
    if library == nw.Implementation.POLARS:
        return nw.from_native(frame).to_polars()
    return nw.from_native(frame).to_arrow() if library == nw.Implementation.PYARROW else frame


def refuse_repeated(names: Sequence[str], called: str) -> None:
    """Columns are told apart by their names."""
    repeated = [column for column, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"{called} has more than one column called {repeated[0]!r}: rename them so that "
            "every column has a name of its own."
        )


def take_rows(data: Any, rows: slice | NDArray) -> Any:
    """Some rows of a frame, an array or a sparse matrix, by position, as the same kind of table."""
    return data.iloc[rows] if is_frame(data) else data[rows]


def take_columns(data: Any, columns: Sequence[int] | NDArray) -> Any:
    """Some columns, by position, as the same kind of table."""
    return data.iloc[:, columns] if is_frame(data) else data[:, columns]


def column_values(data: Any, position: int) -> NDArray:
    """One column of a frame, an array or a sparse matrix as a dense array."""
    if is_frame(data):
        return data.iloc[:, position].to_numpy()
    return to_array(data[:, [position]]).ravel()


def to_array(data: Any) -> NDArray:
    """A frame, an array or a sparse matrix as a dense array."""
    if is_frame(data):
        return data.to_numpy()
    return np.asarray(data.toarray() if hasattr(data, "toarray") else data)


def index_of(given: Any) -> Any:
    """The index of a pandas Series or frame; None for what has none."""
    pandas = sys.modules.get("pandas")
    indexed = pandas is not None and isinstance(given, (pandas.Series, pandas.DataFrame))
    return given.index if indexed else None


def in_rows_of(given: Any, index: Any, called: str, of: str = "X") -> Any:
    """Values with an index of their own in the order of the rows that they belong to.

    What has no index, as lists, arrays and polars have none, belongs to rows by position.

    Parameters
    ----------
    given : Series, frame of one column, or anything else
    index : pandas.Index, array or None
        Names of the rows; None where they have none.
    called, of : str
        What the values, and the table, are called in an error.

    Examples
    --------
    >>> import pandas as pd
    >>> in_rows_of(pd.Series([1, 2], index=["b", "a"]), ["a", "b"], "labels").tolist()
    [2, 1]
    """
    own = index_of(given)
    if own is None or index is None:
        return given
    import pandas as pd

    rows = index if isinstance(index, pd.Index) else pd.Index(index)
    if own.equals(rows) or len(own) != len(rows):  # other lengths are told by whoever counts
        return given
    alone = own.symmetric_difference(rows, sort=False)
    if len(alone) or not own.is_unique:
        label = alone[0] if len(alone) else own[own.duplicated()][0]
        told = repr(label.item() if isinstance(label, np.generic) else label)
        which = f"{told} is in one of them only" if len(alone) else f"{told} is there twice"
        raise ValueError(
            f"{called} and {of} have different indexes ({which}): give both the same index, or pass "
            f"{called}.to_numpy() if they belong together by position."
        )
    if own.equals(pd.RangeIndex(len(own))):
        raise ValueError(
            f"{called} are numbered 0, 1, … and {of} has these numbers in another order: pass {called}.loc"
            f"[{of}.index] if they belong together by index, or {called}.to_numpy() if by position."
        )
    return given.loc[rows]


def with_values(rows: Any, changes: Mapping[int, Any]) -> Any:
    """Rows with other values in some columns, as the same kind of table; whole numbers may become others."""
    if not is_frame(rows):
        changed = to_array(rows).copy()
        numbers = [np.asarray(values) for values in changes.values()]
        if numbers and changed.dtype.kind in "biu":
            changed = changed.astype(np.float64)
        for column, values in changes.items():
            changed[:, column] = values
        return changed
    import pandas as pd

    changed = rows.copy()
    for column, values in changes.items():
        before = rows.iloc[:, column]
        after = pd.Series(list(values), index=rows.index)
        kept = before.dtype
        integer = getattr(kept, "kind", "O") in "iu" and any(float(value) != int(value) for value in values)
        changed.isetitem(column, after if integer else after.astype(kept))
    return changed
