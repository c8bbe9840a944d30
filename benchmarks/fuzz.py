"""Generated inputs for everything that reads: a sentence or a result, never a crash, a hang or a traceback.

Files as whyclust and others write them are changed at random: bytes, members of archives with checksums that
fit again, descriptions in JSON signed again, spellings of numbers and dates. Input number n of a reader is
the same in every run. A reader may return, or raise ValueError, TypeError (of labels), OSError or ImportError
with a sentence; all else is found, as are more than 20 seconds, a killed process, and raw errors of other
libraries. Prints JSON, writes ``benchmarks/results/fuzz.json`` and a page beside it, and goes on where it
was stopped.

    python benchmarks/fuzz.py
    python benchmarks/fuzz.py --sets 'labels' --fresh
    python benchmarks/fuzz.py --sets 'labels' --show 17
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from running_parts.files import earlier, machine, write
from running_parts.running import arguments, target_of, tell

CHUNK = 2500
SECONDS = 20
# Of addresses: inputs are of a few kilobytes.
MOST_MEMORY = 8 << 30
ALLOWED = (ValueError, TypeError, OSError, FileNotFoundError, ImportError, ModuleNotFoundError)


class _HangError(BaseException):
    """Too long."""


def _is_sentence(error: BaseException) -> bool:
    """Whether an error is meant for people: of a plain type, and with a full stop."""
    told = str(error).strip()
    return type(error) in ALLOWED and told.endswith((".", "?", ")"))


def _where(error: BaseException) -> str:
    """The last line of the library, which names the fault."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if f"{os.sep}whyclust{os.sep}" in frame.filename]
    last = (own or frames)[-1]
    return f"{Path(last.filename).name}:{last.name}"


def made_by(reader: Any, name: str, number: int) -> Any:
    """Input of this number; where a change could not be made (a name that no archive takes) another one."""
    for attempt in ("", " again", " once more", " at last"):
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reader.made(random.Random(f"{name} {number}{attempt}"))
    raise RuntimeError(f"{name} {number} cannot be made")


def child(name: str, start: int, stop: int) -> None:
    """Read inputs in this process, which the parent may have to kill; a line of JSON for each fault."""
    import resource
    import signal

    from fuzz_parts.readers import READERS

    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    def ring(*_: Any) -> None:
        raise _HangError

    # Of this process: others may have the machine, too. A wait without end is for the parent to see.
    signal.signal(signal.SIGPROF, ring)
    reader, counts = READERS[name], {"read": 0, "refused": 0}
    with tempfile.TemporaryDirectory(prefix="whyclust-fuzz-") as folder, contextlib.suppress(Exception):
        reader.read(reader.made(random.Random(0)), Path(folder))  # imports what it needs
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(start, stop):
        print(json.dumps({"at": number}), flush=True)
        given = made_by(reader, name, number)
        with tempfile.TemporaryDirectory(prefix="whyclust-fuzz-") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                reader.read(given, Path(folder))
                counts["read"] += 1
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                if _is_sentence(error):
                    counts["refused"] += 1
                else:
                    told = {"number": number, "error": type(error).__name__, "where": _where(error)}
                    print(json.dumps({"fault": {**told, "told": str(error)[:300]}}), flush=True)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    print(json.dumps({"counts": counts, "grown_mb": grown}), flush=True)


def run_chunk(name: str, start: int, stop: int) -> dict[str, Any]:
    """Read inputs in processes of their own; one that dies takes only its input with it."""
    found: dict[str, Any] = {"read": 0, "refused": 0, "faults": [], "grown_mb": 0}
    while start < stop:
        command = [sys.executable, __file__, "--child", name, str(start), str(stop)]
        begun = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60 + SECONDS * 60)
            code, printed, told = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as error:
            code, told = "hang", f"no end after {time.monotonic() - begun:.0f} s"
            printed = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        lines = [
            json.loads(line) for line in printed.splitlines() if line.startswith("{") and line.endswith("}")
        ]
        found["faults"] += [line["fault"] for line in lines if "fault" in line]
        for line in lines:
            if "counts" in line:
                found["read"] += line["counts"]["read"]
                found["refused"] += line["counts"]["refused"]
                found["grown_mb"] = max(found["grown_mb"], line["grown_mb"])
                return found
        places = [line["at"] for line in lines if "at" in line]
        if not places:
            raise RuntimeError(f"{name} could not be tried: {told[-2000:]}")
        fault = {"number": places[-1], "error": f"died ({code})", "where": "", "told": told[-300:]}
        found["faults"].append(fault)
        # What was counted there is lost with the process, and not told.
        start = places[-1] + 1
    return found


def page(result: dict[str, Any]) -> str:
    readers = result["readers"]
    total = sum(one["inputs"] for one in readers.values())
    faults = sum(len(one["faults"]) for one in readers.values())
    lines = [
        "# Generated inputs",
        "",
        f"Measured by `benchmarks/fuzz.py`: {total:,} generated inputs, **{faults} faults** (crashes, hangs, "
        "tracebacks, errors that are no sentence). What an earlier run has found is mended and kept in "
        "`tests/test_found_inputs.py`.",
        "",
        "| reader | inputs | read | refused in a sentence | faults | memory beside the first input, MB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, one in readers.items():
        cells = [one["inputs"], one["read"], one["refused"], len(one["faults"]), one["grown_mb"]]
        lines.append(f"| {name} | {' | '.join(f'{cell:,}' for cell in cells)} |")
    for name, one in readers.items():
        for fault in one["faults"]:
            lines += [
                "",
                f"- {name}, input {fault['number']}: {fault['error']} in {fault['where']}: {fault['told']}",
            ]
    return "\n".join([*lines, ""])


def measure(options: Any) -> dict[str, Any]:
    from fuzz_parts.readers import READERS

    target = target_of(options, "fuzz")
    before = earlier(target, options.quick)
    result = {"machine": machine(), "quick": options.quick, "readers": before.get("readers", {})}
    chosen = options.sets.split(";") if options.sets else [*READERS]
    if options.quick:
        chosen = ["tables, .csv", "labels"]
    for name in chosen:
        empty = {"inputs": 0, "read": 0, "refused": 0, "faults": [], "grown_mb": 0}
        if options.fresh:
            result["readers"].pop(name, None)
        one = result["readers"].setdefault(name, empty)
        wanted = 20 if options.quick else (options.inputs or READERS[name].inputs)
        while one["inputs"] < wanted:
            stop = min(one["inputs"] + CHUNK, wanted)
            found = run_chunk(name, one["inputs"], stop)
            one["inputs"] = stop
            for key in ("read", "refused", "faults"):
                one[key] += found[key]
            one["grown_mb"] = max(one["grown_mb"], found["grown_mb"])
            result["readers"] = {key: result["readers"][key] for key in READERS if key in result["readers"]}
            write(result, target, page)
            tell(f"{name}: {stop} inputs, {len(one['faults'])} faults")
    print(write(result, target, page))
    return result


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    parser = arguments(__doc__, "quick fresh sets out", sets="only these readers, separated by semicolons")
    parser.add_argument("--inputs", type=int, help="so many of each reader")
    parser.add_argument("--show", type=int, help="read the input of this number here, with its traceback")
    options = parser.parse_args()
    if options.show is not None:
        from fuzz_parts.readers import READERS

        given = made_by(READERS[options.sets], options.sets, options.show)
        print(repr(given)[:20_000])
        with tempfile.TemporaryDirectory() as folder:
            print(READERS[options.sets].read(given, Path(folder)))
        return
    result = measure(options)
    if any(one["faults"] for one in result["readers"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
