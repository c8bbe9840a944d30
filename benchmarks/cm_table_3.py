"""Tables 3, 10, 4 and 5 of the CM and C-Net paper: deep clusterings, random and pretrained.

ARI, NMI and accuracy (Hungarian) over seeds with the settings of tables 8 and 9; what selection by L_sp would
have chosen (table 4); and k-means on the embeddings (table 5). Pretrained models of one seed begin with the
same autoencoder, as in the paper; DKM, whose activations are ReLU, has its own. Classes only score. Prints
JSON, writes ``benchmarks/results/cm_table_3.json`` and a page beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/cm_table_3.py --jobs 2
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

import whyclust as wc
from deep_parts.models import cache, scored
from deep_parts.sets import PAPER_NAMES, rows_of
from deep_parts.tables import MARKS, of, one_line, selection, table
from running_parts.running import arguments, measure_runs
from whyclust.deep import DCN, DEC, DKM, IDEC, AutoencoderKMeans, CNet

MODELS = {
    "AE+KM": "AE+KM",
    "DCN r": "DCN, random",
    "DCN p": "DCN, pretrained",
    "DEC r": "DEC, random",
    "DEC p": "DEC, pretrained",
    "DEC 1 p": "DEC, pretrained, one k-means start",
    "DEC 10 p": "DEC, pretrained, one k-means start, 10 dimensions",
    "IDEC r": "IDEC, random",
    "IDEC p": "IDEC, pretrained",
    "DKM r": "DKM, random",
    "DKM p": "DKM, pretrained",
    "C-Net r": "C-Net, random",
    "C-Net p": "C-Net, pretrained",
}
KINDS: dict[str, Any] = {"DCN": DCN, "DEC": DEC, "IDEC": IDEC, "DKM": DKM, "C-Net": CNet}
# Table 3: ARI, NMI, ACC; failures are given as zero.
PAPER: dict[str, dict[str, tuple[float, float, float]]] = {
    "pendigits": {
        "AE+KM": (56.2, 67.9, 72.9),
        "DCN r": (5.8, 15.1, 17.4),
        "DCN p": (59.8, 73.2, 74.5),
        "DEC r": (35.8, 53.4, 45.7),
        "DEC p": (60.1, 72.0, 74.1),
        "IDEC r": (34.5, 52.1, 43.1),
        "IDEC p": (59.9, 72.1, 74.1),
        "DKM r": (0.0, 0.0, 0.0),
        "DKM p": (0.0, 0.0, 0.0),
        "C-Net r": (64.0, 74.3, 75.9),
        "C-Net p": (65.5, 76.0, 77.4),
    },
    "usps": {
        "AE+KM": (57.1, 64.6, 67.5),
        "DCN r": (2.5, 9.7, 20.9),
        "DCN p": (59.9, 70.3, 68.6),
        "DEC r": (36.0, 47.7, 48.4),
        "DEC p": (65.9, 74.8, 73.3),
        "IDEC r": (26.3, 38.0, 40.9),
        "IDEC p": (65.5, 74.3, 72.8),
        "DKM r": (51.2, 61.1, 62.3),
        "DKM p": (55.7, 64.4, 66.5),
        "C-Net r": (55.5, 65.0, 65.9),
        "C-Net p": (59.0, 68.6, 66.8),
    },
    "mnist": {
        "AE+KM": (65.6, 71.5, 78.6),
        "DCN r": (10.1, 25.6, 25.4),
        "DCN p": (75.6, 82.5, 83.1),
        "DEC r": (11.1, 19.0, 28.9),
        "DEC p": (73.8, 79.0, 83.1),
        "IDEC r": (27.5, 39.0, 42.5),
        "IDEC p": (74.9, 80.1, 83.4),
        "DKM r": (72.5, 77.3, 81.2),
        "DKM p": (74.0, 78.3, 82.7),
        "C-Net r": (77.9, 80.9, 86.1),
        "C-Net p": (79.4, 82.4, 86.5),
    },
}
# Table 5, random starts on MNIST: ARI, NMI, ACC of k-means on the embedding.
EMBEDDINGS = {
    "AE+KM": (65.6, 71.5, 78.6),
    "DCN r": (64.5, 71.1, 76.2),
    "DEC r": (11.1, 19.0, 28.9),
    "IDEC r": (27.5, 38.9, 42.5),
    "DKM r": (74.5, 78.8, 83.0),
    "C-Net r": (75.2, 78.5, 84.8),
}
# What two cores can do: seeds, epochs of pretraining, and epochs of the model itself.
BUDGET = {"pendigits": (3, 50, 50), "usps": (3, 30, 30), "mnist": (1, 30, 30)}
# Random starts have longer to go.
LONGER = {("usps", "C-Net r"): 100, ("mnist", "C-Net r"): 80}
MNIST_MODELS = ("C-Net r", "AE+KM", "C-Net p", "DEC p", "IDEC p", "DCN p")
# Pen positions differ in spread between columns; pixels do not, and many of them are constant.
STANDARDISED = {"pendigits"}
# DEC as ClustPy has it by default: 20 starts of k-means are the DEC paper's, 70 dimensions this paper's.
AS_ELSEWHERE = ("DEC 1 p", "DEC 10 p")
SELECTED = {name: told for name, told in MODELS.items() if name.startswith("C-Net")}


def prepared(data: str) -> tuple[np.ndarray, np.ndarray]:
    return rows_of(data, data in STANDARDISED)


def settings(kind: Any, data: str, **chosen: Any) -> Any:
    """The paper's settings; small networks where a table is not the paper's."""
    chosen = {**chosen, "device": "cpu"}
    if data in PAPER_NAMES:
        return kind.preset(PAPER_NAMES[data], **chosen)
    return kind(len(np.unique(rows_of(data)[1])), hidden=(32, 16), batch_size=64, **chosen)


def kept(data: str, model: str, seed: int, pretraining: int, epochs: int, *, again: bool = False) -> Any:
    """The model of a cell, fitted once for all that begin with it or explain it, unless asked for again."""
    told = f"{wc.__version__} {data} {model} {seed} {pretraining} {epochs}"
    path = cache() / f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.npz"
    if path.exists() and not again:
        return wc.load(path)
    one = fitted(data, model, seed, pretraining, epochs)
    wc.save(one, path)
    return one


def fitted(data: str, model: str, seed: int, pretraining: int, epochs: int) -> Any:
    """The model of a cell, fitted."""
    X = prepared(data)[0]
    if model == "AE+KM":
        return settings(AutoencoderKMeans, data, epochs=pretraining, random_state=seed).fit(X)
    kind = KINDS[model.split()[0]]
    chosen: dict[str, Any] = {"epochs": epochs, "random_state": seed}
    if model in AS_ELSEWHERE:
        chosen |= {"kmeans_starts": 1}
    if model == "C-Net r":
        chosen |= {"init": "random"}
    elif model == "C-Net p":
        chosen |= {
            "init": "pretrained",
            "pretrain_epochs": pretraining,
            "autoencoder": kept(data, "AE+KM", seed, pretraining, 0),
        }
    elif model.endswith(" r"):
        chosen |= {"pretrain_epochs": 0}
    elif model == "DKM p":
        chosen |= {"pretrain_epochs": pretraining}
    elif model == "DEC 10 p":
        chosen |= {"pretrain_epochs": pretraining, "embedding_dim": 10}
    else:
        chosen |= {"autoencoder": kept(data, "AE+KM", seed, pretraining, 0)}
    return settings(kind, data, **chosen).fit(X)


def one_run(data: str, model: str, seed: int, pretraining: int, epochs: int) -> dict[str, Any]:
    X, y = prepared(data)
    one = kept(data, model, seed, pretraining, epochs, again=True)
    embedded = one.transform(X)
    again = KMeans(len(np.unique(y)), n_init=20, random_state=seed).fit_predict(embedded)
    found: dict[str, Any] = {
        "scores": scored(one.labels_, y),
        "embedding": scored(again, y),
        "clusters_in_use": len(np.unique(one.labels_)),
    }
    if model.startswith("C-Net"):
        found["l_sp"] = float(one.scores_[0])
    return found


def page(result: dict[str, Any]) -> str:
    runs, sets = result["runs"], list(dict.fromkeys(run["data"] for run in result["runs"]))
    lines = [
        "# Tables 3 and 10: deep clusterings",
        "",
        one_line(f"""
            Measured by `benchmarks/cm_table_3.py` with {result["machine"]["cores"]} cores, one thread each.
            {MARKS} The paper has 20 runs, 100 epochs of pretraining and 150 to 1,000 of training; a zero in
            its column is a failure. Settings are those of its tables 8 and 9. Pen positions are standardised,
            pixels scaled to 0..1. CPU seconds are without the pretraining that models share, unless one of
            them came first. Classes score, and do nothing else."""),
        "",
    ]
    for name in sets:
        own = of(runs, data=name)
        lines += [
            f"## {name}, {' × '.join(map(str, result['shapes'].get(name, [])))}, "
            f"{own[0]['pretraining']} epochs of pretraining",
            "",
            *table(own, MODELS, PAPER.get(name, {})),
        ]
    chosen, above, cases = selection(runs, SELECTED, sets)
    lines += [
        "# Table 4: the run with the lowest L_sp",
        "",
        f"ARI of the run that L_sp = E₂ − E₃ chooses, without classes: above the mean in {above} of {cases} "
        "cases.",
        "",
        *chosen,
        "# Table 5: k-means on the embeddings",
        "",
        "The paper's column is of MNIST.",
        "",
    ]
    for name in sets:
        random = {model: told for model, told in MODELS.items() if not model.endswith(" p")}
        own = [run for run in of(runs, data=name) if run["model"] in random]
        if own:
            lines += [f"## {name}", "", *table(own, random, EMBEDDINGS, "embedding")]
    return "\n".join(lines)


def keys(options: Any) -> list[dict[str, Any]]:
    chosen = options.sets.split(",") if options.sets else (["digits"] if options.quick else list(BUDGET))
    result = []
    for name in chosen:
        seeds, pretraining, epochs = (1, 2, 2) if options.quick else BUDGET[name]
        usual_models = MNIST_MODELS if name == "mnist" else MODELS
        models = options.models.split(",") if options.models else usual_models
        for seed in range(options.seeds or seeds):
            for model in models:
                usual = epochs if options.quick else LONGER.get((name, model), epochs)
                own = 0 if model == "AE+KM" else options.epochs or usual
                part = {"data": name, "model": model, "seed": seed}
                result.append({**part, "pretraining": pretraining, "epochs": own})
    return result


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--epochs", type=int, default=None, help="of the models after pretraining")
    options = parser.parse_args()
    wanted = keys(options)
    shapes = {name: list(rows_of(name)[0].shape) for name in dict.fromkeys(key["data"] for key in wanted)}
    measure_runs(options, "cm_table_3", wanted, one_run, page, shapes=shapes)


if __name__ == "__main__":
    main()
