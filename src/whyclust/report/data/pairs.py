"""What separates each cluster from each other: the duel of its members against that one competitor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyclust.moments.numbers import Mean

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

# Members of a cluster whose duels are averaged, columns of a duel that are told, and clusters of a matrix.
MEMBERS, TOLD, MOST_CLUSTERS = 200, 12, 60


def pairs(explanation: Explanation, clusters: list[Any]) -> dict[str, Any] | None:
    """Mean relevance of members of one cluster against another, for all ordered pairs.

    Parameters
    ----------
    explanation : Explanation
        Of rows that are explained for the cluster they are in.
    clusters : list
        Without noise, in the page's order.

    Returns
    -------
    dict or None
        None where the network is not there to be asked, or has no competitors.
    """
    asked = explanation.question.about in ("assigned", "given") and explanation.provenance.measures is None
    possible = explanation.origin is not None and asked and explanation.provenance.method == "neon"
    if not possible or not 2 <= len(clusters) <= MOST_CLUSTERS:
        return None
    draw = np.random.default_rng(0)
    members = {}
    for cluster in clusters:
        own = np.flatnonzero(np.asarray(explanation.clusters == cluster))
        members[cluster] = np.sort(draw.permutation(own)[:MEMBERS])
    found = []
    for there, rival in enumerate(clusters):
        others = [one for one in clusters if one != rival and len(members[one])]
        if not others:
            continue
        rows = np.concatenate([members[one] for one in others])
        some = explanation[rows]
        duel = some.ask(cluster=some.clusters, against=rival)
        own = np.repeat(np.arange(len(others)), [len(members[one]) for one in others])
        for place, one in enumerate(others):
            part = duel[np.flatnonzero(own == place)]
            mean = np.asarray(Mean.of(part.values).value).ravel()
            order = np.argsort(-np.abs(mean), kind="stable")[:TOLD]
            found.append(
                {
                    "from": clusters.index(one),
                    "to": there,
                    "evidence": float(part.evidence.mean()),
                    "columns": order.tolist(),
                    "relevance": mean[order].tolist(),
                    "rest": float(mean.sum() - mean[order].sum()),
                    "base": float(part.base_values.mean()),
                }
            )
    return {"members": MEMBERS, "pairs": found}
