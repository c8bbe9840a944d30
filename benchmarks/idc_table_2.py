"""Table 2 of the IDC paper: the synthetic set, on which every cluster has features of its own.

IDC beside k-means explained by SHAP, by NEON and by its own gates: accuracy, and the F1 of the features that
are chosen for each row against those that made it. k-means does not fail here as in the paper, where it has
chance's accuracy: that does not follow from the paper's description of the set (``make_idc_synthetic``).
Classes only score. Prints JSON, writes ``benchmarks/results/idc_table_2.json`` and a page beside it. A run
that was stopped goes on.

    OMP_NUM_THREADS=1 python benchmarks/idc_table_2.py --jobs 2
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

import whyclust as wc
from deep_parts.models import scored
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs
from whyclust.datasets import make_idc_synthetic
from whyclust.deep import IDC
from whyclust.metrics import selection_scores

MODELS = ("IDC", "IDC + NEON", "k-means + SHAP", "k-means + NEON")
# Accuracy and F1 in the paper.
PAPER = {"IDC": (99.91, 88.95), "k-means + SHAP": (25.72, 49.65)}
SEEDS = 5
# Features that make a row what it is.
CHOSEN = 2


def measure(model: str, seed: int, rows: int, pretraining: int, epochs: int) -> dict[str, Any]:
    X, y, informative = make_idc_synthetic(rows, random_state=seed)
    if model.startswith("k-means"):
        fitted: Any = KMeans(4, n_init=20, random_state=seed).fit(X)
    else:
        kind: Any = IDC
        fitted = kind(4, pretrain_epochs=pretraining, epochs=epochs, random_state=seed).fit(X)
    truth = informative[y]
    if model == "IDC":
        gates = fitted.local_gates(X)
        found = selection_scores(gates > 0, truth)
        more = {"open": float((gates > 0).sum(axis=1).mean())}
    else:
        explained = wc.explain(fitted, X, **({"method": "shap"} if "SHAP" in model else {}))
        found = selection_scores(explained, truth, top=CHOSEN)
        more = {"open": float(CHOSEN)}
    scores = {**scored(fitted.labels_, y), "F1": 100.0 * float(found.f1)}
    return {"scores": scores, **more}


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    first = runs[0]
    lines = [
        "# Table 2 of IDC: the synthetic set",
        "",
        one_line(
            f"""Mean ± standard deviation over seeds, in brackets the paper's. {first["rows"]} rows, settings
            as they come but for {first["pretraining"]} and {first["epochs"]} epochs. F1 is that of the
            features chosen for each row: the open gates, or the two with the largest relevance. The gates
            are not told how many to open."""
        ),
        "",
        "| model | ACC | NMI | F1 of features | features a row | CPU seconds | seeds |",
        "|---|---|---|---|---|---|---|",
    ]
    for model in MODELS:
        own = of(runs, model=model)
        if not own:
            continue
        printed = PAPER.get(model)
        cells = []
        for place, name in enumerate(("ACC", "NMI", "F1")):
            column = values(own, name)
            paper = f" [{printed[place // 2]}]" if printed and name != "NMI" else ""
            cells.append(f"{column.mean():.2f} ± {column.std():.2f}{paper}")
        cells.append(f"{np.mean([run['open'] for run in own]):.2f}")
        cells += [f"{np.mean([run['cpu'] for run in own]):.0f}", str(len(own))]
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = arguments(__doc__ or "", "quick fresh jobs models seeds out")
    options = parser.parse_args()
    models = options.models.split(",") if options.models else MODELS
    if options.quick:
        models = ("IDC", "IDC + NEON", "k-means + NEON")
    keys = [
        {
            "model": model,
            "seed": seed,
            "rows": 80 if options.quick else 3200,
            "pretraining": 2 if options.quick else 60,
            "epochs": 2 if options.quick else 30,
        }
        for seed in range(1 if options.quick else options.seeds or SEEDS)
        for model in models
    ]
    measure_runs(options, "idc_table_2", keys, measure, page)


if __name__ == "__main__":
    main()
