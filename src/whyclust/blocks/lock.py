"""One process works in a folder: a second one is refused, and that of a dead one is taken over."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NAME = ".whyclust.lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder while something is done in it.

    The system itself holds the lock for the process: it ends with it, however it ends.

    Raises
    ------
    ValueError
        Where another process holds it.
    """
    path = folder / NAME
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _take(handle):
                holder = _holder(handle)
                raise ValueError(
                    f"'{folder}' is being worked in ({holder}): wait for it to end, or name another --out."
                )
            if _is_still(path, handle):
                break
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # whoever held it has taken the file away: there may be another one by now
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {platform.node()}".encode())
        yield
    finally:
        # Taken away while it is held: whoever waits for it sees that it is another file by then.
        with suppress(OSError):  # Windows keeps what is open
            path.unlink()
        os.close(handle)


def _holder(handle: int) -> str:
    try:
        told = os.read(handle, 200).decode(errors="replace").strip()
    except OSError:  # Windows locks what is in the file, too
        told = ""
    return told or "another process"


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _take(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows has locks of its own
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
