"""Rows that are similar in some of their columns, and how wide 'similar' is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import column_values, is_frame
from whyclust.inputs.reading import InputTable

# Another category is as far as the two values of a balanced yes-or-no column: two standard deviations.
_OTHER_CATEGORY = 4.0
# Farther than any weight reaches; infinity would be nothing times infinity where a column is not known.
_NEVER = 1e9
_WIDTHS = np.geomspace(0.05, 2.0, 16)


@dataclass(frozen=True, eq=False)
class SimilarColumns:
    """In which units rows are compared, column by column.

    Numbers are compared in standard deviations. Categories, be they one-hot, texts that were numbered or
    a column of two values, are the same or another.

    Attributes
    ----------
    groups : list of ndarray of int
        For each thing that is compared, the encoded columns it is made of: one, or those of a category.
    is_category : ndarray of bool of shape (n_compared,)
    scale : ndarray of shape (n_encoded,)
        Standard deviations; infinite for constant columns, which tell no row from another.
    places : ndarray of int of shape (n_columns, most)
        What is compared for each column of the explanation; −1 where it has fewer than others.
    """

    groups: list[NDArray]
    is_category: NDArray
    scale: NDArray
    places: NDArray

    @classmethod
    def of(cls, points: NDArray, sources: NDArray, targets: NDArray, table: InputTable) -> SimilarColumns:
        """Look at encoded rows.

        `sources` are the table's columns that encoded ones came from, `targets` the columns of the
        explanation, or groups of them, that the table's columns belong to.
        """
        scale = points.std(axis=0)
        scale[scale <= 1e-12 * np.abs(points).max(axis=0)] = np.inf
        groups: list[NDArray] = []
        is_category: list[bool] = []
        members: list[list[int]] = [[] for _ in range(int(targets.max()) + 1)]
        for source in np.unique(sources):
            encoded = np.flatnonzero(sources == source)
            category = _is_category(points[:, encoded], table, int(source))
            for group in [encoded] if category else np.split(encoded, len(encoded)):
                members[targets[source]].append(len(groups))
                groups.append(group)
                is_category.append(category)
        places = np.full((len(members), max(map(len, members))), -1, dtype=np.intp)
        for column, own in enumerate(members):
            places[column, : len(own)] = own
        return cls(groups, np.array(is_category), scale, places)

    @property
    def readable(self) -> NDArray:
        """Columns that the model reads."""
        return np.flatnonzero(self.places[:, 0] >= 0)

    def encoded(self, column: int) -> NDArray:
        """The encoded columns of a column."""
        return np.concatenate([self.groups[place] for place in self.places[column] if place >= 0])

    def values(self, points: NDArray) -> NDArray:
        """What is compared of each point: numbers in standard deviations, categories as codes."""
        found = np.empty((len(points), len(self.groups)), dtype=np.float32)
        for place, group in enumerate(self.groups):
            if self.is_category[place]:
                # Sums of different entries differ, whatever the encoding is.
                signs = np.random.default_rng(0).random(len(group)) + 1.0
                found[:, place] = (points[:, group] * signs).sum(axis=1)
            else:
                found[:, place] = points[:, group[0]] / self.scale[group[0]]
        return found

    def squares(self, values: NDArray, among: NDArray, columns: NDArray, own: NDArray) -> NDArray:
        """Squared distances of rows from those of a half, in each of some columns.

        Parameters
        ----------
        values, among : ndarray of shape (n_rows, n_compared), (n_compared, n_half)
        columns : ndarray of int of shape (n_rows, n_candidates)
            Each row's own choice of columns.
        own : ndarray of int of shape (n_rows,)
            The row of the half that each row is itself, −1 for none: it is left out.

        Returns
        -------
        ndarray of shape (n_rows, n_candidates, n_half)
        """
        found = np.zeros((*columns.shape, among.shape[1]), dtype=np.float32)
        rows = np.arange(len(values))
        for candidate in range(columns.shape[1]):
            for places in self.places[columns[:, candidate]].T:
                there = places >= 0
                difference = among[places] - values[rows, places][:, None]
                square = np.multiply(difference, difference, out=difference)
                other = self.is_category[places] & there
                square[other] = np.where(square[other] > 0, _OTHER_CATEGORY, 0.0)
                square[~there] = 0.0
                found[:, candidate] += square
        itself = np.flatnonzero(own >= 0)
        found[itself, :, own[itself]] = _NEVER
        return found


def _is_category(points: NDArray, table: InputTable, source: int) -> bool:
    if points.shape[1] > 1:
        return bool(np.isin(points, (0.0, 1.0)).all())
    if is_frame(table.data) and column_values(table.data, source).dtype.kind not in "biufcmM":
        return True
    return len(np.unique(points)) <= 2


def weights_of(squares: NDArray, width: float) -> NDArray:
    """Kernel weights of squared distances: exp(−½ distance² / width²)."""
    return np.exp(squares * np.float32(-0.5 / width**2))


def effective_rows(weights: NDArray) -> NDArray:
    """(Σ w)² / Σ w²: as many rows of equal weight would tell as much.

    >>> effective_rows(np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]))
    array([2., 1.])
    """
    total = weights.sum(axis=-1, dtype=np.float64)
    squares = np.einsum("...n,...n->...", weights, weights, dtype=np.float64)
    return np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)


def fitted_widths(
    columns: SimilarColumns, values: NDArray, codes: NDArray, sets: Sequence[Sequence[NDArray]]
) -> NDArray:
    """For each size of sets the width by which similar rows tell a row's cluster best.

    That is the largest likelihood of the clusters of rows that are left out, one at a time, over sets of
    this size. More columns need wider kernels: a width is never less than that of smaller sets.

    Parameters
    ----------
    columns : SimilarColumns
    values : ndarray of shape (n_rows, n_compared)
    codes : ndarray of int of shape (n_rows,)
        Clusters, as numbers from 0.
    sets : sequence of sequences of ndarray of int
        For each size, some sets of columns.
    """
    n_rows = len(values)
    shares = (np.bincount(codes) / n_rows)[codes]
    same = (codes[:, None] == codes).astype(np.float32)
    among = np.ascontiguousarray(values.T)
    own = np.arange(n_rows)
    found = []
    for of_size in sets:
        likelihood = np.zeros(len(_WIDTHS))
        for chosen in of_size:
            squares = np.zeros((n_rows, n_rows), dtype=np.float32)
            for column in chosen:
                one = np.full((n_rows, 1), column)
                squares += columns.squares(values, among, one, own)[:, 0]
            for place, width in enumerate(_WIDTHS):
                weights = weights_of(squares, width)
                # One row more that knows only the shares of clusters: nobody is told what no row says.
                told = (np.einsum("ij,ij->i", weights, same) + shares) / (weights.sum(axis=1) + 1.0)
                likelihood[place] += np.log(told).mean()
        found.append(_WIDTHS[likelihood.argmax()])
    return np.maximum.accumulate(found)


def mutual_information(values: NDArray, codes: NDArray, n_bins: int = 10) -> NDArray:
    """What each column, cut at its quantiles, tells about the clusters, in nats.

    >>> codes = np.repeat([0, 1], 50)
    >>> mutual_information(np.column_stack([codes, np.arange(100) % 2]), codes).round(3)
    array([0.693, 0.   ])
    """
    by_cluster = np.eye(int(codes.max()) + 1)[codes]
    found = np.zeros(values.shape[1])
    for column in range(values.shape[1]):
        edges = np.unique(np.quantile(values[:, column], np.linspace(0, 1, n_bins + 1)[1:-1]))
        bins = np.searchsorted(edges, values[:, column], side="left")
        joint = np.eye(len(edges) + 1)[bins].T @ by_cluster / len(values)
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        some = joint > 0
        found[column] = (joint[some] * np.log(joint[some] / apart[some])).sum()
    return found
