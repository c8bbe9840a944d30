"""Answers beyond relevance: what people ask of a clustering once they know which columns speak for it."""

from whyclust.answers.sufficient import sufficient
from whyclust.answers.sufficient_result import Sufficient

__all__ = ["Sufficient", "sufficient"]
