"""k-means by sums over blocks: Lloyd's iterations as scikit-learn's, and a form of mini-batches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.blocks.engines import Engine
from whyclust.blocks.job import Job
from whyclust.blocks.prepared import Prepared
from whyclust.blocks.source import Block

# As scikit-learn's.
MOST_ITERATIONS = 300
TOLERANCE = 1e-4
# Blocks of a mini-batch: so many workers have something to do, and results are the same with any number.
STEP_BLOCKS = 4
# Where a fit is kept.
_KEPT = "fit"


@dataclass(frozen=True, eq=False)
class Centers:
    """What a block is compared with.

    Attributes
    ----------
    prepared : Prepared
    centers : ndarray of shape (n_clusters, n_columns)
    """

    prepared: Prepared
    centers: NDArray

    def nearest(self, points: NDArray) -> tuple[NDArray, NDArray]:
        """The nearest center of every point, and the squared distance from it. Points are moved."""
        # Seen from among the centers, so that far from zero no digits are lost.
        middle = self.centers.mean(axis=0)
        points -= middle
        centers = self.centers - middle
        # ‖c‖² − 2 x·c: what is the same for all centers is added at the end.
        away = points @ (-2.0 * centers.T)
        away += np.einsum("kd,kd->k", centers, centers)
        labels = away.argmin(axis=1)
        least = away[np.arange(len(away)), labels] + np.einsum("nd,nd->n", points, points)
        points += middle
        return labels, np.maximum(least, 0.0)


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of the points nearest to each center; those of blocks add up.

    Attributes
    ----------
    counts : ndarray of shape (n_clusters,)
    sums : ndarray of shape (n_clusters, n_columns)
    inertia : float
    labels : tuple of str
        A digest of each block's labels: the same ones mean that no point has moved.
    """

    counts: NDArray
    sums: NDArray
    inertia: float
    labels: tuple[str, ...] = ()

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.counts + other.counts,
            self.sums + other.sums,
            self.inertia + other.inertia,
            self.labels + other.labels,
        )


def block_sums(block: Block, state: Centers) -> Sums:
    """The stage: sums of a block."""
    n_clusters = len(state.centers)
    counts, sums = np.zeros(n_clusters, dtype=np.int64), np.zeros(state.centers.shape)
    inertia, digest = 0.0, hashlib.sha256()
    for _, batch in block.batches(state.prepared.columns):
        points = state.prepared.of_batch(batch)
        labels, away = state.nearest(points)
        counts += np.bincount(labels, minlength=n_clusters)
        sums += (labels == np.arange(n_clusters)[:, None]).astype(np.float64) @ points
        inertia += float(away.sum())
        digest.update(labels.astype(np.int32).tobytes())
    return Sums(counts, sums, inertia, (digest.hexdigest(),))


def block_farthest(block: Block, state: tuple[Centers, int]) -> tuple[NDArray, NDArray, NDArray]:
    """The stage: the few points farthest from their centers, with their distances and labels."""
    centers, most = state
    found = []
    for _, batch in block.batches(centers.prepared.columns):
        points = centers.prepared.of_batch(batch)
        labels, away = centers.nearest(points)
        order = np.argsort(-away, kind="stable")[:most]
        found.append((away[order], labels[order], points[order]))
    return _farthest(found, most)


def _farthest(found: Sequence[tuple[NDArray, NDArray, NDArray]], most: int) -> Any:
    away, labels, points = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(-away, kind="stable")[:most]
    return away[order], labels[order], points[order]


@dataclass(frozen=True, eq=False)
class Fitted:
    """Centers, and how they were found.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_columns)
    n_iter : int
    inertia : float
        Of the centers before the last iteration.
    converged : bool
    """

    centers: NDArray
    n_iter: int
    inertia: float
    converged: bool


