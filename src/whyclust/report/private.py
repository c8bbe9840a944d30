"""What a page without rows may tell: nothing of clusters, and of categories, that very few rows have.

The mean of a cluster of one row is that row. So clusters of fewer than five rows are left out whole, before
anything is counted: no mean, distribution, rule, name or range is made of their rows. Cells of a column that
fewer than five rows of a cluster have are taken for missing, for their mean is as near to single ones. A
category that fewer than five rows have is told as 'a rare value'.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._frames import is_frame
from whyclust.columns.plan import listed
from whyclust.inputs.reading import is_sparse

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation
    from whyclust.telling.summary import Summary

#: Fewer rows than this are told of as a group by no page without rows.
FEWEST = 5
RARE = "a rare value"
# Typical rows of the summary that a page tells.
_MEMBERS = 3


def without_few(explanation: Explanation) -> tuple[Explanation, str]:
    """The rows of clusters that are large enough, rare cells hidden, and what the page says of it.

    Parameters
    ----------
    explanation : Explanation

    Returns
    -------
    explanation : Explanation
    sentence : str
        What is told, and what is left out.

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0], [0.1], [0.2], [0.3], [0.4], [9.0]]
    >>> ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    >>> kept, sentence = without_few(ex)
    >>> len(kept)
    5
    >>> print(sentence)
    This page was made without single rows: it tells of clusters of 5 rows or more. Cluster 1, of fewer than 5
    rows, is left out: its means would tell of single rows.
    """
    kept = np.ones(len(explanation), dtype=bool)
    whole = _of_more_rows(explanation)
    if whole is not None:
        large = [one.cluster for one in whole if one.size >= FEWEST]
        kept = np.isin(explanation.labels, large) & np.isin(explanation.clusters, large)
    while True:  # rows that go may leave others too few
        few = _few(explanation, kept)
        if not few:
            break
        kept &= ~np.isin(explanation.labels, few) & ~np.isin(explanation.clusters, few)
    if not kept.any():
        raise ValueError(
            f"No cluster has {FEWEST} rows or more, so a page without rows has nothing to tell: ask for "
            "fewer clusters, or let the page hold rows."
        )
    gone = [one for one in explanation.in_order(_ids(explanation)) if one not in _ids(explanation, kept)]
    found = explanation if kept.all() else explanation[np.flatnonzero(kept)]
    hidden = _without_lone(found)
    said = _told(explanation, gone)
    if hidden is not found:
        said += f" Cells of a column that fewer than {FEWEST} rows of a cluster have count as missing there."
    found = _without_rare(hidden)
    if whole is not None:
        found._summaries[_MEMBERS] = _left(whole, gone, kept, _hardly_known(hidden))
    return found, said


def _of_more_rows(explanation: Explanation) -> Summary | None:
    """The summary of a table of which the explanation holds some rows; None where it holds all."""
    found = explanation._summaries.get(_MEMBERS)
    return found if found is not None and sum(one.size for one in found) > len(explanation) else None


def _hardly_known(sample: Explanation) -> list[str]:
    """Columns of which some cluster has fewer than five cells among the rows at hand, or none.

    The table has more rows, and may have one such cell: its mean is told of no cluster.
    """
    if is_sparse(sample.data):
        return []
    known = pd.DataFrame(sample.data).notna().to_numpy()
    counts = [known[np.asarray(sample.labels) == one].sum(axis=0) for one in np.unique(sample.labels)]
    fewest = np.min(counts, axis=0)
    return [name for name, count in zip(sample.feature_names, fewest, strict=False) if count < FEWEST]


def _left(whole: Summary, gone: list[Any], kept: NDArray, aside: list[str]) -> Summary:
    """The summary without some clusters and columns, its rows numbered among those that are kept."""
    place = np.cumsum(kept) - 1
    clusters = [
        replace(
            one,
            features=one.features[~one.features["feature"].isin(aside)].reset_index(drop=True),
            typical=place[one.typical].tolist(),
            borderline=place[one.borderline].tolist(),
        )
        for one in whole
        if one.cluster not in gone
    ]
    return replace(whole, clusters=clusters)


def _ids(explanation: Explanation, kept: NDArray | None = None) -> set[Any]:
    rows = np.ones(len(explanation), dtype=bool) if kept is None else kept
    return {
        *np.unique(np.asarray(explanation.labels)[rows]).tolist(),
        *np.unique(np.asarray(explanation.clusters)[rows]).tolist(),
    }


def _few(explanation: Explanation, kept: NDArray) -> list[Any]:
    """Clusters that some of the rows are in, or are explained for, but fewer than five."""
    found: set[Any] = set()
    for ids in (explanation.labels, explanation.clusters):
        clusters, counts = np.unique(np.asarray(ids)[kept], return_counts=True)
        found |= set(clusters[counts < FEWEST].tolist())
    return sorted(found, key=str)


def _told(explanation: Explanation, gone: list[Any]) -> str:
    begin = f"This page was made without single rows: it tells of clusters of {FEWEST} rows or more."
    if not gone:
        return begin
    # The user's own names may stand; proposed ones are made of the rows.
    some = ["noise" if explanation.is_noise(one) else f"cluster {one}" for one in gone[:3]]
    names = listed([*some, *([f"{len(gone) - 3} further"] if len(gone) > 3 else [])])
    one = len(gone) == 1
    told = (
        f"{names}, of fewer than {FEWEST} rows{'' if one else ' each'}, {'is' if one else 'are'} left out: "
        f"{'its' if one else 'their'} means would tell of single rows."
    )
    return f"{begin} {told[0].upper()}{told[1:]}"


def _without_lone(explanation: Explanation) -> Explanation:
    """Cells hidden that fewer than five rows of a cluster have, in columns with gaps."""
    if is_sparse(explanation.data):
        return explanation
    data = pd.DataFrame(explanation.data).copy()
    groups = [np.asarray(ids) for ids in (explanation.labels, explanation.clusters)]
    changed = False
    for column in range(data.shape[1]):
        known = data.iloc[:, column].notna().to_numpy()
        kept = known.copy()
        while (lone := _lone(kept, groups)).any():  # cells that go may leave others too few
            kept &= ~lone
        if not (kept == known).all():
            data.isetitem(column, data.iloc[:, column].where(kept).array)
            changed = True
    if not changed:
        return explanation
    return replace(explanation, data=data if is_frame(explanation.data) else data.to_numpy())


def _lone(known: NDArray, groups: list[NDArray]) -> NDArray:
    """Known cells of clusters that have fewer than five of them."""
    found = np.zeros(len(known), dtype=bool)
    for ids in groups:
        clusters, counts = np.unique(ids[known], return_counts=True)
        found |= known & np.isin(ids, clusters[counts < FEWEST])
    return found


def _texts(data: Any) -> list[int]:
    """Columns of categories."""
    numbers = [pd.api.types.is_numeric_dtype(kind) for kind in data.dtypes]
    return [place for place, number in enumerate(numbers) if not number]


def _rare(data: Any, column: int) -> list[str]:
    counts = data.iloc[:, column].dropna().map(str).value_counts()
    return counts.index[counts < FEWEST].tolist()


def _without_rare(explanation: Explanation) -> Explanation:
    if not is_frame(explanation.data):
        return explanation
    data = None
    for column in _texts(explanation.data):
        rare = set(_rare(explanation.data, column))
        if not rare:
            continue
        data = explanation.data.copy() if data is None else data
        values = explanation.data.iloc[:, column].astype(object)
        hidden = values.notna() & values.map(str).isin(rare)
        data.isetitem(column, values.where(~hidden, RARE))
    return explanation if data is None else replace(explanation, data=data)
