"""A picture of a surrogate's certificate: in which clusters it agrees with the labels it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyclust.cluster.fidelity import ENOUGH_AGREEMENT
from whyclust.explaining.explanation import Explanation
from whyclust.plots.drawing import axes_of, clipped, line_labels, refuse_other
from whyclust.plots.registry import plot

_MOST_CLUSTERS = 60
_MARKS = (
    ("in_sample", "its rows\nthat get its label", "o", 9.0, "none", "#8a929c"),
    ("held_out", "the same,\nof rows not seen", "o", 6.0, "k", "k"),
    ("precision", "rows not seen that\nget its label: its own", "D", 3.2, "#E69F00", "#E69F00"),
)


@plot
def certificate(explanation: Explanation, *, ax: Any = None) -> Any:
    """Draw how well the surrogate of given labels agrees with them, cluster by cluster.

    The line is at 90%: explanations of clusters left of it tell more of the surrogate than of the labels.
    Their names are bold.

    Parameters
    ----------
    explanation : Explanation
        Of labels: ``wc.explain(labels, X)``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> print(wc.explain(iris.target, iris.data).plot.certificate().get_title())
    The surrogate agrees with ...% of labels it had not seen
    """
    refuse_other(explanation)
    fidelity = explanation.fidelity
    if fidelity is None:
        raise ValueError(
            "This explanation needs no certificate: the model itself was explained. Those of labels have "
            "one: wc.explain(labels, X)."
        )
    ids = explanation.in_order(fidelity.clusters)
    place_of = {cluster: place for place, cluster in enumerate(fidelity.clusters.tolist())}
    order = np.array([place_of[cluster] for cluster in ids])
    note = ""
    if len(order) > _MOST_CLUSTERS:
        weakest = np.argsort(fidelity.agreement[order], kind="stable")[:_MOST_CLUSTERS]
        order = order[np.sort(weakest)]
        note = f"\nthe {len(order)} of {len(ids)} clusters with the least agreement"
    names = [
        f"{clipped(explanation.named(fidelity.clusters[place]))} ({int(fidelity.sizes[place]):,})"
        for place in order
    ]
    ax = axes_of(ax, 7.8, max(2.0, 0.27 * len(order) + 1.4))
    # The smaller mark lies on the larger one where shares are the same.
    for name, told, marker, size, inside, edge in _MARKS:
        shares = getattr(fidelity, name)[order]
        ax.plot(
            shares,
            range(len(order)),
            marker,
            markersize=size,
            markerfacecolor=inside,
            markeredgecolor=edge,
            label=told,
            clip_on=False,
        )
    ax.axvline(ENOUGH_AGREEMENT, color="#555b63", linestyle=":", linewidth=1.2)
    line_labels(ax, names)
    weak = fidelity.agreement[order] < ENOUGH_AGREEMENT
    for label, is_weak in zip(ax.get_yticklabels(), weak, strict=True):
        label.set_fontweight("bold" if is_weak else "normal")
    lowest = min(float(getattr(fidelity, name)[order].min()) for name, *_ in _MARKS)
    ax.set_xlim(min(0.8, lowest - 0.05), 1.01)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100.0 * share:.3g}%" if share <= 1.0 else "")
    ax.grid(axis="y", color="#e8ebef", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel("share of rows", fontsize=8)
    ax.legend(loc="upper left", bbox_to_anchor=(1.03, 1.0), fontsize=8, frameon=False, borderaxespad=0.0)
    agrees = f"The surrogate agrees with {fidelity.overall_held_out:.1%} of labels it had not seen"
    ax.set_title(f"{agrees}{note}", fontsize=10, wrap=True)
    return ax
