"""What was measured of tables by block, in words and tables."""

from __future__ import annotations

from typing import Any

import numpy as np

# What depends on how many rows there are; the rest is imports, drawn rows and the report of them.
OF_ROWS = {
    "facts": ("reading and facts",),
    "start of k-means": ("start of k-means",),
    "one iteration": ("iterations",),
    "β": ("beta",),
    "relevance and its files": ("explaining",),
    "typical rows and cluster files": ("typical rows",),
}
# What asks the network of kernel k-means, and what fits it to drawn rows.
OF_SUPPORT, OF_FIT = ("beta", "explaining"), ("clustering",)
MANY = 1_000_000_000


def seconds(run: dict[str, Any], names: tuple[str, ...] | None = None) -> float:
    """Processor seconds of stages; by default of all that depend on the rows."""
    names = names or tuple(name for stages in OF_ROWS.values() for name in stages)
    return sum(run["stages"].get(name, 0.0) for name in names)


def a_row(run: dict[str, Any], value: float) -> float:
    """Microseconds a row."""
    return 1e6 * value / run["rows"]


def exponent(sizes: list[float], values: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])


def page(result: dict[str, Any]) -> str:
    every = list(result["runs"].values())
    runs = [run for run in every if "support" not in run]
    lines = [
        "# Tables larger than memory",
        "",
        "Measured by `benchmarks/scale.py`: made-up clusters that overlap, in single precision, as Parquet. "
        "Every run has a process of its own; seconds are those of the processor, so that other work on the "
        "machine counts little. One thread.",
        "",
        *_all(every),
        *_compared(runs),
        *_grows(runs),
        *_support([run for run in every if "support" in run]),
        *_stages(runs),
        *_extrapolated(runs),
    ]
    return "\n".join([*lines, ""])


