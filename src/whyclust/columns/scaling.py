"""How the numbers of a column are scaled, so that no column drowns the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyclust._checks import did_you_mean
from whyclust.columns.facts import NumberFacts

STANDARD, ROBUST, RANK, NONE = "standard", "robust", "rank", "none"
# Chosen column by column: standard, but robust where numbers lie far outside.
AUTO = "auto"
SCALES = {
    AUTO: "as 'standard', and as 'robust' where a number is more than 8 deviations from the mean",
    STANDARD: "minus the mean, by the standard deviation",
    ROBUST: "minus the median, by the quartiles, and limited to 3 of these",
    RANK: "by their ranks",
    NONE: "as they are",
}
# So many deviations from the mean, a number is far outside: of normal ones, it is not to be seen.
FAR = 8.0
# Robust numbers are cut here: what lies beyond is as far outside as this.
LIMIT = 3.0
# The quartiles of a normal distribution are so many deviations apart.
_QUARTILES = 1.349
_KNOTS = 1000


@dataclass(frozen=True)
class Scaling:
    """How the numbers of one column are scaled.

    Attributes
    ----------
    kind : {"standard", "robust", "rank", "none"}
    center : float
        What becomes zero, and what gaps become: the mean, or the median of robust numbers and ranks.
    scale : float
        What becomes one.
    knots : tuple of float
        Quantiles, of ranks.
    """

    kind: str
    center: float
    scale: float = 1.0
    knots: tuple[float, ...] = ()


def check_scale(name: str) -> None:
    """Refuse a scale that there is not."""
    if name not in SCALES:
        raise ValueError(
            f"there is no scale '{name}', expected {', '.join(SCALES)}{did_you_mean(name, list(SCALES))}"
        )


def scaling_of(numbers: NumberFacts, n_rows: int, scale: str) -> Scaling:
    """Decide how numbers are scaled.

    Parameters
    ----------
    numbers : NumberFacts
    n_rows : int
        Gaps among them.
    scale : str
        One of `SCALES`.

    Examples
    --------
    >>> numbers = NumberFacts.of(np.append(np.arange(200.0), 1e6))
    >>> scaling_of(numbers, 201, "auto").kind, scaling_of(numbers, 201, "robust").center
    ('robust', 100.0)
    """
    standard = _standard(numbers, n_rows)
    if scale == NONE:
        return Scaling(NONE, standard.center)
    farthest = max(numbers.highest - standard.center, standard.center - numbers.lowest)
    if scale == STANDARD or (scale == AUTO and farthest <= FAR * standard.scale):
        return standard
    sample = np.empty(0) if numbers.sample is None else numbers.sample.numbers
    if scale == RANK:
        knots = np.quantile(sample, np.linspace(0.0, 1.0, min(_KNOTS, n_rows)))
        return Scaling(RANK, float(np.median(sample)), knots=tuple(knots.tolist()))
    return _robust(sample, standard)


def _standard(numbers: NumberFacts, n_rows: int) -> Scaling:
    moments = numbers.moments
    mean, eps = float(moments.mean[0]), np.finfo(np.float64).eps
    # Gaps become the mean, which adds nothing to the squared deviations.
    variance = float(moments.squares[0]) / n_rows
    # As scikit-learn's StandardScaler: what may be rounding is not blown up to unit variance.
    is_rounding = variance <= n_rows * eps * variance + (n_rows * mean * eps) ** 2
    return Scaling(STANDARD, mean, 1.0 if is_rounding else variance**0.5)


def _robust(sample: np.ndarray, standard: Scaling) -> Scaling:
    low, middle, high = (float(one) for one in np.quantile(sample, [0.25, 0.5, 0.75]))
    eps = 1e-9 * max(abs(low), abs(high))
    if high - low > eps:
        return Scaling(ROBUST, middle, (high - low) / _QUARTILES)
    # Half of the numbers are the same: the deviation of all but the outermost is what there is.
    inner = np.clip(sample, *np.quantile(sample, [0.01, 0.99]))
    if inner.std() > eps:
        return Scaling(ROBUST, float(inner.mean()), float(inner.std()))
    return Scaling(ROBUST, standard.center, standard.scale)
