"""A digest of a whole file, inside it.

Checksums of Parquet cover pages, those of archives members: neither names nor types nor dates. Both formats
have a place where bytes are in nobody's way, and there the digest of all other bytes stands. A Parquet file
ends with its metadata, their length and a signature, and all else is found from there: the place is right
before the metadata. An archive may end with a comment.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

_MARK = b"whyclust sha256:"
_SIZE = hashlib.sha256().digest_size
_SEAL = len(_MARK) + _SIZE
_END = 8  # length of the metadata, and the signature
_BLOCK = 1 << 20
# A mark of which a letter or two have changed is a mark that has changed, and not none.
_LIKE_IT = len(_MARK) - 3
# The record at the end of an archive, and how far before the end it may begin.
_ARCHIVE_END, _BEFORE_COMMENT = b"PK\x05\x06", 22
_FARTHEST = _BEFORE_COMMENT + (1 << 16)


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
        start = metadata - _SEAL
        return start >= 0 and _is_broken(stream, start, [(0, start), (metadata, None)])


def seal_archive(stream: Any) -> None:
    """Write the digest behind a ZIP archive without a comment, open for reading and writing."""
    stream.seek(-2, 2)  # where it says how long its comment is
    stream.write(_SEAL.to_bytes(2, "little"))
    end = stream.tell()
    stream.write(_MARK + _digest(stream, [(0, end)]))


def refuse_changed_archive(stream: Any) -> None:
    """Raise if an archive is not as it was when its digest was written; without one nothing is known."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _FARTHEST))
    tail = stream.read()
    at = tail.rfind(_ARCHIVE_END)
    # A comment that was cut off is read as a shorter one by most programs.
    if at < 0 or at + _BEFORE_COMMENT + int.from_bytes(tail[at + 20 : at + 22], "little") != len(tail):
        raise ValueError("the archive has another length than it says.")
    start = size - _SEAL
    if start >= 0 and _is_broken(stream, start, [(0, start)]):
        raise ValueError("the bytes are not those that were written.")
    stream.seek(0)


def _is_broken(stream: Any, start: int, parts: list[tuple[int, int | None]]) -> bool:
    stream.seek(start)
    sealed = stream.read(_SEAL)
    if sum(one == other for one, other in zip(sealed, _MARK, strict=False)) < _LIKE_IT:
        return False
    return sealed != _MARK + _digest(stream, parts)


def _start_of_metadata(stream: Any) -> int:
    size = stream.seek(0, 2)
    stream.seek(size - _END)
    return size - _END - int.from_bytes(stream.read(4), "little")


def _digest(stream: Any, parts: list[tuple[int, int | None]]) -> bytes:
    """The digest of parts of a file; the stream stands behind the last of them."""
    digest = hashlib.sha256()
    for start, stop in parts:
        stream.seek(start)
        left = None if stop is None else stop - start
        while block := stream.read(_BLOCK if left is None else min(_BLOCK, left)):
            digest.update(block)
            left = None if left is None else left - len(block)
    return digest.digest()


def sum_of(path: Path) -> str:
    """The SHA-256 of a whole file in hexadecimal, as ``sha256sum`` tells it; read block by block."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def seal_of(path: Path) -> str | None:
    """The digest that stands in a Parquet file, in hexadecimal; None where there is none."""
    with path.open("rb") as stream:
        start = _start_of_metadata(stream) - len(_MARK) - _SIZE
        if start < 0:
            return None
        stream.seek(start)
        sealed = stream.read(len(_MARK) + _SIZE)
    return sealed[len(_MARK) :].hex() if sealed.startswith(_MARK) else None
