"""How fast relevance is, as ratios measured in one run.

Prints JSON and writes it to ``benchmarks/results/speed.json``, with a table beside it:

- k-means relevance beside its floor: the two matrix products it cannot avoid (x·Mᵀ and
  α·[2M, M²]), one read of X and one write of the result, in the same blocks, with one thread and
  with all (the products then use them, what is done element by element does not);
- kernel relevance: twice the support vectors, and against the paper's four layers written out;
- against shap's KernelExplainer and captum's integrated gradients;
- ``import whyclust`` beside ``import sklearn.cluster``.

Run it with ``python benchmarks/speed.py``; ``--quick`` takes small data (the ratios then mean little).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import whyclust as wc
from running_parts.files import machine
from running_parts.running import arguments, print_result
from whyclust.network import Features, MinPool, Neuralized, PrototypeHead, blocks

# What the results say of the machine.
MACHINE = ("processor", "cores", "python", "numpy", "threads")


def interleaved(candidates: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Best time of each candidate, taken in turns so that a noisy neighbour hits all alike."""
    best = dict.fromkeys(candidates, np.inf)
    for _ in range(repeats):
        for name, call in candidates.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def prototype_network(
    prototypes: np.ndarray, members: np.ndarray | None = None, **options: Any
) -> Neuralized:
    count, width = prototypes.shape
    members = np.arange(count) if members is None else members
    head = PrototypeHead(prototypes, members, **options)
    names = tuple(f"x{column}" for column in range(width))
    return Neuralized(Features.identity(width), head, MinPool(), 1.0, np.arange(head.n_clusters), names)


def floor(X: np.ndarray, prototypes: np.ndarray, block: int) -> np.ndarray:
    """Only what no implementation can leave out."""
    both = np.concatenate([2 * prototypes, prototypes**2], axis=1)
    weights = np.random.default_rng(0).random((block, len(prototypes)), dtype=X.dtype)
    out = np.empty_like(X)
    for start in range(0, len(X), block):
        rows = X[start : start + block]
        rows @ prototypes.T
        weights[: len(rows)] @ both
        np.copyto(out[start : start + block], rows)
    return out


