"""Relevance of sparse tables, kept as factors.

Absent words have relevance too, so the relevance of a sparse table is dense. Its factors
(the points, the weights of the competitors, the folded head) are small; rows, columns and
the top features are made from them on demand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.network.competition import Competition
from whyclust.network.indexing import read_axis, read_key, reduction
from whyclust.network.tournament import Tournament
from whyclust.saving.registry import saved

_BLOCK_NUMBERS = 1 << 22
# Single numbers that are made at once: at worst each has a row and a column of its own.
_BLOCK_PAIRS = 1 << 11


@saved
@dataclass(frozen=True, eq=False)
class FactoredValues:
    """An array of shape (n_rows, n_columns) that is computed where it is looked at.

    ``values[3]`` is a row, ``values[rows]`` fewer rows, still as factors, ``values[rows, columns]``
    an array, ``numpy.asarray(values)`` all of it; `top` gives each row's strongest features. Keys mean
    what they mean to numpy (two lists are pairs); new axes and keys of three dimensions are refused.

    Parameters
    ----------
    folded : Competition or Tournament
        A head in the space of the points, with one node a cluster.
    points : sparse array of shape (n_rows, n_encoded)
    clusters : ndarray of int
        The cluster explained in each row, as a position.
    weights : ndarray of shape (n_competitors, n_rows)
        α of every competitor.
    collect : sparse array of shape (n_columns, n_encoded) or None
        Which columns are summed.
    present : bool
        Whether columns that are zero in a row have none of it.
    """

    folded: Competition | Tournament
    points: Any
    clusters: NDArray
    weights: NDArray
    collect: Any = None
    present: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        columns = self.points.shape[1] if self.collect is None else self.collect.shape[0]
        return self.points.shape[0], columns

    @property
    def ndim(self) -> int:
        """Always 2."""
        return 2

    @property
    def dtype(self) -> np.dtype:
        """Type of the values."""
        return self.folded.center.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<FactoredValues {self.shape[0]} × {self.shape[1]}, {self.dtype}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError("The values are made when they are looked at and need a copy: use copy=None.")
        return self[:, :].astype(dtype or self.dtype, copy=False)

    def __getitem__(self, key: Any) -> Any:
        if key is Ellipsis:
            return self
        rows, columns, pairs = read_key(key, self.shape)
        if pairs:
            return self._single(rows, columns)
        if rows.ndim == 1 and not isinstance(key, tuple):
            return self._some(rows)
        whole = np.array_equal(columns, np.arange(self.shape[1]))
        found = self._dense(np.atleast_1d(rows), None if whole else np.atleast_1d(columns))
        return found[0 if rows.ndim == 0 else slice(None), 0 if columns.ndim == 0 else slice(None)]

    def _some(self, rows: NDArray) -> FactoredValues:
        """Chosen rows, as factors."""
        return replace(
            self, points=self.points[rows], clusters=self.clusters[rows], weights=self.weights[:, rows]
        )

    def _single(self, rows: NDArray, columns: NDArray) -> NDArray:
        """Single numbers; row by row, so that a block of them shares its rows."""
        result = np.empty(rows.shape, dtype=self.dtype)
        flat, across, found = rows.ravel(), columns.ravel(), result.ravel()  # a view of the result
        order = np.argsort(flat, kind="stable")
        for start in range(0, len(order), _BLOCK_PAIRS):
            block = order[start : start + _BLOCK_PAIRS]
            own_rows, row = np.unique(flat[block], return_inverse=True)
            own_columns, column = np.unique(across[block], return_inverse=True)
            part = self._some(own_rows)._dense(np.arange(len(own_rows)), own_columns)
            found[block] = part[row, column]
        return result

    def _dense(self, rows: NDArray, columns: NDArray | None = None) -> NDArray:
        """Chosen rows and columns as an array."""
        collect, folded, points = self.collect, self.folded, self.points
        if columns is not None:
            encoded = columns
            if collect is not None:
                collect = collect[columns]
                encoded = np.unique(collect.indices)
                collect = collect[:, encoded]
            folded = replace(folded, nodes=folded.nodes.columns(encoded))
            points = points[:, encoded]
        width = points.shape[1] if collect is None else collect.shape[0]
        result = np.empty((len(rows), width), dtype=self.dtype)
        size = max(1, _BLOCK_NUMBERS // max(1, points.shape[1]))
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            dense = points[block].toarray().astype(self.dtype, copy=False)
            out = np.empty_like(dense)
            weights = self.weights[:, block]
            folded.spread(dense, None, self.clusters[block], weights, out, np.empty_like(dense))
            if self.present:
                out *= dense != 0
            result[start : start + size] = out if collect is None else (collect @ out.T).T
        return result

    def blocks(self) -> Any:
        """Yield (rows, array) over all rows."""
        size = max(1, _BLOCK_NUMBERS // max(1, self.points.shape[1]))
        for start in range(0, self.shape[0], size):
            rows = np.arange(start, min(start + size, self.shape[0]))
            yield rows, self._dense(rows)

    def sum(
        self, axis: int | None = None, dtype: Any = None, *, keepdims: bool = False, **others: Any
    ) -> Any:
        """Sum over rows (0), columns (1) or all; ``numpy.sum`` calls it."""
        axis, finish = read_axis(axis), reduction("sum", dtype, keepdims, others)
        if axis == 1:
            sums = np.empty(self.shape[0], dtype=self.dtype)
            for rows, block in self.blocks():
                sums[rows] = block.sum(axis=1)
            return finish(sums, axis)
        total = np.zeros(self.shape[1])
        for _, block in self.blocks():
            total += block.sum(axis=0, dtype=float)
        return finish(total.sum() if axis is None else total, axis)

    def mean(
        self, axis: int | None = None, dtype: Any = None, *, keepdims: bool = False, **others: Any
    ) -> Any:
        """Mean over rows (0), columns (1) or all; ``numpy.mean`` calls it."""
        axis, finish = read_axis(axis), reduction("mean", dtype, keepdims, others)
        count = self.shape[axis] if axis is not None else self.shape[0] * self.shape[1]
        return finish(self.sum(axis) / count, axis)

    def top(self, count: int) -> tuple[NDArray, NDArray]:
        """Columns and values of each row's strongest features, by absolute value."""
        width = min(count, self.shape[1])
        columns = np.empty((self.shape[0], width), dtype=np.intp)
        values = np.empty((self.shape[0], width), dtype=self.dtype)
        for rows, block in self.blocks():
            columns[rows], values[rows] = top_columns(block, count)
        return columns, values


def top_columns(values: NDArray, count: int) -> tuple[NDArray, NDArray]:
    """Columns and values of each row's strongest features, by absolute value.

    >>> top_columns(np.array([[1.0, -3.0, 2.0]]), 2)
    (array([[1, 2]]), array([[-3.,  2.]]))
    """
    strength = -np.abs(values)
    count = min(count, values.shape[1])
    if count < values.shape[1]:
        chosen = np.sort(np.argpartition(strength, count - 1, axis=1)[:, :count], axis=1)
    else:
        chosen = np.broadcast_to(np.arange(count), values.shape)
    order = np.argsort(np.take_along_axis(strength, chosen, axis=1), axis=1, kind="stable")
    chosen = np.take_along_axis(chosen, order, axis=1)
    return chosen, np.take_along_axis(values, chosen, axis=1)
