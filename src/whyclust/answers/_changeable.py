"""What may change in a row: numbers within bounds, whole numbers, categories, and how they are handed back.

A search works on the encoded columns. A column that the model reads as it is, is a number there; one that is
bent by itself (a logarithm, say) is a number whose way back is found by bisection; all others (categories,
bins) are tried value by value, those that the data have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import column_values, is_frame, take_rows, with_values
from whyclust.answers._asked import Asked
from whyclust.answers._whole import AsTheyAre, Encoded
from whyclust.inputs.reading import InputTable, is_sparse
from whyclust.network.network import Neuralized
from whyclust.perturbing.encoded import EncodedRows

# Rows from which ranges, categories and places to search are taken, and values of a column that are tried.
_MOST_ROWS = 5000
_MOST_VALUES = 200
# Whole numbers of one column that are encoded beforehand.
_MOST_WHOLE = 100_000
# What is the same for all rows of a table: the next row need not find it again.
_OF_THE_TABLE = ("sampled", "sample", "data", "scale", "kinds", "movable", "flags", "ranges")


@dataclass(frozen=True, eq=False)
class Choice:
    """Columns that are tried value by value, together: encoded positions, options, and the user's values.

    It is not `complete` where there were too many values to try them all.
    """

    positions: NDArray
    options: NDArray
    values: list[dict[int, Any]]
    complete: bool = True


@dataclass(frozen=True)
class _Gap:
    """Two neighbouring values of a column, as encoded, and a number of the user's between them."""

    position: int
    between: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Changeable:
    """A row of a table, and what of it may change.

    Attributes
    ----------
    net : Neuralized
    table : InputTable
        All rows, which the network has read.
    position : int
        The row.
    asked : Asked
    """

    net: Neuralized
    table: InputTable
    position: int
    asked: Asked

    def at(self, position: int) -> Changeable:
        """Another row of the same table."""
        other = replace(self, position=position)
        vars(other).update({name: vars(self)[name] for name in _OF_THE_TABLE if name in vars(self)})
        return other

    @cached_property
    def row(self) -> EncodedRows:
        """The row in numbers, and the network that reads them."""
        return EncodedRows.of(self.net, self.table.take(np.array([self.position])))

    @cached_property
    def start(self) -> NDArray:
        """The row in encoded columns."""
        return self.row.points[0]

    @cached_property
    def sample(self) -> InputTable:
        """The data, or a part of them, whole columns of which are looked at."""
        whole = len(self.sampled) == self.table.shape[0]
        return self.table if whole else self.table.take(self.sampled)

    @cached_property
    def sampled(self) -> NDArray:
        """Positions of these rows in the table."""
        n_rows = self.table.shape[0]
        if n_rows <= _MOST_ROWS:
            return np.arange(n_rows)
        return np.sort(np.random.default_rng(0).choice(n_rows, _MOST_ROWS, replace=False))

    @cached_property
    def data(self) -> NDArray:
        """The data in encoded columns."""
        return EncodedRows.of(self.net, self.sample).points

    @cached_property
    def by_scaler(self) -> bool:
        """Whether the space in which clusters are compared has the user's columns as axes."""
        features = self.net.features
        return features.trunk is None and features.norm is None and features.folded.columnwise

    @cached_property
    def scale(self) -> NDArray:
        """What a unit of each encoded column counts in the distance; 0 for what the clusters do not see."""
        if self.by_scaler:
            matrix = self.net.features.folded.matrix
            return np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel())
        if len(self.data) < 2:
            raise ValueError(
                "The distance needs standard deviations of columns, found a single row: ask the explanation "
                "of all rows, ex.smallest_change(row), not a part of it."
            )
        deviations = self.data.std(axis=0)
        return np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)

    @property
    def measured(self) -> str:
        """The units of the distance, in words."""
        return (
            "as the clustering scales the columns"
            if self.by_scaler
            else "in standard deviations of the columns"
        )

    # --- kinds of columns -----------------------------------------------------------------------

    @cached_property
    def kinds(self) -> dict[int, str]:
        """How each of the user's columns changes: "number", "bent" or "choice"; not those that are fixed."""
        sources = self.net.features.sources
        grouped = {column for group in self.asked.groups for column in group}
        kinds: dict[int, str] = {}
        gaps: dict[int, _Gap] = {}
        for column in np.unique(sources).tolist():
            positions = np.flatnonzero(sources == column)
            if column in self.asked.fixed | grouped or not self.scale[positions].any():
                continue
            kinds[column] = self._kind(column, positions, gaps)
        return kinds | self._bent_or_not(gaps)

    def _kind(self, column: int, positions: NDArray, gaps: dict[int, _Gap]) -> str:
        """The kind of a column, as far as its values tell; those that may be bent leave their widest gap."""
        if not self.net.features.encoder:
            return "number"
        values = column_values(self.sample.data, column)
        if values.dtype.kind not in "iuf" or len(positions) > 1:
            return "choice"
        known = np.isfinite(values.astype(float))
        values, encoded = values[known].astype(float), self.data[known, positions[0]]
        if len(values) and np.allclose(values, encoded, rtol=1e-12, atol=0):
            return "number"
        distinct, first = np.unique(values, return_index=True)
        if len(distinct) < 3 or (column in self.asked.whole and self._span(column) > _MOST_WHOLE):
            return "choice"
        rises = np.diff(encoded[first])
        if (rises >= 0).all() or (rises <= 0).all():
            widest = int(np.abs(rises).argmax())
            low, high = sorted(encoded[first][[widest, widest + 1]].tolist())
            between = (distinct[widest] + distinct[widest + 1]) / 2
            gaps[column] = _Gap(int(positions[0]), float(between), low, high)
        return "choice"

    def _bent_or_not(self, gaps: dict[int, _Gap]) -> dict[int, str]:
        """Bent is what puts a number within the widest gap of its values within that of the encoded ones.

        All columns are tried in one row, because encoding takes as long for one of them as for all.
        """
        if not gaps:
            return {}
        try:
            middles = self.encode({column: np.array([gap.between]) for column, gap in gaps.items()})[0]
        except ValueError:  # an encoder that knows the data's values only
            if len(gaps) == 1:
                return dict.fromkeys(gaps, "choice")
            parts = [self._bent_or_not({column: gap}) for column, gap in gaps.items()]
            return {column: kind for part in parts for column, kind in part.items()}
        return {
            column: "bent" if gap.low < middles[gap.position] < gap.high else "choice"
            for column, gap in gaps.items()
        }

    def encode(self, changes: Mapping[int, Any]) -> NDArray:
        """The row in encoded columns, once for each of other values of some columns."""
        count = len(next(iter(changes.values())))
        rows = with_values(take_rows(self.table.data, np.full(count, self.position)), changes)
        return np.asarray(self.net.features.encode(rows), dtype=np.float64)

    @cached_property
    def movable(self) -> NDArray:
        """Encoded positions that move freely."""
        return np.flatnonzero(
            [self.kinds.get(int(column)) in ("number", "bent") for column in self.net.features.sources]
        )

    @cached_property
    def whole(self) -> NDArray:
        """Those of the movable ones that are whole numbers, counted among the movable ones."""
        sources = self.net.features.sources[self.movable]
        return np.flatnonzero([int(column) in self.asked.whole | self.flags for column in sources])

    @cached_property
    def _whole_numbers(self) -> dict[int, AsTheyAre | Encoded]:
        """The whole numbers of these, by the same count."""
        return {int(place): self._whole_numbers_of(int(self.movable[place])) for place in self.whole}

    def _whole_numbers_of(self, position: int) -> AsTheyAre | Encoded:
        column = int(self.net.features.sources[position])
        if self.kinds[column] == "number":
            return AsTheyAre()
        low, high = self.ranges[column]
        values = np.arange(np.ceil(low), np.floor(high) + 1)
        own = column_values(self.table.take(np.array([self.position])).data, column)
        return Encoded(values, self.encode({column: values})[:, position], float(own[0]))

    def between_whole(self, change: NDArray) -> tuple[int, float, float] | None:
        """Where a change of the movable columns is farthest from whole numbers, and the changes to those.

        None where all are whole that must be.
        """
        farthest, found = 0.0, None
        for place, numbers in self._whole_numbers.items():
            start, unit = self.start[self.movable[place]], self.scale[self.movable[place]]
            away, below, above = numbers.between(float(start + change[place] / unit))
            if away > farthest:
                farthest, found = away, (place, (below - start) * unit, (above - start) * unit)
        return found

    @cached_property
    def flags(self) -> frozenset[int]:
        """Columns of False and True that are read as numbers: nothing lies between 0 and 1."""
        numbers = [column for column, kind in self.kinds.items() if kind == "number"]
        data = self.table.data
        if not is_frame(data):
            return frozenset(numbers if data.dtype.kind == "b" else [])
        return frozenset(
            column for column in numbers if getattr(data.dtypes.iloc[column], "kind", "O") == "b"
        )

    @cached_property
    def box(self) -> tuple[NDArray, NDArray]:
        """Bounds of the movable columns, in encoded units."""
        low, high = np.full(len(self.movable), -np.inf), np.full(len(self.movable), np.inf)
        ends_of_bent = self._bent_ends()
        for place, position in enumerate(self.movable):
            column = int(self.net.features.sources[position])
            if column in ends_of_bent:
                low[place], high[place] = np.sort(ends_of_bent[column][:, position])
            elif column in self.asked.bounds:
                ends = np.array(self.asked.bounds[column], dtype=float)
                if column in self.flags:
                    ends = np.array([max(ends[0], 0.0), min(ends[1], 1.0)])
                low[place], high[place] = ends
            elif column in self.flags:
                low[place], high[place] = 0.0, 1.0
            elif self.asked.within_data:  # a gap may be filled with a number that no row has
                reached = (*self.ranges[column], float(self.start[position]))
                low[place], high[place] = min(reached), max(reached)
            elif column in self.never_negative:
                low[place] = 0.0
        return low, high

    def _span(self, column: int) -> float:
        """From the lowest to the highest value of a column of numbers, of all rows."""
        values = np.asarray(column_values(self.table.data, column), dtype=float)
        return float(np.fmax.reduce(values) - np.fmin.reduce(values))

    @cached_property
    def ranges(self) -> dict[int, tuple[float, float]]:
        """Lowest and highest value of the user's columns of numbers, of all rows: a sample may lack them."""
        columns = [column for column, kind in self.kinds.items() if kind != "choice"]
        data = self.table.data
        if is_sparse(data):
            data = data.tocsc()
            ends = [getattr(data, end)(axis=0).toarray().ravel()[columns].tolist() for end in ("min", "max")]
            return dict(zip(columns, zip(*ends, strict=True), strict=True))
        found = {column: column_values(data, column).astype(float) for column in columns}
        return {
            column: (float(np.fmin.reduce(values)), float(np.fmax.reduce(values)))
            for column, values in found.items()
        }

    @cached_property
    def never_negative(self) -> frozenset[int]:
        """The user's columns of numbers that are nowhere below zero, as counts and amounts are not."""
        own = dict(zip(self.net.features.sources.tolist(), self.start.tolist(), strict=True))
        return frozenset(
            column
            for column, (low, _) in self.ranges.items()
            if self.kinds[column] == "number" and low >= 0 and own[column] >= 0
        )

    def _bent_ends(self) -> dict[int, NDArray]:
        """Columns that are bent, and the row encoded with all of them at their lower, then upper bounds."""
        ends = {
            column: np.clip(self.asked.bounds.get(column, (-np.inf, np.inf)), *self.ranges[column])
            for column, kind in self.kinds.items()
            if kind == "bent"
        }
        return dict.fromkeys(ends, self.encode(ends)) if ends else {}

    @cached_property
    def choices(self) -> list[Choice]:
        """Columns that are tried value by value; the row's own values come first."""
        found = [self._choice(column) for column, kind in self.kinds.items() if kind == "choice"]
        return found + [self._group(group) for group in self.asked.groups]

    def _choice(self, column: int) -> Choice:
        values, complete = self.tried(column)
        return self._tried_one_by_one((column,), {column: values}, complete)

    def _group(self, group: tuple[int, ...]) -> Choice:
        """Columns of zeros with a single one."""
        return self._tried_one_by_one(group, dict(zip(group, np.eye(len(group)), strict=True)), True)

    def _tried_one_by_one(self, columns: tuple[int, ...], values: dict[int, Any], complete: bool) -> Choice:
        positions = np.flatnonzero(np.isin(self.net.features.sources, columns))
        own = self.start[positions]
        encoded = self.encode(values)[:, positions] if len(values[columns[0]]) else own[None][:0]
        held = np.isin(self.net.features.sources[positions], list(self.asked.fixed))
        other = (encoded != own).any(axis=1) & (encoded == own)[:, held].all(axis=1)
        tried = [{column: values[column][place] for column in columns} for place in np.flatnonzero(other)]
        return Choice(positions, np.concatenate([own[None], encoded[other]]), [{}, *tried], complete)

    def tried(self, column: int) -> tuple[Any, bool]:
        """Values of a column that are tried, and whether they are all that there are."""
        import pandas as pd

        values = pd.Series(column_values(self.sample.data, column)).dropna()
        low, high = self.asked.bounds.get(column, (-np.inf, np.inf))
        if column in self.asked.whole:
            low, high = max(low, float(values.min())), min(high, float(values.max()))
            # Of more than can be tried, some across the range.
            if high - low > _MOST_WHOLE:
                some = np.linspace(np.ceil(low), np.floor(high), _MOST_VALUES)
                return np.unique(some.round()), False
            found = np.arange(np.ceil(low), np.floor(high) + 1)
        else:
            found = values.value_counts().index.to_numpy()
            if found.dtype.kind in "iuf":
                found = np.sort(found[(found >= low) & (found <= high)])
        complete = len(found) <= _MOST_VALUES
        if not complete and found.dtype.kind in "iuf":
            found = found[np.linspace(0, len(found) - 1, _MOST_VALUES).round().astype(int)]
        return found[:_MOST_VALUES], complete

    # --- back to the user -----------------------------------------------------------------------

    def point(self, encoded: NDArray, chosen: Mapping[int, Any]) -> Any:
        """The row in the user's columns, with what a search has found of it."""
        changes = dict(chosen)
        bent: dict[int, float] = {}
        for place, position in enumerate(self.movable):
            if encoded[position] != self.start[position]:
                column, code = int(self.net.features.sources[position]), float(encoded[position])
                if place in self._whole_numbers:
                    changes[column] = self._whole_numbers[place].value(code)
                elif self.kinds[column] == "number":
                    changes[column] = code
                else:
                    bent[int(position)] = code
        changes |= self._unbent(bent)
        own = take_rows(self.table.data, np.array([self.position]))
        return with_values(own.toarray() if is_sparse(own) else own, {k: [v] for k, v in changes.items()})

    def _unbent(self, wanted: Mapping[int, float]) -> dict[int, float]:
        """Numbers of the user's bent columns whose encoded ones, by position, are wanted; all together."""
        columns = {position: int(self.net.features.sources[position]) for position in wanted}
        ends = {position: self.ranges[column] for position, column in columns.items()}
        if not ends:
            return {}
        sides = self.encode({columns[position]: np.array(pair) for position, pair in ends.items()})
        for _ in range(10):  # each leaves one part of 64
            tried = {position: np.linspace(*pair, 65) for position, pair in ends.items()}
            encoded = self.encode({columns[position]: values for position, values in tried.items()})
            for position, values in tried.items():
                rising = sides[1, position] > sides[0, position]
                found, goal = encoded[:, position], wanted[position]
                before = found < goal if rising else found > goal
                # At an end of the range, rounding may put what is wanted beyond all of them.
                first = 64 if before.all() else max(int(before.argmin()), 1)
                ends[position] = float(values[first - 1]), float(values[first])
        return {columns[position]: (low + high) / 2 for position, (low, high) in ends.items()}
