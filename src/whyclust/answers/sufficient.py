"""Which few columns are enough? For each row a small set which, known alone, puts it into its cluster."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import positive, whole_number
from whyclust._progress import done
from whyclust.answers._flat_judge import FlatJudge
from whyclust.answers.similar_rows import SimilarColumns, fitted_widths, mutual_information
from whyclust.answers.sufficient_result import (
    HOLDS_MOST,
    NO_SET,
    NOT_THERE,
    SUFFICES,
    TOO_FEW,
    ClusterSet,
    Sufficient,
)
from whyclust.answers.sufficient_search import FEWEST_ROWS, Found, Half, Search, Task
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.grouping import grouping_of
from whyclust.explaining.rows import column_names
from whyclust.inputs.reading import InputTable, in_columns_of
from whyclust.network.apart import judges
from whyclust.network.network import Neuralized
from whyclust.perturbing.encoded import EncodedRows, as_rows, inside
from whyclust.perturbing.subject import Prepared

# Sets from which the width of each size is fitted.
_SETS_FOR_WIDTHS = 8
# Rows whose columns become numbers at a time, and numbers of squared distances in a block of the search.
_ENCODED_ROWS = 4096
_BLOCK_NUMBERS = 1 << 20
# Sets of a cluster that are asked of all of its members, and members that are asked.
_SETS_PER_CLUSTER = 4
_MEMBERS = 500
# Sets of up to so many of the most common columns are tried for a cluster, first with so many members; and
# what a further column must be worth.
_SHORT = 3
_COMMON_COLUMNS = 5
_MEMBERS_FIRST = 100
_PER_COLUMN = 0.1
# Wider tables are searched among the most relevant columns and those that tell the most about clusters.
_EVERY_COLUMN = 2


def sufficient(
    explanation: Explanation,
    *,
    target: float = 0.95,
    max_columns: int = 12,
    background: Any = None,
    background_size: int = 1000,
    random_state: int = 0,
) -> Sufficient:
    """Find for each row a smallest set of columns which, known alone, puts it into its cluster.

    Parameters
    ----------
    explanation : Explanation
    target : float
        How probable the cluster must be when only the set is known.
    max_columns : int
        The largest set to look for. Of tables with more than twice as many columns, each row's most
        relevant ones and those that tell the most about the clusters are tried, `max_columns` of each.
    background : table, optional
        Rows from which unknown columns are filled in; by default those of the whole table that was
        explained. A row is left out of its own answer.
    background_size : int
        Rows of the background that are used, drawn at random: one half finds sets, the other half tells
        their probability.
    random_state : int
        Seed of the sample.

    Returns
    -------
    Sufficient

    Examples
    --------
    >>> import numpy as np
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> X[:150, 1] += 9.0
    >>> ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X, feature_names=["age", "income", "tax"])
    >>> found = sufficient(ex)
    >>> found.columns[0], found.status[0]
    (('income',), 'suffices')
    """
    if not 0 < positive("target", target) < 1:
        raise ValueError(f"target={target!r}, expected a probability between 0 and 1.")
    max_columns = whole_number("max_columns", max_columns, 1)
    background_size = whole_number("background_size", background_size, int(4 * FEWEST_ROWS))
    random_state = whole_number("random_state", random_state, 0)
    _refuse_other_questions(explanation)
    known = _Known.of(explanation, background, background_size, random_state)
    found = [Found() for _ in range(len(explanation))]
    status = np.full(len(explanation), NOT_THERE, dtype=object)
    shares: dict[Any, float] = {}
    sets: list[ClusterSet] = []
    for judge, rows in judges(known.net, explanation.clusters, explanation.assigned):
        answering = _Answering(known, explanation, judge, target, max_columns)
        answering.answer(rows, found, status)
        shares |= answering.shares
        sets += answering.by_cluster(rows, found, status)
    names = np.asarray(explanation.feature_names, dtype=object)
    return Sufficient(
        columns=[() if one.columns is None else tuple(names[np.sort(one.columns)]) for one in found],
        probability=np.array([one.probability for one in found]),
        effective_rows=np.array([one.rows for one in found]),
        status=status,
        unjudged=np.array([one.unjudged for one in found], dtype=int),
        alternatives=[
            tuple((tuple(names[np.sort(columns)]), told) for columns, told in one.others or [])
            for one in found
        ],
        clusters=explanation.clusters,
        index=explanation.index,
        target=float(target),
        max_columns=max_columns,
        n_background=len(known.points),
        widths=answering.search.widths,
        shares={cluster: shares[cluster] for cluster in explanation.in_order(shares)},
        sets=tuple(sets),
        names={cluster: explanation.named(cluster) for cluster in shares},
        members=Counter(np.asarray(explanation.labels).tolist()),
    )


def _refuse_other_questions(explanation: Explanation) -> None:
    question = explanation.question
    if question.duel or question.about == "ignored":
        raise ValueError(
            f"The explanation is about {question}, but here it is asked what puts a row into its cluster: "
            "explain without against= and space=."
        )


@dataclass(frozen=True, eq=False)
class _Known:
    """The network on encoded columns, and a sample of the data that rows come from, in two halves."""

    net: Neuralized
    reading: Neuralized
    table: InputTable
    points: NDArray
    columns: SimilarColumns
    halves: tuple[Half, Half]

    @classmethod
    def of(cls, explanation: Explanation, background: Any, size: int, seed: int) -> _Known:
        origin = explanation._origin()
        net = Prepared.of(origin.network, origin.table).net
        table = net.match(origin.table)
        given = origin.table if origin.background is None else origin.background
        if background is not None:
            given = net.read(in_columns_of(background, table), "background")
        whole = net.match(given)
        n_rows = whole.shape[0]
        if n_rows < 4 * FEWEST_ROWS:
            raise ValueError(
                f"{whole.called} has {n_rows} rows, too few to find similar ones among: expected at least "
                f"{4 * FEWEST_ROWS:.0f}, pass background= with the data that rows come from."
            )
        order = np.random.default_rng(seed).permutation(n_rows)[:size]
        rows = EncodedRows.of(net, whole.take(order))
        groups = origin.options.get("groups")
        targets = np.arange(rows.n_columns)
        if groups is not None:
            names = origin.options.get("feature_names") or column_names(net, table)
            targets, _ = grouping_of(groups, list(names), table)
        columns = SimilarColumns.of(rows.points, rows.sources, targets, whole)
        middle = len(order) // 2
        halves = (Half.of(rows.points[:middle], columns), Half.of(rows.points[middle:], columns))
        return cls(rows.net, net, table, rows.points, columns, halves)


class _Answering:
    """Answers for the rows that one network judges."""

    def __init__(
        self, known: _Known, explanation: Explanation, judge: Neuralized, target: float, most: int
    ) -> None:
        self.known, self.explanation = known, explanation
        self.inside = inside(judge)
        points = known.points
        everyone = {one: self.inside(points, np.repeat(one, len(points))) for one in judge.clusters}
        self.shares = {_plain(one): float(hits.mean()) for one, hits in everyone.items()}
        self.readable = known.columns.readable
        most = min(most, len(self.readable))
        self.most = most
        searched, told = known.halves
        codes = np.unique(judge.predict_rows(as_rows(searched.points)), return_inverse=True)[1]
        values = searched.compared.T
        by_place = mutual_information(values, codes)
        by_column = np.array([by_place[row[row >= 0]].max() for row in known.columns.places[self.readable]])
        self.informative = self.readable[np.argsort(-by_column, kind="stable")]
        widths = fitted_widths(known.columns, values, codes, self._sets(by_column))
        judged = {id(half): FlatJudge.of(judge, half.points) for half in known.halves}
        flat = {half: one for half, one in judged.items() if one is not None}
        self.search = Search(known.columns, searched, told, widths, target, self.inside, flat)

    def _sets(self, information: NDArray) -> list[list[NDArray]]:
        """Sets of each size that rows may begin with: columns that tell much about clusters come first."""
        generator = np.random.default_rng(0)
        orders = [self.informative]
        for _ in range(_SETS_FOR_WIDTHS - 1):
            # Drawn one after the other, in proportion to what they tell.
            times = generator.exponential(size=len(information)) / np.maximum(information, 1e-9)
            orders.append(self.readable[np.argsort(times, kind="stable")])
        return [
            [np.array(one) for one in {tuple(sorted(order[:size])) for order in orders}]
            for size in range(1, self.most + 1)
        ]

    def _candidates(self, rows: NDArray) -> tuple[NDArray, NDArray]:
        """Columns that may become known, for each row, and which of them may: those that are shown."""
        if not self.explanation.absent:
            columns, relevance = self.explanation[rows].strongest(_EVERY_COLUMN * self.most)
            return columns, (relevance != 0) & (self.known.columns.places[columns, 0] >= 0)
        columns = self._of_all_columns(rows)
        return columns, np.ones(columns.shape, dtype=bool)

    def _of_all_columns(self, rows: NDArray) -> NDArray:
        if len(self.readable) <= _EVERY_COLUMN * self.most:
            return np.tile(self.readable, (len(rows), 1))
        relevant, _ = self.explanation[rows].strongest(self.most)
        found = []
        for row in relevant:
            listed = dict.fromkeys([*row, *self.informative])
            readable = [column for column in listed if self.known.columns.places[column, 0] >= 0]
            found.append(readable[: _EVERY_COLUMN * self.most])
        return np.array(found)

    def _tasks(self, rows: NDArray, n_sets: int = 1) -> Iterator[tuple[NDArray, Task]]:
        """Blocks of rows, in numbers."""
        n_half = max(len(half.points) for half in self.known.halves)
        width = min(len(self.readable), _EVERY_COLUMN * self.most)
        size = max(1, _BLOCK_NUMBERS // (n_half * max(width, n_sets)))
        for start in range(0, len(rows), _ENCODED_ROWS):
            part = rows[start : start + _ENCODED_ROWS]
            points = EncodedRows.of(self.known.reading, self.known.table.take(part)).points
            for first in range(0, len(part), size):
                block = part[first : first + size]
                own = points[first : first + size]
                clusters = self.explanation.clusters[block]
                compared = self.known.columns.values(own)
                shares = np.array([self.shares[_plain(one)] for one in clusters])
                yield block, Task(own, compared, clusters, shares, *self._candidates(block))

    def answer(self, rows: NDArray, found: list[Found], status: NDArray) -> None:
        """Fill in what is found for these rows, and what it is called."""
        explanation, target = self.explanation, self.search.target
        shares = np.array([self.shares[_plain(one)] for one in explanation.clusters[rows]])
        there = explanation.evidence[rows] > 0
        if explanation.question.threshold is None:  # on a boundary there is no evidence
            there |= explanation.clusters[rows] == explanation.assigned[rows]
        for place in np.flatnonzero(there & (shares >= target)):
            status[rows[place]] = HOLDS_MOST
            found[rows[place]].probability = float(shares[place])
        for block, task in self._tasks(rows[there & (shares < target)]):
            for row, one in zip(block, self.search.run(task), strict=True):
                found[row] = one
                if one.columns is not None:
                    status[row] = SUFFICES
                    # Sets that are no smaller would be no better.
                    one.unjudged = one.unjudged if one.unjudged < len(one.columns) else 0
                else:
                    status[row] = TOO_FEW if one.too_few or one.unjudged else NO_SET

    def by_cluster(self, rows: NDArray, found: list[Found], status: NDArray) -> list[ClusterSet]:
        """Sets that were found often, asked of all members of their cluster, or of a sample of them."""
        explanation, listed = self.explanation, []
        for place, cluster in enumerate(self.explanation.in_order(self.shares)):
            done(0.75 + 0.25 * place / len(self.shares))
            asked = np.isin(status[rows], [SUFFICES, NO_SET, TOO_FEW])
            mine = rows[asked & (explanation.clusters[rows] == cluster)]
            mine = mine[np.unique(np.linspace(0, len(mine) - 1, min(len(mine), _MEMBERS)).astype(int))]
            # A member that no set was found for is not counted: a single half of the rows may tell otherwise.
            there = mine[status[mine] == SUFFICES]
            counted = []
            for columns, told in self._reached(there, [found[row] for row in there]).items():
                suffices = told >= self.search.target
                if suffices.any():
                    names = tuple(explanation.feature_names[column] for column in columns)
                    share, mean = float(suffices.sum() / len(mine)), float(told[suffices].mean())
                    counted.append(ClusterSet(cluster, names, share, mean, len(mine)))
            listed += _worth_telling(counted)
        return listed

    def _reached(self, rows: NDArray, found: list[Found]) -> dict[tuple[int, ...], NDArray]:
        """For each set that is asked of these rows, the probability by the fewest of its columns that do.

        Whoever knows more columns need not look at them: a set does for every row that a part of it does for.
        Similar rows alone would not tell so, since the more columns are known, the fewer are similar.
        """
        own = [() if one.columns is None else tuple(np.sort(one.columns)) for one in found]
        often = Counter(columns for columns in own if columns)
        if not often:
            return {}
        reached: dict[tuple[int, ...], NDArray] = {}
        for columns in sorted(self._asked_sets(rows, often), key=lambda one: (len(one), one)):
            if len(columns) == len(self.readable) > 1:
                continue  # all columns suffice for every row of every cluster
            # What is found for a row itself has reached the target on both halves.
            held = np.array([set(part) <= set(columns) for part in own])
            told = np.where(held, [one.probability for one in found], 0.0)
            for part in [part for part in reached if set(part) < set(columns)]:
                told = np.where(told >= self.search.target, told, reached[part])
            open_ = np.flatnonzero(told < self.search.target)
            if len(open_):
                told[open_] = self._told(rows[open_], np.array(columns))
            reached[columns] = told
        return reached

    def _asked_sets(self, rows: NDArray, often: Counter[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Sets that many rows have, the best few columns of them, short enough to be said, and parts."""
        found = [columns for columns, _ in often.most_common(_SETS_PER_CLUSTER)]
        used = Counter(column for columns, count in often.items() for column in columns * count)
        common = sorted(column for column, _ in used.most_common(_COMMON_COLUMNS))
        some = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MEMBERS_FIRST)).astype(int))]
        short = []
        for size in range(1, min(_SHORT, len(common)) + 1):
            for columns in itertools.combinations(common, size):
                share = float((self._told(some, np.array(columns)) >= self.search.target).mean())
                short.append((_worth(share, size), columns))
        short.sort(key=lambda one: (-one[0], one[1]))
        wholes = [*(columns for _, columns in short[:_SETS_PER_CLUSTER]), *found]
        parts = [columns for _, columns in short if any(set(columns) < set(whole) for whole in wholes)]
        return list(dict.fromkeys([*wholes, *parts]))

    def _told(self, rows: NDArray, columns: NDArray) -> NDArray:
        """The probability of each row's cluster if these columns are known; 0 where too few are similar."""
        if len(columns) == len(self.readable):
            return np.ones(len(rows))
        told = []
        for _, task in self._tasks(rows):
            only = replace(task, candidates=np.tile(columns, (len(task.points), 1)))
            half, every = self.search.told, np.arange(len(task.points))
            squares = self.search.columns.squares(
                only.compared, half.compared, only.candidates, half.own(only.points)
            )
            chosen = np.ones(only.candidates.shape, dtype=bool)
            probability, similar = self.search.judged(half, squares, only, every, chosen)
            told.append(np.where(similar >= FEWEST_ROWS, probability, 0.0))
        return np.concatenate(told)


def _worth_telling(sets: list[ClusterSet]) -> list[ClusterSet]:
    """From the fewest columns on, without sets that add too little to a smaller one."""
    kept: list[ClusterSet] = []
    for one in sorted(sets, key=lambda one: (len(one.columns), -one.share, one.columns)):
        smaller = [other for other in kept if len(other.columns) < len(one.columns)]
        own = _worth(one.share, len(one.columns))
        if all(own > _worth(other.share, len(other.columns)) + 1e-9 for other in smaller):
            kept.append(one)
    return kept


def _worth(share: float, n_columns: int) -> float:
    """How good a set is for a cluster: a column more must suffice for a tenth of its rows more."""
    return share - _PER_COLUMN * (n_columns - 1)


def _plain(cluster: Any) -> Any:
    return cluster.item() if isinstance(cluster, np.generic) else cluster
