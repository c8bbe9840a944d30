"""Rows that an explanation does without: of large tables they would double its file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import is_frame
from whyclust.saving.registry import saved

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation


@saved(alone=False)
@dataclass(frozen=True)
class RowsLeftOut:
    """Stands where the rows of an explanation would be, and says so to whoever asks for them.

    Attributes
    ----------
    n_rows, n_columns : int
    named_by : str or None
        The column that named the rows, where that is known.
    """

    n_rows: int
    n_columns: int
    named_by: str | None = None
    left_out: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, int]:
        """Of the rows that were left out."""
        return self.n_rows, self.n_columns

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, chosen: Any) -> RowsLeftOut:
        if isinstance(chosen, tuple):
            self._refuse()
        return RowsLeftOut(len(np.arange(self.n_rows)[chosen]), self.n_columns, self.named_by)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> Any:
        # Protocols ask for names with underscores, and take no for an answer.
        if name.startswith("_"):
            raise AttributeError(name)
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            "This explanation was saved without its rows: give them back with ex.with_data(rows). The "
            "command line keeps them with --with-data."
        )


def without_data(explanation: Explanation) -> Explanation:
    """The same explanation, without its rows."""
    name = getattr(getattr(explanation.data, "index", None), "name", None)
    name = name if isinstance(name, str) else None
    return replace(explanation, data=RowsLeftOut(*explanation.shape, name))


def with_data(explanation: Explanation, data: Any) -> Explanation:
    """The same explanation with rows: a frame with its columns, in any order, or an array of its shape."""
    names = list(explanation.feature_names)
    if is_frame(data):
        lacking = [name for name in names if name not in data.columns]
        if lacking:
            raise ValueError(
                f"data has no column {lacking[0]!r}: pass the rows that were explained, with all columns."
            )
        named_by = explanation.data.named_by if isinstance(explanation.data, RowsLeftOut) else None
        if named_by is not None and named_by in data.columns and len(data) == len(explanation):
            data = _named(data, named_by, explanation.index)
        data = _in_rows(data[names], explanation.index)
    else:
        data = np.asarray(data)
    if data.shape != explanation.shape:
        found = " × ".join(str(size) for size in data.shape)
        n_rows, n_columns = explanation.shape
        raise ValueError(f"data is {found}, expected the {n_rows} × {n_columns} that were explained.")
    return replace(explanation, data=data)


def _named(data: Any, name: str, index: NDArray) -> Any:
    """The rows under the names that a column gives them; a row without one has the explanation's."""
    ids = data[name].astype(object)
    ids = ids.where(ids.notna(), index)
    if list(ids) != list(index) and not (ids.is_unique and set(ids) == set(index)):
        other = next(one for one, own in zip(ids, index, strict=True) if one != own)
        raise ValueError(
            f"column {name!r} of data has other rows than the explanation (such as {other!r}, and "
            f"{index[0]!r} here): pass the rows that were explained."
        )
    return data.set_axis(ids.to_numpy(), axis=0)


def _in_rows(data: Any, index: NDArray) -> Any:
    """The rows under the explanation's labels: by their own labels, or in their order if they have none."""
    import pandas as pd

    if len(data) != len(index) or not isinstance(data, pd.DataFrame):
        return data
    if isinstance(data.index, pd.RangeIndex) or list(data.index) == list(index):
        return data.set_axis(index, axis=0)
    if data.index.is_unique and set(data.index) == set(index):
        return data.loc[list(index)]
    raise ValueError(
        f"data has other row labels than the explanation (such as {data.index[0]!r} and {index[0]!r}): pass "
        "the rows that were explained, or drop the labels, data.reset_index(drop=True)."
    )
