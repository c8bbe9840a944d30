"""How the user's columns become the encoded ones, written down for the page.

Every encoded column comes from one of the user's columns by a chain of small steps, each a dictionary with
one meaning, which ``frontend/src/engine/encoding.ts`` follows:

===========================================  ==========================================================
``{"fill": value}``                          a gap becomes this value
``{"origin": o, "factor": f, "offset": b}``  (x − o) · f + b
``{"low": a, "high": b}``                    limited to this range
``{"ranks": name}``                          the rank, 0 to 1, among the quantiles in this array
``{"function": name}``                       a function of one number, one of `FUNCTIONS`
``{"above": t}``                             1 where x > t, else 0
``{"one_of": values}``                       1 where x is one of these, else 0
``{"none_of": values}``                      0 where x is one of these, else 1
``{"known": values}``                        anything else is refused
``{"missing": true}``                        1 for a gap, else 0
===========================================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
)

from whyclust.network.features import AffineMap, Features
from whyclust.network.pipelines import ColumnEncoder, InItsForm, Sequential
from whyclust.network.steps import Encoding, describe_step

Step = dict[str, Any]

# Functions of numpy that the page knows, too.
FUNCTIONS = ("log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "cbrt", "square", "abs", "tanh")
# Texts and knots of an encoding go into the page: more than this are too many.
_MOST_NUMBERS = 200_000


class NotInThePage(ValueError):  # noqa: N818
    """Why the page cannot compute something: a plain sentence."""


@dataclass(frozen=True)
class Column:
    """An encoded column: the user's column it comes from, and the steps on the way."""

    source: int
    steps: tuple[Step, ...] = ()

    def then(self, *steps: Step) -> Column:
        """The same with further steps."""
        return Column(self.source, (*self.steps, *steps))


@dataclass
class Written:
    """Columns on their way, and the arrays that their steps name."""

    columns: list[Column]
    arrays: dict[str, NDArray] = field(default_factory=dict)

    def knots(self, values: NDArray) -> str:
        """The name of an array of quantiles; the same quantiles have one name."""
        for name, known in self.arrays.items():
            if np.array_equal(known, values):
                return name
        name = f"ranks-{len(self.arrays)}"
        self.arrays[name] = np.asarray(values, dtype=np.float64)
        return name


def written_encoding(features: Features) -> tuple[list[dict[str, Any]], dict[str, NDArray]]:
    """The encoded columns of features as dictionaries, and the arrays that these name.

    Raises
    ------
    NotInThePage
        Where a step is none that the page can follow.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from whyclust.network.pipelines import trace_features
    >>> step = FunctionTransformer(np.log1p).fit([[0.0], [1.0]])
    >>> written_encoding(trace_features([("log", step)], 1))
    ([{'source': 0, 'steps': [{'function': 'log1p'}]}], {})
    """
    reads = np.arange(features.n_columns) if features.columns is None else features.columns
    written = Written([Column(int(position)) for position in reads])
    for transformer in features.encoder:
        written.columns = _through(transformer, written.columns, written)
    if [column.source for column in written.columns] != features.sources.tolist():
        raise NotInThePage("the columns are encoded in a way that the page does not follow.")
    numbers = sum(_size(step) for column in written.columns for step in column.steps)
    if numbers + sum(array.size for array in written.arrays.values()) > _MOST_NUMBERS:
        raise NotInThePage("the categories and quantiles of its columns are too many for a page.")
    told: list[dict[str, Any]] = [
        {"source": column.source, **({"steps": list(column.steps)} if column.steps else {})}
        for column in written.columns
    ]
    return told, written.arrays


def _size(step: Step) -> int:
    return sum(len(value) if isinstance(value, list) else 1 for value in step.values())


@singledispatch
def _through(transformer: Any, columns: list[Column], written: Written) -> list[Column]:
    """Columns after a transformer, by its registered type."""
    raise NotInThePage(f"the page does not know the step {type(transformer).__name__}.")


@_through.register
def _(transformer: Sequential, columns: list[Column], written: Written) -> list[Column]:
    for one in transformer.transformers:
        columns = _through(one, columns, written)
    return columns


@_through.register
def _(transformer: ColumnEncoder, columns: list[Column], written: Written) -> list[Column]:
    found: list[Column] = []
    for positions, encoder in transformer.branches:
        part = [columns[position] for position in positions]
        for one in encoder:
            part = _through(one, part, written)
        found += part
    return found


@_through.register
def _(transformer: InItsForm, columns: list[Column], written: Written) -> list[Column]:
    return _through(transformer.transformer, columns, written)


@_through.register
def _(transformer: AffineMap, columns: list[Column], written: Written) -> list[Column]:
    matrix = sp.csr_array(transformer.matrix)
    if not transformer.columnwise or (np.diff(matrix.indptr) != 1).any():
        raise NotInThePage("a step before the encoding mixes columns.")
    found = []
    for place, (read, factor) in enumerate(zip(matrix.indices, matrix.data, strict=True)):
        step = {
            "origin": float(transformer.origin[read]),
            "factor": float(factor),
            "offset": float(transformer.offset[place]),
        }
        same = step == {"origin": 0.0, "factor": 1.0, "offset": 0.0}
        found.append(columns[read] if same else columns[read].then(step))
    return found


