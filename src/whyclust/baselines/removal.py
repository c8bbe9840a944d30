"""Prediction difference analysis: what changes when a column is removed (section VII, supplement G).

R_i = g(x) − E[g(x with column i replaced)], the column replaced by a reference or by draws from a kernel
density, given all other columns. The paper's g is the indicator of the cluster; f_c says more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import one_of, whole_number
from whyclust.baselines.asked import BLOCK_NUMBERS, Asked, Attribution, seeded
from whyclust.baselines.references import read_reference
from whyclust.baselines.registry import baseline
from whyclust.perturbing.imputation import choose

SCORES = ("indicator", "evidence")


@baseline(
    "pda_zero",
    title="evidence lost with the column at its mean",
    scores="what changes when the column is set to x̃",
    usual=True,
    audited_with={"on": "evidence"},
)
def pda_reference(asked: Asked, *, on: str = "indicator", reference: Any = "mean") -> Attribution:
    """PDA₀: the column is set to the reference, zero where columns are standardised."""
    score = getattr(asked, one_of("on", on, SCORES))
    at_reference = read_reference(asked, reference)
    values = np.zeros(asked.points.shape)
    before = score(asked.points)
    changed = asked.points.copy()
    for encoded in asked.columns:
        changed[:, encoded] = at_reference[encoded]
        values[:, encoded[0]] = before - score(changed)
        changed[:, encoded] = asked.points[:, encoded]
    return Attribution.without_base(values)


@baseline(
    "pda_kde",
    title="evidence lost with the column drawn from a density",
    scores="what changes when the column is drawn given all others (kernel density)",
    audited_with={"on": "evidence"},
)
def pda_density(
    asked: Asked, *, on: str = "indicator", n_samples: int = 10, random_state: Any = 0
) -> Attribution:
    """PDA_cs: the column is drawn from p(x_i | all other columns) of a kernel density (Eqs. 43, 44)."""
    score = getattr(asked, one_of("on", on, SCORES))
    n_samples = whole_number("n_samples", n_samples)
    density = asked.density
    # Columns have streams of their own, so that the size of a block changes nothing.
    streams = [stream.spawn(2) for stream in seeded(random_state).spawn(len(asked.columns))]
    values = np.zeros(asked.points.shape)
    numbers = max(len(density.rows), n_samples * asked.points.shape[1])
    size = max(1, BLOCK_NUMBERS // numbers)
    unit = density.unit
    for start in range(0, len(asked.points), size):
        rows = asked.every_row[start : start + size]
        points = asked.points[rows]
        before = score(points, rows)
        every = _distances(density.in_units(points), density.in_units(density.rows))
        drawn = np.repeat(points[None], n_samples, axis=0)
        repeated = np.tile(rows, n_samples)
        for encoded, (uniform, normal) in zip(asked.columns, streams, strict=True):
            own = _distances(density.in_units(points, encoded), density.in_units(density.rows, encoded))
            chosen = choose(np.maximum(every - own, 0.0), uniform.random((len(rows), n_samples)).T)
            noise = normal.standard_normal((len(rows), n_samples, len(encoded))).swapaxes(0, 1)
            drawn[:, :, encoded] = density.rows[chosen][:, :, encoded] + noise * unit[encoded]
            after = score(drawn.reshape(-1, points.shape[1]), repeated)
            values[rows, encoded[0]] = before - after.reshape(n_samples, -1).mean(axis=0)
            drawn[:, :, encoded] = points[:, encoded]
    return Attribution.without_base(values)


def _distances(points: NDArray, rows: NDArray) -> NDArray:
    """Squared distances, points × rows, summed column by column: exact for points among the rows."""
    result = np.zeros((len(points), len(rows)))
    for column in range(points.shape[1]):
        difference = points[:, column, None] - rows[:, column]
        difference *= difference
        result += difference
    return result
