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

# Numbers are written into the cells of tables of at most so many columns.
_MOST_WRITTEN = 14
# In a table of more columns only those that differ most between its rows are drawn.
_MOST_COLUMNS = 60


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
    names = [f"cluster {cluster}" for cluster in range(deep.n_clusters)]
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
    *before, deep = _steps(model)
    if not hasattr(deep, "decoded_centers"):
        raise TypeError(
            f"{type(deep).__name__} makes no rows, expected a fitted model of whyclust.deep that has a "
            "decoder, or a Pipeline that ends in one."
        )
    for step in before:
        if not _can_be_undone(step):
            raise TypeError(
                f"{type(step).__name__} cannot be undone (it loses columns, or has no inverse): pass the "
                "last step of the Pipeline instead, whose rows are in its own units, and feature_names="
                "pipeline[:-1].get_feature_names_out()."
            )
    return deep


def _undone(model: Any, rows: NDArray) -> NDArray:
    """Rows of the deep clustering in the table's units."""
    *before, _ = _steps(model)
    for step in reversed(before):
        rows = rows if _only_fills(step) else step.inverse_transform(rows)
    return np.asarray(rows, dtype=float)


def _usual(model: Any) -> tuple[NDArray, NDArray]:
    """Mean and standard deviation of the table's columns.

    Steps that mix columns are taken to give uncorrelated ones, as PCA does: squares of deviations add up.
    """
    deep = _steps(model)[-1]
    mean, deviations = np.asarray(deep.feature_means_), np.asarray(deep.feature_deviations_)
    center = _undone(model, mean[None])
    moved = _undone(model, mean + np.diag(deviations))
    return center[0], np.sqrt(((moved - center) ** 2).sum(axis=0))


def _steps(model: Any) -> list[Any]:
    """All steps in their order, those of pipelines within pipelines, too."""
    if not hasattr(model, "steps"):
        return [] if model in (None, "passthrough") else [model]
    return [part for _, step in model.steps for part in _steps(step)]


def _can_be_undone(step: Any) -> bool:
    # A function without an inverse, or a selection of columns, has a method that undoes nothing.
    one_way = getattr(step, "func", None) is not None and getattr(step, "inverse_func", None) is None
    lossy = one_way or hasattr(step, "get_support") or hasattr(step, "add_indicator")
    return _only_fills(step) or (hasattr(step, "inverse_transform") and not lossy)


def _only_fills(step: Any) -> bool:
    """Whether a step leaves all columns as they are, but for what was missing."""
    return getattr(step, "add_indicator", None) is False


def _drawn(
    model: Any,
    rows: NDArray,
    names: list[str],
    title: str,
    image_shape: Sequence[int] | None,
    feature_names: Sequence[str] | None,
    path: str | Path | None,
) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "whyclust.plots needs matplotlib, which is not installed: pip install 'whyclust[plots]'."
        ) from None
    rows = _undone(model, rows)
    own = _image_shape(_steps(model)[-1].image_shape, rows.shape[1])
    shape = own if image_shape is None else _image_shape(image_shape, rows.shape[1])
    if image_shape is not None and shape is None:
        raise ValueError(
            f"image_shape={image_shape!r} does not fit rows of {rows.shape[1]} columns, expected (height, "
            "width) or (1 or 3 channels, height, width)."
        )
    if shape is not None:
        figure = _images(Figure, rows, shape, names)
    else:
        columns = _column_names(model, feature_names, rows.shape[1])
        figure = _table(Figure, rows, names, columns, *_usual(model))
    figure.suptitle(title)
    if path is not None:
        figure.savefig(path, bbox_inches="tight", dpi=150)
    return figure


def _image_shape(shape: Any, n_columns: int) -> tuple[int, int, int] | None:
    """(channels, height, width), or None where rows cannot be drawn so."""
    sizes = tuple(int(size) for size in np.atleast_1d(shape)) if shape is not None else ()
    sizes = (1, *sizes) if len(sizes) == 2 else sizes
    if len(sizes) != 3 or int(np.prod(sizes)) != n_columns or sizes[0] not in (1, 3):
        return None
    return sizes[0], sizes[1], sizes[2]


def _column_names(model: Any, given: Sequence[str] | None, n_columns: int) -> list[str]:
    known = next(
        (step.feature_names_in_ for step in _steps(model) if hasattr(step, "feature_names_in_")), None
    )
    names = [str(name) for name in (given if given is not None else known if known is not None else [])]
    if given is not None and len(names) != n_columns:
        raise ValueError(f"feature_names has {len(names)} names, but rows have {n_columns} columns.")
    return names if len(names) == n_columns else [f"column {column}" for column in range(n_columns)]


def _images(figure_type: Any, rows: NDArray, shape: tuple[int, int, int], names: list[str]) -> Any:
    across = min(len(rows), 10)
    down = -(-len(rows) // across)
    figure = figure_type(figsize=(1.1 * across, 1.35 * down + 0.4), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    low, high = float(rows.min()), float(rows.max())
    for place, axis in enumerate(axes):
        axis.set_axis_off()
        if place < len(rows):
            image = np.moveaxis(rows[place].reshape(shape), 0, -1)
            if shape[0] == 1:
                axis.imshow(image[..., 0], cmap="gray", vmin=low, vmax=high)
            else:
                axis.imshow((image - low) / (high - low if high > low else 1.0))
            axis.set_title(names[place], fontsize=8)
    return figure


def _short(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def _table(
    figure_type: Any,
    rows: NDArray,
    names: list[str],
    columns: list[str],
    mean: NDArray,
    deviations: NDArray,
) -> Any:
    """Rows as colours: how far each is above or below the mean of the data, in standard deviations."""
    colours = (rows - mean) / np.where(deviations > 0, deviations, 1.0)
    if len(columns) > _MOST_COLUMNS:
        kept = np.sort(np.argsort(-colours.std(axis=0), kind="stable")[:_MOST_COLUMNS])
        rows, colours, columns = rows[:, kept], colours[:, kept], [columns[place] for place in kept]
    width = max(4.0, min(0.75, 14.0 / len(columns)) * len(columns))
    figure = figure_type(figsize=(width + 1.2, 0.36 * max(len(rows), 4) + 1.6), layout="constrained")
    axis = figure.subplots()
    drawn = axis.imshow(colours, cmap="RdBu_r", vmin=-2.5, vmax=2.5, aspect="auto")
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_xticks(range(len(columns)), columns, rotation=60, ha="right", fontsize=8)
    if len(columns) <= _MOST_WRITTEN:
        for i, j in np.ndindex(*rows.shape):
            dark = abs(colours[i, j]) > 1.5
            colour = "w" if dark else "k"
            axis.text(j, i, _short(float(rows[i, j])), ha="center", va="center", fontsize=7, color=colour)
    figure.colorbar(drawn, ax=axis, label="standard deviations\nfrom the mean of the data", fraction=0.03)
    return figure
