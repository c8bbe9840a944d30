"""Deep clusterings see columns from their mean: moving all data moves nothing else."""

import copy

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler
from torch import nn

import whyclust as wc
from whyclust.deep import AutoencoderKMeans, ClusteringModule, ClusteringModuleEM, CNet

X = StandardScaler().fit_transform(load_digits().data[:150]).astype(np.float32)
SHIFT = np.zeros(64, dtype=np.float32)
SHIFT[20] = 5.0


def clustering_module():
    return ClusteringModule(4, epochs=20, batch_size=32, random_state=0).fit(X + 0.5)


def linear_encoder():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        modules = nn.Linear(64, 5), nn.Linear(5, 64)
    return AutoencoderKMeans(3, autoencoder=modules, embedding_dim=5, epochs=2, random_state=0).fit(X + 0.5)


def deep_encoder():
    return AutoencoderKMeans(3, hidden=(12,), epochs=2, random_state=0).fit(X + 0.5)


def c_net():
    return CNet(3, hidden=(12,), epochs=2, pretrain_epochs=2, random_state=0).fit(X + 0.5)


def moved(model):
    """The same clustering of data that are moved by SHIFT."""
    model = copy.deepcopy(model)
    has_encoder = hasattr(model.model_, "autoencoder")
    reads = model.model_.autoencoder.encoder if has_encoder else model.model_.head.encoder
    first = next(layer for layer in reads.modules() if isinstance(layer, nn.Linear))
    with torch.no_grad():
        first.bias -= first.weight @ torch.from_numpy(SHIFT)
    model.feature_means_ = model.feature_means_ + SHIFT
    return model


@pytest.mark.parametrize("make", [clustering_module, linear_encoder, deep_encoder, c_net])
def test_moving_the_data_moves_nothing_else(make):
    model = make()
    before = wc.explain(model, X + 0.5)
    after = wc.explain(moved(model), X + 0.5 + SHIFT)
    assert np.array_equal(before.clusters, after.clusters)
    assert np.abs(before.values - after.values).max() < 1e-4 * np.abs(before.values).max()
    assert np.abs(before.base_values - after.base_values).max() < 1e-4 * np.abs(before.evidence).max()


def test_the_clustering_module_against_the_formula():
    """R = Σ_k α_k (x − x̄) ⊙ (w_c − w_k); the base is what the mean row gets."""
    model = clustering_module()
    rows = (X + 0.5).astype(float)
    weight, bias = (part.detach().double().numpy() for part in model.model_.head.encoder.parameters())
    mean = model.feature_means_.astype(float)
    net = wc.neuralize(model, rows)
    ex = wc.explain(net, rows)
    logits = rows @ weight.T + bias
    for row in range(0, 150, 11):
        c = int(logits[row].argmax())
        others = [k for k in range(4) if k != c]
        h = logits[row, c] - logits[row, others]
        p = np.exp(-net.beta * (h - h.min()))
        alpha = p / p.sum() * h.min() / (p / p.sum() @ h)
        difference = weight[c] - weight[others]
        assert np.abs(ex.values[row] - (rows[row] - mean) * (alpha @ difference)).max() < 1e-10
        assert abs(ex.base_values[row] - alpha @ (difference @ mean + bias[c] - bias[others])) < 1e-10


def test_mixtures_are_seen_from_between_their_centres():
    model = ClusteringModuleEM(4, random_state=0).fit(X)
    after = ClusteringModuleEM(4, random_state=0).fit(X)
    after.cluster_centers_ = after.cluster_centers_ + SHIFT
    before, after = wc.explain(model, X), wc.explain(after, X + SHIFT)
    assert np.abs(before.values - after.values).max() < 1e-5 * np.abs(before.values).max()
