"""Table 6 of the IDC paper: gene tables of few rows and many columns.

IDC beside k-means alone and after selectors of features (``whyclust.select``), on the same rows: columns of
mean 0 and deviation 1, counts and FPKM as their logarithms first. Selectors choose as many features as the
paper's IDC has. The paper's k-means is another one on some sets, so the difference from our own k-means,
paired over seeds, is what counts. Classes only score. Prints JSON, writes
``benchmarks/results/idc_table_6.json`` and a page beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/idc_table_6.py --jobs 2
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans

from deep_parts.models import scored
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs
from whyclust.deep import IDC
from whyclust.deep.training.loop import evaluating
from whyclust.select import DUFS, MCFS, SRCFS, ConcreteAutoencoder, LaplacianScore, RelevanceSelector

SELECTORS: dict[str, Any] = {
    "LS": LaplacianScore,
    "MCFS": MCFS,
    "SRCFS": SRCFS,
    "CAE": ConcreteAutoencoder,
    "DUFS": DUFS,
    "relevance": RelevanceSelector,
}
MODELS = ("k-means", *(f"{name} + k-means" for name in SELECTORS), "IDC", "IDC groups")
# Of runs from before IDC had other networks for tables of few rows, and of other ways to make the axes of
# their embeddings wide; they are not made any more.
EARLIER = (", k-th axis beside mean noise", ", k axes alike", ", axes as they ended", ", earlier networks")
# Accuracy of k-means, of selectors and of IDC in the paper, and the features that IDC chose there.
PAPER: dict[str, dict[str, float]] = {
    "tox171": {
        "k-means": 41.5,
        "LS": 47.5,
        "MCFS": 42.5,
        "SRCFS": 45.8,
        "CAE": 47.7,
        "DUFS": 49.1,
        "IDC": 50.6,
    },
    "allaml": {
        "k-means": 67.3,
        "LS": 73.2,
        "MCFS": 72.9,
        "SRCFS": 67.7,
        "CAE": 73.5,
        "DUFS": 74.5,
        "IDC": 72.2,
    },
    "prostate_ge": {
        "k-means": 58.1,
        "LS": 58.6,
        "MCFS": 57.3,
        "SRCFS": 60.6,
        "CAE": 56.9,
        "DUFS": 64.7,
        "IDC": 65.3,
    },
    "srbct": {"k-means": 39.6, "LS": 41.1, "MCFS": 43.7, "SRCFS": 33.5, "DUFS": 51.7, "IDC": 55.4},
    "biase": {
        "k-means": 41.8,
        "LS": 83.8,
        "MCFS": 95.5,
        "SRCFS": 50.8,
        "CAE": 85.1,
        "DUFS": 100.0,
        "IDC": 95.7,
    },
}
FEATURES = {
    "tox171": 50,
    "allaml": 308,
    "prostate_ge": 171,
    "srbct": 47,
    "biase": 210,
    "pollen": 65,
    "pbmc68k": 138,
}
SETS = tuple(FEATURES)
FILES = {"pbmc68k": "pbmc68k_reduced"}
LOGARITHMS = {"biase", "pollen"}
MOST_COLUMNS = 5000
SEEDS, PRETRAINING, EPOCHS = 5, 150, 150
# Rows of a step. The paper takes all of them, for up to 10,000 epochs: gates need steps, not epochs.
BATCH = 16


@lru_cache(maxsize=1)
def rows_of(name: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Standardised columns, classes, and names of the columns."""
    if name == "wine":
        from sklearn.datasets import load_wine

        data = load_wine()
        X, y, names = data.data, data.target, list(data.feature_names)
    else:
        from whyclust.datasets import load

        stored = load(FILES.get(name, name))
        X, y = np.asarray(stored.X, dtype=np.float64), np.asarray(stored.y)
        given = getattr(stored, "feature_names", None)
        names = [f"x{place}" for place in range(X.shape[1])] if given is None else [str(one) for one in given]
    if name in LOGARITHMS:
        X = np.log1p(X)
    if name == "pollen":  # its most variable genes
        kept = np.sort(np.argsort(-X.var(axis=0), kind="stable")[:MOST_COLUMNS])
        X, names = X[:, kept], [names[place] for place in kept]
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X.astype(np.float32), y, names


