"""Generators of points: the made-up data sets of the papers.

The papers describe these in a few words and give no code; what they leave open is an option here, with
its default and the reason for it in the docstring. All shuffle their rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state


def _blobs(
    centers: ArrayLike, n_samples: int, scale: float, generator: np.random.RandomState
) -> tuple[NDArray, NDArray]:
    """Isotropic Gaussians of (nearly) equal numbers around centres, in random order."""
    mu = np.asarray(centers, dtype=np.float64)
    if n_samples < len(mu):
        raise ValueError(
            f"n_samples={n_samples} was given, expected at least one for each of {len(mu)} clusters."
        )
    y = generator.permutation(np.arange(n_samples) % len(mu))
    return mu[y] + generator.normal(scale=scale, size=(n_samples, mu.shape[1])), y


def make_synth(
    n_samples: int = 12_000,
    *,
    n_noise_dimensions: int = 25,
    separation: float = 8.0,
    noise_scale: float = 3.5,
    random_state: Any = None,
) -> tuple[NDArray, NDArray]:
    """SYNTH-d of the ACe/DeC paper: four Gaussian clusters in two dimensions, and d that tell nothing.

    "12,000 data points with four well-separated Gaussian clusters in two dimensions and 25 independent,
    unimodal Gaussian distributed dimensions without cluster structure." Where the clusters are, and how wide,
    is not said, nor how wide the others are: here clusters are the corners of a square, with standard
    deviation 1, and the others so wide that k-means on the embedding of a linear autoencoder does as badly
    as in the paper's Table 1 (NMI 0.12 here, 0.11 there), while k-means on the points finds the clusters.

    Parameters
    ----------
    n_samples : int
        Points, as many of each cluster.
    n_noise_dimensions : int
        d: 25 for SYNTH-25, 0 to 25 for the horizontal axis of the paper's Figure 1a.
    separation : float
        Side of the square, in standard deviations of a cluster.
    noise_scale : float
        Standard deviation of the other dimensions. From about `separation` / 2 on they have more variance
        than the clusters' own dimensions; with 1 every method finds the clusters.
    random_state : int, RandomState or None
        Which points.

    Returns
    -------
    X : ndarray of shape (n_samples, 2 + n_noise_dimensions)
        The clusters' dimensions are the first two.
    y : ndarray of shape (n_samples,)
        Cluster of each point.

    Examples
    --------
    >>> from whyclust.datasets import make_synth
    >>> X, y = make_synth(random_state=0)
    >>> X.shape
    (12000, 27)
    """
    generator = check_random_state(random_state)
    half = separation / 2
    corners = [(-half, -half), (-half, half), (half, -half), (half, half)]
    informative, y = _blobs(corners, n_samples, 1.0, generator)
    noise = generator.normal(scale=noise_scale, size=(n_samples, n_noise_dimensions))
    return np.hstack([informative, noise]), y


def make_idc_synthetic(
    n_samples: int = 3200,
    *,
    n_nuisance: int = 10,
    nuisance_scale: float = 0.1,
    separation: float = 8.0,
    random_state: Any = None,
) -> tuple[NDArray, NDArray, NDArray]:
    """Synthetic set of the IDC paper: which features matter depends on the cluster.

    Four clusters of about 800 points in three informative features: in {x1, x2} only three of them can
    be told apart, and in {x1, x3} too. So x1 divides the clusters into two pairs; x2 separates the first
    pair and x3 the second (appendix I and section 6.2.1). "Isotropic Gaussian blobs with standard deviation
    0.5" and values in [−1, 1] only go together if the blobs are scaled afterwards; so it is done here.
    The centres are not given. The paper's 25.7 % accuracy of k-means, which is chance, does not follow from
    this description: where the clusters can be told apart at all, k-means on these features finds them.

    Parameters
    ----------
    n_samples : int
        Points, as many of each cluster.
    n_nuisance : int
        Features without meaning, from N(0, `nuisance_scale`²).
    nuisance_scale : float
        σ_n of the paper.
    separation : float
        Distance of the centres of a pair in standard deviations of a blob.
    random_state : int, RandomState or None
        Which points.

    Returns
    -------
    X : ndarray of shape (n_samples, 3 + n_nuisance)
        The informative features are the first three, and lie in [−1, 1].
    y : ndarray of shape (n_samples,)
        Cluster of each point.
    informative : ndarray of bool of shape (4, 3 + n_nuisance)
        Features that explain each cluster: {x1, x2} for clusters 0 and 1, {x1, x3} for 2 and 3.
        ``informative[y]`` has a row for each point.

    Examples
    --------
    >>> from whyclust.datasets import make_idc_synthetic
    >>> X, y, informative = make_idc_synthetic(random_state=0)
    >>> informative[:, :4].astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [1, 0, 1, 0],
           [1, 0, 1, 0]])
    """
    generator = check_random_state(random_state)
    half = separation * 0.5 / 2
    centers = [(-half, half, 0), (-half, -half, 0), (half, 0, half), (half, 0, -half)]
    blobs, y = _blobs(centers, n_samples, 0.5, generator)
    blobs /= np.abs(blobs).max(axis=0)
    nuisance = generator.normal(scale=nuisance_scale, size=(n_samples, n_nuisance))
    informative = np.zeros((4, 3 + n_nuisance), dtype=bool)
    informative[:, 0] = True
    informative[:2, 1] = True
    informative[2:, 2] = True
    return np.hstack([blobs, nuisance]), y, informative


def make_five_gaussians(
    n_samples: int = 2000, *, separation: float = 5.0, random_state: Any = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Toy set of the CM paper: a mixture of five bivariate Gaussians, standardised (section 4.2).

    The paper gives N = 2,000, K = 5 and that the data are standardised; the places are not given. Here
    the Gaussians are equally frequent, isotropic, and stand at the corners and in the middle of a square.

    Parameters
    ----------
    n_samples : int
        Points.
    separation : float
        Distance from the middle to each corner, in standard deviations of a Gaussian.
    random_state : int, RandomState or None
        Which points.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points, with mean 0 and standard deviation 1 in both dimensions.
    y : ndarray of shape (n_samples,)
        Gaussian of each point.
    centers : ndarray of shape (5, 2)
        Means of the Gaussians on the scale of X.

    Examples
    --------
    >>> from whyclust.datasets import make_five_gaussians
    >>> X, y, centers = make_five_gaussians(random_state=0)
    >>> X.shape, centers.shape
    ((2000, 2), (5, 2))
    """
    generator = check_random_state(random_state)
    side = separation / np.sqrt(2)
    centers = side * np.array([(-1, -1), (-1, 1), (0, 0), (1, -1), (1, 1)])
    X, y = _blobs(centers, n_samples, 1.0, generator)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    return (X - mean) / scale, y, (centers - mean) / scale
