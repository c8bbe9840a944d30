"""From the steps before a clustering to :class:`~whyclust.network.features.Features`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from whyclust._frames import is_frame, take_columns, to_array
from whyclust.inputs.reading import is_sparse
from whyclust.network.features import AffineMap, Features
from whyclust.network.steps import (
    Encoding,
    Layers,
    Part,
    RowNorm,
    UnsupportedStep,
    parts_of,
    selection,
    step_describer,
)
from whyclust.saving.registry import saved


def trace_features(steps: Sequence[tuple[str, Any]], n_columns: int) -> Features:
    """Follow the user's columns through named steps.

    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[0.0, 1.0], [2.0, 5.0]])
    >>> trace_features([("scale", scaler)], 2).folded.columnwise
    True
    """
    features = Features.identity(n_columns)
    for name, step in steps:
        if step is None or step == "passthrough":
            continue
        try:
            size = features.folded.n_outputs
            for part in parts_of(step, size):
                features = append_part(features, part)
        except UnsupportedStep as error:
            # A step inside a nested pipeline has named itself already.
            where = str(error) if "step '" in str(error) else f"the step {name!r} ({error})"
            raise UnsupportedStep(where) from None
    return features


def read_less(features: Features) -> Features:
    """Features that do not look at columns which the steps drop."""
    first = features.encoder[0] if features.encoder else features.inner
    used = getattr(first, "reads", None)
    if used is None or len(used) == features.n_columns:
        return features
    if features.encoder:
        return _changed(features, encoder=[first.among(used), *features.encoder[1:]], columns=used)
    return _changed(features, inner=first.among(used), sources=features.sources[used], columns=used)


def refuse(error: UnsupportedStep) -> TypeError:
    """The sentence a user sees."""
    return TypeError(
        f"Relevance cannot be followed through {error}, which is neither affine, nor column by column, "
        "nor a row norm, nor a network of whyclust.deep: explain the clustering in the transformed columns, "
        "wc.explain(pipeline[-1], pipeline[:-1].transform(X)), or register the step with "
        "whyclust.network.step_describer."
    )


def append_part(features: Features, part: Part) -> Features:
    """Features followed by one more part."""
    return _appended(part, features)


@singledispatch
def _appended(part: Any, features: Features) -> Features:
    """What is registered below, by the type of the part; an encoding otherwise."""
    if features.norm is None and features.trunk is None and features.inner.columnwise:
        return _encode(features, part)
    if part.on_numbers is not None:  # after a mixing step nothing is missing any more
        return append_part(features, part.on_numbers)
    raise UnsupportedStep(f"{type(part.transformer).__name__} after a step that mixes columns")


@_appended.register
def _(part: AffineMap, features: Features) -> Features:
    if features.norm is None and features.trunk is None:
        return _changed(features, inner=features.inner.then(part))
    outer = part if features.outer is None else features.outer.then(part)
    return _changed(features, outer=outer)


@_appended.register
def _(part: Layers, features: Features) -> Features:
    """Steps that mix columns become the first layer of an encoder."""
    if features.norm is not None:
        raise UnsupportedStep("Normalizer before an encoder")
    if features.trunk is not None:
        between = features.folded
        matrix = between.matrix.toarray() if is_sparse(between.matrix) else between.matrix
        trunk = features.trunk.then(part.trunk.behind(matrix, between.origin, between.offset))
        return _changed(features, trunk=trunk, outer=None)
    inner, trunk = features.inner, part.trunk
    if not inner.columnwise:
        trunk = trunk.behind(inner.matrix, inner.origin, inner.offset)
        inner = AffineMap.identity(inner.n_inputs)
    return _changed(features, inner=inner, trunk=trunk)


@_appended.register
def _(part: RowNorm, features: Features) -> Features:
    if features.trunk is not None:
        raise UnsupportedStep("Normalizer after an encoder")
    inner = features.inner
    if features.norm is not None and features.outer is not None:
        # Row scales multiply, as long as nothing was added between them.
        if features.outer(np.zeros((1, features.outer.n_inputs))).any():
            raise UnsupportedStep("a second Normalizer after a step that shifts columns")
        inner = inner.then(features.outer)
    image = inner(inner.preimage(np.zeros((1, inner.n_outputs))))
    if np.abs(image).max() > 1e-9 * max(1.0, np.abs(inner.offset).max()):
        raise UnsupportedStep("Normalizer after a step that uses a column twice and shifts it")
    return _changed(features, inner=inner, norm=part.norm, outer=None)


def _encode(features: Features, part: Encoding) -> Features:
    """Relevance does not change under column-wise maps, so it may start after the encoding."""
    inner = features.inner
    matrix = sp.csr_array(inner.matrix)
    if (np.diff(matrix.indptr) != 1).any():
        raise UnsupportedStep(f"{type(part.transformer).__name__} after a step of constant columns")
    before = features.sources[matrix.indices]
    encoder = [*features.encoder]
    if not inner.is_identity:
        encoder.append(inner)
    known_form = isinstance(part.transformer, BaseEstimator)
    encoder.append(InItsForm(part.transformer) if known_form else part.transformer)
    return Features(
        AffineMap.identity(len(part.sources)),
        encoder,
        before[part.sources],
        features.n_columns,
    )


def _changed(features: Features, **changes: Any) -> Features:
    values = {
        "inner": features.inner,
        "encoder": features.encoder,
        "sources": features.sources,
        "n_columns": features.n_columns,
        "columns": features.columns,
        "norm": features.norm,
        "outer": features.outer,
        "trunk": features.trunk,
    }
    return Features(**{**values, **changes})


@saved
@dataclass
class InItsForm:
    """A transformer that is handed frames if it was fitted on frames, arrays otherwise."""

    transformer: Any

    def transform(self, table: Any) -> Any:
        """Transform a table of the same columns."""
        names = getattr(self.transformer, "feature_names_in_", None)
        if names is not None and not is_frame(table):
            import pandas as pd

            table = pd.DataFrame(np.asarray(table), columns=names)
        elif names is None and is_frame(table):
            table = to_array(table)
        known = getattr(self.transformer, "categories_", None)
        return self.transformer.transform(table if known is None else _as_known(table, known))


def _as_known(table: Any, categories: Sequence[NDArray]) -> Any:
    """Values written as an encoder has learned them.

    What it saw in polars or pyarrow was one array of objects, numbers among them, with None for gaps;
    in pandas each column has a type of its own, and gaps are NaN.
    """
    if not is_frame(table):
        return table
    import pandas as pd

    table = table.copy(deep=False)
    for position, known in enumerate(categories):
        column = table.iloc[:, position]
        if known.dtype != object:
            continue
        missing = column.isna().to_numpy()
        if column.dtype.kind != "O" or missing.any():
            values = column.to_numpy(dtype=object, copy=True)
            values[missing] = None if any(value is None for value in known) else np.nan
            # As a Series: pandas would make text, and NaN of None, of an array of objects.
            table.isetitem(position, pd.Series(values, index=table.index, dtype=object))
    return table


@saved
@dataclass
class ColumnEncoder:
    """Several encoders, each on columns of its own, side by side."""

    branches: list[tuple[NDArray, list[Any]]]

    @property
    def reads(self) -> NDArray:
        """Positions of the columns of any branch."""
        return np.unique(np.concatenate([columns for columns, _ in self.branches]))

    def among(self, kept: NDArray) -> ColumnEncoder:
        """The same for fewer columns: those at these positions, all that are read among them."""
        return ColumnEncoder([(np.searchsorted(kept, columns), one) for columns, one in self.branches])

    def transform(self, table: Any) -> NDArray:
        """Encode each branch's columns and put them next to each other."""
        encoded = []
        for columns, encoder in self.branches:
            part = take_columns(table, columns)
            for transformer in encoder:
                part = transformer.transform(part)
            part = part.toarray() if is_sparse(part) else np.asarray(part)
            encoded.append(part.astype(np.float64))
        return np.hstack(encoded)


