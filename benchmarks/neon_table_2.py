"""Table II of the NEON paper and figure 1 of its supplement I: time to explain, by columns and clusters.

Times of all methods, process time as in the paper, best of several: wine with 2 to 13 columns and 2 to 64
clusters; random tables on which a doubling of d, K and of the prototypes p shows how cost grows, beside the
paper's complexity. Prints JSON, writes ``benchmarks/results/neon_table_2.json`` and a page beside it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

import whyclust as wc
from neon_parts.methods import LONG, METHODS, explained
from neon_parts.sets import fitted, named, rows_of
from running_parts.running import arguments, print_result
from whyclust.network import Features, MinPool, Neuralized, PrototypeHead

# Method → (k-means, kernel k-means) of Table II; ours where the paper has none.
COMPLEXITY = {
    "squared": ("O(d)", "O(d)"),
    "pda_zero": ("O(Kd²)", "O(Kd²p)"),
    "sensitivity": ("O(Kd)", "O(Kdp)"),
    "ig": ("O(10Kd)", "O(10Kdp)"),
    "nca": ("O(Kd)", "—"),
    "neon": ("O(Kd)", "O(Kdp²), here O(Kdp)"),
}
SLOW = {*LONG, "tree", "gradient_shap"}


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Best process time of a call."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return float(best)


def timed(net: Any, X: np.ndarray, methods: list[str], repeats: int) -> dict[str, float]:
    found = {}
    for method in methods:
        try:
            found[method] = seconds(
                lambda method=method: explained(net, X, method, 0), 1 if method in SLOW else repeats
            )
        except (TypeError, ValueError):
            continue
    return found


def prototypes_of(n_clusters: int, d: int, p: int) -> Neuralized:
    generator = np.random.default_rng(0)
    vectors = generator.standard_normal((n_clusters * p, d))
    head = PrototypeHead(vectors, np.repeat(np.arange(n_clusters), p), gamma=0.1)
    names = tuple(f"x{column}" for column in range(d))
    return Neuralized(Features.identity(d), head, MinPool(), 1.0, np.arange(n_clusters), names)


def growth(quick: bool) -> dict[str, Any]:
    """Cost when d, K or p is doubled."""
    d, k, p, n = (16, 8, 8, 100) if quick else (64, 32, 64, 400)
    repeats = 2 if quick else 5
    methods = [method for method in METHODS if method not in SLOW and method != "random"]
    X = np.random.default_rng(1).standard_normal((n, 2 * d))
    cases = {
        "k-means": (k, d, 1),
        "k-means, 2 d": (k, 2 * d, 1),
        "k-means, 2 K": (2 * k, d, 1),
        "kernel": (k // 4, d, p),
        "kernel, 2 p": (k // 4, d, 2 * p),
    }
    times = {
        name: timed(prototypes_of(*case), X[:, : case[1]], methods, repeats) for name, case in cases.items()
    }
    return {"rows": n, "d": d, "K": k, "p": p, "kernel_K": k // 4, "seconds": times}


def wine(quick: bool) -> list[dict[str, Any]]:
    """Figure 1 of supplement I."""
    X = rows_of("winer")
    methods = [method for method in METHODS if not quick or method not in SLOW]
    cases = [(6, d) for d in ((2, 4) if quick else (2, 5, 9, 13))]
    cases += [(k, X.shape[1]) for k in ((2,) if quick else (2, 16, 64))]
    rows = []
    for k, d in cases:
        part = X[:, :d]
        model: KMeans = fitted(named("winer"), part, 0, k)
        net = wc.neuralize(model, part)
        rows.append({"K": k, "d": d, "seconds": timed(net, part, methods, 2 if quick else 5)})
    return rows


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Table II and supplement I: time to explain",
        "",
        f"Measured by `benchmarks/neon_table_2.py` on {result['machine']['cores']} cores, Python "
        f"{result['machine']['python']}, numpy {result['machine']['numpy']}, OMP_NUM_THREADS "
        f"{result['machine']['threads']}. Process time, best of several (once for shap, forest and tree).",
        "",
        "## Wine, 178 rows: milliseconds for all rows",
        "",
    ]
    methods = list(dict.fromkeys(name for row in result["wine"] for name in row["seconds"]))
    lines += ["| K | d | " + " | ".join(methods) + " |", "|---|---|" + "---|" * len(methods)]
    for row in result["wine"]:
        cells = [f"{1000 * row['seconds'][m]:.3g}" if m in row["seconds"] else "—" for m in methods]
        lines.append(f"| {row['K']} | {row['d']} | " + " | ".join(cells) + " |")
    grown = result["growth"]
    times = grown["seconds"]
    lines += [
        "",
        f"## Growth: {grown['rows']} random rows, d = {grown['d']}, K = {grown['K']}; kernel K = "
        f"{grown['kernel_K']}, p = {grown['p']}",
        "",
        "| method | paper: k-means | × for 2 d | × for 2 K | paper: kernel | × for 2 p |",
        "|---|---|---|---|---|---|",
    ]
    for method in times["k-means"]:
        plain, kernel = COMPLEXITY.get(method, ("", ""))
        ratios = []
        for many, few in (
            ("k-means, 2 d", "k-means"),
            ("k-means, 2 K", "k-means"),
            ("kernel, 2 p", "kernel"),
        ):
            known = method in times[many] and times[few].get(method, 0) > 0
            ratios.append(f"{times[many][method] / times[few][method]:.2f}" if known else "—")
        lines.append(f"| {method} | {plain} | {ratios[0]} | {ratios[1]} | {kernel} | {ratios[2]} |")
    return "\n".join([*lines, ""])


def main() -> None:
    options = arguments(__doc__, "quick out", quick="small tables, only to see that it runs").parse_args()
    warnings.simplefilter("ignore")
    result = {"wine": wine(options.quick), "growth": growth(options.quick)}
    print_result(options, "neon_table_2", result, page)


if __name__ == "__main__":
    main()
