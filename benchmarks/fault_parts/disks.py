"""Disks that are full, and folders that cannot be written to."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from fault_parts.killing import forked, left_in
from fault_parts.writers import Version, Writer, read_version

_REFUSED, _WRITTEN, _OTHER = 10, 11, 12


def _try(writer: Writer, number: int, path: Path) -> int:
    try:
        writer.write(number, path)
    except (OSError, ValueError) as error:
        # A sentence for people, and no bare number of the system.
        return _REFUSED if str(error) else _OTHER
    except BaseException:
        return _OTHER
    return _WRITTEN


def _ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def sizes_refuse(writer: Writer, versions: list[Version], limits: int, draw: random.Random) -> dict[str, Any]:
    """Write where files may have so many bytes and no more."""
    import resource

    faults = []
    largest = max(map(len, versions[1].values()))
    with tempfile.TemporaryDirectory(prefix="whyclust-faults-") as folder:
        path = Path(folder) / writer.name
        writer.write(0, path)
        for _ in range(limits):
            limit = draw.randrange(largest)

            def write_little(limit: int = limit) -> int:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                return _try(writer, 1, path)

            faults += _fault(_ended(forked(write_little)), path, versions[0], f"limit of {limit} bytes")
    return {"tried": limits, "faults": faults}


def _fault(code: int, path: Path, expected: Version, what: str) -> list[str]:
    found = []
    if code != _REFUSED:
        found.append(f"{what}: the process ended with {code}, expected an error")
    if read_version(path) != expected:
        found.append(f"{what}: the old file is not what it was")
    if left_in(path.parent):
        found.append(f"{what}: {left_in(path.parent)} was left")
    return found


def disk_refuses(writer: Writer, versions: list[Version]) -> dict[str, Any]:
    """Write to a disk that is full, and to one that is read-only; where none can be mounted, say so."""
    size = sum(map(len, versions[0].values()))
    with tempfile.TemporaryDirectory(prefix="whyclust-faults-") as folder:
        place = Path(folder)
        # Room for the old one, and for half of the new one.
        options = f"size={size + max(size // 2, 8192) + 16384}"
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True
        ).returncode:
            told = {"told": "cannot be mounted here", "faults": []}
            return {"full": told, "read-only": told}
        try:
            path = place / writer.name
            writer.write(0, path)
            filler = place / "filler"
            _fill(filler)
            full = _fault(_ended(forked(lambda: _try(writer, 1, path))), path, versions[0], "full disk")
            filler.unlink()
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
            barred = _fault(_ended(forked(lambda: _try(writer, 1, path))), path, versions[0], "read-only")
        finally:
            subprocess.run(["umount", folder], check=True)
    return {
        "full": {"told": "refused" if not full else "fault", "faults": full},
        "read-only": {"told": "refused" if not barred else "fault", "faults": barred},
    }


def _fill(path: Path) -> None:
    """Leave a few kilobytes."""
    with path.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"x" * 4096)
        except OSError:
            stream.truncate(max(0, stream.tell() - 8192))
