"""Time and memory of answers beyond relevance against rows, columns and clusters, and the exponents of both.

Made-up tables of clusters that overlap, and scaled k-means. One of rows, columns and clusters grows, the
others stay. Sufficient sets are asked for a hundred rows (all rows take as many times that as there are
hundreds), smallest changes for all rows and for two by themselves (``near_data``), rules for all clusters. An
exponent is the slope of log seconds, or log peak memory, against log size. Prints JSON, writes
``benchmarks/results/answers_scaling.json`` and a page beside it.

    OMP_NUM_THREADS=1 python benchmarks/answers_scaling.py
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from running_parts.running import arguments, print_result

USUAL = {"rows": 4000, "columns": 20, "clusters": 8}
GROWING = {"rows": (2000, 8000, 32_000), "columns": (10, 20, 40), "clusters": (4, 8, 16)}
ASKED, ALONE = 100, 2


def explained(rows: int, columns: int, clusters: int) -> Any:
    generator = np.random.default_rng(0)
    centers = 2.0 * generator.normal(size=(clusters, columns))
    X = generator.normal(size=(rows, columns)) + centers[np.arange(rows) % clusters] / np.sqrt(columns / 10)
    model = make_pipeline(StandardScaler(), KMeans(clusters, n_init=1, max_iter=20, random_state=0)).fit(X)
    return wc.explain(model, X)


ANSWERS = {
    "sufficient, 100 rows": lambda ex: ex.sufficient(slice(0, ASKED)),
    "smallest change, all rows": lambda ex: ex.smallest_changes(),
    "smallest change near the data, 2 rows": lambda ex: [
        ex.smallest_change(row, near_data=True) for row in range(ALONE)
    ],
    "rules, all clusters": lambda ex: ex.rules(),
}


def measured(ex: Any) -> dict[str, dict[str, float]]:
    """Seconds, and megabytes at most, of every answer."""
    found = {}
    for name, answer in ANSWERS.items():
        start = time.process_time()
        answer(ex)
        seconds = time.process_time() - start
        tracemalloc.start()
        answer(ex)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        found[name] = {"seconds": seconds, "megabytes": peak / 1e6}
    return found


def exponent(sizes: list[int], values: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Time and memory of answers",
        "",
        f"Measured by `benchmarks/answers_scaling.py`: scaled k-means, {USUAL['rows']} rows × "
        f"{USUAL['columns']} columns, {USUAL['clusters']} clusters, of which one grows. One core.",
        "",
        "| answer | grows | seconds | exponent | megabytes | exponent |",
        "|---|---|---|---|---|---|",
    ]
    for name in ANSWERS:
        for what, runs in result["grows"].items():
            sizes = [run["size"] for run in runs]
            cells = []
            for kind in ("seconds", "megabytes"):
                values = [run["answers"][name][kind] for run in runs]
                told = ", ".join(f"{value:.3g}" for value in values)
                cells.append(f"{told} | {exponent(sizes, values):.2f}")
            listed = ", ".join(f"{size:,}" for size in sizes)
            lines.append(f"| {name} | {what}: {listed} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    options = arguments(__doc__, "quick out").parse_args()
    warnings.simplefilter("ignore")
    usual, growing = USUAL, GROWING
    if options.quick:
        usual, growing = {"rows": 300, "columns": 4, "clusters": 3}, {"rows": (200, 400)}
    grows = {}
    explained(200, 4, 3).rules()  # what is imported on use
    for what, sizes in growing.items():
        runs = []
        for size in sizes:
            ex = explained(**{**usual, what: size})
            runs.append({"size": size, "answers": measured(ex)})
        grows[what] = runs
    print_result(options, "answers_scaling", {"usual": usual, "grows": grows}, page)


if __name__ == "__main__":
    main()
