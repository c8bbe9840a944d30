"""Are explanations of deep clusterings right? Algorithm 1 on their inputs, and figure 10, row 3, of NEON.

Relevance by NEON and layer-wise propagation beside integrated gradients, squared gradients, squared
features and chance, for deep k-means (AE+KM) and C-Net, on pendigits and USPS. The parameter γ of the
propagation is chosen on one half of the points and reported on the other; the curve over γ is figure 10, row
3. No classes are used. Prints JSON, writes ``benchmarks/results/deep_explanations.json`` and a page beside
it.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/deep_explanations.py --jobs 2
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whyclust as wc
from cm_table_3 import BUDGET, kept, prepared
from deep_parts.tables import of, one_line
from running_parts.running import arguments, measure_runs
from whyclust.deep.explained import with_rules
from whyclust.metrics import flipping_auc
from whyclust.propagate import Gamma

MODELS = {"AE+KM": "AE+KM", "C-Net p": "C-Net, pretrained"}
GAMMAS = (0.0, 0.01, 0.03, 0.1, 0.25, 0.5, 1.0, 10.0)
# The default, chosen on the points on which γ is chosen here, and the paper's.
FIXED = (0.01, 0.1)
BASELINES = ("ig", "sensitivity", "squared", "random")
NAMES = {"neon": "NEON + LRP-γ", "ig": "IG", "sensitivity": "gradient²", "squared": "x²", "random": "random"}
# Points of each half, rows of the background, draws.
SIZES = {"digits": (20, 100, 1), "pendigits": (500, 2000, 5), "usps": (150, 1000, 1)}


def one_run(data: str, model: str, seed: int) -> dict[str, Any]:
    X = prepared(data)[0].astype(np.float64)
    _, pretraining, epochs = BUDGET.get(data, (1, 2, 2))
    one = kept(data, model, seed, pretraining, 0 if model == "AE+KM" else epochs)
    n_points, n_known, repeats = SIZES[data]
    order = np.random.default_rng(seed).permutation(len(X))
    chosen, reported, known = X[order[:n_points]], X[order[n_points : 2 * n_points]], X[order[-n_known:]]
    net = wc.neuralize(one, known)

    def area(rows: np.ndarray, network: Any, **how: Any) -> Any:
        found = wc.explain(network, rows, background=known, **how)
        return flipping_auc(
            net, rows, found, n_repeats=repeats, background=known, leave_out=False, random_state=seed
        )

    curve = [area(chosen, with_rules(net, Gamma(gamma))).auc for gamma in GAMMAS]
    best = GAMMAS[int(np.argmax(curve))]
    results = {"neon": area(reported, with_rules(net, Gamma(best)))}
    for gamma in FIXED:
        results[f"neon, γ = {gamma:g}"] = area(reported, with_rules(net, Gamma(gamma)))
    for method in BASELINES:
        seeded = {"random_state": seed} if method == "random" else {}
        results[method] = area(reported, net, method=method, **seeded)
    own = results["neon"].per_point
    differences = {name: results[name].per_point - own for name in BASELINES}
    return {
        "gamma": best,
        "curve": curve,
        "auc": {name: result.auc for name, result in results.items()},
        "error": {name: result.error for name, result in results.items()},
        "behind": {
            name: [float(-gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))]
            for name, gap in differences.items()
        },
        "points": n_points,
    }


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    lines = [
        "# Explanations of deep clusterings",
        "",
        one_line("""
            Measured by `benchmarks/deep_explanations.py`: area of Algorithm 1 on the inputs (columns added by
            relevance, the unknown ones sampled from a kernel density given the known ones), mean over
            seeds. γ is chosen on other points than those of the table. Networks d–500–500–2000–p as in table
            8 of the CM and C-Net paper."""),
        "",
        "| set | model | "
        + " | ".join(NAMES.values())
        + " | γ = 0.01 | γ = 0.1 | γ chosen | seeds | points of each |",
        "|---|---|" + "---|" * (len(NAMES) + 5),
    ]
    pairs = list(dict.fromkeys((run["data"], run["model"]) for run in runs))
    for data, model in pairs:
        own = of(runs, data=data, model=model)
        means = {name: np.mean([run["auc"][name] for run in own]) for name in own[0]["auc"]}
        best = max(NAMES, key=lambda name: means[name])
        cells = [f"**{means[name]:.1f}**" if name == best else f"{means[name]:.1f}" for name in NAMES]
        gammas = ", ".join(f"{run['gamma']:g}" for run in own)
        fixed = [f"{means[f'neon, γ = {gamma:g}']:.1f}" for gamma in FIXED]
        told = [data, MODELS[model], *cells, *fixed, gammas, str(len(own))]
        lines.append(f"| {' | '.join(told)} | {own[0]['points']} |")
    lines += [
        "",
        "## How far behind NEON, point by point",
        "",
        "Mean difference and its standard error, for each seed.",
        "",
        "| set | model | seed | " + " | ".join(NAMES[name] for name in BASELINES) + " |",
        "|---|---|---|" + "---|" * len(BASELINES),
    ]
    for run in runs:
        cells = [f"{run['behind'][name][0]:.1f} ± {run['behind'][name][1]:.1f}" for name in BASELINES]
        lines.append(f"| {run['data']} | {MODELS[run['model']]} | {run['seed']} | {' | '.join(cells)} |")
    lines += [
        "",
        "## Figure 10, row 3: the parameter γ",
        "",
        "On the points on which γ is chosen, mean over seeds.",
        "",
        "| set | model | " + " | ".join(f"{gamma:g}" for gamma in result["gammas"]) + " |",
        "|---|---|" + "---|" * len(result["gammas"]),
    ]
    for data, model in pairs:
        means = np.mean([run["curve"] for run in of(runs, data=data, model=model)], axis=0)
        cells = [f"**{mean:.1f}**" if mean == means.max() else f"{mean:.1f}" for mean in means]
        lines.append(f"| {data} | {MODELS[model]} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    options = arguments(__doc__).parse_args()
    chosen = options.sets.split(",") if options.sets else ["pendigits", "usps"]
    chosen = ["digits"] if options.quick else chosen
    models = options.models.split(",") if options.models else list(MODELS)
    wanted = [
        {"data": data, "model": model, "seed": seed}
        for data in chosen
        for seed in range(options.seeds or (1 if options.quick else 3))
        for model in models
    ]
    measure_runs(options, "deep_explanations", wanted, one_run, page, gammas=list(GAMMAS))


if __name__ == "__main__":
    main()