def _all(runs: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| how | rows | columns | clusters | CPU seconds | a row | seconds passed | resident, MB | "
        "a worker, MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        how = "all rows at once" if run["how"] == "memory" else f"by block, {run['engine']}"
        how += f" ({run['workers']})" if "workers" in run else ""
        how += ", by a model" if run.get("by_model") else ""
        how += f", kernel k-means, p = {run['support']}" if "support" in run else ""
        worker = f"{run['worker_megabytes']:.0f}" if run["engine"] == "processes" else ""
        lines.append(
            f"| {how} | {run['rows']:,} | {run['columns']} | {run['clusters']} | {run['cpu_seconds']:.1f} | "
            f"{a_row(run, run['cpu_seconds']):.1f} µs | {run['wall_seconds']:.0f} | "
            f"{run['resident_megabytes']:.0f} | {worker} |"
        )
    return [*lines, ""]


def _compared(runs: list[dict[str, Any]]) -> list[str]:
    lines = []
    for by_model in (False, True):
        whole = [run for run in runs if run["how"] == "memory" and bool(run.get("by_model")) is by_model]
        for one in whole:
            same = [
                run
                for run in runs
                if run["how"] == "blocks"
                and run["engine"] == "process"
                and bool(run.get("by_model")) is by_model
                and all(run[key] == one[key] for key in ("rows", "columns", "clusters"))
            ]
            for run in same:
                what = "Assigned and explained by a model" if by_model else "The whole job"
                lines.append(
                    f"- {what}, {run['rows']:,} rows: by block {a_row(run, run['cpu_seconds']):.1f} µs a row "
                    f"and {run['resident_megabytes']:.0f} MB, at once "
                    f"{a_row(one, one['cpu_seconds']):.1f} µs and {one['resident_megabytes']:.0f} MB: "
                    f"{run['cpu_seconds'] / one['cpu_seconds']:.2f} times the time."
                )
    if not lines:
        return []
    return [
        "## Beside the whole table at once",
        "",
        *lines,
        "",
        "The two differ in more than blocks: at once, clusters are written as CSV, which takes longer than "
        "Parquet, and the whole job fits k-means from ten starts; by block it is one, "
        "found by k-means||. The report at once holds up to 50,000 rows, by block about 20,000. Of small "
        "tables, imports and the report take most of the time.",
        "",
    ]


def _grows(runs: list[dict[str, Any]]) -> list[str]:
    usual = [
        run
        for run in runs
        if run["how"] == "blocks" and run["engine"] == "process" and not run.get("by_model")
    ]
    lines = []
    for what in ("rows", "columns", "clusters"):
        others = [key for key in ("rows", "columns", "clusters") if key != what]
        groups: dict[tuple[int, ...], list[dict[str, Any]]] = {}
        for run in usual:
            groups.setdefault(tuple(run[key] for key in others), []).append(run)
        growing = sorted(max(groups.values(), key=len), key=lambda run: run[what]) if groups else []
        if len(growing) < 2:
            continue
        sizes = [run[what] for run in growing]
        # Iterations differ from table to table, so one of them counts.
        times = [_one_iteration(run) for run in growing]
        memory = [run["resident_megabytes"] for run in growing]
        lines.append(
            f"| {what}: {', '.join(f'{size:,}' for size in sizes)} | "
            f"{', '.join(f'{value:.1f}' for value in times)} | {exponent(sizes, times):.2f} | "
            f"{', '.join(f'{value:.0f}' for value in memory)} | {exponent(sizes, memory):.2f} |"
        )
    if not lines:
        return []
    return [
        "## What grows with what",
        "",
        "Seconds of the stages that go through the rows, with one iteration of k-means.",
        "",
        "| grows | CPU seconds | exponent | resident, MB | exponent |",
        "|---|---|---|---|---|",
        *lines,
        "",
        *_workers(runs),
    ]


def _support(runs: list[dict[str, Any]]) -> list[str]:
    """Kernel k-means compares each row with p support vectors a cluster."""
    runs = sorted(runs, key=lambda run: run["support"])
    if len(runs) < 2:
        return []
    sizes = [run["support"] for run in runs]
    parts = {
        "CPU seconds of β and relevance": [seconds(run, OF_SUPPORT) for run in runs],
        "CPU seconds of the fit": [seconds(run, OF_FIT) for run in runs],
        "CPU seconds of the whole job, with its report": [run["cpu_seconds"] for run in runs],
        "resident, MB": [run["resident_megabytes"] for run in runs],
    }
    usual = runs[0]
    return [
        "## Support vectors",
        "",
        f"Kernel k-means with p support vectors a cluster, {usual['rows']:,} rows of {usual['columns']} "
        f"columns, {usual['clusters']} clusters. It is fitted to at most 5,000 drawn rows, from one start. "
        "All rows are compared with all support vectors. What any row costs, reading and writing it, is in "
        "the seconds: with few support vectors it is most of them.",
        "",
        f"| p = {', '.join(map(str, sizes))} | measured | exponent |",
        "|---|---|---|",
        *(
            f"| {name} | {', '.join(f'{value:.1f}' for value in values)} | {exponent(sizes, values):.2f} |"
            for name, values in parts.items()
        ),
        "",
    ]


def _workers(runs: list[dict[str, Any]]) -> list[str]:
    several = [run for run in runs if run["engine"] == "processes"]
    if len(several) < 2:
        return []
    told = ", ".join(f"{run['workers']} of them {run['wall_seconds']:.0f} seconds" for run in several)
    return [
        f"With processes, {several[0]['rows']:,} rows took {told} that passed. They share the blocks, and "
        "not the report. Other work on the machine counts here.",
        "",
    ]


def _one_iteration(run: dict[str, Any]) -> float:
    own = seconds(run, ("iterations",))
    return seconds(run) - own + own / max(run.get("iterations") or 1, 1)


def _largest(runs: list[dict[str, Any]]) -> dict[str, Any] | None:
    whole = [
        run for run in runs if run["how"] == "blocks" and not run.get("by_model") and run.get("iterations")
    ]
    return max(whole, key=lambda run: run["rows"]) if whole else None


def _stages(runs: list[dict[str, Any]]) -> list[str]:
    run = _largest(runs)
    if run is None:
        return []
    lines = []
    for name, stages in OF_ROWS.items():
        value = seconds(run, stages)
        value = value / max(run["iterations"], 1) if name == "one iteration" else value
        lines.append(f"| {name} | {value:.1f} | {a_row(run, value):.2f} µs |")
    fixed = run["cpu_seconds"] - seconds(run)
    return [
        f"## Stages of the largest job, {run['rows']:,} rows",
        "",
        "| stage | CPU seconds | a row |",
        "|---|---|---|",
        *lines,
        f"| imports, drawn rows, report | {fixed:.1f} | |",
        "",
        f"k-means took {run['iterations']} iterations. At most {run['resident_megabytes']:.0f} MB were "
        "resident.",
        "",
    ]


def _extrapolated(runs: list[dict[str, Any]]) -> list[str]:
    run = _largest(runs)
    if run is None:
        return []
    times = MANY / run["rows"]
    hours = seconds(run) * times / 3600
    gigabytes = run["columns"] * 4 * MANY / 1e9
    return [
        "## A billion rows",
        "",
        f"Not measured. If every stage goes on to take time in proportion to the rows, as it did up to "
        f"{run['rows']:,}, with as many iterations, {MANY:,} rows of {run['columns']} columns take "
        f"{hours:.1f} hours of one processor, and {60 * hours / 64:.0f} minutes of 64 that share the blocks "
        f"evenly and read {gigabytes:.0f} GB a pass fast enough. Memory of a worker does not grow with the "
        f"rows. The client adds up what blocks have found, of about {run['columns'] * MANY // 20_000_000:,} "
        "blocks, as it comes.",
        "",
    ]
