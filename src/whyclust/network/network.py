"""The network that a clustering already is: features, head, pool, and its stiffness β."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whyclust._extras import missing
from whyclust.inputs import InputKind
from whyclust.inputs.kind import TABLE
from whyclust.inputs.reading import (
    InputTable,
    is_sparse,
    match_columns,
    read_input,
)
from whyclust.inputs.texts import texts_in
from whyclust.network.beta import stiffness
from whyclust.network.blocks import Blocks
from whyclust.network.features import Features
from whyclust.network.folded import Folded
from whyclust.network.heads import Head
from whyclust.network.parts import refuse_no_ids, refuse_no_parts
from whyclust.network.pools import Pool
from whyclust.network.question import read_question
from whyclust.network.records import Block, Relevance

if TYPE_CHECKING:
    from whyclust.tables.reading import Reading


@dataclass(frozen=True, eq=False)
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
    kind : InputKind
        What rows it was made for: images of a shape, say.
    reading : Reading or None
        How the table was read that it was fitted on: frames of new rows are read alike.
    cluster_names : dict of cluster to str
        What clusters are called, where that was kept.
    """

    features: Features
    head: Head
    pool: Pool
    beta: float
    clusters: NDArray
    feature_names: tuple[str, ...]
    named: bool = False
    model: str = ""
    kind: InputKind = TABLE
    reading: Reading | None = None
    cluster_names: dict[Any, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_no_parts(self.features, self.head, self.pool)
        number = isinstance(self.beta, (int, float, np.integer, np.floating))
        if not number or not 0 < self.beta <= sys.float_info.max:
            raise ValueError(f"beta={self.beta!r:.60}, expected a positive, finite number.")
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
        refuse_no_ids(self.clusters, self.head.n_clusters)

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
            with np.errstate(over="ignore", invalid="ignore"):
                if self.features.trunk is None:
                    folded = self.head.fold(self.features.folded, key[0], centred)
                else:
                    folded = self.head.fold(self.features.folded, key[0], False).seen_from_zero()
            if not folded.is_finite:
                _refuse_no_numbers(self.head, self.model)
                raise ValueError(
                    f"The model's centres are too large for {key[0]} arithmetic: rescale the columns "
                    "(StandardScaler in a Pipeline) and fit again."
                )
            self._folded[key] = folded
        return self._folded[key]

    def read(self, X: Any, name: str = "X") -> InputTable:
        """A table with the columns of the network, in its order."""
        return self.match(_rows_in(X, name), name)

    def among(self, table: InputTable) -> Neuralized:
        """The same network without columns that it never reads and that this table lacks."""
        if not self.named or table.names is None or self.features.columns is None:
            return self
        given, read = set(table.names), set(self.features.columns.tolist())
        known = enumerate(self.feature_names)
        kept = [position for position, name in known if position in read or name in given]
        if len(kept) == self.features.n_columns:
            return self
        names = tuple(self.feature_names[position] for position in kept)
        return replace(self, features=self.features.among(np.array(kept)), feature_names=names)

    def _on(self, X: Any, name: str = "X") -> tuple[Neuralized, InputTable]:
        """The network for these rows, and the rows as it reads them."""
        table = _rows_in(X, name)
        net = self.among(table)
        return net, net.match(table, name)

    def match(self, table: InputTable, name: str = "X") -> InputTable:
        """The same of a table that has been read: its columns may still be others."""
        self.kind.refuse_other(table.kind, name)
        names = self.feature_names if self.named else None
        table = match_columns(table, names, self.features.n_columns, name)
        # An array has no text, and its numbers are what they are.
        return table if self.reading is None or table.names is None else self.reading.of_rows(table)

    def _dtype(self, table: InputTable) -> np.dtype:
        """float32 and float64 are kept; everything else, and large activations, take float64."""
        if self.features.encoder or self.features.trunk is not None:
            return np.dtype(np.float64)
        return table.working_type(self.features.columns)

    def _stays_sparse(self, table: InputTable) -> bool:
        return is_sparse(table.data) and self.features.keeps_zeros

    # --- answers -----------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray:
        """Return the cluster of each row."""
        net, table = self._on(X)
        return net.predict_rows(table)

    def predict_rows(self, table: InputTable) -> NDArray:
        """`predict`, of rows that this network has read."""
        found = list(Blocks.of(self, table).each(lambda block: block.folded.assign(block.response)))
        return self.clusters[np.concatenate(found) if found else np.zeros(0, dtype=np.intp)]

    def logits(self, X: Any) -> NDArray:
        """Return a score per row and cluster, whose differences are the evidence."""
        net, table = self._on(X)
        result = np.empty((table.shape[0], self.head.n_clusters), dtype=net._dtype(table))
        for block in Blocks.of(net, table):
            logits = block.folded.logits(block.response)
            if logits is None:
                raise TypeError(
                    f"{self.model or 'This network'} has no logits: its clusters are compared along "
                    "a tree, use evidence(X, cluster=...) instead."
                )
            result[block.rows] = logits.T
        return result

    def predict_proba(self, X: Any) -> NDArray:
        """Return the probability of each cluster, in the order of ``clusters``, for soft clusterings."""
        stiffness = self.head.probability_stiffness
        if stiffness is None:
            raise TypeError(
                f"The network of {self.model or 'this clustering'} compares distances and knows no "
                "probabilities: use predict_proba of the model where it has one, or evidence(X)."
            )
        logits = self.logits(X) * stiffness
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        return logits / logits.sum(axis=1, keepdims=True)

    def evidence(
        self, X: Any, *, cluster: ArrayLike | None = None, against: ArrayLike | None = None
    ) -> NDArray:
        """Return f_c of each row for its own cluster, or for a chosen one: positive means inside."""
        net, table = self._on(X)
        return net.evidence_rows(table, cluster=cluster, against=against)

    def evidence_rows(
        self, table: InputTable, *, cluster: ArrayLike | None = None, against: ArrayLike | None = None
    ) -> NDArray:
        """`evidence`, of rows that this network has read."""
        question = read_question(cluster, against, self.clusters, table.shape[0], table.row_labels)
        result = np.empty(table.shape[0], dtype=self._dtype(table))

        def add(block: Block) -> None:
            clusters = question.clusters(block.rows, block.folded.assign(block.response))
            h = block.folded.evidence(block.response, clusters)
            pool = question.restrict(block.rows, block.folded, clusters, h, self.pool)
            result[block.rows] = pool.evidence(h, h.min(axis=0))

        deque(Blocks.of(self, table).each(add), maxlen=0)
        return result

    def scores(self, X: Any) -> NDArray:
        """Return f_c of each row for every cluster, in the order of ``clusters``: (n_rows, n_clusters)."""
        net, table = self._on(X)
        result = np.empty((table.shape[0], self.head.n_clusters), dtype=net._dtype(table))
        for block in Blocks.of(net, table):
            for cluster in range(self.head.n_clusters):
                clusters = np.full(block.rows.stop - block.rows.start, cluster)
                h = block.folded.evidence(block.response, clusters)
                result[block.rows, cluster] = self.pool.evidence(h, h.min(axis=0))
        return result

    def gradient(
        self, X: Any, *, cluster: ArrayLike | None = None, against: ArrayLike | None = None
    ) -> NDArray:
        """Return ∇f_c of each row, one column for each encoded one (``net.features.encode(X)``)."""
        from whyclust.network.gradient import gradient

        net, table = self._on(X)
        return gradient(net, table, cluster, against)

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

        Columns of a frame that the network never reads may be missing: then they have no values.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        cluster : cluster id or array of them, optional
            Which cluster to explain; by default the one each row is in.
        against : cluster id or array of them, optional
            Explain against this one competitor instead of all.
        rule : {"expected", "min_take_most"}, optional
            How relevance passes the minimum over competitors: "expected" by default.
        groups : ndarray of int of shape (n_columns,), optional
            Sum relevance over columns that have the same number (0, 1, …).
        """
        net, table = self._on(X)
        return net.relevance_rows(table, cluster=cluster, against=against, rule=rule, groups=groups)

    def relevance_rows(
        self,
        table: InputTable,
        *,
        cluster: ArrayLike | None = None,
        against: ArrayLike | None = None,
        rule: str | None = None,
        groups: NDArray | None = None,
    ) -> Relevance:
        """`relevance`, of rows that this network has read."""
        from whyclust.network.relevance import relevance_of

        return relevance_of(self, table, cluster, against, rule, groups)

    def _named(self, positions: NDArray) -> NDArray:
        """Positions of clusters as the clusters' own ids, which usually are the same."""
        if self.clusters.dtype.kind == "i" and (self.clusters == np.arange(len(self.clusters))).all():
            return positions.astype(self.clusters.dtype, copy=False)
        return self.clusters[positions]

    def with_beta(self, background: Any) -> Neuralized:
        """Return the same network with β = 1/E[f_c] over these points (Eq. 3).

        The soft minimum of absolute decisions has a stiffness of its own, 1, which stays.
        """
        if not self.pool.takes_beta:
            return self
        net, table = self._on(background, "background")
        return replace(self, beta=net.with_beta_of(table).beta)

    def with_beta_of(self, table: InputTable) -> Neuralized:
        """`with_beta`, of rows that this network has read."""
        return replace(self, beta=stiffness(self.evidence_rows(table)))

    def to_torch(self) -> Any:
        """Return the network as a ``torch.nn.Module`` of linear and pooling layers.

        Its input is the encoded table (``net.features.encode(X)``, the table itself unless
        the model encodes categories), its output f_c of every cluster, one column each.
        """
        try:
            import torch  # noqa: F401
        except ImportError:
            raise missing("to_torch()", "torch") from None
        from whyclust.network.torch_module import build_module

        return build_module(self)


def _refuse_no_numbers(head: Head, model: str) -> None:
    """Tell centres that are not finite from those that are only large."""
    for name in ("prototypes", "centers", "weights", "biases", "means", "roots", "constants"):
        if not np.isfinite(np.asarray(getattr(head, name, 0.0), dtype=float)).all():
            raise ValueError(
                f"{model or 'The model'} holds NaN or infinite numbers ({name}), so it says nothing of any "
                "row: look for such in what it was fitted on, and fit it again."
            )


def _rows_in(X: Any, name: str) -> InputTable:
    if texts_in(X, name) is not None:
        raise ValueError(
            f"{name} holds texts, but a network reads the columns behind the vectorizer: pass "
            "pipeline[0].transform(texts); wc.explain(pipeline, texts) reads texts."
        )
    return read_input(X, name)
