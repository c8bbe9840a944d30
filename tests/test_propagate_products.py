"""Products: a gate weighs a signal, which takes all the relevance."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from whyclust.propagate import Gamma, Gated, Zero, propagate, propagate_layers


def linear(inputs, outputs, seed, **options):
    generator = torch.Generator().manual_seed(seed)
    layer = nn.Linear(inputs, outputs, **options).double()
    with torch.no_grad():
        for part in layer.parameters():
            part.copy_(torch.randn(part.shape, generator=generator, dtype=torch.float64))
    return layer


def tensor(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Written(nn.Module):
    """A forward of its own, given as a function of the module and its inputs."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.a, self.b, self.end = linear(4, 3, 1, bias=False), linear(4, 3, 2), linear(3, 2, 3, bias=False)
        self.sigmoid, self.norm = nn.Sigmoid(), nn.LayerNorm(4).double()
        self.level = nn.Parameter(torch.tensor([0.2, 0.9, 0.5], dtype=torch.float64))

    def forward(self, x):
        return self.function(self, x)


class Odds(nn.Module):
    """A gate with a forward of its own, and a layer that has no rule."""

    def __init__(self):
        super().__init__()
        self.norm, self.layer = nn.LayerNorm(4).double(), linear(4, 3, 2)

    def forward(self, x):
        return torch.sigmoid(self.layer(self.norm(x)))


X, R = tensor(5, 4), tensor(5, 2, seed=2)
SIGNALS = {
    "function": lambda m, x: m.end(m.a(x) * torch.sigmoid(m.b(x))),
    "gate first": lambda m, x: m.end(m.b(x).sigmoid() * m.a(x)),
    "layer": lambda m, x: m.end(torch.mul(m.a(x), m.sigmoid(m.b(x)))),
    "hard": lambda m, x: m.end(m.a(x) * torch.clamp(m.b(x) + 0.5, 0.0, 1.0)),
    "hard, as a method": lambda m, x: m.end(m.a(x) * m.b(x).clamp(min=0.1, max=1)),
    "softmax": lambda m, x: m.end(m.a(x) * m.b(m.norm(x)).softmax(dim=1)),
    "one gate for all": lambda m, x: m.end(m.a(x) * torch.sigmoid(m.b(x)).sum(1, keepdim=True).sigmoid()),
    "moved": lambda m, x: m.end(m.a(x) * torch.sigmoid(m.b(x)).reshape(-1, 3)),
    "parameter": lambda m, x: m.end(m.a(x) * m.level),
    "function of a parameter": lambda m, x: m.end(torch.clamp(m.level + 0.3, 0, 1) * m.a(x)),
    "number": lambda m, x: m.end(2.5 * m.a(x)),
    "quotient": lambda m, x: m.end(m.a(x) / 2.5),
    "in place": lambda m, x: m.end(m.a(x).mul_(0.5)),
}


def by_rule(inputs, weight, relevance, rule):
    """One row through a layer without bias: z_ij = a_i w_ij, times 1 + γ where it agrees with z_j in sign."""
    gamma = rule.gamma if isinstance(rule, Gamma) else 0.0
    z = inputs * weight
    total = z.sum(dim=1, keepdim=True)
    z = z + gamma * torch.where(torch.sign(z) == torch.sign(total), z, 0.0)
    return (z / z.sum(dim=1, keepdim=True) * relevance[:, None]).sum(dim=0)


def products(module, inputs):
    """What the last layer is given."""
    given = []
    hook = module.end.register_forward_pre_hook(lambda layer, inputs: given.append(inputs[0].detach()))
    with torch.no_grad():
        module(inputs.clone())
    hook.remove()
    return given[0]


@pytest.mark.parametrize("name", list(SIGNALS))
@pytest.mark.parametrize("rules", [Zero(), Gamma(0.1)], ids=repr)
def test_the_signal_takes_all(name, rules):
    """Down to the product by the rule, on to the signal as it is, down to the inputs by the rule."""
    module = Written(SIGNALS[name])
    found = propagate(module, X, R, rules=rules)
    product = products(module, X)
    for row in range(len(X)):
        at_product = by_rule(product[row], module.end.weight.detach(), R[row], rules)
        at_inputs = by_rule(X[row], module.a.weight.detach(), at_product, rules)
        assert torch.allclose(found[row], at_inputs, rtol=0, atol=1e-9)
    assert torch.allclose(found.sum(dim=1), R.sum(dim=1), rtol=0, atol=1e-8)


