"""The search for sufficient sets: greedy by similar rows' clusters, then judged by the model itself.

Rows that are similar in the columns I have clusters of their own, which costs no model: P(c | z_I) =
Σ_n w_n 1[row n is in c]. The best sets of each size are kept, and grow by a column at a time. The model is
asked about them, P(model(z_I, x_n outside I) = c), on one half of the background, and what reaches the target
there is asked again on the other half, which tells the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from whyclust import _progress
from whyclust.answers._flat_judge import FlatJudge
from whyclust.answers.similar_rows import SimilarColumns, effective_rows, weights_of

# Sets of each size that are kept. The model is asked about the first few, and about all where one of those
# comes near the target.
GROWING = 24
ASKED_FIRST = 6
_NEAR = 0.1
# Similar rows that a probability must rest on.
FEWEST_ROWS = 20.0
# Fewer may search, as the other half tells; but sets that rest on fewer than the above stand back: by as much
# as if they were so much less probable, in proportion to the rows that they lack.
_FEWEST_SEARCHING = 5.0
_LACKING = 0.5
# Of several sets that might do, the luckiest is found: half a row more knows only the shares of clusters.
_KNOWS_NOTHING = 0.5
# Rows of less weight than this do not change what is told.
_NO_WEIGHT = 1e-5
_BLOCK_NUMBERS = 1 << 21

Inside = Callable[[NDArray, NDArray], NDArray]


@dataclass(frozen=True, eq=False)
class Half:
    """Half of the background: rows in encoded columns, and what is compared of them."""

    points: NDArray
    compared: NDArray
    places: dict[bytes, int]

    @classmethod
    def of(cls, points: NDArray, columns: SimilarColumns) -> Half:
        """Read the rows."""
        # Zeros have two signs, which differ in their bytes.
        places = {row.tobytes(): place for place, row in enumerate(points + 0.0)}
        return cls(points, np.ascontiguousarray(columns.values(points).T), places)

    def own(self, points: NDArray) -> NDArray:
        """For each point a row of this half with the same values, −1 where there is none."""
        return np.array([self.places.get(point.tobytes(), -1) for point in points + 0.0], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Task:
    """Rows of a block, each with its cluster, the share of all rows in it, and columns to become known.

    Of these `candidates` some only fill up the table, and are not `allowed`.
    """

    points: NDArray
    compared: NDArray
    clusters: NDArray
    shares: NDArray
    candidates: NDArray
    allowed: NDArray


@dataclass(eq=False)
class Found:
    """What was found for one row: positions of columns, probability, similar rows; and other sets.

    `unjudged` is the size of the smallest set that might do, but by too few similar rows to tell; 0 for none.
    """

    columns: NDArray | None = None
    probability: float = np.nan
    rows: float = np.nan
    too_few: bool = False
    others: list[tuple[NDArray, float]] | None = None
    unjudged: int = 0


@dataclass(frozen=True, eq=False)
class Search:
    """All that the search for sufficient sets needs to know, whatever the rows.

    Attributes
    ----------
    columns : SimilarColumns
    searched, told : Half
        The half by which sets are found, and the one by which their probability is told.
    widths : ndarray of shape (most,)
        Of kernels, for sets of 1, 2, ... columns.
    target : float
    inside : callable
        Whether points are in clusters, by the model.
    flat : dict of int to FlatJudge
        The same for affine models, by the `id` of each half.
    """

    columns: SimilarColumns
    searched: Half
    told: Half
    widths: NDArray
    target: float
    inside: Inside
    flat: Mapping[int, FlatJudge] = field(default_factory=dict)

    def run(self, task: Task) -> list[Found]:
        """Find a set for every row of a block."""
        return _Block(self, task).run()

    def judged(
        self, half: Half, squares: NDArray, task: Task, rows: NDArray, chosen: NDArray
    ) -> tuple[NDArray, NDArray]:
        """The model's probability of each row's cluster if only a set is known, and the rows it rests on.

        Parameters
        ----------
        half : Half
        squares : ndarray of shape (n_task, n_candidates, n_half)
        task : Task
        rows : ndarray of int of shape (n_pairs,)
            The row of the task that each set belongs to.
        chosen : ndarray of bool of shape (n_pairs, n_candidates)
        """
        probability, similar = np.empty(len(rows)), np.empty(len(rows))
        size = max(1, _BLOCK_NUMBERS // half.points.size)
        n_known = chosen.sum(axis=1)
        for start in range(0, len(rows), size):
            block = slice(start, start + size)
            own, known = rows[block], chosen[block]
            factors = (-0.5 / self.widths[n_known[block] - 1] ** 2).astype(np.float32)
            distance = _distances(squares, own, known)
            weights = np.exp(np.multiply(distance, factors[:, None], out=distance), out=distance)
            similar[block] = effective_rows(weights)
            hit, total = self._hits(half, weights, task, own, self._known(task, own, known))
            probability[block] = np.divide(hit, total, out=np.zeros(len(own)), where=total > 0)
        if half is self.told:
            prior = _KNOWS_NOTHING * task.shares[rows]
            probability = (similar * probability + prior) / (similar + _KNOWS_NOTHING)
        return probability, similar

    def _hits(
        self, half: Half, weights: NDArray, task: Task, own: NDArray, known: NDArray
    ) -> tuple[NDArray, NDArray]:
        """For each set the weight of rows of the half with which the model is right, and that of all rows."""
        flat = self.flat.get(id(half))
        if flat is not None:
            hits = flat.inside(task.points[own], known, task.clusters[own])
            total = weights.sum(axis=1, dtype=np.float64)
            return np.einsum("ij,ij->i", weights, hits.astype(np.float32), dtype=np.float64), total
        weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        pairs, drawn = np.nonzero(weights > _NO_WEIGHT)
        kept = weights[pairs, drawn].astype(np.float64)
        points = half.points[drawn]
        np.copyto(points, task.points[own[pairs]], where=known[pairs])
        # A row that is like no other has no weights at all.
        inside = self.inside(points, task.clusters[own[pairs]]) if len(pairs) else np.zeros(0, dtype=bool)
        hit = np.bincount(pairs, weights=kept * inside, minlength=len(own))
        return hit, np.bincount(pairs, weights=kept, minlength=len(own))

    def _known(self, task: Task, rows: NDArray, chosen: NDArray) -> NDArray:
        """Which encoded columns are known, of shape (n_pairs, n_encoded)."""
        pairs, places = np.nonzero(chosen)
        known = np.zeros((len(rows), len(self.columns.scale)), dtype=bool)
        columns = task.candidates[rows[pairs], places]
        for column in np.unique(columns):
            here = pairs[columns == column]
            for encoded in self.columns.encoded(int(column)):
                known[here, encoded] = True
        return known


def _distances(squares: NDArray, rows: NDArray, chosen: NDArray) -> NDArray:
    """Squared distances of rows from those of a half in sets of columns; sets of one row stand together."""
    found = np.empty((len(rows), squares.shape[2]), dtype=np.float32)
    known = chosen.astype(np.float32)
    ends = [*np.flatnonzero(np.diff(rows)) + 1, len(rows)]
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        np.matmul(known[start:end], squares[rows[start]], out=found[start:end])
    return found


class _Block:
    """The search for the rows of one block, size by size."""

    def __init__(self, search: Search, task: Task) -> None:
        self.search, self.task = search, task
        self.n_rows, self.n_candidates = task.candidates.shape
        self.squares = self._squares(search.searched)
        self.squares_told = self._squares(search.told)
        self.found = [Found() for _ in range(self.n_rows)]
        # Sets that are the same have the same sum of keys.
        self.keys = np.random.default_rng(0).integers(1 << 60, size=self.n_candidates) >> 4
        half = search.searched
        clusters, codes = np.unique(task.clusters, return_inverse=True)
        members = np.stack([search.inside(half.points, np.repeat(one, len(half.points))) for one in clusters])
        self.members = members.astype(np.float32)[codes]

    def _squares(self, half: Half) -> NDArray:
        task = self.task
        own = half.own(task.points)
        return self.search.columns.squares(task.compared, half.compared, task.candidates, own)

    def run(self) -> list[Found]:
        open_rows = np.arange(self.n_rows)
        sets = np.zeros((self.n_rows, 1, self.n_candidates), dtype=bool)
        every = self.n_candidates == len(self.search.columns.readable) and self.task.allowed.all()
        for size in range(1, len(self.search.widths) + 1):
            if every and size == self.n_candidates:
                self._all_columns(open_rows)
                break
            sets, promised = self._grown(open_rows, sets, size)
            stuck = promised[:, 0] < 0
            for row in open_rows[stuck]:  # but for those that have no column more
                self.found[row].too_few |= bool(self.task.allowed[row].sum() >= size)
            done = np.zeros(len(open_rows), dtype=bool)
            best = np.ones(len(open_rows))
            for part in (slice(0, ASKED_FIRST), slice(ASKED_FIRST, None)):
                left = np.flatnonzero(~(stuck | done) & (best >= self.search.target - _NEAR))
                done[left], best[left] = self._judge(open_rows[left], sets[left, part], promised[left, part])
            keep = ~(stuck | done)
            # Most of the time: sets of whole clusters are quick.
            _progress.done(0.75 * (1.0 - keep.sum() / self.n_rows))
            open_rows, sets = open_rows[keep], sets[keep]
            if not len(open_rows):
                break
        return self.found

    def _all_columns(self, rows: NDArray) -> None:
        """With all columns known nothing is filled in: the model has put the row there."""
        for row in rows:
            if not self.found[row].too_few:
                found = self.found[row]
                found.columns, found.probability = self.task.candidates[row], 1.0

    def _grown(self, rows: NDArray, sets: NDArray, size: int) -> tuple[NDArray, NDArray]:
        """The best sets of one column more, the best first, and what similar rows say; −1 for no set."""
        width = self.search.widths[size - 1]
        squares = self.squares[rows]
        kernels = weights_of(squares, width)
        weights = weights_of(np.matmul(sets.astype(np.float32), squares), width)
        across = kernels.transpose(0, 2, 1)
        total = np.matmul(weights, across)
        inside = np.matmul(weights * self.members[rows][:, None], across)
        square = np.matmul(weights**2, across**2)
        tiny = np.finfo(np.float32).tiny
        similar = total**2 / np.maximum(square, tiny)
        told = inside / np.maximum(total, tiny)
        may_be_known = ~sets & self.task.allowed[rows][:, None]
        # These stand back, or are not asked about at all: of them nothing is known, not that they do not do.
        unjudged = may_be_known & (similar < FEWEST_ROWS) & (told >= self.search.target)
        doubtful = rows[unjudged.any(axis=(1, 2))]
        self._leave_unjudged(doubtful, np.full(len(doubtful), size))
        told -= _LACKING * np.maximum(1.0 - similar / FEWEST_ROWS, 0.0)
        told = np.where((similar >= _FEWEST_SEARCHING) & may_be_known, np.maximum(told, 0.0), -1.0)
        keys = (np.where(sets, self.keys, 0).sum(axis=2)[:, :, None] + self.keys).reshape(len(rows), -1)
        told = told.reshape(len(rows), -1)
        every, grown, promised = np.arange(len(rows)), [], []
        for _ in range(min(GROWING, told.shape[1])):
            best = told.argmax(axis=1)
            promised.append(told[every, best])
            new = sets[every, best // self.n_candidates].copy()
            new[every, best % self.n_candidates] = True
            grown.append(new)
            told[keys == keys[every, best][:, None]] = -1.0
        return np.stack(grown, axis=1), np.stack(promised, axis=1)

    def _leave_unjudged(self, rows: NDArray, sizes: NDArray) -> None:
        """Keep in mind that a set of this size might do for a row: the first one, as sizes grow."""
        for row, size in zip(rows, sizes.tolist(), strict=True):
            self.found[row].unjudged = self.found[row].unjudged or size

    def _judge(self, rows: NDArray, sets: NDArray, promised: NDArray) -> tuple[NDArray, NDArray]:
        """Ask the model about sets; which rows are done, and the best probability of each."""
        search = self.search
        asked, place = np.nonzero(promised >= 0)
        chosen = sets[asked, place]
        reached, _ = search.judged(search.searched, self.squares, self.task, rows[asked], chosen)
        best = np.zeros(len(rows))
        np.maximum.at(best, asked, reached)
        hopeful = np.isin(asked, asked[reached >= search.target])
        asked, chosen, reached = asked[hopeful], chosen[hopeful], reached[hopeful]
        told, similar = search.judged(search.told, self.squares_told, self.task, rows[asked], chosen)
        unjudged = (similar < FEWEST_ROWS) & (reached >= search.target)
        self._leave_unjudged(rows[asked[unjudged]], chosen[unjudged].sum(axis=1))
        done = np.zeros(len(rows), dtype=bool)
        for one in np.unique(asked):
            mine = np.flatnonzero(asked == one)
            mine = mine[np.argsort(-reached[mine], kind="stable")]
            enough = similar[mine] >= FEWEST_ROWS
            suffices = enough & (told[mine] >= search.target) & (reached[mine] >= search.target)
            found = self.found[rows[one]]
            columns = self.task.candidates[rows[one]]
            listed = [(columns[chosen[at]], float(told[at])) for at in mine[enough]]
            if suffices.any():
                done[one] = True
                first = mine[suffices][0]
                found.columns, found.probability = columns[chosen[first]], float(told[first])
                found.rows, found.too_few = float(similar[first]), False
                found.others = [other for other in listed if not np.array_equal(other[0], found.columns)]
                self._prune(rows[one], chosen[first])
            else:
                found.too_few |= not enough.any()
                found.others = listed or found.others
        return done, best

    def _prune(self, row: int, chosen: NDArray) -> None:
        """Leave out columns without which the set suffices, too."""
        search = self.search
        while chosen.sum() > 1:
            places = np.flatnonzero(chosen)
            smaller = np.repeat(chosen[None], len(places), axis=0)
            smaller[np.arange(len(places)), places] = False
            rows = np.repeat(row, len(places))
            reached, _ = search.judged(search.searched, self.squares, self.task, rows, smaller)
            told, similar = search.judged(search.told, self.squares_told, self.task, rows, smaller)
            fine = (np.minimum(reached, told) >= search.target) & (similar >= FEWEST_ROWS)
            if not fine.any():
                return
            best = int(np.where(fine, reached, -1.0).argmax())
            chosen = smaller[best]
            found = self.found[row]
            found.columns, found.probability = self.task.candidates[row][chosen], float(told[best])
            found.rows, found.others = float(similar[best]), []
