"""Tables that are not the paper's, on which no setting was chosen, and their models."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans

from neon_parts.sets import fitted, named, rows_of
from whyclust.cluster import KernelKMeans

# Name → clusters and kind of the model.
UNSEEN = {
    "breast cancer": (5, "kmeans"),
    "digits": (10, "kmeans"),
    "diabetes": (6, "kernel"),
    "pendigits": (10, "kernel"),
}
_MOST_ROWS = 2000


def table_of(name: str) -> np.ndarray:
    """Rows of a table of the paper, or of one that it has not."""
    if name not in UNSEEN:
        return rows_of(name)
    if name == "pendigits":
        from whyclust.datasets import load

        X = np.asarray(load(name).X, dtype=float)
        X = X[np.random.default_rng(0).permutation(len(X))[:_MOST_ROWS]]
    else:
        X = getattr(datasets, f"load_{name.replace(' ', '_')}")().data.astype(float)
    X = X[:, X.std(axis=0) > 0]
    if name == "digits":  # pixels have one unit
        return (X - X.mean(axis=0)) / X.std()
    return (X - X.mean(axis=0)) / X.std(axis=0)


def model_of(name: str, X: np.ndarray, seed: int) -> Any:
    """The model of a table, the best of several starts by its own objective."""
    if name not in UNSEEN:
        return fitted(named(name), X, seed)
    k, kind = UNSEEN[name]
    if kind == "kmeans":
        return KMeans(k, n_init=100, random_state=seed).fit(X)
    return KernelKMeans(k, random_state=seed).fit(X)
