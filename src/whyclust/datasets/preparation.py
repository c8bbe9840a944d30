"""From a data set as published to the numbers that the papers clustered."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def prepare_table(
    X: pd.DataFrame, *, keep_binary: bool = False, counts: bool = False, normalise_rows: bool = False
) -> pd.DataFrame:
    """Supplement H of NEON: drop binary attributes, impute by the mean, standardise.

    Parameters
    ----------
    X : DataFrame of numbers
        Missing values are NaN.
    keep_binary : bool
        Keep columns of two values. A column of one value tells nothing and is always dropped.
    counts : bool
        Take log(1 + x) first, as is usual for counts that span orders of magnitude.
    normalise_rows : bool
        Bring each row to 0..1 first, its smallest value to 0 and its largest to 1; rows of one value are 0.

    Returns
    -------
    DataFrame of float64, every column with mean 0 and standard deviation 1 (over n, not n − 1).

    Examples
    --------
    >>> import pandas as pd
    >>> from whyclust.datasets.preparation import prepare_table
    >>> prepare_table(pd.DataFrame({"sex": [0, 1, 1, 0], "age": [20, 30, None, 40]}))
            age
    0 -1.414214
    1  0.000000
    2  0.000000
    3  1.414214
    """
    values = X.to_numpy(np.float64)
    missing = np.isnan(values)
    if missing.all(axis=0).any():
        empty = X.columns[missing.all(axis=0)][0]
        raise ValueError(f"column {empty!r} has no value at all, so no mean to impute: drop it first.")
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    binary = ((values == low) | (values == high) | missing).all(axis=0)
    if counts:
        values = np.log1p(values)
    if normalise_rows:
        start = np.nanmin(values, axis=1, keepdims=True)
        width = np.nanmax(values, axis=1, keepdims=True) - start
        values = (values - start) / np.where(width > 0, width, 1.0)
    keep = np.nanmin(values, axis=0) < np.nanmax(values, axis=0)
    if not keep_binary:
        keep &= ~binary
    values, missing = values[:, keep], missing[:, keep]
    values = np.where(missing, np.nanmean(values, axis=0), values)
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    return pd.DataFrame(values, index=X.index, columns=X.columns[keep])


def prepare_images(X: NDArray) -> NDArray:
    """One row of brightness from 0 to 1 per image.

    Bytes are divided by 255; pixels from −1 to 1 (as USPS is distributed) are moved to (x + 1)/2.
    """
    rows = X.reshape(len(X), -1).astype(np.float32)
    return rows / np.float32(255) if X.dtype == np.uint8 else (rows + 1) / 2
