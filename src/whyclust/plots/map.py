"""A picture of all rows in a plane: where clusters lie, where evidence or a column is high."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import did_you_mean
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.plane import places_in_plane
from whyclust.plots.drawing import SIGNED, axes_of, clipped, cluster_key, points_on, refuse_other
from whyclust.plots.registry import plot

# More points than this are a blot.
_MOST_POINTS = 5_000
# With more clusters than colours, their ids are written where they lie.
_MOST_COLOURS = 8
_MOST_CATEGORIES = 7


@plot
def map(explanation: Explanation, *, color: str = "cluster", embedding: Any = None, ax: Any = None) -> Any:
    """Draw rows as points in a plane, coloured by cluster, by evidence or by a column.

    Parameters
    ----------
    explanation : Explanation
    color : str
        "cluster", "evidence" (red: inside the cluster explained, blue: outside; of
        what a clustering ignores, how much that is), or the name of a column.
    embedding : array or frame of shape (n_rows, 2), optional
        Where points are: UMAP's, t-SNE's, or two columns. By default the first two principal components of
        the columns, each divided by its standard deviation, a category as one column a value.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X)
    >>> ex.plot.map(color="petal width (cm)").get_title()
    '150 rows, coloured by petal width (cm)'
    """
    refuse_other(explanation)
    if color not in ("cluster", "evidence", *explanation.feature_names):
        hint = did_you_mean(color, ["cluster", "evidence", *explanation.feature_names])
        raise ValueError(f"color={color!r}, expected 'cluster', 'evidence' or the name of a column{hint}")
    places, axes_names = places_in_plane(explanation, embedding)
    rows = np.random.default_rng(0).permutation(len(explanation))[:_MOST_POINTS]
    ax = axes_of(ax, 6.8, 4.8)
    places, shown = places[rows], explanation[rows]
    if color == "cluster":
        ids = explanation.in_order(np.unique(explanation.labels))
        _by_group(ax, places, shown.labels, ids, [explanation.named(one) for one in ids])
        if len(ids) > _MOST_COLOURS:
            _written(ax, places, shown.labels, ids, [explanation.short_name(one) for one in ids])
    elif color == "evidence":
        largest = float(np.quantile(np.abs(shown.evidence), 0.98)) or 1.0
        if explanation.question.about == "ignored":  # a squared length, which has no boundary at 0
            told = "how much is ignored"
            _by_number(ax, places, shown.evidence, told, "viridis", (0.0, largest))
        else:
            told, ends = "evidence (0: on the boundary)", (-largest, largest)
            _by_number(ax, places, shown.evidence, told, SIGNED, ends)
    else:
        _by_column(ax, places, shown.column(color), color)
    ax.set_xlabel(axes_names[0], fontsize=8)
    ax.set_ylabel(axes_names[1], fontsize=8)
    ax.set_xticks([])
    ax.set_yticks([])
    some = f" ({len(rows):,} drawn, at random)" if len(rows) < len(explanation) else ""
    by = color if color != "evidence" or explanation.question.about != "ignored" else "how much is ignored"
    ax.set_title(f"{len(explanation):,} rows{some}, coloured by {clipped(by)}", fontsize=10, wrap=True)
    return ax


def _by_group(axis: Any, places: NDArray, labels: NDArray, groups: list[Any], names: list[str]) -> None:
    numbers = {group: code for code, group in enumerate(groups)}
    codes = np.array([numbers[one] for one in np.asarray(labels).tolist()])
    points_on(axis, places[:, 0], places[:, 1], codes)
    cluster_key(axis, [clipped(name, 28) for name in names])


def _written(axis: Any, places: NDArray, labels: NDArray, groups: list[Any], names: list[str]) -> None:
    """What clusters are called, where their middle is."""
    for group, name in zip(groups, names, strict=True):
        rows = labels == group
        if rows.any():
            x, y = np.median(places[rows], axis=0)
            box = {"color": "w", "alpha": 0.6, "pad": 0.4, "linewidth": 0}
            axis.text(x, y, clipped(name, 14), fontsize=6.5, ha="center", va="center", bbox=box)


def _by_number(
    axis: Any, places: NDArray, values: NDArray, name: str, colours: str, limits: tuple[float, float]
) -> None:
    known = ~np.isnan(values)
    size = float(np.clip(12_000.0 / max(len(places), 1), 5.0, 22.0))
    axis.scatter(*places[~known].T, s=size, color="#c4c9cf", linewidths=0)
    drawn = axis.scatter(
        *places[known].T,
        c=values[known],
        s=size,
        cmap=colours,
        vmin=limits[0],
        vmax=limits[1],
        linewidths=0.3,
        edgecolors="#8a929c",
    )
    bar = axis.figure.colorbar(drawn, ax=axis, extend="both", fraction=0.04, pad=0.02)
    bar.set_label(name, fontsize=8)
    bar.ax.tick_params(labelsize=8)


def _by_column(axis: Any, places: NDArray, values: NDArray, name: str) -> None:
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        texts = np.array([str(value) for value in values])
        found, counts = np.unique(texts, return_counts=True)
        kept = found[np.sort(np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES])].tolist()
        rare = len(found) - len(kept)
        groups = [*kept, f"{rare} other values"] if rare else kept
        _by_group(axis, places, np.where(np.isin(texts, kept), texts, groups[-1]), groups, groups)
        return
    known = numbers[np.isfinite(numbers)]
    low, high = (float(one) for one in np.quantile(known, [0.02, 0.98])) if len(known) else (0.0, 1.0)
    _by_number(axis, places, numbers, clipped(name), "viridis", (low, high if high > low else low + 1.0))
