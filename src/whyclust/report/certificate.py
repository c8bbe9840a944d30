"""How far a surrogate of given labels can be relied on, as plain values for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyclust.report.clusters import lines_in_order

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

# More flagged rows than this are not read on a page; the files have all of them.
MOST_FLAGGED = 50


def certificate(explanation: Explanation, *, rows: bool = True) -> dict[str, Any] | None:
    """Gather the agreement of a surrogate with its labels, and the rows on which they differ.

    Parameters
    ----------
    explanation : Explanation
    rows : bool
        Whether single rows may be named.

    Returns
    -------
    dict or None
        None where no surrogate was explained.
    """
    fidelity = explanation.fidelity
    if fidelity is None:
        return None
    from whyclust.telling.sentences import disagreement

    told, *less_well = fidelity.sentences()
    counted, *weak, advice = less_well or ["", ""]
    clusters = [
        {
            "name": explanation.short_name(row["cluster"]),
            "rows": row["rows"],
            "in_sample": row["in_sample"],
            "held_out": row["held_out"],
            "precision": row["precision"],
            "trusted": row["trusted"],
        }
        for row in lines_in_order(explanation, fidelity.to_pandas())
    ]
    flagged = np.flatnonzero(explanation.disagrees)
    # The strongest disagreement comes first.
    flagged = flagged[np.argsort(explanation.evidence[flagged], kind="stable")]
    return {
        "told": told,
        "counted": counted,
        "weak": weak,
        "advice": advice,
        "clusters": clusters,
        "disagreement": disagreement(explanation),
        "flagged": [_flagged(explanation, row) for row in flagged[: MOST_FLAGGED if rows else 0]],
        "n_flagged": len(flagged),
        "is_given": explanation.given is not None,
        "has_noise": explanation.noise is not None,
    }


def _flagged(explanation: Explanation, row: int) -> dict[str, Any]:
    return {
        "name": explanation.index[row],
        "given": explanation.short_name(explanation.labels[row]),
        "assigned": explanation.short_name(explanation.assigned[row]),
        "evidence": explanation.evidence[row],
    }
