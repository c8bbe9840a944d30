"""Tables of scores over seeds, beside the paper's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import ttest_ind

from deep_parts.models import SCORES

SIGNIFICANT = 0.05
# Of fewer runs "above the mean" says nothing.
FEWEST = 3
MARKS = """Scores × 100: mean ± standard deviation over seeds (best run); bold is the highest mean and what
    does not differ from it (Welch's t-test, p < .05)."""


def one_line(text: str) -> str:
    """A paragraph of Markdown, from lines of code."""
    return " ".join(text.split())


def of(runs: list[dict[str, Any]], **key: Any) -> list[dict[str, Any]]:
    """The runs with these values."""
    return [run for run in runs if all(run.get(part) == value for part, value in key.items())]


def values(runs: list[dict[str, Any]], score: str, part: str = "scores") -> np.ndarray:
    return np.array([run[part][score] for run in runs])


def like_the_best(columns: dict[Any, np.ndarray]) -> set[Any]:
    """The highest mean and those that do not differ from it (Welch's t-test, p < .05), as the paper marks."""
    best = max(columns, key=lambda name: columns[name].mean())
    marked = {best}
    for name, column in columns.items():
        both = (column, columns[best])
        varied = min(map(len, both)) > 1 and column.std() + columns[best].std() > 0
        if column.mean() == columns[best].mean() or (
            varied and ttest_ind(*both, equal_var=False).pvalue > SIGNIFICANT
        ):
            marked.add(name)
    return marked


def cell(column: np.ndarray, *, bold: bool) -> str:
    mean = f"**{column.mean():.1f}**" if bold else f"{column.mean():.1f}"
    spread = f" ± {column.std(ddof=1):.1f}" if len(column) > 1 else ""
    return f"{mean}{spread} ({column.max():.1f})"


def table(
    runs: list[dict[str, Any]],
    models: dict[str, str],
    paper: dict[str, tuple[float, float, float]],
    part: str = "scores",
) -> list[str]:
    """Rows of one data set: mean ± deviation (best run) of three scores, and the paper's means.

    Runs of other lengths are rows of their own.
    """
    lengths = sorted({(run.get("pretraining", 0), run["epochs"]) for run in runs})
    found = {
        (name, length): [
            run for run in of(runs, model=name) if (run.get("pretraining", 0), run["epochs"]) == length
        ]
        for name in models
        for length in lengths
    }
    found = {row: own for row, own in found.items() if own}
    marked = {
        score: like_the_best({row: values(own, score, part) for row, own in found.items()})
        for score in SCORES
    }
    lines = [
        "| model | ARI | NMI | ACC | paper: ARI, NMI, ACC | seeds | epochs | clusters in use | CPU seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row, own in found.items():
        name = row[0]
        cells = [cell(values(own, score, part), bold=row in marked[score]) for score in SCORES]
        printed = ", ".join(f"{value:.1f}" for value in paper[name]) if name in paper else "–"
        counts = [run["clusters_in_use"] for run in own]
        used = str(counts[0]) if len(set(counts)) == 1 else ", ".join(map(str, counts))
        epochs = str(own[0]["epochs"] or "–")
        seconds = np.mean([run["cpu"] for run in own])
        told = [models[name], *cells, printed, str(len(own)), epochs, used, f"{seconds:.0f}"]
        lines.append(f"| {' | '.join(told)} |")
    return [*lines, ""]


def selection(
    runs: list[dict[str, Any]], models: dict[str, str], sets: list[str]
) -> tuple[list[str], int, int]:
    """Tables 2 and 4: the run with the lowest L_sp beside the mean and the best one."""
    lines = ["| set | model | lowest L_sp | mean | best | runs |", "|---|---|---|---|---|---|"]
    above = cases = 0
    for name in sets:
        for model, told in models.items():
            with_score = [run for run in of(runs, data=name, model=model) if run.get("l_sp") is not None]
            for epochs in sorted({run["epochs"] for run in with_score}):
                own = of(with_score, epochs=epochs)
                if len(own) < FEWEST:
                    continue
                scores = values(own, "ARI")
                chosen = scores[int(np.argmin([run["l_sp"] for run in own]))]
                cases, above = cases + 1, above + int(chosen > scores.mean())
                text = f"**{chosen:.1f}**" if chosen > scores.mean() else f"{chosen:.1f}"
                others = f"{scores.mean():.1f} | {scores.max():.1f} | {len(own)}"
                lines.append(f"| {name} | {told} | {text} | {others} |")
    return [*lines, ""], above, cases
