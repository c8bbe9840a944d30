"""Answers beyond relevance: what suffices, what would have to change, who has the same reason, which rule."""

from whyclust.answers.compare import Comparison, compare
from whyclust.answers.rules import rules
from whyclust.answers.rules_result import Rule, Rules
from whyclust.answers.similar import SimilarRows, similar
from whyclust.answers.smallest_change import SmallestChange, smallest_change
from whyclust.answers.smallest_changes import SmallestChanges, smallest_changes
from whyclust.answers.subpatterns import Subpattern, Subpatterns, subpatterns
from whyclust.answers.sufficient import sufficient
from whyclust.answers.sufficient_result import Sufficient

__all__ = [
    "Comparison",
    "Rule",
    "Rules",
    "SimilarRows",
    "SmallestChange",
    "SmallestChanges",
    "Subpattern",
    "Subpatterns",
    "Sufficient",
    "compare",
    "rules",
    "similar",
    "smallest_change",
    "smallest_changes",
    "subpatterns",
    "sufficient",
]
