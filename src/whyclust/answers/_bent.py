"""The nearest point beyond a border that is bent: kernels, mixtures, surrogates with noise, encoders.

Ways from the row to rows of the other cluster are cut where they cross the border. From the nearest crossings
the border is followed: it is taken for flat where one stands, the nearest point of that is found exactly, and
so on (the iteration of Hasofer and Lind). What is nearest among all points that the network puts on the other
side wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from whyclust.answers._changeable import Changeable
from whyclust.answers._projection import Box, length_of, nearest, sparsest
from whyclust.answers._regions import Piece
from whyclust.network.gradient import gradient
from whyclust.network.network import Neuralized
from whyclust.perturbing.encoded import as_rows

# Ways that are cut, crossings that are followed, steps along the border, and columns that SLSQP takes well.
_WAYS = 60
_FOLLOWED = 6
_STEPS = 25
_MOST_COLUMNS = 60
# Each round of cutting leaves one of so many parts of a way.
_PARTS = 16
_ROUNDS = 7
# Where few columns are to change: how far beyond the border, in times of the way to it, columns are set back.
_STRETCHES = (1.1, 1.3, 1.6, 2.0)
# SLSQP begins at the nearest rows of the goal, then at those farthest from all before. It ends where a
# further start is expected to find something new with this probability at most, or after so many starts.
_NEAREST = 3
_UNSEEN = 0.05
_MOST_STARTS = 40
# Answers of SLSQP are the same if they differ by this share of their length.
_SAME = 1e-3


@dataclass(frozen=True, eq=False)
class BentBorder:
    """The border between a row and another cluster, in scaled columns around the row.

    `own` and `to` are clusters' ids; `to` is None where any other cluster will do. `rows` are the data, as
    changes of the row, and `homes` their clusters.
    """

    net: Neuralized
    start: NDArray
    movable: NDArray
    unit: NDArray
    own: Any
    to: Any
    sparse: bool
    step: float
    rows: NDArray
    homes: NDArray

    @classmethod
    def around(
        cls, row: Changeable, start: NDArray, own: int, to: int | None, sparse: bool, step: float
    ) -> BentBorder:
        """The border around a row, with the data to look for other clusters in."""
        net, unit = row.row.net, row.scale[row.movable]
        typical = net.head.typical_points(net.features.folded) if net.features.trunk is None else None
        rows = row.data if typical is None or net.features.norm else np.concatenate([row.data, typical[0]])
        changes = (rows[:, row.movable] - start[row.movable]) * unit
        goal = None if to is None else net.clusters[to]
        homes = net.predict_rows(as_rows(rows))
        return cls(net, start, row.movable, unit, net.clusters[own], goal, sparse, step, changes, homes)

    def points(self, changes: NDArray) -> NDArray:
        """Encoded points of changes of the row."""
        points = np.repeat(self.start[None], len(changes), axis=0)
        points[:, self.movable] += changes / self.unit
        return points

    def assigned(self, changes: NDArray) -> NDArray:
        """The clusters of changed rows."""
        return self.net.predict_rows(as_rows(self.points(changes)))

    def reached(self, changes: NDArray) -> NDArray:
        """Whether they are where they are to be."""
        found = self.assigned(changes)
        return found != self.own if self.to is None else found == self.to

    def nearest(self, box: Box) -> NDArray | None:
        """The shortest change that was found within the box; None where none was."""
        nothing = np.clip(np.zeros(len(self.movable)), *box)
        if self.reached(nothing[None])[0]:
            return nothing
        if not len(self.movable):
            return None
        ends = np.unique(np.clip(self.rows, *box), axis=0)
        sought = self._sought(box)
        ends = np.concatenate([ends[self.reached(ends)], *sought])
        if not len(ends):
            return None
        ends = ends[np.argsort([length_of(end, self.sparse) for end in ends], kind="stable")[:_WAYS]]
        crossings = self._cut(np.repeat(nothing[None], len(ends), axis=0), ends)
        lengths = np.array([length_of(crossing, self.sparse) for crossing in crossings])
        # On the border rounding may say otherwise of a row alone than of the same row among others.
        landed = self.assigned(crossings)
        landed = np.where(landed == self.own, self.assigned(ends), landed)
        # Ends on the border may be on either side of it: without a cluster to go to they are not followed.
        ways = [way for way in _varied(lengths, landed) if landed[way] != self.own]
        followed: list[NDArray] = [self._followed(crossings[way], landed[way], box) for way in ways]
        followed += list(crossings[landed == self.own])
        if self.sparse:
            # Of what lies just beyond the border nothing can be set back, of what lies farther most.
            farther = [np.clip(stretch * change, *box) for change in followed for stretch in _STRETCHES]
            across = [change for change in [*farther, *ends[ways]] if self.reached(change[None])[0]]
            followed += [self._fewer(change, box) for change in across]
        else:
            followed += [change[0] for change in sought]
        best = min(followed, key=lambda change: length_of(change, self.sparse))
        further = np.clip(best * (1.0 + self.step / max(length_of(best, self.sparse), self.step)), *box)
        for beyond in (self.beyond(best, box), further):
            if beyond is not None and self.reached(beyond[None])[0]:
                return beyond
        return best

    def beyond(self, change: NDArray, box: Box) -> NDArray | None:
        """The change, a step away from all borders of its cluster; in corners farther may be outside."""
        if self.sparse:
            return None
        # In a corner, where three clusters meet, rounding may give the point back to the row's own cluster.
        target = self.assigned(change[None])[0] if self.to is None else self.to
        if target == self.own:
            return None
        values, slopes = self.sides(change, target)
        piece = Piece(slopes, self.step * np.linalg.norm(slopes, axis=1) - values)
        moved = nearest(piece, (box[0] - change, box[1] - change))
        return None if moved is None else np.clip(change + moved, *box)

    def _sought(self, box: Box) -> list[NDArray]:
        """What SLSQP finds from rows of the goal, also where limits put them elsewhere.

        A bent border has several nearest points, each with its own basin. Of n starts that led to w of them,
        a further one is expected to lead to a new one with probability w (w + 1) / (n (n - 1)), for basins of
        sizes that are not known (Boender and Rinnooy Kan, 1987).
        """
        fits = np.flatnonzero(self.homes != self.own if self.to is None else self.homes == self.to)
        if not len(fits) or len(self.movable) > _MOST_COLUMNS:
            return []
        found: list[NDArray] = []
        arrived = 0
        for row in fits[_spread(self.rows[fits], _MOST_STARTS)]:
            if arrived > 1 and len(found) * (len(found) + 1) <= _UNSEEN * arrived * (arrived - 1):
                break
            change = self._solved(np.clip(self.rows[row], *box), self.homes[row], box)
            crossed = self._across(change, self.homes[row], box)
            if crossed is None:  # SLSQP got stuck before the border: that start tells nothing of basins
                continue
            arrived += 1
            apart = [np.linalg.norm(crossed - other[0]) for other in found]
            if min(apart, default=np.inf) > _SAME * np.linalg.norm(crossed):
                found.append(crossed[None])
        return found

    def _across(self, change: NDArray, target: Any, box: Box) -> NDArray | None:
        """The change, moved over the border where rounding has left it before; None if it is far from it."""
        if self.reached(change[None])[0]:
            return change
        values, slopes = self.sides(change, target)
        for step in (1e-9, 1e-8, 1e-7, 1e-6, 1e-5):
            piece = Piece(slopes, step * np.linalg.norm(slopes, axis=1) - values)
            moved = nearest(piece, (box[0] - change, box[1] - change))
            if moved is not None and self.reached((change + moved)[None])[0]:
                return np.clip(change + moved, *box)
        return None

    def _cut(self, before: NDArray, beyond: NDArray) -> NDArray:
        """Points just beyond the border, on the ways from points before it."""
        shares = np.linspace(0.0, 1.0, _PARTS + 1)[None, :, None]
        rows = np.arange(len(before))
        for _ in range(_ROUNDS):
            between = before[:, None] + shares * (beyond - before)[:, None]
            crossed = self.reached(between.reshape(-1, before.shape[1])).reshape(between.shape[:2])
            crossed[:, -1] = True
            first = np.maximum(crossed.argmax(axis=1), 1)
            before, beyond = between[rows, first - 1], between[rows, first]
        return beyond

    def _fewer(self, change: NDArray, box: Box) -> NDArray:
        """The change with columns set back that it does without, the smallest changes first.

        Where the border could not be followed all columns may have changed, as on the way to another row.
        """
        nothing = np.clip(np.zeros(len(change)), *box)
        order = np.argsort(-np.abs(change - nothing), kind="stable")
        ranks = np.empty(len(order), dtype=int)
        ranks[order] = np.arange(len(order))
        few, enough = 0, len(order)
        while enough - few > 1:  # as if with each further column one were nearer to the goal
            counts = np.unique(np.linspace(few, enough, _PARTS + 1).astype(int))[1:]
            reached = self.reached(np.where(ranks < counts[:, None], change, nothing))
            reached[-1] = True
            first = reached.argmax()
            few, enough = counts[first - 1] if first else few, counts[first]
        change = np.where(ranks < enough, change, nothing)
        return self._cut(nothing[None], change[None])[0]

    def sides(self, change: NDArray, target: Any) -> tuple[NDArray, NDArray]:
        """Evidence for the target against each competitor, and its slopes along the change."""
        others = (
            [self.own] if self.to is None else [one for one in self.net.clusters.tolist() if one != target]
        )
        table = as_rows(np.repeat(self.points(change[None]), len(others), axis=0))
        question = {"cluster": np.full(len(others), target), "against": np.array(others)}
        values = self.net.evidence_rows(table, **question)
        return values, gradient(self.net, table, **question)[:, self.movable] / self.unit

    def _followed(self, change: NDArray, target: Any, box: Box) -> NDArray:
        """The shortest change that is met on the way along the border to a cluster."""
        best, at = change, change
        for _ in range(_STEPS):
            values, slopes = self.sides(at, target)
            if not np.isfinite(slopes).all():
                break
            levels = slopes @ at - values + self.step * np.linalg.norm(slopes, axis=1)
            flat = (sparsest if self.sparse else nearest)(Piece(slopes, levels), box)
            if flat is None:
                break
            if not self.reached(flat[None])[0]:
                flat = self._cut(flat[None], best[None])[0]
            moved = length_of(flat - at, False)
            at = flat if length_of(flat, self.sparse) < length_of(best, self.sparse) else (at + flat) / 2
            if length_of(flat, self.sparse) < length_of(best, self.sparse):
                best = flat
            if moved <= 1e-9 * max(1.0, length_of(best, False)):
                break
        return best if self.sparse or len(best) > _MOST_COLUMNS else self._polished(best, target, box)

    def _polished(self, change: NDArray, target: Any, box: Box) -> NDArray:
        """SLSQP from there; its answer counts if the network agrees and it is nearer."""
        found = self._solved(change, target, box)
        if not self.reached(found[None])[0]:
            found = self._cut(found[None], change[None])[0]
        return found if length_of(found, False) < length_of(change, False) else change

    def _solved(self, change: NDArray, target: Any, box: Box) -> NDArray:
        """The shortest change by SLSQP, which begins at this one."""
        options: Any = {
            "jac": lambda y: 2.0 * y,
            "method": "SLSQP",
            "bounds": list(zip(*box, strict=True)),
            "constraints": {
                "type": "ineq",
                "fun": lambda y: self.sides(y, target)[0],
                "jac": lambda y: self.sides(y, target)[1],
            },
            "options": {"maxiter": 60, "ftol": 1e-10},
        }
        found = minimize(squared, change, **options).x
        return np.clip(found, *box) if np.isfinite(found).all() else change


def squared(change: NDArray) -> float:
    """The square of a change's length."""
    return float(change @ change)


def _spread(rows: NDArray, count: int) -> NDArray:
    """Positions of the nearest rows, and then of those farthest from all before."""
    lengths = np.linalg.norm(rows, axis=1)
    chosen = list(np.argsort(lengths, kind="stable")[:_NEAREST])
    apart = np.min([np.linalg.norm(rows - rows[one], axis=1) for one in chosen], axis=0)
    while len(chosen) < count and apart.max() > 0:
        chosen.append(apart.argmax())
        apart = np.minimum(apart, np.linalg.norm(rows - rows[chosen[-1]], axis=1))
    return np.array(chosen)


def _varied(lengths: NDArray, landed: NDArray) -> NDArray:
    """Positions of the nearest crossings, and of the nearest into each further cluster."""
    order = np.argsort(lengths, kind="stable")
    _, first = np.unique(landed[order], return_index=True)
    among = np.concatenate([np.arange(min(_FOLLOWED, len(order))), first])
    return order[np.unique(among)[: 2 * _FOLLOWED]]
