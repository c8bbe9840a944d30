"""Rules of clusters beside a tree of depth three and the package cluster-explorer, on twelve tables.

All see two thirds of the rows. Each tells the precision and the coverage of its rules: ours from rows that it
held out of those, the others from the rows that they were found on. Both are measured on the last third,
which nobody has seen. One rule counts for each cluster: of those that reach a precision of 0.9, as told, the
one of the largest coverage, or else that of the best F0.5. Means are over clusters; a cluster without a rule
has coverage 0, and counts in no precision.

The tree is one for each cluster, against all others; a leaf is a rule. cluster-explorer is run by another
Python, as it needs packages of its own (``--peer path/to/python``); without, its numbers stay those of the
file of results. Of our own rules, all that say that they reach the target are measured, too.
Prints JSON, writes ``benchmarks/results/rules.json`` and a page beside it.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/rules.py --peer ~/venv/bin/python
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import whyclust as wc
from neon_parts.sets import rows_of
from running_parts.files import earlier
from running_parts.running import arguments, measure_sets, target_of

TARGET = 0.9
PEER = Path(__file__).parent / "rules_parts" / "cluster_explorer_rules.py"
# Seconds that the other package has for a table.
PATIENCE = 600


def penguins() -> pd.DataFrame:
    frame = pd.read_csv(Path(os.environ["WHYCLUST_DATA"]) / "csv" / "penguins.csv")
    return frame.drop(columns="species")


def of_paper(name: str) -> pd.DataFrame:
    rows = rows_of(name)
    return pd.DataFrame(rows, columns=[f"x{column}" for column in range(rows.shape[1])])


def genes(name: str) -> pd.DataFrame:
    with np.load(Path(os.environ["WHYCLUST_DATA"]) / f"{name}.npz") as stored:
        rows = stored["X"].astype(float)
    return pd.DataFrame(rows, columns=[f"gene {column}" for column in range(rows.shape[1])])


SETS: dict[str, tuple[Callable[[], pd.DataFrame], int]] = {
    "wine": (lambda: load_wine(as_frame=True).data, 3),
    "iris": (lambda: load_iris(as_frame=True).data, 3),
    "breast cancer": (lambda: load_breast_cancer(as_frame=True).data, 4),
    "digits": (lambda: load_digits(as_frame=True).data, 10),
    "seeds": (partial(of_paper, "seeds"), 6),
    "hepac": (partial(of_paper, "hepac"), 8),
    "buddy": (partial(of_paper, "buddy"), 7),
    "water": (partial(of_paper, "water"), 5),
    "whlsl": (partial(of_paper, "whlsl"), 8),
    "penguins": (penguins, 4),
    "cells": (partial(genes, "pbmc68k_reduced"), 8),
    "tumours": (partial(genes, "srbct"), 4),
}
WIDE = ("cells", "tumours")
WITH_SKLEARN = ("wine", "iris", "breast cancer", "digits")


def at_hand() -> list[str]:
    return [name for name in SETS if name in WITH_SKLEARN or os.environ.get("WHYCLUST_DATA")]


def prepared(frame: pd.DataFrame) -> Any:
    """What makes numbers of a table: scaled, one-hot, gaps filled in."""
    numbers = frame.select_dtypes("number").columns.tolist()
    texts = [column for column in frame if column not in numbers]
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False)), texts),
        verbose_feature_names_out=False,
    )


def chosen(rules: list[dict[str, Any]], cluster: int) -> dict[str, Any] | None:
    """The rule of a cluster that counts."""

    def worth(rule: dict[str, Any]) -> float:
        precision, coverage = rule["precision"], rule["coverage"]
        if not precision > 0:
            return 0.0
        if precision >= TARGET:
            return 1.0 + coverage
        return 1.25 * precision * coverage / (0.25 * precision + coverage)

    mine = [rule for rule in rules if rule["cluster"] == cluster]
    return max(mine, key=worth) if mine else None


def ours(model: Any, seen: pd.DataFrame, untouched: pd.DataFrame, seed: int) -> tuple[list[Any], float, Any]:
    explanation = wc.explain(model, seen)
    start = time.process_time()
    found = explanation.rules(target=TARGET, random_state=seed)
    seconds = time.process_time() - start
    first: dict[Any, Any] = {}
    for rule in found:  # the first of a cluster is its best, by rows that found it
        first.setdefault(rule.cluster, rule)
    rules = [
        {
            "cluster": rule.cluster,
            "precision": rule.precision,
            "coverage": rule.coverage,
            "columns": len(rule.conditions),
            "comparisons": rule.n_comparisons,
            "matched": rule.matches(untouched),
        }
        for rule in first.values()
    ]
    return rules, seconds, found


def trees(
    seen: pd.DataFrame, labels: np.ndarray, untouched: pd.DataFrame, seed: int
) -> tuple[list[Any], float]:
    rules, start = [], time.process_time()
    for cluster in np.unique(labels):
        tree = DecisionTreeClassifier(max_depth=3, random_state=seed).fit(seen, labels == cluster)
        leaves, there = tree.apply(seen), tree.apply(untouched)
        for leaf in np.unique(leaves):
            matched = leaves == leaf
            inside = labels == cluster
            path = _path(tree.tree_, leaf)
            rules.append(
                {
                    "cluster": int(cluster),
                    "precision": float(inside[matched].mean()),
                    "coverage": float(matched[inside].mean()),
                    "columns": len({column for column, _ in path}),
                    "comparisons": len(path),
                    "matched": there == leaf,
                }
            )
    return rules, time.process_time() - start


def _path(tree: Any, leaf: int) -> set[tuple[int, bool]]:
    """Columns and sides on the way to a leaf; two thresholds of one side are one comparison."""
    parents = {}
    for node in range(tree.node_count):
        for child, left in ((tree.children_left[node], True), (tree.children_right[node], False)):
            if child >= 0:
                parents[child] = (node, left)
    path = set()
    while leaf in parents:
        leaf, left = parents[leaf]
        path.add((int(tree.feature[leaf]), left))
    return path


def peer(
    python: str, seen: pd.DataFrame, labels: np.ndarray, untouched: pd.DataFrame
) -> tuple[list[Any], float] | str:
    names = [f"c{column}" for column in range(seen.shape[1])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        seen.set_axis(names, axis=1).assign(cluster=labels).to_csv(path, index=False)
        try:
            done = subprocess.run(
                [python, str(PEER), str(path)], capture_output=True, text=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            return f"not done after {PATIENCE} seconds"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:200]
    found = json.loads(done.stdout[done.stdout.index("{") :])
    table = untouched.set_axis(names, axis=1)
    # Numbers at the ends of the data's range are no comparisons.
    low, high = (getattr(seen.set_axis(names, axis=1), end)() for end in ("min", "max"))
    rules = []
    for rule in found["rules"]:
        matched, sides = np.ones(len(table), dtype=bool), set()
        for name, sign, value in rule["comparisons"]:
            column = name.split("_")[0]
            values = table[column]
            if column != name:  # "c3_1.0" is the category 1.0 of c3
                values = (values.astype(str) == name[len(column) + 1 :]).astype(float)
            if sign in ("=", "=="):
                matched &= (values == value).to_numpy()
                sides.add((column, sign))
                continue
            matched &= (values >= value if sign == ">=" else values <= value).to_numpy()
            if not (value <= low[column] if sign == ">=" else value >= high[column]):
                sides.add((column, sign))
        columns = len({column for column, _ in sides})
        told = {key: rule[key] for key in ("cluster", "precision", "coverage")}
        rules.append({**told, "columns": columns, "comparisons": len(sides), "matched": matched})
    return rules, found["seconds"]


def measured(rules: list[Any], seconds: float, clusters: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Means over clusters of what is told, and of what is so on rows that nobody has seen."""
    lines = []
    for cluster in clusters:
        rule, inside = chosen(rules, cluster), labels == cluster
        if rule is None:
            lines.append({"coverage": 0.0, "coverage told": 0.0})
            continue
        matched = rule["matched"]
        line = {"coverage told": rule["coverage"], "columns": rule["columns"]}
        line |= {"comparisons": rule["comparisons"], "precision told": rule["precision"]}
        if inside.any():
            line["coverage"] = float(matched[inside].mean())
        if matched.any():
            line["precision"] = float(inside[matched].mean())
            line["told too high"] = rule["precision"] - line["precision"]
        lines.append(line)

    def mean(key: str) -> float | None:
        values = [line[key] for line in lines if key in line and np.isfinite(line[key])]
        return float(np.mean(values)) if values else None

    keys = (
        "precision told",
        "precision",
        "told too high",
        "coverage told",
        "coverage",
        "columns",
        "comparisons",
    )
    without = sum("columns" not in line for line in lines)
    return {key: mean(key) for key in keys} | {"seconds": seconds, "without": without}


