"""Two recordings side by side: how far did each case move, and was that asked for?"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from recording_parts.cases import CLOSED, TOLERANCES, Recording

# Entries of one explanation are of one size: what is zero but for rounding is measured by the others.
_TOGETHER = ("values", "base_values", "explained", "evidence")
# Rounding of closed forms in single precision.
_SINGLE = 1e-6

SAME, WITHIN, ASKED, OUT = "identical", "within", "asked to change", "moved"

# With one competitor β has no part in relevance, so duels stay.
_BY_BETA = ("values", "base_values", "paper/*values", "*beta")
_RELEVANCE = ("*values",)
_TRAILING = "trailing linear layers of an encoder are folded together now"
_FROM_MEAN = "seen from the mean now"
_OF_CNET = "β was the weight of the reconstruction"
_REFUSED_BEFORE = "was refused"
_LEFT_OUT = "a row is no longer filled in from itself"
_THREE = f"three questions are answered apart; {_LEFT_OUT}"


@dataclass(frozen=True)
class Change:
    """A change that was asked for: why, and patterns of the entries that it may touch."""

    why: str
    entries: tuple[str, ...] = ("*",)


# By patterns of names of cases. What is not named here stays.
ASKED_TO_CHANGE: dict[str, Change] = {
    "deep: explain CNet*": Change(_OF_CNET, _BY_BETA),
    "deep: explain ClusteringModule": Change(_FROM_MEAN, _RELEVANCE),
    "deep: explain ClusteringModule, random start": Change(_FROM_MEAN, _RELEVANCE),
    "deep: explain linear encoder": Change(_FROM_MEAN, _RELEVANCE),
    "deep: threshold of ClusteringModule": Change(_FROM_MEAN, _RELEVANCE),
    "deep: explain given modules, two linear layers last": Change(_TRAILING, _RELEVANCE),
    "deep: saved and loaded": Change(
        f"C-Net: {_OF_CNET}; the clustering module: {_FROM_MEAN}",
        ("CNet/*values", "CNet/beta", "ClusteringModule/*values", "network of ClusteringModule/*values"),
    ),
    "deep-CNet.npz": Change(_OF_CNET, _BY_BETA),
    "deep-ClusteringModule.npz": Change(_FROM_MEAN, _RELEVANCE),
    "refusals: threshold of *": Change("is a softmax too; " + _REFUSED_BEFORE),
    "refusals: probabilities of DEC's network": Change("has probabilities; " + _REFUSED_BEFORE),
    "refusals: an autoencoder before k-means": Change("networks are pipeline steps; " + _REFUSED_BEFORE),
    "refusals: independent components": Change("is affine; " + _REFUSED_BEFORE),
    "refusals: centres as init of ClusteringModule": Change("raised numpy's own error"),
    "refusals: a subclass with labels of its own": Change("was explained as its parent"),
    "refusals: an arrow table in another order": Change("was read by position"),
    "refusals: mean shift with orphans": Change("rows labelled −1 were explained as members"),
    "networks: single precision": Change(
        "evidence in single precision is averaged in double now, so that parts give the β of the whole",
        ("beta",),
    ),
    "results: command line, audit": Change(
        f"means outside a cluster are merged from those of the others: the last digit; {_THREE}",
        ("summary.clusters.features.outside", "*audit*", "*verdict*", "printed"),
    ),
    "measures: audit of *": Change(_THREE),
    "measures: algorithm 1*": Change(_LEFT_OUT),
    "measures: generated data": Change(
        "SYNTH's other dimensions are wide enough now to hide the clusters from an autoencoder",
        ("make_synth/*",),
    ),
    "deep: fit of AutoencoderKMeans, usual layers": Change(
        "the usual layers are sized by the table; the papers' are in the presets"
    ),
    "refusals: sentence for threshold of k-means": Change("names what has probabilities, more of them now"),
    "deep: audit of DEC": Change(
        f"a row passes the encoder once, in single precision; {_THREE}",
    ),
    "refusals: sentence for polynomials": Change("networks are among what is followed now"),
    "refusals: sentence for labels of another length": Change("one sentence for all who read labels"),
    "refusals: sentence for unknown method": Change("baselines are listed as in the docs"),
}


@dataclass
class Verdict:
    """What became of a case."""

    name: str
    kind: str
    verdict: str = SAME
    largest: float = 0.0
    entry: str = ""
    why: str = ""
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not a number, because a text or a shape changed, is null."""
        largest = self.largest if np.isfinite(self.largest) else None
        return {**vars(self), "largest": largest, "notes": list(self.notes)}


