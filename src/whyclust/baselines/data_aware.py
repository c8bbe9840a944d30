"""Relevance that knows the data: what the model weighs, and what columns tell in these data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import whole_number
from whyclust.baselines.asked import Asked, Attribution, seeded
from whyclust.baselines.gradients import integrated_gradients
from whyclust.baselines.known_columns import KnownColumns, shapley_values
from whyclust.baselines.registry import baseline
from whyclust.perturbing.encoded import as_rows

# Fifths of each part, fixed on buddy, hepac, trpad, whlsl and winer (docs/measurements.md).
_RELEVANCE, _GRADIENTS, _TOLD = 2.0 / 5.0, 1.0 / 5.0, 2.0 / 5.0

_NO_WEIGHT = "no weight in the network, so no relevance, whatever is told by these columns in the data."


@baseline(
    "data_aware",
    title="relevance that knows the data",
    scores="relevance, integrated gradients, and what the column tells about the cluster in the data",
)
def data_aware(
    asked: Asked, *, n_permutations: int = 6, steps: int = 10, random_state: Any = 0
) -> Attribution:
    """Two parts relevance, one part integrated gradients, two parts Shapley values of log P(c | columns).

    Relevance and integrated gradients say what the model weighs. Shapley values of log P(c | z_I) say how
    much a column that becomes known tells about the cluster, by the kernel density of the background, out of
    which the row itself is left. In each row all three have the same sum of absolute values, that of the
    relevance, so that values are evidence. Columns without weight in the network get nothing, whatever they
    tell. Behind an encoder integrated gradients stand for relevance. Errors are those of the drawn orders.

    Parameters
    ----------
    asked : Asked
    n_permutations : int
        Orders in which columns become known, each there and back. Up to six columns all sets are looked at
        instead, which is exact, and so are wider tables where that is not more work.
    steps : int
        Of integrated gradients, from the background's mean.
    random_state : int, Generator, RandomState or None
        Of the orders.
    """
    n_permutations = whole_number("n_permutations", n_permutations, 2)
    game = KnownColumns(asked)
    told = shapley_values(game, n_permutations, seeded(random_state))
    rows = asked.prepared.rows
    gradients = integrated_gradients(asked, steps=steps)
    found = gradients
    if asked.net.features.trunk is None:
        net = asked.net.relevance_rows(as_rows(asked.points), cluster=asked.clusters, against=asked.against)
        found = Attribution(np.asarray(net.values), net.base_values)
    relevance, slopes = rows.collect(found.values), rows.collect(gradients.values)
    informing, errors = np.zeros_like(relevance), np.zeros_like(relevance)
    informing[:, game.players], errors[:, game.players] = told.values, told.errors
    unit = np.abs(relevance).sum(axis=1)
    values, base = _RELEVANCE * relevance, _RELEVANCE * found.base_values
    for share, part, start in ((_GRADIENTS, slopes, gradients.base_values), (_TOLD, informing, told.base)):
        scale = share * _ratio(unit, np.abs(part).sum(axis=1))
        values += scale[:, None] * part
        base += scale * start
    # What is sampled comes last: its scale is that of its errors.
    errors *= scale[:, None]
    silent = np.setdiff1d(np.arange(asked.n_columns), game.players)
    notes = ((tuple(silent.tolist()), _NO_WEIGHT),) if len(silent) else ()
    return Attribution(values, base, collected=True, errors=errors, notes=notes)


def _ratio(unit: NDArray, size: NDArray) -> NDArray:
    """unit / size; 0 where there is nothing to scale."""
    return np.divide(unit, size, out=np.zeros_like(unit), where=size > 0)
