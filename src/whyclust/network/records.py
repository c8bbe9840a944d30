"""What a network says of the rows of a table, and of a block of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from whyclust.network.features import Passage
from whyclust.network.folded import Folded
from whyclust.network.rivalry import Rivalry

# Positions of columns, and what is to be said of them.
Note = tuple[tuple[int, ...], str]


@dataclass(frozen=True, eq=False)
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
    rivalry : Rivalry
        Which competitors count for which cluster.
    errors : ndarray of shape (n_rows, n_columns) or None
        Standard errors of values that were sampled.
    notes : tuple of (positions, str)
        What is to be said of the values of some columns.
    """

    values: Any
    base_values: NDArray
    explained: NDArray
    evidence: NDArray
    clusters: NDArray
    assigned: NDArray
    competitors: NDArray
    rule: str
    rivalry: Rivalry
    errors: NDArray | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Block:
    """Some rows, their points, and what the head says of them."""

    rows: slice
    encoded: Any
    points: Any
    folded: Folded
    response: Any
    passage: Passage | None = None
