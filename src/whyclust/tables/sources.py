"""Where a table comes from: a file, several, a folder of them, or standard input."""

from __future__ import annotations

import io
import sys
import tempfile
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path

import pandas as pd

from whyclust._checks import reason_of
from whyclust.saving.limits import TooLargeError, unpacked
from whyclust.tables.content import content_of
from whyclust.tables.files import COMPRESSED, KIND_OF_SUFFIX, SUFFIX_OF_KIND, Table, read_file
from whyclust.tables.reading import Reading

STANDARD_INPUT = "-"
# Names that a message lists.
_NAMES_TOLD = 5


def read_table(
    source: str | Path | Sequence[str | Path],
    *,
    as_written: Collection[str] = (),
    reading: Reading | None = None,
) -> Table:
    r"""Read a table from a file, from several, from a folder, or from standard input.

    Parameters
    ----------
    source : str, pathlib.Path or sequence of them
        The ending of a file says its kind (.csv, .tsv, .txt, .xlsx, .parquet, .pq, .feather, .arrow, .ipc,
        .jsonl, .ndjson, .json, .h5ad, .npy or .npz; .gz behind it) and is checked against the content. The
        rows of several files, and of all files of a folder, are put one below the other. '-' is standard
        input.
    as_written : collection of str
        Names of columns whose text is neither read as numbers nor as dates: those that name or label rows.
    reading : Reading, optional
        How the table of a model was read (``network.reading``): its columns are read alike, whatever commas,
        units and types this file would show by itself.

    Returns
    -------
    Table
        The frame with unique column names, and notes.

    Raises
    ------
    ValueError
        If a file is missing, empty, of an unknown kind or not what its name says, and if files have different
        columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "prices.csv"
    >>> _ = path.write_text("name;price;price\nnut;1,5;2\nbolt;2,25;3\n")
    >>> table = read_table(path)
    >>> table.frame.columns.tolist()
    ['name', 'price', 'price (2)']
    >>> table.frame["price"].tolist()
    [1.5, 2.25]
    """
    sources = [source] if isinstance(source, (str, Path)) else list(source)
    if not sources:
        raise ValueError("found no file to read, expected at least one.")
    if len(sources) > 1 and STANDARD_INPUT in map(str, sources):
        raise ValueError("found '-' beside other files, expected standard input alone, or files.")
    if str(sources[0]) == STANDARD_INPUT:
        return _read_standard_input(as_written, reading)
    paths = [path for one in sources for path in _files(Path(one))]
    if len(paths) == 1:
        return read_file(paths[0], as_written=as_written, reading=reading)
    return _joined(paths, as_written, reading)


def _files(path: Path) -> list[Path]:
    """The file itself, or the tables of a folder, in the order of their names."""
    if not path.is_dir():
        return [path]
    found = [one for one in sorted(path.iterdir()) if one.is_file() and not one.name.startswith((".", "_"))]
    tables = [one for one in found if _ending(one) in KIND_OF_SUFFIX]
    if not tables and any("=" in one.name for one in path.iterdir() if one.is_dir()):
        raise ValueError(
            f"'{path}' keeps columns in the names of its folders, which are read by block: add --engine "
            "process."
        )
    if not tables:
        raise ValueError(
            f"'{path}' is a folder without a table: expected files that end in .csv, .parquet or the like."
        )
    kinds = {KIND_OF_SUFFIX[_ending(one)] for one in tables}
    if len(kinds) > 1:
        names = ", ".join(one.name for one in tables[:_NAMES_TOLD])
        raise ValueError(
            f"'{path}' is a folder with tables of different kinds ({names}): name the files that belong "
            "together."
        )
    return tables


def _ending(path: Path) -> str:
    return (Path(path.stem) if path.suffix.lower() == COMPRESSED else path).suffix.lower()


def _joined(paths: list[Path], as_written: Collection[str], reading: Reading | None) -> Table:
    """The rows of all files, one below the other."""
    tables = [read_file(path, as_written=as_written, reading=reading) for path in paths]
    first = tables[0]
    for path, table in zip(paths[1:], tables[1:], strict=True):
        here, there = set(table.frame.columns), set(first.frame.columns)
        if here != there:
            name = sorted(here ^ there)[0]
            lacks = path if name in there else paths[0]
            other = paths[0] if name in there else path
            raise ValueError(
                f"'{other}' has a column '{name}' that '{lacks}' has not: expected the same columns in all "
                "files."
            )
    _refuse_other_types(paths, tables)
    _refuse_other_units(paths, tables)
    frame = pd.concat([table.frame for table in tables], ignore_index=True)
    notes = list(dict.fromkeys(note for table in tables for note in table.notes))
    told = f"The rows of {len(paths)} files are one below the other, '{paths[0].name}' first."
    return Table(frame, [told, *notes], first.aside, first.spellings)


def _refuse_other_types(paths: list[Path], tables: list[Table]) -> None:
    """Each file is read by itself: what is a number in one and text in another would be neither."""
    first = tables[0].frame
    for path, table in zip(paths[1:], tables[1:], strict=True):
        for name in first.columns:
            one, other = (pd.api.types.is_numeric_dtype(frame[name]) for frame in (first, table.frame))
            empty = first[name].isna().all() or table.frame[name].isna().all()
            if one != other and not empty:
                raise ValueError(
                    f"column '{name}' holds {'numbers' if one else 'text'} in '{paths[0].name}' and "
                    f"{'numbers' if other else 'text'} in '{path.name}': write it alike in all files."
                )


def _refuse_other_units(paths: list[Path], tables: list[Table]) -> None:
    """'5 km' and '5 miles', or '900 K' among millions and alone, would be the same number."""
    first = tables[0].spellings
    for path, table in zip(paths[1:], tables[1:], strict=True):
        for name in first.keys() & table.spellings.keys():
            one, other = first[name].measure, table.spellings[name].measure
            if not first[name].measures_as(table.spellings[name]):
                raise ValueError(
                    f"column '{name}' is in {one or 'plain numbers'} in '{paths[0].name}' and in "
                    f"{other or 'plain numbers'} in '{path.name}': write it alike in all files."
                )


def _read_standard_input(as_written: Collection[str], reading: Reading | None) -> Table:
    raw = sys.stdin.buffer.read()
    if not raw:
        raise ValueError("standard input is empty: expected a table, such as CSV.")
    if raw.startswith(b"\x1f\x8b"):
        try:
            raw = b"".join(unpacked(io.BytesIO(raw)))
        except TooLargeError as error:
            raise ValueError(f"standard input: {error}") from error
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"standard input is damaged gzip ({reason_of(error)}): send it again."
            ) from error
    suffix = SUFFIX_OF_KIND.get(content_of(raw[:512]), ".csv")
    if suffix == ".jsonl" and raw.lstrip()[:1] == b"[":
        suffix = ".json"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{suffix}"
        path.write_bytes(raw)
        return read_file(path, "standard input", as_written, reading)
