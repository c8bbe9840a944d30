"""Clusters by their ids: which one is meant, and how they are listed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from whyclust._sorting import as_counted

_MOST_LISTED = 10


def cluster_meant(asked: Any, clusters: Iterable[Any]) -> Any:
    """The cluster that a user means, as it is among `clusters`; None where there is no such one.

    Ids are the same also where one is a number and the other its text: leiden's clusters are "0" and "1".

    Examples
    --------
    >>> cluster_meant(0, ["0", "1"]), cluster_meant("1", [0, 1]), cluster_meant(2, [0, 1])
    ('0', 1, None)
    """
    if np.ndim(asked) != 0:
        return None
    known = list(clusters)
    same = [one for one in known if isinstance(one, str) == isinstance(asked, str) and one == asked]
    found = same or [one for one in known if str(one) == str(asked)]
    return found[0] if len(found) == 1 else None


def cluster_with_rows(asked: Any, clusters: Iterable[Any]) -> Any:
    """The cluster that a user means among those of an explanation's rows, or an error that lists them."""
    known = list(clusters)
    found = cluster_meant(asked, known)
    if found is None:
        listed = clusters_listed(known)
        raise ValueError(f"cluster={asked!r} has no rows in this explanation, expected one of {listed}.")
    return found


def clusters_listed(clusters: Iterable[Any]) -> str:
    """Clusters for a sentence: sorted as people count, texts in quotes, ten at most.

    Examples
    --------
    >>> clusters_listed(["10", "2"]), clusters_listed([1, 0])
    ("'2', '10'", '0, 1')
    """
    ids = sorted((getattr(one, "item", lambda one=one: one)() for one in clusters), key=as_counted)
    return ", ".join(map(repr, ids[:_MOST_LISTED])) + (", …" if len(ids) > _MOST_LISTED else "")
