"""A phase of training: what is optimised, for how long, and what happens between the steps.

A model is a module with a list of phases. Everything that it learns or remembers is a parameter or a
buffer, so that a checkpoint of its state is all there is to know. Buffers may take another shape during a
fit (one row per row of the data, say): :meth:`DeepModel.restore` brings them back in any shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Terms = dict[str, Tensor]


def nothing(*arguments: Any) -> None:
    """Do nothing."""


def _all(rows: Tensor) -> Tensor:
    """What one process has is all there is."""
    return rows


# --- optimisers and schedules ---------------------------------------------------------------------


class Optimizer(Protocol):
    """Settings from which an optimiser is made."""

    @property
    def learning_rate(self) -> float:
        """The first learning rate."""
        ...

    def build(self, parameters: Sequence[Any]) -> torch.optim.Optimizer:
        """The optimiser; parameters are tensors or groups with a learning rate of their own."""
        ...


def _fused(groups: Sequence[Any]) -> bool | None:
    """One pass over the weights instead of ten: a quarter of a step's time on a processor."""
    tensors = [t for g in groups for t in (g["params"] if isinstance(g, dict) else [g])]
    return all(tensor.device.type in {"cpu", "cuda"} for tensor in tensors) or None


@dataclass(frozen=True)
class Adam:
    """Adam's settings: those of section 5.2.1 of CM, with β₁ of the released code."""

    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-3

    def build(self, parameters: Sequence[Any]) -> torch.optim.Optimizer:
        """The optimiser; parameters are tensors or groups with a learning rate of their own."""
        groups = list(parameters)
        return torch.optim.Adam(
            groups, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, fused=_fused(groups)
        )


@dataclass(frozen=True)
class SGD:
    """Settings of stochastic gradient descent."""

    learning_rate: float = 1e-2
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    def build(self, parameters: Sequence[Any]) -> torch.optim.Optimizer:
        """The optimiser; parameters are tensors or groups with a learning rate of their own."""
        groups = list(parameters)
        return torch.optim.SGD(
            groups,
            lr=self.learning_rate,
            momentum=self.momentum,
            nesterov=self.nesterov,
            weight_decay=self.weight_decay,
            fused=_fused(groups),
        )


@dataclass(frozen=True)
class Adadelta:
    """Adadelta's settings, those of PyTorch."""

    learning_rate: float = 1.0
    rho: float = 0.9
    epsilon: float = 1e-6

    def build(self, parameters: Sequence[Any]) -> torch.optim.Optimizer:
        """The optimiser; parameters are tensors or groups with a learning rate of their own."""
        return torch.optim.Adadelta(list(parameters), lr=self.learning_rate, rho=self.rho, eps=self.epsilon)


@dataclass(frozen=True)
class Linear:
    """The learning rate falls to this part of the first one, linearly in the steps of the phase."""

    final: float

    def __call__(self, done: float) -> float:
        """The factor of the first rate after this share of the phase."""
        return 1 + done * (self.final - 1)


@dataclass(frozen=True)
class Cosine:
    """The learning rate falls to this part of the first one along half a cosine."""

    final: float = 0.0

    def __call__(self, done: float) -> float:
        """The factor of the first rate after this share of the phase."""
        return self.final + (1 - self.final) * 0.5 * (1 + math.cos(math.pi * done))


