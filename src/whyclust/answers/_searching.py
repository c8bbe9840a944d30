"""The nearest point of another cluster: over categories, then exactly in polyhedra, or along bent borders."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.answers._bent import BentBorder
from whyclust.answers._changeable import Changeable, Choice
from whyclust.answers._near_data import BentBalls, NearData, flat_nearest
from whyclust.answers._projection import Box, branched, length_of, nearest, sparsest
from whyclust.answers._regions import Piece, Regions, regions_of

# Combinations of categories, and branches of whole numbers, that are tried: where borders are flat, and bent.
_MOST_TRIED = (5000, 40)
_MOST_BRANCHES = (2000, 40)


@dataclass(frozen=True, eq=False)
class Found:
    """A point in encoded columns, the user's categories, its distance, and whether none is nearer."""

    point: NDArray
    chosen: dict[int, Any]
    distance: float
    exact: bool


@dataclass(frozen=True, eq=False)
class Search:
    """A row, the cluster it is in and the one it is to be in, by position; None for any other.

    `step` is how far beyond the border it must go, in the units of the distance. With `near`, only points
    near the data are looked at.
    """

    row: Changeable
    own: int
    to: int | None
    sparse: bool
    near: NearData | None = None

    def find(self, step: float) -> Found | None:
        """The nearest point that was found; None where there is none."""
        row, bent = self.row, self.bent
        best: Found | None = None
        tried, known = 0, not bent and all(choice.complete for choice in row.choices)
        for cost, options in cheapest_first(row.choices, row.scale, row.start, self.sparse):
            if best is not None and cost >= best.distance:
                return best
            if tried >= _MOST_TRIED[bent]:
                return None if best is None else Found(best.point, best.chosen, best.distance, False)
            tried += 1
            start = row.start.copy()
            chosen: dict[int, Any] = {}
            for choice, option in zip(row.choices, options, strict=True):
                start[choice.positions] = choice.options[option]
                chosen |= choice.values[option]
            for solve in self._ways(start, step):
                change, complete = self._branched(solve)
                if change is None:
                    continue
                distance = (
                    cost + length_of(change, True)
                    if self.sparse
                    else np.hypot(cost, length_of(change, False))
                )
                if best is None or distance < best.distance:
                    point = start.copy()
                    # What rounding moves, does not move.
                    change[np.abs(change) <= 1e-11 * distance] = 0.0
                    point[row.movable] += change / row.scale[row.movable]
                    best = Found(point, chosen, float(distance), complete and known)
        return best

    @property
    def bent(self) -> bool:
        """Whether the border is bent, so that a search has no proof."""
        return self._regions is None

    @cached_property
    def _regions(self) -> Regions | None:
        return regions_of(self.row.row.net)

    @cached_property
    def _goals(self) -> list[int]:
        """Clusters, by position, that the row may be in."""
        every = range(len(self.row.row.net.clusters))
        return [one for one in every if one != self.own] if self.to is None else [self.to]

    def _branched(self, solve: Callable[[Box], NDArray | None]) -> tuple[NDArray | None, bool]:
        row = self.row
        start, unit = row.start[row.movable], row.scale[row.movable]
        box = tuple((side - start) * unit for side in row.box)
        most = _MOST_BRANCHES[self.bent]
        return branched(solve, (box[0], box[1]), row.between_whole, self.sparse, most)

    def _ways(self, start: NDArray, step: float) -> list[Callable[[Box], NDArray | None]]:
        """For each piece of the goal, what finds the nearest change into it and a box."""
        row, regions = self.row, self._regions
        if regions is None:
            border = BentBorder.around(row, start, self.own, self.to, self.sparse, step)
            if self.near is None:
                return [border.nearest]
            balls = [(goal, *self.near.around(row, start, goal)[1:]) for goal in self._goals]
            return [BentBalls(border, balls).nearest]
        if self.near is not None:
            within = []
            for goal in self._goals:
                _, centres, radii = self.near.around(row, start, goal)
                within += [(self._moved(one, start, step), centres, radii) for one in regions.inside(goal)]
            return [partial(flat_nearest, within)]
        pieces = regions.outside(self.own) if self.to is None else regions.inside(self.to)
        solver = sparsest if self.sparse else nearest
        return [partial(solver, self._moved(piece, start, step)) for piece in pieces]

    def _moved(self, piece: Piece, start: NDArray, step: float) -> Piece:
        """A piece as changes of the movable columns, scaled, a step inside of its borders."""
        row = self.row
        part = piece.part(row.movable, start)
        normals = part.normals / row.scale[row.movable]
        levels = part.levels - part.normals @ start[row.movable] + step * np.linalg.norm(normals, axis=1)
        return Piece(normals, levels)


def cheapest_first(
    choices: list[Choice], scale: NDArray, start: NDArray, sparse: bool
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Combinations of options, one of each choice, with their distance, from the nearest on."""
    costs, orders = [], []
    for choice in choices:
        moved = np.abs(choice.options - start[choice.positions]) * scale[choice.positions]
        cost = moved.sum(axis=1) if sparse else (moved**2).sum(axis=1)
        order = np.argsort(cost, kind="stable")
        costs.append(cost[order])
        orders.append(order)
    first = (0,) * len(choices)
    waiting, seen = [(0.0, first)], {first}
    while waiting:
        _, places = heapq.heappop(waiting)
        total = float(sum(cost[place] for cost, place in zip(costs, places, strict=True)))
        options = tuple(int(order[place]) for order, place in zip(orders, places, strict=True))
        yield total if sparse else float(np.sqrt(total)), options
        for which, place in enumerate(places):
            following = (*places[:which], place + 1, *places[which + 1 :])
            if place + 1 < len(costs[which]) and following not in seen:
                seen.add(following)
                rise = float(costs[which][place + 1] - costs[which][place])
                heapq.heappush(waiting, (total + rise, following))
