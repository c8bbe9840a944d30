"""Can I trust this? Faithfulness and stability of an explanation, on the user's own data."""

from whyclust.auditing.result import Audit
from whyclust.auditing.run import audit

__all__ = ["Audit", "audit"]