def one_fit(
    name: str, seed: int, python: str | None = None, before: dict[str, Any] | None = None
) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    load, k = SETS[name]
    frame = load()
    frame = frame.iloc[np.random.default_rng(seed).permutation(len(frame))].reset_index(drop=True)
    model = make_pipeline(prepared(frame), KMeans(k, n_init=5, random_state=seed)).fit(frame)
    labels = model.predict(frame)
    border = len(frame) * 2 // 3
    seen, untouched = frame.iloc[:border], frame.iloc[border:].reset_index(drop=True)
    own, others = labels[:border], labels[border:]
    numbers = model[0].set_output(transform="pandas").transform(frame)
    parts = numbers.iloc[:border], numbers.iloc[border:].reset_index(drop=True)
    model[0].set_output(transform="default")
    clusters = np.unique(own)
    rules, seconds, found = ours(model, seen, untouched, seed)
    result: dict[str, Any] = {
        "rows": len(frame),
        "columns": frame.shape[1],
        "whyclust": measured(rules, seconds, clusters, others),
        "all of whyclust": all_of_ours(found, untouched, others, len(clusters)),
        "tree": measured(*trees(parts[0], own, parts[1], seed), clusters, others),
    }
    if python is not None:
        asked = peer(python, parts[0], own, parts[1])
        told = asked if isinstance(asked, str) else measured(*asked, clusters, others)
        result["cluster-explorer"] = told
    elif "cluster-explorer" in (earlier_fit := dict(enumerate((before or {}).get(name, ()))).get(seed, {})):
        result["cluster-explorer"] = earlier_fit["cluster-explorer"]
    return result


