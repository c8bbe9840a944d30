"""Images: rows of pixels that have a shape.

They are shown as PNG files inside the page, written by hand: a report needs no drawing library, and no other
file.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from whyclust.inputs.kind import InputKind, input_kind

# Grey, red with green and blue, and these with how opaque a pixel is.
_OF_COLOURS = (1, 3, 4)
# Ends of the colours of relevance, as those of the report's bars: for the cluster, and against it.
_FOR, _AGAINST = np.array([178.0, 24.0, 43.0]), np.array([33.0, 102.0, 172.0])


@input_kind
@dataclass(frozen=True)
class Images(InputKind):
    """Images of one shape: (height, width), (channels, height, width) or (height, width, channels)."""

    shape: tuple[int, ...]

    legend: ClassVar[str] = (
        "Images above, below each the relevance of its pixels: red speaks for the cluster, blue against it."
    )

    @classmethod
    def read(cls, X: Any, called: str) -> tuple[Any, Self] | None:
        """An array with two or three axes for each row."""
        if not isinstance(X, np.ndarray) or X.ndim not in (3, 4) or not X.size:
            return None
        return X.reshape(len(X), -1), cls(X.shape[1:])

    @classmethod
    def made_for(cls, shape: Sequence[int] | None, n_columns: int) -> InputKind:
        """The kind of a model that says the shape of its images, if they make up these columns."""
        sizes = tuple(int(size) for size in shape or ())
        return cls(sizes) if sizes and int(np.prod(sizes)) == n_columns else InputKind()

    def refuse_other(self, found: InputKind, called: str) -> None:
        """Images of another shape have their pixels in another order, even where there are as many."""
        if not isinstance(found, Images):
            return
        if found.shape != self.shape and found.shape != self.shape[self.shape[0] == 1 :]:
            raise ValueError(  # one channel may go unsaid
                f"{called} has images of shape {found.shape}, but the model was made for {self.shape}: bring "
                "the axes into that order (channels, height, width)."
            )

    @property
    def item_shape(self) -> tuple[int, ...]:
        """That of an image."""
        return self.shape

    def shaped(self, values: NDArray) -> NDArray:
        """Relevance of pixels as images."""
        return np.asarray(values).reshape(len(values), *self.shape)

    def facts(self) -> dict[str, object]:
        """Their shape."""
        return {"image_shape": list(self.shape)}

    def show(self, data: Any, values: NDArray, rows: NDArray, caption: str) -> str:
        """An image above its relevance."""
        data = np.asarray(data, dtype=float)
        image = _gray(data[rows].mean(axis=0), self.shape, float(data.min()), float(data.max()))
        heat = _heat(np.asarray(values)[rows].mean(axis=0), self.shape)
        told = escape(caption, quote=True)
        return f'<img src="{_png(image)}" alt="{told}"><img src="{_png(heat)}" alt="relevance of its pixels">'

    def picture(self, row: NDArray, low: float, high: float, caption: str) -> str:
        """The image alone."""
        told = escape(caption, quote=True)
        return f'<img src="{_png(_gray(np.asarray(row, dtype=float), self.shape, low, high))}" alt="{told}">'


def channels_first(image: NDArray) -> NDArray:
    """Channels × height × width, whichever of the usual orders they come in.

    >>> channels_first(np.zeros((32, 24, 3))).shape, channels_first(np.zeros((32, 24))).shape
    ((3, 32, 24), (1, 32, 24))
    """
    if image.ndim == 2:
        return image[None]
    last = image.shape[-1] in _OF_COLOURS and image.shape[0] not in _OF_COLOURS
    return np.moveaxis(image, -1, 0) if last else image


def _channels(row: NDArray, shape: Sequence[int]) -> NDArray:
    return channels_first(np.reshape(row, tuple(shape)))


def _gray(row: NDArray, shape: Sequence[int], low: float, high: float) -> NDArray:
    """An image as bytes of red, green and blue; other numbers of channels are averaged."""
    image = (_channels(row, shape) - low) / (high - low if high > low else 1.0)
    if len(image) != 3:
        image = np.repeat(image.mean(axis=0)[None], 3, axis=0)
    return np.moveaxis(255.0 * image, 0, -1)


def _heat(values: NDArray, shape: Sequence[int]) -> NDArray:
    """Relevance as colours, in units of the largest one of the image; channels are summed."""
    total = _channels(values, shape).sum(axis=0)
    share = (total / (np.abs(total).max() or 1.0))[..., None]
    return 255.0 + np.abs(share) * (np.where(share > 0, _FOR, _AGAINST) - 255.0)


def _png(pixels: NDArray) -> str:
    """A PNG file of height × width × 3 numbers from 0 to 255, as an address that holds it."""
    content = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    height, width = content.shape[:2]
    # Each line begins with the number of its filter, 0 for none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), content.reshape(height, -1)], axis=1)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    file = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)
    return "data:image/png;base64," + base64.b64encode(file).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
