"""Time: fitting and explaining many rows, beside a forest and TreeSHAP."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn import cluster, datasets
from sklearn.ensemble import RandomForestClassifier

import whyclust as wc
from running_parts.running import tell
from surrogate_parts.settings import SEED
from whyclust.cluster import PrototypeSurrogate

try:
    import shap
except ImportError:
    shap = None


def duration(quick: bool) -> dict[str, Any]:
    n, d, k, sample = (300, 20, 3, 5) if quick else (50_000, 20, 10, 200)
    X, _ = datasets.make_blobs(n, d, centers=k, cluster_std=7.0, random_state=SEED)
    labels = cluster.KMeans(k, n_init=1, random_state=SEED).fit_predict(X)
    clock = time.perf_counter
    start = clock()
    model = PrototypeSurrogate(random_state=SEED).fit(X, labels)
    ours_fit, start = clock() - start, clock()
    wc.explain(model, X)
    ours_explain, start = clock() - start, clock()
    forest = RandomForestClassifier(100, random_state=SEED, n_jobs=1).fit(X, labels)
    forest_fit = clock() - start
    tell(f"time: surrogate {ours_fit:.1f} s + {ours_explain:.1f} s, forest {forest_fit:.1f} s")
    result: dict[str, Any] = {
        "rows": n,
        "columns": d,
        "clusters": k,
        "labels": "k-means of overlapping blobs",
        "supports": len(model.support_vectors_),
        "surrogate_held_out": model.fidelity_.overall_held_out,
        "seconds": {"surrogate_fit": ours_fit, "surrogate_explain": ours_explain, "forest_fit": forest_fit},
        "tree_shap": "shap is not installed",
    }
    if shap is None:
        return result
    explainer = shap.TreeExplainer(forest)
    rows = X[np.random.default_rng(SEED).choice(n, sample, replace=False)]
    start = clock()
    explainer.shap_values(rows)
    per_row = (clock() - start) / sample
    result["tree_shap"] = f"measured on {sample} rows and scaled up to all"
    result["seconds"]["tree_shap_all_rows"] = per_row * n
    result["ratios"] = {
        "forest_total_over_surrogate_total": (forest_fit + per_row * n) / (ours_fit + ours_explain),
        "forest_fit_over_surrogate_fit": forest_fit / ours_fit,
        "tree_shap_over_surrogate_per_row": per_row / (ours_explain / n),
    }
    return result
