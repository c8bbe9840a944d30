"""Only towards plausible rows: points as near to a row of their cluster as its rows are to each other.

Around each row of a cluster there is a ball, whose radius reaches the nearest other row of the cluster for
95 % of its rows. A plausible point of the cluster lies in one of the balls. Where borders are flat, the
nearest such point is exact: for one ball its multiplier is found by bisection; a bound rules out most balls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial import cKDTree

from whyclust.answers._bent import BentBorder, squared
from whyclust.answers._changeable import Changeable
from whyclust.answers._projection import Box, nearest
from whyclust.answers._regions import Piece
from whyclust.perturbing.encoded import as_rows

#: Of a cluster's rows, the share whose nearest other row is within the radius.
SHARE = 0.95
# Bisections of a multiplier; and where borders are bent: rows that are tried, and those of them that are
# followed by SLSQP, points on the way to a row, and rounds of cutting it.
_BISECTIONS = 60
_TRIED = 30
_FOLLOWED = 12
_PARTS = 32
_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class NearData:
    """The balls: centres in scaled columns, their clusters by position, and the radius of each cluster."""

    centres: NDArray
    homes: NDArray
    radii: NDArray

    @classmethod
    def of(cls, row: Changeable) -> NearData:
        """Around the data that a row comes from."""
        net = row.row.net
        assigned = net.predict_rows(as_rows(row.data))
        homes = np.full(len(assigned), -1)
        centres, radii = row.data * row.scale, np.zeros(len(net.clusters))
        for place, cluster in enumerate(net.clusters):
            own = assigned == cluster
            homes[own] = place
            if own.sum() > 1:
                apart = np.asarray(cKDTree(centres[own]).query(centres[own], k=2)[0])
                radii[place] = np.quantile(apart[:, 1], SHARE)
        return cls(centres, homes, radii)

    def around(self, row: Changeable, start: NDArray, cluster: int) -> tuple[NDArray, NDArray, NDArray]:
        """Balls of a cluster as changes of the movable columns: which rows, centres, and radii that are left.

        What does not move uses up a part of the radius.
        """
        rows = np.flatnonzero(self.homes == cluster)
        away = self.centres[rows] - start * row.scale
        still = np.ones(away.shape[1], dtype=bool)
        still[row.movable] = False
        left = self.radii[cluster] ** 2 - (away[:, still] ** 2).sum(axis=1)
        fits = left >= 0
        return rows[fits], away[fits][:, row.movable], np.sqrt(left[fits])

    def nearest_row(self, point: NDArray, cluster: int) -> tuple[int, float]:
        """The row of a cluster that is nearest to a point in scaled columns, and its distance."""
        rows = np.flatnonzero(self.homes == cluster)
        distances = np.linalg.norm(self.centres[rows] - point, axis=1)
        return int(rows[distances.argmin()]), float(distances.min())


def flat_nearest(pieces: list[tuple[Piece, NDArray, NDArray]], box: Box) -> NDArray | None:
    """The shortest change into one of the pieces, within one of its balls and the box; exact.

    Parameters
    ----------
    pieces : list of (Piece, centres, radii)
    box : pair of ndarrays
    """
    opened = []
    for piece, centres, radii in pieces:
        first = nearest(piece, box) if len(centres) else None
        if first is not None:
            opened.append((float(np.linalg.norm(first)), first, piece, centres, radii))
    best: NDArray | None = None
    shortest = np.inf
    for length, first, piece, centres, radii in sorted(opened, key=lambda one: one[0]):
        if length >= shortest:
            break
        if (np.linalg.norm(centres - first, axis=1) <= radii).any():
            best, shortest = first, length
            continue
        bounds = np.maximum(np.linalg.norm(centres, axis=1) - radii, length)
        for ball in np.argsort(bounds, kind="stable"):
            if bounds[ball] >= shortest:
                break
            found = into_ball(piece, box, centres[ball], float(radii[ball]), shortest)
            if found is not None and np.linalg.norm(found) < shortest:
                best, shortest = found, float(np.linalg.norm(found))
    return best


def into_ball(piece: Piece, box: Box, centre: NDArray, radius: float, most: float) -> NDArray | None:
    """The shortest change into a piece, a box and a ball; None where none is shorter than `most`.

    With the multiplier μ of the ball, ‖y‖² + μ‖y − c‖² is least at the point of the piece and the box that is
    nearest to c μ / (1 + μ). The larger μ, the nearer to c; and each μ gives a lower bound of the length.
    """
    found = _towards(piece, box, centre)
    if found is None or np.linalg.norm(found - centre) > radius * (1 + 1e-12) + 1e-15:
        return None
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        tried = _towards(piece, box, middle * centre)
        if tried is None:
            break
        far = float(np.linalg.norm(tried - centre))
        if far <= radius:
            high, found = middle, tried
            continue
        low = middle
        multiplier = middle / (1 - middle)
        if tried @ tried + multiplier * (far**2 - radius**2) >= most**2:
            return None
        if far <= radius * (1 + 1e-12):
            break
    return found


def _towards(piece: Piece, box: Box, origin: NDArray) -> NDArray | None:
    """The point of a piece and a box that is nearest to another."""
    moved = Piece(piece.normals, piece.levels - piece.normals @ origin)
    found = nearest(moved, (box[0] - origin, box[1] - origin))
    return None if found is None else origin + found


@dataclass(frozen=True, eq=False)
class BentBalls:
    """Balls beyond a bent border: ways to their centres are cut, and the best of them followed by SLSQP."""

    border: BentBorder
    balls: list[tuple[int, NDArray, NDArray]]

    def nearest(self, box: Box) -> NDArray | None:
        """The shortest change that was found in a ball and the box; None where there was none."""
        clusters = self.border.net.clusters
        ways = []
        for home, centres, radii in self.balls:
            ends = np.clip(centres, *box)
            fits = np.linalg.norm(ends - centres, axis=1) <= radii
            if fits.any():
                fits[fits] = self.border.assigned(ends[fits]) == clusters[home]
            for place in np.flatnonzero(fits):
                length = max(float(np.linalg.norm(ends[place]) - radii[place]), 0.0)
                ways.append((length, home, ends[place], centres[place], float(radii[place])))
        ways.sort(key=lambda way: way[0])
        found = [(self._cut(clusters[way[1]], *way[2:]), way) for way in ways[:_TRIED]]
        found.sort(key=lambda one: float(np.linalg.norm(one[0])))
        points = list(found)
        for point, way in found[:_FOLLOWED]:
            _, home, end, centre, radius = way
            for start in (point, end):
                points.append((self._followed(start, clusters[home], centre, radius, box), way))
        if not points:
            return None
        best, (_, home, _, centre, radius) = min(points, key=lambda one: float(np.linalg.norm(one[0])))
        beyond = self.border.beyond(best, box)
        if beyond is None or np.linalg.norm(beyond - centre) > radius:
            return best
        return beyond if self.border.assigned(beyond[None])[0] == clusters[home] else best

    def _cut(self, cluster: Any, end: NDArray, centre: NDArray, radius: float) -> NDArray:
        """The first point on the way to a row that is in its ball and its cluster."""
        low, high = 0.0, 1.0
        for _ in range(_ROUNDS):
            shares = np.linspace(low, high, _PARTS + 1)
            points = shares[:, None] * end
            there = np.linalg.norm(points - centre, axis=1) <= radius
            there &= self.border.assigned(points) == cluster
            there[-1] = True
            first = int(there.argmax())
            low, high = shares[max(first - 1, 0)], shares[first]
        return high * end

    def _followed(self, point: NDArray, cluster: Any, centre: NDArray, radius: float, box: Box) -> NDArray:
        """What SLSQP makes of it; the point itself where the network does not agree."""
        border = self.border
        options: Any = {
            "jac": lambda y: 2.0 * y,
            "method": "SLSQP",
            "bounds": list(zip(*box, strict=True)),
            "constraints": [
                {
                    "type": "ineq",
                    "fun": lambda y: radius**2 - (y - centre) @ (y - centre),
                    "jac": lambda y: 2.0 * (centre - y),
                },
                {
                    "type": "ineq",
                    "fun": lambda y: border.sides(y, cluster)[0],
                    "jac": lambda y: border.sides(y, cluster)[1],
                },
            ],
            "options": {"maxiter": 60, "ftol": 1e-10},
        }
        found = minimize(squared, point, **options).x
        if not np.isfinite(found).all():
            return point
        found = np.clip(found, *box)
        # Rounding may leave it on the border: a little nearer to where it began, it is beyond.
        for share in (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-2):
            moved = found + share * (point - found)
            inside = np.linalg.norm(moved - centre) <= radius
            if inside and border.assigned(moved[None])[0] == cluster:
                return moved if np.linalg.norm(moved) < np.linalg.norm(point) else point
        return point
