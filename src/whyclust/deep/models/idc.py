"""IDC: clusters that say which columns drive them, for each row and for each cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import silhouette_score
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from whyclust._checks import whole_number
from whyclust.deep.autoencoding import PretrainedClusterer
from whyclust.deep.models.column_groups import check_groups, groups_of
from whyclust.deep.models.gate_complaints import of_clusters, of_columns, of_number
from whyclust.deep.models.gated_clustering import FORMS, GatedClusteringModel, rows_of_step
from whyclust.deep.networks.autoencoders import usual_sizes
from whyclust.deep.parameters import choice, number, optional, setting, yes_or_no
from whyclust.deep.training.keeping import Runs
from whyclust.deep.training.loop import Progress
from whyclust.deep.training.phases import DeepModel, rows_embedded

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation
    from whyclust.explaining.of_gates import GatesAndRelevance

# Rows of which the silhouette of a start is taken, at most.
_MOST_ROWS = 2000
# A column is selected where its gate, averaged over a cluster's rows, is more open than shut.
_SELECTED = 0.5
# Hidden layers of the paper (appendix B).
_PAPERS = (512, 512, 2048)


def number_or_auto(name: str, value: Any) -> None:
    """None, "auto", or a whole number."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return
    if isinstance(value, str):
        raise ValueError(f"{name}={value!r}, expected None, 'auto' or a whole number.")
    whole_number(name, value, 1)


