"""The HTML report: one file that needs nothing else, from an explanation."""

from whyclust.report.labels import agreement_sentences, label_counts, with_labels
from whyclust.report.page import render, to_html, versions

__all__ = ["agreement_sentences", "label_counts", "render", "to_html", "versions", "with_labels"]
