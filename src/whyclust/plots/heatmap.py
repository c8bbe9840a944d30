"""A picture of a whole table: the relevance of every column for every row, cluster by cluster."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import whole_number
from whyclust.explaining.explanation import Explanation
from whyclust.plots.drawing import (
    SIGNED,
    axes_of,
    chosen_clusters,
    clipped,
    measured,
    no_reason,
    refuse_other,
)
from whyclust.plots.registry import plot
from whyclust.plots.shown_columns import rest_of, strength_of, strongest

# More rows than pixels are not seen.
_MOST_ROWS = 2_000
_MOST_CLUSTERS = 60


@plot
def heatmap(explanation: Explanation, *, cluster: Any = None, top: int = 30, ax: Any = None) -> Any:
    """Draw rows × columns, ordered by cluster: red speaks for the row's cluster, blue against it.

    Rows of a cluster are in the order of their evidence, the least at the bottom. Columns stand by the
    cluster that they count most for. The colours end where the strongest 2% of the values begin.

    Parameters
    ----------
    explanation : Explanation
    cluster : cluster id, or list of them, optional
        By default all, or the sixty with the most rows.
    top : int
        Columns to draw, of the largest mean absolute relevance; all others are summed in the last, whose
        name says by what it is divided, if it is.
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
    >>> ax = wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X).plot.heatmap()
    >>> ax.images[0].get_array().shape
    (150, 4)
    """
    refuse_other(explanation)
    top = whole_number("top", top)
    clusters, note = chosen_clusters(explanation, cluster, _MOST_CLUSTERS)
    groups = [_ordered(explanation, one, clusters) for one in clusters]
    rows = np.concatenate(groups)
    shown = explanation[rows]
    kept, others = strongest(strength_of(shown.shown), top, absent=explanation.absent)
    values = np.asarray(shown.shown[:, kept], dtype=float)
    sides = np.cumsum([0, *(len(group) for group in groups)])
    means = np.stack([values[first:last].mean(axis=0) for first, last in pairwise(sides)])
    order = np.argsort(means.argmax(axis=0), kind="stable")
    values, kept = values[:, order], kept[order]
    names = [clipped(explanation.feature_names[column]) for column in kept]
    largest = float(np.quantile(np.abs(values), 0.98)) or float(np.abs(values).max()) or 1.0
    summing = len(others) > 0 or not explanation.absent
    if summing:
        rest = np.asarray(shown.values.sum(axis=1), dtype=float) - values.sum(axis=1)
        # The sum of thousands of columns would be dark red in every row.
        divisor = float(f"{np.quantile(np.abs(rest), 0.98) / largest:.1g}")
        divisor = divisor if divisor >= 4.0 else 1.0
        values = np.concatenate([values, rest[:, None] / divisor], axis=1)
        names.append(
            rest_of(len(others), absent=explanation.absent) + (f", ÷ {divisor:,.0f}" if divisor > 1.0 else "")
        )
    ax = axes_of(ax, 0.26 * len(names) + 3.4, max(5.6, 0.17 * len(clusters) + 2.0))
    drawn = ax.imshow(
        values, cmap=SIGNED, vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest"
    )
    ax.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    middles = (sides[:-1] + sides[1:]) / 2.0 - 0.5
    size = 8.0 if len(clusters) <= 25 else 6.5
    ax.set_yticks(middles, [clipped(explanation.named(one)) for one in clusters], fontsize=size)
    ax.tick_params(length=0)
    for place in sides[1:-1]:
        ax.axhline(place - 0.5, color="k", linewidth=0.8 if len(clusters) <= 25 else 0.3)
    if summing:
        ax.axvline(len(kept) - 0.5, color="k", linewidth=1.5)
    what, said = measured(explanation)
    bar = ax.figure.colorbar(drawn, ax=ax, extend="both", fraction=0.04, pad=0.02)
    bar.set_label(what, fontsize=8)
    ax.set_xlabel(said, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    of = int(np.isin(explanation.clusters, clusters).sum())
    some = "" if len(rows) == of else f" ({len(rows):,} of {of:,} rows drawn)"
    ax.set_title(
        f"{no_reason(explanation) or 'Relevance'}, row by row{some}{f': {note}' if note else ''}",
        fontsize=10,
        wrap=True,
    )
    return ax


def _ordered(explanation: Explanation, cluster: Any, clusters: list[Any]) -> NDArray:
    """Rows of a cluster to draw, the strongest evidence first; of too many, evenly from first to last."""
    rows = np.flatnonzero(explanation.clusters == cluster)
    rows = rows[np.argsort(-explanation.evidence[rows], kind="stable")]
    count = int(np.isin(explanation.clusters, clusters).sum())
    most = max(1, round(len(rows) * _MOST_ROWS / count)) if count > _MOST_ROWS else len(rows)
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]
