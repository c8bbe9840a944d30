"""A digest of a whole Parquet file, inside it.

Parquet's own checksums cover pages, but neither names nor types nor metadata. A Parquet file ends with its
metadata, their length and a signature; all else is found from there. So bytes right before the metadata are
in nobody's way, and there the digest of all other bytes stands.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

_MARK = b"whyclust sha256:"
_SIZE = hashlib.sha256().digest_size
_END = 8  # length of the metadata, and the signature
_BLOCK = 1 << 20


def seal(stream: Any) -> None:
    """Write the digest into a Parquet file, open for reading and writing."""
    metadata = _start_of_metadata(stream)
    found = _digest(stream, [(0, metadata), (metadata, None)])
    stream.seek(metadata)
    tail = stream.read()
    stream.seek(metadata)
    stream.write(_MARK + found + tail)


def is_changed(path: Path) -> bool:
    """Whether a file is not as it was when its digest was written; without one nothing is known."""
    with path.open("rb") as stream:
        metadata = _start_of_metadata(stream)
        start = metadata - len(_MARK) - _SIZE
        if start < 0:
            return False
        stream.seek(start)
        sealed = stream.read(len(_MARK) + _SIZE)
        if not sealed.startswith(_MARK):
            return False
        return _digest(stream, [(0, start), (metadata, None)]) != sealed[len(_MARK) :]


def _start_of_metadata(stream: Any) -> int:
    size = stream.seek(0, 2)
    stream.seek(size - _END)
    return size - _END - int.from_bytes(stream.read(4), "little")


def _digest(stream: Any, parts: list[tuple[int, int | None]]) -> bytes:
    digest = hashlib.sha256()
    for start, stop in parts:
        stream.seek(start)
        left = None if stop is None else stop - start
        while block := stream.read(_BLOCK if left is None else min(_BLOCK, left)):
            digest.update(block)
            left = None if left is None else left - len(block)
    return digest.digest()


def seal_of(path: Path) -> str | None:
    """The digest that stands in a Parquet file, in hexadecimal; None where there is none."""
    with path.open("rb") as stream:
        start = _start_of_metadata(stream) - len(_MARK) - _SIZE
        if start < 0:
            return None
        stream.seek(start)
        sealed = stream.read(len(_MARK) + _SIZE)
    return sealed[len(_MARK) :].hex() if sealed.startswith(_MARK) else None
