"""Groups of columns that share a gate: given, or found by correlation.

Of columns that say the same an autoencoder needs one, and which one it keeps is chance. In a group they open
together, and a group costs as much as one column.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import did_you_mean

# Columns are of one group from this absolute correlation with its first column on.
ALIKE = 0.9


def check_groups(name: str, value: Any) -> None:
    """None, "correlation", or sequences of columns."""
    if value is None or (isinstance(value, str) and value == "correlation"):
        return
    # An iterator would be used up by looking at it.
    listed = list(value) if np.iterable(value) and not isinstance(value, (str, Iterator)) else [None]
    if not all(np.iterable(one) and not isinstance(one, (str, Iterator)) for one in listed):
        raise ValueError(
            f"{name}={value!r}, expected None, 'correlation', or lists of columns such as [[0, 1], [4, 7]]."
        )


def groups_of(given: Any, table: NDArray, names: list[str] | None) -> NDArray | None:
    """The number of each column's group, from 0 on without gaps; None where every column is alone."""
    if given is None:
        return None
    if isinstance(given, str):
        return correlated(table)
    found = np.full(table.shape[1], -1)
    for number, columns in enumerate(given):
        for column in columns:
            place = _position(column, table.shape[1], names)
            if found[place] >= 0:
                raise ValueError(f"groups has the column {column!r} twice: a column shares one gate.")
            found[place] = number
    alone = np.flatnonzero(found < 0)
    found[alone] = len(list(given)) + np.arange(len(alone))
    return _without_gaps(found)


def correlated(table: NDArray, *, at_least: float = ALIKE) -> NDArray:
    """Groups of columns that correlate with the first one of theirs; signs do not matter.

    >>> rows = np.array([[0.0, 1.0, -0.0, 5.0], [1.0, 0.0, -2.0, 5.0], [3.0, 1.0, -6.0, 5.0]])
    >>> correlated(rows)
    array([0, 1, 0, 2])
    """
    centred = table.astype(np.float64) - table.mean(axis=0, dtype=np.float64)
    lengths = np.linalg.norm(centred, axis=0)
    centred /= np.where(lengths > 0, lengths, 1.0)
    found = np.full(table.shape[1], -1)
    number = 0
    for column in range(table.shape[1]):
        if found[column] >= 0:
            continue
        alike = (found < 0) & (np.abs(centred[:, column] @ centred) >= at_least)
        alike[column] = True
        found[alike] = number
        number += 1
    return found


def _position(column: Any, n_columns: int, names: list[str] | None) -> int:
    if isinstance(column, str) and names is not None and column in names:
        return names.index(column)
    whole = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
    if not whole or not 0 <= column < n_columns:
        named = "." if names is None else f", or their names{did_you_mean(column, names)}"
        if isinstance(column, str) and names is None:
            named = (
                ", for X came without names: give positions, or, in a Pipeline, let the steps before pass "
                'names on: pipeline.set_output(transform="pandas").'
            )
        raise ValueError(
            f"groups has {column!r}, expected positions of columns from 0 to {n_columns - 1}{named}"
        )
    return int(column)


def _without_gaps(found: NDArray) -> NDArray:
    return np.unique(found, return_inverse=True)[1].astype(np.int64)
