"""Every writer, killed, on a full disk and in a folder that cannot be written to: the old file or the new.

For each way in which whyclust writes, processes write two versions of a file in turn, over one another, and
are killed (SIGKILL) at random moments. What is there then must be one of the two, byte for byte, or, for
folders of results, one of the two in every file. The next write must succeed and take away what the killed
one left. The same with a limit on the size of files (RLIMIT_FSIZE), on a disk of a few kilobytes (tmpfs) and
on one that is read-only, where the machine lets this script mount them. Prints JSON, writes
``benchmarks/results/faults.json`` and a page beside it, and goes on where it was stopped.

    python benchmarks/faults.py
    python benchmarks/faults.py --sets 'wc.save, .npz' --fresh
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from fault_parts.disks import disk_refuses, sizes_refuse
from fault_parts.killing import kill_writers
from fault_parts.writers import WRITERS, Writer
from running_parts.files import earlier, machine, write
from running_parts.running import arguments, target_of, tell

KILLS, QUICK_KILLS = 120, 4
LIMITS, QUICK_LIMITS = 20, 3
QUICK = ("wc.save, .npz", "wc.save, .json")


def measure_writer(name: str, writer: Writer, quick: bool) -> dict[str, Any]:
    draw = random.Random(name)
    with tempfile.TemporaryDirectory(prefix="whyclust-faults-") as folder:
        versions = writer.versions(Path(folder))
        found = {"bytes": [sum(map(len, version.values())) for version in versions]}
        found |= kill_writers(writer, versions, QUICK_KILLS if quick else KILLS, draw)
        found["limited"] = sizes_refuse(writer, versions, QUICK_LIMITS if quick else LIMITS, draw)
        found["disks"] = {} if quick else disk_refuses(writer, versions)
    return found


def faults_of(one: dict[str, Any]) -> list[str]:
    return [
        *one["faults"],
        *one["limited"]["faults"],
        *(f for d in one["disks"].values() for f in d["faults"]),
    ]


def page(result: dict[str, Any]) -> str:
    writers = result["writers"]
    kills = sum(one["kills"] for one in writers.values())
    faults = [f"{name}: {fault}" for name, one in writers.items() for fault in faults_of(one)]
    lines = [
        "# Faults",
        "",
        f"Measured by `benchmarks/faults.py`: {kills:,} processes killed while they wrote, **{len(faults)} "
        "faults**. After each kill the file that is there was compared, byte for byte, with the two "
        "versions that were written in turn. A folder of results is moved into place file by file, its "
        "report last, so files *of both* may stand there, each of them whole. *In the middle* counts kills "
        "that left something half-written beside it, which the next write took away. Limits on the size of "
        "files and small disks end in an error, and the old file stays; so do folders that cannot be "
        "written to.",
        "",
        "| written | bytes | kills | in the middle | first version | second | of both | none yet "
        "| size limits | full disk | read-only |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---|",
    ]
    for name, one in writers.items():
        disks = [one["disks"].get(key, {}).get("told", "not tried") for key in ("full", "read-only")]
        counts = [one[key] for key in ("kills", "in_the_middle", "first", "second", "mixed", "none")]
        cells = [f"{max(one['bytes']):,}", *counts, one["limited"]["tried"], *disks]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, "", *(f"- {fault}" for fault in faults), ""])


def main() -> None:
    parser = arguments(__doc__, "quick fresh sets out", sets="only these writers, separated by semicolons")
    options = parser.parse_args()
    target = target_of(options, "faults")
    before = {} if options.fresh else earlier(target, options.quick)
    result = {"machine": machine(), "quick": options.quick, "writers": before.get("writers", {})}
    chosen = options.sets.split(";") if options.sets else QUICK if options.quick else [*WRITERS]
    for name in chosen:
        if name not in result["writers"]:
            found = measure_writer(name, WRITERS[name], options.quick)
            result["writers"][name] = found
            result["writers"] = {key: result["writers"][key] for key in WRITERS if key in result["writers"]}
            write(result, target, page)
            tell(
                f"{name}: {found['kills']} kills, {found['in_the_middle']} in the middle, {faults_of(found)}"
            )
    print(write(result, target, page))
    if any(faults_of(one) for one in result["writers"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
