"""The results of the main job as a folder of files, whole or not at all."""

from __future__ import annotations

import json
import math
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whyclust import save
from whyclust._checks import counted
from whyclust.command.formulas import without_formulas
from whyclust.command.result import Result
from whyclust.saving.atomic import folder_beside
from whyclust.saving.digest import sum_of

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

# Of thousands of columns summary.json keeps the strongest; relevance.parquet has them all.
FEATURES_SHOWN = 50
# The rows of tables with more numbers than this are not written beside their relevance, unless asked for.
MOST_NUMBERS = 5_000_000
# What ``sha256sum --check`` reads.
SUMS = "SHA256SUMS"
FILES = ("clusters.csv", "model.npz", "relevance.parquet", "summary.json", SUMS, "report.html")
AUDIT_FILES = ("audit.csv", "audit.json")


def write_result(
    result: Result,
    folder: str | Path,
    *,
    title: str | None = None,
    keep: str = "usual",
    rows: bool = True,
    safe_csv: bool = False,
) -> Path:
    """Write the report, the relevances, the clusters, the summary, the model, and the audit if there is one.

    Everything is written to a temporary folder and moved into place only when all is done.

    Parameters
    ----------
    result : Result
        What `explain_table` returned.
    folder : str or pathlib.Path
        Where to write; made if it does not exist. Files of the same names are replaced.
    title : str, optional
        Heading of the report.
    keep : {"usual", "all", "nothing"}
        What goes into relevance.parquet: relevance, and the rows themselves unless the table is large; also
        the rows of large tables; or nothing, and there is no such file.
    rows : bool
        Whether the report may hold single rows.
    safe_csv : bool
        Whether text that a spreadsheet would take for a formula gets an apostrophe in CSV files, with a note.

    Returns
    -------
    pathlib.Path
        The report.
    """
    # The page and what draws it are needed here only.
    from whyclust.report import to_html

    folder = Path(folder)
    with whole_folder(folder, audit=result.audit is not None) as beside:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            to_html(
                result.explanation,
                beside / "report.html",
                title=title,
                notes=result.notes,
                choice=result.choice,
                facts={
                    "method": result.computed["method"],
                    "number of clusters chosen by": result.computed["k_chosen_by"],
                    "seed": result.computed["seed"],
                },
                audit=result.audit,
                rows=rows,
                beside=result.beside,
            )
        # Those who asked for the page are told what it could not leave out.
        warned = dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)
        result.notes.extend(note for note in warned if note not in result.notes)
        if keep != "nothing":
            _kept(result.explanation, keep).save(beside / "relevance.parquet")
        write_lines([_as_asked(result.clusters, safe_csv, result.notes)], beside / "clusters.csv")
        save(result.network, beside / "model.npz")
        found = [strongest(cluster) for cluster in result.explanation.summary().to_json()]
        summary = {"clusters": found, "computed": result.computed}
        write_json(summary, beside / "summary.json")
        if result.audit is not None:
            write_json(result.audit.to_json(), beside / "audit.json")
            methods = _as_asked(result.audit.methods, safe_csv, result.notes)
            methods.to_csv(beside / "audit.csv", index=False, encoding="utf-8")
        write_sums({path.name: sum_of(path) for path in beside.iterdir()}, beside)
    return folder / "report.html"


def _as_asked(lines: pd.DataFrame, safe_csv: bool, notes: list[str]) -> pd.DataFrame:
    """Lines to be opened in a spreadsheet, where that was asked for; a note says what was done."""
    if not safe_csv:
        return lines
    lines, count = without_formulas(lines)
    if count:
        notes.append(
            f"An apostrophe was put before {counted(count, 'cell')} of the CSV files, which spreadsheets "
            "would take for formulas (--safe-csv)."
        )
    return lines


def _kept(explanation: Explanation, keep: str) -> Explanation:
    """What is written of an explanation: seven digits of relevance are more than anybody reads."""
    if isinstance(explanation.values, np.ndarray):
        # Column by column, as the file holds it: so it is written without another copy.
        explanation = replace(explanation, values=explanation.values.astype(np.float32, order="F"))
    large = explanation.shape[0] * explanation.shape[1] > MOST_NUMBERS
    return explanation.without_data() if large and keep != "all" else explanation


