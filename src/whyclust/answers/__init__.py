"""Answers beyond relevance: what would have to change, who has the same reason, why two rows differ."""

from whyclust.answers.compare import Comparison, compare
from whyclust.answers.similar import SimilarRows, similar
from whyclust.answers.smallest_change import SmallestChange, smallest_change
from whyclust.answers.smallest_changes import SmallestChanges, smallest_changes
from whyclust.answers.subpatterns import Subpattern, Subpatterns, subpatterns

__all__ = [
    "Comparison",
    "SimilarRows",
    "SmallestChange",
    "SmallestChanges",
    "Subpattern",
    "Subpatterns",
    "compare",
    "similar",
    "smallest_change",
    "smallest_changes",
    "subpatterns",
]