@step_describer(Pipeline)
def _pipeline(step: Pipeline, n_inputs: int) -> list[Part]:
    return feature_parts(trace_features(step.steps, n_inputs))


@step_describer(ColumnTransformer)
def _column_transformer(step: ColumnTransformer, n_inputs: int) -> list[Part]:
    branches = []
    for name, transformer, columns in step.transformers_:
        positions = _column_positions(step, columns, n_inputs)
        if transformer == "drop" or len(positions) == 0:
            continue
        features = trace_features([(name, transformer)], len(positions))
        if features.norm is not None:
            raise UnsupportedStep(f"Normalizer on some of the columns (step '{name}')")
        if features.trunk is not None:
            raise UnsupportedStep(f"an encoder of some of the columns (step '{name}')")
        branches.append((positions, features))
    if not branches:
        raise UnsupportedStep("ColumnTransformer that keeps no column")
    parts: list[Part] = []
    width = n_inputs
    if any(features.encoder for _, features in branches):
        sources = np.concatenate([positions[features.sources] for positions, features in branches])
        encoder = ColumnEncoder([(positions, list(f.encoder)) for positions, f in branches])
        parts.append(Encoding(encoder, sources))
        width = len(sources)
        ends = np.cumsum([len(features.sources) for _, features in branches])
        branches = [
            (np.arange(end - len(features.sources), end), features)
            for end, (_, features) in zip(ends, branches, strict=True)
        ]
    return [*parts, _side_by_side(branches, width)]


