"""Stage two by block: what becomes of rows and columns, found from all blocks and from drawn rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from whyclust.blocks.engines import Engine
from whyclust.blocks.facts import (
    SAMPLE_ROWS,
    VARIED,
    BlockFacts,
    FactsState,
    block_facts,
    told_apart,
    total,
)
from whyclust.blocks.job import Job
from whyclust.blocks.reading import (
    BlockReading,
    ReadFacts,
    block_read_facts,
    gap_words,
    in_other_units,
    spelled,
    too_odd,
    total_read,
)
from whyclust.blocks.source import Source
from whyclust.blocks.totals import block_last_rows, confirmed, last_rows, total_notes, words_of
from whyclust.columns import TablePlan, plan_columns
from whyclust.columns.deciding import TEXT_IDENTIFIER
from whyclust.columns.plan import listed
from whyclust.command.options import Options
from whyclust.command.result import identifier_note
from whyclust.moments.distinct import Distinct
from whyclust.tables.plan import candidates
from whyclust.tables.repeats import repeats
from whyclust.tables.spelling import Spelling
from whyclust.tables.tidying import gap_number_note
from whyclust.tables.written_notes import gap_note

# How often columns are decided about again, where blocks hold what drawn rows have not shown.
MOST_ROUNDS = 5


@dataclass(frozen=True, eq=False)
class Planned:
    """A table in blocks, and what becomes of its columns.

    Attributes
    ----------
    source : Source
        Without rows of totals; its blocks give texts as numbers where these are some.
    sample : pandas.DataFrame
        Drawn rows, as the blocks give them.
    plan : TablePlan
    notes : list of str
        What a reader should know of how the table was read.
    unnamed : bool
        Whether some row has no id.
    """

    source: Source
    sample: pd.DataFrame
    plan: TablePlan
    notes: list[str]
    unnamed: bool = False


def plan_blocks(job: Job, source: Source, options: Options, engine: Engine) -> Planned:
    """Decide what becomes of every row and column of a table in blocks.

    Parameters
    ----------
    job : Job
    source : Source
    options : Options
        With the names of columns as the table has them.
    engine : Engine
    """
    aside = [*options.not_features, *source.index]
    names = candidates(source.columns, columns=options.columns or None, drop=options.drop, aside=aside)
    source, facts, notes = gathered(
        job, source, engine, features=names, beside=options.not_features, ids=options.id_column
    )
    unnamed = has_unnamed(options.id_column, facts, source)
    source, facts, told = _read(job, source, engine, facts, names)
    plan = _planned(facts, options)
    if options.id_column is None and plan.identifiers:
        plan = replace(plan, notes=[*plan.notes, identifier_note(plan.identifiers)])
    return Planned(source, facts.sample, plan, [*notes, *told], unnamed)


def gathered(
    job: Job,
    source: Source,
    engine: Engine,
    *,
    features: Sequence[str] = (),
    beside: Sequence[str] = (),
    ids: str | None = None,
) -> tuple[Source, BlockFacts, list[str]]:
    """One pass over all rows but those of totals: facts of columns, drawn rows, and notes.

    Parameters
    ----------
    job, source, engine
        As for `plan_blocks`.
    features, beside : sequence of str
        Columns of which facts are gathered, and columns that are kept of drawn rows only.
    ids : str, optional
        The column that names the rows.
    """
    ends = job.run("last-rows", block_last_rows, source.blocks if source.texts else (), source.texts, engine)
    called = last_rows(source, ends)
    words = words_of(called)
    share = min(1.0, SAMPLE_ROWS / source.n_rows)
    state = FactsState(tuple(features), tuple(beside), share, ids, words)
    left = source.without_last_rows(called)
    facts = _facts(job, "facts", left, state, engine)
    totals = confirmed(called, words, facts.n_words)
    if len(totals) < len(called):
        # A word that other rows have, too, is no total: the row stays, and all is counted again.
        left = source.without_last_rows(totals)
        facts = _facts(job, "facts-again", left, replace(state, words=()), engine)
    notes = [*source.notes, *total_notes(totals.values())]
    return left, facts, [*notes, *(_repeat_notes(ids, facts.distinct[ids]) if ids else [])]


def has_unnamed(ids: str | None, facts: BlockFacts, source: Source) -> bool:
    """Whether some row has no id in the column that names the rows."""
    return ids is not None and facts.distinct[ids].n_rows < source.n_rows


def _facts(job: Job, stage: str, source: Source, state: FactsState, engine: Engine) -> BlockFacts:
    parts = job.run(stage, block_facts, source.blocks, state, engine)
    return total(BlockFacts.of_parts(part) for part in parts)


def _repeat_notes(name: str, known: Distinct) -> list[str]:
    if not known.repeats:
        return []
    told = f"{known.n_repeated}" if known.exact else f"about {float(f'{known.n_repeated:.2g}'):,.0f}"
    return [f"Column '{name}' does not tell all rows apart: {told} ids repeat."]


def _read(
    job: Job, source: Source, engine: Engine, facts: BlockFacts, names: Sequence[str]
) -> tuple[Source, BlockFacts, list[str]]:
    """Read texts that are numbers, and numbers that stand for gaps; with the facts and notes of that.

    Drawn rows show how columns are written. Where a block holds a number that is written otherwise, it is
    shown, too, and all columns are decided about again.
    """
    texts = [name for name in names if name in source.texts]
    rare = {name: gap_words(facts, name) for name in texts}
    shown: dict[str, list[str]] = {}
    but: list[str] = []
    gaps = {name: facts.gaps[name].gaps() for name in names if name in facts.gaps}
    known: dict[str, tuple[Spelling, ReadFacts]] = {}
    for turn in range(MOST_ROUNDS):
        more = {name: words for name in texts if (words := [*rare[name], *shown.get(name, ())])}
        spellings, notes = spelled(
            facts.sample, texts, source.delimiter, varied=facts.varied, shown=more, but=but
        )
        spellings |= {name: Spelling() for name, its in gaps.items() if its and name not in texts}
        spellings = {name: replace(one, gaps=tuple(gaps.get(name, ()))) for name, one in spellings.items()}
        new = {name: one for name, one in spellings.items() if name not in known or known[name][0] != one}
        if not new:
            break
        parts = job.run(f"read-{turn}", block_read_facts, source.blocks, BlockReading(new), engine)
        found = total_read(ReadFacts.of_parts(part) for part in parts)
        for name, one in new.items():
            known[name] = (one, found)
            others = [word for word in in_other_units(found.odd[name]) if word not in shown.get(name, ())]
            if others and turn == MOST_ROUNDS - 2:
                but.append(name)
            # What was read beside another unit is told as where it is drawn, or not read at all.
            told = {*others, *found.beside.get(name, {}).values()}.difference(shown.get(name, ()))
            if told:
                shown.setdefault(name, []).extend(sorted(told))
            if others:
                continue
            if not one.gaps and too_odd(found, name):
                but.append(name)
            elif not one.gaps:
                gaps[name] = found.known.gaps[name].gaps() if name in found.known.gaps else {}
    read = {name: known[name] for name in spellings}
    notes += _unread(shown, spellings, notes)
    for name, (_, found) in read.items():
        notes += [gap_note(name, found.odd[name])] if found.odd[name] else []
        notes += [gap_number_note(name, gap, count) for gap, count in gaps.get(name, {}).items()]
    return (*_with_read(source, facts, names, read), notes) if read else (source, facts, notes)


def _unread(
    shown: Mapping[str, Sequence[str]], spellings: Mapping[str, Spelling], told: Sequence[str]
) -> list[str]:
    """Say which columns are no numbers because of entries that the drawn rows did not show, if nobody has."""
    return [
        f"Column '{name}' holds numbers that are not written alike ('{words[0]}' beside others): it is not "
        "read as numbers."
        for name, words in shown.items()
        if name not in spellings and not any(note.startswith(f"Column '{name}' holds") for note in told)
    ]


def _with_read(
    source: Source,
    facts: BlockFacts,
    names: Sequence[str],
    read: Mapping[str, tuple[Spelling, ReadFacts]],
) -> tuple[Source, BlockFacts]:
    """Blocks, facts and drawn rows with what was read in the place of what is written."""
    reading = BlockReading({name: spelling for name, (spelling, _) in read.items()})
    own = {name: found.known.facts[name] for name, (_, found) in read.items()}
    merged = {**facts.facts, **own}
    distinct = {name: found.known.distinct for name, (_, found) in read.items()}
    return source.read_by(reading), replace(
        facts,
        facts={name: merged[name] for name in names if name in merged},
        varied=tuple(name for name in facts.varied if name not in read),
        distinct={
            **{name: one for name, one in facts.distinct.items() if name not in read},
            **{name: its[name] for name, its in distinct.items() if name in its},
        },
        sample=reading.of_frame(facts.sample),
    )


def _planned(facts: BlockFacts, options: Options) -> TablePlan:
    """What becomes of the columns; which of them say the same is told by the drawn rows."""
    columns = options.columns or ()
    known = told_apart(facts)
    plan = plan_columns(known, asked=columns, scale=options.scale)
    names = [column.name for column in plan.columns]
    repeated = {} if columns else repeats(facts.sample, names)
    notes = []
    if repeated:
        others = {name: found for name, found in known.items() if name not in repeated}
        plan = plan_columns(others, asked=columns, scale=options.scale)
        told = listed([f"'{name}' (as '{other}')" for name, other in repeated.items()])
        notes.append(
            f"Columns that say the same as another, in all of {len(facts.sample):,} drawn rows, were left "
            f"out: {told}."
        )
    dropped = {name: f"says the same as '{other}'" for name, other in repeated.items()}
    for reason in (TEXT_IDENTIFIER, VARIED):
        its = [name for name in facts.varied if (reason == VARIED) == facts.distinct[name].repeats]
        if its:
            told = listed([f"'{name}'" for name in its])
            notes.append(f"Columns left out: {told} ({reason}).")
        dropped |= dict.fromkeys(its, reason)
    return replace(plan, dropped={**plan.dropped, **dropped}, notes=[*plan.notes, *notes])
