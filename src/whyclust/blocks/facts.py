"""What is known of the columns, and some of the rows, from one pass over the blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.blocks.source import Block
from whyclust.columns import ColumnFacts, column_facts
from whyclust.columns.facts import scattered
from whyclust.moments.merging import merge

# Rows that are drawn across all blocks: for choosing k, for starts, and for the report.
SAMPLE_ROWS = 20_000
# A column of more different texts is neither a category nor kept.
MOST_TEXTS = 10_000
VARIED = f"is text with more than {MOST_TEXTS:,} different values"


@dataclass(frozen=True)
class FactsState:
    """What the stage is told.

    Attributes
    ----------
    features : tuple of str
        Columns of which facts are gathered.
    beside : tuple of str
        Columns that are kept of drawn rows only: ids, labels.
    share : float
        Share of the rows that are drawn.
    """

    features: tuple[str, ...]
    beside: tuple[str, ...]
    share: float


@dataclass(frozen=True, eq=False)
class BlockFacts:
    """What is known of some blocks; those of neighbours add up.

    Attributes
    ----------
    facts : dict of str to ColumnFacts
    varied : tuple of str
        Columns with too many different texts.
    sample : pandas.DataFrame
        The rows that were drawn, under their numbers.
    """

    facts: dict[str, ColumnFacts]
    varied: tuple[str, ...]
    sample: pd.DataFrame

    def __add__(self, other: BlockFacts) -> BlockFacts:
        return total([self, other])

    def to_parts(self) -> dict[str, Any]:
        """As files keep it."""
        return {
            "facts": self.facts,
            "varied": list(self.varied),
            "rows": np.asarray(self.sample.index, dtype=np.int64),
            "sample": self.sample.reset_index(drop=True),
        }

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> BlockFacts:
        """From what a file has kept."""
        sample = parts["sample"].set_axis(pd.Index(parts["rows"]), axis=0)
        return cls(parts["facts"], tuple(parts["varied"]), sample)


def block_facts(block: Block, state: FactsState) -> dict[str, Any]:
    """The stage: facts of a block, and its drawn rows."""
    wanted = [*state.features, *(name for name in state.beside if name not in state.features)]
    found = []
    for first, frame in block.frames(wanted):
        facts = {name: _bounded(one) for name, one in column_facts(frame, state.features, first).items()}
        found.append(BlockFacts(facts, (), frame[drawn(frame.index.to_numpy(), state.share)]))
    return total(found).to_parts()


def total(parts: Iterable[BlockFacts]) -> BlockFacts:
    """What is known of all of them, in their order."""
    facts: dict[str, ColumnFacts] = {}
    varied: dict[str, None] = {}
    samples: list[pd.DataFrame] = []
    for part in parts:
        merged = merge(facts, part.facts)
        varied |= dict.fromkeys(part.varied)
        varied |= {name: None for name, one in merged.items() if _is_varied(one)}
        facts = {name: one for name, one in merged.items() if name not in varied}
        samples.append(part.sample)
    return BlockFacts(facts, tuple(varied), pd.concat(samples))


def _is_varied(facts: ColumnFacts) -> bool:
    return facts.texts is not None and len(facts.texts.counts) > MOST_TEXTS


def _bounded(facts: ColumnFacts) -> ColumnFacts:
    """Without what grows with the rows: which numbers there are, of columns called like identifiers."""
    return facts if facts.numbers is None else replace(facts, numbers=replace(facts.numbers, different=None))


def drawn(rows: NDArray, share: float | NDArray, seed: int = 0) -> NDArray:
    """Which rows are drawn, by their numbers: the same rows, however the table is cut.

    >>> int(drawn(np.arange(10_000), 0.1).sum())
    1006
    """
    return uniform(rows, seed) < share


def uniform(rows: NDArray, seed: int = 0) -> NDArray:
    """A number between 0 and 1 for each row, by its place and a seed."""
    places = np.asarray(rows, dtype=np.uint64)
    with np.errstate(over="ignore"):
        keys = scattered(places ^ scattered(np.array([seed + 1], dtype=np.uint64)))
    return (keys >> np.uint64(11)) * 2.0**-53


def candidates(columns: Sequence[str], left_out: Iterable[str]) -> tuple[str, ...]:
    """Columns but for some."""
    out = set(left_out)
    return tuple(name for name in columns if name not in out)
