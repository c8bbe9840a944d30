"""A picture of the choice of k: how many clusters stand apart, for each number of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyclust.plots.drawing import axes_of

if TYPE_CHECKING:
    from whyclust.cluster import ChosenK

_OWN, _CHANCE, _CHOSEN = "#0072B2", "#5a6675", "#D55E00"


def number_of_clusters(choice: ChosenK, *, ax: Any = None) -> Any:
    """Draw how many of k clusters stand apart, beside those of tables without clusters.

    Parameters
    ----------
    choice : ChosenK
        What `whyclust.cluster.choose_k` returned.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_of(ax, 6.0, 3.6)
    ks = sorted(choice.support)
    ax.plot(ks, [choice.apart[k] for k in ks], "o-", color=_OWN, markersize=4, label="in this table")
    ax.plot(ks, [choice.by_chance[k] for k in ks], "--", color=_CHANCE, label="in tables without clusters")
    ax.plot(choice.k, choice.apart[choice.k], "o", color=_CHOSEN, markersize=9, label=f"k = {choice.k}")
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("number of clusters k")
    ax.set_ylabel("clusters that stand apart")
    ax.set_title(f"k = {choice.k}" if choice.stands_out else "No k stands out")
    ax.legend(fontsize="small", frameon=False)
    return ax
