"""explain(): from a fitted clustering and a table to an Explanation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whyclust._frames import is_dask
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.origin import as_it_is, prepared_rows
from whyclust.explaining.reaching import reach
from whyclust.explaining.rows import explain_rows
from whyclust.inputs.reading import InputTable, in_columns_of, read_input, without_unknown
from whyclust.labels.handed_in import handed_in
from whyclust.labels.surrogates import surrogate_in, surrogate_of
from whyclust.network.models import column_names
from whyclust.network.neuralizing import network_for
from whyclust.network.question import read_question
from whyclust.network.unread import without_unread


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
    space: str | None = None,
    groups: Mapping[str, Sequence[Any]] | None = None,
    feature_names: Sequence[str] | None = None,
    names: Mapping[Any, str] | None = None,
    layer: str | None = None,
    obsm: str | None = None,
    absent: bool = True,
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
    X : array, sparse matrix, AnnData, or frame of pandas, polars, pyarrow, ...
        The rows to explain, with the columns the model was fitted on; columns of a frame are read by
        name, in any order. Those that a pipeline ignores may be missing and are no features; others
        that the model was not fitted on are left out, with a warning. Texts go in as they are where
        the model is a pipeline that begins with a vectorizer, and words are the columns. Of an AnnData,
        genes are the columns, and `model` may be the name of a column of ``adata.obs``. Images, an array
        of shape (n, height, width), with channels as a second or last axis, are explained pixel by pixel:
        ``ex.images`` has their shape. For labels, and clusterings of which only the labels are known, all
        rows that were clustered, in the same order; text columns are then one-hot encoded, and gaps filled
        in, as on the command line (``ex.notes``).
        An array or a frame of dask is explained block by block, when something is asked: see
        :class:`whyclust.blocks.LazyExplanation`.
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
    space : {"cluster", "shared"}, optional
        For :class:`whyclust.deep.ACeDeC`, which compares clusters in one space and keeps in another what
        all of them share: ``"shared"`` explains what the clustering ignores of a row. The relevances and
        the base value then sum to how far the row lies from the mean there.
    groups : mapping of names to columns, optional
        Sum relevance over groups of columns (names or positions); other columns stay as
        they are.
    feature_names : sequence of str, optional
        Names of the columns where X is an array or a sparse matrix, such as the words of a
        vectorizer: ``feature_names=vectorizer.get_feature_names_out()``.
    names : mapping of clusters to names, optional
        What to call clusters, beside their ids, in sentences, summaries, plots and reports:
        ``names={2: "students"}``. For the others a name is proposed from their columns
        (``ex.cluster_names``).
    layer, obsm : str, optional
        Read ``adata.layers[layer]`` or ``adata.obsm[obsm]`` instead of ``adata.X``.
    absent : bool
        Whether columns that are zero in a row, words that a text does not have, are shown: see
        :meth:`Explanation.showing`. They stay in all sums.
    method : str
        ``"neon"``, or a baseline to compare it with, such as ``"ig"`` or ``"shap"``: all names are in
        ``whyclust.baselines.METHODS``.
    **options
        Options of the method, such as ``steps=50`` for ``"ig"``.

    Returns
    -------
    Explanation
        Or a :class:`whyclust.blocks.LazyExplanation`, of dask's arrays and frames.

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
    if is_dask(X):
        shown = {"groups": groups, "feature_names": feature_names, "names": names, "absent": absent}
        refused = {
            "space": space,
            "layer": layer,
            "obsm": obsm,
            "method": None if method == "neon" else method,
        }
        asked = {"cluster": cluster, "against": against, "rule": rule, **shown, **refused}
        known = {"background": background, "beta": beta, "threshold": threshold}
        return reach("explain_lazily")(model, X, **known, **asked)
    model, X, background = handed_in(model, X, background, layer=layer, obsm=obsm)
    if space is not None:
        asked = {"cluster": cluster, "against": against, "threshold": threshold, "rule": rule, "beta": beta}
        asked |= {"background": background, "method": None if method == "neon" else method}
        other = next((name for name, value in asked.items() if value is not None), None)
        if other is not None:
            raise ValueError(
                f"space={space!r} asks what is in a space, {other}= how clusters are told apart: give one of "
                "them."
            )
        shown = {"groups": groups, "feature_names": feature_names, "names": names}
        explained = reach("explain_space")(model, read_input(X), space, **shown)
        return explained if absent else explained.showing(absent=False)

    def check(labels: NDArray, table: InputTable) -> None:
        read_question(cluster, against, np.unique(labels), len(labels), table.row_labels)

    labelled = surrogate_of(model, X, check)
    if labelled is not None:
        model, X = labelled.model, labelled.table
    else:
        X = without_unknown(read_input(X), column_names(model))
    surrogate = surrogate_in(model)
    fidelity = None if surrogate is None else surrogate.fidelity_
    doubt = None if fidelity is None else fidelity.warning()
    if doubt is not None:
        warnings.warn(doubt, UserWarning, stacklevel=2)
    table = read_input(X)
    if background is not None:
        background = in_columns_of(background, table)
    net = network_for(model, table, background, threshold=threshold, beta=beta)
    net, table, background = without_unread(model, net, table, background)
    explained = explain_rows(
        net,
        table,
        cluster=cluster,
        against=against,
        rule=rule,
        groups=groups,
        feature_names=feature_names,
        names=names,
        given=None if labelled is None else labelled.labels,
        fidelity=fidelity,
        source=None if labelled is None else labelled.source,
        method=method,
        options=options,
        prepared=None if method == "neon" else prepared_rows(net, table, background),
        model=as_it_is(model),
    )
    return explained if absent else explained.showing(absent=False)


def _check_method(method: str, options: Mapping[str, Any], rule: str | None) -> None:
    """Refuse unknown names before anything is computed; baselines are imported on use."""
    if method != "neon":
        reach("check_method")(method, options, rule)
    elif options:
        raise TypeError(
            f"explain() has no option {next(iter(options))!r}, and method='neon' takes no options of its "
            "own: see help(whyclust.explain)."
        )
