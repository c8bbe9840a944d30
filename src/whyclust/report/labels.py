"""Given labels beside the clusters of the network that was built from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# Below this share of agreement the explanations tell more of the network than of the labels.
ENOUGH_AGREEMENT = 0.8
# A sentence names this many labels of a cluster; the others are counted.
LABELS_NAMED = 4


def agreement_sentences(clusters: ArrayLike, given: ArrayLike) -> list[str]:
    """Say how often a network agrees with the labels it was built from, and what that means.

    Parameters
    ----------
    clusters, given : array of shape (n_rows,)
        The cluster that the network assigns to each row, and the label given for it.

    Returns
    -------
    list of str
        The agreement; then a warning, if it is below 80%.

    Examples
    --------
    >>> agreement_sentences(["a", "a", "b", "b"], ["a", "a", "b", "a"])[0]
    'The network built from the given labels agrees with them on 3 of 4 rows (75.0%).'
    """
    network, labels = np.asarray(clusters).astype(str), np.asarray(given).astype(str)
    agreeing = int((network == labels).sum())
    share = agreeing / max(len(labels), 1)
    sentences = [
        f"The network built from the given labels agrees with them on {agreeing} of {len(labels)} rows "
        f"({share:.1%})."
    ]
    if share < ENOUGH_AGREEMENT:
        sentences.append(
            "Warning: below 80% these explain the network more than your labels, which it cannot tell apart "
            "well enough from these columns."
        )
    elif agreeing < len(labels):
        sentences.append("Where it does not, the explanation is for the cluster of the network.")
    empty = sorted(set(labels) - set(network))
    if empty:
        listed = _counted([f"'{name}'" for name in empty], "label")
        sentences.append(f"It assigns no row to {listed}.")
    return sentences


def label_counts(clusters: ArrayLike, given: ArrayLike) -> dict[str, str]:
    """Say for every cluster of a network which labels its rows were given.

    Examples
    --------
    >>> label_counts(["a", "a", "a", "b"], ["a", "a", "b", "b"])
    {'a': '2 labelled a, 1 labelled b', 'b': 'all labelled b'}
    """
    network, labels = np.asarray(clusters).astype(str), np.asarray(given).astype(str)
    found = {}
    for cluster in np.unique(network):
        names, counts = np.unique(labels[network == cluster], return_counts=True)
        # The cluster's own label comes first, then the others by their number.
        order = sorted(range(len(names)), key=lambda i: (names[i] != cluster, -counts[i]))
        parts = [f"{counts[i]} labelled {names[i]}" for i in order]
        if names[order[0]] != cluster:
            parts.insert(0, f"none labelled {cluster}")
        elif len(names) == 1:
            parts = [f"all labelled {cluster}"]
        found[str(cluster)] = _counted(parts, "label")
    return found


def with_labels(sentences: Sequence[str], counts: dict[str, str]) -> list[str]:
    """Add to each cluster's sentence which labels its rows were given.

    Examples
    --------
    >>> with_labels(["Cluster a holds 3 rows."], {"a": "2 labelled a, 1 labelled b"})
    ['Cluster a holds 3 rows. Its rows: 2 labelled a, 1 labelled b.']
    """
    told: list[str] = []
    for sentence in sentences:
        fitting = [name for name in counts if sentence.startswith(f"Cluster {name} ")]
        name: Any = max(fitting, key=len, default=None)
        told.append(sentence if name is None else f"{sentence} Its rows: {counts[name]}.")
    return told


def _counted(parts: list[str], noun: str) -> str:
    n_more = len(parts) - LABELS_NAMED
    if n_more <= 0:
        return ", ".join(parts)
    return ", ".join(parts[:LABELS_NAMED]) + f" and {n_more} more {noun}{'s' if n_more > 1 else ''}"
