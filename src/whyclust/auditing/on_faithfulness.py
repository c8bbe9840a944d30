"""Is the explanation faithful? From areas of Algorithm 1, and the agreement of a surrogate, to an answer.

No, where NEON's area is not above that of a random order (the 95% interval of the difference reaches zero)
although another order could have a larger one; or where labels that the surrogate reproduces on fewer than
75% of unseen rows hold more than half of the rows. With care, where another method is ahead of NEON by more
than one point of area (the whole 95% interval is above 1), or the surrogate reproduces a label on fewer than
90% of unseen rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from whyclust.auditing.answers import Answer, Doubt, answered
from whyclust.auditing.comparison import Comparison, paired
from whyclust.cluster.fidelity import ENOUGH_AGREEMENT, Fidelity

# Areas count from 0 to 100; with many rows a difference is sure long before it matters.
MATTERS = 1.0
# Agreement with a label on unseen rows below which its explanation is that of something else.
LABEL_LOST = 0.75
# More of the rows than this under labels that are lost, and the whole is.
MOST_ROWS = 0.5


def answer_faithfulness(comparison: Comparison, fidelity: Fidelity | None) -> Answer:
    """Whether the relevances say what decides, and of what is explained."""
    doubts = [*_doubts_of_faithfulness(comparison), *_doubts_of_labels(fidelity)]
    answer = answered("faithfulness", doubts, _all_is_well(comparison, fidelity))
    told = [_areas(comparison), _methods(comparison)]
    told += [] if fidelity is None else fidelity.sentences()
    return replace(answer, sentences=tuple(told))


def at_the_ceiling(comparison: Comparison) -> bool:
    """Whether no order of the columns could have an area that is larger by what matters.

    Where every single column decides, all orders are alike: that is no defect of an explanation.
    """
    return comparison.results["neon"].auc >= comparison.ceiling - MATTERS


def _against_random(comparison: Comparison) -> tuple[float, float, float]:
    results = comparison.results
    return paired(results["neon"].per_point, results["random"].per_point)


def _doubts_of_faithfulness(comparison: Comparison) -> list[Doubt]:
    if at_the_ceiling(comparison):
        return []
    _, low, high = _against_random(comparison)
    if low <= 0:
        how = "worse than a random order does" if high < 0 else "no better than chance"
        return [
            Doubt(
                "no",
                f"the relevances order the columns {how} (difference from a random order "
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


def _all_is_well(comparison: Comparison, fidelity: Fidelity | None) -> str:
    neon, floor = comparison.results["neon"].auc, comparison.results["random"].auc
    well = f"the relevances are faithful (area {neon:.1f}, a random order has {floor:.1f})"
    if at_the_ceiling(comparison) and _against_random(comparison)[1] <= 0:
        well = (
            f"the relevances are as faithful as can be (area {neon:.1f}: any column decides alone, and no "
            f"order could have more than {comparison.ceiling:.1f})"
        )
    if fidelity is not None:
        well += f" to a surrogate that agrees with {fidelity.overall_held_out:.1%} of labels not seen"
    return well


def _areas(comparison: Comparison) -> str:
    neon, floor = comparison.results["neon"], comparison.results["random"]
    difference, low, high = _against_random(comparison)
    return (
        "Adding columns from the most to the least relevant, the share of "
        f"rows in their cluster has an area of {neon.auc:.1f} ± {neon.error:.1f} (of 100); in random order "
        f"{floor.auc:.1f} ± {floor.error:.1f}: {difference:+.1f} ({_interval(low, high)}), "
        f"{comparison.room:.0%} of what there is to gain.{_attained(comparison)}"
    )


def _attained(comparison: Comparison) -> str:
    share = comparison.attained()
    return "" if share is None else f" That is {share:.0%} of the best order known."


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
    told = f"Of the methods of explaining, best here is {best} is {'; '.join(parts)}"
    behind = others[others["neon_is"] == "behind"]
    if len(behind):
        first = behind.iloc[0]
        told += f" (by {first['difference']:.1f}, {_interval(first['low'], first['high'])})"
    return told + "."


def _interval(low: Any, high: Any) -> str:
    return f"95% interval {float(np.round(low, 2)):.2f} to {float(np.round(high, 2)):.2f}"
