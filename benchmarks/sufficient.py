"""Sufficient columns: as small as those of exhaustive search? Told as measured? Fast? And planted truth?

Three questions, for every table: of the first rows and up to ten columns, how often the set that is found is
the smallest of all, by the same probabilities; how far the probability that is told from two thirds of the
rows is from that on the third which was held out; and seconds for a thousand rows. And of labels whose
columns are known (those of ``surrogate.py``): how many columns of a set are the row's own, and how many of
its own are in the set.
Prints JSON, writes ``benchmarks/results/sufficient.json`` and a page beside it.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/sufficient.py
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from neon_parts.sets import rows_of
from running_parts.running import arguments, measure_sets
from surrogate_parts.planted import PLANTED, planted_data
from whyclust.answers.similar_rows import effective_rows
from whyclust.answers.sufficient import _Answering, _Known
from whyclust.answers.sufficient_search import FEWEST_ROWS, _Block
from whyclust.network.apart import judges

TARGET = 0.95
# Rows and columns of the exhaustive search.
MOST_COLUMNS = 10


SETS: dict[str, tuple[Callable[[], np.ndarray], int]] = {
    "wine": (lambda: load_wine().data, 3),
    "breast cancer": (lambda: load_breast_cancer().data, 3),
    "digits": (lambda: load_digits().data[:600], 10),
    "seeds": (partial(rows_of, "seeds"), 3),
    "hepac": (partial(rows_of, "hepac"), 4),
}
OF_PAPERS = ("seeds", "hepac")


def at_hand() -> list[str]:
    folder = os.environ.get("WHYCLUST_DATA")
    there = [name for name in OF_PAPERS if folder and (Path(folder) / f"{name}.npz").exists()]
    return [name for name in SETS if name not in OF_PAPERS or name in there]


def clustered(X: np.ndarray, k: int, seed: int) -> Any:
    return make_pipeline(StandardScaler(), KMeans(k, n_init=5, random_state=seed)).fit(X)


def smallest(ex: Any, n_rows: int) -> np.ndarray:
    """The size of the smallest sufficient set of each row, among all sets, by the same probabilities."""
    known = _Known.of(ex, None, 1000, 0)
    ((judge, _),) = judges(known.net, ex.clusters, ex.assigned)
    answering = _Answering(known, ex, judge, TARGET, 12)
    search, n_columns, sizes = answering.search, ex.shape[1], []
    for block, task in answering._tasks(np.arange(n_rows)):
        squares = _Block(search, task)
        best = np.full(len(block), n_columns)
        for size in range(1, n_columns):
            for columns in itertools.combinations(range(n_columns), size):
                rows = np.flatnonzero(best > size)
                if not len(rows):
                    break
                chosen = np.zeros((len(rows), n_columns), dtype=bool)
                chosen[:, columns] = True
                reached, _ = search.judged(search.searched, squares.squares, task, rows, chosen)
                hopeful = reached >= TARGET
                rows, chosen = rows[hopeful], chosen[hopeful]
                told, similar = search.judged(search.told, squares.squares_told, task, rows, chosen)
                best[rows[(told >= TARGET) & (similar >= FEWEST_ROWS)]] = size
        sizes.append(best)
    return np.concatenate(sizes)


def beside_exhaustive(X: np.ndarray, k: int, seed: int, n_rows: int) -> dict[str, Any]:
    """Of so many columns, drawn at random where there are more."""
    chosen = np.random.default_rng(seed).permutation(X.shape[1])[:MOST_COLUMNS]
    X = np.ascontiguousarray(X[:, chosen])
    ex = wc.explain(clustered(X, k, seed), X)
    n_rows = min(n_rows, len(X))
    answer, best = ex.sufficient(slice(0, n_rows), target=TARGET), smallest(ex, n_rows)
    there = answer.status == "suffices"
    larger = (answer.sizes - best)[there]
    return {
        "rows": n_rows,
        "columns": X.shape[1],
        "found": int(there.sum()),
        "smallest": float((larger == 0).mean()) if there.any() else None,
        "larger at worst": int(larger.max(initial=0)),
        "missed": int(((best < X.shape[1]) & ~there).sum()),
        "mean size": float(answer.sizes[there].mean()) if there.any() else None,
    }


def told_and_measured(X: np.ndarray, k: int, seed: int) -> dict[str, Any]:
    X = X[np.random.default_rng(seed).permutation(len(X))]
    model = clustered(X, k, seed)
    background, held_out = X[: len(X) * 2 // 3], X[len(X) * 2 // 3 :]
    ex = wc.explain(model, background)
    started = time.process_time()
    answer = ex.sufficient(target=TARGET)
    seconds = time.process_time() - started
    scale = background.std(axis=0)
    told, measured = [], []
    for row in np.flatnonzero((answer.sizes > 0) & (answer.sizes < X.shape[1])):
        columns = [ex.feature_names.index(name) for name in answer.columns[row]]
        units = np.where(scale[columns] > 0, scale[columns], np.inf)
        distance = (((held_out - background[row])[:, columns] / units) ** 2).sum(axis=1)
        weights = np.exp(-0.5 * distance / answer.widths[len(columns) - 1] ** 2)
        if effective_rows(weights) < 10:
            continue
        points = held_out.copy()
        points[:, columns] = background[row, columns]
        told.append(float(answer.probability[row]))
        measured.append(float(np.average(model.predict(points) == answer.clusters[row], weights=weights)))
    return {
        "rows": len(background),
        "columns": X.shape[1],
        "status": {str(name): int((answer.status == name).sum()) for name in np.unique(answer.status)},
        "compared": len(told),
        "told": float(np.mean(told)) if told else None,
        "measured": float(np.mean(measured)) if told else None,
        "seconds per 1000 rows": 1000 * seconds / len(background),
    }


def planted(seeds: int, quick: bool) -> dict[str, Any]:
    """Precision and recall of the row's own columns, beside the share of relevance that falls on them."""
    result: dict[str, Any] = {"seeds": seeds, "variants": {}}
    for variant in PLANTED:
        lines = []
        for seed in range(seeds):
            X, labels, own = planted_data(variant, seed, quick=False)
            ex = wc.explain(labels, X)
            rows = np.arange(len(X))[:: 40 if quick else 2]
            answer = ex.sufficient(rows, target=TARGET)
            places = {name: place for place, name in enumerate(ex.feature_names)}
            hits, sizes = [], answer.sizes
            for row, columns in zip(rows, answer.columns, strict=True):
                hits.append(len({places[name] for name in columns} & set(own[labels[row]].tolist())))
            size = np.abs(np.asarray(ex.values)[rows])
            share = np.take_along_axis(size, own[labels[rows]], 1).sum(axis=1) / size.sum(axis=1)
            some = sizes > 0
            lines.append(
                {
                    "found": float(some.mean()),
                    "columns": float(sizes[some].mean()),
                    "precision": float((np.array(hits)[some] / sizes[some]).mean()),
                    "recall": float((np.array(hits)[some] / own.shape[1]).mean()),
                    "recall of all rows": float((np.array(hits) / own.shape[1]).mean()),
                    "relevance": float(share.mean()),
                }
            )
        means = {key: float(np.mean([line[key] for line in lines])) for key in lines[0]}
        result["variants"][variant] = {"own": own.shape[1], **means}
    return result


