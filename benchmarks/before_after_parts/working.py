"""A process that does one piece of work each time it is told to, with one version of the sources.

Run as a script with the sources on ``PYTHONPATH``. Each line of its input is the name of a piece of work; it
answers with the CPU seconds that it took. What a piece needs is made when it is first asked for, and it is
done once before it is timed.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

Work = Callable[[], Any]


def control() -> Work:
    """Work that is the same in both versions: how far from 1 its ratio is, so far others may be by chance."""
    X = np.random.default_rng(0).standard_normal((1500, 500))
    return lambda: [np.exp(-((X @ X[:200].T) ** 2)).sum() for _ in range(3)]


def k_means(n_rows: int, n_columns: int) -> Work:
    import whyclust as wc

    X = np.random.default_rng(0).standard_normal((n_rows, n_columns), dtype=np.float32)
    model = KMeans(10, init=X[:10], n_init=1, max_iter=1).fit(X[:500])
    net = wc.neuralize(model, X[:500])
    return lambda: net.relevance(X)


def kernel() -> Work:
    import whyclust as wc

    X = np.random.default_rng(0).standard_normal((1500, 20))
    settings: dict[str, Any] = {"algorithm": "standard", "gamma": 0.05, "max_iter": 0}
    model = wc.cluster.KernelKMeans(5, init=np.arange(1000) % 5, **settings).fit(X[:1000])
    net = wc.neuralize(model)
    return lambda: [net.relevance(X) for _ in range(4)]


def surrogate_fit() -> Work:
    import whyclust as wc

    X, labels = make_moons(160, noise=0.1, random_state=0)
    return lambda: wc.cluster.PrototypeSurrogate(cv=3, random_state=0).fit(X, labels)


def surrogate_explained() -> Work:
    import whyclust as wc

    X, labels = make_moons(4000, noise=0.1, random_state=0)
    model = wc.cluster.PrototypeSurrogate(cv=3, random_state=0).fit(X[:200], labels[:200])
    return lambda: [wc.explain(model, X) for _ in range(20)]


def table() -> Work:
    """A small table, over and over: what each call costs."""
    import whyclust as wc

    X = load_wine(as_frame=True).data
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(X)
    return lambda: [wc.explain(model, X) for _ in range(30)]


def audit() -> Work:
    import whyclust as wc

    X = load_wine(as_frame=True).data
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(X)
    return lambda: wc.audit(model, X, n_refits=3, n_repeats=3)


def _deep(n_rows: int, n_columns: int, hidden: tuple[int, ...], **settings: Any) -> tuple[Any, np.ndarray]:
    import torch

    from whyclust.deep import DEC

    torch.set_num_threads(1)
    X = np.random.default_rng(0).standard_normal((n_rows, n_columns), dtype=np.float32)
    return DEC(5, hidden=hidden, kmeans_starts=1, tol=0.0, random_state=0, **settings), X


def deep_epoch(n_columns: int, hidden: tuple[int, ...], batch_size: int) -> Work:
    model, X = _deep(2048, n_columns, hidden, epochs=2, pretrain_epochs=2, batch_size=batch_size)
    return lambda: model.fit(X)


def deep_explained() -> Work:
    import whyclust as wc

    model, X = _deep(2000, 64, (128, 64), epochs=1, pretrain_epochs=1)
    model.fit(X)
    return lambda: wc.explain(model, X)


WORKS: dict[str, Callable[[], Work]] = {
    "control: the same work in both": control,
    "k-means relevance, 784 columns": lambda: k_means(20_000, 784),
    "k-means relevance, 64 columns": lambda: k_means(150_000, 64),
    "kernel k-means relevance, 1000 support vectors": kernel,
    "fit of a surrogate": surrogate_fit,
    "explain by a surrogate": surrogate_explained,
    "explain wine 30 times": table,
    "audit of wine": audit,
    "four epochs of DEC, 256 to a step": lambda: deep_epoch(200, (200, 100), 256),
    "four epochs of DEC, small layers and steps": lambda: deep_epoch(16, (32,), 32),
    "explain a deep clustering": deep_explained,
}
QUICK: dict[str, Callable[[], Work]] = {
    "control: the same work in both": control,
    "k-means relevance, 64 columns": lambda: k_means(2_000, 64),
}


def main() -> None:
    warnings.simplefilter("ignore")
    works = QUICK if "--quick" in sys.argv else WORKS
    import whyclust

    print(whyclust.__file__, flush=True)
    ready: dict[str, Work] = {}
    with threadpool_limits(1):
        for line in sys.stdin:
            name = line.strip()
            if name not in ready:
                ready[name] = works[name]()
                ready[name]()
            start = time.process_time()
            ready[name]()
            print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    main()
