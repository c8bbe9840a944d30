"""Does the paper's pretraining explain ACe/DeC's scores on MNIST-test? Xie et al.'s recipe beside ours.

Layer by layer, each as an autoencoder of one layer with dropout before both of its weights (Xie et al., 2016,
section 4.2), then all layers together without dropout. k-means, DCN and ACe/DeC begin with the result, and
with an autoencoder that was trained as whole for as many steps. It may have seen all of MNIST, of which
MNIST-test is a part, or turned and moved images (for the paper's lower table). Classes
only score. Prints JSON, writes
``benchmarks/results/ace_pretraining.json`` and a page beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/ace_pretraining.py
"""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

import whyclust as wc
from ace_table_1 import PAPER, SHAPES, WIDTH, rows_of
from deep_parts.models import cache, scored
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs, tell
from whyclust.deep import DCN, DEC, ACeDeC, AutoencoderKMeans, TurnAndShift
from whyclust.deep.networks.autoencoders import usual_sizes

MODELS = ("AE+KM", "DCN 0.1", "DCN 1", "ACe/DeC")
# Those that are only run where they are asked for.
OTHERS = ("DEC", "DEC aug", "DCN 0.1 aug", "DCN 1 aug", "DCN 10 aug", "ACe/DeC aug whole")
PRETRAININGS = ("layer by layer", "as a whole")
# `AutoencoderKMeans` with a rate that falls to a hundredth, over as many rows; only where asked for.
LIBRARY = "by the library"
# May follow either of them: which rows the autoencoder sees.
ALL_DIGITS, TURNED = ", all of MNIST", ", turned"
DROPOUT, BATCH, RATE, EPOCHS = 0.2, 256, 1e-3, 60


def optimised(
    loss: Any,
    weights: list[nn.Parameter],
    n_steps: int,
    n_rows: int,
    generator: torch.Generator,
) -> None:
    """Adam; the rate falls to a tenth after each 40 % of the steps, as in Xie et al."""
    adam = torch.optim.Adam(weights, lr=RATE)
    falling = torch.optim.lr_scheduler.StepLR(adam, max(1, int(0.4 * n_steps)), 0.1)
    for step in range(n_steps):
        rows = torch.randint(n_rows, (min(BATCH, n_rows),), generator=generator)
        adam.zero_grad()
        value = loss(rows)
        value.backward()
        adam.step()
        falling.step()
        if step % 5000 == 0:
            tell(f"    step {step:,} of {n_steps:,}: {float(value):.4f}")


def hidden(layers: list[nn.Linear], x: torch.Tensor) -> torch.Tensor:
    """All layers but the last are rectified."""
    for place, layer in enumerate(layers):
        x = layer(x) if place == len(layers) - 1 else torch.relu(layer(x))
    return x


def autoencoder(data: str, seed: int, pretraining: str, network: str, steps: int) -> tuple[Any, Any]:
    """Encoder and decoder after ``steps`` of each layer and twice as many of all of them."""
    told = f"xie {data} {seed} {pretraining} {network} {steps}"
    path = cache() / f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.pt"
    X = torch.as_tensor(rows_of("mnist" if ALL_DIGITS in pretraining else data)[0], dtype=torch.float32)
    inner = (500, 500, 2000) if network == "papers" else usual_sizes(X.shape[1], images=False)
    sizes = [X.shape[1], *inner, WIDTH]
    torch.manual_seed(seed)
    down = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    up = [nn.Linear(b, a) for a, b in reversed(list(pairwise(sizes)))]
    weights = [weight for layer in (*down, *up) for weight in layer.parameters()]
    if path.exists():
        for weight, kept in zip(weights, torch.load(path, weights_only=True), strict=True):
            weight.data = kept
    else:
        extra = 0
        if pretraining.startswith("layer by layer"):
            seen = X
            for place, layer in enumerate(down):
                back = up[len(up) - 1 - place]
                inputs = seen

                def one_layer(
                    rows: torch.Tensor, layer: Any = layer, back: Any = back, inputs: Any = inputs
                ) -> Any:
                    x = inputs[rows]
                    h = layer(nn.functional.dropout(x, DROPOUT))
                    h = h if layer is down[-1] else torch.relu(h)
                    y = back(nn.functional.dropout(h, DROPOUT))
                    y = y if back is up[-1] else torch.relu(y)
                    return (y - x).square().sum(1).mean()

                tell(f"layer {place}")
                generator = torch.Generator().manual_seed(seed + place)
                both = [*layer.parameters(), *back.parameters()]
                optimised(one_layer, both, steps, len(X), generator)
                with torch.no_grad():
                    seen = layer(seen) if layer is down[-1] else torch.relu(layer(seen))
        else:
            extra = len(down) * steps

        generator = torch.Generator().manual_seed(seed + 99)
        turn = TurnAndShift(SHAPES[data])

        def whole(rows: torch.Tensor) -> Any:
            x = turn(X[rows], generator) if TURNED in pretraining else X[rows]
            return (hidden(up, hidden(down, x)) - x).square().sum(1).mean()

        tell("all layers")
        optimised(whole, weights, 2 * steps + extra, len(X), generator)
        torch.save([weight.data for weight in weights], path)
    sides = []
    for layers in (down, up):
        parts: list[nn.Module] = []
        for layer in layers:
            parts += [layer, nn.ReLU()]
        sides.append(nn.Sequential(*parts[:-1]))
    return sides[0], sides[1]


