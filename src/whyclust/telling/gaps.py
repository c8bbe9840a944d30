"""Which rows have most of their values missing: their cluster rests on what was filled in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyclust.explaining.explanation import Explanation
from whyclust.inputs.reading import is_sparse
from whyclust.moments.rows import known_share
from whyclust.telling.rounding import count

# A row is told of that has at most this part of its values.
PART = 0.5


@dataclass(frozen=True, eq=False)
class MostlyMissing:
    """Rows of which half of the values or more are missing.

    Attributes
    ----------
    rows : ndarray of bool
        Whether each row is one of them.
    """

    rows: NDArray

    def describe(self) -> str:
        """Say in a sentence how many there are, and why that matters."""
        found = int(self.rows.sum())
        has, its = ("has", "its") if found == 1 else ("have", "their")
        return (
            f"{count(found)} of {count(len(self.rows))} rows {has} half of {its} values or fewer: {its} "
            f"cluster{'' if found == 1 else 's'} rest{'s' if found == 1 else ''} on what was filled in."
        )


def mostly_missing(explanation: Explanation) -> MostlyMissing | None:
    """Rows of which half of the values or more are missing; None where there are none.

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> X = [[0.0, 0.0, 1.0], [0.2, 0.1, 1.0], [4.8, 5.1, 3.0], [5.0, float("nan"), float("nan")]]
    >>> model = make_pipeline(SimpleImputer(), KMeans(2, n_init=1, random_state=0)).fit(X)
    >>> mostly_missing(wc.explain(model, X)).describe()
    '1 of 4 rows has half of its values or fewer: its cluster rests on what was filled in.'
    """
    if is_sparse(explanation.data) or explanation.kind.item_shape != ():
        return None
    rows = known_share(explanation.data, np.arange(len(explanation))) <= PART
    return MostlyMissing(rows) if rows.any() else None
