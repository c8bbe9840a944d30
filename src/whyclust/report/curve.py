"""The inertia curve as numbers for an inline SVG drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 480, 240
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 16, 40


def curve_drawing(elbow: Mapping[str, Any]) -> dict[str, Any]:
    """Place the points of an inertia curve on a canvas.

    Parameters
    ----------
    elbow : mapping
        With the entries `n_clusters`, `inertia` and `k`, as `Elbow.to_json` gives them.

    Returns
    -------
    dict
        Canvas size, one entry per point, the path through them, and the two inertias at the axis.

    Examples
    --------
    >>> drawing = curve_drawing({"n_clusters": [1, 2, 3], "inertia": [9.0, 1.0, 0.0], "k": 2})
    >>> [point["chosen"] for point in drawing["points"]]
    [False, True, False]
    """
    ks: Sequence[int] = elbow["n_clusters"]
    inertia: Sequence[float] = elbow["inertia"]
    highest = max(inertia) or 1.0
    span = max(ks[-1] - ks[0], 1)
    points = [
        {
            "k": k,
            "inertia": value,
            "x": round(LEFT + (WIDTH - LEFT - RIGHT) * (k - ks[0]) / span, 1),
            "y": round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / highest), 1),
            "chosen": k == elbow["k"],
        }
        for k, value in zip(ks, inertia, strict=True)
    ]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "top": TOP,
        "bottom": HEIGHT - BOTTOM,
        "points": points,
        "path": " ".join(f"{point['x']},{point['y']}" for point in points),
        "highest": highest,
        "k": elbow["k"],
    }
