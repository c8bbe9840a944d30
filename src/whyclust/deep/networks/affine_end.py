"""An encoder in two: its layers up to the last that is not affine, and the affine rest as one map.

What is affine at the end is folded into the head, so that relevance begins at activations and passes as few
layers by rules as it can.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from whyclust.network import AffineMap
from whyclust.network.torch_trunk import TorchTrunk, device_of, has_hooks
from whyclust.propagate.torch_affine import affine_of, is_builtin
from whyclust.propagate.torch_walk import UNCHANGED


def split_encoder(encoder: nn.Module, reference: NDArray) -> tuple[TorchTrunk | None, AffineMap | None]:
    """Split a module into layers and the affine map that follows them.

    Parameters
    ----------
    encoder : nn.Module
        From rows of numbers to an embedding; it is copied.
    reference : ndarray of shape (n_inputs,)
        From where the first layer sees its inputs, usually the mean of the data.

    Returns
    -------
    trunk : TorchTrunk or None
        None where all of the encoder is affine.
    last : AffineMap or None
        None where the encoder does not end in anything affine.
    """
    layers = _flat(copy.deepcopy(encoder).float().eval().requires_grad_(False))
    inputs = _inputs(layers, reference)
    matrix: Tensor | None = None
    offset = torch.zeros(())
    while layers and not has_hooks(layers[-1]):
        layer, given = layers[-1], inputs[len(layers) - 1]
        if not _does_nothing(layer, given):
            found = _affine(layer, given, inputs[len(layers)])
            if found is None:
                break
            weight, bias = found
            offset = bias if matrix is None else offset + matrix @ bias
            matrix = weight if matrix is None else matrix @ weight
        layers.pop()
    trunk = TorchTrunk.of(nn.Sequential(*layers), reference) if layers else None
    if matrix is None:
        return trunk, None
    weights = matrix.numpy()
    return trunk, AffineMap(weights, np.zeros(weights.shape[1]), offset.numpy())


def _flat(module: nn.Module) -> list[nn.Module]:
    """Layers of nested Sequentials in one row; whatever has a forward or a hook of its own is one layer."""
    if is_builtin(module, (nn.Sequential,)) and not has_hooks(module):
        return [layer for child in module for layer in _flat(child)]
    return [module]


def _inputs(layers: list[nn.Module], reference: NDArray) -> list[Tensor]:
    """What each layer is given for the reference, and what the last one returns."""
    values = torch.from_numpy(np.array(reference, dtype=np.float32)[None])
    values = values.to(device_of(nn.Sequential(*layers)))
    found = [values]
    with torch.no_grad():
        for layer in layers:
            values = layer(values.clone())  # some work in place
            found.append(values)
    return found


def _does_nothing(layer: nn.Module, inputs: Tensor) -> bool:
    """Whether the layer returns these inputs: dropout when not training, the flattening of rows."""
    return is_builtin(layer, UNCHANGED) or (is_builtin(layer, (nn.Flatten,)) and inputs.ndim == 2)


def _affine(layer: nn.Module, inputs: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor] | None:
    """W and b of a layer on rows of numbers, in double precision; None where it is not affine."""
    if inputs.ndim != 2 or outputs.ndim != 2:
        return None
    # On the processor: not every device has double precision.
    affine = affine_of(copy.deepcopy(layer).cpu(), inputs.cpu())
    if affine is None:
        return None
    weight = affine.apply(torch.eye(inputs.shape[1], dtype=torch.float64), affine.weight.double()).T
    bias = torch.zeros(len(weight), dtype=torch.float64)
    return weight, bias if affine.bias is None else bias + affine.bias.double().flatten()
