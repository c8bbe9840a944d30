"""Scores from the gradient of the evidence: sensitivity, integrated and expected gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import whole_number
from whyclust.baselines.asked import Asked, Attribution, seeded
from whyclust.baselines.references import read_reference
from whyclust.baselines.registry import baseline


def mean_gradient(
    gradient: Callable[[NDArray], NDArray], origin: NDArray, moved: NDArray, steps: int
) -> NDArray:
    """The mean of a gradient on straight lines from the origin, cut into pieces, in the middle of each."""
    total = np.zeros_like(moved)
    for step in range(steps):
        total += gradient(origin + (step + 0.5) / steps * moved)
    return total / steps


@baseline("sensitivity", title="squared slope of the evidence", scores="(∇f_c)²", usual=True)
def sensitivity(asked: Asked) -> Attribution:
    """(∇f_c)², in the units of the features."""
    lengths = asked.lengths
    # A column that the features do not read has slope zero and length zero.
    slopes = asked.gradient(asked.points) / np.where(lengths > 0, lengths, 1.0)
    return Attribution.without_base(slopes * slopes)


@baseline(
    "ig",
    title="integrated gradients",
    scores="integrated gradients of f_c, from x̃ to x",
    usual=True,
)
def integrated_gradients(asked: Asked, *, steps: int = 10, reference: Any = "mean") -> Attribution:
    """(x − x̃) ⊙ the mean of ∇f_c on the straight line from the reference x̃ to x.

    The line is cut into `steps` pieces and the gradient taken in the middle of each. The base value is
    f_c(x̃); what is left between values and f_c(x) is the error of so few steps.
    """
    steps = whole_number("steps", steps)
    origin = read_reference(asked, reference)
    moved = asked.points - origin
    start = asked.evidence(np.broadcast_to(origin, moved.shape))
    return Attribution(moved * mean_gradient(asked.gradient, origin, moved, steps), start)


@baseline(
    "gradient_shap",
    title="expected gradients",
    scores="expected gradients: the same from random rows of the background",
)
def expected_gradients(asked: Asked, *, n_samples: int = 50, random_state: Any = 0) -> Attribution:
    """The mean of (x − x̃) ⊙ ∇f_c(x̃ + t (x − x̃)) over rows x̃ of the background and t in [0, 1).

    The base value is the mean of f_c over the rows that were drawn.
    """
    n_samples = whole_number("n_samples", n_samples)
    generator = seeded(random_state)
    shape = (n_samples, len(asked.points))
    chosen = generator.integers(len(asked.background), size=shape)
    # One position in each of n_samples pieces of the path, in random order: less noise than free draws.
    pieces = generator.permuted(np.broadcast_to(np.arange(n_samples)[:, None], shape), axis=0)
    positions = (pieces + generator.random(shape)) / n_samples
    values = np.zeros_like(asked.points)
    base = np.zeros(len(asked.points))
    for rows, position in zip(chosen, positions, strict=True):
        start = asked.background[rows]
        moved = asked.points - start
        values += moved * asked.gradient(start + position[:, None] * moved)
        base += asked.evidence(start)
    return Attribution(values / n_samples, base / n_samples)
