"""Which weights of the competitors serve best? Explored on half of the tables of the NEON paper.

Every candidate is a way to weigh the competitors of a point, or another reference than the mid-point;
Algorithm 1 scores it. The other half of the tables, on which nothing was chosen, is in
``benchmarks/results/neon_table_1.md``: there the winner, `expected`, meets the paper's rule again.
Prints JSON, writes ``benchmarks/results/pool_rules.json`` and a page beside it.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/pool_rules.py --jobs 2
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

import whyclust as wc
from neon_parts.sets import HELPS, QUICK, fitted, named, rows_of
from running_parts.running import arguments, measure_sets
from whyclust.metrics import flipping_auc

EXPLORED = ("winer", "buddy", "c2000", "trpad", "water")


def competitors(net: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Evidence against each competitor (infinite for the own cluster), slopes, moments, own cluster.

    Closed form 2 with a small array of points × clusters × columns, which the library never builds.
    """
    head = net.head
    prototypes, members = head.prototypes.astype(float), head.members
    offsets = 0.0 if head.offsets is None else head.offsets
    squares = (X**2).sum(axis=1)[:, None] + (prototypes**2).sum(axis=1) - 2 * X @ prototypes.T + offsets
    n_clusters = int(members[-1]) + 1
    outlier = np.empty((len(X), n_clusters))
    mean, mean_square = (np.empty((len(X), n_clusters, X.shape[1])) for _ in range(2))
    for k in range(n_clusters):
        distance = squares[:, members == k]
        nearest = distance.min(axis=1, keepdims=True)
        share = (
            np.exp(-head.gamma * (distance - nearest)) if distance.shape[1] > 1 else np.ones_like(distance)
        )
        outlier[:, k] = nearest[:, 0] - np.log(share.sum(axis=1)) / head.gamma
        share /= share.sum(axis=1, keepdims=True)
        mean[:, k], mean_square[:, k] = (
            share @ prototypes[members == k],
            share @ prototypes[members == k] ** 2,
        )
    rows, own = np.arange(len(X)), outlier.argmin(axis=1)
    h = outlier - outlier[rows, own][:, None]
    h[rows, own] = np.inf
    return h, 2 * (mean[rows, own][:, None] - mean), mean_square[rows, own][:, None] - mean_square, own


def softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def candidates(net: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    """Relevance of every candidate."""
    h, slopes, moments, own = competitors(net, X)
    is_other = np.isfinite(h)
    evidence = h.min(axis=1)
    n_clusters = h.shape[1]
    center = X.mean(axis=0)

    def relevance(weights: np.ndarray, to_mean: float = 0.0) -> np.ndarray:
        """Relevance around the mid-points, or moved towards the data mean as reference."""
        weights = np.where(is_other, weights, 0.0)
        slope = np.einsum("nk,nkd->nd", weights, slopes)
        middle = X * slope - np.einsum("nk,nkd->nd", weights, moments)
        return (1 - to_mean) * middle + to_mean * (X - center) * slope

    beta = net.beta
    p = softmax(-beta * h)
    with np.errstate(invalid="ignore"):
        paper = p * np.where(h == evidence[:, None], 1.0, evidence[:, None] / h)
    sizes = np.bincount(own, minlength=n_clusters) / len(X)
    by_size = np.where(is_other, sizes, 0.0)
    by_size /= by_size.sum(axis=1, keepdims=True)
    per_cluster = np.array(
        [evidence[own == k].mean() if (own == k).any() else 1 / beta for k in range(n_clusters)]
    )
    mean_h = np.where(is_other, h, 0.0).sum(axis=1, keepdims=True) / is_other.sum(axis=1, keepdims=True)
    found = {"paper (min_take_most)": relevance(paper), "expected": relevance(p)}
    for factor in (0.1, 0.3, 0.5, 2.0, 5.0):
        found[f"expected, β × {factor:g}"] = relevance(softmax(-factor * beta * h))
    found["expected, β per cluster"] = relevance(softmax(-h / per_cluster[own][:, None]))
    for factor in (1.0, 3.0):
        found[f"expected, β = {factor:g} / mean h of the point"] = relevance(softmax(-factor * h / mean_h))
    found["expected, times the clusters' sizes"] = relevance(softmax(np.log(sizes + 1e-12) - beta * h))
    found["expected, half the weight by sizes"] = relevance(0.5 * p + 0.5 * by_size)
    for part in (0.25, 0.5, 1.0):
        found[f"expected, reference {part:.0%} of the way to the mean"] = relevance(p, part)
    found["all competitors alike"] = relevance(is_other / is_other.sum(axis=1, keepdims=True))
    inverse = np.where(is_other, 1 / np.maximum(h, 1e-12), 0.0)
    found["1 / h"] = relevance(inverse / inverse.sum(axis=1, keepdims=True))
    found["PDA on f, zero (not NEON)"] = wc.explain(net, X, method="pda_zero", on="evidence").values
    return found


def one_fit(name: str, seed: int, repeats: int, max_rows: int | None) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    X = rows_of(name)[:max_rows]
    net = wc.neuralize(fitted(named(name), X, seed), X)
    found = candidates(net, X)
    library = wc.explain(net, X, rule="min_take_most").values
    difference = np.abs(found["paper (min_take_most)"] - library).max() / np.abs(library).max()
    auc = {
        rule: flipping_auc(net, X, values, n_repeats=repeats, leave_out=False, random_state=seed).auc
        for rule, values in found.items()
    }
    return {"seed": seed, "auc": auc, "difference_from_library": float(difference)}


def page(result: dict[str, Any]) -> str:
    names = list(result["sets"])
    first = "paper (min_take_most)"
    lines = [
        "# Weights of the competitors, explored on half of the tables",
        "",
        f"Measured by `benchmarks/pool_rules.py`: {result['fits']} fits × {result['repeats']} repeats, "
        f"seeds 0 to {result['fits'] - 1}, {result['machine']['cores']} cores, {result['minutes']:.0f} "
        "minutes. Points of area above the paper's rule (its own area in the first line), mean of paired "
        "differences over fits ± their standard error.",
        "",
        "| candidate | " + " | ".join(names) + " | mean |",
        "|---|" + "---|" * (len(names) + 1),
    ]
    scores = {
        name: {rule: np.array([fit["auc"][rule] for fit in fits]) for rule in fits[0]["auc"]}
        for name, fits in result["sets"].items()
    }
    if not scores:
        return "\n".join(lines)
    for rule in next(iter(scores.values())):
        cells, means = [], []
        for name in names:
            values = scores[name][rule]
            if rule == first:
                cells.append(f"{values.mean():.2f}")
                means.append(values.mean())
                continue
            difference = values - scores[name][first]
            means.append(difference.mean())
            cells.append(f"{means[-1]:+.2f} ± {difference.std(ddof=1) / np.sqrt(len(values)):.2f}")
        mean = f"{np.mean(means):.2f}" if rule == first else f"{np.mean(means):+.2f}"
        lines.append(f"| {rule} | " + " | ".join(cells) + f" | {mean} |")
    return "\n".join([*lines, ""])


def main() -> None:
    options = arguments(__doc__, "quick fresh sets jobs out", **HELPS).parse_args()
    sets, n_fits, repeats, max_rows = (QUICK, 2, 2, 60) if options.quick else (EXPLORED, 5, 20, None)
    measure = partial(one_fit, repeats=repeats, max_rows=max_rows)
    measure_sets(options, "pool_rules", sets, measure, page, n_fits=n_fits, repeats=repeats)


if __name__ == "__main__":
    main()
