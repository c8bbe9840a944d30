"""Whether a table is computed by block: asked for, or because it would not fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Smaller tables are read at once without a look at the memory.
SMALL_BYTES = 100_000_000
# Share of the machine's memory that a table may take, and what each of its numbers takes on the way: the
# frame, the prepared rows and their relevance, in double precision.
SHARE, BYTES_OF_A_NUMBER = 0.5, 40
# CSV grows when it is read, and its numbers are not counted beforehand: bytes of memory for a byte of text.
BYTES_OF_TEXT = 8


@dataclass(frozen=True)
class ByBlock:
    """How to compute by block.

    Attributes
    ----------
    engine : str
    workers : int or None
    scheduler : str or None
    resume : bool
    note : str
        Why, where nobody asked.
    """

    engine: str
    workers: int | None = None
    scheduler: str | None = None
    resume: bool = False
    note: str = ""


def how_by_block(
    files: Sequence[Path],
    engine: str | None,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
) -> ByBlock | None:
    """How to compute by block, or None where the table is read at once.

    Parameters
    ----------
    files : sequence of pathlib.Path
    engine, workers, scheduler, resume
        What was asked for.
    """
    if engine is None:
        for option, value in (("--workers", workers), ("--scheduler", scheduler)):
            if value is not None:
                raise ValueError(f"{option} is for tables by block: add --engine processes or --engine dask.")
        note = _too_large(files)
        if note is None:
            if resume:
                raise ValueError("--resume goes on with a job by block: add the --engine that it had.")
            return None
        return ByBlock("process", resume=resume, note=note)
    if [str(file) for file in files] == ["-"]:
        raise ValueError("standard input has no blocks: expected files or a folder beside --engine.")
    return ByBlock(engine, workers, scheduler, resume)


def _too_large(files: Sequence[Path]) -> str | None:
    """Why a table does not fit into memory; None where it does, or cannot be read by block."""
    if any(not file.exists() for file in files):
        return None
    from whyclust.blocks.finding import CSV, files_of
    from whyclust.blocks.source import find_source, memory_of_machine

    found = files_of(files)
    if found is None:
        return None
    size = sum(file.stat().st_size for file in found[0])
    memory = memory_of_machine()
    if size < SMALL_BYTES or memory is None:
        return None
    needed = size * BYTES_OF_TEXT if found[1] == CSV else find_source(files).n_numbers * BYTES_OF_A_NUMBER
    if needed <= SHARE * memory:
        return None
    return (
        f"The table would take about {needed / 1e9:.0f} GB at once, more than {SHARE:.0%} of the memory "
        f"({memory / 1e9:.0f} GB): it is computed by block. --engine processes uses more processors."
    )
