"""The command line's job by block: an engine, the job, and what is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from whyclust.command.asking_blocks import ByBlock
from whyclust.command.options import Options
from whyclust.command.telling import tell, tell_verdict


def run_by_block(
    files: Sequence[Path],
    out: Path,
    how: ByBlock,
    options: Options,
    *,
    model: Path | None,
    names: dict[Any, str],
    keep: str,
    rows: bool,
    audit: bool,
    title: str,
    quiet: bool,
) -> None:
    """Run the job and tell what was found.

    Parameters
    ----------
    files, out, options, model, names, keep, rows, audit, title, quiet
        What the command line was asked.
    how : ByBlock
    """
    from whyclust.blocks.engines import engine_of
    from whyclust.blocks.job import UNFINISHED
    from whyclust.command.by_block import Asked, explain_by_block
    from whyclust.command.new_rows import load_model
    from whyclust.command.progress import shown

    network = None if model is None else load_model(model)
    engine = engine_of(how.engine, workers=how.workers, scheduler=how.scheduler)
    try:
        left_out = [] if audit else ["Looking for structure", "Fitting", "Scoring"]
        with shown(quiet, left_out) as progress:
            found = explain_by_block(
                files,
                out,
                engine,
                options,
                Asked(names, keep, rows, title, audit),
                network=network,
                called=str(model),
                resume=how.resume,
                progress=progress,
            )
    except KeyboardInterrupt:
        unfinished = out / UNFINISHED
        if unfinished.exists():
            typer.echo(
                f"whyclust: interrupted: what is finished is kept in '{unfinished}', and the same command "
                "with --resume goes on.",
                err=True,
            )
        raise
    finally:
        engine.close()
    if quiet:
        return
    tell([*([how.note] if how.note else []), *found.notes], [*found.headlines, *found.sentences])
    tell_verdict(found.verdict)
    typer.echo(f"\nReport: {found.report}")
