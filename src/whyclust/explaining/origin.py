"""Where an explanation came from: the network and the rows, for whoever wants to ask more."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from whyclust.explaining.reaching import reach
from whyclust.inputs.reading import InputTable
from whyclust.network import Neuralized

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation
    from whyclust.perturbing.subject import Prepared


@dataclass(frozen=True, eq=False)
class Origin:
    """A network, the table it explained, and how the explanation was asked for.

    Attributes
    ----------
    network : Neuralized
    table : InputTable
        The user's rows.
    options : dict
        What `explain_rows` was told besides the question: groups, names, labels, the method, ...; and
        the model itself, if it shows more of its clusters than the network knows (see `as_it_is`).
    background : InputTable or None
        The data that rows come from, where another method than NEON was asked, or some rows were taken.
    """

    network: Neuralized
    table: InputTable
    options: dict[str, Any]
    background: Any = None

    def take(self, rows: NDArray) -> Origin:
        """The same for some of the rows."""
        given = self.options.get("given")
        options = self.options if given is None else {**self.options, "given": given[rows]}
        # Rows come from the whole table: what is asked about some of them may look at the others.
        background = self.table if self.background is None else self.background
        return replace(self, table=self.table.take(rows), options=options, background=background)

    def scores(self) -> NDArray:
        """Evidence of every cluster."""
        return self.network.scores(self.table)

    def ask(self, *, cluster: Any, against: Any, rule: str | None) -> Explanation:
        """Another answer, about the same rows."""
        other = self.options["method"] != "neon"
        prepared = prepared_rows(self.network, self.table, self.background) if other else None
        question = {"cluster": cluster, "against": against, "rule": rule}
        return reach("explain_rows")(self.network, self.table, **question, **self.options, prepared=prepared)


def prepared_rows(net: Neuralized, table: InputTable, background: Any) -> Prepared:
    """What a baseline needs to know of the rows; baselines are imported on use."""
    return reach("Prepared").of(net, net.match(table), background)


def as_it_is(model: Any) -> Any:
    """A deep model, or a pipeline that ends in one, as it is now, whatever it is fitted to later.

    It has a decoder, and maybe two spaces (ACe/DeC) or gates (IDC), of which the network knows nothing. None
    for all others.
    """
    if isinstance(model, FrozenEstimator):
        return as_it_is(model.estimator)
    steps = getattr(model, "steps", None)
    if not steps:
        return copy.copy(model) if hasattr(type(model), "decoded_centers") else None
    name, last = steps[-1]
    kept = as_it_is(last)
    if kept is None:
        return None
    copied = copy.copy(model)
    copied.steps = [*steps[:-1], (name, kept)]
    return copied
