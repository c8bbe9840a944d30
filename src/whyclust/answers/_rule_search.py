"""The search for a rule: conditions on relevant columns, where relevance turns or evidence changes sign.

A column's relevance for a cluster is positive where its values speak for the cluster. The stretch of values
that gathers the most of it is a condition to begin with. Others are the stretches in which, among rows that
the rule matches so far, those of the cluster prevail: outside of them the sign of the evidence is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from whyclust.answers._conditions import Bins

# Rules that are kept while they grow: the best by F1, and the best by what is wanted in the end.
_BEAM = (4, 4)
# What relevance against the cluster counts, in units of that for it; and what a row of another cluster costs,
# in rows of this one: where both are as many, and as many as there are.
_AGAINST = (1.0, 3.0)
_COSTS_BY_SHARE = (1.0, 3.0)
_COSTS = (1.0, 4.0, 9.0)
# A condition more must add so much of the cluster, a second end of one as well, columns of all relevance are
# worth so much of it, and a threshold where relevance turns is worth so much.
_PER_CONDITION = 0.03
_PER_END = 0.02
_ALL_RELEVANCE = 0.05
_TURNS = 0.01
# What matches less of the cluster that no other rule matches, is no rule of it.
LEAST_COVERAGE = 0.1
# A further rule that matches fewer rows of the cluster that are new may be chance.
_FEWEST_ROWS = 5
# Of many rules the luckiest is found: its precision counts as so many standard errors less (the lower end of
# Wilson's interval), for a cluster's first rule, and for further ones, which are sought in what is left.
_ERRORS = (0.75, 1.5)


@dataclass(frozen=True, eq=False)
class Column:
    """A column that rules may use: its bins, its share of the cluster's relevance, and relevance in each bin.

    `speaks_for` and `against` are sums of positive and of negative relevance; None where they are not known.
    """

    bins: Bins
    share: float
    speaks_for: NDArray | None = None
    against: NDArray | None = None

    @cached_property
    def turns(self) -> list[NDArray]:
        """Bins within which the relevance is positive."""
        if self.speaks_for is None or self.against is None:
            return []
        return self.bins.best(self.speaks_for - np.array(_AGAINST)[:, None] * self.against)


@dataclass(frozen=True, eq=False)
class Grown:
    """A rule as it grows: the bins chosen of each column, the rows it matches, and how good it is.

    `precision` is what can be counted on: see :func:`lower_end`.
    """

    chosen: dict[int, NDArray]
    matched: NDArray
    precision: float
    coverage: float
    worth: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and coverage."""
        total = self.precision + self.coverage
        return 2 * self.precision * self.coverage / total if total > 0 else 0.0


