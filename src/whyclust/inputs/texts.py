"""Texts: rows of words, each of which was a text that people read.

A vectorizer makes columns of words. The kind keeps the texts, so that a report shows them with the words that
count in the colours of relevance.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from html import escape
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import index_of, take_rows, to_array
from whyclust.inputs.kind import InputKind, input_kind

# As the ends of the colours of images: for the cluster, and against it.
_FOR, _AGAINST = "178, 24, 43", "33, 102, 172"
# So many characters are shown of a text, and so many before the first word that counts.
_SHOWN, _BEFORE = 1200, 60
# Words with less of the strongest one's relevance are not marked.
_FAINT = 0.05
_WORD = re.compile(r"\w+")


@input_kind
@dataclass(frozen=True)
class Texts(InputKind):
    """Texts, one for each row, in columns of words.

    Attributes
    ----------
    texts : tuple of str
    words : tuple of str
        Names of the columns.
    """

    texts: tuple[str, ...]
    words: tuple[str, ...]

    legend: ClassVar[str] = (
        "Words with the most relevance: red speaks for the cluster, blue against it. Words that a text does "
        "not have have relevance, too."
    )
    has_words: ClassVar[bool] = True

    def names(self, count: int) -> list[str] | None:
        """The words."""
        return list(self.words) if len(self.words) == count else None

    def take(self, rows: NDArray) -> Texts:
        """The texts of some rows."""
        return replace(self, texts=tuple(self.texts[row] for row in np.asarray(rows)))

    def joined(self, other: InputKind) -> Texts | None:
        """The texts of both, if their columns are the same words."""
        if not isinstance(other, Texts) or other.words != self.words:
            return None
        return replace(self, texts=self.texts + other.texts)

    def show(self, data: Any, values: NDArray, rows: NDArray, caption: str) -> str | None:
        """A text with its words in colours; several have no mean."""
        if len(rows) != 1:
            return None
        row = int(rows[0])
        present = to_array(take_rows(data, np.array([row])))[0] != 0
        relevance = np.where(present, np.asarray(values[row]), 0.0)
        return f'<p class="text">{marked(self.texts[row], self.words, relevance)}</p>'


def marked(text: str, words: tuple[str, ...], relevance: NDArray) -> str:
    """A text as HTML, its words coloured by their relevance, cut to where most of it is.

    >>> print(marked("A cat & a dog", ("cat", "dog"), np.array([1.0, -0.5])))
    A <mark style="background:rgba(178, 24, 43, 0.60)">cat</mark> &amp; a <mark
    style="background:rgba(33, 102, 172, 0.30)">dog</mark>
    """
    places = _places(text, words, relevance)
    start, end = _window(len(text), places)
    largest = max((abs(place.relevance) for place in places), default=1.0)
    parts, done = ["… " if start else ""], start
    for place in places:
        if place.start < start or place.end > end:
            continue
        colour, strength = _FOR if place.relevance > 0 else _AGAINST, 0.6 * abs(place.relevance) / largest
        said = escape(text[place.start : place.end])
        parts.append(escape(text[done : place.start]))
        parts.append(f'<mark style="background:rgba({colour}, {strength:.2f})">{said}</mark>')
        done = place.end
    return "".join([*parts, escape(text[done:end]), " …" if end < len(text) else ""])


class _Place(NamedTuple):
    """A word that counts, in a text."""

    start: int
    end: int
    relevance: float


def _places(text: str, words: tuple[str, ...], relevance: NDArray) -> list[_Place]:
    """Where words that count stand, whatever their case and accents; of 'new york' and 'new' the longer."""
    strength = np.abs(relevance)
    counts = np.flatnonzero(strength > _FAINT * strength.max(initial=0.0))
    told = {tuple(_WORD.findall(_plain(words[place]))): float(relevance[place]) for place in counts}
    longest = max(map(len, told), default=0)
    tokens = [(found.start(), found.end(), found.group()) for found in _WORD.finditer(_plain(text))]
    places, at = [], 0
    while at < len(tokens):
        for length in range(min(longest, len(tokens) - at), 0, -1):
            some = tokens[at : at + length]
            value = told.get(tuple(token for _, _, token in some))
            if value is not None:
                places.append(_Place(some[0][0], some[-1][1], value))
                at += length - 1
                break
        at += 1
    return places


def _plain(text: str) -> str:
    """Small letters without accents, one for each character, so that places stay the same."""
    return "".join(unicodedata.normalize("NFKD", letter.lower())[:1] or letter for letter in text)


def _window(length: int, places: list[_Place]) -> tuple[int, int]:
    """The part of a long text that is shown: the one with the most relevance that begins at a word."""
    if length <= _SHOWN:
        return 0, length
    starts = [0, *(max(0, place.start - _BEFORE) for place in places)]
    best = max(starts, key=lambda start: _within(places, start, start + _SHOWN))
    start = min(best, length - _SHOWN)
    return start, start + _SHOWN


def _within(places: list[_Place], start: int, end: int) -> float:
    return sum(abs(place.relevance) for place in places if start <= place.start and place.end <= end)


def texts_in(X: Any, called: str = "X") -> tuple[list[str], NDArray | None] | None:
    """Texts, one for each row, and the rows' labels where they have some; None for what is no texts.

    Lists, arrays and Series of any library are read.

    >>> texts_in(["a text", "another"]), texts_in([[1.0, 2.0]]) is None
    ((['a text', 'another'], None), True)
    """
    index = index_of(X)
    if isinstance(X, (str, bytes)) or hasattr(X, "columns") or getattr(X, "ndim", 1) != 1:
        return None
    if hasattr(X, "to_list"):
        X = X.to_list()
    elif hasattr(X, "to_pylist"):
        X = X.to_pylist()
    found = X.tolist() if isinstance(X, np.ndarray) else X
    if not isinstance(found, (list, tuple)) or not any(isinstance(text, str) for text in found):
        return None
    for place, text in enumerate(found):
        if not isinstance(text, str):
            what = "no text" if text is None or text != text else f"a {type(text).__name__}"
            raise ValueError(f"{called} holds {what} in row {place}, expected texts: put '' in its place.")
    return [str(text) for text in found], None if index is None else np.asarray(index)
