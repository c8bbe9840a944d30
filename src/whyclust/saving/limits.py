"""How much a file may unfold to, asked before anything of it is unfolded.

Compressed, a few kilobytes can stand for gigabytes: files are made that way to bring a reader down. What fits
into a small memory is read; of anything larger, memory may be so many times what the file has on the disk.
"""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

# Bytes that anything may take.
SMALL = 32 << 20
# Numbers compress by two to fifty; zeros alone by a thousand.
MOST_TIMES = 400
_NUMBER = 8
_BLOCK = 1 << 20


class TooLargeError(ValueError):
    """A file would unfold to far more than it is."""


def refuse_unfolding(unfolded: int, size: int) -> None:
    """Raise if a file of `size` bytes would take far more than that in memory.

    >>> refuse_unfolding(10_000_000, 10)
    >>> refuse_unfolding(4_000_000_000, 1_000_000)
    Traceback (most recent call last):
    whyclust.saving.limits.TooLargeError: 1,000,000 bytes would unfold to at least 4.0 GB, ...
    """
    if unfolded > SMALL and unfolded > MOST_TIMES * size:
        least = f"{unfolded / 1e9:,.1f} GB" if unfolded >= 1e8 else f"{unfolded / 1e6:,.0f} MB"
        raise TooLargeError(
            f"{size:,} bytes would unfold to at least {least}, more than {MOST_TIMES} times as much, as if "
            "to fill the memory: if you trust whoever made it, have it written without compression."
        )


def refuse_types(dtypes: list[str | None], count: int, size: int) -> None:
    """Raise if so many entries of one of these types were too large: a type may be text of any length."""
    for dtype in dtypes:
        if dtype is not None:
            refuse_unfolding(np.dtype(dtype).itemsize * count, size)


def refuse_table(source: Any, size: int) -> None:
    """Raise if a Parquet file of `size` bytes would be too large in memory.

    A run of the same value takes a few bytes, however long it is: rows are counted, too, and where text may
    repeat, its length.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(source, memory_map=False) as file:
        metadata = file.metadata
        groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
        columns = [group.column(place) for group in groups for place in range(group.num_columns)]
        told = sum(max(column.total_uncompressed_size, 0) for column in columns)
        refuse_unfolding(max(told, _NUMBER * sum(max(one.num_values, 0) for one in columns)), size)
        refuse_unfolding(_NUMBER * metadata.num_rows * max(1, metadata.num_columns), size)
    repeating = {
        column.path_in_schema
        for column in columns
        if column.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
        and column.num_values * column.total_uncompressed_size > max(SMALL, MOST_TIMES * size)
    }
    if repeating:
        _refuse_repeated_text(source, sorted(repeating), size)


def _refuse_repeated_text(source: Any, names: list[str], size: int) -> None:
    """Count the bytes of text without having it: words once, and which word stands in which row."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    total = 0
    with pq.ParquetFile(source, memory_map=False, read_dictionary=names) as file:
        for name in names:
            for batch in file.iter_batches(columns=[name]):
                for column in batch.columns:
                    if pa.types.is_dictionary(column.type):
                        lengths = pc.binary_length(column.dictionary)
                        total += pc.sum(pc.take(lengths, column.indices)).as_py() or 0
                refuse_unfolding(total, size)


def unpacked(stream: Any) -> Iterator[bytes]:
    """The content of a gzip file, block by block; raises as soon as it is too large."""
    size, total = stream.seek(0, 2), 0
    stream.seek(0)
    with gzip.GzipFile(fileobj=stream) as content:
        while block := content.read(_BLOCK):
            total += len(block)
            refuse_unfolding(total, size)
            yield block


def refuse_archive(stream: Any, times: int = 1) -> None:
    """Raise if a ZIP archive is no plain one: too large, with paths, with names twice, or packed oddly.

    What its members become in memory may be so many `times` larger than they are.
    """
    size = stream.seek(0, 2)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
    refuse_unfolding(times * sum(one.file_size for one in members), size)
    names = [one.filename for one in members]
    if len({*names}) < len(names):
        raise ValueError("two members of the archive have the same name")
    for one in members:
        if leads_away(one.filename):
            raise ValueError(f"the archive has a member {one.filename!r:.60}, which leads out of its folder")
        if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"the member {one.filename!r:.60} of the archive is packed in an unusual way")
    stream.seek(0)


def leads_away(name: str) -> bool:
    r"""Whether a path is absolute, or goes up, in one of the usual systems.

    >>> leads_away("head/prototypes.npy"), leads_away("../a.npy"), leads_away(r"C:\a.npy"), leads_away("/a")
    (False, True, True, True)
    """
    windows = PureWindowsPath(name)
    parts = {*windows.parts, *PurePosixPath(name).parts}
    return bool(windows.drive or windows.root) or name.startswith("/") or ".." in parts
