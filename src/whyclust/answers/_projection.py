"""The nearest point of a piece: exact for half-spaces and boxes, Euclidean and L1, with whole numbers.

All of them work in scaled columns, in which the distance is the usual one, around the row itself: the row is
at zero, and ``normals @ y >= levels``, ``low <= y <= high`` is asked of its change y.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

from whyclust.answers._regions import Piece

Box = tuple[NDArray, NDArray]
Solve = Callable[[Box], NDArray | None]

_TINY = 1e-12


def nearest(piece: Piece, box: Box) -> NDArray | None:
    """The shortest change y into the piece and the box; None where there is none."""
    if len(piece.levels) == 1:
        return _one_half_space(piece.normals[0], float(piece.levels[0]), box)
    return _many_half_spaces(piece, box)


def _one_half_space(normal: NDArray, level: float, box: Box) -> NDArray | None:
    """One multiplier λ: y = clip(λ normal) reaches the level; what λ does is linear between its bends.

    >>> _one_half_space(np.array([3.0, 4.0]), 25.0, (np.full(2, -np.inf), np.full(2, np.inf)))
    array([3., 4.])
    >>> _one_half_space(np.array([3.0, 4.0]), 25.0, (np.full(2, -np.inf), np.array([np.inf, 1.0])))
    array([7., 1.])
    """
    low, high = box
    if (low > high).any():
        return None
    start = np.clip(0.0, low, high)
    if normal @ start >= level:
        return start
    moving = np.flatnonzero(normal)
    slopes = normal[moving]
    # The multipliers between which each coordinate moves; before and after it stands at a side of the box.
    begins = np.where(slopes > 0, low[moving], high[moving]) / slopes
    ends = np.where(slopes > 0, high[moving], low[moving]) / slopes
    bends = np.unique(np.concatenate([[0.0], begins, ends]))
    bends = bends[np.isfinite(bends) & (bends >= 0)]

    def reached(multiplier: float) -> float:
        return float(normal @ np.clip(multiplier * normal, low, high))

    first, last = 0, len(bends)  # the level is not met at the first of them
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if reached(bends[middle]) < level else (first, middle)
    free = (begins <= bends[first]) & (bends[first] < ends)
    rise = float(slopes[free] @ slopes[free])
    if rise == 0:
        return None
    return np.clip((bends[first] + (level - reached(bends[first])) / rise) * normal, low, high)


def _many_half_spaces(piece: Piece, box: Box) -> NDArray | None:
    """Least distance programming (Lawson and Hanson, chapter 23) on the piece and the box's sides."""
    low, high = box
    if (low > high).any():
        return None
    lengths = np.linalg.norm(piece.normals, axis=1)
    flat = lengths <= _TINY * max(1.0, float(lengths.max(initial=0.0)))
    if (piece.levels[flat] > _TINY).any():
        return None
    unit = np.eye(len(low))
    below, above = np.isfinite(low), np.isfinite(high)
    sides = np.concatenate([piece.normals[~flat] / lengths[~flat, None], unit[below], -unit[above]])
    levels = np.concatenate([piece.levels[~flat] / lengths[~flat], low[below], -high[above]])
    size = float(levels.max(initial=0.0))
    if size <= 0:
        return np.zeros(len(low))
    # The largest violation is a lower bound of the distance; sharp corners are farther away.
    for scale in (size, 1e2 * size, 1e4 * size):
        found = _least_distance(sides, levels / scale)
        if found is not None and (sides @ found - levels / scale).min() >= -1e-10:
            return np.clip(found * scale, low, high)
        if scale == size and not _feasible(sides, levels):
            return None
    return None


def _least_distance(sides: NDArray, levels: NDArray) -> NDArray | None:
    """min ‖y‖ with ``sides @ y >= levels``, by the non-negative multipliers of its dual."""
    stacked = np.concatenate([sides.T, levels[None]])
    target = np.zeros(len(stacked))
    target[-1] = 1.0
    try:
        multipliers, _ = nnls(stacked, target, maxiter=30 * stacked.shape[1])
    except RuntimeError:
        return None
    residual = stacked @ multipliers - target
    if -residual[-1] <= 1e-14:
        return None
    rough = residual[:-1] / -residual[-1]
    # The sides that hold it are known now: the point itself follows from them to the last digit.
    active = multipliers > 0
    exact = np.linalg.lstsq(sides[active], levels[active], rcond=None)[0]
    return exact if (sides @ exact - levels).min() >= -1e-12 else rough


