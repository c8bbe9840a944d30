"""Stage three: a clustering of the planned columns, as a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from whyclust import neuralize
from whyclust._checks import counted
from whyclust._threads import one_thread_if_small
from whyclust.cluster.structure import few_rows, outlier_clusters
from whyclust.columns import TablePlan, preparation
from whyclust.command import choosing_k
from whyclust.command.clusterers import made
from whyclust.command.options import Options
from whyclust.labels.given import read_labels
from whyclust.labels.surrogates import surrogate_pipeline

if TYPE_CHECKING:
    from whyclust.cluster import ChosenK
    from whyclust.cluster.elbow import Elbow
    from whyclust.cluster.fidelity import Fidelity
    from whyclust.network.network import Neuralized

# A column with more labels than this was named by mistake.
MAX_LABELS = 100
# Rows that are prepared at a time.
_PART_ROWS = 50_000


@dataclass(frozen=True)
class Fit:
    """A clustering of the columns of a table.

    Attributes
    ----------
    pipeline : Pipeline
        Preparation and clustering.
    network : Neuralized
        From the columns of the table to the evidence, with its β.
    k : int
    choice : ChosenK, Elbow or None
        How k was chosen, if it was.
    given : ndarray or None
        The labels of the rows, if they were given.
    fidelity : Fidelity or None
        How well the surrogate reproduces them.
    headlines : list of str
    """

    pipeline: Pipeline
    network: Neuralized
    k: int
    choice: ChosenK | Elbow | None = None
    given: NDArray | None = None
    fidelity: Fidelity | None = None
    headlines: list[str] = field(default_factory=list)


def fit_clusters(
    plan: TablePlan, features: pd.DataFrame, options: Options, progress: Callable[[str], None]
) -> Fit:
    """Cluster the rows, choosing k where none was given.

    Parameters
    ----------
    plan : TablePlan
    features : pandas.DataFrame
        What `plan.apply` made of the rows.
    options : Options
    progress : callable
        Called with a short text at every step.
    """
    progress("Preparing the columns")
    prepared = preparation(plan)
    matrix = _transformed(prepared, features)
    check_k(2 if options.k is None else options.k, matrix)
    k, choice, headlines = options.k, None, []
    if k is None:
        choice = choosing_k.chosen(options.k_by, matrix, options.method, options.seed, progress)
        k = choice.k
        headlines.append(f"{choice.describe()}{choosing_k.where_drawn(choice.to_json())}")
    progress(f"Clustering {len(features)} rows into {k} clusters")
    with one_thread_if_small(matrix):
        model = made(options.method, k, options.seed).fit(matrix)
        labels = model.labels_ if hasattr(model, "labels_") else model.predict(matrix)
    headlines += _on_outliers(matrix, np.asarray(labels))
    pipeline = Pipeline([("prepare", prepared), ("cluster", model)])
    return Fit(pipeline, neuralize(pipeline, features), int(k), choice, headlines=headlines)


def _transformed(prepared: Any, features: pd.DataFrame) -> np.ndarray:
    """What the preparation makes of all rows, part by part: its steps copy what they are given."""
    matrix = None
    for start in range(0, len(features), _PART_ROWS):
        part = np.asarray(prepared.transform(features.iloc[start : start + _PART_ROWS]), dtype=float)
        if matrix is None:
            matrix = np.empty((len(features), part.shape[1]))
        matrix[start : start + _PART_ROWS] = part
    return np.empty((0, 0)) if matrix is None else matrix


def _on_outliers(matrix: np.ndarray, labels: np.ndarray) -> list[str]:
    """Clusters of a few rows far from all others are named before anybody takes them for findings."""
    sizes = np.bincount(labels)
    found = outlier_clusters(matrix, labels, few_rows(sizes))
    if not found:
        return []
    told = ", ".join(f"{one} ({counted(int(sizes[one]), 'row')})" for one in found)
    which = f"Cluster {told} is" if len(found) == 1 else f"Clusters {told} are"
    return [
        f"{which} far from all others: outliers and no finding. Look at these rows, leave them out, or use "
        "--scale robust."
    ]


def fit_labels(
    plan: TablePlan,
    features: pd.DataFrame,
    labels: pd.Series,
    options: Options,
    progress: Callable[[str], None],
) -> Fit:
    """Fit a surrogate to the labels of the rows.

    Parameters
    ----------
    plan, features, options, progress
        As for `fit_clusters`.
    labels : pandas.Series
        Of the same rows.
    """
    progress("Preparing the columns")
    given = read_labels(labels, f"column '{options.labels}'")
    k = count_labels(len(np.unique(given)), len(given), str(options.labels))
    progress("Fitting a surrogate to the given labels")
    pipeline = surrogate_pipeline(preparation(plan), features, given, random_state=options.seed)
    fidelity = pipeline[-1].fidelity_
    return Fit(
        pipeline,
        neuralize(pipeline),
        k,
        given=given,
        fidelity=fidelity,
        headlines=fidelity.sentences(),
    )


def check_k(k: int, matrix: np.ndarray, *, drawn: bool = False) -> None:
    """Refuse so many clusters of these rows; `drawn` from a larger table, if they are."""
    if k < 2:
        raise ValueError(f"found k = {k}, expected at least 2: one cluster leaves nothing to explain.")
    # The first rows nearly always settle it; only else are all rows compared.
    head = matrix[: 10 * k + 1000]
    n_distinct = len(np.unique(head, axis=0))
    if n_distinct <= k and len(head) < len(matrix):
        n_distinct = len(np.unique(matrix, axis=0))
    if n_distinct < 3:
        raise ValueError(
            f"found {n_distinct} distinct rows, which are too few to cluster: at least 3 are needed, "
            "so use more rows or columns."
        )
    if n_distinct <= k:
        raise ValueError(
            f"found k = {k} but only {n_distinct} distinct rows"
            f"{' among those drawn from the table, in which clusters begin' if drawn else ''}: use a k below "
            f"{n_distinct}, or more columns."
        )


def count_labels(n_labels: int, n_rows: int, name: str) -> int:
    """Refuse so many labels as clusters, or return how many there are."""
    if n_labels > MAX_LABELS:
        raise ValueError(
            f"column '{name}' holds {n_labels} different values in {n_rows} rows, expected "
            f"clusters (at most {MAX_LABELS} labels): choose another column."
        )
    return n_labels
