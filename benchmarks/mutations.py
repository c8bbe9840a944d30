"""Do the tests notice? Small mistakes put into the library one at a time, and the tests that must fail.

Every mutation is a text of the library and what is put in its place (``mutation_parts``). The library is
copied to a temporary folder and changed there, and the tests named with the mutation run against the copy:
*killed* if one fails, *survived* if none does. Tests that fail without the change, too, or cannot be run,
are told as *broken*. Prints JSON, writes ``benchmarks/results/mutations.json`` and a page beside it after
every mutation, and goes on where an earlier run of the same library and tests was stopped.

    python benchmarks/mutations.py --jobs 2
    python benchmarks/mutations.py --only 'DKM anneals too fast'
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

from mutation_parts.blocks import BLOCKS
from mutation_parts.cluster import CLUSTER
from mutation_parts.deep import DEEP
from mutation_parts.metrics import METRICS
from mutation_parts.mutation import ROOT, SOURCE, TESTS, Mutation, read_sources
from mutation_parts.network import NETWORK
from mutation_parts.propagate import PROPAGATE
from mutation_parts.telling import FILES, TABLES, TELLING
from mutation_parts.trust import ANSWERS, COLUMNS, COMMAND, READING, SAVING
from running_parts.files import earlier, machine, write
from running_parts.running import arguments, target_of, tell

SUBJECTS: dict[str, tuple[Mutation, ...]] = {
    "network": NETWORK,
    "propagation": PROPAGATE,
    "clusterings, labels and surrogates": CLUSTER,
    "metrics, baselines and audit": METRICS,
    "deep clusterings": DEEP,
    "tables": TABLES,
    "files": FILES,
    "summaries and reports": TELLING,
    "whole files, and files made to do harm": SAVING,
    "readers": READING,
    "columns": COLUMNS,
    "answers": ANSWERS,
    "command line": COMMAND,
    "tables by block": BLOCKS,
}
# Its tests fit nothing: most of their time is imports.
QUICK = "1,234 is a thousand where semicolons separate"
# A test that hangs has noticed, too.
_SECONDS = 1200
# What pytest returns: all passed, some failed.
_PASSED, _FAILED = 0, 1


def all_mutations() -> list[Mutation]:
    """Every mutation, each with a name of its own, a text that is found and tests that are there."""
    found = [mutation for part in SUBJECTS.values() for mutation in part]
    repeated = [name for name, count in Counter(one.name for one in found).items() if count > 1]
    if repeated:
        raise ValueError(f"Two mutations are called {repeated[0]!r}: give each a name of its own.")
    sources = read_sources()
    for mutation in found:
        mutation.place(sources)
        mutation.check_tests()
    return found


def state() -> str:
    """A short text that differs where the library or its tests do."""
    digest = hashlib.sha256()
    for root in (SOURCE, TESTS):
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def run_tests(selection: Sequence[str], library: Path) -> tuple[int, str]:
    """What pytest returns for these tests on a copy of the library, and its last line."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {**os.environ, "PYTHONPATH": str(library), "OMP_NUM_THREADS": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        done = subprocess.run(
            [*command, *selection],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return _FAILED, f"no end after {_SECONDS} seconds"
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return done.returncode, (failed or lines or [done.stderr.strip()[-200:]])[-1][:200]


def run_on_copy(selection: Sequence[str], mutation: Mutation | None = None) -> tuple[int, str]:
    """Run tests on a copy of the library, with one mistake or none."""
    with tempfile.TemporaryDirectory(prefix="whyclust-mutation-") as folder:
        library = Path(folder)
        shutil.copytree(SOURCE / "whyclust", library / "whyclust", ignore=shutil.ignore_patterns("*.pyc"))
        if mutation is not None:
            path = library / mutation.place(read_sources())
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(mutation.find, mutation.put), encoding="utf-8")
        return run_tests(selection, library)


