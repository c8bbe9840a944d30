"""From measurements to an answer: yes, with care, or no, and why.

No, where one of these holds:

- NEON's area is not above that of a random order (the 95% interval of the difference reaches zero);
- clusters that are not to be trusted (Jaccard below 0.6, Hennig 2007) hold more than half of the rows;
- relevance in refits correlates with the original by less than 0.5;
- labels that the surrogate reproduces on fewer than 75% of unseen rows hold more than half of the rows.

With care, where one of these holds:

- another method is ahead of NEON by more than one point of area (the whole 95% interval is above 1);
- a cluster has a Jaccard similarity below 0.75, or relevance in refits correlates by less than 0.75;
- the surrogate reproduces a label on fewer than 90% of unseen rows;
- the clustering could not be fitted again, unless the labels were given and so are taken as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from whyclust.auditing.comparison import Comparison, paired
from whyclust.auditing.refits import PATTERN, STABLE, Refits
from whyclust.auditing.subject import Subject
from whyclust.cluster.fidelity import ENOUGH_AGREEMENT, Fidelity

ANSWERS = ("yes", "with care", "no")
# More of the rows than this in clusters that cannot be relied on, and the whole cannot.
MOST_ROWS = 0.5
# Areas count from 0 to 100; with many rows a difference is sure long before it matters.
MATTERS = 1.0
RELEVANCE_KEPT, RELEVANCE_LOST = 0.75, 0.5
# Agreement with a label on unseen rows below which its explanation is that of something else.
LABEL_LOST = 0.75
# A sentence names this many clusters; the others are counted.
CLUSTERS_NAMED = 5


@dataclass(frozen=True)
class Doubt:
    """A reason not to answer yes."""

    answer: str
    reason: str


def judge(comparison: Comparison, refits: Refits, subject: Subject) -> tuple[str, list[str]]:
    """The answer, and the sentences that give it with its reasons and numbers."""
    doubts = [
        *_doubts_of_faithfulness(comparison),
        *_doubts_of_stability(refits, subject.as_given),
        *_doubts_of_labels(subject.fidelity),
    ]
    answer = max((doubt.answer for doubt in doubts), key=ANSWERS.index, default=ANSWERS[0])
    # Only the reasons that decide; the sentences that follow have all numbers.
    reasons = [doubt.reason for doubt in doubts if doubt.answer == answer]
    if not doubts:
        reasons = [_all_is_well(comparison, refits, subject.fidelity)]
    told = [f"{answer.capitalize()}: {'; '.join(reasons)}."]
    told += [_faithfulness(comparison), _methods(comparison)]
    told += _stability(refits, subject.as_given)
    told += [] if subject.fidelity is None else subject.fidelity.sentences()
    return answer, told


def _against_random(comparison: Comparison) -> tuple[float, float, float]:
    results = comparison.results
    return paired(results["neon"].per_point, results["random"].per_point)


def _doubts_of_faithfulness(comparison: Comparison) -> list[Doubt]:
    _, low, high = _against_random(comparison)
    if low <= 0:
        return [
            Doubt(
                "no",
                "the relevances order the columns no better than chance (difference from a random order "
                f"{_interval(low, high)})",
            )
        ]
    found = comparison.to_pandas()
    better = found[found["low"] > MATTERS]
    if better.empty:
        return []
    first = better.iloc[0]
    return [
        Doubt(
            "with care",
            f"'{first['method']}' ({first['what']}) is more faithful than NEON on these rows, by "
            f"{first['difference']:.1f} ({_interval(first['low'], first['high'])})",
        )
    ]


def _doubts_of_stability(refits: Refits, as_given: bool) -> list[Doubt]:
    frame = refits.to_pandas()
    if frame is None:
        if as_given:
            return []
        return [Doubt("with care", f"how stable the clusters are is not known: {refits.unknown}")]
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


def _doubts_of_labels(fidelity: Fidelity | None) -> list[Doubt]:
    if fidelity is None or not fidelity.untrusted:
        return []
    answer, threshold = "no", LABEL_LOST
    if _share_below(fidelity, threshold) <= MOST_ROWS:
        answer, threshold = "with care", ENOUGH_AGREEMENT
    share = _share_below(fidelity, threshold)
    return [
        Doubt(
            answer,
            f"the surrogate does not reproduce labels with {share:.0%} of the rows (agreement on unseen rows "
            f"below {threshold:.0%})",
        )
    ]


def _share_below(fidelity: Fidelity, threshold: float) -> float:
    """Share of rows whose label is reproduced on a smaller part of unseen rows than this."""
    return float(fidelity.sizes[fidelity.agreement < threshold].sum() / fidelity.sizes.sum())


def _all_is_well(comparison: Comparison, refits: Refits, fidelity: Fidelity | None) -> str:
    neon, floor = comparison.results["neon"].auc, comparison.results["random"].auc
    well = [f"the relevances are faithful (area {neon:.1f}, a random order has {floor:.1f})"]
    frame = refits.to_pandas()
    if frame is not None:
        come = {1: "the cluster comes", 2: "both clusters come"}.get(
            len(frame), f"all {len(frame)} clusters come"
        )
        well.append(
            f"{come} back when the clustering is fitted again (Jaccard similarity at least "
            f"{frame['jaccard'].min():.2f})"
        )
    if fidelity is not None:
        well.append(f"the surrogate agrees with {fidelity.overall_held_out:.1%} of labels not seen")
    return " and ".join([", ".join(well[:-1]), well[-1]] if len(well) > 1 else well)


def _faithfulness(comparison: Comparison) -> str:
    neon, floor = comparison.results["neon"], comparison.results["random"]
    difference, low, high = _against_random(comparison)
    return (
        "Faithful? Adding columns from the most to the least relevant, the share of rows in their cluster "
        f"has an area of {neon.auc:.1f} ± {neon.error:.1f} (of 100); in random order {floor.auc:.1f} ± "
        f"{floor.error:.1f}: {difference:+.1f} ({_interval(low, high)}), {comparison.room:.0%} of what there "
        "is to gain."
    )


def _methods(comparison: Comparison) -> str:
    found = comparison.to_pandas()
    others = found[~found["method"].isin(["neon", "random"])]
    if others.empty:
        return "No other method was compared with NEON."
    parts = []
    for word, phrase in [("ahead", "ahead of"), ("tied", "tied with"), ("behind", "behind")]:
        names = others.loc[others["neon_is"] == word, "method"].tolist()
        if names:
            parts.append(f"{phrase} {', '.join(names)}")
    best = "NEON; it" if comparison.best == "neon" else f"{comparison.best}; NEON"
    told = f"Best here is {best} is {'; '.join(parts)}"
    behind = others[others["neon_is"] == "behind"]
    if len(behind):
        first = behind.iloc[0]
        told += f" (by {first['difference']:.1f}, {_interval(first['low'], first['high'])})"
    return told + "."


def _stability(refits: Refits, as_given: bool) -> list[str]:
    if not refits.known:
        also = " They are explained as they are." if as_given else ""
        return [f"Stable? Not known: {refits.unknown}.{also}"]
    words = ("Stable?", "And:")
    return [f"{word} {one.sentence()}" for word, one in zip(words, refits.known.values(), strict=False)]


def _named(frame: pd.DataFrame) -> str:
    """Clusters with their similarities, the least stable first."""
    frame = frame.sort_values("jaccard", kind="stable")
    parts = [
        f"{cluster} has {value:.2f}"
        for cluster, value in zip(frame["cluster"], frame["jaccard"], strict=True)
    ]
    more = len(parts) - CLUSTERS_NAMED
    return ", ".join(parts[:CLUSTERS_NAMED]) + (f" and {more} more" if more > 0 else "")


def _interval(low: Any, high: Any) -> str:
    return f"95% interval {float(np.round(low, 2)):.2f} to {float(np.round(high, 2)):.2f}"
