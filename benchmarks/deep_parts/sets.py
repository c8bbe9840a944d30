"""The tables of the deep benchmarks, with their classes, which score models and do nothing else."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from sklearn.datasets import load_digits

#: Names in the paper of the data at hand.
PAPER_NAMES = {
    "pendigits": "pendigit",
    "usps": "usps",
    "mnist": "mnist",
    "fashion_mnist": "fmnist",
    "cifar10": "cifar10",
    "news20_raw": "20news",
}
N_WORDS = 2000


@lru_cache(maxsize=2)
def rows_of(name: str, standardised: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Rows between 0 and 1 (the paper does not standardise), or of mean 0 and deviation 1; and classes.

    ``digits`` comes with scikit-learn, so that quick forms need no data.
    """
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X = X[:400] / 16.0
        y = y[:400]
    else:
        X, y = _stored(name)
    if standardised:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.ascontiguousarray(X, dtype=np.float32), np.asarray(y)


def _stored(name: str) -> tuple[np.ndarray, np.ndarray]:
    from whyclust.datasets import load

    data = load(name)
    if name == "news20_raw":
        from sklearn.feature_extraction.text import TfidfVectorizer

        words = TfidfVectorizer(max_features=N_WORDS, stop_words="english").fit_transform(data.texts)
        return words.toarray(), data.y
    X = np.asarray(data.X, dtype=np.float64).reshape(len(data.y), -1)
    low, high = X.min(), X.max()
    return (X - low) / (high - low), data.y
