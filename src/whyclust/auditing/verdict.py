"""From measurements to an answer: yes, with care, or no, and why.

Three questions are answered apart: is there structure at all (`on_structure`), do clusters come back
(`on_stability`), is the explanation faithful (`on_faithfulness`)? The worst of the answers is that of the
audit. A question that could not be asked decides nothing, and a yes without it says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from whyclust.auditing.answers import Answer, headline, told_of
from whyclust.auditing.comparison import Comparison
from whyclust.auditing.meaning import meaning
from whyclust.auditing.on_faithfulness import answer_faithfulness
from whyclust.auditing.on_stability import answer_stability
from whyclust.auditing.on_structure import answer_structure
from whyclust.auditing.refits import Refits
from whyclust.auditing.standing import Standing
from whyclust.cluster.fidelity import Fidelity


@dataclass(frozen=True)
class Verdict:
    """What the audit says.

    Attributes
    ----------
    trusted : {"yes", "with care", "no"}
    answers : tuple of Answer
        To the three questions: structure, stability, faithfulness.
    sentences : tuple of str
        The headline with its reasons, what it means, then the numbers.
    """

    trusted: str
    answers: tuple[Answer, ...]
    sentences: tuple[str, ...]


def judge(
    standing: Standing,
    refits: Refits,
    comparison: Comparison,
    *,
    fidelity: Fidelity | None = None,
    as_given: bool = False,
) -> Verdict:
    """Answer the three questions, and draw the conclusion.

    Parameters
    ----------
    standing : Standing
        How many clusters stand apart.
    refits : Refits
        How clusters came back.
    comparison : Comparison
        Areas of NEON and of other methods.
    fidelity : Fidelity, optional
        How well a surrogate reproduces labels.
    as_given : bool
        Whether the labels came from the user, who vouches for them, and not from a clustering.

    Returns
    -------
    Verdict
    """
    answers = (
        answer_structure(standing, as_given),
        answer_stability(refits, as_given),
        answer_faithfulness(comparison, fidelity),
    )
    trusted, first = headline(answers)
    return Verdict(
        trusted,
        answers,
        (first, f"In short: {meaning(answers)}", *(told for one in answers for told in told_of(one))),
    )
