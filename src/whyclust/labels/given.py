"""Labels from anywhere, read and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._frames import in_rows_of, read_frame
from whyclust.inputs.reading import InputTable, plain_tensor

# What clusterings call a row in no cluster; among names it is written '-1'.
NOISE = -1


def is_labels(model: Any) -> bool:
    """Whether this is a sequence of labels and no model.

    >>> is_labels([0, 1]), is_labels(np.zeros(3)), is_labels("k-means"), is_labels(NOISE)
    (True, True, False, False)
    """
    if isinstance(model, (list, tuple, range, np.ndarray)):
        return True
    table_like = hasattr(model, "__array__") and hasattr(model, "__len__")
    return table_like and not isinstance(model, type) and not hasattr(model, "fit")


def noise_of(labels: NDArray) -> Any:
    """The label that stands for noise among these, whether a row has it or not.

    >>> noise_of(np.array([0, 1])), noise_of(np.array(["a", "b"]))
    (-1, '-1')
    """
    return str(NOISE) if labels.dtype.kind == "U" else NOISE


def read_labels(labels: Any, called: str = "labels", table: InputTable | None = None) -> NDArray:
    """Return labels of clusters as an array of whole numbers, booleans or names, or say what is wrong.

    Parameters
    ----------
    labels : sequence, array or Series of one label per row
    called : str
        What they are called in an error.
    table : InputTable, optional
        The rows they belong to: as many, and the same by their index, where both have one.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    >>> read_labels([0.0, 0.0, -1.0]), read_labels(("a", "b", "a", "b"))
    (array([ 0,  0, -1]), array(['a', 'b', 'a', 'b'], dtype='<U1'))
    """
    found = label_values(
        labels, called, table, hint=": explain(labels, X) takes the labels first and the table second"
    )
    names = np.unique(found)
    noise = noise_of(found)
    if len(names) < 2:
        which = "noise (-1)" if len(names) and names[0] == noise else "one label only"
        raise ValueError(
            f"Found {which} in {called}, expected at least two clusters, or a cluster and noise: there is "
            "nothing to tell apart."
        )
    n_clusters = int((names != noise).sum())
    if n_clusters > len(found) / 2:
        raise ValueError(
            f"Found {n_clusters} different values in {len(found)} rows in {called}, expected clusters of at "
            "least two rows on average: these are no labels of clusters."
        )
    return found


def label_values(
    labels: Any, called: str = "labels", table: InputTable | None = None, *, hint: str = ""
) -> NDArray:
    """Return one label per row, whatever they came in; unlike clusters, all may be the same, or different.

    Parameters
    ----------
    labels, called, table
        As for `read_labels`.
    hint : str
        What may have gone wrong, where there is more than one label per row.

    Returns
    -------
    ndarray of shape (n_rows,)
        Whole numbers, booleans, or names.

    Examples
    --------
    >>> label_values(["b", "a", 1])
    array(['b', 'a', '1'], dtype='<U1')
    """
    plain = type(labels) is np.ndarray and labels.ndim == 1 and labels.dtype.kind in "biU"
    series, indexed = (labels, False) if plain else _one_column(labels, called, hint)
    if table is not None:
        if len(series) != table.shape[0]:
            raise ValueError(
                f"{called} has {len(series)} labels, but {table.called} has {table.shape[0]} rows: expected "
                "one label per row."
            )
        if indexed:
            series = in_rows_of(series, table.row_labels, called, table.called)
    if len(series) == 0:
        raise ValueError(f"{called} is empty, expected one label per row.")
    if plain:
        return series.astype(np.int64, copy=False) if series.dtype.kind == "i" else series
    return _plain_labels(series, called)


def _one_column(labels: Any, called: str, hint: str) -> tuple[Any, bool]:
    """The labels as a Series, and whether its index is theirs: what had none belongs to rows by position."""
    indexed = isinstance(labels, pd.Series)
    if hasattr(labels, "columns") or hasattr(labels, "column_names"):
        frame = read_frame(labels, called)
        if frame is not None:
            # Rows of polars and pyarrow were numbered when they became a pandas frame.
            indexed = frame is labels or not isinstance(frame.index, pd.RangeIndex)
            labels = frame.iloc[:, 0] if frame.shape[1] == 1 else frame.to_numpy()
    if isinstance(labels, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        return pd.Series(labels), indexed
    if np.ma.isMaskedArray(labels):
        labels = labels.tolist()  # in which None stands for what is masked
    labels = plain_tensor(labels)
    if not hasattr(labels, "__array__"):
        if isinstance(labels, str) or not np.iterable(labels):
            raise TypeError(
                f"{called} is a {type(labels).__name__}, expected a sequence of one label per row."
            )
        labels = list(labels)
    # Lists may mix numbers and names, which numpy would turn into names by itself.
    array = np.asarray(labels, dtype=object if isinstance(labels, list) else None)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"Found {called} of shape {array.shape}, expected one label per row{hint}.")
    try:
        return pd.Series(array), False
    except UnicodeEncodeError:
        raise ValueError(
            f"Found halves of characters in {called}, expected text: mend it, label.encode('utf-8', "
            "'replace').decode()."
        ) from None


def _plain_labels(series: pd.Series, called: str) -> NDArray:
    missing = int(series.isna().sum())
    if missing:
        raise ValueError(
            f"{missing} of {len(series)} labels are missing in {called}: leave these rows out of labels and "
            f"X, or label them {NOISE} if they are noise."
        )
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = pd.Series(np.asarray(series))
    kind = pd.api.types.infer_dtype(series, skipna=False)
    if kind == "boolean":
        return series.to_numpy(dtype=bool)
    if kind in {"floating", "mixed-integer-float", "decimal"}:
        numbers = series.to_numpy(dtype=np.float64)
        whole = np.isfinite(numbers) & (numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53)
        if not whole.all():
            raise ValueError(
                f"Found {series.iloc[int(np.argmin(whole))]} in {called}, expected whole numbers or names: "
                "if labels really are such numbers, make names of them, [str(label) for label in labels]."
            )
        return numbers.astype(np.int64)
    if kind == "integer":
        whole_numbers = np.asarray([int(label) for label in series])
        if whole_numbers.dtype.kind in "iu":  # larger ones are names
            return whole_numbers
    if kind == "string" or all(isinstance(label, (str, int, np.integer)) for label in series):
        return np.asarray([str(label) for label in series], dtype=np.str_)
    raise ValueError(
        f"Found a {type(series.iloc[0]).__name__} in {called}, expected whole numbers or names: make names "
        "of the labels, [str(label) for label in labels]."
    )
