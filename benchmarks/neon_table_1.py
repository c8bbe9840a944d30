"""Table I of the NEON paper: Algorithm 1 for every explanation method, on its ten tables.

Ten fits of each model (other seeds), twenty repeats; the same random numbers for all methods of a fit, so
that methods are compared in pairs. Prints JSON, writes ``benchmarks/results/neon_table_1.json`` and a page
beside it with the paper's numbers. A run that was stopped goes on where it stood.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/neon_table_1.py --jobs 2
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import whyclust as wc
from neon_parts.methods import LONG, METHODS, RULES, scored
from neon_parts.sets import HELPS, QUICK, SETS, fitted, named, rows_of
from running_parts.running import arguments, measure_sets

REPEATS = 20


def one_fit(name: str, seed: int, repeats: int, wanted: list[str], max_rows: int | None) -> dict[str, Any]:
    """All methods on one fit."""
    warnings.simplefilter("ignore")
    X = rows_of(name)[:max_rows]
    net = wc.neuralize(fitted(named(name), X, seed), X)
    return {**scored(net, X, wanted, seed, repeats), "rows": list(X.shape)}


def summary(fits: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and deviation over fits, and paired differences of both rules from every method."""
    methods = list(fits[0]["auc"])
    table = {method: np.array([fit["auc"][method] for fit in fits]) for method in methods}
    result: dict[str, Any] = {
        "mean": {method: float(values.mean()) for method, values in table.items()},
        "deviation": {method: float(values.std(ddof=1)) for method, values in table.items()},
        "ahead": {},
    }
    for rule in RULES:
        if rule not in table:
            continue
        ahead = {}
        for method, values in table.items():
            if method == rule:
                continue
            mine = np.array([fit["beside"][rule] for fit in fits]) if method in LONG else table[rule]
            difference = mine - values
            half = stats.t.ppf(0.975, len(fits) - 1) * difference.std(ddof=1) / np.sqrt(len(fits))
            mean = float(difference.mean())
            ahead[method] = {"mean": mean, "low": mean - float(half), "high": mean + float(half)}
        result["ahead"][rule] = ahead
    return result


def page(result: dict[str, Any]) -> str:
    """The table as Markdown: ours, and the paper's in brackets."""
    machine_ = result["machine"]
    lines = [
        "# Table I: area under the curve of Algorithm 1",
        "",
        f"Measured by `benchmarks/neon_table_1.py`: {result['fits']} fits × {result['repeats']} repeats, "
        f"seeds 0 to {result['fits'] - 1}, {machine_['cores']} cores, Python {machine_['python']}, whyclust "
        f"{machine_['whyclust']}, numpy {machine_['numpy']}, scikit-learn {machine_['scikit-learn']}; "
        f"{result['minutes']:.0f} minutes in all. The paper's number is in brackets. `neon` is the paper's "
        "rule, `neon expected` ours; PDA of the paper is on the indicator, `on f` is on the evidence. shap "
        "(two permutations, twenty background rows) and forest are scored on at most 100 rows of each fit, "
        "and NEON is compared with them on the same rows.",
        "",
    ]
    methods = [*METHODS]
    lines += ["| set | model | " + " | ".join(methods) + " |", "|---|---|" + "---|" * len(methods)]
    for name, entry in result["sets"].items():
        one = named(name)
        cells = []
        for method in methods:
            mean = entry["summary"]["mean"].get(method)
            paper = one.scores.get(method)
            beside = (
                "" if method not in one.scores else f" ({'—' if paper is None else format(paper, '.1f')})"
            )
            cells.append("—" if mean is None else f"{mean:.1f}{beside}")
        lines.append(
            f"| {name} {entry['rows'][0]} × {entry['rows'][1]} | {one.kind} | " + " | ".join(cells) + " |"
        )
    lines += ["", "## How far ahead, in points: mean of paired differences over fits, 95% interval", ""]
    for rule in RULES:
        others = [method for method in methods if method != rule]
        lines += [f"### {rule}", "", "| set | " + " | ".join(others) + " |", "|---|" + "---|" * len(others)]
        for name, entry in result["sets"].items():
            ahead = entry["summary"]["ahead"][rule]
            cells = [
                f"{ahead[m]['mean']:+.2f} [{ahead[m]['low']:+.2f}, {ahead[m]['high']:+.2f}]"
                if m in ahead
                else "—"
                for m in others
            ]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += ["## Milliseconds to explain a row, mean over fits", ""]
    lines += ["| set | " + " | ".join(methods) + " |", "|---|" + "---|" * len(methods)]
    for name, entry in result["sets"].items():
        cells = []
        for method in methods:
            times = [fit["seconds"][method] for fit in entry["fits"] if method in fit["seconds"]]
            cells.append(f"{1000 * np.mean(times):.3g}" if times else "—")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    options = arguments(__doc__, "quick fresh sets jobs out", **HELPS).parse_args()
    methods = [method for method in METHODS if not options.quick or method not in LONG]
    n_fits, repeats, max_rows = (2, 2, 60) if options.quick else (10, REPEATS, None)
    measure_sets(
        options,
        "neon_table_1",
        QUICK if options.quick else [one.name for one in SETS],
        partial(one_fit, repeats=repeats, wanted=methods, max_rows=max_rows),
        page,
        n_fits=n_fits,
        finish=lambda fits: {"rows": fits[0]["rows"], "fits": fits, "summary": summary(fits)},
        repeats=repeats,
    )


if __name__ == "__main__":
    main()
