"""Places of rows in a plane, for maps: principal components of their columns, or what the user gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import in_rows_of, is_frame, to_array
from whyclust.inputs.reading import is_sparse

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

# Of wider tables the strongest ways are found by a random projection: the whole product takes minutes.
_WIDE = 2_000


def places_in_plane(explanation: Explanation, embedding: Any = None) -> tuple[NDArray, tuple[str, str]]:
    """Return a place in the plane for each row, and what the two axes are called.

    Parameters
    ----------
    explanation : Explanation
    embedding : array or frame of shape (n_rows, 2), "pca" or "umap", optional
        Places that are known already, or how to find them; by default the first two principal components
        of the columns, each divided by its standard deviation; a category is one column a value, which
        together count as much as one number.

    Returns
    -------
    places : ndarray of shape (n_rows, 2)
    names : tuple of str

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> places, names = places_in_plane(wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X))
    >>> places.shape, names
    ((150, 2), ('principal component 1 (73%)', 'principal component 2 (23%)'))
    """
    if embedding is None or (isinstance(embedding, str) and embedding == "pca"):
        return _principal(explanation.data)
    if isinstance(embedding, str):
        return _neighbours(explanation.data, embedding)
    return _given(explanation, embedding)


def _principal(data: Any) -> tuple[NDArray, tuple[str, str]]:
    """Rows along the first two principal components of their columns."""
    if is_sparse(data):
        from sklearn.decomposition import TruncatedSVD

        width = min(2, data.shape[1] - 1) or 1
        places = TruncatedSVD(width, random_state=0).fit_transform(data)
        return _two(places), ("singular component 1", "singular component 2")
    numbers = _standardised(data)
    total = float(np.einsum("ij,ij->", numbers, numbers)) or 1.0
    if min(numbers.shape) > _WIDE:
        from sklearn.utils.extmath import randomized_svd

        ways, lengths, _ = randomized_svd(numbers, 2, random_state=0)
        places, spreads = ways * lengths, lengths**2
    # Of wide tables the Gram matrix of rows is smaller, of long ones the covariance of columns.
    elif numbers.shape[1] <= len(numbers):
        spreads, ways = np.linalg.eigh(numbers.T @ numbers)
        places, spreads = numbers @ ways[:, ::-1][:, :2], spreads[::-1][:2]
    else:
        spreads, ways = np.linalg.eigh(numbers @ numbers.T)
        places, spreads = ways[:, ::-1][:, :2], spreads[::-1][:2]
        places = places * np.sqrt(np.maximum(spreads, 0.0))
    # Signs are free: the largest entry is positive, so that the picture is always the same.
    largest = places[np.abs(places).argmax(axis=0), range(places.shape[1])]
    shares = np.append(spreads, 0.0)[:2] / total
    first, second = (f"principal component {place + 1} ({share:.0%})" for place, share in enumerate(shares))
    return _two(places * np.where(largest < 0, -1.0, 1.0)), (first, second)


def _neighbours(data: Any, name: str) -> tuple[NDArray, tuple[str, str]]:
    """Rows near their neighbours, by UMAP where it is installed."""
    if name != "umap":
        raise ValueError(f"embedding={name!r}, expected 'pca', 'umap' or a place in the plane for each row.")
    try:
        from umap import UMAP
    except ImportError:
        raise ImportError(
            "embedding='umap' needs umap-learn, which is not installed: pip install umap-learn, or leave it "
            "out."
        ) from None
    numbers: Any = data if is_sparse(data) else _standardised(data)
    return UMAP(random_state=0, n_jobs=1).fit_transform(numbers), ("UMAP 1", "UMAP 2")


def _standardised(data: Any) -> NDArray:
    """Columns as numbers of mean 0; each of the user's, numbers or categories, has a variance of 1.

    Were each of hundreds of values a column of its own, rare ones would be all that a map shows.
    """
    if not is_frame(data):
        numbers = np.asarray(to_array(data), dtype=float).reshape(len(data), -1)
        return _of_variance_one(_filled(numbers))
    import pandas as pd

    plain = data.select_dtypes(include=["number", "bool"])
    blocks = [_of_variance_one(_filled(plain.astype(float).to_numpy(dtype=float)))]
    for _, column in data.drop(columns=plain.columns).items():
        values = pd.get_dummies(column.astype(str)).to_numpy(dtype=float)
        values = values - values.mean(axis=0)
        blocks.append(values / (np.sqrt(values.var(axis=0).sum()) or 1.0))
    return np.concatenate(blocks, axis=1)


def _of_variance_one(numbers: NDArray) -> NDArray:
    numbers = numbers - numbers.mean(axis=0)
    return numbers / np.where(numbers.std(axis=0) > 0, numbers.std(axis=0), 1.0)


def _filled(numbers: NDArray) -> NDArray:
    """The mean where values are missing."""
    missing = ~np.isfinite(numbers)
    if not missing.any():
        return numbers
    known = np.where(missing, 0.0, numbers)
    means = known.sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, means, numbers)


def _two(places: NDArray) -> NDArray:
    """Two columns, also where there is only one direction."""
    return np.pad(places, ((0, 0), (0, 2 - places.shape[1])))


def _given(explanation: Explanation, embedding: Any) -> tuple[NDArray, tuple[str, str]]:
    """Places that the user gave, and what their axes are called."""
    if is_frame(embedding) and embedding.shape[1] == 2:
        names = (str(embedding.columns[0]), str(embedding.columns[1]))
        if is_frame(explanation.data):
            columns = [
                in_rows_of(embedding.iloc[:, place], explanation.index, "embedding", "ex") for place in (0, 1)
            ]
            embedding = np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)
    else:
        names = ("dimension 1 of the embedding", "dimension 2")
    places = np.asarray(embedding, dtype=float)
    if places.shape != (len(explanation), 2):
        raise ValueError(
            f"embedding has shape {places.shape}, expected ({len(explanation)}, 2): a place in the plane for "
            "each row."
        )
    return places, names
