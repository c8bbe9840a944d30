"""A picture of one row: how its columns add up to the evidence for its cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyclust._checks import whole_number
from whyclust.explaining.explanation import Explanation
from whyclust.plots.drawing import (
    NEITHER,
    SUMMED,
    axes_of,
    clipped,
    line_labels,
    measured,
    no_reason,
    numbers_beside,
    position,
    refuse_other,
    signed,
    value_of,
)
from whyclust.plots.registry import plot
from whyclust.plots.shown_columns import rest_of, strongest


@plot
def waterfall(
    explanation: Explanation,
    *,
    row: int | str | None = None,
    against: Any = None,
    top: int = 10,
    ax: Any = None,
) -> Any:
    """Draw how a row's columns add up, from the boundary to the evidence: red for its cluster, blue against.

    Parameters
    ----------
    explanation : Explanation
    row : int or str
        Position or label of the row; not needed where there is only one, as in ``ex[3].plot.waterfall()``.
    against : cluster id, optional
        Explain against this competitor alone. By default what the explanation answers.
    top : int
        Columns to draw; all others share one bar.
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
    >>> print(ex[0].plot.waterfall(against=0).get_title())
    Why row 0 is in cluster 1 and not in cluster 0
    """
    refuse_other(explanation)
    top = whole_number("top", top)
    one = _one_row(explanation, row)
    if against is not None:
        one = one.ask(cluster=one.clusters[0], against=against)
    values = np.asarray(one.values[:, :][0], dtype=float)
    kept, others = strongest(np.asarray(one.shown[:, :][0], dtype=float), top, absent=one.absent)
    names = [f"{clipped(one.feature_names[column])} = {value_of(one, 0, column)}" for column in kept]
    steps = [float(values[column]) for column in kept]
    if len(others):
        names.append(rest_of(len(others), absent=one.absent))
        steps.append(float(values[others].sum()))
    base = float(one.base_values[0])
    if base != 0.0:
        names.append("in no column")
        steps.append(base)
    total = float(one.explained[0])
    ends = np.cumsum(steps)
    starts = np.concatenate([[0.0], ends[:-1]])
    ax = axes_of(ax, 7.0, 0.27 * (len(steps) + 1) + 1.4)
    drawn = ax.barh(range(len(steps)), steps, left=starts, color=signed(steps), height=0.7)
    for one_bar in drawn[len(kept) :]:
        one_bar.set_alpha(SUMMED)
    ax.barh(len(steps), total, color=NEITHER, height=0.7)
    for place, end in enumerate(ends):
        ax.plot([end, end], [place + 0.35, place + 0.65], color="#555555", linewidth=0.7)
    is_sum = [place >= len(kept) for place in range(len(steps) + 1)]
    numbers_beside(ax, range(len(steps) + 1), [*ends, total], [*steps, total], is_sum)
    ax.axvline(0.0, color="k", linewidth=0.8)
    line_labels(ax, [*names, "sum"])
    ax.get_yticklabels()[-1].set_fontweight("bold")
    what, said = measured(one)
    begins = "0 is the boundary; " if no_reason(one) is None else ""
    ax.set_xlabel(f"{what}, added up\n({begins}{said})", fontsize=8)
    ax.set_title(_title(one), fontsize=10, wrap=True)
    return ax


def _one_row(explanation: Explanation, row: int | str | None) -> Explanation:
    if row is None:
        if len(explanation) != 1:
            raise ValueError(
                f"This explanation has {len(explanation)} rows, expected to be told which: "
                "ex.plot.waterfall(row=3)."
            )
        return explanation
    return explanation[[position(row, explanation)]]


def _title(one: Explanation) -> str:
    """What is asked of the row, as the question was."""
    row, cluster, other = f"row {one.index[0]}", one.clusters[0], one.competitors[0]
    drawn = no_reason(one)
    if drawn is not None:
        return f"{drawn}: {row}, in {one.named(one.labels[0])}"
    inside = one.evidence[0] >= 0
    asked = f"Why {row} is {'in' if inside else 'not in'} {one.named(cluster)}"
    if one.question.threshold is not None:
        return f"{asked} with a probability above {one.question.threshold:g}" if inside else asked
    if one.question.duel:
        return f"{asked} and not in {one.named(other)}" if inside else f"{asked} but in {one.named(other)}"
    return f"{asked}; its strongest competitor is {one.named(other)}"
