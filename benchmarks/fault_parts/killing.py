"""Processes that write over and over, killed at random moments."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fault_parts.writers import Version, Writer, read_version


def forked(work: Callable[[], Any]) -> int:
    """A process that does this work and ends; all that it needs is loaded already."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), 2)
            code = int(work() or 0)
        finally:
            os._exit(code)
    return process


def left_in(folder: Path) -> list[str]:
    """What is half-written: beside the file, or in the folder of results."""
    return [one.name for one in folder.rglob(".whyclust-*") if one.parent.name[:10] != ".whyclust-"]


def kill_writers(writer: Writer, versions: list[Version], kills: int, draw: random.Random) -> dict[str, Any]:
    """Kill so many writers, and compare what is there after each."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="whyclust-faults-") as folder:
        place = Path(folder)
        path = place / writer.name
        begun = time.perf_counter()
        writer.write(0, path)
        seconds = time.perf_counter() - begun
        for number in range(kills):
            if number % 10 == 9:  # also where there is no file yet
                _remove(path)
            start = number % 2

            def write_on(start: int = start) -> None:
                for turn in range(1000):
                    writer.write((start + turn) % 2, path)

            process = forked(write_on)
            # A fork and the first turn take their time; then any moment of the next turns.
            time.sleep(draw.uniform(0.0, 3.0 * seconds))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            counts["in_the_middle"] += bool(left_in(place))
            fault = _judge(read_version(path), versions, counts)
            if fault:
                faults.append(f"kill {number}: {fault}")
            writer.write(number % 2, path)
            if left_in(place):
                faults.append(f"kill {number}: the next write left {left_in(place)}")
    told = {key: counts[key] for key in ("in_the_middle", "first", "second", "mixed", "none")}
    return {"kills": kills, **told, "seconds_to_write": round(seconds, 4), "faults": faults}


def _judge(found: Version, versions: list[Version], counts: Counter[str]) -> str:
    """Whether every file is one of the two, whole."""
    if not found:
        counts["none"] += 1
        return ""
    if found.keys() != versions[0].keys():
        return f"there are {sorted(found)}"
    wrong = [name for name, held in found.items() if held not in (versions[0][name], versions[1][name])]
    counts[{0: "first", 1: "second"}.get(versions.index(found) if found in versions else 2, "mixed")] += 1
    return f"{wrong} are neither the one nor the other" if wrong else ""


def _remove(path: Path) -> None:
    import shutil

    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
