"""What further questions answer, as sentences beside those of relevance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from whyclust.explaining.explanation import Explanation

# Members of a cluster that are asked which columns suffice for them.
_ASKED = 40


def answers_in_words(explanation: Explanation) -> list[str]:
    """Return sentences: what suffices for one row and would move it; of clusters a rule and what suffices.

    What has no answer for this clustering is left out.

    Parameters
    ----------
    explanation : Explanation

    Returns
    -------
    list of str

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> ex = wc.explain(KMeans(3, n_init=10, random_state=0).fit(X), X)
    >>> len(answers_in_words(ex[0]))
    2
    """
    if len(explanation) == 1:
        asked: list[Callable[[], Any]] = [
            explanation.sufficient,
            lambda: explanation.smallest_change(0),
        ]
        return [told for one in asked for told in _told(one)]
    draw = np.random.default_rng(0)
    labels = np.asarray(explanation.clusters)
    rows: list[int] = []
    told: list[str] = []
    for cluster in explanation.in_order(np.unique(labels)):
        if explanation.is_noise(cluster):
            continue
        rows += draw.permutation(np.flatnonzero(labels == cluster))[:_ASKED].tolist()
        told += _told(partial(_first_rule, explanation, cluster))
    return [*told, *_told(lambda: explanation.sufficient(sorted(rows)))]


def _first_rule(explanation: Explanation, cluster: Any) -> Any:
    return explanation.rules(cluster)[0]


def _told(ask: Callable[[], Any]) -> list[str]:
    try:
        return [ask().describe()]
    except (ValueError, TypeError, IndexError):  # no answer here: a deep model, texts, labels alone
        return []
