"""Answers: what is said to each of the audit's questions, and what follows from all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# From the best to the worst; what was not asked decides nothing.
ANSWERS = ("yes", "with care", "no")
NOT_ASKED = "not asked"
WORDS = {"structure": "Structure?", "stability": "Stable?", "faithfulness": "Faithful?"}


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Attributes
    ----------
    question : {"structure", "stability", "faithfulness"}
    answer : {"yes", "with care", "no", "not asked"}
    reason : str
        Why, as a part of a sentence.
    sentences : tuple of str
        The numbers that it rests on.
    """

    question: str
    answer: str
    reason: str
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Doubt:
    """A reason not to answer yes."""

    answer: str
    reason: str


def answered(question: str, doubts: Sequence[Doubt], well: str) -> Answer:
    """The worst of the doubts with its reasons, or yes.

    >>> answered("stability", [Doubt("with care", "this"), Doubt("no", "that")], "all is well").reason
    'that'
    """
    worst = max((doubt.answer for doubt in doubts), key=ANSWERS.index, default=ANSWERS[0])
    reason = "; ".join(doubt.reason for doubt in doubts if doubt.answer == worst) or well
    return Answer(question, worst, reason)


def headline(answers: Sequence[Answer]) -> tuple[str, str]:
    """The worst answer, and a sentence with the reasons of those that decide.

    >>> headline([Answer("structure", "not asked", "so"), Answer("faithfulness", "yes", "it is faithful")])
    ('yes', 'Yes: it is faithful. Not asked: structure (so).')
    """
    asked = [one for one in answers if one.answer != NOT_ASKED]
    worst = max((one.answer for one in asked), key=ANSWERS.index)
    reasons = [one.reason for one in asked if one.answer == worst]
    told = f"{worst.capitalize()}: {_listed(reasons) if worst == ANSWERS[0] else '; '.join(reasons)}."
    # A yes to fewer questions says so.
    left = [f"{one.question} ({one.reason})" for one in answers if one.answer == NOT_ASKED]
    if worst == ANSWERS[0] and left:
        told += f" Not asked: {', '.join(left)}."
    return worst, told


def told_of(answer: Answer) -> list[str]:
    """Sentences on one question: it and its answer first, with the reason where that is not yes.

    >>> told_of(Answer("stability", "no", "nothing comes back", ("Fitted twice.", "That is all.")))
    ['Stable? No: nothing comes back. Fitted twice.', 'That is all.']
    """
    reason = "" if answer.answer == ANSWERS[0] else f": {answer.reason}"
    first = f"{WORDS[answer.question]} {answer.answer.capitalize()}{reason}."
    return [" ".join([first, *answer.sentences[:1]]), *answer.sentences[1:]]


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
