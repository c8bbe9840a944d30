"""Do clusters come back? From refits to an answer.

No, where clusters that are not to be trusted (Jaccard below 0.6, Hennig 2007) hold more than half of the
rows, or where relevance in refits correlates with the original by less than 0.5. With care, where a cluster
has a Jaccard similarity below 0.75, or relevance correlates by less than 0.75, or the clustering could not be
fitted again. Labels that were given are taken as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from whyclust.auditing.answers import NOT_ASKED, Answer, Doubt, answered
from whyclust.auditing.on_structure import CLUSTERS_NAMED
from whyclust.auditing.refits import PATTERN, STABLE, Refits

# More of the rows than this in clusters that cannot be relied on, and the whole cannot.
MOST_ROWS = 0.5
RELEVANCE_KEPT, RELEVANCE_LOST = 0.75, 0.5


def answer_stability(refits: Refits, as_given: bool) -> Answer:
    """Whether clusters and relevances come back when the clustering is fitted again."""
    frame = refits.to_pandas()
    if frame is None and as_given:
        return Answer("stability", NOT_ASKED, str(refits.unknown), ("They are explained as they are.",))
    if frame is None:
        return Answer("stability", "with care", f"how stable the clusters are is not known: {refits.unknown}")
    come = {1: "the cluster comes", 2: "both clusters come"}.get(
        len(frame), f"all {len(frame)} clusters come"
    )
    well = (
        f"{come} back when the clustering is fitted again (Jaccard similarity at least "
        f"{frame['jaccard'].min():.2f})"
    )
    answer = answered("stability", _doubts_of(refits, frame), well)
    first, *others = [one.sentence() for one in refits.known.values()]
    told = [first, *(f"And: {one}" for one in others)]
    return replace(answer, sentences=(*told, *_sampled(refits, frame)))


def _doubts_of(refits: Refits, frame: pd.DataFrame) -> list[Doubt]:
    doubts = []
    if refits.bootstrap is None:
        told = (
            "the clustering could not be fitted again on samples of the rows, so only other seeds were tried"
        )
        doubts.append(Doubt("with care", told))
    jaccard, rows = frame["jaccard"].to_numpy(dtype=float), frame["rows"].to_numpy(dtype=float)
    lost = jaccard < PATTERN
    if rows[lost].sum() > MOST_ROWS * rows.sum():
        doubts.append(
            Doubt(
                "no",
                f"clusters with {rows[lost].sum() / rows.sum():.0%} of the rows do not come back when the "
                f"clustering is fitted again (Jaccard similarity below {PATTERN:g}: {_named(frame[lost])})",
            )
        )
    elif (jaccard < STABLE).any():
        doubts.append(
            Doubt(
                "with care",
                f"not all clusters are stable when the clustering is fitted again (Jaccard similarity below "
                f"{STABLE:g}: {_named(frame[jaccard < STABLE])})",
            )
        )
    kept = refits.relevance
    if kept is not None and kept.mean < RELEVANCE_KEPT:
        doubts.append(
            Doubt(
                "no" if kept.mean < RELEVANCE_LOST else "with care",
                f"the relevances change when the clustering is fitted again (correlation "
                f"{kept.mean:.2f} ± {kept.standard_error:.2f})",
            )
        )
    return doubts


def _sampled(refits: Refits, frame: pd.DataFrame) -> list[str]:
    """On how many rows, and how exact a share of them is; nothing where all rows were taken."""
    n_rows = int(frame["rows"].sum())
    if refits.n_rows is None or refits.n_rows >= n_rows:
        return []
    least = max(int(frame["rows"].min()) * refits.n_rows // n_rows, 1)
    return [
        f"Refits are of a sample of {refits.n_rows:,} of {n_rows:,} rows, from every cluster in proportion "
        f"to its size: shares of rows are known to ±{_reach(refits.n_rows):.1%} (95%), of those of the "
        f"smallest cluster to ±{_reach(least):.0%}."
    ]


def _reach(count: int) -> float:
    """Half of the widest 95% interval of a share of so many rows."""
    return float(min(0.98 / np.sqrt(count), 1.0))


def _named(frame: pd.DataFrame) -> str:
    """Clusters with their similarities, the least stable first."""
    frame = frame.sort_values("jaccard", kind="stable")
    parts = [
        f"{cluster} has {value:.2f}"
        for cluster, value in zip(frame["cluster"], frame["jaccard"], strict=True)
    ]
    more = len(parts) - CLUSTERS_NAMED
    return ", ".join(parts[:CLUSTERS_NAMED]) + (f" and {more} more" if more > 0 else "")
