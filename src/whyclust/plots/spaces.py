"""Pictures of the two spaces of ACe/DeC: what each keeps of a row, and where clusters lie in them.

These are figures 1b and 2 of Miklautz et al. (2021). Rows are in the user's own units, as for
:mod:`whyclust.plots.generated`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.plots.drawing import (
    finished,
    legend_outside,
    new_figure,
    points_on,
    positions,
    table_in,
    table_size,
)
from whyclust.plots.images import asked_shape, image_lines
from whyclust.plots.two_spaces import Asked, asked
from whyclust.plots.undoing import refuse_one_way, undone

# Rows that are drawn where none are named.
_MOST_ROWS = 10
_KEPT = ("input", "from the cluster space", "from the shared space")


def reconstructions(
    model: Any,
    X: Any,
    *,
    rows: Any = None,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    path: str | Path | None = None,
) -> Any:
    """Draw rows, and what the decoder makes of each space alone.

    Parameters
    ----------
    model : fitted ACeDeC, or Pipeline that ends in one
    X : table, or images
        With the columns that the model was fitted on.
    rows : sequence of int or str, optional
        Positions or labels of the rows to draw, as in ``ex[rows]``; by default the row of each cluster that
        is nearest to its centroid in the cluster space, of the first ten clusters.
    image_shape : (height, width) or (channels, height, width), optional
        Draw rows as images; by default the model's own.
    feature_names : sequence of str, optional
        Names of the columns; by default those that the model was fitted with.
    path : str or Path, optional
        Also write the picture to this file.

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = asked(model, X)
    refuse_one_way(model)
    chosen = np.asarray(_typical(found) if rows is None else positions(rows, found))
    encoded = found.encoded(chosen)
    parts = [undone(model, found.deep.reconstruct(encoded, space=space)) for space in ("cluster", "shared")]
    kept = np.stack([found.numbers(chosen), *parts])  # what is kept × rows × columns
    names = [
        f"cluster {cluster}, {found.named(row)}"
        for cluster, row in zip(found.deep.predict(encoded), chosen, strict=True)
    ]
    shape = asked_shape(image_shape, found.deep.image_shape, kept.shape[2])
    if shape is None:
        lines = kept.transpose(1, 0, 2).reshape(-1, kept.shape[2])
        told = [f"{name}: {part}" if part == "input" else part for name in names for part in _KEPT]
        figure = new_figure(figsize=table_size(*lines.shape), layout="constrained")
        table_in(figure, model, lines, told, feature_names, together=3)
    else:
        figure = new_figure(figsize=(1.15 * len(chosen) + 1.1, 4.2), layout="constrained")
        beside = [part.replace("the ", "the\n") for part in _KEPT]
        image_lines(figure, kept, shape, [name.replace(", ", "\n") for name in names], beside)
    figure.suptitle("What each space keeps of a row")
    if found.is_soft:
        words = "Weights are soft: each dimension lies in both spaces, in parts. model.hardened(X) decides."
        figure.supxlabel(words, fontsize=8)
    return finished(figure, path)


def spaces(model: Any, X: Any, *, labels: Any = None, path: str | Path | None = None) -> Any:
    """Draw rows in both spaces side by side, and the weights of all dimensions.

    Parameters
    ----------
    model : fitted ACeDeC, or Pipeline that ends in one
    X : table, or images
        With the columns that the model was fitted on. Of more than 5,000 rows so many are drawn at random.
    labels : array of shape (n_rows,), optional
        Colours of the rows; by default their clusters.
    path : str or Path, optional
        Also write the picture to this file.

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = asked(model, X)
    rows = found.drawn()
    encoded = found.encoded(rows)
    codes, names, what = found.coded(labels, rows, encoded)
    turned = found.deep.turned(encoded)
    weights = found.deep.cluster_weights_
    figure = new_figure(figsize=(9.5, 6.4), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=[3.2, 1.0])
    left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    dims = found.deep.cluster_dims_[:2]
    along = [f"dimension {dim} (weight {weights[dim]:.2f})" for dim in dims]
    _scatter(left, turned[:, dims], along, codes, names, what)
    told = found.deep.collapsed_spaces
    # Of spaces that are not apart nothing can be said but which dimensions they have.
    left.set_title(f"Cluster space{': tells clusters apart' if told is None else ''}", fontsize=10)
    _scatter(right, *found.principal(turned, 2), codes, names, what)
    common = ": what all clusters have in common" if told is None else ""
    right.set_title(f"Shared space{common}", fontsize=10)
    if told is not None:
        figure.supxlabel(told, fontsize=8)
    _weights(figure.add_subplot(grid[1, :]), weights)
    legend_outside(figure, names, what)
    figure.suptitle("Rows in the two spaces" + found.told(rows))
    return finished(figure, path)


# --- parts of pictures ------------------------------------------------------------------------------


def _typical(found: Asked) -> list[int]:
    """The row of each cluster that is nearest to its centroid in the cluster space."""
    encoded = found.encoded()
    labels = found.deep.predict(encoded)
    far = ((found.deep.transform(encoded) - found.deep.cluster_centers_[labels]) ** 2).sum(axis=1)
    members = [np.flatnonzero(labels == cluster) for cluster in np.unique(labels)[:_MOST_ROWS]]
    return [int(rows[far[rows].argmin()]) for rows in members]


def _scatter(
    axis: Any, points: NDArray, told: list[str], codes: NDArray, names: list[str], what: str
) -> None:
    """Points in two dimensions; of one dimension a strip for each cluster."""
    if points.shape[1] == 0:
        axis.text(0.5, 0.5, "no dimension is in this space", ha="center", transform=axis.transAxes)
        axis.set_axis_off()
        return
    axis.set_xlabel(told[0], fontsize=9)
    axis.tick_params(labelsize=8)
    if points.shape[1] == 2:
        points_on(axis, points[:, 0], points[:, 1], codes)
        axis.set_ylabel(told[1], fontsize=9)
        return
    beside = np.random.default_rng(0).uniform(-0.35, 0.35, len(points))
    points_on(axis, points[:, 0], codes + beside, codes)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylabel(f"{what} (within a strip, height is at random)", fontsize=9)
    axis.set_ylim(len(names) - 0.5, -0.5)


def _weights(axis: Any, weights: NDArray) -> None:
    from whyclust.deep.models.two_spaces import SHARED  # PyTorch is imported on use

    order = np.argsort(-weights, kind="stable")
    shared = 1.0 - weights[order] > SHARED
    places = np.arange(len(order))
    for chosen, colour, name in ((~shared, "#0072B2", "cluster space"), (shared, "#999999", "shared space")):
        axis.bar(places[chosen], weights[order][chosen], color=colour, label=name)
    axis.axhline(1.0 - SHARED, color="k", linewidth=0.8, linestyle="--")
    axis.set_ylim(0.0, 1.0)
    axis.set_xlim(-0.6, len(order) - 0.4)
    every = -(-len(order) // 40)
    axis.set_xticks(places[::every], [str(dim) for dim in order[::every]], fontsize=8)
    axis.tick_params(axis="y", labelsize=8)
    axis.set_xlabel("dimension of the rotated embedding; above the dashed line: cluster space", fontsize=9)
    axis.set_ylabel("weight in the\ncluster space", fontsize=9)
    axis.legend(fontsize=8, loc="upper right")
