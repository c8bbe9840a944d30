"""Tables 3, 4 and 5 of the IDC paper: images, with and without gates, unseen rows, and parts left out.

MNIST: 10,000 rows for training and the test part, which no fit has seen; 10,000 rows of Fashion-MNIST; the
test part of CIFAR-10 with convolutions at a quarter of the paper's width; and parts of the loss left out.
The paper trains on 60,000 rows and for many more epochs: so does ``--long``, with a third of its epochs,
which takes about an hour a fit. Classes only score. Prints JSON, writes
``benchmarks/results/idc_tables_3_to_5.json`` and a page beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/idc_tables_3_to_5.py --jobs 2
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans

import whyclust as wc
from deep_parts.models import scored
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs
from whyclust.deep import IDC, TELL
from whyclust.deep.models.gated_clustering import GatedClusteringModel

# Accuracy and features in the paper.
PAPER: dict[tuple[str, str], tuple[float, float | None]] = {
    ("mnist_test", "IDC"): (83.6, 14.9),
    ("mnist", "IDC without gates"): (81.1, None),
    ("mnist", "IDC"): (87.9, 15.81),
    ("fashion", "IDC without gates"): (61.0, None),
    ("fashion", "IDC"): (61.9, 68.6),
    ("cifar10", "IDC"): (25.01, 586.0),
    ("cifar10", "TELL"): (25.65, None),
    ("mnist", "without L_reg"): (85.9, None),
    ("mnist", "without latent denoising"): (86.5, None),
    ("mnist", "without input denoising"): (84.3, None),
    ("mnist", "features + k-means"): (65.5, None),
    ("mnist", "without L_recon"): (18.0, None),
}
ROWS = 10_000
FEATURES = {"mnist": 16, "fashion": 69, "cifar10": 586, "digits": 10}
# All rows that the paper trains on, in steps of its batch, with a third of its 300 and 600 epochs.
WHOLE = "_60k"
LONG_PRETRAINING, LONG_EPOCHS, LONG_BATCH = 100, 200, 256
ABLATIONS = (
    "without L_reg",
    "without latent denoising",
    "without input denoising",
    "features + k-means",
    "without L_recon",
)
LEFT_OUT = {
    "without latent denoising": {"latent"},
    "without input denoising": {"masked"},
    "without L_recon": {"clean", "masked", "gated", "latent"},
}
SEEDS, PRETRAINING, EPOCHS = 1, 40, 20
# Of runs from before the price of gates looked ahead by a share of the fit; they are not made any more.
EARLIER = ", earlier search"


@lru_cache(maxsize=1)
def rows_of(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Pixels between 0 and 1 and classes, and those of rows that are kept from the fit."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        X = (X / 16.0).astype(np.float32)
        return X[:200], y[:200], X[200:260], y[200:260]
    whole, name = name.endswith(WHOLE), name.removesuffix(WHOLE)
    stored = wc.datasets.load({"fashion": "fashion_mnist", "cifar10": "cifar10_test_jpeg"}.get(name, name))
    X, y = np.asarray(stored.X), np.asarray(stored.y)
    if X.ndim == 4:
        X = X.transpose(0, 3, 1, 2)
    X = X.reshape(len(X), -1)
    n_rows = 60_000 if whole else ROWS
    chosen = np.random.default_rng(0).permutation(min(len(X), 60_000))[:n_rows]
    unseen = (X[60_000:] / 255.0).astype(np.float32) if name == "mnist" else None
    return (X[chosen] / 255.0).astype(np.float32), y[chosen], unseen, y[60_000:] if name == "mnist" else None


class _Ablated(GatedClusteringModel):
    """IDC without some terms of its first stage."""

    left_out: frozenset[str] = frozenset()

    def denoising_loss(self, batch: Any) -> dict[str, torch.Tensor]:
        terms = super().denoising_loss(batch)
        return {name: 0.0 * term if name in self.left_out else term for name, term in terms.items()}

    def ungated_loss(self, batch: Any) -> dict[str, torch.Tensor]:
        terms = super().ungated_loss(batch)
        return {name: 0.0 * term if name in self.left_out else term for name, term in terms.items()}


def fitted(data: str, model: str, seed: int, pretraining: int, epochs: int) -> Any:
    X, y, _, _ = rows_of(data)
    if model == "TELL":  # of layers sized to the table, for all the epochs that IDC has there
        other: Any = TELL
        return other(len(np.unique(y)), epochs=min(pretraining + epochs, 20), random_state=seed).fit(X)
    settings: dict[str, Any] = {"pretrain_epochs": pretraining, "epochs": epochs, "random_state": seed}
    if model == "IDC without gates":
        settings["gates"] = False
    elif model == "without L_reg":
        settings["sparsity"] = 0.0
    else:
        settings["n_features"] = FEATURES[data.removesuffix(WHOLE)]
    if data.endswith(WHOLE):
        settings["batch_size"] = LONG_BATCH
    if data == "cifar10":
        settings |= {
            "image_shape": (3, 32, 32),
            "epochs": min(epochs, 10),
            "pretrain_epochs": min(pretraining, 10),
        }
    kind: Any = IDC
    estimator = kind(len(np.unique(y)), **settings)
    if model in LEFT_OUT:
        build = estimator._model

        def without(n_features: int, generator: torch.Generator) -> Any:
            found = build(n_features, generator)
            found.__class__ = _Ablated
            found.left_out = frozenset(LEFT_OUT[model])
            return found

        estimator._model = without
    return estimator.fit(X)


def measure(data: str, model: str, seed: int, pretraining: int, epochs: int) -> dict[str, Any]:
    X, y, unseen, unseen_y = rows_of(data)
    one = fitted(data, "IDC" if model == "features + k-means" else model, seed, pretraining, epochs)
    if model == "features + k-means":
        gated = X * one.local_gates(X)
        return {
            "scores": scored(KMeans(len(np.unique(y)), n_init=10, random_state=seed).fit_predict(gated), y)
        }
    found: dict[str, Any] = {
        "scores": scored(one.labels_, y),
        "clusters": len(np.unique(one.labels_)),
    }
    if model != "TELL":
        found["open"] = float(one.n_open_)
    if unseen is not None and model == "IDC":
        found["unseen"] = scored(one.predict(unseen), unseen_y)
        found["unseen open"] = float((one.local_gates(unseen) > 0).sum(axis=1).mean())
    return found


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    long = [run for run in runs if run["data"].endswith(WHOLE)]
    short = [run for run in runs if not run["data"].endswith(WHOLE)]
    lines = ["# Tables 3, 4 and 5 of IDC", ""]
    if short:
        told = one_line(
            f"""Mean over seeds, in brackets the paper's, which is of 60,000 rows and of hundreds of epochs;
            here {ROWS:,} rows, {short[0]["pretraining"]} and {short[0]["epochs"]} epochs (CIFAR-10: 10 and
            10, its test part, convolutions at a quarter of the width; TELL 20 epochs, without
            convolutions), networks sized to the table. Rows that were not seen are MNIST's test part. Where
            a row says 'earlier search', too many gates were open: it was run before fits of few epochs
            reached the number asked for."""
        )
        lines += [told, "", *_table(short), ""]
    if long:
        told = one_line(
            f"""All 60,000 rows that the paper trains on, in steps of {LONG_BATCH} as there, with
            {long[0]["pretraining"]} and {long[0]["epochs"]} epochs. The paper has 300 and 600 for MNIST,
            100 and 500 for Fashion-MNIST."""
        )
        lines += ["## 60,000 rows", "", told, "", *_table(long), ""]
    return "\n".join(lines)


def _table(runs: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| set | model | ACC | ARI | NMI | features | clusters in use | CPU seconds | seeds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for data, model in dict.fromkeys((run["data"], run["model"]) for run in runs):
        own = of(runs, data=data, model=model)
        name = data.removesuffix(WHOLE)
        lines.append(_row(own, name, model, "scores", "open"))
        if "unseen" in own[0]:
            lines.append(_row(own, f"{name}_test", model, "unseen", "unseen open"))
    return lines


def _row(own: list[dict[str, Any]], data: str, model: str, part: str, count: str) -> str:
    accuracy, features = PAPER.get((data, model.removesuffix(EARLIER)), (None, None))
    told = [f"{values(own, name, part).mean():.1f}" for name in ("ACC", "ARI", "NMI")]
    told[0] += f" [{accuracy}]" if accuracy else ""
    opened = f"{np.mean([run[count] for run in own]):.1f}" if count in own[0] else "–"
    opened += f" [{features}]" if features else ""
    clusters = f"{np.mean([run['clusters'] for run in own]):.1f}" if "clusters" in own[0] else "–"
    seconds = f"{np.mean([run['cpu'] for run in own]):.0f}"
    name = "rows that were not seen" if part == "unseen" else model
    return f"| {data} | {name} | {' | '.join(told)} | {opened} | {clusters} | {seconds} | {len(own)} |"


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--long", action="store_true", help="60,000 rows, 100 and 200 epochs")
    options = parser.parse_args()
    pairs = [
        ("mnist", "IDC"),
        ("mnist", "IDC without gates"),
        ("fashion", "IDC"),
        ("fashion", "IDC without gates"),
    ]
    pairs += [("mnist", name) for name in ABLATIONS] + [("cifar10", "IDC"), ("cifar10", "TELL")]
    if options.long:
        pairs = [(f"{data}{WHOLE}", model) for data, model in pairs[:4]]
    if options.sets:
        pairs = [pair for pair in pairs if pair[0] in options.sets.split(",")]
    if options.models:
        pairs = [pair for pair in pairs if pair[1] in options.models.split(",")]
    if options.quick:
        pairs = [("digits", "IDC"), ("digits", "without L_recon"), ("digits", "features + k-means")]
    keys = [
        {
            "data": data,
            "model": model,
            "seed": seed,
            "pretraining": 2 if options.quick else LONG_PRETRAINING if options.long else PRETRAINING,
            "epochs": 2 if options.quick else LONG_EPOCHS if options.long else EPOCHS,
        }
        for seed in range(1 if options.quick else options.seeds or SEEDS)
        for data, model in pairs
    ]
    measure_runs(options, "idc_tables_3_to_5", keys, measure, page)


if __name__ == "__main__":
    main()
