"""How likely given labels are under prototypes, for many folds and settings at a time.

With points and prototypes multiplied by √(2γ) the outlier scores of kernel k-means become

    ℓ_k = −γ o_k(x) = log Σ_{j of k} exp(z·v_j − ½‖v_j‖² + w_j) − ½‖z‖²,

the last term being the same for all clusters. Noise has no prototypes: its ℓ is a constant b.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whyclust.cluster._distances import FloatArray, IntArray

# The log weights of prototypes are known from counts. What they change belongs to no column, so
# their price is high.
WEIGHT_PRICE = 10.0
SHARPNESS_PENALTY = 0.01
LARGEST_LOG = 7.0


@dataclass(frozen=True, eq=False)
class Sight:
    """Rows that are seen, as all problems of a fold share them.

    Parameters
    ----------
    columns : ndarray of shape (d + 1, n)
        One row for each column of the table, and a last one of ones; zeros in rows that only fill up.
    codes : ndarray of shape (n,)
        Cluster of each row; the number of clusters marks noise.
    lengths : ndarray of shape (n,)
        ½‖x‖², of columns that were left out the distance to where all prototypes are.
    counted : ndarray of shape (n,)
        1, or 0 for what only fills up.
    """

    columns: FloatArray
    codes: IntArray
    lengths: FloatArray
    counted: FloatArray

    @classmethod
    def of(cls, points: FloatArray, codes: IntArray, n_rows: int, lengths: FloatArray) -> Sight:
        """These rows, filled up to `n_rows`."""
        count, width = points.shape
        columns = np.zeros((width + 1, n_rows), dtype=np.float32)
        columns[:width, :count] = points.T
        columns[width, :count] = 1.0
        filled = np.zeros(n_rows, dtype=codes.dtype)
        filled[:count] = codes
        long = np.zeros(n_rows, dtype=np.float32)
        long[:count] = lengths
        return cls(columns, filled, long, columns[width])


@dataclass(frozen=True, eq=False)
class Problem:
    """One fine-tuning: rows, where prototypes begin, and what it costs to move them.

    Parameters
    ----------
    sight : Sight
    vectors : ndarray of shape (P, d)
        In units in which points are multiplied by `factor`.
    weights : ndarray of shape (P,)
    noise : float or None
    free : ndarray of shape (P, d) or None
        1 where a coordinate may move, 0 where not; None: all may.
    price, unit, factor : float
    """

    sight: Sight
    vectors: FloatArray
    weights: FloatArray
    noise: float | None
    free: FloatArray | None
    price: float
    unit: float
    factor: float


class Likelihoods:
    """−log posterior of the given labels, and the price of every change; with gradients.

    The posterior is softmax(T ℓ_k). T makes it as sure of itself as the labels are; were it 1, prototypes
    would leave their clusters only to make boundaries sharper. Single precision does: points are centred
    and of unit scale, and what is asked is where boundaries lie.

    Parameters
    ----------
    problems : sequence of Problem
        Of the same sizes, those of one sight side by side; all with noise, or none.
    members : ndarray of shape (P,)
        Cluster of each prototype, ascending from 0, every cluster at least once.
    """

    def __init__(self, problems: Sequence[Problem], members: IntArray) -> None:
        self.problems, self.members = list(problems), members
        self.bounds = np.searchsorted(members, np.arange(members[-1] + 2)).tolist()
        first = problems[0]
        self.shape, self.has_noise = first.vectors.shape, first.noise is not None
        self.vectors = np.stack([one.vectors for one in problems]).astype(np.float32)
        self.weights = np.stack([one.weights for one in problems]).astype(np.float32)
        self.free = None
        if any(one.free is not None for one in problems):
            everything = np.ones(self.shape, dtype=np.float32)
            self.free = np.stack([everything if one.free is None else one.free for one in problems])
        prices = np.array([one.price for one in problems])
        units = np.array([one.unit for one in problems])
        self.price = prices / units
        # For small γ vectors are short beside the other parameters: in these units they are not.
        self.reach = np.sqrt(np.minimum(units, 1.0)).astype(np.float32)
        self.weight_price = WEIGHT_PRICE * prices
        self.factor = np.array([one.factor for one in problems], dtype=np.float32)
        self._see()

    def _see(self) -> None:
        """Look up the rows of every problem, and keep room for what is computed of them."""
        sights = [one.sight for one in self.problems]
        edges = [0, *(place for place, (one, two) in enumerate(pairwise(sights), 1) if one is not two)]
        self.groups = [
            (slice(start, end), sights[start].columns)
            for start, end in zip(edges, [*edges[1:], len(sights)], strict=True)
        ]
        self.counted = np.stack([one.counted for one in sights])
        self.n_rows = self.counted.sum(axis=1, dtype=float)
        self.lengths = np.stack([one.lengths for one in sights]) * self.factor[:, None] ** 2
        n_rows, width = self.counted.shape[1], len(self.bounds) - 1 + self.has_noise
        # Where the given cluster of each row is in an array of problems × clusters × rows.
        codes = np.stack([one.codes for one in sights])
        self.given = (np.arange(len(sights))[:, None] * width + codes) * n_rows + np.arange(n_rows)
        self.shares = np.empty((len(sights), self.shape[0], n_rows), dtype=np.float32)
        self.logits = np.empty((len(sights), width, n_rows), dtype=np.float32)

    def take(self, kept: IntArray) -> Likelihoods:
        """Only these problems, in increasing order."""
        fewer = copy(self)
        fewer.problems = [self.problems[place] for place in kept]
        for name in ("vectors", "weights", "price", "weight_price", "factor", "reach"):
            setattr(fewer, name, getattr(self, name)[kept])
        fewer.free = None if self.free is None else self.free[kept]
        fewer._see()
        return fewer

    def pack(self) -> FloatArray:
        """Where all problems start: moves of vectors and weights, log T, and the weight of noise."""
        count = len(self.problems)
        noise = np.empty((count, 0))
        if self.has_noise:
            noise = np.array([[one.noise] for one in self.problems])
        parts = [np.zeros((count, self.vectors[0].size + self.weights.shape[1] + 1)), noise]
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def unpack(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Vectors, weights, what T is made of, and the weights of noise."""
        count, width = self.shape
        ends = np.cumsum([count * width, count, 1])
        moves, changes, log_t, noise = np.split(parameters, ends, axis=1)
        vectors = self.vectors + self.reach[:, None, None] * moves.reshape(len(parameters), count, width)
        return vectors, self.weights + changes, log_t[:, 0], noise

    def __call__(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        vectors, weights, free_t, noise = self.unpack(parameters)
        # Within bounds: for labels that are told apart without error it would be infinite.
        log_t = LARGEST_LOG * np.tanh(free_t.astype(float) / LARGEST_LOG)
        sharpness = np.exp(log_t).astype(np.float32)
        totals = self._respond(vectors, weights, noise)
        logits = self.logits
        residual = sharpness[:, None, None] * logits
        largest = residual.max(axis=1)
        residual -= largest[:, None]
        np.exp(residual, out=residual)
        total = residual.sum(axis=1)
        residual /= total[:, None]
        of_given = sharpness[:, None] * logits.reshape(-1)[self.given]
        losses = ((largest + np.log(total) - of_given) * self.counted).sum(axis=1, dtype=float)
        residual.reshape(-1)[self.given] -= 1.0
        residual *= self.counted[:, None]
        by_sharpness = sharpness * np.einsum("bkn,bkn->b", residual, logits, dtype=float)
        residual *= sharpness[:, None, None]
        by_vectors, sums = self._down(residual, totals)
        by_vectors *= self.factor[:, None, None]
        by_vectors -= sums[:, :, None] * vectors
        moved, change = vectors - self.vectors, weights - self.weights
        by_vectors += self.price[:, None, None].astype(np.float32) * moved
        if self.free is not None:
            by_vectors *= self.free
        losses += 0.5 * self.price * np.einsum("bpd,bpd->b", moved, moved)
        losses += 0.5 * self.weight_price * np.einsum("bp,bp->b", change, change)
        losses += 0.5 * SHARPNESS_PENALTY * log_t**2
        by_log_t = (by_sharpness + SHARPNESS_PENALTY * log_t) * (1.0 - (log_t / LARGEST_LOG) ** 2)
        parts = [
            (by_vectors * self.reach[:, None, None]).reshape(len(parameters), -1),
            sums + self.weight_price[:, None] * change,
            by_log_t[:, None],
        ]
        if self.has_noise:
            parts.append(residual[:, -1].sum(axis=1)[:, None])
        gradient = np.concatenate(parts, axis=1) / self.n_rows[:, None]
        return losses / self.n_rows, gradient.astype(np.float32)

    def _respond(
        self, vectors: FloatArray, weights: FloatArray, noise: FloatArray
    ) -> list[FloatArray | None]:
        """Fill in the logits, and exp(·) of all prototypes up to a factor; return by what to divide it.

        One row per prototype or cluster and one column per point: so sums over prototypes are fast.
        """
        constants = weights - 0.5 * np.einsum("bpd,bpd->bp", vectors, vectors)
        lines = np.concatenate([vectors * self.factor[:, None, None], constants[:, :, None]], axis=2)
        for group, columns in self.groups:
            width = len(columns)
            np.matmul(lines[group].reshape(-1, width), columns, out=_flat(self.shares[group]))
        totals: list[FloatArray | None] = []
        for cluster, (start, end) in enumerate(pairwise(self.bounds)):
            own = self.shares[:, start:end]
            if end - start == 1:
                self.logits[:, cluster] = own[:, 0]
                totals.append(None)
                continue
            largest = own.max(axis=1)
            own -= largest[:, None]
            np.exp(own, out=own)
            total = own.sum(axis=1)
            np.add(largest, np.log(total), out=self.logits[:, cluster])
            totals.append(total)
        if self.has_noise:
            np.add(noise, self.lengths, out=self.logits[:, -1])
        return totals

    def _down(self, residual: FloatArray, totals: list[FloatArray | None]) -> tuple[FloatArray, FloatArray]:
        """What the residuals of clusters are by the vectors, and by the weights."""
        for cluster, (start, end) in enumerate(pairwise(self.bounds)):
            total = totals[cluster]
            if total is None:
                self.shares[:, start] = residual[:, cluster]
            else:
                self.shares[:, start:end] *= (residual[:, cluster] / total)[:, None]
        count, width = self.shape
        found = np.empty((len(self.shares), count, width + 1), dtype=np.float32)
        for group, columns in self.groups:
            np.matmul(_flat(self.shares[group]), columns.T, out=_flat(found[group]))
        return found[:, :, :width], found[:, :, width]


def _flat(stack: FloatArray) -> FloatArray:
    return stack.reshape(-1, stack.shape[2])
