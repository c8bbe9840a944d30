"""Pictures. Each function returns a matplotlib Figure, touches no global state and shows nothing."""

from whyclust.plots.generated import decoded_centers, interpolation, samples
from whyclust.plots.registry import Plots, plot
from whyclust.plots.relevance import relevance

__all__ = ["Plots", "decoded_centers", "interpolation", "plot", "relevance", "samples"]
