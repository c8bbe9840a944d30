"""Squared distances and soft minima, in blocks of rows and without loss of digits."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]

#: Elements of the widest temporary array of one block: 8 MiB in double precision.
BLOCK_ELEMENTS = 2**20


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Cut ``n_rows`` rows into slices so that a block of ``width`` columns stays small.

    Parameters
    ----------
    n_rows : int
        Number of rows to cover.
    width : int
        Number of columns of the widest temporary array.

    Yields
    ------
    slice
        Consecutive, non-empty ranges of rows.

    Examples
    --------
    >>> [(block.start, block.stop) for block in row_blocks(5, width=2**19)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def squared_distances(X: FloatArray, Y: FloatArray) -> NDArray[np.float64]:
    """Squared Euclidean distances between the rows of X and the rows of Y.

    The square is expanded into a matrix product only after both sides were centred on
    the mean of Y: otherwise data with an offset of 1e6 would lose 12 of 16 digits.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        One block of points.
    Y : ndarray of shape (m, d)
        Prototypes or support vectors.

    Returns
    -------
    ndarray of shape (n, m)
        Non-negative, in double precision whatever the precision of the input.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[1e8, 0.0]]), np.array([[1e8, 2.0], [1e8 + 1, 0.0]]))
    array([[4., 1.]])
    """
    centre = np.mean(Y, axis=0, dtype=np.float64)
    X = X - centre
    Y = Y - centre
    distances = X @ (-2.0 * Y.T)
    distances += np.einsum("ij,ij->i", X, X)[:, None]
    distances += np.einsum("ij,ij->i", Y, Y)
    # Rounding may leave a tiny negative number where two points coincide.
    return np.maximum(distances, 0.0, out=distances)


def group_starts(groups: IntArray) -> IntArray:
    """First position of every group in an ascending array of group numbers.

    Parameters
    ----------
    groups : ndarray of shape (m,)
        Ascending integers in which every number 0..K-1 occurs.

    Returns
    -------
    ndarray of shape (K,)

    Examples
    --------
    >>> import numpy as np
    >>> group_starts(np.array([0, 0, 0, 1, 2, 2]))
    array([0, 3, 4])
    """
    return np.flatnonzero(np.diff(groups, prepend=-1))


def group_log_sum_exp(logits: FloatArray, starts: IntArray) -> FloatArray:
    """Log-sum-exp over groups of neighbouring columns.

    Parameters
    ----------
    logits : ndarray of shape (n, m)
        Finite numbers.
    starts : ndarray of shape (K,)
        First column of every group (see `group_starts`).

    Returns
    -------
    ndarray of shape (n, K)

    Examples
    --------
    >>> import numpy as np
    >>> group_log_sum_exp(np.log([[1.0, 2.0, 3.0]]), np.array([0, 2])).round(6)
    array([[1.098612, 1.098612]])
    """
    sizes = np.diff(starts, append=logits.shape[1])
    peaks = np.maximum.reduceat(logits, starts, axis=1)
    # The largest term of every group becomes exp(0): nothing overflows, no sum is zero.
    terms = np.exp(logits - np.repeat(peaks, sizes, axis=1))
    return peaks + np.log(np.add.reduceat(terms, starts, axis=1))
