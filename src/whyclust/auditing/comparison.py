"""Which explanation is the most faithful? Algorithm 1 for NEON and its baselines, on the same draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from whyclust._progress import step
from whyclust.auditing.subject import Subject
from whyclust.baselines import METHODS, options_of
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.rows import explain_rows
from whyclust.metrics.flipping import FlippingResult, best_areas, flipping_of, share_attained
from whyclust.perturbing.subject import Prepared

CONFIDENCE = 0.95
# The best order known costs as much as so many explanations as there are columns: as many rows must do as
# take about this part of what all methods take, at least and at most these; and wide tables are not asked.
REFERENCE_COST = 0.16
FEWEST_REFERENCE = 20
MOST_REFERENCE = 100
MOST_REFERENCE_COLUMNS = 100


@dataclass(frozen=True)
class Candidate:
    """A way to explain: what `explain` is asked for, and what readers are told it is."""

    title: str
    method: str
    rule: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


# Explanations by NEON; the others are baselines, each registered with what it is.
_OF_NEON = {
    "neon": Candidate("NEON, as explain() gives it", "neon"),
    "neon_paper": Candidate("NEON, by the paper's rule min_take_most", "neon", rule="min_take_most"),
}
# What the others are compared with, and what any explanation must beat.
NEEDED = ("neon", "random")


def candidates() -> dict[str, Candidate]:
    """All that can be compared, by name."""
    return _OF_NEON | {
        name: Candidate(one.title, name, options=one.audited_with) for name, one in METHODS.items()
    }


def usual() -> list[str]:
    """Names of what is compared unasked: other baselines take long or need an extra."""
    names = [name for name, one in METHODS.items() if one.usual and name not in NEEDED]
    return [*_OF_NEON, *names, NEEDED[1]]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Areas of all methods, on the same rows and draws.

    Attributes
    ----------
    results : dict of str to FlippingResult
    left_out : dict of str to str
        Methods that do not apply here, each with the reason.
    rows : ndarray of int
        Positions of the rows that were scored.
    reference : tuple of two ndarrays, or None
        Positions among these rows, and the areas of the best order known there; None where it was not asked.
    """

    results: dict[str, FlippingResult]
    left_out: dict[str, str]
    rows: NDArray
    reference: tuple[NDArray, NDArray] | None = None

    def attained(self, name: str = "neon") -> float | None:
        """Of what the best order known gains over a random one, the part that a method gains.

        The best is greedy, on the density that scores, or any method that is better; None where it was not
        asked, or no order is better than chance.
        """
        if self.reference is None:
            return None
        rows, areas = self.reference
        seen = {one: float(result.per_point[rows].mean()) for one, result in self.results.items()}
        share = share_attained(seen[name], seen["random"], [*seen.values(), float(areas.mean())], "insert")
        return share if np.isfinite(share) else None

    @property
    def best(self) -> str:
        """The method with the largest area; NEON where it is among several."""
        return max(self.results, key=lambda name: (self.results[name].auc, name == "neon"))

    @property
    def room(self) -> float:
        """Of what a random order leaves to be gained, the part that NEON gains."""
        floor = self.results["random"].auc
        return (self.results["neon"].auc - floor) / (100.0 - floor) if floor < 100.0 else 0.0

    @property
    def ceiling(self) -> float:
        """The largest area that any order could have: all rows in their cluster from one column on."""
        curve = self.results["random"].curve
        inner = len(curve) - 2
        return 100.0 * float(curve[0] / 2.0 + inner + curve[-1] / 2.0) / (len(curve) - 1)

    def to_pandas(self) -> pd.DataFrame:
        """One line per method, the best first; differences are from NEON, over the same points."""
        neon = self.results["neon"].per_point
        known = candidates()
        lines: list[dict[str, Any]] = []
        for name, result in self.results.items():
            difference, low, high = paired(result.per_point, neon)
            lines.append(
                {
                    "method": name,
                    "what": known[name].title,
                    "auc": result.auc,
                    "se": result.error,
                    "difference": difference,
                    "low": low,
                    "high": high,
                    "neon_is": "" if name == "neon" else standing(low, high),
                }
            )
        # Of equal areas NEON's comes first, then in the order of the list.
        lines.sort(key=lambda line: (-line["auc"], line["method"] != "neon"))
        return pd.DataFrame(lines)


