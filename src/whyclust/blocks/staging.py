"""CSV has no blocks: its rows are kept as Parquet first, a batch at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whyclust.saving.atomic import write_whole

# Bytes that are parsed at a time; types of columns are told by the first of them.
PARSED = 16 << 20
_DELIMITERS = (",", ";", "\t", "|")
_COMMA = re.compile(r'(^|[;\t|"])-?\d+,\d+($|[;\t|"])')
# Lines that tell how numbers are written.
_LINES = 100


def staged_csv(files: Sequence[Path], folder: Path) -> Path:
    """Write the rows of CSV files to one Parquet file, unless it is there; return it.

    Parameters
    ----------
    files : sequence of pathlib.Path
        UTF-8 text with one line of names.
    folder : pathlib.Path
        Where the Parquet file goes.
    """
    path = folder / "rows.parquet"
    if not path.exists():
        write_whole(path, lambda stream: _write(files, stream))
    return path


def _write(files: Sequence[Path], stream: Any) -> None:
    import pyarrow as pa
    import pyarrow.csv as text
    import pyarrow.parquet as pq

    writer, schema = None, None
    try:
        for file in files:
            delimiter, decimal = _written(file)
            types: dict[str, Any] = {} if schema is None else {field.name: field.type for field in schema}
            convert = text.ConvertOptions(column_types=types, decimal_point=decimal, strings_can_be_null=True)
            try:
                with text.open_csv(
                    file,
                    read_options=text.ReadOptions(block_size=PARSED),
                    parse_options=text.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                    convert_options=convert,
                ) as batches:
                    if schema is None:
                        schema = batches.schema
                        writer = pq.ParquetWriter(stream, schema)
                    _refuse_more(files[0], schema.names, file, batches.schema.names)
                    for batch in batches:
                        if batch.num_rows:
                            writer.write_batch(batch.select(schema.names).cast(schema))  # type: ignore[union-attr]
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
