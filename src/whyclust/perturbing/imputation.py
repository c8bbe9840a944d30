"""What a row could have been where some of its columns are unknown.

Baselines that remove a column, and Algorithm 1, which adds one column after the other, need values for
the others. The paper samples them from a kernel density estimate, given the known columns
(supplement G).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

# A kernel density of more rows says little more and costs with every one of them.
MAX_ROWS = 2000
_MAX_ITERATIONS = 1000


class Path(ABC):
    """Points of which one column after the other becomes known.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_encoded)
    sources : ndarray of int of shape (n_encoded,)
        The column that each encoded column belongs to; those of one column become known together.
    """

    def __init__(self, points: NDArray, sources: NDArray) -> None:
        self.points = points
        self.known = np.zeros(points.shape, dtype=bool)
        members = [np.flatnonzero(sources == column) for column in range(int(sources.max()) + 1)]
        # Encoded columns of each column, −1 where it has fewer than others.
        self._encoded = np.full((len(members), max(map(len, members))), -1, dtype=np.intp)
        for column, encoded in enumerate(members):
            self._encoded[column, : len(encoded)] = encoded

    def reveal(self, columns: NDArray) -> None:
        """Make one more column known, a column for each point."""
        for rows, encoded in self._places(columns):
            self.known[rows, encoded] = True
            self.learn(rows, encoded)

    def conceal(self, columns: NDArray) -> None:
        """Make a column unknown again, one for each point that was known there."""
        for rows, encoded in self._places(columns):
            self.known[rows, encoded] = False
            self.forget(rows, encoded)

    def _places(self, columns: NDArray) -> Iterator[tuple[NDArray, NDArray]]:
        """Points, and an encoded column of each, until all of the columns' are named."""
        # Columns that the model does not read have no encoded column.
        inside = np.flatnonzero(columns < len(self._encoded))
        for place in range(self._encoded.shape[1]):
            encoded = self._encoded[columns[inside], place]
            yield inside[encoded >= 0], encoded[encoded >= 0]

    def sample(self, n_draws: int, generator: np.random.Generator) -> NDArray:
        """Points with unknown columns filled in, of shape (draws, n_points, n_encoded)."""
        values = self.guess(n_draws, generator)
        np.copyto(values, self.points, where=self.known)
        return values

    def learn(self, rows: NDArray, encoded: NDArray) -> None:  # noqa: B027
        """Take note of encoded columns, one for each of these points, that became known."""

    def forget(self, rows: NDArray, encoded: NDArray) -> None:  # noqa: B027
        """Take note of encoded columns, one for each of these points, that are not known any more."""

    def leave_out(self, own: NDArray) -> None:  # noqa: B027
        """Fill no point in from itself: `own` is its row among those of the imputer, −1 where it has none.

        Constants and functions draw on no rows, so there is nothing to leave out.
        """

    @abstractmethod
    def guess(self, n_draws: int, generator: np.random.Generator) -> NDArray:
        """Values for all columns; known ones are put in their place afterwards."""


class Imputer(Protocol):
    """Whatever can fill in unknown columns."""

    @property
    def n_rows(self) -> int:
        """Rows that every point is compared with: decides the size of a block."""
        ...

    def path(self, points: NDArray, sources: NDArray) -> Path:
        """Begin with nothing known."""
        ...


@dataclass(frozen=True)
class Constant:
    """Unknown columns have one value each: zero, or a column's mean."""

    values: NDArray
    n_rows: ClassVar[int] = 0

    def path(self, points: NDArray, sources: NDArray) -> Path:
        """Begin with nothing known."""
        return _ConstantPath(points, sources, self.values)


class _ConstantPath(Path):
    def __init__(self, points: NDArray, sources: NDArray, values: NDArray) -> None:
        super().__init__(points, sources)
        self.values = values

    def guess(self, n_draws: int, generator: np.random.Generator) -> NDArray:
        # All draws are the same: one is enough.
        return np.broadcast_to(self.values, (1, *self.points.shape)).copy()


