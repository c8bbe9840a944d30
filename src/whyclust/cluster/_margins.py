"""The margin between the best and the second best cluster, and the β it sets."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from whyclust.cluster._distances import FloatArray


def margins(scores: FloatArray) -> FloatArray:
    """Second smallest minus smallest score of every row: f_c of the assigned cluster.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Outlier scores or scaled squared distances, K >= 2.

    Returns
    -------
    ndarray of shape (n,)
        Non-negative.

    Examples
    --------
    >>> import numpy as np
    >>> margins(np.array([[3.0, 1.0, 7.0], [2.0, 2.0, 5.0]]))
    array([2., 0.])
    """
    smallest = np.partition(scores, 1, axis=1)[:, :2]
    return smallest[:, 1] - smallest[:, 0]


def inverse_mean_margin(scores: FloatArray) -> float:
    """β = 1/E[f_c] (000, Eq. 3), positive and finite whatever the scores.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Outlier scores of the training data.

    Returns
    -------
    float
        1 for a single cluster, which has no competitor, and, with a warning, where all
        clusters coincide.

    Examples
    --------
    >>> import numpy as np
    >>> inverse_mean_margin(np.array([[3.0, 1.0], [0.0, 6.0]]))
    0.25
    """
    if scores.shape[1] < 2:
        return 1.0
    mean = float(np.mean(margins(scores), dtype=np.float64))
    with np.errstate(divide="ignore", over="ignore"):
        beta = float(1.0 / np.float64(mean))
    if np.isfinite(beta) and beta > 0:
        return beta
    warnings.warn(
        f"The mean margin between the two best clusters is {mean:g} on the training data, so "
        "beta_ was set to 1; use fewer clusters or a larger stiffness.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return 1.0
