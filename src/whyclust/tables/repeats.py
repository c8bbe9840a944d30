"""Columns that say the same as another one, and would count twice; and rows that are copies of others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Columns of more values than this, or whose values hardly repeat, say the same only if their numbers are the
# same, and texts never: any two columns that are different in every row tell rows apart alike.
MOST_VALUES, FEWEST_ROWS = 50, 4
# Columns by which rows are compared at a time.
_AT_ONCE = 50


def repeats(frame: pd.DataFrame, names: Iterable[str]) -> dict[str, str]:
    """Find columns that tell rows apart just as another column does.

    'yes' and 'no' say the same as 1 and 0, and 'First' as 1, if that is so in every row. Gaps must be in the
    same rows.

    Parameters
    ----------
    frame : pandas.DataFrame
    names : iterable of str
        The columns to compare, in their order.

    Returns
    -------
    dict of str to str
        The columns to leave out, each with the one that stays. Of yes and no this is the one in words, else
        the one in numbers, which have an order.

    Examples
    --------
    >>> frame = pd.DataFrame({"class": [1, 3, 1, 3] * 2, "called": ["First", "Third"] * 4, "age": range(8)})
    >>> repeats(frame, frame)
    {'class': 'called'}
    """
    seen: dict[bytes, list[str]] = {}
    for name in names:
        column = frame[name]
        try:
            codes, values = pd.factorize(column)
        except TypeError:  # what cannot be hashed is no category
            continue
        if len(values) < 2:
            continue
        # A digest, since the columns themselves would all be held at once.
        told = hashlib.blake2b(codes.astype(np.int32).tobytes())
        if len(values) > min(MOST_VALUES, column.count() / FEWEST_ROWS):  # gaps repeat nothing
            if not pd.api.types.is_numeric_dtype(column.dtype):
                continue
            told.update(np.asarray(values, dtype=np.float64).tobytes())
        seen.setdefault(told.digest(), []).append(name)
    found: dict[str, str] = {}
    for alike in seen.values():
        kept = _kept(frame, alike)
        found |= {name: kept for name in alike if name != kept and _says_no_more(frame[name], frame[kept])}
    return {name: found[name] for name in frame.columns if name in found}


def copies(frame: pd.DataFrame) -> NDArray:
    """Which rows are the same as an earlier one in every column.

    >>> copies(pd.DataFrame({"a": [1, 2, 1, 1], "b": ["x", "x", "x", "y"]}))
    array([False, False,  True, False])
    """
    keys = np.zeros(len(frame), dtype=np.uint64)
    rows = np.arange(len(frame))
    for start in range(0, frame.shape[1], _AT_ONCE):
        # Rows that have differed from all others need not be looked at again.
        part = frame.iloc[rows, start : start + _AT_ONCE]
        try:
            found = pd.util.hash_pandas_object(part, index=False)
        except TypeError:  # what cannot be hashed
            found = pd.util.hash_pandas_object(part.astype(str), index=False)
        keys[rows] = keys[rows] * np.uint64(31) + found.to_numpy()
        rows = rows[pd.Series(keys[rows]).duplicated(keep=False).to_numpy()]
        if not len(rows):
            break
    same = np.zeros(len(frame), dtype=bool)
    same[rows] = pd.Series(keys[rows]).duplicated().to_numpy()
    return same


def _kept(frame: pd.DataFrame, alike: list[str]) -> str:
    """The column that stays: numbers have an order, and of two values words say more than 0 and 1."""
    numbers = [name for name in alike if pd.api.types.is_numeric_dtype(frame[name].dtype)]
    words = [name for name in alike if name not in numbers]
    few = frame[alike[0]].nunique() <= 2
    return [*(words if few else numbers), *alike][0]


def _says_no_more(column: pd.Series, kept: pd.Series) -> bool:
    """Whether the order of a column's numbers is that of the other's, too, or its reverse."""
    if not all(pd.api.types.is_numeric_dtype(one.dtype) for one in (column, kept)):
        return True
    both = pd.DataFrame({"column": column, "kept": kept}).dropna().drop_duplicates().sort_values("kept")
    steps = np.diff(both["column"].to_numpy(dtype=np.float64))
    return bool((steps > 0).all() or (steps < 0).all())
