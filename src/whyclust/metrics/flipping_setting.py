"""What Algorithm 1 is run on: points in numbers, the decision that is asked, and the background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.explaining.explanation import Explanation
from whyclust.inputs.reading import InputTable, in_columns_of, read_input
from whyclust.labels.surrogates import surrogate_of
from whyclust.metrics.reading import in_order_of, read_numbers
from whyclust.network.apart import judges
from whyclust.network.neuralizing import network_for
from whyclust.perturbing.encoded import Inside, as_rows, inside
from whyclust.perturbing.imputation import KernelDensity
from whyclust.perturbing.subject import Prepared


@dataclass(frozen=True, eq=False)
class Setting:
    """Points in numbers, where their columns come from, how they are assigned, and the background."""

    table: InputTable
    points: NDArray
    sources: NDArray
    predict: Callable[[NDArray], NDArray]
    known: NDArray
    given_names: list[str] | None = None
    prepared: Prepared | None = None

    @classmethod
    def of(cls, prepared: Prepared, given_names: list[str] | None = None) -> Setting:
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
        """Columns that can become known."""
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


def setting_of(model: Any, X: Any, background: Any, explained: Explanation | None) -> Setting:
    """Read a model and its rows as `explain` does, or a function and its points."""
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
        return Setting(table, points, sources, _checked(model), known, given_names=table.names)
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
    return Setting.of(Prepared.of(net, net.match(table), background), given)


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
