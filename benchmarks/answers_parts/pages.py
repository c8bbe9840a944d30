"""The page of Table I in both protocols."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from answers_parts.settings import (
    CELLS,
    CONFIRMING,
    EVERY_FIT,
    EXPLORED,
    FEWER_FITS,
    N_FITS_OTHERS,
    ORDER,
    PROTOCOLS,
)
from neon_parts.unseen import UNSEEN
from whyclust.metrics.flipping import share_attained

# Methods of which differences are told, and those from which.
PAIRS = [
    ("data_aware", "neon expected"),
    ("data_aware", "forest"),
    ("sufficient", "neon expected"),
    ("sufficient", "forest"),
]
GROUPS = {
    "explored": EXPLORED,
    "confirming, of the paper": tuple(name for name in CONFIRMING if name not in UNSEEN),
    "confirming, unseen": tuple(UNSEEN),
    "confirming, both": CONFIRMING,
}


def page(result: dict[str, Any]) -> str:
    """All tables, as Markdown."""
    runs, machine = result["runs"], result["machine"]
    names = [name for name in ORDER if any(run["set"] == name for run in runs)]
    by_set = {name: [run for run in runs if run["set"] == name] for name in names}
    lines = [
        "# Table I in both protocols",
        "",
        f"Measured by `benchmarks/answers_table_1.py`: {result['repeats']} repeats, at most "
        f"{result['most_rows']} rows a fit, {machine['cores']} cores, Python {machine['python']}, whyclust "
        f"{machine['whyclust']}, numpy {machine['numpy']}, scikit-learn {machine['scikit-learn']}; "
        f"{sum(run['cpu'] for run in runs) / 60:.0f} minutes of one core in all. `paper`: a row is "
        "filled in from a density that holds the row itself, and methods know the whole table. `no leak`: "
        "methods know one half of the table, rows of the other half are scored on it, each left out of the "
        "density that fills it in. `data_aware` and `sufficient` leave a row out in both. Columns are added "
        "(insert: more is better) or removed (delete: less is better); unknown ones are drawn from "
        "the density or are the mean. Parts of `data_aware` were fixed on "
        + ", ".join(EXPLORED)
        + ", without the leak.",
        "",
        "Fits of each table: " + ", ".join(f"{name} {len(by_set[name])}" for name in names) + ".",
        "",
    ]
    return "\n".join([*lines, *_standing(by_set), *_areas(by_set), *_differences(by_set), *_others(by_set)])


def _cells() -> list[tuple[str, str, str, str]]:
    """Protocol, imputer, direction, and what a cell is called."""
    return [
        (protocol, *cell, f"{protocol}, {cell[0]}, {cell[1]}") for protocol in PROTOCOLS for cell in CELLS
    ]


def _every_fit(by_set: dict[str, Any]) -> list[str]:
    """Methods of every fit; quick forms leave the forest out."""
    areas = [cell for runs in by_set.values() for run in runs for cell in run["areas"].values()]
    return [method for method in EVERY_FIT if all(method in one for one in areas)]


def _pairs(by_set: dict[str, Any]) -> list[tuple[str, str]]:
    return [pair for pair in PAIRS if set(pair) <= set(_every_fit(by_set))]


def _gains(runs: list[dict[str, Any]], cell: str, direction: str, ours: str, theirs: str) -> np.ndarray:
    """How much better one method is than another in each fit that has both."""
    sign = 1.0 if direction == "insert" else -1.0
    areas = [run["areas"][cell] for run in runs]
    return np.array([sign * (one[ours] - one[theirs]) for one in areas if ours in one and theirs in one])


def _standing(by_set: dict[str, Any]) -> list[str]:
    """Mean gains and cells ahead, group by group."""
    lines = [
        "## How far ahead, over tables",
        "",
        "Points by which a method is better, mean over tables of means",
    ]
    lines += ["over fits; cells (a table, an imputer, a direction) in which it is ahead, of all.", ""]
    heads = ["density, insert", "density, delete", "mean, insert", "mean, delete"]
    lines += ["| | tables | protocol | " + " | ".join(heads) + " | all | cells ahead |", "|---" * 9 + "|"]
    for ours, theirs in _pairs(by_set):
        for group, members in GROUPS.items():
            names = [name for name in members if name in by_set]
            for protocol in PROTOCOLS if names else ():
                gains = np.array(
                    [
                        [
                            _gains(by_set[name], f"{protocol}, {one}, {way}", way, ours, theirs).mean()
                            for one, way in CELLS
                        ]
                        for name in names
                    ]
                )
                told = " | ".join(f"{one:+.2f}" for one in gains.mean(axis=0))
                lines.append(
                    f"| {ours} − {theirs} | {group} | {protocol} | {told} | {gains.mean():+.2f} | "
                    f"{int((gains > 0).sum())} of {gains.size} |"
                )
    return [*lines, ""]


def _areas(by_set: dict[str, Any]) -> list[str]:
    """Areas of the methods of every fit, and what they attain of the best order known."""
    lines = ["## Areas, and what they attain of the best order known", ""]
    lines += [
        "In brackets (score − random) / (best order known − random), in per cent, over the fits in which the"
    ]
    lines += ["best order was searched; in bold the first of the four.", ""]
    methods = _every_fit(by_set)
    for _, _, direction, cell in _cells():
        lines += [f"### {cell}", "", "| table | " + " | ".join(methods) + " | random | best known |"]
        lines += ["|---" * (len(methods) + 3) + "|"]
        for name, runs in by_set.items():
            means = {method: np.mean([run["areas"][cell][method] for run in runs]) for method in methods}
            first = (max if direction == "insert" else min)(means, key=lambda one: means[one])
            told = []
            for method in methods:
                share = _attained(runs, cell, direction, method)
                area = f"**{means[method]:.1f}**" if method == first else f"{means[method]:.1f}"
                told.append(area if share is None else f"{area} ({100 * share:.0f})")
            known = [run["best"][cell] for run in runs if cell in run["best"]]
            ends = [np.mean([one[end] for one in known]) for end in ("random", "best")] if known else []
            told += [f"{end:.1f}" for end in ends] or ["—", "—"]
            rows, columns = runs[0]["shape"]
            lines.append(f"| {name} {rows} × {columns} | " + " | ".join(told) + " |")
        lines.append("")
    return lines


def _attained(runs: list[dict[str, Any]], cell: str, direction: str, method: str) -> float | None:
    shares = []
    for run in runs:
        if cell in run["best"] and method in run["areas"][cell]:
            known, areas = run["best"][cell], run["areas"][cell]
            seen = [known["best"], *areas.values()]
            shares.append(share_attained(areas[method], known["random"], seen, direction))
    return float(np.mean(shares)) if shares else None


def _differences(by_set: dict[str, Any]) -> list[str]:
    """Paired differences, table by table."""
    lines = ["## How far ahead, table by table: mean of paired differences over fits, 95% interval", ""]
    for ours, theirs in _pairs(by_set):
        heads = [cell for *_, cell in _cells()]
        lines += [f"### {ours} − {theirs}", "", "| table | " + " | ".join(heads) + " |", "|---" * 9 + "|"]
        for name, runs in by_set.items():
            told = [_interval(_gains(runs, cell, way, ours, theirs)) for _, _, way, cell in _cells()]
            lines.append(f"| {name} | " + " | ".join(told) + " |")
        lines.append("")
    return lines


def _interval(values: np.ndarray) -> str:
    mean = values.mean()
    if len(values) < 2:
        return f"{mean:+.1f}"
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{mean:+.1f} [{mean - half:+.1f}, {mean + half:+.1f}]"


def _others(by_set: dict[str, Any]) -> list[str]:
    """All methods on the first fits, and what they cost."""
    methods = [*EVERY_FIT, *FEWER_FITS]
    lines = [f"## All methods, on the first {N_FITS_OTHERS} fits", ""]
    for *_, cell in _cells():
        lines += [
            f"### {cell}",
            "",
            "| table | " + " | ".join(methods) + " |",
            "|---" * (len(methods) + 1) + "|",
        ]
        for name, runs in by_set.items():
            first = [run for run in runs if run["seed"] < N_FITS_OTHERS]
            told = []
            for method in methods:
                areas = [run["areas"][cell][method] for run in first if method in run["areas"][cell]]
                told.append(f"{np.mean(areas):.1f}" if areas else "—")
            lines.append(f"| {name} | " + " | ".join(told) + " |")
        lines.append("")
    lines += ["## Milliseconds to explain a row, mean over fits", ""]
    lines += ["| table | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for name, runs in by_set.items():
        told = []
        for method in methods:
            times = [run["seconds_a_row"][method] for run in runs if method in run.get("seconds_a_row", {})]
            told.append(f"{1000 * np.median(times):.3g}" if times else "—")
        lines.append(f"| {name} | " + " | ".join(told) + " |")
    return [*lines, ""]
