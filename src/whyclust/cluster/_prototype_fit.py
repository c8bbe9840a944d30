"""Prototypes that reproduce given labels: where they start, and what they say of points.

Logits are those of `_likelihoods`, in the units that are described there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from whyclust.cluster._centres import centres_of
from whyclust.cluster._distances import FloatArray, IntArray

# Log weight of a prototype that stands for no row.
NEVER = -1e6


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
    tables: Sequence[tuple[FloatArray, IntArray]], n_clusters: int, n_support: int, seed: int
) -> list[tuple[Prototypes, FloatArray]]:
    """Take each cluster's members, or the centres of k-means within it where it has more than `n_support`.

    Parameters
    ----------
    tables : sequence of (points, codes)
        Rows of as many columns each, such as those of the folds, and the cluster of each row;
        `n_clusters` marks noise.
    n_clusters, n_support, seed : int

    Returns
    -------
    list of (prototypes, counts)
        For each table its prototypes, and how many rows each of them stands for. Clusters without rows
        have one prototype far below any other: they are never assigned.
    """
    found = [_of_cluster(tables, cluster, n_support, seed) for cluster in range(n_clusters)]
    starts = []
    for place in range(len(tables)):
        vectors, counts = zip(*(of_cluster[place] for of_cluster in found), strict=True)
        members = np.repeat(np.arange(n_clusters), [len(count) for count in counts])
        # Within a cluster prototypes count by their rows; clusters count alike, whatever their size.
        weights = [np.log(count / count.sum()) if count.sum() else np.full(1, NEVER) for count in counts]
        prototypes = Prototypes(np.concatenate(vectors), members, np.concatenate(weights))
        starts.append((prototypes, np.concatenate(counts)))
    return starts


def _of_cluster(
    tables: Sequence[tuple[FloatArray, IntArray]], cluster: int, n_support: int, seed: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Prototypes of one cluster in every table, and the rows they stand for."""
    found: list[tuple[FloatArray, FloatArray]] = []
    large = []
    for place, (points, codes) in enumerate(tables):
        rows = points[codes == cluster]
        if len(rows) == 0:
            found.append((points.mean(axis=0, keepdims=True), np.zeros(1)))
        elif len(rows) <= n_support:
            found.append((rows, np.ones(len(rows))))
        else:
            found.append((rows.mean(axis=0, keepdims=True), np.array([float(len(rows))])))
            large.append((place, rows))
    if n_support > 1 and large:
        for (place, _), (centres, sizes) in zip(
            large, centres_of([rows for _, rows in large], n_support, seed), strict=True
        ):
            found[place] = centres, sizes.astype(float)
    return found


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
