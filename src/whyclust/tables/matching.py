"""Values of a column of categories, found among those that are known, also where they are of another type."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_YES = frozenset({"true", "yes", "y", "t", "on", "1", "ja", "j", "oui", "sí"})
_NO = frozenset({"false", "no", "n", "f", "off", "0", "nein", "non"})
# Letters that stand for answers, if all letters of a column are of one of these.
_LETTERS = (frozenset("yn"), frozenset("tf"), frozenset("jn"))


def answer_in(words: Sequence[str]) -> dict[str, bool] | None:
    """What each word answers, yes or no; None where some are no answers.

    >>> answer_in(["Yes", "y", "No"]), answer_in(["yes", "perhaps"]), answer_in(["T", "N"])
    ({'Yes': True, 'y': True, 'No': False}, None, None)
    """
    found = {word: _as_answer(word) for word in words}
    letters = {
        word.strip().casefold() for word in words if len(word.strip()) == 1 and word.strip() not in "01"
    }
    if None in found.values() or not any(letters <= known for known in _LETTERS):
        return None
    return {word: bool(answer) for word, answer in found.items()}


def matched(column: pd.Series, categories: Sequence[str]) -> tuple[NDArray, NDArray]:
    """The category of each row, and which rows have a value that is none of them.

    A value is the category that is written the same. If there is none, it is the one that is the same number
    (1.0 and '1'), the same word in other letters, or the same answer (True, 1 and 'yes'), where the
    categories themselves are different numbers, words or answers.

    Parameters
    ----------
    column : pandas.Series
    categories : sequence of str

    Returns
    -------
    found : ndarray of objects
        Names of categories, other values as text, NaN for gaps.
    unknown : ndarray of bool

    Examples
    --------
    >>> matched(pd.Series([1.0, 0.0, 2.0]), ["0", "1"])
    (array(['1', '0', '2.0'], dtype=object), array([False, False,  True]))
    >>> matched(pd.Series(["yes", "NO"]), ["False", "True"])[0].tolist()
    ['True', 'False']
    """
    try:
        codes, words = pd.factorize(column.astype(object))
    except TypeError:  # lists and the like
        codes, words = pd.factorize(column.map(str).astype(object))
    keys = [same for same in map(_by, (_as_number, _as_word, _as_answer), [categories] * 3) if same]
    names: list[Any] = []
    for word in words:
        found = str(word) if str(word) in categories else None
        for same, meaning in keys:
            found = same.get(meaning(word)) if found is None else found
        names.append(str(word) if found is None else found)
    unknown = np.array([*(name not in categories for name in names), False])
    return np.array([*names, np.nan], dtype=object)[codes], unknown[codes]


def _by(
    meaning: Callable[[Any], Hashable | None], categories: Sequence[str]
) -> tuple[dict[Hashable, str], Callable[[Any], Hashable | None]] | None:
    """Categories by what they mean; None unless each of them means something else."""
    meant = {meaning(name): name for name in categories}
    meant.pop(None, None)
    return (meant, meaning) if len(meant) == len(categories) else None


def _as_number(value: Any) -> float | None:
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number + 0.0 if np.isfinite(number) else None  # -0.0 is 0, and written otherwise


def _as_word(value: Any) -> str:
    return str(value).strip().casefold()


def _as_answer(value: Any) -> bool | None:
    number = _as_number(value)
    word = _as_word(value) if number is None else f"{number:g}"
    return True if word in _YES else False if word in _NO else None
