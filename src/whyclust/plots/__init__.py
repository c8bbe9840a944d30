"""Pictures. Each function returns a matplotlib Figure, touches no global state and shows nothing."""

from whyclust.plots.generated import decoded_centers, interpolation, samples
from whyclust.plots.relevance import relevance

__all__ = ["decoded_centers", "interpolation", "relevance", "samples"]
