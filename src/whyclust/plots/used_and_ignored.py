"""A picture of one row: what the clustering uses of it, and what it ignores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.explaining.explanation import Explanation
from whyclust.explaining.origin import as_it_is
from whyclust.explaining.rows import explain_rows
from whyclust.network.neuralizing import network_for
from whyclust.plots.drawing import SIGNED, finished, new_figure, position, signed, value_of
from whyclust.plots.images import asked_shape, image_on
from whyclust.plots.two_spaces import asked

# A reader takes in about this many bars.
_MOST_BARS = 12
# Letters in a line below the picture.
_LINE = 130
_SIDES = ("What the clustering uses", "What it ignores")
_NEGATIVE = "Blue: negative, against the cluster, or towards the mean of what is ignored."
_SCALED = "Each side is scaled: its absolute values sum to 1."


def used_and_ignored(
    model: Any,
    X: Any,
    row: int | str,
    *,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    path: str | Path | None = None,
) -> Any:
    """Draw the relevance of a row's columns for its cluster, beside that for the shared space.

    These are ``wc.explain(model, X)`` and ``wc.explain(model, X, space="shared")`` of the row. Their units
    differ, so each is divided by the sum of its absolute values.

    Parameters
    ----------
    model : fitted ACeDeC, or Pipeline that ends in one
    X : table, or images
        With the columns that the model was fitted on.
    row : int or str
        Position or label of the row, as in ``ex[row]``.
    image_shape : (height, width) or (channels, height, width), optional
        Draw an image and two heat maps; by default where the model, or X, has images.
    feature_names : sequence of str, optional
        Names of the columns where X is an array.
    path : str or Path, optional
        Also write the picture to this file.

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = asked(model, X)
    from whyclust.explaining.ignored import ignored  # PyTorch is imported on use

    place = np.array([position(row, found)])
    net = network_for(model, found.table)
    one = found.table.take(place)
    used = explain_rows(net, one, feature_names=feature_names, model=as_it_is(found.deep))
    rest = ignored(used)
    sides = np.stack([_scaled(used.values[0]), _scaled(rest.values[0])])
    own = getattr(found.table.kind, "shape", None) or found.deep.image_shape
    shape = asked_shape(image_shape, own, sides.shape[1])
    name = found.named(int(place[0]))
    if shape is None:
        figure = _bars(used, sides, rest.provenance.doubt)
    else:
        figure = _maps(found.numbers(place)[0], sides, shape, rest.provenance.doubt)
    figure.suptitle(f"{name[0].upper()}{name[1:]}, in {used.named(used.assigned[0])}")
    return finished(figure, path)


def _scaled(values: NDArray) -> NDArray:
    return np.asarray(values, dtype=float) / (np.abs(values).sum() or 1.0)


def _told(figure: Any, said: str, doubt: str | None) -> None:
    """What is said below both sides; lines are as long as the picture is wide."""
    lines = [said, _NEGATIVE, *([] if doubt is None else wrap(doubt, _LINE))]
    figure.supxlabel("\n".join(lines), fontsize=8)


def _bars(used: Explanation, sides: NDArray, doubt: str | None) -> Any:
    sizes = np.abs(sides)
    order = np.argsort(-sizes.max(axis=0), kind="stable")[:_MOST_BARS]
    names = [f"{used.feature_names[column]} = {value_of(used, 0, column)}" for column in order]
    figure = new_figure(figsize=(8.5, 0.3 * len(order) + 1.9), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True, sharex=True)
    for axis, title, values, size in zip(axes, _SIDES, sides, sizes, strict=True):
        shown = values[order]
        axis.barh(range(len(order)), shown, color=signed(shown))
        axis.axvline(0.0, color="k", linewidth=0.8)
        axis.set_title(title, fontsize=10)
        axis.tick_params(labelsize=8)
        part = "" if len(order) == len(values) else f" (drawn: {size[order].sum():.0%} of it)"
        axis.set_xlabel(f"share of the relevance{part}", fontsize=8)
    axes[0].set_yticks(range(len(order)), names)
    axes[0].locator_params(axis="x", nbins=5)  # more would run into each other
    axes[0].invert_yaxis()
    _told(figure, _SCALED + _left_out(sides.shape[1]), doubt)
    return figure


def _left_out(count: int) -> str:
    if count <= _MOST_BARS:
        return ""
    return f" The {_MOST_BARS} columns of {count} that are largest on either side are drawn."


def _maps(row: NDArray, sides: NDArray, shape: tuple[int, int, int], doubt: str | None) -> Any:
    figure = new_figure(figsize=(8.2, 3.3), layout="constrained")
    axes = figure.subplots(1, 3)
    image_on(axes[0], row, shape, float(row.min()), float(row.max()))
    axes[0].set_title("Input", fontsize=10)
    heat = sides.reshape(2, *shape).sum(axis=1)  # channels are summed
    largest = float(np.abs(heat).max()) or 1.0
    drawn: Any = None
    for axis, title, values in zip(axes[1:], _SIDES, heat, strict=True):
        drawn = axis.imshow(values, cmap=SIGNED, vmin=-largest, vmax=largest)
        axis.set_title(title, fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.colorbar(drawn, ax=axes, label="share of relevance", fraction=0.03)
    _told(figure, _SCALED, doubt)
    return figure
