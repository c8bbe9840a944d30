"""The order in which columns suffice: which one, known first, makes the row's cluster most probable?"""

from __future__ import annotations

import numpy as np

from whyclust.baselines.asked import Asked, Attribution
from whyclust.baselines.known_columns import KnownColumns
from whyclust.baselines.registry import baseline


@baseline(
    "sufficient",
    title="columns in the order in which they suffice",
    scores="how early the column is known, if each next one makes the cluster most probable in the data",
    measures="place in the order in which columns suffice",
)
def sufficient_order(asked: Asked) -> Attribution:
    """Greedy: next comes the column that raises P(c | columns so far) most, by rows that are similar.

    The first column scores as many as there are, the next one less; columns without weight in the network
    score 0. This says what is enough to know, not what speaks for a cluster: ``explanation.sufficient()`` has
    the sets themselves, with their probability.
    """
    game = KnownColumns(asked)
    values = np.zeros((len(asked.points), asked.n_columns))
    places = np.arange(len(game.players), 0, -1, dtype=np.float64)
    for known in game.blocks():
        values[known.rows[:, None], game.players[known.greedy()]] = places
    return Attribution(values, np.zeros(len(values)), collected=True)
