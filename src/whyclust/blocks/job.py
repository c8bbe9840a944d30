"""What is finished of a job, in a folder: whoever goes on computes nothing twice.

A part is what a stage has found of a block, in a file that is whole or not there, written by whoever
computed it. The manifest tells what the job is and which parts there are, with their digests.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyclust import __version__
from whyclust.blocks.engines import Engine
from whyclust.blocks.source import Block
from whyclust.saving.atomic import clear_leftovers, write_whole
from whyclust.saving.digest import sum_of
from whyclust.saving.files import load, save
from whyclust.saving.packing import as_ndarray, pack
from whyclust.saving.registry import saved

# Where a job is while it is not finished, in the folder of its results.
UNFINISHED = "unfinished"
MANIFEST = "manifest.json"
# Where rows of CSV files are kept as Parquet.
STAGED = "staged"
# Seconds between two writes of the manifest: parts tell of themselves meanwhile.
_OFTEN = 5.0


@saved(name="PartOfJob")
@dataclass(frozen=True, eq=False)
class Part:
    """What a stage has found of a block.

    Attributes
    ----------
    job : str
        The digest of the job that it belongs to.
    stage : str
    block : int or None
        The number of the block; None for what concerns none.
    value : object
        Whatever can be saved. Of a dictionary, the entry 'files' has files written beside, with the SHA-256
        of each.
    """

    job: str
    stage: str
    block: int | None
    value: Any


@dataclass(frozen=True)
class Task:
    """What a worker is told beside a block."""

    function: Callable[[Block, Any], Any]
    state: Any
    folder: Path
    job: str
    stage: str


class Job:
    """A job and its folder, which the caller has locked.

    Parameters
    ----------
    out : pathlib.Path
        The folder of the results.
    defined : mapping
        What makes it this job and no other, as JSON can tell it: options, files, versions.
    told : mapping
        What is asked beside, such as names of clusters: whoever goes on may ask otherwise.
    resume : bool
        Whether to go on with what is there.

    Raises
    ------
    ValueError
        Where there is an unfinished job and `resume` was not asked for, and where it is another one.
    """

    def __init__(
        self,
        out: Path,
        defined: Mapping[str, Any],
        *,
        told: Mapping[str, Any] | None = None,
        resume: bool = False,
    ) -> None:
        self.folder = out / UNFINISHED
        self.told = json.loads(json.dumps(told or {}))
        self.defined = json.loads(json.dumps({**defined, "version": __version__}))
        self.digest = digest_of_json(self.defined)
        #: Files of results, with their digests, once all of them are there.
        self.results: dict[str, str] = {}
        self._parts: dict[str, dict[str, str]] = {}
        self._written = 0.0
        self._goes_on = self._refused = False
        known = read_manifest(self.folder / MANIFEST)
        if known is not None and (known.get("refused") or not self._has_parts(known)):
            self._clear(known)
        elif known is not None:
            if not resume:
                raise ValueError(
                    f"'{self.folder}' holds a job that was not finished: --resume goes on with it; take the "
                    "folder away to begin anew, or name another --out."
                )
            refuse_other_job(self.folder, known, self.defined)
            self._parts, self.results = known["parts"], known.get("results", {})
            for stage in [self.folder, *(one for one in self.folder.iterdir() if one.is_dir())]:
                clear_leftovers(stage)
            self._goes_on = True
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise ValueError(
                f"'{self.folder}' is there and holds no manifest that can be read: take it away, or name "
                "another --out."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write_manifest()

    def _has_parts(self, known: Mapping[str, Any]) -> bool:
        """Whether anything was computed; the manifest may not tell of the last parts."""
        return bool(known["parts"]) or any(self.folder.rglob("*.npz"))

    def _clear(self, known: Mapping[str, Any]) -> None:
        """Take away what no job goes on with; rows of CSV files are those of any job of these files."""
        same = all(known["defined"].get(key) == self.defined.get(key) for key in ("files", "version"))
        for one in self.folder.iterdir():
            if one.is_dir() and not (same and one.name == STAGED):
                shutil.rmtree(one)

    @contextmanager
    def may_be_refused(self) -> Iterator[None]:
        """What is refused before its first result would be refused again: nobody goes on with it."""
        try:
            yield
        except ValueError:
            if not self._goes_on and not any(self.folder.glob("*.npz")):
                self._refused = True
                # Workers may still write into folders of stages: whoever comes next takes these away.
                if any(one.is_dir() for one in self.folder.iterdir()):
                    self.write_manifest()
                else:
                    self.finish()
            raise

    # --- parts ---------------------------------------------------------------------------------

    def run(
        self,
        stage: str,
        function: Callable[[Block, Any], Any],
        blocks: Sequence[Block],
        state: Any,
        engine: Engine,
    ) -> Iterator[Any]:
        """What a stage finds of every block, in order: read where it is finished, else computed and kept."""
        folder = self.folder / stage
        folder.mkdir(exist_ok=True)
        finished = {block.number for block in blocks if self._is_finished(stage, block)}
        left = [block for block in blocks if block.number not in finished]
        computed = iter(engine.map(compute, left, Task(function, state, self.folder, self.digest, stage)))
        for block in blocks:
            if block.number in finished:
                value = load(part_path(self.folder, stage, block)).value
            else:
                value, digest = next(computed)
                self._parts.setdefault(stage, {})[str(block.number)] = digest
                self.write_manifest(often=True)
            yield value
        self.write_manifest()

    def _is_finished(self, stage: str, block: Block) -> bool:
        path = part_path(self.folder, stage, block)
        if not path.exists():
            return False
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        known = self._parts.setdefault(stage, {}).get(str(block.number), digest)
        try:
            part = load(path)
        except (ValueError, ImportError):
            part = None
        right = part is not None and digest == known and _key(part) == (self.digest, stage, block.number)
        if right and isinstance(part.value, dict):
            files = part.value.get("files", {})
            # Of all bytes: the digest inside a file stays the same where another bit has changed.
            right = all(_sum(self.folder / name) == digest for name, digest in files.items())
        if right:
            self._parts[stage][str(block.number)] = digest
        else:
            self._parts[stage].pop(str(block.number), None)
        return right

    # --- what concerns no block ----------------------------------------------------------------

    def keep(self, name: str, value: Any) -> None:
        """Keep something under a name; what was there is replaced, whole."""
        save(Part(self.digest, name, None, value), self.folder / f"{name}.npz")

    def kept(self, name: str) -> Any:
        """What was kept, or None."""
        path = self.folder / f"{name}.npz"
        if not path.exists():
            return None
        try:
            part = load(path)
        except ValueError:
            return None
        return part.value if _key(part) == (self.digest, name, None) else None

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What was kept under a name, or else what is made now, and kept."""
        found = self.kept(name)
        if found is None:
            found = make()
            self.keep(name, found)
        return found

    def forget(self, name: str) -> None:
        """Take away what was kept under a name, or what a stage has found."""
        self._parts.pop(name, None)
        shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / f"{name}.npz").unlink(missing_ok=True)

    # --- manifest ------------------------------------------------------------------------------

    def write_manifest(self, *, often: bool = False) -> None:
        """Write what is finished; called `often`, only now and then."""
        now = time.monotonic()
        if often and now - self._written < _OFTEN:
            return
        text = json.dumps(self.manifest(), indent=1, ensure_ascii=False)
        write_whole(self.folder / MANIFEST, lambda stream: stream.write(text.encode()))
        self._written = now

    def manifest(self) -> dict[str, Any]:
        """What the job is, and its parts with their digests."""
        told = {
            "format": 1,
            "job": self.digest,
            "defined": self.defined,
            "told": self.told,
            "parts": self._parts,
            "results": self.results,
            **({"refused": True} if self._refused else {}),
        }
        return {**told, "sha256": digest_of_json(told)}

    def finish(self) -> None:
        """Take the folder away: everything has been moved to where it belongs."""
        shutil.rmtree(self.folder)


