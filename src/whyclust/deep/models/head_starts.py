"""Several beginnings of a clustering head: some merge clusters at once and never part them again.

The embedding is there already, so that a start costs little. Starts are compared by the loss itself.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 (as PyTorch itself writes it)
from torch import Tensor, nn

from whyclust.deep.models.centroids import k_means
from whyclust.deep.networks.autoencoders import initialise
from whyclust.deep.training.phases import snapshot

# Spread of the last weights: memberships begin even, so that no cluster is preferred at first.
_FIRST_SPREAD = 1e-3


def begin_head(head: nn.Sequential, generator: torch.Generator) -> None:
    """Random weights, with which rows belong to all clusters alike."""
    initialise(head, generator)
    last = head[-1]
    nn.init.normal_(last.weight, std=_FIRST_SPREAD, generator=generator)
    for layer in head:
        if isinstance(layer, nn.BatchNorm1d):
            layer.reset_running_stats()


def _train(
    head: nn.Sequential,
    points: Tensor,
    loss: Callable[[Tensor, Tensor], Tensor],
    steps: int,
    batch_size: int,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
) -> None:
    """Some steps down a loss of rows and their logits."""
    head.train()
    for _ in range(steps):
        rows = torch.randperm(len(points), generator=generator)[:batch_size].to(points.device)
        optimizer.zero_grad()
        with torch.enable_grad():
            loss(rows, head(points[rows])).backward()
        optimizer.step()
    head.eval()


def best_start(
    head: nn.Sequential,
    points: Tensor,
    loss: Callable[[Tensor, Tensor], Tensor],
    final: Callable[[Tensor], Tensor],
    *,
    starts: int,
    steps: int,
    batch_size: int,
    optimizer: Callable[[], torch.optim.Optimizer],
    generator: torch.Generator,
) -> None:
    """Train a head from some beginnings for a few steps, and leave it with the weights of the lowest loss.

    Heads that leave clusters empty come last.

    Parameters
    ----------
    head : nn.Sequential
    points : Tensor of shape (n, p)
        The embedding.
    loss : callable
        Of rows, as positions, and their logits: what is minimised.
    final : callable
        Of the logits of all points: what starts are compared by.
    starts, steps, batch_size : int
    optimizer : callable
        Makes one for the head.
    generator : torch.Generator
    """
    best, state = (len(head[-1].weight), float("inf")), snapshot(head)
    for _ in range(starts):
        begin_head(head, generator)
        _train(head, points, loss, steps, batch_size, optimizer(), generator)
        logits = head(points)
        empty = logits.shape[1] - len(logits.argmax(dim=1).unique())
        found = empty, float(final(logits))
        if found < best:
            best, state = found, snapshot(head)
    head.zero_grad()
    head.load_state_dict(state)


def k_means_start(
    head: nn.Sequential,
    points: Tensor,
    directions: Tensor,
    *,
    steps: int,
    batch_size: int,
    optimizer: Callable[[], torch.optim.Optimizer],
    generator: torch.Generator,
) -> None:
    """Teach a head the clusters that k-means finds.

    Parameters
    ----------
    head : nn.Sequential
    points : Tensor of shape (n, p)
        The embedding, which the head sees.
    directions : Tensor of shape (n, q)
        What k-means clusters: that of which coding rates are taken.
    steps, batch_size : int
    optimizer : callable
        Makes one for the head.
    generator : torch.Generator
    """
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    _, labels = k_means(directions, len(head[-1].weight), n_init=10, random_state=seed)
    labels = labels.to(points.device)
    begin_head(head, generator)
    _train(
        head,
        points,
        lambda rows, logits: F.cross_entropy(logits, labels[rows]),
        steps,
        batch_size,
        optimizer(),
        generator,
    )
    head.zero_grad()
