"""Columns that say the same as another one, and would count twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pandas as pd

# Columns of more values than this, or whose values hardly repeat, say the same only if their numbers are the
# same: any two columns that are different in every row tell rows apart alike.
MOST_VALUES, FEWEST_ROWS = 50, 4


def repeats(frame: pd.DataFrame, names: Iterable[str]) -> dict[str, str]:
    """Find columns that tell rows apart just as another column does.

    'yes' and 'no' say the same as 1 and 0, and 'First' as 1, if that is so in every row. Gaps must be in the
    same rows.

    Parameters
    ----------
    frame : pandas.DataFrame
    names : iterable of str
        The columns to compare, in their order.

    Returns
    -------
    dict of str to str
        The columns to leave out, each with the one that stays: the one in words, if there is one, else the
        first.

    Examples
    --------
    >>> frame = pd.DataFrame({"class": [1, 3, 1, 3] * 2, "called": ["First", "Third"] * 4, "age": range(8)})
    >>> repeats(frame, frame)
    {'class': 'called'}
    """
    seen: dict[bytes, list[str]] = {}
    for name in names:
        column = frame[name]
        try:
            codes, values = pd.factorize(column)
        except TypeError:  # what cannot be hashed is no category
            continue
        if len(values) < 2:
            continue
        # A digest, since the columns themselves would all be held at once.
        told = hashlib.blake2b(codes.astype(np.int32).tobytes())
        if len(values) > min(MOST_VALUES, len(column) / FEWEST_ROWS):
            if not pd.api.types.is_numeric_dtype(column.dtype):
                continue
            told.update(np.asarray(values, dtype=np.float64).tobytes())
        seen.setdefault(told.digest(), []).append(name)
    found: dict[str, str] = {}
    for alike in seen.values():
        worded = [name for name in alike if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
        kept = [*worded, *alike][0]
        found |= {name: kept for name in alike if name != kept}
    return {name: found[name] for name in frame.columns if name in found}
