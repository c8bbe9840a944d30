"""Where a result reaches down: names of what stands below it, imported when it is used.

An explanation summarises, draws and saves itself, but the rooms that do so are made from explanations and
import them. So they are named here, and nowhere else.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_ON_USE = {
    "describe_clusters": "whyclust.telling.sentences",
    "describe_row": "whyclust.telling.sentences",
    "glance": "whyclust.telling.glance",
    "find": "whyclust.baselines.registry",
    "explain_lazily": "whyclust.blocks.lazy",
    "explain_rows": "whyclust.explaining.rows",
    "explain_space": "whyclust.explaining.ignored",
    "joined": "whyclust.explaining.joining",
    "Plots": "whyclust.plots",
    "Prepared": "whyclust.perturbing.subject",
    "answer": "whyclust.baselines.answers",
    "answers_in_words": "whyclust.answers.in_words",
    "check_method": "whyclust.baselines.answers",
    "save": "whyclust.saving",
    "sufficient": "whyclust.answers.sufficient",
    "summarise": "whyclust.telling.summary",
    "compare": "whyclust.answers.compare",
    "rules": "whyclust.answers.rules",
    "similar": "whyclust.answers.similar",
    "smallest_change": "whyclust.answers.smallest_change",
    "smallest_changes": "whyclust.answers.smallest_changes",
    "subpatterns": "whyclust.answers.subpatterns",
    "show": "whyclust.report",
    "to_html": "whyclust.report",
}


def reach(name: str) -> Any:
    """What is called so, imported now."""
    return getattr(import_module(_ON_USE[name]), name)