def lloyd(
    prepared: Prepared,
    start: NDArray,
    blocks: Sequence[Block],
    engine: Engine,
    *,
    variance: float,
    job: Job | None = None,
    most: int = MOST_ITERATIONS,
    progress: Callable[[str], None] = lambda message: None,
) -> Fitted:
    """Lloyd's iterations from a start, one pass over the blocks each; killed, a job goes on with the last.

    Parameters
    ----------
    prepared : Prepared
    start : ndarray of shape (n_clusters, n_columns)
    blocks : sequence of Block
    engine : Engine
    variance : float
        The mean variance of the columns: centers that move by less than 1e-4 of it have settled.
    job : Job, optional
        Where centers are kept after every iteration.
    most : int
        Iterations at most.
    progress : callable
    """
    known = None if job is None else job.kept(_KEPT)
    centers = np.array(start, dtype=np.float64)
    number, inertia, settled = 0, np.inf, False
    labels: tuple[str, ...] = ()
    if known is not None:
        centers, number, inertia = known["centers"], known["iterations"], known["inertia"]
        labels, settled = tuple(known["labels"]), known["settled"]
    while not settled and number < most:
        progress(f"Clustering: iteration {number + 1}")
        state = Centers(prepared, centers)
        found = _total(engine.map(block_sums, blocks, state))
        sums, counts = _refilled(found, state, blocks, engine)
        moved = sums / counts[:, None]
        shift = float(((moved - centers) ** 2).sum())
        # As scikit-learn's: no label has changed, or centers have hardly moved.
        settled = found.labels == labels or shift <= TOLERANCE * variance
        centers, labels, inertia, number = moved, found.labels, found.inertia, number + 1
        if job is not None:
            job.keep(
                _KEPT,
                {
                    "centers": centers,
                    "iterations": number,
                    "inertia": inertia,
                    "labels": list(labels),
                    "settled": settled,
                },
            )
    return Fitted(centers, number, inertia, settled)


def _total(found: Any) -> Sums:
    """The sum over blocks, in their order: the same on every engine."""
    total: Any = None
    for part in found:
        total = part if total is None else total + part
    return total


def _refilled(
    found: Sums, state: Centers, blocks: Sequence[Block], engine: Engine
) -> tuple[NDArray, NDArray]:
    """Sums and counts, in which a center without points gets one that is far from its own."""
    sums, counts = found.sums.copy(), found.counts.astype(np.float64)
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        _, labels, points = _farthest(
            list(engine.map(block_farthest, blocks, (state, len(empty)))), len(empty)
        )
        for center, label, point in zip(empty, labels, points, strict=True):
            sums[center], counts[center] = point, 1.0
            sums[label] -= point
            counts[label] -= 1.0
    return sums, np.maximum(counts, 1.0)


def mini_batches(
    prepared: Prepared,
    start: NDArray,
    blocks: Sequence[Block],
    engine: Engine,
    *,
    seed: int = 0,
    job: Job | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> Fitted:
    """One pass over the blocks, a few at a time: centers are the means of what they have met so far.

    Parameters
    ----------
    prepared, start, blocks, engine, job, progress
        As for `lloyd`.
    seed : int
        Of the order of the blocks.
    """
    order = np.random.default_rng(seed).permutation(len(blocks))
    steps = [order[place : place + STEP_BLOCKS] for place in range(0, len(order), STEP_BLOCKS)]
    centers, met, number, inertia = np.array(start, dtype=np.float64), np.zeros(len(start)), 0, 0.0
    known = None if job is None else job.kept(_KEPT)
    if known is not None:
        centers, met, number, inertia = (known[key] for key in ("centers", "met", "steps", "inertia"))
    for step in steps[number:]:
        progress(f"Clustering: mini-batch {number + 1} of {len(steps)}")
        some = [blocks[place] for place in np.sort(step)]
        found = _total(engine.map(block_sums, some, Centers(prepared, centers)))
        met = met + found.counts
        rate = np.divide(1.0, met, out=np.zeros(len(met)), where=met > 0)
        centers = centers + (found.sums - found.counts[:, None] * centers) * rate[:, None]
        inertia, number = inertia + found.inertia, number + 1
        if job is not None:
            job.keep(_KEPT, {"centers": centers, "met": met, "steps": number, "inertia": inertia})
    return Fitted(centers, number, float(inertia), True)
