"""Columns that folders hold in their names, as Hive writes them: `year=2024/month=5/rows.parquet`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

# What pyarrow calls the kinds of files.
_FORMATS = {"Parquet": "parquet", "Arrow": "ipc"}
# A column, the value that it has in all rows of a file, and its type.
Key = tuple[str, Any, str]


def keys_of(paths: Sequence[Path], files: Sequence[Path], kind: str) -> dict[Path, tuple[Key, ...]]:
    """The columns that the names of folders hold, for each file that has any.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        Files and folders; only names of folders inside of these count.
    files : sequence of pathlib.Path
        The files that were found there.
    kind : {"Parquet", "Arrow", "CSV"}
    """
    found: dict[Path, tuple[Key, ...]] = {}
    for path in paths:
        inside = [file for file in files if path.is_dir() and path in file.parents]
        if any("=" in part for file in inside for part in file.relative_to(path).parent.parts):
            found |= _keys_in(path, inside, kind)
    return found


def _keys_in(path: Path, files: Sequence[Path], kind: str) -> dict[Path, tuple[Key, ...]]:
    import pyarrow as pa
    import pyarrow.csv as text
    import pyarrow.dataset as ds

    # Only the names of folders count here: whatever stands in CSV, its lines are one column of any letters.
    lines = ds.CsvFileFormat(
        parse_options=text.ParseOptions(
            delimiter="\x01", quote_char=False, invalid_row_handler=lambda row: "skip"
        ),
        read_options=text.ReadOptions(encoding="latin-1"),
    )
    whole = {file.absolute().as_posix(): file for file in files}
    try:
        table = ds.dataset(
            list(whole),
            format=_FORMATS.get(kind, lines),
            partitioning="hive",
            partition_base_dir=path.absolute().as_posix(),
        )
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"the names of the folders in '{path}' cannot be read as columns ({reason}): expected names such "
            "as 'year=2024', the same columns in all of them."
        ) from error
    found = {}
    for fragment in table.get_fragments():
        keys = ds.get_partition_keys(fragment.partition_expression)
        order = [name for name in table.schema.names if name in keys]
        found[whole[fragment.path]] = tuple(
            (name, keys[name], str(table.schema.field(name).type)) for name in order
        )
    return found


def with_keys(schema: Any, keys: Sequence[Key]) -> Any:
    """A schema with the columns that folders hold behind its own."""
    import pyarrow as pa

    for name, _, kind in keys:
        schema = schema.append(pa.field(name, pa.type_for_alias(kind)))
    return schema


def filled(batch: pa.RecordBatch, keys: Sequence[Key], columns: Sequence[str] | None) -> pa.RecordBatch:
    """A batch of a file with the columns that its folders hold, in the order that is asked for."""
    import pyarrow as pa

    arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name, value, kind in keys:
        arrays[name] = pa.repeat(pa.scalar(value, pa.type_for_alias(kind)), batch.num_rows)
    names = list(arrays) if columns is None else list(columns)
    return pa.RecordBatch.from_arrays([arrays[name] for name in names], names=names)