@dataclass(frozen=True, eq=False)
class RuleSearch:
    """Finds the best rule of a few conditions.

    Attributes
    ----------
    columns : list of Column
        The most relevant first.
    members, others : ndarray of shape (n_rows,)
        Weights of rows of the cluster, and of all other rows.
    wanted : ndarray of shape (n_rows,)
        Weights of rows of the cluster that no rule matches yet.
    target : float
        The precision that a rule must reach.
    most : int
        Conditions of a rule at most.
    """

    columns: list[Column]
    members: NDArray
    others: NDArray
    wanted: NDArray
    target: float
    most: int

    def best(self) -> Grown | None:
        """The rule of the largest coverage that reaches the target, or else what comes nearest to one."""
        found = self.by_conditions()
        return found[-1] if found else None

    def by_conditions(self) -> list[Grown]:
        """The best rule of up to 1, 2, ... conditions: none is worth less than those before it."""
        everything = np.ones(len(self.members), dtype=bool)
        beam = [Grown({}, everything, 0.0, 0.0, -np.inf)]
        bests: list[Grown] = []
        for _ in range(self.most):
            grown: dict[bytes, Grown] = {}
            for rule in beam:
                for place in range(len(self.columns)):
                    if place not in rule.chosen:
                        for one in self._with(rule, place):
                            key = one.matched.tobytes()
                            if key not in grown or grown[key].worth < one.worth:
                                grown[key] = one
            if not grown:
                break
            ranked = sorted(grown.values(), key=lambda one: -one.worth)
            beam = ranked[: _BEAM[1]]
            beam += sorted(ranked[_BEAM[1] :], key=lambda one: -one.f1)[: _BEAM[0]]
            found = self._refined(beam[0])
            bests.append(max([*bests[-1:], found], key=lambda one: one.worth))
        return bests

    def _with(self, rule: Grown, place: int) -> list[Grown]:
        """The rule with each condition on one column that is worth a try; only the better ones of them."""
        column = self.columns[place]
        here = rule.matched
        sums = [column.bins.sums(np.where(here, weights, 0.0)) for weights in self._weights]
        inside, outside, wanted = sums
        prior = inside.sum() / max(outside.sum(), 1e-12)
        costs = np.array([cost * prior for cost in _COSTS_BY_SHARE] + list(_COSTS))
        stretches = column.bins.best(wanted - costs[:, None] * outside)
        stretches += [opened for one in stretches for opened in column.bins.opened(one)]
        tried: dict[bytes, tuple[NDArray, float]] = {}
        for chosen, bonus in [(one, _TURNS) for one in column.turns] + [(one, 0.0) for one in stretches]:
            if chosen.tobytes() not in tried:
                tried[chosen.tobytes()] = (chosen, bonus)
        found = []
        for chosen, bonus in tried.values():
            judged = self._judged({**rule.chosen, place: chosen}, *(part[chosen].sum() for part in sums))
            if judged is not None:
                precision, coverage, worth = judged
                found.append((worth + bonus, chosen, precision, coverage))
        found.sort(key=lambda one: -one[0])
        kept = {id(one): one for one in [*found[:2], *sorted(found, key=lambda one: -one[2] * one[3])[:1]]}
        return [
            Grown(
                {**rule.chosen, place: chosen}, here & chosen[column.bins.codes], precision, coverage, worth
            )
            for worth, chosen, precision, coverage in kept.values()
        ]

    @cached_property
    def _further(self) -> bool:
        """Whether other rules match a part of the cluster already."""
        return bool((self.wanted < self.members).any())

    @cached_property
    def _least_wanted(self) -> float:
        """The least weight of rows of the cluster that a rule must match beside those before it."""
        if not self._further:
            return 0.0
        count = int((self.members > 0).sum())
        return (1.0 - 1e-9) * min(_FEWEST_ROWS, count) * float(self.members.sum()) / count

    @property
    def _weights(self) -> tuple[NDArray, NDArray, NDArray]:
        return self.members, self.others, self.wanted

    def _judged(
        self, chosen: dict[int, NDArray], inside: float, outside: float, wanted: float
    ) -> tuple[float, float, float] | None:
        """Precision, coverage, and what a rule is worth: above 1 where it reaches the target."""
        if wanted <= 0 or wanted < self._least_wanted:
            return None
        total = self.members.sum() + self.others.sum()
        n_rows = (inside + outside) * len(self.members) / total
        precision = lower_end(inside / (inside + outside), n_rows, _ERRORS[self._further])
        coverage = wanted / self.members.sum()
        relevant = sum(self.columns[place].share for place in chosen)
        second_ends = sum(self.columns[place].bins.ends(bins) > 1 for place, bins in chosen.items())
        extra = _ALL_RELEVANCE * relevant - _PER_CONDITION * (len(chosen) - 1) - _PER_END * second_ends
        if precision >= self.target and coverage >= LEAST_COVERAGE:
            return precision, coverage, 1.0 + coverage + extra
        # F with twice the weight on precision; below what reaches the target.
        return precision, coverage, 1.25 * precision * coverage / (0.25 * precision + coverage) + extra - 0.1

    def _refined(self, rule: Grown) -> Grown:
        """The same columns, each of whose conditions is found once more beside all others."""
        for place in list(rule.chosen):
            others = {other: chosen for other, chosen in rule.chosen.items() if other != place}
            matched = np.ones(len(self.members), dtype=bool)
            for other, chosen in others.items():
                matched &= chosen[self.columns[other].bins.codes]
            for one in self._with(Grown(others, matched, 0.0, 0.0, -np.inf), place):
                if one.worth > rule.worth:
                    rule = one
        return rule


def lower_end(share: float, n_rows: float, errors: float) -> float:
    """The lower end of Wilson's interval of some standard errors for a share among so many rows.

    >>> round(lower_end(1.0, 9, 1.0), 3), round(lower_end(0.95, 100, 1.0), 3)
    (0.9, 0.923)
    """
    square = errors**2
    middle = share + square / (2 * n_rows)
    spread = errors * np.sqrt(share * (1 - share) / n_rows + square / (4 * n_rows**2))
    return float((middle - spread) / (1 + square / n_rows))
