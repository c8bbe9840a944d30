"""Stability: do clusters and explanations come back when the clustering is fitted again?"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from whyclust._checks import whole_number
from whyclust._frames import take_rows
from whyclust._progress import done, is_watched, step, waiting
from whyclust._threads import one_thread_if_small
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.rows import explain_rows
from whyclust.inputs.reading import InputTable
from whyclust.labels.given import is_labels
from whyclust.labels.surrogates import surrogate_in
from whyclust.metrics.reading import read_codes, refuse_too_large
from whyclust.metrics.scores import contingency
from whyclust.metrics.stability_result import Stability
from whyclust.network import Neuralized
from whyclust.network.models import last_step, read_for
from whyclust.network.neuralizing import network_for

# One refit has no standard error.
_FEWEST = 2
_LARGEST_SEED = 2**31 - 1
# With fewer columns a correlation of two rows' relevances says nothing: it is always 1 or -1.
_COLUMNS_TO_CORRELATE = 3


def stability(
    model: Any,
    X: Any,
    *,
    n_repeats: int = 10,
    bootstrap: bool = True,
    reseed: bool = False,
    labels: Any = None,
    rule: str | None = None,
    random_state: Any = 0,
) -> Stability:
    """Fit a clustering again and again, and see whether clusters and relevances come back.

    Each refit predicts all rows of X; its clusters are matched one to one with the original's (Hungarian
    method), and its relevances compared with the original's for the rows that keep their cluster.

    Parameters
    ----------
    model : fitted clustering with ``predict``, or Pipeline that ends in one
        Its parameters are used again; the model itself is not touched.
    X : table
        The rows it was fitted on.
    n_repeats : int
        How often it is fitted again.
    bootstrap : bool
        Fit on rows drawn from X with replacement: how much depends on the data at hand?
    reseed : bool
        Give every ``random_state`` a new seed: how much depends on the start? Ask for one of the two at a
        time to tell them apart.
    labels : sequence of int or str, optional
        For a PrototypeSurrogate, which is fitted to labels: the labels of X.
    rule : {"expected", "min_take_most"}, optional
        As in :func:`whyclust.explain`.
    random_state : int, RandomState or None
        Source of samples and seeds.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> found = stability(KMeans(2, n_init=3, random_state=0).fit(X), X, n_repeats=3)
    >>> found.clusters, bool(found.share.mean > 0.95)
    (array([0, 1], dtype=int32), True)
    """
    whole_number("n_repeats", n_repeats, _FEWEST)
    seeds = _check_refit(model, bootstrap, reseed, labels)
    table = read_for(model, X)
    refuse_too_large(table, "X")
    given = None if labels is None else _one_each(labels, table)
    original = _explained(model, table, rule)
    names = np.unique(original.assigned)
    if len(names) < 2:
        raise ValueError(
            "The model puts all rows of X into one cluster, so that there is nothing to keep: expected at "
            "least two clusters."
        )
    generator = check_random_state(random_state)
    # A seed of None would draw on numpy's global generator: one seed for all repeats stands in for it.
    fixed = {name: _seed(generator) for name, value in seeds.items() if value is None}
    spare = next((seed for name, seed in fixed.items() if _within_autoencoder(name)), None)
    found = []
    failures: list[str] = []
    alone = not is_watched()
    with waiting({"Fitting": 1.0}) as tell:
        if alone:
            tell(f"Fitting {n_repeats} times again")
            step(0, 1)
        for repeat in range(n_repeats):
            done(repeat / n_repeats)
            again = clone(model)
            chosen = {name: _seed(generator) for name in seeds} if reseed else fixed
            # A fitted autoencoder is the original's own, and not to be touched: it is replaced below.
            again.set_params(**{name: seed for name, seed in chosen.items() if not _within_autoencoder(name)})
            rows = np.arange(table.shape[0])
            if bootstrap:
                rows = generator.randint(table.shape[0], size=table.shape[0])
            drawn = take_rows(table.data, rows)
            try:
                _pretrain_anew(again, drawn, _seed(generator) if reseed else spare)
                with one_thread_if_small(table):
                    again = again.fit(drawn) if given is None else again.fit(drawn, given[rows])
                    found.append(_compare(original, again, table, names, rule))
            except ValueError as error:  # a sample may have too few different rows, say
                failures.append(" ".join(str(error).split()))
    if failures:
        told = f"{len(failures)} of {n_repeats} refits failed"
        if len(found) < _FEWEST:
            raise ValueError(f"{told}: {failures[0]}")
        warnings.warn(f"{told} and are left out: {failures[0]}", UserWarning, stacklevel=2)
    ari, share, jaccards, pearson, spearman, profiles = zip(*found, strict=True)
    return Stability(
        clusters=names,
        sizes=np.array([int((original.assigned == name).sum()) for name in names]),
        ari_per_repeat=np.array(ari),
        share_per_repeat=np.array(share),
        jaccard_per_repeat=np.array(jaccards),
        pearson_per_repeat=np.array(pearson),
        spearman_per_repeat=np.array(spearman),
        profile_per_repeat=np.array(profiles),
        sources=tuple(name for name, used in [("bootstrap", bootstrap), ("reseed", reseed)] if used),
        noise=original.noise,
    )


def _pretrain_anew(model: Any, rows: Any, seed: int | None) -> None:
    """The autoencoder that a deep clustering begins with is part of what is fitted again.

    It is a parameter of the clustering, or of another that the clustering is put around.
    """
    last = last_step(model)
    settings = last.get_params(deep=True)
    for name, given in settings.items():
        if name.split("__")[-1] != "autoencoder" or _within_autoencoder(name) or not hasattr(given, "fit"):
            continue
        before = clone(model[:-1]).fit_transform(rows) if last is not model else rows
        fresh = clone(given)
        if seed is not None:
            fresh.set_params(random_state=seed)
        _pretrain_anew(fresh, before, seed)
        last.set_params(**{name: fresh.fit(before)})


def _within_autoencoder(name: str) -> bool:
    """Whether this is a parameter of an autoencoder that another model was given."""
    return "autoencoder" in name.split("__")[:-1]


def _seed(generator: Any) -> int:
    return int(generator.randint(_LARGEST_SEED))


def _ends_frozen(model: Any) -> bool:
    while isinstance(model, Pipeline) and model.steps:
        model = model.steps[-1][1]
    return isinstance(model, FrozenEstimator)


def _check_refit(model: Any, bootstrap: bool, reseed: bool, labels: Any) -> dict[str, Any]:
    """Refuse what cannot be fitted again; return the parameters that are seeds."""
    if is_labels(model) or isinstance(model, Neuralized) or not hasattr(model, "get_params"):
        kind = "labels" if is_labels(model) else f"a {type(model).__name__}"
        raise TypeError(
            f"model is {kind}, which cannot be fitted again: expected a fitted scikit-learn compatible "
            "clustering, or a Pipeline that ends in one."
        )
    if _ends_frozen(model):
        raise TypeError(
            "model ends in a FrozenEstimator, which keeps its clusters in any fit: expected the clustering "
            "itself."
        )
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise TypeError(
            f"{type(last_step(model)).__name__} has no predict, so that its refits cannot be compared on "
            "all rows: expected a fitted clustering that has one (PrototypeSurrogate().fit(X, labels) "
            "stands for the labels of any)."
        )
    needs_labels = surrogate_in(model) is not None
    if needs_labels and labels is None:
        raise ValueError(
            "A PrototypeSurrogate is fitted to labels, so that labels are needed to fit it again: pass "
            "labels=, one for each row of X."
        )
    if labels is not None and not needs_labels:
        raise ValueError(
            f"labels were given, but {type(last_step(model)).__name__} needs none: leave them out."
        )
    if not (bootstrap or reseed):
        raise ValueError("bootstrap and reseed are both False, so that nothing would change: choose one.")
    parameters = model.get_params(deep=True)
    seeds = {name: value for name, value in parameters.items() if name.rpartition("__")[2] == "random_state"}
    if reseed and not seeds:
        raise ValueError(
            f"{type(last_step(model)).__name__} has no random_state, so that reseed=True changes nothing: "
            "use bootstrap=True alone."
        )
    return seeds


def _one_each(labels: Any, table: InputTable) -> NDArray:
    codes, names = read_codes(labels, "labels", table)
    return names[codes]


def _explained(model: Any, table: Any, rule: str | None) -> Explanation:
    """As `explain` does, without a surrogate's warnings about each refit."""
    return explain_rows(network_for(model, table), table, rule=rule)


