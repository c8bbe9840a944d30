"""Files into frames: the kind of a file is checked against its name, nothing is ever unpickled."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whyclust.columns.dates import day_first_in, read_dates
from whyclust.saving.limits import refuse_table, unpacked
from whyclust.tables import delimited
from whyclust.tables.arrow_sizes import refuse_arrow
from whyclust.tables.content import content_of
from whyclust.tables.foreign import damaged, foreign
from whyclust.tables.numpy_files import read_npy, read_npz
from whyclust.tables.other_files import read_h5ad, read_json, read_jsonl, read_xlsx
from whyclust.tables.reading import Reading
from whyclust.tables.spelling import Spelling, gap_spellings, spellings_of
from whyclust.tables.tidying import (
    replaced,
    unique_names,
    without_empty_rows,
    without_gap_numbers,
    without_total,
)
from whyclust.tables.wording import with_one_spelling, without_blanks
from whyclust.tables.written import read_numbers

KIND_OF_SUFFIX = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".txt": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".feather": "Arrow",
    ".arrow": "Arrow",
    ".ipc": "Arrow",
    ".npy": "npy",
    ".npz": "npz",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
    ".json": "JSON",
    ".h5ad": "HDF5",
}
NAME_OF_KIND = {
    "Arrow": "Feather/Arrow",
    "npy": "a NumPy array",
    "npz": "a NumPy archive",
    "xlsx": "a spreadsheet",
    "HDF5": "an HDF5 file",
}
SUFFIX_OF_KIND = {
    "CSV": ".csv",
    "Parquet": ".parquet",
    "Arrow": ".arrow",
    "npy": ".npy",
    "npz": ".npz",
    "xlsx": ".xlsx",
    "JSON": ".jsonl",
    "HDF5": ".h5ad",
}
# Compressed files have one of the endings above before this one.
COMPRESSED = ".gz"


@dataclass(frozen=True)
class Table:
    """What was read from a file.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per point; column names are unique strings.
    notes : list of str
        What a reader should know: a guessed encoding, renamed columns, ...
    aside : list of str
        Columns that are not features unless asked for (one-dimensional arrays in a NumPy archive).
    spellings : dict of str to Spelling
        How numbers and dates were written.
    """

    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    spellings: dict[Any, Spelling] = field(default_factory=dict)


def read_file(
    path: Path,
    called: str | None = None,
    as_written: Collection[str] = (),
    reading: Reading | None = None,
) -> Table:
    """Read one file; `called` is its name in messages, where it is a copy of another one.

    With a `reading`, the columns that it knows are read by it, and not by what the file shows.

    Raises
    ------
    ValueError
        If the file is missing, empty, of an unknown kind or not what its name says.
    """
    called = called or str(path)
    if path.suffix.lower() == COMPRESSED and path.is_file():
        return _read_compressed(path, called, as_written, reading)
    kind = _kind(path, called)
    known = [] if reading is None else reading.names
    try:
        table = _read_csv(path, as_written, known) if kind == "CSV" else READERS[kind](path)
    except ValueError as error:
        raise ValueError(f"'{called}': {error}") from error
    frame, renamed = _unique_names(table.frame)
    if frame.shape[1] == 0 or frame.shape[0] == 0:
        raise ValueError(
            f"'{called}' holds an empty table ({frame.shape[0]} rows, {frame.shape[1]} columns): "
            "expected at least two rows and one column."
        )
    spellings = {frame.columns[position]: one for position, one in table.spellings.items()}
    frame, empty = without_empty_rows(without_blanks(frame))
    frame, totals = without_total(frame)
    frame, told, more = _read_words(frame, kind, {*as_written, *known})
    frame, same = with_one_spelling(frame, {*as_written, *known})
    spellings |= more
    cleaned, gaps = without_gap_numbers(frame, known)
    spellings |= gap_spellings(frame, cleaned, spellings)
    if reading is not None:
        cleaned, unread = reading.apply(cleaned)
        gaps += unread
    return Table(
        cleaned, [*table.notes, *renamed, *empty, *totals, *told, *same, *gaps], table.aside, spellings
    )


def _read_compressed(path: Path, called: str, as_written: Collection[str], reading: Reading | None) -> Table:
    inner = Path(path.stem).suffix.lower()
    if inner not in KIND_OF_SUFFIX:
        raise ValueError(
            f"'{called}' ends in '{inner}{COMPRESSED}', which is not a kind of table known here: expected "
            f"one such as .csv{COMPRESSED}."
        )
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / f"table{inner}"
        try:
            with path.open("rb") as source, plain.open("wb") as target:
                target.writelines(unpacked(source))
        except ValueError as error:
            raise ValueError(f"'{called}': {error}") from error
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"'{called}': {damaged('gzip', error)}") from error
        return read_file(plain, called, as_written, reading)


def _read_words(
    frame: pd.DataFrame, kind: str, as_written: Collection[str]
) -> tuple[pd.DataFrame, list[str], dict[str, Spelling]]:
    """Text that is numbers or dates, as such; CSV has its numbers already."""
    names = [str(name) for name in frame.columns]
    numbered = frame.set_axis(range(len(names)), axis=1)
    numbers, notes = ({}, []) if kind == "CSV" else read_numbers(numbered, names, as_written=as_written)
    spellings = {} if kind == "CSV" else spellings_of(numbered, numbers)
    texts = {
        position: numbered[position]
        for position, dtype in enumerate(numbered.dtypes)
        if position not in numbers
        and names[position] not in as_written
        and isinstance(dtype, (pd.StringDtype, np.dtypes.ObjectDType))
    }
    dates, told = read_dates(texts, names)
    for position in dates:
        spellings[position] = Spelling(day_first=bool(day_first_in(texts[position].dropna().tolist())))
    changed = {names[position]: column for position, column in {**numbers, **dates}.items()}
    named = {names[position]: spelling for position, spelling in spellings.items()}
    return replaced(frame, changed), [*notes, *told], named


def _kind(path: Path, called: str) -> str:
    if not path.exists():
        raise ValueError(f"'{called}' does not exist: check the name and the folder.")
    kind = KIND_OF_SUFFIX.get(path.suffix.lower())
    if kind is None:
        raise ValueError(
            f"'{called}' ends in '{path.suffix}', which is not a kind of table known here: "
            f"expected one of {', '.join(KIND_OF_SUFFIX)}."
        )
    with path.open("rb") as file:
        head = file.read(512)
    if not head:
        raise ValueError(f"'{called}' is empty (0 bytes): expected a table.")
    found = content_of(head)
    if found != kind:
        named = NAME_OF_KIND.get(kind, kind)
        remedy = (
            f"rename it to end in '{SUFFIX_OF_KIND[found]}'"
            if found in SUFFIX_OF_KIND
            else "save the table as CSV or Parquet"
        )
        raise ValueError(
            f"'{called}' is named as {named} but holds {NAME_OF_KIND.get(found, found)}: {remedy}."
        )
    return kind


def _read_csv(path: Path, as_written: Collection[str] = (), as_text: Collection[str] = ()) -> Table:
    text, notes = delimited.decode(path.read_bytes())
    frame, more, spellings = delimited.parse(text, as_written, as_text)
    return Table(frame, [*notes, *more], spellings=spellings)


def _read_parquet(path: Path) -> Table:
    import pyarrow
    import pyarrow.parquet

    with foreign("Parquet"):
        refuse_table(path, path.stat().st_size)
        found = _from_arrow(pyarrow.parquet.ParquetFile(path).read())
    # What reading took is given back, and not kept for later.
    pyarrow.default_memory_pool().release_unused()
    return found


def _read_arrow(path: Path) -> Table:
    import pyarrow.feather
    import pyarrow.ipc

    with foreign("Arrow"):
        refuse_arrow(path)
        with path.open("rb") as file:
            if file.read(4) == b"\xff\xff\xff\xff":
                file.seek(0)
                return _from_arrow(pyarrow.ipc.open_stream(file).read_all())
        return _from_arrow(pyarrow.feather.read_table(path))


def _from_arrow(table: Any) -> Table:
    # Positions and text of a damaged file may lie outside of it: a process that follows them ends.
    table.validate(full=True)
    frame = table.to_pandas()
    # A stored index with a name (or of strings) identifies rows, so it becomes a column again.
    if isinstance(frame.index, pd.RangeIndex):
        return Table(frame)
    # One that only counted rows, of which some were left out, is none.
    if frame.index.names == [None] and pd.api.types.is_integer_dtype(frame.index.dtype):
        return Table(frame.reset_index(drop=True))
    taken = [name for name in dict.fromkeys(frame.index.names) if name in frame.columns]
    frame.index.names = [f"{name} (index)" if name in taken else name for name in frame.index.names]
    notes = [
        f"The stored index is called '{name}' as a column is: it became '{name} (index)'." for name in taken
    ]
    return Table(frame.reset_index(allow_duplicates=True), notes)


def _unique_names(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Give every column a name of its own, and report those that it did not have before."""
    names, notes = unique_names(frame.columns)
    return frame.set_axis(names, axis=1), notes


def _read_other(read: Callable[[Path], tuple[pd.DataFrame, list[str], list[str]]]) -> Callable[[Path], Table]:
    return lambda path: Table(*read(path))


def _read_json(path: Path) -> Table:
    return Table(*(read_json if path.suffix.lower() == ".json" else read_jsonl)(path))


READERS: dict[str, Callable[[Path], Table]] = {
    "CSV": _read_csv,
    "Parquet": _read_parquet,
    "Arrow": _read_arrow,
    "npy": _read_other(read_npy),
    "npz": _read_other(read_npz),
    "xlsx": _read_other(read_xlsx),
    "JSON": _read_json,
    "HDF5": _read_other(read_h5ad),
}
