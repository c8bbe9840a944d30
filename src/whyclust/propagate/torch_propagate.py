"""propagate(): relevance at a module's outputs, taken down to its inputs or to any of its layers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from whyclust.propagate.torch_affine import all_finite, plain
from whyclust.propagate.torch_assignment import Assignment, assignment_of, named_layers
from whyclust.propagate.torch_rules import Rule
from whyclust.propagate.torch_walk import Down, Walk, chain, evaluating

Rules = str | Rule | Mapping[str | type, Rule] | Callable[[str, nn.Module], Rule | None] | Assignment


_HALF = (torch.bfloat16, torch.float16)
# Rows on which the walk is compared with the module.
_CHECKED = 8


@dataclass(frozen=True, eq=False)
class Propagation:
    """Relevance everywhere in a module.

    Attributes
    ----------
    inputs : Tensor
        Relevance of the inputs, of their shape.
    layers : dict of str to Tensor
        Relevance of the outputs of every layer, by its dotted name. A normalisation that was merged
        into a layer and that layer have the same; of a layer called twice this is the lower call.
    absorbed : dict of str to Tensor
        What each layer kept of every row's relevance: the share of its bias, of ε, of zeros. For every
        row, the sum of the inputs' relevance and of all of these is the relevance given.
    """

    inputs: Tensor
    layers: dict[str, Tensor]
    absorbed: dict[str, Tensor]

    @property
    def total_absorbed(self) -> Tensor:
        """What all layers together kept of every row's relevance."""
        none = torch.zeros(len(self.inputs), dtype=self.inputs.dtype, device=self.inputs.device)
        return sum(self.absorbed.values(), start=none)

    def __repr__(self) -> str:
        return f"<Propagation: {len(self.inputs)} rows, {len(self.layers)} layers>"


def propagate(
    module: nn.Module, inputs: Tensor, relevance: Tensor, *, rules: Rules = "default", stop: str | None = None
) -> Tensor:
    """Take relevance from a module's outputs down to its inputs, or to one of its layers.

    Parameters
    ----------
    module : nn.Module
        An ``nn.Sequential``, nested or not, of linear, convolution, normalisation, pooling and activation
        layers and of :class:`Residual`, :class:`Sum` and :class:`Concatenate`; a module whose ``forward``
        calls such layers, adds and concatenates; any other module once it is registered with
        :func:`register_rule`. It is read as in eval mode and left as it was; hooks are not run.
    inputs : Tensor
        A batch of inputs.
    relevance : Tensor
        Relevance of the module's outputs, of their shape: usually the outputs to explain, and zero
        elsewhere.
    rules : str, Rule, mapping or callable
        ``"default"`` and ``"gamma"`` (γ = 0.1, as in the paper), ``"epsilon"``, ``"zero"``, ``"z_plus"``,
        or ``"image"`` (see :func:`image_rules`); one rule for all layers; a mapping from names of layers,
        names of containers, or types to rules, in this order of precedence, γ = 0.1 for layers in none
        of these (``nn.Module`` names them all); or a function of name and layer that returns a rule, or
        None for γ = 0.1. Rules serve layers that add up: linear ones, means, sums. A maximum hands all
        to its winner, unless a mapping gives it a rule by its own name or type, which then shares as in
        a mean. Batch normalisation is merged into the linear layer before or else after it, unless a
        mapping gives it a rule in the same way.
    stop : str, optional
        Dotted name of the layer to whose outputs relevance is taken, instead of the inputs.

    Returns
    -------
    Tensor
        Relevance, of the shape of the inputs or of the layer's outputs; in single precision where the
        inputs are in half.

    Examples
    --------
    >>> module = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False))
    >>> with torch.no_grad():
    ...     _ = module[0].weight.copy_(torch.tensor([[1.0, 2.0], [1.0, -1.0]]))
    ...     _ = module[2].weight.copy_(torch.tensor([[1.0, 1.0]]))
    >>> inputs = torch.tensor([[1.0, 1.0]])
    >>> propagate(module, inputs, module(inputs).detach(), rules="zero")
    tensor([[1., 2.]])
    >>> propagate(module, inputs, module(inputs).detach(), stop="1")
    tensor([[3., 0.]])
    """
    found = Ascent(module, inputs, rules, stop).down(relevance)
    return found.inputs if stop is None else found.layers[stop]


def propagate_layers(
    module: nn.Module, inputs: Tensor, relevance: Tensor, *, rules: Rules = "default"
) -> Propagation:
    """Relevance at the inputs and at every named layer, and what each layer absorbed.

    Parameters
    ----------
    module, inputs, relevance, rules
        As for :func:`propagate`.

    Returns
    -------
    Propagation

    Examples
    --------
    >>> module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> inputs = torch.ones(5, 3)
    >>> found = propagate_layers(module, inputs, module(inputs).detach())
    >>> list(found.layers), list(found.absorbed)
    (['2', '1', '0'], ['2', '0'])
    """
    return Ascent(module, inputs, rules).down(relevance)


