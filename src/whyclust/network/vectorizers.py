"""Pipelines that begin with a vectorizer: texts become rows of words, which the rest reads."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from whyclust.inputs import Texts
from whyclust.inputs.reading import InputTable, read_input
from whyclust.inputs.texts import texts_in


@singledispatch
def words_of(step: Any) -> list[str] | None:
    """The words that a fitted vectorizer makes columns of; None for a step that reads no texts."""
    return None


def vectorizer(*types: type) -> Callable[[Callable], Callable]:
    """Register the function that returns the words of vectorizers of these types."""

    def register(function: Callable[[Any], list[str] | None]) -> Callable:
        for kind in types:
            words_of.register(kind)(function)
        return function

    return register


@vectorizer(CountVectorizer)  # TfidfVectorizer is one
def _counted(step: CountVectorizer) -> list[str]:
    return [str(word) for word in step.get_feature_names_out()]


@vectorizer(FrozenEstimator)
def _frozen(step: FrozenEstimator) -> list[str] | None:
    return words_of(step.estimator)


@vectorizer(HashingVectorizer)
def _hashed(step: HashingVectorizer) -> list[str]:
    raise TypeError(
        "HashingVectorizer keeps no words, so that its columns have no names: fit the pipeline with a "
        "TfidfVectorizer, or explain columns by their numbers, wc.explain(pipeline[1:], "
        "pipeline[0].transform(texts))."
    )


@dataclass(frozen=True, eq=False)
class WordReader:
    """A fitted vectorizer, which reads texts as rows of words.

    Attributes
    ----------
    step : fitted vectorizer
    words : list of str
        Its columns.
    """

    step: Any
    words: list[str]

    def read(self, X: Any, called: str = "X") -> InputTable:
        """Texts, or the table that the vectorizer made of them, as a table."""
        if isinstance(X, (str, bytes)):
            raise TypeError(f"{called} is one text, expected a list of texts: pass [text] for one alone.")
        found = None if isinstance(X, InputTable) else texts_in(X, called)
        if found is None:
            return self._read_words(X, called)
        texts, index = found
        rows = self.step.transform(texts).tocsr()
        notes = _without_words(int((np.diff(rows.indptr) == 0).sum()), len(texts))
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=4)
        kind = Texts(tuple(texts), tuple(self.words))
        return InputTable(rows, self.words, index, kind, called, notes)

    def _read_words(self, X: Any, called: str) -> InputTable:
        table = read_input(X, called)
        if table.shape[1] != len(self.words):
            column = "" if table.names is None else f", {called}[{table.names[0]!r}]"
            raise ValueError(
                f"{called} is a table of {table.shape[1]} column(s), expected texts, one for each row, as "
                f"{type(self.step).__name__} reads them: pass the column of texts{column}."
            )
        return table if table.names is not None else replace(table, names=self.words)


def _without_words(count: int, n_texts: int) -> tuple[str, ...]:
    """What must be known of texts that are all the same to the model, in a sentence.

    >>> _without_words(1, 3)
    ('1 of 3 texts holds none of the words that the model knows: its cluster is that of an empty text.',)
    """
    if not count:
        return ()
    holds, their = ("holds", "its") if count == 1 else ("hold", "their")
    told = f"{count:,} of {n_texts:,} texts {holds} none of the words that the model knows"
    return (f"{told}: {their} cluster is that of an empty text.",)


def behind_vectorizer(model: Any) -> tuple[Any, WordReader] | None:
    """What follows the vectorizer with which a fitted pipeline begins, and the vectorizer; None for others.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["a cat", "the cat", "a dog"]
    >>> pipeline = make_pipeline(TfidfVectorizer(), KMeans(2, n_init=1, random_state=0)).fit(texts)
    >>> rest, reader = behind_vectorizer(pipeline)
    >>> type(rest).__name__, reader.read(texts).shape, reader.words
    ('KMeans', (3, 3), ['cat', 'dog', 'the'])
    """
    if isinstance(model, FrozenEstimator):
        return behind_vectorizer(model.estimator)
    if not isinstance(model, Pipeline):
        return None
    steps = list(model.steps)
    while steps and (isinstance(steps[0][1], Pipeline) or steps[0][1] in (None, "passthrough")):
        # Steps of nested pipelines may have the same names.
        inner = steps[0][1].steps if isinstance(steps[0][1], Pipeline) else []
        steps = [(f"{steps[0][0]}-{name}", step) for name, step in inner] + steps[1:]
    if len(steps) < 2:
        return None
    first = steps[0][1]
    try:
        words = words_of(first)
    except NotFittedError:
        raise NotFittedError(
            f"This Pipeline (its {type(first).__name__}) is not fitted yet: call fit(texts) before "
            "explaining it."
        ) from None
    if words is None:
        return None
    return steps[1][1] if len(steps) == 2 else Pipeline(steps[1:]), WordReader(first, words)
