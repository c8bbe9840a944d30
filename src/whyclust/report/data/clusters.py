"""What the page tells of each cluster: its columns, its rows, its sentence, and answers beyond relevance."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from whyclust._progress import stage, step
from whyclust.answers.subpatterns import subpatterns
from whyclust.report.clusters import cluster_values
from whyclust.report.private import FEWEST
from whyclust.telling.sentences import cluster_sentences

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

# Columns of a cluster whose distribution the page draws.
DRAWN = 8
# Members whose reasons are grouped, and those of a cluster that are asked which columns suffice for them.
GROUPED, ASKED = 200, 20
# Sets of columns that suffice for a cluster, each with more columns and for more rows than the one before.
SETS = 3
# Answers that search are left out of pages of wider tables and of more clusters: each would take seconds.
MOST_COLUMNS, MOST_CLUSTERS, MOST_GROUPED = 60, 20, 8


def clusters(explanation: Explanation, *, rows: bool = True) -> list[dict[str, Any]]:
    """Everything that is told of the clusters, in order; without `rows`, nothing of single ones."""
    positions = {name: place for place, name in enumerate(explanation.feature_names)}
    found = []
    for one in explanation.summary():
        values = cluster_values(explanation, one, rows=rows)
        found.append(
            {
                "id": values["id"],
                "name": values["name"],
                "noise": one.is_noise,
                "size": one.size,
                "share": one.share,
                "evidence": one.evidence,
                "doubt": values["doubt"],
                "flagged": values["n_flagged"],
                "sentences": cluster_sentences(explanation, one, 3, rows=rows),
                "features": [
                    {**feature, "column": positions[feature["name"]]}
                    for feature in (*values["features"], *values["others"])
                ],
                # As the cluster's page lists them: also what speaks against it.
                "strongest": [positions[feature["name"]] for feature in values["features"][:DRAWN]],
                "typical": [int(row) for row in one.typical] if rows else [],
                "borderline": [int(row) for row in one.borderline] if rows else [],
                "pictures": [
                    {"caption": picture["caption"], "html": str(picture["shown"])}
                    for picture in values["pictures"]
                ],
            }
        )
    return found


def answers(explanation: Explanation, told: list[dict[str, Any]], *, rows: bool = True) -> None:
    """Add to each cluster what further questions answer, where they are answered in a moment.

    Rules, which few columns suffice for how many members, and which groups have reasons of their own; without
    `rows`, none that is of very few.
    """
    fewest = 1 if rows else FEWEST
    if not _asked_of_clusters(explanation):
        return
    draw = np.random.default_rng(0)
    asked: list[int] = []
    stage("Writing the report: reasons of clusters")
    for place, (one, summary) in enumerate(zip(told, explanation.summary(), strict=True)):
        step(place, len(told))
        if summary.is_noise:
            continue
        members = draw.permutation(np.flatnonzero(np.asarray(explanation.clusters == summary.cluster)))
        asked += [*members[:ASKED].tolist(), *one["typical"], *one["borderline"]]
        one["rules"] = _answered(partial(_rules, explanation, summary.cluster, fewest))
        if len(told) <= MOST_GROUPED:
            some = explanation[np.sort(members[:GROUPED])]
            one["groups"] = _answered(partial(_groups, some, summary.cluster, fewest, len(members)))
    stage("Writing the report: columns that suffice")
    _answered(partial(_add_sufficient, explanation, sorted(set(asked)), told))


def _asked_of_clusters(explanation: Explanation) -> bool:
    usual = explanation.question.about in ("assigned", "given") and explanation.question.threshold is None
    small = explanation.shape[1] <= MOST_COLUMNS and len(explanation.summary()) <= MOST_CLUSTERS
    plain = explanation.provenance.method == "neon" and not explanation.is_factored
    table = explanation.kind.item_shape == () and explanation.origin is not None
    return usual and small and plain and table and len(explanation) > 1


def _answered(answer: Callable[[], Any]) -> Any:
    """An answer, or None where there is none for this clustering: the page then leaves it out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return answer()
        except (ValueError, TypeError):
            return None


def _groups(members: Explanation, cluster: Any, fewest: int, size: int) -> dict[str, Any] | None:
    found = subpatterns(members, cluster, size=size)
    if any(len(group) < fewest for group in found):
        return None
    return {
        "asked": len(members),
        "sentence": found.describe() if len(found) < 2 else found.describe().split(". ")[0] + ".",
        "groups": [
            {"share": len(group) / len(members), "columns": list(group.columns), "sentence": group.sentence}
            for group in (found if len(found) > 1 else [])
        ],
    }


def _rules(explanation: Explanation, cluster: Any, fewest: int) -> list[dict[str, Any]]:
    return [
        {"text": rule.describe(), "precision": float(rule.precision), "coverage": float(rule.coverage)}
        for rule in explanation.rules(cluster)
        if rule.rows >= fewest or fewest == 1
    ]


def _add_sufficient(explanation: Explanation, rows: list[int], told: list[dict[str, Any]]) -> None:
    """Which columns suffice for members of each cluster, and for the rows that the page names."""
    found = explanation.sufficient(rows)
    places = {row: place for place, row in enumerate(rows)}
    for one, summary in zip(told, explanation.summary(), strict=True):
        one["sufficient"] = {
            "sentence": found.of_cluster(summary.cluster, top=SETS),
            "rows": {
                str(row): found[places[row]].describe(top=0)
                for row in (*one["typical"], *one["borderline"])
                if row in places
            },
        }