def part_path(folder: Path, stage: str, block: Block) -> Path:
    """The file of a part."""
    return folder / stage / f"{block.number:06d}.npz"


def compute(block: Block, task: Task) -> tuple[Any, str]:
    """Compute a part and write it; return what was found and the digest of the file. Workers run this."""
    value = task.function(block, task.state)
    path = part_path(task.folder, task.stage, block)
    save(Part(task.job, task.stage, block.number, value), path)
    return value, hashlib.sha256(path.read_bytes()).hexdigest()


def _key(part: Any) -> tuple[str, str, int | None] | None:
    return (part.job, part.stage, part.block) if isinstance(part, Part) else None


def _sum(path: Path) -> str | None:
    """The digest of a file; None where there is none."""
    try:
        return sum_of(path)
    except OSError:
        return None


def digest_of_json(value: Any) -> str:
    """The digest of what JSON can tell, whatever the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def digest_of(thing: Any) -> str:
    """The digest of whatever can be saved."""
    content, arrays = pack(thing)
    found = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name in sorted(arrays):
        found.update(name.encode() + as_ndarray(arrays[name]).tobytes())
    return found.hexdigest()


def read_manifest(path: Path) -> dict[str, Any] | None:
    """A manifest that is as it was written, or None."""
    try:
        found = json.loads(path.read_bytes())
        told = {key: value for key, value in found.items() if key != "sha256"}
        right = found["sha256"] == digest_of_json(told) and found["format"] == 1
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if right else None


# What differs between two jobs, as the command line calls it; all else is called --like-this.
_CALLED = {
    "files": "files",
    "k": "-k",
    "keep": "--with-data or --no-relevance",
    "rows": "--no-rows",
    "title": "the title",
    "version": "the version of whyclust",
}
_LONGEST_TOLD = 60


def refuse_other_job(folder: Path, known: Mapping[str, Any], defined: Mapping[str, Any]) -> None:
    """Refuse a folder whose manifest is of another job, and say in what they differ."""
    before, now = _options(known["defined"]), _options(defined)
    differ = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
    if not differ:
        return
    # The title tells of files and names: what it is made of differs, too.
    key = min(differ, key=lambda name: (name != "files", name == "title"))
    called = _CALLED.get(key, f"--{key.replace('_', '-')}")
    values = f"was {_told(before.get(key))}, is {_told(now.get(key))}"
    if key == "files":
        told = "its files have changed since, or were others"
    elif key in ("model", "keep", "rows", "audit") or len(values) > _LONGEST_TOLD:
        told = f"{called} differs"
    else:
        told = f"{called} {values}"
    raise ValueError(f"'{folder}' is of another job ({told}): name another --out, or take the folder away.")


def _options(defined: Mapping[str, Any]) -> dict[str, Any]:
    """What defines a job, without the groups in which it is kept."""
    found: dict[str, Any] = {}
    for key, value in defined.items():
        found |= value if key in ("options", "asked", "told") else {key: value}
    return found


def _told(value: Any) -> str:
    """A value as it is typed."""
    if isinstance(value, Mapping):
        value = [f"{key}={name}" for key, name in value.items()]
    if isinstance(value, (list, tuple)):
        value = ",".join(map(str, value)) or None
    return "not given" if value is None else str(value)
