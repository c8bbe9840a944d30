"""Algorithm 1: does adding the most relevant columns first bring a point into its cluster?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._checks import one_of, whole_number
from whyclust._frames import to_array
from whyclust._progress import done
from whyclust.explaining.explanation import Explanation
from whyclust.metrics.best_order import best_order
from whyclust.metrics.flipping_setting import Setting, setting_of
from whyclust.metrics.reading import (
    explanation_in,
    read_relevance,
    refuse_other_rows,
)
from whyclust.perturbing.encoded import Inside
from whyclust.perturbing.imputation import Constant, Given, Imputer, KernelDensity
from whyclust.perturbing.subject import Prepared

ORDERS = ("insert", "delete")
IMPUTERS = ("kde", "zero", "mean")
# Distances from a block of points to all rows of the density fit the caches.
_BLOCK_NUMBERS = 1 << 20
# Rows on a boundary may be assigned either way; more of them are another model's.
_ROUNDING = 0.01
# Where a curve is not measured at every number of columns, it is at this part of them further on.
_FINE = 32


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
    random, reference : float or None
        Areas of a random order and of the best order known, where they were asked for.
    """

    auc: float
    error: float
    curve: NDArray
    per_point: NDArray
    per_repeat: NDArray
    order: str
    imputer: str
    random: float | None = None
    reference: float | None = None

    @property
    def attained(self) -> float | None:
        """Of what the best order known gains over a random one, the part that this order gains.

        1 for the best order itself, 0 for one like chance, below 0 for worse; None where it was not asked
        (``reference=True``), NaN where no order is known to be better than chance.
        """
        if self.random is None or self.reference is None:
            return None
        return share_attained(self.auc, self.random, [self.reference], self.order)

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
    reference: bool = False,
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
    reference : bool
        Score a random order and the best order known as well: greedy, by the model, on the very density that
        scores, beginning from this explanation. What the explanation attains of it is then in ``attained``.
        It takes as long as scoring as many explanations as there are columns.
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
    explained = explanation_in(explanation)
    setting = setting_of(model, X, background, explained)
    scoring = _Scoring.of(setting, explained, imputer, n_repeats, order, leave_out, random_state)
    relevance = _read_relevance(explanation, explained, setting)
    found = scoring.score(relevance)
    if not reference:
        return found
    shuffled = np.random.default_rng(random_state).random((len(setting.points), setting.n_columns))
    best = scoring.score(scoring.best_order(relevance))
    return replace(found, random=scoring.score(shuffled).auc, reference=best.auc)


def flipping_of(
    prepared: Prepared, explanation: Explanation, *, n_repeats: int, random_state: int
) -> FlippingResult:
    """`flipping_auc` of an explanation of rows that are prepared, as by default.

    Where there are many columns the curve is measured at some of their numbers, and straight in between.
    """
    setting = Setting.of(prepared)
    scoring = _Scoring.of(setting, explanation, "kde", n_repeats, "insert", True, random_state)
    scoring = replace(scoring, steps=some_steps(setting.n_columns))
    return scoring.score(_read_relevance(explanation, explanation, setting))


def best_areas(
    prepared: Prepared, explanation: Explanation, rows: NDArray, *, n_repeats: int, random_state: int
) -> NDArray:
    """Areas of the best order known, for some of the rows that are prepared, on the density that scores."""
    setting = Setting.of(prepared)
    scoring = _Scoring.of(setting, explanation, "kde", n_repeats, "insert", True, random_state)
    scoring = replace(scoring, rows=rows, steps=some_steps(setting.n_columns))
    return scoring.score(scoring.best_order(_read_relevance(explanation, explanation, setting))).per_point