def _feasible(sides: NDArray, levels: NDArray) -> bool:
    nothing = np.zeros(sides.shape[1])
    free = [(None, None)] * sides.shape[1]
    return linprog(nothing, A_ub=-sides, b_ub=-levels, bounds=free).status != 2


def sparsest(piece: Piece, box: Box) -> NDArray | None:
    """The change of smallest sum of absolutes, which moves few coordinates; None where there is none.

    Of one half-space the steepest coordinates move as far as they must, and as they may.

    >>> sparsest(Piece(np.array([[3.0, 4.0]]), np.array([25.0])), (np.full(2, -5.0), np.full(2, 5.0)))
    array([1.66666667, 5.        ])
    """
    low, high = box
    if (low > high).any():
        return None
    if len(piece.levels) > 1 or (low > 0).any() or (high < 0).any():
        return _linear_program(piece, box)
    normal, level = piece.normals[0], float(piece.levels[0])
    change = np.zeros(len(normal))
    steepest = np.argsort(-np.abs(normal), kind="stable")[: np.count_nonzero(normal)]
    slopes = normal[steepest]
    sides = np.where(slopes > 0, high[steepest], low[steepest])
    gained = np.cumsum(slopes * sides)
    full = int(np.searchsorted(gained, level)) if level > 0 else 0
    change[steepest[:full]] = sides[:full]
    if level > 0 and full < len(steepest):  # this one need not go to its side
        column = steepest[full]
        missing = level - float(normal @ change)
        change[column] = np.clip(missing / normal[column], low[column], high[column])
    return change if normal @ change >= level - _TINY * (1.0 + abs(level)) else None


def _linear_program(piece: Piece, box: Box) -> NDArray | None:
    """Minimise Σ|y| by HiGHS: y and its absolutes are the variables."""
    width = len(box[0])
    unit, nothing = np.eye(width), np.zeros((len(piece.levels), width))
    limits = np.block([[-piece.normals, nothing], [unit, -unit], [-unit, -unit]])
    levels = np.concatenate([-piece.levels, np.zeros(2 * width)])
    bounds = [*zip(*box, strict=True), *[(0.0, None)] * width]
    found = linprog(np.repeat([0.0, 1.0], width), A_ub=limits, b_ub=levels, bounds=bounds)
    return None if found.status != 0 or found.x is None else np.asarray(found.x[:width])


def branched(
    solve: Solve,
    box: Box,
    between: Callable[[NDArray], tuple[int, float, float] | None],
    sparse: bool,
    most: int,
) -> tuple[NDArray | None, bool]:
    """The best change to whole numbers, by branch and bound.

    ``between(change)`` is a coordinate that is not whole and the whole numbers on both sides of it, or None.
    Returns the change, or None, and whether all branches that could be better were followed, of which there
    may be `most`.
    """
    best, best_length, order = None, np.inf, count()
    waiting: list[tuple[float, int, NDArray, Box]] = []

    def add(box: Box) -> None:
        change = solve(box)
        if change is not None and length_of(change, sparse) < best_length:
            heapq.heappush(waiting, (length_of(change, sparse), next(order), change, box))

    add(box)
    for _ in range(most):
        if not waiting or waiting[0][0] >= best_length:
            break
        reached, _, change, (low, high) = heapq.heappop(waiting)
        found = between(change)
        if found is None:
            best, best_length = change, reached
            continue
        column, lower, upper = found
        below, above = high.copy(), low.copy()
        below[column], above[column] = lower, upper
        add((low, below))
        add((above, high))
    return best, not waiting or waiting[0][0] >= best_length


def length_of(change: NDArray, sparse: bool) -> float:
    """How far a change goes: its sum of absolutes where `sparse`, else its Euclidean length."""
    return float(np.abs(change).sum() if sparse else np.linalg.norm(change))
