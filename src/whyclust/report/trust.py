"""The audit as plain values for the page, with its error bars placed on small canvases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyclust.report.clusters import lines_in_order

if TYPE_CHECKING:
    import pandas as pd

    from whyclust.auditing import Audit
    from whyclust.explaining.explanation import Explanation

WIDTH, HEIGHT = 160, 16
# Dots and whiskers at the ends of a scale stay on the canvas.
MARGIN = 6
# From standard errors to 95% intervals.
REACH = 1.96
KINDS = {"neon": "own", "random": "floor"}
SOURCES = {"bootstrap": "other rows", "reseed": "other seeds"}


def trust(explanation: Explanation, audit: Audit | None) -> dict[str, Any] | None:
    """Gather what the section 'Can I trust this?' shows.

    Parameters
    ----------
    explanation : Explanation
    audit : Audit or None
        An audit of the same clustering.

    Returns
    -------
    dict or None
        None without an audit.
    """
    if audit is None:
        return None
    from whyclust.auditing import Audit

    if not isinstance(audit, Audit):
        raise TypeError(f"audit is a {type(audit).__name__}, expected what whyclust.audit returned.")
    unknown = [one for one in np.unique(explanation.labels).tolist() if one not in audit.clusters.tolist()]
    if unknown:
        raise ValueError(
            f"The audit knows nothing of cluster {unknown[0]!r}, which the explanation has: pass the audit "
            "of the same clustering."
        )
    first, *others = [one for one in audit.verdict if not one.startswith("In short: ")]
    answer, _, reason = first.partition(": ")
    return {
        "grade": audit.trusted.replace(" ", "-"),
        "answer": answer,
        "reason": reason[:1].upper() + reason[1:],
        "meaning": audit.meaning,
        "answers": {one.question: one.answer.capitalize() for one in audit.answers},
        "structure": _structure(audit),
        "sentences": others,
        "notes": audit.notes,
        **_methods(audit.methods),
        "clusters": _clusters(explanation, audit.stability),
        "sources": [] if audit.stability is None else [s for s in SOURCES if s in audit.stability],
        "settings": audit.settings,
        "unknown": audit.refits.unknown,
    }


def no_structure(audit: Audit | None) -> str | None:
    """Why an audit finds no structure at all; None where it finds some, or there is no audit."""
    answers = [] if audit is None else audit.answers
    return next((one.reason for one in answers if one.question == "structure" and one.answer == "no"), None)


def _structure(audit: Audit) -> list[str]:
    """Why the clusters do not stand apart, if they do not, and what was counted."""
    answer = next(one for one in audit.answers if one.question == "structure")
    reason = [] if answer.answer == "yes" else [f"{answer.reason[:1].upper()}{answer.reason[1:]}."]
    return [*reason, *answer.sentences]


def _methods(table: pd.DataFrame) -> dict[str, Any]:
    low = float(np.floor((table["auc"] - REACH * table["se"]).min()))
    high = max(float(np.ceil((table["auc"] + REACH * table["se"]).max())), low + 1.0)
    lines: list[dict[Any, Any]] = []
    for row in table.to_dict("records"):
        name = str(row["method"])
        line = row | whisker(row["auc"], row["se"], low, high) | {"kind": KINDS.get(name, "other")}
        lines.append(line | {"what": "NEON, as in this report"} if name == "neon" else line)
    return {"methods": lines, "low": low, "high": high}


def _clusters(explanation: Explanation, table: pd.DataFrame | None) -> list[dict[str, Any]]:
    if table is None:
        return []
    return [
        {
            "name": explanation.short_name(row["cluster"]),
            "rows": row["rows"],
            "reading": row["reading"],
            "weak": row["reading"] not in {"stable", "highly stable"},
            "sources": [
                {"name": name, "mean": row[source], "se": row[f"{source}_se"]}
                | whisker(row[source], row[f"{source}_se"], 0.0, 1.0)
                for source, name in SOURCES.items()
                if source in row
            ],
        }
        for row in lines_in_order(explanation, table)
    ]


def whisker(mean: float, error: float, low: float, high: float) -> dict[str, float]:
    """Place a mean and its 95% interval on a canvas that spans a scale.

    >>> whisker(5.0, 0.0, 0.0, 10.0)
    {'x': 80.0, 'from': 80.0, 'to': 80.0}
    """

    def place(value: float) -> float:
        share = (min(max(float(value), low), high) - low) / (high - low)
        return round(MARGIN + (WIDTH - 2 * MARGIN) * share, 1)

    return {"x": place(mean), "from": place(mean - REACH * error), "to": place(mean + REACH * error)}


def ticks(*values: float) -> list[float]:
    """Where these values of a scale from 0 to 1 lie.

    >>> ticks(0.5)
    [80.0]
    """
    return [whisker(value, 0.0, 0.0, 1.0)["x"] for value in values]