def refuse_other_library() -> None:
    """Tests must import the copy, not what is installed."""
    with tempfile.TemporaryDirectory(prefix="whyclust-mutation-") as folder:
        (Path(folder) / "whyclust").mkdir()
        (Path(folder) / "whyclust" / "__init__.py").write_text("", encoding="utf-8")
        found = subprocess.run(
            [sys.executable, "-c", "import whyclust; print(whyclust.__file__)"],
            env={**os.environ, "PYTHONPATH": folder},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        if not found.startswith(folder):
            raise RuntimeError(f"Tests would import {found}, not the copy in {folder}.")


@cache
def without_mistake(selection: tuple[str, ...]) -> tuple[int, str]:
    """The same tests on the library as it is, which must pass."""
    return run_on_copy(selection)


def try_mutation(mutation: Mutation, at: str) -> dict[str, Any]:
    """Put the mistake in, and see."""
    start = time.perf_counter()
    code, told = run_on_copy(mutation.selection, mutation)
    verdict = {_PASSED: "survived", _FAILED: "killed"}.get(code, "broken")
    if verdict == "killed":
        code, without = without_mistake(tuple(mutation.selection))
        verdict, told = ("killed", told) if code == _PASSED else ("broken", without)
    seconds = round(time.perf_counter() - start, 1)
    return {**mutation.to_json(), "verdict": verdict, "told": told, "seconds": seconds, "state": at}


def still_holds(found: dict[str, Any], mutation: Mutation, at: str) -> bool:
    """Whether an earlier result is of this mutation, of this library and of these tests."""
    return found["state"] == at and all(found[key] == value for key, value in mutation.to_json().items())


def page(result: dict[str, Any]) -> str:
    found = result["mutations"]
    counts = Counter(one["verdict"] for one in found.values())
    lines = [
        "# Mutations",
        "",
        f"Measured by `benchmarks/mutations.py`: {len(found)} small mistakes, put into the library one at a "
        f"time; **{counts['killed']} killed**, {counts['survived']} survived, {counts['broken']} broken. "
        f"{result['stale']} results are of an earlier state of the library or its tests.",
        "",
    ]
    for subject, mutations in SUBJECTS.items():
        tried = [found[one.name] for one in mutations if one.name in found]
        if not tried:
            continue
        lines += [
            f"## {subject.capitalize()}",
            "",
            "| mistake | in place of | put | verdict |",
            "|---|---|---|---|",
        ]
        for one in tried:
            cells = [one["name"], f"`{_cell(one['find'])}`", f"`{_cell(one['put'])}`", one["verdict"]]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def measure(chosen: Iterable[Mutation], options: argparse.Namespace, target: Path | None) -> dict[str, Any]:
    """Try mutations that have not been tried yet, and write after each of them."""
    at = state()
    known = {mutation.name for mutation in all_mutations()}
    before = {} if options.fresh else earlier(target, options.quick).get("mutations", {})
    kept = {name: one for name, one in before.items() if name in known}
    result: dict[str, Any] = {
        "machine": machine(),
        "quick": options.quick,
        "state": at,
        "stale": 0,
        "mutations": kept,
    }
    waiting = [
        one
        for one in chosen
        if options.only or not (one.name in kept and still_holds(kept[one.name], one, at))
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(try_mutation, mutation, at): mutation for mutation in waiting}
        for done in as_completed(running):
            one = done.result()
            kept[one["name"]] = one
            result["stale"] = sum(other["state"] != at for other in kept.values())
            write(result, target, page)
            tell(f"{len(waiting)} to try; {one['verdict']}: {one['name']} ({one['told']})")
    return result


def main() -> None:
    helps = {"quick": "one mutation, only to see that it runs", "fresh": "forget earlier results"}
    parser = arguments(__doc__, "quick fresh jobs out", jobs="mutations tried at a time", **helps)
    parser.add_argument("--only", action="append", help="names of mutations, or parts of them")
    options = parser.parse_args()
    chosen = all_mutations()
    if options.only:
        chosen = [one for one in chosen if any(part in one.name for part in options.only)]
        if not chosen:
            parser.error(f"no mutation is called {options.only[0]!r}")
    if options.quick:
        chosen = [one for one in chosen if one.name == QUICK]
    refuse_other_library()
    target = target_of(options, "mutations")
    result = measure(chosen, options, target)
    print(write(result, target, page))
    if any(one["verdict"] != "killed" for one in result["mutations"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
