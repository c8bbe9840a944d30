"""What pictures of the two spaces of ACe/DeC ask: the clustering, and rows of a table in its units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import in_rows_of
from whyclust.inputs.reading import InputTable, numeric
from whyclust.network.models import read_for
from whyclust.network.spaces import without_spaces
from whyclust.plots.undoing import steps_of

# More points than this are a blot.
_MOST_POINTS = 5_000


@dataclass(frozen=True, eq=False)
class Asked:
    """A clustering with two spaces, behind the steps of its pipeline, and the user's rows.

    Attributes
    ----------
    model : Pipeline or ACeDeC
    deep : ACeDeC
    table : InputTable
        With the model's columns, in its order.
    """

    model: Any
    deep: Any
    table: InputTable

    def __len__(self) -> int:
        return self.table.shape[0]

    @property
    def index(self) -> NDArray:
        """What rows are called, as in explanations."""
        return np.arange(len(self)) if self.table.index is None else self.table.index

    @property
    def data(self) -> Any:
        """The user's values."""
        return self.table.data

    @property
    def feature_names(self) -> list[str]:
        """The columns, where they have names."""
        return self.table.names or []

    def encoded(self, rows: NDArray | None = None) -> Any:
        """Rows, by default all, as the clustering takes them."""
        data = self.table.data if rows is None else self.table.rows(rows)
        for step in steps_of(self.model)[:-1]:
            data = step.transform(data)
        return data

    def numbers(self, rows: NDArray) -> NDArray:
        """The user's own values."""
        return np.asarray(numeric(self.table.rows(rows)), dtype=float)

    def named(self, row: int) -> str:
        """What a row is called: by its label, or by its position."""
        return f"row {self.index[row]}"

    def drawn(self) -> NDArray:
        """Rows whose points are drawn, in no order, so that none hides a cluster."""
        return np.random.default_rng(0).permutation(len(self))[:_MOST_POINTS]

    def told(self, rows: NDArray) -> str:
        """That not all rows are drawn, if that is so."""
        return f" ({len(rows):,} of {len(self):,} rows drawn, at random)" if len(rows) < len(self) else ""

    def principal(self, turned: NDArray, count: int, first: int = 0) -> tuple[NDArray, list[str]]:
        """Rows along directions of the shared space, seen from the mean, and what these are called."""
        units, spreads = self.deep.directions("shared")
        shares = spreads**2 / ((spreads**2).sum() or 1.0)
        chosen = range(first, min(first + count, len(units)))
        names = [f"direction {place + 1} ({shares[place]:.0%} of its variance)" for place in chosen]
        return (turned - self.deep.turned_mean_) @ units[first : first + count].T, names

    @property
    def is_soft(self) -> bool:
        """Whether dimensions lie in both spaces, each with a part of its weight."""
        weights = self.deep.cluster_weights_
        return bool(((weights > 0.0) & (weights < 1.0)).any())

    def coded(self, labels: Any, rows: NDArray, encoded: Any) -> tuple[NDArray, list[str], str]:
        """Number of the cluster or label of each row, what they are called, and what they are."""
        if labels is None:
            names = [str(cluster) for cluster in range(len(self.deep.cluster_centers_))]
            return self.deep.predict(encoded), names, "cluster"
        given = np.asarray(in_rows_of(labels, self.table.row_labels, "labels"))
        if given.shape != (len(self),):
            raise ValueError(
                f"labels has shape {given.shape}, expected one label for each of {len(self)} rows."
            )
        known, codes = np.unique(given, return_inverse=True)
        return codes[rows], [str(name) for name in known.tolist()], "label"


def asked(model: Any, X: Any) -> Asked:
    """Read what a picture of two spaces is to be made of."""
    deep = (steps_of(model) or [None])[-1]
    if not hasattr(type(deep), "shared_dims_"):
        raise TypeError(without_spaces(deep))
    return Asked(model, deep, read_for(model, X))
