"""What the search for sufficient columns has found, and sentences of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import counted, whole_number
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
    """Columns that suffice for members of a cluster.

    Attributes
    ----------
    cluster : cluster id
    columns : tuple of str
    share : float
        Of the members that were asked, those for which the columns suffice.
    probability : float
        Mean over these members.
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
    alternatives : list of tuples
        For each row other sets and their probabilities, the next best first; not all of them suffice.
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
        Sets that suffice for many members of a cluster.
    names : dict
        What clusters are called in sentences.
    """

    columns: list[tuple[str, ...]]
    probability: NDArray
    effective_rows: NDArray
    status: NDArray
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
                for name in ("probability", "effective_rows", "status", "clusters", "index")
            },
        )

    def __repr__(self) -> str:
        found = self.status == SUFFICES
        return (
            f"<Sufficient columns of {counted(len(self), 'row')}: found for {int(found.sum())}, with "
            f"probability {self.target:g} or more>"
        )

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
            How many sets of each cluster, or alternatives of the row, to name.
        """
        whole_number("top", top, 0)
        return self._row(top) if len(self) == 1 else "\n".join(self._clusters(top))

    def _row(self, top: int) -> str:
        cluster, status = self.clusters[0], self.status[0]
        named = self.names[cluster]
        if status == HOLDS_MOST:
            return f"{_capital(named)} holds {self.shares[cluster]:.0%} of all rows: no column need be known."
        if status == NOT_THERE:
            return f"The row is not in {named}: nothing can suffice to put it there."
        others = [f"{_joined(columns)} ({told:.2f})" for columns, told in self.alternatives[0][:top]]
        beside = f" Next best: {'; '.join(others)}." if others else ""
        if status == TOO_FEW:
            return f"Too few rows are similar to tell which columns suffice for {named}.{beside}"
        if status == NO_SET:
            most = counted(self.max_columns, "column")
            return f"No set of up to {most} suffices for {named}.{beside}"
        columns = self.columns[0]
        suffice = "alone suffices" if len(columns) == 1 else "alone suffice"
        return (
            f"{_joined(columns)} {suffice} for {named}, with probability {self.probability[0]:.2f}.{beside}"
        )

    def _clusters(self, top: int) -> list[str]:
        lines = []
        for cluster in self.shares:
            mine = self.status[self.clusters == cluster]
            if not len(mine):
                continue
            named = _capital(self.names[cluster])
            if (mine == HOLDS_MOST).any():
                lines.append(f"{named} holds {self.shares[cluster]:.0%} of all rows: nothing need be known.")
                continue
            best = [one for one in self.sets if one.cluster == cluster][:top]
            told = [
                f"{_joined(one.columns)} {'suffices' if len(one.columns) == 1 else 'suffice'} for "
                f"{one.share:.0%} of its rows"
                for one in best
            ]
            sizes = self.sizes[(self.clusters == cluster) & (self.status == SUFFICES)]
            few = best and best[0].share >= _MANY and len(best[0].columns) <= _FEW_COLUMNS
            if not few and (best or len(sizes)) and top:
                most = counted(int(np.median(sizes)), "column") if len(sizes) else "other columns"
                told = [f"no few columns suffice for many of its rows; most need {most} of their own"]
            parts = ["; ".join(told)] if told else []
            for status in (NO_SET, TOO_FEW):
                share = float((mine == status).mean())
                if share > 0:
                    told_so = "for {} no set suffices" if status == NO_SET else "for {} too few rows "
                    told_so += "" if status == NO_SET else "are similar to tell"
                    parts.append(told_so.format(percent(share)))
            if parts:
                lines.append(f"{named}: {'; '.join(parts)}.")
        return lines


def _joined(columns: tuple[str, ...]) -> str:
    return columns[0] if len(columns) == 1 else f"{', '.join(columns[:-1])} and {columns[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