def k_means(quick: bool) -> list[dict[str, Any]]:
    sizes = [(100_000, 784, 10), (100_000, 784, 100), (200_000, 64, 10)]
    found = []
    for n, d, k in [(n // 50, d, k) for n, d, k in sizes] if quick else sizes:
        random = np.random.default_rng(0)
        X = random.standard_normal((n, d), dtype=np.float32)
        prototypes = X[random.choice(n, k, replace=False)]
        net = prototype_network(prototypes)
        width = net.folded(X.dtype).width
        block = max(blocks._BLOCK_BYTES // ((3 * d + width) * X.itemsize), 64)
        for threads in sorted({1, os.cpu_count() or 1}):
            with threadpool_limits(threads):
                seconds = interleaved(
                    {
                        "floor": lambda X=X, M=prototypes, block=block: floor(X, M, block),
                        "relevance": lambda X=X, net=net: net.relevance(X),
                    },
                    repeats=2 if quick else 15,
                )
            case = {"n": n, "d": d, "k": k, "threads": threads, "block": block}
            found.append({**case, **seconds, "ratio": seconds["relevance"] / seconds["floor"], "wanted": 2.0})
    return found


def four_layers(x: np.ndarray, supports: np.ndarray, clusters: int, gamma: float, beta: float) -> np.ndarray:
    """Eqs. (2), (4), (10) for one point, every neuron of Prop. 5 as it stands (vectorised over neurons)."""
    groups = np.split(supports, clusters)
    distances = [((x - group) ** 2).sum(axis=1) for group in groups]
    lme = [-np.log(np.mean(np.exp(-gamma * d))) / gamma for d in distances]
    c = int(np.argmin(lme))
    others = [k for k in range(clusters) if k != c]
    h = {}
    relevance = np.zeros(len(x))
    layers = {}
    for k in others:
        w = 2 * (groups[c][:, None] - groups[k][None])  # i, j, features
        b = (groups[k] ** 2).sum(axis=1)[None] - (groups[c] ** 2).sum(axis=1)[:, None]
        h_ij = w @ x + b
        h_j = np.log(np.mean(np.exp(gamma * h_ij), axis=0)) / gamma
        h[k] = -np.log(np.mean(np.exp(-gamma * h_j))) / gamma
        layers[k] = (w, h_ij, h_j)
    values = np.array([h[k] for k in others])
    f = values.min()
    shares = np.exp(-beta * (values - f))
    shares /= shares.sum()
    for share, k in zip(shares, others, strict=True):
        w, h_ij, h_j = layers[k]
        p_i = np.exp(gamma * (h_ij - h_ij.max(axis=0)))
        p_i /= p_i.sum(axis=0)
        p_j = np.exp(-gamma * (h_j - h_j.min()))
        p_j /= p_j.sum()
        r = p_i * p_j * (share * f) * (h_ij / h[k])
        middle = (groups[c][:, None] + groups[k][None]) / 2
        product = (x - middle) * w
        relevance += (product * (r / product.sum(axis=2))[:, :, None]).sum(axis=(0, 1))
    return relevance


def kernel(quick: bool) -> dict[str, Any]:
    random = np.random.default_rng(0)
    clusters, d, gamma = 5, 20, 0.05
    n = 200 if quick else 4000
    X = random.standard_normal((n, d))

    def net(p: int) -> tuple[Neuralized, np.ndarray]:
        supports = random.standard_normal((clusters * p, d))
        members = np.repeat(np.arange(clusters), p)
        offsets = np.full(len(members), np.log(p) / gamma)
        return prototype_network(supports, members, offsets=offsets, gamma=gamma), supports

    small, large = net(500)[0], net(1000)[0]
    seconds = interleaved(
        {"p500": lambda: small.relevance(X), "p1000": lambda: large.relevance(X)}, 1 if quick else 20
    )
    fifty, supports = net(50)
    few = X[: 5 if quick else 100]
    literal = np.stack([four_layers(x, supports, clusters, gamma, fifty.beta) for x in few])
    error = float(np.abs(literal - fifty.relevance(few, rule="min_take_most").values).max())
    against = interleaved(
        {
            "closed_form": lambda: fifty.relevance(few, rule="min_take_most"),
            "four_layers": lambda: [four_layers(x, supports, clusters, gamma, fifty.beta) for x in few],
        },
        1 if quick else 3,
    )
    return {
        **seconds,
        "doubling": seconds["p1000"] / seconds["p500"],
        "doubling_wanted": 2.3,
        **against,
        "times_faster": against["four_layers"] / against["closed_form"],
        "times_faster_wanted": 20.0,
        "largest_difference": error,
    }


def peers(quick: bool) -> dict[str, Any]:
    """wine, K = 3: all rows for us; few rows for shap, scaled up."""
    X = StandardScaler().fit_transform(load_wine().data)
    model = KMeans(3, n_init=10, random_state=0).fit(X)
    net = wc.neuralize(model, X)
    clusters = net.predict(X)
    found: dict[str, Any] = {}
    ours = interleaved({"whyclust": lambda: net.relevance(X)}, 20)["whyclust"] / len(X)
    found["seconds_per_row"] = ours
    try:
        import shap

        rows = 3 if quick else 20
        background = X[np.random.default_rng(0).choice(len(X), 50, replace=False)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            for row, c in zip(X[:rows], clusters[:rows], strict=True):
                explainer = shap.KernelExplainer(lambda Z, c=c: net.evidence(Z, cluster=int(c)), background)
                explainer.shap_values(row[None], silent=True)
            found["shap_kernel_times_slower"] = (time.perf_counter() - start) / rows / ours
    except ImportError:
        found["shap_kernel_times_slower"] = "shap is not installed"
    try:
        import torch
        from captum.attr import IntegratedGradients

        module = net.to_torch()
        inputs, targets = torch.tensor(X), torch.tensor(clusters.astype(np.int64))
        gradients = IntegratedGradients(module)
        seconds = interleaved(
            {"captum": lambda: gradients.attribute(inputs, target=targets, n_steps=10)}, 2 if quick else 10
        )["captum"]
        found["captum_integrated_gradients_times_slower"] = seconds / len(X) / ours
    except ImportError:
        found["captum_integrated_gradients_times_slower"] = "torch or captum is not installed"
    return found


def imports(quick: bool) -> dict[str, Any]:
    def run(module: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    seconds = interleaved({name: run(name) for name in ("sklearn.cluster", "whyclust")}, 1 if quick else 5)
    return {**seconds, "ratio": seconds["whyclust"] / seconds["sklearn.cluster"], "wanted": 1.2}


def table(result: dict[str, Any]) -> str:
    """The same numbers for a person."""
    kernel, peers, machine = result["kernel"], result["peers"], result["machine"]
    lines = [
        f"Measured by `benchmarks/speed.py` on {machine['cores']} cores, Python {machine['python']}, "
        f"numpy {machine['numpy']}, OMP_NUM_THREADS {machine['threads']}, seed {result['seed']}.",
        "",
        "| what | measured | wanted |",
        "|---|---|---|",
    ]
    for row in result["k_means"]:
        threads = "one thread" if row["threads"] == 1 else f"{row['threads']} threads"
        size = f"{row['n']:,} × {row['d']}, K = {row['k']}, {threads}"
        lines.append(f"| k-means relevance, float32, {size} | {row['ratio']:.2f} × the floor | at most 2 × |")
    slower = {name: f"{value:,.0f} × slower" for name, value in peers.items() if not isinstance(value, str)}
    shap, captum = "shap_kernel_times_slower", "captum_integrated_gradients_times_slower"
    rows = [
        (
            "kernel relevance, 500 → 1000 supports a cluster",
            f"{kernel['doubling']:.2f} × the time",
            "at most 2.3 ×",
        ),
        (
            "kernel relevance, 50 supports, against the four layers written out",
            f"{kernel['times_faster']:.0f} × faster",
            "at least 20 ×",
        ),
        ("shap.KernelExplainer, wine, K = 3, 50 background points", slower.get(shap, peers[shap]), ""),
        ("captum's integrated gradients, 10 steps, on `to_torch()`", slower.get(captum, peers[captum]), ""),
        (
            "`import whyclust` against `import sklearn.cluster`",
            f"{result['import']['ratio']:.2f} ×",
            "at most 1.2 ×",
        ),
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    options = arguments(__doc__, "quick out").parse_args()
    result = {
        "machine": {name: value for name, value in machine().items() if name in MACHINE},
        "seed": 0,
        "k_means": k_means(options.quick),
        "kernel": kernel(options.quick),
        "peers": peers(options.quick),
        "import": imports(options.quick),
    }
    print_result(options, "speed", result, table)


if __name__ == "__main__":
    main()
