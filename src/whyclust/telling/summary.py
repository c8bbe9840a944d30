"""Per cluster: its size, what sets it apart, typical and borderline rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from html import escape
from operator import add
from typing import Any

import numpy as np
import pandas as pd

from whyclust.explaining.explanation import Explanation
from whyclust.moments.clusters import ClusterMoments, TypicalRows


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
        cluster's rows), ``fraction`` (of the sum of absolute means), ``direction`` (``high``, ``low``,
        ``middling``, ``same``, ``missing``, ``unusual`` for noise, or ``mostly …`` for categories),
        ``inside`` and ``outside`` (mean value, or share of the category, in the cluster and elsewhere).
    typical, borderline : positions of rows
        Nearest the cluster's mean relevance; least evidence.
    is_noise : whether these are the rows in no cluster
    """

    cluster: Any
    size: int
    share: float
    evidence: float
    features: pd.DataFrame
    typical: list[int]
    borderline: list[int]
    is_noise: bool = False


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
    """

    clusters: list[ClusterSummary]
    ignored: bool = False
    measures: str | None = None

    def __iter__(self) -> Iterator[ClusterSummary]:
        return iter(self.clusters)

    def __len__(self) -> int:
        return len(self.clusters)

    def __getitem__(self, cluster: Any) -> ClusterSummary:
        for one in self.clusters:
            if one.cluster == cluster:
                return one
        known = ", ".join(str(one.cluster) for one in self.clusters)
        raise KeyError(f"No cluster {cluster!r} in this explanation: it has {known}.")

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per cluster and feature."""
        frames = []
        for one in self.clusters:
            frame = one.features.copy()
            frame.insert(0, "cluster", one.cluster)
            frame.insert(1, "size", one.size)
            frame.insert(2, "share", one.share)
            frames.append(frame)
        if not frames:
            names = ["cluster", "size", "share", "feature", "relevance", "fraction", "direction"]
            return pd.DataFrame(columns=[*names, "inside", "outside"])
        return pd.concat(frames, ignore_index=True)

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain lists, dictionaries, numbers and strings."""
        return [
            {
                "cluster": _plain(one.cluster),
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
            listed = ", ".join(f"{row.feature} {row.direction}" for row in one.features.head(3).itertuples())
            name = "noise" if one.is_noise else f"cluster {one.cluster}"
            name = f"ignored in {name}" if self.ignored else name
            lines.append(f"{name}: {one.size} rows ({one.share:.0%}); {listed}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for one in self.clusters:
            listed = ", ".join(
                f"{escape(str(row.feature))} {escape(str(row.direction))} ({row.relevance:+.3g})"
                for row in one.features.head(5).itertuples()
            )
            name = "noise" if one.is_noise else escape(str(one.cluster))
            rows.append(
                f"<tr><td>{name}</td><td>{one.size}</td><td>{one.share:.0%}</td>"
                f"<td>{one.evidence:.3g}</td><td style='text-align:left'>{listed}</td></tr>"
            )
        told = ("ignored", "mainly in") if self.ignored else ("evidence", "set apart by")
        if self.measures is not None:
            told = ("evidence", f"largest by {escape(self.measures)}")
        names = ("cluster", "rows", "share", *told)
        head = "".join(f"<th>{name}</th>" for name in names)
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


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
    any_part = next(iter(parts))
    ignored = any_part.question.about == "ignored"
    found = _read(known, typical, any_part.feature_names, any_part.is_noise)
    return Summary(found, ignored, any_part.provenance.measures)


def _placed(parts: Iterable[Explanation]) -> Iterator[tuple[int, Explanation]]:
    """Each part with the number of rows before it."""
    first = 0
    for part in parts:
        yield first, part
        first += len(part)


def _read(
    known: ClusterMoments, typical: TypicalRows, names: list[str], is_noise: Callable[[Any], bool]
) -> list[ClusterSummary]:
    found = []
    compare = comparer(known)
    for cluster in sorted(known.clusters, key=is_noise):
        # Rows that are not in the cluster say why not; the cluster itself is told by its own.
        group = known.speaking(cluster)
        mean = group.relevance.value
        order = np.argsort(-mean, kind="stable")
        total = np.abs(mean).sum()
        directions, here, there = compare(cluster)
        if is_noise(cluster):
            # Noise lies on all sides, so a mean says little; where it has relevance it is far off.
            directions = ["unusual" if word in ("high", "low", "middling") else word for word in directions]
        features = pd.DataFrame(
            {
                "feature": [names[position] for position in order],
                "relevance": mean[order],
                "fraction": np.abs(mean[order]) / total if total > 0 else np.zeros(len(order)),
                "direction": [directions[position] for position in order],
                "inside": pd.Series([here[position] for position in order], dtype=object),
                "outside": pd.Series([there[position] for position in order], dtype=object),
            }
        )
        found.append(
            ClusterSummary(
                cluster,
                known.size(cluster),
                known.size(cluster) / known.n_rows,
                float(group.evidence.value),
                features,
                typical.rows[cluster].rows.tolist(),
                group.borderline.rows.tolist(),
                is_noise(cluster),
            )
        )
    return found


def comparer(known: ClusterMoments) -> Callable[[Any], tuple[list[str], list[Any], list[Any]]]:
    """Return a function that compares every column inside and outside a cluster.

    It gives directions, values inside and values outside: means, or shares of a category.
    """
    if not known.columns:
        return lambda cluster: ([], [], [])
    labels, whole = list(known.columns), known.whole()
    deviations = np.sqrt(whole.numbers.variance)
    counts = np.array([known.columns[label].numbers.count for label in labels])
    means = np.array([known.columns[label].numbers.mean for label in labels])

    def compare(cluster: Any) -> tuple[list[str], list[Any], list[Any]]:
        inside = known.columns.get(cluster)
        others = counts * np.array([label != cluster for label in labels])[:, None]
        total = others.sum(axis=0)
        there = np.where(total > 0, (others / np.maximum(total, 1) * means).sum(axis=0), whole.absent)
        here = np.full(len(there), whole.absent) if inside is None else inside.means
        words = [direction(*triple) for triple in zip(here, there, deviations, strict=True)]
        values_here, values_there = here.tolist(), there.tolist()
        n_inside = 0 if inside is None else inside.n_rows
        for position, everywhere in whole.categories.items():
            own = {} if inside is None else inside.category_counts(position).counts
            words[position], values_here[position], values_there[position] = _compare_shares(
                own, everywhere.counts, n_inside, known.n_rows - n_inside
            )
        return words, values_here, values_there

    return compare


def _compare_shares(
    own: Mapping[str, int], all_rows: Mapping[str, int], n_inside: int, n_outside: int
) -> tuple[str, str, str]:
    """The category that is more frequent inside than outside by the most."""
    names = sorted(all_rows)
    inside = np.array([own.get(name, 0) for name in names])
    shares_here = inside / max(n_inside, 1)
    shares_there = (np.array([all_rows[name] for name in names]) - inside) / max(n_outside, 1)
    best = int(np.argmax(shares_here - shares_there))
    name, here, there = names[best], shares_here[best], shares_there[best]
    word = "mostly" if here > 0.5 else "often"
    return f"{word} {name}", f"{here:.0%} {name}", f"{there:.0%} {name}"


# Differences of means below this many standard deviations are not worth a word.
_MIDDLING = 0.1


def direction(here: float, there: float, deviation: float) -> str:
    """Say whether a mean is high or low, compared with the mean elsewhere.

    A cluster may lie between its competitors: then a column has relevance although its mean is
    about that of all other rows, and is called middling.

    >>> direction(2.0, 1.0, 1.0), direction(1.05, 1.0, 1.0), direction(1.0, 1.0, 0.0)
    ('high', 'middling', 'same')
    """
    if not (np.isfinite(here) and np.isfinite(there)):
        return "missing" if not np.isfinite(here) else "same"
    if abs(here - there) <= 1e-9 * max(abs(here), abs(there)):
        return "same"
    if abs(here - there) < _MIDDLING * deviation:
        return "middling"
    return "high" if here > there else "low"
