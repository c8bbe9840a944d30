"""What a user asks, read: which cluster, and against which competitors, as positions among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whyclust._clusters import cluster_meant, clusters_listed
from whyclust._frames import in_rows_of
from whyclust.inputs.reading import plain_tensor
from whyclust.network.folded import Folded
from whyclust.network.pools import MinPool, Pool, absent


@dataclass(frozen=True)
class AskedPositions:
    """Clusters as positions, one for each row.

    `chosen` is None for the cluster each row is in; `others` is None for all competitors.
    """

    chosen: NDArray | None
    others: NDArray | None

    @property
    def about_members(self) -> bool:
        """Whether the paper's rule is defined in all rows.

        A row is inside the cluster it is in; against one competitor all rules are the same.
        """
        return self.chosen is None or self.others is not None

    def clusters(self, rows: slice, own: NDArray) -> NDArray:
        """The cluster asked about in each of these rows, which are in clusters `own`."""
        return own if self.chosen is None else self.chosen[rows]

    def restrict(self, rows: slice, folded: Folded, clusters: NDArray, h: NDArray, pool: Pool) -> Pool:
        """Keep one competitor where the user named one; then the pair decides by its difference."""
        if self.others is None:
            return pool
        row = folded.competitor_of(clusters, self.others[rows])
        h[np.arange(len(h))[:, None] != row] = absent(h.dtype)
        return MinPool()


def read_question(
    cluster: ArrayLike | None, against: ArrayLike | None, clusters: NDArray, n_rows: int, index: Any = None
) -> AskedPositions:
    """Turn the user's cluster ids into positions among the network's `clusters`.

    A Series of them is matched with the rows by `index`, where rows have names.
    """
    if cluster is None and against is not None:
        raise ValueError(
            f"against={against!r} was given without cluster=: say which cluster to explain against it."
        )
    cluster, against = in_rows_of(cluster, index, "cluster"), in_rows_of(against, index, "against")
    chosen = None if cluster is None else _positions(cluster, clusters, n_rows, "cluster")
    others = None if against is None else _positions(against, clusters, n_rows, "against")
    if chosen is not None and others is not None and (chosen == others).any():
        same = clusters[chosen[(chosen == others).argmax()]].item()
        raise ValueError(f"cluster and against are both {same!r}: name two different clusters.")
    return AskedPositions(chosen, others)


def _positions(ids: ArrayLike, clusters: NDArray, n_rows: int, name: str) -> NDArray:
    given = np.asarray(plain_tensor(ids))
    if given.dtype == object and all(isinstance(value, (str, int)) for value in given.ravel()):
        given = np.array(given.tolist())
    if given.dtype == object:
        raise ValueError(
            f"{name} holds a {type(given.ravel()[0]).__name__}, expected one cluster id or one for each row."
        )
    if given.ndim not in (0, 1) or (given.ndim == 1 and len(given) != n_rows):
        raise ValueError(
            f"{name} has shape {given.shape}, expected one cluster id or one for each of the {n_rows} rows."
        )
    known = {value: position for position, value in enumerate(clusters.tolist())}
    # Few different ids are asked for, whatever the number of rows.
    asked, places = np.unique(given, return_inverse=True)
    for value in asked.tolist():
        if cluster_meant(value, known) is None:
            listed = clusters_listed(known)
            raise ValueError(f"{name}={value!r} is no cluster of this model: choose one of {listed}.")
    positions = np.array([known[cluster_meant(value, known)] for value in asked.tolist()], dtype=np.intp)
    return np.broadcast_to(positions[places.reshape(given.shape)], n_rows)
