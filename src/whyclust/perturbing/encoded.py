"""Rows in numbers: what can be imputed, perturbed and differentiated.

Whoever changes single columns of a row (baselines, Algorithm 1) works on the encoded columns, where
categories are numbers and nothing is missing, and hands the result back in the user's columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from whyclust.inputs.reading import InputTable, is_sparse, numeric, refuse_not_finite
from whyclust.network.network import Neuralized

# Perturbed copies of rows are dense: more numbers than this were not meant.
_MOST_NUMBERS = 1 << 28

Inside = Callable[[NDArray, NDArray], NDArray]


def as_rows(points: NDArray) -> InputTable:
    """Points in encoded columns as a table, for networks that read those."""
    return InputTable(points, None, None)


def inside(net: Neuralized) -> Inside:
    """Whether points in encoded columns are in clusters: by the decision that the network explains.

    Where a probability must exceed a threshold, that is the question.
    """
    if net.pool.threshold is None:
        return lambda points, clusters: net.predict_rows(as_rows(points)) == clusters
    return lambda points, clusters: net.evidence_rows(as_rows(points), cluster=clusters) > 0


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """A network on encoded columns, and the rows of a table in them.

    Attributes
    ----------
    net : Neuralized
        Reads encoded columns.
    points : ndarray of shape (n_rows, n_encoded)
    sources : ndarray of int of shape (n_encoded,)
        The user's column that each encoded column came from.
    n_columns : int
        Columns of the user's table.
    """

    net: Neuralized
    points: NDArray
    sources: NDArray
    n_columns: int

    @classmethod
    def of(cls, net: Neuralized, table: InputTable) -> EncodedRows:
        """Encode rows that the network has read, and take the encoder out of the network."""
        if table.shape[0] * net.features.inner.n_inputs > _MOST_NUMBERS:
            raise ValueError(
                f"{table.called} has {table.shape[0]} rows of {net.features.inner.n_inputs} columns, too "
                "many to be changed one column at a time: use fewer rows."
            )
        encoded = numeric(net.features.encode(table.data))
        encoded = encoded.toarray() if is_sparse(encoded) else encoded
        points = np.array(encoded, dtype=np.float64)
        if not np.isfinite(points).all():
            known = net.feature_names if table.names is None else table.names
            refuse_not_finite(points, [known[column] for column in net.features.sources], 0, table.called)
        width = points.shape[1]
        features = replace(net.features, encoder=(), sources=np.arange(width), n_columns=width, columns=None)
        names = tuple(str(column) for column in range(width))
        inner = replace(net, features=features, feature_names=names, named=False)
        return cls(inner, points, net.features.sources, net.features.n_columns)

    def collect(self, values: NDArray) -> NDArray:
        """Sum encoded columns into the user's."""
        if np.array_equal(self.sources, np.arange(self.n_columns)):
            return values
        result = np.zeros((len(values), self.n_columns), dtype=values.dtype)
        np.add.at(result.T, self.sources, values.T)
        return result