class IDC(PretrainedClusterer):
    """Interpretable deep clustering: gates choose the columns of each row before it is clustered (IDC).

    Stage 1: a small network looks at a row and gives every column a gate between 0 and 1; an autoencoder
    learns to restore the row from the columns that are open, and open gates have a price. Stage 2: a head
    learns clusters of the embedding, and each cluster learns gates of its own, which tell it from the others.
    :meth:`local_gates` tells which columns a row was clustered by, ``global_gates_`` which ones drive a
    cluster. Gates multiply columns, so a shut one is a column of zeros: standardise columns first.

    Of a table with fewer rows than columns networks know the rows by heart. There the autoencoder has no
    hidden layers unless `hidden` gives them, gates move for all rows together, and the head begins with
    k-means and sees all rows in each step. Where the autoencoder is linear and `coding` is "rays", the axes
    of its embedding are those of what it restores, the widest first: for k clusters k − 1 equally wide ones,
    a k-th as far as it is no noise, and further ones of next to no width.

    Parameters
    ----------
    gates : bool
        Whether rows have gates; without, all columns are used and only clusters have gates (the paper's
        second version).
    n_features : None, "auto" or int
        Open gates of a row, on average, that the price of gates is searched for, within the one fit and
        without labels. ``"auto"`` opens as few as keep nine tenths of what the autoencoder restores of whole
        rows. None leaves the price as `sparsity` says.
    sparsity : float
        λ, the price of an open gate beside the absolute error of a column; it rises from zero along a
        cosine. With `n_features` it is where the search begins.
    diversity : float or None
        Weight of the coding rate of gates (Eq. 4), by which rows open different gates. None takes 0.2, or
        the 0.01 of the released form.
    global_sparsity : float
        λ_g, the same for the gates of clusters.
    groups : None, "correlation", or lists of columns
        Columns of a group have one gate, so that they open together, and a group costs what a column does.
        ``"correlation"`` takes columns for alike from an absolute correlation of 0.9 on. Columns are
        positions, or names where X has them.
    temperature : float
        τ of the Gumbel-softmax by which the head learns (Eq. 5): lower is harder.
    coding : {"rays", "weighted", "printed"}
        The head's loss (Eq. 6). As printed, rates of clusters are summed, which prefers one cluster for all
        rows; the released code weighs each by its share of the rows (``"weighted"``). Both take rows on
        opposite sides of zero for alike; ``"rays"`` weighs rates and tells opposite sides apart.
    form : {"paper", "released"}
        Where the code released with the paper differs: less noise at the gates and a wider regulariser,
        squared errors instead of absolute ones, and means over columns instead of sums.
    epochs : int
        Of stage 2, the clusters.
    pretrain_epochs : int
        Of stage 1, the first tenth of them without gates.
    batch_size : int, "auto" or None
        Rows of a step, at most. ``"auto"`` is 100, or 16 where a table has fewer rows than columns, for gates
        need some hundred steps to move; None takes all rows at once.
    learning_rate : float
        Adam's in stage 1; the head's is ten times this, and that of the clusters' gates, by plain gradient
        descent, a hundred times.
    n_init : int
        Starts, of which the best one is kept; starts with empty clusters come last.
    chosen_by : {"silhouette", "loss"}
        By which starts are compared: the silhouette of the clusters, in the directions of which the head's
        loss is taken, or that loss.

    Attributes
    ----------
    global_gates_ : ndarray of shape (n_clusters, n_features)
        The gate of each column for each cluster.
    cluster_gates_ : ndarray of shape (n_clusters, n_features)
        The local gates of each cluster's rows, on average.
    cluster_means_ : ndarray of shape (n_clusters, n_features)
        Its rows, on average.
    selected_features_ : ndarray of int
        Columns that are more open than shut for the rows of at least one cluster, on average.
    n_open_ : float
        Open gates of a row, on average.
    sparsity_ : float
        λ at the end.
    column_groups_ : ndarray of int of shape (n_features,)
        The group of each column, where `groups` is given.
    labels_, cluster_centers_, cluster_spreads_, empty_clusters_, history_, scores_, model_, device_
        See :class:`whyclust.deep.base.DeepClusterer`; centres are means of the embedding.

    Examples
    --------
    >>> from whyclust.datasets import make_idc_synthetic
    >>> from whyclust.deep import IDC
    >>> X, y, informative = make_idc_synthetic(800, random_state=0)
    >>> model = IDC(4, epochs=30, pretrain_epochs=60, random_state=0).fit(X)
    >>> model.selected_features_
    array([0, 1, 2])
    """

    gates: bool = setting(True, yes_or_no)
    n_features: Any = setting(None, number_or_auto)
    sparsity: float = setting(0.5, number(zero=True))
    diversity: float | None = setting(None, optional(number(zero=True)))
    global_sparsity: float = setting(0.1, number(zero=True))
    groups: Any = setting(None, check_groups)
    temperature: float = setting(1.0, number())
    coding: str = setting("rays", choice(["rays", "weighted", "printed"]))
    form: str = setting("paper", choice(FORMS))
    chosen_by: str = setting("silhouette", choice(["silhouette", "loss"]))
    pretrain_epochs: int = 200
    batch_size: Any = setting("auto", number_or_auto)
    batch_norm: bool = True
    activation: str = "relu"

    # Table 7. The embedding is as wide as there are clusters (appendix B). BIASE has 56 rows, not 301.
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        name: {
            "n_clusters": n_clusters,
            "pretrain_epochs": first,
            "epochs": second,
            "batch_size": batch,
            "hidden": _PAPERS,
        }
        for name, n_clusters, first, second, batch in (
            ("synthetic", 4, 50, 2000, 800),
            ("mnist", 10, 300, 600, 256),
            ("mnist10k", 10, 300, 700, 100),
            ("fmnist", 10, 100, 500, 256),
            ("tox171", 4, 10000, 2000, None),
            ("allaml", 2, 10000, 1000, None),
            ("prostate_ge", 2, 10000, 1000, None),
            ("srbct", 4, 2000, 1000, None),
            ("biase", 4, 2000, 4000, None),
            ("intestine", 13, 4000, 2000, None),
            ("pbmc2", 2, 100, 200, 256),
        )
    }

    # --- fit ------------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.n_features is not None and not self.gates:
            raise ValueError(f"n_features={self.n_features!r} counts gates, but gates=False: leave one out.")

    def _prepare(self, table: NDArray) -> None:
        super()._prepare(table)
        self._n_rows = len(table)
        if isinstance(self.n_features, (int, np.integer)) and self.n_features > table.shape[1]:
            raise ValueError(
                f"n_features={self.n_features!r}, more than the {table.shape[1]} columns of X: ask for fewer."
            )
        names = getattr(self, "feature_names_in_", None)
        self._members = groups_of(self.groups, table, None if names is None else list(names))
        self._alike = np.flatnonzero((table == table[0]).all(axis=0) & (table[0] != 0))
        self._spreads = table.std(axis=0, dtype=np.float64)

    def _few_rows(self, n_features: int) -> bool:
        """Whether the table of the fit has fewer rows than columns; of images that is not asked."""
        if self.image_shape is not None:
            return False
        n_rows = getattr(self, "_n_rows", None)  # of the fit at hand, or else of the one that is over
        if n_rows is None:
            n_rows = len(self.labels_) if hasattr(self, "labels_") else n_features
        return bool(n_rows < n_features)

    def _rows_of_step(self, table: NDArray) -> int:
        few_rows = self.image_shape is None and len(table) < table.shape[1]
        return min(rows_of_step(self.batch_size, few_rows), len(table))

    def _layers(self, n_features: int) -> list[int]:
        # With any hidden layer an autoencoder knows a hundred rows of thousands of columns by heart, and the
        # embedding tells rows apart instead of clusters (docs/measurements.md).
        if self.hidden is None and self._few_rows(n_features):
            return []
        return super()._layers(n_features)

    def _normalises_batches(self) -> bool:
        return True  # the head and the classifier do, whatever the autoencoder does

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        hidden = self._layers(n_features)
        usual = usual_sizes(n_features)[0]
        dense = self.image_shape is None and self.autoencoder is None and hidden
        sizes = (hidden[0], hidden[-1]) if dense else (usual, usual)
        members = getattr(self, "_members", getattr(self, "column_groups_", None))
        autoencoder = self._autoencoder(n_features, generator)
        few_rows = self._few_rows(n_features)
        return GatedClusteringModel(
            autoencoder, n_features, self, members, sizes, generator, few_rows=few_rows
        )

    def _score(self, model: Any, data: Tensor, progress: Progress) -> float:
        z = rows_embedded(model, data)
        logits, h = model.logits(z), model.directions(z)
        if self.chosen_by == "loss":
            return float(model.coding(h, logits))
        step = -(-len(z) // _MOST_ROWS)
        points, ids = h[::step].cpu().numpy(), logits[::step].argmax(dim=1).cpu().numpy()
        n_found = len(np.unique(ids))
        return -float(silhouette_score(points, ids)) if 1 < n_found < len(ids) else 1.0

    def _take(self, model: DeepModel, device: torch.device, table: NDArray, runs: Runs) -> None:
        super()._take(model, device, table, runs)
        found: Any = self.model_
        gates = self._over_rows(found.local_gates, table)
        self._gates_at = float(gates.min()), float(gates.max())
        self.n_open_ = float((gates > 0).sum(axis=1).mean())
        self.sparsity_ = float(found.sparsity.lam)
        self.global_gates_ = found.global_gates().detach().cpu().numpy()
        self.cluster_gates_, self.cluster_means_ = (
            np.stack([_mean(values[self.labels_ == k], values) for k in range(self.n_clusters)])
            for values in (gates, table)
        )
        driving = self.cluster_gates_ if self.gates else self.global_gates_
        used = np.delete(driving, np.setdiff1d(range(self.n_clusters), self.labels_), axis=0)
        self.selected_features_ = np.flatnonzero((used > _SELECTED).any(axis=0))
        self.__dict__.pop("column_groups_", None)  # of an earlier fit
        if self._members is not None:
            self.column_groups_ = self._members
        del self._members, self._n_rows

    def _complaints(self) -> Iterator[str]:
        yield from super()._complaints()
        alike, spreads = self.__dict__.pop("_alike"), self.__dict__.pop("_spreads")
        if self.image_shape is None:
            names = getattr(self, "feature_names_in_", [f"x{column}" for column in range(len(spreads))])
            yield from of_columns(list(map(str, names)), alike, spreads)
        least, most = self.__dict__.pop("_gates_at")
        model: Any = self.model_
        if self.gates and not model.n_gate_epochs:
            yield (
                f"The gates have not learned: pretrain_epochs={self.pretrain_epochs} leaves them no epoch. "
                "So they say nothing: raise it, to some hundred steps at least."
            )
            return
        if not self.gates or (least < 1 and most > 0):
            if self.n_features is not None:
                free = model.sparsity.is_free
                yield from of_number(self.n_features, self.n_open_, self.n_features_in_, free)
            yield from of_clusters(self.global_gates_, np.unique(self.labels_), self.global_sparsity)
            return
        told = "shut" if most == 0 else "open"
        way = "lower" if most == 0 else "raise"
        yield (
            f"The gates have collapsed: all are {told} for all rows, so they explain nothing. Try to {way} "
            f"sparsity (it was {self.sparsity_:.3g}), n_features='auto', or longer pretraining "
            "(pretrain_epochs)."
        )

    # --- answers --------------------------------------------------------------------------------

    def local_gates(self, X: ArrayLike) -> NDArray:
        """Return the gate of each column for each row: 0 is shut, 1 is open.

        Parameters
        ----------
        X : array of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_features)
            Ones where the model has no gates.
        """
        check_is_fitted(self)
        model: Any = self.model_
        return self._over_rows(model.local_gates, self._checked(X, reset=False))

    def global_explanation(self, *, feature_names: Any = None) -> Explanation:
        """Return the gates of clusters as an explanation with one row for each cluster.

        Its data are the means of the clusters' rows. For why a single row is in its cluster there are
        ``wc.explain(model, X)`` and ``wc.explain(model, X, method="gates")``.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Of the columns, where the model has not seen them: a scaler before it hands on an array.

        Returns
        -------
        Explanation
        """
        from whyclust.explaining.of_gates import global_explanation  # a result, which is below

        check_is_fitted(self)
        return global_explanation(self, feature_names)

    def compare_gates(self, X: Any) -> GatesAndRelevance:
        """Return the gates of rows beside the relevance of their columns, and how well they agree.

        Parameters
        ----------
        X : array of shape (n, n_features)

        Returns
        -------
        GatesAndRelevance
            Printed, it is a sentence or two.
        """
        from whyclust.explaining.of_gates import compare_gates  # a result, which is below

        check_is_fitted(self)
        return compare_gates(self, X)


def _mean(members: NDArray, everything: NDArray) -> NDArray:
    """The mean of a cluster's rows; of all rows where it has none. Single precision would lose digits."""
    return (members if len(members) else everything).mean(axis=0, dtype=np.float64)
