"""Pictures of rows that a deep clustering makes up (section 5.2.5 of CM and C-Net).

Rows are drawn as images where the model was given an ``image_shape``, else as a table of colours. Steps of a
Pipeline before the model are undone, so that rows are in the user's own units.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.plots.drawing import finished, new_figure, table_in, table_size
from whyclust.plots.images import asked_shape, image_on
from whyclust.plots.undoing import refuse_one_way, steps_of, undone


def decoded_centers(
    model: Any,
    *,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    path: str | Path | None = None,
) -> Any:
    """Draw the row that each centroid stands for.

    Parameters
    ----------
    model : fitted deep clustering, or Pipeline that ends in one
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
    deep = _deep(model)
    names = [f"cluster {cluster}" for cluster in range(len(deep.cluster_centers_))]
    rows = deep.decoded_centers()
    return _drawn(model, rows, names, "What each cluster stands for", image_shape, feature_names, path)


def interpolation(
    model: Any,
    cluster_a: int,
    cluster_b: int,
    *,
    steps: int = 9,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    path: str | Path | None = None,
) -> Any:
    """Draw rows on the way from one centroid to another.

    Parameters
    ----------
    model : fitted deep clustering, or Pipeline that ends in one
    cluster_a, cluster_b : int
    steps : int
        Rows, both centroids among them.
    image_shape, feature_names, path
        As for :func:`decoded_centers`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = _deep(model).interpolate(cluster_a, cluster_b, steps=steps)
    names = [f"{share:.0%}" for share in np.linspace(0.0, 1.0, steps)]
    names[0], names[-1] = f"cluster {cluster_a}", f"cluster {cluster_b}"
    title = f"From cluster {cluster_a} to cluster {cluster_b}"
    return _drawn(model, rows, names, title, image_shape, feature_names, path)


def samples(
    model: Any,
    cluster: int,
    *,
    n_samples: int = 9,
    scale: float = 1.0,
    random_state: Any = None,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    path: str | Path | None = None,
) -> Any:
    """Draw made-up rows of a cluster, beside its centroid.

    Parameters
    ----------
    model : fitted deep clustering, or Pipeline that ends in one
    cluster : int
    n_samples : int
    scale : float
        Factor of the spread around the centroid.
    random_state : int, RandomState or None
    image_shape, feature_names, path
        As for :func:`decoded_centers`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    deep = _deep(model)
    drawn = deep.sample(cluster, n_samples=n_samples, scale=scale, random_state=random_state)
    rows = np.concatenate([deep.decoded_centers()[[cluster]], drawn])
    names = ["centroid", *(f"sample {number}" for number in range(1, n_samples + 1))]
    title = f"Made-up rows of cluster {cluster}"
    return _drawn(model, rows, names, title, image_shape, feature_names, path)


def _deep(model: Any) -> Any:
    """The deep clustering, if all steps before it can be undone."""
    deep = (steps_of(model) or [None])[-1]
    if not hasattr(deep, "decoded_centers"):
        raise TypeError(
            f"{type(deep).__name__} makes no rows, expected a fitted model of whyclust.deep that has a "
            "decoder, or a Pipeline that ends in one."
        )
    refuse_one_way(model)
    return deep


def _drawn(
    model: Any,
    rows: NDArray,
    names: list[str],
    title: str,
    image_shape: Sequence[int] | None,
    feature_names: Sequence[str] | None,
    path: str | Path | None,
) -> Any:
    rows = undone(model, rows)
    shape = asked_shape(image_shape, steps_of(model)[-1].image_shape, rows.shape[1])
    if shape is not None:
        figure = _images(rows, shape, names)
    else:
        figure = new_figure(figsize=table_size(*rows.shape), layout="constrained")
        table_in(figure, model, rows, names, feature_names)
    figure.suptitle(title)
    return finished(figure, path)


def _images(rows: NDArray, shape: tuple[int, int, int], names: list[str]) -> Any:
    across = min(len(rows), 10)
    down = -(-len(rows) // across)
    figure = new_figure(figsize=(1.1 * across, 1.35 * down + 0.4), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    low, high = float(rows.min()), float(rows.max())
    for place, axis in enumerate(axes):
        axis.set_axis_off()
        if place < len(rows):
            image_on(axis, rows[place], shape, low, high)
            axis.set_title(names[place], fontsize=8)
    return figure
