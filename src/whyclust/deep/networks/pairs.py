"""A trained encoder and what clusters its embedding, as a network: no estimator, nothing to register."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from whyclust.deep.networks.affine_end import split_encoder
from whyclust.inputs.reading import InputTable, is_sparse, numeric, read_input, refuse_not_finite
from whyclust.network import AffineMap, Features, LinearHead, MinPool, Neuralized, Parts, PrototypeHead
from whyclust.network.agreement import COMPARED
from whyclust.network.neuralizing import network_for
from whyclust.network.parts import network_parts
from whyclust.network.pipelines import append_part, feature_parts, refuse
from whyclust.network.steps import Layers, UnsupportedStep
from whyclust.network.torch_trunk import device_of
from whyclust.propagate.torch_affine import is_builtin

_SOFTMAX = (nn.Softmax, nn.LogSoftmax)


def pair_network(encoder: nn.Module, second: Any, rows: Any) -> tuple[Neuralized, float | None]:
    """The network of an encoder followed by centroids, by a head, or by a fitted clustering, and its kept β.

    Parameters
    ----------
    encoder : nn.Module
        From rows, or from images where the rows are images, to an embedding of shape (n_rows, size).
    second : array of shape (n_clusters, size), nn.Module or fitted clustering
        Centres of the embedding, the nearest of which wins; a module from embedding to one logit for each
        cluster, with or without a softmax; or a clustering that was fitted on the embedding.
    rows : table
        From whose mean columns are seen.
    """
    if rows is None:
        raise ValueError(
            "An encoder was given and no rows, from whose mean its columns are to be seen: pass background=X."
        )
    table = read_input(rows)
    values = _numbers(table)
    reference = values.mean(axis=0, dtype=np.float64)
    encoder = _of_rows(encoder, table, reference)
    if hasattr(second, "fit"):
        step = -(-len(values) // COMPARED)
        network_for(second, read_input(_embedded(encoder, values[::step])))  # refuses what does not fit
    parts = _parts(encoder, second, reference)
    names = table.names
    net = Neuralized(
        *parts[:3],
        beta=1.0,
        clusters=parts.cluster_ids,
        feature_names=tuple(names or [f"x{column}" for column in range(len(reference))]),
        named=names is not None,
        model=type(encoder).__name__,
        kind=table.kind,
    )
    return net, parts.beta


def _numbers(table: InputTable) -> NDArray:
    values = numeric(table.data)
    values = values.toarray() if is_sparse(values) else values
    if not np.isfinite(values).all():
        refuse_not_finite(values, table.names or [f"x{column}" for column in range(table.shape[1])], 0)
    return values


def _embedded(encoder: nn.Module, values: NDArray) -> NDArray:
    rows = torch.from_numpy(values.astype(np.float32)).to(device_of(encoder))
    with torch.no_grad():
        return encoder(rows).cpu().numpy()


def _of_rows(encoder: nn.Module, table: InputTable, reference: NDArray) -> nn.Module:
    """A copy of the encoder that takes rows of the table and was seen to return an embedding of two."""
    encoder = copy.deepcopy(encoder).float().eval().requires_grad_(False)
    shape = table.kind.item_shape
    shapes = [shape, (1, *shape), ()] if shape else [()]
    two = np.stack([reference, reference])
    reasons = []
    for tried in shapes:
        module = nn.Sequential(nn.Unflatten(1, tried), encoder) if tried else encoder
        try:
            embedded = _embedded(module, two)
        except (RuntimeError, ValueError, IndexError, TypeError, AttributeError) as error:
            reasons.append(" ".join(str(error).split()))
            continue
        if embedded.ndim == 2 and len(embedded) == 2:
            if not np.isfinite(embedded).all():
                raise ValueError(
                    "The encoder returns NaN or infinite numbers for the mean of the rows: look for such in "
                    "its weights, and train it again."
                )
            return module
        reasons.append(f"it returns shape {embedded.shape} for two rows, expected (2, size of the embedding)")
    raise ValueError(
        f"The encoder does not take rows of {table.shape[1]} columns ({reasons[0]}): pass X as it takes it, "
        "images as an array of images."
    )


def _parts(encoder: nn.Module, second: Any, reference: NDArray) -> Parts:
    if isinstance(second, nn.Module):
        return _with_head(encoder, second, reference)
    trunk, last = split_encoder(encoder, reference)
    features = Features.identity(len(reference))
    if trunk is not None:
        features = append_part(features, Layers(trunk))
    if last is not None:
        # Where all is affine, prototypes are brought back to columns around the mean.
        mean = reference if trunk is None else None
        features = append_part(features, AffineMap(last.matrix, last.origin, last.offset, mean))
    size = features.folded.n_outputs
    if not hasattr(second, "fit"):
        return Parts(features, PrototypeHead.one_each(_centers(second, size)), MinPool())
    found = network_parts(second)
    try:
        for part in feature_parts(found.features):
            features = append_part(features, part)
    except UnsupportedStep as error:
        raise refuse(error) from None
    return found._replace(features=features)


def _with_head(encoder: nn.Module, head: nn.Module, reference: NDArray) -> Parts:
    """Logits of a module; what is affine at its end is the head, the rest belongs to the encoder."""
    layers = list(head) if is_builtin(head, (nn.Sequential,)) else [head]
    if layers and is_builtin(layers[-1], _SOFTMAX) and layers[-1].dim in (1, -1):
        layers = layers[:-1]  # the cluster is the same, and so are probabilities
    try:
        trunk, last = split_encoder(nn.Sequential(encoder, *layers), reference)
    except RuntimeError as error:
        told = " ".join(str(error).split())
        raise ValueError(
            f"The head ({type(head).__name__}) does not fit the embedding ({told}): it takes what the "
            "encoder returns."
        ) from None
    if last is None and trunk is not None:
        last = AffineMap.identity(trunk.n_outputs)
    if last is None:
        last = AffineMap.identity(len(reference))
    matrix = last.matrix.toarray() if is_sparse(last.matrix) else last.matrix
    if trunk is None:
        return Parts(
            Features.identity(len(reference)), LinearHead(matrix, last.offset, reference=reference), MinPool()
        )
    features = Features.behind_trunk(len(reference), trunk)
    return Parts(features, LinearHead(matrix, last.offset), MinPool())


def _centers(centers: Any, size: int) -> NDArray:
    given = centers.detach().cpu().numpy() if isinstance(centers, torch.Tensor) else np.asarray(centers)
    if given.dtype.kind not in "biuf":
        raise TypeError(
            f"{type(centers).__name__} stands after the encoder, expected centres of the embedding (an "
            "array), a torch module, or a fitted clustering."
        )
    if given.ndim != 2 or given.shape[1] != size:
        raise ValueError(
            f"Found centres of shape {given.shape}, expected (n_clusters, {size}): one row a cluster, as "
            "wide as the embedding."
        )
    if not np.isfinite(given).all():
        raise ValueError("The centres hold NaN or infinite values, expected finite ones.")
    return given.astype(np.float64)
