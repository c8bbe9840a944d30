"""The number of clusters, chosen at the elbow of the k-means inertia.

The inertia falls with every further cluster: steeply while clusters are pulled apart, slowly once
they are cut in pieces. The elbow is where the curve, scaled to the unit square, lies farthest below
the straight line between its two ends. Every curve has such a point, also that of data without any
clusters, and from five clusters on it is often too early: `choose_k` is right more often. The elbow
is here because the papers use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from whyclust._threads import one_thread_if_small

LARGEST_K = 10
# Beyond this many rows the curve is drawn on a random sample: its bend does not need more.
SAMPLE_ROWS = 10_000


class TooFewPointsError(ValueError):
    """There are too few different points for a curve."""


@dataclass(frozen=True)
class Elbow:
    """The inertia curve and the number of clusters chosen from it.

    Attributes
    ----------
    k : int
        The number of clusters at the elbow.
    n_clusters : list of int
        The numbers of clusters tried, starting with 1 (all points in one cluster).
    inertia : list of float
        Sum of squared distances to the nearest centre, for each of them.
    depth : list of float
        How far each point of the scaled curve lies below the line between the two ends.
    """

    k: int
    n_clusters: list[int]
    inertia: list[float]
    depth: list[float]

    def describe(self) -> str:
        """Say which k was chosen, in a sentence."""
        return f"k = {self.k}, at the elbow of the inertia."

    def to_json(self) -> dict[str, Any]:
        """Return the curve as a plain dictionary."""
        return asdict(self)


def find_elbow(n_clusters: Sequence[int], inertia: Sequence[float]) -> Elbow:
    """Find the elbow of an inertia curve.

    Both axes are scaled to [0, 1]. The chosen k, at least 2, is the one whose point lies farthest
    below the line from the first point to the last; the smaller one where two are equally far.

    Parameters
    ----------
    n_clusters : sequence of int
        Increasing numbers of clusters, at least two.
    inertia : sequence of float
        The inertia for each of them.

    Returns
    -------
    Elbow

    Examples
    --------
    >>> find_elbow([1, 2, 3, 4, 5], [100.0, 60.0, 20.0, 18.0, 17.0]).k
    3
    """
    ks, curve = np.asarray(n_clusters, dtype=float), np.asarray(inertia, dtype=float)
    if ks.ndim != 1 or ks.shape != curve.shape or len(ks) < 2:
        raise ValueError(
            f"found {ks.size} numbers of clusters and {curve.size} inertias, expected equally many "
            "and at least two: compute the inertia for each number of clusters."
        )
    if not (np.diff(ks) > 0).all() or not np.isfinite(curve).all():
        raise ValueError(
            "the numbers of clusters must increase and every inertia must be finite: "
            "sort the curve and remove what is not a number."
        )
    across = (ks - ks[0]) / (ks[-1] - ks[0])
    fall = curve[0] - curve[-1]
    height = (curve - curve[-1]) / fall if fall > 0 else 1.0 - across
    depth = (1.0 - across) - height
    allowed = np.flatnonzero(ks >= 2)
    # Rounding must not decide between equally deep points: the first within a whisker wins.
    deepest = depth[allowed].max()
    best = allowed[np.flatnonzero(depth[allowed] >= deepest - 1e-12)[0]]
    return Elbow(
        k=int(ks[best]),
        n_clusters=[int(k) for k in ks],
        inertia=[float(value) for value in curve],
        depth=[float(value) for value in depth],
    )


def inertia_curve(
    X: ArrayLike,
    *,
    largest: int = LARGEST_K,
    random_state: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Elbow:
    """Run k-means for 1, 2, ... clusters and choose k at the elbow.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Points, already scaled as they will be clustered; sparse ones stay so.
    largest : int
        The largest number of clusters to try; never more than the number of distinct points less 1.
    random_state : int, optional
        Seed of k-means, and of the sample of 10,000 rows that larger tables are cut to.
    progress : callable, optional
        Called with each number of clusters before it is tried.

    Returns
    -------
    Elbow

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> X = np.concatenate([generator.normal(loc, 0.1, size=(30, 2)) for loc in (0, 5, 10)])
    >>> inertia_curve(X, random_state=0).k
    3
    """
    from sklearn.cluster import KMeans

    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if X.shape[0] > SAMPLE_ROWS:
        rows = np.random.default_rng(random_state).choice(X.shape[0], SAMPLE_ROWS, replace=False)
        X = X[np.sort(rows)]
    n_distinct = _count_distinct(X)
    largest = min(largest, n_distinct - 1)
    if largest < 2:
        raise TooFewPointsError(
            f"found {n_distinct} distinct points, expected at least 3 to choose a number of "
            "clusters: use more rows or columns."
        )
    ks = list(range(1, largest + 1))
    inertia = []
    for k in ks:
        if progress is not None:
            progress(k)
        with one_thread_if_small(X):
            model = KMeans(n_clusters=k, n_init=5, random_state=random_state).fit(X)
        inertia.append(float(model.inertia_))
    # By chance a larger k may end with more inertia; the best found for fewer still holds.
    return find_elbow(ks, np.minimum.accumulate(inertia).tolist())


def _count_distinct(X: Any) -> int:
    """How many different rows there are."""
    if not bool(sp.issparse(X)):
        return len(np.unique(X, axis=0))
    rows = X.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    bounds = zip(rows.indptr, rows.indptr[1:], strict=False)
    return len({(rows.indices[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in bounds})
