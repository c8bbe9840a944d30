"""Files and folders that are complete or not there at all.

They are made beside their place, under a name that tells who makes them, and moved when complete. A process
that is killed leaves them behind; the next one that writes to the same folder takes them away.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Machine, process, when it was started, and something that is different every time.
_OURS = re.compile(r"\.whyclust-([0-9a-f]{8})-([0-9]+)-([0-9]+)-[0-9a-f]{8}")
# Seconds: what another machine has not touched for a day it has left behind.
_FORSAKEN = 86_400


def write_whole(path: Path, fill: Callable[[Any], Any]) -> Path:
    """Let `fill` write a binary stream, which it can also read, beside the target; move it when complete.

    Permissions are those that `open` would give: of the file that was there, or what the umask leaves.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_leftovers(path.parent)
    temporary = path.parent / own_name()
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "w+b") as stream:
            fill(stream)
            # Else a machine that stops may have the new name, and nothing in it.
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path


def write_figure(figure: Any, path: Path) -> Path:
    """Write a figure of matplotlib, of the kind that the ending says; without one it is .png."""
    path = path if path.suffix else path.with_name(f"{path.name}.png")
    kind = path.suffix[1:].lower()
    return write_whole(path, lambda stream: figure.savefig(stream, format=kind, bbox_inches="tight", dpi=150))


def folder_beside(place: Path) -> Path:
    """Make a folder in `place` in which results are gathered; what killed runs have left there goes."""
    clear_leftovers(place)
    made = place / own_name()
    made.mkdir()
    return made


def own_name() -> str:
    """A name that tells other processes whose it is."""
    pid = os.getpid()
    return f".whyclust-{_machine()}-{pid}-{_started(pid)}-{secrets.token_hex(4)}"


def clear_leftovers(folder: Path) -> None:
    """Take away what processes that are no more have left in a folder."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(".whyclust-")]
    except OSError:  # a folder may be written to and not be listed
        return
    for name in names:
        ours = _OURS.fullmatch(name)
        path = folder / name
        try:
            if ours is None or _is_in_use(path, ours):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError:  # of somebody else, or taken away by another process: not our business
            continue


def _is_in_use(path: Path, ours: re.Match[str]) -> bool:
    if ours[1] == _machine() and os.name == "posix":  # elsewhere, asking for a process may end it
        return _is_running(int(ours[2]), ours[3])
    return time.time() - path.lstat().st_mtime < _FORSAKEN


def _machine() -> str:
    """Folders may be shared between machines and containers, and a process is known in its own only."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]


def _is_running(pid: int, started: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is there, but of another user
    return _started(pid) == started


def _started(pid: int) -> str:
    """When a process was started, in ticks of the system, as ids are used again; 0 where nobody tells."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "0"
    fields = text.rpartition(")")[2].split()  # the name, in brackets, may hold anything
    return "ended" if fields[0] in "ZX" else fields[19]
