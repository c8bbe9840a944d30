"""Which files are read by block: those that are named, and those in folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PARQUET, ARROW, CSV = "Parquet", "Arrow", "CSV"
KINDS = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".feather": ARROW,
    ".arrow": ARROW,
    ".ipc": ARROW,
    ".csv": CSV,
    ".tsv": CSV,
}


def files_of(paths: Sequence[Path]) -> tuple[list[Path], str] | None:
    """The files that are meant, and their kind; None where one cannot be read by block."""
    found = [file for path in paths for file in _inside(path)]
    kinds = {KINDS.get(path.suffix.lower()) for path in found}
    return (found, str(kinds.pop())) if len(kinds) == 1 and None not in kinds else None


def _inside(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return [one for one in sorted(path.rglob("*")) if one.is_file() and not one.name.startswith((".", "_"))]


def unreadable(paths: Sequence[Path]) -> str:
    """Why files cannot be read by block: which one is empty, or in the way."""
    expected = "expected Parquet, Feather/Arrow or CSV files, one kind of them"
    for path in paths:
        if not _inside(path):
            return f"'{path}' is empty, but for names that begin with '.' or '_': {expected}."
    found = [file for path in paths for file in _inside(path)]
    by_kind: dict[str | None, list[Path]] = {}
    for file in found:
        by_kind.setdefault(KINDS.get(file.suffix.lower()), []).append(file)
    # What is no table is in the way, and else what is rarest.
    other = None if None in by_kind else min(by_kind, key=lambda kind: len(by_kind[kind]))
    more = f" and {len(by_kind[other]) - 1} more" if len(by_kind[other]) > 1 else ""
    among = next((f", among {kind} files," for kind in by_kind if kind != other), "")
    told = f"'{by_kind[other][0]}'{more}{among} cannot be read by block"
    return f"{told}: {expected}. Take it away, or name others."


def marks_of(files: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """Each file's whole path, its bytes, and when it was last changed: what tells files from others."""
    told = [(path.resolve(), path.stat()) for path in files]
    return tuple((str(path), about.st_size, about.st_mtime_ns) for path, about in told)
