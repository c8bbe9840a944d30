"""How fast whyclust is beside other tools, and beside what nothing can be faster than, in one run.

Seconds for the same question on the same rows and cores, by turns, the best of several; few rows for tools
that take long, scaled up by the number of rows. Ratios mean something, seconds are of this machine. Packages
that are not installed are told as such: ``pip install shap captum cluster-explorer fgclustering``. The last
two need many others (solvers, numba), but not PyTorch: a Python of their own can measure their part alone,
``--sets describing --fresh``, and leaves the others as they are.

- explaining k-means: NEON's closed form, the paper's equations row by row, shap's Kernel and Permutation,
  a random forest with TreeSHAP, captum's integrated gradients on ``to_torch()``, and the limit;
- describing clusters: rules beside cluster-explorer, summaries beside forest-guided clustering;
- clustering where scikit-learn has it, too;
- threads, relevance through layers beside a plain backward pass, and the start of the command line.

Prints JSON, writes ``benchmarks/results/peers.json`` and a page beside it, after each part; parts that are
there are not measured again without ``--fresh``.

    python benchmarks/peers.py --fresh
"""

from __future__ import annotations

import copy
import importlib.metadata
import importlib.util
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import whyclust as wc
from running_parts.files import earlier, machine, write
from running_parts.running import arguments, target_of, tell
from speed import floor, interleaved, prototype_network
from whyclust.network import blocks

Rows = list[dict[str, Any]]
# CPU seconds after which a tool that describes clusters is not called again.
PATIENCE = 30.0


def literal(x: np.ndarray, centers: np.ndarray, beta: float) -> np.ndarray:
    """Eqs. (2) and (4) of NEON for one row, competitor by competitor, as the paper writes them."""
    squares = [float(((x - center) ** 2).sum()) for center in centers]
    c = int(np.argmin(squares))
    others = [k for k in range(len(centers)) if k != c]
    h = {k: squares[k] - squares[c] for k in others}
    f = min(h.values())
    total = sum(np.exp(-beta * (h[k] - f)) for k in others)
    relevance = np.zeros(len(x))
    for k in others:
        share = np.exp(-beta * (h[k] - f)) / total * f
        weight = 2.0 * (centers[c] - centers[k])
        product = (x - (centers[c] + centers[k]) / 2.0) * weight
        relevance += product / product.sum() * share if h[k] else 0.0
    return relevance


def lacking(name: str) -> bool:
    return importlib.util.find_spec(name) is None


def version(name: str) -> str:
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return name


def a_row(call: Callable[[], Any], rows: int, repeats: int = 3) -> float:
    """Seconds a row, the best of several."""
    return interleaved({"one": call}, repeats)["one"] / rows


