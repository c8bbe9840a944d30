"""Side by side with ClustPy: DCN and ACe/DeC, the same network and epochs, scores and CPU seconds.

ClustPy is not needed by anything else: ``pip install --no-deps clustpy==0.0.3``. It imports names of
torchvision that clustering does not use; empty ones stand in for them where that is not installed. Both
libraries pretrain for themselves, on the same rows, in batches of 256; all else are their defaults. Classes
only score. Prints JSON, writes ``benchmarks/results/ace_peers.json`` and a page beside it. A run that was
stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/ace_peers.py
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from typing import Any

import numpy as np

from deep_parts.models import scored
from deep_parts.sets import rows_of
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs
from whyclust.deep import DCN, ACeDeC
from whyclust.deep.networks.autoencoders import PAPERS, usual_sizes

LIBRARIES = ("whyclust", "ClustPy 0.0.3")
MODELS = ("DCN", "ACe/DeC")
STANDARDISED = {"pendigits"}
PRETRAINING = EPOCHS = 30
WIDTH = 10


class _Empty(types.ModuleType):
    """A module in which every name is an empty class."""

    __path__: list[str] = []  # noqa: RUF012

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an empty torchvision."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        own = fullname.split(".")[0] == "torchvision"
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if own else None

    def create_module(self, spec: Any) -> Any:
        return _Empty(spec.name)

    def exec_module(self, module: Any) -> None:
        """Nothing to run."""


def peers() -> Any:
    """ClustPy's deep clusterings."""
    if importlib.util.find_spec("torchvision") is None:
        sys.meta_path.append(_StandIn())
    from clustpy import deep

    return deep


def layers(network: str, n_columns: int) -> tuple[int, ...]:
    return PAPERS if network == "papers" else usual_sizes(n_columns)


def measure(
    data: str, model: str, library: str, network: str, seed: int, pretraining: int, epochs: int
) -> dict[str, Any]:
    X, y = rows_of(data, data in STANDARDISED)
    k, hidden = len(np.unique(y)), layers(network, X.shape[1])
    if library == "whyclust":
        kind: Any = DCN
        base = kind(
            k,
            hidden=hidden,
            embedding_dim=WIDTH,
            pretrain_epochs=pretraining,
            epochs=epochs,
            random_state=seed,
        )
        around: Any = ACeDeC
        fitted = (base if model == "DCN" else around(base)).fit(X)
    else:
        deep = peers()
        other = {"DCN": deep.DCN, "ACe/DeC": deep.ACeDeC}[model]
        network_of = deep.neural_networks.FeedforwardAutoencoder
        fitted = other(
            k,
            batch_size=256,
            pretrain_epochs=pretraining,
            clustering_epochs=epochs,
            embedding_size=WIDTH,
            neural_network=(network_of, {"layers": [X.shape[1], *hidden, WIDTH]}),
            device="cpu",
            random_state=seed,
        ).fit(X)
    return {"scores": scored(np.asarray(fitted.labels_), y)}


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    lines = [
        "# Side by side with ClustPy",
        "",
        one_line(
            """NMI and ARI × 100, mean ± standard deviation over seeds, and CPU seconds of one thread,
            pretraining among them; the same network, epochs and batches. `sized` is the network that
            whyclust takes for the table, `papers` 500–500–2000. Compare seconds within a set and network
            only. ClustPy's ACe/DeC begins, and clusters its last embedding anew, from distances between all
            pairs of rows, which is where most of its seconds go; so ours is shown with more epochs, too."""
        ),
        "",
        "| set | network | model | library | NMI | ARI | CPU seconds | seeds | epochs |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    shared = ("data", "network", "model", "library", "pretraining", "epochs")
    for part in dict.fromkeys(tuple(run[name] for name in shared) for run in runs):
        own = of(runs, **dict(zip(shared, part, strict=True)))
        data, network, model, library = part[:4]
        scores = [values(own, name) for name in ("NMI", "ARI")]
        cells = [f"{one.mean():.1f} ± {one.std():.1f}" for one in scores]
        seconds = f"{np.mean([run['cpu'] for run in own]):.0f}"
        epochs = f"{own[0]['pretraining']} + {own[0]['epochs']}"
        told = [data, network, model, library, *cells, seconds, str(len(own)), epochs]
        lines.append(f"| {' | '.join(told)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--networks", default="sized", help="sized, papers, or both separated by a comma")
    parser.add_argument("--libraries", help="only these, separated by commas")
    parser.add_argument("--pretraining", type=int, default=PRETRAINING, help="its epochs")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="of the models after it")
    options = parser.parse_args()
    chosen = options.sets.split(",") if options.sets else ["pendigits", "usps"]
    libraries = tuple(options.libraries.split(",")) if options.libraries else LIBRARIES
    if options.quick:
        chosen = ["digits"]
        libraries = LIBRARIES[: 1 + (importlib.util.find_spec("clustpy") is not None)]
    keys = [
        {
            "data": data,
            "model": model,
            "library": library,
            "network": network,
            "seed": seed,
            "pretraining": 1 if options.quick else options.pretraining,
            "epochs": 1 if options.quick else options.epochs,
        }
        for data in chosen
        for network in options.networks.split(",")
        for seed in range(1 if options.quick else options.seeds or 3)
        for model in (options.models.split(",") if options.models else MODELS)
        for library in libraries
    ]
    measure_runs(options, "ace_peers", keys, measure, page)


if __name__ == "__main__":
    main()
