"""How well a clustering fits known classes, another clustering, or its own geometry.

Scores look at labels after the fact. Nothing in whyclust trains, stops or selects by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_score
from sklearn.utils import check_random_state

from whyclust._checks import whole_number
from whyclust._frames import in_rows_of, index_of
from whyclust.inputs.reading import read_input
from whyclust.metrics.reading import noise_rows, read_codes, read_numbers


@dataclass(frozen=True)
class Contingency:
    """How often each pair of labels meets, of two labellings of the same rows.

    Attributes
    ----------
    counts : ndarray of shape (n_first, n_second)
    first, second : ndarray
        The labels that rows and columns stand for.
    codes : tuple of two ndarrays of shape (n_rows,)
        Position of each row's labels.
    n_ignored : int
        Rows left out because one of the labellings calls them noise.
    """

    counts: NDArray
    first: NDArray
    second: NDArray
    codes: tuple[NDArray, NDArray]
    n_ignored: int = 0

    def match(self) -> tuple[NDArray, NDArray]:
        """One-to-one pairs of labels that share the most rows (Hungarian method)."""
        return linear_sum_assignment(self.counts, maximize=True)


def contingency(
    first: Any, second: Any, called: tuple[str, str], *, ignore_noise: bool = False
) -> Contingency:
    """Count the pairs of labels, of two labellings of the same rows."""
    second = in_rows_of(second, index_of(first), called[1], called[0])
    codes_a, names_a = read_codes(first, called[0])
    codes_b, names_b = read_codes(second, called[1])
    if len(codes_a) != len(codes_b):
        raise ValueError(
            f"{called[0]} has {len(codes_a)} labels and {called[1]} {len(codes_b)}: expected two labels for "
            "each row."
        )
    n_ignored = 0
    if ignore_noise:
        kept = ~(noise_rows(codes_a, names_a) | noise_rows(codes_b, names_b))
        n_ignored = int((~kept).sum())
        if n_ignored == len(kept):
            raise ValueError(
                "All rows are noise (-1) in one of the labellings, so ignore_noise=True leaves none: use "
                "ignore_noise=False."
            )
        if n_ignored:
            return _counted(names_a[codes_a[kept]], names_b[codes_b[kept]], n_ignored)
    return _counted(names_a[codes_a], names_b[codes_b], n_ignored)


def _counted(labels_a: NDArray, labels_b: NDArray, n_ignored: int) -> Contingency:
    first, codes_a = np.unique(labels_a, return_inverse=True)
    second, codes_b = np.unique(labels_b, return_inverse=True)
    flat = np.bincount(codes_a * len(second) + codes_b, minlength=len(first) * len(second))
    return Contingency(flat.reshape(len(first), len(second)), first, second, (codes_a, codes_b), n_ignored)


_TRUE_AND_PREDICTED = ("labels_true", "labels_pred")


def clustering_accuracy(labels_true: Any, labels_pred: Any, *, ignore_noise: bool = False) -> float:
    """Share of rows in the class that their cluster stands for, under the best one-to-one matching.

    Parameters
    ----------
    labels_true, labels_pred : sequence of int or str
        Classes and clusters of the same rows. -1 is a label like any other.
    ignore_noise : bool
        Leave out the rows that either of the two labels -1.

    Returns
    -------
    float
        Between 0 and 1. Where there are more clusters than classes, the rows of the clusters left
        over count as wrong.

    Examples
    --------
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    table = contingency(labels_true, labels_pred, _TRUE_AND_PREDICTED, ignore_noise=ignore_noise)
    return float(table.counts[table.match()].sum() / table.counts.sum())


def purity(labels_true: Any, labels_pred: Any, *, ignore_noise: bool = False) -> float:
    """Share of rows in the most frequent class of their cluster.

    Many small clusters are pure for free: compare purities only for the same number of clusters.

    Examples
    --------
    >>> purity(["a", "a", "b", "b"], [0, 1, 2, 2]), purity(["a", "a", "b", "b"], [0, 0, 0, 0])
    (1.0, 0.5)
    """
    table = contingency(labels_true, labels_pred, _TRUE_AND_PREDICTED, ignore_noise=ignore_noise)
    return float(table.counts.max(axis=0).sum() / table.counts.sum())


