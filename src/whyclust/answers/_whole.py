"""Whole numbers of columns: those on both sides of a number, as it is encoded, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# How near to a whole number is whole, in parts of what lies between two of them.
_NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class AsTheyAre:
    """Whole numbers of a column that is read as it is."""

    def between(self, code: float) -> tuple[float, float, float]:
        """How far a number is from being whole, and the whole ones on both sides.

        >>> AsTheyAre().between(2.25)
        (0.25, 2.0, 3.0)
        """
        below, above = float(np.floor(code)), float(np.ceil(code))
        away = min(code - below, above - code)
        return (away if away > _NEAR * (1.0 + abs(code)) else 0.0), below, above

    def value(self, code: float) -> float:
        """The whole number that is meant."""
        return float(round(code))


@dataclass(frozen=True, eq=False)
class Encoded:
    """Whole numbers of a column that is bent: `values`, and the `codes` of them.

    Many have one code where the column is limited; of these the nearest to the row's own value is meant.
    """

    values: NDArray
    codes: NDArray
    own: float

    def between(self, code: float) -> tuple[float, float, float]:
        """How far a code is from those of whole numbers, and these on both sides.

        >>> Encoded(np.arange(3.0), np.array([0.0, 10.0, 20.0]), 0.0).between(14.0)
        (0.4, 10.0, 20.0)
        """
        below = float(self.codes[self.codes <= code].max(initial=-np.inf))
        above = float(self.codes[self.codes >= code].min(initial=np.inf))
        gap = above - below
        away = 0.0 if gap == 0 else 1.0 if not np.isfinite(gap) else min(code - below, above - code) / gap
        # Just beyond the last of them is rounding.
        if gap == np.inf and min(code - below, above - code) <= _NEAR * (1.0 + abs(code)):
            away = 0.0
        return (away if away > _NEAR else 0.0), below, above

    def value(self, code: float) -> float:
        """The whole number whose code this is."""
        away = np.abs(self.codes - code)
        same = self.values[away <= away.min() + 1e-12 * (1.0 + abs(code))]
        return float(same[0] if np.isnan(self.own) else same[np.abs(same - self.own).argmin()])
