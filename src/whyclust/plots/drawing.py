"""What several pictures are made of: figures, images, rows as a table of colours, colours of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.plots.undoing import column_names, usual

# Numbers are written into the cells of tables of at most so many columns.
_MOST_WRITTEN = 14
# In a table of more columns only those that differ most between its rows are drawn.
_MOST_COLUMNS = 60
# Okabe and Ito's colours, which colour-blind people tell apart; further clusters have other markers.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#B8A800")
_MARKERS = ("o", "^", "s", "D", "v", "P", "*", "X")


def figure_type() -> Any:
    """matplotlib's Figure, which is not entered into any list of figures to be shown."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "whyclust.plots needs matplotlib, which is not installed: pip install 'whyclust[plots]'."
        ) from None
    return Figure


def finished(figure: Any, path: str | Path | None) -> Any:
    """The figure, written to a file where one is named."""
    if path is not None:
        figure.savefig(path, bbox_inches="tight", dpi=150)
    return figure


def positions(rows: Any, count: int) -> list[int]:
    """Positions of rows that the user named."""
    asked = np.atleast_1d(np.asarray(rows))
    known = asked.ndim == 1 and asked.dtype.kind in "iu" and len(asked) > 0
    if not known or not ((asked >= 0) & (asked < count)).all():
        raise ValueError(f"rows={rows!r}, expected positions from 0 to {count - 1}.")
    return [int(row) for row in asked]


# --- images -----------------------------------------------------------------------------------------


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


# --- tables -----------------------------------------------------------------------------------------


def table_size(n_rows: int, n_columns: int) -> tuple[float, float]:
    """Inches of a table of colours."""
    across = min(n_columns, _MOST_COLUMNS)
    width = max(4.0, min(0.75, 14.0 / across) * across)
    return width + 1.2, 0.36 * max(n_rows, 4) + 1.6


def table_in(
    figure: Any,
    model: Any,
    rows: NDArray,
    names: Sequence[str],
    feature_names: Sequence[str] | None,
    *,
    together: int | None = None,
) -> Any:
    """Rows as colours: how far each is above or below the mean of the data, in standard deviations.

    Lines part the rows after each so many that belong `together`. Of many columns those are drawn that
    differ most between the rows.
    """
    columns = column_names(model, feature_names, rows.shape[1])
    mean, deviations = usual(model)
    colours = (rows - mean) / np.where(deviations > 0, deviations, 1.0)
    axis = figure.subplots()
    if len(columns) > _MOST_COLUMNS:
        kept = np.sort(np.argsort(-colours.std(axis=0), kind="stable")[:_MOST_COLUMNS])
        axis.set_xlabel(
            f"the {len(kept)} of {len(columns)} columns in which these rows differ most", fontsize=8
        )
        rows, colours, columns = rows[:, kept], colours[:, kept], [columns[place] for place in kept]
    drawn = axis.imshow(colours, cmap="RdBu_r", vmin=-2.5, vmax=2.5, aspect="auto")
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_xticks(range(len(columns)), columns, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    if len(columns) <= _MOST_WRITTEN:
        for i, j in np.ndindex(*rows.shape):
            dark = abs(colours[i, j]) > 1.5
            colour = "w" if dark else "k"
            axis.text(j, i, short(float(rows[i, j])), ha="center", va="center", fontsize=7, color=colour)
    for place in range(together or len(rows), len(rows), together or len(rows)):
        axis.axhline(place - 0.5, color="k", linewidth=1.0)
    figure.colorbar(drawn, ax=axis, label="standard deviations\nfrom the mean of the data", fraction=0.03)
    return axis


def short(value: float) -> str:
    """A number in a cell, or beside a bar."""
    if np.isnan(value):
        return "missing"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


# --- points -----------------------------------------------------------------------------------------


def points_on(axis: Any, x: NDArray, y: NDArray, codes: NDArray) -> None:
    """Points in the colour and with the marker of their cluster, in the order given.

    Clusters that share a marker are drawn at once, so that none of them hides the others.
    """
    size = float(np.clip(12_000.0 / max(len(x), 1), 5.0, 22.0))
    for number in np.unique(codes // len(_COLOURS)):
        chosen = codes // len(_COLOURS) == number
        colours = [_COLOURS[code % len(_COLOURS)] for code in codes[chosen]]
        marker = _MARKERS[number % len(_MARKERS)]
        axis.scatter(x[chosen], y[chosen], c=colours, marker=marker, s=size, alpha=0.7, linewidths=0)


def legend_outside(figure: Any, names: Sequence[str], title: str, *, below: bool = False) -> None:
    """The clusters' colours and markers, to the right of all that is drawn, or below it."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            linestyle="",
            markersize=6,
            markeredgewidth=0,
            label=name,
            color=_COLOURS[code % len(_COLOURS)],
            marker=_MARKERS[code // len(_COLOURS) % len(_MARKERS)],
        )
        for code, name in enumerate(names)
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center" if below else "outside right upper",
        title=title,
        fontsize=8,
        title_fontsize=8,
        ncols=min(len(names), 8) if below else -(-len(names) // 20),
    )
