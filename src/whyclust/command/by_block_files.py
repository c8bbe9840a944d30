"""Stage five by block: the report and the summary beside the parts, and all of it moved into place."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyclust import save
from whyclust._versions import versions
from whyclust.blocks.explaining import CLUSTERS, RELEVANCE, Explainer
from whyclust.blocks.job import MANIFEST, UNFINISHED, Job, read_manifest, refuse_other_job
from whyclust.blocks.source import Source
from whyclust.command.by_block_fitting import BlockFit
from whyclust.command.options import Options
from whyclust.command.result_files import (
    AUDIT_FILES,
    SUMS,
    check_folder,
    listed,
    strongest,
    take_away,
    write_json,
    write_sums,
)
from whyclust.explaining.explanation import Explanation
from whyclust.saving.atomic import write_whole
from whyclust.saving.digest import is_changed, seal_of, sum_of
from whyclust.tables import Reading
from whyclust.tables.unread import UnreadWarning
from whyclust.telling.summary import Summary

if TYPE_CHECKING:
    from whyclust.auditing import Audit
    from whyclust.command.by_block import Asked

REPORT = "report.html"
PARQUET = ".parquet"
# In the order in which they are moved: who finds a new report finds the rest new, too.
MOVED = (RELEVANCE, CLUSTERS, "model.npz", "summary.json", *AUDIT_FILES, MANIFEST, SUMS, REPORT)
# Where it is kept that only this is left to do.
_MOVING = "moving"
# What the same command writes without blocks.
_IN_ONE_FILE = ("relevance.parquet", "clusters.csv")


@dataclass(frozen=True)
class Found:
    """What the command line tells of a job by block.

    Attributes
    ----------
    report : pathlib.Path
    notes, headlines, sentences : list of str
    verdict : list of str
        Of an audit, where there was one.
    """

    report: Path
    notes: list[str]
    headlines: list[str]
    sentences: list[str]
    verdict: list[str] = field(default_factory=list)


def check_results(out: Path, *, audit: bool = False) -> None:
    """Refuse a folder in which results in blocks would stand beside others."""
    check_folder(out, audit=audit)
    for name in _IN_ONE_FILE:
        if (out / name).exists():
            raise ValueError(
                f"'{out / name}' is of a run without blocks, whose results would stand beside the new ones: "
                "name another --out, or take it away."
            )


def already_finished(out: Path, defined: Mapping[str, Any], told: Mapping[str, Any]) -> Found | None:
    """What is told of a job that has been finished already, or None; results of another are refused."""
    from whyclust import __version__

    known = read_manifest(out / MANIFEST)
    if known is None or (out / UNFINISHED).exists():
        return None
    # What is asked beside is in the results: they are those of no other names.
    before = {"defined": {**known["defined"], "told": known.get("told", {})}}
    refuse_other_job(out, before, json.loads(json.dumps({**defined, "told": told, "version": __version__})))
    for name, digest in known["results"].items():
        path = out / name
        if not path.exists() or (path.suffix == PARQUET and is_changed(path)) or _digest(path) != digest:
            what = "has changed since" if path.exists() else "is missing"
            raise ValueError(
                f"'{out}' holds the results of this job, but '{name}' {what}: run the command without "
                "--resume to compute them anew."
            )
    return Found(out / REPORT, [f"'{out}' holds the results already: nothing was computed."], [], [])


def is_moving(job: Job) -> bool:
    """Whether all files were written, as they are asked for now, and only need to be moved."""
    return bool(job.kept(_MOVING) == job.told)


def _digest(path: Path) -> str:
    """What tells a file from others: of Parquet, the digest inside."""
    if path.suffix == PARQUET:
        return str(seal_of(path))
    return sum_of(path)


def write_found(
    job: Job,
    source: Source,
    options: Options,
    asked: Asked,
    explainer: Explainer,
    fit: BlockFit,
    summary: Summary,
    shown: Explanation,
    page: Explanation,
    notes: list[str],
    disagreeing: int,
    sums: Mapping[str, str],
    audit: Audit | None = None,
) -> Found:
    """Write the report, the summary and the model, and move everything to where it belongs.

    Parameters
    ----------
    job, source, options, asked, explainer, fit
        What the job was made of.
    summary : Summary
        Of all rows.
    shown : Explanation
        The drawn rows, with the summary of all.
    page : Explanation
        The same, as the report may tell it.
    notes : list of str
    disagreeing : int
        Rows that a surrogate assigns elsewhere.
    sums : mapping of str to str
        The SHA-256 of every part that was written, as its worker found it.
    audit : Audit, optional
        Of the rows that the page shows.
    """
    from whyclust.report import to_html

    out, plan = job.folder.parent, explainer.plan
    # Marks that are settled for this table are none for the next one.
    network = replace(explainer.network, reading=fit.network.reading)
    audited = job.kept("audited") or {"verdict": [], "audit_notes": [], "notes": []}
    notes = [*notes, *fit.notes, *audited["notes"]]
    names = {one.cluster: one.name for one in summary}
    if plan is not None:
        reading = source.blocks[0].reading
        network = replace(network, reading=Reading.of(plan, {} if reading is None else reading.spellings))
    if not is_moving(job):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            # What rows hold that the model does not know has been told of all rows.
            warnings.simplefilter("ignore", UnreadWarning)
            to_html(
                page,
                job.folder / REPORT,
                title=asked.title,
                notes=notes,
                choice=fit.choice,
                facts={
                    "method": fit.told["method"],
                    "number of clusters chosen by": fit.told["k_chosen_by"],
                    "seed": fit.told["seed"],
                    "rows": source.n_rows,
                    "rows in this page": len(shown),
                },
                audit=audit,
                rows=asked.rows,
            )
        notes += [str(warning.message) for warning in caught]
        save(replace(network, cluster_names=names), job.folder / "model.npz")
        computed = {
            **fit.told,
            "k": fit.k,
            "scale": options.scale,
            "n_rows": source.n_rows,
            "columns": list(shown.feature_names)
            if plan is None
            else {"numeric": plan.numeric, "categorical": plan.categorical},
            "dropped": {} if plan is None else plan.dropped,
            "missing": {} if plan is None else plan.missing,
            "id_column": options.id_column,
            "labels": options.labels,
            "fidelity": None
            if fit.fidelity is None
            else {**fit.fidelity.to_json(), "noise": fit.fidelity.noise},
            "disagreeing_rows": disagreeing if options.labels else None,
            "beta": float(network.beta),
            "rule": shown.rule,
            "notes": [*fit.headlines, *notes],
            "choice_of_k": fit.choice,
            "audit": audit and {"trusted": audit.trusted, "verdict": audit.verdict},
            "blocks": len(source.blocks),
            "drawn_rows": len(shown),
            "versions": versions(),
        }
        found = [strongest(cluster) for cluster in summary.to_json()]
        write_json({"clusters": found, "computed": computed}, job.folder / "summary.json")
        files = [job.folder / name for name in sorted(sums)]
        written = ["model.npz", "summary.json", REPORT]
        if audit is not None:
            write_json(audit.to_json(), job.folder / "audit.json")
            audit.methods.to_csv(job.folder / "audit.csv", index=False, encoding="utf-8")
            written += AUDIT_FILES
        files += [job.folder / name for name in written]
        job.results = {one.relative_to(job.folder).as_posix(): _digest(one) for one in files}
        job.write_manifest()
        job.keep(_MOVING, job.told)
    small = {name: digest for name, digest in job.results.items() if not name.endswith(PARQUET)}
    write_sums({**sums, **small, MANIFEST: sum_of(job.folder / MANIFEST)}, job.folder)
    _keep_only(sums, job.folder)
    earlier = listed(out)
    for name in MOVED:
        _move(job.folder / name, out / name)
    take_away(out, earlier)
    job.finish()
    sentences = shown.describe().splitlines()
    # The page has the notes of the audit beside its verdict.
    notes = [*notes, *audited["audit_notes"]]
    return Found(out / REPORT, notes, fit.headlines, sentences, audited["verdict"])


def _keep_only(sums: Mapping[str, str], folder: Path) -> None:
    """Take away what stands beside the parts of this job: all of their folders is moved."""
    for one in (RELEVANCE, CLUSTERS):
        for path in (folder / one).rglob("*"):
            if path.is_file() and path.relative_to(folder).as_posix() not in sums:
                path.unlink()


def _move(made: Path, place: Path) -> None:
    """Put a file or a folder into its place, unless it was moved before the job was killed."""
    if not made.exists():
        return
    if made.name == MANIFEST:  # the job keeps its own until the end
        content = made.read_bytes()
        write_whole(place, lambda stream: stream.write(content))
        return
    if place.is_dir():
        shutil.rmtree(place)
    made.replace(place)
