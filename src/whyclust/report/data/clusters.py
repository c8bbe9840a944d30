"""What the page tells of each cluster: its columns, its rows, its sentence, and answers beyond relevance."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from whyclust.report.clusters import cluster_values
from whyclust.telling.sentences import cluster_sentences

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

# Columns of a cluster that the page can unfold to, and columns whose distribution it draws.
MOST_FEATURES, DRAWN = 200, 8
# Members whose reasons are grouped, and those that are asked which columns suffice for them.
GROUPED, ASKED = 400, 40
# Answers that search are left out of pages of wider tables, unless they were asked for by themselves.
MOST_COLUMNS, MOST_CLUSTERS = 100, 20


def clusters(explanation: Explanation) -> list[dict[str, Any]]:
    """Everything that is told of the clusters, in order, noise last."""
    positions = {name: place for place, name in enumerate(explanation.feature_names)}
    found = []
    for one in explanation.summary():
        values = cluster_values(explanation, one)
        features = one.features.head(MOST_FEATURES)
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
                "sentences": cluster_sentences(explanation, one, 3),
                "features": [
                    {**feature, "column": positions[feature["name"]]}
                    for feature in (*values["features"], *values["others"])
                ],
                "strongest": [positions[name] for name in features["feature"].head(DRAWN)],
                "typical": [int(row) for row in one.typical],
                "borderline": [int(row) for row in one.borderline],
                "pictures": [
                    {"caption": picture["caption"], "html": str(picture["shown"])}
                    for picture in values["pictures"]
                ],
            }
        )
    return found


def answers(explanation: Explanation, told: list[dict[str, Any]]) -> None:
    """Add to each cluster what further questions answer, where they are answered in a moment.

    Which groups of members have reasons of their own, which few columns suffice for how many, and rules.
    """
    if not _asked_of_clusters(explanation):
        return
    draw = np.random.default_rng(0)
    for one, summary in zip(told, explanation.summary(), strict=True):
        if summary.is_noise:
            continue
        members = np.flatnonzero(np.asarray(explanation.clusters == summary.cluster))
        some = explanation[np.sort(draw.permutation(members)[:GROUPED])]
        one["groups"] = _answered(lambda: _groups(some, summary.cluster))
        one["rules"] = _answered(lambda: _rules(explanation, summary.cluster))
        asked = np.sort(draw.permutation(members)[:ASKED])
        one["sufficient"] = _answered(lambda: _sufficient(explanation, asked))


def _asked_of_clusters(explanation: Explanation) -> bool:
    usual = explanation.question.about in ("assigned", "given") and explanation.question.threshold is None
    small = explanation.shape[1] <= MOST_COLUMNS and len(explanation.summary()) <= MOST_CLUSTERS
    plain = explanation.provenance.method == "neon" and not explanation.is_factored
    return usual and small and plain and explanation.origin is not None and len(explanation) > 1


def _answered(answer: Callable[[], Any]) -> Any:
    """An answer, or None where there is none for this clustering: the page then leaves it out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return answer()
        except (ValueError, TypeError):
            return None


def _groups(members: Explanation, cluster: Any) -> dict[str, Any]:
    found = members.subpatterns(cluster)
    return {
        "asked": len(members),
        "sentence": found.describe() if len(found) < 2 else found.describe().split(". ")[0] + ".",
        "groups": [
            {"share": len(group) / len(members), "columns": list(group.columns), "sentence": group.sentence}
            for group in (found if len(found) > 1 else [])
        ],
    }


def _rules(explanation: Explanation, cluster: Any) -> list[dict[str, Any]] | None:
    ask = getattr(explanation, "rules", None)
    if ask is None:
        return None
    return [
        {"text": rule.describe(), "precision": float(rule.precision), "coverage": float(rule.coverage)}
        for rule in ask(cluster)
    ]


def _sufficient(explanation: Explanation, rows: Any) -> dict[str, Any]:
    found = explanation.sufficient(rows)
    return {
        "asked": len(rows),
        "sets": [
            {"columns": list(one.columns), "share": float(one.share), "probability": float(one.probability)}
            for one in found.sets[:3]
        ],
        "sentence": found.describe(),
    }
