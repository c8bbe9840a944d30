"""The whole job for tables larger than memory: the same stages, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whyclust._checks import counted
from whyclust.blocks import source as blocks
from whyclust.blocks.engines import Engine
from whyclust.blocks.explaining import (
    MEMBERS,
    Explainer,
    Known,
    block_evidence,
    block_explained,
    block_rows,
    block_typical,
)
from whyclust.blocks.finding import files_of, marks_of
from whyclust.blocks.job import STAGED, Job, digest_of
from whyclust.blocks.lock import locked
from whyclust.blocks.marks import with_marks_of
from whyclust.blocks.source import Source, find_source
from whyclust.command import choosing_k
from whyclust.command.by_block_audit import audit_shown
from whyclust.command.by_block_files import Found, already_finished, check_results, is_moving, write_found
from whyclust.command.by_block_fitting import BlockFit, fit_block_labels, fit_blocks
from whyclust.command.by_block_planning import gathered, has_unnamed, plan_blocks
from whyclust.command.clusterers import check
from whyclust.command.new_rows import unused_note
from whyclust.command.options import Options
from whyclust.command.reading import column_names
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.naming import read_cluster_names
from whyclust.moments.clusters import ClusterMoments, TypicalRows
from whyclust.network import Neuralized
from whyclust.network.beta import EvidenceMoments
from whyclust.report.private import FEWEST
from whyclust.tables import unknown_column
from whyclust.tables.unread import Unread, summed, unread_notes
from whyclust.telling.summary import Summary, summary_of

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """What a job by block is asked to do, beside its options.

    Attributes
    ----------
    names : dict of cluster to str
    keep : {"usual", "all", "nothing"}
        What is written of relevance.
    rows : bool
        Whether the report may hold single rows.
    title : str or None
    audit : bool
        Whether to audit the rows that the report shows.
    """

    names: dict[Any, str] = field(default_factory=dict)
    keep: str = "usual"
    rows: bool = True
    title: str | None = None
    audit: bool = False


def explain_by_block(
    paths: Sequence[Path],
    out: Path,
    engine: Engine,
    options: Options,
    asked: Asked | None = None,
    *,
    network: Neuralized | None = None,
    called: str = "model.npz",
    resume: bool = False,
    progress: Progress = lambda message: None,
) -> Found:
    """Prepare, cluster and explain a table block by block, and write the results.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        Parquet, Feather/Arrow or CSV files, or folders of them.
    out : pathlib.Path
        The folder of the results.
    engine : Engine
        Who computes.
    options : Options
    asked : Asked, optional
    network : Neuralized, optional
        A model that there is: rows are assigned and explained by it, and nothing is fitted.
    called : str
        Where the network is from.
    resume : bool
        Whether to go on with a job that was not finished.
    progress : callable
        Called with a short text at every step.

    Returns
    -------
    Found
    """
    asked = asked or Asked()
    check(options.method)
    choosing_k.check(options.k_by)
    check_results(out, audit=asked.audit)
    _refuse_inside(out, paths)
    found = files_of([path for path in paths if path.exists()])
    defined = {
        "options": asdict(options),
        "asked": {"keep": asked.keep, "audit": asked.audit},
        "model": None if network is None else digest_of(network),
        "files": None if found is None else [list(mark) for mark in marks_of(found[0])],
    }
    names = {str(key): name for key, name in asked.names.items()}
    told = {"names": names, "rows": asked.rows, "title": asked.title}
    if network is not None:
        read_cluster_names(asked.names, network.clusters.tolist())
    elif options.k is not None:
        read_cluster_names(asked.names, list(range(options.k)))
    out.mkdir(parents=True, exist_ok=True)
    with locked(out):
        if resume and (finished := already_finished(out, defined, told)) is not None:
            return finished
        job = Job(out, defined, told=told, resume=resume)
        with job.may_be_refused():
            progress("Reading the table")
            source = find_source(paths, staged=job.folder / STAGED)
            if source.n_rows < 2:
                raise ValueError(f"found {source.n_rows} row(s) to cluster, expected at least two.")
            if network is None:
                begun = _fitted(job, source, engine, options, asked, progress)
            else:
                begun = _by_model(job, source, engine, options, asked, network, called)
        return _explained(job, begun, engine, options, asked, progress)


def _refuse_inside(out: Path, paths: Sequence[Path]) -> None:
    """Refuse results among the files that are read: the next run would read them, too."""
    for path in paths:
        if path.is_dir() and path.resolve() in (out.resolve(), *out.resolve().parents):
            raise ValueError(
                f"--out '{out}' is in the folder that is read, '{path}': name a folder outside of it."
            )


@dataclass(frozen=True, eq=False)
class Begun:
    """A job whose rows can be explained.

    Attributes
    ----------
    source : Source
        Without rows of totals, with texts as numbers.
    explainer : Explainer
    fit : BlockFit
    sample : pandas.DataFrame
        Drawn rows.
    notes : list of str
    """

    source: Source
    explainer: Explainer
    fit: BlockFit
    sample: pd.DataFrame
    notes: list[str]


def _fitted(
    job: Job, source: Source, engine: Engine, options: Options, asked: Asked, progress: Progress
) -> Begun:
    options = _checked(options, source)
    planned = plan_blocks(job, source, options, engine)
    source, plan, sample = planned.source, planned.plan, planned.sample
    notes = [*_notes(source, len(sample), engine), *planned.notes, *plan.notes]
    if options.labels is None:
        fit = fit_blocks(job, source, engine, plan, sample, options, progress)
    else:
        fit = fit_block_labels(job, source, engine, plan, options, progress)
    read_cluster_names(asked.names, fit.network.clusters.tolist())
    explainer = Explainer(
        fit.network,
        plan,
        job.folder,
        options.id_column,
        options.labels,
        fit.fidelity,
        asked.keep,
        planned.unnamed,
    )
    if options.labels is None and fit.network.pool.takes_beta:
        progress("Clustering: β of all rows")
        parts = job.run("beta", block_evidence, source.blocks, explainer, engine)
        evidence: EvidenceMoments = reduce(add, parts)
        explainer = replace(explainer, network=replace(fit.network, beta=evidence.stiffness()))
    return Begun(source, explainer, fit, sample, notes)


def _checked(options: Options, source: Source) -> Options:
    """The options with the names of columns as the table has them."""
    for name in options.not_features:
        if name not in source.columns:
            raise ValueError(unknown_column(name, source.columns))
    return column_names(options, source.columns)


def _by_model(
    job: Job,
    source: Source,
    engine: Engine,
    options: Options,
    asked: Asked,
    network: Neuralized,
    called: str,
) -> Begun:
    lacking = [name for name in network.feature_names if name not in source.columns]
    if not network.named or lacking:
        which = f"the column '{lacking[0]}'" if network.named else "names of columns, which the model has not"
        raise ValueError(f"the table lacks {which}: expected a table with the columns of the model.")
    if options.id_column is not None and options.id_column not in source.columns:
        raise ValueError(unknown_column(options.id_column, source.columns))
    beside = [options.id_column] if options.id_column else []
    read = tuple(dict.fromkeys([*network.feature_names, *beside]))
    source, facts, told = gathered(job, source, engine, beside=read, ids=options.id_column)
    sample = facts.sample
    settled, marks = with_marks_of(job, source, network, engine)
    unnamed = has_unnamed(options.id_column, facts, source)
    explainer = Explainer(settled, None, job.folder, options.id_column, keep=asked.keep, unnamed=unnamed)
    fit = BlockFit(
        network,
        len(network.clusters),
        headlines=[f"{source.n_rows:,} new rows, assigned by the model in {called}; nothing was fitted."],
        told={"method": f"the model in {called}", "k_chosen_by": "the model", "model": called, "seed": None},
    )
    unused = [f"'{name}'" for name in source.columns if name not in {*read, *source.index}]
    if unused:
        told = [*told, unused_note(unused)]
    return Begun(source, explainer, fit, sample, [*_notes(source, len(sample), engine), *told, *marks])


def _notes(source: Source, n_drawn: int, engine: Engine) -> list[str]:
    n_blocks = len(source.blocks)
    how = f"The table was read in {counted(n_blocks, 'block')} of {source.kind}."
    # Blocks do not follow the workers: whoever resumes may have others.
    workers = getattr(engine, "workers", 1)
    if n_blocks < workers:
        how += (
            f" A block is {blocks.BLOCK_NUMBERS:,} numbers (rows times columns) or a larger row group, and "
            f"is computed by one worker, so {counted(n_blocks, 'worker')} of {workers} "
            f"{'was' if n_blocks == 1 else 'were'} used."
        )
    if n_drawn == source.n_rows:
        return [how]
    return [
        f"{how} Sizes, means and relevance are of all {source.n_rows:,} rows. What the report draws and "
        f"searches (map, distributions, rules, columns that suffice), medians and ranks are from "
        f"{n_drawn:,} rows, drawn across the table."
    ]


def _explained(
    job: Job, begun: Begun, engine: Engine, options: Options, asked: Asked, progress: Progress
) -> Found:
    """Explain every block, then summarise, then find what is typical, then write."""
    source, explainer, fit, sample = begun.source, begun.explainer, begun.fit, begun.sample
    progress("Explaining every row")
    # Added up as they come: there may be thousands of parts.
    moments, told, disagreeing, sums = _total_of(
        job.run("explained", block_explained, source.blocks, explainer, engine)
    )
    notes = [*begun.notes, *told]
    some = explainer.explain_again(sample.iloc[:MOST_NAMED]).with_names(asked.names)
    names = {one.cluster: one.name for one in summary_of(moments, None, some)}
    if job.kept("names") != names:
        # They are in the lines of all rows.
        job.forget("typical")
        job.keep("names", names)
    progress("Explaining: typical rows")
    known = Known(explainer, moments, names)
    typical: Any = None
    for part in job.run("typical", block_typical, source.blocks, known, engine):
        typical = part["typical"] if typical is None else typical + part["typical"]
        sums |= part["files"]
    summary = summary_of(moments, typical, some)
    shown = _shown(summary, sample, source, explainer, engine, asked.names)
    _refuse_changed(source)
    audit = None
    if asked.audit and not is_moving(job):
        audit, told = audit_shown(
            shown, explainer, fit, n_rows=source.n_rows, seed=options.seed, progress=progress
        )
        found = ([], []) if audit is None else (audit.verdict, audit.notes)
        job.keep("audited", {"verdict": found[0], "audit_notes": found[1], "notes": told})
    progress("Writing the report")
    page = shown if asked.rows else _without_rows(shown, moments, typical, some)
    return write_found(
        job, source, options, asked, explainer, fit, summary, shown, page, notes, disagreeing, sums, audit
    )


def _refuse_changed(source: Source) -> None:
    """Refuse results of files of which some rows were read before, and some after a change."""
    for path, *mark in source.files:
        now = marks_of([Path(path)])[0][1:] if Path(path).exists() else ()
        if tuple(mark) != now:
            raise ValueError(
                f"'{path}' was changed while it was read, so the results would mix two tables: take --out's "
                "folder 'unfinished' away, and begin anew."
            )


def _total_of(
    parts: Iterable[dict[str, Any]],
) -> tuple[ClusterMoments, list[str], int, dict[str, str]]:
    """What all blocks have shown, their notes, rows that a surrogate assigns elsewhere, digests of files."""
    moments: Any = None
    notes: dict[str, None] = {}
    unread: list[Unread] = []
    disagreeing = 0
    sums: dict[str, str] = {}
    for part in parts:
        moments = part["moments"] if moments is None else moments + part["moments"]
        notes |= dict.fromkeys(part["notes"])
        unread = summed([*unread, *part["unread"]])
        disagreeing += part["disagreeing"]
        sums |= part["files"]
    return moments, [*notes, *unread_notes(unread, moments.n_rows)], disagreeing, sums


# Rows that tell what is the same of all: names, the question.
MOST_NAMED = 100


def _shown(
    summary: Summary,
    sample: pd.DataFrame,
    source: Source,
    explainer: Explainer,
    engine: Engine,
    names: Mapping[Any, str],
) -> Explanation:
    """The drawn rows and those that the summary names, explained, with the summary of all rows."""
    named = np.unique([row for one in summary for row in (*one.typical, *one.borderline)])
    absent = named[~np.isin(named, sample.index)].astype(np.int64)
    places = [_holds(block.first_row, block.n_rows, absent) for block in source.blocks]
    blocks = [block for block, some in zip(source.blocks, places, strict=True) if some]
    found = list(engine.map(block_rows, blocks, (list(sample.columns), absent))) if blocks else []
    frame = pd.concat([sample, *(part[list(sample.columns)] for part in found)]).sort_index()
    explanation = explainer.explain_again(frame).with_names(names)
    place = {row: position for position, row in enumerate(frame.index.tolist())}
    clusters = [
        replace(
            one,
            typical=[place[row] for row in one.typical],
            borderline=[place[row] for row in one.borderline],
        )
        for one in summary
    ]
    # Whoever asks for the summary gets that of all rows; those that it names are among these.
    explanation._summaries[MEMBERS] = replace(summary, clusters=clusters)
    return explanation


def _without_rows(
    shown: Explanation, moments: ClusterMoments, typical: TypicalRows, some: Explanation
) -> Explanation:
    """The same for a page without rows, with a summary that clusters of very few rows have no part in."""
    left = moments.without([one for one in moments.clusters if moments.size(one) < FEWEST])
    page = replace(shown)
    if left.clusters:
        placed = shown.summary(members=MEMBERS)
        told = summary_of(left, typical, some)
        clusters = [
            replace(one, typical=placed[one.cluster].typical, borderline=placed[one.cluster].borderline)
            for one in told
        ]
        page._summaries[MEMBERS] = replace(told, clusters=clusters)
    return page


def _holds(first: int, count: int, rows: Any) -> bool:
    return bool(((rows >= first) & (rows < first + count)).any())
