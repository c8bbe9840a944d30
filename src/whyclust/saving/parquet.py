"""A description and named arrays as one Parquet table, which any other tool can read.

Arrays with an entry for each row become columns under names that people know; sparse ones become columns of
lists. The description is in the table's metadata, together with the arrays that are none, if they are short.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from whyclust import __version__
from whyclust.saving.digest import is_changed, seal
from whyclust.saving.limits import refuse_table, refuse_types
from whyclust.saving.lists import as_lists, from_lists, in_first_row, is_long
from whyclust.saving.packing import HEADER, SPARSE, Arrays, order_of
from whyclust.saving.registry import Columns, Lists

_KEY = HEADER.encode()


def write(stream: Any, written: int, content: Any, arrays: Arrays, columns: Columns) -> None:
    """Write a table to a stream that can be read again; `columns` names what goes into it.

    Parameters
    ----------
    stream : binary file
    written : int
        Format.
    content : object
        The description.
    arrays : dict
    columns : mapping of names of arrays to names of columns
    """
    table: dict[str, Any] = {}
    layout: dict[str, Any] = {}
    for key, names in columns.items():
        if isinstance(names, Lists):
            _add_lists(key, arrays, names.name, table, layout)
        elif key in arrays:
            parts, dtype = _columns(arrays[key])
            named = _named(names, len(parts))
            _refuse_misnamed(key, named, parts, table)
            flat = isinstance(arrays[key], np.ndarray) and arrays[key].ndim == 1
            layout[key] = {"columns": named[0] if flat else named, "dtype": dtype}
            table |= zip(named, parts, strict=True)
    known = {*layout, *(f"{key}/{part}" for key in layout if "sparse" in layout[key] for part in SPARSE)}
    beside = {}
    n_rows = len(next(iter(table.values()), ()))
    for key, array in arrays.items():
        if key in known:
            continue
        if is_long(array) and n_rows and key not in table:
            table[key], layout[key] = in_first_row(array, n_rows, key)
        else:
            beside[key] = _listed(key, array)
    header = {
        "format": written,
        "version": __version__,
        "content": content,
        "layout": layout,
        "beside": beside,
    }
    whole = pa.table(table).replace_schema_metadata({_KEY: json.dumps(header).encode()})
    # The digest is for us; checksums of pages are for others, and for tables that others have written again.
    pq.write_table(whole, stream, write_page_checksum=True)
    seal(stream)


def _add_lists(key: str, arrays: Arrays, name: str, table: dict[str, Any], layout: dict[str, Any]) -> None:
    """Columns whose entries are lists."""
    try:
        parts, layout[key] = as_lists(key, arrays, name)
    except pa.ArrowException:
        raise ValueError(f"Parquet has no lists of what {key!r} holds: save it as .npz.") from None
    _refuse_misnamed(key, list(parts), list(parts.values()), table)
    table |= parts


def _columns(array: Any) -> tuple[list[Any], str | None]:
    if not isinstance(array, np.ndarray):
        return list(array.columns), None
    try:
        return [pa.array(part) for part in ([array] if array.ndim == 1 else array.T)], array.dtype.str
    except pa.ArrowException:
        raise ValueError(f"Parquet has no columns of type {array.dtype}: save it as .npz.") from None


def _refuse_misnamed(key: str, named: list[str], parts: list[Any], table: dict[str, Any]) -> None:
    """Columns have a name each, and as many rows as those before them."""
    if len(named) != len(parts):
        raise ValueError(
            f"columns= gives {len(named)} names for the {len(parts)} column(s) of {key!r}: give one name, or "
            "one for each."
        )
    twice = [name for place, name in enumerate(named) if name in table or name in named[:place]]
    if twice:
        raise ValueError(f"columns= gives two columns the name {twice[0]!r}: give each a name of its own.")
    rows = {len(column) for column in [*table.values(), *parts]}
    if len(rows) > 1:
        raise ValueError(
            f"{key!r} has {len(parts[0])} rows and other columns have not: name in columns= only what has an "
            "entry for each row."
        )


def _listed(key: str, array: Any) -> dict[str, Any]:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{key!r} is a frame, which Parquet keeps as columns: name them in columns=.")
    order = order_of(array)
    entries = array.ravel(order).tolist()
    return {"dtype": array.dtype.str, "shape": array.shape, "order": order, "list": entries}


def _named(names: str | list[str], count: int) -> list[str]:
    if not isinstance(names, str):
        return names
    return [names] if count == 1 else [f"{names}.{number}" for number in range(count)]


def read(path: Path) -> tuple[Any, Any, Any, Arrays]:
    """Format, version, description and arrays of a table; raises if a bit of it has changed."""
    if is_changed(path):
        raise ValueError("The bytes are not those that were written.")
    size = path.stat().st_size
    refuse_table(path, size)
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read()
    table.validate(full=True)
    header = json.loads(table.schema.metadata[_KEY])
    if "layout" not in header:
        return 1, None, *_first_format(table, header)
    arrays: Arrays = {}
    for key, entry in header["layout"].items():
        if "columns" in entry:
            n_columns = 1 if isinstance(entry["columns"], str) else len(entry["columns"])
            refuse_types([entry["dtype"]], len(table) * n_columns, size)
            arrays[key] = _gathered(table, entry["columns"], entry["dtype"])
        else:
            arrays |= from_lists(table, key, entry)
    for key, entry in header["beside"].items():
        refuse_types([entry["dtype"]], len(entry["list"]), size)
        flat = np.array(entry["list"], dtype=entry["dtype"])
        arrays[key] = flat.reshape(
            entry["shape"], order=entry.get("order", "C")
        )  # older files know one order
    return header["format"], header["version"], header["content"], _writeable(arrays)


def _writeable(arrays: Arrays) -> Arrays:
    """Arrow's memory is not to be changed; arrays of other files can be."""
    fixed = {
        key: one for key, one in arrays.items() if isinstance(one, np.ndarray) and not one.flags.writeable
    }
    return {**arrays, **{key: array.copy("K") for key, array in fixed.items()}}


