"""One run in a process of its own: seconds of its stages, and the most memory that it took.

    python -m scale_parts.one_run '{"how": "blocks", ...}'

It is told a dictionary as JSON and prints one.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any


class Clock:
    """Seconds of the stages, by what they say of themselves."""

    def __init__(self) -> None:
        self.start, self.last = time.perf_counter(), cpu_seconds()
        self.stage = "start"
        self.seconds: dict[str, float] = {}

    def __call__(self, message: str) -> None:
        """A stage begins."""
        now = cpu_seconds()
        self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + now - self.last
        self.last, self.stage = now, _stage(message)

    def end(self) -> dict[str, float]:
        """The last one has ended."""
        self("end")
        return {name: round(value, 3) for name, value in self.seconds.items()}


def cpu_seconds() -> float:
    """Of this process, and of workers that have ended: what else the machine does counts little."""
    own, workers = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + workers.ru_utime + workers.ru_stime


def _stage(message: str) -> str:
    known = {
        "Clustering: iteration": "iterations",
        "Clustering: mini": "iterations",
        "Clustering: looking": "start of k-means",
        "Clustering: β": "beta",
        "Clustering": "clustering",
        "Explaining: typical": "typical rows",
        "Explaining": "explaining",
        "Writing": "writing",
        "Reading": "reading and facts",
        "Preparing": "preparing",
    }
    return next((name for begin, name in known.items() if message.startswith(begin)), message)


def blocks(told: dict[str, Any], clock: Clock) -> dict[str, Any]:
    from whyclust import load
    from whyclust.blocks.engines import engine_of
    from whyclust.command.by_block import explain_by_block
    from whyclust.command.options import Options

    engine = engine_of(told["engine"], workers=told.get("workers"))
    network = load(told["model"]) if told.get("model") else None
    options = Options(k=told["clusters"], method=_method(told.get("support")))
    if network is not None:
        options = Options()
    folder, out = Path(told["folder"]), Path(told["out"])
    explain_by_block([folder], out, engine, options, network=network, progress=clock)
    engine.close()
    computed = json.loads((out / "summary.json").read_text())["computed"]
    return {"iterations": computed.get("iterations"), "inertia": computed.get("inertia")}


def _method(support: int | None) -> str:
    """k-means, or kernel k-means with so many support vectors a cluster, under a name of its own."""
    from whyclust.command.clusterers import clusterer

    if support is None:
        return "kmeans"

    @clusterer(f"kernel {support}")
    def _kernel_k_means(k: int, seed: int) -> Any:
        from whyclust.cluster import KernelKMeans

        return KernelKMeans(n_clusters=k, n_support=support, n_init=1, random_state=seed)

    return f"kernel {support}"


def memory(told: dict[str, Any], clock: Clock) -> dict[str, Any]:
    from whyclust import load
    from whyclust.command.new_rows import explain_new_rows
    from whyclust.command.result_files import write_result
    from whyclust.command.run import explain_table
    from whyclust.tables import read_table

    clock("Reading the table")
    network = load(told["model"]) if told.get("model") else None
    table = read_table(told["folder"], reading=None if network is None else network.reading)
    if network is None:
        result = explain_table(table, k=told["clusters"], progress=clock)
    else:
        result = explain_new_rows(table, network, progress=clock)
    clock("Writing")
    write_result(result, told["out"])
    return {}


def main() -> None:
    told = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    clock = Clock()
    more = {"blocks": blocks, "memory": memory}[told["how"]](told, clock)
    seconds = clock.end()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        json.dumps(
            {
                **more,
                "stages": seconds,
                "wall_seconds": round(time.perf_counter() - clock.start, 3),
                "cpu_seconds": round(cpu_seconds(), 3),
                "resident_megabytes": round(usage.ru_maxrss / 1000, 1),
                "worker_megabytes": round(children.ru_maxrss / 1000, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
