"""The network that a clustering already is: features, head, pool, and its stiffness β."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from whyclust._validation import (
    Table,
    is_sparse,
    match_columns,
    numeric,
    read_table,
    refuse_not_finite,
    working_type,
)
from whyclust.network.beta import stiffness
from whyclust.network.features import Features
from whyclust.network.folded import Folded
from whyclust.network.heads import Head
from whyclust.network.nodes import first_equal
from whyclust.network.pools import RULES, MinPool, Pool, absent
from whyclust.network.values import FactoredValues

# Working arrays of one block fit the second-level cache: more gains nothing, less costs calls.
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Relevance:
    """What the network says of each row of a table.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns), or FactoredValues for sparse tables
    base_values, explained : ndarray of shape (n_rows,)
        ``values.sum(axis=1) + base_values == explained``.
    evidence : ndarray of shape (n_rows,)
        f_c: positive where the point is in the cluster.
    clusters, assigned, competitors : ndarray of shape (n_rows,)
        The cluster explained, the cluster the network assigns, and the strongest competitor.
    rule : str
        How the pool was passed.
    """

    values: Any
    base_values: NDArray
    explained: NDArray
    evidence: NDArray
    clusters: NDArray
    assigned: NDArray
    competitors: NDArray
    rule: str


@dataclass(frozen=True)
class Neuralized:
    """A clustering as a network of features, head and pool.

    Made by :func:`whyclust.neuralize`; everything it needs is in its fields.

    Parameters
    ----------
    features : Features
    head : Head
    pool : Pool
    beta : float
        Stiffness of the min-take-most rule, Eq. (3). It belongs to the network, so a row
        explained alone equals that row in any table.
    clusters : ndarray of shape (n_clusters,)
        The clusters' ids, as the model's ``predict`` returns them.
    feature_names : tuple of str
        The user's columns.
    named : bool
        Whether the model was fitted with these names (so that frames are matched by name).
    model : str
        What was neuralised.
    """

    features: Features
    head: Head
    pool: Pool
    beta: float
    clusters: NDArray
    feature_names: tuple[str, ...]
    named: bool = False
    model: str = ""

    def __post_init__(self) -> None:
        if self.head.n_clusters < 2:
            raise ValueError(
                "The model has one cluster, so there is no other cluster to be in: "
                "fit it with n_clusters of 2 or more."
            )
        if self.features.folded.n_outputs != self.head.n_inputs:
            raise ValueError(
                f"The features give {self.features.folded.n_outputs} columns, but the clusters are "
                f"compared in {self.head.n_inputs}: the steps do not belong together."
            )

    def __repr__(self) -> str:
        return (
            f"<Neuralized {self.model or 'network'}: {len(self.feature_names)} features → "
            f"{self.head.name} ({self.head.n_clusters} clusters) → {self.pool.name}, "
            f"beta={self.beta:.4g}>"
        )

    # --- blocks ------------------------------------------------------------------------------

    @cached_property
    def _folded(self) -> dict[tuple[np.dtype, bool], Folded]:
        return {}

    def folded(self, dtype: np.dtype, centred: bool = True) -> Folded:
        """The head in the space of the encoded columns, folded once for each type."""
        key = (np.dtype(dtype), centred)
        if key not in self._folded:
            self._folded[key] = self.head.fold(self.features.folded, key[0], centred)
        return self._folded[key]

    def _read(self, X: Any) -> Table:
        table = read_table(X)
        names = self.feature_names if self.named else None
        table = match_columns(table, names, self.features.n_columns)
        return table

    def _dtype(self, table: Table) -> np.dtype:
        """float32 and float64 are kept; everything else is computed in float64."""
        return np.dtype(np.float64) if self.features.encoder else working_type(table.data)

    def _stays_sparse(self, table: Table) -> bool:
        return is_sparse(table.data) and self.features.keeps_zeros

    def _blocks(self, table: Table) -> Iterator[tuple[slice, Any, Folded, Any]]:
        """Rows, their points, the head and its response, block by block."""
        n_rows = table.shape[0]
        sparse = self._stays_sparse(table)
        dtype = self._dtype(table)
        folded = self.folded(dtype, centred=not sparse)
        if sparse and not folded.separable:
            raise TypeError(
                f"X is sparse, but {self.model} compares with several prototypes a cluster and needs dense "
                "rows: pass X.toarray()."
            )
        numbers = 3 * self.features.inner.n_inputs + folded.width
        size = int(max(1, _BLOCK_BYTES // (numbers * dtype.itemsize)))
        # Sparse rows and encoders are paid per call, not per number.
        size = min(n_rows, max(size, 2048 if sparse or self.features.encoder else 64))
        room = None if sparse else np.empty((size, self.features.inner.n_inputs), dtype=dtype)
        for start in range(0, n_rows, size):
            rows = slice(start, min(start + size, n_rows))
            encoded = numeric(self.features.encode(table.rows(rows)))
            if is_sparse(encoded) and not sparse:
                encoded = encoded.toarray()
            out = None if room is None else room[: rows.stop - start]
            points = self.features.points(encoded, folded.nodes.center, out)
            with np.errstate(invalid="ignore", over="ignore"):
                response = folded.respond(points)
            # NaN or infinity anywhere in a point reaches its scores: one look at the small array.
            if not np.isfinite(response.nodes.sum()) and not np.isfinite(response.nodes).all():
                names = [self.feature_names[column] for column in self.features.sources]
                refuse_not_finite(encoded, names, start)
            yield rows, points, folded, response

    # --- answers -----------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray:
        """Return the cluster of each row."""
        table = self._read(X)
        positions = np.empty(table.shape[0], dtype=np.intp)
        for rows, _, folded, response in self._blocks(table):
            positions[rows] = folded.assign(response)
        return self.clusters[positions]

    def logits(self, X: Any) -> NDArray:
        """Return a score per row and cluster, whose differences are the evidence."""
        table = self._read(X)
        found = [folded.logits(response) for _, _, folded, response in self._blocks(table)]
        if found[0] is None:
            raise TypeError(
                f"{self.model or 'This network'} has no logits: its clusters are compared along "
                "a tree, use evidence(X, cluster=...) instead."
            )
        return np.concatenate([logits for logits in found if logits is not None], axis=1).T

    def predict_proba(self, X: Any) -> NDArray:
        """Return the probability of each cluster, for soft clusterings."""
        stiffness = self.head.probability_stiffness
        if stiffness is None:
            raise TypeError(
                f"{self.model or 'This network'} assigns each point to one cluster and has no "
                "probabilities: use SoftKMeans or KernelKMeans, or evidence(X)."
            )
        logits = self.logits(X) * stiffness
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    def evidence(
        self, X: Any, *, cluster: ArrayLike | None = None, against: ArrayLike | None = None
    ) -> NDArray:
        """Return f_c of each row for its own cluster, or for a chosen one: positive means inside."""
        table = self._read(X)
        chosen, others = self._question(cluster, against, table.shape[0])
        result = np.empty(table.shape[0])
        for rows, _, folded, response in self._blocks(table):
            clusters = folded.assign(response) if chosen is None else chosen[rows]
            h = folded.evidence(response, clusters)
            pool = self._pose(folded, h, clusters, None if others is None else others[rows])
            result[rows] = pool.evidence(h)
        return result

    def relevance(
        self,
        X: Any,
        *,
        cluster: ArrayLike | None = None,
        against: ArrayLike | None = None,
        rule: str | None = None,
        groups: NDArray | None = None,
    ) -> Relevance:
        """Explain each row's membership in the user's own columns.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        cluster : cluster id or array of them, optional
            Which cluster to explain; by default the one each row is in.
        against : cluster id or array of them, optional
            Explain against this one competitor instead of all.
        rule : {None, "min_take_most", "expected"}
            How relevance passes the minimum over competitors.
        groups : ndarray of int of shape (n_columns,), optional
            Sum relevance over columns that have the same number (0, 1, …).
        """
        if rule is not None and rule not in RULES:
            raise ValueError(f"rule={rule!r} is unknown, expected one of {', '.join(RULES)} or None.")
        table = self._read(X)
        n_rows = table.shape[0]
        chosen, others = self._question(cluster, against, n_rows)
        target = self.features.sources if groups is None else groups[self.features.sources]
        width = self.features.n_columns if groups is None else int(groups.max()) + 1
        collect = _collector(target, width)
        sparse = self._stays_sparse(table)
        dtype = self._dtype(table)
        values: Any = None if sparse else np.empty((n_rows, width), dtype=dtype)
        alphas: list[NDArray] = []
        numbers = np.empty((3, n_rows))
        positions = np.empty((3, n_rows), dtype=np.intp)
        used = set()
        scratch = np.empty((0, 0))
        for rows, points, folded, response in self._blocks(table):
            assigned = folded.assign(response)
            clusters = assigned if chosen is None else chosen[rows]
            h = folded.evidence(response, clusters)
            pool = self._pose(folded, h, clusters, None if others is None else others[rows])
            # Against one competitor both rules are the same, inside and outside.
            inside = (clusters == assigned) | (others is not None)
            weights = pool.weights(h, inside, self.beta, rule)
            used.add(_rule_name(pool, rule, inside))
            if values is not None and len(scratch) < len(points):
                scratch = np.empty_like(points)
            if values is None:
                alphas.append(weights)
                base = folded.base(clusters, weights)
            else:
                out = values[rows] if collect is None else np.empty_like(points)
                room = scratch[: len(points)]
                base = folded.spread(points, response, clusters, weights, out, room)
                if collect is not None:
                    values[rows] = (collect @ out.T).T
            offset = pool.offset(h)
            numbers[0, rows] = base + offset
            numbers[1, rows] = np.einsum("kn,kn->n", weights, h) + offset
            numbers[2, rows] = pool.evidence(h)
            nearest = first_equal(h, h.min(axis=0))
            positions[:, rows] = clusters, assigned, folded.cluster_of(response, nearest)
        if values is None:
            values = FactoredValues(
                self.folded(dtype, centred=False),
                self.features.points(numeric(table.data), np.zeros(0), None),
                positions[0],
                np.concatenate(alphas, axis=1),
                collect,
            )
        return Relevance(
            values,
            base_values=numbers[0],
            explained=numbers[1],
            evidence=numbers[2],
            clusters=self.clusters[positions[0]],
            assigned=self.clusters[positions[1]],
            competitors=self.clusters[positions[2]],
            rule=" and ".join(sorted(used, reverse=True)),
        )

    def with_beta(self, background: Any) -> Neuralized:
        """Return the same network with β = 1/E[f_c] over these points (Eq. 3)."""
        return replace(self, beta=stiffness(self.evidence(background)))

    def to_torch(self) -> Any:
        """Return the network as a ``torch.nn.Module`` of linear and pooling layers.

        Its input is the encoded table (``net.features.encode(X)``, the table itself unless
        the model encodes categories), its output f_c of every cluster, one column each.
        """
        try:
            import torch  # noqa: F401
        except ImportError:
            raise ImportError(
                "to_torch() needs PyTorch, which is not installed: pip install 'whyclust[torch]'."
            ) from None
        from whyclust.network.torch_module import build_module

        return build_module(self)

    # --- questions ---------------------------------------------------------------------------

    def _question(
        self, cluster: ArrayLike | None, against: ArrayLike | None, n_rows: int
    ) -> tuple[NDArray | None, NDArray | None]:
        """Cluster ids given by the user, as positions."""
        if cluster is None and against is not None:
            raise ValueError(
                f"against={against!r} was given without cluster=: say which cluster to explain against it."
            )
        chosen = None if cluster is None else self._positions(cluster, n_rows, "cluster")
        others = None if against is None else self._positions(against, n_rows, "against")
        if chosen is not None and others is not None and (chosen == others).any():
            same = self.clusters[chosen[(chosen == others).argmax()]]
            raise ValueError(f"cluster and against are both {same!r}: name two different clusters.")
        return chosen, others

    def _positions(self, ids: ArrayLike, n_rows: int, name: str) -> NDArray:
        given = np.asarray(ids)
        if given.ndim not in (0, 1) or (given.ndim == 1 and len(given) != n_rows):
            raise ValueError(
                f"{name} has shape {given.shape}, expected one cluster id or one for each of the "
                f"{n_rows} rows."
            )
        given = np.broadcast_to(given, n_rows)
        known = {value: position for position, value in enumerate(self.clusters.tolist())}
        try:
            return np.array([known[value] for value in given.tolist()], dtype=np.intp)
        except KeyError as error:
            listed = ", ".join(map(str, self.clusters[:10].tolist()))
            more = ", …" if len(self.clusters) > 10 else ""
            raise ValueError(
                f"{name}={error.args[0]!r} is no cluster of this model: choose one of {listed}{more}."
            ) from None

    def _pose(self, folded: Folded, h: NDArray, clusters: NDArray, others: NDArray | None) -> Pool:
        """Keep one competitor where the user named one; then a pair decides by its difference."""
        if others is None:
            return self.pool
        row = folded.competitor_of(clusters, others)
        h[np.arange(len(h))[:, None] != row] = absent(h.dtype)
        return MinPool()


def _rule_name(pool: Pool, rule: str | None, inside: NDArray) -> str:
    if not isinstance(pool, MinPool):
        return pool.name
    if rule is not None:
        return rule
    if inside.all():
        return "min_take_most"
    return "min_take_most and expected" if inside.any() else "expected"


def _collector(target: NDArray, width: int) -> sp.csr_array | None:
    """A matrix that sums encoded columns into output columns; None where nothing is to be done."""
    columns = np.arange(len(target))
    if len(target) == width and (target == columns).all():
        return None
    return sp.csr_array((np.ones(len(target)), (target, columns)), shape=(width, len(target)))
