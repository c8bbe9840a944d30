"""Kernel functions, and sums of kernels over clusters without keeping what does not fit."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from whyclust.cluster._distances import FloatArray, IntArray, row_blocks, squared_distances

#: A kernel matrix above this size (about 11,500 points) is recomputed block by block.
KEPT_BYTES = 2**30
#: Rows per block when only the diagonal of a kernel matrix is wanted.
DIAGONAL_ROWS = 64


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters.

    Parameters
    ----------
    metric : str or callable
        A name that `sklearn.metrics.pairwise.pairwise_kernels` knows, or a function of
        two rows.
    gamma, degree, coef0 : float
        Handed to the kernels that take them.

    Examples
    --------
    >>> import numpy as np
    >>> Kernel("linear").block(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    metric: str | Callable[[FloatArray, FloatArray], float]
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 1.0

    def block(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Kernel matrix K(x, y) of shape (len(X), len(Y)) in double precision."""
        if self.metric == "rbf":
            # scikit-learn's own does not centre the data.
            return np.exp(-self.gamma * squared_distances(X, Y))
        X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
        if callable(self.metric):
            return np.asarray(pairwise_kernels(X, Y, metric=self.metric))
        parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return np.asarray(pairwise_kernels(X, Y, metric=self.metric, filter_params=True, **parameters))

    def diagonal(self, X: FloatArray) -> FloatArray:
        """K(x, x) of every row, shape (len(X),)."""
        if self.metric == "rbf":
            return np.ones(len(X))
        if callable(self.metric):
            return np.array([float(self.metric(row, row)) for row in X])
        pieces = [
            np.diagonal(self.block(rows, rows))
            for rows in np.split(X, range(DIAGONAL_ROWS, len(X), DIAGONAL_ROWS))
        ]
        return np.concatenate(pieces)


class KernelSums:
    """Sums of K(x_i, x_j) over the members j of every cluster, for all training points.

    The diagonal is left out of the sums: in the leave-one-out variant a point's own bump
    must vanish exactly, and subtracting it afterwards would leave only rounding errors
    where the bandwidth is small.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : ndarray of shape (n, d)
        Training data.
    kept_bytes : int
        The kernel matrix is computed once if it is not larger than this, and otherwise
        anew, in blocks, for every sum.

    Attributes
    ----------
    diagonal : ndarray of shape (n,)
        K(x_i, x_i).
    """

    def __init__(self, kernel: Kernel, X: FloatArray, kept_bytes: int = KEPT_BYTES) -> None:
        self.kernel = kernel
        self.X = X
        self.diagonal = kernel.diagonal(X)
        self._matrix: FloatArray | None = None
        if 8 * len(X) ** 2 <= kept_bytes:
            self._matrix = np.empty((len(X), len(X)))
            for block in row_blocks(len(X), len(X)):
                self._matrix[block] = self._rows(block)

    def _rows(self, block: slice) -> FloatArray:
        rows = self.kernel.block(self.X[block], self.X)
        rows[np.arange(len(rows)), np.arange(block.start, block.stop)] = 0.0
        return rows

    def over_clusters(self, labels: IntArray, n_clusters: int) -> FloatArray:
        """Sum over the members of every cluster, the point itself left out.

        Parameters
        ----------
        labels : ndarray of shape (n,)
            Cluster of every training point.
        n_clusters : int
            K.

        Returns
        -------
        ndarray of shape (n, K)
        """
        indicators = np.zeros((len(labels), n_clusters))
        indicators[np.arange(len(labels)), labels] = 1.0
        if self._matrix is not None:
            return self._matrix @ indicators
        sums = np.empty_like(indicators)
        for block in row_blocks(len(labels), len(labels)):
            sums[block] = self._rows(block) @ indicators
        return sums
