"""Is there structure at all? The clusters of a subject, against those of one lump."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.auditing.subject import Subject, rows_of, stratified
from whyclust.cluster.structure import Structure, few_rows, outlier_clusters, structure
from whyclust.inputs.reading import InputTable, is_sparse
from whyclust.network import Neuralized
from whyclust.perturbing.encoded import EncodedRows

# More rows say little more: at most so many, and of wide tables so many numbers, but some rows always.
MOST_ROWS, FEWEST_ROWS = 3000, 500
MOST_NUMBERS = 1 << 18
# Numbers of a sparse table that are written out.
MOST_DENSE = 1 << 25
# Squares of these are still numbers.
LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class Standing:
    """Whether the clusters of a subject stand apart.

    Attributes
    ----------
    found : Structure
        Clusters that stand apart, without noise and outliers.
    outliers : dict of cluster id to int
        Clusters of a few rows that are far from all others, with their rows.
    n_rows : int
        Rows that there are, of which ``found.n_rows`` were used.
    """

    found: Structure
    outliers: dict[Any, int] = field(default_factory=dict)
    n_rows: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        found = self.found
        asked = found.unknown is None
        return {
            "n_clusters": found.k,
            "apart": found.apart if asked else None,
            "apart_se": found.error if asked else None,
            "by_chance": found.by_chance if asked else None,
            "better": None if found.better is None else {"k": found.better[0], "support": found.better[1]},
            "outliers": [{"cluster": one, "rows": rows} for one, rows in self.outliers.items()],
            "n_rows": found.n_rows,
            "unknown": found.unknown,
        }


def stand(
    subject: Subject, clusters: NDArray, *, random_state: int, progress: Callable[[str], None]
) -> Standing:
    """Count the subject's clusters that stand apart, on a sample of many rows."""
    net = subject.net
    noise = net.clusters[-1] if net.head.noise is not None else None
    members = np.flatnonzero(clusters != noise) if noise is not None else np.arange(len(clusters))
    names, codes = np.unique(clusters[members], return_inverse=True)
    few = few_rows(np.bincount(codes))
    n_columns = net.features.inner.n_inputs
    most = min(MOST_ROWS, max(MOST_NUMBERS // n_columns, FEWEST_ROWS))
    many = np.flatnonzero(~few[codes])
    sampled = many[stratified(codes[many], most, np.random.default_rng(random_state))]
    chosen = np.sort(np.concatenate([sampled, np.flatnonzero(few[codes])]))
    codes = codes[chosen]
    table = rows_of(subject.table, members[chosen])
    if is_sparse(table.data):
        if table.shape[0] * table.shape[1] > MOST_DENSE:
            return Standing(Structure(unknown="the table has too many columns"), n_rows=len(members))
        table = InputTable(table.data.toarray(), table.names, table.index)
        rows = in_their_span(compared(net, table))
    else:
        rows = compared(net, table)
    if not np.abs(rows).max() < LARGEST:
        return Standing(Structure(unknown="its numbers are too large"), n_rows=len(members))
    outliers = outlier_clusters(rows, codes, few)
    kept = ~np.isin(codes, outliers)
    found = structure(
        rows[kept],
        codes[kept],
        others=not subject.as_given,
        # Of other rows than these, with outliers, it says nothing.
        chosen=subject.chosen if kept.all() else None,
        random_state=random_state,
        progress=progress,
    )
    named = {names[one].item(): int((codes == one).sum()) for one in outliers}
    return Standing(found, named, len(members) - sum(named.values()))


def in_their_span(rows: NDArray) -> NDArray:
    """The same rows, turned and moved, in as many columns as they differ in: all distances stay."""
    if rows.shape[1] < rows.shape[0]:
        return rows
    centered = rows - rows.mean(axis=0)
    squares, turned = np.linalg.eigh(centered @ centered.T)
    differ = squares > 1e-12 * squares[-1]
    return turned[:, differ] * np.sqrt(squares[differ])


def compared(net: Neuralized, table: InputTable) -> NDArray:
    """Rows as clusters are compared in them, scaled as the model scales them.

    An encoder was trained to pull clusters apart, so that its embedding proves nothing: what it reads counts.
    """
    rows = EncodedRows.of(net, table)
    features = rows.net.features
    if features.trunk is not None:
        return np.asarray(features.before_trunk(rows.points), dtype=np.float64)
    points = features.points(rows.points, np.zeros(features.n_points), None)
    return np.asarray(features.folded(points), dtype=np.float64)