def by_the_library(data: str, seed: int, pretraining: str, network: str, steps: int) -> Any:
    """The library's own autoencoder. It sees each row as it is, too, so turned ones take half the epochs."""
    told = f"library {data} {seed} {pretraining} {network} {steps}"
    path = cache() / f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.npz"
    if path.exists():
        return wc.load(path)
    X, y = rows_of(data)
    views, layers = (2 if TURNED in pretraining else 1), 4 if network == "papers" else 3
    kind: Any = AutoencoderKMeans
    model = kind(
        len(np.unique(y)),
        embedding_dim=WIDTH,
        hidden=(500, 500, 2000) if network == "papers" else None,
        epochs=max(1, round((2 + layers) * steps * BATCH / len(X) / views)),
        learning_rate=RATE,
        final_learning_rate=RATE / 100,
        augment=TurnAndShift(SHAPES[data]) if views == 2 else None,
        random_state=seed,
    ).fit(X)
    wc.save(model, path)
    return model


def measure(
    data: str, model: str, seed: int, pretraining: str, network: str, steps: int, epochs: int
) -> dict[str, Any]:
    X, y = rows_of(data)
    k = len(np.unique(y))
    if pretraining.startswith(LIBRARY):
        first = by_the_library(data, seed, pretraining, network, steps)
        pair = (first.model_.autoencoder.encoder, first.model_.autoencoder.decoder)
    else:
        pair = autoencoder(data, seed, pretraining, network, steps)
        kind: Any = AutoencoderKMeans
        first = kind(k, autoencoder=pair, epochs=0, random_state=seed).fit(X)
    with torch.no_grad():
        x = torch.as_tensor(X, dtype=torch.float32)
        lost = float((pair[1](pair[0](x)) - x).square().sum(1).mean())
    told = {"reconstruction": round(lost, 3)}
    if model == "AE+KM":
        return {"scores": scored(first.labels_, y), **told}
    settings: dict[str, Any] = {"autoencoder": first, "epochs": epochs, "random_state": seed}
    if "aug" in model:
        settings["augment"] = TurnAndShift(SHAPES[data])
    centroids: Any = DCN
    divergence: Any = DEC
    deep: Any = ACeDeC
    if model.startswith("ACe/DeC"):
        fitted = deep(centroids(k, **settings)).fit(X)
    elif model.startswith("DEC"):
        fitted = divergence(k, **settings).fit(X)
    else:
        fitted = centroids(k, lam=float(model.split()[1]), **settings).fit(X)
    return {"scores": scored(fitted.labels_, y), **told}


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    lines = [
        "# What the autoencoder has seen (ACe/DeC's Table 1)",
        "",
        one_line(
            f"""NMI × 100; in brackets the paper's. Xie et al.'s recipe: each layer by itself with dropout
            {DROPOUT}, then all together for twice as many steps, batches of {BATCH}, Adam at {RATE:g} that
            falls to a tenth after each 40 % of the steps; 'as a whole' takes as many steps in all. The
            paper has 50,000 steps a layer and 100,000 of all. 'All of MNIST': the autoencoder has seen the
            training part, too, of which nothing is clustered here. 'Turned': it sees each image turned and
            moved at random, as the models marked 'aug' do after it. 'By the library': `AutoencoderKMeans`
            as a whole, over as many rows as all these steps take, with a `final_learning_rate` of a
            hundredth; with turned images half of the rows are the images as they are."""
        ),
        "",
    ]
    models = [model for model in (*MODELS, *OTHERS) if of(runs, model=model)]
    lines += [
        "| set | network | steps a layer | pretraining | squared error | epochs after it | "
        + " | ".join(models)
        + " | seeds |",
        "|---" * (7 + len(models)) + "|",
    ]
    shared = ("data", "network", "steps", "pretraining", "epochs")
    for part in dict.fromkeys(tuple(run[name] for name in shared) for run in runs):
        data, network, steps, pretraining, epochs = part
        own = of(runs, **dict(zip(shared, part, strict=True)))
        cells = []
        for model in models:
            found = of(own, model=model)
            printed = PAPER.get(data, {}).get(model.removesuffix(" whole"))
            paper = f" [{printed}]" if printed else ""
            cells.append(f"{values(found, 'NMI').mean():.1f}{paper}" if found else "–")
        error = np.mean([run["reconstruction"] for run in own])
        seeds = len({run["seed"] for run in own})
        told = "sized to the table" if network == "sized" else "500–500–2000"
        row = (data, told, f"{steps:,}", pretraining, f"{error:.2f}", str(epochs), *cells, str(seeds))
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--network", choices=["sized", "papers"], default="sized")
    parser.add_argument("--steps", type=int, default=10_000, help="of each layer")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="of the models after it")
    parser.add_argument("--pretrainings", help="only these, separated by semicolons")
    options = parser.parse_args()
    keys = [
        {
            "data": data,
            "model": model,
            "seed": seed,
            "pretraining": pretraining,
            "network": options.network,
            "steps": 20 if options.quick else options.steps,
            "epochs": 2 if options.quick else options.epochs,
        }
        for data in (("digits",) if options.quick else (options.sets or "mnist_test").split(","))
        for seed in range(options.seeds or 1)
        for pretraining in (options.pretrainings.split(";") if options.pretrainings else PRETRAININGS)
        for model in (options.models.split(",") if options.models else MODELS)
    ]
    measure_runs(options, "ace_pretraining", keys, measure, page)


if __name__ == "__main__":
    main()
