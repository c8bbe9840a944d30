"""A phase of training: what is optimised, for how long, and what happens between the steps.

A model is a module with a list of phases. Everything that it learns or remembers is a parameter or a
buffer, so that a checkpoint of its state is all there is to know. Buffers may take another shape during a
fit (one row per row of the data, say): :meth:`DeepModel.restore` brings them back in any shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

Terms = dict[str, Tensor]


def nothing(*arguments: Any) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Adam:
    """Adam's settings; `final_rate` lets the learning rate fall to it, linearly in the steps.

    Defaults are the paper's (section 5.2.1 of CM), with β₁ of the released code.
    """

    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-3
    final_rate: float | None = None

    def build(self, parameters: Sequence[Any]) -> torch.optim.Optimizer:
        """The optimiser; parameters are tensors or groups with a learning rate of their own."""
        groups = list(parameters)
        tensors = [t for g in groups for t in (g["params"] if isinstance(g, dict) else [g])]
        # One pass over the weights instead of ten: a quarter of a step's time on a processor.
        fused = all(tensor.device.type in {"cpu", "cuda"} for tensor in tensors)
        return torch.optim.Adam(
            groups, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, fused=fused or None
        )


@dataclass(frozen=True)
class Phase:
    """Part of a fit.

    Parameters
    ----------
    name : str
        Shown by the progress bar; ``history_[name]`` holds the terms of the loss.
    epochs : int
        With 0 only `begin` and `end` are called.
    loss : callable
        ``loss(x, rows)`` returns named terms whose sum is minimised: x a batch, rows its positions.
    parameters : sequence of tensors or of groups
        What the optimiser moves.
    optimizer : Adam
    batch_size : int
        At most so many rows a step; all steps of an epoch have the same number, give or take one.
    begin : callable
        ``begin(data, generator)``, once, before the first epoch (k-means on the embedding, say).
    before_epoch : callable
        ``before_epoch(data, epoch)``; returns True to end the phase.
    before_step : callable
        ``before_step(data, step)``, with the number of steps done in this phase; returns True to end
        the phase (DEC when labels settle).
    every : int
        Call `before_step` every so many steps only.
    after_step : callable
        ``after_step(x, rows)`` (DCN moves its centroids).
    end : callable
        ``end(data)``, once, after the last epoch.
    patience : int or None
        End after so many epochs in which the loss did not fall by a thousandth; never if None.
    comparable : bool
        Whether losses of different epochs can be compared; not where the objective itself changes.

    Notes
    -----
    `begin`, `before_epoch`, `before_step` and `end` are called in evaluation mode, and they and
    `after_step` without gradients. What decides the course of a fit must follow from the arguments and
    from the model's parameters and buffers alone: then a fit that was killed ends as if it had not been.
    """

    name: str
    epochs: int
    loss: Callable[[Tensor, Tensor], Terms]
    parameters: Sequence[Any]
    optimizer: Adam = field(default_factory=Adam)
    batch_size: int = 256
    begin: Callable[[Tensor, torch.Generator], Any] = nothing
    before_epoch: Callable[[Tensor, int], Any] = nothing
    before_step: Callable[[Tensor, int], Any] = nothing
    every: int = 1
    after_step: Callable[[Tensor, Tensor], Any] = nothing
    end: Callable[[Tensor], Any] = nothing
    patience: int | None = None
    comparable: bool = True


class DeepModel(nn.Module):
    """What a deep clustering is while it is trained: a module and its phases."""

    def phases(self) -> list[Phase]:
        """The phases of a fit, in order."""
        raise NotImplementedError

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
