"""Figure 10 of the NEON paper, rows 1 and 2: how much depends on the stiffness β.

Area of Algorithm 1 for β from a hundredth to a hundred times the heuristic β = 1/E[f_c] (Eq. 3), for the
paper's rule and for `expected`, beside the best baseline. Prints JSON, writes
``benchmarks/results/neon_figure_10.json`` and a page beside it.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/neon_figure_10.py --jobs 2
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import whyclust as wc
from neon_parts.methods import METHODS, RULES, scored
from neon_parts.sets import HELPS, QUICK, fitted, named, rows_of
from running_parts.running import arguments, measure_sets
from whyclust.metrics import flipping_auc

NAMES = ("buddy", "c2000", "hepac", "news", "trpad", "sales")
FACTORS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
BASELINES = ["squared", "sensitivity", "ig", "nca", "pda_zero on f"]


def one_fit(
    name: str, seed: int, repeats: int, factors: tuple[float, ...], max_rows: int | None
) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    X = rows_of(name)[:max_rows]
    net = wc.neuralize(fitted(named(name), X, seed), X)
    curves = {
        rule: [
            flipping_auc(
                net,
                X,
                wc.explain(replace(net, beta=net.beta * factor), X, **METHODS[rule]),
                n_repeats=repeats,
                leave_out=False,
                random_state=seed,
            ).auc
            for factor in factors
        ]
        for rule in RULES
    }
    return {"seed": seed, "curves": curves, "baselines": scored(net, X, BASELINES, seed, repeats)["auc"]}


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Figure 10, rows 1 and 2: the stiffness β",
        "",
        f"Measured by `benchmarks/neon_figure_10.py`: {result['fits']} fits × {result['repeats']} repeats, "
        f"{result['machine']['cores']} cores, {result['minutes']:.0f} minutes. Area by β in units of the "
        "heuristic 1/E[f_c] (in bold), and the best of the paper's baselines and of PDA on f.",
        "",
    ]
    factors = result["factors"]
    for rule in RULES:
        lines += [
            f"## {rule}",
            "",
            "| set | " + " | ".join(f"{factor:g}" for factor in factors) + " | best baseline |",
        ]
        lines.append("|---|" + "---|" * (len(factors) + 1))
        for name, fits in result["sets"].items():
            means = np.mean([fit["curves"][rule] for fit in fits], axis=0)
            cells = [
                f"**{mean:.1f}**" if factor == 1.0 else f"{mean:.1f}"
                for factor, mean in zip(factors, means, strict=True)
            ]
            baselines = {
                key: np.mean([fit["baselines"][key] for fit in fits]) for key in fits[0]["baselines"]
            }
            best = max(baselines, key=lambda key: baselines[key])
            lines.append(f"| {name} | " + " | ".join(cells) + f" | {baselines[best]:.1f} {best} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    options = arguments(__doc__, "quick fresh sets jobs out", **HELPS).parse_args()
    factors = (0.1, 1.0, 10.0) if options.quick else FACTORS
    names, n_fits, repeats, max_rows = (QUICK, 2, 1, 60) if options.quick else (NAMES, 4, 10, None)
    measure = partial(one_fit, repeats=repeats, factors=factors, max_rows=max_rows)
    measure_sets(
        options,
        "neon_figure_10",
        names,
        measure,
        page,
        n_fits=n_fits,
        repeats=repeats,
        factors=list(factors),
    )


if __name__ == "__main__":
    main()
