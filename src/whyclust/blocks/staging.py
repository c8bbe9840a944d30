"""CSV has no blocks: its rows are kept as Parquet first, a batch at a time."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from whyclust.columns.plan import listed
from whyclust.saving.atomic import write_whole
from whyclust.saving.digest import is_changed, seal, seal_of
from whyclust.tables.delimited import HEAD, WESTERN, shown_encoding, western_note
from whyclust.tables.signs import DECIMAL_POINT, THOUSANDS_POINT

# What pyarrow calls it.
UTF_8 = "utf8"
# Where a file that is kept says what its text was, and what is to be said of that.
_ENCODING, _NOTES = b"whyclust.encoding", b"whyclust.notes"
# Bytes that are parsed at a time; types of columns are told by the first of them.
PARSED = 16 << 20
_DELIMITERS = (",", ";", "\t", "|")
_COMMA = re.compile(r'(^|[;\t|"])-?\d+,\d+($|[;\t|"])')
# Files that are opened for the types of columns that the first one leaves empty.
_OPENED = 20
# Lines that tell how numbers are written.
_LINES = 100
# What pandas takes for a gap, and the question mark, as where a table is read at once.
_NO_VALUES = [
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
    *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?"),
]


def staged_csv(files: Sequence[Path], folder: Path) -> list[Path]:
    """Write the rows of CSV files to Parquet files, unless they are there as written; return these.

    Parameters
    ----------
    files : sequence of pathlib.Path
        Text with one line of names.
    folder : pathlib.Path
        Where the Parquet files go.
    """
    kept: list[Path] = []
    schema = None
    for number, file in enumerate(files):
        path = folder / f"rows-{number:06d}.parquet"
        if not _is_whole(path):
            try:
                write_whole(path, partial(_write_sealed, file, files, schema))
            except OSError as error:
                raise OSError(f"cannot write '{path}' ({error.strerror or error}).") from error
        schema = schema or _schema_of(path)
        kept.append(path)
    return kept


def about_csv(file: Path, kept: Sequence[Path]) -> tuple[str, tuple[str, ...]]:
    """The delimiter that tells what commas in texts mean, and what to say of how the files were read.

    Parameters
    ----------
    file : pathlib.Path
        The first of the CSV files.
    kept : sequence of pathlib.Path
        The rows of all of them as Parquet.
    """
    import pyarrow as pa

    known = [_schema_of(path).metadata for path in kept]
    notes = dict.fromkeys(note for one in known for note in one[_NOTES].decode().splitlines())
    delimiter, decimal = _written(file, known[0][_ENCODING].decode())
    numbers = [f"'{field.name}'" for field in _schema_of(kept[0]) if pa.types.is_floating(field.type)]
    if decimal == ",":
        told = [f"Commas were read as decimal marks in {listed(numbers)}."] if numbers else []
        return ";", (*notes, *told)
    # Decimal points show that commas between digits separate thousands.
    return "," if numbers else delimiter, tuple(notes)


def _schema_of(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.read_schema(path)


def _is_whole(path: Path) -> bool:
    """Whether a file is there, and as it was written."""
    try:
        return seal_of(path) is not None and not is_changed(path)
    except (OSError, ValueError):
        return False


def _write_sealed(file: Path, files: Sequence[Path], schema: Any, stream: Any) -> None:
    _write(file, files, schema, stream)
    seal(stream)


def _write(file: Path, files: Sequence[Path], schema: Any, stream: Any) -> None:
    """Only what the system says of the file that is written is not told to be the reader's."""
    import pyarrow.parquet as pq

    with _reading(file):
        encoding, notes = _encoding_of(file)
        types = {} if schema is None else {field.name: field.type for field in schema}
        batches = _opened(file, encoding, types)
        empty = _empty(batches.schema) if schema is None else ()
        if empty:
            batches.close()
            batches = _opened(file, encoding, _types_elsewhere(empty, files))
        schema = batches.schema if schema is None else schema
        _refuse_more(files[0], schema.names, file, batches.schema.names)
    told = {_ENCODING: encoding, _NOTES: "\n".join(notes)}
    with batches, pq.ParquetWriter(stream, schema.with_metadata(told)) as writer:
        while True:
            with _reading(file):
                batch = next(batches, None)
                batch = None if batch is None else batch.select(schema.names).cast(schema)
            if batch is None:
                return
            if batch.num_rows:
                writer.write_batch(batch)


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Say which file could not be read, and why."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, KeyError, OSError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"'{file}' cannot be read by block ({reason}): expected CSV whose columns are "
            "written alike from the first row to the last. Write it as Parquet, where columns have "
            "types."
        ) from error


