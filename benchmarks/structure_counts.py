"""How the house is built, in numbers: declarations, dispatch, repeated work, modules, circles, lines.

- lines that declare parameters of deep clusterings (the rule is in ``structure_parts/declarations.py``);
- places that ask what one of the package's own things is (``structure_parts/dispatch.py``);
- reads of tables, β and kernel densities in an audit of scikit-learn's 178 wines, with its CPU seconds, and
  how often a row passes an encoder when it is explained (``structure_parts/running.py``);
- modules at the top level, and those in a circle of imports around ``Explanation``
  (``structure_parts/cycle.py``);
- lines of sources and tests.

Prints JSON, and writes it with a table beside it where ``--out`` says; ``--src`` names the sources of another
version.

    python benchmarks/structure_counts.py --src ../earlier/src --out before.json
    python benchmarks/structure_counts.py --against before.json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from running_parts.files import write
from running_parts.running import arguments
from structure_parts.cycle import find_cycle
from structure_parts.declarations import count_declarations
from structure_parts.dispatch import COUNTED, count_dispatch
from structure_parts.trees import Package

HERE = Path(__file__).parent
# What is asked of the structure, by the rows of the table.
WANTED = {
    "lines that declare parameters of deep clusterings": "under 120",
    "dispatch on own types outside of registries": "0",
    "reads of tables in an audit": "under 20",
    "β computed in an audit": "3 at most",
    "kernel densities fitted in an audit": "1",
    "modules at the top level": "8 at most",
    "modules in the circle around Explanation": "0",
}


def measure(src: Path, quick: bool) -> dict[str, Any]:
    package = Package.read(src)
    found: dict[str, Any] = {
        "quick": quick,
        "declarations": count_declarations(package),
        "dispatch": count_dispatch(package),
        "cycle": find_cycle(package),
        "top_level": sorted(path.name for path in package.root.glob("*.py")),
        "modules": len(package.modules),
        "lines": {"src": _lines(src), "tests": _lines(src.parent / "tests")},
    }
    return found if quick else {**found, "running": _running(src)}


def _lines(folder: Path) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py"))


def _running(src: Path) -> dict[str, Any]:
    """Counts of a process that imports these sources."""
    environment = {**os.environ, "PYTHONPATH": str(src.resolve()), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "structure_parts" / "running.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=HERE)
    if done.returncode:
        raise SystemExit(f"The sources in {src} cannot be measured:\n{done.stderr}")
    return json.loads(done.stdout)


def rows(result: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the table."""
    found = {
        "lines that declare parameters of deep clusterings": result["declarations"]["lines"],
        "of these in constructors": result["declarations"]["by_kind"].get("constructors", 0),
        "the same of ClusteringModuleEM": result["declarations"]["ClusteringModuleEM"],
        "lines that check them elsewhere": result["declarations"]["checks_elsewhere"],
        "dispatch on own types outside of registries": result["dispatch"]["dispatch"],
        **{f"of these {told}": result["dispatch"]["by_kind"][kind] for kind, told in COUNTED.items()},
        "entries of tables of module names": result["dispatch"]["by_kind"]["tables"],
    }
    if "running" in result:
        audit, forwards = result["running"]["audit"], result["running"]["forwards_per_row"]
        found |= {
            "reads of tables in an audit": audit["reads"],
            "of these of what was not read yet": audit["reads_of_what_was_not_read"],
            "β computed in an audit": audit["betas"],
            "the same without refits, which are other networks": audit.get("betas_without_refits", "?"),
            "kernel densities fitted in an audit": audit["density_fits"],
            "CPU seconds of an audit": audit["cpu_seconds"],
            "forwards of an explained row, given a model": forwards["model"],
            "forwards of an explained row, given a network": forwards["network"],
        }
    return found | {
        "modules at the top level": len(result["top_level"]),
        "modules in the circle around Explanation": len(result["cycle"]["modules"]),
        "modules in all": result["modules"],
        "lines of sources": result["lines"]["src"],
        "lines of tests": result["lines"]["tests"],
    }


def page(result: dict[str, Any], before: dict[str, Any] | None) -> str:
    now, then = rows(result), {} if before is None else rows(before)
    lines = ["| what | before | now | wanted |", "|---|---|---|---|"]
    for name, value in now.items():
        shown = "not found: add its name to running.py" if value is None else value
        lines.append(f"| {name} | {then.get(name, '')} | {shown} | {WANTED.get(name, '')} |")
    lines += ["", "Dispatch on own types:", ""]
    lines += [f"- `{place}`" for kind in (*COUNTED, "tables") for place in result["dispatch"]["places"][kind]]
    lines += ["", f"The circle: {', '.join(result['cycle']['modules']) or 'none'}.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = arguments(__doc__, "quick out", quick="only what is read from the sources")
    parser.add_argument("--src", type=Path, default=HERE.parent / "src", help="folder of the sources")
    parser.add_argument("--against", type=Path, help="JSON of another version, to stand beside this one")
    options = parser.parse_args()
    result = measure(options.src, options.quick)
    before = None if options.against is None else json.loads(options.against.read_text(encoding="utf-8"))
    text = write(result, options.out, lambda found: page(found, before))
    print(text if before is None else page(result, before))


if __name__ == "__main__":
    main()
