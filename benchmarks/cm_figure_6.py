"""Figures 6 and 7 of the CM and C-Net paper: batch size and concentration of the clustering module.

ARI on pendigits for a coarse grid, from random and from k-means++ starts with equal shares expected (figure
6), and from random starts with the classes' own shares expected (figure 7: the one place where the paper
lets the shares of the classes into a model; which row has which class stays unknown). Each combination is
run once; as in the paper each point is shown as the mean of the nine combinations around it. Prints JSON,
writes
``benchmarks/results/cm_figure_6.json`` and a page beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/cm_figure_6.py --jobs 2
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deep_parts.models import scored
from deep_parts.sets import rows_of
from deep_parts.tables import of, one_line
from running_parts.running import arguments, measure_runs
from whyclust.deep import ClusteringModule

BATCHES = (55, 148, 403, 1097)  # e⁴ … e⁷
ALPHAS = (1.0, 3.16, 10.0, 31.6, 100.0, 316.0)
VARIANTS = {
    "random": "Figure 6, left: random start",
    "k-means++": "Figure 6, right: k-means++",
    "random, shares of the classes": "Figure 7: random start, shares of the classes expected",
}
REPORTED = 57.3  # table 1, both starts
EPOCHS = 150


def one_run(variant: str, batch: int, alpha: float, epochs: int, data: str) -> dict[str, Any]:
    X, y = rows_of(data)
    shares = np.bincount(y) / len(y)
    model = ClusteringModule(
        len(shares),
        alpha=alpha,
        prior=list(shares) if "shares" in variant else None,
        batch_size=batch,
        init=variant.split(",")[0],
        learning_rate=1e-3,
        epochs=epochs,
        random_state=0,
        device="cpu",
    ).fit(X)
    return {"scores": scored(model.labels_, y), "clusters_in_use": len(np.unique(model.labels_))}


def around(grid: np.ndarray) -> np.ndarray:
    """Mean of each point and its neighbours."""
    rows, columns = grid.shape
    return np.array(
        [
            [np.nanmean(grid[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2]) for j in range(columns)]
            for i in range(rows)
        ]
    )


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Figures 6 and 7: batch size and concentration of CM",
        "",
        one_line(f"""
            Measured by `benchmarks/cm_figure_6.py` on {result["data"]}, {result["epochs"]} epochs
            (paper: 150), a run each, rows scaled to 0..1. ARI × 100 as the mean of the (up to) nine
            combinations around a point, as the paper draws it; bold above the
            {REPORTED} of its table 1; in brackets the run itself."""),
        "",
    ]
    for variant, told in VARIANTS.items():
        own = {
            (run["batch"], run["alpha"]): run["scores"]["ARI"] for run in of(result["runs"], variant=variant)
        }
        if not own:
            continue
        batches, alphas = (sorted({pair[part] for pair in own}) for part in (0, 1))
        grid = np.array([[own.get((batch, alpha), np.nan) for batch in batches] for alpha in alphas])
        lines += [f"## {told}", "", "| α \\ batch | " + " | ".join(map(str, batches)) + " |"]
        lines.append("|---|" + "---|" * len(batches))
        for alpha, smooth, exact in zip(alphas, around(grid), grid, strict=True):
            cells = [
                f"{'**' if mean > REPORTED else ''}{mean:.1f}{'**' if mean > REPORTED else ''} ({one:.1f})"
                if np.isfinite(one)
                else ""
                for mean, one in zip(smooth, exact, strict=True)
            ]
            lines.append(f"| {alpha:g} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    options = arguments(__doc__).parse_args()
    data, epochs = ("digits", 1) if options.quick else ("pendigits", EPOCHS)
    batches, alphas = ((64, 256), (1.0, 10.0)) if options.quick else (BATCHES, ALPHAS)
    wanted = [
        {"variant": variant, "batch": batch, "alpha": alpha, "epochs": epochs, "data": data}
        for batch in reversed(batches)
        for alpha in alphas
        for variant in VARIANTS
    ]
    measure_runs(options, "cm_figure_6", wanted, one_run, page, data=data, epochs=epochs)


if __name__ == "__main__":
    main()
