"""Pictures. Each function returns what it drew on, touches no global state and shows nothing."""

from collections.abc import Callable
from typing import Any

from whyclust.plots.bar import bar
from whyclust.plots.beeswarm import beeswarm
from whyclust.plots.certificate import certificate
from whyclust.plots.distribution import distribution
from whyclust.plots.dots import dots
from whyclust.plots.duel import duel
from whyclust.plots.flipping import flipping
from whyclust.plots.gates_and_relevance import gates_and_relevance
from whyclust.plots.generated import decoded_centers, interpolation, samples
from whyclust.plots.heatmap import heatmap
from whyclust.plots.history import history
from whyclust.plots.map import map
from whyclust.plots.number_of_clusters import number_of_clusters
from whyclust.plots.registry import Plots, plot, registered
from whyclust.plots.relevance import relevance
from whyclust.plots.spaces import reconstructions, spaces
from whyclust.plots.traversal import traversal
from whyclust.plots.used_and_ignored import used_and_ignored
from whyclust.plots.waterfall import waterfall

__all__ = [
    "Plots",
    "bar",
    "beeswarm",
    "certificate",
    "decoded_centers",
    "distribution",
    "dots",
    "duel",
    "flipping",
    "gates_and_relevance",
    "heatmap",
    "history",
    "interpolation",
    "map",
    "number_of_clusters",
    "plot",
    "reconstructions",
    "relevance",
    "samples",
    "spaces",
    "traversal",
    "used_and_ignored",
    "waterfall",
]


def __getattr__(name: str) -> Callable[..., Any]:
    """Plots of others, which are called from an explanation, too."""
    return registered(name)
