"""A picture of two clusters: which columns tell them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import whole_number
from whyclust.explaining.explanation import Explanation
from whyclust.plots.drawing import (
    AGAINST,
    FOR,
    SUMMED,
    axes_of,
    chosen_labels,
    clipped,
    line_labels,
    numbers_beside,
    refuse_other,
    rows_told,
    signed,
)
from whyclust.plots.registry import plot
from whyclust.plots.shown_columns import mean_relevance, rest_of, strongest, summed


@plot
def duel(explanation: Explanation, one: Any, other: Any, *, top: int = 10, ax: Any = None) -> Any:
    """Draw what separates two clusters: what speaks for one is right and red, for the other left and blue.

    The upper bar of a column is the mean over the rows of the one cluster, explained against the other
    alone; the lower bar that over the rows of the other, against the one. Each side sums to its mean
    evidence in this duel.

    Parameters
    ----------
    explanation : Explanation
        Just computed: one that was loaded cannot be asked again.
    one, other : cluster ids
    top : int
        Columns to draw; all others share one line.
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
    >>> ex.plot.duel(1, 0).get_title()
    'What separates cluster 1 from cluster 0'
    """
    refuse_other(explanation)
    top = whole_number("top", top)
    (one, other), _ = chosen_labels(explanation, [one, other], 2)
    if one == other:
        raise ValueError(f"duel({one!r}, {other!r}), expected two clusters.")
    upper, whole_upper, in_no_column = _side(explanation, one, other, 1.0)
    lower, whole_lower, in_no_column_there = _side(explanation, other, one, -1.0)
    kept, others = strongest(np.abs(upper) + np.abs(lower), top, absent=explanation.absent)
    names = [clipped(explanation.feature_names[column]) for column in kept]
    pairs = [(float(upper[column]), float(lower[column])) for column in kept]
    if len(others) or not explanation.absent:
        names.append(rest_of(len(others), absent=explanation.absent))
        sides = ((upper, whole_upper), (lower, whole_lower))
        above, below = (summed(shown, whole, kept, others) for shown, whole in sides)
        pairs.append((above, below))
    if in_no_column or in_no_column_there:
        names.append("in no column")
        pairs.append((in_no_column, in_no_column_there))
    ax = axes_of(ax, 7.5, 0.36 * len(names) + 1.6)
    places = [line + up for line in range(len(names)) for up in (-0.19, 0.19)]
    values = [value for pair in pairs for value in pair]
    sums = [place // 2 >= len(kept) for place in range(len(values))]
    drawn = ax.barh(places, values, color=signed(values), height=0.36)
    for patch, is_sum in zip(drawn, sums, strict=True):
        patch.set_alpha(SUMMED if is_sum else 1.0)
    ax.axvline(0.0, color="k", linewidth=0.8)
    numbers_beside(ax, places, values, values, sums)
    line_labels(ax, names)
    sizes = [rows_told(int((explanation.labels == cluster).sum())) for cluster in (one, other)]
    ax.set_xlabel(
        f"mean relevance; upper bars: {sizes[0]} of {explanation.named(one)}, "
        f"lower bars: {sizes[1]} of {explanation.named(other)}",
        fontsize=8,
        wrap=True,
    )
    # Above the bars, each on its side of 0, in the colour of that side.
    told = (
        (1.0, "right", f"for {explanation.named(one)} →", FOR),
        (0.0, "left", f"← for {explanation.named(other)}", AGAINST),
    )
    for x, side, text, colour in told:
        ax.text(
            x, 1.01, clipped(text, 40), ha=side, va="bottom", color=colour, fontsize=8, transform=ax.transAxes
        )
    ax.set_title(
        f"What separates {explanation.named(one)} from {explanation.named(other)}",
        fontsize=10,
        pad=18,
        wrap=True,
    )
    return ax


def _side(explanation: Explanation, own: Any, rival: Any, sign: float) -> tuple[NDArray, NDArray, float]:
    """Mean relevance over the rows of a cluster against the other alone, shown and all; and of no column.

    What speaks for the other goes left, by a negative sign.
    """
    rows = np.flatnonzero(explanation.labels == own)
    asked = explanation[rows].ask(cluster=own, against=rival)
    shown, whole = mean_relevance(asked, np.arange(len(asked)))
    return sign * shown, sign * whole, sign * float(asked.base_values.mean())
