"""Where the iterations begin (enough points, first labels, first support vectors), and who wins."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from whyclust.cluster._distances import FloatArray, IntArray, row_blocks, squared_distances
from whyclust.cluster._feature_space import fill_empty_clusters

#: scikit-learn takes seeds below this number.
SEED_LIMIT = np.iinfo(np.int32).max
#: Objectives that differ by less than this part of their unit are equal up to rounding.
OBJECTIVE_TOLERANCE = 1e-9


def check_enough_distinct_points(X: FloatArray, n_clusters: int) -> None:
    """Refuse data with fewer distinct rows than clusters.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data.
    n_clusters : int
        K.

    Raises
    ------
    ValueError
        If there are fewer than K distinct rows.

    Examples
    --------
    >>> import numpy as np
    >>> check_enough_distinct_points(np.zeros((5, 2)), 2)
    Traceback (most recent call last):
    ...
    ValueError: Found 1 distinct row (n_samples=5) but n_clusters=2, and every cluster needs ...
    """
    # The first rows of ordinary data are distinct already: sorting them all is the exception.
    n_rows = 2 * n_clusters
    while True:
        n_distinct = len(np.unique(X[:n_rows], axis=0))
        if n_distinct >= n_clusters:
            return
        if n_rows >= len(X):
            break
        n_rows *= 4
    rows = "row" if n_distinct == 1 else "rows"
    raise ValueError(
        f"Found {n_distinct} distinct {rows} (n_samples={len(X)}) but n_clusters={n_clusters}, "
        "and every cluster needs a point of its own: choose a smaller n_clusters."
    )


def check_start_labels(labels: object, n_samples: int, n_clusters: int) -> IntArray:
    """Labels given by the user as integers 0..K-1, each of them present.

    Parameters
    ----------
    labels : array-like of shape (n,)
        What the user gave.
    n_samples, n_clusters : int
        What is expected.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        If the shape or the values are others.

    Examples
    --------
    >>> check_start_labels([0.0, 1.0, 1.0], n_samples=3, n_clusters=2)
    array([0, 1, 1])
    """
    given = np.asarray(labels)
    if given.shape != (n_samples,):
        raise ValueError(
            f"Found init of shape {given.shape} but expected ({n_samples},): give one label "
            "for every row of X."
        )
    found = np.unique(given)
    if not np.array_equal(found, np.arange(n_clusters)):
        shown = ", ".join(map(str, found[:10].tolist())) + (", ..." if len(found) > 10 else "")
        raise ValueError(
            f"Found the labels {shown} in init but expected every integer from 0 to "
            f"{n_clusters - 1}: renumber the labels or change n_clusters={n_clusters}."
        )
    return given.astype(np.intp)


def run_k_means(
    X: FloatArray, n_clusters: int, random_state: np.random.RandomState
) -> tuple[FloatArray, IntArray]:
    """Centres and labels of one run of k-means.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred data.
    n_clusters : int
        K <= n.
    random_state : RandomState
        Source of the seed.

    Returns
    -------
    centres : ndarray of shape (K, d)
        Some may coincide if points do.
    labels : ndarray of shape (n,)
        No cluster is empty.
    """
    k_means = KMeans(n_clusters, n_init=1, random_state=random_state.randint(SEED_LIMIT))
    with warnings.catch_warnings():
        # Repeated points may leave a cluster empty; it is filled below.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = k_means.fit_predict(X).astype(np.intp)
    distances = np.square(X - k_means.cluster_centers_[labels]).sum(axis=1)
    return k_means.cluster_centers_, fill_empty_clusters(labels, distances, n_clusters)


def random_labels(n_samples: int, n_clusters: int, random_state: np.random.RandomState) -> IntArray:
    """Random labels, clusters of equal size.

    Parameters
    ----------
    n_samples, n_clusters : int
        n and K <= n.
    random_state : RandomState
        Source of the permutation.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> np.bincount(random_labels(10, 5, np.random.RandomState(0)))
    array([2, 2, 2, 2, 2])
    """
    return random_state.permutation(np.arange(n_samples) % n_clusters).astype(np.intp)


def seed_support_vectors(
    X: FloatArray,
    labels: IntArray,
    n_clusters: int,
    n_support: int,
    random_state: np.random.RandomState,
) -> tuple[FloatArray, float]:
    """Choose as many support vectors for every cluster, by k-means among its members.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred data.
    labels : ndarray of shape (n,)
        Cluster of every point, none empty.
    n_clusters, n_support : int
        K and M of Eq. (34).
    random_state : RandomState
        Source of the choice.

    Returns
    -------
    support_vectors : ndarray of shape (K * M, d)
        Sorted by cluster. A cluster with no more than M members gives them all, some more
        than once (the noise of supplement F parts them).
    spread : float
        Sum of the squared distances of all points to the nearest support vector of their
        own cluster: the double sum of Eq. (38) for hard responsibilities.
    """
    chosen = []
    spread = 0.0
    for cluster in range(n_clusters):
        members = X[labels == cluster]
        if len(members) > n_support:
            vectors, _ = run_k_means(members, n_support, random_state)
            for block in row_blocks(len(members), max(vectors.shape)):
                spread += float(squared_distances(members[block], vectors).min(axis=1).sum())
        else:
            vectors = members[np.resize(np.arange(len(members)), n_support)]
        chosen.append(vectors)
    return np.concatenate(chosen), spread


def is_better(objective: float, best: float, unit: float) -> bool:
    """Whether a start ended clearly lower than the best so far.

    Starts often end in the same optimum with clusters in another order. The first of them
    wins, so that rounding (another machine, shifted data) does not renumber the clusters.

    Parameters
    ----------
    objective, best : float
        Sums over all points; infinity stands for no result yet.
    unit : float
        Size of such a sum: the number of points for log-likelihoods, the sum of K(x, x)
        for distances in feature space.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_better(1.0, np.inf, 10), is_better(1.0, 1.0 + 1e-12, 10)
    (True, False)
    """
    return best - objective > OBJECTIVE_TOLERANCE * unit
