"""What ``values[rows, columns]`` and sums ask for: numpy's own rules for two axes, told in sentences."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NAMES = ("row", "column")
_ALLOWED = "expected whole numbers, a slice, a list of positions or a mask"


def read_key(key: Any, shape: tuple[int, int]) -> tuple[NDArray, NDArray, bool]:
    """Positions along both axes, none of them negative, and whether they are pairs.

    Positions of no dimension are a single one, whose axis goes. Pairs are broadcast against each other
    and name single numbers; otherwise each axis is chosen from by itself.

    >>> read_key(([1, -1], slice(2)), (3, 4))
    (array([1, 2]), array([0, 1]), False)
    >>> read_key(([1, 2], [3, 0]), (3, 4))
    (array([1, 2]), array([3, 0]), True)
    """
    parts = key if isinstance(key, tuple) else (key,)
    if len(parts) == 1 and isinstance(parts[0], np.ndarray) and parts[0].ndim == 2 and parts[0].dtype == bool:
        mask = np.asarray(parts[0])
        if mask.shape != shape:
            raise IndexError(f"A mask has shape {mask.shape}, but the values {shape}: expected the same.")
        rows, columns = mask.nonzero()
        return rows, columns, True
    parts = _two(parts)
    along = [_positions(part, size, name) for part, size, name in zip(parts, shape, _NAMES, strict=True)]
    listed = [not isinstance(part, slice) for part in parts]
    dimensions = [found.ndim for found in along]
    if all(listed) and sum(dimensions) > 1:
        try:
            rows, columns = np.broadcast_arrays(along[0], along[1])
        except ValueError:
            raise IndexError(
                f"{_count(along[0])} positions of rows and {_count(along[1])} of columns do not make pairs, "
                "expected as many of both: for a block use values[rows][:, columns] or numpy.ix_."
            ) from None
        return rows, columns, True
    if max(dimensions) > 1:
        raise IndexError(
            f"Positions of {max(dimensions)} dimensions would make a table of three or more, expected rows "
            "and columns: use numpy.asarray(values) for others."
        )
    return along[0], along[1], False


def _count(positions: NDArray) -> str:
    return " × ".join(map(str, positions.shape))


def _two(parts: tuple[Any, ...]) -> tuple[Any, Any]:
    """One key for each axis; an ellipsis stands for whole ones."""
    dots = [place for place, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1 or len(parts) - len(dots) > 2:
        raise IndexError(f"{len(parts)} keys are too many, expected one for rows and one for columns.")
    place = dots[0] if dots else len(parts)
    whole = (slice(None),) * (2 - (len(parts) - len(dots)))
    rows, columns = parts[:place] + whole + parts[place + 1 :]
    return rows, columns


def _positions(part: Any, size: int, name: str) -> NDArray:
    if isinstance(part, slice):
        try:
            found = np.arange(size)[part]
        except (TypeError, ValueError) as error:
            raise type(error)(f"{part} is no slice of {name}s, {_ALLOWED}.") from None
        return found
    if part is None or isinstance(part, (bool, np.bool_, str, bytes)):
        raise IndexError(f"{part!r} is no {name}, {_ALLOWED}.")
    try:
        array = np.asarray(part)
    except ValueError:
        raise IndexError(f"A list of lists of different lengths names no {name}s, {_ALLOWED}.") from None
    if array.dtype == bool:
        if array.shape != (size,):
            raise IndexError(f"A mask of {name}s has shape {array.shape}, expected ({size},).")
        return array.nonzero()[0]
    if array.size == 0 and not isinstance(part, np.ndarray):
        array = array.astype(np.intp)  # an empty list has no type of its own
    if array.dtype.kind not in "iu":
        try:
            array = np.asarray(operator.index(part))
        except TypeError:
            raise IndexError(f"{name}s were asked for by {array.dtype} values, {_ALLOWED}.") from None
    outside = (array < -size) | (array >= size)
    if outside.any():
        raise IndexError(f"There is no {name} {array[outside][0]}, expected -{size} to {size - 1}.")
    return np.where(array < 0, array + size, array).astype(np.intp)


def read_axis(axis: Any) -> int | None:
    """0, 1 or None: negative axes are counted from the last.

    >>> read_axis(-1)
    1
    """
    if axis is None:
        return None
    whole = isinstance(axis, (int, np.integer)) and not isinstance(axis, bool)
    if not whole:
        raise TypeError(f"axis={axis!r}, expected 0, 1, -1, -2 or None.")
    if not -2 <= axis < 2:
        raise np.exceptions.AxisError(f"axis={axis} of values with two axes, expected 0, 1, -1, -2 or None.")
    return int(axis) % 2


def reduction(
    name: str, dtype: Any, keepdims: bool, others: dict[str, Any]
) -> Callable[[Any, int | None], Any]:
    """How a sum over an axis is handed out: what `numpy.sum` and `numpy.mean` may ask for besides the axis.

    >>> reduction("sum", np.float32, True, {})(np.array([1.0, 2.0]), 1)
    array([[1.],
           [2.]], dtype=float32)
    """
    # numpy's functions hand on out=None where nobody asked for it.
    asked = [key for key, value in others.items() if not (key == "out" and value is None)]
    if asked:
        raise TypeError(
            f"{name}({asked[0]}=…) was asked of values that are kept as factors, expected axis, dtype or "
            f"keepdims: use numpy.asarray(values).{name}({asked[0]}=…)."
        )
    kind = None if dtype is None else np.dtype(dtype)
    if kind is not None and kind.kind != "f":
        raise TypeError(f"dtype={kind}, expected a type of real numbers, such as float64.")

    def finish(found: Any, axis: int | None) -> Any:
        found = found if kind is None else found.astype(kind)
        if not keepdims:
            return found
        return np.reshape(found, (1, 1)) if axis is None else np.expand_dims(found, axis)

    return finish
