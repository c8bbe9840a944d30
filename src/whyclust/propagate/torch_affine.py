"""Layers that are affine in their inputs: outputs = W·inputs + b, in one form that all rules share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (as PyTorch itself writes it)
from torch import Tensor, nn
from torch.nn.utils import parametrize

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
AVERAGES = (
    nn.AvgPool1d,
    nn.AvgPool2d,
    nn.AvgPool3d,
    nn.AdaptiveAvgPool1d,
    nn.AdaptiveAvgPool2d,
    nn.AdaptiveAvgPool3d,
)
WEIGHTED = (nn.Linear, *CONVOLUTIONS, *TRANSPOSED)


@dataclass(frozen=True)
class Affine:
    """A layer as its rule sees it.

    Attributes
    ----------
    weight : Tensor
        w, in whatever shape `apply` takes; rules clamp it, square it or set it to one.
    bias : Tensor or None
        b, which broadcasts to the outputs.
    apply : callable
        ``apply(inputs, weight)``, linear in both: Σ_i a_i w_ij.
    passed : Passed or None
        What the walk has found on its way up, for rules not to compute it again: ask `passing` for it.
    """

    weight: Tensor
    bias: Tensor | None
    apply: Callable[[Tensor, Tensor], Tensor]
    passed: Passed | None = None

    def __call__(self, inputs: Tensor) -> Tensor:
        """Outputs of the layer."""
        return self.with_bias(self.apply(inputs, self.weight))

    def with_bias(self, outputs: Tensor) -> Tensor:
        """Add b."""
        return outputs if self.bias is None else outputs + self.bias

    def passing(self, inputs: Tensor) -> Passed:
        """These inputs, led through the layer: as the walk has done, unless a rule has changed anything."""
        known = self.passed
        if known is not None and known.inputs is inputs and known.is_of(self):
            return known
        contributions = Contributions(self, inputs, self.weight)
        outputs = contributions.total
        if self.bias is not None:
            outputs += self.bias  # ours alone, and written nowhere else
        return Passed(inputs, outputs, contributions.back, self.weight, self.bias, self.apply)


@dataclass(frozen=True, eq=False)
class Passed:
    """Inputs that have passed a layer.

    Attributes
    ----------
    inputs, outputs : Tensor
        Of the layer, its bias included.
    back : callable
        Σ_j w_ij c_j for coefficients c of the outputs. The inputs have no part in it.
    weight, bias, apply
        The layer.
    """

    inputs: Tensor
    outputs: Tensor
    back: Callable[[Tensor], Tensor]
    weight: Tensor
    bias: Tensor | None
    apply: Callable[[Tensor, Tensor], Tensor]

    def is_of(self, layer: Affine) -> bool:
        """Whether this is the layer that was passed."""
        return self.weight is layer.weight and self.bias is layer.bias and self.apply is layer.apply


class Contributions:
    """z_ij = a_i w_ij, never written out: their sums over i, and what they hand down, in two passes."""

    def __init__(self, layer: Affine, inputs: Tensor, weight: Tensor) -> None:
        with torch.enable_grad():
            self._inputs = inputs.detach().requires_grad_()
            self._outputs = layer.apply(self._inputs, weight)
        self.total = self._outputs.detach()

    def back(self, coefficients: Tensor) -> Tensor:
        """Σ_j w_ij c_j: the vector-Jacobian product of the linear map."""
        # A rule may be made of others, and each asks.
        (down,) = torch.autograd.grad(self._outputs, self._inputs, coefficients, retain_graph=True)
        return down

    def hand_down(self, coefficients: Tensor) -> Tensor:
        """Σ_j z_ij c_j."""
        return self._inputs.detach() * self.back(coefficients)


def plain(tensor: Tensor) -> Tensor:
    """The tensor without its graph; a copy of what was made in inference mode, which autograd refuses."""
    tensor = tensor.detach()
    return tensor.clone() if tensor.is_inference() else tensor


def all_finite(values: Tensor) -> bool:
    """Whether there is no NaN and no infinity; their sum, which is far cheaper, nearly always tells."""
    return bool(values.sum().isfinite()) or bool(values.isfinite().all())


def is_builtin(layer: nn.Module, kinds: tuple[Any, ...]) -> bool:
    """Whether the layer is one of these kinds and computes what they do: subclasses may not."""
    own: Any = type(layer)
    return any(isinstance(layer, kind) and own.forward is kind.forward for kind in kinds)


def affine_of(layer: nn.Module, inputs: Tensor) -> Affine | None:
    """The layer in affine form, or None where it is none of PyTorch's affine layers."""
    if is_builtin(layer, WEIGHTED):
        return _weighted(layer)
    if is_builtin(layer, NORMS):
        scale, shift = scale_and_shift(layer)
        across = (-1, *[1] * (inputs.ndim - 2))
        return Affine(scale.view(across), shift.view(across), torch.mul)
    if is_builtin(layer, AVERAGES):
        # Each output weighs its window evenly: one number stands for all weights.
        return unweighted(layer.forward, inputs)
    return None


