"""What may change in a row: numbers within bounds, whole numbers, categories, and how they are handed back.

A search works on the encoded columns. A column that the model reads as it is, is a number there; one that is
bent by itself (a logarithm, say) is a number whose way back is found by bisection; all others (categories,
bins) are tried value by value, those that the data have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import did_you_mean
from whyclust._frames import column_values, is_frame, take_rows, to_array
from whyclust.inputs.reading import InputTable, is_sparse
from whyclust.network.network import Neuralized
from whyclust.perturbing.encoded import EncodedRows

# Rows from which ranges, categories and places to search are taken, and values of a column that are tried.
_MOST_ROWS = 5000
_MOST_VALUES = 200


@dataclass(frozen=True, eq=False)
class Choice:
    """Columns that are tried value by value, together: encoded positions, options, and the user's values.

    It is not `complete` where there were too many values to try them all.
    """

    positions: NDArray
    options: NDArray
    values: list[dict[int, Any]]
    complete: bool = True


@dataclass(frozen=True, eq=False)
class Asked:
    """What a user allows, by positions of the user's columns."""

    fixed: frozenset[int] = frozenset()
    bounds: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    whole: frozenset[int] = frozenset()
    groups: tuple[tuple[int, ...], ...] = ()
    within_data: bool = False


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
        kinds = {}
        for column in np.unique(sources).tolist():
            positions = np.flatnonzero(sources == column)
            if column in self.asked.fixed | grouped or not self.scale[positions].any():
                continue
            kinds[column] = self._kind(column, positions)
        return kinds

    def _kind(self, column: int, positions: NDArray) -> str:
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
        if len(distinct) < 3 or column in self.asked.whole:
            return "choice"
        rises = np.diff(encoded[first])
        if not ((rises >= 0).all() or (rises <= 0).all()):
            return "choice"
        widest = int(np.abs(rises).argmax())
        try:
            between = (distinct[widest] + distinct[widest + 1]) / 2
            middle = self.encode({column: np.array([between])})[0, positions[0]]
        except ValueError:  # an encoder that knows the data's values only
            return "choice"
        ends = sorted(encoded[first][[widest, widest + 1]])
        return "bent" if ends[0] < middle < ends[1] else "choice"

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
        for place, position in enumerate(self.movable):
            column = int(self.net.features.sources[position])
            bent = self.kinds[column] == "bent"
            if column in self.asked.bounds:
                ends = np.array(self.asked.bounds[column], dtype=float)
                if bent:
                    ends = self._bent_ends(column, int(position), ends)
                elif column in self.flags:
                    ends = np.array([max(ends[0], 0.0), min(ends[1], 1.0)])
                low[place], high[place] = ends
            elif column in self.flags:
                low[place], high[place] = 0.0, 1.0
            elif self.asked.within_data or bent:
                low[place], high[place] = self.data[:, position].min(), self.data[:, position].max()
            elif column in self.never_negative:
                low[place] = 0.0
        return low, high

    @cached_property
    def never_negative(self) -> frozenset[int]:
        """The user's columns of numbers that are nowhere below zero, as counts and amounts are not."""
        numbers = [column for column, kind in self.kinds.items() if kind == "number"]
        data = self.table.data  # all rows: the one below zero need not be in the sample
        if is_sparse(data):
            lowest = data.tocsc().min(axis=0).toarray().ravel()[numbers]
        else:
            lowest = [np.fmin.reduce(column_values(data, column).astype(float)) for column in numbers]
        own = dict(zip(self.net.features.sources.tolist(), self.start.tolist(), strict=True))
        return frozenset(
            column for column, low in zip(numbers, lowest, strict=True) if low >= 0 and own[column] >= 0
        )

    def _bent_ends(self, column: int, position: int, ends: NDArray) -> NDArray:
        values = column_values(self.sample.data, column).astype(float)
        ends = np.clip(ends, np.nanmin(values), np.nanmax(values))
        return np.sort(self.encode({column: ends})[:, position])

    @cached_property
    def choices(self) -> list[Choice]:
        """Columns that are tried value by value; the row's own values come first."""
        found = [self._choice(column) for column, kind in self.kinds.items() if kind == "choice"]
        return found + [self._group(group) for group in self.asked.groups]

    def _choice(self, column: int) -> Choice:
        values, complete = self._tried(column)
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

    def _tried(self, column: int) -> tuple[Any, bool]:
        """Values of a column that are tried, and whether they are all that there are."""
        import pandas as pd

        values = pd.Series(column_values(self.sample.data, column)).dropna()
        low, high = self.asked.bounds.get(column, (-np.inf, np.inf))
        if column in self.asked.whole:
            low, high = max(low, float(values.min())), min(high, float(values.max()))
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
        for position in self.movable:
            if encoded[position] != self.start[position]:
                column = int(self.net.features.sources[position])
                changes[column] = self._value(column, int(position), float(encoded[position]))
        for place in self.whole:
            column = int(self.net.features.sources[self.movable[place]])
            if column in changes:
                changes[column] = float(round(changes[column]))
        own = take_rows(self.table.data, np.array([self.position]))
        return with_values(own.toarray() if is_sparse(own) else own, {k: [v] for k, v in changes.items()})

    def _value(self, column: int, position: int, wanted: float) -> float:
        """A number of the user's whose encoded one is wanted."""
        if self.kinds[column] == "number":
            return wanted
        values = column_values(self.sample.data, column).astype(float)
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        rising = bool(np.subtract(*self.encode({column: np.array([high, low])})[:, position]) > 0)
        for _ in range(10):  # each leaves one part of 64
            tried = np.linspace(low, high, 65)
            encoded = self.encode({column: tried})[:, position]
            before = encoded < wanted if rising else encoded > wanted
            # At an end of the range, rounding may put what is wanted beyond all of them.
            first = 64 if before.all() else max(int(before.argmin()), 1)
            low, high = float(tried[first - 1]), float(tried[first])
        return (low + high) / 2


