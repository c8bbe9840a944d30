"""What the search for sufficient columns has found, and sentences of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import counted, whole_number
from whyclust.answers.sufficient_search import FEWEST_ROWS
from whyclust.explaining.choosing import unfit_rows
from whyclust.telling.rounding import percent

if TYPE_CHECKING:
    import pandas as pd

SUFFICES = "suffices"
HOLDS_MOST = "holds most rows"
NO_SET = "no set suffices"
TOO_FEW = "too few similar rows to tell"
NOT_THERE = "not in this cluster"
# A cluster is told by columns that suffice for so many of its rows, and are no more than that.
_MANY = 0.2
_FEW_COLUMNS = 5


@dataclass(frozen=True)
class ClusterSet:
    """Columns that suffice for members of a cluster: all of them, or some.

    Attributes
    ----------
    cluster : cluster id
    columns : tuple of str
    share : float
        Of the members that were asked, those for which the columns, or some of them, suffice: it is never
        less for a larger set.
    probability : float
        Mean over these members, by as few of the columns as suffice.
    n_members : int
        Members that were asked.
    """

    cluster: Any
    columns: tuple[str, ...]
    share: float
    probability: float
    n_members: int


@dataclass(frozen=True, eq=False)
class Sufficient:
    """For each row a smallest set of columns which, known alone, puts it into its cluster.

    Attributes
    ----------
    columns : list of tuple of str
        The set; empty where `status` is not "suffices".
    probability : ndarray of shape (n_rows,)
        How probable the row's cluster is if only the set is known; NaN where none was found.
    effective_rows : ndarray of shape (n_rows,)
        How many similar rows the probability rests on; NaN where all columns are known.
    status : ndarray of str of shape (n_rows,)
        "suffices", "holds most rows", "no set suffices", "too few similar rows to tell", or "not in this
        cluster" for a row that is explained for a cluster it is not in.
    unjudged : ndarray of int of shape (n_rows,)
        How many columns the smallest set has that might do, and less than those that were found, but in which
        too few rows are similar to tell; 0 where there is none.
    alternatives : list of tuples
        For each row other sets and their probabilities, the next best first; not all of them suffice. Sets
        in which too few rows are similar are not among them.
    clusters, index : ndarray of shape (n_rows,)
    target : float
        The probability that a set must reach.
    max_columns : int
        The largest set that was looked for.
    n_background : int
        Rows of the background, of which one half searched and the other told.
    widths : ndarray of shape (max_columns,)
        Of the kernels that weigh similar rows, in standard deviations, for sets of 1, 2, ... columns.
    shares : dict
        For each cluster the share of the background that is in it.
    sets : tuple of ClusterSet
        Sets that suffice for many members of a cluster, from the fewest columns on.
    names : dict
        What clusters are called in sentences.
    members : dict
        How many rows each cluster has, of those that the rows were taken from.
    """

    columns: list[tuple[str, ...]]
    probability: NDArray
    effective_rows: NDArray
    status: NDArray
    unjudged: NDArray
    alternatives: list[tuple[tuple[tuple[str, ...], float], ...]]
    clusters: NDArray
    index: NDArray
    target: float
    max_columns: int
    n_background: int
    widths: NDArray
    shares: Mapping[Any, float]
    sets: tuple[ClusterSet, ...]
    names: Mapping[Any, str]
    members: Mapping[Any, int]

    def __len__(self) -> int:
        return len(self.status)

    def __getitem__(self, rows: Any) -> Sufficient:
        """The answers for some rows: a position, a slice, a mask or a list of positions."""
        try:
            chosen = np.atleast_1d(np.arange(len(self))[rows])
        except (IndexError, TypeError, ValueError):
            raise unfit_rows(rows, len(self)) from None
        kept = set(self.clusters[chosen].tolist())
        return replace(
            self,
            columns=[self.columns[row] for row in chosen],
            alternatives=[self.alternatives[row] for row in chosen],
            sets=tuple(one for one in self.sets if one.cluster in kept),
            **{
                name: getattr(self, name)[chosen]
                for name in ("probability", "effective_rows", "status", "unjudged", "clusters", "index")
            },
        )

    def __repr__(self) -> str:
        found = self.status == SUFFICES
        return (
            f"<Sufficient columns of {counted(len(self), 'row')}: found for {int(found.sum())}, with "
            f"probability {self.target:g} or more>"
        )

    def among(self, labels: NDArray) -> Sufficient:
        """The same of rows that were taken from more, whose labels are these: sentences tell of how many."""
        return replace(self, members=Counter(np.asarray(labels).tolist()))

    @property
    def sizes(self) -> NDArray:
        """How many columns each set has; 0 where there is none."""
        return np.array([len(one) for one in self.columns], dtype=int)

    def to_pandas(self) -> pd.DataFrame:
        """One line for each row."""
        import pandas as pd

        told = {
            "cluster": self.clusters,
            "columns": [", ".join(one) for one in self.columns],
            "n_columns": self.sizes,
            "probability": self.probability,
            "effective_rows": self.effective_rows,
            "status": self.status,
        }
        return pd.DataFrame(told, index=self.index)

    def by_cluster(self) -> pd.DataFrame:
        """For each cluster the sets that suffice for many members, the short ones first, and for how many."""
        import pandas as pd

        names = ("cluster", "columns", "share", "probability", "n_members")
        lines = [[getattr(one, name) for name in names] for one in self.sets]
        frame = pd.DataFrame(lines, columns=list(names))
        return frame.assign(columns=[_joined(one.columns) for one in self.sets])

    def describe(self, *, top: int = 1) -> str:
        """Sentences: about the one row, or about each cluster.

        Parameters
        ----------
        top : int
            How many sets of each cluster, one of each size, or alternatives of the row, to name.
        """
        whole_number("top", top, 0)
        if len(self) == 1:
            return self._row(top)
        return "\n".join(told for cluster in self.shares if (told := self.of_cluster(cluster, top=top)))

    def _row(self, top: int) -> str:
        cluster, status = self.clusters[0], self.status[0]
        named = self.names[cluster]
        if status == HOLDS_MOST:
            return f"{_capital(named)} holds {self.shares[cluster]:.0%} of all rows: no column need be known."
        if status == NOT_THERE:
            return f"The row is not in {named}: nothing can suffice to put it there."
        others = [f"{_joined(columns)} ({told:.2f})" for columns, told in self.alternatives[0][:top]]
        beside = f" Next best: {'; '.join(others)}." if others else ""
        if status == TOO_FEW:  # what is next best is not known either
            return (
                f"Too few rows are similar to tell which columns suffice for {named}{self._small(cluster)}."
            )
        if status == NO_SET:
            most = counted(self.max_columns, "column")
            return f"No set of up to {most} suffices for {named}.{beside}"
        columns = self.columns[0]
        if self.unjudged[0] and len(columns) > _FEW_COLUMNS:
            beside = f" Fewer might, but too few rows are similar to tell{self._small(cluster)}."
        suffice = "alone suffices" if len(columns) == 1 else "alone suffice"
        return (
            f"{_joined(columns)} {suffice} for {named}, with probability {self.probability[0]:.2f}.{beside}"
        )

    def _small(self, cluster: Any) -> str:
        """That a cluster has fewer rows than both halves of the background need to tell of it."""
        size = round(self.shares[cluster] * self.n_background)
        return f", as only {size} of {self.n_background:,} are in it" if size < 2 * FEWEST_ROWS else ""

    def of_cluster(self, cluster: Any, *, top: int = 1) -> str:
        """What suffices for the rows of a cluster, in a sentence; an empty one where nothing was asked.

        Parameters
        ----------
        cluster : cluster id
        top : int
            How many sets to name, one of each size; the last of them suffices for the most rows.
        """
        if cluster not in self.shares:  # noise, which nobody asked about
            return ""
        own_rows = (self.clusters == cluster) & (self.status != NOT_THERE)
        mine, unjudged = self.status[own_rows], self.unjudged[own_rows]
        named = _capital(self.names[cluster])
        if (mine == HOLDS_MOST).any():
            return f"{named} holds {self.shares[cluster]:.0%} of all rows: nothing need be known."
        own = [one for one in self.sets if one.cluster == cluster]
        # The best of each size; a few rows at the beginning are not worth a line.
        steps = [next(sets) for _, sets in groupby(own, key=lambda one: len(one.columns))]
        steps = [one for one in steps if one.share >= _MANY and len(one.columns) <= _FEW_COLUMNS]
        sizes = self.sizes[(self.clusters == cluster) & (self.status == SUFFICES)]
        asked = own[0].n_members if own else len(mine)
        whole = self.members.get(cluster, asked)
        some = asked < whole
        parts = [
            f"{_joined(one.columns)} {'suffices' if len(one.columns) == 1 else 'suffice'} for "
            f"{percent(one.share)}{'' if some or place else ' of its rows'}"
            for place, one in enumerate(steps[-top:] if top else [])
        ]
        small, left = self._small(cluster), [NO_SET, TOO_FEW]
        if not steps and len(sizes) and top:
            most = counted(int(np.median(sizes)), "column")
            # Of these rows nobody knows whether few columns suffice.
            doubtful = float(((mine == TOO_FEW) | (unjudged > 0) & (unjudged <= _FEW_COLUMNS)).mean())
            if doubtful >= _MANY:
                whose = "" if some else " of its rows"
                parts = [
                    f"the sets found for {percent(len(sizes) / len(mine))}{whose} mostly have {most}",
                    f"for {percent(doubtful)} too few rows are similar to tell whether fewer suffice{small}",
                ]
                left = [NO_SET]
            else:
                those = "them" if some else "its rows"
                answered = "most" if len(sizes) == len(mine) else "most of those answered"
                parts = [f"no few columns suffice for many of {those}; {answered} need {most} of their own"]
        for status in left:
            share = float((mine == status).mean()) if len(mine) else 0.0
            if share > 0:
                said = "no set suffices" if status == NO_SET else f"too few rows are similar to tell{small}"
                parts.append(f"for {percent(share)} {said}")
        if not parts:
            return ""
        return f"{named}{f', asked of {asked} of its {whole} rows' if some else ''}: {'; '.join(parts)}."


def _joined(columns: tuple[str, ...]) -> str:
    return columns[0] if len(columns) == 1 else f"{', '.join(columns[:-1])} and {columns[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
