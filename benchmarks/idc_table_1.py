"""Table 1 of the IDC paper: how interpretable are the features that are chosen for digits?

MNIST-10K: 1,000 images of each digit. k-means with SHAP, TELL and IDC (with and without gates) with
integrated gradients and gradient SHAP, and IDC with its own gates and with NEON: the fifteen strongest
features of each image, on subsets of 1,000 images. Then Algorithm 1 on the same IDC models: in which order do
features bring the decision back soonest? Classes only score. Prints JSON, writes
``benchmarks/results/idc_table_1.json`` and a page beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/idc_table_1.py --jobs 2
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import pearsonr
from sklearn.cluster import KMeans

import whyclust as wc
from deep_parts.models import cache, scored
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs
from whyclust.deep import IDC, TELL
from whyclust.metrics import diversity, faithfulness, flipping_auc, uniqueness

# Model and explanation, and what the paper has: ACC, uniqueness, diversity × 100, faithfulness.
ROWS: dict[tuple[str, str], tuple[float, float, float, float] | None] = {
    ("k-means", "shap"): (53.34, 0.12, 100.0, 0.79),
    ("k-means", "neon"): None,
    ("TELL", "ig"): (74.79, 0.03, 89.1, 0.67),
    ("TELL", "gradient_shap"): (74.79, 0.15, 92.5, 0.63),
    ("IDC without gates", "ig"): (82.32, 0.02, 95.8, 0.78),
    ("IDC without gates", "gradient_shap"): (82.32, 0.08, 100.0, 0.86),
    ("IDC", "ig"): (83.45, 0.01, 95.3, 0.94),
    ("IDC", "gradient_shap"): (83.45, 0.02, 97.0, 0.93),
    ("IDC", "gates"): (83.45, 0.69, 94.8, 0.96),
    ("IDC", "neon"): None,
    ("IDC", "gate_halves"): None,
}
NAMES = {
    "neon": "NEON",
    "ig": "IG",
    "gradient_shap": "gradient SHAP",
    "shap": "SHAP",
    "gates": "gates",
    "gate_halves": "NEON, half through the gates",
}
TOP, BACKGROUND = 15, 100
SEEDS, PRETRAINING, EPOCHS, TELL_EPOCHS = 1, 60, 40, 60
# The paper's, for --papers-epochs.
PAPERS = {"pretraining": 300, "epochs": 700, "TELL": 3001}
SUBSETS, SIZE, FLIPPED = 10, 1000, 60
# Sampled Shapley values take 0.7 seconds a row with a single permutation there and back, and all of the
# unseen images for absent pixels: a part of one subset.
SHAP_SUBSETS, SHAP_SIZE = 1, 200


@lru_cache(maxsize=1)
def rows_of(data: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels between 0 and 1, classes, and rows that no model has seen."""
    if data == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        X = (X / 16.0).astype(np.float32)
        return X[:300], y[:300], X[300:350]
    stored = wc.datasets.load("mnist")
    X, y = np.asarray(stored.X).reshape(len(stored.y), -1), np.asarray(stored.y)
    generator = np.random.default_rng(0)
    own = np.concatenate(
        [generator.permutation(np.flatnonzero(y[:60_000] == digit))[:1000] for digit in range(10)]
    )
    unseen = 60_000 + generator.permutation(10_000)[:BACKGROUND]
    own = generator.permutation(own)
    return (X[own] / 255.0).astype(np.float32), y[own], (X[unseen] / 255.0).astype(np.float32)


def fitted(data: str, model: str, seed: int, pretraining: int, epochs: int) -> Any:
    X, y, _ = rows_of(data)
    k = len(np.unique(y))
    if model == "k-means":
        return KMeans(k, n_init=10, random_state=seed).fit(X)
    told = f"{wc.__version__} idc table 1 {data} {model} {seed} {pretraining} {epochs}"
    path = cache() / f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.npz"
    if path.exists():
        return wc.load(path)
    kinds: dict[str, Any] = {"IDC": IDC, "TELL": TELL}
    if model == "TELL":
        usual = PAPERS["TELL"] if epochs == PAPERS["epochs"] else TELL_EPOCHS
        made = kinds["TELL"](k, epochs=epochs if data == "digits" else usual, random_state=seed)
    else:
        gates = {"n_features": TOP} if model == "IDC" else {"gates": False}
        made = kinds["IDC"](k, pretrain_epochs=pretraining, epochs=epochs, random_state=seed, **gates)
    made.fit(X)
    wc.save(made, path)
    return made


