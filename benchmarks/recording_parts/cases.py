"""Cases by name: what each computes, of which kind its numbers are, and how they become arrays."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

# Kinds of numbers, and how far each may move, relative to the largest value beside it.
TRAINING, CLOSED, DEEP, AUDIT, TEXT = "training", "closed form", "deep relevance", "audit", "text"
TOLERANCES = {TRAINING: 0.0, CLOSED: 1e-12, DEEP: 1e-5, AUDIT: 0.0, TEXT: 0.0}

# Modules of cases; those that need torch or shap are imported only when they are asked for.
GROUPS = ("networks", "pipelines", "labels", "results", "measures", "rules", "deep", "refusals")
QUICK = ("networks",)

Numbers = dict[str, Any]
# Between the name of a case and that of an entry in a file.
_SEPARATOR = "|"
_HEADER = "recording"


@dataclass(frozen=True)
class Case:
    """What is recorded under a name."""

    name: str
    kind: str
    measure: Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Recording:
    """Entries of every case, and the kind of each case."""

    kinds: dict[str, str]
    entries: dict[str, dict[str, np.ndarray]]


CASES: dict[str, Case] = {}


def add(name: str, kind: str, measure: Callable[..., Mapping[str, Any]], *arguments: Any) -> None:
    """Register a case."""
    if name in CASES:
        raise ValueError(f"There are two cases called {name!r}: give each a name of its own.")
    CASES[name] = Case(name, kind, lambda: measure(*arguments))


def case(name: str, kind: str) -> Callable[[Callable[[], Mapping[str, Any]]], Callable[[], Any]]:
    """Register a function as a case."""

    def register(function: Callable[[], Mapping[str, Any]]) -> Callable[[], Any]:
        add(name, kind, function)
        return function

    return register


def explained(ex: Any, prefix: str = "") -> Numbers:
    """What every version of an explanation has."""
    found = {
        "values": np.asarray(ex.values),
        **{name: np.asarray(getattr(ex, name)) for name in ("base_values", "explained", "evidence")},
        **{name: np.asarray(getattr(ex, name)) for name in ("clusters", "assigned", "competitors")},
        "beta": ex.beta,
    }
    return {f"{prefix}{name}": value for name, value in found.items()}


def attributes(thing: Any, *names: str) -> Numbers:
    """Public attributes of a fitted model or a result, of which those that are missing are left out."""
    return {name: getattr(thing, name) for name in names if getattr(thing, name, None) is not None}


def flat(value: Any, prefix: str = "") -> Numbers:
    """Leaves of JSON by their path, the places in lists left out: one array of numbers or of texts each.

    >>> flat({"clusters": [{"size": 3}, {"size": 4}]})
    {'clusters.size': array([3, 4])}
    """
    leaves: dict[str, list[Any]] = {}

    def visit(part: Any, path: str) -> None:
        if isinstance(part, Mapping):
            for key, inner in part.items():
                visit(inner, f"{path}.{key}" if path else str(key))
        elif isinstance(part, (list, tuple)):
            for inner in part:
                visit(inner, path)
        else:
            leaves.setdefault(path, []).append(part)

    visit(json.loads(json.dumps(value)), prefix)
    return {path: _leaves(parts) for path, parts in leaves.items()}


def _leaves(parts: list[Any]) -> np.ndarray:
    if all(isinstance(part, (int, float, type(None))) for part in parts):
        known = [np.nan if part is None else part for part in parts]
        return np.array(known, dtype=float if None in parts else None)
    return np.array([part if isinstance(part, str) else json.dumps(part) for part in parts])


def array(value: Any) -> np.ndarray:
    """Numbers, texts and tensors as arrays that a file can hold without pickle."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    found = np.asarray(value)
    return found.astype(str) if found.dtype == object else found


def cases(groups: Iterable[str] = GROUPS, only: str | None = None) -> list[Case]:
    """Cases of these groups, those whose names hold a text."""
    before = set(CASES)
    for group in groups:
        importlib.import_module(f"recording_parts.of_{group}")
    wanted = tuple(f"{group}: " for group in groups)
    unknown = [name for name in set(CASES) - before if not name.startswith(tuple(f"{g}: " for g in GROUPS))]
    if unknown:
        raise ValueError(f"The case {unknown[0]!r} has no group: begin its name with one of {GROUPS}.")
    return [one for one in CASES.values() if one.name.startswith(wanted) and (only or "") in one.name]


def measured(one: Case) -> dict[str, np.ndarray]:
    """Entries of a case; of one that raises, its error, which is a result too."""
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            found = {name: array(value) for name, value in one.measure().items()}
        except Exception as error:  # whatever it is, it is what a user sees
            found = {"error": np.array(f"{type(error).__name__}: {error}")}
    told = sorted({" ".join(str(w.message).split()) for w in caught if w.category is UserWarning})
    return {**found, **({"warnings": np.array(told)} if told else {})}


def record(chosen: Iterable[Case], tell: Callable[[str], None] = lambda text: None) -> Recording:
    """Measure cases, one after the other."""
    kinds, entries = {}, {}
    for one in chosen:
        tell(one.name)
        kinds[one.name], entries[one.name] = one.kind, measured(one)
    return Recording(kinds, entries)


def write(recording: Recording, path: Path) -> None:
    """Write a recording to an .npz file."""
    arrays = {
        f"{name}{_SEPARATOR}{entry}": value
        for name, found in recording.entries.items()
        for entry, value in found.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        np.savez_compressed(stream, **{_HEADER: np.array(json.dumps(recording.kinds))}, **arrays)


def read(path: Path) -> Recording:
    """Read what `write` wrote."""
    with np.load(path, allow_pickle=False) as archive:
        kinds = json.loads(str(archive[_HEADER]))
        entries: dict[str, dict[str, np.ndarray]] = {name: {} for name in kinds}
        for key in archive.files:
            if key != _HEADER:
                name, _, entry = key.partition(_SEPARATOR)
                entries[name][entry] = archive[key]
    return Recording(kinds, entries)
