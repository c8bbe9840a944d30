"""A cluster as rules: a few conditions in the table's own units, and how often they are right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import counted, positive, whole_number
from whyclust._clusters import cluster_with_rows
from whyclust._frames import column_values
from whyclust.answers._conditions import Bins
from whyclust.answers._rule_search import LEAST_COVERAGE, Column, Grown, RuleSearch
from whyclust.answers.rules_result import ClusterRules, Rule, RuleReader, Rules, matching
from whyclust.answers.smallest_change import plain
from whyclust.explaining.explanation import Explanation

# Fewer members cannot both find a rule and check it.
_FEWEST = 3
# A third of each cluster's rows is held out, and no more than so many rows find rules.
_HELD_OUT = 3
_MOST_ROWS = 10_000
_FEWEST_FINDING = 60
# Columns tried first have so much of the relevance between them; more are tried where these do not do.
_RELEVANCE_FIRST = 0.8
_FIRST = (3, 8)
_MOST_COLUMNS = 20
# More columns are tried, and it is said, where rules match less of a cluster.
_HALF = 0.5
# Numbers of relevance that are asked for, for each cluster, and rows at least and at most.
_RELEVANCE_NUMBERS = 1 << 21
_RELEVANCE_ROWS = (100, 1000)


def rules(
    explanation: Explanation,
    cluster: Any = None,
    *,
    target: float = 0.9,
    max_conditions: int = 3,
    max_rules: int = 3,
    random_state: int = 0,
) -> Rules:
    """Say clusters as rules of a few conditions: ``income ≤ 33,000 and age > 52``.

    Columns of high relevance for the cluster are tried first. Thresholds are those where the relevance of a
    column turns, or where, among rows that meet the other conditions, the cluster ends; they are round
    numbers. A third of the rows is held out, and tells how often a rule is right.

    Parameters
    ----------
    explanation : Explanation
    cluster : cluster id, optional
        By default all of them, but for noise.
    target : float
        Of the rows that match a rule, the share that should be in the cluster.
    max_conditions : int
        Conditions of a rule, on one column each.
    max_rules : int
        Rules of a cluster. Each matches at least a tenth of it that those before do not match.
    random_state : int
        Seed of which rows are held out.

    Returns
    -------
    Rules

    Examples
    --------
    >>> import numpy as np
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> X[:150, 1] += 9.0
    >>> ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X, feature_names=["age", "income", "tax"])
    >>> found = ex.rules(ex.labels[0])
    >>> str(found[0]), found[0].precision, found[0].coverage
    ('income > 4', 1.0, 1.0)
    """
    if not 0 < positive("target", target) < 1:
        raise ValueError(f"target={target!r}, expected a share between 0 and 1.")
    whole_number("max_conditions", max_conditions)
    whole_number("max_rules", max_rules)
    whole_number("random_state", random_state, 0)
    explanation = _asked(explanation)
    labels = explanation.labels
    known = explanation.in_order(np.unique(labels))
    if cluster is None:
        wanted = [one for one in known if not explanation.is_noise(one)] or known
    else:
        wanted = [cluster_with_rows(cluster, known)]
    split = _Split.of(labels, random_state)
    reader = RuleReader(
        None if explanation.origin is None else explanation.origin.network, tuple(explanation.feature_names)
    )
    found, notes = [], {}
    for one in wanted:
        finding = _OfCluster(explanation, split, plain(one), reader, target, max_conditions, max_rules)
        own, notes[plain(one)] = finding.found()
        found += own
    return Rules(
        rules=tuple(found),
        clusters=notes,
        found_on=len(split.finding),
        held_out=len(split.held_out),
        target=float(target),
        names={plain(one): explanation.named(one) for one in wanted},
    )


def _asked(explanation: Explanation) -> Explanation:
    """An explanation of what puts each row into its cluster, in single columns."""
    if explanation.kind.item_shape:
        raise ValueError(
            "Rules are conditions on columns, but these rows are images, whose pixels mean nothing alone: "
            "see ex.plot.relevance(), or explain a table of measures taken from the images."
        )
    origin, question = explanation.origin, explanation.question
    grouped = origin is not None and origin.options["groups"] is not None
    other = question.duel or question.about == "ignored" or (explanation.clusters != explanation.labels).any()
    if not grouped and not other:
        return explanation
    origin = explanation._origin()
    single = replace(origin, options={**origin.options, "groups": None})
    found = single.ask(cluster=explanation.labels, against=None, rule=None)
    return replace(found, names=explanation.names, absent=explanation.absent)


@dataclass(frozen=True, eq=False)
class _Split:
    """Rows that find rules, rows that are held out, and what each counts for the whole table."""

    finding: NDArray
    held_out: NDArray
    weights: NDArray

    @classmethod
    def of(cls, labels: NDArray, seed: int) -> _Split:
        """Split the rows of every cluster."""
        generator = np.random.default_rng(seed)
        weights = np.zeros(len(labels))
        finds = np.zeros(len(labels), dtype=bool)
        scale = min(1.0, _MOST_ROWS / len(labels))
        for one in np.unique(labels):
            rows = generator.permutation(np.flatnonzero(labels == one))
            most = max(len(rows) - -(-len(rows) // _HELD_OUT), 1)
            most = min(most, max(round(scale * len(rows)), _FEWEST_FINDING))
            finds[rows[:most]] = True
            weights[rows[:most]] = len(rows) / most
            weights[rows[most:]] = len(rows) / max(len(rows) - most, 1)
        return cls(np.flatnonzero(finds), np.flatnonzero(~finds), weights)


class _OfCluster:
    """The search for the rules of one cluster."""

    def __init__(
        self,
        explanation: Explanation,
        split: _Split,
        cluster: Any,
        reader: RuleReader,
        target: float,
        most: int,
        count: int,
    ) -> None:
        self.explanation, self.split, self.cluster, self.reader = explanation, split, cluster, reader
        self.most, self.count = most, count
        self.inside = explanation.labels == cluster
        share = float(self.inside.mean())
        # A cluster of most rows is hit by any rule: it must halve what is missed at least.
        self.target = max(target, (1.0 + share) / 2)
        rows = split.finding
        self.weights = split.weights[rows]
        self.members = np.where(self.inside[rows], self.weights, 0.0)
        self.others = self.weights - self.members
        self.named = explanation.named(cluster)

    def found(self) -> tuple[list[Rule], ClusterRules]:
        """The rules, and what is to be said of them together."""
        title = self.named[:1].upper() + self.named[1:]
        if self.inside.all():
            return [], self._none(f"{title} holds all rows: there is nothing to tell it from.")
        size = int(self.inside.sum())
        if size < _FEWEST:
            return [], self._none(
                f"{title} has {counted(size, 'row')}, too few to find a rule and to check it."
            )
        order, shares = self._by_relevance
        if not len(order):
            return [], self._none(f"{title} has no rule: no column speaks for it.")
        first = int(np.searchsorted(np.cumsum(shares), _RELEVANCE_FIRST)) + 1
        first = min(max(first, _FIRST[0]), _FIRST[1], len(order))
        columns = self._columns(order[:first], shares[:first])
        grown = self._covering(columns, self.most)
        # A rule of many conditions on these columns must stand beside one of few conditions on others.
        more = self._not_enough(columns)
        if more and first < len(order):
            columns = columns + self._columns(order[first:], shares[first:])
            grown = max(self._covering(columns, more), grown, key=_worth)
        made = [self._rule(one, columns) for one in grown]
        if not made:
            return [], self._none(f"{title} has no rule: no condition tells it from other rows.")
        note = ""
        if not made[0].reaches:
            note = (
                f"No rule of up to {counted(self.most, 'condition')} was found that tells {self.named} from "
                "other clusters surely enough; this is the best."
            )
        together = self._together(made)
        if not note and together.coverage < _HALF:
            those = "rule that was found matches" if len(made) == 1 else "rules that were found match"
            note = f"The {those} less than half of {self.named}."
        return made, replace(together, note=note)

    def _none(self, note: str) -> ClusterRules:
        return ClusterRules(self.cluster, np.nan, np.nan, note)

    def _reaches(self, grown: Grown) -> bool:
        return bool(grown.precision >= self.target and grown.coverage >= LEAST_COVERAGE)

    # --- columns ------------------------------------------------------------------------------

    @cached_property
    def _by_relevance(self) -> tuple[NDArray, NDArray]:
        """Columns that speak for the cluster, the most relevant first, and their shares of its relevance."""
        rows = self.split.finding[self.members > 0]
        values = self.explanation.values[rows]
        mean = np.maximum(np.asarray(values.mean(axis=0), dtype=float).ravel(), 0.0)
        order = np.argsort(-mean, kind="stable")[:_MOST_COLUMNS]
        order = order[mean[order] > 0]
        return order, mean[order] / max(mean.sum(), 1e-300)

    def _columns(self, positions: NDArray, shares: NDArray) -> list[Column]:
        rows = self.split.finding
        # Members and others weigh half each, so that small clusters are seen as well as large ones.
        halves = 0.5 * self.members / self.members.sum() + 0.5 * self.others / self.others.sum()
        sizes = self.weights / self.members.sum()
        words = self.explanation.kind.has_words
        names = self.explanation.feature_names
        found = []
        relevance = self._relevance
        for position, share in zip(positions.tolist(), shares.tolist(), strict=True):
            values = column_values(self.explanation.data, position)[rows]
            if values.dtype.kind in "mMc":
                continue
            bins = Bins.of(names[position], position, values, halves, sizes, is_word=words)
            if relevance is None:
                found.append(Column(bins, share))
                continue
            asked, known, of_rows = relevance
            some = np.zeros(len(rows))
            some[asked] = of_rows[:, known.index(position)]
            speaks_for, against = bins.sums(np.maximum(some, 0.0)), bins.sums(np.maximum(-some, 0.0))
            found.append(Column(bins, share, speaks_for, against))
        return found

    @cached_property
    def _relevance(self) -> tuple[NDArray, list[int], NDArray] | None:
        """Rows that were asked for the relevance for this cluster, columns, and how much of it counts.

        None where relevance is not asked for easily: of a loaded explanation, or by another method.
        """
        origin = self.explanation.origin
        if origin is None or origin.options["method"] != "neon":
            return None
        asked = self._asked_rows()
        some = self.explanation[self.split.finding[asked]].ask(cluster=self.cluster)
        columns = self._by_relevance[0]
        values = np.asarray(some.values[:, columns], dtype=float)
        inside = self.members[asked] > 0
        counts = self.weights[asked] * np.where(
            inside,
            self.members.sum() / max(self.weights[asked][inside].sum(), 1e-300),
            self.others.sum() / max(self.weights[asked][~inside].sum(), 1e-300),
        )
        return asked, columns.tolist(), values * counts[:, None]

    def _asked_rows(self) -> NDArray:
        """Positions among the finding rows whose relevance is asked for: half of them members."""
        most = min(
            max(_RELEVANCE_NUMBERS // self.explanation.shape[1], _RELEVANCE_ROWS[0]), _RELEVANCE_ROWS[1]
        )
        generator = np.random.default_rng(0)
        parts = []
        for rows in (np.flatnonzero(self.members > 0), np.flatnonzero(self.others > 0)):
            parts.append(rows if len(rows) <= most // 2 else generator.choice(rows, most // 2, replace=False))
        return np.sort(np.concatenate(parts))

    # --- rules --------------------------------------------------------------------------------

    def _not_enough(self, columns: list[Column]) -> int:
        """The most conditions with which no rule on these columns does; 0 where one condition does."""
        search = RuleSearch(columns, self.members, self.others, self.members, self.target, self.most)
        does = [self._reaches(one) and one.coverage >= _HALF for one in search.by_conditions()]
        if not does or not does[-1]:
            return self.most
        return max((most for most, enough in enumerate(does, start=1) if not enough), default=0)

    def _covering(self, columns: list[Column], most: int) -> list[Grown]:
        """Rules of so many conditions one after the other, each for what those before it leave."""
        wanted = self.members.copy()
        found: list[Grown] = []
        while len(found) < self.count:
            search = RuleSearch(columns, self.members, self.others, wanted, self.target, most)
            best = search.best()
            if best is None or (found and (not self._reaches(best))):
                break
            found.append(best)
            wanted[best.matched] = 0.0
            if not self._reaches(best):
                break
        return found

    def _rule(self, grown: Grown, columns: list[Column]) -> Rule:
        conditions = tuple(
            columns[place].bins.condition(chosen) for place, chosen in sorted(grown.chosen.items())
        )
        matched, precision, coverage = self._measured([conditions])
        members = int(self.inside[self.split.held_out].sum())
        return Rule(
            cluster=self.cluster,
            conditions=conditions,
            precision=precision,
            coverage=coverage,
            rows=matched,
            members=members,
            reaches=self._reaches(grown),
            named=self.named,
            reader=self.reader,
        )

    def _together(self, made: list[Rule]) -> ClusterRules:
        _, precision, coverage = self._measured([rule.conditions for rule in made])
        return ClusterRules(self.cluster, coverage, precision)

    def _measured(self, rules_of: list[tuple[Any, ...]]) -> tuple[int, float, float]:
        """How many rows held out match some rule, how many of them are in the cluster, and how much of it."""
        rows = self.split.held_out
        matched = np.zeros(len(rows), dtype=bool)
        for conditions in rules_of:
            matched |= matching(conditions, self.explanation.data)[rows]
        weights, inside = self.split.weights[rows], self.inside[rows]
        hits = float(weights[matched & inside].sum())
        precision = hits / float(weights[matched].sum()) if matched.any() else np.nan
        return int(matched.sum()), precision, hits / float(weights[inside].sum())


def _worth(rules_of: list[Grown]) -> float:
    """What the first rule of a cluster is worth."""
    return rules_of[0].worth if rules_of else -np.inf
