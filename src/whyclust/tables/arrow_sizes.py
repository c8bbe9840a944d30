"""How much the batches of an Arrow file unfold to, told by their descriptions before they are unpacked.

The format keeps, for each batch, how many rows it has and where its buffers lie; a packed buffer begins with
its length. pyarrow unpacks a batch as a whole, and a few kilobytes may stand for gigabytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whyclust.saving.limits import refuse_unfolding

_FILE = b"ARROW1"
_NEXT = b"\xff\xff\xff\xff"
_DICTIONARY, _RECORDS = 2, 3
_NUMBER = 8


def refuse_arrow(path: Path) -> None:
    """Raise if an Arrow file or stream would take far more memory than it has bytes, or is damaged."""
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        total = 0
        for start in _batches(stream, size):
            total += _unfolded(stream, start)
            refuse_unfolding(total, size)


def _batches(stream: Any, size: int) -> Iterator[int]:
    """Where descriptions of batches begin: as the end of a file lists them, or one after the other."""
    stream.seek(0)
    if stream.read(len(_FILE)) == _FILE:
        stream.seek(size - len(_FILE) - 4)
        (length,) = struct.unpack("<i", stream.read(4))
        stream.seek(size - len(_FILE) - 4 - length)
        footer = _Part(stream.read(length))
        for field in (2, 3):  # dictionaries, then rows
            for block in footer.structs(field, 24):
                yield struct.unpack_from("<q", block)[0]
        return
    at = 0
    while True:
        stream.seek(at)
        head = stream.read(8)
        length = int.from_bytes(head[4:], "little", signed=True)
        if len(head) < 8 or head[:4] != _NEXT or length <= 0:
            return
        body = _Part(stream.read(length)).number(3, "<q")
        yield at
        if body < 0:
            raise ValueError("a batch of negative length")
        at += 8 + length + body


def _unfolded(stream: Any, start: int) -> int:
    """Bytes of a batch in memory, at least."""
    stream.seek(start)
    head = stream.read(8)
    length = int.from_bytes(head[4:], "little", signed=True)
    if head[:4] != _NEXT or length <= 0:
        return 0  # of an early version, which packs nothing
    body = start + 8 + length
    message = _Part(stream.read(length))
    kind = message.number(1, "<B")
    if kind not in (_DICTIONARY, _RECORDS):
        return 0
    batch = message.part(2)
    if kind == _DICTIONARY:
        batch = batch.part(1)
    total = _NUMBER * batch.number(0, "<q") * sum(1 for _ in batch.structs(1, 16))
    if batch.has(3):  # packed
        for buffer in batch.structs(2, 16):
            place, long = struct.unpack("<qq", buffer)
            if long >= _NUMBER:
                stream.seek(body + place)
                total += max(0, int.from_bytes(stream.read(_NUMBER), "little", signed=True))
    return total


class _Part:
    """A table of a flatbuffer: fields by number, each of which may be absent."""

    def __init__(self, held: bytes, at: int | None = None) -> None:
        self.held = held
        self.at = struct.unpack_from("<I", held)[0] if at is None else at
        self.fields = self.at - struct.unpack_from("<i", held, self.at)[0]

    def _place(self, field: int) -> int:
        if 4 + 2 * field >= struct.unpack_from("<H", self.held, self.fields)[0]:
            return 0
        offset = struct.unpack_from("<H", self.held, self.fields + 4 + 2 * field)[0]
        return self.at + offset if offset else 0

    def has(self, field: int) -> bool:
        return self._place(field) > 0

    def number(self, field: int, form: str) -> int:
        place = self._place(field)
        return int(struct.unpack_from(form, self.held, place)[0]) if place else 0

    def _follow(self, field: int) -> int:
        place = self._place(field)
        if not place:
            raise ValueError("a part of the description is missing")
        return place + int(struct.unpack_from("<I", self.held, place)[0])

    def part(self, field: int) -> _Part:
        return _Part(self.held, self._follow(field))

    def structs(self, field: int, size: int) -> Iterator[bytes]:
        if not self.has(field):
            return
        start = self._follow(field)
        count = struct.unpack_from("<I", self.held, start)[0]
        if start + 4 + count * size > len(self.held):
            raise ValueError("a list of the description is longer than the description")
        for place in range(count):
            at = start + 4 + place * size
            yield self.held[at : at + size]
