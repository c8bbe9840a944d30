"""A picture of all clusters at once: which columns count for which."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import whole_number
from whyclust.explaining.explanation import Explanation
from whyclust.plots.drawing import (
    axes_of,
    chosen_clusters,
    clipped,
    measured,
    no_reason,
    refuse_other,
    signed,
)
from whyclust.plots.registry import plot
from whyclust.plots.shown_columns import mean_relevance, rest_of, strongest, summed

_MOST_CLUSTERS = 60
# Area of the largest dot, in points².
_LARGEST = 260.0


@plot
def dots(explanation: Explanation, *, cluster: Any = None, top: int = 20, ax: Any = None) -> Any:
    """Draw clusters × columns: the larger a dot, the larger the column's share of the cluster's relevance.

    A share is the mean over the cluster's rows, divided by the sum of the absolute means of all columns.
    Red speaks for the cluster, blue against it.

    Parameters
    ----------
    explanation : Explanation
    cluster : cluster id, or list of them, optional
        By default all, or the sixty with the most rows.
    top : int
        Columns to draw: those with the largest shares in any cluster. The share of all others
        is written behind them.
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
    >>> ax = wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X).plot.dots()
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['cluster 0', 'cluster 1', 'cluster 2']
    """
    refuse_other(explanation)
    top = whole_number("top", top)
    clusters, note = chosen_clusters(explanation, cluster, _MOST_CLUSTERS)
    shares, whole = (
        np.stack(part) for part in zip(*(_shares(explanation, one) for one in clusters), strict=True)
    )
    kept, others = strongest(np.abs(shares).max(axis=0), top, absent=explanation.absent)
    # Columns stand by the cluster that they count most for, so that dots of a cluster stand together.
    kept = kept[np.argsort(shares[:, kept].argmax(axis=0), kind="stable")]
    drawn, names = shares[:, kept], [clipped(explanation.feature_names[column]) for column in kept]
    largest = float(np.abs(drawn).max()) or 1.0
    summing = len(others) > 0 or not explanation.absent
    if summing:
        names.append(rest_of(len(others), absent=explanation.absent))
    ax = axes_of(ax, 0.34 * len(names) + 3.6, 0.3 * len(clusters) + 2.4)
    y, x = (axis.ravel() for axis in np.indices(drawn.shape))
    ax.scatter(
        x, y, s=_LARGEST / largest * np.abs(drawn.ravel()), c=signed(drawn.ravel()), linewidths=0, alpha=0.9
    )
    ax.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    ax.set_yticks(range(len(clusters)), [clipped(explanation.named(one)) for one in clusters], fontsize=8)
    ax.set_xlim(-0.7, len(names) - 0.3)
    ax.set_ylim(len(clusters) - 0.4, -0.6)
    ax.grid(color="#e8ebef", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    if summing:
        ax.axvline(len(kept) - 0.5, color="#9aa3ad", linewidth=0.8)
        rest = [summed(*both, kept, others) for both in zip(shares, whole, strict=True)]
        for line, (share, colour) in enumerate(zip(rest, signed(rest), strict=True)):
            told = f"{100.0 * share:+.0f}%"
            ax.text(len(kept), line, told, color=colour, fontsize=7, ha="center", va="center")
    other = no_reason(explanation)
    _key(ax, largest, "the cluster's relevance" if other is None else "the cluster's sum")
    _, said = measured(explanation)
    ax.set_xlabel(said, fontsize=8)
    title = "Which columns count for which cluster" if other is None else f"{other} in each cluster"
    ax.set_title(f"{title}{f': {note}' if note else ''}", fontsize=10, wrap=True)
    return ax


def _shares(explanation: Explanation, cluster: Any) -> tuple[NDArray, NDArray]:
    """Shares of a cluster's relevance, of what is shown and of all."""
    shown, whole = mean_relevance(explanation, np.flatnonzero(explanation.clusters == cluster))
    total = np.abs(whole).sum() or 1.0
    return shown / total, whole / total


def _key(axis: Any, largest: float, whole: str) -> None:
    """What sizes mean."""
    handles = [
        axis.scatter(
            [], [], s=_LARGEST * part, color="#555b63", linewidths=0, label=f"{100.0 * part * largest:.2g}%"
        )
        for part in (0.25, 0.5, 1.0)
    ]
    axis.legend(
        handles=handles,
        title=f"share of\n{whole}",
        fontsize=8,
        title_fontsize=8,
        frameon=False,
        labelspacing=1.1,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
    )
