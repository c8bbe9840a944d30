"""Short names for clusters, proposed from their columns; no two are the same.

A name is made of a few marks, strongest column first: 'high age, country'. High and low are said of the upper
and the lower third of all clusters, because a name is read among all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from whyclust.telling.standing import Standing

# A name has so many marks, and more only to differ from another.
_USUAL, _MOST = 2, 4
# Columns and categories with longer names are cut.
_LONGEST = 40
# Categories that say little without their column.
_BARE = {"yes", "no", "true", "false", "missing", "other", "none", "unknown"}


def mark(column: str, standing: Standing, *, words: bool = False, alone: bool = True) -> str | None:
    """What a column adds to a name, if anything.

    Parameters
    ----------
    column : str
    standing : Standing
        Of the column in the cluster.
    words : bool
        Whether columns are words of documents: those that are there need no 'high'.
    alone : bool
        Whether its category is that of no other column; else the column is named, too.

    >>> mark("age", Standing("above", 66.8, level="high"))
    'high age'
    >>> mark("region", Standing("mostly", 0.8, category="country"))
    'country'
    >>> mark("member", Standing("often", 0.4, category="yes"))
    'often member yes'
    >>> mark("fare", Standing("between", 21.7, outside=11.3, above=False, level="high"))
    'fairly high fare'
    """
    if standing.direction in ("", "similar", "missing", "unusual", "more often"):
        return None
    column = _short(column)
    if standing.category is not None:
        said = alone and standing.category.lower() not in _BARE and any(map(str.isalpha, standing.category))
        category = _short(standing.category)
        told = category if said else f"{column} {category}"
        return told if standing.direction == "mostly" else f"often {told}"
    if not standing.level:
        return None
    # Among all clusters it may be high, and yet below those that matter: nothing is said. Where one of them
    # is above it and another below, it is fairly high.
    against = {"high": "below", "low": "above"}.get(standing.level)
    side = standing.direction
    fairly = ""
    if side == "between" and against == ("above" if standing.above else "below"):
        fairly = "fairly "
    if side == against or (words and standing.level == "high" and not standing.above):
        return None
    far = standing.inside - standing.outside
    if (standing.level == "high" and far < 0) or (standing.level == "low" and far > 0):
        return None
    return column if words and standing.level == "high" else f"{fairly}{standing.level} {column}"


def in_line(text: str) -> str:
    r"""A name of the table's within a sentence, where it may not break the line.

    >>> in_line("net\nincome")
    'net income'
    """
    return " ".join(text.split()) if any(letter in text for letter in "\n\r\t\v\f") else text


def _short(text: str) -> str:
    text = in_line(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def is_name(cluster: Any) -> bool:
    """Whether a cluster's id is a name already: a text that is no number, or yes and no.

    >>> is_name("ants"), is_name(True), is_name("12"), is_name(3)
    (True, True, False, False)
    """
    return isinstance(cluster, bool) or (isinstance(cluster, str) and any(map(str.isalpha, cluster)))


def distinct_names(
    marks: Mapping[Any, Iterable[str]], taken: Iterable[str] = (), *, plain: str = "cluster"
) -> dict[Any, str]:
    """A name for each cluster that no other one has.

    Names of the same marks, in whatever order, get more of them, as far as there are any, and then numbers.

    Parameters
    ----------
    marks : mapping of cluster to its marks, strongest first
    taken : iterable of str
        Names that are given already.
    plain : str
        What a cluster without marks is called, before its id.

    >>> distinct_names({0: ["old", "poor", "city"], 1: ["old", "poor", "country"], 2: [], 3: [], 4: ["old"]})
    {0: 'old, poor, city', 1: 'old, poor, country', 2: 'cluster 2', 3: 'cluster 3', 4: 'old'}
    >>> distinct_names({0: ["old", "poor", "city"], 1: ["poor", "old", "country"]})
    {0: 'old, poor, city', 1: 'poor, old, country'}
    >>> distinct_names({0: ["old"], 1: ["old"]}, taken=["old"])
    {0: 'old (2)', 1: 'old (3)'}
    """
    listed = {cluster: list(some) for cluster, some in marks.items()}
    lengths = dict.fromkeys(listed, _USUAL)

    def proposed(cluster: Any) -> str:
        return ", ".join(listed[cluster][: lengths[cluster]]) or f"{plain} {cluster}"

    def said(cluster: Any) -> frozenset[str]:
        return frozenset(listed[cluster][: lengths[cluster]])

    for longer in range(_USUAL + 1, _MOST + 1):
        names = [said(cluster) for cluster in listed]
        for cluster in listed:
            if names.count(said(cluster)) > 1 and lengths[cluster] == longer - 1:
                lengths[cluster] = longer
    used = set(taken)
    found = {}
    for cluster in listed:
        name = proposed(cluster)
        numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
        found[cluster] = next(one for one in numbered if one not in used)
        used.add(found[cluster])
    return found
