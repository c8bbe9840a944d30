"""What a baseline is asked: rows in numbers, the cluster of each, and the network that judges them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.network import Neuralized
from whyclust.network.gradient import gradient
from whyclust.network.records import Note
from whyclust.perturbing.encoded import as_rows
from whyclust.perturbing.imputation import KernelDensity
from whyclust.perturbing.subject import Prepared

# Numbers in the working arrays of one block.
BLOCK_NUMBERS = 1 << 22


@dataclass(frozen=True)
class Attribution:
    """A baseline's answer: scores of the encoded columns, and what belongs to none of them.

    `errors` are standard errors of the values, in the shape of these, where a method knows them; `notes` say
    something of some of the user's columns, by their positions.
    """

    values: NDArray
    base_values: NDArray
    # Whether values are of the user's columns, and not of encoded ones.
    collected: bool = False
    errors: NDArray | None = None
    notes: tuple[Note, ...] = ()

    @classmethod
    def without_base(cls, values: NDArray) -> Attribution:
        """Scores that are not parts of anything: their base is zero."""
        return cls(values, np.zeros(len(values)))


@dataclass(frozen=True, eq=False)
class Asked:
    """Rows to explain, by clusters that are positions 0, 1, …

    Attributes
    ----------
    net : Neuralized
        Reads encoded columns.
    prepared : Prepared
        All rows, and the data they come from.
    points : ndarray of shape (n, n_encoded)
        The rows to explain.
    clusters, competitors : ndarray of int
        The cluster explained in each row, and its strongest competitor.
    against : ndarray of int or None
        The one competitor asked about, where there is one.
    encode : callable
        From a table in the user's columns, and its name, to encoded rows.
    """

    net: Neuralized
    prepared: Prepared
    points: NDArray
    clusters: NDArray
    competitors: NDArray
    against: NDArray | None
    encode: Callable[[Any, str], NDArray]

    @property
    def background(self) -> NDArray:
        """The data that rows come from, in encoded columns."""
        return self.prepared.background

    @property
    def density(self) -> KernelDensity:
        """The kernel density of the background."""
        return self.prepared.density

    @property
    def n_columns(self) -> int:
        """Columns of the user's table, those that the model does not read among them."""
        return self.prepared.rows.n_columns

    @cached_property
    def columns(self) -> list[NDArray]:
        """Encoded columns of each of the user's columns that the model reads."""
        sources = self.prepared.rows.sources
        return [np.flatnonzero(sources == column) for column in np.unique(sources)]

    @cached_property
    def every_row(self) -> NDArray:
        """Positions of all rows."""
        return np.arange(len(self.points))

    def _of(self, rows: NDArray | None) -> dict[str, Any]:
        """The question asked about these rows."""
        rows = self.every_row if rows is None else rows
        return {
            "cluster": self.clusters[rows],
            "against": None if self.against is None else self.against[rows],
        }

    def predict(self, points: NDArray) -> NDArray:
        """The position of the cluster of each point."""
        return self.net.predict_rows(as_rows(points))

    def evidence(self, points: NDArray, rows: NDArray | None = None) -> NDArray:
        """f_c at points that stand for these rows: c is the cluster explained in the row."""
        return self.net.evidence_rows(as_rows(points), **self._of(rows))

    def gradient(self, points: NDArray, rows: NDArray | None = None) -> NDArray:
        """∇f_c at points that stand for these rows."""
        return gradient(self.net, as_rows(points), **self._of(rows))

    def indicator(self, points: NDArray, rows: NDArray | None = None) -> NDArray:
        """g_c: 1 where the point is in the cluster, or on its side of the one boundary asked about."""
        if self.against is None and self.net.pool.threshold is None:
            clusters = self.clusters[self.every_row if rows is None else rows]
            return (self.predict(points) == clusters).astype(np.float64)
        return (self.evidence(points, rows) > 0).astype(np.float64)

    @cached_property
    def lengths(self) -> NDArray:
        """How far the features move when an encoded column moves by one: 1 without a scaler.

        Squares of columns and of slopes depend on units. Measured by this, a model behind a scaler
        has the scores of the same model on scaled columns.
        """
        features = self.net.features
        # Behind the steps before an encoder all columns count alike.
        matrix: Any = (features.folded if features.trunk is None else features.inner).matrix
        squares = matrix.multiply(matrix) if hasattr(matrix, "multiply") else matrix * matrix
        return np.sqrt(np.asarray(squares.sum(axis=0), dtype=np.float64).ravel())


def seeded(random_state: Any) -> np.random.Generator:
    """A generator of its own, from a seed, a Generator or a RandomState."""
    if isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state.integers(2**32, size=4))
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if random_state is None or (
        isinstance(random_state, (int, np.integer))
        and not isinstance(random_state, bool)
        and random_state >= 0
    ):
        return np.random.default_rng(random_state)
    raise ValueError(f"random_state={random_state!r}, expected a whole number, a generator or None.")
