"""Which columns a picture shows, and what becomes of the others: they are summed in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.explaining.explanation import Explanation


def strongest(values: NDArray, top: int, *, absent: bool = True) -> tuple[NDArray, NDArray]:
    """Columns of the largest absolute values, largest first, and all others.

    Where `absent` columns are not shown, those without a value are among the others.
    """
    order = np.argsort(-np.abs(values), kind="stable")
    count = len(order) if absent else int(np.count_nonzero(values))
    # To sum up a single column in a line of its own would hide its name for nothing.
    kept = count if count <= top + 1 else top
    return order[:kept], order[kept:]


def rest_of(count: int, *, absent: bool = True) -> str:
    """What the line is called that sums the columns which are not drawn."""
    return f"{count:,} other columns, summed" if absent else f"{count:,} other columns and zeros, summed"


def mean_relevance(explanation: Explanation, rows: NDArray) -> tuple[NDArray, NDArray]:
    """Mean relevance of each column over some rows: what is shown of it, and all."""
    whole = np.asarray(explanation.values[rows].mean(axis=0), dtype=float)
    if explanation.absent:
        return whole, whole
    return np.asarray(explanation.shown[rows].mean(axis=0), dtype=float), whole


def summed(shown: NDArray, whole: NDArray, kept: NDArray, others: NDArray) -> float:
    """The relevance that is not drawn: other columns, and what is not shown of those that are drawn."""
    return float(whole[others].sum() + (whole[kept] - shown[kept]).sum())


def strength_of(values: Any) -> NDArray:
    """Mean absolute relevance of each column, block by block where values are kept as factors."""
    if not hasattr(values, "blocks"):
        return np.abs(values).mean(axis=0)
    total = np.zeros(values.shape[1])
    for _, block in values.blocks():
        total += np.abs(block).sum(axis=0)
    return total / max(len(values), 1)
