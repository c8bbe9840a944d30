"""Explanation: relevance of every column for every row, and what people do with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import counted, whole_number
from whyclust._extras import missing
from whyclust._frames import column_values, take_rows, to_array
from whyclust._sorting import as_counted
from whyclust.cluster.fidelity import Fidelity
from whyclust.explaining.answering import Answering
from whyclust.explaining.choosing import (
    is_label,
    long_frame,
    place_of,
    positions_of,
    present_values,
    relevance_of,
    unfit_rows,
)
from whyclust.explaining.left_out import with_data, without_data
from whyclust.explaining.naming import read_cluster_names
from whyclust.explaining.reaching import reach
from whyclust.explaining.records import Provenance, Question
from whyclust.explaining.showing import Showing
from whyclust.inputs import InputKind
from whyclust.network.rivalry import Rivalry
from whyclust.network.values import FactoredValues, top_columns

if TYPE_CHECKING:
    import pandas as pd

    from whyclust.explaining.origin import Origin
    from whyclust.plots import Plots
    from whyclust.telling.summary import Summary

PER_ROW = ("base_values", "explained", "evidence", "clusters", "assigned", "competitors")
# Typical and borderline rows of a cluster that a summary names.
_USUAL_MEMBERS = 3


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(Answering, Showing):
    """Why each row is in a cluster.

    ``values.sum(axis=1) + base_values == explained``, to rounding. A positive value speaks for
    the cluster, a negative one against it.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns), or FactoredValues for sparse tables
        Relevance.
    base_values : ndarray of shape (n_rows,)
        The part of the evidence that belongs to no column.
    explained : ndarray of shape (n_rows,)
        Σ_k α_k h_k, the evidence that is explained.
    evidence : ndarray of shape (n_rows,)
        f_c: positive where the row is in the cluster, 0 on the boundary.
    clusters, assigned, competitors : ndarray of shape (n_rows,)
        The cluster explained, the cluster the row is in, and the strongest competitor.
    feature_names : list of str
    data : array, sparse matrix or frame
        The user's own values.
    index : ndarray
        Row labels.
    beta : float
        Stiffness of the network (Eq. 3).
    rule : str
        How relevance passed the minimum over competitors.
    question : Question
        What was asked: which clusters, against which, whether a probability exceeds a threshold.
    provenance : Provenance
        What it was computed by: method, model, parts of the network.
    kind : InputKind
        What rows are: those of a table, images, ...
    given : ndarray of shape (n_rows,) or None
        The labels given for the rows, where labels were explained and not a model.
    fidelity : Fidelity or None
        How well a surrogate reproduces the labels it was fitted to.
    origin : Origin or None
        The network and the rows it came from, for further questions; files do not keep them.
    names : dict of cluster to str
        What the user calls some clusters; `cluster_names` has a name for each.
    rivalry : Rivalry or None
        Which other clusters count as competitors of each: what words compare a cluster with.
    notes : list of str
        What was done to the table: gaps filled in, columns left out.
    absent : bool
        Whether columns that are zero in a row are shown: see `showing`.
    errors : ndarray of shape (n_rows, n_columns) or None
        Standard errors of `values`, where the method draws at random and knows them.
    """

    values: Any
    base_values: NDArray
    explained: NDArray
    evidence: NDArray
    clusters: NDArray
    assigned: NDArray
    competitors: NDArray
    feature_names: list[str]
    data: Any
    index: NDArray
    beta: float
    rule: str
    question: Question = field(default_factory=Question)
    provenance: Provenance = field(default_factory=Provenance)
    kind: InputKind = field(default_factory=InputKind)
    given: NDArray | None = None
    fidelity: Fidelity | None = None
    origin: Origin | None = None
    names: dict[Any, str] = field(default_factory=dict)
    rivalry: Rivalry | None = None
    notes: list[str] = field(default_factory=list)
    absent: bool = True
    errors: NDArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def labels(self) -> NDArray:
        """The cluster each row is in: the label given for it, or else the one the model assigns."""
        return self.assigned if self.given is None else self.given

    @property
    def images(self) -> NDArray:
        """Relevance in the shape of the images that were explained, (n_rows, ..., height, width)."""
        return self.kind.shaped(np.asarray(self.values))

    @property
    def disagrees(self) -> NDArray:
        """Rows that the surrogate assigns elsewhere than to the label given; all False without labels."""
        if self.given is None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.assigned != self.given)

    @property
    def noise(self) -> Any:
        """The label of rows in no cluster, or None."""
        return self.provenance.noise if self.fidelity is None else self.fidelity.noise

    def named(self, cluster: Any) -> str:
        """What a cluster is called in a sentence: "cluster 3", "cluster 3 'students'", or "noise"."""
        return "noise" if self.is_noise(cluster) else f"cluster {self.short_name(cluster)}"

    def short_name(self, cluster: Any) -> str:
        """What a cluster is called in a list or a table: "3", "3 'students'", or "noise"."""
        if self.is_noise(cluster):
            return "noise"
        return f"{cluster} '{self.names[cluster]}'" if cluster in self.names else str(cluster)

    def titled(self, cluster: Any) -> str:
        """What a cluster is called where it comes first: with its name, also one that was proposed."""
        found = {one.cluster: one.title for one in self.summary()}
        return found.get(cluster, self.named(cluster))

    @property
    def cluster_names(self) -> dict[Any, str]:
        """A short name for each cluster that is explained: the user's, or one proposed from its columns."""
        own = self.in_order(np.unique(self.clusters))
        if all(one in self.names for one in own):  # nothing is to be proposed
            return {one: self.names[one] for one in own}
        return {one.cluster: one.name for one in self.summary()}

    def with_names(self, names: Mapping[Any, str]) -> Explanation:
        """Return the same with other names for some clusters, used beside their ids: ``{2: "students"}``."""
        if self.rivalry is None:
            known = np.unique(np.concatenate([self.clusters, self.assigned, self.competitors])).tolist()
        else:
            known = self.rivalry.clusters.tolist()
        return replace(self, names={**self.names, **read_cluster_names(names, known)})

    def without_data(self) -> Explanation:
        """Return the same explanation without its rows, for a smaller file; what needs them then says so."""
        return without_data(self)

    def with_data(self, data: Any) -> Explanation:
        """Return the same explanation with rows: a frame that has its columns, or an array of its shape."""
        return with_data(self, data)

    def in_order(self, clusters: Iterable[Any]) -> list[Any]:
        """Clusters in the order in which people count, 2 before 10, noise last."""
        ids = (one.item() if isinstance(one, np.generic) else one for one in clusters)
        return sorted(ids, key=lambda one: (self.is_noise(one), as_counted(one)))

    def is_noise(self, cluster: Any) -> bool:
        """Whether this is the label of rows in no cluster."""
        return self.noise is not None and bool(cluster == self.noise)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, rows: Any) -> Any:
        """Return an explanation of some rows: a position, a slice, a mask, a list of positions, or labels.

        A mask that is a Series is matched with the rows by its index, where they have one. Labels are texts
        in the rows' index: ``ex["customer 7"]``, or tuples of an index of several levels. With names of
        columns as well, the relevance of these is returned, as pandas does: ``ex[:, "income"]`` a Series,
        ``ex[:10, ["age", "income"]]`` a frame.
        """
        if isinstance(rows, tuple) and len(rows) == 2 and not is_label(self, rows):
            return relevance_of(self[rows[0]], rows[1])
        if (isinstance(rows, tuple) and not is_label(self, rows)) or rows is None:
            raise TypeError(f"[{rows!r}] is no choice of rows, or of rows and columns: ex[:3, 'age'].")
        positions = positions_of(self, rows)
        try:
            chosen = np.atleast_1d(np.arange(len(self))[positions])
        except (IndexError, TypeError, ValueError):
            chosen = None
        if chosen is None or chosen.ndim > 1:  # True and lists of lists would make an axis of their own
            raise unfit_rows(rows, len(self))
        per_row = [*PER_ROW, *(name for name in ("given", "errors") if getattr(self, name) is not None)]
        return replace(
            self,
            values=self.values[chosen],
            data=take_rows(self.data, chosen),
            index=self.index[chosen],
            kind=self.kind.take(chosen),
            origin=None if self.origin is None else self.origin.take(chosen),
            **{name: getattr(self, name)[chosen] for name in per_row},
        )

    def __repr__(self) -> str:
        names = [self.short_name(cluster) for cluster in self.in_order(np.unique(self.clusters))]
        listed = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
        return (
            f"<Explanation of {counted(len(self), 'row')} × {counted(self.shape[1], 'column')}, "
            f"clusters {listed}, rule {self.rule}{self._trust()}>"
        )

    def _trust(self) -> str:
        if self.fidelity is None:
            return ""
        return f", by a surrogate that agrees with {self.fidelity.overall_held_out:.1%} of labels not seen"

    def _repr_html_(self) -> str:
        return reach("glance")(self, self._summaries.get(_USUAL_MEMBERS))

    @property
    def is_factored(self) -> bool:
        """Whether relevance is kept as factors, as it is for sparse tables."""
        return isinstance(self.values, FactoredValues)

    def top(self, count: int = 10) -> tuple[NDArray, NDArray]:
        """Return names and relevance of each row's strongest columns, by absolute value.

        Both are of shape (n_rows, count), the strongest column first; :meth:`strongest` has positions. Where
        `absent` columns are not shown, a row may have fewer: the others have no name and relevance 0.
        """
        places, values = self.strongest(count)
        names = np.asarray(self.feature_names, dtype=object)[places]
        return names if self.absent else np.where(values == 0, "", names), values

    def strongest(self, count: int = 10) -> tuple[NDArray, NDArray]:
        """Return positions and relevance of each row's strongest columns, by absolute value."""
        whole_number("count", count, 0)
        if self.is_factored:
            return self.shown.top(count)
        return top_columns(self.shown, count)

    def showing(self, *, absent: bool) -> Explanation:
        """Return the same explanation, of which columns that are zero in a row are shown, or not.

        Words that a text does not have, and genes that a cell does not express, have relevance, too. With
        ``absent=False`` they are left out of sentences, summaries, `top`, plots and reports: a cluster's
        columns are then told by the rows that have them. They stay in ``values`` and in all sums.
        """
        return replace(self, absent=bool(absent))

    @cached_property
    def shown(self) -> Any:
        """Relevance that is shown: ``values``, or those of columns that are not zero in their row."""
        if self.absent:
            return self.values
        return replace(self.values, present=True) if self.is_factored else present_values(self)

    def column(self, name: str) -> NDArray:
        """Return the user's values of one column."""
        return self._column(place_of(self, name))

    def _column(self, position: int) -> NDArray:
        return column_values(self.data, position)

    # --- further questions --------------------------------------------------------------------

    def scores(self) -> NDArray:
        """Return the evidence of every cluster for every row, (n_rows, n_clusters).

        Columns are in the order of ``ex.origin.network.clusters``; a row is in the cluster whose evidence
        is positive.
        """
        return self._origin().scores()

    def ask(self, *, cluster: Any = None, against: Any = None, rule: str | None = None) -> Explanation:
        """Answer another question about the same rows: ``ex.ask(cluster=3, against=1)``.

        Parameters
        ----------
        cluster, against : cluster id, or one for each row, optional
            As for :func:`whyclust.explain`.
        rule : str, optional
            How relevance passes the minimum over competitors.
        """
        return replace(
            self._origin().ask(cluster=cluster, against=against, rule=rule),
            names=self.names,
            absent=self.absent,
        )

    def _origin(self) -> Origin:
        if self.origin is None:
            raise ValueError(self.question.unanswered)
        return self.origin

    @classmethod
    def concat(cls, parts: Sequence[Explanation]) -> Explanation:
        """Return one explanation of the rows of several, which answer the same question.

        Parts must come from one network: the same columns, β, rule, question and kind of rows.
        """
        return reach("joined")(list(parts))

    # --- answers for people -------------------------------------------------------------------

    def summary(self, *, members: int = _USUAL_MEMBERS) -> Summary:
        """Return, per cluster: its size, what sets it apart, typical and borderline rows."""
        if members not in self._summaries:
            self._summaries[members] = reach("summarise")(self, members)
        return self._summaries[members]

    @cached_property
    def _summaries(self) -> dict[int, Summary]:
        return {}

    def describe(self, *, top: int = 3, answers: bool = False) -> str:
        """Return plain sentences: about the one row, or about each cluster.

        Parameters
        ----------
        top : int
            How many features to name.
        answers : bool
            Whether to add which columns suffice, what would move the row, and rules: that takes seconds.
        """
        whole_number("top", top, 0)
        told = reach("describe_row" if len(self) == 1 else "describe_clusters")(self, top)
        return "\n".join([told, *reach("answers_in_words")(self)]) if answers else told

    @property
    def plot(self) -> Plots:
        """Plots of this explanation: ``ex.plot.relevance()``; ``dir(ex.plot)`` lists them."""
        return reach("Plots")(self)

    def to_pandas(self, *, long: bool = False) -> pd.DataFrame:
        """Return relevance as a frame.

        Parameters
        ----------
        long : bool
            Whether there is one line for each row and column, with the row's cluster, competitor and
            evidence and the column's value and relevance. Otherwise one line for each row, one column for
            each feature. The rows' labels are the index.
        """
        import pandas as pd

        wide = pd.DataFrame(np.asarray(self.values), index=self.index, columns=self.feature_names)
        return long_frame(self, wide) if long else wide

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation``, for shap's plots: red speaks for the cluster, as in ours."""
        try:
            import shap
        except ImportError:
            raise missing("to_shap()", "shap") from None
        return shap.Explanation(
            values=np.asarray(self.values),
            base_values=self.base_values,
            data=to_array(self.data),
            feature_names=self.feature_names,
        )

    def save(self, path: str | Path) -> Path:
        """Write to a .parquet, .npz or .json file, which :func:`whyclust.load` reads; no pickle."""
        return reach("save")(self, path)
