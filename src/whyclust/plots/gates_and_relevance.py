"""A picture of gates beside relevance: for rows, for clusters, or for images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import one_of
from whyclust.explaining.explanation import Explanation
from whyclust.plots.drawing import SIGNED, finished, new_figure, positions
from whyclust.plots.images import asked_shape, image_on
from whyclust.plots.registry import plot

# A reader takes in about this many columns, and rows.
_MOST_COLUMNS = 20
_MOST_ROWS = 10
_TITLES = ("gates", "relevance / the largest of the row")


@plot
def gates_and_relevance(
    explanation: Explanation,
    *,
    by: str = "rows",
    rows: Any = None,
    image_shape: Sequence[int] | None = None,
    path: str | Path | None = None,
) -> Any:
    """Draw which columns are open, beside how relevant they are.

    Parameters
    ----------
    explanation : Explanation
        Of a model with gates: ``wc.explain(idc, X)``.
    by : {"rows", "clusters"}
        Single rows, or the means over the rows of each cluster.
    rows : sequence of int or str, optional
        Positions or labels of the rows to draw. By default all rows of an explanation of ten or fewer
        (``ex[:6]``); of a longer one the most typical row of each cluster, ten at most, and the picture says
        so.
    image_shape : (height, width) or (channels, height, width), optional
        Draw rows as images; by default where the explanation is of images.
    path : str or Path, optional
        Also write the picture to this file.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from whyclust.explaining.of_gates import gates_of  # PyTorch is imported on use

    if not isinstance(explanation, Explanation):
        kind = type(explanation).__name__
        raise TypeError(f"{kind} was given, expected an explanation: wc.explain(idc, X).")
    one_of("by", by, ["rows", "clusters"])
    if explanation.provenance.method in ("gates", "global gates"):
        raise ValueError(
            "The values of this explanation are gates, expected relevance to draw beside them: "
            "wc.explain(idc, X)."
        )
    opened = np.asarray(gates_of(explanation).values, dtype=float)
    relevance = np.asarray(explanation.values, dtype=float)
    note = ""
    if by == "rows":
        if rows is None:
            chosen, note = _usual_rows(explanation)
        else:
            chosen = positions(rows, explanation)
        groups = [np.array([row]) for row in chosen]
        names = [f"row {explanation.index[row]}, {_cluster(explanation, row)}" for row in chosen]
    else:
        ids = explanation.in_order(np.unique(explanation.clusters))
        groups = [np.flatnonzero(explanation.clusters == cluster) for cluster in ids]
        names = [explanation.titled(cluster) for cluster in ids]
    opened, relevance = (_means(values, groups) for values in (opened, relevance))
    largest = np.abs(relevance).max(axis=1, keepdims=True)
    relevance = relevance / np.where(largest > 0, largest, 1.0)
    shape = asked_shape(image_shape, getattr(explanation.kind, "shape", None), relevance.shape[1])
    if shape is None:
        figure = _tables(opened, relevance, names, explanation.feature_names, note)
    else:
        data = np.asarray(explanation.data, dtype=float).reshape(len(explanation), -1)
        figure = _images([_means(data, groups), opened, relevance], names, shape)
        if note:
            figure.supxlabel(note, fontsize=8)
    return finished(figure, path)


def _usual_rows(explanation: Explanation) -> tuple[list[int], str]:
    """Positions of the rows to draw where none are named, and what is said of the choice."""
    if len(explanation) <= _MOST_ROWS:
        return list(range(len(explanation))), ""
    typical = [cluster.typical[0] for cluster in explanation.summary()]
    shown = typical[:_MOST_ROWS]
    of = "each cluster" if len(shown) == len(typical) else f"{len(shown)} of {len(typical)} clusters"
    return shown, f"Of {len(explanation)} rows the most typical one of {of}; rows=[...] draws others."


def _cluster(explanation: Explanation, row: int) -> str:
    return explanation.named(explanation.clusters[row])


def _means(values: NDArray, groups: list[NDArray]) -> NDArray:
    return np.stack([values[rows].mean(axis=0) for rows in groups])


def _tables(opened: NDArray, relevance: NDArray, names: list[str], columns: list[str], note: str) -> Any:
    """Two tables of colours, of the columns that count most."""
    weight = opened.max(axis=0) + np.abs(relevance).max(axis=0)
    kept = np.sort(np.argsort(-weight, kind="stable")[:_MOST_COLUMNS])
    size = (2 * (0.3 * len(kept) + 1.6) + 1.0, 0.32 * len(names) + 1.9)
    figure = new_figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    colours = (("Greys", 0.0, 1.0), (SIGNED, -1.0, 1.0))
    for axis, values, title, (colour, low, high) in zip(
        axes, (opened, relevance), _TITLES, colours, strict=True
    ):
        drawn = axis.imshow(values[:, kept], cmap=colour, vmin=low, vmax=high, aspect="auto")
        axis.set_title(title, fontsize=9)
        labels = [columns[column] for column in kept]
        axis.set_xticks(range(len(kept)), labels, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
        figure.colorbar(drawn, ax=axis, fraction=0.05)
    axes[0].set_yticks(range(len(names)), names, fontsize=8)
    if len(kept) < len(columns):
        told = f"The {len(kept)} of {len(columns)} columns that are most open or relevant."
        note = f"{told} {note}".rstrip()
    if note:
        figure.supxlabel(note, fontsize=8)
    return figure


def _images(lines: list[NDArray], names: list[str], shape: tuple[int, int, int]) -> Any:
    """Three lines of images: the row itself, its gates, its relevance."""
    data, opened, relevance = lines
    figure = new_figure(figsize=(1.25 * len(names) + 1.2, 4.4), layout="constrained")
    axes = figure.subplots(3, len(names), squeeze=False)
    for place, name in enumerate(names):
        row = data[place]
        image_on(axes[0, place], row, shape, float(row.min()), float(row.max()))
        axes[0, place].set_title(name.replace(", ", "\n"), fontsize=8)
        gates = opened[place].reshape(shape).max(axis=0)
        axes[1, place].imshow(gates, cmap="Greys_r", vmin=0.0, vmax=1.0)
        heat = relevance[place].reshape(shape).sum(axis=0)  # channels are summed
        bound = float(np.abs(heat).max()) or 1.0
        axes[2, place].imshow(heat / bound, cmap=SIGNED, vmin=-1.0, vmax=1.0)
        for axis in axes[:, place]:
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_frame_on(False)
    for axis, title in zip(axes[:, 0], ("input", "gates", "relevance"), strict=True):
        axis.set_ylabel(title, fontsize=8, rotation=0, ha="right", va="center")
    return figure
