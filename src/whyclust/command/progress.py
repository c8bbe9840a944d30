"""What the command line says of how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from whyclust._progress import PATIENCE, WRITING, Bar, Lines, Watch, watched

# Stages in their order, by how their messages begin, with the share of the time that they usually take.
STAGES = {
    "Reading": 5.0,
    "Preparing": 2.0,
    "Choosing k": 60.0,
    "Clustering": 8.0,
    "Fitting a surrogate": 40.0,
    "Explaining": 8.0,
    "Scoring": 60.0,
    "Fitting": 60.0,
    "Looking for structure": 20.0,
    "Looking for structure: other numbers": 20.0,
    **WRITING,
}


@contextmanager
def shown(quiet: bool, left_out: Sequence[str] = ()) -> Iterator[Callable[[str], None]]:
    """Show stages on standard error: as a bar on a terminal, elsewhere one line a stage if it takes long.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    left_out : sequence of str
        Stages that this run will not have.

    Yields
    ------
    callable
        To be called with a short text at every step.
    """
    weights = {name: weight for name, weight in STAGES.items() if name not in left_out}
    if quiet:
        watch = Watch(weights, None, PATIENCE)
    elif sys.stderr.isatty():
        watch = Watch(weights, Bar(), 0.0)
    else:
        watch = Watch(weights, Lines(), PATIENCE)
    with watched(watch):
        yield watch.stage
