"""Coding rates: how many bits rows take, up to an error (Yu et al., 2020; Eqs. 4 to 6 of IDC)."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 (as PyTorch itself writes it)
from torch import Tensor

# Least number of members for which a cluster's mean is taken: below it there is none.
_NO_MEMBERS = 1e-8


def log_determinant(matrices: Tensor) -> Tensor:
    """Log det of positive definite matrices, by Cholesky's factors."""
    factors = torch.linalg.cholesky(matrices)
    return 2.0 * factors.diagonal(dim1=-2, dim2=-1).log().sum(dim=-1)


def coding_rate(rows: Tensor, scale: float) -> Tensor:
    """½ log det(I + c ZᵀZ), which equals ½ log det(I + c ZZᵀ): the smaller of both is taken.

    Parameters
    ----------
    rows : Tensor of shape (n, d)
        Z.
    scale : float
        c, λ₁ of Eq. (4).
    """
    n, d = rows.shape
    products = rows @ rows.T if n < d else rows.T @ rows
    identity = torch.eye(min(n, d), dtype=rows.dtype, device=rows.device)
    return 0.5 * log_determinant(identity + scale * products)


def directions(points: Tensor, *, beside: bool) -> Tensor:
    """Points on the unit sphere, as they are seen from zero, or from a place beside all of them.

    A coding rate knows lines and not rays: h and −h together cost as much as h alone. Seen from zero, two
    clusters on opposite sides of it are one, and standardised columns put them there. So points are seen from
    a place that is as far from their mean as they are on average, along an axis of its own.

    Parameters
    ----------
    points : Tensor of shape (n, p)
    beside : bool

    Returns
    -------
    Tensor of shape (n, p) or (n, p + 1)
    """
    if not beside:
        return F.normalize(points)
    centred = points - points.mean(dim=0)
    distance = centred.square().sum(dim=1).mean().sqrt()
    return F.normalize(torch.cat([centred, distance.expand(len(points), 1)], dim=1))


def cluster_coding_rates(points: Tensor, shares: Tensor, scale: float) -> Tensor:
    """½ log det(I + λ₂ E_k[hhᵀ]) of each cluster k, E_k the mean weighed by memberships (Eq. 6).

    Parameters
    ----------
    points : Tensor of shape (n, p)
        h.
    shares : Tensor of shape (n, n_clusters)
        Memberships.
    scale : float
        λ₂.

    Returns
    -------
    Tensor of shape (n_clusters,)
    """
    sizes = shares.sum(dim=0).clamp_min(_NO_MEMBERS)
    weighed = (shares / sizes).T[:, :, None] * points  # clusters × rows × p
    means = weighed.transpose(1, 2) @ points
    identity = torch.eye(points.shape[1], dtype=points.dtype, device=points.device)
    return 0.5 * log_determinant(identity + scale * means)


def head_loss(points: Tensor, shares: Tensor, scale: float, *, printed: bool = False) -> Tensor:
    """What the clustering head minimises: the rate of rows within their clusters (Eq. 6).

    As printed the rates of clusters are summed, and rows belong to the cluster of their largest share, whose
    gradient is that of the shares. This prefers one cluster for all rows: with orthonormal rows, ten clusters
    and λ₂ = 100 a cluster for each costs 23.1, one for all 12.0. So usually each rate is weighed by its
    cluster's share of the rows, as in the released code (2.3 against 12.0), and memberships are soft.
    """
    if printed:
        hard = torch.zeros_like(shares).scatter_(1, shares.argmax(dim=1, keepdim=True), 1.0)
        return cluster_coding_rates(points, hard + shares - shares.detach(), scale).sum()
    return shares.mean(dim=0) @ cluster_coding_rates(points, shares, scale)


def gumbel_softmax(logits: Tensor, temperature: float, generator: torch.Generator) -> Tensor:
    """softmax((log π + g) / τ) with π = softmax(logits) and g of Gumbel(0, 1) (Eq. 5)."""
    uniform = torch.rand(logits.shape, generator=generator).to(logits.device)
    smallest = torch.finfo(logits.dtype).tiny
    gumbel = -(-uniform.clamp_min(smallest).log()).clamp_min(smallest).log()
    return ((logits.log_softmax(dim=1) + gumbel) / temperature).softmax(dim=1)
