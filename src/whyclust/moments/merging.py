"""Dictionaries of things that merge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[Any, Any]:
    """Merge by key; what only one of them has stays as it is.

    >>> merge({"a": 1, "b": 2}, {"b": 3, "c": 4})
    {'a': 1, 'b': 5, 'c': 4}
    """
    merged = dict(one)
    for key, value in other.items():
        merged[key] = merged[key] + value if key in merged else value
    return merged
