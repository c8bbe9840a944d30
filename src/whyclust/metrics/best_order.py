"""The best order of columns that is known: greedy, by the model, on the very density that scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whyclust._progress import done
from whyclust.metrics.flipping_setting import Setting
from whyclust.perturbing.encoded import Inside
from whyclust.perturbing.imputation import Imputer

# Draws by which a column is chosen: with fewer, chance chooses.
N_DRAWS = 20
# Twenty draws leave much to chance: what a column did in earlier steps counts, half as much with each.
_MEMORY = 0.5
# Between columns that do the same, the order that was seen decides: its first column is ahead by four draws.
_SEEN = 0.2
_BLOCK_NUMBERS = 1 << 20


def best_order(
    filler: Imputer,
    own: NDArray | None,
    setting: Setting,
    rows: NDArray,
    clusters: NDArray,
    inside: Inside,
    order: str,
    seen: NDArray,
    generator: np.random.Generator,
) -> NDArray:
    """For each of these rows a number for every column, the largest for that which comes first.

    With order "insert" next comes the column that brings the most draws into the row's cluster, with "delete"
    that without which the fewest are left there. This is no explanation: it is told how it will be scored.
    `seen` is the relevance of an order to begin with, for all points: where columns say the same, none of
    them alone makes a difference, and a greedy search has nothing to go by.
    """
    n_columns = setting.n_columns
    sign = 1.0 if order == "insert" else -1.0
    found = np.empty((len(rows), n_columns))
    size = max(1, _BLOCK_NUMBERS // max(filler.n_rows, N_DRAWS * setting.points.shape[1], 1))
    for start in range(0, len(rows), size):
        done(start / len(rows))
        block = rows[start : start + size]
        every = np.arange(len(block))
        path = filler.path(setting.points[block], setting.sources)
        if own is not None:
            path.leave_out(own[block])
        left = np.tile(np.arange(n_columns), (len(block), 1))
        if order == "delete":
            for column in range(n_columns):
                path.reveal(left[:, column])
        take, give_back = (path.reveal, path.conceal) if order == "insert" else (path.conceal, path.reveal)
        likely = _SEEN * seen[block].argsort(axis=1).argsort(axis=1) / n_columns
        before = np.zeros((len(block), n_columns))
        for step in range(n_columns):
            share = np.empty(left.shape)
            seed = generator.integers(1 << 62)
            for place in range(left.shape[1]):
                take(left[:, place])
                # The same draws for all columns, of which differences are taken.
                drawn = path.sample(N_DRAWS, np.random.default_rng(seed))
                hits = inside(drawn.reshape(-1, drawn.shape[2]), np.tile(clusters[block], len(drawn)))
                share[:, place] = hits.reshape(len(drawn), -1).mean(axis=0)
                give_back(left[:, place])
            here = every[:, None], left
            before[here] = sign * (share - share.mean(axis=1, keepdims=True)) + _MEMORY * before[here]
            chosen = left[every, (before[here] + likely[here]).argmax(axis=1)]
            take(chosen)
            found[start + every, chosen] = n_columns - step
            left = left[left != chosen[:, None]].reshape(len(block), -1)
    return found
