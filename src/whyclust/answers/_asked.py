"""What a user allows to change in a row: columns that stay, bounds, whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whyclust._checks import did_you_mean


@dataclass(frozen=True, eq=False)
class Asked:
    """What a user allows, by positions of the user's columns."""

    fixed: frozenset[int] = frozenset()
    bounds: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    whole: frozenset[int] = frozenset()
    groups: tuple[tuple[int, ...], ...] = ()
    within_data: bool = False


def read_asked(names: list[str], fixed: Any, bounds: Any, whole: Any, *, sparse: bool) -> Asked:
    """What a user allows, checked."""
    groups = [one for one in _listed(whole) if isinstance(one, (list, tuple, set, frozenset))]
    single = [one for one in _listed(whole) if not isinstance(one, (list, tuple, set, frozenset))]
    limits: dict[int, tuple[float, float]] = {}
    if isinstance(bounds, str) and bounds != "data":
        raise ValueError(f"bounds={bounds!r}, expected 'data' or a mapping of columns to (lowest, highest).")
    if bounds is not None and not isinstance(bounds, (str, Mapping)):
        raise ValueError(
            f"bounds is a {type(bounds).__name__}, expected a mapping of columns to (lowest, highest)."
        )
    for column, pair in bounds.items() if isinstance(bounds, Mapping) else ():
        limits[place_among(names, column, "bounds")] = _pair(column, pair)
    return Asked(
        frozenset(place_among(names, column, "fixed") for column in _listed(fixed)),
        limits,
        frozenset(place_among(names, column, "whole") for column in single),
        tuple(tuple(place_among(names, column, "whole") for column in group) for group in groups),
        within_data=bounds == "data" or (bounds is None and sparse),
    )


def _listed(columns: Any) -> list[Any]:
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        return [columns]
    return list(columns)


def _pair(column: Any, pair: Any) -> tuple[float, float]:
    try:
        low, high = pair
        ends = (-np.inf if low is None else float(low), np.inf if high is None else float(high))
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds of {column!r} are {pair!r}, expected (lowest, highest), None for a side without bound."
        ) from None
    if not ends[0] <= ends[1]:
        raise ValueError(f"bounds of {column!r} are {pair!r}, expected the lowest first.")
    return ends


def place_among(names: list[str], column: Any, called: str) -> int:
    """The position of a column given by name or by position."""
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        if 0 <= column < len(names):
            return int(column)
        raise ValueError(f"{called} names column {column}, expected 0 to {len(names) - 1}.")
    if str(column) in names:
        return names.index(str(column))
    raise ValueError(f"{called} names {column!r}, which is no column{did_you_mean(column, names)}")
