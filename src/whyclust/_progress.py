"""What is being done, and how far it is, for whoever waits more than two seconds.

A long job is done within `waiting`, and says by `stage`, `step` and `done` where it is. On a terminal there
is a bar, which is gone at the end; in a notebook and on the command line one line a stage; elsewhere nothing:
what scripts write, logs and tests stay as they are.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import RLock, Timer, current_thread, main_thread
from typing import Any, Protocol

# Stages of the page of a report, which are also the last ones of the command line.
WRITING = {
    "Writing the report": 2.0,
    "Writing the report: reasons": 10.0,
    "Writing the report: columns that suffice": 10.0,
    "Writing the report: nearest changes": 15.0,
    "Writing the report: the page": 1.0,
}
# Who waits less than this many seconds needs nothing.
PATIENCE = 2.0
# Of one stage there are further lines after so many seconds, and after this part of all that has passed.
_SILENCE, _SHARE = 5.0, 0.2


class Stages:
    """How far a job is, from what it says of itself.

    Parameters
    ----------
    weights : mapping of str to float
        Stages in their order, by how their messages begin, with the share of the time that they usually take.
        Those before the first that is told are left out of it.

    Attributes
    ----------
    message : str
        What is being done.
    share : float
        Between 0 and 1, and never less than before.

    Examples
    --------
    >>> stages = Stages({"Reading": 1.0, "Fitting": 2.0, "Writing": 1.0})
    >>> told = []
    >>> for message in ("Reading the table", "Fitting: first", "Fitting: second", "Writing"):
    ...     stages.begin(message)
    ...     told.append(round(100 * stages.share))
    >>> told
    [0, 25, 33, 75]
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = dict(weights)
        self._stage: str | None = None
        self._first = 0
        # The part of its stage that the step at hand takes.
        self._span = 0.0, 0.0
        self.message, self.share = "", 0.0

    @property
    def left(self) -> list[str]:
        """The stage at hand and those that come after it."""
        names = list(self.weights)
        return names if self._stage is None else names[names.index(self._stage) :]

    def begin(self, message: str) -> None:
        """A step begins. How many a stage has is not known: each takes a sixth of what is left of it."""
        self.message = message
        found = max((name for name in self.weights if message.startswith(name)), key=len, default=self._stage)
        if found is None:
            return
        if self._stage is None:
            self._first = list(self.weights).index(found)
        start = self._span[1] if found == self._stage else 0.0
        self._stage, self._span = found, (start, start + (1.0 - start) / 6)
        self.done(0.0)

    def step(self, place: int, count: int) -> None:
        """The step at hand is one of so many that its stage has."""
        self._span = place / count, (place + 1) / count
        self.done(0.0)

    def done(self, share: float) -> None:
        """So much of the step at hand is over."""
        if self._stage is None:
            return
        weights = list(self.weights.values())[self._first :]
        place = list(self.weights).index(self._stage) - self._first
        start, end = self._span
        within = start + min(max(share, 0.0), 1.0) * (end - start)
        # A stage before the first one that was told adds nothing.
        passed = sum(weights[: max(place, 0)]) + (within * weights[place] if place >= 0 else 0.0)
        self.share = max(self.share, passed / sum(weights))


class Display(Protocol):
    """Where progress is shown."""

    def show(self, share: float, message: str) -> None:
        """So much is over, and this is being done."""
        ...

    def close(self) -> None:
        """All is over."""
        ...