def measure(
    data: str, model: str, explanation: str, seed: int, pretraining: int, epochs: int
) -> dict[str, Any]:
    X, y, unseen = rows_of(data)
    one = fitted(data, model, seed, pretraining, epochs)
    labels = np.asarray(one.predict(X))
    found: dict[str, Any] = {"scores": scored(labels, y)}
    parts: dict[str, list[float]] = {
        "uniqueness": [],
        "diversity": [],
        "diversity released": [],
        "faithfulness": [],
        "faithfulness of steps": [],
    }
    count = SHAP_SUBSETS if explanation == "shap" else SUBSETS
    for number in range(min(count, 2) if data == "digits" else count):
        chosen = subset(data, number, explanation)
        rows = X[chosen]
        strongest = strongest_of(data, model, explanation, seed, pretraining, epochs, number)
        parts["uniqueness"].append(float(uniqueness(strongest, rows, as_sets=True, form="released").value))
        own = [strongest[labels[chosen] == k] for k in np.unique(labels[chosen])]
        means = [np.abs(part).mean(axis=0) for part in own if part.any()]  # shut gates are no features
        for name, form in (("diversity", "mean"), ("diversity released", "released")):
            known = len(means) > 1
            parts[name].append(
                100.0 * float(diversity(np.stack(means), top=TOP, form=form)) if known else np.nan
            )
        if number < 2:  # a pass over the rows for each feature
            found_there = faithfulness(one, rows, strongest, labels=y[chosen], cumulative=True)
            level = pearsonr(found_there.importance, found_there.performance).statistic
            parts["faithfulness"].append(float(level))
            parts["faithfulness of steps"].append(found_there.value)
    found |= {name: float(np.mean(numbers)) for name, numbers in parts.items()}
    found["subsets"] = len(parts["uniqueness"])
    found["features"] = float((strongest != 0).sum(axis=1).mean())
    if model == "IDC":
        points = X[np.random.default_rng(99).permutation(len(X))[:FLIPPED]]
        background = X[np.random.default_rng(98).permutation(len(X))[:300]]
        order = _explained(one, points, explanation, unseen)
        area = flipping_auc(one, points, order, n_repeats=1, background=background, leave_out=False)
        found |= {"flipping": float(area.auc), "flipping error": float(area.error)}
    return found


