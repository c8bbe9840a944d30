"""explain() and its result: relevance, the question, where it came from, and what rows are."""

from whyclust.explaining import stored as _stored  # noqa: F401  (registers what files keep of explanations)
from whyclust.explaining.explain import explain
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.records import Provenance, Question

__all__ = ["Explanation", "Provenance", "Question", "explain"]
