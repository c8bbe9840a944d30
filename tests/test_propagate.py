"""Layer-wise relevance propagation: every rule against its plain matrix form, every layer by hand."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune

from whyclust._extras import missing
from whyclust.propagate import (
    AlphaBeta,
    Centered,
    Concatenate,
    Epsilon,
    Flat,
    Gamma,
    Residual,
    Rule,
    Sum,
    WSquare,
    ZBox,
    Zero,
    ZPlus,
    image_rules,
    propagate,
    propagate_layers,
    register_rule,
)

BOUND = 1e-12


def tensor(*shape, seed=0, dtype=torch.float64):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), dtype=dtype)


def seeded(module, seed=1, dtype=torch.float64):
    """Weights, and statistics of normalisations, from a generator of our own."""
    generator = np.random.default_rng(seed)
    module = module.to(dtype)
    for name, values in [*module.named_parameters(), *module.named_buffers()]:
        if values.is_floating_point():
            drawn = generator.normal(size=values.shape)
            drawn = np.abs(drawn) + 0.5 if "running_var" in name else drawn
            with torch.no_grad():
                values.copy_(torch.tensor(drawn))
    return module


def unbiased(module):
    for part in module.modules():
        if getattr(part, "bias", None) is not None:
            part.bias = None
    return module


# ---- the rules as the overview writes them, one output and one input at a time ----


def divided(numerator, denominator):
    return 0.0 if denominator == 0 else numerator / denominator


def literal(share, a, W, b, R):
    """R_i = Σ_j share(z_·j, b_j, w_·j, a)_i R_j, in plain loops."""
    result = np.zeros_like(a)
    for n in range(len(a)):
        for j in range(len(W)):
            shares = share(a[n] * W[j], b[j], W[j], a[n])
            for i in range(a.shape[1]):
                result[n, i] += shares[i] * R[n, j]
    return result


def zero(z, b, w, a):
    return [divided(part, z.sum() + b) for part in z]


def epsilon(z, b, w, a, size=0.3):
    total = z.sum() + b
    return [part / (total + (size if total >= 0 else -size)) for part in z]


def gamma(z, b, w, a, size=0.25):
    total = z.sum() + b
    sign = 1 if total >= 0 else -1

    def favoured(part):
        return part + size * part if sign * part > 0 else part

    return [divided(favoured(part), sum(map(favoured, z)) + favoured(b)) for part in z]


def z_plus(z, b, w, a):
    return [divided(max(part, 0), sum(max(other, 0) for other in z) + max(b, 0)) for part in z]


def alpha_beta(z, b, w, a, alpha=2.0, beta=1.0):
    up = sum(max(other, 0) for other in z) + max(b, 0)
    down = sum(min(other, 0) for other in z) + min(b, 0)
    return [alpha * divided(max(part, 0), up) - beta * divided(min(part, 0), down) for part in z]


def z_box(z, b, w, a, low=-4.0, high=5.0):
    q = [part - low * max(weight, 0) - high * min(weight, 0) for part, weight in zip(z, w, strict=True)]
    return [divided(part, sum(q)) for part in q]


def w_square(z, b, w, a):
    return [divided(weight**2, sum(w**2)) for weight in w]


def flat(z, b, w, a):
    return [1 / len(w) for _ in w]


RULES = {
    "zero": (Zero(), zero),
    "epsilon": (Epsilon(0.3), epsilon),
    "gamma": (Gamma(0.25), gamma),
    "z_plus": (ZPlus(), z_plus),
    "alpha_beta": (AlphaBeta(2.0, 1.0), alpha_beta),
    "z_box": (ZBox(-4.0, 5.0), z_box),
    "w_square": (WSquare(), w_square),
    "flat": (Flat(), flat),
}


@pytest.fixture(params=RULES)
def rule(request):
    return RULES[request.param]


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("sign", ["signed", "non-negative", "with zeros"])
def test_a_rule_is_its_matrix_form(rule, bias, sign):
    ours, share = rule
    layer = seeded(nn.Linear(6, 5, bias=bias))
    inputs, relevance = tensor(4, 6), tensor(4, 5, seed=2)
    if sign == "non-negative":
        inputs = inputs.abs()
    if sign == "with zeros":
        inputs[0] = 0
        inputs[1, :3] = 0
        with torch.no_grad():
            layer.weight[2] = 0
    b = layer.bias.detach().numpy() if bias else np.zeros(5)
    wanted = literal(share, inputs.numpy(), layer.weight.detach().numpy(), b, relevance.numpy())
    found = propagate(layer, inputs, relevance, rules=ours)
    assert np.abs(found.numpy() - wanted).max() < 1e-10


def test_gamma_is_the_overview_rule_under_relu():
    layer = seeded(nn.Linear(6, 5))
    inputs = tensor(8, 6).abs()
    relevance = torch.relu(layer(inputs)).detach()
    W, b, a = layer.weight.detach().numpy(), layer.bias.detach().numpy(), inputs.numpy()
    W, b = W + 0.1 * np.maximum(W, 0), b + 0.1 * np.maximum(b, 0)
    active = relevance.numpy() > 0
    assert active.any()
    wanted = a * (np.divide(relevance.numpy(), a @ W.T + b, where=active, out=np.zeros(active.shape)) @ W)
    assert np.abs(propagate(layer, inputs, relevance).numpy() - wanted).max() < BOUND


def test_limits_of_gamma():
    layer, inputs = seeded(nn.Linear(6, 5)), tensor(4, 6)
    relevance = tensor(4, 5, seed=2) * (layer(inputs) > 0)
    assert torch.equal(relevance.detach() != 0, layer(inputs) > 0)
    none = propagate(layer, inputs, relevance, rules=Gamma(0.0))
    assert torch.allclose(none, propagate(layer, inputs, relevance, rules="zero"), rtol=0, atol=1e-10)
    huge = propagate(layer, inputs, relevance, rules=Gamma(1e13))
    assert torch.allclose(huge, propagate(layer, inputs, relevance, rules="z_plus"), rtol=0, atol=1e-10)


def test_shares_under_gamma_are_bounded():
    # z_j is nearly zero: LRP-0 explodes, γ does not.
    layer = nn.Linear(2, 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -1.0]]))
    inputs, relevance = torch.tensor([[1.0, 1.0 - 1e-9]], dtype=torch.float64), torch.ones(1, 1).double()
    assert propagate(layer, inputs, relevance, rules="zero").abs().max() > 1e8
    assert propagate(layer, inputs, relevance, rules=Gamma(0.1)).abs().max() <= 1 + 1 / 0.1


def test_relative_epsilon_is_a_share_of_the_row():
    layer, inputs, relevance = seeded(nn.Linear(6, 5)), tensor(3, 6), tensor(3, 5, seed=2)
    sizes = 0.25 * layer(inputs).detach().square().mean(dim=1).sqrt()
    found = propagate(layer, inputs, relevance, rules=Epsilon(0.25, relative=True))
    for row in range(3):
        one = slice(row, row + 1)
        wanted = propagate(layer, inputs[one], relevance[one], rules=Epsilon(sizes[row].item()))
        assert (found[one] - wanted).abs().max() < BOUND


@pytest.mark.parametrize("inner", [Zero(), Gamma(0.25), ZPlus(), Epsilon(0.3)], ids=str)
def test_centred_is_the_rule_from_a_reference(inner):
    layer, inputs, relevance = seeded(nn.Linear(6, 5)), tensor(3, 6), tensor(3, 5, seed=2)
    reference = tensor(6, seed=3)
    moved = copy.deepcopy(layer)
    with torch.no_grad():
        moved.bias.copy_(layer(reference))
    assert (moved(inputs - reference) - layer(inputs)).abs().max() < BOUND
    wanted = propagate(moved, inputs - reference, relevance, rules=inner)
    found = propagate_layers(layer, inputs, relevance, rules=Centered(reference, inner))
    assert torch.equal(found.inputs, wanted)
    total = found.inputs.sum(dim=1) + found.total_absorbed
    assert (total - relevance.sum(dim=1)).abs().max() < 1e-10
    # What equals its reference has no relevance, and a reference of zero changes nothing.
    assert not propagate(layer, reference.expand(3, 6), relevance, rules=Centered(reference, inner)).any()
    assert torch.allclose(
        propagate(layer, inputs, relevance, rules=Centered(0.0, inner)),
        propagate(layer, inputs, relevance, rules=inner),
        rtol=0,
        atol=BOUND,
    )


def test_a_reference_for_images_is_padded_as_they_are():
    layer, inputs, relevance = (
        seeded(nn.Conv2d(2, 3, 3, padding=1)),
        tensor(3, 2, 4, 4),
        tensor(3, 3, 4, 4, seed=2),
    )
    reference = tensor(2, 4, 4, seed=3)
    found = propagate(layer, inputs, relevance, rules=Centered(reference, Zero()))
    matrix = dense(layer, (2, 4, 4))
    rules = Centered(reference.flatten(), Zero())
    wanted = propagate(matrix, inputs.flatten(1), relevance.flatten(1), rules=rules)
    assert (found.flatten(1) - wanted).abs().max() < 1e-9


# ---- convolutions as matrices ----

CONVOLUTIONS = {
    "1d": (nn.Conv1d(4, 6, 3, stride=2, padding=1), (4, 9)),
    "1d, same": (nn.Conv1d(4, 6, 3, padding="same", dilation=2), (4, 9)),
    "2d": (nn.Conv2d(2, 3, 3, padding=1), (2, 5, 4)),
    "2d, groups": (nn.Conv2d(4, 6, (2, 3), stride=(1, 2), groups=2), (4, 5, 5)),
    "2d, circular": (nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), (2, 4, 4)),
    "transposed 1d": (nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1, groups=2), (4, 4)),
    "transposed 2d": (nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1), (2, 3, 4)),
    "linear": (nn.Linear(6, 4), (6,)),
}


def dense(layer, shape):
    """The linear layer that computes the same, found by its answers to unit vectors."""
    size = int(np.prod(shape))
    with torch.no_grad():
        constant = layer(torch.zeros(1, *shape).double()).flatten()
        columns = layer(torch.eye(size).double().reshape(size, *shape)).flatten(1) - constant
        matrix = nn.Linear(size, len(constant), dtype=torch.float64)
        matrix.weight.copy_(columns.T)
        matrix.bias.copy_(constant)
    return matrix


def connections(module):
    """The weighted layer of a module with all its weights one: the squares of its matrix are flat."""
    kinds = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d, nn.ConvTranspose2d)
    layer = copy.deepcopy(next(part for part in module.modules() if isinstance(part, kinds)))
    with torch.no_grad():
        layer.weight.fill_(1.0)
    return layer


def by_matrix(module, shape, inputs, relevance, ours):
    """Relevance through the matrix that a module is."""
    if isinstance(ours, Flat):
        module, ours = connections(module), WSquare()
    return propagate(dense(module, shape), inputs.flatten(1), relevance.flatten(1), rules=ours)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_matrices(rule, name):
    ours, _ = rule
    layer, shape = CONVOLUTIONS[name]
    layer = seeded(copy.deepcopy(layer))
    inputs = tensor(3, *shape).clamp(-4, 5)
    relevance = tensor(*layer(inputs).shape, seed=2)
    wanted = by_matrix(layer, shape, inputs, relevance, ours)
    found = propagate(layer, inputs, relevance, rules=ours)
    assert found.shape == inputs.shape
    assert (found.flatten(1) - wanted).abs().max() < 1e-9


def test_flat_counts_connections():
    layer = seeded(nn.Conv1d(1, 1, 3, padding=1))
    # Outputs at the border have two inputs, the middle ones three.
    found = propagate(layer, tensor(1, 1, 4), torch.tensor([[[6.0, 6.0, 6.0, 6.0]]]).double(), rules=Flat())
    assert torch.allclose(found, torch.tensor([[[5.0, 7.0, 7.0, 5.0]]]).double(), rtol=0, atol=BOUND)


POOLS = {
    "average 1d": (nn.AvgPool1d(2), (3, 6)),
    "average 2d": (nn.AvgPool2d(3, stride=2, padding=1), (2, 5, 5)),
    "adaptive 2d": (nn.AdaptiveAvgPool2d(2), (2, 5, 4)),
}


@pytest.mark.parametrize("name", POOLS)
def test_means_are_matrices(rule, name):
    ours, _ = rule
    layer, shape = POOLS[name]
    inputs = tensor(3, *shape).clamp(-4, 5)
    relevance = tensor(*layer(inputs).shape, seed=2)
    if isinstance(ours, Flat):
        # All weights of a window are equal, so that an even share is one by weights.
        wanted = propagate(dense(layer, shape), inputs.flatten(1), relevance.flatten(1), rules=WSquare())
    else:
        wanted = propagate(dense(layer, shape), inputs.flatten(1), relevance.flatten(1), rules=ours)
    found = propagate(layer, inputs, relevance, rules=ours).flatten(1)
    assert (found - wanted).abs().max() < 1e-9


# ---- maxima and other layers without a rule ----


def test_the_winner_of_a_maximum_takes_all():
    inputs = torch.tensor([[[1.0, 3.0, 2.0, -1.0, -2.0]]])
    relevance = torch.tensor([[[1.0, 10.0]]])
    found = propagate(nn.MaxPool1d(3, stride=2), inputs, relevance)
    assert found.tolist() == [[[0.0, 1.0, 10.0, 0.0, 0.0]]]
    overlapping = propagate(nn.MaxPool1d(3, stride=1), inputs, torch.tensor([[[1.0, 10.0, 100.0]]]))
    assert overlapping.tolist() == [[[0.0, 11.0, 100.0, 0.0, 0.0]]]
    image = torch.tensor([[[[1.0, 2.0], [4.0, 3.0]]]])
    assert propagate(nn.MaxPool2d(2), image, torch.tensor([[[[5.0]]]])).tolist() == [
        [[[0.0, 0.0], [5.0, 0.0]]]
    ]


def test_a_maximum_with_a_rule_shares():
    inputs, relevance = torch.tensor([[[1.0, 3.0, 2.0, 2.0]]]), torch.tensor([[[8.0, 4.0]]])
    pool = nn.MaxPool1d(2)
    assert propagate(pool, inputs, relevance, rules={nn.MaxPool1d: Zero()}).tolist() == [
        [[2.0, 6.0, 2.0, 2.0]]
    ]
    assert propagate(pool, inputs, relevance, rules={nn.MaxPool1d: Flat()}).tolist() == [
        [[4.0, 4.0, 2.0, 2.0]]
    ]
    module = nn.Sequential(pool)
    assert propagate(module, inputs, relevance, rules={"0": Flat()}).tolist() == [[[4.0, 4.0, 2.0, 2.0]]]
    # A rule for all layers, or for the container, is none for maxima.
    for rules in ["zero", Flat(), lambda name, layer: Flat()]:
        assert propagate(module, inputs, relevance, rules=rules).tolist() == [[[0.0, 8.0, 4.0, 0.0]]]
    with pytest.raises(ValueError, match="dilation"):
        propagate(nn.MaxPool1d(2, dilation=2), inputs, torch.ones(1, 1, 2), rules={nn.MaxPool1d: Flat()})


ELEMENTWISE = [nn.ReLU(), nn.ReLU(inplace=True), nn.LeakyReLU(), nn.GELU(), nn.Tanh(), nn.Sigmoid()]
ELEMENTWISE += [nn.Softplus(), nn.ELU(), nn.SiLU(), nn.Identity(), nn.Dropout(0.9), nn.Sequential()]


@pytest.mark.parametrize("layer", ELEMENTWISE, ids=str)
def test_what_acts_on_single_numbers_passes_relevance_on(layer):
    inputs, relevance = tensor(3, 4), tensor(3, 4, seed=2)
    before = inputs.clone()
    assert torch.equal(propagate(layer, inputs, relevance), relevance)
    assert torch.equal(inputs, before)
    # The layer above sees its outputs, as in eval mode.
    above = seeded(nn.Linear(4, 2))
    wanted = propagate(above, copy.deepcopy(layer).eval()(inputs.clone()), relevance[:, :2])
    found = propagate(nn.Sequential(layer, above), inputs, relevance[:, :2])
    assert torch.equal(found, wanted)


def test_shapes_are_restored():
    module = nn.Sequential(nn.ZeroPad2d(1), nn.Flatten(), nn.Unflatten(1, (4, 4)), nn.Flatten())
    inputs, relevance = tensor(2, 1, 2, 2), tensor(2, 16, seed=2)
    assert torch.equal(propagate(module, inputs, relevance), relevance.reshape(2, 1, 4, 4)[:, :, 1:3, 1:3])


# ---- normalisation ----

NORMALISED = {
    "after linear": (nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4)), (5,)),
    "before linear": (nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 4)), (5,)),
    "after convolution": (nn.Sequential(nn.Conv2d(4, 6, 3, groups=2), nn.BatchNorm2d(6)), (4, 4, 4)),
    "before convolution": (
        nn.Sequential(nn.BatchNorm2d(4), nn.Conv2d(4, 6, 3, padding=1, groups=2)),
        (4, 4, 4),
    ),
    "after transposed": (nn.Sequential(nn.ConvTranspose1d(4, 6, 3, groups=2), nn.BatchNorm1d(6)), (4, 3)),
    "before transposed": (nn.Sequential(nn.BatchNorm1d(4), nn.ConvTranspose1d(4, 6, 3, groups=2)), (4, 3)),
    "over dropout": (nn.Sequential(nn.Linear(5, 4), nn.Dropout(), nn.BatchNorm1d(4)), (5,)),
    "across containers": (nn.Sequential(nn.Sequential(nn.Linear(5, 4)), nn.BatchNorm1d(4)), (5,)),
    "no affine": (nn.Sequential(nn.Linear(5, 4, bias=False), nn.BatchNorm1d(4, affine=False)), (5,)),
}


@pytest.mark.parametrize("name", NORMALISED)
def test_normalisation_is_merged_into_its_neighbour(rule, name):
    module, shape = NORMALISED[name]
    ours, _ = rule
    module = seeded(copy.deepcopy(module)).eval()
    inputs = tensor(3, *shape).clamp(-4, 5)
    relevance = tensor(*module(inputs).shape, seed=2)
    # Both layers together are one matrix, whose outputs are those of the module.
    matrix = dense(module, shape)
    assert (matrix(inputs.flatten(1)) - module(inputs).flatten(1)).abs().max() < 1e-10
    wanted = by_matrix(module, shape, inputs, relevance, ours)
    found = propagate_layers(module.train(), inputs, relevance, rules=ours)
    assert (found.inputs.flatten(1) - wanted).abs().max() < 1e-8
    assert len(found.absorbed) == 1
    assert all(torch.equal(values, relevance) for values in found.layers.values())


def test_normalisation_alone_is_diagonal():
    module = seeded(nn.Sequential(nn.ReLU(), nn.BatchNorm2d(3), nn.ReLU())).eval()
    inputs, relevance = tensor(2, 3, 2, 2), tensor(2, 3, 2, 2, seed=2)
    outputs, shift = module[1](inputs.relu()), module[1](torch.zeros(1, 3, 2, 2).double())
    wanted = (outputs - shift) / outputs * relevance
    assert (propagate(module, inputs, relevance, rules="zero") - wanted).abs().max() < BOUND


def test_normalisation_with_a_rule_of_its_own_stands_alone():
    module = seeded(nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4)))
    inputs, relevance = tensor(3, 5), tensor(3, 4, seed=2)
    found = propagate_layers(module, inputs, relevance, rules={nn.BatchNorm1d: WSquare(), "0": Zero()})
    assert torch.allclose(found.layers["0"], relevance, rtol=0, atol=BOUND)  # w²/w² = 1
    assert list(found.absorbed) == ["1", "0"]
    wanted = propagate(module[0], inputs, relevance, rules="zero")
    assert (found.inputs - wanted).abs().max() < 1e-10


def test_a_linear_layer_over_several_vectors_is_not_merged():
    module = seeded(nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(3))).eval()
    inputs = tensor(2, 3, 5)
    found = propagate_layers(module, inputs, tensor(2, 3, 4))
    assert found.inputs.shape == inputs.shape
    assert list(found.absorbed) == ["1", "0"]


def test_normalisation_by_the_batch_is_refused():
    module = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4, track_running_stats=False))
    with pytest.raises(ValueError, match="running statistics"):
        propagate(module, torch.ones(2, 5), torch.ones(2, 4))


# ---- whole networks ----


def convolutional(dtype=torch.float32, bias=True, activation=nn.ReLU):
    module = nn.Sequential(
        nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), activation(), nn.MaxPool2d(2)),
        Residual(nn.Conv2d(4, 4, 3, padding=1), activation(), nn.Conv2d(4, 4, 1)),
        activation(),
        Concatenate(nn.Conv2d(4, 3, 1), nn.Sequential(nn.Conv2d(4, 5, 3, padding=1), activation())),
        Sum(nn.Conv2d(8, 4, 1), nn.Conv2d(8, 4, 3, padding=1)),
        activation(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(16, 3),
    )
    module = seeded(module, dtype=dtype)
    return module if bias else unbiased(module)


def eval_outputs(module, inputs):
    with torch.no_grad():
        return copy.deepcopy(module).eval()(inputs)


def largest(found):
    """The largest amount of relevance, of either sign, that a row has in any layer."""
    return max(values.flatten(1).abs().sum(dim=1).max() for values in [found.inputs, *found.layers.values()])


def rectified():
    return nn.Sequential(
        nn.Conv2d(2, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8, 12),
    )


# What conserves, and where. ε does not: it takes a share. z⁺ needs a positive contribution at every output
# that has relevance, as rectified ones have; αβ needs contributions of both signs; a box holds inputs alone.
CONSERVING = {
    "zero": (convolutional, "zero"),
    "zero, leaky": (lambda: convolutional(activation=nn.LeakyReLU), "zero"),
    "gamma": (convolutional, "gamma"),
    "gamma, leaky": (lambda: convolutional(activation=nn.LeakyReLU), Gamma(0.25)),
    "w_square": (convolutional, WSquare()),
    "flat": (convolutional, Flat()),
    "z_box": (convolutional, {"0.0": ZBox(-4.0, 4.0)}),
    "z_plus": (rectified, "z_plus"),
    "alpha_beta": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(72, 40), nn.ELU(), nn.Linear(40, 3)),
        AlphaBeta(),
    ),
}


@pytest.mark.parametrize("name", CONSERVING)
def test_relevance_is_conserved_without_biases(name):
    make, rules = CONSERVING[name]
    module = unbiased(seeded(make(), dtype=torch.float32))
    inputs = tensor(5, 2, 6, 6, dtype=torch.float32).clamp(-4, 4)
    relevance = eval_outputs(module, inputs).relu()
    assert relevance.sum() > 0
    found = propagate_layers(module, inputs, relevance, rules=rules)
    error = found.inputs.flatten(1).sum(dim=1) - relevance.sum(dim=1)
    assert error.abs().max() < 1e-5 * largest(found)


def test_epsilon_does_not_conserve():
    module = unbiased(seeded(rectified(), dtype=torch.float32))
    inputs = tensor(5, 2, 6, 6, dtype=torch.float32)
    relevance = eval_outputs(module, inputs).relu()
    found = propagate_layers(module, inputs, relevance, rules=Epsilon(0.5))
    assert (found.inputs.flatten(1).sum(dim=1) < relevance.sum(dim=1)).any()
    assert (found.total_absorbed >= -1e-5 * largest(found)).all()


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize(
    "rules", ["default", "epsilon", "z_plus", AlphaBeta(), AlphaBeta(1.5, 1.0), Epsilon(0.5)]
)
def test_what_is_absorbed_is_accounted_for(rules, bias):
    module = convolutional(bias=bias, activation=nn.LeakyReLU)
    inputs = tensor(5, 2, 6, 6, dtype=torch.float32)
    relevance = tensor(5, 3, seed=2, dtype=torch.float32)
    found = propagate_layers(module, inputs, relevance, rules=rules)
    rest = found.inputs.flatten(1).sum(dim=1) + found.total_absorbed - relevance.sum(dim=1)
    assert rest.abs().max() < 1e-5 * largest(found)
    assert all(values.shape == (5,) for values in found.absorbed.values())
    if bias:
        assert found.total_absorbed.abs().max() > 1e-3


def test_what_a_bias_absorbs_by_hand():
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0]]))
        layer.bias.copy_(torch.tensor([1.0]))
    found = propagate_layers(layer, torch.ones(1, 2), torch.tensor([[8.0]]), rules="zero")
    assert found.inputs.tolist() == [[2.0, 4.0]]
    assert found.absorbed[""].tolist() == [2.0]
    assert found.layers == {}


def test_alpha_beta_conserves_only_for_alpha_less_beta_one():
    layer, inputs = unbiased(seeded(nn.Linear(20, 3))), tensor(4, 20)
    relevance = tensor(4, 3, seed=2)
    for alpha, beta in [(2.0, 1.0), (1.0, 0.0), (2.0, 0.5)]:
        total = propagate(layer, inputs, relevance, rules=AlphaBeta(alpha, beta)).sum(dim=1)
        assert (total - (alpha - beta) * relevance.sum(dim=1)).abs().max() < 1e-10


def test_zero_is_gradient_times_input():
    module = convolutional(dtype=torch.float64, bias=False).eval()
    inputs = tensor(4, 2, 6, 6).requires_grad_()
    outputs = module(inputs)
    outputs[:, 1].sum().backward()
    relevance = torch.zeros_like(outputs)
    relevance[:, 1] = outputs[:, 1]
    found = propagate(module, inputs, relevance, rules="zero")
    assert (found - inputs.detach() * inputs.grad).abs().max() < 1e-9
    assert not found.requires_grad


def test_layers_and_stops():
    module = convolutional(dtype=torch.float64)
    inputs, relevance = tensor(3, 2, 6, 6), tensor(3, 3, seed=2)
    found = propagate_layers(module, inputs, relevance)
    expected = {name for name, _ in module.named_modules()} - {"", "3.branches", "4.branches"}
    assert set(found.layers) == expected
    for name in sorted(expected):
        stopped = propagate(module, inputs, relevance, stop=name)
        assert torch.equal(stopped, found.layers[name]), name
    assert torch.equal(found.layers["9"], relevance)
    assert torch.equal(found.layers["0"], found.layers["0.2"])
    assert found.layers["0.0"].shape == (3, 4, 6, 6)
    # From the relevance of a layer down is the same as all the way.
    with torch.no_grad():
        middle = module[:3](inputs)
    upper = propagate(module[3:].eval(), middle, relevance)
    assert torch.allclose(upper, found.layers["2"], rtol=0, atol=1e-10)
    assert torch.allclose(propagate(module[:3], inputs, upper), found.inputs, rtol=0, atol=1e-9)


def test_nothing_is_computed_below_the_stop():
    class Untouched(nn.Module):
        def forward(self, x):
            return x

    @register_rule(Untouched)
    def _never(layer, inputs, outputs, relevance):
        raise AssertionError("below the stop")

    module = nn.Sequential(Untouched(), Residual(Untouched(), nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 2))
    inputs, relevance = torch.ones(3, 4), torch.ones(3, 2)
    for name in ["2", "1", "1.shortcut", "1.layers.2", "1.layers.1"]:
        assert propagate(module, inputs, relevance, stop=name).shape == ((3, 2) if name == "2" else (3, 4))
    with pytest.raises(AssertionError, match="below the stop"):
        propagate(module, inputs, relevance)


def test_a_residual_by_hand():
    inner = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        inner.weight.copy_(torch.tensor([[1.0, 1.0], [0.0, 2.0]]))
    # x = (1, 3); inner (4, 6); sum (5, 9); R = (10, 18): shortcut (2, 6), inner (8, 12),
    # of which x gets 8·(1, 3)/4 + 12·(0, 1).
    inputs, relevance = torch.tensor([[1.0, 3.0]]), torch.tensor([[10.0, 18.0]])
    module = nn.Sequential(Residual(inner))
    found = propagate_layers(module, inputs, relevance, rules="zero")
    assert torch.allclose(found.layers["0.shortcut"], torch.tensor([[2.0, 6.0]]))
    assert torch.allclose(found.layers["0.layers.0"], torch.tensor([[8.0, 12.0]]))
    assert torch.allclose(found.inputs, torch.tensor([[2.0 + 2.0, 6.0 + 6.0 + 12.0]]))
    assert module(inputs).tolist() == [[5.0, 9.0]]


def test_branches_of_opposite_sign_share_by_the_rule():
    def scaled(factor):
        layer = nn.Linear(1, 1, bias=False)
        with torch.no_grad():
            layer.weight.fill_(factor)
        return layer

    module, inputs, relevance = Sum(scaled(3.0), scaled(-2.0)), torch.ones(1, 1), torch.ones(1, 1)
    assert module(inputs).item() == 1.0
    for rules, wanted in [("zero", (3.0, -2.0)), ("z_plus", (1.0, 0.0)), (Gamma(1.0), (6 / 4, -2 / 4))]:
        found = propagate_layers(
            module, inputs, relevance, rules=rules if rules != "z_plus" else {Sum: ZPlus()}
        )
        shares = [found.layers[f"branches.{i}"].item() for i in range(2)]
        assert shares == pytest.approx(wanted, abs=1e-6)


def test_a_concatenation_by_hand():
    inner = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        inner.weight.copy_(torch.tensor([[1.0, 1.0]]))
    module = Concatenate(nn.Identity(), inner)
    inputs = torch.tensor([[1.0, 3.0]])
    assert module(inputs).tolist() == [[1.0, 3.0, 4.0]]
    found = propagate_layers(module, inputs, torch.tensor([[10.0, 20.0, 40.0]]), rules="zero")
    assert found.inputs.tolist() == [[10.0 + 10.0, 20.0 + 30.0]]
    assert found.layers["branches.1"].tolist() == [[40.0]]


def test_a_projected_residual_and_shared_layers():
    shared = seeded(nn.Linear(4, 4, bias=False))
    module = nn.Sequential(
        shared, nn.ReLU(), shared, Residual(shared, shortcut=seeded(nn.Linear(4, 4, bias=False)))
    )
    inputs = tensor(3, 4)
    outputs = eval_outputs(module, inputs)
    found = propagate_layers(module, inputs, outputs, rules="zero")
    assert {"0", "2", "3.layers.0", "3.shortcut"} <= set(found.layers)
    assert (found.inputs.sum(dim=1) - outputs.sum(dim=1)).abs().max() < 1e-9


def test_a_row_alone_is_the_row_in_the_batch():
    module = convolutional(dtype=torch.float64)
    inputs, relevance = tensor(6, 2, 6, 6), tensor(6, 3, seed=2)
    for rules in ["default", Epsilon(0.25, relative=True), "z_plus"]:
        whole = propagate(module, inputs, relevance, rules=rules)
        for row in range(6):
            one = slice(row, row + 1)
            alone = propagate(module, inputs[one], relevance[one], rules=rules)
            assert (alone - whole[one]).abs().max() < 1e-9 * whole.abs().max()


@pytest.mark.parametrize("name", RULES)
def test_zeros_give_no_nan(name):
    ours, _ = RULES[name]
    module = convolutional(bias=False)
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            with torch.no_grad():
                part.weight[0] = 0
    found = propagate(module, torch.zeros(2, 2, 6, 6), torch.ones(2, 3), rules=ours)
    assert torch.isfinite(found).all()
    if name not in ("z_box", "w_square", "flat"):
        assert not found.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_module_stays_as_it_was(dtype):
    module = convolutional(dtype=dtype)
    module[0].append(nn.BatchNorm2d(4).to(dtype))
    module.train()
    module[2].eval()
    module[9].weight.requires_grad_(False)
    called = []
    module[9].register_forward_hook(lambda *_: called.append(1))
    before = {key: values.clone() for key, values in module.state_dict().items()}
    flags = [
        (part.training, len(part._forward_hooks), len(part._backward_hooks)) for part in module.modules()
    ]
    grads = [values.requires_grad for values in module.parameters()]
    inputs = tensor(3, 2, 6, 6, dtype=dtype).requires_grad_()
    found = propagate(module, inputs, torch.ones(3, 3, dtype=dtype))
    assert found.dtype == dtype
    assert not called
    assert all(torch.equal(values, before[key]) for key, values in module.state_dict().items())
    assert flags == [(p.training, len(p._forward_hooks), len(p._backward_hooks)) for p in module.modules()]
    assert grads == [values.requires_grad for values in module.parameters()]
    assert all(values.grad is None for values in module.parameters())
    assert inputs.grad is None


def test_gradients_may_be_off_or_on():
    module, inputs, relevance = convolutional(), tensor(3, 2, 6, 6, dtype=torch.float32), torch.ones(3, 3)
    plain = propagate(module, inputs, relevance)
    with torch.no_grad():
        assert torch.equal(propagate(module, inputs, relevance), plain)
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        made_here = inputs.clone()
        assert torch.equal(propagate(module, made_here, relevance.clone()), plain)
        fresh = convolutional()
        assert torch.equal(propagate(fresh, made_here, relevance), plain)
        zero = propagate(fresh, made_here, relevance, rules="zero")
    assert torch.equal(propagate(module, inputs, relevance, rules="zero"), zero)


# ---- which layer gets which rule ----


class Noted(Rule):
    """A rule of the user's own."""

    def __init__(self):
        self.seen = 0

    def hand_down(self, layer, inputs, relevance):
        self.seen += 1
        return Zero().hand_down(layer, inputs, relevance)


