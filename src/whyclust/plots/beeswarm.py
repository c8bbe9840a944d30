"""A picture of many rows: the relevance of their columns, each row a point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import whole_number
from whyclust.explaining.explanation import Explanation
from whyclust.plots.drawing import (
    NEITHER,
    axes_of,
    chosen_clusters,
    clipped,
    line_labels,
    measured,
    no_reason,
    refuse_other,
    rows_told,
    short,
)
from whyclust.plots.registry import plot
from whyclust.plots.shown_columns import rest_of, strength_of, strongest

# More points in a line are a blot.
_MOST_POINTS = 1_000
# Dark is low, yellow is high: nothing like the colours of for and against.
_LOW_TO_HIGH = "viridis"


@plot
def beeswarm(explanation: Explanation, *, cluster: Any = None, top: int = 10, ax: Any = None) -> Any:
    """Draw the relevance of columns as points, one a row: what lies right of 0 speaks for the row's cluster.

    Points have the colour of the column's own value, from low to high among the rows that are drawn;
    categories and missing values are grey.

    Parameters
    ----------
    explanation : Explanation
    cluster : cluster id, optional
        Only rows that are explained for it; by default all rows, each for its own cluster.
    top : int
        Columns to draw, of the largest mean absolute relevance; all others are summed in one line.
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
    >>> ex.plot.beeswarm(cluster=1).get_title()
    'How the columns of 50 rows speak for cluster 1'
    """
    refuse_other(explanation)
    top = whole_number("top", top)
    shown, whom = explanation, "the clusters they are in"
    if explanation.question.about == "chosen":
        whom = "the clusters asked for"
    if cluster is not None:
        (one, *more), _ = chosen_clusters(explanation, cluster, 1)
        if more:
            raise ValueError(f"cluster={cluster!r}, expected one cluster, or None for all rows.")
        shown, whom = explanation[np.flatnonzero(explanation.clusters == one)], explanation.named(one)
    part = _some(shown)
    kept, others = strongest(strength_of(shown.shown), top, absent=explanation.absent)
    values = np.asarray(part.shown[:, kept], dtype=float)
    names = [clipped(explanation.feature_names[column]) for column in kept]
    lines = list(values.T)
    summing = len(others) > 0 or not explanation.absent
    if summing:
        lines.append(np.asarray(part.values.sum(axis=1), dtype=float) - values.sum(axis=1))
        names.append(rest_of(len(others), absent=explanation.absent))
    ax = axes_of(ax, 7.5, 0.36 * len(lines) + 1.4)
    ax.axvline(0.0, color="k", linewidth=0.8, zorder=0)
    size = float(np.clip(3_000.0 / max(len(part), 1), 4.0, 16.0))
    drawn: Any = None
    for place, line in enumerate(lines):
        up = place + _spread(line)
        own = _ranks(part._column(kept[place])) if place < len(kept) else np.full(len(part), np.nan)
        known = ~np.isnan(own)
        ax.scatter(line[~known], up[~known], s=size, color=NEITHER, linewidths=0, alpha=0.8)
        drawn = ax.scatter(
            line[known],
            up[known],
            s=size,
            c=own[known],
            cmap=_LOW_TO_HIGH,
            vmin=0.0,
            vmax=1.0,
            linewidths=0,
            alpha=0.9,
        )
    line_labels(ax, names)
    _limits(ax, lines, summed=summing)
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.03, pad=0.02, aspect=40, ticks=[0.0, 1.0])
    bar.set_ticklabels(["low", "high"], fontsize=8)
    bar.set_label("value of the column", fontsize=8, labelpad=-12)
    bar.outline.set_visible(False)
    what, _ = measured(explanation)
    other = no_reason(explanation)
    speaks = ": right of 0 for the cluster, left against it" if other is None else ""
    ax.set_xlabel(f"{what}{speaks}", fontsize=8)
    some = "" if len(part) == len(shown) else f" ({len(part):,} drawn, at random)"
    if other is None:
        title = f"How the columns of {rows_told(len(shown))}{some} speak for {whom}"
    else:
        of = "" if cluster is None else f" of {whom}"
        title = f"{other} in {rows_told(len(shown))}{of}{some}, column by column"
    ax.set_title(title, fontsize=10, wrap=True)
    return ax


def _some(explanation: Explanation) -> Explanation:
    """Rows to draw: all, or as many as can be told apart."""
    if len(explanation) <= _MOST_POINTS:
        return explanation
    rows = np.random.default_rng(0).choice(len(explanation), _MOST_POINTS, replace=False)
    return explanation[np.sort(rows)]


def _spread(line: NDArray) -> NDArray:
    """How far up or down each point is put, so that those at the same place do not hide each other."""
    span = float(np.ptp(line)) if len(line) else 0.0
    bins = np.round(100.0 * (line - line.min()) / span).astype(int) if span > 0 else np.zeros(len(line), int)
    counts = np.bincount(bins, minlength=1)
    up = np.empty(len(line))
    for one in np.flatnonzero(counts):
        rows = np.flatnonzero(bins == one)
        place = np.arange(1, len(rows) + 1) // 2
        up[rows] = np.where(np.arange(len(rows)) % 2, place, -place)
    return 0.38 * up / max(float(np.abs(up).max(initial=0.0)), 6.0)


def _ranks(column: NDArray) -> NDArray:
    """Values from 0 to 1, by rank, as outliers would take all colours; nan where they have no order."""
    from scipy.stats import rankdata

    try:
        numbers = np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        return np.full(len(column), np.nan)
    ranks = np.full(len(numbers), np.nan)
    known = ~np.isnan(numbers)
    if known.any():
        found = rankdata(numbers[known])
        ranks[known] = (found - found.min()) / (np.ptp(found) or 1.0)
    return ranks


def _limits(axis: Any, lines: list[NDArray], *, summed: bool) -> None:
    """An axis for the points of columns; a sum of thousands that lies far outside is told in numbers."""
    usual = np.concatenate([[0.0], *(lines[:-1] if summed else lines)])
    low, high = float(usual.min()), float(usual.max())
    span = (high - low) or 1.0
    rest = lines[-1]
    if not summed or (rest.min() > low - 2.0 * span and rest.max() < high + 2.0 * span):
        return
    axis.set_xlim(low - 0.05 * span, high + 0.05 * span)
    told = f"from {short(rest.min())} to {short(rest.max())}, mean {short(rest.mean())}"
    axis.text(
        0.5,
        len(lines) - 1,
        f"outside of the picture: {told}",
        transform=axis.get_yaxis_transform(),
        fontsize=7,
        ha="center",
        va="center",
        bbox={"color": "w", "alpha": 0.8, "pad": 1},
    )
