"""How often a row passes an encoder, on which device, and in which type."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler
from torch import nn

import whyclust as wc
from whyclust.deep import AutoencoderKMeans
from whyclust.network.torch_trunk import TorchTrunk
from whyclust.propagate import register_rule

X = StandardScaler().fit_transform(load_digits().data[:300]).astype(np.float32)


class Counted(nn.Module):
    """Counts the rows that it is given, and hands relevance on."""

    rows = 0

    def forward(self, x):
        Counted.rows += len(x)
        return torch.tanh(x)


@register_rule(Counted)
def _counted(layer, inputs, outputs, relevance):
    return relevance


def encoder():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(64, 12), Counted(), nn.Linear(12, 5))


CENTERS = np.random.default_rng(0).normal(size=(4, 5)) / 4


def rows_during(call):
    Counted.rows = 0
    call()
    return Counted.rows


def test_a_row_is_forwarded_once_where_its_relevance_is_asked_for():
    net = wc.neuralize((encoder(), CENTERS), X)
    net.relevance(X[:2])  # what is computed once for the network
    # Besides the rows, a few of each block are compared with the module itself.
    assert 300 <= rows_during(lambda: wc.explain(net, X)) <= 300 + 16
    assert rows_during(lambda: net.predict(X)) == 300
    assert rows_during(lambda: net.evidence(X, cluster=1)) == 300
    silent = wc.explain(net, X, method="squared")
    assert np.isfinite(silent.values).all()


def test_relevance_of_many_rows_and_of_few_is_the_same():
    net = wc.neuralize((encoder(), CENTERS), X)
    many = np.tile(X, (8, 1))
    whole, few = wc.explain(net, many).values, wc.explain(net, X).values
    assert np.abs(whole[:300] - few).max() < 1e-5 * np.abs(few).max()
    assert np.abs(whole[-300:] - few).max() < 1e-5 * np.abs(few).max()


def test_modules_stay_on_their_device(monkeypatch):
    """No processor is asked for: layers and rows meet where the layers are."""
    model = AutoencoderKMeans(3, hidden=(8,), epochs=1, random_state=0).fit(X)
    moved = []

    def to_cpu(self):
        moved.append(type(self).__name__)
        return self._apply(lambda tensor: tensor.cpu())

    monkeypatch.setattr(nn.Sequential, "cpu", to_cpu)
    wc.explain(model, X)
    assert moved == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu():
    cpu = wc.explain((encoder(), CENTERS), X)
    net = wc.neuralize((encoder().cuda(), CENTERS), X)
    assert next(net.features.trunk.module.parameters()).is_cuda
    gpu = wc.explain(net, X)
    assert np.abs(cpu.values - gpu.values).max() < 1e-4 * np.abs(cpu.values).max()


def test_a_module_on_another_device(tmp_path):
    """PyTorch's meta device has no numbers: what is on it stays there."""
    trunk = TorchTrunk.of(encoder()[:2], X.mean(axis=0))
    assert trunk.device == torch.device("cpu")
    elsewhere = nn.Sequential(nn.Linear(64, 12, device="meta"), nn.Tanh())
    made = TorchTrunk.of(elsewhere, X.mean(axis=0))
    assert made.device == torch.device("meta")
    assert made.n_outputs == 12
