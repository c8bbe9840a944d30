"""Has anything moved? Records what the library computes, and compares two recordings.

    python benchmarks/recording.py record before.npz     with one version on PYTHONPATH
    python benchmarks/recording.py record after.npz      with another
    python benchmarks/recording.py compare before.npz after.npz

A case is a head, a rule, a pipeline step, a surrogate, a deep model after a short fit, a baseline, a metric,
an audit, a sentence or a file of the command line: its labels, evidence, relevance and base values, or
whatever it is that it gives. A case that raises is recorded by its error. Only the public interface is
used, so that the script runs with any version; data are scikit-learn's or made with fixed seeds.

The comparison prints the largest difference of each case, relative to the largest value beside it. How much
a case may move depends on its kind: training (weights, labels, history) and audits not at all, closed forms
by 1e-12, relevance of deep models by 1e-5. Changes that were asked for are listed in
``recording_parts/comparing.py``, each with its reason and the entries that it may touch; where any other
case has moved, the exit code is 1.

    python benchmarks/recording.py files write FOLDER    files of one version
    python benchmarks/recording.py files read FOLDER     are they still read by another?

Files are explanations, networks, estimators and a checkpoint, with what was in them beside them. A version
may refuse a file, in a sentence that is printed; it may not read other numbers from it.

``--quick`` records a part twice and compares it with itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import whyclust as wc
from recording_parts import cases
from recording_parts.comparing import OUT, Verdict, compare, page
from running_parts.files import write as write_result
from running_parts.running import arguments, tell

EXPECTED = "expected.npz"


def record(groups: tuple[str, ...] = cases.GROUPS, only: str | None = None) -> cases.Recording:
    start = time.process_time()
    found = cases.record(cases.cases(groups, only))
    raised = [name for name, entries in found.entries.items() if "error" in entries]
    tell(
        f"{len(found.kinds)} cases of {Path(wc.__file__).parent}, {len(raised)} of which raise, in "
        f"{time.process_time() - start:.0f} CPU seconds."
    )
    for name in raised:
        if not name.startswith("refusals: "):
            tell(f"{name} raises {found.entries[name]['error']}")
    return found


def result(verdicts: list[Verdict], quick: bool) -> dict[str, Any]:
    names = [one.verdict for one in verdicts]
    return {
        "quick": quick,
        "cases": len(verdicts),
        "verdicts": {name: names.count(name) for name in sorted(set(names))},
        "found": [one.to_json() for one in verdicts],
    }


def write_files(folder: Path) -> None:
    from recording_parts.files import written

    folder.mkdir(parents=True, exist_ok=True)
    for one in written():
        one.write(folder / one.name)
    found = cases.record(one.case(folder) for one in written())
    raised = [f"{name} ({entries['error']})" for name, entries in found.entries.items() if "error" in entries]
    if raised:
        sys.exit(f"This version does not read what it has written: {'; '.join(raised)}")
    cases.write(found, folder / EXPECTED)


def read_files(folder: Path) -> list[Verdict]:
    """Verdicts on files; a refusal in a sentence is none to complain of."""
    from recording_parts.files import written

    known = cases.read(folder / EXPECTED)
    here = cases.record(one.case(folder) for one in written() if one.name in known.kinds)
    verdicts = compare(known, here)
    for one in verdicts:
        refusal = str(here.entries.get(one.name, {}).get("error", ""))
        if refusal.startswith(("ValueError: ", "TypeError: ")) and "error" not in known.entries[one.name]:
            one.verdict, one.why, one.largest = "refused", refusal, np.inf
    return verdicts


def chosen() -> argparse.Namespace:
    parser = arguments(__doc__, "quick out", quick="a part of the cases, compared with itself")
    actions = parser.add_subparsers(dest="action")
    one = actions.add_parser("record", help="write a recording")
    one.add_argument("file", type=Path)
    one.add_argument("--only", help="cases whose names hold this")
    one.add_argument("--against", type=Path, help="compare with this recording at once")
    two = actions.add_parser("compare", help="compare two recordings")
    two.add_argument("old", type=Path)
    two.add_argument("new", type=Path)
    three = actions.add_parser("files", help="write files, or read those of another version")
    three.add_argument("what", choices=("write", "read"))
    three.add_argument("folder", type=Path)
    for action in (one, two, three):
        action.add_argument("--out", type=Path, default=argparse.SUPPRESS, help="where to write the JSON")
    options = parser.parse_args()
    if options.action is None and not options.quick:
        parser.error("say what to do: record, compare or files; --quick for a trial")
    return options


def main() -> None:
    options = chosen()
    verdicts: list[Verdict] = []
    if options.action is None:
        verdicts = compare(record(cases.QUICK), record(cases.QUICK))
    elif options.action == "record":
        found = record(only=options.only)
        cases.write(found, options.file)
        if options.against is None:
            return
        known = cases.read(options.against)
        kept = {name: kind for name, kind in known.kinds.items() if (options.only or "") in name}
        verdicts = compare(cases.Recording(kept, known.entries), found)
    elif options.action == "compare":
        verdicts = compare(cases.read(options.old), cases.read(options.new))
    elif options.what == "write":
        write_files(options.folder)
        return
    else:
        verdicts = read_files(options.folder)
    found_json = result(verdicts, options.quick)
    text = write_result(found_json, options.out, lambda _: page(verdicts))
    print(text if options.action is None else page(verdicts))
    if any(one.verdict == OUT for one in verdicts):
        sys.exit(1)


if __name__ == "__main__":
    main()
