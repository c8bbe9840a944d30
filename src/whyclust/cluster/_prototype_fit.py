"""Prototypes that reproduce given labels: their start, and the fine-tuning of section V of 000.

With points and prototypes multiplied by √(2γ) the outlier scores of kernel k-means become

    −γ o_k(x) = log Σ_{j of k} exp(z·v_j − ½‖v_j‖² + w_j) − ½‖z‖²,

the last term being the same for all clusters. Noise has no prototypes: it is the constant
−γ o = b. Everything here is in these units.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from whyclust.cluster._distances import FloatArray, IntArray

# The log weights of prototypes are known from counts. What they change belongs to no column, so
# their price is high.
_WEIGHT_PRICE = 10.0
_SHARPNESS_PENALTY = 0.01
_LARGEST_LOG = 7.0
_MAX_ITER = 100
# Log weight of a prototype that stands for no row.
_NEVER = -1e6


@dataclass(frozen=True)
class Prototypes:
    """Prototypes of all clusters, ordered by cluster.

    Parameters
    ----------
    vectors : ndarray of shape (P, d)
    members : ndarray of shape (P,)
        Cluster of each prototype, ascending from 0, every cluster at least once.
    weights : ndarray of shape (P,)
        Log weights w_j.
    noise : float or None
        Log weight b of noise.
    """

    vectors: FloatArray
    members: IntArray
    weights: FloatArray
    noise: float | None = None

    @property
    def starts(self) -> IntArray:
        """First prototype of each cluster."""
        return np.searchsorted(self.members, np.arange(self.members[-1] + 1))

    def scaled(self, factor: float) -> Prototypes:
        """The same in other units of length."""
        return replace(self, vectors=self.vectors * factor)

    def logits(self, points: FloatArray) -> FloatArray:
        """−γ o_k + ½‖z‖² of all clusters, and of noise in the last column if there is any."""
        scores = points @ self.vectors.T
        scores += self.weights - 0.5 * np.einsum("ij,ij->i", self.vectors, self.vectors)
        largest = np.maximum.reduceat(scores, self.starts, axis=1)
        total = np.add.reduceat(np.exp(scores - largest[:, self.members]), self.starts, axis=1)
        logits = largest + np.log(total)
        if self.noise is None:
            return logits
        return np.column_stack([logits, self.noise + 0.5 * np.einsum("ij,ij->i", points, points)])


def start_prototypes(
    points: FloatArray, codes: IntArray, n_clusters: int, n_support: int, seed: int
) -> tuple[Prototypes, FloatArray]:
    """Take each cluster's members, or the centres of k-means within it where it has more than `n_support`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of shape (n,)
        Cluster of each row; `n_clusters` marks noise.
    n_clusters, n_support, seed : int

    Returns
    -------
    prototypes : Prototypes
        Clusters without rows have one prototype far below any other: they are never assigned.
    counts : ndarray of shape (P,)
        Rows that each prototype stands for.
    """
    vectors, members, counts = [], [], []
    for cluster in range(n_clusters):
        rows = points[codes == cluster]
        if len(rows) <= n_support:
            found, count = rows, np.ones(len(rows))
        elif n_support == 1:
            found, count = rows.mean(axis=0, keepdims=True), np.array([float(len(rows))])
        else:
            with warnings.catch_warnings():  # fewer distinct rows than centres are no trouble here
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = KMeans(n_support, n_init=4, max_iter=20, random_state=seed).fit(rows)
            count = np.bincount(model.labels_, minlength=n_support).astype(float)
            found, count = model.cluster_centers_[count > 0], count[count > 0]
        if len(found) == 0:
            found, count = points.mean(axis=0, keepdims=True), np.zeros(1)
        vectors.append(found)
        members.append(np.full(len(found), cluster))
        counts.append(count)
    # Within a cluster prototypes count by their rows; clusters count alike, whatever their size.
    weights = [np.log(count / count.sum()) if count.sum() else np.full(1, _NEVER) for count in counts]
    return (
        Prototypes(np.concatenate(vectors), np.concatenate(members), np.concatenate(weights)),
        np.concatenate(counts),
    )


def shrink(
    start: Prototypes, counts: FloatArray, center: FloatArray, deviation: FloatArray, level: float
) -> Prototypes:
    """Put columns in which a cluster is within `level` standard errors of the overall centre onto it.

    Such a column does not tell the cluster apart: it has no relevance for it, and fine-tuning
    leaves it alone. Shrunken centroids do the same, but pull the other coordinates, too. A cluster
    of several prototypes keeps a column if any of them needs it.
    """
    if level <= 0:
        return start
    error = level * deviation / np.sqrt(np.maximum(counts, 1.0))[:, None]
    stays = np.abs(start.vectors - center) > error
    stays = np.logical_or.reduceat(stays, start.starts, axis=0)[start.members]
    return replace(start, vectors=np.where(stays, start.vectors, center))


class _Likelihood:
    """−log posterior of the given labels, and the price of every change; with its gradient.

    The posterior is softmax(T ℓ_k), ℓ_k = −γ o_k. T makes it as sure of itself as the labels are; were
    it 1, prototypes would leave their clusters only to make boundaries sharper. Single precision
    does: points are centred and of unit scale, and what is asked is where boundaries lie.
    """

    def __init__(
        self,
        points: FloatArray,
        codes: IntArray,
        start: Prototypes,
        free: FloatArray | None,
        price: float,
        unit: float,
    ):
        self.points, self.codes = points.astype(np.float32), codes
        self.vectors, self.weights = start.vectors.astype(np.float32), start.weights.astype(np.float32)
        self.members, self.starts, self.noise = start.members, start.starts, start.noise
        self.free, self.price, self.weight_price = free, price / unit, _WEIGHT_PRICE * price
        self.rows = np.arange(len(codes))
        self.lengths = 0.5 * np.einsum("ij,ij->i", self.points, self.points)

    def pack(self) -> FloatArray:
        """Vectors, weights, log T, and the weight of noise."""
        noise = [] if self.noise is None else [self.noise]
        return np.concatenate([self.vectors.ravel(), self.weights, [0.0], noise]).astype(np.float64)

    def unpack(self, parameters: FloatArray) -> Prototypes:
        """The prototypes of `pack`."""
        count, width = self.vectors.shape
        vectors, weights = np.split(parameters[: count * (width + 1)], [count * width])
        noise = None if self.noise is None else float(parameters[-1])
        return Prototypes(vectors.reshape(count, width), self.members, weights, noise)

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        now, free_t = self.unpack(parameters), float(parameters[self.vectors.size + self.weights.size])
        # Within bounds: for labels that are told apart without error it would be infinite.
        log_t = _LARGEST_LOG * np.tanh(free_t / _LARGEST_LOG)
        vectors, weights = now.vectors.astype(np.float32), now.weights.astype(np.float32)
        sharpness = np.float32(np.exp(log_t))
        # One row per prototype or cluster and one column per point: so sums over prototypes are fast.
        shares = vectors @ self.points.T
        shares += (weights - 0.5 * np.einsum("ij,ij->i", vectors, vectors))[:, None]
        largest = np.maximum.reduceat(shares, self.starts, axis=0)
        shares -= largest[self.members]
        np.exp(shares, out=shares)
        total = np.add.reduceat(shares, self.starts, axis=0)
        shares /= total[self.members]  # softmax within clusters
        logits = largest + np.log(total)
        if now.noise is not None:
            logits = np.concatenate([logits, np.float32(now.noise) + self.lengths[None]])
        posterior = sharpness * logits
        largest = posterior.max(axis=0)
        posterior -= largest
        of_given = logits[self.codes, self.rows].sum(dtype=float)
        loss = float(largest.sum(dtype=float)) - float(sharpness * of_given)
        np.exp(posterior, out=posterior)
        total = posterior.sum(axis=0)
        loss += float(np.log(total).sum(dtype=float))
        posterior /= total
        residual = posterior
        residual[self.codes, self.rows] -= 1
        by_sharpness = float(sharpness) * float(np.einsum("ij,ij->", residual, logits))
        residual *= sharpness
        shares *= residual[self.members]
        sums = shares.sum(axis=1)
        moved, change = vectors - self.vectors, weights - self.weights
        by_vectors = shares @ self.points
        by_vectors -= sums[:, None] * vectors
        by_vectors += np.float32(self.price) * moved
        if self.free is not None:
            by_vectors *= self.free
        loss += 0.5 * self.price * float(np.einsum("ij,ij->", moved, moved))
        loss += 0.5 * self.weight_price * float(change @ change) + 0.5 * _SHARPNESS_PENALTY * log_t**2
        gradient = [
            by_vectors.ravel(),
            sums + self.weight_price * change,
            [(by_sharpness + _SHARPNESS_PENALTY * log_t) * (1.0 - (log_t / _LARGEST_LOG) ** 2)],
        ]
        if now.noise is not None:
            gradient.append([float(residual[-1].sum())])
        return loss / len(self.rows), np.concatenate(gradient).astype(np.float64) / len(self.rows)


def fine_tune(
    points: FloatArray,
    codes: IntArray,
    start: Prototypes,
    free: FloatArray | None,
    price: float,
    unit: float,
) -> Prototypes:
    """Move prototypes and weights until the posterior of the given labels is largest.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of shape (n,)
        Cluster of each row; the number of clusters marks noise.
    start : Prototypes
        With a noise weight exactly if there is noise.
    free : ndarray of shape (P, d) or None
        1 where a coordinate may move, 0 where not; None: all may.
    price, unit : float
        Of moving a prototype by √unit: ½ price ‖v − v_start‖²/unit is added to the −log posterior of
        all rows, and ten times the price for a change of log weight by one.

    Returns
    -------
    Prototypes
    """
    likelihood = _Likelihood(points, codes, start, free, price, unit)
    found = minimize(
        likelihood,
        likelihood.pack(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_ITER, "ftol": 1e-5},
    )
    return likelihood.unpack(found.x)


def start_noise(points: FloatArray, codes: IntArray, start: Prototypes) -> Prototypes:
    """Let noise begin where one in fifty of the clusters' rows would be called noise."""
    n_clusters = int(start.members[-1]) + 1
    if not (codes == n_clusters).any():
        return start
    inside = points[codes < n_clusters]
    if len(inside) == 0:
        return replace(start, noise=0.0)
    logits = start.logits(inside) - 0.5 * np.einsum("ij,ij->i", inside, inside)[:, None]
    return replace(start, noise=float(np.quantile(logits.max(axis=1), 0.02)))
