"""A picture of one column: its values in each cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.explaining.explanation import Explanation
from whyclust.plots.drawing import (
    axes_of,
    chosen_labels,
    clipped,
    cluster_colour,
    line_labels,
    refuse_other,
    rows_told,
)
from whyclust.plots.registry import plot

_MOST_CLUSTERS = 60
# Points of a cluster that are drawn beside its box, at random.
_MOST_POINTS = 200
_MOST_CATEGORIES = 7
_OTHERS = "#c9ced4"


@plot
def distribution(explanation: Explanation, column: str, *, cluster: Any = None, ax: Any = None) -> Any:
    """Draw the values of a column, cluster by cluster: boxes of numbers, shares of categories.

    A box goes from the first to the third quartile, with a line at the median; whiskers reach the last
    value within 1.5 times its length. The dashed line is the median of all rows.

    Parameters
    ----------
    explanation : Explanation
    column : str
        Its name.
    cluster : cluster id, or list of them, optional
        By default all, or the sixty with the most rows.
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
    >>> ex.plot.distribution("petal width (cm)").get_title()
    'petal width (cm), by cluster'
    """
    refuse_other(explanation)
    values = explanation.column(column)
    clusters, note = chosen_labels(explanation, cluster, _MOST_CLUSTERS)
    groups = [np.flatnonzero(explanation.labels == one) for one in clusters]
    ax = axes_of(ax, 7.0, 0.27 * len(clusters) + 1.6)
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        _categories(ax, np.array([str(value) for value in values]), groups)
        ax.set_xlabel("share of the cluster's rows", fontsize=8)
        missing = ""
    else:
        known = explanation.in_order(np.unique(explanation.labels))
        _boxes(ax, numbers, groups, [cluster_colour(known.index(one)) for one in clusters])
        count = int(np.isnan(numbers).sum())
        missing = f" ({rows_told(count)} without a value)" if count else ""
        ax.set_xlabel(clipped(column, 60), fontsize=8)
    names = [
        f"{clipped(explanation.named(one))} ({len(rows):,})"
        for one, rows in zip(clusters, groups, strict=True)
    ]
    line_labels(ax, names)
    ax.set_title(
        f"{clipped(column)}, by cluster{missing}{f': {note}' if note else ''}", fontsize=10, wrap=True
    )
    return ax


def _boxes(axis: Any, numbers: NDArray, groups: list[NDArray], colours: list[str]) -> None:
    """A box a cluster, and some of its rows as points."""
    generator = np.random.default_rng(0)
    known = [numbers[rows][np.isfinite(numbers[rows])] for rows in groups]
    for place, (own, colour) in enumerate(zip(known, colours, strict=True)):
        shown = own if len(own) <= _MOST_POINTS else generator.choice(own, _MOST_POINTS, replace=False)
        up = place + generator.uniform(-0.3, 0.3, size=len(shown))
        axis.scatter(shown, up, s=9, color=colour, alpha=0.6, linewidths=0)
        if len(own):
            _box(axis, place, own)
    everyone = numbers[np.isfinite(numbers)]
    if len(everyone):
        axis.axvline(float(np.median(everyone)), color="k", linestyle="--", linewidth=0.8, zorder=0)


def _box(axis: Any, place: int, values: NDArray) -> None:
    """By hand: versions of matplotlib differ in how a box is asked to lie."""
    first, median, third = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 1.5 * (third - first)
    low, high = values[values >= first - reach].min(), values[values <= third + reach].max()
    axis.barh(place, third - first, left=first, height=0.62, facecolor="none", edgecolor="k", linewidth=0.9)
    for start, end in ((low, first), (third, high)):
        axis.plot([start, end], [place, place], color="k", linewidth=0.9)
    axis.plot([median, median], [place - 0.31, place + 0.31], color="k", linewidth=1.8)


def _categories(axis: Any, texts: NDArray, groups: list[NDArray]) -> None:
    """Shares of the commonest categories, side by side in a line a cluster."""
    found, counts = np.unique(texts, return_counts=True)
    kept = found[np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]].tolist()
    start = np.zeros(len(groups))
    places = range(len(groups))
    for number, name in enumerate(kept):
        shares = np.array([float((texts[rows] == name).mean()) if len(rows) else 0.0 for rows in groups])
        told, colour = clipped(name, 24), cluster_colour(number)
        axis.barh(places, shares, left=start, height=0.75, color=colour, label=told)
        start = start + shares
    rare = len(found) - len(kept)
    if rare:
        axis.barh(places, 1.0 - start, left=start, height=0.75, color=_OTHERS, label=f"{rare} other values")
    axis.set_xlim(0.0, 1.0)
    axis.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=8, frameon=False, borderaxespad=0.0)