def planted_lines(result: dict[str, Any]) -> list[str]:
    known = result.get("planted")
    if not known:
        return []
    lines = [
        "",
        "Planted labels of `surrogate.py` (40 columns, of which 2 or 3 are a cluster's own; "
        f"{known['seeds']} seeds, every second row). Precision: of the columns of a set, those that are the "
        "row's own. Recall: of its own columns, those in the set; 'of all': rows without a set count as 0. "
        "Beside them the share of relevance that falls on its own columns.",
        "",
        "| labels | rows with a set | columns | precision | recall | recall of all | relevance |",
        "|---|---|---|---|---|---|---|",
    ]
    for variant, one in known["variants"].items():
        lines.append(
            f"| {variant} ({one['own']} of its own) | {one['found']:.0%} | {one['columns']:.1f} | "
            f"{one['precision']:.0%} | {one['recall']:.0%} | {one['recall of all rows']:.0%} | "
            f"{one['relevance']:.0%} |"
        )
    return lines


def one_fit(name: str, seed: int, n_rows: int, most: int | None) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    load, k = SETS[name]
    X = np.asarray(load(), dtype=float)[:most]
    narrow = X[:, X.std(axis=0) > 0]
    return {
        "seed": seed,
        "exhaustive": beside_exhaustive(narrow, k, seed, n_rows),
        "held out": told_and_measured(X, k, seed),
    }


