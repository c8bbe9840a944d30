"""Files as blocks of rows, which are read one batch at a time."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyclust.blocks.as_in_memory import Called, refuse_other_columns, tidied, tidied_batch
from whyclust.blocks.finding import CSV, PARQUET, files_of, marks_of, unreadable
from whyclust.blocks.partitions import Key, filled, keys_of, with_keys

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from whyclust.blocks.reading import BlockReading

# Numbers of a block: smaller row groups are put together, larger ones are a block each.
BLOCK_NUMBERS = 20_000_000
# Numbers of a batch, the part of a block that is in memory: 40 MB in double precision.
BATCH_NUMBERS = 5_000_000
# Bytes of each column of a row group that are read at a time.
COLUMN_BYTES = 1 << 18
# Rows that are read at a time on the way to the last one.
LAST_ROWS = 10_000


@dataclass(frozen=True)
class Piece:
    """Row groups of a Parquet file, or record batches of an Arrow file, one after the other.

    Attributes
    ----------
    path : str
    kind : {"Parquet", "Arrow"}
    start, stop : int
        The first group, and the one behind the last.
    n_rows : int
        Rows behind these are left out.
    keys : tuple of (column, value, type)
        Columns that the names of its folders hold.
    ends : bool
        Whether the file ends with it.
    called : tuple of (column, name in the file)
        Where these differ.
    """

    path: str
    kind: str
    start: int
    stop: int
    n_rows: int
    keys: tuple[Key, ...] = ()
    ends: bool = False
    called: Called = ()

    def batches(self, most: int, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows, at most so many at a time."""
        left = self.n_rows
        held = {name for name, *_ in self.keys}
        inside = None if columns is None else [name for name in columns if name not in held]
        for batch in self._stored(most, inside):
            batch = batch if batch.num_rows <= left else batch.slice(0, left)
            left -= batch.num_rows
            yield filled(batch, self.keys, columns) if self.keys else batch

    def last_row(self, columns: Sequence[str]) -> dict[str, Any]:
        """What stands in some columns of the last row."""
        found: dict[str, Any] = {}
        for group in range(self.stop - 1, self.start - 1, -1):
            for batch in replace(self, start=group, stop=group + 1)._stored(LAST_ROWS, columns):
                if batch.num_rows:
                    found = batch.slice(batch.num_rows - 1).to_pylist()[0]
            if found:
                break
        return found

    def _stored(self, most: int, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """What the file itself holds, tidied."""
        stored = dict(self.called)
        names = {name: column for column, name in self.called}
        inside = None if columns is None else [stored.get(name, name) for name in columns]
        for batch in self._as_stored(most, inside):
            yield tidied_batch(batch, names)

    def _as_stored(self, most: int, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        if self.kind == PARQUET:
            import pyarrow.parquet as pq

            # Neither read ahead nor at once: a row group may be larger than the memory that a worker has.
            with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=COLUMN_BYTES) as file:
                groups = list(range(self.start, self.stop))
                names = None if columns is None else list(columns)
                yield from file.iter_batches(most, row_groups=groups, columns=names, use_threads=False)
            return
        import pyarrow as pa

        with pa.memory_map(self.path) as stream:
            file = pa.ipc.open_file(stream)
            for group in range(self.start, self.stop):
                batch = file.get_batch(group)
                batch = batch if columns is None else batch.select(list(columns))
                for row in range(0, batch.num_rows, most):
                    yield batch.slice(row, most)


@dataclass(frozen=True)
class Block:
    """Rows of a table that are computed together.

    Attributes
    ----------
    number : int
        Its place among the blocks.
    first_row : int
        Rows before it.
    n_rows : int
    pieces : tuple of Piece
    batch_rows : int
        Rows that are in memory at a time.
    reading : BlockReading or None
        How texts become numbers; None where columns stay as the files have them.
    """

    number: int
    first_row: int
    n_rows: int
    pieces: tuple[Piece, ...]
    batch_rows: int
    reading: BlockReading | None = None

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches as Arrow has them, each with the number of rows before it."""
        first = self.first_row
        for piece in self.pieces:
            for batch in piece.batches(self.batch_rows, columns):
                if batch.num_rows:
                    yield first, batch if self.reading is None else self.reading.of_batch(batch)
                first += batch.num_rows

    def frames(self, columns: Sequence[str] | None = None) -> Iterator[tuple[int, pd.DataFrame]]:
        """The same as frames, whose rows are numbered as those of the whole table."""
        import pandas as pd

        for first, batch in self.batches(columns):
            frame = batch.to_pandas(ignore_metadata=True)
            yield first, frame.set_axis(pd.RangeIndex(first, first + len(frame)), axis=0)


@dataclass(frozen=True)
class Source:
    """A table in blocks.

    Attributes
    ----------
    files : tuple of (path, bytes, time of its last change)
    columns : tuple of str
    blocks : tuple of Block
    kind : str
    index : tuple of str
        Columns that pandas kept as the names of the rows: they may name them, and are no features.
    texts : tuple of str
        Columns of text in the files.
    delimiter : str
        Of CSV: it tells what commas in numbers may mean.
    notes : tuple of str
    """

    files: tuple[tuple[str, int, int], ...]
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]
    kind: str
    index: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    delimiter: str = ","
    notes: tuple[str, ...] = ()

    def read_by(self, reading: BlockReading) -> Source:
        """The same with columns that are read."""
        return replace(self, blocks=tuple(replace(block, reading=reading) for block in self.blocks))

    def without_last_rows(self, paths: Collection[str]) -> Source:
        """The same without the last row of some files."""
        blocks: list[Block] = []
        first = 0
        for block in self.blocks:
            pieces = [
                replace(piece, n_rows=piece.n_rows - 1) if piece.ends and piece.path in paths else piece
                for piece in block.pieces
            ]
            rows = sum(piece.n_rows for piece in pieces)
            if rows:
                blocks.append(
                    replace(block, number=len(blocks), first_row=first, n_rows=rows, pieces=tuple(pieces))
                )
            first += rows
        return replace(self, blocks=tuple(blocks))

    @property
    def n_rows(self) -> int:
        """Rows of all blocks."""
        return sum(block.n_rows for block in self.blocks)

    @property
    def n_numbers(self) -> int:
        """Rows times columns."""
        return self.n_rows * len(self.columns)


def find_source(paths: Sequence[Path], *, staged: Path | None = None) -> Source:
    """Cut files into blocks, from what their ends say: no row is read.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        Parquet, Feather/Arrow or CSV files of the same columns, or folders of them.
    staged : pathlib.Path, optional
        Where CSV is kept as Parquet, in a folder that is made: text has no blocks.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> folder = Path(tempfile.mkdtemp())
    >>> for number in range(3):
    ...     pd.DataFrame({"a": [1.0, 2.0]}).to_parquet(folder / f"{number}.parquet")
    >>> source = find_source([folder])
    >>> source.n_rows, source.columns, len(source.blocks)
    (6, ('a',), 1)
    """
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise ValueError(f"'{missing[0]}' does not exist: check the name and the folder.")
    found = files_of(paths)
    if found is None:
        raise ValueError(unreadable(paths))
    files, kind = found
    marks, keys = marks_of(files), keys_of(paths, files, kind)
    if kind == CSV:
        if staged is None:
            raise ValueError("CSV has no blocks of its own: expected a folder for its rows as Parquet.")
        from whyclust.blocks.staging import about_csv, staged_csv

        kept = staged_csv(files, staged)
        told = dict(zip(kept, files, strict=True))
        found_there = _source(kept, PARQUET, {one: keys.get(file, ()) for one, file in told.items()}, told)
        delimiter, notes = about_csv(files[0], kept)
        notes = (*notes, *found_there.notes)
        return replace(found_there, files=marks, kind=CSV, delimiter=delimiter, notes=notes)
    return replace(_source(files, kind, keys, {}), files=marks)


def _source(
    files: Sequence[Path], kind: str, keys: Mapping[Path, tuple[Key, ...]], called: Mapping[Path, Path]
) -> Source:
    """The blocks of files that have some; `called` are their names in messages, where these are others."""
    pieces: list[Piece] = []
    first: Any = None
    notes: dict[str, None] = {}
    for path in files:
        schema, groups = _groups(path, kind)
        _refuse_repeated(called.get(path, path), schema.names)
        schema, names, told = tidied(schema)
        notes |= dict.fromkeys(told)
        own = tuple(key for key in keys.get(path, ()) if key[0] not in schema.names)
        schema = with_keys(schema, own)
        if first is None:
            first, index = schema, _index_of(schema, names)
        refuse_other_columns(called.get(files[0], files[0]), first, called.get(path, path), schema)
        pieces += [
            Piece(str(path), kind, place, place + 1, rows, own, place == len(groups) - 1, names)
            for place, rows in enumerate(groups)
        ]
    columns = tuple(first.names)
    texts = tuple(field.name for field in first if _is_text(field.type))
    blocks = _blocks(pieces, len(columns))
    return Source((), columns, blocks, kind, index, texts, notes=tuple(notes))


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two columns of '{path}' are called '{twice}': expected names of their own.")


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _index_of(schema: Any, called: Called) -> tuple[str, ...]:
    """Columns of a file that pandas takes for its index; one that is counted has none."""
    names = {name: column for column, name in called}
    told = (schema.pandas_metadata or {}).get("index_columns", [])
    found = [names.get(name, name) for name in told if isinstance(name, str)]
    return tuple(name for name in found if name in schema.names)


def _groups(path: Path, kind: str) -> tuple[Any, list[int]]:
    """The schema of a file, and the rows of its groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if kind == PARQUET:
            with pq.ParquetFile(path) as file:
                about = file.metadata
                return file.schema_arrow, [
                    about.row_group(place).num_rows for place in range(about.num_row_groups)
                ]
        with pa.memory_map(str(path)) as stream:
            opened = pa.ipc.open_file(stream)
            rows = [opened.get_batch(place).num_rows for place in range(opened.num_record_batches)]
            return opened.schema, rows
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"'{path}' is no {kind} file, or it is damaged ({reason}): write it again."
        ) from error


def _blocks(pieces: list[Piece], width: int) -> tuple[Block, ...]:
    """Small groups together, large ones alone."""
    most = max(1, BLOCK_NUMBERS // max(width, 1))
    batch = max(1, BATCH_NUMBERS // max(width, 1))
    blocks: list[Block] = []
    chosen: list[Piece] = []
    first = 0

    def close() -> None:
        nonlocal first, chosen
        rows = sum(piece.n_rows for piece in chosen)
        if rows:
            blocks.append(Block(len(blocks), first, rows, tuple(_joined(chosen)), batch))
            first += rows
        chosen = []

    for piece in pieces:
        if chosen and sum(one.n_rows for one in chosen) + piece.n_rows > most:
            close()
        chosen.append(piece)
    close()
    return tuple(blocks)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Neighbours of one file as one piece."""
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].path == piece.path and found[-1].stop == piece.start:
            last = found.pop()
            piece = replace(last, stop=piece.stop, n_rows=last.n_rows + piece.n_rows, ends=piece.ends)
        found.append(piece)
    return found


def memory_of_machine() -> int | None:
    """Bytes of memory, if the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
