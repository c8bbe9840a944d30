"""What the audit's answers mean for somebody who wants to use the clusters, in plain words."""

from __future__ import annotations

from collections.abc import Iterable

from whyclust.auditing.answers import Answer

#: What clusters are good for that are parts of one group.
SORTING = "use the clusters to sort rows, and the reasons to see by what, but they are not separate groups"

_TOLD = {
    ("structure", "yes"): "The clusters are groups with gaps between them.",
    ("structure", "with care"): "Whether the clusters are the groups that are there is in doubt.",
    ("structure", "no"): "The rows are one group without gaps, and the clusters are parts of it.",
    ("stability", "yes"): "Clustered again, they come back.",
    ("stability", "with care"): "Clustered again, not all of them come back.",
    ("stability", "no"): "Clustered again, they do not come back.",
    ("faithfulness", "yes"): "The columns named as reasons do decide.",
    ("faithfulness", "with care"): "How far the columns named as reasons decide is in doubt.",
    ("faithfulness", "no"): "The columns named as reasons decide no more than others.",
}


def meaning(answers: Iterable[Answer]) -> str:
    """Say what was found in a sentence for each question, and what the clusters can be used for.

    >>> meaning([Answer("structure", "no", "one lump"), Answer("stability", "yes", "all come back")])
    'The rows are one group without gaps, and the clusters are parts of it. Clustered again, they come back.
    So use the clusters to sort rows, and the reasons to see by what, but they are not separate groups.'
    """
    found = {one.question: one.answer for one in answers}
    told = [_TOLD[pair] for pair in found.items() if pair in _TOLD]
    return " ".join([*told, _use(found)])


def only_sort(answers: Iterable[Answer]) -> bool:
    """Whether the clusters are parts of one group, but come back and have their reasons.

    >>> only_sort([Answer("structure", "no", "one lump"), Answer("stability", "yes", "all come back")])
    True
    """
    return [one.question for one in answers if one.answer == "no"] == ["structure"]


def _use(found: dict[str, str]) -> str:
    if found.get("faithfulness") == "no":
        return "So do not rely on the reasons."
    if found.get("stability") == "no":
        return "So do not report single clusters: ask for another number of them, and see which come back."
    if found.get("structure") == "no":
        return f"So {SORTING}."
    if "with care" in found.values():
        return "So use clusters and reasons where these doubts do not matter to you."
    return "So clusters and reasons can be used."
