"""Which layer gets which rule: presets, mappings by name or type, functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import nn

from whyclust.propagate.torch_affine import CONVOLUTIONS, TRANSPOSED, WEIGHTED
from whyclust.propagate.torch_rules import Epsilon, Gamma, Rule, ZBox, Zero, ZPlus

# The paper on deep clusterings sets γ = 0.1 (section VII-B).
DEFAULT = Gamma(0.1)
PRESETS: dict[str, Rule] = {
    "default": DEFAULT,
    "gamma": DEFAULT,
    "epsilon": Epsilon(),
    "zero": Zero(),
    "z_plus": ZPlus(),
}


class Assignment:
    """The rule of every layer of a module.

    Parameters
    ----------
    rules : str, Rule, mapping or callable
        As :func:`whyclust.propagate.propagate` takes it.
    module : nn.Module
        The module, whose names a mapping is checked against.
    """

    def __init__(self, rules: Any, module: nn.Module) -> None:
        if rules == "image":
            rules = image_rules(module)
        self._function: Callable[[str, nn.Module], Rule | None] | None = None
        self._mapping: Mapping[Any, Rule] = {}
        self._rest: Rule = DEFAULT
        if isinstance(rules, str):
            if rules not in PRESETS:
                known = ", ".join(repr(name) for name in [*PRESETS, "image"])
                raise ValueError(
                    f"rules={rules!r} was given, expected one of {known}, a mapping or a function."
                )
            self._rest = PRESETS[rules]
        elif isinstance(rules, Rule):
            self._rest = rules
        elif isinstance(rules, Mapping):
            self._mapping = _checked(rules, module)
            self._rest = rules.get(nn.Module, DEFAULT)
        elif callable(rules) and not isinstance(rules, type):
            self._function = rules
        else:
            raise TypeError(
                f"rules={rules!r} was given, expected a name, a rule such as Gamma(0.1), a mapping from "
                "names or types of layers to rules, or a function of name and layer."
            )

    def given(self, name: str, layer: nn.Module) -> Rule | None:
        """The rule that a mapping has for this layer by its own name or type."""
        if name in self._mapping:
            return self._mapping[name]
        kinds = (kind for kind in type(layer).__mro__ if kind is not nn.Module)
        return next((self._mapping[kind] for kind in kinds if kind in self._mapping), None)

    def rule(self, name: str, layer: nn.Module) -> Rule:
        """The rule of a layer: by name, by a name it stands under, by type, or the one for all others."""
        if self._function is not None:
            found = self._function(name, layer)
            if not isinstance(found, Rule | None):
                raise TypeError(
                    f"rules({name!r}, {type(layer).__name__}) returned {found!r}, expected a rule or None."
                )
            return self._rest if found is None else found
        around = name
        while around:
            if around in self._mapping:
                return self._mapping[around]
            around = around.rpartition(".")[0]
        return self.given(name, layer) or self._rest


def assignment_of(rules: Any, module: nn.Module) -> Assignment:
    """The rules of a module's layers; an assignment that was made before stays as it is."""
    if isinstance(rules, Assignment):
        return rules
    return Assignment(rules, module)


def _checked(rules: Mapping[Any, Any], module: nn.Module) -> Mapping[Any, Rule]:
    """The mapping, if its keys are names or types and its values rules."""
    names = {name for name, _ in named_layers(module)}
    for key, rule in rules.items():
        if isinstance(key, str):
            if key not in names:
                raise ValueError(
                    f"rules has a rule for {key!r}, but the module has no layer of this name: expected one "
                    f"of {', '.join(map(repr, sorted(names)))}."
                )
        elif not (isinstance(key, type) and issubclass(key, nn.Module)):
            raise TypeError(f"rules has the key {key!r}, expected the name or the type of a layer.")
        if not isinstance(rule, Rule):
            raise TypeError(f"rules has {rule!r} for {key!r}, expected a rule such as Gamma(0.1).")
    return rules


def named_layers(module: nn.Module, name: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Names and modules in order; unlike PyTorch's own, also a module's second place."""
    yield name, module
    for key, child in module._modules.items():
        if child is not None:
            yield from named_layers(child, f"{name}.{key}" if name else key)


def image_rules(module: nn.Module, *, low: Any = 0.0, high: Any = 1.0) -> dict[Any, Rule]:
    """Rules for networks of images, as a mapping to look at and to change.

    The first layer has the box of the pixels (z^B), the lower half of the convolutions γ = 0.25 and the
    upper half γ = 0.1, as the paper has it in VGG-16 (section VI: γ = 0.25 in blocks 1-3, 0.1 in blocks
    4-5), linear layers ε.

    Parameters
    ----------
    module : nn.Module
        The network.
    low, high : float or Tensor
        Bounds of the pixels; tensors broadcast to one image, e.g. of shape (3, 1, 1).

    Returns
    -------
    dict
        Names of layers and their rules.

    Examples
    --------
    >>> image_rules(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2)))
    {'0': ZBox(low=0.0, high=1.0), '3': Epsilon(epsilon=1e-06, relative=False)}
    """
    layers = [(name, layer) for name, layer in named_layers(module) if isinstance(layer, WEIGHTED)]
    if not layers:
        raise ValueError("image_rules was given a module without linear or convolution layers.")
    convolutions = [name for name, layer in layers if isinstance(layer, (*CONVOLUTIONS, *TRANSPOSED))]
    rules: dict[Any, Rule] = {name: Epsilon() for name, _ in layers}
    for place, name in enumerate(convolutions):
        rules[name] = Gamma(0.25 if 2 * place < len(convolutions) else 0.1)
    rules[layers[0][0]] = ZBox(low, high)
    return rules
