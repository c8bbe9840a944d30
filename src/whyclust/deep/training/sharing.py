"""Several processes that train one model: each takes a part of every batch, and gradients are summed.

All of them hold all rows, the same seeds and the same weights; only forward and backward passes are shared.
A loss that is a mean over rows has the gradient Σ_r (n_r / n) ∇_r, n_r rows of the batch being with process
r: so the fit is that of one process, but for the order of sums.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor, distributed, nn

from whyclust.deep.training.phases import Batch, DeepModel


@dataclass(frozen=True)
class Team:
    """The processes that train together; one alone by default.

    Attributes
    ----------
    rank : int
        Which of them this one is; the first writes files and shows progress.
    size : int
    device : torch.device
        Where what they tell each other is.
    """

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def is_first(self) -> bool:
        """Whether this process speaks for all."""
        return self.rank == 0

    def share(self, batch: Batch) -> tuple[Batch, float]:
        """The rows of a batch that this process takes, and the weight of what it finds."""
        if self.size == 1:
            return batch, 1.0
        n_rows = len(batch.rows)
        if n_rows < self.size:  # all of them do the same
            return batch, 1.0 / self.size
        first, last = (n_rows * rank // self.size for rank in (self.rank, self.rank + 1))
        view = None if batch.view is None else batch.view[first:last]
        own = replace(
            batch,
            x=batch.x[first:last],
            rows=batch.rows[first:last],
            view=view,
            gather=partial(self._gathered, n_rows),
        )
        return own, (last - first) / n_rows

    def _gathered(self, n_rows: int, own: Tensor) -> Tensor:
        """The rows of all, in the order of the batch."""
        result = own.new_zeros(n_rows, *own.shape[1:])
        first = n_rows * self.rank // self.size
        result[first : first + len(own)] = own
        distributed.all_reduce(result)
        return result

    def sum_gradients(self, moved: Sequence[Tensor], weight: float) -> None:
        """Put the weighted sum of all processes' gradients in the place of each one's own."""
        if self.size == 1:
            return
        # The same loss reaches the same weights in every process, so the same ones have gradients.
        gradients = [tensor.grad for tensor in moved if tensor.grad is not None]
        if not gradients:
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients]).mul_(weight)
        distributed.all_reduce(flat)
        for gradient, part in zip(gradients, flat.split([one.numel() for one in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    def summed(self, values: dict[str, Tensor]) -> dict[str, Tensor]:
        """Sums over all processes."""
        if self.size == 1 or not values:
            return values
        flat = torch.stack([value.double() for value in values.values()])
        distributed.all_reduce(flat)
        return dict(zip(values, flat, strict=True))

    def agreed(self, answer: int | bool | None) -> int:
        """The first one's answer: rounding on another machine must not part them."""
        if self.size == 1:
            return int(answer or 0)
        told = torch.tensor(int(answer or 0), device=self.device)
        distributed.broadcast(told, 0)
        return int(told)

    def agree_on(self, model: DeepModel) -> None:
        """Take over the first one's weights and buffers."""
        if self.size == 1:
            return
        for tensor in model.state_dict().values():
            distributed.broadcast(tensor, 0)

    def refuse_different(self, mark: str) -> None:
        """Stop if the processes were not given the same model, settings and rows."""
        if self.size == 1:
            return
        own = torch.tensor(list(bytes.fromhex(mark)), dtype=torch.uint8, device=self.device)
        marks = [torch.empty_like(own) for _ in range(self.size)]
        distributed.all_gather(marks, own)
        if not all(torch.equal(one, own) for one in marks):
            raise ValueError(
                f"the {self.size} processes of torchrun fit different models, settings or rows: under "
                "torchrun all of them train one model together, so give each the same, or run what is "
                "different without torchrun."
            )


def found_team(device: torch.device) -> Team:
    """The processes that ``torchrun`` has started, or whose group the user has set up."""
    if not distributed.is_available():
        return Team()
    if not distributed.is_initialized():
        size = os.environ.get("WORLD_SIZE", "1")
        if "RANK" not in os.environ or not size.isdigit() or int(size) < 2:
            return Team()
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Team(distributed.get_rank(), distributed.get_world_size(), device)


def refuse_joined_rows(model: DeepModel, team: Team, name: str) -> None:
    """Stop where a part of the batch has another gradient than its rows have in the whole."""
    if team.size == 1:
        return
    if not model.rows_add_up:
        raise ValueError(f"{name} cannot be trained by several processes: {model.why_alone}.")
    drawing = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)
    found = next((layer for layer in model.modules() if isinstance(layer, drawing)), None)
    if found is not None:
        raise ValueError(
            f"the autoencoder has a layer {type(found).__name__}, by which several processes would train "
            "another model than one: leave it out (batch_norm=False), or run it without torchrun."
        )
