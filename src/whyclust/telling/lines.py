"""One line per row that was explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

# The lines have columns of their own, which no id may displace.
TAKEN = {"cluster", "cluster_name", "evidence", "competitor", "surrogate", "disagrees"}


def id_name(column: str | None) -> str:
    """What the ids of rows are called in the lines.

    >>> id_name(None), id_name("customer"), id_name("cluster")
    ('row', 'customer', 'id')
    """
    return "row" if column is None else "id" if column in TAKEN else column


def row_lines(
    explanation: Explanation,
    ids: Sequence[Any] | Any,
    called: str,
    names: Mapping[Any, str] | None = None,
) -> pd.DataFrame:
    """Id, cluster and its name, evidence and competitor of every row; of labels, what the surrogate says.

    Parameters
    ----------
    explanation : Explanation
    ids : sequence
        What the rows are called.
    called : str
        What the ids are called: see `id_name`.
    names : mapping of clusters to names, optional
        Where the explanation is of a part of the rows, and would propose others.
    """
    names = explanation.cluster_names if names is None else names
    lines = pd.DataFrame(
        {
            called: ids,
            "cluster": explanation.clusters,
            "cluster_name": [names[cluster] for cluster in explanation.clusters.tolist()],
            "evidence": explanation.evidence,
            "competitor": explanation.competitors,
        }
    )
    if explanation.given is not None:
        lines["surrogate"] = explanation.assigned
        lines["disagrees"] = explanation.disagrees
    return lines
