"""Per cluster: its size, what sets it apart, typical and borderline rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._frames import is_frame
from whyclust._validation import is_sparse
from whyclust.explanation import Explanation


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
    """All clusters of an explanation, in order, noise last; ``summary[cluster_id]`` is one."""

    clusters: list[ClusterSummary]

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
        head = "<tr><th>cluster</th><th>rows</th><th>share</th><th>evidence</th><th>set apart by</th></tr>"
        return f"<table>{head}{''.join(rows)}</table>"


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def summarise(explanation: Explanation, members: int = 3) -> Summary:
    """Summarise each cluster that is explained."""
    found = []
    compare = comparer(explanation.data)
    for cluster in sorted(np.unique(explanation.clusters), key=explanation.is_noise):
        explained = explanation.clusters == cluster
        inside = explanation.labels == cluster
        # Rows that are not in the cluster say why not; the cluster itself is told by its own.
        own = explained & inside & ~explanation.disagrees
        rows = np.flatnonzero(own if own.any() else explained)
        mean = np.asarray(explanation.values[rows].mean(axis=0), dtype=float)
        order = np.argsort(-mean, kind="stable")
        total = np.abs(mean).sum()
        directions, here, there = compare(inside)
        if explanation.is_noise(cluster):
            # Noise lies on all sides, so a mean says little; where it has relevance it is far off.
            directions = ["unusual" if word in ("high", "low", "middling") else word for word in directions]
        features = pd.DataFrame(
            {
                "feature": [explanation.feature_names[position] for position in order],
                "relevance": mean[order],
                "fraction": np.abs(mean[order]) / total if total > 0 else np.zeros(len(order)),
                "direction": [directions[position] for position in order],
                "inside": pd.Series([here[position] for position in order], dtype=object),
                "outside": pd.Series([there[position] for position in order], dtype=object),
            }
        )
        typical, borderline = _members(explanation, rows, mean, members)
        found.append(
            ClusterSummary(
                cluster.item() if hasattr(cluster, "item") else cluster,
                int(explained.sum()),
                float(explained.mean()),
                float(explanation.evidence[rows].mean()),
                features,
                typical,
                borderline,
                explanation.is_noise(cluster),
            )
        )
    return Summary(found)


def _members(
    explanation: Explanation, rows: NDArray, mean: NDArray, count: int
) -> tuple[list[int], list[int]]:
    evidence = explanation.evidence[rows]
    if explanation.is_factored:  # distances would make the whole matrix
        distance = np.abs(evidence - np.median(evidence))
    else:
        distance = ((explanation.values[rows] - mean) ** 2).sum(axis=1)
    typical = rows[np.argsort(distance, kind="stable")[:count]]
    borderline = rows[np.argsort(evidence, kind="stable")[:count]]
    return typical.tolist(), borderline.tolist()


def comparer(data: Any) -> Callable[[NDArray], tuple[list[str], list[Any], list[Any]]]:
    """Return a function that compares every column inside and outside a cluster.

    It gives directions, values inside and values outside: means, or shares of a category.
    """
    if is_sparse(data):
        return partial(_compare_sparse, data)
    frame = data if is_frame(data) else pd.DataFrame(data)
    columns = [Column(frame.iloc[:, position]) for position in range(frame.shape[1])]

    def compare(inside: NDArray) -> tuple[list[str], list[Any], list[Any]]:
        found = [column.compare(inside) for column in columns]
        return tuple(map(list, zip(*found, strict=True)))  # type: ignore[return-value]

    return compare


def _compare_sparse(data: Any, inside: NDArray) -> tuple[list[str], list[Any], list[Any]]:
    """Means of sparse columns, zeros included, without making them dense."""
    total = np.asarray(data.sum(axis=0), dtype=float).ravel()
    here_sum = np.asarray(data[np.flatnonzero(inside)].sum(axis=0), dtype=float).ravel()
    here = here_sum / max(inside.sum(), 1)
    there = (total - here_sum) / max((~inside).sum(), 1)
    mean = total / data.shape[0]
    squares = np.asarray(data.multiply(data).sum(axis=0), dtype=float).ravel() / data.shape[0]
    deviations = np.sqrt(np.maximum(squares - mean**2, 0.0))
    directions = [direction(*triple) for triple in zip(here, there, deviations, strict=True)]
    return directions, here.tolist(), there.tolist()


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


class Column:
    """The user's values of one column, compared inside and outside a cluster."""

    def __init__(self, values: pd.Series) -> None:
        self.numbers: NDArray | None = None
        self.deviation = 0.0
        self.categories: NDArray | None = None
        is_number = pd.api.types.is_numeric_dtype(values.dtype) and values.dtype != bool
        if not is_number and values.dtype == object:
            is_number = all(isinstance(value, Number) or value is None for value in values)
            is_number = is_number and not all(isinstance(value, bool) for value in values)
        if is_number:
            self.numbers = pd.to_numeric(values).to_numpy(dtype=float, na_value=np.nan)
            known = self.numbers[~np.isnan(self.numbers)]
            self.deviation = float(np.std(known)) if len(known) else 0.0
        else:
            missing = values.isna().to_numpy()
            self.categories = np.where(missing, "missing", values.astype(str).to_numpy(dtype=object))

    def compare(self, inside: NDArray) -> tuple[str, Any, Any]:
        """Return (direction, inside, outside)."""
        if self.numbers is not None:
            here, there = _mean(self.numbers[inside]), _mean(self.numbers[~inside])
            return direction(here, there, self.deviation), here, there
        categories = np.asarray(self.categories)
        names, codes = np.unique(categories.astype(str), return_inverse=True)
        shares_here = np.bincount(codes[inside], minlength=len(names)) / max(inside.sum(), 1)
        shares_there = np.bincount(codes[~inside], minlength=len(names)) / max((~inside).sum(), 1)
        best = int(np.argmax(shares_here - shares_there))
        name, here, there = names[best], shares_here[best], shares_there[best]
        word = "mostly" if here > 0.5 else "often"
        return f"{word} {name}", f"{here:.0%} {name}", f"{there:.0%} {name}"


def _mean(values: NDArray) -> float:
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")
