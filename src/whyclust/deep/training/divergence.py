"""Training that has run away, as its losses tell, and weights that are no numbers."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

# Training has diverged where rows are restored worse than at first, and so many times worse than at best,
# without a gain of the whole loss: after pretraining the reconstruction may be what the other terms cost.
_WORSE = 10.0


def diverged(history: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    """A sentence for each phase that ended far above where it had been."""
    for phase, terms in history.items():
        errors = terms.get("reconstruction", [])
        first, last = (sum(values[end] for values in terms.values() if values) for end in (0, -1))
        if errors and errors[-1] > max(errors[0], _WORSE * min(errors)) and last > first:
            yield (
                f"Training has diverged: the reconstruction of {phase} was {min(errors):.3g} at best and is "
                f"{errors[-1]:.3g} in its last epoch. Lower learning_rate, or standardise the columns."
            )


def refuse_broken(model: nn.Module) -> None:
    """Raise if a weight is no number, as after a change by hand; a mask of a network may be infinite."""
    for name, tensor in model.named_parameters():
        if not bool(torch.isfinite(tensor).all()):
            raise ValueError(
                f"The network holds NaN or infinite numbers (in {name}), expected finite ones: fit the model "
                "again, or load it from a file."
            )
