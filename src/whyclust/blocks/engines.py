"""Who computes: this process, several of this machine, or those of a dask scheduler.

All have one method, ``map(function, blocks, state)``, and give results in the order of the blocks, with few
of them under way at a time. State is small and travels with every call: what is scattered among workers is
lost with them.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from whyclust._checks import did_you_mean
from whyclust._extras import missing

Function = Callable[[Any, Any], Any]

NAMES = ("process", "processes", "dask")
# Blocks under way for each worker: one is computed, one waits.
AHEAD = 2
# A worker that was killed is started again; a block that ends so many of them is not tried once more.
MOST_ATTEMPTS = 4
# One thread for each worker: they share the machine already.
_SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Ctrl-C reaches all processes of a terminal: the one that asks tells of it.
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


class Engine(Protocol):
    """What maps a function over blocks."""

    def map(self, function: Function, blocks: Iterable[Any], state: Any) -> Iterator[Any]:
        """``function(block, state)`` of every block, in their order."""

    def close(self) -> None:
        """Let the workers go."""


class ThisProcess:
    """One block after the other, here.

    Examples
    --------
    >>> list(ThisProcess().map(pow, [2, 3], 2))
    [4, 9]
    """

    def map(self, function: Function, blocks: Iterable[Any], state: Any) -> Iterator[Any]:
        """``function(block, state)`` of every block, in their order."""
        return (function(block, state) for block in blocks)

    def close(self) -> None:
        """Nothing is to be let go."""


class Processes:
    """Several processes of this machine, started anew where one is killed.

    Parameters
    ----------
    workers : int, optional
        As many as there are processors by default.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None

    def map(self, function: Function, blocks: Iterable[Any], state: Any) -> Iterator[Any]:
        """``function(block, state)`` of every block, in their order."""
        left = iter(blocks)
        under_way: deque[tuple[Any, Future]] = deque()
        attempts = 0
        while True:
            while len(under_way) < AHEAD * self.workers and (block := next(left, None)) is not None:
                under_way.append((block, self._submit(function, block, state)))
            if not under_way:
                return
            try:
                found = under_way[0][1].result()
            except BrokenProcessPool:
                attempts += 1
                if attempts == MOST_ATTEMPTS:
                    raise RuntimeError(
                        f"Workers were killed {attempts} times in a row, by lack of memory perhaps: use "
                        "fewer --workers, and --resume to go on."
                    ) from None
                self.close()
                again = [block for block, _ in under_way]
                under_way = deque((block, self._submit(function, block, state)) for block in again)
                continue
            attempts = 0
            under_way.popleft()
            yield found

    def _submit(self, function: Function, block: Any, state: Any) -> Future:
        if self._pool is None:
            # A fork of a process with threads may stand still for ever.
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=spawn, initializer=begin_worker)
        try:
            return self._pool.submit(function, block, state)
        except BrokenProcessPool as error:
            # Told where its result is asked for, as that of any other.
            broken: Future = Future()
            broken.set_exception(error)
            return broken

    def close(self) -> None:
        """Let the workers go."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def begin_worker() -> None:
    """Keep to one thread, and end when the process that asks is gone: nobody else would end the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in _DEAF
    single_thread()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def single_thread() -> None:
    """Keep a worker's products of matrices to one thread."""
    import threadpoolctl

    for name in _SINGLE:
        os.environ[name] = "1"
    threadpoolctl.threadpool_limits(1)


class Dask:
    """The workers of a dask scheduler: those of a machine, or of many.

    A block of a worker that is lost is computed by another one: the scheduler sees to it. Blocks are read and
    results written by the workers, so all of them need the same folders.

    Parameters
    ----------
    scheduler : str, optional
        Its address, tcp://...; without one, processes of this machine are started.
    workers : int, optional
        How many are started without an address.
    client : distributed.Client, optional
        One that there is; it is not closed.
    """

    def __init__(
        self, scheduler: str | None = None, workers: int | None = None, *, client: Any = None
    ) -> None:
        try:
            import distributed
        except ImportError:
            raise missing("--engine dask", "dask") from None
        self._own: list[Any] = []
        if client is None and scheduler is None:
            cluster = distributed.LocalCluster(
                n_workers=workers or os.cpu_count() or 1,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                preload=[_DEAF],
            )
            self._own.append(cluster)
        if client is None:
            try:
                client = distributed.Client(scheduler or self._own[0])
            except (OSError, ValueError) as error:
                raise ValueError(
                    f"no scheduler answers at '{scheduler}' ({error}): start one with 'dask scheduler', "
                    "or leave --scheduler out for workers of this machine."
                ) from error
            self._own.insert(0, client)
        self.client = client

    def map(self, function: Function, blocks: Iterable[Any], state: Any) -> Iterator[Any]:
        """``function(block, state)`` of every block, in their order."""
        left = iter(blocks)
        under_way: deque[Any] = deque()
        while True:
            # Workers come and go: how many blocks are under way follows them.
            most = AHEAD * max(sum(self.client.nthreads().values()), 1)
            while len(under_way) < most and (block := next(left, None)) is not None:
                # Not pure: what is written may have been taken away since.
                under_way.append(self.client.submit(function, block, state, pure=False))
            if not under_way:
                return
            future = under_way.popleft()
            found = future.result()
            future.release()
            yield found

    def close(self) -> None:
        """Close what was started here."""
        for one in self._own:
            one.close()
        self._own = []


def engine_of(name: str, *, workers: int | None = None, scheduler: str | None = None) -> Engine:
    """The engine of this name.

    Parameters
    ----------
    name : {"process", "processes", "dask"}
    workers : int, optional
        How many, of 'processes', and of 'dask' without a scheduler.
    scheduler : str, optional
        The address of a dask scheduler.

    Examples
    --------
    >>> list(engine_of("process").map(pow, [2, 3], 2))
    [4, 9]
    """
    if name not in NAMES:
        raise ValueError(
            f"there is no --engine '{name}', expected {', '.join(NAMES)}{did_you_mean(name, list(NAMES))}"
        )
    if scheduler is not None and name != "dask":
        raise ValueError(
            f"--scheduler is that of dask, and --engine is '{name}': use --engine dask, or leave it out."
        )
    if workers is not None and (name == "process" or scheduler is not None):
        told = "--engine process computes in this process" if name == "process" else "--scheduler has its own"
        raise ValueError(f"{told}, so --workers has nothing to do: leave it out.")
    if workers is not None and workers < 1:
        raise ValueError(f"found --workers {workers}, expected 1 or more.")
    if name == "process":
        return ThisProcess()
    return Processes(workers) if name == "processes" else Dask(scheduler, workers)