def _number(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None else format(value, form)


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Sufficient columns",
        "",
        f"Measured by `benchmarks/sufficient.py`: target {TARGET:g}, {result['fits']} fit(s) a table, "
        f"{result['minutes']:.0f} minutes. Means over fits.",
        "",
        "Beside exhaustive search, by the same probabilities, on up to ten columns (drawn at random where "
        "there are more). 'Missed': a set smaller than all columns exists, and none was found.",
        "",
        "| table | rows × columns | found | smallest | larger at worst | missed | mean size |",
        "|---|---|---|---|---|---|---|",
    ]

    def mean(fits: list[Any], part: str, key: str) -> float | None:
        values = [fit[part][key] for fit in fits if fit[part][key] is not None]
        return float(np.mean(values)) if values else None

    for name, fits in result["sets"].items():
        first = fits[0]["exhaustive"]
        worst = max(fit["exhaustive"]["larger at worst"] for fit in fits)
        means = {key: mean(fits, "exhaustive", key) for key in ("found", "smallest", "missed", "mean size")}
        lines.append(
            f"| {name} | {first['rows']} × {first['columns']} | {_number(means['found'], '.1f')} | "
            f"{_number(means['smallest'], '.1%')} | {worst} | {_number(means['missed'], '.1f')} | "
            f"{_number(means['mean size'], '.2f')} |"
        )
    lines += [
        "",
        "Told from two thirds of the rows, measured on the third that was held out; all columns.",
        "",
        "| table | rows × columns | suffices | compared | told | measured | difference | s / 1000 rows |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, fits in result["sets"].items():
        first = fits[0]["held out"]
        told, measured = mean(fits, "held out", "told"), mean(fits, "held out", "measured")
        seconds = mean(fits, "held out", "seconds per 1000 rows")
        difference = None if told is None or measured is None else told - measured
        share = np.mean([fit["held out"]["status"].get("suffices", 0) for fit in fits]) / first["rows"]
        lines.append(
            f"| {name} | {first['rows']} × {first['columns']} | {share:.0%} | "
            f"{_number(mean(fits, 'held out', 'compared'), '.0f')} | {_number(told)} | {_number(measured)} | "
            f"{_number(difference, '+.3f')} | {_number(seconds, '.1f')} |"
        )
    return "\n".join([*lines, *planted_lines(result), ""])


def main() -> None:
    options = arguments(__doc__, "quick fresh sets jobs seeds out").parse_args()
    sets, n_fits, n_rows, most = (["wine"], 1, 8, 120) if options.quick else (at_hand(), 3, 200, None)
    measure = partial(one_fit, n_rows=n_rows, most=most)
    known = planted(1 if options.quick else 3, options.quick)
    measure_sets(options, "sufficient", sets, measure, page, n_fits=options.seeds or n_fits, planted=known)


if __name__ == "__main__":
    main()