def test_mappings_go_by_name_then_container_then_type():
    module = seeded(
        nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), nn.Linear(4, 4), nn.Conv1d(1, 1, 1))
    )[:2]
    inputs, relevance = tensor(2, 4), tensor(2, 4, seed=2)
    name, container, kind, rest = Noted(), Noted(), Noted(), Noted()
    rules = {"0.1": name, "0": container, nn.Linear: kind, nn.Module: rest}
    propagate(module, inputs, relevance, rules=rules)
    assert [rule.seen for rule in (name, container, kind, rest)] == [1, 1, 1, 0]
    propagate(module, inputs, relevance, rules={"0": container, nn.Module: rest})
    assert [rule.seen for rule in (container, rest)] == [3, 1]
    # Layers that a mapping or a function leaves out have the default.
    wanted = propagate(module, inputs, relevance, rules={"0": Zero(), "1": Gamma(0.1)})
    assert torch.equal(propagate(module, inputs, relevance, rules={"0": Zero()}), wanted)
    by_function = propagate(
        module, inputs, relevance, rules=lambda name, layer: Zero() if name.startswith("0.") else None
    )
    assert torch.equal(by_function, wanted)


def test_presets():
    module, inputs = convolutional(), tensor(3, 2, 6, 6, dtype=torch.float32)
    relevance = torch.ones(3, 3)
    same = {
        "default": Gamma(0.1),
        "gamma": Gamma(0.1),
        "epsilon": Epsilon(),
        "zero": Zero(),
        "z_plus": ZPlus(),
    }
    for name, ours in same.items():
        wanted = propagate(module, inputs, relevance, rules=ours)
        assert torch.equal(propagate(module, inputs, relevance, rules=name), wanted)
    pixels = torch.sigmoid(inputs)
    found = propagate(module, pixels, relevance, rules="image")
    assert torch.equal(found, propagate(module, pixels, relevance, rules=image_rules(module)))
    with pytest.raises(ValueError, match="expected inputs inside the box"):
        propagate(module, inputs, relevance, rules="image")


