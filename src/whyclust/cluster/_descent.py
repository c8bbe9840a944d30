"""Many small minimisations at once: L-BFGS in which one call evaluates all problems.

Cross-validation fits the same few numbers over and over: folds times settings. Each of these fits is so
small that the calls cost more than the arithmetic. Here every problem is a row of one array, and a round
of the loop takes each of them one step further; those that are done leave.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whyclust.cluster._distances import FloatArray, IntArray

# Steps of which curvature is remembered.
_MEMORY = 6
# A step is taken if it gains this share of what the slope promises (Armijo).
_ENOUGH_GAIN = 1e-4
# Gradients below this are zero, in each parameter.
_FLAT = 1e-5
_MOST_HALVINGS = 12
# Problems that are done are moved out of the way once they are this share of all.
_DONE_SHARE = 0.2


class Objective(Protocol):
    """Losses of several problems of the same size."""

    def __call__(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Losses of shape (B,) and gradients of shape (B, D) at parameters of shape (B, D)."""
        ...

    def take(self, kept: IntArray) -> Objective:
        """Only these problems, in increasing order."""
        ...


def descend(objective: Objective, start: FloatArray, *, max_iter: int, tolerance: float) -> FloatArray:
    """Minimise each problem by itself, all of them at a time.

    A problem is done where a step gains less than `tolerance`, in units of its loss or of one if that is
    larger, where its gradient vanishes, or after `max_iter` evaluations.

    Parameters
    ----------
    objective : Objective
    start : ndarray of shape (B, D)
    max_iter : int
    tolerance : float

    Returns
    -------
    ndarray of shape (B, D), of the type of `start`

    Examples
    --------
    >>> class Bowls:
    ...     def __init__(self, bottoms):
    ...         self.bottoms = bottoms
    ...     def __call__(self, x):
    ...         return ((x - self.bottoms) ** 2).sum(axis=1), 2 * (x - self.bottoms)
    ...     def take(self, kept):
    ...         return Bowls(self.bottoms[kept])
    >>> bottoms = np.array([[1.0, 2.0], [3.0, -4.0]])
    >>> descend(Bowls(bottoms), np.zeros((2, 2)), max_iter=50, tolerance=1e-12).round(3)
    array([[ 1.,  2.],
           [ 3., -4.]])
    """
    result = start.copy()
    state = _State(start, *objective(start))
    places = np.arange(len(start))
    for evaluation in range(max_iter):
        value, gradient = objective(state.trial)
        done = state.step(value, gradient, evaluation % _MEMORY, tolerance)
        if done.sum() >= max(1.0, _DONE_SHARE * len(done)) or evaluation == max_iter - 1:
            result[places[done]] = state.at[done]
            kept = np.flatnonzero(~done)
            if len(kept) == 0:
                return result
            state, objective, places = state.take(kept), objective.take(kept), places[kept]
    result[places] = state.at
    return result


def _dot(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.einsum("ij,ij->i", one, other)


class _State:
    """Where every problem is, where it looks next, and what it remembers."""

    def __init__(self, at: FloatArray, value: FloatArray, gradient: FloatArray) -> None:
        count = len(at)
        self.at, self.value, self.gradient = at.copy(), value, gradient
        self.length = np.ones(count, dtype=at.dtype)
        # The first step has length one, as far as nothing is known of the curvature.
        self.scale = (1.0 / np.maximum(np.sqrt(_dot(gradient, gradient)), 1e-12)).astype(at.dtype)
        self.direction = -self.scale[:, None] * gradient
        self.slope = _dot(gradient, self.direction)
        self.failures = np.zeros(count, dtype=np.intp)
        self.done = np.abs(gradient).max(axis=1) <= _FLAT
        # One array for all problems at a time; a problem that took no step has a factor of zero there.
        self.moves: list[Any] = [None] * _MEMORY
        self.turns: list[Any] = [None] * _MEMORY
        self.factors: list[Any] = [None] * _MEMORY

    @property
    def trial(self) -> FloatArray:
        return self.at + self.length[:, None] * self.direction

    def step(self, value: FloatArray, gradient: FloatArray, slot: int, tolerance: float) -> NDArray[np.bool_]:
        """Take the step where it gains enough, else a shorter one next time; say which are done."""
        gained = value <= self.value + _ENOUGH_GAIN * self.length * self.slope
        taken = gained & ~self.done
        move, turn = self.length[:, None] * self.direction, gradient - self.gradient
        along, square = _dot(move, turn), _dot(turn, turn)
        curved = taken & (along > 1e-10 * square)
        self.moves[slot], self.turns[slot] = move, turn
        self.factors[slot] = np.where(curved, 1.0 / np.where(curved, along, 1.0), 0.0).astype(move.dtype)
        self.scale = np.where(curved, along / np.where(curved, square, 1.0), self.scale)
        gain = self.value - value
        size = np.maximum(np.maximum(np.abs(self.value), np.abs(value)), 1.0)
        self.failures = np.where(taken, 0, self.failures + 1)
        self.done |= taken & ((gain <= tolerance * size) | (np.abs(gradient).max(axis=1) <= _FLAT))
        # Where the step overshot: the lowest point of the parabola through what is known.
        drop = self.length * self.slope
        bend = 2.0 * (value - self.value - drop)
        shorter: FloatArray = np.clip(-drop / np.where(bend > 0, bend, np.inf), 0.1, 0.5)
        shorter = np.where(np.isfinite(shorter), shorter, 0.1)
        shorter = self.length * shorter.astype(move.dtype)
        every = taken[:, None]
        self.at = np.where(every, self.at + move, self.at)
        self.gradient = np.where(every, gradient, self.gradient)
        self.value = np.where(taken, value, self.value)
        direction = self._turned(slot)
        slope = _dot(self.gradient, direction)
        # Rounding may turn a direction uphill; then it starts anew.
        uphill = slope >= 0
        if uphill.any():
            direction = np.where(uphill[:, None], -self.scale[:, None] * self.gradient, direction)
            slope = _dot(self.gradient, direction)
        self.direction = np.where(every, direction, self.direction)
        self.slope = np.where(taken, slope, self.slope)
        self.length = np.where(taken, np.ones_like(shorter), shorter)
        self.done |= self.failures > _MOST_HALVINGS
        return self.done

    def _turned(self, newest: int) -> FloatArray:
        """The direction of Newton's method, as far as the remembered steps tell it (two loops)."""
        direction = -self.gradient
        order = [(newest - age) % _MEMORY for age in range(_MEMORY)]
        order = [slot for slot in order if self.moves[slot] is not None]
        shares: dict[int, FloatArray] = {}
        for slot in order:
            shares[slot] = self.factors[slot] * _dot(self.moves[slot], direction)
            direction -= shares[slot][:, None] * self.turns[slot]
        direction *= self.scale[:, None]
        for slot in reversed(order):
            back = shares[slot] - self.factors[slot] * _dot(self.turns[slot], direction)
            direction += back[:, None] * self.moves[slot]
        return direction

    def take(self, kept: IntArray) -> _State:
        for name in ("at", "value", "gradient", "length", "scale", "direction", "slope", "failures", "done"):
            setattr(self, name, getattr(self, name)[kept])
        for memory in (self.moves, self.turns, self.factors):
            memory[:] = [None if one is None else one[kept] for one in memory]
        return self
