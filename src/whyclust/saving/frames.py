"""Frames and row labels as tables of Arrow, which keeps zones, categories and missing values.

A column of Arrow has one kind of entries. Where that is not enough (numbers and text in one column), the
column is text, for other tools to read, and its entries are kept beside it.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)


def frame_apart(frame: pd.DataFrame) -> tuple[pa.Table, dict[str, Any]]:
    """A frame as a table of Arrow, and what else is needed to have it back.

    Returns
    -------
    table : pyarrow.Table
        Its columns are called "0", "1", …: names of frames may be anything.
    more : dict
    """
    columns: dict[str, pd.Series] = {}
    objects, exact = [], {}
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position].reset_index(drop=True)
        if isinstance(column.dtype, pd.SparseDtype):  # Arrow has no such columns
            column = pd.Series(np.asarray(column))
        if column.dtype == object:
            objects.append(position)
        if not _fits(column):
            entries = _plain_entries(column)
            if entries is None:
                _warn_of_text(column, frame.columns[position])
            else:
                exact[str(position)] = entries
            column = pd.Series([None if _is_missing(entry) else str(entry) for entry in column], dtype=object)
        columns[str(position)] = column
    told = pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))
    table = pa.Table.from_pandas(told, preserve_index=False)
    # Nothing but gaps has no type that the same column of another part would have: those were texts.
    fields = [
        field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in table.schema
    ]
    table = table.cast(pa.schema(fields, table.schema.metadata))
    default = isinstance(frame.index, pd.RangeIndex) and frame.index.equals(pd.RangeIndex(len(frame)))
    more = {
        "names": [_plain_name(name) for name in frame.columns],
        "rows": len(frame),
        "pandas": json.loads((table.schema.metadata or {}).get(b"pandas", b"{}")),
        "objects": objects,
        "exact": exact,
        "index": None if default else frame.index,
    }
    return table.replace_schema_metadata(None), more


def frame_together(table: pa.Table, more: dict[str, Any]) -> pd.DataFrame:
    """The frame that :func:`frame_apart` took apart."""
    count = len(more["names"])
    if table.num_columns != count:
        raise ValueError(f"A frame of {count} columns has {table.num_columns}.")
    table = table.rename_columns([str(position) for position in range(count)])
    frame = table.replace_schema_metadata({b"pandas": json.dumps(more["pandas"]).encode()}).to_pandas()
    for position in more["objects"]:
        frame[str(position)] = frame[str(position)].astype(object)
    for name, entries in more["exact"].items():
        frame[name] = pd.Series(entries, dtype=object)
    if count == 0:
        frame = pd.DataFrame(index=pd.RangeIndex(more["rows"]))
    frame.columns = pd.Index(more["names"])
    if more["index"] is not None:
        frame.index = more["index"]
    return frame


def labels_apart(index: pd.Index) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Row labels as a frame, a column for each level, and what else is needed to have them back."""
    levels = {f"row labels {level}": index.get_level_values(level) for level in range(index.nlevels)}
    periods = {}
    for name, labels in levels.items():
        if isinstance(labels.dtype, pd.PeriodDtype):
            # Arrow would keep a number, of which other tools cannot tell what it counts.
            periods[name] = str(labels.dtype)
            text = [None if _is_missing(label) else str(label) for label in labels]
            levels[name] = pd.Index(text, dtype=object)
    more = {
        "names": [_plain_name(name) for name in index.names],
        "levels": isinstance(index, pd.MultiIndex),
        "periods": periods,
    }
    return pd.DataFrame(levels), more


def labels_together(levels: pd.DataFrame, more: dict[str, Any]) -> pd.Index:
    """The labels that :func:`labels_apart` took apart."""
    for name, dtype in more["periods"].items():
        if not dtype.startswith("period["):
            raise ValueError(f"{dtype!r} is no kind of periods.")
        levels[name] = levels[name].astype(dtype)
    if more["levels"]:
        return pd.MultiIndex.from_frame(levels, names=more["names"])
    (name,) = more["names"]
    return pd.Index(levels.iloc[:, 0]).rename(name)


def as_index(labels: NDArray) -> pd.Index:
    """Row labels as an index of the kind that their entries have: times, periods, levels, …"""
    if labels.dtype != object:
        return pd.Index(labels)
    if len(labels) and all(isinstance(label, tuple) for label in labels):
        return pd.MultiIndex.from_tuples(labels)
    kept = pd.Series(labels, dtype=object)
    inferred = kept.infer_objects()
    return pd.Index(kept if inferred.dtype.kind in "biuf" else inferred)


def _fits(column: pd.Series) -> bool:
    """Whether a column of Arrow brings back the same entries."""
    try:
        table = pa.Table.from_pandas(column.to_frame("0"), preserve_index=False)
        if column.dtype != object:
            return True
        back = table.to_pandas()["0"].astype(object)
    except _UNFIT:
        return False
    return all(map(_same, column, back))


def _same(one: Any, other: Any) -> bool:
    one = one.item() if isinstance(one, np.generic) else one
    other = other.item() if isinstance(other, np.generic) else other
    if type(one) is not type(other):
        return False
    if one is other or _is_missing(one):
        return _is_missing(one) == _is_missing(other)
    return bool(np.all(one == other))


def _is_missing(entry: Any) -> bool:
    return entry is None or (np.ndim(entry) == 0 and bool(pd.isna(entry)))


def _plain_entries(column: pd.Series) -> NDArray | None:
    """The entries, if all of them are numbers, text and the like."""
    entries = np.empty(len(column), dtype=object)
    for place, entry in enumerate(column):
        entries[place] = entry.item() if isinstance(entry, np.generic) else entry
        if not (entries[place] is None or isinstance(entries[place], (bool, int, float, str))):
            return None
    return entries


def _plain_name(name: Any) -> Any:
    if isinstance(name, tuple):
        return tuple(_plain_name(part) for part in name)
    name = name.item() if isinstance(name, np.generic) else name
    return name if name is None or isinstance(name, (bool, int, float, str)) else str(name)


def _warn_of_text(column: pd.Series, name: Any) -> None:
    kinds = sorted({type(entry).__name__ for entry in column if not _is_missing(entry)})
    warnings.warn(
        f"Column {str(name)!r} holds entries of type {', '.join(kinds[:3])}, which a file without code "
        "cannot bring back: they are saved as text.",
        UserWarning,
        stacklevel=2,
    )
