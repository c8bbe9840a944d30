"""How fast deep models train: beside matrix products alone, and beside a loop over a DataLoader.

- products: autoencoder training on MNIST-shaped data in batches of 256, as a share of the rate at which this
  machine multiplies matrices of the same shapes in the same run;
- loader: an epoch on pendigits-shaped data, beside the usual loop (DataLoader over a TensorDataset, Adam,
  zero_grad, backward, step) with the same network and batch.

Rounds of both sides alternate, and the median of each is taken. Prints JSON, writes
``benchmarks/results/deep_speed.json`` and a page beside it.

    python benchmarks/deep_speed.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from deep_parts.tables import one_line
from running_parts.running import arguments, print_result
from whyclust.deep import AutoencoderKMeans
from whyclust.deep.models.centroids import CentroidModel
from whyclust.deep.networks.autoencoders import dense_autoencoder
from whyclust.deep.training.loop import train
from whyclust.deep.training.phases import Adam

BATCH = 256


class OneEpoch(CentroidModel):
    """The library's autoencoder, and nothing after it."""

    def stages(self) -> Any:
        """Pretraining, once over the rows."""
        return [self.pretraining(1, Adam())]


def medians(sides: list[Callable[[], None]], rounds: int) -> list[float]:
    """Seconds of each side, by turns."""
    seconds: list[list[float]] = [[] for _ in sides]
    for turn in range(rounds + 1):
        for side, kept in zip(sides, seconds, strict=True):
            start = time.perf_counter()
            side()
            if turn:  # the first one warms up
                kept.append(time.perf_counter() - start)
    return [float(np.median(kept)) for kept in seconds]


def ours(X: torch.Tensor, hidden: tuple[int, ...], width: int) -> Callable[[], None]:
    settings = AutoencoderKMeans(10, batch_size=BATCH)
    model = OneEpoch(dense_autoencoder(X.shape[1], width, list(hidden), "leaky_relu"), settings)
    return lambda: train(model, X, torch.Generator().manual_seed(0)) and None


def usual(X: torch.Tensor, hidden: tuple[int, ...], width: int) -> Callable[[], None]:
    """The loop that most public implementations have."""
    autoencoder = dense_autoencoder(X.shape[1], width, list(hidden), "leaky_relu")
    network = nn.Sequential(autoencoder.encoder, autoencoder.decoder)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, eps=1e-3)
    loader = DataLoader(TensorDataset(X), batch_size=BATCH, shuffle=True)

    def epoch() -> None:
        total = 0.0
        for (x,) in loader:
            optimizer.zero_grad()
            loss = ((network(x) - x) ** 2).sum(dim=1).mean()
            loss.backward()
            optimizer.step()
            total += loss.item()

    return epoch


def products(n_rows: int, sizes: list[int]) -> Callable[[], None]:
    """The matrix products of an epoch: forward, and backward for weights and for all inputs but the first."""
    layers = list(pairwise(sizes))
    layers += [(wide, narrow) for narrow, wide in reversed(layers)]
    steps = -(-n_rows // BATCH)
    inputs = [torch.randn(BATCH, size) for size, _ in layers]
    weights = [torch.randn(size, out) for size, out in layers]
    slopes = [torch.randn(BATCH, out) for _, out in layers]

    def epoch() -> None:
        for _ in range(steps):
            for place, (x, w, g) in enumerate(zip(inputs, weights, slopes, strict=True)):
                torch.mm(x, w)
                torch.mm(x.T, g)
                if place:
                    torch.mm(g, w.T)

    return epoch


def page(result: dict[str, Any]) -> str:
    found = result["products"]
    lines = [
        "# Speed of training",
        "",
        one_line(f"""
            Measured by `benchmarks/deep_speed.py` with {result["machine"]["cores"]} cores and
            {result["threads"]} threads, medians of {result["rounds"]} rounds, sides by turns, batches of
            {BATCH}."""),
        "",
        one_line(f"""
            Autoencoder 784–500–500–2000–10 and back on {found["rows"]} rows: **{found["share"]:.0%}** of the
            rate of the matrix products alone ({found["products"]:.2f} s of {found["epoch"]:.2f} s an
            epoch)."""),
        "",
        "| network on 10,992 × 16 | whyclust, seconds an epoch | DataLoader | ratio |",
        "|---|---|---|---|",
    ]
    for one in result["loader"]:
        ratio = one["usual"] / one["ours"]
        lines.append(f"| {one['network']} | {one['ours']:.3f} | {one['usual']:.3f} | **{ratio:.2f}** |")
    lines += [
        "",
        "With the default network an epoch is the products and Adam's pass over 2.8 million weights on "
        "either side, and no loop can save them; the smaller the network, the more the loop counts.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    options = arguments(__doc__).parse_args()
    rows, rounds = (1024, 1) if options.quick else (10_240, 5)
    generator = torch.Generator().manual_seed(0)
    images, pens = torch.rand(rows, 784, generator=generator), torch.randn(10_992, 16, generator=generator)
    pens = pens[:1024] if options.quick else pens
    epoch, alone = medians(
        [ours(images, (500, 500, 2000), 10), products(rows, [784, 500, 500, 2000, 10])], rounds
    )
    loader = []
    for hidden, width in (((500, 500, 2000), 70), ((128, 64), 10), ((32,), 10)):
        fast, slow = medians([ours(pens, hidden, width), usual(pens, hidden, width)], rounds)
        network = "–".join(map(str, (16, *hidden, width)))
        loader.append({"network": network, "ours": fast, "usual": slow})
    result = {
        "threads": torch.get_num_threads(),
        "rounds": rounds,
        "products": {"rows": rows, "epoch": epoch, "products": alone, "share": alone / epoch},
        "loader": loader,
    }
    print_result(options, "deep_speed", result, page)


if __name__ == "__main__":
    main()
