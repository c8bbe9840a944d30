"""How selectors that learn are trained: by the loop of the deep clusterings, from a seed of their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whyclust.deep.training.devices import choose_device, seed_torch
from whyclust.deep.training.loop import train
from whyclust.deep.training.phases import DeepModel


def trained(
    make: Callable[[torch.Generator], DeepModel], X: NDArray, seed: int, device: Any
) -> tuple[DeepModel, dict[str, dict[str, list[float]]]]:
    """Make a model and run its phases on a table, in single precision.

    Returns
    -------
    model : DeepModel
        In evaluation mode.
    history : dict
        ``history[phase][term]`` lists a term of the loss, epoch by epoch.
    """
    place = choose_device(device)
    data = torch.from_numpy(np.array(X, dtype=np.float32)).to(place)
    # Modules draw from torch's global generators when they are made; those are as before afterwards.
    cards = list(range(torch.cuda.device_count())) if place.type == "cuda" else []
    with torch.random.fork_rng(devices=cards):
        seed_torch(seed, place)
        generator = torch.Generator().manual_seed(seed)
        model = make(generator).to(place)
        progress = train(model, data, generator)
    if progress.interrupted:
        warnings.warn(f"{progress.interrupted}; the fit ends with it.", UserWarning, stacklevel=2)
    return model, progress.history