@_through.register
def _(transformer: SimpleImputer, columns: list[Column], written: Written) -> list[Column]:
    gap = transformer.missing_values
    if not (gap is None or gap != gap or type(gap).__name__ == "NAType"):
        raise NotInThePage(f"SimpleImputer takes {gap!r} for a gap, which the page does not.")
    (part,) = describe_step(transformer, len(columns))
    sources = part.sources if isinstance(part, Encoding) else np.empty(0, dtype=np.intp)
    flags = 0 if transformer.indicator_ is None else len(transformer.indicator_.features_)
    filled, flagged = sources[: len(sources) - flags], sources[len(sources) - flags :]
    values = transformer.statistics_
    found = [columns[read].then({"fill": cell(_number_if_gap(values[read]))}) for read in filled]
    return found + [columns[read].then({"missing": True}) for read in flagged]


def _number_if_gap(value: Any) -> Any:
    """keep_empty_features fills columns without any value by 0."""
    return 0.0 if isinstance(value, (float, np.floating)) and value != value else value


@_through.register
def _(transformer: MinMaxScaler, columns: list[Column], written: Written) -> list[Column]:
    low, high = (float(end) for end in transformer.feature_range)
    ends = [{"low": low, "high": high}] if transformer.clip else []
    pairs = zip(columns, transformer.scale_, transformer.min_, strict=True)
    return [
        column.then({"origin": 0.0, "factor": float(scale), "offset": float(offset)}, *ends)
        for column, scale, offset in pairs
    ]


@_through.register
def _(transformer: MaxAbsScaler, columns: list[Column], written: Written) -> list[Column]:
    ends = [{"low": -1.0, "high": 1.0}] if getattr(transformer, "clip", False) else []
    return [
        column.then({"origin": 0.0, "factor": 1.0 / float(scale), "offset": 0.0}, *ends)
        for column, scale in zip(columns, transformer.scale_, strict=True)
    ]


@_through.register
def _(transformer: QuantileTransformer, columns: list[Column], written: Written) -> list[Column]:
    if transformer.output_distribution != "uniform":
        raise NotInThePage("ranks are turned into a normal distribution, which the page does not do.")
    quantiles = np.asarray(transformer.quantiles_, dtype=np.float64).T
    return [
        column.then({"ranks": written.knots(knots)}) for column, knots in zip(columns, quantiles, strict=True)
    ]


@_through.register
def _(transformer: FunctionTransformer, columns: list[Column], written: Written) -> list[Column]:
    function: Callable[..., Any] | None = transformer.func
    if function is None:
        return columns
    name = {"absolute": "abs"}.get(getattr(function, "__name__", ""), getattr(function, "__name__", ""))
    if not isinstance(function, np.ufunc) or name not in FUNCTIONS or transformer.kw_args:
        raise NotInThePage(f"the page does not know the function {name or 'of a step'}.")
    return [column.then({"function": name}) for column in columns]


@_through.register
def _(transformer: Binarizer, columns: list[Column], written: Written) -> list[Column]:
    return [column.then({"above": float(transformer.threshold)}) for column in columns]


@_through.register
def _(transformer: OneHotEncoder, columns: list[Column], written: Written) -> list[Column]:
    found: list[Column] = []
    rare = getattr(transformer, "infrequent_categories_", None) or [None] * len(columns)
    dropped: Any = getattr(transformer, "_drop_idx_after_grouping", None)
    for place, (column, categories) in enumerate(zip(columns, transformer.categories_, strict=True)):
        known = [cell(value) for value in categories]
        if None in known and any("fill" in step for step in column.steps):
            # NaN was filled and None was not, or the other way round; a page has one kind of gap.
            raise NotInThePage("a column has two kinds of gaps, and the page has one.")
        seldom = [] if rare[place] is None else [cell(value) for value in rare[place]]
        steps: list[Step] = [{"one_of": [value]} for value in known if value not in seldom]
        if seldom:
            # What was never seen is rare, too, where the encoder says so.
            unseen = transformer.handle_unknown in ("infrequent_if_exist", "warn")
            often = [value for value in known if value not in seldom]
            steps.append({"none_of": often} if unseen else {"one_of": seldom})
        if dropped is not None and dropped[place] is not None:
            del steps[int(dropped[place])]
        # One check for all columns of a category: it belongs to the first of them.
        check: list[Step] = [{"known": known}] if transformer.handle_unknown == "error" else []
        found += [column.then(*(check if first == 0 else []), step) for first, step in enumerate(steps)]
    return found


def cell(value: Any) -> Any:
    """A value as JSON has it; gaps are null."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if not isinstance(value, (bool, int, float, str)):
        raise NotInThePage(f"a column has a {type(value).__name__} for a category, which a page cannot hold.")
    return value
