"""Per cluster: its size, what sets it apart, typical and borderline rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._clusters import cluster_meant, clusters_listed
from whyclust.explaining.explanation import Explanation
from whyclust.inputs.kind import TABLE
from whyclust.inputs.reading import is_sparse
from whyclust.moments.clusters import ClusterMoments, TypicalRows
from whyclust.moments.rows import LeastRows
from whyclust.telling.names import distinct_names, in_line, is_name, mark
from whyclust.telling.standing import Compared, Standing, Standings

# A column with less of the relevance is no reason worth naming, unless it has more than most of many columns.
NAMED_FROM = 0.005
# A cluster is called by columns with at least this part of the strongest one's relevance.
_NAMING = 0.25
# So much of the evidence a word has that names a cluster, where words that are not there are not counted.
_OF_EVIDENCE = 0.05
# One that tells it from a smaller share of the other clusters does not lead its name.
_BROAD = 0.5
# What evidence is, in words, wherever it comes first.
EVIDENCE = "how far a row is from the boundary to the nearest other cluster, where it is 0"
# So many of the strongest columns can be told; the table has them all.
_STANDINGS = 50


@dataclass(frozen=True)
class ClusterSummary:
    """One cluster.

    Attributes
    ----------
    cluster : the cluster's id
    size, share : number of rows explained for it, and their share of all rows
    evidence : mean f_c
    features : DataFrame
        One row per feature, strongest first: ``feature``, ``relevance`` (mean over the
        cluster's rows), ``fraction`` (of the sum of absolute means), ``direction`` (the cluster's mean is
        ``above`` or ``below`` the competitors that matter for the column, ``between`` them or ``similar``;
        ``missing``, ``unusual`` for noise, ``mostly …`` or ``often …`` for categories; nothing where there
        is no one to compare with), ``inside`` and ``outside`` (mean value, or share of the category, in the
        cluster and elsewhere), ``against`` and ``there`` (the competitor that matters most, and the same of
        it), ``other_side`` (where the cluster lies between: the competitor on the other side).
    typical, borderline : positions of rows
        Nearest the cluster's mean relevance; least evidence. The row with the least is not typical, unless
        it is the only one.
    is_noise : whether these are the rows in no cluster
    name : a short name, the user's or a proposal; no two clusters have the same
    standings : tuple of Standing
        The strongest columns, compared with the competitors: what sentences are made of.
    """

    cluster: Any
    size: int
    share: float
    evidence: float
    features: pd.DataFrame
    typical: list[int]
    borderline: list[int]
    is_noise: bool = False
    name: str = ""
    standings: tuple[Standing, ...] = ()

    @property
    def title(self) -> str:
        """The cluster with its name: "cluster 3 'high age, country'"."""
        if self.is_noise:
            return "noise"
        bare = f"cluster {self.cluster}"
        return bare if self.name in ("", bare, str(self.cluster)) else f"{bare} '{self.name}'"

    def named_features(self, top: int) -> list[tuple[str, Standing]]:
        """The strongest columns that speak for the cluster, and how they stand."""
        columns = self.features.head(min(top, len(self.standings)))
        least = min(NAMED_FROM, 1.0 / max(1, len(self.features)))
        speaks = (columns["relevance"] > 0) & (columns["fraction"] >= least)
        named = zip(columns["feature"], self.standings, speaks, strict=False)
        return [(in_line(column), standing) for column, standing, told in named if told]


@dataclass(frozen=True)
class Summary:
    """All clusters of an explanation, in order, noise last; ``summary[cluster_id]`` is one.

    Attributes
    ----------
    clusters : list of ClusterSummary
    ignored : bool
        Whether relevance is that of what the clustering ignores, and no reason for a cluster.
    measures : str or None
        What relevance is, where it is no reason for a cluster for another cause: see
        :class:`whyclust.explaining.Provenance`.
    doubt : str or None
        What must be known before columns that are ignored are believed.
    """

    clusters: list[ClusterSummary]
    ignored: bool = False
    measures: str | None = None
    doubt: str | None = None

    def __iter__(self) -> Iterator[ClusterSummary]:
        return iter(self.clusters)

    def __len__(self) -> int:
        return len(self.clusters)

    def __getitem__(self, cluster: Any) -> ClusterSummary:
        known = {one.cluster: one for one in self.clusters}
        meant = cluster_meant(cluster, known)
        if meant is None:
            raise KeyError(f"No cluster {cluster!r} in this explanation: it has {clusters_listed(known)}.")
        return known[meant]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per cluster and feature."""
        frames = []
        for one in self.clusters:
            frame = one.features.copy()
            frame.insert(0, "cluster", one.cluster)
            frame.insert(1, "name", one.name)
            frame.insert(2, "size", one.size)
            frame.insert(3, "share", one.share)
            frames.append(frame)
        if not frames:
            names = ["cluster", "name", "size", "share", "feature", "relevance", "fraction", "direction"]
            return pd.DataFrame(columns=[*names, "inside", "outside", "against", "there", "other_side"])
        return pd.concat(frames, ignore_index=True)

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain lists, dictionaries, numbers and strings."""
        return [
            {
                "cluster": _plain(one.cluster),
                "name": one.name,
                "is_noise": one.is_noise,
                "size": one.size,
                "share": one.share,
                "evidence": one.evidence,
                "features": [
                    {str(key): _plain(value) for key, value in row.items()}
                    for row in one.features.to_dict("records")
                ],
                "typical": one.typical,
                "borderline": one.borderline,
            }
            for one in self.clusters
        ]

    def __repr__(self) -> str:
        lines = []
        for one in self.clusters:
            # What is ignored tells no cluster from another, so its columns have no direction.
            columns = one.features.head(3).itertuples()
            listed = ", ".join(
                str(row.feature) if self.ignored else f"{row.feature} {row.direction}" for row in columns
            )
            name = f"ignored in {one.title}" if self.ignored else one.title
            lines.append(f"{name}: {one.size} rows ({one.share:.0%}); {listed}")
        return "\n".join(lines if self.doubt is None else [*lines, self.doubt])

    def _repr_html_(self) -> str:
        from whyclust.telling.glance import cluster_table

        return cluster_table(self)


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def summarise(explanation: Explanation, members: int = 3) -> Summary:
    """Summarise each cluster that is explained."""
    return summarise_parts([explanation], members)


def summarise_parts(parts: Iterable[Explanation], members: int = 3) -> Summary:
    """Summarise a table that was explained in parts, as if it had been explained at once.

    Parameters
    ----------
    parts : iterable of Explanation
        The parts of one table in their order, explained by one network. They are gone through twice, first
        for the means and then for the rows near them: pass a list, or what reads the parts again each time.
    members : int
        How many typical and borderline rows to name.

    Returns
    -------
    Summary
        Rows are positions in the whole table.
    """
    if iter(parts) is parts:
        raise TypeError("parts can be gone through only once, expected twice: pass list(parts).")
    known = reduce(add, (ClusterMoments.of(part, first, members) for first, part in _placed(parts)))
    typical = reduce(add, (TypicalRows.of(part, known, first, members) for first, part in _placed(parts)))
    return summary_of(known, typical, next(iter(parts)))


def summary_of(known: ClusterMoments, typical: TypicalRows | None, any_part: Explanation) -> Summary:
    """The summary of a table, from what is known of all its parts.

    Parameters
    ----------
    known : ClusterMoments
    typical : TypicalRows or None
        None before a second pass has found them.
    any_part : Explanation
        What is the same in all parts is read from it: names of columns, the question.
    """
    if typical is None:
        none = LeastRows(0, np.empty(0), np.empty(0, dtype=int))
        typical = TypicalRows(dict.fromkeys(known.clusters, none))
    ignored = any_part.question.about == "ignored"
    found = _read(known, typical, any_part.feature_names, any_part)
    made = any_part.provenance
    return Summary(found, ignored, made.measures, made.doubt)


def _placed(parts: Iterable[Explanation]) -> Iterator[tuple[int, Explanation]]:
    """Each part with the number of rows before it."""
    first = 0
    for part in parts:
        yield first, part
        first += len(part)


def _read(
    known: ClusterMoments, typical: TypicalRows, feature_names: list[str], any_part: Explanation
) -> list[ClusterSummary]:
    standings = Standings(known, any_part.is_noise)
    found = []
    for cluster in any_part.in_order(known.clusters):
        # Rows that are not in the cluster say why not; the cluster itself is told by its own.
        group = known.speaking(cluster)
        mean = group.relevance.value
        order = np.argsort(-mean, kind="stable")
        if not any_part.absent:
            order = order[mean[order] != 0]
        compared = standings(cluster)
        found.append(
            ClusterSummary(
                cluster,
                known.size(cluster),
                known.size(cluster) / known.n_rows,
                float(group.evidence.value),
                _features(mean, order, compared, feature_names),
                typical.rows[cluster].rows.tolist(),
                group.borderline.rows.tolist(),
                any_part.is_noise(cluster),
                standings=tuple(compared[position] for position in order[:_STANDINGS]),
            )
        )
    names = _names(found, any_part)
    return [replace(one, name=names[one.cluster]) for one in found]


def _features(mean: NDArray, order: NDArray, compared: Compared, names: list[str]) -> pd.DataFrame:
    """One line per column, strongest first."""
    total = np.abs(mean).sum()
    table: dict[str, list[Any]] = {
        name: getattr(compared, name)[order].tolist()
        for name in ("direction", "inside", "outside", "against", "there", "other_side")
    }
    places = {position: place for place, position in enumerate(order.tolist())}
    for position, standing in compared.categories.items():
        if position not in places:
            continue
        place, category = places[position], standing.category
        word = standing.direction
        table["direction"][place] = word if word == "similar" else f"{word} {category}"
        table["against"][place], table["other_side"][place] = standing.against, standing.other_side
        for name in ("inside", "outside", "there"):
            share = getattr(standing, name)
            table[name][place] = f"{share:.0%} {category}" if np.isfinite(share) else np.nan
    return pd.DataFrame(
        {
            "feature": [names[position] for position in order],
            "relevance": mean[order],
            "fraction": np.abs(mean[order]) / total if total > 0 else np.zeros(len(order)),
            **{name: pd.Series(values, dtype=object) for name, values in table.items()},
        }
    )


def _names(found: list[ClusterSummary], any_part: Explanation) -> dict[Any, str]:
    """The user's names, and proposals for the other clusters."""
    given = any_part.names
    words = is_sparse(any_part.data)
    marks: dict[Any, list[str]] = {}
    named = {}
    for one in found:
        if one.is_noise:
            named[one.cluster] = "noise"
        elif one.cluster in given:
            named[one.cluster] = given[one.cluster]
        elif is_name(one.cluster):
            named[one.cluster] = str(one.cluster)
        else:
            marks[one.cluster] = [] if not _can_be_named(any_part) else _marks(one, words, any_part.absent)
    proposed = distinct_names(marks, [*given.values(), *named.values()])
    return {one.cluster: {**proposed, **named}[one.cluster] for one in found}


