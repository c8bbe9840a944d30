"""Numbers as typed arrays in the page: compressed and written in base64, never as lists of digits."""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

# What browsers have typed arrays for.
TYPES = ("uint8", "int8", "uint16", "int32", "float32", "float64")


@dataclass(frozen=True)
class Arrays:
    """Named arrays of one page.

    Examples
    --------
    >>> arrays = Arrays()
    >>> arrays.add("evidence", [0.5, 2.0], "float32")
    >>> str(arrays.elements())[:64]
    '<script type="text/plain" id="array-evidence" data-type="float32'
    """

    kept: dict[str, NDArray] = field(default_factory=dict)

    def add(self, name: str, values: Any, kind: str) -> None:
        """Keep an array under a name, as one of the types that browsers have."""
        if kind not in TYPES:
            raise TypeError(f"{kind} is no type that the page has, expected one of {', '.join(TYPES)}.")
        if name in self.kept:
            raise ValueError(f"The page has an array called {name} already.")
        self.kept[name] = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))

    def elements(self) -> Markup:
        """The arrays as elements of the page; browsers run nothing of this type."""
        return Markup("\n").join(
            Markup('<script type="text/plain" id="array-{}" data-type="{}">{}</script>').format(
                name, values.dtype.name, _written(values)
            )
            for name, values in self.kept.items()
        )


def _written(values: NDArray) -> str:
    # The time of writing is left out, so that the same rows give the same page.
    return base64.b64encode(gzip.compress(values.tobytes(), compresslevel=6, mtime=0)).decode("ascii")
