"""What is being done, and how far it is, for whoever waits."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Stages in their order, by how their messages begin, with the share of the time that they usually take.
STAGES = {
    "Reading": 5.0,
    "Preparing": 2.0,
    "Choosing k": 60.0,
    "Clustering": 8.0,
    "Fitting a surrogate": 40.0,
    "Explaining": 8.0,
    "Looking for structure": 40.0,
    "Fitting": 60.0,
    "Scoring": 60.0,
    "Writing": 10.0,
}
# Who waits less than this many seconds needs no line.
PATIENCE = 2.0


class Stages:
    """How far a run is, from what it says of itself.

    Parameters
    ----------
    left_out : iterable of str
        Stages that this run will not have.

    Examples
    --------
    >>> stages = Stages(["Choosing k", "Fitting a surrogate", "Looking for structure", "Fitting", "Scoring"])
    >>> [round(100 * stages.share(text)) for text in ("Reading the table", "Clustering 9 rows", "Writing")]
    [0, 21, 70]
    """

    def __init__(self, left_out: list[str] | None = None) -> None:
        self._weights = {name: weight for name, weight in STAGES.items() if name not in (left_out or [])}
        self._stage: str | None = None
        self._within = 0.0
        self._share = 0.0

    def share(self, message: str) -> float:
        """Between 0 and 1, and never less than before; messages of one stage bring it nearer to its end."""
        stage = next((name for name in self._weights if message.startswith(name)), self._stage)
        if stage is None:
            return self._share
        # How many messages a stage has is not known: each takes a quarter of what is left of it.
        self._within = 0.0 if stage != self._stage else self._within + (1.0 - self._within) / 4
        self._stage = stage
        names = list(self._weights)
        passed = sum(self._weights[name] for name in names[: names.index(stage)])
        found = (passed + self._within * self._weights[stage]) / sum(self._weights.values())
        self._share = max(self._share, found)
        return self._share


@contextmanager
def shown(quiet: bool, left_out: list[str] | None = None) -> Iterator[Callable[[str], None]]:
    """Show stages on standard error: as a bar on a terminal, elsewhere one line a stage if it takes long.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    left_out : list of str
        Stages that this run will not have.

    Yields
    ------
    callable
        To be called with a short text at every step.
    """
    stages = Stages(left_out)
    if quiet:
        yield lambda message: None
    elif not sys.stderr.isatty():
        yield _lines(stages)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as display:
            task = display.add_task("", total=1.0)
            yield lambda message: display.update(task, description=message, completed=stages.share(message))


def _lines(stages: Stages) -> Callable[[str], None]:
    begun, told = time.monotonic(), ""

    def tell(message: str) -> None:
        nonlocal told
        share, stage = stages.share(message), message.split(":")[0]
        if time.monotonic() - begun > PATIENCE and stage != told:
            told = stage
            sys.stderr.write(f"{share:4.0%} {message}\n")
            sys.stderr.flush()

    return tell