def test_image_rules_of_a_network():
    rules = image_rules(convolutional(), low=-1.0, high=2.0)
    first = rules.pop("0.0")
    assert (first.low, first.high) == (-1.0, 2.0)
    assert rules == {
        "1.layers.0": Gamma(0.25),
        "1.layers.2": Gamma(0.25),
        "3.branches.0": Gamma(0.25),
        "3.branches.1.0": Gamma(0.1),
        "4.branches.0": Gamma(0.1),
        "4.branches.1": Gamma(0.1),
        "9": Epsilon(),
    }
    with pytest.raises(ValueError, match="without linear or convolution"):
        image_rules(nn.ReLU())


def test_a_box_for_each_channel():
    layer = seeded(nn.Conv2d(2, 3, 2))
    low, high = torch.tensor([-1.0, -2.0]).view(2, 1, 1), torch.tensor([2.0, 3.0]).view(2, 1, 1)
    inputs = low + (high - low) * torch.rand(4, 2, 3, 3, generator=torch.Generator().manual_seed(0))
    inputs, relevance = inputs.double(), tensor(4, 3, 2, 2, seed=2)
    found = propagate(layer, inputs, relevance, rules=ZBox(low, high))
    # All shares are positive, so that nothing is lost and none is larger than the whole.
    assert (found.sum(dim=(1, 2, 3)) - relevance.sum(dim=(1, 2, 3))).abs().max() < 1e-10
    assert (propagate(layer, inputs, relevance.abs(), rules=ZBox(low, high)) >= -1e-12).all()


