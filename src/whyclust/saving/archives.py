"""A description and named arrays as an .npz archive of numpy, which any other tool can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from whyclust import __version__
from whyclust.saving.digest import refuse_changed_archive, seal_archive
from whyclust.saving.limits import MOST_TIMES, SMALL, refuse_archive
from whyclust.saving.packing import HEADER, Arrays, as_ndarray


def write(stream: Any, written: int, content: Any, arrays: Arrays) -> None:
    """Write an archive of one member for each array, and one of text."""
    header = {"format": written, "version": __version__, "content": content}
    members: dict[str, Any] = {key: as_ndarray(array) for key, array in arrays.items()}
    members[HEADER] = np.array(json.dumps(header))
    np.savez_compressed(stream, **members)
    unfolded = sum(array.nbytes for array in members.values())
    if unfolded > SMALL and 2 * unfolded > MOST_TIMES * stream.tell():
        # Nearly all is the same number: no reader takes an archive that grows like this.
        stream.seek(0)
        stream.truncate()
        np.savez(stream, **members)
    seal_archive(stream)


def read(path: Path) -> tuple[Any, Any, Any, Arrays]:
    """Format, version, description and arrays; raises if a bit has changed, or if it would be too large."""
    arrays = read_arrays(path)
    header = json.loads(str(arrays.pop(HEADER)))
    return header["format"], header["version"], header.get("content"), arrays


def read_arrays(path: Path) -> Arrays:
    """All arrays of an archive, which is refused if it has changed, or would be too large; never a pickle."""
    with path.open("rb") as stream:
        refuse_changed_archive(stream)
        refuse_archive(stream)
        # Numpy leaves a broken archive open, but for one that it was given a stream of.
        with np.lib.npyio.NpzFile(stream, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
