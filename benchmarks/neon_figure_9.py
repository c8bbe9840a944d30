"""Figure 9 of the NEON paper: wine with 2 to 64 clusters and 2 to 13 columns.

Every cell is the mean over seeds, each with its own fit and its own choice of columns. The paper shows
curves without numbers and says: in every regime NEON is equal or superior to all baselines, and for K = 2 it
equals NCA. Prints JSON, writes ``benchmarks/results/neon_figure_9.json`` and a page beside it.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import whyclust as wc
from neon_parts.methods import RULES, scored
from neon_parts.sets import fitted, named, rows_of
from running_parts.running import arguments, print_result

CLUSTERS = (2, 4, 8, 16, 32, 64)
COLUMNS = (2, 4, 6, 8, 10, 13)
BASELINES = ["random", "squared", "pda_zero", "pda_kde", "sensitivity", "ig", "nca"]
OTHERS = ["pda_zero on f"]


def one(n_clusters: int, n_columns: int, seed: int, repeats: int) -> dict[str, float]:
    warnings.simplefilter("ignore")
    X = rows_of("winer")
    chosen = np.sort(np.random.default_rng(seed).choice(X.shape[1], n_columns, replace=False))
    X = X[:, chosen]
    net = wc.neuralize(fitted(named("winer"), X, seed, n_clusters), X)
    return scored(net, X, [*BASELINES, *RULES, *OTHERS], seed, repeats)["auc"]


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Figure 9: wine, K clusters and d columns",
        "",
        f"Measured by `benchmarks/neon_figure_9.py`: {result['seeds']} seeds (fit and columns), "
        f"{result['repeats']} repeats, {result['machine']['cores']} cores, {result['minutes']:.0f} minutes. "
        "Area of NEON (the default rule), and in brackets how far it is ahead of the best of the paper's "
        "baselines in that cell, chosen after the fact, with that baseline's name.",
        "",
    ]
    cells = {(cell["n_clusters"], cell["n_columns"]): cell["auc"] for cell in result["cells"]}
    clusters, columns = result["clusters"], result["columns"]
    for rule in reversed(RULES):
        lines += [f"## {rule}", "", "| K \\ d | " + " | ".join(map(str, columns)) + " |"]
        lines.append("|---|" + "---|" * len(columns))
        first = 0
        for k in clusters:
            row = []
            for d in columns:
                auc = {name: float(np.mean(values)) for name, values in cells[k, d].items()}
                best = max(BASELINES, key=lambda name: auc[name])
                first += auc[rule] >= auc[best] - 0.05
                row.append(f"{auc[rule]:.1f} ({auc[rule] - auc[best]:+.1f} {best})")
            lines.append(f"| {k} | " + " | ".join(row) + " |")
        total = len(clusters) * len(columns)
        lines += ["", f"First, or behind by no more than 0.05 points, in {first} of {total} cells.", ""]
    same = [
        abs(np.mean(cells[2, d]["neon"]) - np.mean(cells[2, d]["nca"])) for d in columns if (2, d) in cells
    ]
    if same:
        lines.append(f"For K = 2 NEON and NCA differ by at most {max(same):.3f} points.")
    return "\n".join([*lines, ""])


def main() -> None:
    helps = {"quick": "few cells, only to see that it runs", "jobs": "cells measured at a time"}
    options = arguments(__doc__, "quick jobs out", **helps).parse_args()
    clusters, columns = ((2, 4), (2, 4)) if options.quick else (CLUSTERS, COLUMNS)
    seeds, repeats = (2, 1) if options.quick else (10, 10)
    start = time.perf_counter()
    tasks = [(k, d, seed) for k in clusters for d in columns for seed in range(seeds)]
    found = Parallel(n_jobs=options.jobs)(delayed(one)(k, d, seed, repeats) for k, d, seed in tasks)
    cells = []
    for position, (k, d, _) in enumerate(tasks[::seeds]):
        group = found[position * seeds : (position + 1) * seeds]
        auc = {name: [scores[name] for scores in group] for name in group[0]}
        cells.append({"n_clusters": k, "n_columns": d, "auc": auc})
    result = {
        "seeds": seeds,
        "repeats": repeats,
        "minutes": (time.perf_counter() - start) / 60,
        "clusters": list(clusters),
        "columns": list(columns),
        "cells": cells,
    }
    print_result(options, "neon_figure_9", result, page)


if __name__ == "__main__":
    main()
