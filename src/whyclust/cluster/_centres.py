"""Centres of k-means in several small sets of rows at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whyclust.cluster._distances import FloatArray, IntArray

_N_INIT = 4
_MAX_ITER = 20
# Numbers of the largest array.
_MOST_NUMBERS = 1 << 22


def centres_of(sets: Sequence[FloatArray], count: int, seed: int) -> list[tuple[FloatArray, IntArray]]:
    """Run k-means in each set of rows, all sets at a time.

    The folds of a cross-validation need as many runs of k-means as there are folds and clusters, on some
    dozens of rows each. Of four starts (k-means++) each set keeps the best.

    Parameters
    ----------
    sets : sequence of ndarray of shape (m, d)
        More than `count` rows each.
    count : int
    seed : int

    Returns
    -------
    list of (centres, sizes)
        Means of the rows, in double precision, and how many rows each stands for; without empty ones.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [10.0], [11.0], [12.0]])
    >>> (centres, sizes), = centres_of([rows], 2, seed=0)
    >>> order = centres[:, 0].argsort()
    >>> centres[order, 0].tolist(), sizes[order].tolist()
    ([0.5, 11.0], [2, 3])
    """
    longest = max(map(len, sets))
    step = max(1, _MOST_NUMBERS // (_N_INIT * count * longest))
    generator = np.random.default_rng(seed)
    found: list[tuple[FloatArray, IntArray]] = []
    for start in range(0, len(sets), step):
        some = sets[start : start + step]
        for rows, labels in zip(some, _labels(some, count, generator), strict=True):
            sizes = np.bincount(labels, minlength=count)
            chosen = np.equal.outer(np.arange(count), labels).astype(float)
            sums = chosen @ rows
            found.append((sums[sizes > 0] / sizes[sizes > 0, None], sizes[sizes > 0]))
    return found


def _labels(sets: Sequence[FloatArray], count: int, generator: np.random.Generator) -> list[IntArray]:
    """The centre of each row, of the best start."""
    n_sets, longest, width = len(sets), max(map(len, sets)), sets[0].shape[1]
    rows = np.zeros((n_sets, longest, width), dtype=np.float32)
    real = np.zeros((n_sets, longest), dtype=bool)
    for place, one in enumerate(sets):
        # Around their mean few digits are lost.
        rows[place, : len(one)] = one - one.mean(axis=0)
        real[place, : len(one)] = True
    turned = np.ascontiguousarray(rows.transpose(0, 2, 1))
    centres = _first_centres(rows, turned, real, count, generator)
    numbers = np.arange(count)[:, None]
    labels = np.full((n_sets, _N_INIT, longest), -1)
    for iteration in range(_MAX_ITER + 1):
        flat = centres.reshape(n_sets, _N_INIT * count, width)
        # Up to ½‖x‖², which is the same for all centres.
        distances = np.matmul(-flat, turned)
        distances += 0.5 * np.einsum("sid,sid->si", flat, flat)[:, :, None]
        distances = distances.reshape(n_sets, _N_INIT, count, longest)
        before, labels = labels, distances.argmin(axis=2)
        if iteration == _MAX_ITER or np.array_equal(before, labels):
            break
        chosen = (labels[:, :, None] == numbers) & real[:, None, None]
        sizes = chosen.sum(axis=3, dtype=np.float32)[..., None]
        sums = np.matmul(_merged(chosen).astype(np.float32), rows).reshape(centres.shape)
        centres = np.where(sizes > 0, sums / np.maximum(sizes, 1.0), centres)
    within = (distances.min(axis=2) * real[:, None]).sum(axis=2)
    best = within.argmin(axis=1)
    return [labels[place, best[place], : len(one)] for place, one in enumerate(sets)]


def _merged(chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return chosen.reshape(len(chosen), -1, chosen.shape[3])


def _first_centres(
    rows: FloatArray,
    turned: FloatArray,
    real: NDArray[np.bool_],
    count: int,
    generator: np.random.Generator,
) -> FloatArray:
    """k-means++: one row after the other, by its squared distance to those that are chosen."""
    n_sets, _, width = rows.shape
    centres = np.empty((n_sets, _N_INIT, count, width), dtype=np.float32)
    uniform = generator.random((count, n_sets, _N_INIT), dtype=np.float32)
    lengths = np.einsum("smd,smd->sm", rows, rows)[:, None]
    places = np.arange(n_sets)[:, None]
    odds = np.broadcast_to(real[:, None].astype(np.float32), (n_sets, _N_INIT, rows.shape[1]))
    nearest = np.where(real[:, None], np.float32(np.inf), np.float32(0.0))
    for place in range(count):
        summed = odds.cumsum(axis=2)
        drawn = (summed <= uniform[place, :, :, None] * summed[:, :, -1:]).sum(axis=2)
        # Where all rows are chosen already, any of them does.
        drawn = np.minimum(drawn, real.sum(axis=1)[:, None] - 1)
        now = rows[places, drawn]
        centres[:, :, place] = now
        distances = lengths - 2.0 * np.matmul(now, turned) + np.einsum("sid,sid->si", now, now)[:, :, None]
        nearest = np.minimum(nearest, np.maximum(distances, 0.0))
        odds = nearest
    return centres
