"""neuralize(): from a fitted clustering to its network, with its β."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import singledispatch
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from whyclust.inputs import Images, InputKind
from whyclust.inputs.kind import TABLE
from whyclust.inputs.reading import InputTable
from whyclust.network.agreement import refuse_another_predict
from whyclust.network.beta import prototype_stiffness
from whyclust.network.heads import Head
from whyclust.network.models import first_step, last_step
from whyclust.network.network import Neuralized
from whyclust.network.parts import network_parts
from whyclust.network.pools import SoftMinPool
from whyclust.network.vectorizers import behind_vectorizer


def neuralize(
    model: Any, background: Any = None, *, threshold: float | None = None, beta: float | None = None
) -> Neuralized:
    """Return the network that a fitted clustering already is.

    Parameters
    ----------
    model : fitted clustering, Pipeline that ends in one, or (encoder, centres)
        The latter is a torch module from rows to an embedding, and centres of it, an array of shape
        (n_clusters, size); in their place may stand a torch module that returns a logit for each
        cluster, or a clustering fitted on the embedding. Columns are seen from the mean of `background`.
    background : table, optional
        Points over which β = 1/E[f_c] (Eq. 3) is taken. Without one, what the model kept from
        its fit is used, or else its centres. A subclass that has replaced ``predict`` is compared
        with the network on (at most 2,000 of) these, and refused where they differ.
    threshold : float, optional
        Explain the absolute decision, whether the probability of a cluster exceeds this, instead of
        the relative one, which cluster is the most probable. For clusterings whose probabilities are a
        softmax: SoftKMeans, KernelKMeans, Gaussian mixtures, surrogates of labels, most deep ones.
    beta : float, optional
        β itself, whatever the background.

    Returns
    -------
    Neuralized

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> net = wc.neuralize(KMeans(2, n_init=1, random_state=0).fit(X), X)
    >>> net.evidence(X)
    array([16., 16., 16., 16.])
    """
    behind = behind_vectorizer(model)
    if behind is None:
        return network_for(model, None, background, threshold=threshold, beta=beta)
    rest, reader = behind
    if background is not None:
        background = reader.read(background, "background")
    net = network_for(rest, None, background, threshold=threshold, beta=beta)
    return replace(net, feature_names=tuple(reader.words), named=True)


def network_for(
    model: Any,
    rows: InputTable | None,
    background: Any = None,
    *,
    threshold: float | None = None,
    beta: float | None = None,
) -> Neuralized:
    """The network of a model whose `rows`, a table that has been read, are to be explained.

    β is the one given, or that of the background, or what the model kept from its fit, or that of the rows,
    in this order; a network has one already. Columns that it never reads may be missing in the rows: the
    network is one of the others.
    """
    net = _with_stiffness(model, rows, background, threshold, beta)
    return net if rows is None else net.among(rows)


def _with_stiffness(
    model: Any, rows: InputTable | None, background: Any, threshold: float | None, beta: float | None
) -> Neuralized:
    if is_encoder_pair(model):
        from whyclust.deep.networks.pairs import pair_network

        encoder, second = model
        net, kept = pair_network(encoder, second, rows if background is None else background)
    else:
        net, kept = _network(model)
        if net is not model:
            refuse_another_predict(model, net, background if rows is None else rows)
    if threshold is not None:
        net = replace(net, pool=_absolute(net.head, threshold, net.model))
    if beta is not None:
        return replace(net, beta=_checked_beta(beta, net))
    if not net.pool.takes_beta:  # a soft minimum has a stiffness of its own
        return net
    if background is None and kept is not None:
        return net if net.beta == kept else replace(net, beta=kept)
    if background is not None:
        return net.with_beta(background)
    if rows is not None:
        net = net.among(rows)
        return net.with_beta_of(net.match(rows))
    return replace(net, beta=prototype_stiffness(net, getattr(last_step(model), "labels_", None)))


def is_encoder_pair(model: Any) -> bool:
    """Whether this is a torch module and what clusters its embedding, told without importing torch."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, (list, tuple)):
        return False
    modules = [isinstance(part, torch.nn.Module) for part in model]
    is_pair = isinstance(model, tuple) and len(model) == 2 and modules[0]
    if any(modules) and not is_pair:
        given = ", ".join(type(part).__name__ for part in model)
        raise TypeError(
            f"A {type(model).__name__} of {given:.60} was given, expected a tuple of two: a torch module "
            "from rows to an embedding, and then what clusters it, (encoder, centres)."
        )
    return is_pair