def paired(one: NDArray, other: NDArray) -> tuple[float, float, float]:
    """Mean difference over points, and its 95% interval by Student's t.

    >>> [round(float(number), 3) for number in paired(np.array([1.0, 2.0, 3.0]), np.zeros(3))]
    [2.0, -0.484, 4.484]
    """
    difference = np.asarray(one, dtype=np.float64) - other
    mean = float(difference.mean())
    reach = student.ppf(0.5 + CONFIDENCE / 2, len(difference) - 1)
    reach *= difference.std(ddof=1) / np.sqrt(len(difference))
    return mean, mean - float(reach), mean + float(reach)


def standing(low: float, high: float) -> str:
    """Where NEON stands if the other's difference from it lies between these.

    >>> standing(-2.0, -1.0), standing(-1.0, 1.0), standing(0.1, 0.5)
    ('ahead', 'tied', 'behind')
    """
    if high < 0:
        return "ahead"
    return "behind" if low > 0 else "tied"


def read_methods(methods: Sequence[str] | None) -> list[str]:
    """Names of the methods to score; NEON and the random order are always among them."""
    if methods is None:
        return usual()
    listed = np.iterable(methods) and not isinstance(methods, str)
    if not listed or not all(isinstance(name, str) for name in methods):
        raise TypeError(f"methods={methods!r}, expected a list of names, such as ['ig', 'squared'].")
    known = candidates()
    for name in methods:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f": did you mean {close[0]!r}?" if close else "."
            raise ValueError(
                f"methods names {name!r}, which is unknown, expected some of {', '.join(known)}{hint}"
            )
    return list(dict.fromkeys([NEEDED[0], *methods, NEEDED[1]]))


def compare(
    subject: Subject,
    rows: NDArray,
    prepared: Prepared,
    *,
    methods: Sequence[str] | None,
    n_repeats: int,
    random_state: int,
    progress: Callable[[str], None],
) -> Comparison:
    """Score the methods on these rows of the subject, which are prepared."""
    known = candidates()
    results: dict[str, FlippingResult] = {}
    left_out: dict[str, str] = {}
    asked = read_methods(methods)
    for place, name in enumerate(asked):
        progress(f"Scoring explanations: {known[name].title}")
        step(place, len(asked) + 1)  # the best order comes last
        try:
            explanation = _explained(known[name], subject, rows, prepared, random_state)
            results[name] = flipping_of(prepared, explanation, n_repeats=n_repeats, random_state=random_state)
        except (TypeError, ValueError) as error:
            # Not every baseline applies to every model; what was asked for by name is not passed over.
            if methods is not None or name in NEEDED:
                raise
            left_out[name] = str(error)
    step(len(asked), len(asked) + 1)
    return Comparison(
        results, left_out, rows, _reference(subject, rows, prepared, results, n_repeats, random_state)
    )


def _reference(
    subject: Subject,
    rows: NDArray,
    prepared: Prepared,
    results: dict[str, FlippingResult],
    n_repeats: int,
    random_state: int,
) -> tuple[NDArray, NDArray] | None:
    """Areas of the best order known, for as many rows as cost a small part of all that was scored."""
    n_columns = int(subject.net.features.n_columns)
    affordable = int(REFERENCE_COST * len(results) * len(rows) * 2 / n_columns)
    n_rows = min(max(affordable, FEWEST_REFERENCE), len(rows), MOST_REFERENCE)
    if n_columns > MOST_REFERENCE_COLUMNS:
        return None
    chosen = np.unique(np.linspace(0, len(rows) - 1, n_rows).astype(int))
    neon = _explained(candidates()["neon"], subject, rows, prepared, random_state)
    return chosen, best_areas(prepared, neon, chosen, n_repeats=n_repeats, random_state=random_state)


def _explained(
    candidate: Candidate,
    subject: Subject,
    rows: NDArray,
    prepared: Prepared,
    random_state: int,
) -> Explanation:
    options = dict(candidate.options)
    if candidate.method != "neon" and "random_state" in options_of(candidate.method):
        options["random_state"] = random_state
    return explain_rows(
        subject.net,
        prepared.table,
        rule=candidate.rule,
        given=None if subject.given is None else subject.given[rows],
        fidelity=subject.fidelity,
        source=subject.source,
        method=candidate.method,
        options=options,
        prepared=None if candidate.method == "neon" else prepared,
    )
