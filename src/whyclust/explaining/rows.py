"""Rows of a table, explained by a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whyclust._clusters import cluster_meant
from whyclust._frames import in_rows_of
from whyclust.cluster.fidelity import Fidelity
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.grouping import given_names, grouped_data, grouping_of
from whyclust.explaining.naming import read_cluster_names
from whyclust.explaining.origin import Origin
from whyclust.explaining.reaching import reach
from whyclust.explaining.records import Provenance, Question
from whyclust.inputs.kind import TABLE
from whyclust.inputs.reading import InputTable
from whyclust.network import Neuralized
from whyclust.network.apart import relevance_apart

if TYPE_CHECKING:
    from whyclust.perturbing.subject import Prepared

# Columns that a note names.
_NAMED = 5


def explain_rows(
    net: Neuralized,
    table: InputTable,
    *,
    cluster: ArrayLike | None = None,
    against: ArrayLike | None = None,
    rule: str | None = None,
    groups: Mapping[str, Sequence[Any]] | None = None,
    feature_names: Sequence[str] | None = None,
    names: Mapping[Any, str] | None = None,
    given: NDArray | None = None,
    fidelity: Fidelity | None = None,
    source: str | None = None,
    method: str = "neon",
    options: Mapping[str, Any] | None = None,
    prepared: Prepared | None = None,
    model: Any = None,
) -> Explanation:
    """Explain the rows of a table by a network; for `given` labels if there are any.

    `prepared` holds the rows, and the data they come from, for a method that is not NEON. `model` is the
    clustering where it shows more than the network, for further questions.
    """
    origin = Origin(
        net,
        table,
        {
            "groups": groups,
            "feature_names": feature_names,
            "given": given,
            "fidelity": fidelity,
            "source": source,
            "method": method,
            "options": options,
            "model": model,
        },
        None if prepared is None else prepared.known or prepared.table,
    )
    table = net.match(table)
    if prepared is not None:
        net = prepared.net
    cluster_names = {**net.cluster_names, **read_cluster_names(names, net.clusters.tolist())}
    columns = column_names(net, table)
    if feature_names is not None:
        columns = given_names(feature_names, table.shape[1], columns)
    grouping, grouped_names = (None, columns) if groups is None else grouping_of(groups, columns, table)
    cluster = in_rows_of(cluster, table.row_labels, "cluster")
    against = in_rows_of(against, table.row_labels, "against")
    cluster, against = (_as_known(one, net.clusters.tolist()) for one in (cluster, against))
    question = Question.of(cluster, against, given=given is not None, threshold=net.pool.threshold)
    if question.about == "given":
        cluster = given
    found, parts = relevance_apart(net, table, cluster=cluster, against=against, rule=rule, groups=grouping)
    has_noise = net.head.noise is not None
    if prepared is not None:
        found = reach("answer")(method, options or {}, parts, prepared, found, against, grouping)
    kind = net.kind if table.kind == TABLE else table.kind
    return Explanation(
        values=found.values,
        base_values=found.base_values,
        explained=found.explained,
        evidence=found.evidence,
        clusters=found.clusters,
        assigned=found.assigned,
        competitors=found.competitors,
        feature_names=grouped_names,
        data=table.data if grouping is None else grouped_data(table, grouping, len(grouped_names)),
        index=np.arange(table.shape[0]) if table.index is None else table.index,
        beta=net.beta,
        rule=found.rule,
        question=question,
        provenance=Provenance(
            method=method,
            model=net.model,
            labels=source,
            head=net.head.name,
            pool=net.pool.name,
            n_clusters=int(net.head.n_clusters) - has_noise,
            # A network loaded from a file has no fidelity, but knows what noise is.
            noise=net.clusters[-1].item() if has_noise else None,
            propagation=None if net.features.trunk is None else net.features.trunk.told,
            measures=None if prepared is None else reach("find")(method).measures,
        ),
        kind=kind if groups is None else TABLE,
        given=given,
        fidelity=fidelity,
        origin=origin,
        names=cluster_names,
        rivalry=found.rivalry,
        notes=[*table.notes, *(_said(columns, places, told) for places, told in found.notes)],
        errors=found.errors,
    )


def _as_known(asked: Any, clusters: list[Any]) -> Any:
    """One cluster as the network calls it; what it does not know is refused where it is read."""
    meant = None if asked is None else cluster_meant(asked, clusters)
    return asked if meant is None else meant


def _said(columns: list[str], places: tuple[int, ...], told: str) -> str:
    """What is to be said of some columns, the first of which are named."""
    more = len(places) - _NAMED
    listed = ", ".join(columns[place] for place in places[:_NAMED])
    return f"{listed}{f' and {more} more' if more > 0 else ''}: {told}"


def column_names(net: Neuralized, table: InputTable) -> list[str]:
    """What columns are called: by the model, by the table, or by the kind of its rows."""
    if net.named or (table.names is None and table.kind.names(table.shape[1]) is None):
        return list(net.feature_names)
    return table.names or table.kind.names(table.shape[1]) or []
