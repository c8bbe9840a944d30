"""Rows as images: which shape they have, one of them, lines of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def asked_shape(given: Any, own: Any, n_columns: int) -> tuple[int, int, int] | None:
    """(channels, height, width) of rows that are to be drawn as images: as given, or the model's own."""
    if given is None:
        return _image_shape(own, n_columns)
    shape = _image_shape(given, n_columns)
    if shape is None:
        raise ValueError(
            f"image_shape={given!r} does not fit rows of {n_columns} columns, expected (height, "
            "width) or (1 or 3 channels, height, width)."
        )
    return shape


def _image_shape(shape: Any, n_columns: int) -> tuple[int, int, int] | None:
    """(channels, height, width), or None where rows cannot be drawn so."""
    sizes = tuple(int(size) for size in np.atleast_1d(shape)) if shape is not None else ()
    sizes = (1, *sizes) if len(sizes) == 2 else sizes
    if len(sizes) != 3 or int(np.prod(sizes)) != n_columns or sizes[0] not in (1, 3):
        return None
    return sizes[0], sizes[1], sizes[2]


def image_on(axis: Any, row: NDArray, shape: tuple[int, int, int], low: float, high: float) -> None:
    """A row as an image, whose darkest and brightest values are those of all that stand beside it."""
    image = np.moveaxis(row.reshape(shape), 0, -1)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_frame_on(False)
    if shape[0] == 1:
        axis.imshow(image[..., 0], cmap="gray", vmin=low, vmax=high)
    else:
        axis.imshow(np.clip((image - low) / (high - low if high > low else 1.0), 0.0, 1.0))


def image_lines(
    figure: Any, rows: NDArray, shape: tuple[int, int, int], above: Sequence[str], beside: Sequence[str]
) -> None:
    """Lines of images, all in the same grey: rows has lines × places × columns."""
    axes = figure.subplots(*rows.shape[:2], squeeze=False)
    low, high = float(rows.min()), float(rows.max())
    for (line, place), axis in np.ndenumerate(axes):
        image_on(axis, rows[line, place], shape, low, high)
        if line == 0:
            axis.set_title(above[place], fontsize=8)
        if place == 0:
            axis.set_ylabel(beside[line], fontsize=8, rotation=0, ha="right", va="center")