@dataclass(frozen=True)
class Given:
    """Whatever a user's function fills in: ``function(points, known, generator)``."""

    function: Callable[[NDArray, NDArray, np.random.Generator], Any]
    n_rows: ClassVar[int] = 0

    def path(self, points: NDArray, sources: NDArray) -> Path:
        """Begin with nothing known."""
        return _GivenPath(points, sources, self.function)


class _GivenPath(Path):
    def __init__(self, points: NDArray, sources: NDArray, function: Callable[..., Any]) -> None:
        super().__init__(points, sources)
        self.function = function

    def guess(self, n_draws: int, generator: np.random.Generator) -> NDArray:
        return np.stack([self._call(generator) for _ in range(n_draws)])

    def _call(self, generator: np.random.Generator) -> NDArray:
        # What is unknown must not be looked at.
        given = np.where(self.known, self.points, np.nan)
        values = np.array(self.function(given, self.known.copy(), generator), dtype=np.float64)
        if values.shape != self.points.shape:
            raise ValueError(
                f"The imputer returned shape {values.shape}, expected {self.points.shape}: it is called "
                "as imputer(points, known, generator) and returns points with all columns filled in."
            )
        if not np.isfinite(values[~self.known]).all():
            raise ValueError("The imputer returned NaN or infinity, expected finite numbers.")
        return values


@dataclass(frozen=True, eq=False)
class KernelDensity:
    """Data as an equal mixture of round Gaussians, one around each row (Eq. 39).

    Columns are measured in their standard deviations, so that a round Gaussian makes sense; data that
    are standardised, as in the paper, stay as they are.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_encoded)
    scale : ndarray of shape (n_encoded,)
        Standard deviations, zero for columns that are constant: these are filled in with their constant
        and tell no row from another.
    sigma : float
        Width of the Gaussians, in units of `scale`.
    positions : ndarray of int of shape (n_rows,), optional
        Where `rows` are among those it was fitted on, in increasing order; by default they are all of them.
    """

    rows: NDArray
    scale: NDArray
    sigma: float
    positions: NDArray | None = None

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return len(self.rows)

    @classmethod
    def fit(cls, rows: NDArray, *, max_rows: int = MAX_ROWS, seed: int = 0) -> KernelDensity:
        """Estimate σ by leave-one-out likelihood, on at most so many rows."""
        if len(rows) < 2:
            raise ValueError(
                f"A kernel density needs two rows or more, found {len(rows)}: pass background= with the data "
                "they come from."
            )
        positions = np.arange(len(rows))
        if len(rows) > max_rows:
            positions = np.sort(np.random.default_rng(seed).choice(len(rows), max_rows, replace=False))
            rows = rows[positions]
        scale = rows.std(axis=0)
        scale[scale <= 1e-12 * np.abs(rows).max(axis=0)] = 0.0
        moving = scale > 0
        sigma = bandwidth(rows[:, moving] / scale[moving]) if moving.any() else 1.0
        return cls(rows, scale, sigma, positions)

    def at(self, positions: NDArray) -> NDArray:
        """Rows that were at these positions when it was fitted; −1 where they were not taken, or none."""
        kept = np.arange(self.n_rows) if self.positions is None else self.positions
        found = np.minimum(np.searchsorted(kept, positions), self.n_rows - 1)
        return np.where(kept[found] == positions, found, -1)

    def equal_to(self, points: NDArray) -> NDArray:
        """For each point a row with the same values, −1 where there is none.

        Of several equal rows it does not matter which one is left out: the others are the same.
        """
        # Zeros have two signs, which differ in their bytes.
        known = {row.tobytes(): place for place, row in enumerate(self.rows + 0.0)}
        return np.array([known.get(point.tobytes(), -1) for point in points + 0.0], dtype=np.intp)

    @property
    def unit(self) -> NDArray:
        """Width of the Gaussians in every column."""
        return self.sigma * self.scale

    def in_units(self, points: NDArray, columns: NDArray | slice = slice(None)) -> NDArray:
        """Columns of points, divided by their widths: exp(−½ distance²) is then the weight of Eq. (44)."""
        unit = self.unit[columns]
        return points[:, columns] / np.where(unit > 0, unit, np.inf)

    def path(self, points: NDArray, sources: NDArray) -> DensityPath:
        """Begin with nothing known: all rows are equally likely."""
        return DensityPath(points, sources, self)


