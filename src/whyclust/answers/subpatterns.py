"""Members of a cluster that are there for different reasons: clusters of their relevance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import counted
from whyclust._clusters import cluster_with_rows
from whyclust._threads import one_thread_if_small
from whyclust.answers.smallest_change import plain
from whyclust.cluster import choose_k
from whyclust.cluster.choose_k import ChosenK
from whyclust.explaining.explanation import Explanation
from whyclust.telling.rounding import compared, count, percent
from whyclust.telling.sentences import join

# Fewer members tell no groups apart, and most groups are few.
_FEWEST = 20
_MOST_GROUPS = 8


@dataclass(frozen=True, eq=False)
class Subpattern:
    """Members that are in a cluster for the same reason.

    Attributes
    ----------
    members : ndarray of int
        Their positions in the explanation.
    shares : ndarray of shape (n_columns,)
        The mean share of each column in a member's relevance; absolutes of a member's shares sum to 1.
    columns : list of str
        What sets the group apart from the cluster's other members, by shares.
    sentence : str
    """

    members: NDArray
    shares: NDArray
    columns: list[str]
    sentence: str

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, eq=False)
class Subpatterns:
    """Groups of a cluster's members by their reasons, the largest first; iterate over them, or index.

    Attributes
    ----------
    cluster : cluster id
    groups : list of Subpattern
        One where all members have one reason.
    chosen : ChosenK or None
        How the number of groups was chosen; None where members are too few.
    """

    cluster: Any
    groups: list[Subpattern]
    chosen: ChosenK | None
    told: str
    asked: str

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Subpattern]:
        return iter(self.groups)

    def __getitem__(self, position: int) -> Subpattern:
        return self.groups[position]

    def describe(self) -> str:
        """One sentence for the cluster, and one for each group."""
        if len(self.groups) > 1:
            first = (
                f"{self.told} has {counted(len(self.groups), 'group')} of members with reasons of their own."
            )
        elif self.chosen is None:
            first = f"{self.told} has too few members, or too few different ones, to tell reasons apart."
        else:
            first = f"{self.told} has one reason: no groups stand out among {self.asked}."
        return " ".join([first[0].upper() + first[1:], *(group.sentence for group in self.groups)])


def subpatterns(
    explanation: Explanation, cluster: Any, *, random_state: Any = 0, size: int | None = None
) -> Subpatterns:
    """Find groups of members that are in a cluster for different reasons.

    Each member's relevance is scaled, so that absolutes sum to 1, and clustered by k-means. The number of
    groups is chosen by :func:`whyclust.cluster.choose_k`; where none stands out, the cluster has one reason.

    Parameters
    ----------
    explanation : Explanation
    cluster : cluster id
    random_state : int, RandomState or None
        Seed of the choice and of k-means.
    size : int, optional
        How many members the cluster has, where the explanation holds some of them only: sentences say so.

    Returns
    -------
    Subpatterns

    Examples
    --------
    Rows are in the first cluster because of one column, or because of another:

    >>> import numpy as np
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> generator = np.random.default_rng(0)
    >>> first = np.repeat([[9.0, 0.0], [0.0, 9.0]], 60, axis=0)
    >>> X = np.concatenate([first, np.full((120, 2), -9.0)]) + generator.normal(size=(240, 2))
    >>> model = KMeans(2, n_init=1, random_state=0).fit(X)
    >>> ex = wc.explain(model, X, feature_names=["age", "income"])
    >>> found = ex.subpatterns(model.labels_[0])
    >>> [len(group) for group in found]
    [60, 60]
    """
    cluster = cluster_with_rows(cluster, np.unique(explanation.labels).tolist())
    members = np.flatnonzero(explanation.labels == cluster)
    if (explanation.clusters[members] != explanation.labels[members]).any() or explanation.question.duel:
        explanation = explanation.ask(cluster=explanation.labels)
    values = np.asarray(explanation.values[members], dtype=np.float64)
    sums = np.abs(values).sum(axis=1, keepdims=True)
    shares = np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)
    chosen, groups = _grouped(shares, random_state)
    order = sorted(np.unique(groups), key=lambda group: (-(groups == group).sum(), group))
    told = explanation.named(plain(cluster))
    some = size is not None and size > len(members)
    asked = f"{count(len(members))} of its {count(size or 0)} members that were looked at"
    return Subpatterns(
        cluster=plain(cluster),
        groups=[_pattern(explanation, members, shares, groups == group, told, some) for group in order],
        chosen=chosen,
        told=told,
        asked=f"the relevances of the {asked}" if some else "its members' relevances",
    )


def _grouped(shares: NDArray, random_state: Any) -> tuple[ChosenK | None, NDArray]:
    """How the number of groups was chosen, and the group of each member."""
    alone = np.zeros(len(shares), dtype=np.intp)
    if len(shares) < _FEWEST or len(np.unique(shares, axis=0)) < 3:
        return None, alone
    chosen = choose_k(shares, k_max=min(_MOST_GROUPS, len(shares) // 10), random_state=random_state)
    if not chosen.stands_out:
        return chosen, alone
    from sklearn.cluster import KMeans

    with one_thread_if_small(shares):
        return chosen, KMeans(chosen.k, n_init=10, random_state=random_state).fit_predict(shares)


def _pattern(
    explanation: Explanation, members: NDArray, shares: NDArray, own: NDArray, told: str, some: bool
) -> Subpattern:
    """What sets members apart; of some of a cluster's members it is said that they are not all."""
    here = shares[own].mean(axis=0)
    asked = f"{counted(len(members), 'member')} of {told}{' that were looked at' if some else ''}"
    if own.all():
        order = [place for place in np.argsort(-here, kind="stable")[:2] if here[place] > 0]
        named = [f"{explanation.feature_names[place]} ({percent(float(here[place]))})" for place in order]
        parts = "largest part of relevance is" if len(named) == 1 else "largest parts of relevance are"
        reason = f"the {parts} {join(named)}" if named else "no column speaks for it"
        sentence = f"On average over {'the' if some else 'all'} {asked}, {reason}."
    else:
        there = shares[~own].mean(axis=0)
        order = list(np.argsort(-(here - there), kind="stable")[:2])
        order = [place for place in order if here[place] > there[place]]
        listed = []
        for place in order:
            shown = compared(round(100 * here[place], 1), round(100 * there[place], 1))
            listed.append(
                f"{explanation.feature_names[place]} ({shown[0]}% of relevance, {shown[1]}% elsewhere)"
            )
        # No column has a larger share where the group differs by what speaks against, or by nothing seen.
        more = f"more for {join(listed)}" if listed else "for no column more than others"
        sentence = f"{int(own.sum())} of {'the ' if some else ''}{asked} are there {more}."
    columns = [explanation.feature_names[place] for place in order]
    return Subpattern(members[own], here, columns, sentence)