def _column_positions(step: ColumnTransformer, columns: Any, n_inputs: int) -> NDArray:
    """Columns as scikit-learn lets users name them: names, positions, a mask, a slice, a callable."""
    names: Any = getattr(step, "feature_names_in_", None)
    if callable(columns):  # resolved at fit
        raise UnsupportedStep("ColumnTransformer with unresolved columns")
    if isinstance(columns, str):
        columns = [columns]
    if not isinstance(columns, slice) and len(columns) == 0:
        return np.empty(0, dtype=np.intp)
    if isinstance(columns, slice) and (isinstance(columns.start, str) or isinstance(columns.stop, str)):
        known = list(names)
        start = None if columns.start is None else known.index(columns.start)
        stop = None if columns.stop is None else known.index(columns.stop) + 1
        columns = slice(start, stop)
    elif not isinstance(columns, slice) and len(columns) and isinstance(columns[0], str):
        known = list(names)
        return np.array([known.index(column) for column in columns], dtype=np.intp)
    return np.arange(n_inputs)[columns if isinstance(columns, slice) else np.asarray(columns)]


def _side_by_side(branches: list[tuple[NDArray, Features]], width: int) -> AffineMap:
    """One affine map from the maps of column groups."""
    origin = np.zeros(width)
    mean = np.zeros(width)
    seen = np.zeros(width, dtype=bool)
    for positions, features in branches:
        new = ~seen[positions]
        origin[positions[new]] = features.inner.origin[new]
        # Where a branch knows no mean it is inverted around its origin, as it would be alone.
        mean[positions] = features.inner.origin if features.inner.mean is None else features.inner.mean
        seen[positions] = True
    matrices: list[Any] = []
    offsets: list[NDArray] = []
    for positions, features in branches:
        inner = features.inner
        matrices.append(inner.matrix @ selection(positions, width).matrix)
        offsets.append(inner(origin[None, positions])[0])
    if all(is_sparse(matrix) for matrix in matrices):
        matrix: Any = sp.csr_array(sp.vstack(matrices))
    else:
        matrix = np.vstack([m.toarray() if is_sparse(m) else m for m in matrices])
    return AffineMap(matrix, origin, np.concatenate(offsets), mean)


def feature_parts(features: Features) -> list[Part]:
    """Features of a nested pipeline, as parts of the one around it."""
    parts: list[Part] = []
    if features.encoder:
        parts.append(Encoding(Sequential(list(features.encoder)), features.sources))
    if not features.inner.is_identity:
        parts.append(features.inner)
    if features.norm is not None:
        parts.append(RowNorm(features.norm))
    if features.trunk is not None:
        parts.append(Layers(features.trunk))
    if features.outer is not None:
        parts.append(features.outer)
    return parts


@saved
@dataclass
class Sequential:
    """Transformers one after the other."""

    transformers: list[Any]

    @property
    def reads(self) -> NDArray | None:
        """Positions of the columns that the first one reads; None where it needs all."""
        return getattr(self.transformers[0], "reads", None)

    def among(self, kept: NDArray) -> Sequential:
        """The same for fewer columns: those at these positions, all that are read among them."""
        return Sequential([self.transformers[0].among(kept), *self.transformers[1:]])

    def transform(self, table: Any) -> Any:
        """Transform a table by each in turn."""
        for transformer in self.transformers:
            table = transformer.transform(table)
        return table