def explaining(quick: bool) -> Rows:
    """breast cancer, 569 × 30, K = 4: why is each row in its cluster?"""
    X = StandardScaler().fit_transform(load_breast_cancer().data)
    model = KMeans(4, n_init=3, random_state=0).fit(X)
    net = wc.neuralize(model, X)
    clusters, few = net.predict(X), 2 if quick else 20
    ours = a_row(lambda: net.relevance(X, rule="min_take_most"), len(X), 20)
    found: Rows = [{"what": "whyclust, all rows", "seconds": ours}]

    def add(what: str, seconds: float | None) -> None:
        found.append({"what": what, "seconds": seconds})
        tell(f"{what}: {seconds}")

    both = np.abs(
        np.array([literal(x, model.cluster_centers_, net.beta) for x in X[:few]])
        - net.relevance(X[:few], rule="min_take_most").values
    ).max()
    found[0]["difference"] = float(both)
    centers = model.cluster_centers_
    add(
        "NEON's equations, row by row",
        a_row(lambda: [literal(x, centers, net.beta) for x in X[:few]], few),
    )
    one = a_row(lambda: wc.explain(net, X[:1]), 1, 10)
    add("whyclust, one row alone with all checks", one)
    names = ("shap's KernelExplainer", "shap's PermutationExplainer", "forest + TreeSHAP")
    if lacking("shap"):
        for name in names:
            add(name, None)
    else:
        import shap

        background = X[np.random.default_rng(0).choice(len(X), 50, replace=False)]

        def evidence(c: int) -> Callable[[np.ndarray], np.ndarray]:
            return lambda Z: net.evidence(Z, cluster=c)

        def kernel() -> None:
            for row, c in zip(X[:few], clusters[:few], strict=True):
                shap.KernelExplainer(evidence(int(c)), background).shap_values(row[None], silent=True)

        def permutation() -> None:
            for row, c in zip(X[:few], clusters[:few], strict=True):
                shap.explainers.Permutation(evidence(int(c)), background)(row[None], silent=True)

        def forest() -> None:
            trees = RandomForestClassifier(100, random_state=0).fit(X, clusters)
            shap.TreeExplainer(trees).shap_values(X)

        add(f"{names[0]}, 50 background rows", a_row(kernel, few, 1))
        add(f"{names[1]}, 50 background rows", a_row(permutation, few, 1))
        add(f"{names[2]}, fit included", a_row(forest, len(X), 1))
    if lacking("captum") or lacking("torch"):
        add("captum's integrated gradients", None)
    else:
        import torch
        from captum.attr import IntegratedGradients

        gradients = IntegratedGradients(net.to_torch())
        inputs, targets = torch.tensor(X), torch.tensor(clusters.astype(np.int64))
        add(
            "captum's integrated gradients, 50 steps, on to_torch()",
            a_row(lambda: gradients.attribute(inputs, target=targets, n_steps=50), len(X)),
        )
    for row in found:
        row["ratio"] = None if row["seconds"] is None else row["seconds"] / ours
    return found


