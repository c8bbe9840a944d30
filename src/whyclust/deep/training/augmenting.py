"""Augmentation: rows changed at random in ways that should not change their cluster.

An augmentation is a function of a batch of rows, or of rows and a generator of random numbers. Those here
draw from the generator alone, so that a fit that was killed sees the same changes when it goes on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from whyclust._checks import positive

Augmentation = Callable[[Tensor, torch.Generator], Tensor]


def _uniform(n: int, most: float, generator: torch.Generator, like: Tensor) -> Tensor:
    """n numbers between −most and most."""
    return ((torch.rand(n, generator=generator) * 2.0 - 1.0) * most).to(like)


@dataclass(frozen=True)
class TurnAndShift:
    """Turn each image by a random angle and move it by a random part of its size.

    What comes in from outside repeats the edge.

    Parameters
    ----------
    image_shape : (channels, height, width)
        Of the images whose pixels are the columns of X.
    degrees : float
        Largest angle, either way.
    shift : float
        Largest part of the height and of the width, either way.

    Examples
    --------
    >>> import torch
    >>> from whyclust.deep import TurnAndShift
    >>> view = TurnAndShift((1, 8, 8))
    >>> view(torch.rand(5, 64), torch.Generator().manual_seed(0)).shape
    torch.Size([5, 64])
    """

    image_shape: tuple[int, int, int]
    degrees: float = 16.0
    shift: float = 0.1

    def __post_init__(self) -> None:
        sizes = list(self.image_shape) if isinstance(self.image_shape, (tuple, list)) else []
        if len(sizes) != 3 or not all(isinstance(size, Integral) and size >= 1 for size in sizes):
            raise ValueError(
                f"image_shape={self.image_shape!r}, expected three numbers, channels, height and width."
            )
        object.__setattr__(self, "image_shape", tuple(int(size) for size in sizes))
        positive("degrees", self.degrees, zero=True)
        positive("shift", self.shift, zero=True)

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Change rows of pixels."""
        channels, height, width = self.image_shape
        if x.shape[1:].numel() != channels * height * width:
            raise ValueError(
                f"image_shape={tuple(self.image_shape)} of the augmentation does not make up the "
                f"{x.shape[1:].numel()} columns of X: expected three numbers, channels, height and width."
            )
        angle = _uniform(len(x), self.degrees, generator, x).deg2rad()
        # The grid reaches from −1 to 1 on both sides, so a part of the size is twice as much.
        across, down = (_uniform(len(x), 2.0 * self.shift, generator, x) for _ in range(2))
        cosine, sine = angle.cos(), angle.sin()
        ratio = height / width
        first = torch.stack([cosine, -sine * ratio, across], dim=1)
        second = torch.stack([sine / ratio, cosine, down], dim=1)
        images = x.reshape(len(x), channels, height, width)
        grid = affine_grid(torch.stack([first, second], dim=1), list(images.shape), align_corners=False)
        moved = grid_sample(images, grid, padding_mode="border", align_corners=False)
        return moved.reshape(x.shape)


@dataclass(frozen=True)
class MaskAndJitter:
    """Replace some values of each row by those of other rows, and move the rest a little.

    For tables, and whyclust's own: the paper augments images only. A replaced value comes from the same
    column of any row of the batch, so it is one that the column takes; one time in as many as there are rows
    it is the row itself.

    Parameters
    ----------
    share : float
        Part of the values that is replaced.
    scale : float
        Standard deviation of the noise, in those of the columns.
    """

    share: float = 0.1
    scale: float = 0.1

    def __post_init__(self) -> None:
        positive("share", self.share, zero=True)
        positive("scale", self.scale, zero=True)
        if self.share >= 1:
            raise ValueError(f"share={self.share!r}, expected a part of the values, below 1.")

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Change rows of a table."""
        others = torch.randint(len(x), x.shape, generator=generator).to(x.device)
        replaced = (torch.rand(x.shape, generator=generator) < self.share).to(x.device)
        noise = torch.randn(x.shape, generator=generator).to(x)
        moved = x + self.scale * x.std(dim=0, correction=0) * noise
        return torch.where(replaced, x.gather(0, others), moved)


def augmentation(name: str, value: Any) -> None:
    """None, or a function of rows: how it is declared."""
    if value is not None and (isinstance(value, type) or not callable(value)):
        found = f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
        raise TypeError(
            f"{name} is {found}, expected None, a function f(x) of a batch of rows, "
            "TurnAndShift(image_shape) or MaskAndJitter()."
        )


def checked(given: Callable[..., Any]) -> Augmentation:
    """A function of rows, or of rows and a generator, whose results are looked at."""
    drawn = _drawing(given)

    def augment(x: Tensor, generator: torch.Generator) -> Tensor:
        # A copy: what works in place would change the rows themselves.
        view = drawn(x.clone(), generator)
        found = tuple(view.shape) if isinstance(view, Tensor) else f"a {type(view).__name__}"
        if found != tuple(x.shape):
            raise ValueError(
                f"augment returns {found if isinstance(found, str) else f'shape {found}'} for a batch of "
                f"shape {tuple(x.shape)}, expected a tensor of the same shape."
            )
        kind = _unusual(view)
        if kind:
            raise ValueError(f"augment returns {kind}, expected a tensor of real numbers, such as X has.")
        view = view.to(x)
        if not bool(torch.isfinite(view).all()):
            raise ValueError(
                "augment returns numbers that are not finite (NaN or infinity), expected rows such as those "
                "of X: call it with some of them, torch.from_numpy(X[:5]), to see which."
            )
        return view

    return augment


def _unusual(view: Tensor) -> str:
    """What a tensor is, if it does not hold a real number at every place."""
    if view.layout != torch.strided:
        return "a sparse tensor"
    if view.device.type == "meta":
        return "a tensor of the device 'meta', which holds no numbers"
    return "complex numbers" if view.is_complex() else ""


def _drawing(given: Callable[..., Any]) -> Augmentation:
    """The function, called with the generator where it wants one."""
    try:
        parameters = list(inspect.signature(given).parameters.values())
    except (TypeError, ValueError):  # some functions of C have no signature
        return lambda x, generator: given(x)
    empty = inspect.Parameter.empty
    positional = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    taken = [one for one in parameters if one.kind in positional]
    named = [one for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    by_name = any(one.name == "generator" for one in named)
    wanted = [one.name for one in named if one.default is empty and one.name != "generator"]
    wanted += [one.name for one in taken[1 if by_name else 2 :] if one.default is empty]
    if wanted:
        raise TypeError(
            f"augment wants {', '.join(wanted)} besides the rows, expected f(x) or f(x, generator): "
            "functools.partial gives a function the rest of what it wants."
        )
    if not taken and not any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters):
        raise TypeError("augment takes no rows, expected f(x) or f(x, generator).")
    if by_name:
        return lambda x, generator: given(x, generator=generator)
    if any(one.default is empty or one.name == "generator" for one in taken[1:]):
        return given
    return lambda x, generator: given(x)