def compare(old: Recording, new: Recording) -> list[Verdict]:
    """A verdict on every case of either recording."""
    found = []
    for name, kind in old.kinds.items():
        if name in new.entries:
            found.append(_compare_case(name, kind, old.entries[name], new.entries[name]))
        else:
            found.append(Verdict(name, kind, OUT, np.inf, why="is not in the second recording"))
    added = [name for name in new.kinds if name not in old.kinds]
    return found + [Verdict(name, new.kinds[name], notes=["only in the second recording"]) for name in added]


def _compare_case(
    name: str, kind: str, before: dict[str, np.ndarray], after: dict[str, np.ndarray]
) -> Verdict:
    verdict = Verdict(name, kind)
    before, after = dict(before), dict(after)
    told, now = before.pop("warnings", np.array([])), after.pop("warnings", np.array([]))
    if told.tolist() != now.tolist():
        verdict.notes.append(f"warnings: {'; '.join(now.tolist()) or 'none any more'}")
    _match_renamed(before, after, verdict)
    moved: list[tuple[float, str, str]] = []
    for entry, value in before.items():
        if entry not in after:
            gone = "raises no more" if entry == "error" else str(after.get("error", "is gone"))
            moved.append((np.inf, entry, gone))
            continue
        difference, why = _difference(value, after[entry], _scale(entry, before))
        if value.dtype != after[entry].dtype and value.dtype.kind != "U":
            verdict.notes.append(f"{entry} was {value.dtype}, is {after[entry].dtype}")
        moved.append((difference, entry, why))
    if "error" in after and "error" not in before:
        moved.append((np.inf, "error", str(after["error"])))
    else:
        more = [entry for entry in after if entry not in before and "error" not in before]
        verdict.notes += [f"more is recorded: {', '.join(more[:5])}"] if more else []
    verdict.largest, verdict.entry, verdict.why = max(moved, default=(0.0, "", ""))
    if verdict.largest > 0:
        verdict.verdict = _judge(verdict, moved, before)
    return verdict


def _judge(verdict: Verdict, moved: list[tuple[float, str, str]], before: dict[str, np.ndarray]) -> str:
    """Within its tolerance, asked for, or neither."""
    beyond = [one for one in moved if one[0] > _tolerance(verdict.kind, before.get(one[1]))]
    if not beyond:
        return WITHIN
    asked = next((one for name, one in ASKED_TO_CHANGE.items() if fnmatchcase(verdict.name, name)), None)
    if asked is not None:
        beyond = [one for one in beyond if not _allowed(one[1], asked)]
        if not beyond:
            verdict.why = asked.why
            return ASKED
    verdict.largest, verdict.entry, verdict.why = max(beyond)
    return OUT


def _allowed(entry: str, asked: Change) -> bool:
    return any(fnmatchcase(entry, pattern) for pattern in asked.entries)


def _tolerance(kind: str, value: np.ndarray | None) -> float:
    if kind == CLOSED and value is not None and value.dtype == np.float32:
        return _SINGLE
    return TOLERANCES[kind]


