"""What is audited: a network, the rows it explains, and what can be fitted again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import take_rows
from whyclust.cluster.choose_k import ChosenK
from whyclust.cluster.fidelity import Fidelity
from whyclust.inputs.reading import InputTable, read_input, without_unknown
from whyclust.labels.given import is_labels
from whyclust.labels.surrogates import surrogate_in, surrogate_of
from whyclust.network import Neuralized, neuralize
from whyclust.network.models import column_names, last_step
from whyclust.network.neuralizing import network_for


@dataclass(frozen=True, eq=False)
class Subject:
    """A clustering with its rows.

    Attributes
    ----------
    net : Neuralized
    table : InputTable
        The rows, in columns that the network reads.
    model : estimator or None
        What can be fitted again.
    fixed : str or None
        Why nothing can be fitted again, where `model` is None.
    given : ndarray of shape (n_rows,) or None
        Labels that are explained, where they are all that is known.
    as_given : bool
        Whether the labels came from the user, who vouches for them, and not from a clustering.
    fidelity : Fidelity or None
        How well a surrogate reproduces the labels.
    source : str or None
        Where the labels came from.
    chosen : ChosenK or None
        What was counted when the number of clusters was chosen.
    """

    net: Neuralized
    table: InputTable
    model: Any = None
    fixed: str | None = None
    given: NDArray | None = None
    as_given: bool = False
    fidelity: Fidelity | None = None
    source: str | None = None
    chosen: ChosenK | None = None

    @property
    def clusters(self) -> NDArray:
        """The cluster that is explained in each row."""
        return self.net.predict_rows(self.table) if self.given is None else self.given


def subject_of(model: Any, X: Any, background: Any = None) -> Subject:
    """Read a model and its rows as `explain` does, so that its very explanations are audited."""
    from_user = is_labels(model)
    labelled = surrogate_of(model, X)
    if labelled is not None:
        # Columns were matched with the model's, and text encoded, when the surrogate was fitted.
        return Subject(
            net=neuralize(labelled.model, background),
            table=labelled.table,
            fixed=labels_alone(None if from_user else labelled.source),
            given=labelled.labels,
            as_given=from_user,
            fidelity=last_step(labelled.model).fidelity_,
            source=labelled.source,
        )
    table = without_unknown(read_input(X), column_names(model))
    net = network_for(model, table, background)
    table = net.match(table)
    fixed, surrogate = _why_fixed(model), surrogate_in(model)
    return Subject(
        net=net,
        table=table,
        model=model if fixed is None else None,
        fixed=fixed,
        fidelity=None if surrogate is None else surrogate.fidelity_,
    )


def labels_alone(source: str | None) -> str:
    """Why labels cannot be fitted again."""
    if source is None:
        return "labels were given, and labels cannot be fitted again"
    return f"{source} cannot assign rows that it was not fitted on, so its refits cannot be compared"


@singledispatch
def _why_fixed(model: Any) -> str | None:
    """Why a model cannot be fitted again; None where it can."""
    if surrogate_in(model) is not None:
        return "a surrogate stands for labels, and labels cannot be fitted again"
    if not (hasattr(model, "get_params") and hasattr(model, "fit") and hasattr(model, "predict")):
        return f"a {type(model).__name__} cannot be fitted again as scikit-learn's estimators can"
    return None


@_why_fixed.register
def _(model: Neuralized) -> str:
    return "a network was given, or one loaded from a file, which cannot be fitted again"


def rows_of(table: InputTable, rows: NDArray) -> InputTable:
    """Some rows of a table, as a table."""
    return InputTable(
        take_rows(table.data, rows), table.names, None if table.index is None else table.index[rows]
    )


def stratified(clusters: NDArray, count: int, generator: np.random.Generator) -> NDArray:
    """Positions of `count` rows, of every cluster its share, and one at least while there is room.

    >>> clusters = np.repeat([0, 1], [90, 10])
    >>> np.bincount(clusters[stratified(clusters, 20, np.random.default_rng(0))])
    array([18,  2])
    """
    n_rows = len(clusters)
    if n_rows <= count:
        return np.arange(n_rows)
    codes = np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(codes)
    # In a random order of rows, the place of each among those of its cluster.
    order = generator.permutation(n_rows)
    by_cluster = order[np.argsort(codes[order], kind="stable")]
    places = np.empty(n_rows)
    places[by_cluster] = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # Equal parts of every cluster come first; its first row before all.
    first = order[np.argsort((places / sizes[codes])[order], kind="stable")]
    return np.sort(first[:count])
