"""How wide should the axes of a linear embedding be? Planted clusters, found in directions of an embedding.

Tables of 300 columns, with clusters that are alike in size or not, that stand apart clearly or less so, alone
or beside a batch that something else makes, in noise that correlates or not. Principal components stand for
the autoencoder. Four ways to make them wide: as they are; k of them alike, for k clusters; k − 1 of them; and
what IDC does, k − 1 of them and one more as far as it is no noise. The planted clusters only score. Prints
JSON, writes ``benchmarks/results/idc_axes.json`` and a page beside it. A run that was stopped goes on.

    OMP_NUM_THREADS=1 python benchmarks/idc_axes.py --jobs 2
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from deep_parts.tables import of, one_line
from running_parts.running import arguments, measure_runs
from whyclust.deep.models.centroids import k_means
from whyclust.deep.models.coding_rate import directions
from whyclust.deep.models.linear_embedding import own_axes

COLUMNS, OF_A_CLUSTER, OF_THE_BATCH, TOGETHER = 300, 20, 30, 10
EIGHT = " ".join(["20"] * 8)
SIZES = (
    "22 22 22",
    "50 8 8",
    "40 20 6",
    "56 10",
    "90 30 10 10",
    "100 12 12 12 12",
    "20 20 20 20 20 20 20 20",
)
# How far clusters raise their columns, and a batch others, and how the noise of columns correlates, in tens.
KINDS = {
    "clear": (2.5, 0.0, 0.0),
    "less clear": (1.2, 0.0, 0.0),
    "clear, batch": (2.5, 1.5, 0.0),
    "less clear, batch": (1.2, 1.5, 0.0),
    "clear, correlated": (2.5, 0.0, 0.3),
    "clear, batch, correlated": (2.5, 1.5, 0.3),
}
WAYS = ("as they are", "k alike", "k − 1 alike", "k − 1 and what is no noise")
SEEDS = 10


def table(
    sizes: list[int], apart: float, batch: float, correlation: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Standardised columns, of which each cluster raises some, and the batch others; and the clusters."""
    rng = np.random.default_rng(seed)
    y = np.repeat(range(len(sizes)), sizes)
    X = np.sqrt(1.0 - correlation) * rng.normal(size=(len(y), COLUMNS))
    common = rng.normal(size=(len(y), COLUMNS // TOGETHER))
    X += np.sqrt(correlation) * np.repeat(common, TOGETHER, axis=1)
    for cluster in range(len(sizes)):
        X[y == cluster, OF_A_CLUSTER * cluster : OF_A_CLUSTER * (cluster + 1)] += apart
    X[:, -OF_THE_BATCH:] += batch * rng.normal(size=(len(y), 1))
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def measure(sizes: str, kind: str, seed: int) -> dict[str, Any]:
    numbers = list(map(int, sizes.split()))
    X, y = table(numbers, *KINDS[kind], seed)
    k = len(numbers)
    components = PCA(k, random_state=0).fit(X)
    points = components.transform(X)
    alike = points / points.std(axis=0)
    turned = own_axes(*map(torch.from_numpy, (points, components.components_, X)), k).numpy()
    embeddings = dict(zip(WAYS, (points, alike, alike[:, : k - 1], points @ turned.T), strict=True))
    scores = {}
    for way, embedding in embeddings.items():
        h = directions(torch.from_numpy(embedding.astype(np.float32)), beside=True)
        labels = k_means(h, k, n_init=10, random_state=seed)[1]
        scores[way] = 100.0 * float(adjusted_rand_score(y, labels))
    return {"scores": scores}


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    cells = list(dict.fromkeys((run["sizes"], run["kind"]) for run in runs))
    lines = [
        "# Axes of a linear embedding",
        "",
        one_line(
            f"""Adjusted Rand index × 100 of planted clusters, mean over {len(runs) // len(cells)} seeds,
            found by k-means of directions in principal components of {COLUMNS} columns. A batch is another
            difference between rows, of which the clusters know nothing. The last way is that of IDC."""
        ),
        "",
        f"| rows of each cluster | table | {' | '.join(WAYS)} |",
        f"|---|---|{'---|' * len(WAYS)}",
    ]
    for sizes, kind in [*cells, ("all", "")]:
        own = of(runs, sizes=sizes, kind=kind) or runs
        means = [f"{np.mean([run['scores'][way] for run in own]):.0f}" for way in WAYS]
        lines.append(f"| {sizes} | {kind} | {' | '.join(means)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    options = arguments(__doc__ or "", "quick fresh jobs seeds out").parse_args()
    keys = [
        {"sizes": sizes, "kind": kind, "seed": seed}
        for kind in KINDS
        for sizes in (SIZES[1:2] if options.quick else SIZES)
        for seed in range(1 if options.quick else options.seeds or SEEDS)
    ]
    measure_runs(options, "idc_axes", keys, measure, page)


if __name__ == "__main__":
    main()
