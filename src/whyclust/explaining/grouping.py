"""Columns of an explanation: their names, and groups of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from whyclust._checks import did_you_mean
from whyclust._frames import column_values, is_frame, take_columns
from whyclust.inputs.reading import InputTable, is_sparse


def given_names(feature_names: Sequence[str], count: int, known: list[str]) -> list[str]:
    """Names that the user gave for the columns of an array."""
    if isinstance(feature_names, str) or not np.iterable(feature_names):
        raise TypeError(
            f"feature_names is a {type(feature_names).__name__}, expected a sequence of names: a "
            "vectorizer has them as vectorizer.get_feature_names_out()."
        )
    names = [str(name) for name in feature_names]
    if len(names) != count:
        raise ValueError(f"feature_names has {len(names)} names, but X has {count} columns.")
    if len(set(names)) < count:
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"feature_names has {repeated!r} twice: give each column a name of its own.")
    if names != known and set(names) == set(known):
        raise ValueError("feature_names has the columns of X in another order: leave it out, X has names.")
    return names


def grouping_of(
    groups: Mapping[str, Sequence[Any]], names: list[str], table: InputTable
) -> tuple[NDArray, list[str]]:
    """For each column the output column it is summed into; groups first, then single columns."""
    if not isinstance(groups, Mapping):
        raise TypeError(f"groups is a {type(groups).__name__}, expected {{name: [columns]}}.")
    if len({str(group) for group in groups}) < len(groups):
        raise ValueError("Two groups have the same name: give each a name of its own.")
    target = np.full(len(names), -1, dtype=np.intp)
    for number, (group, columns) in enumerate(groups.items()):
        listed = [] if isinstance(columns, str) or not np.iterable(columns) else list(columns)
        if not listed:
            raise ValueError(
                f"groups[{group!r}] is {columns!r}, expected a list of column names or positions."
            )
        for column in listed:
            position = _position(column, names, table, f"groups[{group!r}]")
            if target[position] not in (-1, number):
                raise ValueError(
                    f"The column {names[position]!r} is in two groups, so sums would count it twice: "
                    "make the groups disjoint, or sum ex.to_pandas()[columns] yourself."
                )
            target[position] = number
    alone = np.flatnonzero(target < 0)
    for column in alone:
        if names[column] in map(str, groups):
            raise ValueError(
                f"groups[{names[column]!r}] has the name of a column that is not in it: rename the group."
            )
    target[alone] = len(groups) + np.arange(len(alone))
    return target, [*map(str, groups), *(names[column] for column in alone)]


def _position(column: Any, names: list[str], table: InputTable, called: str) -> int:
    """Where a column is that was named, or given by its position."""
    numbered = is_frame(table.data) and not any(isinstance(name, str) for name in table.data.columns)
    if isinstance(column, str) or (numbered and column in table.data.columns):
        if str(column) not in names:
            hint = did_you_mean(column, names)
            raise ValueError(f"{called} names the column {column!r}, which X does not have{hint}")
        return names.index(str(column))
    if not isinstance(column, (int, np.integer)) or isinstance(column, bool):
        raise ValueError(f"{called} names {column!r}, expected a column's name or position.")
    position = int(column)
    if numbered:  # a column called 3 is not the one at position 3
        raise ValueError(f"{called} names the column {position}, which X does not have.")
    if not 0 <= position < len(names):
        raise ValueError(f"{called} names position {position}, but X has {len(names)} columns.")
    if str(position) in names and names[position] != str(position):
        place = names.index(str(position))
        raise ValueError(
            f"{called} names {position}, but the column called '{position}' is at position {place}: write "
            f"'{position}' for that column, or the name of the other."
        )
    return position


def grouped_data(table: InputTable, grouping: NDArray, width: int) -> Any:
    """The users' values where a column stands alone, the mean of its columns for a group."""
    import pandas as pd

    data = table.data
    if not is_frame(data):
        if is_sparse(data):
            shares = 1.0 / np.bincount(grouping, minlength=width)[grouping]
            places = (np.arange(len(grouping)), grouping)
            return sp.csr_array(data @ sp.csr_array((shares, places), shape=(len(grouping), width)))
        data = pd.DataFrame(data)
    columns = []
    for column in range(width):
        part = take_columns(data, np.flatnonzero(grouping == column))
        if part.shape[1] == 1:
            columns.append(column_values(part, 0))
        else:
            columns.append(part.select_dtypes("number").mean(axis=1).to_numpy())
    frame = pd.DataFrame(dict(enumerate(columns)))
    return frame.to_numpy() if not is_frame(table.data) else frame