# ---- registered and refused ----


class Doubled(nn.Module):
    """A module with modes, parameters and no rule."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.9)

    def forward(self, x):
        return 2 * self.drop(x)


class OddLinear(nn.Linear):
    def forward(self, x):
        return super().forward(x) + 1


@pytest.mark.parametrize("layer", [nn.LayerNorm(4), OddLinear(4, 4), nn.Softmax(1)])
def test_unknown_modules_are_named(layer):
    module = nn.Sequential(nn.Linear(4, 4), nn.Sequential(layer))
    kind = type(layer).__name__
    with pytest.raises(TypeError, match=rf"'1\.0' is a {kind}, .*register_rule\({kind}\)"):
        propagate(module, torch.ones(2, 4), torch.ones(2, 4))


def test_registering_a_rule():
    assert torch.equal(propagate(Doubled(), torch.ones(2, 4), torch.ones(2, 4)), torch.ones(2, 4))

    @register_rule(Doubled)
    def doubled(layer, inputs, outputs, relevance):
        assert not layer.training and not layer.drop.training
        return 0.75 * relevance * torch.eq(outputs, 2 * inputs)

    module = nn.Sequential(nn.ReLU(), Doubled())
    found = propagate_layers(module, torch.ones(2, 4), torch.ones(2, 4))
    assert module[1].training and module[1].drop.training
    assert torch.equal(found.inputs, torch.full((2, 4), 0.75))
    assert found.absorbed["1"].tolist() == [1.0, 1.0]

    @register_rule(Doubled)
    def wrong(layer, inputs, outputs, relevance):
        return relevance[:, :1]

    with pytest.raises(ValueError, match=r"returned \(2, 1\) at layer '1', expected .*\(2, 4\)"):
        propagate(module, torch.ones(2, 4), torch.ones(2, 4))


# ---- modules with a forward of their own ----


class Block(nn.Module):
    """A block of a residual network as people write it."""

    def __init__(self, before, after):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(after)
        self.short = nn.Conv2d(before, after, 1) if before != after else None

    def forward(self, x):
        out = self.relu(self.norm1(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        out += x if self.short is None else self.short(x)
        return self.relu(out)


class Written(nn.Module):
    """Layers and functions, called in a forward."""

    def __init__(self):
        super().__init__()
        self.block1, self.block2 = Block(2, 4), Block(4, 4)
        self.left, self.right = nn.Conv2d(4, 2, 1), nn.Sequential(nn.Conv2d(4, 3, 1), nn.LeakyReLU())
        self.head = nn.Linear(20, 3)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.block1(x), 2)
        x = self.block2(x)
        x = torch.cat([torch.tanh(self.left(x)), self.right(x)], dim=1)
        x = nn.functional.adaptive_avg_pool2d(x, 2)
        x = nn.functional.dropout(x.view(x.size(0), -1), training=self.training)
        return -x if self.training else self.head(x)


def as_sequential(written):
    def block(b):
        layers = [b.conv1, b.norm1, nn.ReLU(), b.conv2, b.norm2]
        return nn.Sequential(Residual(*layers, shortcut=b.short), nn.ReLU())

    branches = Concatenate(nn.Sequential(written.left, nn.Tanh()), written.right)
    layers = [block(written.block1), nn.MaxPool2d(2), block(written.block2), branches]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), written.head)


@pytest.mark.parametrize(
    "rules",
    ["default", "epsilon", "z_plus", {Sum: Flat(), Residual: Flat(), nn.Conv2d: AlphaBeta()}],
    ids=repr,
)
def test_a_forward_is_read_as_its_layers(rules):
    module = seeded(Written()).train()
    inputs, relevance = tensor(3, 2, 6, 6), tensor(3, 3, seed=2)
    twin = as_sequential(module)
    assert torch.equal(eval_outputs(module, inputs), eval_outputs(twin, inputs))
    found = propagate_layers(module, inputs, relevance, rules=rules)
    wanted = propagate_layers(twin, inputs, relevance, rules=rules)
    assert (found.inputs - wanted.inputs).abs().max() < 1e-9 * wanted.inputs.abs().max()
    assert torch.allclose(found.total_absorbed, wanted.total_absorbed, rtol=1e-9)
    assert torch.allclose(found.layers["block1"], wanted.layers["0"], rtol=0, atol=1e-9)
    assert torch.allclose(found.layers["block2.conv1"], wanted.layers["2.0.layers.0"], rtol=0, atol=1e-9)
    for stop in ["block2", "block2.conv1", "right", "left", "head"]:
        assert torch.equal(propagate(module, inputs, relevance, rules=rules, stop=stop), found.layers[stop])
    assert module.training and module.block1.norm1.training


class Forward(nn.Module):
    def __init__(self, function, layer):
        super().__init__()
        self.function, self.layer = function, layer

    def forward(self, x):
        return self.function(x, self.layer)


def branching(x, layer):
    return layer(x) if x.sum() > 0 else x


def counting(x, layer):
    return layer(x) if len(x) > 1 else x


def overwriting(x, layer):
    return x + layer(x)


def cubing(x, layer):
    return layer(x) ** 3


@pytest.mark.parametrize(
    ("function", "layer", "text"),
    [
        (branching, nn.ReLU(), r"'1' is a Forward, .*cannot be read.*register_rule\(Forward\)"),
        (counting, nn.ReLU(), "'1' is a Forward, .*cannot be read"),
        (overwriting, nn.ReLU(inplace=True), "'1.layer' overwrites inputs"),
        (cubing, nn.ReLU(), r"'1' is a Forward, whose forward calls 'pow_1'.*register_rule\(Forward\)"),
        (overwriting, nn.LayerNorm(4), "'1.layer' is a LayerNorm"),
        (lambda x, layer: (x, layer(x)), nn.ReLU(), "one input and one output"),
    ],
)
def test_forwards_that_cannot_be_read(function, layer, text):
    module = nn.Sequential(nn.Linear(4, 4), Forward(function, layer))
    with pytest.raises(TypeError, match=text):
        propagate(module, torch.ones(2, 4), torch.ones(2, 4))


def test_a_layer_called_twice_absorbs_twice():
    module = seeded(Forward(lambda x, layer: layer(torch.relu(layer(x))), nn.Linear(4, 4)))
    inputs, relevance = tensor(3, 4), tensor(3, 4, seed=2)
    found = propagate_layers(module, inputs, relevance)
    wanted = propagate(nn.Sequential(module.layer, nn.ReLU(), module.layer), inputs, relevance)
    assert (found.inputs - wanted).abs().max() < BOUND
    assert list(found.absorbed) == ["layer"]
    assert (found.inputs.sum(dim=1) + found.absorbed["layer"] - relevance.sum(dim=1)).abs().max() < 1e-10


def test_unused_layers_and_inputs_used_twice():
    inner = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        inner.weight.copy_(torch.tensor([[1.0, 1.0], [0.0, 2.0]]))
    inputs, relevance = torch.tensor([[1.0, 3.0]]), torch.tensor([[10.0, 18.0]])
    found = propagate(Forward(overwriting, inner), inputs, relevance, rules="zero")
    assert torch.allclose(found, torch.tensor([[4.0, 24.0]]))  # as the residual by hand
    assert torch.equal(propagate(Forward(lambda x, layer: x, inner), inputs, relevance), relevance)
    with pytest.raises(ValueError, match="stop='layer' was given, but"):
        propagate(Forward(lambda x, layer: x, inner), inputs, relevance, stop="layer")


LINEAR = nn.Linear(4, 2)
ONES, OUT = torch.ones(3, 4), torch.ones(3, 2)
MISTAKES = {
    "no module": (TypeError, "expected a torch.nn.Module", ([1], ONES, OUT), {}),
    "array": (TypeError, "inputs is a ndarray", (LINEAR, np.ones((3, 4)), OUT), {}),
    "whole numbers": (ValueError, "floating-point", (LINEAR, ONES.long(), OUT), {}),
    "one row": (ValueError, "a batch", (LINEAR, ONES[0], OUT), {}),
    "no rows": (ValueError, "at least one row", (LINEAR, ONES[:0], OUT[:0]), {}),
    "NaN": (ValueError, "inputs has NaN", (LINEAR, ONES * torch.nan, OUT), {}),
    "infinite": (ValueError, "relevance has NaN or infinite", (LINEAR, ONES, OUT / 0), {}),
    "shape": (ValueError, r"shape \(3, 4\), expected .*\(3, 2\)", (LINEAR, ONES, ONES), {}),
    "stop": (ValueError, "stop='7'.*'0', '1'", (nn.Sequential(LINEAR, nn.ReLU()), ONES, OUT), {"stop": "7"}),
    "preset": (ValueError, "rules='gama'.*'gamma'", (LINEAR, ONES, OUT), {"rules": "gama"}),
    "rule type": (TypeError, "rules=<class", (LINEAR, ONES, OUT), {"rules": Gamma}),
    "number": (TypeError, "rules=3", (LINEAR, ONES, OUT), {"rules": 3}),
    "name": (ValueError, "no layer of this name", (LINEAR, ONES, OUT), {"rules": {"first": Zero()}}),
    "key": (TypeError, "key 0", (LINEAR, ONES, OUT), {"rules": {0: Zero()}}),
    "value": (TypeError, "'zero' for", (LINEAR, ONES, OUT), {"rules": {nn.Linear: "zero"}}),
    "function": (TypeError, "returned 'zero'", (LINEAR, ONES, OUT), {"rules": lambda name, layer: "zero"}),
    "box": (ValueError, "ZBox", (LINEAR, ONES, OUT), {"rules": ZBox(2.0, 3.0)}),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_get_a_sentence(name):
    error, text, arguments, options = MISTAKES[name]
    with pytest.raises(error, match=text):
        propagate(*arguments, **options)


@pytest.mark.parametrize("make", [lambda: Gamma(-1), lambda: Epsilon(np.nan), lambda: AlphaBeta(-1, 0)])
def test_parameters_of_rules_are_checked(make):
    with pytest.raises(ValueError, match="expected a number of at least 0"):
        make()


def test_nothing_infinite_is_passed_on():
    layer = nn.Linear(4, 2)
    with torch.no_grad():
        layer.weight.fill_(torch.nan)
    with pytest.raises(ValueError, match="outputs are not all finite"):
        propagate(layer, ONES, OUT)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 1.0, 1.0, -3.0 + 1e-6]] * 2))
        layer.bias.zero_()
    with pytest.raises(ValueError, match="grew beyond all numbers"):
        propagate(layer, ONES, OUT * 3e38, rules="zero")


def test_weights_computed_by_hooks_are_refused():
    layer = nn.Linear(4, 2)
    prune.l1_unstructured(layer, "weight", amount=0.5)
    with pytest.raises(TypeError, match=r"prune\.remove"):
        propagate(layer, ONES, OUT)
    prune.remove(layer, "weight")
    assert propagate(layer, ONES, OUT).shape == (3, 4)
    reparametrised = parametrizations.weight_norm(nn.Linear(4, 2))
    assert propagate(reparametrised, ONES, OUT).shape == (3, 4)


def test_torch_is_imported_on_use_and_missed_by_name():
    code = (
        "import sys; import whyclust.propagate as p; print('torch' in sys.modules); "
        "sys.modules['torch'] = None\n"
        "try:\n    p.Gamma\nexcept ImportError as error:\n    print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "False",
        str(missing("Relevance propagation", "torch")),
    ]


@pytest.mark.parametrize("second", [1.0, -1.0], ids=["inputs of one sign", "inputs of both"])
def test_an_output_of_zero_counts_as_positive_under_gamma(second):
    """z = 1·1 − 1·1 = 0: by the rule's form for z ≥ 0 shares are 1 + 1/γ and −1/γ of the relevance."""
    layer = nn.Linear(2, 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -second]]))
    inputs = torch.tensor([[1.0, second]], dtype=torch.float64)
    relevance = torch.ones(1, 1, dtype=torch.float64)
    found = propagate(layer, inputs, relevance, rules=Gamma(0.25))
    assert (found - torch.tensor([[5.0, -4.0]])).abs().max() < BOUND