def test_inputs_weighed_by_a_gate_of_their_own():
    """x ⊙ g(x), before an encoder: relevance of a column is that of its gated value."""
    encoder = nn.Sequential(linear(4, 6, 5), nn.ReLU(), linear(6, 2, 6))
    gate = nn.Sequential(linear(4, 4, 7), nn.Sigmoid())
    module = nn.Sequential(Gated(gate), encoder)
    with torch.no_grad():
        gated = X * gate(X)
        assert torch.equal(module(X), encoder(gated))
    found = propagate_layers(module, X, R)
    alone = propagate_layers(encoder, gated, R)
    assert torch.allclose(found.inputs, alone.inputs, rtol=0, atol=1e-10)
    assert torch.allclose(found.inputs.sum(dim=1) + found.total_absorbed, R.sum(dim=1), rtol=0, atol=1e-9)
    assert torch.allclose(propagate(module, X, R, stop="0"), alone.inputs, rtol=0, atol=1e-10)


def test_a_gate_may_be_anything_and_a_signal_has_layers():
    module = Gated(Odds(), signal=nn.Sequential(linear(4, 3, 1), nn.Tanh()))
    with torch.no_grad():
        signal = module.signal(X)
        assert torch.equal(module(X), signal * module.gate(X))
    relevance = tensor(5, 3, seed=3)
    assert torch.equal(propagate(module, X, relevance), propagate(module.signal, X, relevance))
    narrow = Gated(nn.Sequential(linear(4, 1, 8), nn.Sigmoid()))
    assert torch.equal(propagate(narrow, X, X), X)


def test_a_gate_with_a_forward_of_its_own_is_known_by_its_end():
    class Weighed(nn.Module):
        def __init__(self):
            super().__init__()
            self.gates, self.signal = Odds(), linear(4, 3, 1)

        def forward(self, x):
            return self.gates(x) * self.signal(x)

    module, relevance = Weighed(), tensor(5, 3, seed=3)
    assert torch.equal(propagate(module, X, relevance), propagate(module.signal, X, relevance))


class Learned(nn.Module):
    """Global gates: no layers at all."""

    def __init__(self):
        super().__init__()
        self.level = nn.Parameter(torch.tensor([0.0, 0.4, 0.7, 2.0], dtype=torch.float64))

    def forward(self, x):
        return x * torch.clamp(self.level, 0.0, 1.0)


def test_a_module_without_layers_is_read():
    assert torch.equal(propagate(Learned(), X, X), X)
    module = nn.Sequential(Learned(), linear(4, 2, 3, bias=False))
    found = propagate(module, X, R, rules="zero")
    gated = X * torch.tensor([0.0, 0.4, 0.7, 1.0], dtype=torch.float64)
    assert torch.allclose(found, propagate(module[1], gated, R, rules="zero"), rtol=0, atol=1e-10)
    assert (found[:, 0] == 0).all()  # what a closed gate keeps out has no relevance


@pytest.mark.parametrize(
    "function",
    [lambda m, x: m.a(x) * torch.tanh(m.b(x)), lambda m, x: torch.sigmoid(m.a(x)) * torch.sigmoid(m.b(x))],
    ids=["no gate", "two gates"],
)
def test_factors_that_are_alike_share_evenly(function):
    module, relevance = Written(function), tensor(5, 3, seed=3)
    found = propagate(module, X, relevance)
    one, other = propagate(module.a, X, relevance / 2), propagate(module.b, X, relevance / 2)
    assert torch.allclose(found, one + other, rtol=0, atol=1e-10)
    assert torch.equal(propagate(Written(lambda m, x: x * x), X, X), X)
    assert torch.equal(propagate(Written(lambda m, x: F.silu(x)), X, X), X)


def test_a_deep_clustering_behind_gates_is_explained():
    import whyclust as wc

    rows = np.random.default_rng(0).normal(size=(60, 4))
    encoder = nn.Sequential(Learned(), linear(4, 8, 1), nn.Tanh(), linear(8, 3, 2)).float()
    ex = wc.explain((encoder, np.eye(3)), rows)
    assert (ex.values[:, 0] == 0).all()
    assert np.abs(ex.values[:, 3]).max() > 0
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-9


def test_other_quotients_are_refused():
    with pytest.raises(TypeError, match="calls 'truediv', which has no rule"):
        propagate(Written(lambda m, x: m.a(x) / m.b(x)), X, tensor(5, 3))