def all_of_ours(found: Any, untouched: pd.DataFrame, labels: np.ndarray, n_clusters: int) -> dict[str, Any]:
    """How right all rules are that reach the target on the rows that found them, also second ones."""
    known, told = [], []
    for rule in found:
        matched = rule.matches(untouched)
        if rule.reaches and matched.any() and np.isfinite(rule.precision):
            known.append(float((labels == rule.cluster)[matched].mean()))
            told.append(rule.precision)
    return {
        "a cluster": len(found) / n_clusters,
        "precision told": float(np.mean(told)) if told else None,
        "precision": float(np.mean(known)) if known else None,
        "below 0.7": float(np.mean(np.array(known) < 0.7)) if known else None,
    }


METHODS = ("whyclust", "tree", "cluster-explorer")
ALL_KEYS = ("a cluster", "precision told", "precision", "below 0.7")


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Rules of clusters",
        "",
        f"Measured by `benchmarks/rules.py`: k-means, {result['fits']} fit(s) a table, means over clusters "
        "and fits. All see two thirds of the rows; precision and coverage are measured on the last third, "
        "which nobody has seen. 'Too high': the precision that is told less the one that is measured. One "
        f"rule a cluster: of those that are told to reach a precision of {TARGET:g}, the one of the largest "
        "coverage. 'Comparisons': thresholds and lists of categories. 'None': clusters without a rule, whose "
        "coverage is 0. Seconds are of all clusters, of one core.",
        "",
        "| table | method | precision told | measured | too high | coverage told | measured | columns | "
        "comparisons | none | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    keys = (
        "precision told",
        "precision",
        "told too high",
        "coverage told",
        "coverage",
        "columns",
        "comparisons",
    )
    overall: dict[tuple[str, str], list[list[float]]] = {}
    for name, fits in result["sets"].items():
        shape = f"{name} ({fits[0]['rows']} × {fits[0]['columns']})"
        for method in METHODS:
            found = [fit[method] for fit in fits if method in fit]
            known = [one for one in found if not isinstance(one, str)]
            if not known:
                lines += [f"| {shape} | {method} | {found[0]} |" + " |" * 8] if found else []
                continue
            means = [_mean([one[key] for one in known]) for key in (*keys, "without", "seconds")]
            overall.setdefault(("wide" if name in WIDE else "", method), []).append(means)
            lines.append(f"| {shape} | {method} | " + _cells(means) + " |")
    for (kind, method), rows in overall.items():
        means = [_mean([row[place] for row in rows]) for place in range(len(rows[0]))]
        lines.append(f"| **mean of {f'{len(rows)} {kind}'.strip()}** | {method} | " + _cells(means) + " |")
    lines += [
        "",
        "All rules of whyclust that reach the target on the rows that found them, second and third ones of a "
        "cluster, too. 'Below 0.7': the share of them whose measured precision is.",
        "",
        "| table | rules a cluster | precision told | measured | below 0.7 |",
        "|---|---|---|---|---|",
    ]
    for name, fits in result["sets"].items():
        found = [fit["all of whyclust"] for fit in fits if "all of whyclust" in fit]
        means = [_mean([one[key] for one in found]) for key in ALL_KEYS]
        lines += [f"| {name} | " + " | ".join(f"{value:.2f}" for value in means) + " |"] if found else []
    return "\n".join([*lines, ""])


def _mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def _cells(means: list[float]) -> str:
    forms = (".3f", ".3f", "+.3f", ".3f", ".3f", ".1f", ".1f", ".1f", ".1f")
    return " | ".join(format(value, form) for value, form in zip(means, forms, strict=True))


def main() -> None:
    parser = arguments(__doc__, "quick fresh sets jobs seeds out")
    parser.add_argument("--peer", help="a Python that has cluster-explorer; earlier numbers without")
    options = parser.parse_args()
    sets, n_fits = (["wine"], 1) if options.quick else (at_hand(), options.seeds or 5)
    before = earlier(target_of(options, "rules"), options.quick).get("sets", {})
    measure = partial(one_fit, python=options.peer, before=before)
    measure_sets(options, "rules", sets, measure, page, n_fits=n_fits)


if __name__ == "__main__":
    main()
