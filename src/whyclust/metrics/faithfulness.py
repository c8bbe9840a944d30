"""Faithfulness: does the clustering suffer most from losing what is called important? (IDC, section 5)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr
from sklearn.utils import check_random_state

from whyclust._checks import one_of
from whyclust._frames import in_library_of, is_frame, take_columns
from whyclust.inputs.reading import InputTable, is_sparse, numeric, read_input
from whyclust.metrics.reading import (
    explanation_in,
    in_order_of,
    read_codes,
    read_relevance,
    refuse_bad_relevance,
    refuse_other_rows,
    refuse_too_large,
    top_mask,
)
from whyclust.metrics.scores import clustering_accuracy
from whyclust.network import neuralize
from whyclust.network.models import column_names

IMPUTERS = ("mean", "permute")
# One permutation is one draw: their mean is what counts.
_PERMUTATIONS = 5


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """Importance of each feature, and how much is lost without it.

    Attributes
    ----------
    value : float
        Pearson correlation of importance and drop.
    spearman : float
        Rank correlation of the same.
    importance : ndarray of shape (n_features,)
        Mean of |relevance| over all rows.
    drop : ndarray of shape (n_features,)
        What the removal of each feature costs: how much lower performance is than before it.
    performance : ndarray of shape (n_features,)
        What is left after the removal.
    full_performance : float
        With all features: 1, or the accuracy against the labels given.
    feature_names : list of str
    cumulative : bool
        Whether features stayed away once they were removed.
    """

    value: float
    spearman: float
    importance: NDArray
    drop: NDArray
    performance: NDArray
    full_performance: float
    feature_names: list[str]
    cumulative: bool

    def to_pandas(self) -> pd.DataFrame:
        """Return one line per feature, in the order of their removal."""
        frame = pd.DataFrame(
            {
                "feature": self.feature_names,
                "importance": self.importance,
                "drop": self.drop,
                "performance": self.performance,
            }
        )
        return frame.iloc[removal_order(self.importance)].reset_index(drop=True)

    def __repr__(self) -> str:
        how = "one after the other" if self.cumulative else "one at a time"
        return (
            f"<Faithfulness {self.value:.3f} (Spearman {self.spearman:.3f}), "
            f"{len(self.importance)} features removed {how}>"
        )


def faithfulness(
    model: Any,
    X: Any,
    explanation: Any,
    *,
    labels: Any = None,
    imputer: str = "mean",
    top: int | None = None,
    cumulative: bool = False,
    random_state: Any = 0,
) -> Faithfulness:
    """Correlate the importance of features with what their removal costs the clustering.

    The paper removes features 'individually (from most to least important)', which can be read in two
    ways: each alone, with all others in place (the default), or one after the other, none of them
    put back (`cumulative`). The drop is then that of this one step: performance falls along the way for
    any order, so that its level would correlate with any importance.

    Parameters
    ----------
    model : fitted clustering, Pipeline, Neuralized, or any object with ``predict``
    X : table of shape (n_rows, n_features)
        The rows explained.
    explanation : Explanation, array of shape (n_rows, n_features) or of shape (n_features,)
        The importance of a feature is the mean of its absolute value over rows.
    labels : sequence of int or str, optional
        Performance is the clustering accuracy against them. By default it is the share of rows that
        stay in the cluster they have with all features.
    imputer : {"mean", "permute"}
        What stands in for a feature that is removed: its mean over X (its most frequent value where it
        is no number), or its values in random order, five times over.
    top : int, optional
        Keep only so many features of each row, the strongest; the others count as zero.
    cumulative : bool
        Whether features stay away once they are removed.
    random_state : int, RandomState or None
        Source of the permutations.

    Returns
    -------
    Faithfulness

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0, 1.0], [0.0, 3.0, 3.0], [9.0, 2.0, 1.0], [9.0, 5.0, 3.0]]
    >>> model = KMeans(2, n_init=1, random_state=0).fit(X)
    >>> faithfulness(model, X, [0.9, 0.1, 0.0]).drop
    array([0.5, 0. , 0. ])
    """
    one_of("imputer", imputer, IMPUTERS)
    importance = _importance(explanation, X, top, column_names(model))
    explained = explanation_in(explanation)
    data = _removable(in_order_of(explained, X), imputer)
    if explained is not None:
        _refuse_other_values(explained.data, data)
    predict = _predictor(model, data, X)
    measure = _measure(predict(data), labels, read_input(X))
    full = measure(predict(data))
    generator = check_random_state(random_state)
    performance = np.zeros(len(importance))
    repeats = _PERMUTATIONS if imputer == "permute" else 1
    for _ in range(repeats):
        current = data.copy()
        for column in removal_order(importance):
            kept = _get(current, column)
            _set(current, column, _substitute(kept, imputer, generator))
            performance[column] += measure(predict(current)) / repeats
            if not cumulative:
                _set(current, column, kept)
    drop = full - performance
    if cumulative:
        ordered = performance[removal_order(importance)]
        drop[removal_order(importance)] = np.append(full, ordered[:-1]) - ordered
    if np.ptp(drop) <= 1e-12:
        raise ValueError(
            f"The removal of each feature costs the same, {drop[0]:.4g}, so that no correlation is defined: "
            + ("expected a clustering that depends on X." if cumulative else "try cumulative=True.")
        )
    names = read_input(X).names if explained is None else explained.feature_names
    return Faithfulness(
        value=float(pearsonr(importance, drop).statistic),
        spearman=float(spearmanr(importance, drop).statistic),
        importance=importance,
        drop=drop,
        performance=performance,
        full_performance=full,
        feature_names=names or [f"x{column}" for column in range(len(importance))],
        cumulative=cumulative,
    )


def removal_order(importance: NDArray) -> NDArray:
    """Columns from the most to the least important; of equal ones the first comes first."""
    return np.argsort(-importance, kind="stable")


def _importance(explanation: Any, X: Any, top: int | None, known: list[str] | None) -> NDArray:
    """Mean of |relevance| over rows; `known` are the model's columns, where X has no names."""
    table = read_input(X)
    shape, names = table.shape, table.names or known
    if isinstance(explanation, pd.Series):  # named by columns: a table of one row
        explanation = explanation.to_frame().T
        values = read_relevance(explanation, "explanation", names)
        refuse_other_rows((shape[0], values.shape[1]), shape, "explanation")
    elif explanation_in(explanation) is None and np.ndim(explanation) == 1:
        values = np.asarray(numeric(np.asarray(explanation), "explanation"), dtype=np.float64)[None]
        refuse_other_rows((shape[0], values.shape[1]), shape, "explanation")
        refuse_bad_relevance(values, "explanation")
    else:
        values = read_relevance(explanation, "explanation", names, table.row_labels)
        if values.shape[0] != shape[0] and values.shape[1] == shape[1]:
            raise ValueError(
                f"explanation has {values.shape[0]} rows, but X has {shape[0]}: expected an explanation of "
                "these very rows; to use the importance found on others, pass its mean, "
                "abs(ex.values).mean(axis=0)."
            )
        refuse_other_rows(values.shape, shape, "explanation")
    strength = np.abs(values)
    if top is not None:
        strength = np.where(top_mask(strength, top), strength, 0.0)
    importance = strength.mean(axis=0)
    if len(importance) < 3:
        raise ValueError(
            f"Found {len(importance)} feature(s), expected three or more: a correlation of two says nothing."
        )
    refuse_bad_relevance(importance, "The mean importance")
    return importance


