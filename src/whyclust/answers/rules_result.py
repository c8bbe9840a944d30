"""Rules of clusters, how often they are right, and sentences of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import counted
from whyclust._clusters import cluster_meant, clusters_listed
from whyclust._frames import column_values, is_frame
from whyclust.answers._conditions import Condition
from whyclust.inputs.reading import read_input
from whyclust.inputs.texts import texts_in
from whyclust.network.network import Neuralized
from whyclust.telling.rounding import percent
from whyclust.telling.sentences import join

if TYPE_CHECKING:
    import pandas as pd

# Of fewer rows it is told how many a rule is right for, not which share.
_FEW_ROWS = 10


@dataclass(frozen=True, eq=False)
class RuleReader:
    """Reads rows that rules are asked about: by the network that was explained, or by names of columns."""

    net: Neuralized | None
    names: tuple[str, ...]

    def read(self, X: Any) -> Any:
        """The rows, in the order of the columns that were explained."""
        if texts_in(X) is not None:
            raise ValueError(
                "X holds one text for each row, expected the columns of words that were explained: pass "
                "vectorizer.transform(texts)."
            )
        if self.net is not None:
            return self.net.read(X).data
        data = read_input(X).data
        if is_frame(data) and set(self.names) <= set(map(str, data.columns)):
            return data.set_axis(list(map(str, data.columns)), axis=1)[list(self.names)]
        if data.shape[1] != len(self.names):
            raise ValueError(
                f"X has {data.shape[1]} columns, expected the {len(self.names)} that were explained, "
                f"{self.names[0]!r} first."
            )
        return data


@dataclass(frozen=True, eq=False)
class Rule:
    """Conditions which, met together, say that a row is in a cluster.

    Attributes
    ----------
    cluster : cluster id
    conditions : tuple of Condition
        On one column each, the most relevant first.
    precision : float
        Of the rows that match, the share that is in the cluster; NaN where none matches.
    coverage : float
        Of the cluster's rows, the share that matches.
    rows : int
        How many rows match. Like both shares it counts only rows that were not used to find the rule.
    members : int
        Rows of the cluster among those that were not used.
    reaches : bool
        Whether the rule reached the precision that was asked for, on the rows that it was found by.
    """

    cluster: Any
    conditions: tuple[Condition, ...]
    precision: float
    coverage: float
    rows: int
    members: int
    reaches: bool
    named: str
    reader: RuleReader

    def __str__(self) -> str:
        return join([condition.describe() for condition in self.conditions])

    def __repr__(self) -> str:
        return f"<Rule of {self.named}: {self}>"

    @property
    def n_comparisons(self) -> int:
        """Numbers and lists of categories that a row is compared with; ``30 < age ≤ 52`` are two."""
        return sum(condition.n_comparisons for condition in self.conditions)

    def matches(self, X: Any) -> NDArray:
        """Which rows meet all conditions.

        Parameters
        ----------
        X : table
            Rows as they were explained.
        """
        return matching(self.conditions, self.reader.read(X))

    def describe(self) -> str:
        """Say the rule, how often it is right, and for how many."""
        begin = f"If {_as_clause(self)}, a row is in {self.named}: "
        if not self.rows:
            return f"{begin}no row that was held out matches, so it is not known how often that is right."
        return f"{begin}{self._right()}, and {percent(self.coverage)} of its rows match."

    def _right(self) -> str:
        """How many of the rows that match are in the cluster; of few rows a share would say too much."""
        if self.rows >= _FEW_ROWS:
            return f"{percent(self.precision)} of the {counted(self.rows, 'row')} that match are"
        right = round(self.coverage * self.members)
        if self.rows == 1:
            return f"the only row that matches is{'' if right else ' not'}"
        none = f"none of the {self.rows} rows that match is"
        return (
            f"{right} of the {self.rows} rows that match {'is' if right == 1 else 'are'}" if right else none
        )


def _as_clause(rule: Rule) -> str:
    """The conditions after 'if'; words of texts need someone who contains them."""
    return f"it {rule}" if rule.conditions[0].is_word else str(rule)


def matching(conditions: tuple[Condition, ...], data: Any) -> NDArray:
    """Which rows of a table that has been read meet all conditions."""
    found = np.ones(data.shape[0], dtype=bool)
    for condition in conditions:
        found &= condition.matches(column_values(data, condition.position))
    return found


@dataclass(frozen=True)
class ClusterRules:
    """What is known of one cluster's rules together.

    Attributes
    ----------
    cluster : cluster id
    coverage : float
        Of the cluster's rows, the share that some rule matches; NaN where there is no rule.
    precision : float
        Of the rows that some rule matches, the share that is in the cluster.
    note : str
        Why there is no rule, or none that is precise enough; empty otherwise.
    """

    cluster: Any
    coverage: float
    precision: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules of one cluster, or of several; iterate over them, index, or slice.

    Attributes
    ----------
    rules : tuple of Rule
        Cluster by cluster, what matches the most rows first.
    clusters : dict of cluster id to ClusterRules
    found_on, held_out : int
        Rows by which rules were found, and rows by which they were measured.
    target : float
        The precision that was asked for.
    """

    rules: tuple[Rule, ...]
    clusters: Mapping[Any, ClusterRules]
    found_on: int
    held_out: int
    target: float
    names: Mapping[Any, str]

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @overload
    def __getitem__(self, position: int) -> Rule: ...
    @overload
    def __getitem__(self, position: slice) -> Rules: ...
    def __getitem__(self, position: int | slice) -> Rule | Rules:
        """A rule, or some of them."""
        if isinstance(position, slice):
            return replace(self, rules=self.rules[position])
        return self.rules[position]

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'Rule')} of {counted(len(self.clusters), 'cluster')}>"

    def of(self, cluster: Any) -> Rules:
        """The rules of one cluster."""
        meant = cluster_meant(cluster, self.clusters)
        if meant is None:
            known = clusters_listed(self.clusters)
            raise ValueError(f"cluster={cluster!r} has no rules here, expected one of {known}.")
        mine = tuple(rule for rule in self.rules if rule.cluster == meant)
        return replace(self, rules=mine, clusters={meant: self.clusters[meant]})

    def matches(self, X: Any) -> NDArray:
        """Which rows meet which rules, an array of shape (n_rows, n_rules)."""
        if not self.rules:
            return np.zeros((read_input(X).shape[0], 0), dtype=bool)
        data = self.rules[0].reader.read(X)
        return np.column_stack([matching(rule.conditions, data) for rule in self.rules])

    def to_pandas(self) -> pd.DataFrame:
        """One line for each rule."""
        import pandas as pd

        lines = {
            "cluster": [rule.cluster for rule in self.rules],
            "rule": [str(rule) for rule in self.rules],
            "conditions": [len(rule.conditions) for rule in self.rules],
            "precision": np.array([rule.precision for rule in self.rules], dtype=float),
            "coverage": np.array([rule.coverage for rule in self.rules], dtype=float),
            "rows": np.array([rule.rows for rule in self.rules], dtype=int),
            "reaches": np.array([rule.reaches for rule in self.rules], dtype=bool),
        }
        return pd.DataFrame(lines)

    def describe(self) -> str:
        """A paragraph for each cluster, and how many rows it was measured on."""
        lines = []
        for cluster, known in self.clusters.items():
            mine = [rule for rule in self.rules if rule.cluster == cluster]
            parts = [known.note] if known.note else []
            parts += [rule.describe() for rule in mine]
            if len(mine) > 1 and np.isfinite(known.coverage):
                parts.append(f"Together these rules match {percent(known.coverage)} of its rows.")
            lines.append(" ".join(parts))
        if self.rules:
            unused = "1 row that was" if self.held_out == 1 else f"{self.held_out:,} rows that were"
            lines.append(f"Measured on {unused} not used to find the rules.")
        return "\n".join(lines)
