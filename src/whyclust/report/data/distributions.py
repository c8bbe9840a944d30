"""How the values of a column are spread in every cluster, as counts in common bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._frames import column_values

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

BINS = 24
# Of a page without rows, in which no bin should be a single row's.
FEW_BINS = 8
MOST_BARS = 12


def distribution(
    explanation: Explanation, column: int, codes: NDArray, n_clusters: int, *, rows: bool = True
) -> dict[str, Any]:
    """Count values of a column by cluster.

    Numbers beyond the outermost percent are counted in the first and last bin. Of categories the most
    frequent are counted, the others together.

    Parameters
    ----------
    explanation : Explanation
    column : int
    codes : ndarray of int
        The place of each row's cluster in the page's list.
    n_clusters : int
    rows : bool
        Whether the page may tell of single rows; otherwise bins are wider, and their ends round.
    """
    values = column_values(explanation.data, column)
    if values.dtype.kind in "iuf":
        return _of_numbers(values.astype(float), codes, n_clusters, rows=rows)
    texts = pd.Series(values, dtype=object)
    known = texts.notna().to_numpy()
    frequent = texts[known].map(str).value_counts()
    kept = [str(one) for one in frequent.index[:MOST_BARS]]
    if set(kept) <= {"True", "False"}:  # shares of yes are told, also where no is more frequent
        kept = sorted(kept, reverse=True)
    bars = [*kept, "others"] if len(frequent) > len(kept) else kept
    places = {name: place for place, name in enumerate(kept)}
    found = np.array([places.get(str(one), len(kept)) for one in texts[known]], dtype=np.intp)
    return {
        "kind": "category",
        "bars": bars,
        "counts": _counted(codes[known], found, n_clusters, len(bars)),
        "missing": np.bincount(codes[~known], minlength=n_clusters).tolist(),
    }


def _of_numbers(values: NDArray, codes: NDArray, n_clusters: int, *, rows: bool) -> dict[str, Any]:
    known = np.isfinite(values)
    own = values[known]
    low, high = (float(one) for one in np.quantile(own, [0.01, 0.99])) if len(own) else (0.0, 1.0)
    whole = len(own) > 0 and bool((own == np.round(own)).all())
    if whole and high - low < (BINS if rows else FEW_BINS):  # a bar for each whole number
        low, high = low - 0.5, high + 0.5
        n_bins = round(high - low)
    else:
        n_bins = BINS if rows else FEW_BINS
        low, high = (low, high) if rows else _rounded(low, high)
        high = high if high > low else low + 1.0
    places = np.clip(((own - low) / (high - low) * n_bins).astype(np.intp), 0, n_bins - 1)
    return {
        "kind": "number",
        "low": low,
        "high": high,
        "whole": whole,
        "counts": _counted(codes[known], places, n_clusters, n_bins),
        "missing": np.bincount(codes[~known], minlength=n_clusters).tolist(),
    }


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Ends that are nobody's value: to two digits of what lies between them.

    >>> _rounded(12.3456, 98.7654)
    (12.0, 99.0)
    """
    if not high > low:
        return low, high
    unit = 10.0 ** (np.floor(np.log10(high - low)) - 1)
    return float(np.floor(low / unit) * unit), float(np.ceil(high / unit) * unit)


def _counted(codes: NDArray, places: NDArray, n_clusters: int, n_bars: int) -> list[list[int]]:
    counts = np.bincount(codes * n_bars + places, minlength=n_clusters * n_bars)
    return counts.reshape(n_clusters, n_bars).tolist()
