"""Steps of a pipeline before a deep clustering, undone: its rows in the user's own units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.frozen import FrozenEstimator

# The least deviation of a column, as a part of the median of all columns that vary.
_LEAST = 0.1
# Columns that are moved at a time.
_BLOCK = 256


def refuse_one_way(model: Any) -> None:
    """Raise if a step before the clustering cannot be undone."""
    for step in steps_of(model)[:-1]:
        if not _can_be_undone(step):
            raise TypeError(
                f"{type(step).__name__} cannot be undone (it loses columns, or has no inverse): pass the "
                "last step of the Pipeline instead, whose rows are in its own units, and feature_names="
                "pipeline[:-1].get_feature_names_out()."
            )


def undone(model: Any, rows: NDArray) -> NDArray:
    """Rows of the deep clustering in the table's units."""
    *before, _ = steps_of(model)
    for step in reversed(before):
        rows = rows if _only_fills(step) else step.inverse_transform(rows)
    return np.asarray(rows, dtype=float)


def usual(model: Any) -> tuple[NDArray, NDArray]:
    """Mean of the table's columns, and the standard deviation that their decoded values are measured by.

    A decoder errs by about as much in all columns that it was trained on. In one that hardly varies the error
    would be many deviations, and look like what matters most: so none is below a part of the usual one. This
    is so for the columns as the model has them, where a scaler has given all of them the same unit.

    Steps that mix columns are taken to give uncorrelated ones, as PCA does: squares of deviations add up.
    """
    deep = steps_of(model)[-1]
    mean, deviations = np.asarray(deep.feature_means_), np.asarray(deep.feature_deviations_)
    varying = deviations[deviations > 0]
    deviations = np.maximum(deviations, _LEAST * np.median(varying) if len(varying) else 1.0)
    center = undone(model, mean[None])
    if all(_one_by_one(step) for step in steps_of(model)[:-1]):
        found = np.abs(undone(model, (mean + deviations)[None]) - center)[0]
    else:
        # A row for each column that is moved: all of them at once would be columns × columns.
        squares = np.zeros(center.shape[1])
        for start in range(0, len(mean), _BLOCK):
            moved = np.tile(mean, (min(_BLOCK, len(mean) - start), 1))
            places = np.arange(len(moved))
            moved[places, start + places] += deviations[start : start + _BLOCK]
            squares += ((undone(model, moved) - center) ** 2).sum(axis=0)
        found = np.sqrt(squares)
    return center[0], np.where(found > 0, found, 1.0)


def _one_by_one(step: Any) -> bool:
    """Whether a step takes each column for itself, as scikit-learn's scalers do."""
    own = type(step).__module__.startswith("sklearn.preprocessing.")
    return _only_fills(step) or (own and isinstance(step, OneToOneFeatureMixin))


def steps_of(model: Any) -> list[Any]:
    """All steps in their order, those of pipelines within pipelines, too."""
    if isinstance(model, FrozenEstimator):
        return steps_of(model.estimator)
    if not hasattr(model, "steps"):
        return [] if model is None or isinstance(model, str) else [model]
    return [part for _, step in model.steps for part in steps_of(step)]


def _can_be_undone(step: Any) -> bool:
    # A function without an inverse, or a selection of columns, has a method that undoes nothing.
    one_way = getattr(step, "func", None) is not None and getattr(step, "inverse_func", None) is None
    lossy = one_way or hasattr(step, "get_support") or hasattr(step, "add_indicator")
    return _only_fills(step) or (hasattr(step, "inverse_transform") and not lossy)


def _only_fills(step: Any) -> bool:
    """Whether a step leaves all columns as they are, but for what was missing."""
    return getattr(step, "add_indicator", None) is False


def column_names(model: Any, given: Sequence[str] | None, n_columns: int) -> list[str]:
    """What columns are called: as given, or as the first step that knows says."""
    known = next(
        (step.feature_names_in_ for step in steps_of(model) if hasattr(step, "feature_names_in_")), None
    )
    names = [str(name) for name in (given if given is not None else known if known is not None else [])]
    if given is not None and len(names) != n_columns:
        raise ValueError(f"feature_names has {len(names)} names, but rows have {n_columns} columns.")
    return names if len(names) == n_columns else [f"x{column}" for column in range(n_columns)]
