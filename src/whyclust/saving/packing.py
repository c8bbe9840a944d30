"""One schema for every format: a thing becomes a description that JSON can hold, and named arrays.

The description points to arrays by name; a name is the way to the array (``values``, ``head/prototypes``). An
array is numpy's, of numbers or fixed text, or a table of Arrow, which holds what columns of frames can be.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from whyclust.saving.registry import of_name, of_thing

# ndarray or pyarrow.Table
Arrays = dict[str, Any]
# The description's own place among the arrays.
HEADER = "whyclust"
# Names that functions of numpy want for themselves.
_TAKEN = {HEADER, "file", "allow_pickle"}
_LONGEST = 200
# Types that nobody registers, so that long lists of them are not looked up.
_BUILT_IN = (bool, int, float, str, type(None), list, tuple, dict)
# What a sparse table is made of.
SPARSE = ("data", "indices", "indptr")


def pack(thing: Any) -> tuple[Any, Arrays]:
    """Turn a thing into a description and the arrays it points to.

    >>> pack({"a": [1, 2.5], "b": np.arange(2)})
    ({'dict': {'a': {'list': [1, 2.5]}, 'b': {'array': 'b'}}}, {'b': array([0, 1])})
    """
    arrays: Arrays = {}
    return _pack(thing, "", arrays), arrays


def _store(array: Any, path: str, arrays: Arrays) -> str:
    path = "".join(letter if letter.isprintable() else "_" for letter in path[:_LONGEST]) or "array"
    path = path.replace("..", "__")  # archives with ways out of their folder are refused
    key, number = path, 1
    while key in arrays or key in _TAKEN:  # keys of dictionaries may look like ways to others
        number += 1
        key = f"{path} ({number})"
    arrays[key] = array
    return key


def _within(path: str, name: Any) -> str:
    return f"{path}/{name}" if path else str(name)


def is_plain(thing: Any) -> bool:
    """Whether JSON has a word for it."""
    return thing is None or isinstance(thing, (bool, int, float, str))


def _is_pandas(thing: Any, name: str) -> bool:
    """Told without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(thing, getattr(pandas, name))


def _pack(thing: Any, path: str, arrays: Arrays) -> Any:
    if isinstance(thing, np.generic) and not isinstance(thing, (np.datetime64, np.timedelta64)):
        thing = thing.item()
    # What is registered may also be a tuple, a dictionary or an array.
    entry = None if type(thing) in _BUILT_IN else of_thing(thing)
    if entry is not None:
        parts = {
            name: _pack(part, _within(path, name), arrays) for name, part in entry.take_apart(thing).items()
        }
        return {"saved": entry.name, "room": entry.room, "parts": parts}
    if isinstance(thing, float) and not math.isfinite(thing):
        return {"float": str(thing)}  # JSON has no word for it
    if is_plain(thing):
        return thing
    if isinstance(thing, np.ndarray):
        if isinstance(thing, np.ma.MaskedArray) or thing.dtype.names is not None:
            kind = "structured" if thing.dtype.names is not None else "masked"
            raise TypeError(
                f"A {kind} array cannot be saved: save its columns, or its mask, as arrays by themselves."
            )
        if thing.dtype == object:
            items = [_pack(value, _within(path, place), arrays) for place, value in enumerate(thing.ravel())]
            return {"objects": items, "shape": thing.shape}
        return {"array": _store(thing, path, arrays)}
    if bool(sp.issparse(thing)):
        rows = thing.tocsr()
        keys = [_store(getattr(rows, part), _within(path, part), arrays) for part in SPARSE]
        return {"sparse": keys, "shape": list(rows.shape)}
    if isinstance(thing, np.dtype) or (isinstance(thing, type) and issubclass(thing, np.generic)):
        return {"dtype": np.dtype(thing).str, "type": isinstance(thing, type)}
    if isinstance(thing, np.ufunc):
        return {"ufunc": str(thing.__name__)}
    if isinstance(thing, dict):
        packed = {key: _pack(value, _within(path, key), arrays) for key, value in thing.items()}
        if all(isinstance(key, str) for key in packed):
            return {"dict": {str(key): value for key, value in packed.items()}}
        # Keys of JSON are text: numbers would come back as such, and 1 would be '1'.
        return {"pairs": [[_pack(key, path, arrays), value] for key, value in packed.items()]}
    if isinstance(thing, (list, tuple)):
        marker = "tuple" if isinstance(thing, tuple) else "list"
        return {marker: [_pack(value, _within(path, place), arrays) for place, value in enumerate(thing)]}
    if _is_pandas(thing, "DataFrame"):
        from whyclust.saving.frames import frame_apart

        table, more = frame_apart(thing)
        return {"table": _store(table, path, arrays), "more": _pack(more, path, arrays)}
    if _is_pandas(thing, "Index"):
        from whyclust.saving.frames import labels_apart

        frame, more = labels_apart(thing)
        return {"labels": _pack(frame, path, arrays), "more": _pack(more, path, arrays)}
    raise TypeError(
        f"A {type(thing).__name__} cannot be saved without pickle: replace it (a number as random_state, a "
        "kernel by its name) before saving, or register its class with whyclust.saved."
    )


