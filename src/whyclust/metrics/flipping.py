"""Algorithm 1: does adding the most relevant columns first bring a point into its cluster?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._checks import one_of, whole_number
from whyclust._frames import to_array
from whyclust.explaining.explanation import Explanation
from whyclust.inputs.reading import InputTable, in_columns_of, read_input
from whyclust.labels.surrogates import surrogate_of
from whyclust.metrics.reading import (
    explanation_in,
    in_order_of,
    read_numbers,
    read_relevance,
    refuse_other_rows,
)
from whyclust.network.apart import judges
from whyclust.network.neuralizing import network_for
from whyclust.perturbing.encoded import Inside, as_rows, inside
from whyclust.perturbing.imputation import Constant, Given, Imputer, KernelDensity
from whyclust.perturbing.subject import Prepared

ORDERS = ("insert", "delete")
IMPUTERS = ("kde", "zero", "mean")
# Distances from a block of points to all rows of the density fit the caches.
_BLOCK_NUMBERS = 1 << 20
# Rows on a boundary may be assigned either way; more of them are another model's.
_ROUNDING = 0.01


@dataclass(frozen=True, eq=False)
class FlippingResult:
    """What Algorithm 1 has found.

    Attributes
    ----------
    auc : float
        Area under the curve, 0 to 100. With order "insert" more is better, with "delete" less.
    error : float
        Standard error of `auc` over the points; of a single point, over the repeats.
    curve : ndarray of shape (n_columns + 1,)
        Share of points in the cluster, from none to all columns added (or removed).
    per_point : ndarray of shape (n_points,)
        The area of each point, mean over repeats: for paired differences between explanations.
    per_repeat : ndarray of shape (n_repeats,)
        The area of all points in each repeat.
    order, imputer : str
    """

    auc: float
    error: float
    curve: NDArray
    per_point: NDArray
    per_repeat: NDArray
    order: str
    imputer: str

    def __repr__(self) -> str:
        return f"<FlippingResult auc {self.auc:.2f} ± {self.error:.2f}, {self.order}, {self.imputer}>"

    def to_pandas(self) -> pd.DataFrame:
        """The curve as a frame."""
        name = "columns added" if self.order == "insert" else "columns removed"
        return pd.DataFrame({name: np.arange(len(self.curve)), "share in cluster": self.curve})


def flipping_auc(
    model: Any,
    X: Any,
    explanation: Any,
    *,
    imputer: str | Callable[..., Any] = "kde",
    n_repeats: int = 20,
    order: str = "insert",
    background: Any = None,
    leave_out: bool = True,
    random_state: int = 0,
) -> FlippingResult:
    """Score an explanation by Algorithm 1 of the paper.

    Every point starts empty, all of its columns imputed; columns are added from the most to the least
    relevant, and each time it is asked whether the point is in the cluster that was explained. The
    curve begins with the empty point; its area, by the trapezoid rule, is divided by the number of
    columns. Columns of equal relevance come in random order.

    Parameters
    ----------
    model : fitted clustering, labels, Neuralized, or a function of points that returns their clusters
        A function serves for a hidden layer: pass the layer's activations as X, the relevance there
        as the explanation, and ``imputer="zero"``.
    X : table of shape (n_points, n_columns)
    explanation : Explanation, or array of shape (n_points, n_columns)
        With an array the cluster is the one that the model assigns.
    imputer : {"kde", "zero", "mean"} or callable
        How unknown columns are filled in: sampled from a kernel density of the background given the
        known columns (supplement G), zero, the background's mean, or by
        ``imputer(points, known, generator)``, which gets points with NaN where `known` is False and
        returns them with all columns filled in.
    n_repeats : int
        Draws for each point and number of columns.
    order : {"insert", "delete"}
        Add columns to an empty point (the paper), or remove them from the whole one.
    background : table, optional
        Rows of the kernel density, or of the mean; X by default.
    leave_out : bool
        Leave each point out of the kernel density that fills it in. Otherwise it is often filled in from
        itself, and in its cluster whatever the order of columns. False is the paper's protocol. Of a
        background that is not X, a row with the same values is left out.
    random_state : int
        The same number gives the same draws to all explanations, which are then compared in pairs.

    Returns
    -------
    FlippingResult
        With ``auc``, ``error`` and ``curve``.

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(60, centers=3, n_features=4, random_state=0)
    >>> model = KMeans(3, n_init=1, random_state=0).fit(X)
    >>> by_relevance = flipping_auc(model, X, wc.explain(model, X))
    >>> upside_down = flipping_auc(model, X, -wc.explain(model, X).values)
    >>> by_relevance.auc > upside_down.auc
    True
    """
    one_of("order", order, ORDERS)
    n_repeats = whole_number("n_repeats", n_repeats, 1)
    random_state = whole_number("random_state", random_state, 0)
    setting = _setting(model, X, background, explanation_in(explanation))
    return _score(setting, explanation, imputer, n_repeats, order, leave_out, random_state)


def flipping_of(
    prepared: Prepared, explanation: Explanation, *, n_repeats: int, random_state: int
) -> FlippingResult:
    """`flipping_auc` of an explanation of rows that are prepared, as by default."""
    return _score(_Setting.of(prepared), explanation, "kde", n_repeats, "insert", True, random_state)


def _score(
    setting: _Setting,
    explanation: Any,
    imputer: str | Callable[..., Any],
    n_repeats: int,
    order: str,
    leave_out: bool,
    random_state: int,
) -> FlippingResult:
    explained = explanation_in(explanation)
    relevance = _read_relevance(explanation, explained, setting)
    clusters = setting.assigned if explained is None else explained.clusters
    filler = _imputer(imputer, setting)
    own = setting.own(filler) if leave_out and isinstance(filler, KernelDensity) else None
    generator = np.random.default_rng(random_state)
    # Reversed, removal is insertion from the least relevant column on.
    signed = -relevance if order == "insert" else relevance
    ranks = np.lexsort((generator.random(signed.shape), signed), axis=1)
    hits = np.empty((setting.n_columns + 1, n_repeats, len(relevance)), dtype=np.float32)
    for judged, rows in setting.judges(explained):
        hits[:, :, rows] = _curves(filler, own, setting, rows, ranks, clusters, judged, n_repeats, generator)
    if order == "delete":
        hits = hits[::-1]
    areas = 100.0 * (hits[1:] + hits[:-1]).sum(axis=0) / 2.0 / setting.n_columns  # repeats × points
    per_point = areas.mean(axis=0)
    return FlippingResult(
        auc=float(areas.mean()),
        error=_standard_error(per_point if len(per_point) > 1 else areas.ravel()),
        curve=hits.mean(axis=(1, 2)),
        per_point=per_point,
        per_repeat=areas.mean(axis=1),
        order=order,
        imputer=imputer if isinstance(imputer, str) else "given",
    )


def _standard_error(values: NDArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _curves(
    filler: Imputer,
    own: NDArray | None,
    setting: _Setting,
    rows: NDArray,
    ranks: NDArray,
    clusters: NDArray,
    inside: Inside,
    n_repeats: int,
    generator: np.random.Generator,
) -> NDArray:
    """g_c of these rows for every number of known columns, draw and point, block by block."""
    points, ranks, clusters = setting.points[rows], ranks[rows], clusters[rows]
    n_points, n_columns = ranks.shape
    size = max(1, _BLOCK_NUMBERS // max(filler.n_rows, n_repeats * points.shape[1], 1))
    hits = np.empty((n_columns + 1, n_repeats, n_points), dtype=np.float32)
    for start in range(0, n_points, size):
        block = slice(start, start + size)
        path = filler.path(points[block], setting.sources)
        if own is not None:
            path.leave_out(own[rows][block])
        for step in range(n_columns + 1):
            if step:
                path.reveal(ranks[block, step - 1])
            drawn = path.sample(n_repeats if step < n_columns else 1, generator)
            found = inside(drawn.reshape(-1, points.shape[1]), np.tile(clusters[block], len(drawn)))
            hits[step, :, block] = found.reshape(len(drawn), -1)
    return hits


@dataclass(frozen=True, eq=False)
class _Setting:
    """Points in numbers, where their columns come from, how they are assigned, and the background."""

    table: InputTable
    points: NDArray
    sources: NDArray
    predict: Callable[[NDArray], NDArray]
    known: NDArray
    given_names: list[str] | None = None
    prepared: Prepared | None = None

    @classmethod
    def of(cls, prepared: Prepared, given_names: list[str] | None = None) -> _Setting:
        """The points of rows that are prepared."""
        rows = prepared.rows
        return cls(
            prepared.table,
            rows.points,
            rows.sources,
            lambda points: rows.net.predict_rows(as_rows(points)),
            prepared.background,
            given_names,
            prepared,
        )

    @property
    def assigned(self) -> NDArray:
        """The cluster of each point."""
        return self.predict(self.points) if self.prepared is None else self.prepared.assigned

    @property
    def density(self) -> KernelDensity:
        """The kernel density of the background."""
        return KernelDensity.fit(self.known) if self.prepared is None else self.prepared.density

    def own(self, density: KernelDensity) -> NDArray:
        """The row of the density that each point is itself, −1 where it is not among them."""
        if self.prepared is not None:
            return self.prepared.own
        if self.known is self.points:
            return density.at(np.arange(len(self.points)))
        return density.equal_to(self.points)

    @property
    def order(self) -> NDArray | None:
        """Where the model's columns are in X, if it has them in another order."""
        if self.given_names is None or self.table.names in (None, self.given_names):
            return None
        return np.array([self.given_names.index(name) for name in self.table.names or []], dtype=np.intp)

    @property
    def n_columns(self) -> int:
        return self.table.shape[1]

    def judges(self, explained: Explanation | None) -> list[tuple[Inside, NDArray]]:
        """Whether points are in clusters, and the rows for which this is asked.

        Each row is judged by the decision that was explained: rows of clusters leave noise aside, and
        where a probability must exceed a threshold, that is the question.
        """
        every = np.arange(len(self.points))
        if self.prepared is None:
            return [(lambda points, clusters: self.predict(points) == clusters, every)]
        net = self.prepared.rows.net
        parts = [(net, every)]
        if explained is not None:
            parts = judges(net, explained.clusters, explained.assigned)
        return [(inside(net), rows) for net, rows in parts]