def subset(data: str, number: int, explanation: str) -> np.ndarray:
    """Positions of the images of one of the subsets; fewer of these where explanations take long."""
    n_rows = len(rows_of(data)[0])
    size = SHAP_SIZE if explanation == "shap" else SIZE
    return np.random.default_rng(number).permutation(n_rows)[: min(size, n_rows // 2)]


def strongest_of(
    data: str, model: str, explanation: str, seed: int, pretraining: int, epochs: int, number: int
) -> np.ndarray:
    """Explanations of a subset, of each image the fifteen largest; Shapley values are kept between runs."""
    told = f"{wc.__version__} idc shap {data} {model} {seed} {number}"
    path = cache() / f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.npy"
    if explanation == "shap" and path.exists():
        return np.load(path)
    X, _, unseen = rows_of(data)
    one = fitted(data, model, seed, pretraining, epochs)
    found = _strongest(
        np.asarray(_explained(one, X[subset(data, number, explanation)], explanation, unseen).values)
    )
    if explanation == "shap":
        np.save(path, found)
    return found


def _explained(model: Any, rows: np.ndarray, method: str, unseen: np.ndarray) -> Any:
    if method == "neon":
        return wc.explain(model, rows)
    if method in ("gates", "gate_halves"):
        return wc.explain(model, rows, method=method)
    if method == "shap":
        sets = 2 * rows.shape[1] + 1
        return wc.explain(
            model, rows, method=method, background=unseen, n_background=len(unseen), n_evaluations=sets
        )
    return wc.explain(model, rows, method=method, background=unseen)


def _strongest(found: np.ndarray) -> np.ndarray:
    """Of each row the fifteen largest in size; the others are zero."""
    sizes = np.abs(found)
    least = -np.partition(-sizes, TOP - 1, axis=1)[:, TOP - 1 : TOP]
    return np.where(sizes >= np.maximum(least, 1e-300), found, 0.0)


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Table 1 of IDC: features of digits",
        "",
        one_line(
            """In brackets the paper's, of 300 and 700 epochs, TELL of 3,001. Networks are sized to the table.
            The fifteen features that are largest in size; uniqueness is that of their sets, as released (the
            nearest neighbour). Diversity is the mean over unordered pairs; as released, the diagonal counts.
            Faithfulness is the correlation of a feature's importance with the accuracy that is left when it
            and all more important ones are gone, as in Fig. 3; that of steps, with how much its own removal
            costs. Ten subsets of 1,000 images, two of them for faithfulness; SHAP: 200 images, from one
            permutation of the pixels there and back."""
        ),
        "",
    ]
    for pretraining, epochs in sorted({(run["pretraining"], run["epochs"]) for run in result["runs"]}):
        own = of(result["runs"], pretraining=pretraining, epochs=epochs)
        of_tell = PAPERS["TELL"] if epochs == PAPERS["epochs"] else TELL_EPOCHS
        tell = f", TELL with {of_tell:,}" if of(own, model="TELL") else ""
        lines += [f"## IDC with {pretraining} and {epochs} epochs{tell}", "", *_table(own), ""]
    return "\n".join(lines)


def _table(runs: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| model | explanation | ACC | NMI | uniqueness | diversity | as released | faithfulness "
        "| of steps | Algorithm 1 | CPU seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (model, explanation), printed in ROWS.items():
        own = of(runs, model=model, explanation=explanation)
        if not own:
            continue

        def mean(name: str, own: list[dict[str, Any]] = own) -> float:
            return float(np.mean([np.nan if run[name] is None else run[name] for run in own]))

        paper = [f" [{one}]" for one in printed] if printed else [""] * 4
        area = f"{mean('flipping'):.1f} ± {mean('flipping error'):.1f}" if "flipping" in own[0] else "–"
        cells = [
            f"{values(own, 'ACC').mean():.1f}{paper[0]}",
            f"{values(own, 'NMI').mean():.1f}",
            f"{mean('uniqueness'):.3g}{paper[1]}",
            f"{mean('diversity'):.1f}{paper[2]}",
            f"{mean('diversity released'):.1f}",
            f"{mean('faithfulness'):.2f}{paper[3]}",
            f"{mean('faithfulness of steps'):.2f}",
            area,
            f"{mean('cpu'):.0f}",
        ]
        lines.append(f"| {model} | {NAMES[explanation]} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = arguments(__doc__ or "", "quick fresh jobs models seeds out")
    parser.add_argument("--papers-epochs", action="store_true", help="300 and 700 epochs, TELL 3,001")
    options = parser.parse_args()
    pretraining, epochs = PRETRAINING, EPOCHS
    if options.papers_epochs:
        pretraining, epochs = PAPERS["pretraining"], PAPERS["epochs"]
    wanted = options.models.split(",") if options.models else list(dict.fromkeys(model for model, _ in ROWS))
    rows = [row for row in ROWS if row[0] in wanted]
    if options.quick:
        rows = [("k-means", "neon"), ("IDC", "gates"), ("IDC", "neon"), ("TELL", "ig")]
    keys = [
        {
            "data": "digits" if options.quick else "mnist10k",
            "model": model,
            "explanation": explanation,
            "seed": seed,
            "pretraining": 2 if options.quick else pretraining,
            "epochs": 2 if options.quick else epochs,
        }
        for seed in range(1 if options.quick else options.seeds or SEEDS)
        for model, explanation in rows
    ]
    measure_runs(options, "idc_table_1", keys, measure, page)


if __name__ == "__main__":
    main()
