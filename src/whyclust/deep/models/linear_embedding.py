"""Which of the embeddings that a linear autoencoder may end with is taken.

What its encoder stretches, its decoder takes back: the embedding is known up to an invertible map, and which
one training ends with is chance. What is restored is the same for all of them, so its axes are taken, none of
them wider than another. The means of k clusters lie in k − 1 of them. A k-th axis has a place where something
else than clusters has one of these, but only as far as it is no noise.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.sparse.linalg import svds
from torch import Tensor, nn

from whyclust.deep.networks.autoencoders import Autoencoder
from whyclust.deep.training.phases import refuse_infinite

# What a linear autoencoder is made of.
_LINEAR = (nn.Linear, nn.Identity, nn.Flatten, nn.Unflatten)
# Axes of less than this part of the widest one's variance restore next to nothing: no more is stretched.
_LEAST_VARIANCE = 1e-4
# Width of axes that are not taken: they stay, so that nothing is lost that was restored.
_HARDLY = 0.01


def linear_ends(autoencoder: Autoencoder) -> tuple[nn.Linear, nn.Linear] | None:
    """The encoder's last linear layer and the decoder's first; None where something is not linear.

    Layers that are there twice, or that compute their weights, cannot be changed alone: None, too.
    """
    there, back = _layers(autoencoder.encoder), _layers(autoencoder.decoder)
    if there is None or back is None:
        return None
    ends = [layer for layer in there if type(layer) is nn.Linear][-1:]
    ends += [layer for layer in back if type(layer) is nn.Linear][:1]
    weights = [weight for layer in there + back for weight in layer.parameters()]
    alone = len({id(weight) for weight in weights}) == len(weights)
    hooked = any(part._forward_pre_hooks or part._forward_hooks for part in autoencoder.modules())
    if len(ends) < 2 or not alone or hooked:
        return None
    last, first = ends
    # Of images, or parts of a row, a layer may see a row at a time.
    return (last, first) if last.out_features == first.in_features == autoencoder.embedding_dim else None


def _layers(module: nn.Module) -> list[nn.Module] | None:
    """Layers in their order; None where one of them is not linear."""
    if type(module) in _LINEAR:
        return [module]
    if type(module) is not nn.Sequential:
        return None
    parts = [_layers(layer) for layer in module]
    return None if None in parts else [layer for part in parts for layer in part or []]


@torch.no_grad()
def balance(ends: tuple[nn.Linear, nn.Linear]) -> None:
    """Make rows of the one as long as columns of the other, so that both halves can learn on.

    What is restored stays as it is. Steps of Adam are as large for weights of 1e-4 as for others.
    """
    last, first = ends
    there, back = last.weight.norm(dim=1), first.weight.norm(dim=0)
    scale = torch.where((there > 0) & (back > 0), (back / there).sqrt(), 1.0)
    last.weight.mul_(scale[:, None])
    if last.bias is not None:
        last.bias.mul_(scale)
    first.weight.div_(scale)


@torch.no_grad()
def take_own_axes(
    autoencoder: Autoencoder,
    ends: tuple[nn.Linear, nn.Linear],
    points: Tensor,
    rows: Tensor,
    n_clusters: int,
) -> None:
    """Turn and stretch the embedding: its axes become those of what is restored, which stays as it is.

    Parameters
    ----------
    autoencoder : Autoencoder
    ends : (nn.Linear, nn.Linear)
        Of :func:`linear_ends`: they are changed.
    points : Tensor of shape (n, p)
        The embedding.
    rows : Tensor of shape (n, d)
        What is to be restored of it.
    n_clusters : int
    """
    unit = torch.eye(points.shape[1]).to(points)
    units = autoencoder.decoder(unit) - autoencoder.decoder(torch.zeros_like(unit))
    refuse_infinite(points)
    refuse_infinite(units)
    # On the processor, in double precision, which not every device has.
    turned = own_axes(points.cpu().double(), units.cpu().double(), rows.cpu(), n_clusters)
    last, first = ends
    weight, back = last.weight.cpu().double(), first.weight.cpu().double()
    last.weight.copy_(turned @ weight)
    if last.bias is not None:
        last.bias.copy_(turned @ last.bias.cpu().double())
    first.weight.copy_(back @ torch.linalg.pinv(turned))


def own_axes(points: Tensor, units: Tensor, rows: Tensor, n_clusters: int) -> Tensor:
    """M, so that the columns of `points` Mᵀ are the axes of what is restored, the widest first.

    Parameters
    ----------
    points : Tensor of shape (n, p)
    units : Tensor of shape (p, d)
        What the decoder makes of the unit vectors, less what it makes of zero.
    rows : Tensor of shape (n, d)
    n_clusters : int

    Returns
    -------
    Tensor of shape (p, p)
    """
    n, p = points.shape
    columns, triangle = torch.linalg.qr(units.T)
    # What is restored but for a rotation of the d columns, of which p are enough.
    shape = torch.zeros(p, p, dtype=points.dtype)
    shape[: len(triangle)] = triangle
    restored = (points - points.mean(dim=0)) @ shape.T
    variances, axes = (part.flip(-1) for part in torch.linalg.eigh(restored.T @ restored / n))
    if not variances[0] > 0:
        return torch.eye(p, dtype=points.dtype)
    found = restored @ axes
    # Which way an axis points is chance, too: its farthest row is on the positive side.
    signs = torch.where(found.gather(0, found.abs().argmax(dim=0, keepdim=True))[0] < 0, -1.0, 1.0)
    widths = torch.full_like(variances, _HARDLY)
    widths[: n_clusters - 1] = 1.0
    if n_clusters <= columns.shape[1]:
        there = columns @ axes[: columns.shape[1], :n_clusters]
        widths[n_clusters - 1] = max(_HARDLY, math.sqrt(_share_of_last(rows, there.to(rows))))
    scales = signs * widths * variances.clamp_min(_LEAST_VARIANCE * variances[0]).rsqrt()
    return scales[:, None] * (axes.T @ shape)


def _share_of_last(rows: Tensor, axes: Tensor) -> float:
    """Of the last of some axes in the space of the rows, the share that is no noise.

    Less is restored along it than there is: the variance is that of the rows themselves.
    """
    spread, along = (part.var(dim=0, correction=0).double() for part in (rows, rows @ axes))
    n, n_columns = len(rows), int((spread > 0).sum())
    left, variance = min(n - 1, n_columns) - len(along), float(along[-1])
    mean = float(spread.sum() - along.sum()) / max(left, 1)
    if left <= 0 or mean <= _LEAST_VARIANCE * variance:
        return 1.0  # nothing is known of noise, or there is none
    # Where columns correlate, axes of noise are wider than otherwise: the widest that is left tells.
    edge = (1.0 + math.sqrt(min(n, n_columns) / max(n, n_columns))) ** 2
    centred = rows - rows.mean(dim=0)
    beside = (centred - centred @ axes @ axes.T).numpy()
    start = np.random.default_rng(0).normal(size=min(beside.shape)).astype(beside.dtype)
    widest = float(np.max(svds(beside, k=1, v0=start, return_singular_vectors=False)))
    noise = max(mean, widest**2 / n / edge)
    return share_of_signal(variance, noise, n, n_columns)


def share_of_signal(variance: float, noise: float, n: int, d: int) -> float:
    """cos² of the angle between an axis and the one that would be found without noise.

    The angle is known where n and d are large (Benaych-Georges and Nadakuditi, 2012), and of coordinates of
    variance 1 the cosine makes the best estimate of those without noise. An axis that is no wider than those
    that noise makes gets 0.

    Parameters
    ----------
    variance : float
        Of the rows along the axis.
    noise : float
        Of the rows along axes of noise, on the mean, if it is alike in all columns.
    n, d : int
        Rows and columns.
    """
    # Of singular values y, of which noise makes some up to 1 + √c, the axes without noise have θ:
    # y² = (1 + θ²) (c + θ²) / θ².
    c = min(n, d) / max(n, d)
    excess = variance / noise - 1.0 - c
    if excess <= 2.0 * math.sqrt(c):
        return 0.0
    squared = 0.5 * (excess + math.sqrt(excess**2 - 4.0 * c))
    # Coordinates of rows belong to the short side of a wide table, and to the long side of a tall one.
    if n <= d:
        return 1.0 - c * (1.0 + squared) / (squared * (squared + c))
    return 1.0 - (c + squared) / (squared * (squared + 1.0))
