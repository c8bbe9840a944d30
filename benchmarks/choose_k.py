"""How often the number of clusters is found, by choose_k and by the usual criteria; and how long it takes.

Planted clusters of five kinds, tables of one lump of six kinds, real tables with classes, and a clock. All
seeds are ones that had no part in the choice of choose_k's thresholds. Prints JSON, writes
``benchmarks/results/choose_k.json`` and a page beside it; what is in the file is not measured again unless
``--fresh`` is given. Real tables are read from the folder in ``WHYCLUST_DATA``, or left out.
"""

from __future__ import annotations

import time
from typing import Any

from choose_k_parts.criteria import METHODS, answers
from choose_k_parts.page import page
from choose_k_parts.tables import LUMPS, PLANTED, REAL, classes, large, lump, planted, real
from running_parts.running import arguments, measure_runs

CLUSTERS = (2, 3, 5, 7, 9, 15, 25)
FIRST_SEED = 2000
CLOCKED = (1, 8, 28)


def measure(kind: str, k: int, seed: int) -> dict[str, Any]:
    if kind in PLANTED:
        return answers(planted(kind, k, seed), seed)
    if kind in LUMPS:
        return answers(lump(kind, seed), seed, ("gap", "choose_k"))
    if kind in REAL:
        return answers(real(kind), seed)
    X = large(5000, 25, k)
    start = time.process_time()
    return {**answers(X, seed, ("choose_k",)), "choose_k_cpu": round(time.process_time() - start, 1)}


def keys(quick: bool, n_seeds: int) -> list[dict[str, Any]]:
    if quick:
        return [
            {"kind": PLANTED[0], "k": 3, "seed": FIRST_SEED},
            {"kind": LUMPS[0], "k": 1, "seed": FIRST_SEED},
        ]
    seeds = range(FIRST_SEED, FIRST_SEED + n_seeds)
    wanted = [{"kind": kind, "k": k, "seed": seed} for kind in PLANTED for k in CLUSTERS for seed in seeds]
    lump_seeds = range(FIRST_SEED, FIRST_SEED + 5 * n_seeds)
    wanted += [{"kind": kind, "k": 1, "seed": seed} for kind in LUMPS for seed in lump_seeds]
    known = {kind: count for kind in REAL if (count := classes(kind)) is not None}
    wanted += [{"kind": kind, "k": k, "seed": FIRST_SEED} for kind, k in known.items()]
    return wanted + [{"kind": "clock", "k": k, "seed": FIRST_SEED} for k in CLOCKED]


def main() -> None:
    options = arguments(
        __doc__,
        "quick fresh jobs seeds out",
        seeds="tables of each kind and K; five times as many of one lump",
    ).parse_args()
    wanted = keys(options.quick, options.seeds or 4)
    measure_runs(options, "choose_k", wanted, measure, page, methods=list(METHODS), first_seed=FIRST_SEED)


if __name__ == "__main__":
    main()