# --- phases ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows of one step, and what a loss may want to know besides.

    Attributes
    ----------
    x : Tensor of shape (n, ...)
        The rows.
    rows : Tensor of int of shape (n,)
        Their positions in the data.
    data : Tensor
        All rows.
    epoch : int
        Epochs of the phase that are over.
    done : float
        The share of the phase's steps that are over, for what rises or falls with them.
    generator : torch.Generator
        The source of noise, on the processor. Its state is part of a checkpoint, so what is drawn from it
        comes again when a fit goes on.
    view : Tensor or None
        The rows as `Phase.augment` changed them, if it is set.
    gather : callable
        ``gather(tensor)`` of a row for each of the batch's rows: with those of other processes, where several
        share the batch; what a loss leaves for `Phase.after_step` must be gathered.
    """

    x: Tensor
    rows: Tensor
    data: Tensor
    epoch: int
    done: float
    generator: torch.Generator
    view: Tensor | None = None
    gather: Callable[[Tensor], Tensor] = _all

    @property
    def views(self) -> list[Tensor]:
        """The rows, and the changed ones if there are any."""
        return [self.x] if self.view is None else [self.x, self.view]


@dataclass(frozen=True)
class Update:
    """What is minimised, which weights are moved for it, and how.

    Parameters
    ----------
    loss : callable
        ``loss(batch)`` returns named terms whose sum is minimised.
    parameters : sequence of tensors or of groups
        What the optimiser moves.
    optimizer : Adam, SGD, Adadelta or whatever has a ``learning_rate`` and a ``build``
    schedule : callable or None
        ``schedule(done)`` is the factor of the first learning rate after this share of the phase; None
        leaves it as it is.
    """

    loss: Callable[[Batch], Terms]
    parameters: Sequence[Any]
    optimizer: Optimizer = field(default_factory=Adam)
    schedule: Callable[[float], float] | None = None


@dataclass(frozen=True)
class Phase:
    """Part of a fit.

    Parameters
    ----------
    name : str
        Shown by the progress bar; ``history_[name]`` holds the terms of the loss.
    epochs : int
        With 0 only `begin` and `end` are called.
    updates : sequence of Update
        Made one after the other in each step. Neighbours that have the same loss share one forward and one
        backward pass.
    batch_size : int
        At most so many rows a step; all steps of an epoch have the same number, give or take one.
    augment : callable or None
        ``augment(x, generator)`` returns the rows changed at random; a loss finds them in ``batch.view``.
    begin : callable
        ``begin(data, generator)``, once, before the first epoch (k-means on the embedding, say).
    before_epoch : callable
        ``before_epoch(data, epoch)``; returns True to end the phase.
    renew : callable or None
        ``renew(data, generator)`` begins anew in part (soft resets); returns the tensors of which the
        optimisers forget what they knew.
    renew_every : int or None
        Epochs between two such beginnings; None for none.
    before_step : callable
        ``before_step(data, step)``, with the number of steps done in this phase; returns True to end
        the phase (DEC when labels settle).
    every : int
        Call `before_step` every so many steps only.
    after_step : callable
        ``after_step(batch)`` (DCN moves its centroids).
    end : callable
        ``end(data)``, once, after the last epoch.
    patience : int or None
        End after so many epochs in which the loss did not fall by a thousandth; never if None.
    comparable : bool
        Whether losses of different epochs can be compared; not where the objective itself changes.
    fixed_length : bool
        Whether what happens in an epoch follows from the number of all, other than by a schedule (by
        ``batch.done``, say): then a checkpoint is not taken on to more epochs.

    Notes
    -----
    `begin`, `renew`, `before_epoch`, `before_step` and `end` are called in evaluation mode, and they,
    `augment` and `after_step` without gradients. What decides the course of a fit must follow from the
    arguments and from the model's parameters and buffers alone: then a fit that was killed ends as if it
    had not been.
    """

    name: str
    epochs: int
    updates: Sequence[Update] = ()
    batch_size: int = 256
    augment: Callable[[Tensor, torch.Generator], Tensor] | None = None
    begin: Callable[[Tensor, torch.Generator], Any] = nothing
    before_epoch: Callable[[Tensor, int], Any] = nothing
    renew: Callable[[Tensor, torch.Generator], Sequence[Tensor]] | None = None
    renew_every: int | None = None
    before_step: Callable[[Tensor, int], Any] = nothing
    every: int = 1
    after_step: Callable[[Batch], Any] = nothing
    end: Callable[[Tensor], Any] = nothing
    patience: int | None = None
    comparable: bool = True
    fixed_length: bool = False


# --- models ---------------------------------------------------------------------------------------


class AffineLogits(NamedTuple):
    """Logits of the clusters as an affine function of the encoder's output, up to what clusters share.

    Attributes
    ----------
    weights : ndarray of shape (n_clusters, embedding)
    biases : ndarray of shape (n_clusters,)
    stiffness : float or None
        The factor with which a softmax of them gives the model's probabilities; None if none does.
    """

    weights: NDArray
    biases: NDArray
    stiffness: float | None


class DeepModel(nn.Module):
    """What a deep clustering is while it is trained: a module and its phases."""

    # Settings by which a fitted network answers. It keeps them as attributes of the same name, so that those
    # of the estimator can be changed for a fit to come.
    answers_with: ClassVar[tuple[str, ...]] = ()
    # Whether losses are means over rows, draw nothing at random and join no rows: then several processes can
    # share a batch.
    rows_add_up: ClassVar[bool] = False
    why_alone: ClassVar[str] = "its loss looks at all rows of a batch together. Run it without torchrun"

    def phases(self) -> list[Phase]:
        """The phases of a fit, in order."""
        raise NotImplementedError

    @property
    def encoder(self) -> nn.Module | None:
        """What makes of rows what :meth:`affine_logits` takes; None where it takes the rows themselves."""
        return None

    def affine_logits(self) -> AffineLogits:
        """The logits as an affine function of the encoder's output: with it the model can be explained."""
        raise TypeError(
            f"{type(self).__name__} does not say its affine_logits(), so it cannot be neuralised: give it "
            "this method, or register a function for your estimator with whyclust.neuralizer."
        )

    @property
    def embedding_encoder(self) -> nn.Module | None:
        """What makes of rows what :meth:`affine_embedding` takes: usually the same as `encoder`."""
        return self.encoder

    def affine_embedding(self) -> tuple[NDArray, NDArray] | None:
        """A, c of what ``transform`` returns, A z + c of `embedding_encoder`'s output z; None if it is not.

        With it the model can be followed where it is a step before another clustering.
        """
        return None

    def embed(self, x: Tensor) -> Tensor:
        """The embedding in which clusters are compared."""
        raise NotImplementedError

    def logits(self, z: Tensor) -> Tensor:
        """A score per cluster, of embedded rows; the largest one wins."""
        raise NotImplementedError

    def probabilities(self, z: Tensor) -> Tensor:
        """Soft assignments of embedded rows."""
        return self.logits(z).softmax(dim=1)

    def decode(self, z: Tensor) -> Tensor:
        """From the embedding back to rows."""
        raise NotImplementedError

    def cluster_centers(self) -> Tensor:
        """One point of the embedding for each cluster."""
        raise NotImplementedError

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Load a state, whatever shape its buffers have."""
        for owner_name, owner in self.named_modules():
            for name, buffer in owner.named_buffers(recurse=False):
                stored = state.get(f"{owner_name}.{name}" if owner_name else name)
                if stored is not None and stored.shape != buffer.shape:
                    setattr(owner, name, torch.empty_like(stored, device=buffer.device))
        self.load_state_dict(dict(state))


def numbers(tensor: Tensor) -> NDArray:
    """A tensor as an array in double precision."""
    return tensor.detach().cpu().numpy().astype(np.float64)


def linear_logits(layer: nn.Linear, stiffness: float | None) -> AffineLogits:
    """The logits that a linear layer gives."""
    weights = numbers(layer.weight)
    biases = np.zeros(len(weights)) if layer.bias is None else numbers(layer.bias)
    return AffineLogits(weights, biases, stiffness)


def snapshot(module: nn.Module) -> dict[str, Tensor]:
    """A copy of a module's state."""
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def rows_embedded(model: DeepModel, data: Tensor, block: int = 4096) -> Tensor:
    """The embedding of all rows, block by block; in evaluation mode and without gradients, as hooks are."""
    return torch.cat([model.embed(part) for part in data.split(block)])


def refuse_infinite(embedded: Tensor) -> None:
    """Stop where training has run away, although no loss has told yet."""
    if not bool(torch.isfinite(embedded).all()):
        raise FloatingPointError(
            "The embedding is not finite: lower learning_rate, or rescale the columns (StandardScaler in a "
            "Pipeline)."
        )