def bandwidth(rows: NDArray) -> float:
    """σ of largest leave-one-out likelihood, by the fixed-point iteration of Eq. (42).

    >>> bandwidth(np.array([[0.0], [3.0]]))
    3.0
    """
    distances = cdist(rows, rows, "sqeuclidean")
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    variance = float(nearest.mean()) / rows.shape[1]
    if not variance > 0:
        # Every row has an exact copy, so that likelihood has no limit: copies count once.
        distinct = np.unique(rows, axis=0)
        return bandwidth(distinct) if 1 < len(distinct) < len(rows) else 1.0
    np.fill_diagonal(distances, nearest)  # anything finite: a row has no weight in its own density
    for _ in range(_MAX_ITERATIONS):
        weights = np.exp((nearest[:, None] - distances) / (2.0 * variance))
        np.fill_diagonal(weights, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        before, variance = variance, float(np.einsum("ij,ij->", weights, distances)) / rows.size
        if abs(variance - before) <= 1e-10 * before:
            break
    return float(np.sqrt(variance))


class DensityPath(Path):
    """Distances to all rows in the known columns grow with every column that becomes known."""

    def __init__(self, points: NDArray, sources: NDArray, density: KernelDensity) -> None:
        super().__init__(points, sources)
        self.rows = density.rows
        self.unit = density.unit.astype(np.float32)
        self.scaled_rows = np.ascontiguousarray(density.in_units(density.rows).T)
        self.scaled_points = density.in_units(points)
        self.distances = np.zeros((len(points), len(density.rows)))

    def leave_out(self, own: NDArray) -> None:
        """Fill no point in from itself."""
        among = np.flatnonzero(own >= 0)
        # At an infinite distance, which stays so whatever becomes known.
        self.distances[among, own[among]] = np.inf

    def learn(self, rows: NDArray, encoded: NDArray) -> None:
        """Add distances in columns that became known."""
        difference = self._squares(rows, encoded)
        if len(rows) == len(self.points):
            self.distances += difference
        else:
            self.distances[rows] += difference

    def forget(self, rows: NDArray, encoded: NDArray) -> None:
        """Take off distances in columns that are not known any more."""
        # Rounding must not leave a distance below zero.
        self.distances[rows] = np.maximum(self.distances[rows] - self._squares(rows, encoded), 0.0)

    def _squares(self, rows: NDArray, encoded: NDArray) -> NDArray:
        difference = self.scaled_rows[encoded]
        difference -= self.scaled_points[rows, encoded][:, None]
        return np.multiply(difference, difference, out=difference)

    def guess(self, n_draws: int, generator: np.random.Generator) -> NDArray:
        """Draw a row for each point by its distance in the known columns, and noise around it."""
        chosen = choose(self.distances, generator.random((n_draws, len(self.points))))
        noise = generator.standard_normal((n_draws, *self.points.shape), dtype=np.float32)
        noise *= self.unit
        values = self.rows[chosen]
        values += noise
        return values


def choose(distances: NDArray, uniform: NDArray) -> NDArray:
    """Draw a row for each point with probability ∝ exp(−½ distance), as Eq. (44) has it.

    `uniform` holds numbers in [0, 1), draws × points.
    """
    weights = distances.min(axis=1, keepdims=True) - distances
    weights *= 0.5
    np.exp(weights, out=weights)
    cumulated = np.cumsum(weights, axis=1, out=weights)
    n_points, n_rows = distances.shape
    # All points in one search: each has its own unit interval.
    cumulated /= cumulated[:, -1:]
    first = np.arange(n_points)
    cumulated += first[:, None]
    found = np.searchsorted(cumulated.ravel(), uniform + first, side="right")
    return np.minimum(found - first * n_rows, n_rows - 1)
