"""Text that a spreadsheet would take for a formula, and run."""

from __future__ import annotations

import pandas as pd

# What formulas begin with, in one program or another.
_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n")
_FULL_WIDTH = ("＝", "＋", "－", "＠")


def is_formula(text: object) -> bool:
    """Whether a spreadsheet would compute this text; numbers with a sign are numbers.

    >>> [is_formula(text) for text in ("=1+1", "@sum", "-2", "- 2 of 3", "a=b")]
    [True, True, False, True, False]
    """
    if not isinstance(text, str) or not text.startswith(_BEGINNINGS + _FULL_WIDTH):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return text.startswith(("\t", "\r", "\n"))


def without_formulas(lines: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """The lines with an apostrophe before such text, in names of columns, too; and how often it was put.

    >>> lines, count = without_formulas(pd.DataFrame({"row": ["=1+1", "b"], "cluster": [-1, 0]}))
    >>> lines["row"].tolist(), lines["cluster"].tolist(), count
    (["'=1+1", 'b'], [-1, 0], 1)
    """
    changed, count = {}, 0
    for name in lines.columns:
        column = lines[name]
        if pd.api.types.is_numeric_dtype(column.dtype):
            changed[name] = column
            continue
        found = [f"'{one}" if is_formula(one) else one for one in column.tolist()]
        count += sum(map(is_formula, column.tolist()))
        changed[name] = pd.Series(found, index=column.index, dtype=object)
    names = [f"'{name}" if is_formula(name) else name for name in lines.columns]
    count += sum(map(is_formula, lines.columns))
    return pd.DataFrame(changed, index=lines.index).set_axis(names, axis=1), count
