"""The number of clusters: the k whose clusters stand apart, more than those of tables without clusters.

For each k it is counted how many of the k clusters come back in halves of the rows and have a valley around
them (`_standing_apart`). With too few clusters the count is limited by k; with too many, those that were cut
in pieces drop out. The same is counted in tables of one lump that are made like the given one (`_one_lump`),
and subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from whyclust._checks import counted, refuse_too_large, whole_number
from whyclust._html import FOR, NEITHER, bar, paragraph, quiet, table
from whyclust._progress import waiting
from whyclust._threads import one_thread_if_small
from whyclust.cluster._distances import FloatArray
from whyclust.cluster._k_paths import families, family
from whyclust.cluster._standing_apart import SMALLEST
from whyclust.cluster._standing_counts import Counts, count_clusters

# What is tried where nothing is said; half as many more as long as the best is among the last tenth.
LARGEST_K = 30
_LAST_TENTH = 0.9
# One cluster of all rows always stands; to stand out, k clusters need this much for each further one.
ONE_CLUSTER = 1.0
EACH_FURTHER = 0.25
# Halves of fewer rows tell nothing.
FEWEST_ROWS = 20
_MOST_ALTERNATIVES = 3
# A notebook shows so many k, the best supported.
_MOST_SHOWN = 8


def standing_apart(found: float, k: int) -> str:
    """How many of k clusters stand apart, a mean over halves of the rows, in words.

    >>> standing_apart(3.68, 5), standing_apart(3.0, 3)
    ('on average 3.7 of 5 clusters stand apart', 'all 3 clusters stand apart')
    >>> standing_apart(0.0, 2)
    'none of 2 clusters stands apart'
    """
    if f"{found:.1f}" in ("0.0", "-0.0"):
        return f"none of {k} clusters stands apart"
    if f"{found:.1f}" == f"{k:.1f}":
        return f"all {k} clusters stand apart"
    return f"on average {found:.1f} of {k} clusters stand apart"


@dataclass(frozen=True, repr=False)
class ChosenK:
    """A number of clusters, and what speaks for it and for others.

    Attributes
    ----------
    k : int
        The number of clusters, 2 or more: the best supported or, where none stands out, the one whose
        clusters come back best in halves of the rows.
    stands_out : bool
        Whether k clusters are better supported than one.
    support : dict of int to float
        For each k, how many of the k clusters stand apart, less as many as do in tables without clusters;
        1 for one cluster. At most k.
    apart : dict of int to float
        For each k, how many clusters stand apart.
    by_chance : dict of int to float
        For each k, how many do in tables without clusters.
    agreement : dict of int to float
        For each k from 2 on, how far clusters come back in halves of the rows, from 0 to 1.
    method : str
        The clusterings that were tried.
    n_rows : int
        Rows that were used: a sample of large tables.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> choice = choose_k(StandardScaler().fit_transform(load_wine().data), k_max=10, random_state=0)
    >>> choice.k, choice.stands_out
    (3, True)
    """

    k: int
    stands_out: bool
    support: dict[int, float]
    apart: dict[int, float]
    by_chance: dict[int, float]
    agreement: dict[int, float]
    method: str
    n_rows: int

    @property
    def alternatives(self) -> list[tuple[int, float]]:
        """The runners-up: up to three other k with their support, where it exceeds that of one cluster."""
        others = [(k, value) for k, value in self.support.items() if k not in (1, self.k)]
        ranked = sorted(others, key=lambda pair: (-pair[1], pair[0]))
        return [pair for pair in ranked if pair[1] > ONE_CLUSTER][:_MOST_ALTERNATIVES]

    def __repr__(self) -> str:
        return f"<ChosenK: {self.describe()}>"

    def describe(self) -> str:
        """Say in a sentence or two which k was chosen, and how well it is supported."""
        largest = max(self.support)
        if not self.stands_out:
            if self.n_rows < FEWEST_ROWS:
                return f"{counted(self.n_rows, 'row')} are too few to choose a k: k = {self.k} is taken."
            tried = "k = 2 is not" if largest == 2 else f"no k from 2 to {largest} is"
            return (
                f"No groups with gaps between them were found: {tried} better supported than one cluster. "
                f"k = {self.k} is taken, whose clusters come back best in halves of the rows."
            )
        told = f"k = {self.k}: {standing_apart(self.support[self.k], self.k)} beyond chance."
        if self.alternatives:
            listed = ", ".join(f"k = {k} ({value:.1f})" for k, value in self.alternatives)
            told += f" Next: {listed}."
        return told

    def to_json(self) -> dict[str, Any]:
        """Return everything as a plain dictionary, one list entry per k."""
        ks = sorted(self.support)
        return {
            "k": self.k,
            "stands_out": self.stands_out,
            "n_clusters": ks,
            "support": [self.support[k] for k in ks],
            "apart": [self.apart[k] for k in ks],
            "by_chance": [self.by_chance[k] for k in ks],
            "agreement": [self.agreement.get(k, 1.0) for k in ks],
            "alternatives": [{"k": k, "support": value} for k, value in self.alternatives],
            "sentence": self.describe(),
            "method": self.method,
            "n_rows": self.n_rows,
        }

    def _repr_html_(self) -> str:
        largest = max(self.support.values()) or 1.0
        order = sorted(self.support, key=lambda k: (k != self.k, -self.support[k], k))
        rows = []
        for k in sorted(order[:_MOST_SHOWN]):
            drawn = bar(self.support[k] / largest, FOR if k == self.k and self.stands_out else NEITHER)
            back = f"{self.agreement[k]:.2f}" if k in self.agreement else ""
            rows.append(
                [f"<strong>{k}</strong>" if k == self.k else str(k), f"{drawn}{self.support[k]:.1f}", back]
            )
        told = "Support: clusters that stand apart, less as many as do without clusters."
        told += " <code>choice.plot()</code> draws all k." if len(order) > _MOST_SHOWN else ""
        head = ["k", "support", "come back in halves"]
        return paragraph(self.describe()) + table(head, rows) + paragraph(quiet(told))

    def plot(self, ax: Any = None) -> Any:
        """Draw the support of every k; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from whyclust.plots.number_of_clusters import number_of_clusters

        if not self.agreement:
            raise ValueError(
                f"{self.describe()[:-1]}, and there is no curve to draw: expected {FEWEST_ROWS} rows."
            )

        return number_of_clusters(self, ax=ax)


