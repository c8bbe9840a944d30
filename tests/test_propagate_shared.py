"""What is computed once on the way up is not computed again on the way down, unless a rule has changed it."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from whyclust.propagate import (  # noqa: E402
    Centered,
    Epsilon,
    Gamma,
    Rule,
    Zero,
    propagate,
    propagate_layers,
    register_rule,
)
from whyclust.propagate.torch_affine import Affine, all_finite  # noqa: E402

ROWS = 20


class Products(TorchDispatchMode):
    """Counts matrix products of as many rows as are led through; a module's check on few is none."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
            self.count += any(len(arg) == ROWS for arg in args if isinstance(arg, torch.Tensor))
        return func(*args, **(kwargs or {}))


def network(activation, bias=True):
    torch.manual_seed(0)
    layers = (nn.Linear(7, 9, bias=bias), activation, nn.Linear(9, 8, bias=bias), activation)
    return nn.Sequential(*layers, nn.Linear(8, 3, bias=bias)).double().eval()


def rows(of=7):
    return torch.randn(ROWS, of, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("rule", "activation", "products"),
    [
        (Zero(), nn.LeakyReLU(), 3 * 2),
        (Epsilon(0.1), nn.LeakyReLU(), 3 * 2),
        (Gamma(0), nn.LeakyReLU(), 3 * 2),
        (Gamma(0.1), nn.LeakyReLU(), 3 * 4),
        # Two on the way down where signs differ: in the first layer, and in the last, which no ReLU follows.
        (Gamma(0.1), nn.ReLU(), 3 * 3 + 2),
        # Differences from the reference are other inputs.
        ({"0": Centered(1.0), nn.Module: Gamma(0.1)}, nn.LeakyReLU(), 3 * 4 + 1),
    ],
)
def test_no_product_is_made_twice(rule, activation, products):
    module, inputs = network(activation), rows()
    relevance = module(inputs).detach()
    with Products() as made:
        propagate(module, inputs, relevance, rules=rule)
    assert made.count == products


def literal(a, weight, bias, relevance, gamma):
    """The rule as it is written, contribution by contribution."""
    z_ij = a[:, None, :] * weight
    one = torch.zeros(len(weight)) if bias is None else bias
    z = z_ij.sum(dim=2) + one
    signed = torch.where((z >= 0)[:, :, None], z_ij.clamp(min=0), z_ij.clamp(max=0))
    of_bias = torch.where(z >= 0, one.clamp(min=0), one.clamp(max=0))
    denominators = z + gamma * (signed.sum(dim=2) + of_bias)
    coefficients = torch.where(denominators == 0, 0, relevance / denominators)
    handed = ((z_ij + gamma * signed) * coefficients[:, :, None]).sum(dim=1)
    return handed, relevance - ((z_ij + gamma * signed).sum(dim=2) * coefficients)


@pytest.mark.parametrize("gamma", [0.0, 0.01, 0.1, 5.0])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("positive", [True, False], ids=["inputs as of a ReLU", "inputs of either sign"])
@pytest.mark.parametrize("live", [True, False], ids=["outputs of a ReLU", "outputs of either sign"])
def test_gamma_is_what_it_says(gamma, bias, positive, live):
    torch.manual_seed(2)
    layer = nn.Linear(7, 5, bias=bias).double()
    weight, constant = layer.weight.detach(), layer.bias.detach() if bias else None
    inputs = rows().clamp(min=0) if positive else rows()
    inputs[0] = 0
    relevance = rows(5) * (layer(inputs).detach() > 0 if live else 1)
    found, absorbed = Gamma(gamma).hand_down(
        Affine(weight, constant, nn.functional.linear), inputs, relevance
    )
    handed, kept = literal(inputs, weight, constant, relevance, gamma)
    assert (found - handed).abs().max() < 1e-12 * handed.abs().max()
    assert (absorbed - kept).abs().max() < 1e-12 * handed.abs().max()


def test_outputs_of_zero_count_as_positive():
    layer = nn.Linear(2, 1, bias=False).double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -1.0]]))
    one = torch.ones(1, 1, dtype=torch.float64)
    for inputs, wanted in (([1.0, 1.0], [11.0, -10.0]), ([-1.0, -1.0], [-10.0, 11.0])):
        found = propagate(layer, torch.tensor([inputs], dtype=torch.float64), one, rules=Gamma(0.1))
        assert torch.allclose(found, torch.tensor([wanted], dtype=torch.float64), rtol=1e-12)


