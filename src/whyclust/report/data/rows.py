"""The rows that the page holds: their place on the map, their values and their relevance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._frames import column_values, is_frame
from whyclust.explaining.plane import places_in_plane
from whyclust.inputs.images import channels_first
from whyclust.inputs.reading import is_sparse

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation
from whyclust.report.data.arrays import Arrays

# Points on the map; more are drawn slowly and tell nothing more.
MOST_ROWS = 100_000
# Numbers of relevance in the page: about ten megabytes.
MOST_NUMBERS = 2_500_000
# With more columns than this a row keeps its strongest ones only.
WIDE, STRONGEST = 60, 30
# Columns of a wide table that the page's own table shows: the clusters' strongest.
MOST_SHOWN = 60
# A category of more values is shown as its most frequent ones.
MOST_CATEGORIES = 1_000
# Rows farther out than this times what 98% of the rows span are drawn at the map's edge.
FAR = 0.5
# Letters of all texts that the page holds, and the fewest and the most of one.
MOST_LETTERS, LETTERS = 2_000_000, (100, 1200)
# The same of a text beside a row.
LETTERS_BESIDE = (20, 200)
# Tables of more numbers are held in single precision.
LARGE = 500_000
_PIXELS = 64 * 64


def chosen_rows(explanation: Explanation, kept: list[int]) -> NDArray:
    """Positions of the rows that the page holds: all, or a sample that has the rows to be named.

    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> len(chosen_rows(wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X), []))
    150
    """
    n_rows, n_columns = explanation.shape
    width = n_columns if _has_pixels(explanation) else min(n_columns, WIDE)
    most = max(min(MOST_ROWS, MOST_NUMBERS // max(width, 1)), len(kept))
    if n_rows <= most:
        return np.arange(n_rows)
    drawn = np.random.default_rng(0).permutation(n_rows)
    # Rows that the page names come first, then others until it is full.
    named = np.unique(np.asarray(kept, dtype=np.intp))
    return np.sort(np.concatenate([named, drawn[~np.isin(drawn, named)][: most - len(named)]]))


def row_names(explanation: Explanation) -> dict[str, Any]:
    """What rows are called: their labels, or the number at which counting begins."""
    index = explanation.index
    numbers = np.issubdtype(np.asarray(index).dtype, np.integer)
    if numbers and len(index) and (np.asarray(index) == np.arange(len(index)) + index[0]).all():
        return {"from": int(index[0])}
    return {"names": [str(one) for one in index]}


def texts_beside(beside: Any, rows: NDArray, n_rows: int) -> list[dict[str, Any]]:
    """Texts that are shown beside the rows that the page holds, column by column.

    >>> texts_beside(pd.DataFrame({"name": ["Ann", None, "Bob"]}), np.array([1, 2]), 3)
    [{'name': 'name', 'values': ['', 'Bob']}]
    >>> texts_beside(pd.DataFrame({"day": pd.to_datetime(["2024-05-01", None])}), np.array([0, 1]), 2)
    [{'name': 'day', 'values': ['2024-05-01', '']}]
    """
    if beside is None:
        return []
    if not is_frame(beside) or len(beside) != n_rows:
        found = f"{len(beside)} rows" if is_frame(beside) else f"a {type(beside).__name__}"
        raise ValueError(f"beside is {found}, expected a data frame of {n_rows} rows: a line for each row.")
    most = int(np.clip(MOST_LETTERS // max(len(rows) * beside.shape[1], 1), *LETTERS_BESIDE))
    told = []
    for place, name in enumerate(beside.columns):
        column = beside.iloc[:, place].iloc[rows]
        if (
            pd.api.types.is_datetime64_any_dtype(column)
            and (column.dropna() == column.dropna().dt.normalize()).all()
        ):
            column = column.dt.date  # days alone have no midnight
        texts = ["" if missing else str(one) for one, missing in zip(column, column.isna(), strict=True)]
        told.append(
            {
                "name": str(name),
                "values": [one if len(one) <= most else f"{one[: most - 2]} …" for one in texts],
            }
        )
    return told


def shown_columns(explanation: Explanation, strongest: list[int]) -> list[int]:
    """Columns whose values the page holds for every row: all, or the clusters' strongest of wide tables."""
    if explanation.shape[1] <= WIDE:
        return list(range(explanation.shape[1]))
    return sorted(strongest[:MOST_SHOWN])


