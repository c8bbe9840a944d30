"""Decimal marks of new rows for a model: decided once for a table, so that all its blocks are read alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from whyclust.blocks.source import Block, Source
from whyclust.columns.deciding import DATE
from whyclust.tables.reading import Reading

if TYPE_CHECKING:
    from whyclust.blocks.engines import Engine
    from whyclust.blocks.job import Job
    from whyclust.network import Neuralized

# For columns of text, whether a decimal comma is possible in all entries, and whether a point is.
Marks = dict[str, list[bool]]


def block_marks(block: Block, state: Reading) -> Marks:
    """The stage: the decimal marks that are possible in the columns of a block."""
    return possible_in_all(
        {name: list(marks) for name, marks in state.possible_marks(frame).items()}
        for _, frame in block.frames(state.names)
    )


def possible_in_all(parts: Iterable[Marks]) -> Marks:
    """What is possible in all of them.

    >>> possible_in_all([{"price": [True, True]}, {"price": [True, False]}])
    {'price': [True, False]}
    """
    found: Marks = {}
    for part in parts:
        for name, marks in part.items():
            known = found.get(name, [True, True])
            found[name] = [one and other for one, other in zip(known, marks, strict=True)]
    return found


def with_marks_of(
    job: Job, source: Source, network: Neuralized, engine: Engine
) -> tuple[Neuralized, list[str]]:
    """A network that reads all blocks of a table with the decimal marks that the table shows, and notes."""
    reading = network.reading
    if reading is None:
        return network, []
    texts = tuple(
        column
        for column in reading.columns
        if column.name in source.texts and not column.categories and column.kind != DATE
    )
    state = replace(reading, columns=texts)
    parts = job.run("marks", block_marks, source.blocks if texts else (), state, engine)
    settled, notes = reading.settled(
        {name: (comma, point) for name, (comma, point) in possible_in_all(parts).items()}
    )
    return replace(network, reading=settled), notes
