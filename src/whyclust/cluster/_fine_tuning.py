"""Fine-tuning of prototypes (section V of 000), of many folds and settings at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from whyclust._progress import done
from whyclust.cluster._descent import descend
from whyclust.cluster._distances import FloatArray, IntArray
from whyclust.cluster._likelihoods import Likelihoods, Problem, Sight
from whyclust.cluster._prototype_fit import NEVER, Prototypes

_MAX_ITER = 100
_TOLERANCE = 1e-6
# Enough to compare settings; where boundaries lie exactly is not asked.
_ROUGHLY = 1e-4
# Numbers in the widest array of a batch: more would leave the caches.
_BATCH_NUMBERS = 1 << 19


@dataclass(frozen=True, eq=False)
class Task:
    """Prototypes to be fine-tuned, and the rows they are fitted to.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Tasks of the same rows have the very same array, and stand side by side.
    codes : ndarray of shape (n,)
        Cluster of each row; the number of clusters marks noise.
    start : Prototypes
        In the units of the points; with a noise weight exactly if there is noise.
    free : ndarray of shape (P, d) or None
        1 where a coordinate may move, 0 where not; None: all may. Where none may, all prototypes are at
        the same place.
    price, unit : float
        Of moving a prototype by √unit: ½ price ‖v − v_start‖²/unit is added to the −log posterior of
        all rows, and ten times the price for a change of log weight by one.
    factor : float
        √(2γ), by which points and prototypes are multiplied.
    """

    points: FloatArray
    codes: IntArray
    start: Prototypes
    free: FloatArray | None
    price: float
    unit: float
    factor: float


def fine_tune(tasks: Sequence[Task], *, roughly: bool = False) -> list[Prototypes]:
    """Move prototypes and weights until the posterior of the given labels is largest.

    Parameters
    ----------
    tasks : sequence of Task
        Of as many clusters and columns each.
    roughly : bool
        Whether to stop early, as is enough to compare settings.

    Returns
    -------
    list of Prototypes
        In the units of the points.
    """
    found: dict[int, Prototypes] = {}
    # Where few rows are noise, some folds see none.
    for noisy in (False, True):
        places = [place for place, task in enumerate(tasks) if (task.start.noise is not None) == noisy]
        if places:
            some = [tasks[place] for place in places]
            found |= dict(zip(places, _of_one_kind(some, _ROUGHLY if roughly else _TOLERANCE), strict=True))
    return [found[place] for place in range(len(tasks))]


def _of_one_kind(tasks: Sequence[Task], tolerance: float) -> Iterator[Prototypes]:
    """Fine-tune tasks that all have noise, or none, batch by batch."""
    used = _used_columns(tasks)
    members = _common_members(tasks)
    n_rows = max(len(task.points) for task in tasks)
    size = max(1, _BATCH_NUMBERS // (max(n_rows, int(used.sum())) * len(members)))
    for start in range(0, len(tasks), size):
        batch = tasks[start : start + size]
        slots = [_slots(members, task.start.members) for task in batch]
        problems: list[Problem] = []
        for _, same in groupby(zip(batch, slots, strict=True), key=lambda pair: id(pair[0].points)):
            of_rows = list(same)
            sight = _sight(of_rows[0][0], used, n_rows)
            problems += [_problem(task, sight, used, members, slot) for task, slot in of_rows]
        likelihoods = Likelihoods(problems, members)
        done(start / len(tasks))
        parameters = descend(likelihoods, likelihoods.pack(), max_iter=_MAX_ITER, tolerance=tolerance)
        vectors, weights, _, noise = likelihoods.unpack(parameters)
        for place, (task, slot) in enumerate(zip(batch, slots, strict=True)):
            moved = task.start.vectors.copy()
            moved[:, used] = vectors[place, slot] / task.factor
            yield Prototypes(
                moved,
                task.start.members,
                weights[place, slot].astype(float),
                float(noise[place, 0]) if noise.size else None,
            )


def _used_columns(tasks: Sequence[Task]) -> IntArray:
    """Columns in which some prototype may move: in others all are at one place, and add the same to all."""
    used = np.zeros(tasks[0].points.shape[1], dtype=bool)
    for task in tasks:
        used |= True if task.free is None else task.free.any(axis=0)
    return used


def _common_members(tasks: Sequence[Task]) -> IntArray:
    """So many prototypes a cluster that there is room for those of every task."""
    counts = np.max([np.bincount(task.start.members) for task in tasks], axis=0)
    return np.repeat(np.arange(len(counts)), counts)


def _slots(members: IntArray, own: IntArray) -> IntArray:
    """Where the prototypes of one task are among those there is room for."""
    place_in_cluster = np.arange(len(own)) - np.searchsorted(own, own)
    return np.searchsorted(members, own) + place_in_cluster


def _sight(task: Task, used: IntArray, n_rows: int) -> Sight:
    points = task.points
    difference = points
    if not used.all():
        difference = points - np.where(used, 0.0, task.start.vectors[0])
        points = points[:, used]
    lengths = 0.5 * np.einsum("ij,ij->i", difference, difference)
    return Sight.of(points, task.codes, n_rows, lengths)


def _problem(task: Task, sight: Sight, used: IntArray, members: IntArray, slot: IntArray) -> Problem:
    start, every = task.start, bool(used.all())
    # A prototype that only fills up is never anyone's nearest, and so it never moves.
    vectors = np.zeros((len(members), int(used.sum())))
    weights = np.full(len(members), NEVER)
    vectors[slot] = (start.vectors if every else start.vectors[:, used]) * task.factor
    weights[slot] = start.weights
    free = None
    if task.free is not None:
        free = np.zeros(vectors.shape, dtype=np.float32)
        free[slot] = task.free if every else task.free[:, used]
    return Problem(sight, vectors, weights, start.noise, free, task.price, task.unit, task.factor)
