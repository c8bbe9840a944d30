"""Appendix H of the IDC paper: how time grows with rows; and how near steps are to what the machine can do.

Times a fit of growing numbers of rows, which grow by the same epochs, and fits the exponent of n; then an
epoch of all rows of a table like TOX-171 (171 × 5,748) beside the matrix products alone that it cannot do
without, in the same run. Prints JSON, writes ``benchmarks/results/idc_scaling.json`` and a page beside it.

    OMP_NUM_THREADS=1 python benchmarks/idc_scaling.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from running_parts.running import arguments, print_result
from whyclust.datasets import make_idc_synthetic
from whyclust.deep import IDC

SIZES = (1600, 3200, 6400, 12_800, 25_600)


def seconds_of_fit(n_rows: int, epochs: int) -> float:
    X, _, _ = make_idc_synthetic(n_rows, random_state=0)
    kind: Any = IDC
    model = kind(4, pretrain_epochs=epochs, epochs=epochs, random_state=0)
    start = time.process_time()
    model.fit(X)
    return time.process_time() - start


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def rate(n_rows: int, n_columns: int, epochs: int) -> dict[str, float]:
    """CPU seconds of an epoch of stage 1, and of its matrix products alone."""
    X = np.random.default_rng(0).standard_normal((n_rows, n_columns)).astype(np.float32)
    kind: Any = IDC

    def fit(count: int) -> float:
        model = kind(4, pretrain_epochs=count, epochs=1, batch_size=None, random_state=0)
        start = time.process_time()
        model.fit(X)
        return time.process_time() - start

    fit(10)
    few, many = (min(fit(count) for _ in range(2)) for count in (10, 10 + epochs))
    model: Any = kind(4, pretrain_epochs=10, epochs=1, batch_size=None, random_state=0).fit(X)
    shapes = _products(model, n_rows)
    operands = [(torch.randn(m, k), torch.randn(k, n)) for m, k, n in shapes]
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        for left, right in operands:
            left @ right
        best = min(best, time.process_time() - start)
    flops = sum(2.0 * m * k * n for m, k, n in shapes)
    return {"epoch": (many - few) / epochs, "products": best, "gigaflops": flops / 1e9}


def _products(model: Any, n_rows: int) -> list[tuple[int, int, int]]:
    """Shapes of the products of a step: up, slopes of weights, and down again, of each layer.

    Whole, masked and gated rows pass the encoder at once, and the decoder with those that have noise in the
    embedding besides; the gating network sees the rows, whose slopes nobody asks for.
    """
    network = model.model_
    parts = [(network.gating, 1), (network.autoencoder.encoder, 3), (network.autoencoder.decoder, 4)]
    found: list[tuple[int, int, int]] = []
    for module, passes in parts:
        linears = [one for one in module.modules() if isinstance(one, torch.nn.Linear)]
        for place, linear in enumerate(linears):
            rows, wide, narrow = passes * n_rows, linear.in_features, linear.out_features
            found += [(rows, wide, narrow), (narrow, rows, wide)]
            found += [] if passes == 1 and place == 0 else [(rows, narrow, wide)]
    return found


def page(result: dict[str, Any]) -> str:
    pace = result["rate"]
    lines = [
        "# Time of IDC",
        "",
        f"CPU seconds of one thread, {result['epochs']} + {result['epochs']} epochs: they grow with n to the "
        f"power of {result['exponent']:.2f} (appendix H: linear).",
        "",
        "| rows | CPU seconds |",
        "|---|---|",
        *(
            f"| {size} | {seconds:.1f} |"
            for size, seconds in zip(result["sizes"], result["seconds"], strict=True)
        ),
        "",
        f"An epoch of all rows of a table of {result['shape'][0]} × {result['shape'][1]}: "
        f"{pace['epoch']:.3f} CPU seconds; its matrix products alone {pace['products']:.3f}, which is "
        f"{100 * pace['products'] / pace['epoch']:.0f} % of it.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    options = arguments(__doc__ or "", "quick out").parse_args()
    torch.set_num_threads(1)
    sizes = (60, 120) if options.quick else SIZES
    epochs = 1 if options.quick else 10
    shape = (40, 30) if options.quick else (171, 5748)
    seconds = [seconds_of_fit(size, epochs) for size in sizes]
    found = {
        "sizes": list(sizes),
        "seconds": seconds,
        "epochs": epochs,
        "exponent": exponent(sizes, seconds),
        "shape": list(shape),
        "rate": rate(*shape, epochs=2 if options.quick else 30),
    }
    print_result(options, "idc_scaling", found, page)


if __name__ == "__main__":
    main()
