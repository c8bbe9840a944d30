"""Checkpoints: a fit that was killed goes on where it stood, with the same result.

A checkpoint is an .npz of plain arrays and a line of JSON: nothing in it can run code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from whyclust.saving.archives import read_arrays
from whyclust.saving.atomic import write_whole
from whyclust.saving.digest import seal_archive

_META = "__meta__"


def write_checkpoint(path: Path, meta: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Write in one step: a kill leaves the old file or the new one."""
    members: dict[str, Any] = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    members[_META] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)

    def fill(stream: Any) -> None:
        np.savez(stream, **members)
        seal_archive(stream)

    write_whole(path, fill)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Read what :func:`write_checkpoint` wrote, or say what is wrong with the file."""
    try:
        arrays = read_arrays(path)
        meta = json.loads(arrays.pop(_META).tobytes().decode())
        if not isinstance(meta, dict):
            raise TypeError("not a description")
        return meta, {name: torch.from_numpy(array) for name, array in arrays.items()}
    except Exception as error:
        # Whatever a damaged file raises; numpy says of some that pickle would open them, which is no advice.
        raise damaged(path, type(error).__name__) from None


def damaged(path: Path, why: str) -> ValueError:
    """The error of a file from which nothing can go on."""
    return ValueError(
        f"checkpoint {str(path)!r} is damaged or no checkpoint ({why}): name another file, or delete it to "
        "start anew."
    )


def optimizer_tensors(optimizers: list[torch.optim.Optimizer]) -> dict[str, torch.Tensor]:
    """The states of optimisers as named tensors."""
    return {
        f"optimizer.{position}.{number}.{name}": torch.as_tensor(value)
        for position, optimizer in enumerate(optimizers)
        for number, entries in optimizer.state_dict()["state"].items()
        for name, value in entries.items()
    }


def restore_optimizers(optimizers: list[torch.optim.Optimizer], tensors: dict[str, torch.Tensor]) -> None:
    """Put named tensors back into optimisers of the same parameters."""
    states: list[dict[int, dict[str, torch.Tensor]]] = [{} for _ in optimizers]
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, *position, number, entry = name.split(".")  # older files know only one optimiser
            state = states[int(position[0]) if position else 0]
            state.setdefault(int(number), {})[entry] = tensor
    for optimizer, state in zip(optimizers, states, strict=True):
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
