"""How well a surrogate of prototypes stands for labels of any origin, beside trees, forests and neighbours.

Prints JSON and writes it to ``benchmarks/results/surrogate.json``, with a page of tables beside it:

- agreement: labels of many origins (classes, linkage, spectral clustering, DBSCAN, HDBSCAN) on many tables,
  predicted for rows not seen (5 folds, the same for all methods);
- planted: which share of relevance falls on the columns that make the clusters, where these are known;
- time: fitting and explaining 50,000 rows, beside a forest and TreeSHAP.

Run it with ``python benchmarks/surrogate.py``, or one part of it with ``--part``. Tables that do not come
with scikit-learn are read from the folder in the environment variable ``WHYCLUST_DATA`` (one ``.npz`` each,
with ``X`` and, where there are classes, ``y``) and are left out where it has none. What is in the file of
results is not measured again unless ``--fresh`` is given, so a run that was stopped goes on. ``--again``
measures the surrogate's agreement once more beside what is known of the other methods. ``--quick`` takes
small data, only to see that it runs.
"""

from __future__ import annotations

import warnings
from typing import Any

from running_parts.files import earlier, machine, write
from running_parts.running import arguments, target_of
from surrogate_parts.agreement import agreement
from surrogate_parts.duration import duration
from surrogate_parts.page import page
from surrogate_parts.planted import SHAP_VERSION, planted
from surrogate_parts.settings import SEED

PARTS = ("agreement", "planted", "time")


def main() -> None:
    parser = arguments(__doc__, "quick fresh jobs out", jobs="pairs of agreement measured at a time")
    parser.add_argument(
        "--again", action="store_true", help="measure the surrogate's agreement again, and keep the others'"
    )
    parser.add_argument("--part", choices=PARTS, help="measure only this")
    options = parser.parse_args()
    target = target_of(options, "surrogate")
    result: dict[str, Any] = {
        "machine": {**machine(shap=SHAP_VERSION), "n_jobs": 1},
        "quick": options.quick,
        "seed": SEED,
    }
    parts = [options.part] if options.part else list(PARTS)
    before = earlier(target, options.quick)
    for name in PARTS:
        if name in before and not (options.fresh and name in parts):
            result[name] = before[name]
    warnings.simplefilter("ignore")  # of tiny clusters in folds, unconnected graphs and the like
    if "agreement" in parts:
        for so_far in agreement(options.quick, result.get("agreement", {}), options.jobs, options.again):
            result["agreement"] = so_far
            write(result, target, page)
    for name, measure in (("planted", planted), ("time", duration)):
        if name in parts and name not in result:
            result[name] = measure(options.quick)
            write(result, target, page)
    print(write(result, target, page))


if __name__ == "__main__":
    main()
