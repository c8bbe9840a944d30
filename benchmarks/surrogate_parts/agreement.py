"""Agreement: labels of many origins, predicted for rows not seen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold

from running_parts.running import tell
from surrogate_parts.clusterings import CLUSTERINGS, degenerate
from surrogate_parts.settings import METHODS, OTHERS, SEED
from surrogate_parts.tables import tables

FOLDS = 5
SMALL_CLUSTER = 5  # clusters of fewer rows are kept and listed
CLOSE = 0.01  # one point of agreement


def measured(
    X: np.ndarray, labels: np.ndarray, folds: int, known: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Agreement of all methods on rows not seen, and what the surrogate of all rows is like.

    Where a pair is `known`, only the surrogate is measured again: the folds are the same.
    """
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=SEED).split(X, labels))
    agreement, seconds = ({}, {}) if known is None else (known["held_out"], known["seconds_of_folds"])
    for name, (_, make) in METHODS.items():
        if known is not None and name in OTHERS:
            continue
        start = time.process_time()
        right = [make().fit(X[seen], labels[seen]).predict(X[held]) == labels[held] for seen, held in splits]
        seconds[name] = time.process_time() - start
        agreement[name] = float(np.concatenate(right).mean())
    start = time.process_time()
    model = METHODS["surrogate"][1]().fit(X, labels)
    seconds_of_fit = time.process_time() - start
    return {
        "held_out": agreement,
        "behind_best": max(agreement[name] for name in OTHERS) - agreement["surrogate"],
        "in_sample": float((model.predict(X) == labels).mean()),
        "own_estimate_of_held_out": model.fidelity_.overall_held_out,
        "supports": len(model.support_vectors_),
        "gamma": float(model.gamma_),
        "seconds_of_fit": seconds_of_fit,
        "seconds_of_folds": seconds,
    }


def one_pair(
    quick: bool, table: str, name: str, folds: int, known: dict[str, Any] | None = None
) -> tuple[str, dict[str, Any]]:
    """Measure one pair; says whether it was measured, skipped or failed."""
    warnings.simplefilter("ignore")  # workers have filters of their own
    X, y, k = tables(quick)[0][table]()
    key: dict[str, Any] = {"table": table, "clustering": name}
    labels = CLUSTERINGS[name](X, y, k)
    reason = degenerate(labels)
    if reason is not None:
        return "skipped", {**key, "reason": reason}
    ids, sizes = np.unique(labels, return_counts=True)
    key |= {"rows": len(X), "columns": X.shape[1], "clusters": int((ids != -1).sum())}
    key["noise"] = float((labels == -1).mean())
    small = (sizes < SMALL_CLUSTER) & (ids != -1)
    key["sizes_of_small_clusters"] = sizes[small].tolist()
    try:
        return "pairs", {**key, **measured(X, labels, folds, known)}
    except Exception as error:  # one pair must not cost the others; the page lists it
        return "failed", {**key, "error": f"{type(error).__name__}: {error}"}


def agreement(
    quick: bool, before: dict[str, Any], jobs: int, again: bool = False
) -> Iterator[dict[str, Any]]:
    """Measure all pairs of a table and a clustering; yield what there is after each of them.

    With `again`, the surrogate is measured again in the pairs that there are; a run that was stopped goes on.
    """
    found, absent = tables(quick)
    wanted = ("dbscan",) if quick else tuple(CLUSTERINGS)
    folds = 2 if quick else FOLDS
    result: dict[str, Any] = {
        "folds": folds,
        "pairs": list(before.get("pairs", [])),
        "skipped": list(before.get("skipped", [])),
        "failed": [],  # tried again each time
        "absent": absent,
    }
    places = {pair: place for place, pair in enumerate((table, name) for table in found for name in wanted)}
    done = {(entry["table"], entry["clustering"]) for entry in result["pairs"] + result["skipped"]}
    tasks = [delayed(one_pair)(quick, *pair, folds) for pair in places if pair not in done]
    if again:
        result["old"] = before.get("old") or result["pairs"]
        kept = {(entry["table"], entry["clustering"]) for entry in before.get("renewed", [])}
        result["renewed"] = result["pairs"] = list(before.get("renewed", []))
        tasks = [
            delayed(one_pair)(quick, entry["table"], entry["clustering"], folds, entry)
            for entry in sorted(result["old"], key=lambda entry: entry["seconds_of_fit"])
            if (entry["table"], entry["clustering"]) not in kept
        ]
    for kind, entry in Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks):
        result[kind].append(entry)
        result[kind].sort(key=lambda one: places.get((one["table"], one["clustering"]), -1))
        told = shares(entry) if kind == "pairs" else f"{kind}: {entry.get('reason', entry.get('error'))}"
        tell(f"{entry['table']:22} {entry['clustering']:9} {told}")
        if result["pairs"]:
            result["summary"] = agreement_summary(result["pairs"])
        result["left"] = len(places) - sum(len(result[part]) for part in ("pairs", "skipped", "failed"))
        yield result
    result.pop("old", None)
    result.pop("renewed", None)
    yield result


def agreement_summary(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    def means(chosen: list[dict[str, Any]]) -> dict[str, float]:
        return {name: float(np.mean([pair["held_out"][name] for pair in chosen])) for name in METHODS}

    behind = np.array([pair["behind_best"] for pair in pairs])
    origins = [name for name in CLUSTERINGS if any(pair["clustering"] == name for pair in pairs)]
    return {
        "pairs": len(pairs),
        "tables": len({pair["table"] for pair in pairs}),
        "mean": means(pairs),
        "mean_by_clustering": {
            name: means([pair for pair in pairs if pair["clustering"] == name]) for name in origins
        },
        "mean_behind_best": float(behind.mean()),
        "within_one_point": int((behind <= CLOSE + 1e-12).sum()),
        "ahead_of_or_equal_to_all": int((behind <= 0).sum()),
        "not_within_one_point": [
            [pairs[i]["table"], pairs[i]["clustering"], float(behind[i])]
            for i in np.argsort(-behind, kind="stable")
            if behind[i] > CLOSE + 1e-12
        ],
        "mean_own_estimate_minus_measured": float(
            np.mean([pair["own_estimate_of_held_out"] - pair["held_out"]["surrogate"] for pair in pairs])
        ),
    }


def shares(pair: dict[str, Any]) -> str:
    values = " ".join(f"{name} {100 * pair['held_out'][name]:5.1f}" for name in METHODS)
    behind = f"behind best {100 * pair['behind_best']:+5.1f}"
    return f"{values}  {behind}  {pair['supports']} supports  {pair['seconds_of_fit']:.1f} s"
