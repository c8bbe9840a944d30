"""Labels from anywhere, read and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._validation import is_frame
from whyclust.network import Neuralized

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
    return table_like and not isinstance(model, (type, Neuralized)) and not hasattr(model, "fit")


def noise_of(labels: NDArray) -> Any:
    """The label that stands for noise among these, whether a row has it or not.

    >>> noise_of(np.array([0, 1])), noise_of(np.array(["a", "b"]))
    (-1, '-1')
    """
    return str(NOISE) if labels.dtype.kind == "U" else NOISE


def read_labels(labels: Any, called: str = "labels", n_rows: int | None = None) -> NDArray:
    """Return labels as an array of whole numbers, booleans or names, or say what is wrong with them.

    Parameters
    ----------
    labels : sequence, array or Series of one label per row
    called : str
        What they are called in an error.
    n_rows : int, optional
        Rows of the table they belong to.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    >>> read_labels([0.0, 0.0, -1.0]), read_labels(("a", "b", "a", "b"))
    (array([ 0,  0, -1]), array(['a', 'b', 'a', 'b'], dtype='<U1'))
    """
    series = _one_column(labels, called)
    missing = int(series.isna().sum())
    if missing:
        raise ValueError(
            f"{missing} of {len(series)} labels are missing in {called}: leave these rows out of labels and "
            f"X, or label them {NOISE} if they are noise."
        )
    found = _plain_labels(series, called)
    if n_rows is not None and len(found) != n_rows:
        raise ValueError(f"Found {len(found)} labels, but X has {n_rows} rows: expected one label per row.")
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


def _one_column(labels: Any, called: str) -> pd.Series:
    """The labels as a Series, whatever they came in."""
    if type(labels).__module__.split(".")[0] == "polars":
        labels = labels.to_numpy()
    if is_frame(labels) and labels.shape[1] == 1:
        labels = labels.iloc[:, 0]
    if hasattr(labels, "iloc") and not is_frame(labels):
        return labels.reset_index(drop=True)
    if isinstance(labels, (pd.Index, pd.api.extensions.ExtensionArray)):
        return pd.Series(labels)
    if np.ma.isMaskedArray(labels):
        labels = labels.tolist()  # in which None stands for what is masked
    try:
        # Lists may mix numbers and names, which numpy would turn into names by itself.
        array = np.asarray(labels, dtype=object if isinstance(labels, (list, tuple)) else None)
    except ValueError:
        array = np.empty((0, 0, 0))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"Found {called} of shape {np.shape(array)}, expected one label per row: explain(labels, X) "
            "takes the labels first and the table second."
        )
    return pd.Series(array)


def _plain_labels(series: pd.Series, called: str) -> NDArray:
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = pd.Series(np.asarray(series))
    kind = pd.api.types.infer_dtype(series, skipna=False)
    if kind == "boolean":
        return series.to_numpy(dtype=bool)
    if kind in {"integer", "floating", "mixed-integer-float", "decimal"}:
        numbers = series.to_numpy(dtype=np.float64)
        whole = np.isfinite(numbers) & (numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53)
        if not whole.all():
            raise ValueError(
                f"Found {series[int(np.argmin(whole))]} in {called}, expected whole numbers or names: if the "
                "labels really are such numbers, make names of them, [str(label) for label in labels]."
            )
        return numbers.astype(np.int64)
    if kind == "string" or all(isinstance(label, (str, int, np.integer)) for label in series):
        return np.asarray([str(label) for label in series], dtype=np.str_)
    raise ValueError(
        f"Found a {type(series.iloc[0]).__name__} in {called}, expected whole numbers or names: make names "
        "of the labels, [str(label) for label in labels]."
    )


def refuse_other_order(labels: Any, X: Any) -> None:
    """Both readings would be plausible, and one of them wrong: let the user say which is meant."""
    ours, theirs = getattr(labels, "index", None), getattr(X, "index", None)
    if not isinstance(ours, pd.Index) or not isinstance(theirs, pd.Index) or len(ours) != len(theirs):
        return
    if not ours.equals(theirs) and ours.isin(theirs).any():
        raise ValueError(
            "labels and X have different indexes, or the same in another order: pass labels.loc[X.index] if "
            "they belong together by index, or labels.to_numpy() if by position."
        )
