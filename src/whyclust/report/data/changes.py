"""Smallest changes that the page cannot find by itself, found beforehand for some rows that it names."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whyclust._frames import is_frame
from whyclust._progress import stage, step
from whyclust.answers._asked import read_asked
from whyclust.answers._changeable import Changeable
from whyclust.answers._regions import regions_of
from whyclust.answers.smallest_change import Subject, row_position
from whyclust.inputs.kind import TABLE
from whyclust.inputs.reading import is_sparse
from whyclust.report.data.rows import WIDE

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

# At bent borders a row takes a second or so; at flat ones as long as the table is wide.
MOST_BENT, MOST_FLAT, FEWEST_FLAT = 6, 40, 3
# Rows × columns of wide tables that are asked: some seconds.
MOST_WIDE = 50_000
# Columns of one change that are told.
TOLD = 20


def changes(
    explanation: Explanation, told: list[dict[str, Any]], engine: Mapping[str, Any], codes: Mapping[Any, int]
) -> dict[str, Any] | None:
    """Smallest changes of the rows that the page names, the most doubtful one of each cluster first.

    Only where the page does not find them itself: of wide tables, in which as few columns as possible are
    to change, and where borders are bent. Categories stay as they are, as in the page; in wide tables so do
    all columns that do not move freely.

    Parameters
    ----------
    explanation : Explanation
    told : list of dict
        What the page tells of the clusters.
    engine : mapping
        What `engine_spec` says: whether the page finds changes itself.
    codes : mapping of cluster to int
        The place of each cluster in the page's list.

    Returns
    -------
    dict or None
        None where the page needs none, or none can be had in some seconds.
    """
    wide = explanation.shape[1] > WIDE
    if ("change" in engine and not wide) or not _can_be_asked(explanation):
        return None
    net = explanation._origin().network
    flat = regions_of(net) is not None
    # Through a deep network, and along bent borders of very many columns, a row takes many seconds.
    if net.features.trunk is not None or (wide and not flat):
        return None
    most = min(max(MOST_WIDE // explanation.shape[1], FEWEST_FLAT), MOST_FLAT) if flat else MOST_BENT
    by_turns = chain.from_iterable(zip_longest(*([*one["borderline"], *one["typical"]] for one in told)))
    rows = list(islice(dict.fromkeys(row for row in by_turns if row is not None), most))
    subject = Subject.of(explanation)
    held = _categories(explanation.data)
    asked = read_asked(subject.names, held, None, (), sparse=wide)
    if wide:  # combinations of values that are tried one by one are too many
        kinds = Changeable(subject.net, subject.table, 0, asked).kinds
        held += [column for column, kind in kinds.items() if kind == "choice"]
        asked = read_asked(subject.names, held, None, (), sparse=wide)
    found = {}
    stage("Writing the report: nearest changes")
    for place, row in enumerate(rows):
        step(place, len(rows))
        try:
            change = subject.changed(row_position(explanation, row), None, asked, sparse=wide)
        except (ValueError, TypeError):  # none leads elsewhere, or this table cannot be asked
            continue
        lines = change.changes.head(TOLD)
        found[str(row)] = {
            "to": codes[change.to],
            "distance": change.distance,
            "exact": change.exact,
            "metric": change.metric,
            "changes": [list(line) for line in lines.itertuples(index=False)],
            "left": len(change.changes) - len(lines),
        }
    return {"few": wide, "rows": found} if found else None


def _can_be_asked(explanation: Explanation) -> bool:
    origin = explanation.origin
    usual = explanation.question.about in ("assigned", "given") and explanation.question.threshold is None
    plain = explanation.provenance.method == "neon" and explanation.kind == TABLE and len(explanation) > 1
    if origin is None or not usual or not plain or origin.network.kind != TABLE:
        return False
    return origin.options.get("groups") is None and not is_sparse(origin.table.data)


def _categories(data: Any) -> list[int]:
    """Columns that are no numbers."""
    if not is_frame(data):
        return []
    return [place for place, kind in enumerate(data.dtypes) if not _are_numbers(data, place, kind)]


def _are_numbers(data: Any, place: int, kind: Any) -> bool:
    if pd.api.types.is_object_dtype(kind):  # numbers among gaps, or texts
        return all(isinstance(one, (int, float, np.number)) for one in data.iloc[:1000, place])
    return bool(pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind))