@contextmanager
def whole_folder(folder: Path, *, audit: bool = False) -> Iterator[Path]:
    """A temporary folder whose files are moved into place when all is done, and removed if anything fails.

    Parameters
    ----------
    folder : pathlib.Path
        Where the files go.
    audit : bool
        Whether an audit will be among them.
    """
    check_folder(folder, audit=audit)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(_cannot_create(folder.parent, error)) from error
    # In the folder itself if it exists: it may lie on another disk than its parent.
    near = folder if folder.exists() else folder.parent
    try:
        beside = folder_beside(near)
    except OSError as error:
        raise ValueError(_cannot_create(folder, error)) from error
    try:
        yield beside
        _move(beside, folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_lines(parts: Iterable[pd.DataFrame], path: Path) -> None:
    """Write the lines of each part as it comes, under one header.

    Parameters
    ----------
    parts : iterable of pandas.DataFrame
        With the same columns.
    path : pathlib.Path
        In a folder of `whole_folder`: the file grows while it is written.
    """
    with path.open("w", encoding="utf-8", newline="") as stream:
        for position, lines in enumerate(parts):
            lines.to_csv(stream, index=False, header=position == 0)


def write_json(value: Any, path: Path) -> None:
    """Write JSON, in which NaN and infinity are null."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def write_sums(sums: Mapping[str, str], folder: Path) -> None:
    """Write the digests of files of a folder, for ``sha256sum --check SHA256SUMS`` in it.

    Parameters
    ----------
    sums : mapping of str to str
        The SHA-256 of every file, by its path in the folder.
    folder : pathlib.Path
    """
    lines = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))
    (folder / SUMS).write_bytes(lines.encode())


def check_folder(folder: Path, *, audit: bool = False) -> None:
    """Raise ValueError if results cannot be written there.

    Parameters
    ----------
    folder : pathlib.Path
    audit : bool
        Whether an audit will be among them.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"'{folder}' is a file, expected a folder for the results: name another.")
    for name in (*FILES, *AUDIT_FILES) if audit else FILES:
        if (folder / name).is_dir():
            raise ValueError(f"'{folder / name}' is a folder, but a file goes there: name another --out.")
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise ValueError(f"'{existing}' cannot be written to: name another folder for the results.")
    try:
        # Some folders look writable and are not.
        folder_beside(existing).rmdir()
    except OSError as error:
        raise ValueError(_cannot_create(folder, error)) from error


def _cannot_create(folder: Path, error: OSError) -> str:
    return (
        f"cannot create folder '{folder}' ({error.strerror or error}): name another folder for the results."
    )


def strongest(cluster: dict[str, Any]) -> dict[str, Any]:
    """Keep the features with the most relevance, for or against, in their order; say how many."""
    features = cluster["features"]
    ranked = sorted(range(len(features)), key=lambda i: -abs(features[i]["relevance"] or 0.0))
    kept = [features[i] for i in sorted(ranked[:FEATURES_SHOWN])]
    return {**cluster, "features": kept, "features_shown": len(kept), "n_features": len(features)}


def listed(folder: Path) -> set[str]:
    """Files that an earlier run has written into the folder, by its sums; none where there are no sums."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return set()
    names = {line.partition("  ")[2] for line in lines}
    return {name for name in names if name and not Path(name).is_absolute() and ".." not in Path(name).parts}


def take_away(folder: Path, earlier: set[str]) -> None:
    """Remove what an earlier run has left in the folder, and this one has not written: it tells of others."""
    for name in earlier - listed(folder) - {SUMS}:
        (folder / name).unlink(missing_ok=True)
        parent = (folder / name).parent
        if parent != folder and parent.is_dir() and not any(parent.iterdir()):
            parent.rmdir()


def _move(beside: Path, folder: Path) -> None:
    if folder.exists():
        earlier = listed(folder)
        # The report goes last: who finds a new report finds the rest new, too.
        for path in sorted(beside.iterdir(), key=lambda path: path.name == "report.html"):
            if (folder / path.name).exists():
                shutil.copymode(folder / path.name, path)
            path.replace(folder / path.name)
        take_away(folder, earlier)
        return
    beside.replace(folder)


def _plain(value: Any) -> Any:
    """Turn NumPy values into plain ones and what JSON cannot say (NaN, infinity) into null."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
