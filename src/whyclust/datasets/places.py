"""Where data sets are looked for, and how their files are read."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import reason_of
from whyclust.datasets.download import refuse_changed
from whyclust.saving import archives
from whyclust.saving.limits import unpacked


def data_folder() -> Path | None:
    """The folder in the environment variable WHYCLUST_DATA, or None."""
    named = os.environ.get("WHYCLUST_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Where downloads are kept: WHYCLUST_CACHE, or a folder in the system's place for caches."""
    named = os.environ.get("WHYCLUST_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32" and "LOCALAPPDATA" in os.environ:
        return Path(os.environ["LOCALAPPDATA"]) / "whyclust" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "whyclust"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "whyclust"


def find_file(name: str) -> Path | None:
    """The file in the data folder, else in the cache, else None."""
    for folder in (data_folder(), cache_folder()):
        if folder is not None and (folder / name).is_file():
            return folder / name
    return None


def read_arrays(path: Path) -> dict[str, Any]:
    """Arrays of an .npz file, or columns of a .jsonl.gz file of documents.

    Nothing in the file can run code: pickled objects are refused.
    """
    refuse_changed(path)
    try:
        if path.name.endswith(".jsonl.gz"):
            return documents(_lines(path))
        return archives.read_arrays(path)
    except Exception as error:  # whatever a damaged file raises
        raise ValueError(
            f"{path} could not be read as a data set ({reason_of(error)}): get the file again, or delete it "
            "so that it is looked for elsewhere."
        ) from error


def _lines(path: Path) -> list[dict[str, Any]]:
    """One object per line."""
    with path.open("rb") as stream:
        text = b"".join(unpacked(stream)).decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def documents(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns of documents: texts, their classes by name, and the official split (0 train, 1 test)."""
    labels: NDArray = np.array([row["label"] for row in rows])
    class_names, y = np.unique(labels, return_inverse=True)
    return {
        "texts": tuple(row["text"] for row in rows),
        "y": y,
        "class_names": class_names,
        "split": np.array([row["split"] == "test" for row in rows], dtype=np.uint8),
        "id": np.array([str(row["id"]) for row in rows]),
    }
