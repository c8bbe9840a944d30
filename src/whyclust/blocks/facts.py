"""What is known of the columns, and some of the rows, from one pass over the blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.blocks.source import Block
from whyclust.columns import ColumnFacts, column_facts
from whyclust.columns.facts import NUMBERS, as_numbers, scattered
from whyclust.columns.meaning import IDENTIFIER, NUMBERING, meaning_of
from whyclust.moments.distinct import Distinct
from whyclust.moments.merging import merge
from whyclust.tables.tidying import GapNumbers

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
    ids : str or None
        The column that names the rows.
    words : tuple of (column, text)
        Texts whose rows are counted.
    """

    features: tuple[str, ...]
    beside: tuple[str, ...]
    share: float
    ids: str | None = None
    words: tuple[tuple[str, str], ...] = ()


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
    distinct : dict of str to Distinct
        Of columns that may name the rows.
    gaps : dict of str to GapNumbers
        Of columns of numbers.
    n_words : ndarray
        Rows of each of the state's words.
    """

    facts: dict[str, ColumnFacts]
    varied: tuple[str, ...]
    sample: pd.DataFrame
    distinct: dict[str, Distinct] = field(default_factory=dict)
    gaps: dict[str, GapNumbers] = field(default_factory=dict)
    n_words: NDArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __add__(self, other: BlockFacts) -> BlockFacts:
        return total([self, other])

    def to_parts(self) -> dict[str, Any]:
        """As files keep it."""
        return {
            "facts": self.facts,
            "varied": list(self.varied),
            "rows": np.asarray(self.sample.index, dtype=np.int64),
            "sample": self.sample.reset_index(drop=True),
            "distinct": self.distinct,
            "gaps": self.gaps,
            "n_words": self.n_words,
        }

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> BlockFacts:
        """From what a file has kept."""
        sample = parts["sample"].set_axis(pd.Index(parts["rows"]), axis=0)
        return cls(
            parts["facts"], tuple(parts["varied"]), sample, parts["distinct"], parts["gaps"], parts["n_words"]
        )


def block_facts(block: Block, state: FactsState) -> dict[str, Any]:
    """The stage: facts of a block, and its drawn rows."""
    kept = list(dict.fromkeys([*state.features, *state.beside]))
    wanted = list(dict.fromkeys([*kept, *(name for name, _ in state.words)]))
    found = []
    for first, frame in block.frames(wanted):
        known = facts_of(frame, state.features, first)
        if state.ids is not None:
            known.distinct[state.ids] = Distinct.of(frame[state.ids].dropna())
        found.append(
            replace(
                known,
                sample=frame.loc[drawn(frame.index.to_numpy(), state.share), kept],
                n_words=np.array([(frame[name] == word).sum() for name, word in state.words], dtype=np.int64),
            )
        )
    return total(found).to_parts()


def facts_of(frame: pd.DataFrame, names: Sequence[str], first_row: int) -> BlockFacts:
    """What is known of columns of some rows; none of these is drawn."""
    facts = column_facts(frame, names, first_row)
    distinct, gaps = {}, {}
    for name, one in facts.items():
        if one.texts is not None:
            distinct[name] = Distinct.of(list(one.texts.counts), list(one.texts.counts.values()))
        elif one.kind == NUMBERS:
            gaps[name] = GapNumbers.of(as_numbers(frame[name]))
            if meaning_of(name) in (IDENTIFIER, NUMBERING):
                distinct[name] = Distinct.of(frame[name].dropna())
    facts = {name: _bounded(one) for name, one in facts.items()}
    return BlockFacts(facts, (), frame.iloc[:0], distinct, gaps)


def total(parts: Iterable[BlockFacts]) -> BlockFacts:
    """What is known of all of them, in their order."""
    facts: dict[str, ColumnFacts] = {}
    varied: dict[str, None] = {}
    samples: list[pd.DataFrame] = []
    distinct: dict[str, Distinct] = {}
    gaps: dict[str, GapNumbers] = {}
    n_words: Any = 0
    for part in parts:
        merged = merge(facts, part.facts)
        varied |= dict.fromkeys(part.varied)
        varied |= {name: None for name, one in merged.items() if _is_varied(one)}
        facts = {name: one for name, one in merged.items() if name not in varied}
        samples.append(part.sample)
        distinct, gaps = merge(distinct, part.distinct), merge(gaps, part.gaps)
        n_words = n_words + part.n_words
    return BlockFacts(facts, tuple(varied), pd.concat(samples), distinct, gaps, n_words)


def told_apart(facts: BlockFacts) -> dict[str, ColumnFacts]:
    """The facts, with what the followed values say of columns called like identifiers: all are different."""
    found = {}
    for name, one in facts.facts.items():
        known = facts.distinct.get(name)
        if one.numbers is not None and known is not None and not known.repeats and known.n_rows == one.n_rows:
            # As many as there are rows; which ones is not known, and takes no memory.
            one = replace(one, numbers=replace(one.numbers, different=np.broadcast_to(0.0, one.n_rows)))
        found[name] = one
    return found


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
