"""Tables with a known number of clusters, and tables of one lump."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PLANTED = (
    "clean",
    "unequal sizes",
    "overlapping",
    "irrelevant columns",
    "different spreads",
    "with categories",
)
LUMPS = ("uniform box", "elongated", "correlated", "log-normal", "t3", "binary columns")
# Real tables that had no part in the choice of thresholds.
REAL = ("hepac", "biase", "pollen", "srbct", "tox171")
N_ROWS = 900
IRRELEVANT = 12
# Columns of wide real tables, by principal components.
MOST_COLUMNS = 30


def planted(kind: str, k: int, seed: int) -> NDArray:
    """Gaussian clusters, in 2, 4 or 8 columns, whose centres are nowhere closer than a few deviations."""
    generator = np.random.default_rng([seed, PLANTED.index(kind), k])
    n_columns = int(generator.choice([2, 4, 8]))
    least = generator.uniform(2.8, 3.8) if kind == "overlapping" else generator.uniform(4.5, 7.0)
    centers = _centers(generator, k, n_columns, least)
    sizes = np.full(k, N_ROWS // k)
    if kind == "unequal sizes":
        shares = generator.uniform(1.0, 10.0, size=k)
        sizes = np.maximum((N_ROWS * shares / shares.sum()).astype(int), 15)
    sizes[sizes.argmax()] += N_ROWS - sizes.sum()
    labels = np.repeat(np.arange(k), sizes)
    deviations = generator.uniform(0.4, 1.7, size=k) if kind == "different spreads" else np.ones(k)
    X = centers[labels] + generator.normal(size=(N_ROWS, n_columns)) * deviations[labels][:, None]
    if kind == "irrelevant columns":
        X = np.hstack([X, generator.normal(size=(N_ROWS, IRRELEVANT))])
    if kind == "with categories":  # of three and of two values, as frequent as their cluster has them
        return np.hstack([_scaled(X), *(_category(generator, labels, n_values) for n_values in (3, 2))])
    # Where two columns of clusters are scaled like twelve of noise, nothing is left to be found.
    hopeless = kind == "irrelevant columns" and n_columns < 8
    return _scaled(X) if generator.random() < 0.5 and not hopeless else X


def _category(generator: np.random.Generator, labels: NDArray, n_values: int) -> NDArray:
    shares = generator.dirichlet(np.ones(n_values), size=labels.max() + 1)
    return np.eye(n_values)[[generator.choice(n_values, p=shares[label]) for label in labels]]


def _centers(generator: np.random.Generator, k: int, n_columns: int, least: float) -> NDArray:
    spread = 0.6 * least
    while True:
        centers: list[NDArray] = []
        for _ in range(4000):
            new = spread * generator.normal(size=n_columns)
            if all(np.linalg.norm(new - old) >= least for old in centers):
                centers.append(new)
            if len(centers) == k:
                return np.array(centers)
        spread *= 1.15


def lump(kind: str, seed: int) -> NDArray:
    """One lump, in 2, 5 or 10 columns."""
    generator = np.random.default_rng([seed, 100 + LUMPS.index(kind)])
    shape = (N_ROWS, int(generator.choice([2, 5, 10])))
    if kind == "elongated":
        return generator.normal(size=shape) * np.r_[generator.uniform(3.0, 6.0), np.ones(shape[1] - 1)]
    if kind == "uniform box":
        X = generator.uniform(size=shape)
    elif kind == "correlated":
        shared = generator.normal(size=(N_ROWS, 1)) * generator.uniform(0.8, 2.0, size=shape[1])
        X = shared + 0.6 * generator.normal(size=shape)
    elif kind == "log-normal":
        X = generator.lognormal(0.0, generator.uniform(0.5, 1.0), size=shape)
    elif kind == "t3":
        X = generator.standard_t(3, size=shape)
    else:
        shares = generator.uniform(0.2, 0.8, size=int(generator.integers(2, 5)))
        X = np.hstack([generator.normal(size=shape), generator.random((N_ROWS, len(shares))) < shares])
    return _scaled(X)


def classes(name: str) -> int | None:
    """The number of classes of a real table; None where there is no such file."""
    path = _path(name)
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as stored:
        return len(np.unique(stored["y"]))


def real(name: str) -> NDArray:
    """A real table, standardised; principal components of a wide one."""
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer

    path = _path(name)
    if path is None:
        raise FileNotFoundError(f"there is no {name}.npz in the folder of WHYCLUST_DATA.")
    with np.load(path, allow_pickle=False) as stored:
        X = _scaled(SimpleImputer().fit_transform(stored["X"].astype(float)))
    if X.shape[1] > MOST_COLUMNS:
        X = PCA(min(MOST_COLUMNS, len(X) - 1), random_state=0).fit_transform(X)
    return X


def _path(name: str) -> Path | None:
    folder = os.environ.get("WHYCLUST_DATA")
    path = Path(folder or "") / f"{name}.npz"
    return path if folder and path.exists() else None


def large(n_rows: int, n_columns: int, k: int) -> NDArray:
    """Clusters in a larger table, for the clock."""
    generator = np.random.default_rng(0)
    centers = 2.0 * generator.normal(size=(k, n_columns))
    return centers[generator.integers(k, size=n_rows)] + generator.normal(size=(n_rows, n_columns))


def _scaled(X: NDArray) -> NDArray:
    deviations = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