def choose_k(
    X: ArrayLike,
    *,
    method: str = "kmeans",
    k_max: int | None = None,
    random_state: Any = None,
    progress: Callable[[str], None] | None = None,
) -> ChosenK:
    """Choose the number of clusters.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Points, already scaled as they will be clustered. Of more than 3,000 rows (2,000 for mixtures) a
        random sample is used.
    method : {"kmeans", "soft", "kernel", "mixture"}
        What the number is for: k-means; soft k-means, whose clusters are those of k-means; k-means in the
        feature space of a Gaussian kernel; Gaussian mixtures with full covariances, with at most so many
        components that each has twice as many rows in a half as there are columns.
    k_max : int, optional
        The largest number of clusters to try, never more than a fifth of the rows. By default 30, and half
        as many more as long as one of the last tenth is the best.
    random_state : int, RandomState or None
        Seed of samples, halves, references and starts.
    progress : callable, optional
        Called with a short text at every step; by default a bar is shown on a terminal, after two seconds.

    Returns
    -------
    ChosenK

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.cluster import choose_k
    >>> generator = np.random.default_rng(0)
    >>> centres = generator.uniform(-20, 20, size=(8, 5))
    >>> X = np.repeat(centres, 50, axis=0) + generator.normal(size=(400, 5))
    >>> choice = choose_k(X, random_state=0)
    >>> choice.k, choice.stands_out
    (8, True)

    One lump is cut in pieces by any k, and none of them stands out:

    >>> choice = choose_k(generator.normal(size=(400, 5)), k_max=20, random_state=0)
    >>> choice.stands_out
    False
    >>> choice.describe()
    'No groups with gaps between them were found: no k from 2 to 20 is better supported than one cluster. k =
    ... is taken, whose clusters come back best in halves of the rows.'
    """
    kind = family(method)
    asked = None if k_max is None else whole_number("k_max", k_max, least=2)
    rows, generator = _sampled(_checked(X), kind.most_rows, random_state)
    n_distinct = len(np.unique(rows, axis=0))
    if n_distinct < 3:
        raise ValueError(
            f"found {n_distinct} distinct points, expected at least 3 to choose a number of "
            "clusters: use more rows or columns."
        )
    limit = max(2, min(n_distinct - 1, len(rows) // SMALLEST))
    largest, counts = min(asked or LARGEST_K, limit), Counts({}, {}, {})
    ks = range(2, largest + 1)
    while True:
        if len(rows) >= FEWEST_ROWS:
            with one_thread_if_small(rows), waiting({"Choosing k": 1.0}, progress) as tell:
                counts = counts.joined(count_clusters(rows, ks, kind, generator, tell))
        found = _decided(counts, method, len(rows))
        if asked or largest == limit or found.k <= _LAST_TENTH * largest:
            return found
        ks = range(largest + 1, min(3 * largest // 2, limit) + 1)
        largest = ks[-1]


def _checked(X: Any) -> FloatArray:
    from scipy.sparse import issparse

    if issparse(X):
        raise ValueError(
            "X is sparse, expected a dense table: reduce it as before clustering, "
            "choose_k(TruncatedSVD(50).fit_transform(X)), or pass X.toarray() if it has few columns."
        )
    try:
        rows = np.array(X, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            "X holds more than numbers, expected a table of numbers: encode categories (OneHotEncoder), and "
            "texts (TfidfVectorizer, then TruncatedSVD)."
        ) from None
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"X has the shape {rows.shape}, expected rows and columns.")
    if not np.isfinite(rows).all():
        raise ValueError("X holds values that are missing or infinite: impute them, or leave their rows out.")
    refuse_too_large(rows)
    return rows


def _sampled(rows: FloatArray, most: int, random_state: Any) -> tuple[FloatArray, np.random.Generator]:
    from sklearn.utils import check_random_state

    generator = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    if len(rows) > most:
        rows = rows[np.sort(generator.choice(len(rows), most, replace=False))]
    else:
        rows = _once(rows)
    return rows - rows.mean(axis=0), generator


def _once(rows: FloatArray) -> FloatArray:
    """A table that is written out several times, once.

    Halves of it would share rows, and every row with its copies would be a cluster that comes back.

    >>> _once(np.array([[1.0], [2.0], [1.0], [2.0], [1.0], [1.0]])).ravel()
    array([1., 2., 1.])
    """
    _, codes, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    times = int(np.gcd.reduce(counts))
    if times == 1:
        return rows
    order = np.argsort(codes.ravel(), kind="stable")
    copy = np.empty(len(rows), dtype=np.intp)  # the first one of its kind is 0
    copy[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows[copy % times == 0]


def _decided(counts: Counts, method: str, n_rows: int) -> ChosenK:
    """The best supported k or, where none stands out, the one whose clusters come back best."""
    apart, chance, agreement = counts.apart, counts.by_chance, counts.agreement
    ks = sorted(apart)  # none, where rows are too few
    support = {k: max(apart[k] - chance[k], 0.0) for k in ks}
    enough = [k for k in ks if support[k] > ONE_CLUSTER + EACH_FURTHER * (k - 1)]
    scale = support if enough else agreement
    return ChosenK(
        k=max(enough or ks, key=lambda k: (scale[k], -k), default=2),
        stands_out=bool(enough),
        support={1: ONE_CLUSTER, **support},
        apart={1: ONE_CLUSTER, **apart},
        by_chance={1: 0.0, **chance},
        agreement=agreement,
        method=method,
        n_rows=n_rows,
    )


METHODS = tuple(families())
