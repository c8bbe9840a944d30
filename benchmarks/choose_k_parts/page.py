"""The page of tables."""

from __future__ import annotations

from typing import Any

from choose_k_parts.criteria import METHODS
from choose_k_parts.tables import LUMPS, PLANTED, REAL

FEW = (2, 3, 5, 7, 9)


def page(result: dict[str, Any]) -> str:
    """Tables of right answers."""
    runs = result["runs"]
    lines = [
        "# The number of clusters",
        "",
        f"Measured by `benchmarks/choose_k.py` on {result['machine']['cores']} cores, one thread each. "
        f"Seeds from {result['first_seed']} on, which had no part in the choice of thresholds. The elbow "
        "tries k up to 10, as `--k-by elbow` does; all others up to 30, with the k-means fits of "
        "`choose_k`. choose_k is right where its k is, and it says that this k stands out.",
        "",
    ]
    planted = [run for run in runs if run["kind"] in PLANTED]
    for title, ks in (
        ("Right answers, K = 2, 3, 5, 7, 9", FEW),
        ("Right answers, K = 15", (15,)),
        ("Right answers, K = 25", (25,)),
    ):
        lines += _right([run for run in planted if run["k"] in ks], title)
    lines += _lumps([run for run in runs if run["kind"] in LUMPS])
    lines += _real([run for run in runs if run["kind"] in REAL])
    lines += _clock([run for run in runs if run["kind"] == "clock"])
    return "\n".join(lines)


def correct(run: dict[str, Any], method: str) -> bool:
    """Whether a method found the planted number."""
    return run[method] == run["k"] and (method != "choose_k" or run["stands_out"])


def _right(runs: list[dict[str, Any]], title: str) -> list[str]:
    if not runs:
        return []
    lines = [f"## {title}", "", "| kind | tables | " + " | ".join(METHODS) + " |"]
    lines.append("|---|" + "---|" * (len(METHODS) + 1))
    kinds = [kind for kind in PLANTED if any(run["kind"] == kind for run in runs)]
    for kind in [*kinds, "all"]:
        chosen = [run for run in runs if kind in (run["kind"], "all")]
        counts = [str(sum(correct(run, method) for run in chosen)) for method in METHODS]
        lines.append(f"| {kind} | {len(chosen)} | " + " | ".join(counts) + " |")
    return [*lines, ""]


def _lumps(runs: list[dict[str, Any]]) -> list[str]:
    if not runs:
        return []
    lines = [
        "## One lump",
        "",
        "Tables in which choose_k says that no k stands out, and in which the gap says 1.",
        "",
        "| kind | tables | choose_k: none stands out | gap says 1 | gap, highest says 1 |",
        "|---|---|---|---|---|",
    ]
    for kind in LUMPS:
        chosen = [run for run in runs if run["kind"] == kind]
        if chosen:
            counts = (
                sum(not run["stands_out"] for run in chosen),
                sum(run["gap"] == 1 for run in chosen),
                sum(run["gap, highest"] == 1 for run in chosen),
            )
            lines.append(f"| {kind} | {len(chosen)} | " + " | ".join(map(str, counts)) + " |")
    return [*lines, ""]


def _real(runs: list[dict[str, Any]]) -> list[str]:
    if not runs:
        return []
    lines = [
        "## Real tables with classes",
        "",
        "Classes need not be clusters: there is no right answer, only what each says.",
        "",
        "| table | classes | " + " | ".join(METHODS) + " | stands out | runners-up |",
        "|---|" + "---|" * (len(METHODS) + 3),
    ]
    for run in runs:
        told = [str(run[method]) for method in METHODS]
        others = ", ".join(map(str, run["alternatives"])) or "none"
        lines.append(
            f"| {run['kind']} | {run['k']} | {' | '.join(told)} | {'yes' if run['stands_out'] else 'no'} "
            f"| {others} |"
        )
    return [*lines, ""]


def _clock(runs: list[dict[str, Any]]) -> list[str]:
    if not runs:
        return []
    lines = [
        "## Seconds of CPU for 5,000 rows and 25 columns",
        "",
        "From 28 clusters on the search goes on to k = 45.",
        "",
        "| clusters | found | seconds |",
        "|---|---|---|",
    ]
    lines += [f"| {run['k']} | {run['choose_k']} | {run['choose_k_cpu']:.1f} |" for run in runs]
    return [*lines, ""]
