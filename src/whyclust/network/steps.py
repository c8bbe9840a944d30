"""What a fitted scikit-learn transformer does to columns, by registered type.

``describe_step(transformer, n_inputs)`` returns the parts the step consists of, in order:

- an :class:`~whyclust.network.features.AffineMap`,
- an :class:`Encoding`, whose output columns each come from one input column,
- a :class:`RowNorm`.

A new transformer is supported by one function here (or in the user's code).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from whyclust.cluster import SubKMeans
from whyclust.network.features import AffineMap, Trunk


@dataclass(frozen=True)
class Encoding:
    """A step that bends columns but does not mix them.

    `sources` names the input column of each output column. `on_numbers` is what the step does
    to complete numeric columns, where that is an affine map (an imputer leaves them alone).
    """

    transformer: Any
    sources: NDArray
    on_numbers: AffineMap | None = None

    def width_after(self, width: int) -> int:
        """Columns that there are after it."""
        return len(self.sources)


@dataclass(frozen=True)
class RowNorm:
    """A step that divides each row by its norm."""

    norm: str

    def width_after(self, width: int) -> int:
        """As many columns as before."""
        return width


@dataclass(frozen=True)
class Layers:
    """A step that is a network: layers that are not affine."""

    trunk: Trunk

    def width_after(self, width: int) -> int:
        """Columns that there are after it."""
        return self.trunk.n_outputs


Part = AffineMap | Encoding | RowNorm | Layers


class UnsupportedStep(TypeError):  # noqa: N818
    """A step through which relevance cannot be followed."""


@singledispatch
def describe_step(transformer: Any, n_inputs: int) -> list[Part]:
    """Return the parts of a fitted transformer; unknown types are refused."""
    raise UnsupportedStep(type(transformer).__name__)


def parts_of(transformer: Any, n_inputs: int) -> list[Part]:
    """`describe_step`, of which it was seen that it says what a step is."""
    found = describe_step(transformer, n_inputs)
    if not isinstance(found, (list, tuple)) or not all(isinstance(part, Part) for part in found):
        what = type(found).__name__
        if isinstance(found, (list, tuple)):
            what += " with a " + next(type(part).__name__ for part in found if not isinstance(part, Part))
        raise TypeError(
            f"The function registered for {type(transformer).__name__} returned a {what}, expected a list of "
            "whyclust.network's AffineMap, Encoding or RowNorm."
        )
    width = n_inputs
    for part in found:
        try:
            width = part.width_after(width)
        except ValueError as error:
            raise ValueError(
                f"The function registered for {type(transformer).__name__} returned {error}"
            ) from None
    return list(found)


def step_describer(*types: type) -> Callable[[Callable], Callable]:
    """Register the function that describes transformers of these types."""

    def register(function: Callable[[Any, int], list[Part]]) -> Callable:
        for kind in types:
            describe_step.register(kind)(function)
        return function

    return register


def scaling(
    factors: NDArray, origin: NDArray | None, offset: NDArray | None, mean: NDArray | None = None
) -> AffineMap:
    """factors ⊙ (x − origin) + offset."""
    zeros = np.zeros(len(factors))
    return AffineMap(
        sp.csr_array(sp.diags_array(np.asarray(factors, dtype=float))),
        zeros if origin is None else np.asarray(origin, dtype=float),
        zeros if offset is None else np.asarray(offset, dtype=float),
        None if mean is None else np.asarray(mean, dtype=float),
    )


def selection(columns: NDArray, n_inputs: int) -> AffineMap:
    """Keep some columns, in this order."""
    matrix = sp.csr_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), n_inputs)
    )
    return AffineMap(matrix, np.zeros(n_inputs), np.zeros(len(columns)))


@step_describer(FrozenEstimator)
def _frozen(step: FrozenEstimator, n_inputs: int) -> list[Part]:
    return describe_step(step.estimator, n_inputs)


@step_describer(StandardScaler)
def _standard(step: StandardScaler, n_inputs: int) -> list[Part]:
    factors = np.ones(n_inputs) if step.scale_ is None else 1.0 / step.scale_
    mean = getattr(step, "mean_", None)
    return [scaling(factors, mean if step.with_mean else None, None, mean)]


@step_describer(MinMaxScaler)
def _min_max(step: MinMaxScaler, n_inputs: int) -> list[Part]:
    if step.clip:
        return [Encoding(step, np.arange(n_inputs))]
    low = np.full(n_inputs, step.feature_range[0], dtype=float)
    return [scaling(step.scale_, step.data_min_, low)]


@step_describer(MaxAbsScaler)
def _max_abs(step: MaxAbsScaler, n_inputs: int) -> list[Part]:
    if getattr(step, "clip", False):
        return [Encoding(step, np.arange(n_inputs))]
    return [scaling(1.0 / step.scale_, None, None)]


@step_describer(RobustScaler)
def _robust(step: RobustScaler, n_inputs: int) -> list[Part]:
    factors = 1.0 / step.scale_ if step.with_scaling else np.ones(n_inputs)
    return [scaling(factors, step.center_ if step.with_centering else None, None)]


@step_describer(Normalizer)
def _normalizer(step: Normalizer, n_inputs: int) -> list[Part]:
    return [RowNorm(step.norm)]


@step_describer(TfidfTransformer)
def _word_weights(step: TfidfTransformer, n_inputs: int) -> list[Part]:
    if step.sublinear_tf:
        raise UnsupportedStep("TfidfTransformer with sublinear_tf")
    weights: list[Part] = [scaling(step.idf_, None, None)] if step.use_idf else []
    return [*weights, RowNorm(step.norm)] if step.norm else weights


@step_describer(PCA, IncrementalPCA)
def _pca(step: PCA, n_inputs: int) -> list[Part]:
    matrix = np.asarray(step.components_, dtype=float)
    if step.whiten:
        scale = np.sqrt(step.explained_variance_)
        matrix = matrix / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None]
    mean = np.asarray(step.mean_, dtype=float)
    return [AffineMap(matrix, mean, np.zeros(len(matrix)), mean)]


@step_describer(FastICA)
def _independent_components(step: FastICA, n_inputs: int) -> list[Part]:
    matrix = np.asarray(step.components_, dtype=float)
    mean = np.asarray(step.mean_, dtype=float) if step.whiten else None
    return [AffineMap(matrix, np.zeros(n_inputs) if mean is None else mean, np.zeros(len(matrix)), mean)]


@step_describer(FactorAnalysis)
def _factors(step: FactorAnalysis, n_inputs: int) -> list[Part]:
    """E[z | x] = (I + W Ψ⁻¹ Wᵀ)⁻¹ W Ψ⁻¹ (x − mean), the posterior mean of the factors."""
    scaled = np.asarray(step.components_ / step.noise_variance_, dtype=float)
    matrix = np.linalg.solve(np.eye(len(scaled)) + scaled @ step.components_.T, scaled)
    mean = np.asarray(step.mean_, dtype=float)
    return [AffineMap(matrix, mean, np.zeros(len(matrix)), mean)]


@step_describer(TruncatedSVD)
def _truncated_svd(step: TruncatedSVD, n_inputs: int) -> list[Part]:
    matrix = np.asarray(step.components_, dtype=float)
    return [AffineMap(matrix, np.zeros(n_inputs), np.zeros(len(matrix)))]


@step_describer(SubKMeans)
def _clustered_space(step: SubKMeans, n_inputs: int) -> list[Part]:
    matrix = np.asarray(step.rotation_[:, : step.n_components_].T, dtype=float)
    mean = np.asarray(step.mean_, dtype=float)
    return [AffineMap(matrix, mean, np.zeros(len(matrix)), mean)]


@step_describer(SelectorMixin)
def _selector(step: Any, n_inputs: int) -> list[Part]:
    return [selection(np.flatnonzero(step.get_support()), n_inputs)]


@step_describer(FunctionTransformer)
def _function(step: FunctionTransformer, n_inputs: int) -> list[Part]:
    if step.func is None:
        return []
    if isinstance(step.func, np.ufunc):  # element by element, by construction
        return [Encoding(step, np.arange(n_inputs))]
    name = getattr(step.func, "__name__", "function")
    raise UnsupportedStep(f"FunctionTransformer with {name}")


@step_describer(SimpleImputer)
def _imputer(step: SimpleImputer, n_inputs: int) -> list[Part]:
    # Columns without a single value may have been dropped: the step itself knows which.
    names = list(getattr(step, "feature_names_in_", [f"x{column}" for column in range(n_inputs)]))
    given = list(step.get_feature_names_out())
    flagged = [] if step.indicator_ is None else step.indicator_.features_
    kept = np.array([names.index(name) for name in given[: len(given) - len(flagged)]], dtype=np.intp)
    if step.indicator_ is None:
        return [Encoding(step, kept, on_numbers=selection(kept, n_inputs))]
    return [Encoding(step, np.concatenate([kept, flagged]).astype(np.intp))]


@step_describer(OneHotEncoder)
def _one_hot(step: OneHotEncoder, n_inputs: int) -> list[Part]:
    counts = []
    for column, categories in enumerate(step.categories_):
        rare = getattr(step, "infrequent_categories_", [None] * n_inputs)[column]
        count = len(categories) if rare is None else len(categories) - len(rare) + 1
        dropped = step.drop_idx_ is not None and step.drop_idx_[column] is not None
        counts.append(count - int(dropped))
    return [Encoding(step, np.repeat(np.arange(n_inputs), counts))]


@step_describer(KBinsDiscretizer)
def _bins(step: KBinsDiscretizer, n_inputs: int) -> list[Part]:
    counts = np.ones(n_inputs, dtype=int) if step.encode == "ordinal" else step.n_bins_
    return [Encoding(step, np.repeat(np.arange(n_inputs), counts))]


@step_describer(OrdinalEncoder, PowerTransformer, QuantileTransformer, Binarizer)
def _column_by_column(step: Any, n_inputs: int) -> list[Part]:
    return [Encoding(step, np.arange(n_inputs))]
