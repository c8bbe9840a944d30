"""Tables 1, 6 and 2 of the CM and C-Net paper: the clustering module beside k-means and mixtures.

ARI, NMI and accuracy (Hungarian) over seeds, with the settings of table 7, and what selection by L_sp would
have chosen. Classes only score. Prints JSON, writes ``benchmarks/results/cm_table_1.json`` and a page
beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/cm_table_1.py --jobs 2
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from deep_parts.models import scored
from deep_parts.sets import PAPER_NAMES, rows_of
from deep_parts.tables import MARKS, of, one_line, selection, table
from running_parts.running import arguments, measure_runs
from whyclust.deep import ClusteringModule, ClusteringModuleEM

EPOCHS = 150
MODELS = {
    "KM r": "k-means, random",
    "KM p": "k-means++",
    "GMM r": "mixture, random",
    "GMM p": "mixture, k-means",
    "CM-EM r": "CM-EM, random",
    "CM-EM p": "CM-EM, k-means++",
    "CM r": "CM, random",
    "CM p": "CM, k-means++",
}
# Table 6: ARI, NMI, ACC.
PAPER: dict[str, dict[str, tuple[float, float, float]]] = {
    "pendigits": {
        "KM r": (56.5, 67.8, 71.1),
        "KM p": (58.1, 68.9, 72.7),
        "GMM r": (54.4, 68.1, 66.6),
        "GMM p": (55.4, 70.1, 71.5),
        "CM-EM r": (0.0, 0.0, 10.4),
        "CM-EM p": (0.0, 0.0, 10.4),
        "CM r": (57.3, 67.0, 72.0),
        "CM p": (57.3, 66.9, 72.3),
    },
    "usps": {
        "KM r": (52.6, 61.8, 63.0),
        "KM p": (50.2, 60.8, 61.1),
        "GMM r": (9.5, 17.6, 27.8),
        "GMM p": (35.1, 50.9, 52.0),
        "CM-EM r": (50.8, 61.0, 62.4),
        "CM-EM p": (52.4, 61.8, 63.9),
        "CM r": (54.3, 62.8, 67.0),
        "CM p": (53.4, 62.8, 63.7),
    },
    "mnist": {
        "KM r": (37.8, 49.9, 54.5),
        "KM p": (36.9, 49.2, 54.0),
        "GMM r": (12.0, 20.9, 29.9),
        "GMM p": (22.7, 35.6, 42.6),
        "CM-EM r": (36.3, 48.8, 54.0),
        "CM-EM p": (36.2, 49.2, 52.8),
        "CM r": (39.7, 50.0, 56.8),
        "CM p": (39.1, 49.5, 55.9),
    },
    "fashion_mnist": {
        "KM r": (36.6, 51.6, 53.2),
        "KM p": (35.2, 51.0, 50.8),
        "GMM r": (26.8, 44.2, 39.5),
        "GMM p": (34.6, 52.6, 47.2),
        "CM-EM r": (36.5, 51.5, 52.3),
        "CM-EM p": (35.9, 50.8, 52.6),
        "CM r": (42.3, 54.0, 62.0),
        "CM p": (41.4, 53.4, 60.7),
    },
    "news20_raw": {
        "KM r": (14.8, 32.3, 31.0),
        "KM p": (14.8, 33.5, 32.0),
        "GMM r": (0.1, 0.7, 7.0),
        "GMM p": (14.8, 33.5, 32.0),
        "CM-EM r": (0.0, 0.0, 5.3),
        "CM-EM p": (0.0, 0.0, 5.3),
        "CM r": (9.7, 21.2, 18.3),
        "CM p": (16.3, 28.8, 30.8),
    },
}
# Seeds of each set; the paper has 20. Mixtures with full covariances take hours on the wide ones.
SEEDS = {"pendigits": 10, "usps": 10, "mnist": 5, "fashion_mnist": 3, "news20_raw": 3}
FEWEST_WITH_MIXTURES = ("pendigits", "usps")
CM_MODELS = {name: told for name, told in MODELS.items() if name in ("CM r", "CM p")}


def fitted(data: str, model: str, seed: int, epochs: int) -> Any:
    """The model of a cell, fitted."""
    X, y = rows_of(data)
    k = len(np.unique(y))
    random = model.endswith(" r")
    kind = model[:-2]
    if kind == "KM":
        start = "random" if random else "k-means++"
        return KMeans(k, init=start, n_init=1, max_iter=150, random_state=seed).fit(X)
    if kind == "GMM":
        start = "random" if random else "kmeans"
        return GaussianMixture(k, init_params=start, max_iter=150, random_state=seed).fit(X)
    if kind not in ("CM-EM", "CM"):
        raise ValueError(f"{model!r} is unknown, expected one of {', '.join(MODELS)}.")
    start = "random" if random else "k-means++"
    if kind == "CM-EM":
        return ClusteringModuleEM(k, init=start, random_state=seed).fit(X)
    settings = {"init": start, "epochs": epochs, "random_state": seed, "device": "cpu"}
    if data not in PAPER_NAMES:
        return ClusteringModule(k, **settings).fit(X)
    return ClusteringModule.preset(PAPER_NAMES[data], **settings).fit(X)


def one_run(data: str, model: str, seed: int, epochs: int) -> dict[str, Any]:
    X, y = rows_of(data)
    one = fitted(data, model, seed, epochs)
    labels = one.predict(X)
    found: dict[str, Any] = {"scores": scored(labels, y), "clusters_in_use": len(np.unique(labels))}
    if model.startswith("CM "):
        found["l_sp"] = float(one.scores_[0])
    return found


def page(result: dict[str, Any]) -> str:
    runs, sets = result["runs"], list(dict.fromkeys(run["data"] for run in result["runs"]))
    lines = [
        "# Tables 1 and 6: the clustering module",
        "",
        one_line(f"""
            Measured by `benchmarks/cm_table_1.py` with {result["machine"]["cores"]} cores, one thread each.
            {MARKS} The paper has 20 runs of 150 epochs. Rows are scaled to 0..1 as a whole and not
            standardised, as in the paper; α and the batch size of CM are those of its table 7, CM-EM has its
            own default α = 1 + n/K; Adam has ε = 1e-7. Classes score, and do nothing else."""),
        "",
    ]
    for name in sets:
        X, y = result["shapes"].get(name, ["?", "?"]), PAPER.get(name, {})
        lines += [f"## {name}, {X[0]} × {X[1]}", ""]
        lines += table(of(runs, data=name), MODELS, y)
    chosen, above, cases = selection(runs, CM_MODELS, sets)
    lines += [
        "# Table 2: the run with the lowest L_sp",
        "",
        f"ARI of the run that L_sp = E₂ − E₃ chooses, without classes: above the mean in {above} of {cases} "
        "cases.",
        "",
        *chosen,
    ]
    return "\n".join(lines)


def keys(options: Any) -> list[dict[str, Any]]:
    chosen = options.sets.split(",") if options.sets else (["digits"] if options.quick else list(SEEDS))
    models = options.models.split(",") if options.models else list(MODELS)
    epochs = options.epochs or (2 if options.quick else EPOCHS)
    result = []
    for name in chosen:
        for seed in range(options.seeds or (2 if options.quick else SEEDS[name])):
            for model in models:
                if model.startswith("GMM") and not options.quick and name not in FEWEST_WITH_MIXTURES:
                    continue
                own = epochs if model.startswith("CM ") else 150
                result.append({"data": name, "model": model, "seed": seed, "epochs": own})
    return result


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--epochs", type=int, default=None, help="of CM")
    options = parser.parse_args()
    wanted = keys(options)
    shapes = {name: list(rows_of(name)[0].shape) for name in dict.fromkeys(key["data"] for key in wanted)}
    measure_runs(options, "cm_table_1", wanted, one_run, page, shapes=shapes)


if __name__ == "__main__":
    main()
