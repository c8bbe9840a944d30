"""Runs of many models that can be stopped and go on, and what is said of each."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from neon_parts.files import RESULTS, earlier, machine, write
from surrogate_parts.settings import tell
from whyclust.metrics import adjusted_rand_index, clustering_accuracy, normalized_mutual_information

SCORES = ("ARI", "NMI", "ACC")


def arguments(description: str) -> argparse.ArgumentParser:
    """The options of all these benchmarks."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data and networks, to see that it runs")
    parser.add_argument("--fresh", action="store_true", help="measure again what the file of results has")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, with one thread each")
    parser.add_argument("--sets", help="only these, separated by commas")
    parser.add_argument("--models", help="only these, separated by commas")
    parser.add_argument("--seeds", type=int, default=None, help="seeds 0 .. n − 1")
    parser.add_argument("--out", type=Path, default=None, help="where to write the JSON")
    return parser


def scored(labels: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The paper's three scores, times 100."""
    found = (
        adjusted_rand_index(y, labels),
        normalized_mutual_information(y, labels),
        clustering_accuracy(y, labels),
    )
    return {name: round(100.0 * float(value), 3) for name, value in zip(SCORES, found, strict=True)}


def cache() -> Path:
    """Where autoencoders that several models begin with are kept between runs."""
    folder = Path(os.environ.get("WHYCLUST_BENCHMARK_CACHE", tempfile.gettempdir())) / "whyclust-benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


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
    return None if isinstance(found, float) and not np.isfinite(found) else found


def measure_runs(
    options: argparse.Namespace,
    name: str,
    keys: Iterable[dict[str, Any]],
    measure: Callable[..., dict[str, Any]],
    page: Callable[[dict[str, Any]], str],
    **settings: Any,
) -> dict[str, Any]:
    """Measure every key that the file of results has not, write after each, and print all in the end."""
    target = options.out or (None if options.quick else RESULTS / f"{name}.json")
    before = {} if options.fresh else earlier(target, options.quick)
    if "shapes" in settings:  # of the tables of earlier runs, too
        settings["shapes"] = {**before.get("shapes", {}), **settings["shapes"]}
    result: dict[str, Any] = {
        "machine": machine(),
        "quick": options.quick,
        **settings,
        "runs": before.get("runs", []),
    }
    wanted = list(keys)
    done = [{part: run.get(part) for part in wanted[0]} for run in result["runs"]] if wanted else []
    left = [key for key in wanted if key not in done]
    order = {tuple(key.values()): place for place, key in enumerate(wanted)}
    tasks = (delayed(_timed)(measure, key) for key in left)
    for run in Parallel(n_jobs=options.jobs, return_as="generator_unordered")(tasks):
        result["runs"].append(run)
        result["runs"].sort(key=lambda one: order.get(tuple(one.get(part) for part in wanted[0]), -1))
        tell(" ".join(f"{value}" for value in run.values() if not isinstance(value, (list, dict))))
        tell(f"    {run.get('scores', '')}")
        write(result, target, page)
    print(write(result, target, page))
    return result