def unweighted(function: Callable[[Tensor], Tensor], inputs: Tensor) -> Affine:
    """A linear function with no weights of its own, all of one sign."""
    return Affine(
        torch.ones((), dtype=inputs.dtype, device=inputs.device), None, lambda x, w: function(x) * w
    )


def _weighted(layer: nn.Module) -> Affine:
    if "weight" not in layer._parameters and not parametrize.is_parametrized(layer, "weight"):
        raise TypeError(
            f"The weight of {layer} is computed by a hook and may be stale, expected a parameter: "
            "remove the hook (remove_weight_norm, prune.remove) or use torch.nn.utils.parametrizations."
        )
    weight = plain(layer.weight)
    bias = None if layer.bias is None else plain(layer.bias).view(-1, *[1] * (weight.ndim - 2))
    if isinstance(layer, nn.Linear):
        return Affine(weight, bias, F.linear)
    if isinstance(layer, CONVOLUTIONS):
        # This is the layer's own convolution with any padding mode, for a weight that is given.
        return Affine(weight, bias, lambda x, w: layer._conv_forward(x, w, None))
    function = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[weight.ndim - 2]
    options = (layer.stride, layer.padding, layer.output_padding, layer.groups, layer.dilation)
    return Affine(weight, bias, lambda x, w: function(x, w, None, *options))


def scale_and_shift(norm: nn.Module) -> tuple[Tensor, Tensor]:
    """Batch normalisation in eval mode: y = scale·x + shift for each channel."""
    if norm.running_var is None:
        raise ValueError(
            f"{norm} has no running statistics, so its outputs depend on the batch: train it with "
            "track_running_stats=True."
        )
    scale = torch.rsqrt(plain(norm.running_var) + norm.eps)
    if norm.weight is not None:
        scale = scale * plain(norm.weight)
    shift = -plain(norm.running_mean) * scale
    return scale, shift if norm.bias is None else shift + plain(norm.bias)


def merged_after(layer: nn.Module, norm: nn.Module) -> Affine:
    """`layer`, then `norm`, as one affine layer."""
    affine = _weighted(layer)
    scale, shift = scale_and_shift(norm)
    across = (-1, *[1] * (affine.weight.ndim - 2))
    bias = (
        shift.view(across) if affine.bias is None else affine.bias * scale.view(across) + shift.view(across)
    )
    first = not isinstance(layer, TRANSPOSED)
    weight = _scaled(affine.weight, scale, first=first, groups=getattr(layer, "groups", 1))
    return replace(affine, weight=weight, bias=bias)


def merged_before(norm: nn.Module, layer: nn.Module, inputs: Tensor) -> Affine:
    """`norm`, then `layer`, as one affine layer for inputs of this shape.

    Zero padding happens after the normalisation, so what the shift adds depends on the place: the
    bias is a whole map.
    """
    affine = _weighted(layer)
    scale, shift = scale_and_shift(norm)
    shifted = shift.view(-1, *[1] * (inputs.ndim - 2)).expand_as(inputs[:1])
    first = isinstance(layer, TRANSPOSED)
    weight = _scaled(affine.weight, scale, first=first, groups=getattr(layer, "groups", 1))
    return replace(affine, weight=weight, bias=affine(shifted))


def _scaled(weight: Tensor, factors: Tensor, *, first: bool, groups: int) -> Tensor:
    """Multiply the weights by one factor per channel, along their first axis or their second."""
    rest = [1] * (weight.ndim - 2)
    if first:
        return weight * factors.view(-1, 1, *rest)
    # The second axis counts channels within one of the groups that the first axis is made of.
    grouped = weight.unflatten(0, (groups, -1)) * factors.view(groups, 1, -1, *rest)
    return grouped.flatten(0, 1)
