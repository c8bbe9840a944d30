"""What choose_k is compared with. All see the same k-means fits, which end in better optima than restarts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score

from whyclust.cluster import choose_k
from whyclust.cluster._k_paths import k_means_path
from whyclust.cluster._one_lump import box, one_lump
from whyclust.cluster.elbow import inertia_curve

LARGEST = 30
N_REFERENCES = 5
N_SPLITS = 4
OTHERS = (
    "elbow",
    "silhouette",
    "Calinski–Harabasz",
    "gap",
    "gap, highest",
    "split-half",
)
METHODS = (*OTHERS, "choose_k")


def answers(X: NDArray, seed: int, methods: tuple[str, ...] = METHODS) -> dict[str, Any]:
    """The k of each criterion; for choose_k also whether it stands out, and the first runners-up."""
    found: dict[str, Any] = {}
    generator = np.random.default_rng(seed)
    ks = list(range(1, min(LARGEST, len(X) // 5) + 1))
    if "choose_k" in methods:
        choice = choose_k(X, random_state=seed)
        found["choose_k"] = choice.k
        found["stands_out"] = choice.stands_out
        found["support"] = round(choice.support[choice.k], 2)
        found["alternatives"] = [k for k, _ in choice.alternatives]
    if "gap" in methods:
        found["gap"], found["gap, highest"] = gaps(X, ks, generator)
    if "silhouette" in methods:
        labels = {k: fit.labels for k, fit in k_means_path(X, ks[1:], seed)}
        scores = {k: silhouette_score(X, one) for k, one in labels.items()}
        found["silhouette"] = max(scores, key=lambda k: scores[k])
        scores = {k: calinski_harabasz_score(X, one) for k, one in labels.items()}
        found["Calinski–Harabasz"] = max(scores, key=lambda k: scores[k])
        found["split-half"] = split_half(X, ks[1:], generator)
    if "elbow" in methods:
        found["elbow"] = inertia_curve(X, random_state=seed).k
    return found


def gaps(X: NDArray, ks: list[int], generator: np.random.Generator) -> tuple[int, int]:
    """The gap statistic with a box along the principal axes: Tibshirani's rule, and its highest point."""
    own = _log_inertia(X, ks, generator)
    drawn = np.array([_log_inertia(one_lump(X, box, generator), ks, generator) for _ in range(N_REFERENCES)])
    gap = drawn.mean(axis=0) - own
    error = drawn.std(axis=0) * np.sqrt(1 + 1 / N_REFERENCES)
    enough = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    return ks[int(enough[0])] if len(enough) else ks[-1], ks[int(gap.argmax())]


def _log_inertia(X: NDArray, ks: list[int], generator: np.random.Generator) -> NDArray:
    path = k_means_path(X, ks, int(generator.integers(2**31)))
    inertia = [fit.scores(X).min(axis=1).sum() for _, fit in path]
    return np.log(np.maximum(inertia, 1e-300))


def split_half(X: NDArray, ks: list[int], generator: np.random.Generator) -> int:
    """The k at which k-means of two halves agree best on all rows; the largest of those within 0.01."""
    agreement = np.zeros(len(ks))
    for _ in range(N_SPLITS):
        order = generator.permutation(len(X))
        halves = [
            k_means_path(X[rows], ks, int(generator.integers(2**31))) for rows in np.array_split(order, 2)
        ]
        for place, ((_, one), (_, other)) in enumerate(zip(*halves, strict=True)):
            labels = [fit.scores(X).argmin(axis=1) for fit in (one, other)]
            agreement[place] += adjusted_rand_score(*labels) / N_SPLITS
    return ks[int(np.flatnonzero(agreement >= agreement.max() - 0.01)[-1])]