def normalized_mutual_information(labels_true: Any, labels_pred: Any, *, ignore_noise: bool = False) -> float:
    """Mutual information of two labellings, over the mean of their entropies.

    Examples
    --------
    >>> normalized_mutual_information([0, 0, 1, 1], ["x", "x", "y", "y"])
    1.0
    """
    table = contingency(labels_true, labels_pred, _TRUE_AND_PREDICTED, ignore_noise=ignore_noise)
    return float(normalized_mutual_info_score(*table.codes))


def adjusted_rand_index(labels_true: Any, labels_pred: Any, *, ignore_noise: bool = False) -> float:
    """Share of pairs of rows on which two labellings agree, less what chance would give.

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    table = contingency(labels_true, labels_pred, _TRUE_AND_PREDICTED, ignore_noise=ignore_noise)
    return float(adjusted_rand_score(*table.codes))


@dataclass(frozen=True)
class Agreement:
    """How far two clusterings of the same rows agree.

    Attributes
    ----------
    share : float
        Share of rows that agree when clusters are matched one to one.
    matching : dict
        For each cluster of the first clustering that has one, its partner in the second.
    adjusted_rand_index, normalized_mutual_information : float
    n_rows : int
        Rows compared.
    n_ignored : int
        Rows left out as noise.
    """

    share: float
    matching: dict[Any, Any]
    adjusted_rand_index: float
    normalized_mutual_information: float
    n_rows: int
    n_ignored: int = 0

    def __repr__(self) -> str:
        return (
            f"<Agreement: {self.share:.1%} of {self.n_rows} rows, ARI {self.adjusted_rand_index:.3f}, "
            f"NMI {self.normalized_mutual_information:.3f}>"
        )


def agreement(labels_a: Any, labels_b: Any, *, ignore_noise: bool = False) -> Agreement:
    """Compare two clusterings of the same rows, whatever their clusters are called.

    Parameters
    ----------
    labels_a, labels_b : sequence of int or str
    ignore_noise : bool
        Leave out the rows that either of the two labels -1.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> found = agreement([0, 0, 1, 1], ["x", "x", "y", "x"])
    >>> found.share, found.matching
    (0.75, {0: 'x', 1: 'y'})
    """
    table = contingency(labels_a, labels_b, ("labels_a", "labels_b"), ignore_noise=ignore_noise)
    rows, columns = table.match()
    # Clusters that share no row are no partners: they were only left over.
    partners = [(a, b) for a, b in zip(rows, columns, strict=True) if table.counts[a, b] > 0]
    return Agreement(
        share=float(table.counts[rows, columns].sum() / table.counts.sum()),
        matching={table.first[a].item(): table.second[b].item() for a, b in partners},
        adjusted_rand_index=float(adjusted_rand_score(*table.codes)),
        normalized_mutual_information=float(normalized_mutual_info_score(*table.codes)),
        n_rows=int(table.counts.sum()),
        n_ignored=table.n_ignored,
    )


def silhouette(
    X: Any,
    labels: Any,
    *,
    ignore_noise: bool = False,
    max_rows: int = 10_000,
    random_state: Any = 0,
) -> float:
    """Mean silhouette: how much closer rows are to their own cluster than to the next.

    Parameters
    ----------
    X : table of numbers
        In the units in which distances are meant: scale the columns first if the clustering did.
    labels : sequence of int or str
    ignore_noise : bool
        Leave out the rows labelled -1.
    max_rows : int
        Of larger tables a random sample of so many rows is taken: distances of all pairs are needed.
    random_state : int, RandomState or None
        Source of the sample.

    Returns
    -------
    float
        Between -1 and 1. A cluster of one row counts as 0.

    Examples
    --------
    >>> silhouette([[0.0], [1.0], [10.0], [11.0]], ["a", "a", "b", "b"])
    0.899749373433584
    """
    table = read_input(X)
    points = read_numbers(table)
    codes, names = read_codes(labels, "labels", table)
    whole_number("max_rows", max_rows, 3)
    if ignore_noise:
        kept = ~noise_rows(codes, names)
        points, codes = points[kept], codes[kept]
    sampled = ""
    if len(codes) > max_rows:
        rows = check_random_state(random_state).permutation(len(codes))[:max_rows]
        points, codes = points[rows], codes[rows]
        sampled = f" in a sample of {max_rows} rows"
    n_clusters = len(np.unique(codes))
    if not 2 <= n_clusters < len(codes):
        raise ValueError(
            f"Found {n_clusters} cluster(s) of {len(codes)} rows{sampled}, expected at least two clusters, "
            "and one of more than one row."
        )
    return float(silhouette_score(points, codes))
