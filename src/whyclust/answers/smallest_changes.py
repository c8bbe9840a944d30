"""What would have to change, for every row: the nearest point in any other cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import is_frame
from whyclust.answers._changeable import Asked, Changeable
from whyclust.answers._regions import Regions, regions_of
from whyclust.answers.smallest_change import STEPS, Subject
from whyclust.explaining.explanation import Explanation
from whyclust.inputs.reading import is_sparse
from whyclust.perturbing.encoded import EncodedRows, as_rows
from whyclust.telling.rounding import count, number

if TYPE_CHECKING:
    import pandas as pd

_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class SmallestChanges:
    """The nearest point of another cluster, for every row.

    Attributes
    ----------
    index : ndarray
        The rows' labels.
    points : frame or array
        The rows as they would have to be, in the user's columns.
    own, to : ndarray of shape (n_rows,)
        The cluster each row is in, and the one of its point.
    distances : ndarray of shape (n_rows,)
        From each row to its point, by `metric`.
    steps : ndarray of shape (n_rows,)
        How far each point lies beyond the border, in units of the distance.
    metric : str
        The distance, in words.
    """

    index: NDArray
    points: Any
    own: NDArray
    to: NDArray
    distances: NDArray
    steps: NDArray
    metric: str

    def __len__(self) -> int:
        return len(self.distances)

    def to_pandas(self) -> pd.DataFrame:
        """Return one line for each row: ``own``, ``to`` and ``distance``."""
        import pandas as pd

        return pd.DataFrame({"own": self.own, "to": self.to, "distance": self.distances}, index=self.index)

    def describe(self) -> str:
        """Say how far rows are from another cluster, and which is the nearest to one."""
        nearest = int(self.distances.argmin())
        half, least = number(float(np.median(self.distances))), number(float(self.distances[nearest]))
        return (
            f"Half of {count(len(self))} rows are within {half} of another cluster ({self.metric}). The "
            f"nearest to one is row {self.index[nearest]}, {least} from cluster {self.to[nearest]}."
        )


def smallest_changes(explanation: Explanation) -> SmallestChanges:
    """Find the nearest point in another cluster for every row.

    In closed form, for all rows at once, where clusters have flat borders and columns are numbers (not False
    and True); otherwise row by row, by :func:`smallest_change`.

    Parameters
    ----------
    explanation : Explanation

    Returns
    -------
    SmallestChanges

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [5.0, 1.0]]
    >>> ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    >>> changes = ex.smallest_changes()
    >>> changes.distances.round(3)
    array([2.25, 2.25, 1.75, 2.75])
    >>> changes.points.round(3)[0]
    array([2.25, 0.  ])
    """
    subject = Subject.of(explanation)
    net, table = subject.net, subject.table
    row = Changeable(net, table, 0, Asked())
    regions = regions_of(net)
    flat = regions is not None and not net.features.encoder and not is_sparse(table.data) and not row.flags
    halves = None if not flat or regions is None else _half_spaces(regions, len(net.clusters), row.scale)
    if halves is None:
        return _one_by_one(subject, row.measured)
    encoded = EncodedRows.of(net, table)
    own = net.predict_rows(table)
    points = encoded.points.copy()
    distances, steps = np.zeros(len(points)), np.full(len(points), STEPS[0])
    waiting = np.arange(len(points))
    # Of each column, without an encoder, the user's is the encoded one.
    limited = np.flatnonzero(np.isin(net.features.sources, list(row.never_negative)))
    limited = limited[encoded.points[:, limited].min(axis=0) >= 0]
    to = own.copy()
    dtype = table.working_type(net.features.columns)
    for step in STEPS:
        for cluster, (normals, levels) in halves.items():
            rows = waiting[own[waiting] == net.clusters[cluster]]
            for first in range(0, len(rows), _BLOCK):
                block = rows[first : first + _BLOCK]
                half = normals, levels, row.scale, step
                points[block], distances[block] = _feet(encoded.points[block], *half)
                outside = block[(points[block][:, limited] < 0).any(axis=1)]
                if len(outside):
                    found = _limited_feet(encoded.points[outside], *half, limited)
                    points[outside], distances[outside] = found
        points[waiting] = points[waiting].astype(dtype)
        steps[waiting] = step
        to[waiting] = encoded.net.predict_rows(as_rows(points[waiting].astype(dtype)))
        waiting = waiting[to[waiting] == own[waiting]]
        if not len(waiting):
            break
    else:
        raise ValueError(
            f"Row {explanation.index[waiting[0]]} cannot leave its cluster, or lies so near a border that "
            "numbers of its type cannot tell the sides apart: pass float64, or leave it out."
        )
    return SmallestChanges(
        index=explanation.index,
        points=_in_columns(subject, points, dtype),
        own=own,
        to=to,
        distances=distances,
        steps=steps,
        metric=f"Euclidean, {row.measured}",
    )


def _half_spaces(
    regions: Regions, n_clusters: int, scale: NDArray
) -> dict[int, tuple[NDArray, NDArray]] | None:
    """For each cluster the half-spaces beyond its borders, of unit length; None where pieces are more."""
    found = {}
    for cluster in range(n_clusters):
        pieces = regions.outside(cluster)
        if any(len(piece.levels) > 1 for piece in pieces):
            return None
        normals = np.concatenate([piece.normals for piece in pieces])
        seen = np.divide(normals, scale, out=np.zeros_like(normals), where=scale > 0)
        lengths = np.linalg.norm(seen, axis=1)
        apart = lengths > 0
        levels = np.concatenate([piece.levels for piece in pieces])
        found[cluster] = normals[apart] / lengths[apart, None], levels[apart] / lengths[apart]
    return found


def _feet(
    points: NDArray, normals: NDArray, levels: NDArray, scale: NDArray, step: float
) -> tuple[NDArray, NDArray]:
    """The nearest points of the nearest half-spaces, and their distances."""
    missing = levels - points @ normals.T
    nearest = missing.argmin(axis=1)
    distances = np.maximum(missing[np.arange(len(points)), nearest], 0.0) + step
    # A normal of the columns is longer by their scale than the way itself.
    ways = np.divide(normals, scale**2, out=np.zeros_like(normals), where=scale > 0)
    return points + distances[:, None] * ways[nearest], distances


def _limited_feet(
    points: NDArray, normals: NDArray, levels: NDArray, scale: NDArray, step: float, limited: NDArray
) -> tuple[NDArray, NDArray]:
    """The same where some columns stop at zero.

    A row moves along a normal, λ times, but for columns that have arrived at zero. What it gains is concave
    in λ, and straight between arrivals: Newton's steps never go too far, and end after as many as there are.
    """
    low = np.full(points.shape, -np.inf)
    low[:, limited] = -points[:, limited]
    best, nearest = np.full(len(points), np.inf), points.copy()
    ways = np.divide(normals, scale**2, out=np.zeros_like(normals), where=scale > 0)
    for normal, level, way in zip(normals, levels, ways, strict=True):
        wanted = level + step - points @ normal
        multiplier = np.zeros(len(points))
        for _ in range(len(limited) + 2):
            free = (way >= 0) | (multiplier[:, None] * way > low)
            left = wanted - np.maximum(multiplier[:, None] * way, low) @ normal
            rise = free @ (way * normal)
            reached = left <= 1e-12 * np.abs(wanted)
            going = ~reached & (rise > 0)
            if not going.any():
                break
            multiplier[going] += left[going] / rise[going]
        moved = np.maximum(multiplier[:, None] * way, low)
        distances = np.where(reached, np.linalg.norm(moved * scale, axis=1), np.inf)
        nearer = distances < best
        best[nearer], nearest[nearer] = distances[nearer], (points + moved)[nearer]
    return nearest, best


def _in_columns(subject: Subject, points: NDArray, dtype: np.dtype) -> Any:
    """Points in the user's columns; those that the clustering does not read stay as they are."""
    sources, data = subject.net.features.sources, subject.table.data
    if not is_frame(data):
        changed = np.array(data, dtype=dtype)
        changed[:, sources] = points
        return changed
    changed = data.copy()
    for position, column in enumerate(sources):
        changed.isetitem(int(column), points[:, position].astype(dtype))
    return changed


def _one_by_one(subject: Subject, measured: str) -> SmallestChanges:
    asked = Asked()
    changes = [subject.changed(place, None, asked, sparse=False) for place in range(subject.table.shape[0])]
    points: Any = [change.point for change in changes]
    if is_frame(points[0]):
        import pandas as pd

        points = pd.concat(points)
    else:
        points = np.concatenate(points)
    return SmallestChanges(
        index=subject.explanation.index,
        points=points,
        own=np.array([change.own for change in changes]),
        to=np.array([change.to for change in changes]),
        distances=np.array([change.distance for change in changes]),
        steps=np.array([change.step for change in changes]),
        metric=f"Euclidean, {measured}",
    )