def _opened(file: Path, encoding: str, types: Mapping[str, Any]) -> Any:
    """The batches of a file, with types that are known."""
    import pyarrow.csv as text

    delimiter, decimal = _written(file, encoding)
    return text.open_csv(
        file,
        read_options=text.ReadOptions(block_size=PARSED, encoding=encoding),
        parse_options=text.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=text.ConvertOptions(
            column_types=types, decimal_point=decimal, strings_can_be_null=True, null_values=_NO_VALUES
        ),
    )


def _empty(schema: Any) -> list[str]:
    """Columns that nothing has told the type of."""
    import pyarrow as pa

    return [field.name for field in schema if pa.types.is_null(field.type)]


def _types_elsewhere(names: Sequence[str], files: Sequence[Path]) -> dict[str, Any]:
    """The types of columns that are empty where the first file begins, by other files; else text."""
    import pyarrow as pa

    found = dict.fromkeys(names, pa.null())
    for file in files[1:_OPENED]:
        with _reading(file), _opened(file, _encoding_of(file)[0], {}) as batches:
            there = {field.name: field.type for field in batches.schema}
        found = {
            name: there.get(name, kind) if pa.types.is_null(kind) else kind for name, kind in found.items()
        }
        if not any(map(pa.types.is_null, found.values())):
            break
    return {name: pa.string() if pa.types.is_null(kind) else kind for name, kind in found.items()}


def _encoding_of(file: Path) -> tuple[str, list[str]]:
    """The encoding of a file, which shows in all of its letters, and what to say of it."""
    with file.open("rb") as stream:
        known = shown_encoding(stream.read(HEAD))
    if known is not None:
        return known
    if _is_in(file, UTF_8):
        return UTF_8, []
    found = next(one for one in WESTERN if _is_in(file, one))
    return found, [western_note(found)]


def _is_in(file: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with file.open("rb") as stream:
            while part := stream.read(PARSED):
                decoder.decode(part)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _refuse_more(one: Path, names: list[str], other: Path, found: list[str]) -> None:
    """Refuse a file with columns that the first has not, and the other way round."""
    if set(names) != set(found):
        name = sorted(set(names) ^ set(found))[0]
        raise ValueError(
            f"'{one}' and '{other}' do not both have the column '{name}': expected the same columns in all "
            "files."
        )


def _written(file: Path, encoding: str) -> tuple[str, str]:
    """What stands between columns, and before decimals, by the first lines."""
    with file.open(encoding="utf-8-sig" if encoding == UTF_8 else encoding) as stream:
        lines = [stream.readline() for _ in range(_LINES)]
    delimiter = "\t" if file.suffix.lower() == ".tsv" else max(_DELIMITERS, key=lines[0].count)
    commas = delimiter != "," and any(_COMMA.search(line.strip()) for line in lines[1:])
    # Numbers with points that may separate thousands stay text, for whoever sees all columns and rows.
    return delimiter, "," if commas or (delimiter == ";" and _points_may_group(lines[1:])) else "."


def _points_may_group(lines: Sequence[str]) -> bool:
    """Whether no number between semicolons has a point that can only be a decimal mark."""
    fields = (field.strip().strip('"') for line in lines for field in line.split(";"))
    pointed = (field for field in fields if "." in field)
    return all(THOUSANDS_POINT.fullmatch(field) for field in pointed if DECIMAL_POINT.fullmatch(field))
