"""Table I in both protocols: what columns suffice, and relevance that knows the data, beside all methods.

The paper's protocol fills a row in from a density that holds the row itself. Without this leak, methods know
one half of the table, and rows of the other half are scored on it, each left out. In both, columns are added
(insert) and removed (delete), unknown ones are drawn from the density or are the mean. Ten fits for NEON, the
forest and the new methods, three for the others. Fits of all tables come before further fits: a run that was
stopped has some of each, and goes on where it stood.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/answers_table_1.py
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import whyclust as wc
from answers_parts.pages import page
from answers_parts.settings import CELLS, EVERY_FIT, FEWER_FITS, N_FITS, N_FITS_OTHERS, ORDER
from neon_parts.methods import METHODS, SEEDED
from neon_parts.unseen import model_of, table_of
from running_parts.running import arguments, measure_runs
from whyclust.metrics import flipping_auc

REPEATS = 20
MOST_ROWS = 100
# Of wider tables the best order known is searched in one fit, of the widest in none: it takes as long as
# scoring an explanation for each column.
WIDE, WIDEST = 20, 80


def one_fit(set: str, seed: int, repeats: int, max_rows: int | None, methods: list[str]) -> dict[str, Any]:
    """All methods on one fit, in both protocols."""
    warnings.simplefilter("ignore")
    X = table_of(set)[:max_rows]
    net = wc.neuralize(model_of(set, X, seed), X)
    order = np.random.default_rng(seed).permutation(len(X))
    half = len(X) // 2
    rows = X[order[half : half + MOST_ROWS]]
    found: dict[str, Any] = {
        "shape": list(X.shape),
        "areas": {},
        "best": {},
        "seconds_a_row": {},
        "left_out": {},
    }
    with_best = X.shape[1] <= (WIDEST if seed == 0 else WIDE)
    for protocol, known, scored in (
        ("paper", X, X),
        ("no leak", X[order[:half]], X[order[half:]]),
    ):
        explained = {}
        for method in methods:
            start = time.perf_counter()
            try:
                explained[method] = _values(net, rows, known, method, seed)
            except (TypeError, ValueError) as error:
                found["left_out"][method] = str(error)
                continue
            found["seconds_a_row"].setdefault(method, (time.perf_counter() - start) / len(rows))
        for imputer, direction in CELLS:
            cell = f"{protocol}, {imputer}, {direction}"
            areas = found["areas"][cell] = {}
            for method, values in explained.items():
                result = flipping_auc(
                    net,
                    rows,
                    values,
                    imputer="kde" if imputer == "density" else "mean",
                    order=direction,
                    n_repeats=repeats,
                    background=scored,
                    leave_out=protocol == "no leak",
                    reference=with_best and method == "neon expected",
                    random_state=seed,
                )
                areas[method] = result.auc
                if result.reference is not None:
                    found["best"][cell] = {"random": result.random, "best": result.reference}
    return found


def _values(net: Any, rows: np.ndarray, known: np.ndarray, method: str, seed: int) -> np.ndarray:
    options = dict(METHODS.get(method, {"method": method}))
    if method in SEEDED or method == "data_aware":
        options["random_state"] = seed
    if method == "shap":  # two permutations, there and back, before twenty rows
        options |= {"n_evaluations": 2 * (2 * rows.shape[1] + 1), "n_background": 20}
    values = wc.explain(net, rows, background=known, **options).values
    if not values.any():  # PDA on an indicator that no single column changes
        return np.random.default_rng(seed).random(rows.shape)
    return values


def measure_fit(set: str, seed: int) -> dict[str, Any]:
    """One fit of the whole run."""
    return one_fit(set, seed, REPEATS, None, methods_of(seed))


def methods_of(seed: int) -> list[str]:
    """Methods that are measured on the fit of this seed."""
    return [*EVERY_FIT, *(FEWER_FITS if seed < N_FITS_OTHERS else ())]


def quick_fit(set: str, seed: int) -> dict[str, Any]:
    """A small one, to see that it runs."""
    return one_fit(set, seed, 2, 60, ["neon expected", "ig", "data_aware", "sufficient"])


def main() -> None:
    options = arguments(__doc__, "quick fresh sets jobs seeds out").parse_args()
    names = ["winer"] if options.quick else options.sets.split(",") if options.sets else ORDER
    n_fits = 2 if options.quick else options.seeds or N_FITS
    measure_runs(
        options,
        "answers_table_1",
        [{"set": name, "seed": seed} for seed in range(n_fits) for name in names],
        quick_fit if options.quick else measure_fit,
        page,
        repeats=REPEATS,
        most_rows=MOST_ROWS,
    )


if __name__ == "__main__":
    main()
