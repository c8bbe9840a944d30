"""Per cluster: its size, what sets it apart, typical and borderline rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
        ``same``, or ``mostly …`` for categories), ``inside`` and ``outside`` (mean value, or
        share of the category, in the cluster and elsewhere).
    typical, borderline : positions of rows
        Nearest the cluster's mean relevance; least evidence.
    """

    cluster: Any
    size: int
    share: float
    evidence: float
    features: pd.DataFrame
    typical: list[int]
    borderline: list[int]


@dataclass(frozen=True)
class Summary:
    """All clusters of an explanation, in order; ``summary[cluster_id]`` is one."""

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
        return pd.concat(frames, ignore_index=True)

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain lists, dictionaries, numbers and strings."""
        return [
            {
                "cluster": _plain(one.cluster),
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
            lines.append(f"cluster {one.cluster}: {one.size} rows ({one.share:.0%}); {listed}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for one in self.clusters:
            listed = ", ".join(
                f"{escape(str(row.feature))} {escape(str(row.direction))} ({row.relevance:+.3g})"
                for row in one.features.head(5).itertuples()
            )
            rows.append(
                f"<tr><td>{escape(str(one.cluster))}</td><td>{one.size}</td><td>{one.share:.0%}</td>"
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
    columns = [Column(explanation.column(name)) for name in explanation.feature_names]
    for cluster in np.unique(explanation.clusters):
        explained = explanation.clusters == cluster
        inside = explanation.assigned == cluster
        # Rows that are not in the cluster say why not; the cluster itself is told by its own.
        rows = np.flatnonzero(explained & inside if (explained & inside).any() else explained)
        mean = np.asarray(explanation.values[rows].mean(axis=0), dtype=float)
        order = np.argsort(-mean, kind="stable")
        total = np.abs(mean).sum()
        compared = [columns[position].compare(inside) for position in order]
        features = pd.DataFrame(
            {
                "feature": [explanation.feature_names[position] for position in order],
                "relevance": mean[order],
                "fraction": np.abs(mean[order]) / total if total > 0 else np.zeros(len(order)),
                "direction": [direction for direction, _, _ in compared],
                "inside": pd.Series([value for _, value, _ in compared], dtype=object),
                "outside": pd.Series([value for _, _, value in compared], dtype=object),
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


class Column:
    """The user's values of one column, compared inside and outside a cluster."""

    def __init__(self, values: NDArray) -> None:
        self.numbers = self.categories = None
        if values.dtype == bool or values.dtype.kind in "OUSM":
            try:
                self.numbers = pd.to_numeric(pd.Series(values)).to_numpy(dtype=float)
            except (TypeError, ValueError):
                self.categories = pd.Series(values).fillna("missing").astype(str).to_numpy()
        else:
            self.numbers = values.astype(float)

    def compare(self, inside: NDArray) -> tuple[str, Any, Any]:
        """Return (direction, inside, outside)."""
        if self.categories is not None:
            return self._compare_categories(self.categories, inside)
        numbers = self.numbers
        here, there = _mean(numbers[inside]), _mean(numbers[~inside])  # type: ignore[index]
        if not np.isfinite(here) or not np.isfinite(there):
            return "same", here, there
        if abs(here - there) <= 1e-9 * max(abs(here), abs(there)):
            return "same", here, there
        return ("high" if here > there else "low"), here, there

    @staticmethod
    def _compare_categories(categories: NDArray, inside: NDArray) -> tuple[str, str, str]:
        names = np.unique(categories)
        here = np.array([_mean(categories[inside] == name) for name in names])
        there = np.nan_to_num([_mean(categories[~inside] == name) for name in names])
        best = int(np.argmax(np.nan_to_num(here) - there))
        share = np.nan_to_num(here[best])
        word = "mostly" if share > 0.5 else "often"
        return (
            f"{word} {names[best]}",
            f"{share:.0%} {names[best]}",
            f"{there[best]:.0%} {names[best]}",
        )


def _mean(values: NDArray) -> float:
    values = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return float(values.mean()) if len(values) else float("nan")
