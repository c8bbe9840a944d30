"""The data sets and models of Table I, with the paper's numbers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

from whyclust.cluster import KernelKMeans

COLUMNS = ("random", "squared", "pda_zero", "pda_kde", "sensitivity", "ig", "nca", "neon")
QUICK = ("winer",)
# What is said of the options of runs over these sets.
HELPS = {"quick": "wine alone, two fits, only to see that it runs", "jobs": "fits measured at a time"}


@dataclass(frozen=True)
class TableSet:
    """A row of Table I: name, model, and the paper's score of each method (None where it has none)."""

    name: str
    n_clusters: int
    kind: str
    paper: tuple[float | None, ...]
    size: tuple[int, int]

    @property
    def scores(self) -> dict[str, float | None]:
        """The paper's number of each method."""
        return dict(zip(COLUMNS, self.paper, strict=True))


SETS = [
    TableSet("buddy", 7, "kmeans", (71.77, 75.00, 70.06, 70.81, 73.32, 74.76, 76.41, 78.42), (249, 6)),
    TableSet("c2000", 7, "kmeans", (90.71, 95.12, 90.67, 90.87, 92.01, 93.82, 92.15, 95.21), (2000, 68)),
    TableSet("hepac", 8, "kmeans", (61.16, 74.04, 59.67, 60.03, 76.50, 77.56, 76.20, 80.19), (615, 11)),
    TableSet("seeds", 6, "kmeans", (75.73, 78.64, 76.07, 76.09, 81.62, 79.54, 81.16, 82.81), (210, 7)),
    TableSet("winer", 6, "kmeans", (78.36, 85.04, 77.01, 78.15, 82.99, 85.87, 85.10, 87.23), (178, 13)),
    TableSet("news", 20, "kernel", (40.07, 42.83, 51.55, None, 40.40, 40.40, None, 54.50), (250, 300)),
    TableSet("trpad", 9, "kernel", (58.68, 71.34, 58.87, 58.32, 68.76, 71.44, None, 74.92), (980, 10)),
    TableSet("sales", 6, "kernel", (82.30, 87.28, 82.66, 82.33, 86.72, 86.51, None, 87.21), (811, 52)),
    TableSet("water", 5, "kernel", (79.30, 87.30, 79.13, 78.89, 85.01, 86.82, None, 87.66), (527, 38)),
    TableSet("whlsl", 8, "kernel", (54.98, 63.91, 54.88, 55.11, 64.53, 64.93, None, 67.37), (440, 6)),
]


def named(name: str) -> TableSet:
    """The set of this name."""
    return next(one for one in SETS if one.name == name)


def rows_of(name: str) -> np.ndarray:
    """Preprocessed as in supplement H; wine ships with scikit-learn, so that quick forms need no data."""
    if name == "winer" and not os.environ.get("WHYCLUST_DATA"):
        X = load_wine().data
        return (X - X.mean(axis=0)) / X.std(axis=0)
    from whyclust.datasets import load

    return np.asarray(load(name, preprocess=True).X, dtype=float)


def fitted(one: TableSet, X: np.ndarray, seed: int, n_clusters: int | None = None) -> Any:
    """The model of a row, with the best of many starts by its own objective."""
    k = n_clusters or one.n_clusters
    if one.kind == "kmeans":
        return KMeans(k, n_init=100, random_state=seed).fit(X)
    return KernelKMeans(k, random_state=seed).fit(X)
