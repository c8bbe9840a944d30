"""The curve from which the number of clusters was chosen, as numbers for an inline SVG drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 480, 240
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 16, 40
# More numbers below the axis would touch each other.
MOST_NUMBERS = 16


def curve_drawing(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Place the points of a curve on a canvas: clusters that stand apart, or the inertia.

    Parameters
    ----------
    choice : mapping
        With the entries `n_clusters` and `k`, and either `apart`, `by_chance` and `sentence`, as
        `ChosenK.to_json` gives them, or `inertia`, as `Elbow.to_json` does.

    Returns
    -------
    dict
        Canvas size, one entry per point, the path through them, the dashed line to compare with, what is
        drawn (`kind`), and the highest value at the axis.

    Examples
    --------
    >>> drawing = curve_drawing({"n_clusters": [1, 2, 3], "inertia": [9.0, 1.0, 0.0], "k": 2})
    >>> [point["chosen"] for point in drawing["points"]], drawing["kind"]
    ([False, True, False], 'elbow')
    """
    ks: Sequence[int] = choice["n_clusters"]
    kind = "apart" if "apart" in choice else "elbow"
    values: Sequence[float] = choice["apart"] if kind == "apart" else choice["inertia"]
    highest = max(values) or 1.0
    places = [_place(k, value, ks, highest) for k, value in zip(ks, values, strict=True)]
    every = -(-len(ks) // MOST_NUMBERS)
    points = [
        {"k": k, "value": value, "x": x, "y": y, "chosen": k == choice["k"], "numbered": place % every == 0}
        for place, (k, value, (x, y)) in enumerate(zip(ks, values, places, strict=True))
    ]
    if kind == "apart":
        dashed = [_place(k, value, ks, highest) for k, value in zip(ks, choice["by_chance"], strict=True)]
    else:
        dashed = [places[0], places[-1]]
    return {
        "kind": kind,
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "top": TOP,
        "bottom": HEIGHT - BOTTOM,
        "points": points,
        "path": _path(places),
        "dashed": _path(dashed),
        "highest": highest,
        "k": choice["k"],
        "sentence": choice.get("sentence", ""),
    }


def _place(k: int, value: float, ks: Sequence[int], highest: float) -> tuple[float, float]:
    across = (k - ks[0]) / max(ks[-1] - ks[0], 1)
    x = LEFT + (WIDTH - LEFT - RIGHT) * across
    return round(x, 1), round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / highest), 1)


def _path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in places)
