"""Checks of settings that all deep clusterings share: one sentence says what is wrong."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from whyclust.deep.networks import ACTIVATIONS

# The smallest value of each setting that is a whole number.
_WHOLE = {
    "n_clusters": 1,
    "embedding_dim": 1,
    "epochs": 0,
    "pretrain_epochs": 0,
    "batch_size": 1,
    "patience": 1,
    "n_init": 1,
    "checkpoint_every": 1,
    "update_interval": 1,
    "kmeans_starts": 1,
}
_MAY_BE_NONE = {"embedding_dim", "patience", "update_interval"}


def whole_number(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number, or too small."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}={value!r}, expected a whole number, {least} or more.")


def positive(name: str, value: Any, *, zero: bool = False) -> None:
    """Refuse what is not a positive number, or zero where that makes sense."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(
            f"{name}={value!r}, expected a number {'of zero or more' if zero else 'above zero'}."
        )


def check_settings(settings: dict[str, Any]) -> None:
    """Check the settings that an estimator has, by their names."""
    for name, least in _WHOLE.items():
        value = settings.get(name)
        if name in settings and not (value is None and name in _MAY_BE_NONE):
            whole_number(name, value, least)
    if "learning_rate" in settings:
        positive("learning_rate", settings["learning_rate"])
    if "activation" in settings and settings["activation"] not in list(ACTIVATIONS):
        raise ValueError(
            f"activation={settings['activation']!r} is unknown, expected one of {', '.join(ACTIVATIONS)}."
        )
    if not isinstance(settings.get("checkpoint"), (str, os.PathLike, type(None))):
        raise TypeError(f"checkpoint={settings['checkpoint']!r}, expected the path of a file, or None.")
    if settings.get("hidden") is not None:
        _check_hidden(settings["hidden"])


def _check_hidden(hidden: Any) -> None:
    sizes = list(hidden) if np.iterable(hidden) and not isinstance(hidden, str) else [None]
    if not all(isinstance(size, (int, np.integer)) and size >= 1 for size in sizes):
        raise ValueError(
            f"hidden={hidden!r}, expected the sizes of the hidden layers, such as (500, 500, 2000)."
        )


def check_image_shape(image_shape: Any, n_features: int) -> tuple[int, int, int]:
    """Channels, height and width, if they make up the columns."""
    sizes = list(image_shape) if np.iterable(image_shape) else []
    whole = len(sizes) == 3 and all(isinstance(size, (int, np.integer)) and size >= 1 for size in sizes)
    if not whole or int(np.prod(sizes)) != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} does not make up the {n_features} columns of X: expected three "
            "numbers, channels, height and width."
        )
    return int(sizes[0]), int(sizes[1]), int(sizes[2])