class Both(Rule):
    """Half of what each of two rules hands down."""

    def hand_down(self, layer, inputs, relevance):
        parts = [rule.hand_down(layer, inputs, relevance / 2) for rule in (Zero(), Epsilon(0.5))]
        return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]


class Doubled(Rule):
    """Another rule for inputs, weights or a bias that are not the layer's own."""

    def __init__(self, rule, what):
        self.rule, self.what = rule, what

    def hand_down(self, layer, inputs, relevance):
        if self.what == "inputs":
            return self.rule.hand_down(layer, 2 * inputs, relevance)
        return self.rule.hand_down(
            replace(layer, **{self.what: 2 * getattr(layer, self.what)}), inputs, relevance
        )


def test_a_rule_may_be_made_of_others():
    layer, inputs = nn.Linear(7, 5).double(), rows()
    relevance = layer(inputs).detach()
    halves = [propagate(layer, inputs, relevance / 2, rules=rule) for rule in (Zero(), Epsilon(0.5))]
    assert torch.allclose(propagate(layer, inputs, relevance, rules=Both()), sum(halves), rtol=1e-12)


@pytest.mark.parametrize("rule", [Zero(), Epsilon(0.1), Gamma(0.1)])
@pytest.mark.parametrize("what", ["inputs", "weight", "bias"])
def test_a_rule_that_changes_the_layer_is_given_what_it_asks_for(rule, what):
    layer, inputs, relevance = nn.Linear(7, 5).double(), rows(), rows(5)
    found = propagate_layers(layer, inputs, relevance, rules=Doubled(rule, what))
    other = nn.Linear(7, 5).double()
    with torch.no_grad():
        other.weight.copy_(layer.weight * (2 if what == "weight" else 1))
        other.bias.copy_(layer.bias * (2 if what == "bias" else 1))
    wanted = propagate_layers(other, inputs * (2 if what == "inputs" else 1), relevance, rules=rule)
    assert torch.allclose(found.inputs, wanted.inputs, rtol=1e-12)
    assert torch.allclose(found.total_absorbed, wanted.total_absorbed, rtol=1e-12)


def test_layers_that_overwrite_their_inputs_change_nothing_below():
    class Overwriting(nn.Module):
        def forward(self, x):
            return x.mul_(3)

    @register_rule(Overwriting)
    def _tripled(layer, inputs, outputs, relevance):
        return relevance * (outputs == 3 * inputs)

    first, inputs = nn.Linear(7, 5).double(), rows()
    relevance = 3 * first(inputs).detach()
    found = propagate(nn.Sequential(first, Overwriting()), inputs, relevance, rules=Gamma(0.1))
    assert torch.equal(found, propagate(first, inputs, relevance, rules=Gamma(0.1)))
    for activation in (nn.ReLU, nn.LeakyReLU, nn.ELU):
        usual, in_place = (network(activation(inplace=inplace)) for inplace in (False, True))
        relevance = usual(inputs).detach()
        assert torch.equal(propagate(in_place, inputs, relevance), propagate(usual, inputs, relevance))


def test_finite_numbers_whose_sum_is_not_are_finite():
    largest = torch.finfo(torch.float32).max
    assert all_finite(torch.tensor([largest, largest]))
    assert all_finite(torch.empty(0))
    for bad in (torch.nan, torch.inf, -torch.inf):
        assert not all_finite(torch.tensor([1.0, bad, largest]))
    assert not all_finite(torch.tensor([torch.inf, -torch.inf]))


@pytest.mark.parametrize("changed", ["weight", "bias", "apply", None])
def test_what_has_passed_a_layer_is_not_taken_for_a_changed_one(changed):
    """A rule may put other weights, another bias or another map into the layer that was passed."""
    torch.manual_seed(1)
    layer, inputs = Affine(torch.rand(5, 7), torch.rand(5), nn.functional.linear), torch.rand(ROWS, 7)
    layer = replace(layer, passed=layer.passing(inputs))
    assert layer.passing(inputs) is layer.passed
    assert layer.passing(inputs.clone()) is not layer.passed
    other = {
        "weight": {"weight": layer.weight.clamp(min=0.5)},
        "bias": {"bias": None},
        "apply": {"apply": lambda x, w: 2 * nn.functional.linear(x, w)},
        None: {},
    }[changed]
    rule = replace(layer, **other)
    assert torch.allclose(rule.passing(inputs).outputs, rule(inputs))
    assert (rule.passing(inputs) is layer.passed) == (changed is None)
