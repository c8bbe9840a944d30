"""Gates as explanations, and how they compare with relevance (IDC)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from whyclust.explaining.explain import explain
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.origin import prepared_rows
from whyclust.explaining.records import Question
from whyclust.explaining.rows import explain_rows
from whyclust.inputs.reading import numeric, read_input
from whyclust.network import Features, Neuralized
from whyclust.network.neuralizing import network_for
from whyclust.perturbing.encoded import as_rows

# Of a row's open columns, the most relevant share that is taken away to see whether gates follow.
_REMOVED = 0.1
# What the gates of clusters are in a sentence: a classifier learned them, so they are no evidence.
_OF_CLUSTERS = "gate of the cluster"
# Columns are counted until they hold this share of a row's relevance.
_MOST = 0.9


@dataclass(frozen=True, repr=False)
class GatesAndRelevance:
    """What gates say of rows beside what relevance says.

    Attributes
    ----------
    gates : Explanation
        ``explain(model, X, method="gates")``.
    relevance : Explanation
        ``explain(model, X)``.
    correlation : ndarray of shape (n_rows,)
        Rank correlation of gates and absolute relevance among the columns of a row that are open (all others
        have no relevance); NaN where fewer than two are open, or all equally: such gates say which columns
        count, and not how much.
    n_open : ndarray of int of shape (n_rows,)
        Columns whose gate is not shut.
    n_relevant : ndarray of int of shape (n_rows,)
        The fewest columns that hold nine tenths of the absolute relevance.
    decided_otherwise : float
        Relevance holds the gates of a row constant. Here the most relevant tenth of each row's open columns
        is set to the mean: this is the share of rows that are then in another cluster with the gates they
        had than with gates computed anew.
    """

    gates: Explanation
    relevance: Explanation
    correlation: NDArray
    n_open: NDArray
    n_relevant: NDArray
    decided_otherwise: float

    def __repr__(self) -> str:
        n_rows, n_columns = self.gates.shape
        ranked = np.isfinite(self.correlation)
        ranks = "In no row there are gates to be ranked: all that are open are open alike."
        if ranked.any():
            ranks = f"Among open columns the ranks correlate by {self.correlation[ranked].mean():.2f}"
            left = n_rows - ranked.sum()
            ranks += f" ({left} rows whose open gates are alike left out)." if left else "."
        return (
            f"{n_rows} rows of {n_columns} columns: {self.n_open.mean():.1f} gates of a row are open, and "
            f"{self.n_relevant.mean():.1f} columns hold {_MOST:.0%} of its relevance. {ranks} Gates computed "
            f"anew would decide otherwise for {self.decided_otherwise:.1%} of the rows whose most relevant "
            "columns are taken away."
        )


def compare_gates(model: Any, X: Any) -> GatesAndRelevance:
    """Compare the gates of rows with the relevance of their columns.

    Parameters
    ----------
    model : fitted IDC, or Pipeline that ends in one
    X : table, or images

    Returns
    -------
    GatesAndRelevance
    """
    found = explain(network_for(model, read_input(X)), X)
    return beside_gates(found)


def beside_gates(found: Explanation) -> GatesAndRelevance:
    """The same, of an explanation that is there already."""
    gates = gates_of(found)
    opened, size = np.asarray(gates.values), np.abs(np.asarray(found.values))
    return GatesAndRelevance(
        gates,
        found,
        _rank_correlation(opened, size),
        (opened > 0).sum(axis=1),
        _holding(size),
        decided_otherwise(found),
    )


def gates_of(found: Explanation) -> Explanation:
    """The gates of the rows of an explanation."""
    origin = found._origin()
    options = {**origin.options, "method": "gates", "options": {}}
    prepared = prepared_rows(origin.network, origin.table, None)
    return explain_rows(origin.network, origin.table, **options, prepared=prepared)


def global_explanation(model: Any, feature_names: Any = None) -> Explanation:
    """The gates of an IDC's clusters, one row for each; see :meth:`whyclust.deep.IDC.global_explanation`."""
    clusters = np.arange(len(model.global_gates_))
    found = explain(model, model.cluster_means_, cluster=clusters, feature_names=feature_names)
    values = model.global_gates_.astype(np.float64)
    return replace(
        found,
        values=values,
        base_values=np.zeros(len(values)),
        explained=values.sum(axis=1),
        assigned=clusters,
        rule="global gates",
        question=Question("chosen"),
        provenance=replace(found.provenance, method="global gates", propagation=None, measures=_OF_CLUSTERS),
        origin=None,
    )


def decided_otherwise(found: Explanation) -> float:
    """The share of rows that frozen gates and gates computed anew decide differently, columns taken away.

    Both see the row with the most relevant tenth of its open columns set to the mean, one column at least.
    """
    origin = found._origin()
    net, trunk = origin.network, _gated(origin.network)
    encoded = np.asarray(numeric(net.features.encode(net.match(origin.table).data)), dtype=np.float64)
    rows = net.features.before_trunk(encoded)
    gates = trunk.gates(rows)
    names = tuple(str(column) for column in range(trunk.n_inputs))
    features = Features.behind_trunk(trunk.n_inputs, trunk)
    inner = replace(net, features=features, feature_names=names, named=False)
    size = np.where(gates > 0, np.abs(inner.relevance_rows(as_rows(rows)).values), -1.0)
    ranks = rankdata(-size, method="ordinal", axis=1)
    removed = (ranks <= np.maximum(1, _REMOVED * (gates > 0).sum(axis=1))[:, None]) & (gates > 0)
    changed = np.where(removed, trunk.reference, rows)
    frozen = replace(inner, features=Features.behind_trunk(trunk.n_inputs, trunk.ungated()))
    anew = inner.predict_rows(as_rows(changed))
    return float(np.mean(frozen.predict_rows(as_rows(changed * gates)) != anew))


def _gated(net: Neuralized) -> Any:
    trunk: Any = net.features.trunk
    if getattr(trunk, "gate", None) is None:
        raise TypeError(f"{net.model or 'This model'} has no gates to compare with: expected an IDC.")
    return trunk


def _rank_correlation(gates: NDArray, size: NDArray) -> NDArray:
    """Spearman's, of each row's open columns."""
    result = np.full(len(gates), np.nan)
    for row, opened in enumerate(gates > 0):
        first, second = (rankdata(values[row, opened]) for values in (gates, size))
        if len(first) > 1:
            first, second = first - first.mean(), second - second.mean()
            length = np.sqrt((first @ first) * (second @ second))
            result[row] = first @ second / length if length > 0 else np.nan
    return result


def _holding(size: NDArray) -> NDArray:
    """How many of a row's largest values hold most of their sum."""
    held = np.cumsum(-np.sort(-size, axis=1), axis=1)
    return (held < _MOST * held[:, -1:]).sum(axis=1) + (held[:, -1] > 0)
