"""Planted: how much relevance falls on the columns that make the clusters, where these are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance

import whyclust as wc
from running_parts.running import tell
from surrogate_parts.settings import SEED

try:
    import shap
except ImportError:
    shap = None

SHAP_VERSION = "not installed" if shap is None else shap.__version__
COLUMNS, PLANTED_CLUSTERS = 40, 4
PLANTED = {
    "shifted": "each cluster is shifted by 2.5 to 4 deviations, up or down, in 3 columns of its own",
    "curved": "in 2 columns of its own, each cluster is a ring around the others or lies on both sides",
    "scaled": "as 'shifted', with each column multiplied by 0.1, 1, 10 or 100 at random",
}
EXPLAINERS = {
    "surrogate": "whyclust, from the labels",
    "tree_shap": "forest of 100, TreeSHAP",
    "permutation_accuracy": "forest of 100, permutation (accuracy)",
    "permutation_likelihood": "forest of 100, permutation (likelihood)",
}
PERMUTATIONS = {"permutation_accuracy": "accuracy", "permutation_likelihood": "neg_log_loss"}


def planted_data(variant: str, seed: int, quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels, and for each cluster its own columns."""
    random = np.random.default_rng(seed)
    sizes = random.integers(*((5, 8) if quick else (100, 151)), PLANTED_CLUSTERS)
    labels = np.repeat(np.arange(PLANTED_CLUSTERS), sizes)
    own_count = 2 if variant == "curved" else 3
    own = random.permutation(COLUMNS)[: own_count * PLANTED_CLUSTERS].reshape(PLANTED_CLUSTERS, own_count)
    X = random.standard_normal((len(labels), COLUMNS))
    for c, columns in enumerate(own):
        rows = np.flatnonzero(labels == c)[:, None]
        if variant != "curved":
            X[rows, columns] += random.choice([-1, 1], own_count) * random.uniform(2.5, 4, own_count)
        elif c % 2 == 0:
            angles = random.uniform(0, 2 * np.pi, len(rows))
            circle = 4 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
            X[rows, columns] = circle + 0.4 * X[rows, columns]
        else:
            sides = random.choice([-1, 1], (len(rows), 1)) * random.choice([-1, 1], 2)
            X[rows, columns] = 3 * sides + 0.6 * X[rows, columns]
    if variant == "scaled":
        X *= 10.0 ** random.integers(-1, 3, COLUMNS)
    return X, labels, own


def relevance(X: np.ndarray, labels: np.ndarray, quick: bool) -> dict[str, np.ndarray]:
    """Relevance of every column for every row, for the cluster the row was given, by each method."""
    found = {"surrogate": np.asarray(wc.explain(labels, X).values)}
    forest = RandomForestClassifier(10 if quick else 100, random_state=SEED, n_jobs=1).fit(X, labels)
    if shap is not None:
        found["tree_shap"] = shap.TreeExplainer(forest).shap_values(X)[np.arange(len(X)), :, labels]
    # On the rows of the fit, where noise is left at little. Accuracy may not move at all where columns stand
    # in for each other, and the likelihood moves with everything: each is the better one on some data.
    options: dict[str, Any] = {"n_repeats": 2 if quick else 5, "random_state": SEED, "n_jobs": 1}
    measures = permutation_importance(forest, X, labels, scoring=list(PERMUTATIONS.values()), **options)
    for name, scoring in PERMUTATIONS.items():
        found[name] = np.broadcast_to(measures[scoring].importances_mean, X.shape)
    return found


def interval(values: list[float]) -> dict[str, float]:
    """Mean over seeds, its standard error, and the half width of its 95 % interval."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    half = float(student.ppf(0.975, len(values) - 1) * error)
    return {"mean": float(np.mean(values)), "standard_error": error, "half_width_95": half}


def planted(quick: bool) -> dict[str, Any]:
    seeds = range(2 if quick else 10)
    result: dict[str, Any] = {
        "seeds": list(seeds),
        "columns": COLUMNS,
        "shap": SHAP_VERSION,
        "variants": {},
    }
    for variant in PLANTED:
        collected: dict[str, dict[str, list[float]]] = {}
        for seed in seeds:
            X, labels, own = planted_data(variant, seed, quick)
            for name, values in relevance(X, labels, quick).items():
                size = np.abs(values) + 1e-300  # a method that finds nothing spreads it evenly
                share = size / size.sum(axis=1, keepdims=True)
                found = {
                    "planted": share[:, own.ravel()].sum(axis=1),
                    "own": np.take_along_axis(share, own[labels], 1).sum(axis=1),
                }
                if name not in PERMUTATIONS:  # an importance has no sign
                    found["own_for"] = np.take_along_axis(values, own[labels], 1).sum(axis=1) > 0
                for kind, by_row in found.items():
                    collected.setdefault(name, {}).setdefault(kind, []).append(float(by_row.mean()))
        tell(f"planted, {variant}: done")
        result["variants"][variant] = {
            "evenly_spread": {"planted": own.size / COLUMNS, "own": own.shape[1] / COLUMNS},
            "shares": {
                name: {kind: interval(values) for kind, values in entry.items()}
                for name, entry in collected.items()
            },
            "surrogate_minus": {
                name: {
                    kind: interval(list(np.subtract(collected["surrogate"][kind], values)))
                    for kind, values in entry.items()
                }
                for name, entry in collected.items()
                if name != "surrogate"
            },
        }
    return result
