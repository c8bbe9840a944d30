"""Where k-means begins: k-means|| (Bahmani et al., 2012), begun from a clustering of drawn rows.

Rows far from all candidates are drawn across the blocks, in proportion to their squared distance; all
candidates are then clustered, each counting for the rows nearest to it. So a cluster that the drawn rows
have missed is found all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.blocks.engines import Engine
from whyclust.blocks.facts import uniform
from whyclust.blocks.job import Job
from whyclust.blocks.k_means import Centers
from whyclust.blocks.prepared import Prepared
from whyclust.blocks.source import Block
from whyclust.moments.numbers import NumberMoments

# Passes over the blocks that draw candidates, and how many each draws for a cluster.
ROUNDS, DRAWN = 2, 2
_N_INIT = 10


@dataclass(frozen=True, eq=False)
class Start:
    """A start, and what the pass over the blocks has told.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_columns)
    variance : float
        The mean variance of the columns.
    """

    centers: NDArray
    variance: float


def block_far_rows(block: Block, state: tuple[Centers, int, int]) -> dict[str, Any]:
    """The stage: rows drawn by their squared distance from the nearest candidate."""
    candidates, most, seed = state
    found: list[tuple[NDArray, NDArray]] = []
    moments: Any = None
    for first, batch in block.batches(candidates.prepared.columns):
        points = candidates.prepared.of_batch(batch)
        _, away = candidates.nearest(points)
        chance = uniform(np.arange(first, first + len(points)), seed)
        # Of exponential times with these rates, the shortest are a draw in proportion to them.
        with np.errstate(divide="ignore"):
            keys = np.where(away > 0, -np.log1p(-chance) / away, np.inf)
        found.append(_least(keys, points, most))
        own = NumberMoments.of(points)
        moments = own if moments is None else moments + own
    keys, points = _joined(found, most)
    return {"keys": keys, "points": points, "moments": moments}


def _least(keys: NDArray, points: NDArray, most: int) -> tuple[NDArray, NDArray]:
    order = np.argsort(keys, kind="stable")[:most]
    order = order[np.isfinite(keys[order])]
    return keys[order], points[order]


def _joined(found: Sequence[tuple[NDArray, NDArray]], most: int) -> tuple[NDArray, NDArray]:
    keys, points = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return _least(keys, points, most)


def block_counts(block: Block, state: Centers) -> NDArray:
    """The stage: how many rows are nearest to each candidate."""
    counts = np.zeros(len(state.centers), dtype=np.int64)
    for _, batch in block.batches(state.prepared.columns):
        labels, _ = state.nearest(state.prepared.of_batch(batch))
        counts += np.bincount(labels, minlength=len(counts))
    return counts


def find_start(
    prepared: Prepared,
    sample: NDArray,
    k: int,
    blocks: Sequence[Block],
    engine: Engine,
    job: Job,
    *,
    seed: int = 0,
    progress: Callable[[str], None] = lambda message: None,
) -> Start:
    """Find where to begin.

    Parameters
    ----------
    prepared : Prepared
    sample : ndarray of shape (n_drawn, n_columns)
        Drawn rows, prepared.
    k : int
    blocks : sequence of Block
    engine : Engine
    job : Job
    seed : int
    progress : callable
    """
    from sklearn.cluster import KMeans

    candidates = KMeans(k, n_init=_N_INIT, random_state=seed).fit(sample).cluster_centers_
    variance = 0.0
    for number in range(ROUNDS):
        progress(f"Clustering: looking for a start, pass {number + 1} of {ROUNDS + 1}")
        state = (Centers(prepared, candidates), DRAWN * k, seed + 1 + number)
        found = list(job.run(f"start-{number}", block_far_rows, blocks, state, engine))
        if number == 0:
            moments = found[0]["moments"]
            for one in found[1:]:
                moments = moments + one["moments"]
            variance = float(moments.variance.mean())
        _, far = _joined([(one["keys"], one["points"]) for one in found], DRAWN * k)
        candidates = np.concatenate([candidates, far])
    progress(f"Clustering: looking for a start, pass {ROUNDS + 1} of {ROUNDS + 1}")
    parts = job.run("start-counts", block_counts, blocks, Centers(prepared, candidates), engine)
    weights = sum(parts)
    # Candidates that nobody is near tell nothing.
    some = np.asarray(weights) > 0
    if some.sum() < k:
        some[:] = True
    fit = KMeans(k, n_init=_N_INIT, random_state=seed)
    centers = fit.fit(candidates[some], sample_weight=np.asarray(weights, dtype=float)[some]).cluster_centers_
    return Start(centers, variance)
