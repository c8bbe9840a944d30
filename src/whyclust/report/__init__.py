"""The HTML report: one file that needs nothing else, from an explanation."""

from whyclust.report.page import render, to_html
from whyclust.report.sections import Page, section

__all__ = ["Page", "render", "section", "to_html"]
