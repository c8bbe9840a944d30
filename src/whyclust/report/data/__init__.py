"""What the page shows, as plain values and typed arrays: Python decides, the page shows."""

from whyclust.report.data.arrays import Arrays
from whyclust.report.data.whole import page_data

__all__ = ["Arrays", "page_data"]
