"""Stage three by block: a clustering, or a surrogate of labels, as a network."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from whyclust import neuralize
from whyclust.blocks.engines import Engine
from whyclust.blocks.explaining import Explainer
from whyclust.blocks.job import Job
from whyclust.blocks.k_means import lloyd, mini_batches
from whyclust.blocks.labelling import (
    LabelledRows,
    block_agreement,
    block_label_counts,
    block_labelled_rows,
    certificate,
    shares_of,
)
from whyclust.blocks.prepared import Prepared
from whyclust.blocks.source import Source
from whyclust.blocks.starting import find_start
from whyclust.columns import TablePlan, preparation
from whyclust.command import choosing_k
from whyclust.command.clusterers import made
from whyclust.command.fitting import check_k, count_labels
from whyclust.command.options import Options
from whyclust.labels.given import read_labels
from whyclust.labels.surrogates import surrogate_pipeline
from whyclust.moments.merging import merge

if TYPE_CHECKING:
    from whyclust.cluster.fidelity import Fidelity
    from whyclust.network.network import Neuralized

Progress = Callable[[str], None]

# Methods that see all rows; others are fitted to drawn ones.
K_MEANS, MINI_BATCH = "kmeans", "minibatch"
# Rows to which others are fitted: kernels compare all pairs of them.
MOST_FITTED = 5_000


@dataclass(frozen=True)
class BlockFit:
    """A clustering of a table in blocks.

    Attributes
    ----------
    network : Neuralized
    k : int
    choice : dict or None
        How k was chosen, if it was.
    fidelity : Fidelity or None
        How well a surrogate reproduces the labels.
    headlines : list of str
    notes : list of str
    told : dict
        What summary.json says of the fit.
    pipeline : Pipeline or None
        The clustering, as it is fitted again for an audit; None for labels, and for a model that there was.
    """

    network: Neuralized
    k: int
    choice: dict[str, Any] | None = None
    fidelity: Fidelity | None = None
    headlines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    pipeline: Any = None


def fit_blocks(
    job: Job,
    source: Source,
    engine: Engine,
    plan: TablePlan,
    sample: pd.DataFrame,
    options: Options,
    progress: Progress,
) -> BlockFit:
    """Cluster all rows, or the drawn ones where a method has no form for blocks.

    Parameters
    ----------
    job : Job
    source : Source
    engine : Engine
    plan : TablePlan
    sample : pandas.DataFrame
        Rows drawn across the blocks.
    options : Options
    progress : callable
    """
    progress("Preparing the columns")
    prepared = Prepared(plan)
    matrix = prepared.of_frame(sample)
    check_k(2 if options.k is None else options.k, matrix, drawn=len(matrix) < source.n_rows)
    k, choice, headlines = options.k, None, []
    if k is None:
        choice = job.once("choice", lambda: _chosen(matrix, options, progress))
        k = int(choice["k"])
        drawn = f" It was chosen on {len(matrix):,} rows, drawn across the table."
        seen = choosing_k.where_drawn(choice)
        headlines.append(f"{choice['sentence']}{drawn if seen else ''}{seen}")
    progress(f"Clustering {source.n_rows} rows into {k} clusters")
    told: dict[str, Any] = {
        "method": options.method,
        "k_chosen_by": choosing_k.TOLD[options.k_by] if choice else "user",
        "seed": options.seed,
    }
    notes = []
    if options.method in (K_MEANS, MINI_BATCH):
        found = _k_means(job, source, engine, prepared, matrix, k, options, progress)
        told |= {key: found[key] for key in ("iterations", "inertia", "settled")}
        model = k_means_of(found["centers"])
        again = refittable(made(options.method, k, options.seed), found["centers"])
        if not found["settled"]:
            notes.append(f"k-means had not settled after {found['iterations']} iterations.")
    else:
        # The drawn rows are in the order of the table.
        order = np.random.default_rng(options.seed).permutation(len(matrix))
        some = matrix[np.sort(order[:MOST_FITTED])]
        model = again = made(options.method, k, options.seed).fit(some)
        if len(some) < source.n_rows:
            notes.append(
                f"--method {options.method} was fitted to {len(some):,} rows, drawn across the table; all "
                f"{source.n_rows:,} rows are assigned and explained by it."
            )
        told["fitted_rows"] = len(some)
    network = neuralize(Pipeline([("prepare", preparation(plan)), ("cluster", model)]))
    pipeline = Pipeline([("prepare", preparation(plan)), ("cluster", again)])
    return BlockFit(network, k, choice, None, headlines, notes, told, pipeline)


def _chosen(matrix: NDArray, options: Options, progress: Progress) -> dict[str, Any]:
    choice = choosing_k.chosen(options.k_by, matrix, options.method, options.seed, progress)
    return {**choice.to_json(), "k": int(choice.k), "sentence": choice.describe()}


def _k_means(
    job: Job,
    source: Source,
    engine: Engine,
    prepared: Prepared,
    sample: NDArray,
    k: int,
    options: Options,
    progress: Progress,
) -> dict[str, Any]:
    blocks, seed = source.blocks, options.seed

    def start() -> dict[str, Any]:
        found = find_start(prepared, sample, k, blocks, engine, job, seed=seed, progress=progress)
        return {"centers": found.centers, "variance": found.variance}

    begun = job.once("start", start)
    if options.method == K_MEANS:
        fitted = lloyd(
            prepared,
            begun["centers"],
            blocks,
            engine,
            variance=begun["variance"],
            job=job,
            progress=progress,
        )
    else:
        fitted = mini_batches(
            prepared, begun["centers"], blocks, engine, seed=seed, job=job, progress=progress
        )
    return {
        "centers": fitted.centers,
        "iterations": fitted.n_iter,
        "inertia": fitted.inertia,
        "settled": fitted.converged,
    }


def k_means_of(centers: NDArray) -> Any:
    """scikit-learn's k-means with these centers."""
    from sklearn.cluster import KMeans

    model = KMeans(len(centers), init=centers, n_init=1, max_iter=1).fit(centers)
    model.cluster_centers_ = centers
    return model


