"""The averaging epoch: weights after the last steps scatter around a better place, their mean.

Section 4.2 of CM: one more epoch is trained, and the mean of all weights after each of its steps is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor, nn

from whyclust.deep.training.phases import Batch, Phase


class AveragedWeights(nn.Module):
    """Running mean of weights over the steps of an epoch, a buffer, so that checkpoints hold it.

    Parameters
    ----------
    parameters : iterable of nn.Parameter
        Those to be averaged.
    last_epoch : int
        The epoch that is averaged; all of them, one after the other, if `always`.
    always : bool
        Where a phase may end early any epoch may be the last one.
    """

    mean: Tensor
    steps: Tensor

    def __init__(self, parameters: Iterable[nn.Parameter], last_epoch: int, *, always: bool = False) -> None:
        super().__init__()
        self.targets = list(parameters)
        self.last_epoch, self.always = last_epoch, always
        self.active = False
        self.register_buffer("mean", torch.zeros(0))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def added_to(self, phase: Phase) -> Phase:
        """The same phase, with one more epoch, after which the mean over its steps takes the weights' place.

        It is part of the phase, so that the optimiser goes on as it was.
        """
        return replace(
            phase,
            epochs=phase.epochs + 1,
            before_epoch=self.before_epoch,
            after_step=self.after_step,
            end=self.end,
        )

    def before_epoch(self, data: Tensor, epoch: int) -> None:
        """Begin anew, if this epoch counts."""
        self.active = self.always or epoch == self.last_epoch
        if self.active:
            self.steps.zero_()
            self.mean = torch.zeros(0, device=self.mean.device)

    def after_step(self, batch: Batch) -> None:
        """Take the weights of this step into account."""
        if not self.active:
            return
        now = torch.cat([parameter.detach().flatten() for parameter in self.targets])
        self.steps += 1
        self.mean = now if self.mean.shape != now.shape else self.mean
        self.mean += (now - self.mean) / self.steps

    def end(self, data: Tensor) -> None:
        """Put the mean in the place of the weights, where there is one, and forget it."""
        if self.steps > 0:
            sizes = [parameter.numel() for parameter in self.targets]
            for parameter, part in zip(self.targets, self.mean.split(sizes), strict=True):
                parameter.data.copy_(part.view_as(parameter))
        self.steps.zero_()
        self.mean = torch.zeros(0, device=self.mean.device)
