"""Runs over several tables that can be stopped and go on."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from neon_parts.files import RESULTS, earlier, machine, write


def arguments(description: str) -> argparse.Namespace:
    """The options of all these benchmarks."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="wine alone, two fits, only to see that it runs")
    parser.add_argument("--fresh", action="store_true", help="measure again what the file of results has")
    parser.add_argument("--sets", help="only these, separated by commas")
    parser.add_argument("--jobs", type=int, default=1, help="fits measured at a time")
    parser.add_argument("--out", type=Path, default=None, help="where to write the JSON")
    return parser.parse_args()


def measure_sets(
    options: argparse.Namespace,
    name: str,
    sets: Iterable[str],
    one_fit: Callable[[str, int], Any],
    page: Callable[[dict[str, Any]], str],
    *,
    n_fits: int,
    finish: Callable[[list[Any]], Any] = list,
    **settings: Any,
) -> None:
    """Measure fits of every set, write after each of them, and print all of it in the end."""
    target = options.out or (None if options.quick else RESULTS / f"{name}.json")
    before = {} if options.fresh else earlier(target, options.quick)
    result: dict[str, Any] = {
        "machine": machine(),
        "quick": options.quick,
        "fits": n_fits,
        **settings,
        "minutes": before.get("minutes", 0.0),
        "sets": before.get("sets", {}),
    }
    order = ("winer",) if options.quick else tuple(sets)
    for one in options.sets.split(",") if options.sets else order:
        if one in result["sets"]:
            continue
        start = time.perf_counter()
        fits = Parallel(n_jobs=options.jobs)(delayed(one_fit)(one, seed) for seed in range(n_fits))
        result["minutes"] += (time.perf_counter() - start) / 60
        result["sets"][one] = finish(fits)
        result["sets"] = {key: result["sets"][key] for key in order if key in result["sets"]}
        write(result, target, page)
    print(write(result, target, page))
