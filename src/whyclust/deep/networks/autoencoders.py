"""Autoencoders: one builder for tables, one for images, and room for a user's own modules."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

ACTIVATIONS = {
    "leaky_relu": lambda: nn.LeakyReLU(0.2),
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
}


class Autoencoder(nn.Module):
    """An encoder to the embedding and a decoder back.

    Parameters
    ----------
    encoder, decoder : nn.Module
        The decoder's output has the shape of the encoder's input.
    embedding_dim : int
        Size of the encoder's output.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, embedding_dim: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.embedding_dim = embedding_dim

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Embedding and reconstruction."""
        z = self.encoder(x)
        return z, self.decoder(z)


def dense(sizes: Sequence[int], activation: str, *, batch_norm: bool = False) -> nn.Sequential:
    """Linear layers with an activation between them, and a normalisation before it if asked for."""
    layers: list[nn.Module] = []
    for position, (inputs, outputs) in enumerate(pairwise(sizes)):
        if position:
            layers += [nn.BatchNorm1d(inputs)] if batch_norm else []
            layers.append(ACTIVATIONS[activation]())
        layers.append(nn.Linear(inputs, outputs))
    return nn.Sequential(*layers)


#: The papers' hidden layers, whatever the table (section 5.2.1 of CM).
PAPERS = (500, 500, 2000)
# Smallest and largest layers where none are given.
_NARROWEST, _WIDEST = 64, 512
_CHANNELS = (32, 64, 128)


def usual_sizes(n_inputs: int, *, images: bool = False) -> tuple[int, ...]:
    """Hidden layers where none are given: two that grow with the root of the columns; channels for images.

    Held-out rows of tables of 16 to 256 columns are reconstructed nearly as well as by the papers' layers, in
    a fraction of the time (docs/measurements.md).

    >>> usual_sizes(16), usual_sizes(256), usual_sizes(784)
    ((64, 64), (256, 256), (448, 448))
    """
    if images:
        return _CHANNELS
    size = 16 * math.ceil(math.sqrt(n_inputs))
    return (min(max(size, _NARROWEST), _WIDEST),) * 2


def dense_autoencoder(
    n_inputs: int, embedding_dim: int, hidden: Sequence[int], activation: str, *, batch_norm: bool = False
) -> Autoencoder:
    """d – hidden – p, and its mirror image (section 5.2.1 of CM)."""
    sizes = [n_inputs, *hidden, embedding_dim]
    there, back = (dense(way, activation, batch_norm=batch_norm) for way in (sizes, sizes[::-1]))
    return Autoencoder(there, back, embedding_dim)


def convolutional_autoencoder(
    image_shape: tuple[int, int, int], embedding_dim: int, channels: Sequence[int], activation: str
) -> Autoencoder:
    """Convolutions of stride 2 down to a linear embedding, and transposed ones back.

    Rows are flat: channels × height × width, as tables of pixels are.
    """
    n_channels, height, width = image_shape
    down: list[nn.Module] = [nn.Unflatten(1, image_shape)]
    sizes = [(height, width)]
    before = n_channels
    for after in channels:
        down += [nn.Conv2d(before, after, 3, stride=2, padding=1), ACTIVATIONS[activation]()]
        sizes.append((math.ceil(sizes[-1][0] / 2), math.ceil(sizes[-1][1] / 2)))
        before = after
    n_flat = before * sizes[-1][0] * sizes[-1][1]
    down += [nn.Flatten(), nn.Linear(n_flat, embedding_dim)]
    up: list[nn.Module] = [nn.Linear(embedding_dim, n_flat), nn.Unflatten(1, (before, *sizes[-1]))]
    for position in range(len(channels) - 1, -1, -1):
        after = channels[position - 1] if position else n_channels
        wanted, have = sizes[position], sizes[position + 1]
        # 2 · have − 1 pixels come out of a stride of 2; the rest is output padding.
        padding = tuple(w - (2 * h - 1) for w, h in zip(wanted, have, strict=True))
        up += [
            ACTIVATIONS[activation](),
            nn.ConvTranspose2d(before, after, 3, stride=2, padding=1, output_padding=padding),
        ]
        before = after
    up.append(nn.Flatten())
    return Autoencoder(nn.Sequential(*down), nn.Sequential(*up), embedding_dim)


def given_autoencoder(
    encoder: nn.Module,
    decoder: nn.Module,
    n_inputs: int,
    embedding_dim: int | None,
    image_shape: Sequence[int] | None = None,
) -> Autoencoder:
    """Somebody's modules, copied, and tried with two rows; with two images where they do not take rows."""
    copied = copy.deepcopy((encoder, decoder))  # together, so that weights they share stay shared
    if not any(True for module in copied for _ in module.parameters()):
        raise ValueError(
            "autoencoder has no weights to be trained: give modules with layers such as torch.nn.Linear."
        )
    for module in copied:
        module.float().cpu().eval()
        for layer in module.modules():
            if getattr(layer, "inplace", False):
                layer.inplace = False  # a first layer would overwrite the data
    try:
        z, x = _tried(*copied, n_inputs)
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError) as error:
        told = " ".join(str(error).split())
        if image_shape is not None:
            shape = tuple(int(size) for size in image_shape)
            of_images = nn.Sequential(nn.Unflatten(1, shape), copied[0])
            to_rows = nn.Sequential(copied[1], nn.Flatten())
            return given_autoencoder(of_images, to_rows, n_inputs, embedding_dim)
        raise ValueError(
            f"The encoder or the decoder does not fit a table of {n_inputs} columns ({told}): the encoder "
            "takes rows of X and the decoder what the encoder returns."
        ) from None
    wanted = "embedding_dim" if embedding_dim is None else embedding_dim
    if z.ndim != 2 or len(z) != 2 or (embedding_dim is not None and z.shape[1] != embedding_dim):
        raise ValueError(
            f"The encoder returns shape {tuple(z.shape)} for two rows, expected (2, {wanted}): make its last "
            "layer a Linear of that size, or set embedding_dim."
        )
    if x.shape != (2, n_inputs):
        raise ValueError(
            f"The decoder returns shape {tuple(x.shape)} for two rows, expected (2, {n_inputs}), the "
            "shape of X."
        )
    return Autoencoder(*copied, z.shape[1])


def _tried(encoder: nn.Module, decoder: nn.Module, n_inputs: int) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        z = encoder(torch.zeros(2, n_inputs))
        return z, decoder(z)


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Glorot's uniform weights and zero biases, from a generator of their own."""
    for layer in module.modules():
        if isinstance(layer, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.xavier_uniform_(layer.weight, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


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
