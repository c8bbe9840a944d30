"""The main job of the command line: a table in, its clusters explained."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.pipeline import Pipeline

from whyclust import neuralize
from whyclust._explain import explain_rows
from whyclust._validation import read_table as read_rows
from whyclust.cluster import KernelKMeans, SoftKMeans
from whyclust.cluster.elbow import inertia_curve
from whyclust.given_labels import read_labels
from whyclust.report import versions
from whyclust.surrogates import surrogate_pipeline
from whyclust.tables import Table, plan_table, preparation, unknown_column

if TYPE_CHECKING:
    from whyclust.auditing import Audit
    from whyclust.cluster.elbow import Elbow
    from whyclust.explanation import Explanation
    from whyclust.network.network import Neuralized

METHODS = ("kmeans", "kernel", "soft")
# A column with more labels than this was named by mistake.
MAX_LABELS = 100


@dataclass(frozen=True)
class Result:
    """Everything the job has found, nothing of it written yet.

    Attributes
    ----------
    explanation : Explanation
    network : Neuralized
        The network of the clustering, from the columns of the table to the evidence.
    clusters : pandas.DataFrame
        One line per row: id, cluster, evidence, competitor (and what the surrogate of given labels says).
    elbow : Elbow or None
        The curve from which k was chosen, if it was.
    notes : list of str
    headlines : list of str
        What a reader should know before anything else: how well the surrogate agrees with given
        labels, which k was chosen.
    computed : dict
        How it was computed: options, versions, sizes.
    audit : Audit or None
        Whether the explanations can be trusted, where that was asked.
    """

    explanation: Explanation
    network: Neuralized
    clusters: pd.DataFrame
    elbow: Elbow | None
    notes: list[str]
    headlines: list[str]
    computed: dict[str, Any]
    audit: Audit | None = None


def explain_table(
    table: Table,
    *,
    k: int | None = None,
    method: str = "kmeans",
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    id_column: str | None = None,
    labels: str | None = None,
    seed: int = 0,
    audit: bool = False,
    progress: Callable[[str], None] = lambda message: None,
) -> Result:
    """Prepare, cluster and explain a table.

    Parameters
    ----------
    table : Table
        What `whyclust.tables.read_table` returned.
    k : int, optional
        Number of clusters; chosen at the elbow of the k-means inertia when not given.
    method : {"kmeans", "kernel", "soft"}
        k-means, kernel k-means or soft k-means.
    columns, drop : sequence of str
        Columns to use (all by default) and to leave out.
    id_column : str, optional
        The column that names the rows; it is no feature.
    labels : str, optional
        The column that holds the clusters, -1 for noise; it is no feature. A surrogate is fitted to the
        labels, and every row is explained for the label given.
    seed : int
        Seed of everything random.
    audit : bool
        Whether to measure how faithful and how stable the explanations are.
    progress : callable
        Called with a short text at every step.

    Returns
    -------
    Result

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from whyclust.tables import Table
    >>> result = explain_table(Table(load_iris(as_frame=True).data), k=3)
    >>> result.clusters.columns.tolist()
    ['row', 'cluster', 'evidence', 'competitor']
    """
    if method not in METHODS:
        raise ValueError(f"there is no method '{method}': use one of {', '.join(METHODS)}.")
    frame, aside = table.frame, list(table.aside)
    for name in (id_column, labels):
        if name is not None and name not in frame.columns:
            raise ValueError(unknown_column(name, frame.columns))
    columns, drop = _names(columns, frame), _names(drop, frame)
    overlap = [name for name in (id_column, labels) if name is not None and name in columns]
    if overlap:
        raise ValueError(
            f"column '{overlap[0]}' is asked for as a feature and as the id or the labels: "
            "take it out of one of them."
        )
    notes = list(table.notes)
    if labels is not None:
        unlabelled = frame[labels].isna()
        if unlabelled.any():
            frame = frame[~unlabelled]
            notes.append(f"{int(unlabelled.sum())} rows without a label were left out.")
    if len(frame) < 2:
        raise ValueError(f"found {len(frame)} row(s) to cluster, expected at least two.")
    aside += [name for name in (id_column, labels) if name is not None]
    plan = plan_table(frame, columns=columns or None, drop=drop, aside=aside)
    notes += plan.notes
    if id_column is None and plan.identifiers:
        notes.append(_identifier_note(plan.identifiers))
    ids, row_names, id_name = _ids(frame, id_column, notes)
    features = plan.apply(frame).set_axis(row_names, axis=0)
    elbow = given = fidelity = None
    headlines: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        progress("Preparing the columns")
        prepared = preparation(plan)
        if labels is not None:
            given = read_labels(frame[labels], f"column '{labels}'")
            k = _count_labels(given, labels)
            progress("Fitting a surrogate to the given labels")
            pipeline = surrogate_pipeline(prepared, features, given, random_state=seed)
            network = neuralize(pipeline)
            fidelity = pipeline[-1].fidelity_
            headlines += fidelity.sentences()
        else:
            matrix = np.asarray(prepared.transform(features), dtype=float)
            _check_k(k or 2, matrix)
            if k is None:
                elbow = inertia_curve(
                    matrix,
                    random_state=seed,
                    progress=lambda tried: progress(f"Choosing k: trying {tried}"),
                )
                k = elbow.k
                headlines.append(f"k = {k}, at the elbow of the inertia; the curve is in the report.")
            progress(f"Clustering {len(features)} rows into {k} clusters")
            model = _model(method, k, seed).fit(matrix)
            pipeline = Pipeline([("prepare", prepared), ("cluster", model)])
            network = neuralize(pipeline, features)
        progress("Explaining every row")
        explanation = explain_rows(
            network,
            read_rows(features),
            given=given,
            fidelity=fidelity,
            source=labels and f"column '{labels}'",
        )
        audited = _audit(explanation, network, pipeline, features, seed, progress) if audit else None
    notes += list(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))
    clusters = pd.DataFrame(
        {
            id_name: ids,
            "cluster": explanation.clusters,
            "evidence": explanation.evidence,
            "competitor": explanation.competitors,
        }
    )
    if given is not None:
        clusters["surrogate"] = explanation.assigned
        clusters["disagrees"] = explanation.disagrees
    computed = {
        "method": "given labels" if labels is not None else method,
        "k": int(k),
        "k_chosen_by": "labels" if labels is not None else "elbow" if elbow else "user",
        "seed": seed,
        "n_rows": len(features),
        "columns": {"numeric": plan.numeric, "categorical": plan.categorical},
        "dropped": plan.dropped,
        "missing": plan.missing,
        "id_column": id_column,
        "labels": labels,
        "fidelity": None if fidelity is None else {**fidelity.to_json(), "noise": fidelity.noise},
        "disagreeing_rows": None if given is None else int(explanation.disagrees.sum()),
        "beta": float(explanation.beta),
        "rule": explanation.rule,
        "notes": [*headlines, *notes],
        "elbow": elbow.to_json() if elbow else None,
        "audit": audited and {"trusted": audited.trusted, "verdict": audited.verdict},
        "versions": versions(),
    }
    return Result(explanation, network, clusters, elbow, notes, headlines, computed, audited)


def _audit(
    explanation: Explanation,
    network: Neuralized,
    pipeline: Pipeline,
    features: pd.DataFrame,
    seed: int,
    progress: Callable[[str], None],
) -> Audit:
    """Audit what has been explained, without clustering it or fitting a surrogate once more."""
    from whyclust.auditing.run import audit_subject
    from whyclust.auditing.subject import Subject, labels_alone

    given = explanation.given
    subject = Subject(
        net=network,
        table=read_rows(features),
        model=pipeline if given is None else None,
        fixed=None if given is None else labels_alone(None),
        given=given,
        as_given=given is not None,
        fidelity=explanation.fidelity,
        source=explanation.details["labels"],
    )
    return audit_subject(subject, random_state=seed, progress=progress)


def _names(entries: Iterable[str], frame: pd.DataFrame) -> list[str]:
    """Cut 'a,b' at its commas, unless a column has just that name."""
    names: list[str] = []
    for entry in entries:
        parts = [entry] if entry in frame.columns else [part.strip() for part in entry.split(",")]
        names += [part for part in parts if part]
    return names


def _ids(frame: pd.DataFrame, id_column: str | None, notes: list[str]) -> tuple[list[Any], list[Any], str]:
    """Name the rows: by a column, else by their number in the file, counted from 1.

    Returns the ids, names that also tell rows of the same id apart, and what the ids are called.
    """
    numbers = [int(position) + 1 for position in range(len(frame))]
    if not isinstance(frame.index, pd.RangeIndex):
        # Rows were left out; the others keep the numbers they have in the file.
        numbers = [int(label) + 1 for label in frame.index]
    if id_column is None:
        return numbers, numbers, "row"
    column = frame[id_column]
    ids = [
        f"row {number}" if missing else value if isinstance(value, Hashable) else str(value)
        for value, missing, number in zip(column, column.isna(), numbers, strict=True)
    ]
    row_names = ids
    n_repeated = len(ids) - len(set(ids))
    if n_repeated:
        often = Counter(ids)
        row_names = [
            f"{value} (row {number})" if often[value] > 1 else str(value)
            for value, number in zip(ids, numbers, strict=True)
        ]
        notes.append(f"Column '{id_column}' does not tell all rows apart: {n_repeated} ids repeat.")
    # The results have columns of their own, which no id may displace.
    taken = {"cluster", "evidence", "competitor", "surrogate", "disagrees"}
    return ids, row_names, "id" if id_column in taken else id_column


def _check_k(k: int, matrix: np.ndarray) -> None:
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
            f"found k = {k} but only {n_distinct} distinct rows: use a k below {n_distinct}, or more columns."
        )


def _model(method: str, k: int, seed: int) -> Any:
    if method == "kmeans":
        return KMeans(n_clusters=k, n_init=10, random_state=seed)
    if method == "soft":
        return SoftKMeans(n_clusters=k, random_state=seed)
    return KernelKMeans(n_clusters=k, random_state=seed)


def _count_labels(given: np.ndarray, name: str) -> int:
    n_labels = len(np.unique(given))
    if n_labels > MAX_LABELS:
        raise ValueError(
            f"column '{name}' holds {n_labels} different values in {len(given)} rows, expected "
            f"clusters (at most {MAX_LABELS} labels): choose another column."
        )
    return n_labels


def _identifier_note(names: list[str]) -> str:
    one = f"Column '{names[0]}'" if len(names) == 1 else f"A column such as '{names[0]}'"
    return (
        f"{one} can name the rows: --id-column '{names[0]}'. It is used as a feature only if it is "
        "named in --columns."
    )