def with_values(rows: Any, changes: Mapping[int, Any]) -> Any:
    """Rows with other values in some columns, as the same kind of table; whole numbers may become others."""
    if not is_frame(rows):
        changed = to_array(rows).copy()
        numbers = [np.asarray(values) for values in changes.values()]
        if numbers and changed.dtype.kind in "biu":
            changed = changed.astype(np.float64)
        for column, values in changes.items():
            changed[:, column] = values
        return changed
    import pandas as pd

    changed = rows.copy()
    for column, values in changes.items():
        before = rows.iloc[:, column]
        after = pd.Series(list(values), index=rows.index)
        kept = before.dtype
        integer = getattr(kept, "kind", "O") in "iu" and any(float(value) != int(value) for value in values)
        changed.isetitem(column, after if integer else after.astype(kept))
    return changed


def read_asked(names: list[str], fixed: Any, bounds: Any, whole: Any, *, sparse: bool) -> Asked:
    """What a user allows, checked."""
    groups = [one for one in _listed(whole) if isinstance(one, (list, tuple, set, frozenset))]
    single = [one for one in _listed(whole) if not isinstance(one, (list, tuple, set, frozenset))]
    limits: dict[int, tuple[float, float]] = {}
    if isinstance(bounds, str) and bounds != "data":
        raise ValueError(f"bounds={bounds!r}, expected 'data' or a mapping of columns to (lowest, highest).")
    if bounds is not None and not isinstance(bounds, (str, Mapping)):
        raise ValueError(
            f"bounds is a {type(bounds).__name__}, expected a mapping of columns to (lowest, highest)."
        )
    for column, pair in bounds.items() if isinstance(bounds, Mapping) else ():
        limits[place_among(names, column, "bounds")] = _pair(column, pair)
    return Asked(
        frozenset(place_among(names, column, "fixed") for column in _listed(fixed)),
        limits,
        frozenset(place_among(names, column, "whole") for column in single),
        tuple(tuple(place_among(names, column, "whole") for column in group) for group in groups),
        within_data=bounds == "data" or (bounds is None and sparse),
    )


def _listed(columns: Any) -> list[Any]:
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        return [columns]
    return list(columns)


def _pair(column: Any, pair: Any) -> tuple[float, float]:
    try:
        low, high = pair
        ends = (-np.inf if low is None else float(low), np.inf if high is None else float(high))
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds of {column!r} are {pair!r}, expected (lowest, highest), None for a side without bound."
        ) from None
    if not ends[0] <= ends[1]:
        raise ValueError(f"bounds of {column!r} are {pair!r}, expected the lowest first.")
    return ends


def place_among(names: list[str], column: Any, called: str) -> int:
    """The position of a column given by name or by position."""
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        if 0 <= column < len(names):
            return int(column)
        raise ValueError(f"{called} names column {column}, expected 0 to {len(names) - 1}.")
    if str(column) in names:
        return names.index(str(column))
    raise ValueError(f"{called} names {column!r}, which is no column{did_you_mean(column, names)}")
