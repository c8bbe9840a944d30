"""Checks of single values: one sentence says what was found and what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Refuse what is not a whole number, or too small.

    >>> whole_number("n_clusters", np.int64(3))
    3
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}={value!r}, expected a whole number, {least} or more.")
    return int(value)


def positive(name: str, value: Any, *, zero: bool = False) -> float:
    """Refuse what is not a positive number, or zero where that makes sense.

    >>> positive("scale", 0, zero=True)
    0.0
    """
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(
            f"{name}={value!r}, expected a number {'of zero or more' if zero else 'above zero'}."
        )
    return float(value)


def refuse_too_large(X: Any, most: float = 1e150) -> None:
    """Refuse a table, dense or sparse, with numbers whose squares are none any more.

    >>> refuse_too_large(np.array([[1.0, 1e200]]))
    Traceback (most recent call last):
    ValueError: X holds values as large as 1e+200, expected at most 1e+150: rescale the columns
    (StandardScaler in a Pipeline).
    """
    largest = float(max(X.max(), -X.min()))
    if largest > most:
        raise ValueError(
            f"X holds values as large as {largest:.3g}, expected at most {most:g}: rescale the columns "
            "(StandardScaler in a Pipeline)."
        )


def one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    """Refuse what is not among the choices.

    >>> one_of("init", "random", ["random", "pretrained"])
    'random'
    """
    listed = list(choices)
    if not isinstance(value, str) or value not in listed:
        raise ValueError(f"{name}={value!r} is unknown, expected one of {', '.join(listed)}.")
    return value


def did_you_mean(name: Any, known: Sequence[str]) -> str:
    """The end of a sentence about an unknown name: the known one that is most like it, if any is.

    >>> did_you_mean("widht", ["width", "depth"]), did_you_mean("colour", ["width", "depth"])
    (": did you mean 'width'?", '.')
    """
    close = get_close_matches(str(name), known, n=1)
    return f": did you mean {close[0]!r}?" if close else "."


def reason_of(error: BaseException) -> str:
    r"""What another library says was wrong, in a few words for a sentence of ours.

    >>> reason_of(OSError("bad block\nat 7")), reason_of(EOFError())
    ('bad block', 'EOFError')
    """
    lines = str(error).strip().splitlines()
    told = "".join(letter for letter in (lines[0] if lines else "") if letter.isprintable())
    return told[:160].rstrip(" .:") or type(error).__name__


def counted(count: int, noun: str) -> str:
    """A number of things, in words.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def same_origin(one: Any, other: Any) -> bool:
    """Whether two functions or classes are one that was defined twice: a notebook's cell, run again."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def refuse_taken(name: str, known: Any, given: Any) -> None:
    """Refuse a name that another function has; the same one, defined again, takes the earlier's place."""
    if known is not None and not same_origin(known, given):
        raise ValueError(
            f"{name!r} is already {known.__module__}.{known.__qualname__}: register "
            f"{given.__module__}.{given.__qualname__} under another name."
        )
