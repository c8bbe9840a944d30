"""CSV has no blocks: its rows are kept as Parquet first, a batch at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from whyclust.columns.plan import listed
from whyclust.saving.atomic import write_whole
from whyclust.saving.digest import is_changed, seal, seal_of

# Bytes that are parsed at a time; types of columns are told by the first of them.
PARSED = 16 << 20
_DELIMITERS = (",", ";", "\t", "|")
_COMMA = re.compile(r'(^|[;\t|"])-?\d+,\d+($|[;\t|"])')
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
        UTF-8 text with one line of names.
    folder : pathlib.Path
        Where the Parquet files go.
    """
    kept: list[Path] = []
    schema = None
    for number, file in enumerate(files):
        path = folder / f"rows-{number:06d}.parquet"
        if not _is_whole(path):
            write_whole(path, partial(_write_sealed, file, files[0], schema))
        schema = schema or _schema_of(path)
        kept.append(path)
    return kept


def about_csv(file: Path, kept: Path) -> tuple[str, tuple[str, ...]]:
    """The delimiter that tells what commas in texts mean, and what to say of those in numbers.

    Parameters
    ----------
    file : pathlib.Path
        The first of the CSV files.
    kept : pathlib.Path
        Its rows as Parquet.
    """
    import pyarrow as pa

    delimiter, decimal = _written(file)
    schema = _schema_of(kept)
    numbers = [f"'{field.name}'" for field in schema if pa.types.is_floating(field.type)]
    if decimal == ",":
        return ";", (f"Commas were read as decimal marks in {listed(numbers)}.",) if numbers else ()
    # Decimal points show that commas between digits separate thousands.
    return "," if numbers else delimiter, ()


def _schema_of(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.read_schema(path)


def _is_whole(path: Path) -> bool:
    """Whether a file is there, and as it was written."""
    try:
        return seal_of(path) is not None and not is_changed(path)
    except (OSError, ValueError):
        return False


def _write_sealed(file: Path, first: Path, schema: Any, stream: Any) -> None:
    _write(file, first, schema, stream)
    seal(stream)


def _write(file: Path, first: Path, schema: Any, stream: Any) -> None:
    import pyarrow as pa
    import pyarrow.csv as text
    import pyarrow.parquet as pq

    writer = None
    delimiter, decimal = _written(file)
    types: dict[str, Any] = {} if schema is None else {field.name: field.type for field in schema}
    convert = text.ConvertOptions(
        column_types=types, decimal_point=decimal, strings_can_be_null=True, null_values=_NO_VALUES
    )
    try:
        with text.open_csv(
            file,
            read_options=text.ReadOptions(block_size=PARSED),
            parse_options=text.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=convert,
        ) as batches:
            schema = batches.schema if schema is None else schema
            _refuse_more(first, schema.names, file, batches.schema.names)
            writer = pq.ParquetWriter(stream, schema)
            for batch in batches:
                if batch.num_rows:
                    writer.write_batch(batch.select(schema.names).cast(schema))
    except (pa.ArrowException, KeyError, OSError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"'{file}' cannot be read by block ({reason}): expected CSV in UTF-8 whose columns are "
            "written alike from the first row to the last. Write it as Parquet, where columns have "
            "types."
        ) from error
    finally:
        if writer is not None:
            writer.close()


def _refuse_more(one: Path, names: list[str], other: Path, found: list[str]) -> None:
    """Refuse a file with columns that the first has not, and the other way round."""
    if set(names) != set(found):
        name = sorted(set(names) ^ set(found))[0]
        raise ValueError(
            f"'{one}' and '{other}' do not both have the column '{name}': expected the same columns in all "
            "files."
        )


def _written(file: Path) -> tuple[str, str]:
    """What stands between columns, and before decimals, by the first lines."""
    with file.open("rb") as stream:
        lines = [stream.readline().decode("utf-8-sig", errors="replace") for _ in range(_LINES)]
    delimiter = "\t" if file.suffix.lower() == ".tsv" else max(_DELIMITERS, key=lines[0].count)
    commas = delimiter != "," and any(_COMMA.search(line.strip()) for line in lines[1:])
    return delimiter, "," if commas else "."
