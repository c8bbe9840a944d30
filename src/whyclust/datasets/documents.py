"""Documents as numbers: means of word vectors (NEON, section VI-A), or TF-IDF."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

WORD = re.compile(r"[a-z]{3,}")  # "any sequence of letters of length at least three"


def words_of(text: str) -> list[str]:
    """Lower-case words of at least three letters, without English stop words.

    Examples
    --------
    >>> from whyclust.datasets.documents import words_of
    >>> words_of("The X-15 was a rocket-powered aircraft.")
    ['rocket', 'powered', 'aircraft']
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return [word for word in WORD.findall(text.lower()) if word not in ENGLISH_STOP_WORDS]


def mean_vectors(
    texts: Sequence[str], words: NDArray, vectors: NDArray
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """x = 1/|D| Σ_{t∈D} ϕ(t), over the words that have a vector.

    Returns
    -------
    X : ndarray of shape (n_documents, n_dimensions)
    counts : ndarray of shape (n_documents, n_words)
        How often each word is in each document: X = counts @ vectors / counts.sum(1).
    words : ndarray of shape (n_words,)
        The words that occur, in alphabetical order.
    vectors : ndarray of shape (n_words, n_dimensions)
        Their vectors ϕ.
    """
    place = {word: i for i, word in enumerate(words.tolist())}
    bags = [Counter(word for word in words_of(text) if word in place) for text in texts]
    empty = [i for i, bag in enumerate(bags) if not bag]
    if empty:
        raise ValueError(
            f"document {empty[0]} has no word with a vector, expected at least one in each document: leave "
            "such documents out."
        )
    used = sorted(set().union(*bags))
    column = {word: j for j, word in enumerate(used)}
    counts = np.zeros((len(bags), len(used)), dtype=np.int32)
    for i, bag in enumerate(bags):
        for word, count in bag.items():
            counts[i, column[word]] = count
    own = vectors[[place[word] for word in used]].astype(np.float64)
    X = counts @ own / counts.sum(axis=1, keepdims=True)
    return X, counts, np.array(used), own


def draw_documents(y: NDArray, *, n_documents: int, random_state: Any) -> NDArray:
    """Rows of a draw with nearly equal numbers of every class, in their old order.

    Every class gives ⌊n/K⌋ rows; the rest of n comes from one more row of as many classes, drawn at random.
    """
    generator = check_random_state(random_state)
    classes, sizes = np.unique(y, return_counts=True)
    share, rest = divmod(n_documents, len(classes))
    wanted = np.full(len(classes), share)
    wanted[generator.permutation(len(classes))[:rest]] += 1
    if (sizes < wanted).any():
        smallest = int(sizes.min())
        raise ValueError(
            f"n_documents={n_documents} asks for up to {wanted.max()} documents of each of {len(classes)} "
            f"classes, but the smallest has {smallest}: ask for fewer."
        )
    chosen = [generator.permutation(np.flatnonzero(y == c))[:n] for c, n in zip(classes, wanted, strict=True)]
    return np.sort(np.concatenate(chosen))


def tf_idf(texts: Sequence[str], *, n_words: int = 2000) -> tuple[Any, list[str]]:
    """TF-IDF of the most frequent words without English stop words, a sparse matrix, and the words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(max_features=n_words, stop_words="english")
    X = vectorizer.fit_transform(texts)
    return X, vectorizer.get_feature_names_out().tolist()
