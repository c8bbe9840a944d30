"""Pictures for the report of images: a cluster's mean and some of its rows, each beside its relevance.

They are PNG files inside the page, written by hand: the report needs no drawing library, and no other file.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.explanation import Explanation

# Ends of the colours of relevance, as those of the report's bars: for the cluster, and against it.
_FOR, _AGAINST = np.array([33.0, 102.0, 172.0]), np.array([178.0, 24.0, 43.0])
ROWS_OF_A_KIND = 3


def pictures(explanation: Explanation, cluster: Any) -> list[dict[str, str]]:
    """Images, relevance and captions of a cluster; none where rows are no images."""
    shape = explanation.details.get("image_shape")
    if not shape or explanation.is_factored:
        return []
    members = explanation.clusters == cluster.cluster
    values = np.asarray(explanation.values)
    data = np.asarray(explanation.data, dtype=float)
    chosen = [("mean of the cluster", data[members].mean(axis=0), values[members].mean(axis=0))]
    for told, positions in (("typical", cluster.typical), ("borderline", cluster.borderline)):
        for row in list(positions)[:ROWS_OF_A_KIND]:
            chosen.append((f"{told}: row {explanation.index[row]}", data[row], values[row]))
    low, high = float(data.min()), float(data.max())
    return [
        {
            "caption": caption,
            "image": _png(_gray(row, shape, low, high)),
            "relevance": _png(_heat(own, shape)),
        }
        for caption, row, own in chosen
    ]


def _channels(row: NDArray, shape: Any) -> NDArray:
    """Channels × height × width."""
    return np.reshape(row, (-1, *shape[-2:]))


def _gray(row: NDArray, shape: Any, low: float, high: float) -> NDArray:
    """An image as bytes of red, green and blue; other numbers of channels are averaged."""
    image = (_channels(row, shape) - low) / (high - low if high > low else 1.0)
    if len(image) != 3:
        image = np.repeat(image.mean(axis=0)[None], 3, axis=0)
    return np.moveaxis(255.0 * image, 0, -1)


def _heat(values: NDArray, shape: Any) -> NDArray:
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