def _match_renamed(before: dict[str, np.ndarray], after: dict[str, np.ndarray], verdict: Verdict) -> None:
    """Weights may have other names now, as long as every one of them is there, bit for bit."""
    lost = [entry for entry in before if entry.startswith("weights/") and entry not in after]
    new = [entry for entry in after if entry.startswith("weights/") and entry not in before]
    for entry in lost:
        same = next((other for other in new if _identical(before[entry], after[other])), None)
        if same is not None:
            new.remove(same)
            after[entry] = after.pop(same)
            verdict.notes.append(f"{entry} is called {same.removeprefix('weights/')} now")


def _identical(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def _scale(entry: str, entries: dict[str, np.ndarray]) -> float:
    """The largest number beside which a difference counts."""
    around, _, last = entry.rpartition("/")
    beside = [entry]
    if last in _TOGETHER:
        beside = [f"{around}/{name}" if around else name for name in _TOGETHER]
    numbers = [entries[name] for name in beside if name in entries and entries[name].dtype.kind in "fiu"]
    finite = [np.abs(part[np.isfinite(part)]).max(initial=0.0) for part in numbers]
    return float(max(finite, default=0.0)) or 1.0


def _difference(old: np.ndarray, new: np.ndarray, scale: float) -> tuple[float, str]:
    """The largest difference relative to the largest number; infinite where they cannot be compared."""
    if old.shape != new.shape:
        return np.inf, f"has shape {new.shape}, had {old.shape}"
    if old.dtype.kind == new.dtype.kind == "f":
        return _distance(old, new, scale)
    if "U" in (old.dtype.kind, new.dtype.kind):
        old, new = old.astype(str), new.astype(str)
        # Means stand among shares of categories: numbers among texts are compared as numbers.
        pairs = zip(old.flat, new.flat, strict=True)
        numbers = np.array([_is_decimal(one) and _is_decimal(other) for one, other in pairs])
        numbers = numbers.reshape(old.shape).astype(bool)
        if numbers.any() and not (old != new)[~numbers].any():
            ours, theirs = old[numbers].astype(float), new[numbers].astype(float)
            return _distance(ours, theirs, np.abs(ours).max() or 1.0)
    different = np.asarray(old != new)
    if not different.any():
        return 0.0, ""
    place = tuple(np.argwhere(different)[0])
    return np.inf, f"{int(different.sum())} of {different.size} differ: {_first(old[place], new[place])}"


def _is_decimal(text: str) -> bool:
    return re.fullmatch(r"-?\d+\.\d+(e[+-]?\d+)?", text) is not None


def _distance(old: np.ndarray, new: np.ndarray, scale: float) -> tuple[float, str]:
    finite = np.isfinite(old)
    if (finite != np.isfinite(new)).any() or not np.array_equal(old[~finite], new[~finite], equal_nan=True):
        return np.inf, "is not finite in other places"
    far = np.abs(old[finite].astype(float) - new[finite].astype(float)).max(initial=0.0)
    return float(far) / scale, ""


def _first(old: Any, new: Any) -> str:
    one, other = str(old), str(new)
    start = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    start = max(0, start - 20)
    return f"{one[start : start + 60]!r} is {other[start : start + 60]!r} now"


def page(verdicts: list[Verdict]) -> str:
    """A table for a person: what moved first, then what was asked for, then the rest."""
    order = {OUT: 0, ASKED: 1, WITHIN: 2, SAME: 3}
    counts = ", ".join(f"{sum(one.verdict == name for one in verdicts)} {name}" for name in order)
    lines = [f"{len(verdicts)} cases: {counts}.", ""]
    lines += ["| case | kind | largest difference | verdict | where, why |", "|---|---|---|---|---|"]
    for one in sorted(verdicts, key=lambda one: order[one.verdict]):
        told = "; ".join([*filter(None, [one.entry if one.largest else "", one.why]), *one.notes])
        told = " ".join(told.split()).replace("|", "\\|")
        lines.append(f"| {one.name} | {one.kind} | {one.largest:.2g} | {one.verdict} | {told[:300]} |")
    return "\n".join(lines) + "\n"