def unpack(packed: Any, arrays: Arrays) -> Any:
    """Turn a description and its arrays back into the thing; whatever is wrong with them raises."""
    if not isinstance(packed, dict):
        return packed
    (marker, content), *_ = packed.items()
    return _READERS[marker](content, packed, arrays)


def _objects(items: Any, packed: Any, arrays: Arrays) -> NDArray:
    found = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        found[place] = unpack(item, arrays)
    return found.reshape(packed["shape"])


def _sparse(keys: Any, packed: Any, arrays: Arrays) -> Any:
    found = sp.csr_array(tuple(arrays[key] for key in keys), shape=tuple(packed["shape"]))
    found.check_format(full_check=True)
    return found


def _dtype(name: Any, packed: Any, arrays: Arrays) -> Any:
    dtype = np.dtype(name)
    return dtype.type if packed["type"] else dtype


def _ufunc(name: Any, packed: Any, arrays: Arrays) -> np.ufunc:
    function = getattr(np, name)
    if not isinstance(function, np.ufunc):
        raise TypeError("Only element-wise functions of numpy are loaded.")
    return function


def _table(key: Any, packed: Any, arrays: Arrays) -> Any:
    from whyclust.saving.frames import frame_together

    table = arrays[key]
    if isinstance(table, np.ndarray):
        table = _read_parquet(table)
    return frame_together(table, unpack(packed["more"], arrays))


def as_ndarray(array: Any) -> NDArray:
    """An array as it is, and a table of Arrow as the bytes of a Parquet file."""
    if isinstance(array, np.ndarray):
        return array
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(array, sink)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def order_of(array: NDArray) -> Literal["C", "F"]:
    """How an array lies in memory, which decides the last bit of products: by rows, or by columns."""
    return "F" if array.flags.fnc else "C"


def _read_parquet(written: NDArray) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from whyclust.saving.limits import refuse_table

    source = pa.BufferReader(written.tobytes())
    refuse_table(source, written.nbytes)
    table = pq.ParquetFile(source).read()
    table.validate(full=True)
    return table


def _labels(frame: Any, packed: Any, arrays: Arrays) -> Any:
    from whyclust.saving.frames import labels_together

    return labels_together(unpack(frame, arrays), unpack(packed["more"], arrays))


def _saved(name: Any, packed: Any, arrays: Arrays) -> Any:
    parts = {key: unpack(part, arrays) for key, part in packed["parts"].items()}
    return of_name(name, packed["room"]).put_together(parts)


# What format 1 had beside these.


def _first_frame(key: Any, packed: Any, arrays: Arrays) -> Any:
    return _read_parquet(arrays[key]).to_pandas()


def _first_class(name: Any, packed: Any, arrays: Arrays) -> Any:
    # Those of whyclust.deep had a marker of their own.
    parts = {key: unpack(part, arrays) for key, part in packed["state"].items()}
    return of_name(name, "").put_together(parts)


def _first_deep(description: Any, packed: Any, arrays: Arrays) -> Any:
    parts = {"description": unpack(description, arrays), "arrays": _first_arrays(packed, arrays)}
    return of_name(parts["description"]["class"], "whyclust.deep").put_together(parts)


def _first_trunk(description: Any, packed: Any, arrays: Arrays) -> Any:
    parts = {"description": description, "arrays": _first_arrays(packed, arrays)}
    return of_name("Trunk", "whyclust.network").put_together(parts)


def _first_arrays(packed: Any, arrays: Arrays) -> Arrays:
    return {key: arrays[place] for key, place in packed["arrays"].items()}


_READERS: dict[str, Any] = {
    "float": lambda text, packed, arrays: float(text),
    "array": lambda key, packed, arrays: arrays[key],
    "objects": _objects,
    "sparse": _sparse,
    "dtype": _dtype,
    "ufunc": _ufunc,
    "dict": lambda items, packed, arrays: {key: unpack(item, arrays) for key, item in items.items()},
    "pairs": lambda items, packed, arrays: {unpack(key, arrays): unpack(item, arrays) for key, item in items},
    "list": lambda items, packed, arrays: [unpack(item, arrays) for item in items],
    "tuple": lambda items, packed, arrays: tuple(unpack(item, arrays) for item in items),
    "table": _table,
    "labels": _labels,
    "saved": _saved,
    "frame": _first_frame,
    "class": _first_class,
    "estimator": _first_class,
    "deep": _first_deep,
    "trunk": _first_trunk,
}
