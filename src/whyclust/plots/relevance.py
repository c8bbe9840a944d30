"""Pictures of relevance: which pixels speak for a row's cluster, and which against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.explaining.explanation import Explanation
from whyclust.inputs.images import channels_first
from whyclust.plots.drawing import SIGNED, finished, measured, new_figure, no_reason, positions
from whyclust.plots.registry import plot

# Rows that are drawn where none are named.
_MOST_ROWS = 10


@plot
def relevance(explanation: Explanation, *, rows: Any = None, path: str | Path | None = None) -> Any:
    """Draw images and the relevance of their pixels: red speaks for the cluster, blue against it.

    Colours are in units of the largest relevance of each image. Of what a clustering ignores
    (``space="shared"``) red adds to it, and blue takes from it.

    Parameters
    ----------
    explanation : Explanation
        Of images: ``wc.explain(model, images)``.
    rows : sequence of int or str, optional
        Positions or labels of the rows to draw; by default the most typical one of each cluster, ten at most.
    path : str or Path, optional
        Also write the picture to this file.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if not isinstance(explanation, Explanation):
        kind = type(explanation).__name__
        raise TypeError(f"{kind} was given, expected an explanation: wc.explain(model, images).")
    heat = explanation.images
    typical = [cluster.typical[0] for cluster in explanation.summary()][:_MOST_ROWS]
    chosen = typical if rows is None else positions(rows, explanation)
    shape = explanation.images.shape[1:]
    shown = np.asarray(explanation.data, dtype=float)[chosen].reshape(len(chosen), *shape)
    figure = new_figure(figsize=(1.25 * len(chosen) + 0.9, 3.1), layout="constrained")
    axes = figure.subplots(2, len(chosen), squeeze=False)
    drawn: Any = None
    for place, row in enumerate(chosen):
        axes[0, place].imshow(_picture(shown[place]), cmap="gray")
        # Rows near a border have little evidence to share: each image has a scale of its own.
        own = channels_first(heat[row]).sum(axis=0)
        own = own / (np.abs(own).max() or 1.0)
        drawn = axes[1, place].imshow(own, cmap=SIGNED, vmin=-1.0, vmax=1.0)
        name = explanation.named(explanation.clusters[row])
        axes[0, place].set_title(f"row {explanation.index[row]}\n{name}", fontsize=8)
        for axis in axes[:, place]:
            axis.set_axis_off()
    label = measured(explanation)[0].split(",")[0]
    figure.colorbar(drawn, ax=axes, label=f"{label}\n/ the largest of the image", fraction=0.05)
    other = no_reason(explanation)
    if other is not None:
        figure.suptitle(f"{other} in single rows", fontsize=10)
    return finished(figure, path)


def _picture(image: NDArray) -> NDArray:
    """What imshow takes: one channel, or three between 0 and 1."""
    image = channels_first(image)
    if len(image) != 3:
        return image.mean(axis=0)
    low, high = image.min(), image.max()
    return np.moveaxis((image - low) / (high - low if high > low else 1.0), 0, -1)
