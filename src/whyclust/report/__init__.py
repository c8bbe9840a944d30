"""The HTML report: one file that needs nothing else, from an explanation."""

from whyclust._versions import versions
from whyclust.report.page import render, to_html

__all__ = ["render", "to_html", "versions"]