def _compare(
    original: Explanation, again: Any, table: Any, names: NDArray, rule: str | None
) -> tuple[float, float, NDArray, float, float, NDArray]:
    """ARI, share of rows kept, Jaccard of each cluster, and the correlations of relevance."""
    assigned = np.asarray(again.predict(table.data))
    counted = contingency(original.assigned, assigned, ("the original", "the refit"))
    counts = counted.counts
    union = counts.sum(axis=1, keepdims=True) + counts.sum(axis=0, keepdims=True) - counts
    # Hennig (2007): each cluster's most similar one among the new, whether another is more similar to that.
    jaccards = (counts / union).max(axis=1)
    places, partners = counted.match()
    share = counts[places, partners].sum() / counts.sum()
    ari = float(adjusted_rand_score(*counted.codes))
    nothing = np.full(len(names), np.nan)
    if counts.shape[1] < 2 or original.shape[1] < _COLUMNS_TO_CORRELATE:
        return ari, float(share), jaccards, np.nan, np.nan, nothing
    now = _explained(again, table, rule)
    before_values, now_values = np.asarray(original.values), np.asarray(now.values)
    kept = np.zeros(len(original), dtype=bool)
    profiles = nothing.copy()
    for place, partner in zip(places, partners, strict=True):
        before, after = counted.codes[0] == place, counted.codes[1] == partner
        if not (before & after).any():
            continue  # left over, not matched
        kept |= before & after
        pair = before_values[before].mean(axis=0), now_values[after].mean(axis=0)
        profiles[place] = row_correlations(pair[0][None], pair[1][None])[0]
    values = before_values[kept], now_values[kept]
    ranks = (rankdata(values[0], axis=1), rankdata(values[1], axis=1))
    pearson, spearman = (_mean(row_correlations(*pair)) for pair in (values, ranks))
    return ari, float(share), jaccards, pearson, spearman, profiles


def row_correlations(one: NDArray, other: NDArray) -> NDArray:
    """Pearson correlation of each row with the same row of the other; NaN where one of them is constant.

    >>> row_correlations(np.array([[1.0, 2.0, 3.0]]), np.array([[2.0, 4.0, 6.0]]))
    array([1.])
    """
    one = one - one.mean(axis=1, keepdims=True)
    other = other - other.mean(axis=1, keepdims=True)
    length = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    result = np.full(len(one), np.nan)
    np.divide(np.einsum("nd,nd->n", one, other), length, out=result, where=length > 0)
    return np.clip(result, -1.0, 1.0)


def _mean(values: NDArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan
