"""A picture of clusters: which columns speak for each, and which against it."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyclust._checks import whole_number
from whyclust.explaining.explanation import Explanation
from whyclust.plots.drawing import (
    SUMMED,
    axes_of,
    chosen_clusters,
    clipped,
    line_labels,
    measured,
    no_reason,
    numbers_beside,
    refuse_other,
    rows_told,
    signed,
)
from whyclust.plots.registry import plot
from whyclust.plots.shown_columns import mean_relevance, rest_of, strongest, summed

# More clusters than this are a poster: dots shows them all.
_MOST_CLUSTERS = 6


@plot
def bar(explanation: Explanation, *, cluster: Any = None, top: int | None = None, ax: Any = None) -> Any:
    """Draw the mean relevance of columns, cluster by cluster: red speaks for it, blue against it.

    The bars of a cluster sum to its mean evidence: columns that are not drawn share the last bar, with
    the part that belongs to no column, where there is one. Of what a clustering ignores
    (``space="shared"``) red bars add to it, and blue ones take from it.

    Parameters
    ----------
    explanation : Explanation
    cluster : cluster id, or list of them, optional
        By default all, or the six with the most rows.
    top : int, optional
        Columns to draw for each cluster; 10 for a single cluster, otherwise 5.
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
    >>> ax = ex.plot.bar(cluster=1)
    >>> ax.get_title()
    'What speaks for cluster 1 (50 rows)'
    """
    refuse_other(explanation)
    clusters, note = chosen_clusters(explanation, cluster, _MOST_CLUSTERS)
    top = (10 if len(clusters) == 1 else 5) if top is None else whole_number("top", top)
    names: list[str] = []
    bars: list[tuple[int, float, bool]] = []
    headings: list[int] = []
    for one in clusters:
        rows = np.flatnonzero(explanation.clusters == one)
        if len(clusters) > 1:
            headings.append(len(names))
            named = explanation.named(one)
            names.append(clipped(f"{named[0].upper()}{named[1:]} ({rows_told(len(rows))})", 44))
        for name, value, is_sum in _lines(explanation, rows, top):
            bars.append((len(names), value, is_sum))
            names.append(name)
    ax = axes_of(ax, 7.0, 0.24 * len(names) + 1.3)
    places, values, sums = (list(part) for part in zip(*bars, strict=True))
    drawn = ax.barh(places, values, color=signed(values), height=0.75)
    for one, is_sum in zip(drawn, sums, strict=True):
        one.set_alpha(SUMMED if is_sum else 1.0)
    ax.axvline(0.0, color="k", linewidth=0.8)
    numbers_beside(ax, places, values, values, sums)
    line_labels(ax, names)
    for place in headings:
        ax.get_yticklabels()[place].set_fontweight("bold")
        ax.axhline(place - 0.55, color="#d0d4da", linewidth=0.8)
    what, said = measured(explanation)
    ax.set_xlabel(f"mean {what}: {said}", fontsize=8)
    other = no_reason(explanation)
    title = "What speaks for" if other is None else f"{other} in"
    if len(clusters) == 1:
        size = int((explanation.clusters == clusters[0]).sum())
        title = f"{title} {explanation.named(clusters[0])} ({rows_told(size)})"
    else:
        title = f"{title} each cluster{f': {note}' if note else ''}"
    ax.set_title(title, fontsize=10, wrap=True)
    return ax


def _lines(explanation: Explanation, rows: Any, top: int) -> list[tuple[str, float, bool]]:
    """Names and lengths of the bars of one cluster, and whether a bar is of no single column."""
    means, whole = mean_relevance(explanation, rows)
    kept, others = strongest(means, top, absent=explanation.absent)
    lines = [(clipped(explanation.feature_names[column]), float(means[column]), False) for column in kept]
    if len(others) or not explanation.absent:
        rest = summed(means, whole, kept, others)
        lines.append((rest_of(len(others), absent=explanation.absent), rest, True))
    base = float(explanation.base_values[rows].mean())
    if base != 0.0:
        lines.append(("in no column", base, True))
    return lines
