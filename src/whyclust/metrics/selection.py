"""Are the right features selected, where the right ones are known?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.metrics.reading import explanation_in, read_relevance, top_mask


@dataclass(frozen=True, eq=False)
class SelectionScores:
    """How the features selected for each row meet the true ones.

    Attributes
    ----------
    hits : ndarray of shape (n_rows,)
        True features among those selected.
    n_selected, n_true : ndarray of shape (n_rows,)
    """

    hits: NDArray
    n_selected: NDArray
    n_true: NDArray

    @property
    def precision_per_row(self) -> NDArray:
        """Share of the selected features that are true; 0 where none is selected."""
        return self.hits / np.maximum(self.n_selected, 1)

    @property
    def recall_per_row(self) -> NDArray:
        """Share of the true features that are selected."""
        return self.hits / self.n_true

    @property
    def f1_per_row(self) -> NDArray:
        """Harmonic mean of precision and recall."""
        return 2 * self.hits / (self.n_selected + self.n_true)

    @property
    def precision(self) -> float:
        """Mean precision over rows."""
        return float(self.precision_per_row.mean())

    @property
    def recall(self) -> float:
        """Mean recall over rows."""
        return float(self.recall_per_row.mean())

    @property
    def f1(self) -> float:
        """Mean F1 over rows."""
        return float(self.f1_per_row.mean())

    @property
    def pooled_f1(self) -> float:
        """F1 over the features of all rows together, in which rows with many features weigh more."""
        return float(2 * self.hits.sum() / (self.n_selected.sum() + self.n_true.sum()))

    def to_pandas(self) -> pd.DataFrame:
        """Return one line per row."""
        return pd.DataFrame(
            {
                "selected": self.n_selected,
                "true": self.n_true,
                "hits": self.hits,
                "precision": self.precision_per_row,
                "recall": self.recall_per_row,
                "f1": self.f1_per_row,
            }
        )

    def __repr__(self) -> str:
        rows = "one set" if len(self.hits) == 1 else f"mean over {len(self.hits)} rows"
        return (
            f"<SelectionScores: precision {self.precision:.3f}, recall {self.recall:.3f}, F1 {self.f1:.3f} "
            f"({rows})>"
        )


def selection_scores(
    selected: Any, truth: Any, *, n_features: int | None = None, top: int | None = None
) -> SelectionScores:
    """Precision, recall and F1 of selected features against the true ones.

    Parameters
    ----------
    selected : features, one set or one for each row; or an Explanation
        Booleans are a mask; whole numbers are positions, counted from 0, and need `n_features`
        unless a mask is beside them. A list of lists, or a mask of two dimensions, has one set for
        each row. Of an explanation the `top` features of each row are taken, by |relevance|, and
        those of relevance 0 never.
    truth : features, one set for all rows, or one for each
        As above. With an explanation also the features' names.
    n_features : int, optional
        How many features there are.
    top : int, optional
        For an explanation: how many features of each row are selected. By default all that are not
        zero.

    Returns
    -------
    SelectionScores

    Examples
    --------
    >>> selection_scores([0, 1, 4], [0, 1, 2, 3], n_features=10)
    <SelectionScores: precision 0.667, recall 0.500, F1 0.571 (one set)>
    >>> selection_scores([[0, 1], [2]], [0, 1], n_features=3).f1_per_row
    array([1., 0.])
    """
    explained = explanation_in(selected)
    if explained is not None:
        width = explained.shape[1]
        if n_features is not None and n_features != width:
            raise ValueError(f"n_features={n_features}, but the explanation has {width} features.")
        chosen = top_mask(np.abs(read_relevance(explained, "selected")), top)
        true = _mask(truth, width, "truth", explained.feature_names)
    else:
        if top is not None:
            raise ValueError(
                f"top={top!r} is for explanations, but sets of features were given: leave it out."
            )
        width = _width(selected, truth, n_features)
        chosen, true = _mask(selected, width, "selected", None), _mask(truth, width, "truth", None)
    if len(true) not in (1, len(chosen)):
        raise ValueError(
            f"truth has {len(true)} sets, but selected has {len(chosen)}: expected one for all rows, or one "
            "for each."
        )
    nothing = np.flatnonzero(~true.any(axis=1))
    if len(nothing):
        raise ValueError(f"truth has no feature for row {nothing[0]}, expected at least one to be found.")
    n_true = np.broadcast_to(true.sum(axis=1), len(chosen))
    return SelectionScores((chosen & true).sum(axis=1), chosen.sum(axis=1), n_true)


def _is_mask(features: Any) -> bool:
    """Whether these are booleans, in one dimension or two."""
    if isinstance(features, (list, tuple, set, frozenset)):
        return len(features) > 0 and all(
            isinstance(one, (bool, np.bool_))
            or (not isinstance(one, str) and np.iterable(one) and _is_mask(one))
            for one in features
        )
    return np.asarray(features).dtype == bool


def _width(selected: Any, truth: Any, n_features: int | None) -> int:
    """The number of features, from the masks or as given."""
    masks = [(selected, "selected"), (truth, "truth")]
    widths = [_as_mask(features, called).shape[1] for features, called in masks if _is_mask(features)]
    if n_features is None and not widths:
        raise ValueError("Features are given by position, so that n_features is needed: how many are there?")
    return int(widths[0] if n_features is None else n_features)


def _as_mask(features: Any, called: str) -> NDArray:
    """Booleans of two dimensions."""
    try:
        mask = np.atleast_2d(np.asarray(features, dtype=bool))
    except ValueError:
        mask = np.zeros((1, 1, 1), dtype=bool)  # rows of different lengths
    if mask.ndim != 2:
        raise ValueError(f"{called} is no mask of one or two dimensions, expected rows of the same length.")
    return mask


def _mask(features: Any, width: int, called: str, names: list[str] | None) -> NDArray:
    """Sets of features as a mask, one row for each set."""
    if _is_mask(features):
        mask = _as_mask(features, called)
        if mask.shape[1] != width:
            raise ValueError(f"{called} is a mask of {mask.shape[1]} features, expected {width}.")
        return mask
    if isinstance(features, str) or not np.iterable(features):
        raise TypeError(f"{called} is {features!r}, expected a mask or a list of features.")
    listed = list(features)
    several = any(np.iterable(one) and not isinstance(one, str) for one in listed)
    rows = [list(one) if np.iterable(one) else one for one in listed] if several else [listed]
    mask = np.zeros((len(rows), width), dtype=bool)
    for number, row in enumerate(rows):
        if not isinstance(row, list):
            raise TypeError(f"{called}[{number}] is {row!r}, expected a list of features for each row.")
        for feature in row:
            position = _position(feature, width, called, names)
            if mask[number, position]:
                raise ValueError(
                    f"{called} has the feature {feature!r} twice in one set: expected positions; a mask is "
                    "of booleans, not of 0 and 1."
                )
            mask[number, position] = True
    return mask


def _position(feature: Any, width: int, called: str, names: list[str] | None) -> int:
    if isinstance(feature, str):
        if names is None or feature not in names:
            raise ValueError(
                f"{called} names the feature {feature!r}, which is not known: expected positions, or names "
                "of an explanation's features."
            )
        return names.index(feature)
    if isinstance(feature, (bool, np.bool_)) or not isinstance(feature, (int, np.integer)):
        raise ValueError(f"{called} holds {feature!r}, expected positions of features, or only booleans.")
    if not 0 <= feature < width:
        raise ValueError(f"{called} names the feature {feature}, but there are {width}, counted from 0.")
    return int(feature)
