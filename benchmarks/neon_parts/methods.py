"""The explanation methods that are compared, by the name they have in the tables."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

import whyclust as wc
from neon_parts.sets import COLUMNS
from whyclust.metrics import flipping_auc

# Name in the table → arguments of explain().
METHODS: dict[str, dict[str, Any]] = {
    **{name: {"method": name} for name in COLUMNS if name != "neon"},
    "neon": {"rule": "min_take_most"},
    "neon expected": {"rule": "expected"},
    "pda_zero on f": {"method": "pda_zero", "on": "evidence"},
    "pda_kde on f": {"method": "pda_kde", "on": "evidence"},
    "shap": {"method": "shap"},
    "gradient_shap": {"method": "gradient_shap"},
    "forest": {"method": "forest"},
    "tree": {"method": "tree"},
}
SEEDED = {"random", "pda_kde", "pda_kde on f", "shap", "gradient_shap", "forest", "tree"}
# Those that take long, which explain a sample of the rows only.
LONG = ("shap", "forest")
MOST_ROWS = 100
RULES = ("neon", "neon expected")


def explained(net: Any, X: np.ndarray, method: str, seed: int) -> wc.Explanation:
    """The explanation of this name."""
    return wc.explain(net, X, **_options(method, X.shape[1], seed))


def _options(method: str, n_columns: int, seed: int) -> dict[str, Any]:
    options = dict(METHODS[method])
    if method in SEEDED:
        options["random_state"] = seed
    if method == "shap":  # two permutations, there and back, before twenty rows
        options |= {"n_evaluations": 2 * (2 * n_columns + 1), "n_background": 20}
    return options


def scored(net: Any, X: np.ndarray, methods: list[str], seed: int, repeats: int) -> dict[str, Any]:
    """Area and seconds a row of every method, with the same draws for all; and why some were left out.

    What takes long is scored on a sample of rows; `beside` has the area of NEON on just these rows.
    """
    scores: dict[str, float] = {}
    seconds: dict[str, float] = {}
    left_out: dict[str, str] = {}
    per_point = {}
    sample = np.sort(np.random.default_rng(seed).choice(len(X), min(MOST_ROWS, len(X)), replace=False))
    for method in methods:
        rows = X[sample] if method in LONG else X
        start = time.perf_counter()
        try:
            options = _options(method, X.shape[1], seed)
            explanation = wc.explain(net, rows, background=X, **options)
        except (TypeError, ValueError) as error:
            left_out[method] = str(error)
            continue
        seconds[method] = (time.perf_counter() - start) / len(rows)
        if not explanation.values.any():  # PDA on an indicator that no single column changes
            left_out[method] = "zero everywhere: scored as a random order"
            explanation = replace(explanation, values=np.random.default_rng(seed).random(rows.shape))
        result = flipping_auc(
            net, rows, explanation, n_repeats=repeats, background=X, leave_out=False, random_state=seed
        )
        scores[method], per_point[method] = result.auc, result.per_point
    beside = {rule: float(per_point[rule][sample].mean()) for rule in RULES if rule in per_point}
    return {"seed": seed, "auc": scores, "beside": beside, "seconds": seconds, "left_out": left_out}
