"""The clustering module as a part of networks: a softmax encoder, an affine decoder (section 4.1 of CM)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans, kmeans_plusplus
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from whyclust.deep.models.mixture_loss import ambiguity, module_terms
from whyclust.deep.networks.autoencoders import initialise

# Concentration per row of a batch and unit of variance, where none is given: the median of the paper's own
# settings (table 7), which are 0.09 for USPS, 0.30 MNIST, 0.33 fMNIST, 1.0 pendigit and 2.4 20News.
_STRENGTH = 0.33
# Centroids of a centred table add up to zero, weighted by their counts: that singular value is rounding.
_ROUNDING = 1e-4


class ClusteringHead(nn.Module):
    """γ = softmax(z W_enc + b_enc) and z̄ = γ W_dec + b_dec.

    Parameters
    ----------
    n_inputs : int
        Columns of the input, or dimensions of the embedding.
    n_clusters : int
    generator : torch.Generator
        Of the random weights that it begins with.
    """

    alpha: Tensor

    def __init__(self, n_inputs: int, n_clusters: int, generator: torch.Generator) -> None:
        super().__init__()
        self.encoder = nn.Linear(n_inputs, n_clusters)
        self.decoder = nn.Linear(n_clusters, n_inputs)
        self.register_buffer("alpha", torch.ones(n_clusters))
        initialise(self, generator)

    def responsibilities(self, z: Tensor) -> Tensor:
        """γ, the code."""
        return self.encoder(z).softmax(dim=1)

    def centers(self) -> Tensor:
        """μ, what the decoder makes of the unit vectors: W_dec + b_dec."""
        return self.decoder.weight.T + self.decoder.bias

    def terms(self, z: Tensor, e3_weight: float = 1.0) -> dict[str, Tensor]:
        """The loss of Eq. (11), term by term."""
        return module_terms(z, self.responsibilities(z), self.centers(), self.alpha, e3_weight=e3_weight)

    def ambiguity(self, z: Tensor, block: int = 4096) -> float:
        """L_sp of all rows."""
        centers = self.centers()
        return sum(float(ambiguity(self.responsibilities(part), centers)) for part in z.split(block))

    def place(self, centers: Tensor) -> None:
        """Begin with these centroids (section 4.2): rows of the decoder, their pseudo-inverse the encoder."""
        self.decoder.weight.data.copy_(centers.T)
        # On the processor, in double precision, which not every device has.
        inverse = torch.linalg.pinv(centers.cpu().double(), rtol=_ROUNDING)
        self.encoder.weight.data.copy_(inverse.T)
        self.decoder.bias.data.zero_()
        self.encoder.bias.data.zero_()

    def concentrate(self, alpha: float, prior: Any = None) -> None:
        """Set the Dirichlet prior; see :func:`concentrations`."""
        values = concentrations(alpha, prior, len(self.alpha))
        self.alpha.copy_(torch.from_numpy(values))


def one_lloyd_step(rows: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Centroids of k-means++ after a single step of Lloyd's algorithm."""
    rows = rows.astype(np.float64)
    centers = kmeans_plusplus(rows, n_clusters, random_state=seed)[0]
    squares = (centers**2).sum(axis=1)
    labels = np.concatenate([(squares - 2.0 * part @ centers.T).argmin(axis=1) for part in _blocks(rows)])
    counts = np.bincount(labels, minlength=n_clusters)
    sums = np.zeros_like(centers)
    np.add.at(sums, labels, rows)
    # Rows that are twice there may leave a centroid without any: it stays where it was.
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)


def k_means(rows: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Centroids of k-means, best of ten starts."""
    # One thread: sums in the order of several are not the same twice.
    with threadpool_limits(1, user_api="openmp"):
        return KMeans(n_clusters, n_init=10, random_state=seed).fit(rows.astype(np.float64)).cluster_centers_


def _blocks(rows: np.ndarray, size: int = 4096) -> list[np.ndarray]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def concentrations(alpha: float, prior: Any, n_clusters: int) -> np.ndarray:
    """α_k: the same for all clusters, or in proportion to their expected shares.

    Parameters
    ----------
    alpha : float
        α_k of the symmetric prior. With other shares f, α_k = K α f_k, so that equal shares are the
        symmetric case (appendix A.2 writes α f, and its α is K times this one).
    prior : sequence of float or None
        f, normalised to a sum of 1.
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_clusters,)

    Examples
    --------
    >>> concentrations(5.0, None, 2)
    array([5., 5.])
    >>> concentrations(5.0, [3, 1], 2)
    array([7.5, 2.5])
    """
    if prior is None:
        return np.full(n_clusters, float(alpha))
    shares = np.asarray(prior, dtype=float)
    return n_clusters * float(alpha) * shares / shares.sum()


def usual_alpha(total_variance: float, n_rows: int, batch_size: int, n_clusters: int) -> float:
    """α where none is given: 1 + 0.33 · B/K · Var, of the rows B of a step and the variance of all columns.

    By Eq. (7) a row's pull towards a cluster is a squared distance, and the prior's is (α − 1)/(B γ̃_k), at
    equal shares (α − 1) K/B: so the prior weighs a fixed part of the variance, whatever the unit of the data.
    """
    n_steps = -(-n_rows // batch_size)
    return 1.0 + _STRENGTH * (n_rows / n_steps) / n_clusters * total_variance


def total_variance(rows: Tensor) -> float:
    """Variance summed over columns, in double precision where the device has it."""
    rows = rows.cpu() if rows.device.type == "mps" else rows
    return float(rows.double().var(dim=0, unbiased=False).sum())


def check_prior(prior: Any, n_clusters: int) -> None:
    """Refuse shares that are none."""
    if prior is None:
        return
    try:
        shares = np.asarray(prior, dtype=float)
    except (TypeError, ValueError):
        shares = np.zeros(0)
    if shares.shape != (n_clusters,) or not np.isfinite(shares).all() or not (shares > 0).all():
        raise ValueError(
            f"prior={prior!r}, expected {n_clusters} positive numbers: the clusters' shares, in any order."
        )
