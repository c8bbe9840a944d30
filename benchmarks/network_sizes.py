"""Is a network sized to the table as good as the papers', and how much does it save?

DEC and DCN with the layers that whyclust takes for a table, and with 500–500–2000, on the same rows, seeds
and epochs. Pen positions and USPS were in view when the rule was made; the other sets had no part in it.
Classes only score. Prints JSON, writes ``benchmarks/results/network_sizes.json`` and a page beside it. A
run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/network_sizes.py --jobs 2
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn import datasets as of_sklearn

from deep_parts import sets
from deep_parts.models import scored
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs
from whyclust.deep import DCN, DEC
from whyclust.deep.networks.autoencoders import PAPERS, usual_sizes

TABLES = {"wine": of_sklearn.load_wine, "breast cancer": of_sklearn.load_breast_cancer}
IN_VIEW = ("pendigits", "usps")
OTHERS = ("wine", "breast cancer", "srbct", "tox171", "mnist_test", "fashion_10k")
MODELS: dict[str, Any] = {"DEC": DEC, "DCN": DCN}
NETWORKS = ("sized", "papers")
SEEDS, EPOCHS, WIDTH = 3, 20, 10
# Tables of few rows get as many steps as larger ones besides: of 178 rows twenty epochs are twenty steps.
LONGER = {"wine": 1000, "breast cancer": 400, "srbct": 1000}
# One is enough to tell: each takes minutes.
FEWER = {"mnist_test": 1, "fashion_10k": 1, "tox171": 1}


@lru_cache(maxsize=1)
def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixels between 0 and 1; columns of other tables with mean 0 and deviation 1."""
    if name in ("mnist_test", "fashion_10k"):
        X, y = sets.rows_of({"mnist_test": "mnist", "fashion_10k": "fashion_mnist"}[name])
        if name == "mnist_test":
            return X[60_000:], y[60_000:]
        chosen = np.random.default_rng(0).permutation(len(X))[:10_000]
        return X[chosen], y[chosen]
    if name not in TABLES:
        return sets.rows_of(name, name not in ("usps", "digits"))
    X, y = TABLES[name](return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32), y


def measure(data: str, model: str, network: str, seed: int, epochs: int) -> dict[str, Any]:
    X, y = rows_of(data)
    layers = PAPERS if network == "papers" else usual_sizes(X.shape[1])
    fitted = MODELS[model](
        len(np.unique(y)),
        hidden=layers,
        embedding_dim=min(WIDTH, X.shape[1]),
        pretrain_epochs=epochs,
        epochs=epochs,
        random_state=seed,
    ).fit(X)
    return {"scores": scored(fitted.labels_, y), "layers": list(layers), "columns": int(X.shape[1])}


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    lines = [
        "# Networks sized to the table",
        "",
        one_line(
            """NMI and ARI × 100, mean over seeds, and CPU seconds of one thread, pretraining among them.
            `sized` is what whyclust takes, `papers`
            500–500–2000. Pen positions and USPS were in view when the rule was made; the other sets had no
            part in it."""
        ),
        "",
        "| set | columns | epochs | model | layers | NMI sized | papers | gap, paired | ARI sized | papers "
        "| share of CPU | seeds |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for data, epochs, model in dict.fromkeys((run["data"], run["epochs"], run["model"]) for run in runs):
        both = {name: of(runs, data=data, epochs=epochs, model=model, network=name) for name in NETWORKS}
        if not all(both.values()):
            continue
        seeds = sorted(set.intersection(*({run["seed"] for run in own} for own in both.values())))
        both = {name: [run for run in own if run["seed"] in seeds] for name, own in both.items()}
        nmi, ari = ({name: values(own, score) for name, own in both.items()} for score in ("NMI", "ARI"))
        gaps = nmi["sized"] - nmi["papers"]
        error = f" ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.1f}" if len(gaps) > 1 else ""
        cpu = {name: np.mean([run["cpu"] for run in own]) for name, own in both.items()}
        cells = [
            data,
            str(both["sized"][0]["columns"]),
            f"{epochs} + {epochs}",
            model,
            "–".join(str(size) for size in both["sized"][0]["layers"]),
            *(f"{nmi[name].mean():.1f}" for name in NETWORKS),
            f"{gaps.mean():+.1f}{error}",
            *(f"{ari[name].mean():.1f}" for name in NETWORKS),
            f"{cpu['sized'] / max(cpu['papers'], 0.1):.2f} of {cpu['papers']:.0f} s",
            str(len(seeds)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    chosen = options.sets.split(",") if options.sets else (*IN_VIEW, *OTHERS)
    models = options.models.split(",") if options.models else tuple(MODELS)
    if options.quick:
        chosen, models = ("wine",), ("DEC",)
    keys = [
        {
            "data": data,
            "model": model,
            "network": network,
            "seed": seed,
            "epochs": epochs,
        }
        for data in chosen
        for epochs in ((2,) if options.quick else sorted({EPOCHS, LONGER.get(data, EPOCHS)}))
        for model in models
        for seed in range(1 if options.quick else options.seeds or FEWER.get(data, SEEDS))
        for network in NETWORKS
    ]
    measure_runs(options, "network_sizes", keys, measure, page)


if __name__ == "__main__":
    main()
