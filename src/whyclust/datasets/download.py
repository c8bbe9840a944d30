"""Files from the network: whole and checked, or not there at all."""

from __future__ import annotations

import hashlib
import http.client
import io
import sys
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from whyclust.saving.atomic import write_whole
from whyclust.saving.limits import refuse_archive

_SECONDS = 30  # without an answer
_CHUNK = 1 << 16


def fetch(url: str, path: Path, *, sha256: str | None = None) -> Path:
    """Download a file, or a file in a zip archive, unless it is there; and check it.

    The checksum of the file's bytes is kept beside it, as ``<file>.sha256``. It is compared with `sha256`
    where that is known. Where it is not, the first download is trusted, and later reads and downloads are
    compared with it.

    Parameters
    ----------
    url : str
        Where the file is. Of a ``.zip`` archive the member with the name of `path` is taken.
    path : Path
        Where it goes.
    sha256 : str, optional
        The checksum it must have.

    Returns
    -------
    Path

    Raises
    ------
    OSError
        If the network or the server does not answer.
    ValueError
        If what came is not what was expected; then nothing is written.
    """
    kept = _checksum_beside(path)
    expected = sha256 or _kept_checksum(kept)
    if path.is_file():
        _compare(path.read_bytes(), expected, f"The file {path}", f"delete {path}, to download it again")
        return path
    content = _content(url)
    if url.endswith(".zip"):
        content = _member(content, path.name, url)
    advice = (
        f"the source has changed: delete {kept} to trust it anew"
        if sha256 is None
        else ("try again later, or put the data set's file into the folder named in WHYCLUST_DATA")
    )
    _compare(content, expected, f"The file {path.name} from {url}", advice)
    return keep(content, path)


def keep(content: bytes, path: Path) -> Path:
    """Write a file of the cache, and its checksum beside it."""
    # The checksum first: a file without one would be trusted unseen.
    found = hashlib.sha256(content).hexdigest()
    write_whole(_checksum_beside(path), lambda stream: stream.write(f"{found}\n".encode("ascii")))
    return write_whole(path, lambda stream: stream.write(content))


def refuse_changed(path: Path) -> None:
    """Raise if a file has not the checksum that stands beside it; without one nothing is known."""
    expected = _kept_checksum(_checksum_beside(path))
    if expected is not None:
        _compare(path.read_bytes(), expected, f"The file {path}", f"delete {path}, to download it again")


def _checksum_beside(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _kept_checksum(kept: Path) -> str | None:
    return kept.read_text(encoding="ascii", errors="replace").strip() if kept.is_file() else None


def _compare(content: bytes, expected: str | None, what: str, advice: str) -> str:
    """The checksum, if it is the expected one."""
    found = hashlib.sha256(content).hexdigest()
    if expected is not None and found != expected:
        raise ValueError(f"{what} has the SHA-256 checksum {found}, expected {expected}: {advice}.")
    return found


def _content(url: str) -> bytes:
    """All bytes behind an address."""
    request = urllib.request.Request(url, headers={"User-Agent": "whyclust"})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            announced = response.headers.get("Content-Length")
            total = int(announced) if announced else None
            parts = []
            with _progress(url.rsplit("/", 1)[-1], total) as advance:
                while part := response.read(_CHUNK):
                    parts.append(part)
                    advance(len(part))
    except urllib.error.HTTPError as error:
        error.close()
        raise ConnectionError(f"the server answered {error.code} {error.reason}") from error
    except http.client.HTTPException as error:
        raise ConnectionError(f"the transfer from {url} broke off ({error!r})") from error
    content = b"".join(parts)
    if total is not None and len(content) != total:
        raise ConnectionError(f"the transfer from {url} ended after {len(content)} of {total} bytes")
    return content


def _member(archive: bytes, name: str, url: str) -> bytes:
    """One file of a zip archive, in whatever folder of it."""
    try:
        refuse_archive(io.BytesIO(archive))
        with zipfile.ZipFile(io.BytesIO(archive)) as file:
            found = [member for member in file.namelist() if member.rsplit("/", 1)[-1] == name]
            if found:
                return file.read(found[0])
            inside = ", ".join(file.namelist()[:5])
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError):
        raise ValueError(f"What came from {url} is no zip archive: try again later.") from None
    except ValueError as error:
        raise ValueError(f"What came from {url} is not taken: {error}") from None
    raise ValueError(f"The archive {url} has no file {name} (but {inside}): the source has changed.")


@contextmanager
def _progress(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar, on a terminal only; elsewhere it would be litter."""
    if not sys.stderr.isatty():
        yield lambda size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    display = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with display:
        task = display.add_task(name, total=total)
        yield lambda size: display.advance(task, size)
