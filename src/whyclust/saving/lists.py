"""Columns whose entries are lists: rows of sparse tables, and arrays that are no columns at all.

A sparse table becomes two columns, the positions and the values of each row's entries. A large array without
an entry for each row becomes a column, too: one list in the first row, empty ones in the others. As text in a
table's metadata it would be larger, and readers limit how long that may be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whyclust.saving.packing import SPARSE, Arrays, order_of

Layout = dict[str, Any]
# Arrays of more numbers than these are not written as text.
_LONG = 10_000


def as_lists(key: str, arrays: Arrays, name: str) -> tuple[dict[str, pa.Array], Layout]:
    """Columns of lists, and how they are read again.

    Parameters
    ----------
    key : str
        A sparse table, or an array of two axes, the last one of rows.
    arrays : dict
    name : str
        What its columns are called.
    """
    if key in arrays:
        length, n_rows = arrays[key].shape
        layout = {"across": name, **_form(arrays[key])}
        return {name: _lists(np.arange(n_rows + 1) * length, arrays[key].ravel("F"))}, layout
    data, indices, bounds = (arrays[f"{key}/{part}"] for part in SPARSE)
    columns = {f"{name}.columns": indices, f"{name}.values": data}
    dtypes = [array.dtype.str for array in (data, indices, bounds)]
    # Arrays of scipy may be longer than what they hold.
    found = {called: _lists(bounds, array[: bounds[-1]]) for called, array in columns.items()}
    return found, {"sparse": list(columns), "dtypes": dtypes}


def is_long(array: Any) -> bool:
    """Whether an array is too large for text."""
    return isinstance(array, np.ndarray) and array.size > _LONG and array.dtype.kind in "biuf"


def in_first_row(array: NDArray, n_rows: int, name: str) -> tuple[pa.Array, Layout]:
    """A column whose first entry is the whole array, and how it is read again."""
    bounds = np.full(n_rows + 1, array.size)
    bounds[0] = 0
    return _lists(bounds, array.ravel(order_of(array))), {"whole": name, **_form(array)}


def _form(array: NDArray) -> Layout:
    return {"dtype": array.dtype.str, "shape": array.shape, "order": order_of(array)}


def _lists(bounds: NDArray, entries: NDArray) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(bounds.astype(np.int64)), pa.array(entries))


def from_lists(table: pa.Table, key: str, layout: Layout) -> Arrays:
    """The arrays that columns of lists were made of."""
    if "sparse" in layout:
        columns, values = layout["sparse"]
        lengths = pc.list_value_length(table.column(columns)).to_numpy()
        if not np.array_equal(lengths, pc.list_value_length(table.column(values)).to_numpy()):
            raise ValueError("A row has more positions than values.")
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        found = _entries(table, values), _entries(table, columns), bounds
        named = zip(SPARSE, found, layout["dtypes"], strict=True)
        return {f"{key}/{part}": array.astype(dtype, copy=False) for part, array, dtype in named}
    across = "across" in layout
    entries = _entries(table, layout["across" if across else "whole"])
    shaped = entries.reshape(layout["shape"], order="F" if across else layout["order"])
    return {key: shaped.astype(layout["dtype"], order=layout["order"], copy=False)}


def _entries(table: pa.Table, name: str) -> NDArray:
    """All entries of a column of lists, one after the other."""
    return pc.list_flatten(table.column(name)).to_numpy()
