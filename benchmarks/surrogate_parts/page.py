"""The numbers for a person, as Markdown. What falls short is read off the numbers."""

from __future__ import annotations

from typing import Any

from surrogate_parts.agreement import SMALL_CLUSTER
from surrogate_parts.planted import EXPLAINERS, PLANTED, PLANTED_CLUSTERS
from surrogate_parts.settings import METHODS, OTHERS

KINDS = {"planted": "any planted column", "own": "own columns", "own_for": "own columns speak for it"}
RATIOS = {
    "forest_total_over_surrogate_total": "in total",
    "forest_fit_over_surrogate_fit": "to fit",
    "tree_shap_over_surrogate_per_row": "to explain a row",
}


def row(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def head(*cells: str) -> list[str]:
    return [row(*cells), f"|{'---|' * len(cells)}"]


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def signed(number: float, digits: int = 1) -> str:
    """With a sign, and no sign for what rounds to nothing."""
    rounded = round(number, digits)
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def enumerated(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def agreement_page(part: dict[str, Any]) -> list[str]:
    lines = ["## Agreement with the labels on rows not seen", ""]
    if "summary" not in part:
        return [*lines, "This part is not finished.", ""]
    summary, pairs = part["summary"], part["pairs"]
    titles = [title for title, _ in METHODS.values()]
    mean, count = summary["mean"], summary["pairs"]
    others = enumerated([f"{METHODS[name][0]} on {percent(mean[name])} %" for name in OTHERS])
    gap = summary["mean_behind_best"]
    lines += [
        f"Labels of {count} clusterings of {summary['tables']} tables, predicted by {part['folds']}-fold "
        "cross-validation with the same folds for all methods. Noise is a label to be predicted like the "
        "others. Shares of rows are in percent. A difference is to the best of the other three on that line; "
        "that one is chosen after the fact, so even equal methods would be a little behind it.",
        "",
        f"On average the surrogate agrees on {percent(mean['surrogate'])} % of the rows ({others}), which is "
        f"{abs(100 * gap):.1f} points {'behind' if gap > 0 else 'ahead of'} the best of the three on each "
        f"line. It is at most one point behind in {summary['within_one_point']} of {count} cases, and equal "
        f"or ahead in {summary['ahead_of_or_equal_to_all']}. Its own estimate, which users are shown, "
        "differs from what was measured here by "
        f"{signed(100 * summary['mean_own_estimate_minus_measured'])} points on average.",
        "",
        *head("labels from", "cases", *titles),
    ]
    for name, values in summary["mean_by_clustering"].items():
        cases = sum(pair["clustering"] == name for pair in pairs)
        lines.append(row(name, cases, *(percent(values[method]) for method in METHODS)))
    lines += [row("all", count, *(percent(mean[method]) for method in METHODS)), ""]
    late = summary["not_within_one_point"]
    if late:
        listed = ", ".join(f"{table}/{name} ({signed(-100 * gap)})" for table, name, gap in late)
        lines.append(
            f"**Falls short** by more than one point in {len(late)} of {count} cases, worst first: {listed}."
        )
    else:
        lines.append("Nowhere is it behind by more than one point.")
    return [*lines, "", *cases_table(pairs), *left_out(part)]


def cases_table(pairs: list[dict[str, Any]]) -> list[str]:
    titles = [title for title, _ in METHODS.values()]
    before = ["table", "labels from", "rows × columns", "clusters", "noise"]
    after = ["difference", "in rows", "own estimate", "in sample", "supports", "fit, CPU s"]
    lines = ["<details><summary>Every case</summary>", "", *head(*before, *titles, *after)]
    for pair in pairs:
        tiny = len(pair["sizes_of_small_clusters"])
        lines.append(
            row(
                pair["table"],
                pair["clustering"],
                f"{pair['rows']:,} × {pair['columns']:,}",
                f"{pair['clusters']} ({tiny} tiny)" if tiny else pair["clusters"],
                f"{pair['noise']:.0%}",
                *(percent(pair["held_out"][method]) for method in METHODS),
                signed(-100 * pair["behind_best"]),
                signed(-pair["behind_best"] * pair["rows"], 0),
                percent(pair["own_estimate_of_held_out"]),
                percent(pair["in_sample"]),
                pair["supports"],
                f"{pair['seconds_of_fit']:.1f}",
            )
        )
    return [
        *lines,
        "",
        f"Tiny clusters have fewer than {SMALL_CLUSTER} rows. The last four columns are of the surrogate "
        "fitted to all rows; its own estimate is the cross-validated agreement that it reports.",
        "",
        "</details>",
        "",
    ]


def left_out(part: dict[str, Any]) -> list[str]:
    lines = []
    if part.get("left"):
        lines += [f"{part['left']} more pairs are not measured yet: run it again to go on.", ""]
    for entry in part["failed"]:
        lines += [f"**Failed**: {entry['table']}/{entry['clustering']}: {entry['error']}", ""]
    reasons: dict[str, list[str]] = {}
    for entry in part["skipped"]:
        reasons.setdefault(entry["reason"], []).append(f"{entry['table']}/{entry['clustering']}")
    if reasons:
        listed = "; ".join(f"{reason}: {', '.join(names)}" for reason, names in sorted(reasons.items()))
        lines += [f"Left out: {listed}.", ""]
    if part["absent"]:
        lines += [f"Tables that were not at hand: {', '.join(part['absent'])}.", ""]
    return lines


def plus_minus(mean: str, width: float) -> str:
    return f"{mean} ± {percent(width)}"


def planted_page(part: dict[str, Any]) -> list[str]:
    lines = [
        "## Relevance on the columns that make the clusters",
        "",
        f"{PLANTED_CLUSTERS} clusters in {part['columns']} columns, most of which are noise. Share of "
        "absolute relevance, in percent, on the columns of any cluster and on those of the row's own "
        "cluster, and the share of rows whose own columns together speak for their cluster (not against "
        f"it): mean over rows and {len(part['seeds'])} seeds ± standard error. Permutation importance is one "
        "list of columns for all rows, without a sign; where it finds nothing, it counts as spread evenly. "
        "Differences are surrogate minus the other, paired by seed, with 95 % intervals.",
        "",
    ]
    short = []
    for variant, found in part["variants"].items():
        lines += [f"**{variant.capitalize()}**: {PLANTED[variant]}.", ""]
        lines += head("method", *KINDS.values(), *(f"difference: {title}" for title in KINDS.values()))
        for name, values in found["shares"].items():
            cells = [
                plus_minus(percent(values[kind]["mean"]), values[kind]["standard_error"])
                if kind in values
                else ""
                for kind in KINDS
            ]
            for kind, title in KINDS.items():
                less = found["surrogate_minus"].get(name, {}).get(kind)
                cells.append(plus_minus(signed(100 * less["mean"]), less["half_width_95"]) if less else "")
                if less and less["mean"] + less["half_width_95"] < 0:
                    short.append(
                        f"{-100 * less['mean']:.1f} points behind {EXPLAINERS[name]} in '{title}' ({variant})"
                    )
            lines.append(row(EXPLAINERS[name], *cells))
        even = [percent(found["evenly_spread"][kind]) for kind in ("planted", "own")]
        lines += [row("spread evenly", *even, *[""] * (2 * len(KINDS) - 2)), ""]
    if part["shap"] == "not installed":
        lines += ["shap was not installed, so TreeSHAP is missing.", ""]
    lines.append(f"**Falls short**: {'; '.join(short)}." if short else "Nowhere is it clearly behind.")
    return [*lines, ""]


def time_page(part: dict[str, Any]) -> list[str]:
    seconds = part["seconds"]
    lines = [
        "## Time",
        "",
        f"{part['rows']:,} rows, {part['columns']} columns, {part['clusters']} clusters ({part['labels']}), "
        f"float64, one job; the surrogate has {part['supports']} supports and agrees on "
        f"{percent(part['surrogate_held_out'])} % of rows not seen. TreeSHAP: {part['tree_shap']}.",
        "",
        *head("", "fit, s", "explain all rows, s", "total, s"),
    ]
    for title, fit, explained in (
        ("surrogate", "surrogate_fit", "surrogate_explain"),
        ("forest of 100 and TreeSHAP", "forest_fit", "tree_shap_all_rows"),
    ):
        times = [seconds[fit], seconds.get(explained)]
        known = None not in times
        total = f"{sum(times):,.1f}" if known else ""
        lines.append(row(title, f"{times[0]:,.1f}", f"{times[1]:,.1f}" if known else "", total))
    if "ratios" in part:
        told = [f"{ratio:,.1f} × {RATIOS[name]}" for name, ratio in part["ratios"].items()]
        lines += ["", f"Beside the surrogate, forest and TreeSHAP take {enumerated(told)}."]
        slow = [RATIOS[name] for name, ratio in part["ratios"].items() if ratio < 1]
        if slow:
            lines += ["", f"**Falls short**: the surrogate takes longer {enumerated(slow)}."]
    return [*lines, ""]


def page(result: dict[str, Any]) -> str:
    """Everything that was measured so far."""
    machine = result["machine"]
    versions = ", ".join(f"{name} {machine[name]}" for name in ("whyclust", "numpy", "scikit-learn"))
    lines = [
        "# Surrogates for labels of any origin",
        "",
        "A surrogate (`whyclust.cluster.PrototypeSurrogate`) learns to reproduce labels, so that they can be "
        "explained. It can be trusted as far as it gives rows that it has not seen the label they have.",
        "",
        f"Measured by `benchmarks/surrogate.py` on {machine['cores']} cores, Python {machine['python']}, "
        f"{versions}, shap {machine['shap']}, OMP_NUM_THREADS {machine['threads']}, n_jobs "
        f"{machine['n_jobs']}, seed {result['seed']}{' (quick: the numbers mean little)' * result['quick']}.",
        "",
    ]
    for name, written in (("agreement", agreement_page), ("planted", planted_page), ("time", time_page)):
        if name in result:
            lines += written(result[name])
    return "\n".join(lines).rstrip() + "\n"
