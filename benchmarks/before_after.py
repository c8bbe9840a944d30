"""Is a version slower than another? Both are timed by turns, in one run.

    python benchmarks/before_after.py --before ../earlier/src --after src

In every round both versions have a process of their own, and these do the same pieces of work by turns, each
time in the other order, so that a noisy neighbour hits both alike. Three ratios of after to before are
taken: of the two that stand side by side, the median of all; of the best in each round, the median over the
rounds; and of the best of all. A piece is called slower where all three are above 1.05: one alone is often
chance. Imports are timed in processes of their own.

All times are CPU seconds with one thread. Only ratios mean something, and those of the first row, the same
work in both, tell how much is chance: where they are far from 1, take more ``--rounds`` and ``--turns``.

Prints a table; ``--out`` writes JSON and the table beside it. ``--quick`` takes little work of one version,
to see that it runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from before_after_parts.working import QUICK, WORKS
from running_parts.files import machine, write
from running_parts.running import arguments, tell

HERE = Path(__file__).parent
SIDES = ("before", "after")
# Beyond this a piece is called slower.
SLOWER = 1.05
IMPORTS = ("import whyclust", "import whyclust; whyclust.explain")

# Of each piece, by rounds, the seconds of both sides.
Timings = dict[str, list[dict[str, list[float]]]]


def environment(src: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(src.resolve()), "OMP_NUM_THREADS": "1"}


class Worker:
    """A process that works with one version of the sources."""

    def __init__(self, src: Path, quick: bool) -> None:
        command = [sys.executable, str(HERE / "before_after_parts" / "working.py")]
        self.process = subprocess.Popen(
            [*command, "--quick"] if quick else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(src),
        )
        found = Path(self._answer())
        if src.resolve() not in found.resolve().parents:
            raise SystemExit(f"{src} was to be timed, but {found} was imported: does it hold the package?")

    def _answer(self) -> str:
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            raise SystemExit(f"A process ended with code {self.process.wait()} before it had answered.")
        return line.strip()

    def seconds(self, name: str) -> float:
        """CPU seconds of a piece of work."""
        if self.process.stdin:
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()
        return float(self._answer())

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *details: object) -> None:
        self.process.communicate()  # no more input: it ends


def by_turns(timed: dict[str, Callable[[], float]], number: int, turns: int) -> dict[str, list[float]]:
    """Seconds of both sides, by turns; the first of a pair is the other one each time."""
    found: dict[str, list[float]] = {side: [] for side in SIDES}
    for turn in range(turns):
        for side in SIDES if (number + turn) % 2 else SIDES[::-1]:
            found[side].append(timed[side]())
    return found


def worked(sources: dict[str, Path], names: list[str], rounds: int, turns: int, quick: bool) -> Timings:
    """Pieces of work, in pairs of processes."""
    found: Timings = {name: [] for name in names}
    for number in range(rounds if names else 0):
        with Worker(sources["before"], quick) as before, Worker(sources["after"], quick) as after:
            workers = {"before": before.seconds, "after": after.seconds}
            for name in names:
                found[name].append(
                    by_turns({side: partial(work, name) for side, work in workers.items()}, number, turns)
                )
        tell(f"round {number + 1} of {rounds}")
    return found


def imported(sources: dict[str, Path], names: list[str], rounds: int, turns: int) -> Timings:
    """Imports, each in a process of its own."""

    def seconds(src: Path, statement: str) -> float:
        code = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment(src), capture_output=True, text=True, check=True)
        return float(done.stdout)

    return {
        name: [
            by_turns({side: partial(seconds, src, name) for side, src in sources.items()}, number, turns)
            for number in range(rounds)
        ]
        for name in names
    }


def ratios(name: str, rounds: list[dict[str, list[float]]]) -> dict[str, Any]:
    """After against before, in three ways."""
    before, after = (np.array([one[side] for one in rounds]) for side in SIDES)
    best = after.min(axis=1) / before.min(axis=1)
    found = {
        "side by side": float(np.median(after / before)),
        "best of a round": float(np.median(best)),
        "best of all": float(after.min() / before.min()),
    }
    return {
        "what": name,
        **{key: round(value, 4) for key, value in found.items()},
        "rounds": [round(float(value), 4) for value in best],
        "seconds_before": round(float(before.min()), 6),
        "slower": min(found.values()) > SLOWER,
    }


def page(result: dict[str, Any]) -> str:
    lines = [
        f"After against before, {result['rounds']} rounds of {result['turns']} turns, CPU seconds of one "
        "thread.",
        "",
        "| what | side by side | best of a round | best of all | seconds before | |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        numbers = [f"{row[key]:.3f}" for key in ("side by side", "best of a round", "best of all")]
        numbers.append(f"{row['seconds_before']:.4g}")
        lines.append(f"| {row['what']} | {' | '.join(numbers)} | {'**slower**' if row['slower'] else ''} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = arguments(__doc__, "quick out", quick="little work, to see that it runs")
    parser.add_argument("--before", type=Path, default=HERE.parent / "src", help="sources of one version")
    parser.add_argument("--after", type=Path, default=HERE.parent / "src", help="sources of the other")
    parser.add_argument("--rounds", type=int, default=6, help="pairs of processes")
    parser.add_argument("--turns", type=int, default=8, help="how often each does a piece of work in a round")
    parser.add_argument("--only", help="pieces of work whose names hold this")
    options = parser.parse_args()
    rounds, turns = (1, 1) if options.quick else (options.rounds, options.turns)
    sources = {"before": options.before, "after": options.after}
    names = [name for name in (QUICK if options.quick else WORKS) if (options.only or "") in name]
    statements = [] if options.quick else [name for name in IMPORTS if (options.only or "") in name]
    found = worked(sources, names, rounds, turns, options.quick)
    found |= imported(sources, statements, rounds, turns)
    result = {
        "machine": machine(),
        "quick": options.quick,
        "rounds": rounds,
        "turns": turns,
        "rows": [ratios(name, timings) for name, timings in found.items()],
    }
    text = write(result, options.out, page)
    print(text if options.quick else page(result))


if __name__ == "__main__":
    main()
