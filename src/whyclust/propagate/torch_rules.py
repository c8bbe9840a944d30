"""Rules of layer-wise relevance propagation for layers that are affine in their inputs.

z_ij = a_i w_ij is what input i contributes to output j, b_j what the bias does, and z_j = Σ_i z_ij + b_j.
A rule shares the relevance R_j of an output among its inputs; ⁺ and ⁻ are positive and negative
parts. A share whose denominator is zero is zero. Whatever no input gets (the share of the bias, of
ε, of a zero denominator) is *absorbed*: the rule returns it for each output. Names of the rules as in
Montavon et al., "Layer-wise relevance propagation: an overview" (2019).
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from whyclust._checks import one_of
from whyclust.propagate.torch_affine import Affine, Contributions, Passed
from whyclust.saving.registry import saved

# Inputs may leave their box by this share of its width: rounding of the user's own scaling.
_ROUNDING = 1e-5


class Rule(ABC):
    """One way to share the relevance of outputs among inputs; subclass it for a rule of your own.

    Networks that have it are saved once it is registered: a dataclass under ``@whyclust.saved(alone=False)``.
    """

    #: Whether an input of zero gets nothing, so that it matters from where inputs are seen.
    sees_zero: ClassVar[bool] = True

    @abstractmethod
    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Return the relevance of the inputs, and what was absorbed at each output."""


Kind = TypeVar("Kind", bound=Rule)


def _kept(kind: type[Kind]) -> type[Kind]:
    """Files keep networks that have this rule; by a name that leaves those of usual words to others."""
    return saved(
        kind, name=f"rule.{kind.__name__}", take_apart=_settings, put_together=_made(kind), alone=False
    )


def _settings(rule: Any) -> dict[str, Any]:
    found = {part.name: getattr(rule, part.name) for part in fields(rule)}
    return {
        name: value.detach().cpu().numpy() if isinstance(value, Tensor) else value
        for name, value in found.items()
    }


def _made(kind: type[Kind]) -> Callable[[dict[str, Any]], Kind]:
    return lambda parts: kind(
        **{
            name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
            for name, value in parts.items()
        }
    )


def ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """numerator / denominator, and 0 where the denominator is 0."""
    found = numerator / denominator
    return found.masked_fill_(denominator == 0, 0) if _has_zeros(denominator) else found


def _has_zeros(values: Tensor) -> bool:
    """Whether there may be any; several times as fast as comparing each."""
    return not (values.numel() and bool(values.abs().amin() > 0))


def _check_number(value: Any, name: str) -> None:
    if not (isinstance(value, numbers.Real) and math.isfinite(value) and float(value) >= 0):
        raise ValueError(f"{name}={value!r} was given, expected a number of at least 0.")


@_kept
@dataclass(frozen=True)
class Zero(Rule):
    """LRP-0: R_i = Σ_j z_ij / z_j · R_j, which is gradient × input in networks of ReLU without biases."""

    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Share in proportion to the contributions."""
        passed = layer.passing(inputs)
        coefficients = ratio(relevance, passed.outputs)
        return inputs * passed.back(coefficients), _unshared(relevance, coefficients, passed)


@_kept
@dataclass(frozen=True)
class Epsilon(Rule):
    """LRP-ε: R_i = Σ_j z_ij / (z_j + ε sign z_j) · R_j, with sign 0 = 1.

    Parameters
    ----------
    epsilon : float
        ε, which absorbs part of the relevance of outputs near zero.
    relative : bool
        Whether ε is a multiple of the root mean square of the row's outputs z.
    """

    epsilon: float = 1e-6
    relative: bool = False

    def __post_init__(self) -> None:
        _check_number(self.epsilon, "epsilon")

    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Share in proportion to the contributions, ε taking part."""
        passed = layer.passing(inputs)
        z = passed.outputs
        size: Tensor | float = 1.0
        if self.relative:
            size = z.square().mean(dim=tuple(range(1, z.ndim)), keepdim=True).sqrt()
        coefficients = ratio(relevance, z + torch.where(z < 0, -1.0, 1.0).to(z) * self.epsilon * size)
        return inputs * passed.back(coefficients), _unshared(relevance, coefficients, passed)


def _unshared(relevance: Tensor, coefficients: Tensor, passed: Passed) -> Tensor:
    """R_j − c_j Σ_i z_ij: what no input gets."""
    total = passed.outputs if passed.bias is None else passed.outputs - passed.bias
    return relevance - coefficients * total


class _Signed:
    """Contributions of one sign: those of inputs and weights that agree (z⁺), or that differ (z⁻)."""

    def __init__(self, layer: Affine, inputs: Tensor, *, positive: bool) -> None:
        up, down = layer.weight.clamp(min=0), layer.weight.clamp(max=0)
        parts = [Contributions(layer, inputs.clamp(min=0), up if positive else down)]
        if (inputs < 0).any():  # after a ReLU there are none
            parts.append(Contributions(layer, inputs.clamp(max=0), down if positive else up))
        self._parts = parts
        self.total = sum(part.total for part in parts)
        self.with_bias = self.total
        if layer.bias is not None:
            self.with_bias = self.total + (layer.bias.clamp(min=0) if positive else layer.bias.clamp(max=0))

    def hand_down(self, coefficients: Tensor) -> Tensor:
        """Σ_j z_ij c_j over contributions of this sign."""
        return sum(part.hand_down(coefficients) for part in self._parts)


