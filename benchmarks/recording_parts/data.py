"""Tables of all cases: made with fixed seeds, or scikit-learn's own."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine, make_blobs, make_moons
from sklearn.preprocessing import StandardScaler


@cache
def wine() -> pd.DataFrame:
    return load_wine(as_frame=True).data


@cache
def wine_classes() -> np.ndarray:
    return load_wine().target


@cache
def scaled() -> np.ndarray:
    return StandardScaler().fit_transform(wine().to_numpy())


@cache
def blobs() -> np.ndarray:
    X, _ = make_blobs(120, centers=4, n_features=6, cluster_std=2.0, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0)


@cache
def moons() -> np.ndarray:
    """Two moons and a few rows that belong to neither."""
    X, _ = make_moons(140, noise=0.05, random_state=0)
    return np.concatenate([X, np.random.default_rng(1).uniform(-1.5, 2.5, (20, 2))])


@cache
def images() -> np.ndarray:
    return load_digits().images[:200] / 16


@cache
def counts() -> sp.csr_array:
    """Words of three topics in short documents."""
    random = np.random.default_rng(2)
    topics = random.gamma(0.3, size=(3, 40))
    return sp.csr_array(random.poisson(3 * topics[np.arange(90) % 3]).astype(float))


@cache
def mixed() -> pd.DataFrame:
    """Numbers and texts, some of them missing, rows with names."""
    random = np.random.default_rng(3)
    group = np.arange(96) % 3
    frame = pd.DataFrame(
        {
            "age": np.round(30 + 12 * group + random.normal(0, 4, 96), 1),
            "income": np.round(np.exp(7 + 0.5 * group + random.normal(0, 0.3, 96)), 2),
            "visits": random.poisson(2 + 3 * group).astype(float),
            "colour": np.array(["red", "green", "blue"])[(group + (random.random(96) < 0.2)) % 3],
            "city": np.array(["Rome", "Oslo", "Lima", "Kyiv"])[random.integers(4, size=96)],
        },
        index=pd.Index([f"customer {row}" for row in range(96)], name="who"),
    )
    frame.loc[frame.index[random.choice(96, 9, replace=False)], "age"] = np.nan
    return frame


@cache
def numbers_missing() -> pd.DataFrame:
    frame = mixed()[["age", "income", "visits"]].copy()
    frame.iloc[5:12, 1] = np.nan
    return frame
