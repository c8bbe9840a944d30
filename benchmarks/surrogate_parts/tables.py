"""Tables whose clusterings are predicted: rows, classes where there are any, and the number of clusters."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from surrogate_parts.settings import SEED


def standardised(X: np.ndarray) -> np.ndarray:
    """For columns of different units: gaps by the column's mean, then mean 0 and deviation 1."""
    return make_pipeline(SimpleImputer(), StandardScaler()).fit_transform(X)


def pixels(X: np.ndarray) -> np.ndarray:
    return X / 255


def most_variable(X: np.ndarray, count: int = 2000) -> np.ndarray:
    return X[:, np.sort(np.argsort(-X.var(axis=0), kind="stable")[:count])]


def normalised_counts(X: np.ndarray) -> np.ndarray:
    """Log of counts per 10,000, and of these the columns that vary most."""
    return most_variable(np.log1p(1e4 * X / X.sum(axis=1, keepdims=True)))


def logarithms(X: np.ndarray) -> np.ndarray:
    return most_variable(np.log1p(X))


def as_they_are(X: np.ndarray) -> np.ndarray:
    return X


@dataclass(frozen=True)
class Stored:
    """A table in a file: how it is prepared, how many rows are drawn, and K where it has no classes."""

    prepare: Callable[[np.ndarray], np.ndarray] = as_they_are
    rows: int | None = None
    clusters: int | None = None


STORED = {
    "seeds": Stored(standardised),
    "hepac": Stored(standardised),
    "whlsl": Stored(standardised),
    "buddy": Stored(standardised, clusters=7),
    "trpad": Stored(standardised, clusters=9),
    "water": Stored(standardised, clusters=5),
    "census1990_first1000": Stored(standardised, clusters=7),
    "sales": Stored(standardised, clusters=6),
    "pendigits": Stored(rows=1000),
    "usps": Stored(rows=600),
    "mnist": Stored(pixels, rows=600),
    "fashion_mnist": Stored(pixels, rows=600),
    "mouse_bladder_2100": Stored(normalised_counts, rows=600),
    "pollen": Stored(logarithms),
    "tox171": Stored(np.log1p),
    "allaml": Stored(),
    "prostate_ge": Stored(),
    "srbct": Stored(),
    "biase": Stored(np.log1p),
    "pbmc68k_reduced": Stored(),
}
Table = tuple[np.ndarray, "np.ndarray | None", int]


def built_in(quick: bool) -> dict[str, Callable[[], Table]]:
    """Tables that are generated or come with scikit-learn: rows, classes, K."""

    def moons() -> Table:
        return *datasets.make_moons(100 if quick else 600, noise=0.08, random_state=SEED), 2

    def circles() -> Table:
        return *datasets.make_circles(600, noise=0.05, factor=0.5, random_state=SEED), 2

    def blobs() -> Table:
        made = datasets.make_blobs(600, centers=3, cluster_std=[0.3, 1.0, 2.5], random_state=SEED)
        return made[0], made[1], 3

    def digits() -> Table:
        return *datasets.load_digits(return_X_y=True), 10

    def wine() -> Table:
        X, y = datasets.load_wine(return_X_y=True)
        return standardised(X), y, 3

    if quick:
        return {"moons": moons, "wine": wine}
    return {"moons": moons, "circles": circles, "blobs": blobs, "digits": digits, "wine": wine}


def read(path: Path, stored: Stored) -> Table:
    """Take the rows that are used first: the widest tables are counts of 20,000 columns."""
    with np.load(path, allow_pickle=False) as content:
        X, y = content["X"], content["y"] if "y" in content.files else None
    rows = np.arange(len(X))
    if stored.rows is not None and stored.rows < len(X):
        rows = np.sort(np.random.default_rng(SEED).choice(len(X), stored.rows, replace=False))
    y = None if y is None else y[rows].astype(int)
    X = stored.prepare(X[rows].reshape(len(rows), -1).astype(float))
    return X, y, stored.clusters if y is None else len(np.unique(y))


def tables(quick: bool) -> tuple[dict[str, Callable[[], Table]], list[str]]:
    """Tables by name, and the names of those that are not at hand."""
    found = built_in(quick)
    if quick:
        return found, []
    folder = os.environ.get("WHYCLUST_DATA")
    absent = []
    for name, stored in STORED.items():
        path = Path(folder or "") / f"{name}.npz"
        if folder and path.exists():
            found[name] = lambda path=path, stored=stored: read(path, stored)
        else:
            absent.append(name)
    return found, absent
