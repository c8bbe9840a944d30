"""The HTML report: one file that needs nothing else, from an explanation."""

from whyclust.report.page import render, to_html
from whyclust.report.sections import Page, section
from whyclust.report.show import Shown, show

__all__ = ["Page", "Shown", "render", "section", "show", "to_html"]
