"""Tables by block: memory, and time a row beside the whole table at once, against all that can grow.

Rows, columns, clusters, workers, and p, the support vectors of a cluster of kernel k-means.

Tables of single precision are made on the spot as folders of Parquet, and taken away afterwards. Every run
has a process of its own, which tells the processor seconds of its stages, and the most memory resident.
The command by block and the one that reads the whole table do the same: whole jobs (k-means, report, files),
and jobs that assign and explain rows by a model that there is, in which nothing is fitted. An exponent is the
slope of log seconds, or log memory, against log size; what does not depend on rows (imports, the report of
drawn rows) is left out of the seconds. Prints JSON, writes ``benchmarks/results/scale.json`` after every run,
and a page beside it; what is there is not measured again unless ``--fresh`` is given.

    OMP_NUM_THREADS=1 python benchmarks/scale.py --rows 20000000
    OMP_NUM_THREADS=1 python benchmarks/scale.py --only 'support vectors'
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from running_parts.files import earlier, machine, write
from running_parts.running import arguments, target_of, tell
from scale_parts.pages import page
from scale_parts.tables import make

USUAL = {"rows": 250_000, "columns": 50, "clusters": 10}
GROWING = {"rows": (250_000, 500_000, 1_000_000, 2_000_000), "columns": (12, 25, 50), "clusters": (5, 10, 20)}
WORKERS = (1, 2)
# p of kernel k-means, on a smaller table: every row is compared with all support vectors.
SUPPORT, OF_SUPPORT = (5, 10, 20, 40), {"rows": 40_000, "columns": 12, "clusters": 5}
BY_MODEL = 1_000_000


def planned(options: Any) -> dict[str, dict[str, Any]]:
    """The runs by name, those to compare first."""
    usual = {"rows": 200, "columns": 3, "clusters": 2} if options.quick else USUAL
    growing = {"rows": (100,)} if options.quick else GROWING
    by_model = 200 if options.quick else BY_MODEL
    runs: dict[str, dict[str, Any]] = {}

    def add(how: str, engine: str = "process", **more: Any) -> None:
        run = {"how": how, "engine": engine, **usual, **more}
        name = [how if how == "memory" else f"{how}, {engine}"]
        name += [f"{run[key]} {key}" for key in ("rows", "columns", "clusters")]
        name += [f"{run['workers']} workers"] if "workers" in run else []
        name += ["by a model"] if run.get("by_model") else []
        name += [f"{run['support']} support vectors"] if "support" in run else []
        runs[", ".join(name)] = run

    add("blocks")
    add("memory")
    add("blocks", rows=by_model, by_model=True)
    add("memory", rows=by_model, by_model=True)
    if options.rows:
        add("blocks", rows=options.rows)
    for what, sizes in growing.items():
        for size in sizes:
            add("blocks", **{what: size})
    for support in (2,) if options.quick else SUPPORT:
        add("blocks", support=support, **(usual if options.quick else OF_SUPPORT))
    for workers in () if options.quick else WORKERS:
        # Several blocks: a smaller table is one, and workers have nothing to share.
        add("blocks", "processes", workers=workers, rows=max(GROWING["rows"]))
    return runs


def run_one(run: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make the table, run the job in a process of its own, and take its results away."""
    made = make(folder / f"{run['rows']}x{run['columns']}", run["rows"], run["columns"])
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    told = {**run, "folder": str(made), "out": str(out)}
    if run.get("by_model"):
        told["model"] = str(folder / "model.npz")
    path = [str(Path(__file__).parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    done = subprocess.run(
        [sys.executable, "-m", "scale_parts.one_run", json.dumps(told)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(part for part in path if part)},
    )
    if done.returncode:
        sys.exit(done.stderr)
    if not (folder / "model.npz").exists():
        shutil.copy(out / "model.npz", folder / "model.npz")
    shutil.rmtree(out)
    return {**run, **json.loads(done.stdout.splitlines()[-1])}


def main() -> None:
    parser = arguments(__doc__, "quick fresh out")
    parser.add_argument("--rows", type=int, help="also a whole job of so many rows, by block")
    parser.add_argument("--folder", type=Path, help="where tables are made; a temporary folder by default")
    parser.add_argument("--only", default="", help="only runs whose names hold this, as 'by a model'")
    options = parser.parse_args()
    target = target_of(options, "scale")
    before = {} if options.fresh else earlier(target, options.quick)
    result = {"machine": machine(), "quick": options.quick, "runs": before.get("runs", {})}
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        for name, run in planned(options).items():
            lacks_model = run.get("by_model") and not (folder / "model.npz").exists()
            if options.only not in name or (name in result["runs"] and not options.fresh):
                continue
            if lacks_model:  # the run before was measured earlier, so its model is made once more
                fewer = min(run["rows"], USUAL["rows"])
                run_one({**run, "how": "blocks", "by_model": False, "rows": fewer}, folder)
            result["runs"][name] = found = run_one(run, folder)
            tell(f"{name}: {found['cpu_seconds']:.0f} CPU seconds, {found['resident_megabytes']:.0f} MB")
            write(result, target, page)
            large = folder / f"{run['rows']}x{run['columns']}"
            if run["rows"] > max(GROWING["rows"]):
                shutil.rmtree(large)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(write(result, target, page))


if __name__ == "__main__":
    main()