def measure(data: str, model: str, seed: int, pretraining: int, epochs: int) -> dict[str, Any]:
    X, y, names = rows_of(data)
    k = len(np.unique(y))
    if model in ("IDC", "IDC groups"):
        kind: Any = IDC
        fitted = kind(
            k,
            n_features=min(FEATURES.get(data, 4), X.shape[1]),
            pretrain_epochs=pretraining,
            epochs=epochs,
            batch_size=BATCH,
            groups="correlation" if model == "IDC groups" else None,
            random_state=seed,
        )
        epochs_seen = _watched(fitted)
        fitted.fit(X)
        gates = fitted.cluster_gates_
        strongest = np.argsort(-gates.max(axis=0), kind="stable")[: FEATURES.get(data, 4)]
        best = [[names[i] for i in np.argsort(-row, kind="stable")[:10] if row[i] > 0] for row in gates]
        return {
            "scores": scored(fitted.labels_, y),
            "best": max(scored(labels, y)["ACC"] for labels in epochs_seen),
            "features": float(fitted.n_open_),
            "selected": len(fitted.selected_features_),
            "names": best,
            "strongest": sorted(int(place) for place in strongest),
            "groups": int(fitted.column_groups_.max()) + 1 if model == "IDC groups" else X.shape[1],
        }
    if model == "k-means":
        labels = KMeans(k, n_init=10, random_state=seed).fit_predict(X)
        return {"scores": scored(labels, y), "features": float(X.shape[1])}
    name = model.split(" + ")[0]
    wanted = min(FEATURES.get(data, 4), X.shape[1])
    settings: dict[str, Any] = {"n_features_to_select": wanted}
    selector = SELECTORS[name]
    known = selector().get_params()
    settings |= {"random_state": seed} if "random_state" in known else {}
    settings |= {"n_clusters": k} if "n_clusters" in known else {}
    if name == "relevance":
        settings["estimator"] = KMeans(k, n_init=10, random_state=seed)
    if name == "CAE":
        # Its authors learn at a tenth of this rate and try five times, with twice the epochs each time, until
        # it is decided: 25 minutes on allaml.
        settings |= {"learning_rate": 1e-2, "epochs": 600}
    chosen = selector(**settings).fit(X)
    labels = KMeans(k, n_init=10, random_state=seed).fit_predict(chosen.transform(X))
    first = [names[i] for i in np.argsort(chosen.ranking_, kind="stable")[:10]]
    found = {"scores": scored(labels, y), "features": float(wanted), "names": [first]}
    return found | ({"certainty": float(chosen.certainty_)} if name == "CAE" else {})


