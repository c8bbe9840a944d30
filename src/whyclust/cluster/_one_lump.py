"""Tables without clusters, made like a given one: what a search for clusters finds in them is no finding.

Columns of numbers become one lump with the same mean and principal axes: a Gaussian with the same
covariance, or a box with the same sides. Columns of few values keep them and are shuffled, one independently
of the other; the columns of one category (one-hot) are shuffled together. Both tables are blurred in columns
whose values repeat before clusters are counted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whyclust.cluster._distances import FloatArray

# Columns of at most so many values are categories, where each value has some rows.
_MOST_VALUES = 10
_ROWS_PER_VALUE = 5
# Other values repeat where each has this many rows on average.
_ROWS_OF_REPEATED = 2

Lump = Callable[[FloatArray, np.random.Generator], FloatArray]


def gaussian(scores: FloatArray, generator: np.random.Generator) -> FloatArray:
    """As many points of a Gaussian, as wide along each axis."""
    return generator.normal(size=scores.shape) * scores.std(axis=0)


def box(scores: FloatArray, generator: np.random.Generator) -> FloatArray:
    """As many points, uniform between the ends of each axis."""
    return generator.uniform(scores.min(axis=0), scores.max(axis=0), size=scores.shape)


LUMPS: tuple[Lump, ...] = (gaussian, box)


def one_lump(X: FloatArray, lump: Lump, generator: np.random.Generator) -> FloatArray:
    """A table like X, without clusters.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    lump : callable
        One of `LUMPS`: what stands for the columns of numbers.
    generator : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_samples, n_features)
    """
    numbers, categories = kinds_of_columns(X)
    made = X.copy()
    for columns in categories:
        made[:, columns] = X[generator.permutation(len(X))][:, columns]
    if numbers:
        rows = X[:, numbers]
        mean = rows.mean(axis=0)
        axes = np.linalg.svd(rows - mean, full_matrices=False)[2]
        made[:, numbers] = lump((rows - mean) @ axes.T, generator) @ axes + mean
    return made


def blurred(X: FloatArray, generator: np.random.Generator) -> FloatArray:
    """X with noise in columns whose values repeat: categories, counts and rounded numbers.

    Between two values there is nothing, so that each of them, and each combination of some, would stand
    apart for that alone. In columns of few values noise is half as wide as the step from one value to the
    next: two values that are equally frequent are one lump; those of several columns that go together still
    stand apart. Numbers that repeat are spread up to half-way to their neighbours, which undoes rounding.
    """
    found = X.copy()
    numbers, categories = kinds_of_columns(X)
    for column in (column for group in categories for column in group):
        step = np.diff(np.unique(X[:, column])).min()
        found[:, column] += 0.5 * step * generator.normal(size=len(X))
    for column in numbers:
        values, places = np.unique(X[:, column], return_inverse=True)
        if len(values) > 1 and len(X) >= _ROWS_OF_REPEATED * len(values):
            below, above = _ways_to_neighbours(values)
            found[:, column] += generator.uniform(-0.5 * below[places], 0.5 * above[places])
    return found


def _ways_to_neighbours(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far it is from each value to the next one below and above it, up to twice what is usual there.

    Logarithms of counts have wide gaps beside others nearly as wide. A gap that is wider than twice both
    gaps beside it parts two groups of values, and stays open.

    Examples
    --------
    >>> below, above = _ways_to_neighbours(np.array([1.0, 2.0, 4.0, 5.0, 95.0, 96.0]))
    >>> below.tolist(), above.tolist()
    ([1.0, 1.0, 2.0, 1.0, 2.0, 1.0], [1.0, 2.0, 1.0, 2.0, 1.0, 1.0])
    """
    gaps = np.diff(values)
    ends = np.concatenate([[np.inf], gaps, [np.inf]])
    beside = np.minimum(ends[:-2], ends[2:])
    gaps = np.minimum(gaps, 2.0 * beside)
    return np.concatenate([gaps[:1], gaps]), np.concatenate([gaps, gaps[-1:]])


def kinds_of_columns(X: FloatArray) -> tuple[list[int], list[list[int]]]:
    """Columns of numbers, and groups of columns that hold one category each.

    Neighbouring columns of two values belong to one category while no row has the higher value in two.

    Examples
    --------
    >>> one_hot = np.repeat(np.eye(3), 10, axis=0)
    >>> kinds_of_columns(np.column_stack([np.arange(30.0), one_hot, one_hot[::-1, :1] + one_hot[:, :1]]))
    ([0], [[1, 2, 3], [4]])
    """
    numbers: list[int] = []
    groups: list[list[int]] = []
    taken = None  # rows that have the higher value in the last group, while that can go on
    for column, values in enumerate(X.T):
        distinct = np.unique(values)
        if len(distinct) == 1 or len(distinct) > min(_MOST_VALUES, len(X) // _ROWS_PER_VALUE):
            numbers.append(column)
            taken = None
            continue
        higher = values == distinct[-1] if len(distinct) == 2 else None
        if higher is not None and taken is not None and not (higher & taken).any():
            groups[-1].append(column)
            taken = taken | higher
        else:
            groups.append([column])
            taken = higher
    return numbers, groups