def _setting(model: Any, X: Any, background: Any, explained: Explanation | None) -> _Setting:
    threshold = None
    if explained is not None:
        X = in_order_of(explained, X)
        threshold = explained.question.threshold
        if explained.question.duel:
            raise ValueError(
                "explanation compares with one competitor (against=), but here it is asked whether a row is "
                "in its cluster: explain without against=."
            )
    if background is not None:
        background = in_columns_of(background, read_input(X))
    if callable(model) and not hasattr(model, "predict") and not hasattr(model, "fit"):
        if threshold is not None:
            raise ValueError(
                f"explanation asks whether a probability exceeds {threshold:g}, but the model is a function "
                "that returns clusters: pass the model itself."
            )
        points = read_numbers(X)
        known = points if background is None else read_numbers(background, "background")
        if known.shape[1] != points.shape[1]:
            raise ValueError(f"background has {known.shape[1]} columns, but X has {points.shape[1]}.")
        table = read_input(X)
        sources = np.arange(points.shape[1])
        return _Setting(table, points, sources, _checked(model), known, given_names=table.names)
    labelled = surrogate_of(model, X)
    if labelled is not None:
        model, X = labelled.model, labelled.table
    table = read_input(X)
    net = network_for(model, table, threshold=threshold)
    asked = net.pool.threshold
    if explained is not None and threshold != asked:
        raise ValueError(
            "explanation asks which cluster is the most probable, but the model whether a probability "
            f"exceeds {asked:g}: explain this very model."
        )
    given = table.names or (list(net.feature_names) if net.named else None)
    return _Setting.of(Prepared.of(net, net.match(table), background), given)


