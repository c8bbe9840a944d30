"""Tables without clusters, made like a given one: what a search for clusters finds in them is no finding.

Columns of numbers become one lump with the same mean and principal axes: a Gaussian with the same
covariance, or a box with the same sides. Columns of few values keep them and are shuffled, one independently
of the other; the columns of one category (one-hot) are shuffled together. Both tables are blurred in these
columns before clusters are counted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whyclust.cluster._distances import FloatArray

# Columns of at most so many values are categories, where each value has some rows.
_MOST_VALUES = 10
_ROWS_PER_VALUE = 5

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
    """X with noise in columns of few values, half as wide as the step from one value to the next.

    Between two values there is nothing, so that each of them, and each combination of some, would stand
    apart for that alone. With this noise two values that are equally frequent are one lump; those of several
    columns that go together still stand apart.
    """
    found = X.copy()
    for column in (column for group in kinds_of_columns(X)[1] for column in group):
        step = np.diff(np.unique(X[:, column])).min()
        found[:, column] += 0.5 * step * generator.normal(size=len(X))
    return found


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