def _removable(data: Any, imputer: str) -> Any:
    """A copy of the table in which columns can be replaced."""
    if is_sparse(data):
        refuse_too_large(read_input(data), "X")
        data = data.toarray()
    if imputer == "mean" and not is_frame(data) and data.dtype.kind in "biu":
        data = data.astype(np.float64)  # room for a mean
    return data.copy()


def _refuse_other_values(explained: Any, data: Any) -> None:
    """As many rows of another table would go unnoticed otherwise."""
    explained = explained.toarray() if is_sparse(explained) else explained
    mine, theirs = (pd.DataFrame(np.asarray(table, dtype=object)) for table in (explained, data))
    if not mine.equals(theirs):
        raise ValueError("The explanation is of other values than X holds: explain these rows.")


def _get(data: Any, column: int) -> Any:
    return data.iloc[:, column].copy() if is_frame(data) else data[:, column].copy()


def _set(data: Any, column: int, values: Any) -> None:
    if is_frame(data):
        data.isetitem(column, values)  # may change the column's type, as a mean of whole numbers does
    else:
        data[:, column] = values


def _substitute(values: Any, imputer: str, generator: Any) -> Any:
    """What stands in for a column that is removed."""
    if imputer == "permute":
        order = generator.permutation(len(values))
        return values.iloc[order].set_axis(values.index) if hasattr(values, "iloc") else values[order]
    if not hasattr(values, "iloc"):
        if values.dtype.kind not in "f":
            raise ValueError(
                f"X holds {values.dtype}, of which there is no mean: pass a frame, or imputer='permute'."
            )
        return np.full_like(values, np.nanmean(values))
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return pd.Series(np.full(len(values), values.mean()), index=values.index)
    most_frequent = values.mode().iloc[0]
    return pd.Series([most_frequent] * len(values), index=values.index, dtype=values.dtype)


def _predictor(model: Any, data: Any, X: Any) -> Callable[[Any], NDArray]:
    """The model's own predict, of rows in the library of X; or that of the network it is."""
    found = getattr(model, "predict", None)
    if found is None or isinstance(model, type):
        found = neuralize(model, data).predict  # or its sentence on what to pass instead
    names, given = column_names(model), read_input(data).names
    order = list(range(data.shape[1]))
    if names is not None and given is not None and set(names) == set(given):
        order = [given.index(name) for name in names]  # X may have them in another

    def predict(rows: Any) -> NDArray:
        rows = take_columns(rows, order) if order != sorted(order) else rows
        return np.asarray(found(in_library_of(rows, X) if is_frame(rows) and not is_frame(X) else rows))

    return predict


def _measure(full: NDArray, labels: Any, table: InputTable) -> Callable[[NDArray], float]:
    """How well a prediction does: against labels, or against the prediction from all features."""
    if labels is not None:
        codes, _ = read_codes(labels, "labels", table)
        return lambda predicted: clustering_accuracy(codes, predicted)
    if len(np.unique(full)) < 2:
        raise ValueError(
            "The model puts all rows into one cluster, so that no removal is felt: expected at least two."
        )
    return lambda predicted: float(np.mean(predicted == full))
