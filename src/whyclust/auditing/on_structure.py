"""Is there structure at all? From counts of clusters that stand apart to an answer.

No, where the clusters are no better supported than one cluster of all rows, and no other number of clusters
is: one lump was cut in pieces. With care, where one of these holds:

- another number of clusters is better supported, by more than half a cluster;
- the support is within its standard error of being enough;
- the labels were given, and no better supported than one cluster: they are taken as they are;
- a cluster is a few rows far from all others.
"""

from __future__ import annotations

from dataclasses import replace

from whyclust._checks import counted
from whyclust.auditing.answers import NOT_ASKED, Answer, Doubt, answered
from whyclust.auditing.standing import Standing
from whyclust.cluster.choose_k import standing_apart
from whyclust.cluster.structure import enough_support

# A sentence names this many clusters; the others are counted.
CLUSTERS_NAMED = 5


def answer_structure(standing: Standing, as_given: bool) -> Answer:
    """Whether the clusters are more than pieces of one lump."""
    found = standing.found
    doubts = _of_outliers(standing)
    if found.unknown is not None and not doubts:
        return Answer("structure", NOT_ASKED, found.unknown)
    if found.k > 1 and found.unknown is None:
        doubts += _of_support(standing, as_given)
    well = f"{standing_apart(found.apart, found.k)} (of one lump cut in {found.k}, {found.by_chance:.1f})"
    answer = answered("structure", doubts, well)
    return replace(answer, sentences=_numbers(standing))


def _of_outliers(standing: Standing) -> list[Doubt]:
    if not standing.outliers:
        return []
    parts = [f"{name} ({counted(rows, 'row')})" for name, rows in standing.outliers.items()]
    more = len(parts) - CLUSTERS_NAMED
    listed = ", ".join(parts[:CLUSTERS_NAMED]) + (f" and {more} more" if more > 0 else "")
    which = f"cluster {listed} is" if len(parts) == 1 else f"clusters {listed} are"
    told = f"{which} far from all others, outliers and no finding"
    if standing.found.k < 2:
        told += ", without which all rows are in one cluster"
    return [
        Doubt(
            "no" if standing.found.k < 2 else "with care",
            f"{told}: leave these rows out and cluster again",
        )
    ]


def _of_support(standing: Standing, as_given: bool) -> list[Doubt]:
    found = standing.found
    if found.better is not None:
        k, support = found.better
        what = "another clustering" if k == found.k else "another number of clusters"
        return [
            Doubt(
                "with care",
                f"{what} is better supported: {standing_apart(support, k)} beyond chance, of "
                f"these {found.k} only {round(found.support, 1):g}",
            )
        ]
    if found.stands_out:
        return []
    unsure = found.support + found.error > enough_support(found.k)
    than = "hardly" if unsure else "no"
    return [
        Doubt(
            "with care" if unsure or as_given else "no",
            f"the clusters are {than} better supported than one lump of all rows "
            f"({standing_apart(found.support, found.k)} beyond chance)",
        )
    ]


def _numbers(standing: Standing) -> tuple[str, ...]:
    found = standing.found
    if found.unknown is not None:
        return (f"More was not asked: {found.unknown}.",)
    if found.k < 2:
        return ()
    told = (
        f"{found.apart:.1f} ± {found.error:.1f} of {found.k} clusters stand apart, with few rows on their "
        f"borders; of one lump cut in {found.k}, {found.by_chance:.1f} do."
    )
    if found.n_rows < standing.n_rows:
        told += f" Counted on a sample of {found.n_rows:,} of {standing.n_rows:,} rows."
    return (told,)
