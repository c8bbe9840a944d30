"""The loss of the clustering module, term by term (Eqs. 8, 11 and 14 of CM and C-Net).

All terms are sums over the rows of a batch, as in the paper: the concentration α of the prior, the weight β
of the reconstruction and the size of a batch belong together.
"""

from __future__ import annotations

import torch
from torch import Tensor

#: Keeps the logarithm of an empty cluster finite.
FLOOR = 1e-10


def module_terms(
    x: Tensor, responsibilities: Tensor, centers: Tensor, alpha: Tensor, *, e3_weight: float = 1.0
) -> dict[str, Tensor]:
    """E₁, E₂, −E₃ and E₄ of Eq. (8): their sum is the loss of Eq. (11).

    Parameters
    ----------
    x : Tensor of shape (n, d)
    responsibilities : Tensor of shape (n, K)
        γ, rows sum to 1.
    centers : Tensor of shape (K, d)
        μ.
    alpha : Tensor of shape (K,)
        Concentration of the Dirichlet prior.
    e3_weight : float
        Above 1 clusters merge more readily, at 0 they do not (appendix A.3).

    Returns
    -------
    dict of scalar Tensors
    """
    norms = (centers**2).sum(dim=1)
    back = responsibilities @ centers
    # Σ_{l≠k} γ_k γ_l μ_k·μ_l is the whole square ‖Σ_k γ_k μ_k‖² without its diagonal.
    merging = (back**2).sum() - (responsibilities**2 @ norms).sum()
    return {
        "E1": ((x - back) ** 2).sum(),
        "E2": ((responsibilities * (1.0 - responsibilities)) @ norms).sum(),
        "-E3": -e3_weight * merging,
        "E4": balance(responsibilities, alpha),
    }


def network_terms(
    x: Tensor,
    x_back: Tensor,
    z: Tensor,
    responsibilities: Tensor,
    centers: Tensor,
    alpha: Tensor,
    *,
    beta: float,
    lam: float,
) -> dict[str, Tensor]:
    """The five terms of Eq. (14), weighted: their sum is the loss of C-Net.

    Parameters
    ----------
    x, x_back : Tensors of shape (n, d)
        Rows and what the autoencoder makes of them.
    z : Tensor of shape (n, p)
        Their embedding.
    responsibilities : Tensor of shape (n, K)
    centers : Tensor of shape (K, p)
    alpha : Tensor of shape (K,)
    beta : float
        Weight of the autoencoder's reconstruction.
    lam : float
        λ, weight of the orthonormality of the centroids.

    Returns
    -------
    dict of scalar Tensors
    """
    return {
        "reconstruction": beta * ((x - x_back) ** 2).sum(),
        "E1": ((z - responsibilities @ centers) ** 2).sum(),
        "sparsity": (responsibilities * (1.0 - responsibilities)).sum(),
        "E4": balance(responsibilities, alpha),
        "orthonormality": lam * orthonormality(centers),
    }


def balance(responsibilities: Tensor, alpha: Tensor) -> Tensor:
    """E₄ = Σ_k (1 − α_k) log γ̃_k, the Dirichlet prior on the mean responsibilities of the batch.

    Which cluster has which share is not known beforehand, so both sides are sorted (appendix A.2); for equal
    α_k this changes nothing.
    """
    shares = responsibilities.mean(dim=0).sort().values
    return ((1.0 - alpha.sort().values) * torch.log(shares + FLOOR)).sum()


def orthonormality(centers: Tensor) -> Tensor:
    """‖μᵀμ − I‖₁, the sum of absolute values (Eq. 14, last line)."""
    gram = centers @ centers.T
    return (gram - torch.eye(len(gram), dtype=gram.dtype, device=gram.device)).abs().sum()


def ambiguity(responsibilities: Tensor, centers: Tensor) -> Tensor:
    """L_sp = E₂ − E₃ ≥ 0, by which starts are compared (sections 4.3.3 and 5.2.3).

    The text writes a plus, but the loss holds the difference, which Eq. (10) shows to be a sum of squares:
    Σ_i Σ_k γ_ik ‖μ_k − x̄_i‖². It does not change with the origin, so centroids are centred first and no
    digits are lost.
    """
    centred = centers - centers.mean(dim=0)
    back = responsibilities @ centred
    return ((responsibilities @ (centred**2).sum(dim=1)) - (back**2).sum(dim=1)).clamp_min(0.0).sum()
