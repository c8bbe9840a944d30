"""Figure 1a and the SYNTH-25 column of Table 1 of the ACe/DeC paper: dimensions that tell nothing.

Four clusters in two dimensions, and 0 to 25 others. All deep models begin with the same linear autoencoder of
one layer, as wide as the table. Beside NMI: how much of the relevance lies on the two dimensions that
matter, and how much of what ACe/DeC ignores lies on the others. Classes only score. Prints JSON, writes
``benchmarks/results/ace_figure_1.json`` and a page beside it. A run that was stopped goes on.

    OMP_NUM_THREADS=1 python benchmarks/ace_figure_1.py --jobs 2
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

import whyclust as wc
from deep_parts.models import scored
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs
from whyclust.cluster import SubKMeans
from whyclust.datasets import make_synth
from whyclust.deep import DCN, ACeDeC, AutoencoderKMeans

DIMENSIONS = (0, 5, 10, 15, 20, 25)
# Table 1, NMI × 100.
PAPER = {
    "k-means": 90,
    "SubKMeans": 84,
    "AE+SubKMeans": 11,
    "AE+KM": 11,
    "DCN 0.1": 17,
    "DCN 1": 22,
    "DCN 10": 29,
    "ACe/DeC": 100,
    "ACe/DeC, random start": 100,
}
SEEDS = {25: 20}
PRETRAINING, EPOCHS = 50, 40
ROWS = 12_000


@lru_cache(maxsize=1)
def points(dimensions: int, seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    return make_synth(rows, n_noise_dimensions=dimensions, random_state=seed)


@lru_cache(maxsize=1)
def autoencoder(dimensions: int, seed: int, rows: int, epochs: int) -> Any:
    X, _ = points(dimensions, seed, rows)
    model: Any = AutoencoderKMeans
    return model(4, hidden=(), embedding_dim=X.shape[1], epochs=epochs, random_state=seed).fit(X)


def share(explanation: Any, columns: slice) -> float:
    """The part of the relevance that lies on some columns."""
    strength = np.abs(explanation.values).sum(axis=0)
    return round(float(strength[columns].sum() / strength.sum()), 4)


def measure(dimensions: int, seed: int, rows: int, pretraining: int, epochs: int) -> dict[str, Any]:
    """All models of one table: they share the autoencoder."""
    X, y = points(dimensions, seed, rows)
    first = autoencoder(dimensions, seed, rows, pretraining)
    embedded = first.transform(X)
    dcn: Any = DCN
    deep: Any = ACeDeC
    base = dcn(4, autoencoder=first, epochs=epochs, random_state=seed)
    labels = {
        "k-means": KMeans(4, n_init=1, random_state=seed).fit(X).labels_,
        "SubKMeans": SubKMeans(4, n_init=1, random_state=seed).fit(X).labels_,
        "AE+SubKMeans": SubKMeans(4, n_init=10, random_state=seed).fit(embedded).labels_,
        "AE+KM": first.labels_,
    }
    for lam in (0.1, 1, 10):
        model = dcn(4, autoencoder=first, epochs=epochs, lam=lam, random_state=seed).fit(X)
        labels[f"DCN {lam}"] = model.labels_
    ours = deep(base).fit(X)
    labels["ACe/DeC"] = ours.labels_
    labels["ACe/DeC, random start"] = deep(base, start="random").fit(X).labels_
    found: dict[str, Any] = {"scores": {name: scored(one, y)["NMI"] for name, one in labels.items()}}
    ignored = wc.explain(ours, X, space="shared")
    return {
        **found,
        "relevance on the two": share(wc.explain(ours, X), slice(0, 2)),
        "ignored on the others": share(ignored, slice(2, None)),
        "base of what is ignored": round(
            float(np.abs(ignored.base_values).sum() / ignored.explained.sum()), 6
        ),
        "dimensions found": len(ours.cluster_dims_),
        "labels changed by hardening": ours.hardened(X).n_changed_,
    }


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    wide = [width for width in DIMENSIONS if of(runs, dimensions=width)]
    lines = [
        "# Dimensions that tell nothing (Figure 1a of ACe/DeC)",
        "",
        one_line(
            f"""NMI × 100 of SYNTH with so many dimensions that tell nothing, mean ± standard deviation over
            seeds, after {PRETRAINING} epochs of a linear autoencoder and {EPOCHS} of the model; the paper's
            column is its Table 1, SYNTH-25. The width of these dimensions (`make_synth`, noise_scale 3.5)
            was set by the rows of k-means and AE+KM alone."""
        ),
        "",
        f"| model | {' | '.join(map(str, wide))} | paper, 25 |",
        f"|---|{'---|' * (len(wide) + 1)}",
    ]
    for name, printed in PAPER.items():
        columns = [values(of(runs, dimensions=width), name) for width in wide]
        cells = [f"{one.mean():.1f} ± {one.std():.1f}" for one in columns]
        lines.append(f"| {name} | {' | '.join(cells)} | {printed} |")
    counts = [str(len(of(runs, dimensions=width))) for width in wide]
    lines += [f"| seeds | {' | '.join(counts)} | 20 |", ""]
    told = {
        "relevance on the two": "relevance on the two that matter",
        "ignored on the others": "of what is ignored, on the others",
        "base of what is ignored": "base of what is ignored",
        "dimensions found": "dimensions found",
        "labels changed by hardening": f"labels changed by hardening, of {result['rows']}",
    }
    lines += ["ACe/DeC:", "", f"| | {' | '.join(map(str, wide))} |", f"|---|{'---|' * len(wide)}"]
    for name, text in told.items():
        cells = [f"{np.mean([run[name] for run in of(runs, dimensions=width)]):.4g}" for width in wide]
        lines.append(f"| {text} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    rows, pretraining, epochs = (400, 3, 2) if options.quick else (ROWS, PRETRAINING, EPOCHS)
    keys = [
        {
            "dimensions": width,
            "seed": seed,
            "rows": rows,
            "pretraining": pretraining,
            "epochs": epochs,
        }
        for width in ((0, 5) if options.quick else DIMENSIONS[::-1])
        for seed in range(1 if options.quick else options.seeds or SEEDS.get(width, 5))
    ]
    measure_runs(options, "ace_figure_1", keys, measure, page, rows=rows)


if __name__ == "__main__":
    main()