def limits(quick: bool) -> Rows:
    """Relevance of k-means beside the two products, one read and one write that it cannot do without."""
    found: Rows = []
    sizes = [(100_000, 784, 10), (200_000, 64, 10), (1_000_000, 20, 8)]
    for n, d, k in [(n // 50, d, k) for n, d, k in sizes] if quick else sizes:
        X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
        net, centers = prototype_network(X[:k]), X[:k]
        size = max(blocks._BLOCK_BYTES // ((3 * d + net.folded(X.dtype).width) * X.itemsize), 64)

        def relevance(threads: int, net: Any = net, X: np.ndarray = X) -> None:
            with threadpool_limits(threads):
                net.relevance(X)

        def bare(centers: np.ndarray = centers, X: np.ndarray = X, size: int = size) -> None:
            with threadpool_limits(1):
                floor(X, centers, size)

        def bare_by_two(centers: np.ndarray = centers, X: np.ndarray = X, size: int = size) -> None:
            with threadpool_limits(1), ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda half: floor(half, centers, size), np.array_split(X, 2)))

        calls: dict[str, Any] = {"limit": bare, "one": lambda relevance=relevance: relevance(1)}
        calls["limit by two"] = bare_by_two
        calls["two"] = lambda relevance=relevance: relevance(2)
        seconds = interleaved(calls, 2 if quick else 12)
        found.append(
            {
                "n": n,
                "d": d,
                "k": k,
                **seconds,
                "beside_limit": seconds["one"] / seconds["limit"],
                "two_by_one": seconds["two"] / seconds["one"],
                "limit_two_by_one": seconds["limit by two"] / seconds["limit"],
            }
        )
        tell(str(found[-1]))
    return found


def describing(quick: bool) -> Rows:
    """The same rows and clusters: rules, and which columns drive clusters."""
    import pandas as pd

    data = load_breast_cancer(as_frame=True).data
    data = data.iloc[:150, :6] if quick else data
    X = StandardScaler().fit_transform(data)
    model = KMeans(3, n_init=3, random_state=0).fit(X)
    ex = wc.explain(model, pd.DataFrame(X, columns=data.columns))

    def timed(call: Callable[[], Any]) -> float:
        """CPU seconds, the best of three if they do not take long: the first also imports and compiles."""
        seconds: list[float] = []
        while len(seconds) < (1 if quick else 3) and sum(seconds) < PATIENCE:
            start = time.process_time()
            call()
            seconds.append(time.process_time() - start)
        return min(seconds)

    found: Rows = [
        {
            "what": "whyclust: rules of all clusters",
            "seconds": timed(lambda: [ex.rules(c) for c in range(3)]),
        },
        {
            "what": "whyclust: explanation and summary",
            "seconds": timed(lambda: wc.explain(model, X).summary()),
        },
    ]

    def explorer() -> None:
        from cluster_explorer import Explainer

        Explainer(pd.DataFrame(X, columns=data.columns), pd.Series(model.labels_)).generate_explanations(
            coverage_threshold=0.3, conciseness_threshold=0.33, separation_threshold=0.5
        )

    def guided(n_bootstraps: int) -> None:
        from fgclustering import (
            ClusteringClara,
            DistanceRandomForestProximity,
            forest_guided_clustering,
            forest_guided_feature_importance,
        )

        forest = RandomForestClassifier(100, max_samples=0.8, max_features="sqrt", random_state=0)
        frame = pd.DataFrame(X, columns=data.columns)
        forest.fit(frame, model.labels_)
        clustered = forest_guided_clustering(
            estimator=forest,
            X=frame,
            y=pd.Series(model.labels_),
            clustering_distance_metric=DistanceRandomForestProximity(),
            clustering_strategy=ClusteringClara(sub_sample_size=0.8, random_state=0),
            k=3,
            JI_bootstrap_iter=n_bootstraps,
            random_state=0,
            verbose=0,
        )
        forest_guided_feature_importance(
            X=frame, y=pd.Series(model.labels_), cluster_labels=clustered.cluster_labels[3], verbose=0
        )

    # The package's own choice is 100; clusters and importances are the same with one.
    many = 5 if quick else 100
    for package, module, more, call in (
        ("cluster-explorer", "cluster_explorer", "", explorer),
        ("fgclustering", "fgclustering", ", one bootstrap", lambda: guided(1)),
        ("fgclustering", "fgclustering", f", {many} bootstraps", lambda: guided(many)),
    ):
        row: dict[str, Any] = {"what": f"{version(package)}{more}", "seconds": None}
        if not lacking(module):
            try:
                row["seconds"] = timed(call)
            except Exception as error:  # another package's own trouble is a result, too
                row["trouble"] = f"{type(error).__name__}: {error}"[:200]
        found.append(row)
        tell(str(row))
    return found


def clusterings(quick: bool) -> Rows:
    """Where scikit-learn has the same: a spherical mixture, and a forest that learns labels."""
    from sklearn.mixture import GaussianMixture

    from whyclust.cluster import PrototypeSurrogate, SoftKMeans

    random = np.random.default_rng(0)
    n = 500 if quick else 5000
    X = random.normal(size=(n, 20)) + 4 * random.normal(size=(6, 20))[random.integers(6, size=n)]
    labels = KMeans(6, n_init=1, random_state=0).fit(X).labels_
    pairs: list[tuple[str, str, Callable[[], Any], Callable[[], Any]]] = [
        (
            "SoftKMeans, one start",
            "GaussianMixture(spherical), one start",
            lambda: SoftKMeans(6, n_init=1, random_state=0).fit(X),
            lambda: GaussianMixture(6, covariance_type="spherical", random_state=0).fit(X),
        ),
        (
            "PrototypeSurrogate of labels",
            "RandomForestClassifier(100), out-of-bag score",
            lambda: PrototypeSurrogate(random_state=0).fit(X, labels),
            lambda: RandomForestClassifier(100, oob_score=True, random_state=0).fit(X, labels),
        ),
    ]
    found: Rows = []
    for ours, theirs, one, other in pairs:
        seconds = interleaved({"whyclust": one, "scikit-learn": other}, 1 if quick else 3)
        ratio = seconds["whyclust"] / seconds["scikit-learn"]
        found.append({"ours": ours, "theirs": theirs, **seconds, "ratio": ratio})
        tell(str(found[-1]))
    return found


def backward(quick: bool) -> dict[str, Any]:
    """Relevance through an encoder beside a plain backward pass of the same network and rows.

    A plain pass makes three matrix products a layer: outputs, slopes along inputs, slopes along weights; two
    where weights have none. LRP-γ makes four for numbers of either sign (z = a·w and |a|·|w| up, and both
    back), three between ReLUs, and one more in the first layer, which sees differences from the mean. By
    products alone relevance takes `at_least` times the pass here; the rest is done number by number.
    """
    if lacking("torch"):
        return {}
    import torch

    from whyclust.deep import AutoencoderKMeans

    random = np.random.default_rng(0)
    X = random.normal(size=(512 if quick else 4096, 784)).astype(np.float32)
    model: Any = AutoencoderKMeans(10, hidden=(500, 500, 2000), epochs=0, random_state=0, verbose=None).fit(X)
    net = wc.neuralize(model, X[:256])
    encoder = model.model_.encoder
    inputs = torch.from_numpy(X)

    def passing(module: Any) -> Callable[[], None]:
        def run() -> None:
            for part in inputs.split(1024):
                x = part.clone().requires_grad_(True)
                module(x).square().sum().backward()

        return run

    frozen = copy.deepcopy(encoder).requires_grad_(False)
    calls = {"plain": passing(encoder), "inputs_only": passing(frozen), "relevance": lambda: net.relevance(X)}
    with threadpool_limits(1):
        torch.set_num_threads(1)
        seconds = interleaved(calls, 2 if quick else 8)
    # The last layer is in the head.
    sizes = [layer.weight.numel() for layer in encoder if isinstance(layer, torch.nn.Linear)][:-1]
    products = 4 * sum(sizes) + sizes[0]
    return {
        **seconds,
        "ratio": seconds["relevance"] / seconds["plain"],
        "at_least": products / (3 * sum(sizes)),
        "wanted": 2.5,
        "ratio_inputs_only": seconds["relevance"] / seconds["inputs_only"],
        "at_least_inputs_only": products / (2 * sum(sizes)),
    }


def starting(quick: bool) -> dict[str, Any]:
    """The command line's start beside the imports that any such tool needs."""

    def run(*words: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, *words], check=True, capture_output=True)

    seconds = interleaved(
        {
            "imports": run("-c", "import sklearn.cluster, pandas"),
            "version": run("-m", "whyclust.command.cli", "--version"),
            "help": run("-m", "whyclust.command.cli", "explain", "--help"),
        },
        1 if quick else 5,
    )
    return {**seconds, "ratio": max(seconds["version"], seconds["help"]) / seconds["imports"], "wanted": 1.5}


