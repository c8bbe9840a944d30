"""Every affine layer at the end of an encoder is folded into the head."""

import copy

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler
from torch import nn

import whyclust as wc
from whyclust.deep import AutoencoderKMeans
from whyclust.deep.networks.affine_end import split_encoder

X = StandardScaler().fit_transform(load_digits().data[:120]).astype(np.float32)


def seeded(*layers):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for layer in layers:
            for part in layer.modules():
                if isinstance(part, nn.BatchNorm1d):
                    part.running_mean.normal_()
                    part.running_var.uniform_(0.5, 2.0)
                    part.weight.data.normal_()
                    part.bias.data.normal_()
    return nn.Sequential(*layers).eval()


def linear(inputs, outputs, **options):
    with torch.random.fork_rng():
        torch.manual_seed(inputs * outputs)
        return nn.Linear(inputs, outputs, **options)


ENDS = {
    "two linear layers": lambda: [linear(12, 8), linear(8, 5)],
    "normalisation between": lambda: [linear(12, 8, bias=False), nn.BatchNorm1d(8), linear(8, 5)],
    "normalisation last": lambda: [linear(12, 5), nn.BatchNorm1d(5)],
    "normalisation first": lambda: [nn.BatchNorm1d(12), linear(12, 5)],
    "what does nothing": lambda: [
        nn.Dropout(0.5),
        nn.Sequential(linear(12, 8), nn.Identity()),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Sequential(linear(8, 5)),
        nn.Flatten(1, -1),
    ],
    "means": lambda: [linear(12, 10), nn.AvgPool1d(2)],
}


@pytest.mark.parametrize("name", list(ENDS))
def test_equal_to_one_linear_layer(name):
    begin = [linear(64, 12), nn.Tanh()]
    encoder = seeded(*begin, *ENDS[name]())
    trunk, last = split_encoder(encoder, X.mean(axis=0))
    assert [type(layer).__name__ for layer in trunk.module] == ["Linear", "Tanh"]
    with torch.no_grad():
        expected = encoder(torch.from_numpy(X)).numpy()
    assert np.abs(last(trunk.activations(X.astype(float))) - expected).max() < 1e-4
    merged = linear(12, 5)
    with torch.no_grad():
        merged.weight.copy_(torch.from_numpy(last.matrix))
        merged.bias.copy_(torch.from_numpy(last.offset))
    found = []
    for module in (encoder, nn.Sequential(*begin, merged)):
        model = AutoencoderKMeans(3, hidden=(4,), embedding_dim=5, epochs=1, random_state=0).fit(X)
        model.model_.autoencoder.encoder = copy.deepcopy(module).eval()
        with torch.no_grad():
            model.model_.centers.copy_(torch.from_numpy(expected[:3]))
        found.append(wc.explain(model, X))
    assert np.array_equal(found[0].clusters, found[1].clusters)
    assert np.abs(found[0].values - found[1].values).max() < 1e-4 * np.abs(found[1].values).max()
    assert np.abs(found[0].base_values - found[1].base_values).max() < 1e-4 * np.abs(found[1].evidence).max()


def test_what_is_not_affine_ends_it():
    class Own(nn.Linear):
        def forward(self, x):
            return super().forward(x) ** 2

    hooked = linear(12, 5)
    hooked.register_forward_hook(lambda module, inputs, output: 2 * output)
    for layer, kept in ((nn.Tanh(), 4), (Own(5, 5), 4), (nn.ReLU(), 4)):
        trunk, last = split_encoder(seeded(linear(64, 12), nn.Tanh(), linear(12, 5), layer), X.mean(axis=0))
        assert last is None
        assert len(trunk.module) == kept
    with pytest.raises(TypeError, match="has a hook"):
        split_encoder(seeded(linear(64, 12), nn.Tanh(), hooked), X.mean(axis=0))


def test_maps_of_channels_are_not_folded():
    """Only rows of numbers have a matrix of moderate size; the flattening itself stays a layer."""
    encoder = seeded(
        nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), linear(72, 5)
    )
    trunk, last = split_encoder(encoder, X.mean(axis=0))
    assert [type(layer).__name__ for layer in trunk.module][-1] == "Flatten"
    assert last.matrix.shape == (5, 72)


def test_an_affine_encoder_is_all_in_the_head():
    encoder = seeded(linear(64, 12), nn.BatchNorm1d(12), nn.Dropout(), linear(12, 5))
    trunk, last = split_encoder(encoder, X.mean(axis=0))
    assert trunk is None
    with torch.no_grad():
        expected = encoder(torch.from_numpy(X)).numpy()
    assert np.abs(last(X.astype(float)) - expected).max() < 1e-4
    assert split_encoder(nn.Identity(), X.mean(axis=0)) == (None, None)


def test_half_precision_is_read_as_single():
    """bfloat16 has no numpy type of its own; it is a kind of single precision."""
    encoder = seeded(linear(64, 12), nn.Tanh(), linear(12, 5))
    for kind in (torch.bfloat16, torch.float16, torch.float64):
        halved = copy.deepcopy(encoder).to(kind)
        trunk, last = split_encoder(halved, X.mean(axis=0))
        expected = halved.float()(torch.from_numpy(X)).detach().numpy()
        assert np.abs(last(trunk.activations(X.astype(float))) - expected).max() < 1e-5
