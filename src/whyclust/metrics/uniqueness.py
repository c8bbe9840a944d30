"""Uniqueness: how much do the explanations of similar rows differ? (IDC, section 5)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from whyclust._checks import one_of
from whyclust.inputs.reading import read_input
from whyclust.metrics.reading import (
    explanation_in,
    in_order_of,
    read_numbers,
    read_relevance,
    refuse_other_rows,
    top_mask,
)

# The default radius gives this share of the distinct rows a neighbour.
NEIGHBOUR_SHARE = 0.9
_MOST_PAIRS = 50_000_000
_BLOCK_NUMBERS = 1 << 22


@dataclass(frozen=True)
class Uniqueness:
    """How the explanations of neighbouring rows differ, per distance of the rows.

    Attributes
    ----------
    value : float
        The least ratio ‖w_i − w_k‖ / ‖x_i − x_k‖ of all pairs: the metric of the paper. Of the released form
        the mean over rows, each with its nearest neighbour.
    mean, median : float
        The same over all pairs, for the least is one pair's.
    radius : float
        ε: pairs of rows at most so far apart are compared. Of the released form the largest distance to a
        nearest neighbour.
    n_pairs : int
        Pairs compared.
    n_identical : int
        Pairs of identical rows, which are left out: their ratio is 0/0.
    pair : tuple of int
        The rows that have the least ratio.
    covered : float
        Share of the rows that are in some pair.
    form : {"printed", "released"}
        Which of the two `value` is.
    """

    value: float
    mean: float
    median: float
    radius: float
    n_pairs: int
    n_identical: int
    pair: tuple[int, int]
    covered: float
    form: str = "printed"

    def __repr__(self) -> str:
        if self.form == "released":
            return (
                f"<Uniqueness {self.value:.4g} as released: mean over {self.n_pairs} rows and their nearest "
                f"neighbours (median {self.median:.4g})>"
            )
        return (
            f"<Uniqueness {self.value:.4g} (mean {self.mean:.4g}, median {self.median:.4g}) over "
            f"{self.n_pairs} pairs within {self.radius:.4g}>"
        )


def uniqueness(
    explanation: Any,
    X: Any,
    *,
    radius: float | None = None,
    top: int | None = None,
    as_sets: bool = False,
    form: str = "printed",
) -> Uniqueness:
    """Least difference of the explanations of neighbouring rows, per distance of the rows.

    The paper wants it high, for explanations that tell a row from its neighbours; others want
    explanations stable, which is the opposite. Ratios have the units of relevance over those of X:
    compare explanations of one kind, or `as_sets`.

    Parameters
    ----------
    explanation : Explanation, or array of shape (n_rows, n_features)
        w: relevances or gates.
    X : table of numbers of shape (n_rows, n_features)
        x: the rows explained, in the units in which neighbours are meant. Scale the columns if the
        clustering did.
    radius : float, optional
        ε. The paper gives none. By default the distance within which 90% of the distinct rows
        have another.
    top : int, optional
        Keep only so many features of each row, the strongest; the others count as zero.
    as_sets : bool
        Compare which features are there (not zero, and among the top), not how strong they are.
    form : {"printed", "released"}
        ``"printed"`` is the least ratio of all pairs within the radius. ``"released"`` is what the paper's
        program computes, and needs no radius: the ratio of each row and its nearest different neighbour, mean
        over rows.

    Returns
    -------
    Uniqueness

    Examples
    --------
    >>> uniqueness([[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]], [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], radius=1)
    <Uniqueness 1.414 (mean 1.707, median 1.707) over 2 pairs within 1>
    >>> uniqueness([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]], form="released")
    <Uniqueness 1.414 as released: mean over 2 rows and their nearest neighbours (median 1.414)>
    """
    one_of("form", form, ("printed", "released"))
    if form == "released" and radius is not None:
        raise ValueError(
            f"radius={radius!r} was given with form='released', which looks at the nearest neighbour alone: "
            "leave radius out."
        )
    table = read_input(X)
    weights = read_relevance(explanation, "explanation", table.names, table.row_labels)
    points = read_numbers(in_order_of(explanation_in(explanation), X))
    refuse_other_rows(weights.shape, points.shape, "explanation")
    weights = _kept(weights, top, as_sets)
    if form == "released":
        return _of_nearest(weights, points)
    tree = KDTree(points)
    radius = _default_radius(points) if radius is None else _given_radius(radius)
    # Rounding must not lose the pair whose distance the radius is.
    within = radius * (1 + 1e-12)
    # The tree counts each pair twice, and each row with itself.
    count = (int(tree.count_neighbors(tree, within)) - len(points)) // 2
    if count > _MOST_PAIRS:
        raise ValueError(
            f"{count} pairs of rows are within radius={radius:.4g}, expected at most {_MOST_PAIRS}: choose a "
            "smaller radius, or a sample of the rows."
        )
    pairs = tree.query_pairs(within, output_type="ndarray")
    apart, distance = _lengths(weights, pairs), _lengths(points, pairs)
    distinct = distance > 0
    if not distinct.any():
        raise ValueError(
            f"No two different rows are within radius={radius:.4g} of each other: expected a larger radius "
            f"(90% of the rows have a neighbour within {_default_radius(points):.4g})."
        )
    ratios = apart[distinct] / distance[distinct]
    compared = pairs[distinct]
    least = int(np.argmin(ratios))
    return Uniqueness(
        value=float(ratios[least]),
        mean=float(ratios.mean()),
        median=float(np.median(ratios)),
        radius=float(radius),
        n_pairs=len(ratios),
        n_identical=int((~distinct).sum()),
        pair=(int(compared[least, 0]), int(compared[least, 1])),
        covered=len(np.unique(compared)) / len(points),
    )


def _of_nearest(weights: NDArray, points: NDArray) -> Uniqueness:
    """Ratios of rows and their nearest different neighbours."""
    distinct, first, which = np.unique(points, axis=0, return_index=True, return_inverse=True)
    which = which.ravel()
    if len(distinct) < 2:
        raise ValueError("All rows of X are identical, expected at least two different rows.")
    nearest = np.asarray(KDTree(distinct).query(distinct, k=2)[1])
    # The nearest of a row may be found before the row itself, where both are nearly the same.
    other = np.where(nearest[:, 0] == np.arange(len(distinct)), nearest[:, 1], nearest[:, 0])
    pairs = np.column_stack([np.arange(len(points)), first[other][which]])
    distance = _lengths(points, pairs)
    ratios = _lengths(weights, pairs) / distance
    least = int(np.argmin(ratios))
    sizes = np.bincount(which)
    return Uniqueness(
        value=float(ratios.mean()),
        mean=float(ratios.mean()),
        median=float(np.median(ratios)),
        radius=float(distance.max()),
        n_pairs=len(ratios),
        n_identical=int((sizes * (sizes - 1) // 2).sum()),
        pair=(int(pairs[least, 0]), int(pairs[least, 1])),
        covered=1.0,
        form="released",
    )


def _kept(weights: NDArray, top: int | None, as_sets: bool) -> NDArray:
    if not as_sets:
        return weights if top is None else np.where(top_mask(np.abs(weights), top), weights, 0.0)
    chosen = top_mask(np.abs(weights), top)
    if top is None and chosen.all():
        raise ValueError(
            "as_sets=True, but no weight is zero, so that all rows have the same features: give top, the "
            "number of features to compare."
        )
    return chosen.astype(np.float64)


def _given_radius(radius: Any) -> float:
    if not isinstance(radius, (int, float, np.number)) or not 0 < float(radius) < np.inf:
        raise ValueError(f"radius={radius!r}, expected a positive distance, or None for one from the data.")
    return float(radius)


def _default_radius(points: NDArray) -> float:
    """The 90% quantile of the distances to the nearest different row."""
    distinct = np.unique(points, axis=0)
    if len(distinct) < 2:
        raise ValueError("All rows of X are identical, expected at least two different rows.")
    nearest = np.asarray(KDTree(distinct).query(distinct, k=2)[0])[:, 1]
    # One of the distances, not a number between two: at least the share asked for is reached.
    return float(np.quantile(nearest, NEIGHBOUR_SHARE, method="higher"))


def _lengths(values: NDArray, pairs: NDArray) -> NDArray:
    """‖values_i − values_k‖ of each pair, from the differences: no rounding where rows are equal."""
    result = np.empty(len(pairs))
    size = max(1, _BLOCK_NUMBERS // values.shape[1])
    for start in range(0, len(pairs), size):
        block = pairs[start : start + size]
        result[start : start + size] = np.linalg.norm(values[block[:, 0]] - values[block[:, 1]], axis=1)
    return result
