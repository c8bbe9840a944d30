"""Tables in files of NumPy: arrays, and archives of them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.saving.limits import refuse_archive
from whyclust.tables.foreign import clean, foreign

# The names under which archives usually keep their table and its column names.
ARCHIVE_TABLES = ("X", "x", "data", "features", "arr_0")
ARCHIVE_NAMES = ("feature_names", "columns", "column_names", "names")


def read_npy(path: Path) -> tuple[pd.DataFrame, list[str], list[str]]:
    """One array; its columns have names if they are of different types."""
    with foreign("NumPy"):
        array = np.asarray(np.load(path, allow_pickle=False))
    return _frame_of(array, None), [], []


def read_npz(path: Path) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The array of an archive that is a table; those with an entry for each row stand aside."""
    arrays: dict[str, NDArray] = {}
    with path.open("rb") as stream, foreign("NumPy"):
        refuse_archive(stream)
        with np.lib.npyio.NpzFile(stream, allow_pickle=False) as archive:
            members = archive.files
            for name in members:
                # Arrays of objects beside the table do no harm as long as nobody opens them.
                with suppress(Exception):
                    arrays[name] = np.asarray(archive[name])
    tables = [name for name, array in arrays.items() if array.ndim == 2]
    chosen = next((name for name in ARCHIVE_TABLES if name in tables), None)
    if len(tables) == 1:
        chosen = tables[0]
    if chosen is None and not tables and arrays:
        lengths = {array.shape for array in arrays.values()}
        if len(lengths) == 1 and next(iter(arrays.values())).ndim == 1:
            return pd.DataFrame({clean(name): _plain(array) for name, array in arrays.items()}), [], []
    if chosen is None:
        shapes = ", ".join(f"'{name}' {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"found the arrays {shapes or '(none)'}, expected one with rows and columns: "
            "save the table as the only two-dimensional array, or call it 'X'."
        )
    matrix = arrays.pop(chosen)
    names = next(
        (
            [str(name) for name in _plain(arrays.pop(key))]
            for key in ARCHIVE_NAMES
            if key in arrays and arrays[key].shape == (matrix.shape[1],)
        ),
        None,
    )
    frame = _frame_of(matrix, names)
    beside = {
        clean(name): _plain(array)
        for name, array in arrays.items()
        if array.shape == (len(frame),) and array.dtype.names is None
    }
    aside = [name for name in beside if name not in frame.columns]
    for name in aside:
        frame[name] = beside[name]
    notes = [f"The table is the array '{chosen}' of the archive."] if len(members) > 1 else []
    return frame, notes, aside


def _frame_of(array: NDArray, names: list[str] | None) -> pd.DataFrame:
    if array.dtype.names:
        fields = {name: array[name] for name in array.dtype.names}
        if array.ndim != 1 or any(field.ndim != 1 or field.dtype.names for field in fields.values()):
            raise ValueError("found columns that hold arrays, expected one entry a row in each: part them.")
        return pd.DataFrame({clean(name): _plain(field) for name, field in fields.items()})
    if array.ndim not in (1, 2):
        raise ValueError(
            f"found an array with {array.ndim} dimensions, expected rows and columns: "
            "reshape it to (n_rows, n_columns)."
        )
    plain = _plain(array)
    plain = plain[:, None] if plain.ndim == 1 else plain
    names = names or [f"x{j}" for j in range(plain.shape[1])]
    return pd.DataFrame(plain, columns=pd.Index(names))


def _plain(array: NDArray) -> NDArray[Any]:
    """Numbers in the order of bytes and the precision of this machine, and text that any file can hold."""
    kind = array.dtype.kind
    dated = kind == "M" and np.datetime_data(array.dtype)[0] != "generic"
    if kind not in "biufUS" and not dated:
        raise ValueError(f"found an array of type {array.dtype}, expected numbers or text: convert it first.")
    if kind in "US":
        with foreign("NumPy"):
            entries = array.ravel().tolist()
        texts = [clean(one if isinstance(one, str) else one.decode("utf-8", "replace")) for one in entries]
        found = np.empty(len(texts), dtype=object)
        found[:] = texts
        return found.reshape(array.shape)
    if kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)
