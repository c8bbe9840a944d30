"""explain(): from a fitted clustering and a table to an Explanation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from whyclust._frames import column_values, in_rows_of, is_frame, take_columns
from whyclust._validation import Table, in_columns_of, is_sparse, read_table
from whyclust.explanation import Explanation
from whyclust.fidelity import Fidelity
from whyclust.network import Neuralized
from whyclust.network.apart import relevance_apart
from whyclust.network.models import last_step
from whyclust.network.neuralizing import network_for
from whyclust.surrogates import surrogate_of

if TYPE_CHECKING:
    from whyclust.perturbing.subject import Prepared


def explain(
    model: Any,
    X: Any,
    *,
    cluster: ArrayLike | None = None,
    against: ArrayLike | None = None,
    background: Any = None,
    beta: float | None = None,
    rule: str | None = None,
    threshold: float | None = None,
    groups: Mapping[str, Sequence[Any]] | None = None,
    feature_names: Sequence[str] | None = None,
    method: str = "neon",
    **options: Any,
) -> Explanation:
    """Explain why each row of a table is in its cluster and not in another.

    Parameters
    ----------
    model : fitted clustering, Pipeline that ends in one, Neuralized, (encoder, centres), or labels
        scikit-learn's k-means family, MeanShift, AffinityPropagation, Birch and Gaussian mixtures,
        and :mod:`whyclust.cluster`'s estimators; scalers, PCA, encoders and other steps before them
        are followed back to the table's own columns. Of any other clustering (DBSCAN, HDBSCAN,
        agglomerative, spectral, ...) its ``labels_`` are explained, and so is an array or a Series
        of labels, whole numbers or names, with -1 for noise: a
        :class:`whyclust.cluster.PrototypeSurrogate` is fitted to them, each row is explained for
        the label given, and ``ex.fidelity`` tells how well the surrogate reproduces the labels.
        Rows of clusters are told from the other clusters; ``cluster=c, against=-1`` asks what keeps
        those of c from being noise. A torch module and centres of its embedding, or a head, are taken as
        they are: see :func:`whyclust.neuralize`.
    X : array, sparse matrix, or frame of pandas, polars, pyarrow, ...
        The rows to explain, with the columns the model was fitted on; columns of a frame are read by
        name, in any order. Images, an array of shape (n,
        height, width) or (n, channels, height, width), are explained pixel by pixel: ``ex.images``
        has their shape. For labels, and clusterings
        of which only the labels are known, all rows that were clustered, in the same order; text
        columns are then one-hot encoded.
    cluster : cluster id, or one for each row, optional
        Explain this cluster instead of the one each row is in: why, or why not, cluster 3? A Series is
        matched with the rows of a frame by its index.
    against : cluster id, or one for each row, optional
        Explain `cluster` against this one competitor instead of all.
    background : table, optional
        Points over which the stiffness β = 1/E[f_c] is taken (Eq. 3). By default what the
        model kept from its fit, or else X. Other methods take it for the data that rows come from
        (reference, kernel density, rows to learn from); by default X.
    beta : float, optional
        β itself, whatever the background.
    rule : {"expected", "min_take_most"}, optional
        How relevance passes the minimum over competitors. ``"expected"``, the default, shares it
        by softmax(−β h) and is defined everywhere; ``"min_take_most"`` is the paper's rule, for
        points in the cluster.
    threshold : float, optional
        Explain whether the probability of the cluster exceeds this (the absolute decision of
        soft clusterings), instead of which cluster is the most probable. For clusterings whose
        probabilities are a softmax: SoftKMeans, KernelKMeans, Gaussian mixtures, labels (through their
        surrogate), and most deep ones.
    groups : mapping of names to columns, optional
        Sum relevance over groups of columns (names or positions); other columns stay as
        they are.
    feature_names : sequence of str, optional
        Names of the columns where X is an array or a sparse matrix, such as the words of a
        vectorizer: ``feature_names=vectorizer.get_feature_names_out()``.
    method : str
        ``"neon"``, or a baseline to compare it with, such as ``"ig"`` or ``"shap"``: all names are in
        ``whyclust.baselines.METHODS``.
    **options
        Options of the method, such as ``steps=50`` for ``"ig"``.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    >>> ex.values.round(6) + 0.0
    array([[16.,  0.],
           [16.,  0.],
           [16.,  0.],
           [16.,  0.]])
    """
    if threshold is not None and against is not None:
        raise ValueError(
            f"threshold={threshold!r} asks whether a probability is high enough, against={against!r} "
            "compares two clusters: give one of them."
        )
    _check_method(method, options, rule)
    labelled = surrogate_of(model, X)
    if labelled is not None:
        model, X = labelled.model, labelled.table
    fidelity = getattr(last_step(model), "fidelity_", None)
    doubt = None if fidelity is None else fidelity.warning()
    if doubt is not None:
        warnings.warn(doubt[0].upper() + doubt[1:], UserWarning, stacklevel=2)
    table = read_table(X)
    if background is not None:
        background = in_columns_of(background, table)
    net = network_for(model, table, background, threshold=threshold, beta=beta)
    return explain_rows(
        net,
        table,
        cluster=cluster,
        against=against,
        rule=rule,
        groups=groups,
        feature_names=feature_names,
        given=None if labelled is None else labelled.labels,
        fidelity=fidelity,
        source=None if labelled is None else labelled.source,
        method=method,
        options=options,
        prepared=None if method == "neon" else _prepared(net, table, background),
    )


def _check_method(method: str, options: Mapping[str, Any], rule: str | None) -> None:
    """Refuse unknown names before anything is computed; baselines are imported on use."""
    if method != "neon":
        from whyclust.baselines.answers import check_method

        check_method(method, options, rule)
    elif options:
        raise TypeError(
            f"explain() has no option {next(iter(options))!r}, and method='neon' takes no options of its "
            "own: see help(whyclust.explain)."
        )


def _prepared(net: Neuralized, table: Table, background: Any) -> Prepared:
    """What a baseline needs to know of the rows; baselines are imported on use."""
    from whyclust.perturbing.subject import Prepared

    return Prepared.of(net, net.match(table), background)


def explain_rows(
    net: Neuralized,
    table: Table,
    *,
    cluster: ArrayLike | None = None,
    against: ArrayLike | None = None,
    rule: str | None = None,
    groups: Mapping[str, Sequence[Any]] | None = None,
    feature_names: Sequence[str] | None = None,
    given: NDArray | None = None,
    fidelity: Fidelity | None = None,
    source: str | None = None,
    method: str = "neon",
    options: Mapping[str, Any] | None = None,
    prepared: Prepared | None = None,
) -> Explanation:
    """Explain the rows of a table by a network; for `given` labels if there are any.

    `prepared` holds the rows, and the data they come from, for a method that is not NEON.
    """
    table = net.match(table)
    if prepared is not None:
        net = prepared.net
    shape = table.image_shape or net.image_shape
    names = list(net.feature_names) if net.named or table.names is None else table.names
    if feature_names is not None:
        names = _given_names(feature_names, table.shape[1], names)
    grouping, grouped_names = (None, names) if groups is None else _grouping(groups, names, table)
    cluster = in_rows_of(cluster, table.row_labels, "cluster")
    against = in_rows_of(against, table.row_labels, "against")
    question = _question(cluster, against)
    if given is not None and cluster is None and against is None:
        cluster, question = given, "the given label against all others"
    threshold = getattr(net.pool, "threshold", None)
    if threshold is not None and against is None:
        asked = "the assigned cluster" if cluster is None else question.split(" against")[0]
        question = f"whether the probability of {asked} exceeds {threshold:g}"
    found, parts = relevance_apart(net, table, cluster=cluster, against=against, rule=rule, groups=grouping)
    has_noise = getattr(net.head, "noise", None) is not None
    if prepared is not None:
        from whyclust.baselines.answers import answer

        found = answer(method, options or {}, parts, prepared, found, against, grouping)
    data = table.data if grouping is None else _grouped_data(table, grouping, len(grouped_names))
    return Explanation(
        values=found.values,
        base_values=found.base_values,
        explained=found.explained,
        evidence=found.evidence,
        clusters=found.clusters,
        assigned=found.assigned,
        competitors=found.competitors,
        feature_names=grouped_names,
        data=data,
        index=np.arange(table.shape[0]) if table.index is None else table.index,
        beta=net.beta,
        rule=found.rule,
        details={
            "method": method,
            "model": net.model,
            "labels": source,
            "head": net.head.name,
            "pool": net.pool.name,
            "n_clusters": int(net.head.n_clusters) - has_noise,
            "question": question,
            "threshold": getattr(net.pool, "threshold", None),
            "against": against is not None,
            # A network loaded from a file has no fidelity, but knows what noise is.
            "noise": net.clusters[-1].item() if has_noise else None,
            "propagation": None if net.features.trunk is None else net.features.trunk.told,
            "image_shape": None if groups or not shape else list(shape),
        },
        given=given,
        fidelity=fidelity,
    )


def _given_names(feature_names: Sequence[str], count: int, known: list[str]) -> list[str]:
    names = [str(name) for name in feature_names]
    if len(names) != count:
        raise ValueError(f"feature_names has {len(names)} names, but X has {count} columns.")
    if len(set(names)) < count:
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"feature_names has {repeated!r} twice: give each column a name of its own.")
    if names != known and set(names) == set(known):
        raise ValueError("feature_names has the columns of X in another order: leave it out, X has names.")
    return names


def _question(cluster: ArrayLike | None, against: ArrayLike | None) -> str:
    def named(value: ArrayLike) -> str:
        return str(value) if np.ndim(value) == 0 else "the one given for each row"

    if cluster is None:
        return "the assigned cluster against all others"
    other = "all others" if against is None else f"cluster {named(against)}"
    return f"cluster {named(cluster)} against {other}"


def _grouping(
    groups: Mapping[str, Sequence[Any]], names: list[str], table: Table
) -> tuple[NDArray, list[str]]:
    """For each column the output column it is summed into; groups first, then single columns."""
    if not isinstance(groups, Mapping):
        raise TypeError(f"groups is a {type(groups).__name__}, expected {{name: [columns]}}.")
    if len({str(group) for group in groups}) < len(groups):
        raise ValueError("Two groups have the same name: give each a name of its own.")
    target = np.full(len(names), -1, dtype=np.intp)
    for number, (group, columns) in enumerate(groups.items()):
        listed = [] if isinstance(columns, str) or not np.iterable(columns) else list(columns)
        if not listed:
            raise ValueError(
                f"groups[{group!r}] is {columns!r}, expected a list of column names or positions."
            )
        for column in listed:
            position = _position(column, names, table, f"groups[{group!r}]")
            if target[position] not in (-1, number):
                raise ValueError(
                    f"The column {names[position]!r} is in two groups, so sums would count it twice: "
                    "make the groups disjoint, or sum ex.to_pandas()[columns] yourself."
                )
            target[position] = number
    alone = np.flatnonzero(target < 0)
    for column in alone:
        if names[column] in map(str, groups):
            raise ValueError(
                f"groups[{names[column]!r}] has the name of a column that is not in it: rename the group."
            )
    target[alone] = len(groups) + np.arange(len(alone))
    return target, [*map(str, groups), *(names[column] for column in alone)]


def _position(column: Any, names: list[str], table: Table, called: str) -> int:
    """Where a column is that was named, or given by its position."""
    numbered = is_frame(table.data) and not any(isinstance(name, str) for name in table.data.columns)
    if isinstance(column, str) or (numbered and column in table.data.columns):
        if str(column) not in names:
            raise ValueError(f"{called} names the column {column!r}, which X does not have.")
        return names.index(str(column))
    if not isinstance(column, (int, np.integer)) or isinstance(column, bool):
        raise ValueError(f"{called} names {column!r}, expected a column's name or position.")
    position = int(column)
    if numbered:  # a column called 3 is not the one at position 3
        raise ValueError(f"{called} names the column {position}, which X does not have.")
    if not 0 <= position < len(names):
        raise ValueError(f"{called} names position {position}, but X has {len(names)} columns.")
    if str(position) in names and names[position] != str(position):
        place = names.index(str(position))
        raise ValueError(
            f"{called} names {position}, but the column called '{position}' is at position {place}: write "
            f"'{position}' for that column, or the name of the other."
        )
    return position


def _grouped_data(table: Table, grouping: NDArray, width: int) -> Any:
    """The users' values where a column stands alone, the mean of its columns for a group."""
    import pandas as pd

    data = table.data
    if not is_frame(data):
        if is_sparse(data):
            shares = 1.0 / np.bincount(grouping, minlength=width)[grouping]
            places = (np.arange(len(grouping)), grouping)
            return sp.csr_array(data @ sp.csr_array((shares, places), shape=(len(grouping), width)))
        data = pd.DataFrame(data)
    columns = []
    for column in range(width):
        part = take_columns(data, np.flatnonzero(grouping == column))
        if part.shape[1] == 1:
            columns.append(column_values(part, 0))
        else:
            columns.append(part.select_dtypes("number").mean(axis=1).to_numpy())
    frame = pd.DataFrame(dict(enumerate(columns)))
    return frame.to_numpy() if not is_frame(table.data) else frame
