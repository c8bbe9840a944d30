"""Relevance of rows, block by block: from the pool's weights, through the folded head, to the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from whyclust.inputs.reading import InputTable, numeric
from whyclust.network.blocks import Blocks
from whyclust.network.nodes import first_equal
from whyclust.network.pools import MinPool, Pool
from whyclust.network.question import read_question
from whyclust.network.records import Block, Relevance
from whyclust.network.rivalry import Rivalry, tally
from whyclust.network.values import FactoredValues

if TYPE_CHECKING:
    from whyclust.network.network import Neuralized


def relevance_of(
    net: Neuralized,
    table: InputTable,
    cluster: ArrayLike | None,
    against: ArrayLike | None,
    rule: str | None,
    groups: NDArray | None,
) -> Relevance:
    """Explain rows that a network has read; arguments as for :meth:`Neuralized.relevance`."""
    _check_rule(rule, net.pool if against is None else MinPool())
    n_rows = table.shape[0]
    question = read_question(cluster, against, net.clusters, n_rows, table.row_labels)
    target = net.features.sources if groups is None else groups[net.features.sources]
    width = net.features.n_columns if groups is None else int(groups.max()) + 1
    collect = collector(target, width)
    sparse = net._stays_sparse(table)
    dtype = net._dtype(table)
    values: Any = None if sparse else np.empty((n_rows, width), dtype=dtype)
    alphas = np.empty((0, 0), dtype=dtype)
    if sparse:
        alphas = np.empty((net.folded(dtype, False).n_competitors, n_rows), dtype=dtype)
    base_values, explained, evidence = (np.empty(n_rows, dtype=dtype) for _ in range(3))
    ids, assigned, competitors = (np.empty(n_rows, dtype=np.int32) for _ in range(3))
    positions = np.empty(n_rows if sparse else 0, dtype=np.intp)
    blocks = Blocks.of(net, table, come_down=True)

    def explain(block: Block) -> NDArray:
        """Write what is found of a block's rows; return who their competitors are."""
        rows, points, folded, response = block.rows, block.points, block.folded, block.response
        own = folded.assign(response)
        clusters = question.clusters(rows, own)
        assigned[rows] = own
        ids[rows] = clusters
        h = folded.evidence(response, clusters)
        pool = question.restrict(rows, folded, clusters, h, net.pool)
        smallest = h.min(axis=0)
        inside = np.ones(1, dtype=bool) if question.about_members else clusters == own
        weights, total = pool.weights(h, smallest, inside, net.beta, rule)
        # Rows that are elsewhere say why not, and compete with their own cluster.
        inner = weights if clusters is own else weights * (clusters == own)
        rivals = _no_rivals(net)
        tally(rivals, folded, response, clusters, inner)
        if sparse:
            positions[rows] = clusters
            alphas[:, rows] = weights
            base = folded.base(clusters, weights)
        else:
            direct = collect is None and net.features.trunk is None
            out = values[rows] if direct else np.empty(points.shape, dtype=dtype)
            base = folded.spread(
                points, response, clusters, weights, out, np.empty(points.shape, dtype=dtype)
            )
            if not direct:
                found = net.features.relevance(block.passage, out)
                values[rows] = found if collect is None else (collect @ found.T).T
            if net.features.trunk is not None:  # biases of its layers take relevance, too
                base = total - values[rows].sum(axis=1)
        offset = pool.offset(h)
        base_values[rows] = base + offset
        explained[rows] = total + offset
        evidence[rows] = pool.evidence(h, smallest)
        competitors[rows] = folded.cluster_of(response, first_equal(h, smallest))
        return rivals

    rivals = _no_rivals(net)
    for some in blocks.each(explain):
        rivals += some
    if values is None:
        separable: Any = net.folded(dtype, centred=False)
        values = FactoredValues(
            separable,
            net.features.points(numeric(net.features.encode(table.data)), np.zeros(0), None),
            positions,
            alphas,
            collect,
        )
    return Relevance(
        values,
        base_values,
        explained,
        evidence,
        net._named(ids),
        net._named(assigned),
        net._named(competitors),
        rule=rule or ("expected" if against is not None else net.pool.rule),
        rivalry=Rivalry(net.clusters, rivals),
    )


def _no_rivals(net: Neuralized) -> NDArray:
    return np.zeros((net.head.n_clusters, net.head.n_clusters))


def _check_rule(rule: str | None, pool: Pool) -> None:
    if rule is None or rule in pool.rules:
        return
    if not pool.rules:
        raise ValueError(
            f"rule={rule!r} was given, but the pool {pool.name!r} has one rule of its own, as that of "
            "absolute decisions has: leave rule=None."
        )
    raise ValueError(f"rule={rule!r} is unknown, expected one of {', '.join(pool.rules)} or None.")


def collector(target: NDArray, width: int) -> sp.csr_array | None:
    """A matrix that sums encoded columns into output columns; None where nothing is to be done."""
    columns = np.arange(len(target))
    if len(target) == width and (target == columns).all():
        return None
    return sp.csr_array((np.ones(len(target)), (target, columns)), shape=(width, len(target)))
