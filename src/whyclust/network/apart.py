"""Rows of clusters are explained apart from noise.

Noise has no place of its own: against it only the distance from the cluster counts, for which no column
can speak. So it is a competitor only of rows that are noise, or taken for it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whyclust.inputs.reading import InputTable
from whyclust.network.network import Neuralized
from whyclust.network.records import Relevance

# Networks, and the positions of the rows that each of them judges.
Judges = list[tuple[Neuralized, NDArray]]


def judges(net: Neuralized, clusters: NDArray, assigned: NDArray) -> Judges:
    """Networks, and the rows that each explains: rows of clusters leave noise aside.

    Parameters
    ----------
    net : Neuralized
    clusters, assigned : ndarray of shape (n_rows,)
        The cluster explained in each row, and the one that the network assigns.
    """
    # A probability is one among all clusters, noise included.
    absolute = net.pool.threshold is not None
    if net.head.noise is None or len(net.clusters) < 3 or absolute:
        return [(net, np.arange(len(clusters)))]
    noise = net.clusters[-1]
    in_cluster = (clusters != noise) & (assigned != noise)
    without = replace(net, head=net.head.without_noise(), clusters=net.clusters[:-1])
    parts = [(net, np.flatnonzero(~in_cluster)), (without, np.flatnonzero(in_cluster))]
    return [(judge, rows) for judge, rows in parts if len(rows)]


def relevance_apart(
    net: Neuralized,
    table: InputTable,
    *,
    cluster: ArrayLike | None = None,
    against: ArrayLike | None = None,
    rule: str | None = None,
    groups: NDArray | None = None,
) -> tuple[Relevance, Judges]:
    """Explain rows that `net` has read, those of clusters without noise; and by which networks.

    Who asks about one competitor gets an answer about it, be it noise.
    """
    found = net.relevance_rows(table, cluster=cluster, against=against, rule=rule, groups=groups)
    if against is not None:
        return found, [(net, np.arange(table.shape[0]))]
    parts = judges(net, found.clusters, found.assigned)
    for judge, rows in parts:
        if judge is not net:
            chosen = InputTable(table.rows(rows), table.names, None)
            part = judge.relevance_rows(chosen, cluster=found.clusters[rows], rule=rule, groups=groups)
            found = _with_rows(found, part, rows)
    return found, parts


def _with_rows(found: Relevance, part: Relevance, rows: NDArray) -> Relevance:
    """What was found, with these rows explained by another network."""
    changed = {}
    for name in ("values", "base_values", "explained", "evidence", "competitors"):
        changed[name] = getattr(found, name).copy()
        changed[name][rows] = getattr(part, name)
    return replace(found, rivalry=found.rivalry.without_noise_of(part.rivalry), **changed)