def some_steps(n_columns: int) -> NDArray:
    """Numbers of known columns at which a curve is measured: all up to 64, then every 32nd part further.

    >>> some_steps(64).tolist() == list(range(65))
    True
    >>> some_steps(100)[-5:].tolist()
    [92, 94, 96, 99, 100]
    """
    steps = [0]
    while steps[-1] < n_columns:
        steps.append(min(steps[-1] + max(1, steps[-1] // _FINE), n_columns))
    return np.array(steps)


def share_attained(score: float, floor: float, seen: Sequence[float], order: str) -> float:
    """Where a score stands between chance and the best that was seen, itself among them.

    >>> share_attained(80.0, 70.0, [90.0, 75.0], "insert"), share_attained(30.0, 40.0, [35.0], "delete")
    (0.5, 1.0)
    """
    sign = 1.0 if order == "insert" else -1.0
    room = max(sign * one for one in (*seen, score)) - sign * floor
    return sign * (score - floor) / room if room > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class _Scoring:
    """How orders of columns are scored: all on the same draws."""

    setting: Setting
    clusters: NDArray
    judges: list[tuple[Inside, NDArray]]
    filler: Imputer
    own: NDArray | None
    n_repeats: int
    order: str
    imputer: str
    random_state: int
    rows: NDArray
    steps: NDArray

    @classmethod
    def of(
        cls,
        setting: Setting,
        explained: Explanation | None,
        imputer: str | Callable[..., Any],
        n_repeats: int,
        order: str,
        leave_out: bool,
        random_state: int,
    ) -> _Scoring:
        filler = _imputer(imputer, setting)
        return cls(
            setting,
            setting.assigned if explained is None else explained.clusters,
            setting.judges(explained),
            filler,
            setting.own(filler) if leave_out and isinstance(filler, KernelDensity) else None,
            n_repeats,
            order,
            imputer if isinstance(imputer, str) else "given",
            random_state,
            np.arange(len(setting.points)),
            np.arange(setting.n_columns + 1),
        )

    def score(self, relevance: NDArray) -> FlippingResult:
        """The areas of an order of columns, the most relevant first."""
        generator = np.random.default_rng(self.random_state)
        # Reversed, removal is insertion from the least relevant column on.
        signed = -relevance if self.order == "insert" else relevance
        ranks = np.lexsort((generator.random(signed.shape), signed), axis=1)
        hits = np.empty((relevance.shape[1] + 1, self.n_repeats, len(relevance)), dtype=np.float32)
        for judged, rows in self._parts():
            hits[:, :, rows] = _curves(self, rows, ranks, judged, generator)
        hits = hits[:, :, self.rows]
        if self.order == "delete":
            hits = hits[::-1]
        areas = 100.0 * (hits[1:] + hits[:-1]).sum(axis=0) / 2.0 / relevance.shape[1]  # repeats × points
        per_point = areas.mean(axis=0)
        return FlippingResult(
            auc=float(areas.mean()),
            error=_standard_error(per_point if len(per_point) > 1 else areas.ravel()),
            curve=hits.mean(axis=(1, 2)),
            per_point=per_point,
            per_repeat=areas.mean(axis=1),
            order=self.order,
            imputer=self.imputer,
        )

    def best_order(self, seen: NDArray) -> NDArray:
        """Relevance by which columns come in the best order known, given that of an order to begin with."""
        found = np.zeros((len(self.setting.points), self.setting.n_columns))
        # Other draws than those that score: an order must not be good by their chance.
        generator = np.random.default_rng([self.random_state, 1])
        for judged, rows in self._parts():
            found[rows] = best_order(
                self.filler, self.own, self.setting, rows, self.clusters, judged, self.order, seen, generator
            )
        return found

    def _parts(self) -> Iterator[tuple[Inside, NDArray]]:
        for judged, rows in self.judges:
            kept = rows[np.isin(rows, self.rows)]
            if len(kept):
                yield judged, kept


def _standard_error(values: NDArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _curves(
    scoring: _Scoring, rows: NDArray, ranks: NDArray, inside: Inside, generator: np.random.Generator
) -> NDArray:
    """g_c of these rows for every number of known columns, draw and point, block by block."""
    filler, own, setting, n_repeats = scoring.filler, scoring.own, scoring.setting, scoring.n_repeats
    points, ranks, clusters = setting.points[rows], ranks[rows], scoring.clusters[rows]
    n_points, n_columns = ranks.shape
    size = max(1, _BLOCK_NUMBERS // max(filler.n_rows, n_repeats * points.shape[1], 1))
    hits = np.empty((n_columns + 1, n_repeats, n_points), dtype=np.float32)
    measured = scoring.steps.tolist()
    wanted = set(measured)
    for start in range(0, n_points, size):
        done(start / n_points)
        block = slice(start, start + size)
        path = filler.path(points[block], setting.sources)
        if own is not None:
            path.leave_out(own[rows][block])
        for step in range(n_columns + 1):
            if step:
                path.reveal(ranks[block, step - 1])
            if step not in wanted:
                continue
            drawn = path.sample(n_repeats if step < n_columns else 1, generator)
            found = inside(drawn.reshape(-1, points.shape[1]), np.tile(clusters[block], len(drawn)))
            hits[step, :, block] = found.reshape(len(drawn), -1)
    for before, after in pairwise(measured):
        for step in range(before + 1, after):
            share = np.float32((step - before) / (after - before))
            hits[step] = (1 - share) * hits[before] + share * hits[after]
    return hits


def _read_relevance(given: Any, explained: Explanation | None, setting: Setting) -> NDArray:
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


def _imputer(imputer: str | Callable[..., Any], setting: Setting) -> Imputer:
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
