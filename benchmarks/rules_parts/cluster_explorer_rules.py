"""Rules by the package cluster-explorer, run by a Python that has it: a CSV in, JSON out.

    python cluster_explorer_rules.py table.csv

The last column is the cluster. Prints seconds, and every rule as [column, operator, number] with the coverage
and the precision that the package tells. It is asked for rules of up to three columns, of low coverage if
need be: of all of them the one that reaches the precision is chosen.
"""

from __future__ import annotations

import json
import re
import sys
import time
import warnings

import pandas as pd

COMPARISON = re.compile(r"\['([^'\[\]]*)', '(>=|<=|=|==)', (?:np\.\w+\()?'?([-+.\deE]+)'?\)?\]")


def main() -> None:
    warnings.simplefilter("ignore")
    from cluster_explorer import Explainer

    table = pd.read_csv(sys.argv[1])
    start = time.process_time()
    explainer = Explainer(table.iloc[:, :-1].astype(float), table.iloc[:, -1].astype(int))
    found = explainer.generate_explanations(
        coverage_threshold=0.3, conciseness_threshold=0.33, separation_threshold=0.5
    )
    seconds = time.process_time() - start
    rules = [
        {
            "cluster": int(line.Cluster),
            "comparisons": [[a, b, float(c)] for a, b, c in COMPARISON.findall(str(line.rule))],
            "coverage": float(line.coverage),
            "precision": 1.0 - float(line.separation_err),
        }
        for line in found.itertuples()
    ]
    json.dump({"seconds": seconds, "rules": rules}, sys.stdout)


if __name__ == "__main__":
    main()
