"""The whole job, stage by stage."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from numpy.typing import NDArray

from whyclust.command import choosing_k
from whyclust.command.clusterers import check
from whyclust.command.fitting import Fit, fit_clusters, fit_labels
from whyclust.command.options import Options
from whyclust.command.reading import plan_rows, read_rows
from whyclust.command.result import Result, gather
from whyclust.explaining.rows import explain_rows
from whyclust.inputs.reading import read_input

if TYPE_CHECKING:
    from whyclust.auditing import Audit
    from whyclust.explaining.explanation import Explanation
    from whyclust.tables import Table


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
    k_by: str = "apart",
    scale: str = "auto",
    names: Mapping[Any, str] | None = None,
    audit: bool = False,
    progress: Callable[[str], None] = lambda message: None,
) -> Result:
    """Prepare, cluster and explain a table.

    Parameters
    ----------
    table : Table
        What `whyclust.tables.read_table` returned.
    k : int, optional
        Number of clusters; chosen when not given.
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
    k_by : {"apart", "elbow"}
        How k is chosen: the most clusters that stand apart, or the elbow of the k-means inertia.
    scale : {"auto", "standard", "robust", "rank", "none"}
        How numbers are scaled.
    names : mapping of clusters to names, optional
        What to call clusters, beside their ids; for the others a name is proposed.
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
    ['row', 'cluster', 'cluster_name', 'evidence', 'competitor']
    """
    check(method)
    choosing_k.check(k_by)
    options = Options(k, method, tuple(columns), tuple(drop), id_column, labels, seed, k_by, scale)
    rows = read_rows(table, options)
    plan = plan_rows(rows)
    features = plan.apply(rows.frame).set_axis(rows.names.distinct, axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if labels is None:
            fit = fit_clusters(plan, features, rows.options, progress)
        else:
            fit = fit_labels(plan, features, rows.frame[labels], rows.options, progress)
        progress("Explaining every row")
        explanation = explain_part(fit, features, fit.given, options.source).with_names(names or {})
        audited = _audit(explanation, fit, features, seed, progress) if audit else None
    told = list(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))
    return gather(rows, plan, fit, explanation, audited, told)


def explain_part(
    fit: Fit, features: pd.DataFrame, given: NDArray | None = None, source: str | None = None
) -> Explanation:
    """Stage four: explain all rows or a part of them.

    A row has the same explanation in any part, because β belongs to the network.

    Parameters
    ----------
    fit : Fit
    features : pandas.DataFrame
        What the plan's `apply` made of these rows.
    given : ndarray, optional
        The labels given for these rows.
    source : str, optional
        Where the labels are from.
    """
    return explain_rows(fit.network, read_input(features), given=given, fidelity=fit.fidelity, source=source)


def _audit(
    explanation: Explanation,
    fit: Fit,
    features: pd.DataFrame,
    seed: int,
    progress: Callable[[str], None],
) -> Audit:
    """Audit what has been explained, without clustering it or fitting a surrogate once more."""
    from whyclust.auditing.run import audit_subject
    from whyclust.auditing.subject import Subject, labels_alone
    from whyclust.cluster import ChosenK

    given = explanation.given
    subject = Subject(
        net=fit.network,
        table=read_input(features),
        model=fit.pipeline if given is None else None,
        fixed=None if given is None else labels_alone(None),
        given=given,
        as_given=given is not None,
        fidelity=explanation.fidelity,
        source=explanation.provenance.labels,
        chosen=fit.choice if isinstance(fit.choice, ChosenK) else None,
    )
    return audit_subject(subject, random_state=seed, progress=progress)
