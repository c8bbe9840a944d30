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
from whyclust.answers._projection import Box, branched, length_of, nearest, sparsest
from whyclust.answers._regions import Piece, regions_of

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

    `step` is how far beyond the border it must go, in the units of the distance.
    """

    row: Changeable
    own: int
    to: int | None
    sparse: bool

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
        return self._pieces is None

    @cached_property
    def _pieces(self) -> list[Piece] | None:
        regions = regions_of(self.row.row.net)
        if regions is None:
            return None
        return regions.outside(self.own) if self.to is None else regions.inside(self.to)

    def _branched(self, solve: Callable[[Box], NDArray | None]) -> tuple[NDArray | None, bool]:
        row = self.row
        start, unit = row.start[row.movable], row.scale[row.movable]
        box = tuple((side - start) * unit for side in row.box)
        most = _MOST_BRANCHES[self.bent]
        return branched(solve, (box[0], box[1]), row.whole, start, unit, self.sparse, most)

    def _ways(self, start: NDArray, step: float) -> list[Callable[[Box], NDArray | None]]:
        """For each piece of the goal, what finds the nearest change into it and a box."""
        row, pieces = self.row, self._pieces
        if pieces is None:
            border = BentBorder.around(row, start, self.own, self.to, self.sparse, step)
            return [border.nearest]
        unit = row.scale[row.movable]
        solver = sparsest if self.sparse else nearest
        ways: list[Callable[[Box], NDArray | None]] = []
        for piece in pieces:
            part = piece.part(row.movable, start)
            normals = part.normals / unit
            levels = part.levels - part.normals @ start[row.movable] + step * np.linalg.norm(normals, axis=1)
            ways.append(partial(solver, Piece(normals, levels)))
        return ways


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
