"""The point with which a row is compared: x̃ of Table II, where the path of integrated gradients begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._frames import read_frame
from whyclust.baselines.asked import Asked
from whyclust.inputs.reading import plain_tensor

REFERENCES = ("mean", "zero")


def read_reference(asked: Asked, reference: Any) -> NDArray:
    """The reference in encoded columns.

    Parameters
    ----------
    asked : Asked
    reference : {"mean", "zero"}, array of one value per column, or frame of one row
        ``"mean"`` is the background's mean: zero where columns are standardised, as in the paper.
    """
    if isinstance(reference, str):
        if reference == "mean":
            if np.array_equal(asked.background, asked.points) and len(asked.points) == 1:
                raise ValueError(
                    "The background is the row itself, from which it does not differ: pass background= with "
                    "the data it comes from, or reference='zero'."
                )
            return asked.background.mean(axis=0)
        if reference == "zero":
            return np.zeros(asked.points.shape[1])
        raise ValueError(
            f"reference={reference!r} is unknown, expected one of {', '.join(REFERENCES)}, or one value "
            "per column."
        )
    row: Any = _named(reference)
    row = np.asarray(plain_tensor(reference)) if row is None else row
    if row.ndim == 1:
        row = row[None]
    if row.ndim != 2 or len(row) != 1:
        raise ValueError(f"reference has shape {row.shape}, expected one value per column.")
    return asked.encode(row, "reference")[0]


def _named(reference: Any) -> Any:
    """A frame of one row, where the reference names its columns, as a frame or a Series does; else None."""
    # Frames of pandas have an index, too.
    names = None if hasattr(reference, "columns") else getattr(reference, "index", None)
    if not hasattr(names, "is_unique"):
        return read_frame(reference, "reference")
    if isinstance(names, pd.RangeIndex):
        return None  # a Series that was made of a list or an array
    return reference.to_frame().T.infer_objects()
