"""Where a model is trained."""

from __future__ import annotations

import os
from typing import Any

import torch


def choose_device(device: Any) -> torch.device:
    """The device asked for; ``"auto"`` is a CUDA card where there is one, else the processor."""
    if isinstance(device, str) and device == "auto":
        # Processes that torchrun starts on one machine take a card each.
        place = f"cuda:{os.environ['LOCAL_RANK']}" if "LOCAL_RANK" in os.environ else "cuda"
        return torch.device(place if torch.cuda.is_available() else "cpu")
    try:
        result = torch.device(device)
        torch.zeros(1, device=result)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError, ValueError):
        raise ValueError(
            f"device={device!r} is unknown or not available here: use 'auto' or 'cpu', or a device that "
            "torch.device accepts and this machine has."
        ) from None
    return result


def seed_torch(seed: int, device: torch.device) -> None:
    """Seed the global generators that modules draw from; only inside ``torch.random.fork_rng``."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed_all(seed)
