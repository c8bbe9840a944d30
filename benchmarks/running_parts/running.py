"""Runs that can be stopped and go on, their options, and what is said of them."""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from running_parts.files import RESULTS, earlier, machine, write

Page = Callable[[dict[str, Any]], str]

OPTIONS: dict[str, dict[str, Any]] = {
    "quick": {"action": "store_true", "help": "small data, only to see that it runs"},
    "fresh": {
        "action": "store_true",
        "help": "measure again what the file of results has, or these --sets of it",
    },
    "jobs": {"type": int, "default": 1, "help": "runs at a time, with one thread each"},
    "sets": {"help": "only these, separated by commas"},
    "models": {"help": "only these, separated by commas"},
    "seeds": {"type": int, "help": "seeds 0 .. n − 1"},
    "out": {"type": Path, "help": "where to write the JSON, with a page beside it"},
}


def arguments(description: str, names: str = " ".join(OPTIONS), **helps: str) -> argparse.ArgumentParser:
    """A parser with these options, and what is said of them where it is not the usual."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    for name in names.split():
        told = {"help": helps.get(name, OPTIONS[name]["help"])}
        parser.add_argument(f"--{name}", **OPTIONS[name] | told)
    return parser


def tell(line: str) -> None:
    """Show progress on standard error: standard output is the JSON."""
    print(line, file=sys.stderr, flush=True)


def target_of(options: argparse.Namespace, name: str) -> Path | None:
    """The file of results; quick forms write none that is not asked for."""
    return options.out or (None if options.quick else RESULTS / f"{name}.json")


def print_result(options: argparse.Namespace, name: str, found: dict[str, Any], page: Page) -> None:
    """Write and print what was measured in one go."""
    result = {"machine": machine(), "quick": options.quick, **found}
    print(write(result, target_of(options, name), page))


def _begun(options: argparse.Namespace, name: str) -> tuple[Path | None, dict[str, Any], dict[str, Any]]:
    """The file of results, what an earlier run has measured, and how results begin."""
    target = target_of(options, name)
    before = {} if options.fresh else earlier(target, options.quick)
    return target, before, {"machine": machine(), "quick": options.quick}


def measure_sets(
    options: argparse.Namespace,
    name: str,
    sets: Iterable[str],
    one_fit: Callable[[str, int], Any],
    page: Page,
    *,
    n_fits: int,
    finish: Callable[[list[Any]], Any] = list,
    **settings: Any,
) -> None:
    """Measure fits of every set, write after each of them, and print all of it in the end."""
    target, before, result = _begun(options, name)
    result |= {"fits": n_fits, **settings}
    order = tuple(sets)
    wanted = options.sets.split(",") if options.sets else order
    # What was measured before of sets that are not asked for stays, also where these are measured anew.
    known = (before or earlier(target, options.quick)) if options.sets else before
    anew = set(wanted) if options.fresh else set()
    kept = {one: found for one, found in known.get("sets", {}).items() if one not in anew}
    result |= {"minutes": known.get("minutes", 0.0), "sets": kept}
    for one in wanted:
        if one in result["sets"]:
            continue
        start = time.perf_counter()
        fits = Parallel(n_jobs=options.jobs)(delayed(one_fit)(one, seed) for seed in range(n_fits))
        result["minutes"] += (time.perf_counter() - start) / 60
        result["sets"][one] = finish(fits)
        result["sets"] = {key: result["sets"][key] for key in order if key in result["sets"]}
        write(result, target, page)
    print(write(result, target, page))


def measure_runs(
    options: argparse.Namespace,
    name: str,
    keys: Iterable[dict[str, Any]],
    measure: Callable[..., dict[str, Any]],
    page: Page,
    **settings: Any,
) -> dict[str, Any]:
    """Measure every key that the file of results has not, write after each, and print all in the end."""
    target, before, result = _begun(options, name)
    if "shapes" in settings:  # of the tables of earlier runs, too
        settings["shapes"] = {**before.get("shapes", {}), **settings["shapes"]}
    result |= {**settings, "runs": before.get("runs", [])}
    wanted = list(keys)
    done = [{part: run.get(part) for part in wanted[0]} for run in result["runs"]] if wanted else []
    left = [key for key in wanted if key not in done]
    order = {tuple(key.values()): place for place, key in enumerate(wanted)}
    tasks = (delayed(_timed)(_importable(measure), key) for key in left)
    for run in Parallel(n_jobs=options.jobs, return_as="generator_unordered")(tasks):
        result["runs"].append(run)
        result["runs"].sort(key=lambda one: order.get(tuple(one.get(part) for part in wanted[0]), -1))
        tell(" ".join(f"{value}" for value in run.values() if not isinstance(value, (list, dict))))
        tell(f"    {run.get('scores', '')}")
        write(result, target, page)
    print(write(result, target, page))
    return result


def _importable(measure: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of the script as a module: other processes cannot find what is in ``__main__``."""
    path = getattr(sys.modules["__main__"], "__file__", None)
    if measure.__module__ != "__main__" or path is None:
        return measure
    return getattr(importlib.import_module(Path(path).stem), measure.__name__)


def _timed(measure: Callable[..., dict[str, Any]], key: dict[str, Any]) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)  # jobs share the cores
    warnings.simplefilter("ignore")  # of collapse: the number of clusters in use is in the results
    start, cpu = time.perf_counter(), time.process_time()
    found = measure(**key)
    seconds = {"seconds": round(time.perf_counter() - start, 1), "cpu": round(time.process_time() - cpu, 1)}
    return {**key, **_finite(found), **seconds}


def _finite(found: Any) -> Any:
    """JSON knows no NaN: what could not be computed is null."""
    if isinstance(found, dict):
        return {name: _finite(value) for name, value in found.items()}
    if isinstance(found, list):
        return [_finite(value) for value in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found
