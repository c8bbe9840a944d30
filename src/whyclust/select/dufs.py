"""DUFS: gates that leave the columns in which rows form a smooth graph (Lindenbaum et al., NeurIPS 2021)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from whyclust.saving.registry import saved
from whyclust.select.ranking import RankingSelector
from whyclust.select.reaching import SEEDS, with_torch


@saved
class DUFS(RankingSelector):
    """Keep the columns whose gates stay open when rows behind them should be smooth on their own graph.

    DUFS stands for differentiable unsupervised feature selection. Every column is multiplied by a random
    gate between 0 and 1, Z = min(1, max(0, ½ + μ + ε)), of which μ is learned. A random walk P goes over the
    rows behind the gates; Tr[X̃ᵀ Pᵗ X̃] is large where neighbours have the same values. Other than with the
    Laplacian score, columns that are shut no longer spoil the graph. Needs PyTorch.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number of them, a share of all, or None for those with an open gate (μ > 0), at
        least one.
    lam : float or None, default=None
        λ, the price of an open gate: the loss is −Tr[X̃ᵀ Pᵗ X̃]/m + λ Σ P(Z > 0), per column (Eq. 3). None
        takes the ratio of the two, which has no price (Eq. 4).
    sigma : float, default=0.5
        Standard deviation of the gates' noise ε.
    n_neighbors : int, default=1
        The kernel is as wide as the median distance to this neighbour …
    bandwidth_factor : float, default=2.0
        … times this: W_ij = exp(−‖x_i − x_j‖² / b), where b is the factor times the median squared distance.
    walk : int, default=2
        t, steps of the random walk.
    epochs : int, default=500
        Passes over the table.
    batch_size : int, default=256
        Rows of a graph, at most.
    learning_rate : float, default=0.02
        Adam's.
    device : str, default="auto"
        ``"auto"`` is a CUDA card where there is one.
    random_state : int, RandomState instance or None, default=None
        Source of the noise and of the batches.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ½ + μ: 1 and more for gates that are always open on the mean, 0 and less for those that are shut.
    gates_ : ndarray of shape (n_features,)
        The gates without noise, from 0 to 1.
    history_ : dict
        ``history_["gates"]`` lists the terms of the loss, epoch by epoch.
    ranking_ : ndarray of int of shape (n_features,)
        1 is the best column. Of equal scores, the first column comes first.
    n_features_ : int
        Columns that are kept.
    n_features_in_ : int
        Columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the table had any.

    See Also
    --------
    LaplacianScore : One graph of all columns, without gates.

    Notes
    -----
    Columns should have mean 0 and variance 1: put a StandardScaler before it. Any single column is smooth on
    a graph of its own, so that the ratio may leave a few useless gates open.

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.select import DUFS
    >>> X = np.random.default_rng(0).normal(size=(60, 10))
    >>> X[:30, [4, 7]] += 9.0
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> DUFS(2, epochs=200, random_state=0).fit(X).get_support(indices=True)
    array([4, 7])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankingSelector._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="left"), None],
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "bandwidth_factor": [Interval(Real, 0, None, closed="neither")],
        "walk": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "device": "no_validation",
        "random_state": ["random_state"],
    }
    _largest = 1e12  # single precision

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        lam: float | None = None,
        sigma: float = 0.5,
        n_neighbors: int = 1,
        bandwidth_factor: float = 2.0,
        walk: int = 2,
        epochs: int = 500,
        batch_size: int = 256,
        learning_rate: float = 0.02,
        device: Any = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.lam = lam
        self.sigma = sigma
        self.n_neighbors = n_neighbors
        self.bandwidth_factor = bandwidth_factor
        self.walk = walk
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state

    def _scores(self, X: NDArray) -> NDArray:
        gated_laplacian = with_torch("torch_gated_laplacian", self)
        seed = int(check_random_state(self.random_state).randint(SEEDS))
        model, self.history_ = with_torch("torch_training", self).trained(
            lambda generator: gated_laplacian.GatedLaplacian(
                X.shape[1],
                lam=self.lam,
                sigma=self.sigma,
                n_neighbors=self.n_neighbors,
                bandwidth_factor=self.bandwidth_factor,
                walk=self.walk,
                epochs=self.epochs,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
            ),
            X,
            seed,
            self.device,
        )
        scores = 0.5 + model.means.detach().cpu().numpy().astype(np.float64)
        self.gates_ = scores.clip(0.0, 1.0)
        return scores

    def _usual_count(self) -> int:
        return max(1, int((self.scores_ > 0.5).sum()))
