"""The two spaces of SubKMeans: one in which clusters differ, one that they share (Mautz et al., 2017).

All functions take rows and centres from which the data mean has been subtracted, so that μ_D is zero.
"""

import numpy as np

from whyclust.cluster._distances import FloatArray, IntArray, row_blocks, squared_distances


def random_rotation(size: int, random_state: np.random.RandomState) -> FloatArray:
    """A random orthogonal matrix, every rotation as probable as any other.

    Parameters
    ----------
    size : int
        d.
    random_state : RandomState
        Source of the entries.

    Returns
    -------
    ndarray of shape (d, d)

    Examples
    --------
    >>> import numpy as np
    >>> V = random_rotation(3, np.random.RandomState(0))
    >>> bool(np.allclose(V.T @ V, np.eye(3)))
    True
    """
    rotation, triangle = np.linalg.qr(random_state.normal(size=(size, size)))
    # Without the signs, those that the factorisation prefers would come more often.
    return rotation * np.sign(np.diagonal(triangle))


def cluster_means(X: FloatArray, labels: IntArray, n_clusters: int) -> tuple[FloatArray, IntArray]:
    """μ_k and the size of every cluster; none is empty.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred data.
    labels : ndarray of shape (n,)
        Cluster of every row.
    n_clusters : int
        K.

    Returns
    -------
    means : ndarray of shape (K, d)
    counts : ndarray of shape (K,)
    """
    means = np.array([X[labels == cluster].mean(axis=0) for cluster in range(n_clusters)])
    return means, np.bincount(labels, minlength=n_clusters)


def best_rotation(means: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """V that minimises the cost for given clusters: eigenvectors of Σ_k S_k − S_D.

    This difference of scatters is −Σ_k n_k (μ_k − μ_D)(μ_k − μ_D)ᵀ. Its eigenvectors are the right singular
    vectors of the rows √n_k (μ_k − μ_D), which keep the digits that a difference of two scatters would lose.

    Parameters
    ----------
    means : ndarray of shape (K, d)
        Centred means of the clusters.
    counts : ndarray of shape (K,)
        Their sizes.

    Returns
    -------
    rotation : ndarray of shape (d, d)
        Eigenvectors in columns; the largest entry of each is positive.
    eigenvalues : ndarray of shape (d,)
        Ascending, none positive: what the cost falls by if a direction is clustered.

    Examples
    --------
    >>> import numpy as np
    >>> V, eigenvalues = best_rotation(np.array([[0.0, 2.0], [0.0, -2.0]]), np.array([5, 5]))
    >>> V[:, 0], eigenvalues
    (array([0., 1.]), array([-40.,  -0.]))
    """
    _, sizes, vectors = np.linalg.svd(np.sqrt(counts)[:, None] * means, full_matrices=True)
    largest = np.abs(vectors).argmax(axis=1)
    signs = np.where(vectors[np.arange(len(vectors)), largest] < 0, -1.0, 1.0)
    eigenvalues = np.zeros(means.shape[1])
    eigenvalues[: len(sizes)] = np.square(sizes)
    return (vectors * signs[:, None]).T, -eigenvalues


def count_clustered(eigenvalues: FloatArray, price: float) -> int:
    """m, the number of eigenvalues below −price, at least one.

    So many dimensions minimise the cost if every one of them costs the price.

    Parameters
    ----------
    eigenvalues : ndarray of shape (d,)
        See `best_rotation`.
    price : float
        By how much the cost has to fall.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> count_clustered(np.array([-9.0, -1e-12, 0.0]), price=1e-6)
    1
    """
    return max(1, int(np.count_nonzero(eigenvalues < -price)))


def clustered_distances(X: FloatArray, centres: FloatArray, basis: FloatArray) -> FloatArray:
    """‖P_Cᵀ Vᵀ x − P_Cᵀ Vᵀ μ_k‖² of every row and cluster.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred rows.
    centres : ndarray of shape (K, d)
        Centred centres.
    basis : ndarray of shape (d, m)
        V P_C, the first m columns of V.

    Returns
    -------
    ndarray of shape (n, K)
    """
    distances = np.empty((len(X), len(centres)))
    seen = centres @ basis
    for block in row_blocks(len(X), max(centres.shape)):
        distances[block] = squared_distances(X[block] @ basis, seen)
    return distances


def shared_scatter(X: FloatArray, basis: FloatArray) -> float:
    """Σ_x ‖P_Nᵀ Vᵀ (x − μ_D)‖², the scatter that no cluster explains.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred rows.
    basis : ndarray of shape (d, m)
        V P_C; what it leaves of a row is in the shared space.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> shared_scatter(np.array([[5.0, 1.0], [7.0, -1.0]]), np.array([[1.0], [0.0]]))
    2.0
    """
    total = 0.0
    for block in row_blocks(len(X), X.shape[1]):
        left = X[block] - (X[block] @ basis) @ basis.T
        total += float(np.einsum("ij,ij->", left, left))
    return total