PARTS: dict[str, Callable[[bool], Any]] = {
    part.__name__: part for part in (explaining, limits, describing, clusterings, backward, starting)
}


def told(value: float | None, form: str = ",.1f") -> str:
    return "not installed" if value is None else format(value, form)


def page(result: dict[str, Any]) -> str:
    machine = result["machine"]
    lines = [
        "# Beside other tools",
        "",
        f"Measured by `benchmarks/peers.py` on {machine['cores']} cores, Python {machine['python']}, sides "
        "by turns, the best of several rounds.",
    ]
    for name, told_of in SECTIONS.items():
        if result.get(name):
            lines += ["", *told_of(result[name])]
    lines += [
        "",
        "Deep clustering beside ClustPy, the same network and epochs: [ace_peers.md](ace_peers.md).",
    ]
    return "\n".join(lines) + "\n"


def of_explaining(rows: Rows) -> list[str]:
    lines = [
        "## Explaining k-means (breast cancer, 569 × 30, four clusters)",
        "",
        "| what | times whyclust's time a row | microseconds a row |",
        "|---|---|---|",
    ]
    for row in rows:
        seconds = None if row["seconds"] is None else 1e6 * row["seconds"]
        lines.append(f"| {row['what']} | {told(row['ratio'])} | {told(seconds)} |")
    return [
        *lines,
        "",
        f"The closed form and the equations row by row differ by {rows[0]['difference']:.1e} at most.",
    ]


