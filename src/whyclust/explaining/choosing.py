"""Which rows and columns of an explanation are meant, and tables of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import counted, did_you_mean
from whyclust._frames import column_values, in_rows_of, is_frame

# What is longer is not repeated in an error.
_LONGEST = 60

if TYPE_CHECKING:
    import pandas as pd

    from whyclust.explaining.explanation import Explanation


class HasRows(Protocol):
    """What rows are chosen of: an explanation, or what a picture is made of."""

    @property
    def index(self) -> NDArray:
        """What rows are called."""

    @property
    def data(self) -> Any:
        """The user's own values."""

    @property
    def feature_names(self) -> list[str]:
        """What columns are called."""

    def __len__(self) -> int: ...


def positions_of(explanation: HasRows, rows: Any) -> Any:
    """Rows as numpy takes them; of an explanation of an array, masks have no names to match."""
    if isinstance(rows, str) or is_label(explanation, rows):
        return _labelled(explanation, [rows])
    if isinstance(rows, list) and rows and isinstance(rows[0], tuple) and is_label(explanation, rows[0]):
        return _labelled(explanation, rows)
    if isinstance(rows, list) and rows and all(isinstance(one, str) for one in rows):
        return _labelled(explanation, rows)
    if not hasattr(rows, "__array__"):
        return rows
    found = np.asarray(rows)
    if found.ndim == 1 and found.size and all(isinstance(one, str) for one in found):
        return _labelled(explanation, found.tolist())
    if found.ndim == 1 and found.dtype == object and _is_missing_in(found):
        raise IndexError(
            f"The mask has {counted(len(found), 'row')}, some of which are neither True nor False but "
            "missing: mask.fillna(False) leaves them out."
        )
    if found.dtype == object and all(isinstance(answer, (bool, np.bool_)) for answer in found):
        found = found.astype(bool)  # of pandas' nullable kind
    if found.dtype != bool or not is_frame(explanation.data):
        return found
    return np.asarray(in_rows_of(rows, explanation.index, "rows", "ex"), dtype=bool)


def is_label(known: HasRows, rows: Any) -> bool:
    """Whether this is what one row is called, where an index of several levels calls it by a tuple."""
    if not isinstance(rows, tuple) or not len(known) or not isinstance(known.index[0], tuple):
        return False
    if len(rows) != len(known.index[0]) or any(isinstance(part, (slice, list, np.ndarray)) for part in rows):
        return False
    wanted = without_nan(rows)
    return any(without_nan(label) == wanted for label in known.index)


def without_nan(label: tuple[Any, ...]) -> tuple[Any, ...]:
    """A label of several levels in which what is missing equals itself."""
    return tuple("missing" if part is None or part != part else part for part in label)


def _is_missing_in(answers: NDArray) -> bool:
    """Whether some answers of a mask of pandas are not there."""
    import pandas as pd

    known = [answer for answer in answers if not pd.isna(answer)]
    return len(known) < len(answers) and all(isinstance(answer, (bool, np.bool_)) for answer in known)


def unfit_rows(rows: Any, n_rows: int) -> IndexError:
    """The error of what chooses no rows, in one line."""
    mask = np.asarray(rows)
    if mask.dtype == bool and mask.ndim == 1:
        return IndexError(
            f"rows is a mask of {counted(len(mask), 'row')}, which do not fit an explanation of {n_rows} "
            "rows: expected an answer for each."
        )
    told = repr(rows)
    if len(told) > _LONGEST or "\n" in told:
        told = f"a {type(rows).__name__} of shape {np.shape(rows)}"
    return IndexError(
        f"rows={told} do not fit an explanation of {n_rows} rows, expected a position, a slice, a mask, or a "
        "list of positions or of labels."
    )


def _labelled(explanation: HasRows, wanted: list[Any]) -> NDArray:
    """Positions of rows by their labels; a label of several rows stands for all of them."""
    places: dict[Any, list[int]] = {}
    for place, label in enumerate(explanation.index):
        places.setdefault(str(label), []).append(place)
        if isinstance(label, tuple):
            places.setdefault(without_nan(label), []).append(place)
    wanted = [without_nan(label) if isinstance(label, tuple) else label for label in wanted]
    for label in wanted:
        if label not in places:
            hint = did_you_mean(str(label), [str(known) for known in places])
            if label in explanation.feature_names:
                hint = f": it is a column, ex[:, {label!r}]."
            raise KeyError(f"There is no row {label!r} in this explanation of {len(explanation)} rows{hint}")
    return np.array([place for label in wanted for place in places[label]], dtype=int)


def place_of(explanation: Explanation, name: str) -> int:
    """The position of a column."""
    known = explanation.feature_names
    if name not in known:
        raise KeyError(f"There is no feature {name!r} in this explanation{did_you_mean(name, known)}")
    return known.index(name)


def relevance_of(explanation: Explanation, columns: Any) -> Any:
    """Relevance of some columns by name: a Series of one, a frame of several."""
    import pandas as pd

    one = isinstance(columns, str) or np.ndim(columns) == 0
    wanted = [columns] if one else np.asarray(columns) if hasattr(columns, "__array__") else columns
    if not isinstance(wanted, (list, np.ndarray)) or not all(
        isinstance(name, str) or _names_a_column(explanation, name) for name in wanted
    ):
        raise TypeError(
            f"columns={columns!r}, expected a name or a list of names; ex.values[rows, columns] takes "
            "positions."
        )
    places = [place_of(explanation, str(name)) for name in wanted]
    found = pd.DataFrame(np.asarray(explanation.values[:, places]), explanation.index, list(wanted))
    return found[columns] if one else found


def _names_a_column(explanation: Explanation, name: Any) -> bool:
    """Whether a whole number is the name of a column, as in frames made of arrays."""
    whole = isinstance(name, (int, np.integer)) and not isinstance(name, bool)
    return whole and str(name) in explanation.feature_names


def present_values(explanation: Explanation) -> NDArray:
    """Relevance of columns that are not zero in their row; what is no number is there."""
    values = np.array(explanation.values)
    for place in range(values.shape[1]):
        column = column_values(explanation.data, place)
        if column.dtype.kind in "biuf":
            values[column == 0, place] = 0.0
    return values


def long_frame(explanation: Explanation, wide: pd.DataFrame) -> pd.DataFrame:
    """One line for each row and column, from a frame of one line for each row."""
    import pandas as pd

    n_rows, n_columns = wide.shape
    told = {
        "cluster": explanation.clusters,
        "competitor": explanation.competitors,
        "evidence": explanation.evidence,
    }
    frame = pd.DataFrame({name: np.repeat(values, n_columns) for name, values in told.items()})
    frame.index = wide.index.repeat(n_columns)
    frame["feature"] = np.tile(np.asarray(explanation.feature_names, dtype=object), n_rows)
    columns = [column_values(explanation.data, place) for place in range(n_columns)]
    frame["value"] = pd.DataFrame(dict(enumerate(columns))).to_numpy().ravel()
    frame["relevance"] = wide.to_numpy().ravel()
    return frame
