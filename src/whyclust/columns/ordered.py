"""Words that are steps of a scale: never, rarely, sometimes, often, always."""

from __future__ import annotations

from collections.abc import Iterable

# From the lowest step to the highest; a column may have some of them only.
SCALES = (
    ("never", "rarely", "seldom", "sometimes", "often", "usually", "always"),
    ("very low", "low", "medium", "moderate", "high", "very high"),
    ("strongly disagree", "disagree", "neutral", "neither agree nor disagree", "agree", "strongly agree"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("not at all", "slightly", "moderately", "very", "extremely"),
)
# Two words may be any two categories; three of one scale are no accident.
FEWEST_STEPS = 3


def steps_of(words: Iterable[str]) -> tuple[str, ...]:
    """The words in the order of the scale that they are of; nothing where they are of none.

    Examples
    --------
    >>> steps_of(["Often", "never", "always"])
    ('never', 'Often', 'always')
    >>> steps_of(["low", "high", "red"]), steps_of(["low", "high"])
    ((), ())
    """
    by_step = {" ".join(word.casefold().replace("_", " ").split()): word for word in words}
    if len(by_step) < FEWEST_STEPS or len(by_step) < len(list(words)):
        return ()
    for scale in SCALES:
        if by_step.keys() <= set(scale):
            return tuple(by_step[step] for step in scale if step in by_step)
    return ()