def _checked(function: Callable[[NDArray], Any]) -> Callable[[NDArray], NDArray]:
    def predict(points: NDArray) -> NDArray:
        found = np.asarray(function(points))
        if found.shape != (len(points),):
            raise ValueError(
                f"The model, a function, returned shape {found.shape} for {len(points)} points, expected one "
                "cluster for each."
            )
        return found

    return predict


def _read_relevance(given: Any, explained: Explanation | None, setting: _Setting) -> NDArray:
    """Relevance of these very rows by this very model, which must put their columns in some order."""
    table = setting.table
    relevance = read_relevance(given, "explanation", setting.given_names, table.row_labels)
    refuse_other_rows(relevance.shape, table.shape, "explanation")
    if explained is None and setting.order is not None:
        relevance = relevance[:, setting.order]
    if explained is not None:
        if not _same(explained.data, table.data):
            raise ValueError("explanation is of rows with other values than X: explain these very rows.")
        elsewhere = float(np.mean(explained.assigned != setting.assigned))
        if elsewhere > _ROUNDING:
            raise ValueError(
                f"explanation is of another model, or of X in other units: by this model {elsewhere:.0%} of "
                "the rows are in other clusters. Explain this model."
            )
    if table.shape[1] > 1 and (relevance == relevance[:, :1]).all():
        raise ValueError(
            "explanation gives all columns of each row the same relevance, so there is no order in which "
            "to add them."
        )
    return relevance


def _same(data: Any, other: Any) -> bool:
    """Whether two tables hold the same values; missing ones are the same."""
    first, second = to_array(data), to_array(other)
    if first.dtype == object or second.dtype == object:
        missing = pd.isna(first)
        same = np.array_equal(missing, pd.isna(second))
        return bool(same and np.all(first[~missing] == second[~missing]))
    return bool(np.array_equal(first, second, equal_nan=True))


def _imputer(imputer: str | Callable[..., Any], setting: _Setting) -> Imputer:
    if callable(imputer):
        return Given(imputer)
    if imputer == "kde":
        return setting.density
    if imputer == "zero":
        return Constant(np.zeros(setting.known.shape[1]))
    if imputer == "mean":
        return Constant(setting.known.mean(axis=0))
    raise ValueError(
        f"imputer={imputer!r} is unknown, expected one of {', '.join(IMPUTERS)} or a function "
        "imputer(points, known, generator)."
    )
