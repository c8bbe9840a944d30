"""A convolutional autoencoder of residual blocks, and its mirror image (section 6.2.3 of IDC)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import nn

from whyclust.deep.networks.autoencoders import ACTIVATIONS, Autoencoder
from whyclust.propagate.torch_modules import Residual


def residual_autoencoder(
    image_shape: tuple[int, int, int], embedding_dim: int, channels: Sequence[int], activation: str
) -> Autoencoder:
    """Residual blocks of stride 2 down to a linear embedding, and mirrored ones back.

    A ResNet with as many stages as there are `channels`, one block each. Rows are flat: channels × height ×
    width, as tables of pixels are.
    """
    n_channels, height, width = image_shape
    sizes = [(height, width)]
    for _ in channels:
        sizes.append((math.ceil(sizes[-1][0] / 2), math.ceil(sizes[-1][1] / 2)))
    all_channels = [n_channels, *channels]
    down: list[nn.Module] = [nn.Unflatten(1, image_shape)]
    for before, after in zip(all_channels, channels, strict=False):
        down += [_smaller(before, after, activation), ACTIVATIONS[activation]()]
    n_flat = all_channels[-1] * sizes[-1][0] * sizes[-1][1]
    down += [nn.Flatten(), nn.Linear(n_flat, embedding_dim)]
    up: list[nn.Module] = [
        nn.Linear(embedding_dim, n_flat),
        nn.Unflatten(1, (all_channels[-1], *sizes[-1])),
        ACTIVATIONS[activation](),
    ]
    for stage in range(len(channels) - 1, -1, -1):
        # 2 · have − 1 pixels come out of a stride of 2; the rest is output padding.
        wanted, have = sizes[stage], sizes[stage + 1]
        padding = (wanted[0] - (2 * have[0] - 1), wanted[1] - (2 * have[1] - 1))
        if stage:
            block = _larger(all_channels[stage + 1], all_channels[stage], padding, activation)
            up += [block, ACTIVATIONS[activation]()]
        else:  # pixels are no activations: nothing bounds or normalises them
            up.append(
                nn.ConvTranspose2d(
                    all_channels[1], n_channels, 3, stride=2, padding=1, output_padding=padding
                )
            )
    up.append(nn.Flatten())
    return Autoencoder(nn.Sequential(*down), nn.Sequential(*up), embedding_dim)


def _smaller(before: int, after: int, activation: str) -> Residual:
    """A block to images of half the size."""
    return Residual(
        nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(after),
        ACTIVATIONS[activation](),
        nn.Conv2d(after, after, 3, padding=1, bias=False),
        nn.BatchNorm2d(after),
        shortcut=nn.Sequential(nn.Conv2d(before, after, 1, stride=2, bias=False), nn.BatchNorm2d(after)),
    )


def _larger(before: int, after: int, padding: tuple[int, int], activation: str) -> Residual:
    """A block to images of twice the size, or a pixel less."""
    return Residual(
        nn.Conv2d(before, before, 3, padding=1, bias=False),
        nn.BatchNorm2d(before),
        ACTIVATIONS[activation](),
        nn.ConvTranspose2d(before, after, 3, stride=2, padding=1, output_padding=padding, bias=False),
        nn.BatchNorm2d(after),
        shortcut=nn.Sequential(
            nn.ConvTranspose2d(before, after, 1, stride=2, output_padding=padding, bias=False),
            nn.BatchNorm2d(after),
        ),
    )
