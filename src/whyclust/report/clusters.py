"""Clusters as plain values for the page: their columns, rows and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from whyclust._frames import is_frame
from whyclust.telling.sentences import bare

if TYPE_CHECKING:
    import pandas as pd

    from whyclust.explaining.explanation import Explanation

# A reader takes in about this many bars at a glance; the rest can be unfolded.
TOP_FEATURES = 8
# Of thousands of columns the page keeps the strongest, else no browser would open it.
MORE_FEATURES = 200
ROW_FEATURES = 5
ROWS_OF_A_KIND = 3
# A base value below this part of the evidence is rounding.
NEGLIGIBLE = 1e-6


def cluster_values(explanation: Explanation, cluster: Any, *, rows: bool = True) -> dict[str, Any]:
    """What the page shows of a cluster; without `rows`, nothing of single ones."""
    # What is ignored tells no cluster from another: there is none to compare with.
    ignored = explanation.question.about == "ignored"
    largest = float(np.abs(cluster.features["relevance"].to_numpy()).max(initial=0.0)) or 1.0
    features = [
        {
            "name": row["feature"],
            "relevance": row["relevance"],
            "width": round(100 * abs(row["relevance"]) / largest, 1),
            "negative": row["relevance"] < 0,
            "fraction": row["fraction"],
            "direction": "" if ignored else _direction(explanation, row),
            "inside": row["inside"],
            "there": None if ignored else row["there"],
            # In a column of its own there is no room for more than the id.
            "against": None
            if ignored or row["against"] is None
            else bare(explanation, row["against"], word=""),
        }
        for row in cluster.features.to_dict("records")
    ]
    # The strongest ones in either direction come first; a column that speaks against counts, too.
    ranked = sorted(range(len(features)), key=lambda position: -features[position]["width"])
    shown, rest = set(ranked[:TOP_FEATURES]), ranked[TOP_FEATURES:MORE_FEATURES]
    return {
        "id": "noise" if cluster.is_noise else str(cluster.cluster),
        "name": "" if cluster.is_noise or cluster.title == f"cluster {cluster.cluster}" else cluster.name,
        "is_noise": cluster.is_noise,
        "ignored": ignored,
        "measures": explanation.provenance.measures,
        # Numbers of a row against one competitor alone, as its panel has them first, are others.
        "together": not (ignored or explanation.question.duel or explanation.provenance.measures)
        and len(np.unique(explanation.labels)) > 2,
        # Given where the surrogate does not reproduce it well enough.
        "doubt": None if explanation.fidelity is None else explanation.fidelity.doubt(cluster.cluster),
        "anchor": f"cluster-{_slug(cluster.cluster)}",
        "size": cluster.size,
        "share": cluster.share,
        "evidence": cluster.evidence,
        "n_flagged": int((explanation.disagrees & (explanation.labels == cluster.cluster)).sum()),
        "features": [feature for position, feature in enumerate(features) if position in shown],
        "others": [features[position] for position in sorted(rest)],
        "n_hidden": len(features) - len(shown) - len(rest),
        "typical": _rows(explanation, cluster.typical) if rows else [],
        "borderline": _rows(explanation, cluster.borderline) if rows else [],
        "pictures": _pictures(explanation, cluster) if rows else [],
    }


def lines_in_order(explanation: Explanation, table: pd.DataFrame) -> list[dict[Any, Any]]:
    """The lines of a table with one for each cluster, in the order in which people count, noise last."""
    lines = {line["cluster"]: line for line in table.to_dict("records")}
    return [lines[cluster] for cluster in explanation.in_order(lines)]


def _direction(explanation: Explanation, row: Mapping[Any, Any]) -> str:
    """Where the cluster lies, and against whom; the competitor of categories is told beside."""
    direction = row["direction"]
    if direction not in ("above", "below", "between", "similar") or row["against"] is None:
        return direction
    rival = bare(explanation, row["against"])
    if direction == "similar":
        return f"similar to {rival}"
    if direction != "between":
        return f"{direction} {rival}"
    sides = ("above", "below") if row["inside"] > row["there"] else ("below", "above")
    return f"{sides[0]} {rival}, {sides[1]} {bare(explanation, row['other_side'])}"


def _slug(name: object) -> str:
    # Anchors take letters and digits only; the code point keeps different names apart.
    return "".join(
        letter if letter.isascii() and letter.isalnum() else f"_{ord(letter):x}" for letter in str(name)
    )


def _rows(explanation: Explanation, positions: Iterable[int]) -> list[dict[str, Any]]:
    chosen = list(positions)[:ROWS_OF_A_KIND]
    some = explanation[chosen]
    columns, relevances = some.strongest(ROW_FEATURES)
    ignored = explanation.question.about == "ignored"  # what is ignored is so for no other cluster
    return [
        {
            "name": some.index[row],
            "evidence": some.evidence[row],
            "competitor": None if ignored else bare(some, some.competitors[row]),
            "others": float(some.explained[row] - some.base_values[row] - relevances[row].sum())
            if columns.shape[1] < len(explanation.feature_names) or not explanation.absent
            else None,
            "base": _base(some.base_values[row], some.evidence[row]),
            "features": [
                {
                    "name": explanation.feature_names[column],
                    "value": _value(some.data, row, int(column)),
                    "relevance": relevance,
                }
                for column, relevance in zip(columns[row], relevances[row], strict=True)
                if explanation.absent or relevance != 0
            ],
        }
        for row in range(len(chosen))
    ]


def _base(base: float, evidence: float) -> float | None:
    return float(base) if abs(base) > NEGLIGIBLE * max(abs(evidence), 1e-300) else None


def explained_parts(explanation: Explanation) -> dict[str, float] | None:
    """Split the mean evidence into what the columns got and what no column got."""
    if explanation.provenance.measures is not None:  # values are no parts of the evidence
        return None
    own = np.asarray(explanation.clusters == explanation.assigned)
    evidence = float(explanation.evidence[own].mean()) if own.any() else 0.0
    columns = float((explanation.explained - explanation.base_values)[own].mean()) if own.any() else 0.0
    # What would be printed as 100% need not be told.
    if evidence <= 0 or abs(evidence - columns) < 5e-3 * evidence:
        return None
    return {"evidence": evidence, "columns": columns, "rest": evidence - columns, "share": columns / evidence}


def _value(data: Any, row: int, column: int) -> object:
    return data.iloc[row, column] if is_frame(data) else data[row, column]


def _pictures(explanation: Explanation, cluster: Any) -> list[dict[str, Any]]:
    """A cluster's mean and some of its rows as their kind shows them, each with its relevance."""
    factored, kind = explanation.is_factored, explanation.kind
    members = np.flatnonzero(explanation.clusters == cluster.cluster)
    chosen = [] if factored else [("mean of the cluster", members)]
    least = "least ignored" if explanation.question.about == "ignored" else "borderline"
    for told, positions in (("typical", cluster.typical), (least, cluster.borderline)):
        for row in list(positions)[:ROWS_OF_A_KIND]:
            chosen.append((f"{told}: row {explanation.index[row]}", np.array([row])))
    if factored:  # relevance is made for the rows that are shown, which know their kind
        some = explanation[np.array([rows[0] for _, rows in chosen], dtype=int)]
        explanation, kind = some, some.kind
        chosen = [(caption, np.array([place])) for place, (caption, _) in enumerate(chosen)]
    values = np.asarray(explanation.values)
    shown = [(caption, kind.show(explanation.data, values, rows, caption)) for caption, rows in chosen]
    return [{"caption": caption, "shown": Markup(html)} for caption, html in shown if html is not None]
