"""What an audit means in plain words: each answer is told, and the worst decides what to do."""

from __future__ import annotations

import itertools

import pytest

from whyclust.auditing.answers import ANSWERS, NOT_ASKED, Answer
from whyclust.auditing.meaning import meaning

QUESTIONS = ("structure", "stability", "faithfulness")


def told(structure: str, stability: str, faithfulness: str) -> str:
    given = (structure, stability, faithfulness)
    return meaning([Answer(name, answer, "") for name, answer in zip(QUESTIONS, given, strict=True)])


def test_each_combination_of_answers_is_told_apart() -> None:
    without_use = {told(*given).split(" So ")[0] for given in itertools.product(ANSWERS, repeat=3)}
    assert len(without_use) == 27


@pytest.mark.parametrize(
    "given, end",
    [
        (("yes", "yes", "yes"), "So clusters and reasons can be used."),
        (("yes", "with care", "yes"), "where these doubts do not matter to you."),
        (("no", "with care", "yes"), "but they are not separate groups."),
        (("no", "no", "yes"), "see which come back."),
        (("no", "no", "no"), "So do not rely on the reasons."),
        (
            (NOT_ASKED, NOT_ASKED, "yes"),
            "The columns named as reasons do decide. So clusters and reasons can be used.",
        ),
    ],
)
def test_the_worst_answer_decides_what_to_do(given: tuple[str, str, str], end: str) -> None:
    assert told(*given).endswith(end)


def test_what_was_not_asked_is_not_told() -> None:
    assert told(NOT_ASKED, "yes", "yes").startswith("Clustered again, they come back.")
