"""What a clustering ignores: the part of a row that is in the shared space of ACe/DeC, column by column.

The score is s = ‖β_ss ⊙ Vᵀ(z − μ)‖², how far the row lies from the mean where clusters are not compared. It
equals w·(z − μ) with w = V β_ss² Vᵀ(z − μ). With w held as it is for the row, this is a linear head, folded
with the encoder's last linear layers and propagated as those of clusters are, seen from the columns' means:
a column at its mean gets nothing. The rest is base. For a linear encoder this is the Shapley value of the
quadratic s, seen from the mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import one_of
from whyclust.deep.explained import encoder_of
from whyclust.deep.showing_spaces import ShowsSpaces, shared_share
from whyclust.deep.training.phases import numbers
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.grouping import grouping_of
from whyclust.explaining.origin import as_it_is
from whyclust.explaining.records import Question
from whyclust.explaining.rows import explain_rows
from whyclust.inputs.reading import InputTable, numeric
from whyclust.network import AffineMap, Neuralized
from whyclust.network.models import last_step
from whyclust.network.neuralizing import network_for
from whyclust.network.relevance import collector
from whyclust.network.spaces import SpacesApart, without_spaces
from whyclust.network.unread import without_unread

# Rows whose layers are kept at a time.
_AT_ONCE = 2048


def explain_space(
    model: Any,
    table: InputTable,
    space: str,
    *,
    groups: Mapping[str, Sequence[Any]] | None = None,
    feature_names: Sequence[str] | None = None,
    names: Mapping[Any, str] | None = None,
) -> Explanation:
    """Explain what is in one of the spaces of ACe/DeC; arguments as for :func:`whyclust.explain`."""
    one_of("space", space, ["cluster", "shared"])
    estimator = last_step(model)
    if not isinstance(estimator, ShowsSpaces):
        raise TypeError(f"space={space!r} asks for a space of ACe/DeC. {without_spaces(estimator)}")
    net, table, _ = without_unread(model, network_for(model, table), table)
    shown: dict[str, Any] = {"groups": groups, "feature_names": feature_names, "names": names}
    found = explain_rows(net, table, **shown, model=as_it_is(model))
    if space == "cluster":
        return found
    if estimator.collapsed_spaces is not None:
        warnings.warn(estimator.collapsed_spaces, UserWarning, stacklevel=3)
    return ignored(found)


def ignored(found: Explanation) -> Explanation:
    """What the clustering ignores of the rows of an explanation, which knows an ACe/DeC."""
    net, estimator, table = _asked(found)
    scores, leftover, relevance = _shared(net, estimator, table)
    target = net.features.sources
    width = net.features.n_columns
    options = found.origin.options if found.origin is not None else {}
    if options["groups"] is not None:
        names = _names(net, table, options["feature_names"])
        places, grouped = grouping_of(options["groups"], names, table)
        target, width = places[target], len(grouped)
    collect = collector(target, width)
    values = relevance if collect is None else (collect @ relevance.T).T
    return replace(
        found,
        values=values,
        base_values=scores - values.sum(axis=1),
        explained=scores,
        evidence=scores,
        clusters=found.assigned,
        competitors=found.assigned,
        rule="shared",
        question=Question("ignored"),
        provenance=replace(
            found.provenance,
            spaces=SpacesApart(
                len(estimator.cluster_dims_),
                len(estimator.shared_dims_),
                float(leftover.sum() / (scores.sum() or 1.0)),
            ),
        ),
        origin=None,
    )


def share_of_shared(found: Explanation) -> float:
    """The share of the relevance that is in shared dimensions, as ``ACeDeC.shared_share``.

    With the network's own β, which may be that of other rows than those explained.
    """
    net, estimator, table = _asked(found)
    features = net.features
    encoded = np.asarray(numeric(features.encode(table.data)), dtype=np.float64)
    passage = features.passage(encoded)
    last = encoder_of(estimator)[1]
    if passage is None:
        z = features.inner(encoded)
    else:
        z = passage.activations.astype(np.float64)
    z = z if last is None else last(z)
    return shared_share(
        z @ estimator.rotation_, estimator.cluster_weights_, estimator.cluster_centers_, beta=net.beta
    )


def _asked(found: Explanation) -> tuple[Neuralized, ShowsSpaces, InputTable]:
    """The network, the clustering and the rows that an explanation came from."""
    origin = found.origin
    model = None if origin is None else last_step(origin.options.get("model"))
    if origin is None or not isinstance(model, ShowsSpaces):
        raise ValueError("This explanation knows no ACe/DeC: explain the rows again, wc.explain(model, X).")
    return origin.network, model, origin.network.match(origin.table)


def _names(net: Neuralized, table: InputTable, given: Sequence[str] | None) -> list[str]:
    return list(given or table.names or net.feature_names)


def _shared(net: Neuralized, estimator: ShowsSpaces, table: InputTable) -> tuple[NDArray, NDArray, NDArray]:
    """s of each row, how much of it lies in the cluster space, and the relevance of its encoded columns."""
    starts = range(0, table.shape[0], _AT_ONCE)
    parts = [_shared_of(net, estimator, table.rows(slice(start, start + _AT_ONCE))) for start in starts]
    scores, leftover, values = (np.concatenate(one) for one in zip(*parts, strict=True))
    return scores, leftover, values


def _shared_of(net: Neuralized, estimator: ShowsSpaces, rows: Any) -> tuple[NDArray, NDArray, NDArray]:
    features = net.features
    encoded = np.asarray(numeric(features.encode(rows)), dtype=np.float64)
    last = encoder_of(estimator)[1]
    passage = features.passage(encoded)
    if passage is None:
        to_embedding = features.inner if last is None else features.inner.then(last)
        heads, scores, leftover = _heads(estimator, to_embedding(encoded), to_embedding)
        mean = features.inner.preimage(estimator.feature_means_.astype(np.float64)[None])
        at_mean, *_ = _heads(estimator, to_embedding(mean), to_embedding)  # nothing, but for rounding of μ
        return scores, leftover, (heads + at_mean) * (encoded - mean)
    activations = passage.activations.astype(np.float64)
    last = AffineMap.identity(activations.shape[1]) if last is None else last
    heads, scores, leftover = _heads(estimator, last(activations), last)
    # The first layer is seen from the columns' means, so that there is nothing to be taken off.
    return scores, leftover, features.relevance(passage, heads * activations)


def _heads(estimator: ShowsSpaces, z: NDArray, to_embedding: AffineMap) -> tuple[NDArray, NDArray, NDArray]:
    """The slopes of each row's linear head, at what the map to the embedding takes; s; and its leftover.

    Soft weights leave a part of s in dimensions of the cluster space: β_ss is small there, but rows differ
    much.
    """
    space: Any = estimator.model_.space
    weights, rotation = 1.0 - estimator.cluster_weights_, estimator.rotation_
    shared = ((z - numbers(space.middle)) @ rotation) * weights
    parts = shared**2
    slopes = to_embedding.pull((shared * weights) @ rotation.T)
    return slopes, parts.sum(axis=1), parts[:, estimator.cluster_dims_].sum(axis=1)