class Ascent:
    """A batch led up through a module, once: its outputs, and the way down for their relevance.

    Parameters
    ----------
    module, inputs, rules, stop
        As for :func:`propagate`.

    Attributes
    ----------
    outputs : Tensor
    """

    def __init__(self, module: nn.Module, inputs: Tensor, rules: Rules, stop: str | None = None) -> None:
        _check_module(module, stop)
        _check_tensor(inputs, "inputs")
        if inputs.dtype in _HALF:  # their rounding would be taken for another computation
            module, inputs = copy.deepcopy(module).float(), inputs.float()
        self._walk = Walk(assignment_of(rules, module), stop)
        with _recording():
            self.outputs, self._way_down = _up(module, plain(inputs), self._walk)

    def down(self, relevance: Tensor) -> Propagation:
        """Take relevance of the outputs down; once, because what was kept for it is used up."""
        walk, outputs = self._walk, self.outputs
        _check_tensor(relevance, "relevance")
        if outputs.shape != relevance.shape:
            raise ValueError(
                f"relevance has shape {tuple(relevance.shape)}, expected that of the module's outputs, "
                f"{tuple(outputs.shape)}: give each output its relevance, zero where there is none."
            )
        if not all_finite(outputs):
            raise ValueError("The module's outputs are not all finite numbers: look at its weights.")
        with _recording():
            found = self._way_down(plain(relevance).to(outputs))
        if walk.stop is not None and walk.stop not in walk.layers:
            raise ValueError(
                f"stop={walk.stop!r} was given, but relevance passes what this layer is part of as a whole: "
                f"expected one of {', '.join(map(repr, (name for name in walk.layers if name)))}."
            )
        # Under a stop this is the relevance of the layer stopped at.
        if not all_finite(found):
            raise ValueError(
                "Relevance grew beyond all numbers, because outputs that are nearly zero were divided by: "
                "use rules='gamma', or Epsilon with a larger epsilon."
            )
        walk.layers.pop("", None)  # the module itself: the relevance given
        return Propagation(found, walk.layers, walk.absorbed)


@contextmanager
def _recording() -> Iterator[None]:
    """Products with the transposed layers are autograd's, which inference mode would switch off."""
    with torch.inference_mode(False), torch.no_grad():
        yield


def _up(module: nn.Module, inputs: Tensor, walk: Walk) -> tuple[Tensor, Down]:
    """Walk up, and make sure that the walk computes what the module does."""
    try:
        outputs, way_down = chain(module, "", inputs, walk)
    except RuntimeError as error:
        told = " ".join(str(error).split())
        raise ValueError(
            f"inputs of shape {tuple(inputs.shape)} and type {inputs.dtype} cannot be led through the "
            f"module ({told}): give it a batch as it takes them."
        ) from error
    if any(part._forward_hooks or part._forward_pre_hooks for part in module.modules()):
        return outputs, way_down  # they would be run
    # Functions that overwrite what others read are not seen by the walk. A few rows will tell.
    with evaluating(module):
        expected = plain(module(inputs[:_CHECKED].clone()))
    if not expected.isfinite().all():
        return outputs, way_down
    slack = 1e-3 * float(expected.abs().max())
    walked = outputs[:_CHECKED]
    if expected.shape != walked.shape or not torch.allclose(expected, walked, rtol=0, atol=slack):
        raise TypeError(
            f"The module ({type(module).__name__}) does not compute what its layers do one after the other, "
            "so relevance would be that of another network: look for functions that overwrite their "
            "inputs (inplace=True, relu_, +=)."
        )
    return outputs, way_down


def _check_module(module: nn.Module, stop: str | None) -> None:
    if not isinstance(module, nn.Module):
        raise TypeError(f"{type(module).__name__} was given as module, expected a torch.nn.Module.")
    names = [name for name, _ in named_layers(module) if name]
    if stop is not None and stop not in names:
        raise ValueError(
            f"stop={stop!r} was given, but the module has no layer of this name: expected one of "
            f"{', '.join(map(repr, names))}."
        )


def _check_tensor(values: Tensor, name: str) -> None:
    if not isinstance(values, Tensor):
        raise TypeError(f"{name} is a {type(values).__name__}, expected a tensor: use torch.as_tensor.")
    if not values.is_floating_point() or values.ndim < 2 or len(values) == 0:
        raise ValueError(
            f"{name} has shape {tuple(values.shape)} and type {values.dtype}, expected a batch of at least "
            "one row of floating-point numbers."
        )
    if not all_finite(values):
        raise ValueError(f"{name} has NaN or infinite values, expected finite ones: remove or impute them.")
