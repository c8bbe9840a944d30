"""A description and named arrays as an .npz archive of numpy, which any other tool can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from whyclust import __version__
from whyclust.saving.packing import HEADER, Arrays, as_ndarray


def write(stream: Any, written: int, content: Any, arrays: Arrays) -> None:
    """Write an archive of one member for each array, and one of text."""
    header = {"format": written, "version": __version__, "content": content}
    members: dict[str, Any] = {key: as_ndarray(array) for key, array in arrays.items()}
    np.savez_compressed(stream, **{HEADER: np.array(json.dumps(header)), **members})


def read(path: Path) -> tuple[Any, Any, Any, Arrays]:
    """Format, version, description and arrays; the archive's own checksums are verified."""
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(str(arrays.pop(HEADER)))
    return header["format"], header["version"], header.get("content"), arrays