def add_rows(
    explanation: Explanation, codes: dict[Any, int], columns: list[int], arrays: Arrays, embedding: Any
) -> dict[str, Any]:
    """Add the arrays of all rows of an explanation, and return what is said of them.

    Parameters
    ----------
    explanation : Explanation
        Of the rows that the page holds.
    codes : dict
        The place of each cluster in the page's list.
    columns : list of int
        Those of `shown_columns`.
    arrays : Arrays
    embedding : array of shape (n_rows, 2), optional
    """
    maps = [_add_map(explanation, embedding, arrays)]
    if not _is_principal(embedding):  # which is there to compare with
        maps.append(_add_map(explanation, None, arrays, "-1"))
    for name, clusters in (
        ("cluster", explanation.labels),
        ("explained-cluster", explanation.clusters),
        ("competitor", explanation.competitors),
    ):
        arrays.add(name, [codes[one] for one in np.asarray(clusters).tolist()], "uint16")
    for name in ("evidence", "base_values", "explained"):
        arrays.add(name.replace("_values", ""), getattr(explanation, name), "float64")
    told: dict[str, Any] = {"maps": maps, "names": row_names(explanation)}
    told["columns"] = [_add_column(explanation, column, arrays) for column in columns]
    told["relevance"] = _add_relevance(explanation, arrays)
    if _has_pixels(explanation):
        told["pictures"] = _add_pictures(explanation, arrays)
    texts = getattr(explanation.kind, "texts", None)
    if texts is not None:
        most = int(np.clip(MOST_LETTERS // max(len(texts), 1), *LETTERS))
        told["texts"] = [text if len(text) <= most else f"{text[: most - 2]} …" for text in texts]
    return told


def _is_principal(embedding: Any) -> bool:
    return embedding is None or (isinstance(embedding, str) and embedding == "pca")


def _add_map(explanation: Explanation, embedding: Any, arrays: Arrays, ending: str = "") -> dict[str, Any]:
    """Add the places of rows on one map, and return what it is called."""
    places, axes = places_in_plane(explanation, embedding)
    beyond = 0
    if embedding is None or isinstance(embedding, str):  # places that the user gave stay where they are
        places, beyond = _within(places)
    for name, values in zip("xy", places.T, strict=True):
        low, high = float(values.min()), float(values.max())
        arrays.add(f"{name}{ending}", np.round((values - low) / ((high - low) or 1.0) * 65535), "uint16")
    if _is_principal(embedding):
        kind = "principal components"
    else:
        kind = "UMAP" if isinstance(embedding, str) else "places given"
    return {"name": kind, "axes": axes, "aspect": _aspect(places), "beyond": beyond}


def _within(places: NDArray) -> tuple[NDArray, int]:
    """Places, those far outside of all others drawn at the edge, and how many these are.

    One row a hundred times as far away as all others would leave them a single point on the map.
    """
    low, high = np.quantile(places, [0.01, 0.99], axis=0)
    reach = FAR * (high - low)
    kept = np.clip(places, low - reach, high + reach)
    return kept, int((kept != places).any(axis=1).sum())


def _aspect(places: NDArray) -> float:
    """Width of the map by its height: distances along both axes are of one kind."""
    spans = np.ptp(places, axis=0)
    return float(np.clip(spans[0] / spans[1], 0.2, 5.0)) if (spans > 0).all() else 1.0


def _add_column(explanation: Explanation, column: int, arrays: Arrays) -> dict[str, Any]:
    name = f"column-{column}"
    values = column_values(explanation.data, column)
    told: dict[str, Any] = {"column": column, "name": explanation.feature_names[column]}
    numbers = numbers_of(values)
    if numbers is not None:
        # Numbers near the largest have no single form; seven digits of others are enough for large tables.
        with np.errstate(over="ignore"):
            single = numbers.astype(np.float32)
        exact = bool(((single == numbers) | np.isnan(numbers)).all())
        large = explanation.shape[0] * explanation.shape[1] > LARGE and bool(
            (np.isfinite(single) | ~np.isfinite(numbers)).all()
        )
        arrays.add(name, numbers, "float32" if exact or large else "float64")
        return {**told, "kind": "number"}
    texts = pd.Series(values, dtype=object).map(lambda one: None if pd.isna(one) else str(one))
    found = pd.Categorical(texts, categories=texts.value_counts().index)
    arrays.add(name, np.minimum(found.codes.astype(np.int32), MOST_CATEGORIES), "int32")
    categories = [str(one) for one in found.categories[:MOST_CATEGORIES]]
    if len(found.categories) > MOST_CATEGORIES:
        categories.append("another value")
    return {**told, "kind": "category", "categories": categories}


def numbers_of(values: NDArray) -> NDArray | None:
    """A column as numbers with NaN for gaps; None for categories, flags among them."""
    if values.dtype.kind in "iuf":
        return values.astype(float)
    if values.dtype.kind != "O":
        return None
    if any(isinstance(one, (bool, np.bool_, str)) for one in values):
        return None
    try:
        return np.asarray(pd.to_numeric(pd.Series(values)), dtype=float)
    except (TypeError, ValueError):
        return None


def _add_relevance(explanation: Explanation, arrays: Arrays) -> dict[str, Any]:
    """All of it, or of wide tables each row's strongest columns with the user's values of them."""
    if explanation.shape[1] <= WIDE:
        arrays.add("relevance", np.asarray(explanation.shown[:, :]), "float32")
        return {"kind": "all"}
    columns, values = explanation.strongest(STRONGEST)
    arrays.add("top-columns", columns, "int32")
    arrays.add("top-values", values, "float32")
    own = [_taken(explanation, row, columns[row]) for row in range(len(explanation))]
    return {"kind": "strongest", "width": int(columns.shape[1]), **_own_values(own, arrays)}


def _taken(explanation: Explanation, row: int, columns: NDArray) -> list[Any]:
    data = explanation.data
    if is_sparse(data):
        return np.asarray(data[[row]].toarray())[0, columns].tolist()
    return (data.iloc[row, columns] if hasattr(data, "iloc") else data[row, columns]).tolist()


def _own_values(own: list[list[Any]], arrays: Arrays) -> dict[str, Any]:
    """The user's values of each row's strongest columns: numbers, or text where some are not."""
    try:
        arrays.add("top-data", np.asarray(own, dtype=float), "float32")
    except (TypeError, ValueError):
        return {"texts": [[str(one) for one in row] for row in own]}
    return {}


def _has_pixels(explanation: Explanation) -> bool:
    shape = _picture_shape(explanation)
    return shape[0] == 1 and int(np.prod(shape)) <= _PIXELS and not explanation.is_factored


def _picture_shape(explanation: Explanation) -> tuple[int, ...]:
    """Channels, height and width; zeros of what are no images."""
    shape = explanation.kind.item_shape
    return channels_first(np.empty(shape)).shape if len(shape) in (2, 3) else (0, 0, 0)


def _add_pictures(explanation: Explanation, arrays: Arrays) -> dict[str, Any]:
    """Grey images and the relevance of their pixels, each in 256 steps of its own range."""
    pixels = np.asarray(explanation.data, dtype=float).reshape(len(explanation), -1)
    low, high = float(np.nanmin(pixels)), float(np.nanmax(pixels))
    arrays.add("pixels", np.round(255 * (pixels - low) / ((high - low) or 1.0)), "uint8")
    values = np.asarray(explanation.values)
    largest = np.abs(values).max(axis=1, keepdims=True)
    arrays.add("heat", np.round(127 * values / np.where(largest > 0, largest, 1.0)), "int8")
    _, height, width = _picture_shape(explanation)
    return {"height": int(height), "width": int(width)}