@_kept
@dataclass(frozen=True)
class Gamma(Rule):
    """LRP-γ in its generalised form, for inputs and outputs of either sign.

    R_i = Σ_j (z_ij + γ z_ij⁺) / (z_j + γ Σ_i z_ij⁺) · R_j where z_j ≥ 0, and the same with ⁻ where z_j < 0.
    What agrees with the output's sign is favoured, judged by the contributions z_ij = a_i w_ij and not by
    the weights: for inputs a ≥ 0 and outputs z_j ≥ 0, as under ReLU, this is the usual rule,
    a_i (w_ij + γ w_ij⁺).
    The denominator is at least γ times the sum of what agrees with its sign: for γ > 0 shares cannot exceed
    1 + 1/γ. The bias takes part like an input that is always 1.
    γ = 0 is LRP-0, γ → ∞ is z⁺ for positive outputs.

    Parameters
    ----------
    gamma : float
        γ, 0.1 in the paper for deep clusterings.
    """

    gamma: float = 0.1

    def __post_init__(self) -> None:
        _check_number(self.gamma, "gamma")

    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Share in proportion to contributions of which one sign weighs 1 + γ.

        z_ij⁺ and z_ij⁻ are (z_ij ± |z_ij|) / 2. With s_j the sign of z_j and g = γ / (2 + γ) a share is

            (s_j z_ij + g |z_ij|) / (|z_j| + g Σ_i |z_ij|),

        both divided by 1 + γ/2, the bias among the inputs. So there are two products on the way up, a·w,
        which the walk has made, and |a|·|w|, and two on the way down.
        """
        if self.gamma == 0:
            return Zero().hand_down(layer, inputs, relevance)
        passed, g = layer.passing(inputs), self.gamma / (2 + self.gamma)
        z, bias, sizes = passed.outputs, layer.bias, layer.weight.abs().mul_(g)
        if not (inputs < 0).any() and not ((z < 0) & (relevance != 0)).any():
            # As between ReLUs, |a| = a and s = 1: one product is enough for both, with w + g|w|.
            both = Contributions(layer, inputs, sizes.add_(layer.weight))
            constant = None if bias is None else bias + g * bias.abs()
            denominators = both.total if constant is None else both.total.add_(constant)
            coefficients = ratio(relevance, denominators)
            handed, absorbed = both.hand_down(coefficients), _undivided(relevance, denominators)
            return handed, absorbed if constant is None else absorbed.addcmul_(coefficients, constant)
        absolute = Contributions(layer, inputs.abs(), sizes)
        denominators = absolute.total.add_(z.abs())
        if bias is not None:
            denominators += g * bias.abs()
        unsigned = ratio(relevance, denominators)
        # Where z is -0.0, so is all that it is the sum of, and coefficients are zero.
        coefficients = torch.copysign(torch.ones_like(z), z).mul_(unsigned)
        handed = absolute.hand_down(unsigned).addcmul_(inputs, passed.back(coefficients))
        absorbed = _undivided(relevance, denominators)
        if bias is not None:
            absorbed.addcmul_(coefficients, bias).addcmul_(unsigned, g * bias.abs())
        return handed, absorbed


def _undivided(relevance: Tensor, denominators: Tensor) -> Tensor:
    """Relevance where denominators are zero: no input gets it."""
    if _has_zeros(denominators):
        return torch.where(denominators == 0, relevance, 0)
    return torch.zeros_like(relevance)


@_kept
@dataclass(frozen=True)
class ZPlus(Rule):
    """z⁺: R_i = Σ_j z_ij⁺ / Σ_i z_ij⁺ · R_j, the bias's positive part in the sum.

    Parts of the contributions, not of the weights: a negative input with a negative weight
    takes part.
    """

    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Share among positive contributions."""
        positive = _Signed(layer, inputs, positive=True)
        coefficients = ratio(relevance, positive.with_bias)
        return positive.hand_down(coefficients), relevance - coefficients * positive.total


