"""Rows of totals below the tables of files: looked for where a file ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from numpy.typing import NDArray

from whyclust.blocks.source import Block, Source
from whyclust.tables.tidying import FEWEST_ABOVE, is_total, total_note

# What the last row of a file is called, by the file's path: columns, each with its text.
Called = dict[str, list[tuple[str, str]]]


def block_last_rows(block: Block, texts: Sequence[str]) -> Called:
    """The stage: what the last rows of files are called, where it is a word for totals."""
    found: Called = {}
    for piece in block.pieces:
        if piece.ends and piece.n_rows and texts:
            # Columns in the names of folders are the same in all rows of a file.
            held = {name for name, *_ in piece.keys}
            row = piece.last_row([name for name in texts if name not in held])
            words = [(name, str(word)) for name, word in row.items() if is_total(word)]
            if words:
                found[piece.path] = words
    return found


def last_rows(source: Source, parts: Iterable[Called]) -> Called:
    """What the stage has found, but for files that are too short for a total."""
    lengths: dict[str, int] = {}
    for block in source.blocks:
        for piece in block.pieces:
            lengths[piece.path] = lengths.get(piece.path, 0) + piece.n_rows
    return {
        path: [(name, word) for name, word in words]
        for part in parts
        for path, words in part.items()
        if lengths[path] >= FEWEST_ABOVE
    }


def words_of(called: Mapping[str, Sequence[tuple[str, str]]]) -> tuple[tuple[str, str], ...]:
    """The texts to count in all other rows, each once."""
    return tuple(dict.fromkeys((name, word) for words in called.values() for name, word in words))


def confirmed(called: Called, words: Sequence[tuple[str, str]], counts: NDArray) -> dict[str, str]:
    """The files whose last row is a total, with its word: one that no other row of its column has."""
    nowhere = {word for word, count in zip(words, counts.tolist(), strict=True) if not count}
    found = {}
    for path, its in called.items():
        own = [word for name, word in its if (name, word) in nowhere]
        if own:
            found[path] = own[0]
    return found


def total_notes(words: Iterable[str]) -> list[str]:
    """Say which last rows were left out."""
    return list(dict.fromkeys(total_note(word) for word in words))
