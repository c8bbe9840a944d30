"""All that the page shows of an explanation: plain values, and the arrays beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whyclust.auditing.meaning import only_sort
from whyclust.report.data.arrays import Arrays
from whyclust.report.data.changes import changes
from whyclust.report.data.clusters import answers, clusters
from whyclust.report.data.distributions import distribution
from whyclust.report.data.model import add_shown_by_model
from whyclust.report.data.pairs import pairs
from whyclust.report.data.rows import add_rows, chosen_rows, row_names, shown_columns, texts_beside
from whyclust.report.data.typical import nearest_typical
from whyclust.report.engine import engine_spec
from whyclust.report.trust import no_structure
from whyclust.telling.doubtful import doubtful
from whyclust.telling.gaps import mostly_missing

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation
    from whyclust.report.sections import Page


# What an audit asks, in words of people who have not heard of it.
ASKED = {
    "structure": "Are there such clusters?",
    "stability": "Would they come back?",
    "faithfulness": "Are the columns named here those that count?",
}


# Columns of a pair that are drawn, and of the whole page.
DUELS, MOST_DRAWN = 6, 200


def page_data(
    page: Page, title: str, *, rows: bool = True, embedding: Any = None, beside: Any = None
) -> dict[str, Any]:
    """Gather what the page shows; what is in ``arrays`` goes beside it.

    Parameters
    ----------
    page : Page
        What the page is made from.
    title : str
    rows : bool
        Whether single rows may be in the page; otherwise it has sums and means of clusters only.
    embedding : array of shape (n_rows, 2), optional
        Places on the map.
    beside : pandas.DataFrame, optional
        Texts to show beside each row.
    """
    explanation, arrays = page.explanation, Arrays()
    told = clusters(explanation, rows=rows)
    order = [one.cluster for one in explanation.summary()]
    known = {*np.unique(explanation.labels).tolist(), *np.unique(explanation.competitors).tolist()}
    if explanation.origin is not None:  # a changed row may be in a cluster that no row is in
        known |= set(explanation.origin.network.clusters.tolist())
    others = [one for one in explanation.in_order(known) if one not in order]
    codes = {cluster: place for place, cluster in enumerate([*order, *others])}
    answers(explanation, told, rows=rows)
    add_shown_by_model(page, told)
    strongest = _by_turns([one["strongest"] for one in told])
    columns = shown_columns(explanation, strongest)
    duels = pairs(explanation, [one for one in order if not explanation.is_noise(one)])
    drawn = list(dict.fromkeys([*strongest, *_by_turns([one["columns"][:DUELS] for one in _listed(duels)])]))
    labels = np.array([codes[one] for one in np.asarray(explanation.labels).tolist()])
    found: dict[str, Any] = {
        "title": title,
        "headlines": page.headlines,
        "rows": len(explanation),
        "columns": list(explanation.feature_names) if len(explanation.feature_names) <= 50_000 else [],
        "clusters": told,
        "others": [explanation.named(one) for one in others],
        "question": str(explanation.question),
        "ignored": explanation.question.about == "ignored",
        "measures": explanation.provenance.measures,
        "model": explanation.provenance.model or explanation.provenance.head,
        "labels": explanation.given is not None,
        "words": explanation.kind.has_words,
        "trust": _trust(page),
        "notes": page.notes,
        "distributions": {
            str(column): distribution(explanation, column, labels, len(codes), rows=rows)
            for column in sorted(drawn[:MOST_DRAWN])
        }
        if explanation.kind.item_shape == () and not explanation.is_factored
        else {},
        "pairs": duels,
        "held": None,
        "said": page.said,
    }
    if rows:
        named = [row for one in told for row in (*one["typical"], *one["borderline"])]
        held = chosen_rows(explanation, named)
        part = explanation if len(held) == len(explanation) else explanation[held]
        places = (
            embedding
            if embedding is None or isinstance(embedding, str)
            else _taken(embedding, held, len(explanation))
        )
        found["held"] = {
            "count": len(held),
            "positions": len(held) < len(explanation),
            "counted_from": row_names(explanation).get("from"),
            **add_rows(part, codes, columns, arrays, places),
            "beside": texts_beside(beside, held, len(explanation)),
        }
        if len(held) < len(explanation):
            arrays.add("positions", held, "int32")
        found["doubtful"] = _doubtful(explanation, order, told)
        found["gaps"] = _gaps(explanation)
        typical = {cluster: one["typical"] for cluster, one in zip(order, told, strict=True)}
        arrays.add("nearest-typical", nearest_typical(explanation, typical, held), "int32")
        found["engine"] = _engine(explanation, [*order, *others], arrays)
        found["changes"] = changes(explanation, told, found["engine"], codes)
    return {"values": _plain(found), "arrays": arrays}


def _doubtful(explanation: Explanation, order: list[Any], told: list[dict[str, Any]]) -> Any:
    """Below which evidence rows are doubtful, and how many are; those of each cluster are told of it."""
    found = doubtful(explanation)
    if found is None:
        return None
    labels = np.asarray(explanation.labels)
    for cluster, one in zip(order, told, strict=True):
        one["doubtful"] = int((found.rows & (labels == cluster)).sum())
    return {"below": found.below, "count": int(found.rows.sum()), "sentence": found.describe()}


def _gaps(explanation: Explanation) -> dict[str, Any] | None:
    """Rows of which most values are missing, and what is said of them."""
    found = mostly_missing(explanation)
    if found is None:
        return None
    return {"rows": np.flatnonzero(found.rows).tolist(), "sentence": found.describe()}


def _taken(embedding: Any, rows: Any, n_rows: int) -> Any:
    if len(embedding) != n_rows:
        raise ValueError(f"embedding has {len(embedding)} rows, expected {n_rows}: a place for each row.")
    if not np.isfinite(np.asarray(embedding, dtype=float)).all():
        raise ValueError("embedding holds NaN or infinity, expected two finite numbers for each row.")
    return embedding.iloc[rows] if hasattr(embedding, "iloc") else np.asarray(embedding)[rows]


def _by_turns(lists: list[list[int]]) -> list[int]:
    """The strongest of every cluster first, then the second ones, each column once."""
    longest = max((len(one) for one in lists), default=0)
    turns = [one[place] for place in range(longest) for one in lists if place < len(one)]
    return list(dict.fromkeys(turns))


def _listed(duels: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [] if duels is None else duels["pairs"]


def _engine(explanation: Explanation, order: list[Any], arrays: Arrays) -> dict[str, Any]:
    """What the page computes by itself when the reader chooses, or why it cannot."""
    spec, numbers = engine_spec(explanation, order)
    for name, values in numbers.items():
        arrays.add(f"engine-{name}", values, "float64")
    return spec


def _trust(page: Page) -> dict[str, Any]:
    """How far to trust this, in the few words of a badge: audit, certificate, support of k."""
    lines = []
    grade = "unknown"
    if page.audit is not None:
        grade = {"yes": "yes", "with care": "care", "no": "no"}[page.audit.trusted]
        lines.append({"what": "In short", "text": page.audit.meaning})
        lines += [
            {
                "what": ASKED.get(one.question, one.question),
                "text": f"{one.answer.capitalize()}: {one.reason}.",
            }
            for one in page.audit.answers
        ]
    fidelity = page.explanation.fidelity
    if fidelity is not None:
        told = fidelity.sentences()
        lines.append({"what": "Labels", "text": told[0]})
        if len(told) > 1 and grade in ("unknown", "yes"):
            grade = "care"
    tried_k: Sequence[int] = ()
    if page.choice is not None:
        choice = page.choice if isinstance(page.choice, Mapping) else page.choice.to_json()
        tried_k = choice["n_clusters"]
        if choice.get("sentence"):
            lines.append({"what": "Number of clusters", "text": choice["sentence"]})
        if choice.get("stands_out") is False and grade in ("unknown", "yes"):
            grade = "care"
    if page.audit is None:
        tried = "Other clusterings were tried to choose their number, no more. " if len(tried_k) > 1 else ""
        lines.append(
            {
                "what": "Not measured yet",
                "text": f"{tried}An audit would fit these very clusters again, to see whether they are the "
                "same, and would test whether the columns named here decide; there was none. For whoever "
                "made this report: add --audit to whyclust explain, or in Python call "
                "ex.to_html(path, audit=wc.audit(model, X)).",
            }
        )
    sorts = page.audit is not None and only_sort(page.audit.answers)
    return {
        "grade": grade,
        # A mere 'no' would say that the clusters are of no use.
        "word": "Trust: not as groups" if sorts else None,
        "lines": lines,
        "lump": no_structure(page.audit),
    }


def _plain(value: Any) -> Any:
    """Values that JSON can say: NaN and infinity are null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