@_kept
@dataclass(frozen=True)
class AlphaBeta(Rule):
    """LRP-αβ: R_i = Σ_j (α z_ij⁺ / Σ_i z_ij⁺ − β z_ij⁻ / Σ_i z_ij⁻) · R_j.

    Each sum has its part of the bias. Parts are those of the contributions, not of the weights. Relevance
    is conserved only for α − β = 1, and for outputs that have contributions of both signs; otherwise what
    is absorbed may be negative: more is handed down than came.
    """

    alpha: float = 2.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        _check_number(self.alpha, "alpha")
        _check_number(self.beta, "beta")

    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Share among positive contributions and, with the other sign, among negative ones."""
        positive = _Signed(layer, inputs, positive=True)
        negative = _Signed(layer, inputs, positive=False)
        for_positive = self.alpha * ratio(relevance, positive.with_bias)
        for_negative = -self.beta * ratio(relevance, negative.with_bias)
        handed = positive.hand_down(for_positive) + negative.hand_down(for_negative)
        return handed, relevance - for_positive * positive.total - for_negative * negative.total


@_kept
@dataclass(frozen=True, eq=False)
class ZBox(Rule):
    """z^B: R_i = Σ_j q_ij / Σ_i q_ij · R_j with q_ij = a_i w_ij − l_i w_ij⁺ − h_i w_ij⁻.

    For the first layer, whose inputs lie in a box l ≤ a ≤ h (pixels). The bias takes no part.

    Parameters
    ----------
    low, high : float or Tensor
        The box; tensors broadcast to one row of the inputs, e.g. of shape (3, 1, 1) for images whose
        channels were scaled differently.
    """

    sees_zero: ClassVar[bool] = False

    low: Any = 0.0
    high: Any = 1.0

    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Share in proportion to the contributions, seen from the corner that each weight fears most."""
        low, high = (torch.as_tensor(bound).to(inputs).expand_as(inputs) for bound in (self.low, self.high))
        slack = _ROUNDING * (high - low)
        if (inputs < low - slack).any() or (inputs > high + slack).any() or (low > high).any():
            raise ValueError(
                f"Inputs from {inputs.min().item():g} to {inputs.max().item():g} were given to a layer under "
                f"ZBox(low={self.low}, high={self.high}), expected inputs inside the box: give the bounds of "
                "your data, or another rule for this layer."
            )
        own = Contributions(layer, inputs, layer.weight)
        lowest = Contributions(layer, low, layer.weight.clamp(min=0))
        highest = Contributions(layer, high, layer.weight.clamp(max=0))
        total = own.total - lowest.total - highest.total
        coefficients = ratio(relevance, total)
        handed = own.hand_down(coefficients)
        handed = handed - lowest.hand_down(coefficients) - highest.hand_down(coefficients)
        return handed, relevance - coefficients * total


@_kept
@dataclass(frozen=True)
class WSquare(Rule):
    """w²: R_i = Σ_j w_ij² / Σ_i w_ij² · R_j, whatever the inputs are; the bias takes no part."""

    sees_zero: ClassVar[bool] = False

    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Share in proportion to squared weights."""
        return _by_weights(layer, inputs, relevance, layer.weight.square())


@_kept
@dataclass(frozen=True)
class Flat(Rule):
    """Flat: R_i = Σ_j 1 / Σ_i 1 · R_j over the inputs that j is connected to; the bias takes no part."""

    sees_zero: ClassVar[bool] = False

    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Share evenly."""
        return _by_weights(layer, inputs, relevance, torch.ones_like(layer.weight))


@_kept
@dataclass(frozen=True, eq=False)
class Centered(Rule):
    """Another rule, seen from a reference r: contributions are (a_i − r_i) w_ij, the bias b_j + Σ_i r_i w_ij.

    For the first layer, whose inputs may have no natural zero: an input of 0 contributes nothing under most
    rules, even where all others are far from 0. The layer computes the same.

    Parameters
    ----------
    reference : float or Tensor
        r, which broadcasts to one row of the layer's inputs: usually the mean of the data. Or one for each
        row, of the shape of the inputs.
    rule : Rule
        The rule for what is left.
    """

    sees_zero: ClassVar[bool] = False

    reference: Any
    rule: Rule = Gamma(0.1)

    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Share what differs from the reference; the reference's own outputs are absorbed with the bias."""
        given = torch.as_tensor(self.reference).to(inputs)
        try:
            reference = given if given.shape == inputs.shape else given.expand_as(inputs[:1])
        except RuntimeError:
            reference = given.new_full((), torch.nan)
        if not torch.isfinite(reference).all():
            raise ValueError(
                f"The reference of Centered has shape {tuple(given.shape)}, expected finite numbers of the "
                f"shape of one row of the layer's inputs, {tuple(inputs.shape[1:])}."
            )
        return self.rule.hand_down(replace(layer, bias=layer(reference)), inputs - reference, relevance)


@_kept
@dataclass(frozen=True)
class Halves(Rule):
    """For :class:`Gated`: signal and gate take half each, their Shapley values for a product seen from zero.

    The gate's half goes down the layers of the gate; what those absorb, as where it is fully open or shut, is
    not handed to any input.

    Parameters
    ----------
    part : {"both", "signal", "gates"}
        Hand both halves down, or one of them; the other one is absorbed then.
    """

    part: str = "both"

    def __post_init__(self) -> None:
        one_of("part", self.part, ["both", "signal", "gates"])

    def hand_down(self, layer: Affine, inputs: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
        """Refuse: there are no factors in what adds up."""
        raise TypeError("Halves shares products, not sums: give it to Gated alone, {Gated: Halves()}.")


def _by_weights(layer: Affine, inputs: Tensor, relevance: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    contributions = Contributions(layer, torch.ones_like(inputs), weight)
    coefficients = ratio(relevance, contributions.total)
    return contributions.hand_down(coefficients), relevance - coefficients * contributions.total