class Bar:
    """A bar on the terminal, which is gone at the end. The job goes on where the terminal is gone first."""

    def __init__(self) -> None:
        self._display: Any = None
        self._task: Any = None
        self._begun = time.monotonic()

    def show(self, share: float, message: str) -> None:
        """Draw it."""
        with suppress(OSError, ValueError):
            if self._display is None:
                self._begin(share, message)
            else:
                self._display.update(self._task, description=message, completed=share)

    def _begin(self, share: float, message: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        columns = (
            SpinnerColumn(),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f}%"),
            # A second line of a narrow terminal would stay there.
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            TimeElapsedColumn(),
        )
        # The streams are the caller's: another thread may be the one that begins.
        self._display = Progress(
            *columns,
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._display.add_task(message, total=1.0, completed=share)
        self._display.tasks[0].start_time = self._begun  # of the job, not of the bar
        self._display.start()

    def close(self) -> None:
        """Take it away."""
        if self._display is not None:
            with suppress(OSError, ValueError):
                self._display.stop()


class Lines:
    """A line on standard error for every stage, and further ones of a stage that takes long."""

    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()
        self._told = ""

    def show(self, share: float, message: str) -> None:
        """Write a line, if it is time."""
        now, stage = time.monotonic(), message.split(":")[0]
        silent = now - self._last
        if stage == self._told and silent < max(_SILENCE, _SHARE * (now - self._begun)):
            return
        self._told, self._last = stage, now
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{share:4.0%} {message}\n")
            sys.stderr.flush()

    def close(self) -> None:
        """Nothing to do."""


class Told:
    """A function that is called with every message once."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._message = ""

    def show(self, share: float, message: str) -> None:
        """Call it, if the message is new."""
        if message != self._message:
            self._message = message
            self._tell(message)

    def close(self) -> None:
        """Nothing to do."""


class Watch:
    """Shows how far a job is, once it has taken longer than anybody likes to wait in silence.

    Parameters
    ----------
    weights : mapping of str to float
        As for `Stages`.
    display : Display or None
        None shows nothing.
    patience : float
        Seconds after the first message; 0 shows it at once.
    """

    def __init__(self, weights: Mapping[str, float], display: Display | None, patience: float) -> None:
        self._stages, self._display, self._patience = Stages(weights), display, patience
        self._seen = patience <= 0
        self._timer: Timer | None = None
        # Two threads show: the one that works, and the one that has waited until patience is over.
        self._lock = RLock()

    def has_any(self, weights: Mapping[str, float]) -> bool:
        """Whether any of these is among its stages, and not over."""
        return not weights.keys().isdisjoint(self._stages.left)

    def stage(self, message: str) -> None:
        """A step begins."""
        self._tell(lambda: self._stages.begin(message))

    def step(self, place: int, count: int) -> None:
        """It is one of so many of its stage."""
        self._tell(lambda: self._stages.step(place, count))

    def done(self, share: float) -> None:
        """So much of it is over."""
        self._tell(lambda: self._stages.done(share))

    def _tell(self, change: Callable[[], None]) -> None:
        if self._display is None:
            return
        with self._lock:
            change()
            if self._seen:
                self._show()
            elif self._timer is None:
                self._timer = Timer(self._patience, self._patience_is_over)
                self._timer.daemon = True
                self._timer.start()

    def _patience_is_over(self) -> None:
        with self._lock:
            self._seen = True
            self._show()

    def _show(self) -> None:
        if self._display is not None and self._stages.message:
            self._display.show(self._stages.share, self._stages.message)

    def close(self) -> None:
        """All is over."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            display, self._display = self._display, None
            if display is not None:
                display.close()


_watch: ContextVar[Watch | None] = ContextVar("whyclust_watch", default=None)


def _nothing(message: str) -> None:
    """What is told goes nowhere."""


def stage(message: str) -> None:
    """Say what is begun: a stage, or after a colon a step of it."""
    watch = _watch.get()
    if watch is not None:
        watch.stage(message)


def step(place: int, count: int) -> None:
    """Say that what has begun is one of so many steps of its stage."""
    watch = _watch.get()
    if watch is not None:
        watch.step(place, count)


def done(share: float) -> None:
    """Say how much of the step at hand is over, between 0 and 1."""
    watch = _watch.get()
    if watch is not None:
        watch.done(share)


def is_watched() -> bool:
    """Whether this is done within a job that is watched, and shown if it takes long."""
    return _watch.get() is not None


@contextmanager
def waiting(
    weights: Mapping[str, float], tell: Callable[[str], None] | None = None
) -> Iterator[Callable[[str], None]]:
    """Show what is done within, if it takes long and somebody looks.

    Parameters
    ----------
    weights : mapping of str to float
        As for `Stages`.
    tell : callable, optional
        To be called with every message, instead of anything that is shown. The function that a watched job
        yielded goes on with that job.

    Yields
    ------
    callable
        To be called at every step with a text. A job within a job is heard if that one has such a
        stage, and it is not over.
    """
    around = _watch.get()
    if around is not None and (around.has_any(weights) if tell is None else tell == around.stage):
        yield around.stage
        return
    display = Told(tell) if tell is not None else _display() if around is None else None
    if display is None and around is None:
        yield _nothing
        return
    with watched(Watch(weights, display, PATIENCE if tell is None else 0.0)) as watch:
        yield watch.stage


@contextmanager
def watched(watch: Watch) -> Iterator[Watch]:
    """Everything that is done within is told to this one."""
    before = _watch.set(watch)
    try:
        yield watch
    finally:
        _watch.reset(before)
        watch.close()


def _display() -> Display | None:
    """What somebody would see; threads and processes that work for another one show nothing."""
    if current_thread() is not main_thread():
        return None
    if _on_terminal():
        from multiprocessing import current_process

        return Bar() if current_process().name == "MainProcess" else None
    return Lines() if _in_notebook() else None


def _on_terminal() -> bool:
    """Whether standard error is a terminal that a bar can be drawn on; it may be anything that has write."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # a logger; a file that is closed
        return False


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None
