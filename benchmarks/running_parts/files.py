"""Result files, written in one step, and what they say of the machine."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

RESULTS = Path(__file__).parents[1] / "results"


def machine(**versions: str) -> dict[str, Any]:
    """What a reader must know of where it ran, with versions of other libraries."""
    import whyclust as wc  # on use: what only reads sources writes files, too

    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "whyclust": wc.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        **versions,
        "threads": os.environ.get("OMP_NUM_THREADS", "default"),
    }


def write(result: dict[str, Any], target: Path | None, page: Callable[[dict[str, Any]], str]) -> str:
    """Replace the files in one step each: a run that is stopped leaves whole files behind."""
    text = json.dumps(result, indent=2, allow_nan=False)
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        for path, content in ((target, text + "\n"), (target.with_suffix(".md"), page(result))):
            beside = path.with_name(path.name + ".part")
            beside.write_text(content, encoding="utf-8")
            beside.replace(path)
    return text


def earlier(target: Path | None, quick: bool) -> dict[str, Any]:
    """What an earlier run has measured, to go on from there."""
    if quick or target is None or not target.exists():
        return {}
    before = json.loads(target.read_text(encoding="utf-8"))
    return {} if before.get("quick") else before
