"""A picture of ways through the shared space of ACe/DeC: figure 3 of Miklautz et al. (2021)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.plots.drawing import finished, legend_outside, new_figure, points_on, table_in, table_size
from whyclust.plots.images import asked_shape, image_lines
from whyclust.plots.two_spaces import Asked, asked
from whyclust.plots.undoing import refuse_one_way, undone

# Clusters that are followed where none are named: as lines of images, and as parts of a table.
_MOST_LINES, _MOST_PARTS = 5, 3


def traversal(
    model: Any,
    X: Any,
    *,
    clusters: Sequence[int] | None = None,
    component: int = 0,
    steps: int = 7,
    extent: float = 2.0,
    labels: Any = None,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    path: str | Path | None = None,
) -> Any:
    """Draw a way through the shared space, and the rows on it, for some clusters.

    Parameters
    ----------
    model : fitted ACeDeC, or Pipeline that ends in one
    X : table, or images
        Rows beside which the way is drawn.
    clusters : sequence of int, optional
        By default the largest ones: five where rows are images, else three.
    component : int
        Direction of the shared space, 0 for the one along which rows differ most.
    steps : int
        Rows for each cluster.
    extent : float
        How far to go, either way, in standard deviations.
    labels : array of shape (n_rows,), optional
        Colours of the rows; by default their clusters.
    image_shape, feature_names, path
        As for :func:`whyclust.plots.reconstructions`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = asked(model, X)
    refuse_one_way(model)
    deep = found.deep
    shape = asked_shape(image_shape, deep.image_shape, found.table.shape[1])
    if clusters is None:
        sizes = np.bincount(deep.labels_, minlength=len(deep.cluster_centers_))
        clusters = np.argsort(-sizes, kind="stable")[: _MOST_PARTS if shape is None else _MOST_LINES].tolist()
    asked_for = {"component": component, "steps": steps, "extent": extent}
    ways = {cluster: deep.way("shared", cluster=cluster, **asked_for) for cluster in clusters}
    dim = int(np.argmax(deep.cluster_weights_))
    # Lines are in the order of the picture beside them: what is above there is above here.
    order = sorted(ways, key=lambda cluster: -ways[cluster][0, dim])
    lines = [undone(model, deep.traverse("shared", cluster=cluster, **asked_for)) for cluster in order]
    marks = [f"{step:+.2g}" if step else "0" for step in np.linspace(-extent, extent, steps)]
    figure = new_figure(layout="constrained")
    told = [f"cluster {cluster}" for cluster in order]
    if shape is None:
        names = [f"{name}: {mark} sd" for name in told for mark in marks]
        width, height = table_size(len(names), found.table.shape[1])
        figure.set_size_inches(width + 5.0, max(height, 5.0))
        beside, drawn = figure.subfigures(1, 2, width_ratios=[5.0, width])
        table_in(drawn, model, np.concatenate(lines), names, feature_names, together=steps)
    else:
        width = 0.95 * steps + 0.9
        figure.set_size_inches(width + 5.0, max(1.0 * len(order) + 0.9, 4.3))
        beside, drawn = figure.subfigures(1, 2, width_ratios=[5.0, width])
        image_lines(drawn, np.stack(lines), shape, [f"{mark} sd" for mark in marks], told)
    _ways(beside, found, labels, dim, component, {cluster: ways[cluster] for cluster in order})
    drawn.suptitle("What the decoder makes of the crosses", fontsize=10)
    figure.suptitle("Along a direction of the shared space, cluster by cluster")
    if deep.collapsed_spaces is not None:
        figure.supxlabel(deep.collapsed_spaces, fontsize=8)
    return finished(figure, path)


def _ways(figure: Any, found: Asked, labels: Any, dim: int, component: int, ways: dict[int, NDArray]) -> None:
    rows = found.drawn()
    encoded = found.encoded(rows)
    codes, names, what = found.coded(labels, rows, encoded)
    turned = found.deep.turned(encoded)
    axis = figure.subplots()
    x, told = found.principal(turned, 1, component)
    points_on(axis, x[:, 0], turned[:, dim], codes)
    gap = 0.04 * float(np.ptp(axis.get_ylim()))
    above = np.inf
    for cluster, way in ways.items():
        across = found.principal(way, 1, component)[0][:, 0]
        for colour, width in (("w", 3.5), ("k", 1.4)):
            axis.plot(across, way[:, dim], "x", color=colour, markeredgewidth=width, markersize=7)
        # At the edge, where no point is, and below the name before.
        above = min(float(way[0, dim]), above - gap)
        axis.text(
            1.02, above, f"cluster {cluster}", transform=axis.get_yaxis_transform(), fontsize=8, va="center"
        )
    axis.set_xlabel(f"shared space: {told[0]}", fontsize=9)
    # The dimension of the largest weight in the cluster space, which may not have one of its own.
    place = "cluster space: " if dim in found.deep.cluster_dims_ else ""
    axis.set_ylabel(f"{place}dimension {dim}", fontsize=9)
    axis.tick_params(labelsize=8)
    drawn_in = "\nSoft weights draw it towards the mean of all rows." if found.is_soft else ""
    axis.set_title(f"Crosses: the way of each cluster{found.told(rows)}{drawn_in}", fontsize=10)
    legend_outside(figure, names, what, below=True)
