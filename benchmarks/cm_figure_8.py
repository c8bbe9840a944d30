"""Figures 1 and 8 of the CM and C-Net paper, on five Gaussians in the plane.

Figure 1: centroids wander while CM trains with small batches; their mean over one more epoch is close to the
true centres. Figure 8: with ten centroids for five clusters, E₃ lets centroids merge; without it they do not,
and with 1.5 times its weight they merge too readily. Prints JSON, writes
``benchmarks/results/cm_figure_8.json``, a page and a picture beside it.

    OMP_NUM_THREADS=1 python benchmarks/cm_figure_8.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from deep_parts.tables import of, one_line
from running_parts.files import RESULTS
from running_parts.running import arguments, measure_runs
from whyclust.datasets import make_five_gaussians
from whyclust.deep import ClusteringModule

matplotlib.use("Agg")
import matplotlib.pyplot as plt

WEIGHTS = (0.0, 1.0, 1.5)
SEEDS = range(10)
# Centroids closer than this, in deviations of the standardised table, are one.
SAME = 0.15


def table() -> tuple[np.ndarray, np.ndarray]:
    """The rows, standardised, and the true centres of the five clusters."""
    X, _, centers = make_five_gaussians(random_state=0)
    mean, spread = X.mean(axis=0), X.std(axis=0)
    return ((X - mean) / spread).astype(np.float32), (centers - mean) / spread


def one_run(figure: int, weight: float, seed: int, epochs: int) -> dict[str, Any]:
    X, truth = table()
    n_clusters = 5 if figure == 1 else 10
    settings = {"alpha": 5.0, "batch_size": 20, "init": "random", "random_state": seed, "device": "cpu"}
    centers = {}
    for averaging in (False, True) if figure == 1 else (True,):
        model = ClusteringModule(
            n_clusters, epochs=epochs, e3_weight=weight, averaging=averaging, learning_rate=1e-2, **settings
        ).fit(X)
        centers[averaging] = np.asarray(model.cluster_centers_, dtype=float)
    found = centers[True]
    distances = np.linalg.norm(truth[:, None] - found[None], axis=2)
    result: dict[str, Any] = {
        "centers": np.round(found, 4).tolist(),
        "groups": int(fcluster(linkage(found, "single"), SAME, "distance").max()),
        "truth_found": int((distances.min(axis=1) < SAME).sum()),
        "near_zero": int((np.linalg.norm(found, axis=1) < SAME).sum()),
        "distance": float(distances.min(axis=1).mean()),
    }
    if False in centers:
        before = np.linalg.norm(truth[:, None] - centers[False][None], axis=2)
        result["distance_before"] = float(before.min(axis=1).mean())
    return result


def page(result: dict[str, Any]) -> str:
    first = of(result["runs"], figure=1)
    lines = [
        "# Figures 1 and 8: averaging, and merging by E₃",
        "",
        one_line(f"""
            Measured by `benchmarks/cm_figure_8.py`: 2,000 rows of five Gaussians, standardised, batches of
            20, α = 5, random starts, Adam with rate 0.01 (paper: stochastic gradient
            descent), {result["epochs"]} epochs, {len(first)} seeds.""")
        + " ![centroids](cm_figure_8.png)",
        "",
        "## Figure 1, five centroids",
        "",
        "Mean distance from a true centre to the nearest centroid: "
        f"{_mean(first, 'distance_before'):.3f} without the averaging epoch, "
        f"{_mean(first, 'distance'):.3f} with it.",
        "",
        "## Figure 8, ten centroids",
        "",
        f"Centroids nearer than {SAME} to each other are one group.",
        "",
        "| weight of E₃ | groups of centroids | true centres found | centroids near 0 | mean distance |",
        "|---|---|---|---|---|",
    ]
    for weight in WEIGHTS:
        own = of(result["runs"], figure=8, weight=weight)
        if own:
            cells = [f"{_mean(own, part):.1f}" for part in ("groups", "truth_found", "near_zero")]
            lines.append(f"| {weight:g} | {' | '.join(cells)} | {_mean(own, 'distance'):.3f} |")
    lines += [
        "",
        "The paper shows, of one run each: five pairs of centroids on the true centres (weight 1); five on "
        "the centres and five around 0 (weight 0); a cluster without centroids of its own (weight 1.5).",
        "",
    ]
    return "\n".join(lines)


def _mean(runs: list[dict[str, Any]], part: str) -> float:
    return float(np.mean([run[part] for run in runs])) if runs else float("nan")


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """The centroids of the first seed."""
    X, truth = table()
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True)
    for axis, weight in zip(axes, WEIGHTS, strict=True):
        centers = np.array(of(runs, figure=8, weight=weight, seed=0)[0]["centers"])
        shifted = centers + np.random.default_rng(0).normal(scale=0.03, size=centers.shape)
        axis.scatter(*X.T, s=2, color="0.8")
        axis.scatter(*truth.T, s=120, facecolors="none", edgecolors="C3", label="true centres")
        axis.scatter(*shifted.T, s=30, marker="s", color="C0", label="centroids, slightly shifted")
        axis.set_title(f"weight of E₃: {weight:g}")
    axes[0].legend(loc="best", fontsize=8)
    figure.savefig(path, dpi=90, bbox_inches="tight")
    plt.close(figure)


def main() -> None:
    options = arguments(__doc__).parse_args()
    epochs, seeds = (1, range(1)) if options.quick else (50, SEEDS)
    wanted = [{"figure": 1, "weight": 1.0, "seed": seed, "epochs": epochs} for seed in seeds]
    wanted += [
        {"figure": 8, "weight": weight, "seed": seed, "epochs": epochs}
        for seed in seeds
        for weight in WEIGHTS
    ]
    result = measure_runs(options, "cm_figure_8", wanted, one_run, page, epochs=epochs)
    if not options.quick:
        draw(result["runs"], (options.out or RESULTS / "cm_figure_8.json").with_suffix(".png"))


if __name__ == "__main__":
    main()
