"""How probable a row's cluster is when only some of its columns are known, by rows that are similar there.

P(c | z_I) = Σ_n w_n 1[row n is in c] / Σ_n w_n with the kernel weights w_n of supplement G on the columns I.
No model is asked: rows of the background have their clusters. Of the game log P(c | z_I), in which columns
are the players, this module has Shapley values, exact or from sampled orders, and the order in which columns
suffice soonest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import factorial

import numpy as np
from numpy.typing import NDArray

from whyclust._progress import done
from whyclust.baselines.asked import Asked
from whyclust.network.gradient import gradient
from whyclust.perturbing.encoded import as_rows, inside
from whyclust.perturbing.imputation import DensityPath

# Distances of a block of rows fit the caches.
_BLOCK_NUMBERS = 1 << 17
# Rows at which the model's slopes are looked at, and slopes that are none beside the largest.
_SLOPE_ROWS = 256
_NO_SLOPE = 1e-10
# With more players there are too many sets to look at, however many orders were asked for.
_MOST_PLAYERS = 20


@dataclass(frozen=True, eq=False)
class KnownColumns:
    """What similar rows say about the clusters of these rows, whichever columns are known.

    Attributes
    ----------
    asked : Asked
        Rows, the cluster of each, and the density of the background, out of which a row itself is left.
    """

    asked: Asked

    @cached_property
    def players(self) -> NDArray:
        """The user's columns that have weight in the network.

        Others may tell the cluster as well, as proxies of those that the model reads, but are no reason.
        """
        sources = self.asked.prepared.rows.sources
        return np.unique(sources[self._has_weight])

    @cached_property
    def _has_weight(self) -> NDArray:
        """Which encoded columns the evidence for clusters changes with, anywhere in the background."""
        background, density = self.asked.background, self.asked.density
        places = np.linspace(0, len(background) - 1, min(len(background), _SLOPE_ROWS)).astype(int)
        points = np.unique(background[places], axis=0)
        slopes = np.abs(gradient(self.asked.net, as_rows(points))).max(axis=0)
        moves = slopes * np.where(density.scale > 0, density.scale, 1.0)
        return moves > _NO_SLOPE * moves.max() if moves.any() else np.ones(len(moves), dtype=bool)

    @cached_property
    def own(self) -> NDArray:
        """The row of the density that each row is itself, −1 where it is not among them."""
        return self.asked.density.equal_to(self.asked.points)

    @cached_property
    def _among(self) -> tuple[NDArray, NDArray]:
        """The question of each row, and the rows of the density that are in the cluster of a question."""
        asked, rows = self.asked, self.asked.density.rows
        if asked.against is None:
            clusters, question = np.unique(asked.clusters, return_inverse=True)
            judged = inside(asked.net)
            return question, np.stack([judged(rows, np.repeat(one, len(rows))) for one in clusters])
        # On the cluster's side of the one boundary asked about.
        pairs, question = np.unique([asked.clusters, asked.against], axis=1, return_inverse=True)
        evidence = [
            asked.net.evidence_rows(as_rows(rows), cluster=np.repeat(own, len(rows)), against=other)
            for own, other in zip(*pairs, strict=True)
        ]
        return question.ravel(), np.stack(evidence) > 0

    def blocks(self) -> Iterator[Known]:
        """Some rows at a time, nothing of them known."""
        question, members = self._among
        size = max(1, _BLOCK_NUMBERS // self.asked.density.n_rows)
        sources = self.asked.prepared.rows.sources
        for start in range(0, len(self.asked.points), size):
            rows = np.arange(start, min(start + size, len(self.asked.points)))
            path = self.asked.density.path(self.asked.points[rows], sources)
            path.leave_out(self.own[rows])
            yield Known(rows, path, members[question[rows]].astype(np.float64), self.players)


@dataclass(eq=False)
class Known:
    """Rows of a block, some columns of which are known."""

    rows: NDArray
    path: DensityPath
    members: NDArray
    players: NDArray

    def __post_init__(self) -> None:
        self._nothing = self.path.distances.copy()
        there = np.isfinite(self._nothing)
        # In the cluster or not: one row more of each, so that no logarithm is of zero.
        self._prior = ((there * self.members).sum(axis=1) + 1.0) / (there.sum(axis=1) + 2.0)

    def told(self) -> NDArray:
        """log P(c | z_I) of each row; one row more knows only the shares of clusters."""
        return self._told(self.path.distances)

    def _told(self, distances: NDArray) -> NDArray:
        nearest = distances.min(axis=1, keepdims=True)
        weights = np.where(np.isfinite(nearest), nearest, 0.0) - distances
        np.exp(0.5 * weights, out=weights)
        hits = np.einsum("ij,ij->i", weights, self.members)
        return np.log((hits + self._prior) / (weights.sum(axis=1) + 1.0))

    def forget_all(self) -> None:
        """Begin again with nothing known."""
        self.path.distances[:] = self._nothing

    def walk(self, orders: NDArray) -> NDArray:
        """What each player adds to log P when columns become known in this order, of shape (rows, players).

        `orders` holds positions of players, a permutation of them for each row.
        """
        self.forget_all()
        every = np.arange(len(self.rows))
        gains = np.empty(orders.shape)
        before = self.told()
        for step in orders.T:
            self.path.reveal(self.players[step])
            now = self.told()
            gains[every, step] = now - before
            before = now
        return gains

    def exact(self) -> NDArray:
        """Shapley values by all sets of players, of shape (rows, players)."""
        n_players = len(self.players)
        told = np.empty((1 << n_players, len(self.rows)))
        self.forget_all()
        self._every_set(0, 0, told)
        found = np.zeros((len(self.rows), n_players))
        for known in range(1 << n_players):
            size = known.bit_count()
            for player in range(n_players):
                if not known >> player & 1:
                    share = factorial(size) * factorial(n_players - size - 1) / factorial(n_players)
                    found[:, player] += share * (told[known | 1 << player] - told[known])
        return found

    def _every_set(self, known: int, first: int, told: NDArray) -> None:
        """Note what is told of all sets that add players from `first` on to those that are known."""
        told[known] = self.told()
        for player in range(first, len(self.players)):
            before = self.path.distances.copy()
            self.path.reveal(np.repeat(self.players[player], len(self.rows)))
            self._every_set(known | 1 << player, player + 1, told)
            self.path.distances[:] = before

    def greedy(self) -> NDArray:
        """Positions of players, first the one that makes the cluster most probable, then the next."""
        self.forget_all()
        every = np.arange(len(self.rows))
        left = np.tile(np.arange(len(self.players)), (len(self.rows), 1))
        found = np.empty(left.shape, dtype=np.intp)
        for place in range(len(self.players)):
            told = np.empty(left.shape)
            for candidate in range(left.shape[1]):
                before = self.path.distances.copy()
                self.path.reveal(self.players[left[:, candidate]])
                told[:, candidate] = self.told()
                self.path.distances[:] = before
            found[:, place] = left[every, told.argmax(axis=1)]
            self.path.reveal(self.players[found[:, place]])
            left = left[left != found[:, place, None]].reshape(len(self.rows), -1)
        return found


@dataclass(frozen=True, eq=False)
class Shapley:
    """Shapley values of players, their standard errors, and what is told when nothing is known."""

    values: NDArray
    errors: NDArray
    base: NDArray


def shapley_values(game: KnownColumns, n_permutations: int, generator: np.random.Generator) -> Shapley:
    """Shapley values of log P(c | z_I): exact where looking at all sets of columns is not more work."""
    n_players = len(game.players)
    if n_players < _MOST_PLAYERS and 1 << n_players < 2 * n_permutations * n_players:
        return exact_values(game)
    return sampled_values(game, n_permutations, generator)


def exact_values(game: KnownColumns) -> Shapley:
    """By all sets of columns: without error."""
    values, base = np.zeros((len(game.asked.points), len(game.players))), np.zeros(len(game.asked.points))
    for known in game.blocks():
        done(known.rows[0] / len(values))
        base[known.rows] = known.told()
        values[known.rows] = known.exact()
    return Shapley(values, np.zeros_like(values), base)


def sampled_values(game: KnownColumns, n_permutations: int, generator: np.random.Generator) -> Shapley:
    """By orders drawn at random, each walked there and back; their spread is the error."""
    shape = len(game.asked.points), len(game.players)
    values, errors, base = np.zeros(shape), np.zeros(shape), np.zeros(len(game.asked.points))
    for known in game.blocks():
        base[known.rows] = known.told()
        means = np.empty((n_permutations, len(known.rows), shape[1]))
        for place in range(n_permutations):
            done((known.rows[0] + place / n_permutations * len(known.rows)) / len(values))
            orders = generator.permuted(np.broadcast_to(np.arange(shape[1]), means.shape[1:]), axis=1)
            means[place] = (known.walk(orders) + known.walk(orders[:, ::-1])) / 2.0
        values[known.rows] = means.mean(axis=0)
        errors[known.rows] = means.std(axis=0, ddof=1) / np.sqrt(n_permutations)
    return Shapley(values, errors, base)
