"""Words that mean the same, written as one: blanks around them, small and capital letters, yes and no."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.tables.matching import answer_in
from whyclust.tables.tidying import replaced

# Spellings that a note names.
_TOLD = 3
# Categories have so many rows each, on average; what repeats less is free text or a name.
_REPEATED = 4


def without_blanks(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame without blanks around texts; texts of nothing else are gaps, as they are in files.

    >>> without_blanks(pd.DataFrame({"answer": ["no ", " yes", " "]}))["answer"].tolist()
    ['no', 'yes', nan]
    """
    changed = {}
    for name in frame.columns:
        found = _words(frame[name])
        if found is None:
            continue
        codes, words = found
        stripped = [word.strip() or np.nan if isinstance(word, str) else word for word in words]
        if any(isinstance(word, str) and word != one for word, one in zip(words, stripped, strict=True)):
            changed[name] = _column(frame[name], codes, stripped)
    return replaced(frame, changed)


def with_one_spelling(frame: pd.DataFrame, but: Collection[str] = ()) -> tuple[pd.DataFrame, list[str]]:
    """Write categories that differ only in small and capital letters, and yes and no, in one way.

    The most frequent spelling stays, of yes and no a whole word. Columns in `but` stay as they are, and so do
    texts that hardly repeat: in these, letters may tell rows apart.

    >>> table = pd.DataFrame({"country": ["UK", "uk", "UK", "FR"] * 4, "paid": ["Y", "Yes", "no", "no"] * 4})
    >>> frame, notes = with_one_spelling(table)
    >>> sorted(set(frame["country"])), sorted(set(frame["paid"]))
    (['FR', 'UK'], ['Yes', 'no'])
    >>> notes[0]
    "In column 'country' small and capital letters make no difference: 'uk' (4) counts as 'UK'."
    """
    changed, notes = {}, []
    for name in frame.columns:
        found = None if name in but else _words(frame[name])
        if found is None or len(found[1]) < 2:
            continue
        codes, words = found
        texts = [str(word) for word in words]
        often = dict(zip(texts, np.bincount(codes[codes >= 0], minlength=len(texts)).tolist(), strict=True))
        meant, told = _meanings(texts, often)
        kept = {
            meaning: max(same, key=lambda text: (len(text) > 1, often[text]))
            for meaning, same in _by(meant).items()
        }
        if len(kept) < len(texts):
            changed[name] = _column(frame[name], codes, [kept[meant[text]] for text in texts])
            others = [
                f"'{text}' ({often[text]}) counts as '{kept[meant[text]]}'"
                for text in texts
                if text != kept[meant[text]]
            ]
            more = f" and {len(others) - _TOLD} more" if len(others) > _TOLD else ""
            notes.append(f"In column '{name}' {told}: {', '.join(others[:_TOLD])}{more}.")
    return replaced(frame, changed), notes


def _meanings(texts: list[str], often: Mapping[str, int]) -> tuple[dict[str, Any], str]:
    """What each text means, and what is said of those that mean the same."""
    answers = answer_in(texts)
    if answers is not None and len(set(answers.values())) == 2:
        return answers, "several spellings of yes and no are the same"
    letters = {text: text.casefold() for text in texts}
    # Genes are called AA, Aa and aa, and alleles A and a: there, letters are what differs.
    tells = len(set(letters.values())) < 2 or all(len(text) == 1 for text in texts)
    if tells or _REPEATED * len(texts) > sum(often.values()):
        return {text: text for text in texts}, ""
    return letters, "small and capital letters make no difference"


def _by(meant: Mapping[str, Any]) -> dict[Any, list[str]]:
    found: dict[Any, list[str]] = {}
    for text, meaning in meant.items():
        found.setdefault(meaning, []).append(text)
    return found


def _words(column: pd.Series) -> tuple[NDArray, list[Any]] | None:
    """Codes and different entries of a column of text; None for any other."""
    if not isinstance(column.dtype, (pd.StringDtype, np.dtypes.ObjectDType)):
        return None
    try:
        codes, words = pd.factorize(column.astype(object))
    except TypeError:  # lists and the like
        return None
    simple = all(isinstance(word, (str, bool, int, float)) for word in words)
    return (codes, list(words)) if simple and any(isinstance(word, str) for word in words) else None


def _column(column: pd.Series, codes: NDArray, words: list[Any]) -> pd.Series:
    entries = np.array([*words, np.nan], dtype=object)[codes]
    return pd.Series(entries, index=column.index, name=column.name, dtype=column.dtype)