def refittable(model: Any, centers: NDArray) -> Any:
    """A clustering that has these centers, and looks for its own when it is fitted again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few rows
        model.fit(centers)
    model.cluster_centers_ = np.ascontiguousarray(centers)
    return model


def fit_block_labels(
    job: Job,
    source: Source,
    engine: Engine,
    plan: TablePlan,
    options: Options,
    progress: Progress,
) -> BlockFit:
    """Fit a surrogate to drawn rows of every label, and measure it on the others.

    Parameters
    ----------
    job, source, engine, plan, options, progress
        As for `fit_blocks`.
    """
    progress("Preparing the columns")
    name = str(options.labels)
    counts: dict[Any, int] = reduce(
        merge, job.run("label-counts", block_label_counts, source.blocks, name, engine)
    )
    k = count_labels(len(counts), source.n_rows, name)
    columns = [column.name for column in plan.columns]
    labelled = LabelledRows((*columns, name), name, shares_of(counts), options.seed)
    drawn = pd.concat(job.run("labelled", block_labelled_rows, source.blocks, labelled, engine))
    progress("Fitting a surrogate to the given labels")
    given = read_labels(drawn[name], f"column '{name}'")
    pipeline = surrogate_pipeline(preparation(plan), plan.apply(drawn), given, random_state=options.seed)
    network, fitted = neuralize(pipeline), pipeline[-1].fidelity_
    fidelity, headlines = fitted, fitted.sentences()
    if len(drawn) < source.n_rows:
        progress("Fitting a surrogate: other rows")
        explainer = Explainer(network, plan, job.folder, labels=name)
        parts = job.run("agreement", block_agreement, source.blocks, (explainer, labelled), engine)
        others = np.sum(list(parts), axis=0)
        fidelity = certificate(fitted, network.clusters, counts, others)
        agree = float(others[2].sum() / max(others[0].sum(), 1))
        headlines = [
            f"The surrogate that stands for the given labels was fitted to {len(drawn):,} rows, drawn from "
            f"every label. It agrees with {agree:.1%} of the labels of the other {others[0].sum():,} rows.",
            *fidelity.reservations(),
        ]
    told = {
        "method": "given labels",
        "k_chosen_by": "labels",
        "seed": options.seed,
        "fitted_rows": len(drawn),
    }
    return BlockFit(network, k, None, fidelity, headlines, told=told)