def _can_be_named(explanation: Explanation) -> bool:
    """Whether relevance tells clusters by columns that have names people know."""
    asked = explanation.question.about in ("assigned", "given") and explanation.provenance.measures is None
    return asked and (explanation.kind == TABLE or explanation.kind.has_words)


def _marks(one: ClusterSummary, words: bool, absent: bool) -> list[str]:
    # A column that counts for little beside the strongest is nothing to call the cluster by.
    counts = one.features["fraction"] >= _NAMING * one.features["fraction"].max()
    named = one.named_features(int(counts.to_numpy().argmin()) if not counts.all() else len(one.standings))
    # What tells the cluster from one far competitor only, and not from most others, comes last.
    named.sort(key=lambda entry: entry[1].broad < _BROAD)
    if words and not absent:  # of what is left of the words that a cluster lacks, a rare word may be the most
        enough = one.features["relevance"] >= _OF_EVIDENCE * one.evidence
        strong = set(map(in_line, one.features["feature"][enough]))
        named = [entry for entry in named if entry[0] in strong]
    if words:  # those that are there say more than those that are not
        named.sort(key=lambda entry: entry[1].level != "high")
    # The same answer to several questions says nothing without the question.
    often = Counter(standing.category for _, standing in named)
    found = [
        mark(column, standing, words=words, alone=often[standing.category] < 2) for column, standing in named
    ]
    return [said for said in found if said is not None]
