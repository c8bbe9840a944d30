"""Deep clusterings as the networks they already are (section IV of NEON).

Nearest centroids and softmax heads both compare clusters by differences of affine functions of the
embedding (Props. 1, 6 and 7); with the affine layers at the encoder's end these are affine in the
activations before them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from whyclust.deep.base import DeepClusterer
from whyclust.deep.networks.affine_end import split_encoder
from whyclust.deep.training.phases import DeepModel
from whyclust.network import (
    AffineMap,
    Features,
    LinearHead,
    MinPool,
    Neuralized,
    Parts,
    neuralizer,
    step_describer,
)
from whyclust.network.steps import Layers, Part, UnsupportedStep
from whyclust.network.torch_trunk import TorchTrunk
from whyclust.propagate.torch_assignment import Assignment


@neuralizer(DeepClusterer)
def _deep(estimator: DeepClusterer) -> Parts:
    weights, biases, stiffness = estimator.model_.affine_logits()
    trunk, last = encoder_of(estimator)
    if last is not None:
        weights, biases = weights @ last.matrix, biases + weights @ last.offset
    if trunk is None:  # a linear encoder is all in the head
        head = LinearHead(weights, biases, stiffness, reference=estimator.feature_means_)
        return Parts(Features.identity(int(estimator.n_features_in_)), head, MinPool())
    features = Features.behind_trunk(int(estimator.n_features_in_), replace(trunk, embedding=last))
    return Parts(features, LinearHead(weights, biases, stiffness), MinPool())


@step_describer(DeepClusterer)
def _embedding(step: DeepClusterer, n_inputs: int) -> list[Part]:
    """A deep model before another clustering, which compares rows in its embedding."""
    found = step.model_.affine_embedding()
    if found is None:
        raise UnsupportedStep(f"{type(step).__name__}, whose transform is no embedding,")
    embedding = AffineMap(found[0], np.zeros(found[0].shape[1]), found[1])
    encoder = step.model_.embedding_encoder
    trunk, last = (None, None) if encoder is None else split_encoder(encoder, step.feature_means_)
    last = embedding if last is None else last.then(embedding)
    mean = step.feature_means_.astype(np.float64) if trunk is None else None
    return [*([] if trunk is None else [Layers(trunk)]), replace(last, mean=mean)]


def encoder_of(estimator: DeepClusterer) -> tuple[TorchTrunk | None, AffineMap | None]:
    """The layers of a model's encoder up to the last that is not affine, and the affine rest."""
    model: DeepModel = estimator.model_
    if model.encoder is None:
        return None, None
    return split_encoder(model.encoder, estimator.feature_means_)


def with_rules(net: Neuralized, rules: Any) -> Neuralized:
    """Return the network of a deep clustering with other rules for the layers of its encoder.

    Parameters
    ----------
    net : Neuralized
    rules : str, Rule, mapping or callable
        As for :func:`whyclust.propagate.propagate`; γ = 0.01 by default.
    """
    if not isinstance(net, Neuralized):
        raise TypeError(f"net is a {type(net).__name__}, expected a network: wc.neuralize(model, X).")
    trunk: Any = net.features.trunk
    if trunk is None:
        raise TypeError(
            f"{net.model or 'This network'} has no encoder, so there are no layers to give rules to."
        )
    Assignment(rules, trunk.module)  # refuses what are no rules
    return replace(net, features=replace(net.features, trunk=replace(trunk, rules=rules)))
