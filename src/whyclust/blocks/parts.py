"""Folders of the parts of an explanation that was computed by block."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whyclust.saving.atomic import folder_beside
from whyclust.saving.digest import seal_of

_PART = re.compile(r"part-[0-9]{6}\.parquet")
# What one file is called, that holds an explanation in memory.
_OF_FILES = (".parquet", ".npz", ".json")


@contextmanager
def folder_of_parts(folder: Path) -> Iterator[Path]:
    """A folder for new parts; once all are there, they take the place of those that were there before.

    Parameters
    ----------
    folder : pathlib.Path
        Made if it is not there.

    Raises
    ------
    ValueError
        For the name of a file, and for a folder that holds anything else.
    """
    if folder.suffix.lower() in _OF_FILES or (folder.exists() and not folder.is_dir()):
        raise ValueError(
            f"'{folder}' is the name of a file, expected that of a folder for a file of each block: name "
            f"one, such as '{folder.with_suffix('') if folder.suffix else folder.with_suffix('.parts')}'."
        )
    folder.mkdir(parents=True, exist_ok=True)
    made = folder_beside(folder)
    try:
        earlier = [path for path in sorted(folder.iterdir()) if path != made]
        others = [path.name for path in earlier if not _is_part(path)]
        if others:
            raise ValueError(
                f"'{folder}' holds '{others[0]}', which is no part of an explanation, expected an empty "
                "folder or one of earlier parts: name another folder."
            )
        yield made
        for path in earlier:
            path.unlink()
        for path in sorted(made.iterdir()):
            path.replace(folder / path.name)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _is_part(path: Path) -> bool:
    """Whether a file is called as parts are, and whyclust has written it."""
    if not (_PART.fullmatch(path.name) and path.is_file()):
        return False
    try:
        return seal_of(path) is not None
    except (OSError, ValueError):  # too short for Parquet
        return False
