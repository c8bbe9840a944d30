"""Names in the order in which people count."""

from __future__ import annotations

import re
from typing import Any


def as_counted(name: Any) -> tuple[Any, ...]:
    """A key by which names sort as people count: 2 before 10, also where they are texts.

    >>> sorted(["10", "9b", "2", "9a", "b"], key=as_counted), sorted([10, 2, -1], key=as_counted)
    (['2', '9a', '9b', '10', 'b'], [-1, 2, 10])
    """
    if not isinstance(name, str):
        return ((0, name, ""),)
    parts = re.split(r"(\d+)", name)
    found = tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts if part)
    return (*found, (-1, 0, name))