@pytest.mark.parametrize("rule", [Zero(), Gamma(0.0), Epsilon(0.0)])
def test_contributions_that_cancel_hand_nothing_down(rule):
    """A share whose denominator is zero is zero, and what no input gets is absorbed."""
    layer = nn.Linear(2, 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -1.0]]))
    module = nn.Sequential(layer)
    inputs, relevance = torch.ones(1, 2, dtype=torch.float64), torch.full((1, 1), 3.0, dtype=torch.float64)
    found = propagate_layers(module, inputs, relevance, rules=rule)
    assert torch.equal(found.inputs, torch.zeros(1, 2, dtype=torch.float64))
    assert found.absorbed["0"].tolist() == [3.0]


def test_image_rules_of_an_even_number_of_convolutions():
    """The lower half has γ = 0.25, the upper half 0.1."""
    layers = [nn.Conv2d(1, 2, 3), *(nn.Conv2d(2, 2, 1) for _ in range(3))]
    rules = image_rules(nn.Sequential(*layers))
    assert isinstance(rules.pop("0"), ZBox)
    assert rules == {"1": Gamma(0.25), "2": Gamma(0.1), "3": Gamma(0.1)}


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_half_precision_is_led_in_single(kind):
    """Rounding of bfloat16 is no reason to refuse a module."""
    module = seeded(nn.Sequential(nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 3))).to(kind)
    inputs, relevance = tensor(6, 40).to(kind), tensor(6, 3, seed=2).to(kind)
    found = propagate_layers(module, inputs, relevance)
    twin = copy.deepcopy(module).float()
    wanted = propagate(twin, inputs.float(), relevance.float())
    assert found.inputs.dtype == torch.float32
    assert torch.equal(found.inputs, wanted)
    total = found.inputs.sum(dim=1) + found.total_absorbed
    assert torch.allclose(total, relevance.float().sum(dim=1), atol=1e-4)
    assert module[0].weight.dtype == kind
