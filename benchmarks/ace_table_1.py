"""Tables 1, 2 and 3 of the ACe/DeC paper: NMI with and without augmentation, and dimensions found.

All models of a seed begin with the same pretrained autoencoder of ten dimensions. The network is the one that
whyclust takes for the table (``--network papers`` takes 500–500–2000). Classes only score; but the start of
ACe/DeC was chosen after scored trials, USPS among them (docs/measurements.md). Prints JSON, writes
``benchmarks/results/ace_table_1.json`` and a page beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/ace_table_1.py --jobs 2
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

import whyclust as wc
from deep_parts.models import cache, scored
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs
from whyclust.cluster import SubKMeans
from whyclust.deep import DCN, DEC, IDEC, ACeDeC, AutoencoderKMeans, TurnAndShift

MODELS = (
    "ACe/DeC",
    "DCN 0.1",
    "DCN 1",
    "DCN 10",
    "DEC",
    "IDEC",
    "AE+SubKMeans",
    "AE+KM",
    "SubKMeans",
    "k-means",
)
AUGMENTED = ("ACe/DeC aug", "ACe/DeC aug whole", "DCN 0.1 aug", "DCN 1 aug", "DCN 10 aug")
# Tables 1 and 2, NMI × 100: of all of Fashion-MNIST, and of a subset of GTSRB that the paper does not name.
_PRINTED = {
    "usps": (71, 71, 65, 56, 0, 0, 65, 65, 61, 61, 86, 0, 83, 84, 78),
    "mnist_test": (87, 86, 83, 66, 75, 77, 79, 79, 48, 50, 94, 0, 95, 95, 94),
    "objects": (100, 100, 99, 100, 0, 0, 98, 98, 0, 100, 100, 0, 100, 100, 100),
    "gtsrb10": (52, 19, 16, 24, 0, 0, 47, 46, 0, 22, 66, 0, 64, 65, 65),
    "gtsrb10_stretched": (52, 19, 16, 24, 0, 0, 47, 46, 0, 22, 66, 0, 64, 65, 65),
    "fashion_10k": (62, 62, 55, 55, 57, 61, 59, 59, 52, 51, 64, 0, 60, 57, 57),
    "mnist": (89, 87, 86, 70, 74, 80, 80, 80, 48, 50, 94, 0, 94, 94, 92),
    "fashion_mnist": (62, 62, 55, 55, 57, 61, 59, 59, 52, 51, 64, 0, 60, 57, 57),
}
# By set and model; 0 is what the paper has not.
PAPER = {name: dict(zip((*MODELS, *AUGMENTED), row, strict=True)) for name, row in _PRINTED.items()}
# Table 3: dimensions found of ten.
PAPER_DIMENSIONS = {
    "mnist_test": 6,
    "mnist": 6,
    "fashion_10k": 5,
    "fashion_mnist": 5,
    "usps": 5,
    "gtsrb10": 4,
    "gtsrb10_stretched": 4,
}
SHAPES = {
    "usps": (1, 16, 16),
    "mnist_test": (1, 28, 28),
    "objects": (1, 64, 64),
    "gtsrb10": (3, 32, 32),
    "gtsrb10_stretched": (3, 32, 32),
    "fashion_10k": (1, 28, 28),
    "mnist": (1, 28, 28),
    "fashion_mnist": (1, 28, 28),
    "digits": (1, 8, 8),
}
# Names of sets that are parts of others, or others in another form.
STORED = {"mnist_test": "mnist", "fashion_10k": "fashion_mnist", "gtsrb10_stretched": "gtsrb10"}
SETS = ("usps", "mnist_test", "gtsrb10", "fashion_10k", "objects")
SEEDS, PRETRAINING, EPOCHS = 3, 100, 60
WIDTH = 10


@lru_cache(maxsize=2)
def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixels between 0 and 1, one row an image, colours one after the other; and classes."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return (X[:300] / 16.0).astype(np.float32), y[:300]
    if name == "objects":
        # Light and pose vary as little as they must for k-means to find the shapes, as it does in the paper.
        X, y, _ = wc.datasets.make_objects(3000, light_variation=0.1, pose_variation=0.3, random_state=0)
        X = np.asarray(X, dtype=np.float32).reshape(len(X), -1)
    else:
        data = wc.datasets.load(STORED.get(name, name))
        X, y = np.asarray(data.X), np.asarray(data.y)
        if name == "mnist_test":
            X, y = X[60_000:], y[60_000:]
        if name == "fashion_10k":
            chosen = np.random.default_rng(0).permutation(len(X))[:10_000]
            X, y = X[chosen], y[chosen]
        if X.ndim == 4:
            X = X.transpose(0, 3, 1, 2)
        X = X.reshape(len(X), -1).astype(np.float32)
    low, high = X.min(), X.max()
    if name == "gtsrb10_stretched":
        # From the darkest to the brightest of each image. The paper does not tell what it does; of twelve
        # usual ways this is the one whose k-means is nearest to the paper's row (docs/measurements.md).
        low, high = X.min(axis=1, keepdims=True), X.max(axis=1, keepdims=True)
        high = np.maximum(high, low + 1.0)
    return (X - low) / (high - low), y


def layers(network: str) -> tuple[int, ...] | None:
    return (500, 500, 2000) if network == "papers" else None


def autoencoder(data: str, seed: int, network: str, epochs: int) -> Any:
    """The one that all models of a seed begin with, trained once."""
    told = f"{wc.__version__} ace {data} {seed} {network} {epochs}"
    path = cache() / f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.npz"
    if path.exists():
        return wc.load(path)
    X, y = rows_of(data)
    kind: Any = AutoencoderKMeans
    model = kind(
        len(np.unique(y)), embedding_dim=WIDTH, hidden=layers(network), epochs=epochs, random_state=seed
    ).fit(X)
    wc.save(model, path)
    return model


def measure(data: str, model: str, seed: int, network: str, pretraining: int, epochs: int) -> dict[str, Any]:
    X, y = rows_of(data)
    k = len(np.unique(y))
    if model in ("k-means", "SubKMeans"):
        kind: Any = KMeans if model == "k-means" else SubKMeans
        chosen = X[np.random.default_rng(seed).permutation(len(X))[:10_000]]
        return {"scores": scored(kind(k, n_init=1, random_state=seed).fit(chosen).predict(X), y)}
    first = autoencoder(data, seed, network, pretraining)
    if model == "AE+KM":
        return {"scores": scored(first.labels_, y)}
    if model == "AE+SubKMeans":
        found = SubKMeans(k, n_init=10, random_state=seed).fit(first.transform(X))
        return {"scores": scored(found.labels_, y), "dimensions": int(found.n_components_)}
    settings: dict[str, Any] = {"autoencoder": first, "epochs": epochs, "random_state": seed}
    if "aug" in model:
        settings["augment"] = TurnAndShift(SHAPES[data])
    kinds: dict[str, Any] = {"DCN": DCN, "DEC": DEC, "IDEC": IDEC}
    if not model.startswith("ACe/DeC"):
        name, *lam = model.removesuffix(" aug").split()
        fitted = kinds[name](k, **settings, **({"lam": float(lam[0])} if lam else {})).fit(X)
        return {"scores": scored(fitted.labels_, y)}
    deep: Any = ACeDeC
    views = "whole" if model.endswith("whole") else "spaces"
    fitted = deep(kinds["DCN"](k, **settings), views=views).fit(X)
    return {
        "scores": scored(fitted.labels_, y),
        "dimensions": len(fitted.cluster_dims_),
        "weights": [round(float(weight), 3) for weight in np.sort(fitted.cluster_weights_)[::-1]],
        "changed": fitted.hardened(X).n_changed_ if len(fitted.cluster_dims_) else None,
    }


def _order(part: tuple[int, int, str]) -> tuple[bool, int, bool]:
    """The usual epochs first, then few pretraining epochs, and of these the networks that whyclust takes."""
    pretraining, epochs, network = part
    return (pretraining, epochs) != (PRETRAINING, EPOCHS), pretraining, network != "sized"


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    lines = [
        "# Tables 1, 2 and 3 of ACe/DeC",
        "",
        one_line(
            f"""NMI × 100, mean ± standard deviation over seeds; in brackets the paper's, which is over ten
            pretrained autoencoders. Ten dimensions; {PRETRAINING} epochs of pretraining and {EPOCHS} of the
            model, unless a heading says otherwise. fashion_10k are 10,000 rows of Fashion-MNIST, beside the
            paper's number for all; gtsrb10 is a subset that need not be the paper's, and gtsrb10_stretched
            has each of its images between 0 and 1; objects are 3,000 images that are made here. A cell
            without a deviation is of one seed; in round brackets is the number of seeds where it is smaller
            than the last lines say."""
        ),
        "",
    ]
    sets = [name for name in PAPER if of(runs, data=name)]
    parts = {(run["pretraining"], run["epochs"], run["network"]) for run in runs}
    for pretraining, epochs, network in sorted(parts, key=_order):
        own = of(runs, network=network, pretraining=pretraining, epochs=epochs)
        shown = [name for name in sets if of(own, data=name)]
        told = "sized to the table" if network == "sized" else "500–500–2000"
        if (pretraining, epochs) != (PRETRAINING, EPOCHS):
            told += f", {pretraining:,} epochs of pretraining and {epochs} of the model"
        lines += [
            f"## Networks {told}",
            "",
            f"| model | {' | '.join(shown)} |",
            f"|---|{'---|' * len(shown)}",
        ]
        counts = {name: len({run["seed"] for run in of(own, data=name)}) for name in shown}
        for model in (*MODELS, *AUGMENTED):
            cells = []
            for name in shown:
                found = of(own, data=name, model=model)
                printed = PAPER[name][model]
                paper = f" [{printed}]" if printed else ""
                if not found:
                    cells.append("–")
                    continue
                scores = values(found, "NMI")
                spread = f" ± {scores.std():.1f}" if len(scores) > 1 else ""
                fewer = f" ({len(scores)})" if 1 < len(scores) < counts[name] else ""
                cells.append(f"{scores.mean():.1f}{spread}{fewer}{paper}")
            if any(cell != "–" for cell in cells):
                lines.append(f"| {model} | {' | '.join(cells)} |")
        seconds = [
            f"{np.mean([run['cpu'] for run in of(own, data=name, model='ACe/DeC')] or [0]):.0f}"
            for name in shown
        ]
        lines += [
            f"| seeds | {' | '.join(str(counts[name]) for name in shown)} |",
            f"| CPU seconds of ACe/DeC | {' | '.join(seconds)} |",
            "",
        ]
        lines += ["Dimensions found of ten (Table 3), and labels changed by hardening:", ""]
        lines += [
            "| set | ACe/DeC | paper | AE+SubKMeans (paper 9) | labels changed |",
            "|---|---|---|---|---|",
        ]
        for name in shown:
            fits, sub = (of(own, data=name, model=model) for model in ("ACe/DeC", "AE+SubKMeans"))
            if not fits:
                continue
            found = np.mean([run["dimensions"] for run in fits])
            other = f"{np.mean([run['dimensions'] for run in sub]):.1f}" if sub else "–"
            changed = [run["changed"] for run in fits if run["changed"] is not None]
            labels = f"{np.mean(changed):.0f}" if changed else "–"
            lines.append(f"| {name} | {found:.1f} | {PAPER_DIMENSIONS.get(name, '–')} | {other} | {labels} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--network", choices=["sized", "papers"], default="sized")
    parser.add_argument("--epochs", type=int, default=None, help="of the models; 60 by default")
    parser.add_argument("--pretraining", type=int, default=None, help="its epochs; 100 by default")
    options = parser.parse_args()
    sets = options.sets.split(",") if options.sets else SETS
    models = options.models.split(",") if options.models else (*MODELS, *AUGMENTED)
    if options.quick:
        sets, models = ("digits",), ("ACe/DeC", "ACe/DeC aug", "DCN 1", "AE+SubKMeans", "k-means")
    keys = [
        {
            "data": data,
            "model": model,
            "seed": seed,
            "network": options.network,
            "pretraining": 2 if options.quick else options.pretraining or PRETRAINING,
            "epochs": 2 if options.quick else options.epochs or EPOCHS,
        }
        for data in sets
        for seed in range(1 if options.quick else options.seeds or SEEDS)
        for model in models
    ]
    measure_runs(options, "ace_table_1", keys, measure, page)


if __name__ == "__main__":
    main()