def _gathered(table: pa.Table, names: Any, dtype: str | None) -> Any:
    if dtype is None:
        return table.select(names)
    if isinstance(names, str):
        return _column(table, names).astype(dtype, copy=False)
    return np.column_stack([_column(table, name) for name in names]).astype(dtype, copy=False)


def _column(table: pa.Table, name: str) -> NDArray:
    return table.column(name).to_numpy()


# Format 1 had columns by name, and the rest of an explanation in the metadata.
_FIRST_COLUMNS = {
    "clusters": "cluster",
    "assigned": "assigned",
    "competitors": "competitor",
    "evidence": "evidence",
    "explained": "explained",
    "base_values": "base_value",
    "given": "given",
}


def _first_format(table: pa.Table, header: dict[str, Any]) -> tuple[Any, Arrays]:
    """The description that an archive of format 1 would have, and what it points to."""
    names = header["feature_names"]
    found: Arrays = {key: header[key] for key in ("feature_names", "beta", "rule", "details")}
    found["values"] = np.column_stack([_column(table, f"relevance.{name}") for name in names])
    found["index"] = _column(table, "row")
    data = table.select([f"data.{name}" for name in names]).rename_columns(names).to_pandas()
    found["data"] = data if header["frame"] else data.to_numpy()
    for key, name in _FIRST_COLUMNS.items():
        if name in table.column_names:
            column = _column(table, name)
            # Names of clusters are text; as objects they could not be asked for as cluster=.
            found[key] = column.astype(np.str_) if column.dtype == object else column
    state: dict[str, Any] = {key: {"array": key} for key in found}
    fidelity = header.get("fidelity")
    if fidelity is not None:
        parts = {key: value if key == "noise" else np.asarray(value) for key, value in fidelity.items()}
        found |= {f"fidelity/{key}": value for key, value in parts.items()}
        state["fidelity"] = {"class": "Fidelity", "state": {k: {"array": f"fidelity/{k}"} for k in parts}}
    return {"class": "Explanation", "state": state}, found
