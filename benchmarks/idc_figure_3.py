"""Figure 3 of the IDC paper: what is left when important pixels are gone, and which pixels these are.

On the first subset of ``idc_table_1.py``, of the same models: the accuracy that is left when a pixel and all
more important ones are removed, beside its importance; and the fifteen strongest pixels of single images by
each explanation. Classes only score. Prints JSON, writes ``benchmarks/results/idc_figure_3.json``, a page and
a picture beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/idc_figure_3.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.stats import pearsonr

from deep_parts.models import scored
from deep_parts.tables import of, one_line
from idc_table_1 import EPOCHS, NAMES, PRETRAINING, TOP, fitted, rows_of, strongest_of, subset
from running_parts.running import arguments, measure_runs, target_of
from whyclust.metrics import faithfulness

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# Model and explanation, and the correlation that the paper shows.
ROWS: dict[tuple[str, str], float | None] = {
    ("IDC", "gates"): 0.96,
    ("IDC", "neon"): None,
    ("IDC", "gradient_shap"): None,
    ("IDC", "ig"): None,
    ("k-means", "shap"): 0.79,
    ("k-means", "neon"): None,
}
# In the scatter, as in the paper; and images that are shown, the first of the subset.
SCATTERED = {("IDC", "gates"): "C2", ("k-means", "shap"): "C0", ("k-means", "neon"): "C7"}
SHOWN = 8


def measure(
    data: str, model: str, explanation: str, seed: int, pretraining: int, epochs: int
) -> dict[str, Any]:
    X, y, _ = rows_of(data)
    chosen = subset(data, 0, explanation)
    one = fitted(data, model, seed, pretraining, epochs)
    strongest = strongest_of(data, model, explanation, seed, pretraining, epochs, 0)
    left = faithfulness(one, X[chosen], strongest, labels=y[chosen], cumulative=True)
    order = np.argsort(-left.importance, kind="stable")
    used = order[left.importance[order] > 0]
    return {
        "scores": scored(np.asarray(one.predict(X)), y),
        "full": round(100.0 * left.full_performance, 2),
        "correlation": float(pearsonr(left.importance, left.performance).statistic),
        "important": len(used),
        "importance": np.round(left.importance[used] / left.importance.max(), 4).tolist(),
        "accuracy": np.round(100.0 * left.performance[used], 2).tolist(),
        "shown": [_places(row) for row in strongest[:SHOWN]],
    }


def _places(row: np.ndarray) -> list[int]:
    """Pixels of an image that are not zero, the strongest first."""
    order = np.argsort(-np.abs(row), kind="stable")[:TOP]
    return [int(place) for place in order if row[place] != 0]


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Figure 3 of IDC: faithfulness, and which pixels are chosen",
        "",
        one_line(
            """Left: each dot is a pixel, its importance (the mean of its size over the images, beside the
            largest) and the accuracy that is left when it and all more important ones stand at their mean.
            Right: the first images of the subset, as they come, and the fifteen strongest pixels of each
            explanation. In brackets the paper's."""
        )
        + " ![faithfulness and pixels](idc_figure_3.png)",
        "",
        "| model | explanation | accuracy | correlation | pixels of some importance "
        "| accuracy without half of it | without all |",
        "|---|---|---|---|---|---|---|",
    ]
    for (model, explanation), printed in ROWS.items():
        for run in of(result["runs"], model=model, explanation=explanation):
            paper = f" [{printed}]" if printed else ""
            shares = np.cumsum(run["importance"]) / np.sum(run["importance"])
            half = run["accuracy"][int(np.searchsorted(shares, 0.5))]
            lines.append(
                f"| {model} | {NAMES[explanation]} | {run['full']:.1f} | {run['correlation']:.2f}{paper} "
                f"| {run['important']} | {half:.1f} | {run['accuracy'][-1]:.1f} |"
            )
    return "\n".join([*lines, ""])


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """The scatter, and lines of pictures: the images, and what each explanation takes of them."""
    shown = [run for row in ROWS for run in of(runs, model=row[0], explanation=row[1])]
    X, _, _ = rows_of(shown[0]["data"])
    images = X[subset(shown[0]["data"], 0, "gates")[:SHOWN]]
    side = round(images.shape[1] ** 0.5)
    figure = plt.figure(figsize=(11, 0.75 * (len(shown) + 1) + 0.6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.0, 1.5])
    axis = left.subplots()
    for run in shown:
        colour = SCATTERED.get((run["model"], run["explanation"]))
        if colour is not None:
            label = f"{_named(run)}: {run['correlation']:.2f}"
            axis.scatter(run["importance"], run["accuracy"], s=8, color=colour, label=label)
    axis.set_xlabel("importance, of the largest")
    axis.set_ylabel("accuracy that is left")
    axis.legend(fontsize=8, title="correlation", title_fontsize=8)
    axes = right.subplots(len(shown) + 1, len(images), squeeze=False)
    for line, run in enumerate([None, *shown]):
        for place, image in enumerate(images):
            panel = axes[line, place]
            panel.set_xticks([])
            panel.set_yticks([])
            panel.imshow(image.reshape(side, side), cmap="Greys", vmax=1.0 if run is None else 4.0)
            if run is not None:
                across = [pixel % side for pixel in run["shown"][place]]
                down = [pixel // side for pixel in run["shown"][place]]
                panel.scatter(across, down, s=5, marker="s", color="C3", linewidths=0)
        told = "image" if run is None else _named(run)
        axes[line, 0].set_ylabel(told, fontsize=8, rotation=0, ha="right", va="center")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _named(run: dict[str, Any]) -> str:
    return f"{run['model']}, {NAMES[run['explanation']]}"


def main() -> None:
    options = arguments(__doc__ or "", "quick fresh jobs models out").parse_args()
    rows = [row for row in ROWS if not options.models or row[0] in options.models.split(",")]
    if options.quick:
        rows = [("IDC", "gates"), ("k-means", "neon")]
    keys = [
        {
            "data": "digits" if options.quick else "mnist10k",
            "model": model,
            "explanation": explanation,
            "seed": 0,
            "pretraining": 2 if options.quick else PRETRAINING,
            "epochs": 2 if options.quick else EPOCHS,
        }
        for model, explanation in rows
    ]
    result = measure_runs(options, "idc_figure_3", keys, measure, page)
    target = target_of(options, "idc_figure_3")
    if target is not None:
        draw(result["runs"], target.with_suffix(".png"))


if __name__ == "__main__":
    main()