def _watched(estimator: Any) -> list[np.ndarray]:
    """Where the labels of every epoch of the clusters will be: the paper's accuracy is that of the best."""
    seen: list[np.ndarray] = []
    build = estimator._model

    def watched(n_features: int, generator: torch.Generator) -> Any:
        model = build(n_features, generator)
        phases = model.phases

        def look(data: torch.Tensor, epoch: int) -> None:
            model.remember(data)
            with evaluating(model.head):
                seen.append(model.head(model.rows[1]).argmax(dim=1).numpy())

        def with_looks() -> list[Any]:
            *earlier, clusters = phases()
            return [*earlier, replace(clusters, before_epoch=look)]

        model.phases = with_looks
        return model

    estimator._model = watched
    return seen


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    lines = [
        "# Table 6 of IDC: gene tables",
        "",
        one_line(
            f"""Accuracy × 100, mean ± standard deviation over seeds; in brackets the paper's, which is of
            the best epoch by accuracy. IDC with {runs[0]["pretraining"]} and {runs[0]["epochs"]} epochs of
            steps of {BATCH} rows, asked for as many open gates as the paper's has. CAE learns at ten times
            its authors' rate for 600 epochs, after which its neurons need not have decided. All sets have
            fewer rows than columns. There IDC's autoencoder is linear, its gates move for all rows
            together, its head begins with k-means, and of the embedding that it sees k − 1 axes are equally
            wide, for k clusters, and a k-th one as far as it stands out from noise and the next axis. Other
            ways stand below: a k-th axis that stands out from mean noise alone, k axes alike, and axes as
            the autoencoder had ended; earlier networks had hidden layers and knew rows by heart. pollen and
            pbmc68k stand in for sets that are not at hand. In round brackets
            is the number of seeds where there are fewer than five."""
        ),
        "",
    ]
    sets = [name for name in (*SETS, "wine") if of(runs, data=name)]
    lines += [f"| model | {' | '.join(sets)} |", f"|---|{'---|' * len(sets)}"]
    for model in (*MODELS, *(f"{name}{which}" for which in EARLIER for name in ("IDC", "IDC groups"))):
        if not of(runs, model=model):
            continue
        cells = []
        for name in sets:
            own = of(runs, data=name, model=model)
            printed = PAPER.get(name, {}).get(model.split(" + ")[0] if model != "k-means" else model)
            paper = f" [{printed}]" if printed else ""
            column = values(own, "ACC") if own else None
            if column is None:
                cells.append("–")
                continue
            spread = f" ± {column.std():.1f}" if len(column) > 1 else ""
            fewer = f" ({len(column)})" if len(column) < SEEDS else ""
            cells.append(f"{column.mean():.1f}{spread}{fewer}{paper}")
        lines.append(f"| {model} | {' | '.join(cells)} |")
    lines += ["", "## IDC minus k-means, paired over seeds", ""]
    lines += [
        "| set | accuracy | the paper's | NMI | ARI | accuracy of the best epoch [paper] | features open "
        "| seeds | CPU seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, which in [(name, which) for which in ("", *EARLIER) for name in sets]:
        own = {run["seed"]: run for run in of(runs, data=name, model=f"IDC{which}")}
        plain = {run["seed"]: run for run in of(runs, data=name, model="k-means")}
        both = sorted(own.keys() & plain.keys())
        if not both:
            continue
        cells = []
        for score in ("ACC", "NMI", "ARI"):
            gaps = np.array([own[seed]["scores"][score] - plain[seed]["scores"][score] for seed in both])
            error = f" ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.1f}" if len(gaps) > 1 else ""
            cells.append(f"{gaps.mean():+.1f}{error}")
            if score == "ACC":
                printed = PAPER.get(name)
                cells.append(f"{printed['IDC'] - printed['k-means']:+.1f}" if printed else "–")
        best = [own[seed]["best"] for seed in both if "best" in own[seed]]
        printed = f" [{PAPER[name]['IDC']}]" if name in PAPER else ""
        cells.append(f"{np.mean(best):.1f} ± {np.std(best):.1f}{printed}" if best else "–")
        cells.append(f"{np.mean([own[seed]['features'] for seed in both]):.0f}")
        cells += [str(len(both)), f"{np.mean([own[seed]['cpu'] for seed in both]):.0f}"]
        lines.append(f"| {name}{which} | {' | '.join(cells)} |")
    lines += _groups(runs, sets)
    lines += ["", "## Features that IDC chose", "", "Of the first seed, the most open of each cluster.", ""]
    for name in sets:
        for run in of(runs, data=name, model="IDC")[:1]:
            lines += [f"**{name}**", ""]
            lines += [
                f"- cluster {place}: {', '.join(row) or 'none'}" for place, row in enumerate(run["names"])
            ]
            lines.append("")
    return "\n".join(lines)


def _groups(runs: list[dict[str, Any]], sets: list[str]) -> list[str]:
    """What changes if columns that correlate open together."""
    rows = []
    for name, which in [(name, which) for which in ("", *EARLIER) for name in sets]:
        for model in (f"IDC{which}", f"IDC groups{which}"):
            own = [run for run in of(runs, data=name, model=model) if "strongest" in run]
            if not own or not of(runs, data=name, model=f"IDC groups{which}"):
                continue
            chosen = [set(run["strongest"]) for run in own]
            shared = [len(a & b) / len(a | b) for a, b in combinations(chosen, 2)]
            rows.append(
                f"| {name} | {model} | {own[0]['groups']} | {values(own, 'ACC').mean():.1f} "
                f"| {np.mean([run['features'] for run in own]):.0f} "
                f"| {f'{np.mean(shared):.2f}' if shared else '–'} | {len(own)} |"
            )
    if not rows:
        return []
    told = one_line(
        """Columns whose correlation with the first of theirs is 0.9 or more have one gate. Overlap is the
        Jaccard similarity, between seeds, of the columns that are the most open for some cluster, as many as
        were asked for."""
    )
    head = [
        "| set | model | gates | accuracy | columns open | overlap | seeds |",
        "|---|---|---|---|---|---|---|",
    ]
    return ["", "## Columns that open together", "", told, "", *head, *rows]


def main() -> None:
    parser = arguments(__doc__ or "")
    options = parser.parse_args()
    sets = options.sets.split(",") if options.sets else SETS
    models = options.models.split(",") if options.models else MODELS
    if options.quick:
        sets, models = ("wine",), ("k-means", "LS + k-means", "relevance + k-means", "IDC")
    keys = [
        {
            "data": data,
            "model": model,
            "seed": seed,
            "pretraining": 2 if options.quick else PRETRAINING,
            "epochs": 2 if options.quick else EPOCHS,
        }
        for data in sets
        for seed in range(1 if options.quick else options.seeds or SEEDS)
        for model in models
    ]
    measure_runs(options, "idc_table_6", keys, measure, page)


if __name__ == "__main__":
    main()