@singledispatch
def _network(model: Any) -> tuple[Neuralized, float | None]:
    """The network of a fitted clustering, and the β that it kept from its fit."""
    if isinstance(model, type):
        raise TypeError(
            f"{model.__name__} is a class, expected a fitted model: create one, call fit, pass it."
        )
    _check_fitted(model)
    last = last_step(model)
    parts = network_parts(model)
    n_columns = parts.features.n_columns
    names = getattr(first_step(model), "feature_names_in_", None)
    net = Neuralized(
        parts.features,
        parts.head,
        parts.pool,
        beta=1.0,
        clusters=parts.cluster_ids,
        feature_names=tuple(
            [f"x{column}" for column in range(n_columns)] if names is None else map(str, names)
        ),
        named=names is not None,
        model=type(last).__name__,
        kind=_kind((last, first_step(model)), n_columns),
    )
    return net, parts.beta


@_network.register
def _(model: Neuralized) -> tuple[Neuralized, float | None]:
    return model, model.beta


def is_number(value: Any) -> bool:
    """Whether this is one real number, and no truth value.

    >>> is_number(0.5), is_number(np.float32(1)), is_number(True), is_number("0.5")
    (True, True, False, False)
    """
    return isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))


def _checked_beta(beta: Any, net: Neuralized) -> float:
    if not is_number(beta) or not np.isfinite(beta) or not beta > 0:
        raise ValueError(
            f"beta={beta!r} was given, expected a positive finite number: 1 / (mean evidence) is usual."
        )
    if not net.pool.takes_beta:
        raise ValueError(
            f"beta={beta!r} was given, but the pool {net.pool.name!r} has a stiffness of its own, as that "
            "of absolute decisions has: leave beta=None."
        )
    return float(beta)


def _check_fitted(model: Any) -> None:
    steps = [model]
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    for step in steps:
        if step is not model and isinstance(step, Pipeline):
            _check_fitted(step)
        elif hasattr(step, "fit"):
            try:
                check_is_fitted(step)
            except NotFittedError:
                name = type(model).__name__
                part = "" if step is model else f" (its {type(step).__name__})"
                raise NotFittedError(
                    f"This {name}{part} is not fitted yet: call fit(X) before explaining it."
                ) from None


def _absolute(head: Head, threshold: float, model: str) -> SoftMinPool:
    """The pool that asks whether a cluster's probability exceeds a threshold (Prop. 7)."""
    if not is_number(threshold) or not 0.0 < threshold < 1.0:
        raise ValueError(
            f"threshold={threshold!r} is no probability to exceed: choose a number between 0 and 1."
        )
    if head.probability_stiffness is None:
        raise TypeError(
            f"threshold={threshold!r} was given, but {model} decides by distances, no softmax of which is a "
            "probability: use SoftKMeans, KernelKMeans, a Gaussian mixture, a surrogate of labels, DKM, "
            "ClusteringModule or CNet, or leave threshold=None."
        )
    return SoftMinPool(float(threshold), head.probability_stiffness)


def _kind(steps: tuple[Any, ...], n_columns: int) -> InputKind:
    """What a model or its encoder was made for, unless another step made columns of pixels."""
    found = [Images.made_for(getattr(step, "image_shape", None), n_columns) for step in steps]
    return next((kind for kind in found if kind != TABLE), TABLE)
