"""Numbers as people write them, in tables by block: found in drawn rows, read alike in every block."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.blocks.facts import BlockFacts, facts_of, total
from whyclust.blocks.source import Block
from whyclust.columns.deciding import NUMERIC_SHARE
from whyclust.columns.facts import numbers_in
from whyclust.moments.merging import merge
from whyclust.tables.delimited import DELIMITER_NAMES
from whyclust.tables.entries import GAPS, entry_of
from whyclust.tables.spelling import Spelling, spellings_of
from whyclust.tables.written import read_numbers
from whyclust.tables.written_notes import MISSING

if TYPE_CHECKING:
    import pyarrow as pa

# Entries that are no numbers are named in a note; so many different ones of a column are kept.
MOST_ODD = 200


@dataclass(frozen=True)
class BlockReading:
    """How columns are read, the same in every block.

    Attributes
    ----------
    spellings : dict of str to Spelling
        How the numbers of each are written, and which of them stand for gaps.
    """

    spellings: dict[str, Spelling] = field(default_factory=dict)

    def of_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch with its texts as numbers."""
        import pyarrow as pa

        names = batch.schema.names
        if not self.spellings.keys() & set(names):
            return batch
        arrays = [
            pa.array(_read(batch.column(place), self.spellings[name])[0], from_pandas=True)
            if name in self.spellings
            else batch.column(place)
            for place, name in enumerate(names)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=names)

    def of_frame(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The same of rows that were drawn."""
        import pyarrow as pa

        found = frame.copy(deep=False)
        for name in self.spellings.keys() & set(frame.columns):
            found[name] = _read(pa.array(frame[name], from_pandas=True), self.spellings[name])[0]
        return found


def _coded(column: Any) -> Any:
    """A column with each of its texts once; None for a column of numbers."""
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    column = column.cast(pa.string()) if pa.types.is_string_view(column.type) else column
    if pa.types.is_dictionary(column.type):
        return column
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return column.dictionary_encode() if is_text else None


def _read(column: Any, spelling: Spelling) -> tuple[NDArray, dict[str, int]]:
    """The numbers of a column, NaN for gaps, and the texts that are none, with how often each is there."""
    coded = _coded(column)
    if coded is None:
        numbers = pd.Series(column.to_pandas()).to_numpy(dtype=np.float64, na_value=np.nan)
        return spelling.without_gaps(numbers), {}
    words = coded.dictionary
    codes = coded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    # Numbers that stand for a gap are told apart from texts that do.
    written = _written(words, replace(spelling, gaps=()))
    counts = np.bincount(codes, minlength=len(words) + 1)
    odd = {
        words[int(place)].as_py(): int(counts[place])
        for place in np.flatnonzero(np.isnan(written))
        if counts[place]
    }
    return np.append(spelling.without_gaps(written), np.nan)[codes], odd


def _beside(column: Any, spelling: Spelling) -> dict[str, str]:
    """Entries with another unit or currency than that of the column, the first of each."""
    import pyarrow.compute as pc

    coded = _coded(column) if spelling.unit or spelling.currency else None
    if coded is None:
        return {}
    unusual = coded.dictionary.filter(pc.invert(pc.match_substring_regex(coded.dictionary, _usual(spelling))))
    found: dict[str, str] = {}
    for word in unusual.to_pylist():
        entry = entry_of(word)
        if entry is not None:
            for one, own in ((entry.unit, spelling.unit), (entry.currency, spelling.currency)):
                if one not in ("", own):
                    found.setdefault(one, word)
    return found


def _written(words: Any, spelling: Spelling) -> NDArray:
    """The numbers of different texts: those that are written in the usual way at once, others one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # What stands beside a number then says what it is multiplied with.
    if spelling.magnitude or spelling.counts or spelling.fractions:
        return spelling.read_part(words.to_pylist())[0]
    usual = pc.extract_regex(words, _usual(spelling))
    plain = pc.struct_field(usual, "number")
    plain = pc.replace_substring(plain, "." if spelling.comma else ",", "")
    plain = pc.replace_substring(plain, ",", ".") if spelling.comma else plain
    values = plain.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    unusual = usual.is_null()
    if spelling.currency and not spelling.unit:
        # Before a number and behind it, a currency is no amount.
        unusual = pc.or_(unusual, pc.greater(pc.count_substring(words, spelling.currency), 1))
    others = np.flatnonzero(unusual.to_numpy(zero_copy_only=False))
    if len(others):
        values[others] = spelling.read_part(words.take(pa.array(others)).to_pylist())[0]
    return values


def _usual(spelling: Spelling) -> str:
    """How most entries of a column are written: digits, perhaps in groups, beside its unit or currency."""
    group, mark = (r"\.", ",") if spelling.comma else (",", r"\.")
    digits = rf"-?(?:[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+|[1-9][0-9]{{0,14}}|0)(?:{mark}[0-9]{{1,14}})?"
    currency, unit = (re.escape(word) for word in (spelling.currency, spelling.unit))
    return rf"^(?:{currency})? ?(?P<number>{digits}) ?(?:{unit or currency})?$"


@dataclass(frozen=True, eq=False)
class ReadFacts:
    """What is known of columns that are read; those of neighbours add up.

    Attributes
    ----------
    known : BlockFacts
        Of the numbers.
    odd : dict of str to dict
        Entries of each column that are no numbers, with how often each is there; not all, where there are
        many.
    n_odd : dict of str to int
        How many entries are neither numbers nor words for gaps.
    beside : dict of str to dict
        Entries of each column beside whose numbers stands something else than beside the others: one for each
        unit and currency.
    """

    known: BlockFacts
    odd: dict[str, dict[str, int]]
    n_odd: dict[str, int]
    beside: dict[str, dict[str, str]] = field(default_factory=dict)

    def to_parts(self) -> dict[str, Any]:
        """As files keep it."""
        return {**self.known.to_parts(), "odd": self.odd, "n_odd": self.n_odd, "beside": self.beside}

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> ReadFacts:
        """From what a file has kept."""
        return cls(BlockFacts.of_parts(parts), parts["odd"], parts["n_odd"], parts["beside"])


def block_read_facts(block: Block, state: BlockReading) -> dict[str, Any]:
    """The stage: facts of columns as they are read, and what is no number in them."""
    found = []
    for first, batch in replace(block, reading=None).batches(list(state.spellings)):
        numbers, odd, n_odd, beside = {}, {}, {}, {}
        for name, spelling in state.spellings.items():
            numbers[name], odd[name] = _read(batch.column(name), spelling)
            beside[name] = _beside(batch.column(name), spelling)
            n_odd[name] = sum(count for word, count in odd[name].items() if not _is_gap(word))
        frame = pd.DataFrame(numbers, index=pd.RangeIndex(first, first + batch.num_rows))
        found.append(ReadFacts(facts_of(frame, list(numbers), first), odd, n_odd, beside))
    return total_read(found).to_parts()


def total_read(parts: Iterable[ReadFacts]) -> ReadFacts:
    """What is known of all of them, in their order."""
    known, odd, n_odd, beside = [], {}, {}, {}  # type: ignore[var-annotated]
    for part in parts:
        known.append(part.known)
        for name, found in part.beside.items():
            beside[name] = {**found, **beside.get(name, {})}
        n_odd = merge(n_odd, part.n_odd)
        for name, words in part.odd.items():
            both = merge(odd.get(name, {}), words)
            # Numbers in other units are what decides: they are kept first.
            order = sorted(both, key=lambda word: entry_of(word) is None)
            kept = set(order[:MOST_ODD])
            odd[name] = {word: count for word, count in both.items() if word in kept}
    return ReadFacts(total(known), odd, n_odd, beside)


def _is_gap(word: str) -> bool:
    return word.strip().lower() in GAPS


def spelled(
    sample: pd.DataFrame,
    names: Sequence[str],
    delimiter: str,
    *,
    varied: Sequence[str] = (),
    shown: Mapping[str, Sequence[str]] | None = None,
    but: Collection[str] = (),
) -> tuple[dict[str, Spelling], list[str]]:
    """How columns of text are written that hold numbers, as drawn rows show it.

    Parameters
    ----------
    sample : pandas.DataFrame
    names : sequence of str
        The columns that may be read.
    delimiter : str
        What commas mean where nothing else shows it.
    varied : sequence of str
        Columns of so many different texts that they are no categories: they are read if they hold plain
        numbers, too.
    shown : mapping of str to texts, optional
        Entries of other rows that the drawn ones have not shown.
    but : collection of str
        Columns that stay text.

    Returns
    -------
    spellings : dict of str to Spelling
    notes : list of str

    Examples
    --------
    >>> rows = pd.DataFrame({"way": ["12 km", "1,200 km"], "city": ["Rome", "Oslo"]})
    >>> spellings, notes = spelled(rows, ["way", "city"], ",")
    >>> spellings["way"].unit, notes[-1]
    ('km', "Numbers with 'km' were read as such ('12 km' as 12) in 'way'.")
    """
    numbered = _with_shown(sample, names, shown or {})
    numbers, notes = read_numbers(
        numbered,
        list(names),
        delimiter,
        DELIMITER_NAMES[delimiter],
        as_written=but,
        decimal_commas=delimiter == ";" and _has_decimals(sample.drop(columns=list(names))),
    )
    found = spellings_of(numbered, numbers)
    unread = [
        names[place] for place, column in numbers.items() if not _reads(found[place], numbered[place], column)
    ]
    if unread:
        return spelled(sample, names, delimiter, varied=varied, shown=shown, but=[*but, *unread])
    spellings = {names[place]: found[place] for place in numbers}
    # Between semicolons, numbers are text where their points might have separated thousands.
    for name in names if delimiter == ";" else varied:
        if name not in spellings and name not in but and _plain(numbered[list(names).index(name)]):
            spellings[name] = Spelling(comma=False)
    # What is no number is counted in all rows later.
    return spellings, [note for note in notes if not note.endswith(MISSING)]


def _has_decimals(frame: pd.DataFrame) -> bool:
    """Whether numbers that have been read have decimals: between semicolons, these were behind commas."""
    floats = [frame[name] for name, kind in frame.dtypes.items() if kind.kind == "f"]
    return any(bool(column.mod(1).any()) for column in floats)


def _with_shown(
    sample: pd.DataFrame, names: Sequence[str], shown: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Drawn rows below entries of others; columns are called by their positions."""
    columns: dict[int, pd.Series] = {}
    most = max((len(words) for words in shown.values()), default=0)
    for place, name in enumerate(names):
        column = sample[name].reset_index(drop=True)
        if name in shown:
            words = [*shown[name], *[None] * (most - len(shown[name]))]
            columns[place] = pd.Series([*words, *column], dtype=object)
        else:
            columns[place] = column.set_axis(range(most, most + len(column)))
    return pd.DataFrame(columns)


def _reads(spelling: Spelling, texts: pd.Series, numbers: pd.Series) -> bool:
    """Whether a spelling gives the numbers that were read."""
    codes, words = pd.factorize(texts.astype(object))
    values = np.append(spelling.read_part([str(word) for word in words])[0], np.nan)[codes]
    return bool(np.array_equal(values, numbers.to_numpy(dtype=np.float64), equal_nan=True))


def _plain(texts: pd.Series) -> bool:
    """Whether most of the texts are plain numbers."""
    numbers = numbers_in(texts.dropna().tolist())
    return len(numbers) > 0 and float(np.isfinite(numbers).mean()) >= NUMERIC_SHARE


def gap_words(facts: BlockFacts, name: str) -> list[str]:
    """Words for gaps that are somewhere in a column, and in no drawn row."""
    found = facts.facts.get(name)
    if found is None or found.texts is None:
        return []
    drawn = set(facts.sample[name].dropna())
    return [word for word in found.texts.counts if _is_gap(word) and word not in drawn]


def in_other_units(odd: Mapping[str, int]) -> list[str]:
    """Entries that are numbers, but not as the column's others: they change what is made of it."""
    return [word for word in odd if not _is_gap(word) and entry_of(word) is not None]


def too_odd(found: ReadFacts, name: str) -> bool:
    """Whether too many entries are no numbers for the column to hold numbers."""
    one = found.known.facts.get(name)
    n_numbers = 0 if one is None or one.numbers is None else int(one.numbers.moments.count[0])
    return n_numbers < NUMERIC_SHARE * (n_numbers + found.n_odd[name])
