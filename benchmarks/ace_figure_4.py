"""Figure 4 of the ACe/DeC paper: how much depends on the learning rate and on λ.

DCN at three λ and ACe/DeC, which has none, at learning rates of γ · 10⁻³. All models of a seed begin with the
same pretrained autoencoder, that of ``ace_table_1.py``. Classes only score. Prints JSON, writes
``benchmarks/results/ace_figure_4.json`` and a page beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/ace_figure_4.py --jobs 2
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student

from ace_table_1 import PRETRAINING, autoencoder, rows_of
from deep_parts.models import scored
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs
from whyclust.deep import DCN, ACeDeC

MODELS = ("ACe/DeC", "DCN 0.1", "DCN 1", "DCN 10")
GAMMAS = (0.1, 0.5, 0.9)
SETS = ("usps", "gtsrb10")
EPOCHS = 60


def measure(data: str, model: str, gamma: float, seed: int, pretraining: int, epochs: int) -> dict[str, Any]:
    X, y = rows_of(data)
    first = autoencoder(data, seed, "sized", pretraining)
    settings: dict[str, Any] = {
        "autoencoder": first,
        "learning_rate": 1e-3 * gamma,
        "epochs": epochs,
        "random_state": seed,
    }
    kind: Any = DCN
    deep: Any = ACeDeC
    k = len(np.unique(y))
    if model == "ACe/DeC":
        fitted = deep(kind(k, **settings)).fit(X)
    else:
        fitted = kind(k, lam=float(model.split()[1]), **settings).fit(X)
    return {"scores": scored(fitted.labels_, y)}


def interval(scores: np.ndarray) -> str:
    """Half of the 95 % interval of the mean."""
    if len(scores) < 2:
        return ""
    half = student.ppf(0.975, len(scores) - 1) * scores.std(ddof=1) / np.sqrt(len(scores))
    return f" ± {half:.1f}"


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    lines = [
        "# Learning rates (Figure 4 of ACe/DeC)",
        "",
        one_line(
            """NMI × 100, mean and 95 % interval over seeds, at learning rates of γ · 10⁻³, after the same
            pretraining."""
        ),
        "",
    ]
    parts = dict.fromkeys((run["data"], run["pretraining"], run["epochs"]) for run in runs)
    for data, pretraining, epochs in parts:
        own = of(runs, data=data, pretraining=pretraining, epochs=epochs)
        rates = sorted({run["gamma"] for run in own})
        lines += [f"## {data}, {pretraining} epochs of pretraining and {epochs} of the model", ""]
        lines += [f"| model | {' | '.join(f'γ = {rate}' for rate in rates)} | seeds |"]
        lines += [f"|---|{'---|' * len(rates)}---|"]
        for model in MODELS:
            columns = [values(of(own, model=model, gamma=rate), "NMI") for rate in rates]
            cells = [f"{one.mean():.1f}{interval(one)}" if len(one) else "–" for one in columns]
            if any(map(len, columns)):
                lines.append(f"| {model} | {' | '.join(cells)} | {max(map(len, columns))} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="of the models")
    parser.add_argument("--pretraining", type=int, default=PRETRAINING, help="its epochs")
    options = parser.parse_args()
    chosen = options.sets.split(",") if options.sets else SETS
    chosen, models, rates = (
        (("digits",), MODELS[:2], GAMMAS[:1]) if options.quick else (chosen, MODELS, GAMMAS)
    )
    keys = [
        {
            "data": data,
            "model": model,
            "gamma": gamma,
            "seed": seed,
            "pretraining": 2 if options.quick else options.pretraining,
            "epochs": 2 if options.quick else options.epochs,
        }
        for data in chosen
        for seed in range(1 if options.quick else options.seeds or 3)
        for gamma in rates
        for model in models
    ]
    measure_runs(options, "ace_figure_4", keys, measure, page)


if __name__ == "__main__":
    main()
