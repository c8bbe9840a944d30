"""Where labels come from: classes, linkage, spectral clustering and densities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn import cluster
from sklearn.neighbors import NearestNeighbors

from surrogate_parts.settings import SEED

LARGEST_SHARE = 0.98  # a label of more rows than this leaves nothing to tell apart


def elbow_radius(X: np.ndarray, neighbours: int) -> float:
    """Radius of DBSCAN: where the sorted distances to the k-th neighbour bend most.

    That is the distance furthest below the straight line from the first to the last of them. A point counts
    as its own neighbour, as in DBSCAN.
    """
    distances = np.sort(NearestNeighbors(n_neighbors=neighbours).fit(X).kneighbors(X)[0][:, -1])
    line = np.linspace(distances[0], distances[-1], len(distances))
    return float(distances[np.argmax(line - distances)])


def density(X: np.ndarray) -> np.ndarray:
    radius = elbow_radius(X, neighbours=5)
    return cluster.DBSCAN(eps=max(radius, 1e-12), min_samples=5).fit_predict(X)


def hierarchy_of_density(X: np.ndarray) -> np.ndarray:
    return cluster.HDBSCAN(min_cluster_size=max(5, len(X) // 50), copy=True).fit_predict(X)


def linked(X: np.ndarray, k: int, linkage: str) -> np.ndarray:
    return cluster.AgglomerativeClustering(k, linkage=linkage).fit_predict(X)


def spectral(X: np.ndarray, k: int) -> np.ndarray:
    model = cluster.SpectralClustering(k, affinity="nearest_neighbors", random_state=SEED, n_jobs=1)
    return model.fit_predict(X)


CLUSTERINGS: dict[str, Callable[[np.ndarray, np.ndarray | None, int], np.ndarray | None]] = {
    "classes": lambda X, y, k: y,
    "ward": lambda X, y, k: linked(X, k, "ward"),
    "average": lambda X, y, k: linked(X, k, "average"),
    "single": lambda X, y, k: linked(X, k, "single"),
    "spectral": lambda X, y, k: spectral(X, k),
    "dbscan": lambda X, y, k: density(X),
    "hdbscan": lambda X, y, k: hierarchy_of_density(X),
}


def degenerate(labels: np.ndarray | None) -> str | None:
    """Why there is nothing to predict, or None."""
    if labels is None:
        return "no classes"
    found, sizes = np.unique(labels, return_counts=True)
    count = int((found != -1).sum())
    if count < 2:
        return f"{count} cluster{'' if count == 1 else 's'} besides noise"
    share = sizes.max() / len(labels)
    return f"one label has more than {LARGEST_SHARE:.0%} of the rows" if share > LARGEST_SHARE else None