def of_limits(rows: Rows) -> list[str]:
    lines = [
        "## The limit: two matrix products, one read, one write; and two threads",
        "",
        "| rows × columns, clusters | beside the limit, one thread | two threads by one (wanted 0.6) | the "
        "limit by two threads by one |",
        "|---|---|---|---|",
    ]
    for row in rows:
        size = f"{row['n']:,} × {row['d']}, {row['k']}"
        bare = f"{row['limit_two_by_one']:.2f}" if "limit_two_by_one" in row else "–"
        lines.append(f"| {size} | {row['beside_limit']:.2f} | {row['two_by_one']:.2f} | {bare} |")
    return lines


def of_describing(rows: Rows) -> list[str]:
    lines = [
        "## Describing clusters (the same table, three clusters)",
        "",
        "| what | CPU seconds |",
        "|---|---|",
    ]
    for row in rows:
        lines.append(f"| {row['what']} | {row.get('trouble') or told(row['seconds'], '.2f')} |")
    return [
        *lines,
        "",
        "One thread. cluster-explorer looks for rules. fgclustering fits a forest to the clusters, groups "
        "rows by it, compares columns, and sees by bootstraps whether groups are stable (100 by default). "
        f"What takes more than {PATIENCE:.0f} seconds was called once.",
    ]


def of_clusterings(rows: Rows) -> list[str]:
    return [
        "## Clusterings beside scikit-learn's",
        "",
        "| whyclust | scikit-learn | times its time |",
        "|---|---|---|",
        *(f"| {row['ours']} | {row['theirs']} | {row['ratio']:.2f} |" for row in rows),
    ]


def of_backward(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Layers",
        "",
        "| what | times | by matrix products alone | wanted at most |",
        "|---|---|---|---|",
        "| relevance through 784–500–500–2000–10, beside a plain backward pass | "
        f"{found['ratio']:.2f} | {_known(found, 'at_least')} | {found['wanted']} |",
    ]
    if "ratio_inputs_only" in found:
        lines.append(
            "| the same, beside a pass that leaves out the slopes along weights | "
            f"{found['ratio_inputs_only']:.2f} | {_known(found, 'at_least_inputs_only')} | |"
        )
    return lines


def _known(found: dict[str, Any], name: str) -> str:
    """A number that earlier runs did not write."""
    return f"{found[name]:.2f}" if name in found else ""


def of_starting(found: dict[str, Any]) -> list[str]:
    return [
        "## Start",
        "",
        "| what | times | wanted at most |",
        "|---|---|---|",
        "| start of the command line, beside `import sklearn.cluster, pandas` | "
        f"{found['ratio']:.2f} | {found['wanted']} |",
    ]


SECTIONS: dict[str, Callable[[Any], list[str]]] = {
    "explaining": of_explaining,
    "limits": of_limits,
    "describing": of_describing,
    "clusterings": of_clusterings,
    "backward": of_backward,
    "starting": of_starting,
}


def main() -> None:
    options = arguments(
        __doc__ or "", "quick fresh sets out", sets=f"only these: {', '.join(PARTS)}"
    ).parse_args()
    wanted = options.sets.split(",") if options.sets else list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        raise SystemExit(f"there is no part {unknown[0]!r}: expected {', '.join(PARTS)}.")
    warnings.simplefilter("ignore")
    target = target_of(options, "peers")
    before = earlier(target, options.quick)
    # Parts may be measured by several Pythons.
    machines = before.get("machines", {})
    kept = [name for name in PARTS if name in before and not (options.fresh and name in wanted)]
    found = {name: before[name] for name in kept}
    while True:
        result = {"machine": before.get("machine", machine()) if kept else machine(), "quick": options.quick}
        result |= {"machines": machines} | {name: found[name] for name in PARTS if name in found}
        text = write(result, target, page)
        left = [name for name in wanted if name not in found]
        if not left:
            break
        found[left[0]] = PARTS[left[0]](options.quick)
        machines[left[0]] = machine()
    print(text)


if __name__ == "__main__":
    main()
