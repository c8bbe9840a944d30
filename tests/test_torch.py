"""The network as a torch module: the same function, differentiable, for other tools."""

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

import whyclust as wc
from whyclust.cluster import KernelKMeans, SoftKMeans

BOUND = 1e-10


def blobs(n_points=60, n_features=4, seed=6):
    generator = np.random.default_rng(seed)
    middles = generator.normal(scale=2.0, size=(4, n_features))
    return middles[generator.integers(4, size=n_points)] + 0.6 * generator.normal(size=(n_points, n_features))


X = blobs()
MODELS = {
    "k-means": KMeans(4, n_init=2, random_state=0),
    "two clusters": KMeans(2, n_init=2, random_state=0),
    "mini-batch": MiniBatchKMeans(3, n_init=2, random_state=0),
    "bisecting": BisectingKMeans(6, random_state=0),
    "soft": SoftKMeans(4, random_state=0),
    "absolute": SoftKMeans(4, decision="absolute", threshold=0.8, random_state=0),
    "kernel, em": KernelKMeans(3, n_support=5, n_init=2, max_iter=20, random_state=0),
    "kernel, one support": KernelKMeans(3, n_support=1, n_init=2, max_iter=20, random_state=0),
    "kernel, leave one out": KernelKMeans(3, algorithm="leave_one_out", gamma=0.3, random_state=0),
    "scaled": make_pipeline(StandardScaler(), KMeans(4, n_init=2, random_state=0)),
    "whitened": make_pipeline(PCA(2, whiten=True), KMeans(4, n_init=2, random_state=0)),
    "rotated tree": make_pipeline(StandardScaler(), PCA(3), BisectingKMeans(5, random_state=0)),
    "normalised": make_pipeline(Normalizer(), KMeans(3, n_init=2, random_state=0)),
    "normalised in between": make_pipeline(
        StandardScaler(), PCA(3), Normalizer("l1"), StandardScaler(), KMeans(3, n_init=2, random_state=0)
    ),
    "normalised by the largest": make_pipeline(Normalizer("max"), KMeans(3, n_init=2, random_state=0)),
    "rotated kernel": make_pipeline(PCA(2), KernelKMeans(3, n_support=4, n_init=2, random_state=0)),
}


@pytest.fixture(scope="module", params=MODELS)
def net(request):
    return wc.neuralize(MODELS[request.param].fit(X), X)


def all_evidence(net, table):
    return np.stack([net.evidence(table, cluster=cluster) for cluster in net.clusters], axis=1)


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_equal_to_the_closed_form_for_every_cluster(net, spread):
    table = X * spread
    module = net.to_torch()
    assert isinstance(module, torch.nn.Module)
    with torch.no_grad():
        found = module(torch.tensor(table)).numpy()
    wanted = all_evidence(net, table)
    assert found.shape == wanted.shape == (len(X), len(net.clusters))
    assert np.abs(found - wanted).max() < BOUND * max(1.0, np.abs(wanted).max())


def test_data_far_from_zero():
    far = X + 2.0**20
    net = wc.neuralize(KMeans(4, n_init=2, random_state=0).fit(far), far)
    with torch.no_grad():
        found = net.to_torch()(torch.tensor(far)).numpy()
    assert np.abs(found - all_evidence(net, far)).max() < BOUND


def test_gradients_are_those_of_the_evidence(net):
    """Central differences of net.evidence, away from kinks."""
    module = net.to_torch()
    rows = torch.tensor(X[:12], requires_grad=True)
    module(rows)[:, 1].sum().backward()
    assert torch.isfinite(rows.grad).all()
    assert (rows.grad != 0).any()
    step = 1e-5
    smooth = 0
    for column in range(X.shape[1]):
        moved = np.zeros(X.shape[1])
        moved[column] = step
        up, down = net.evidence(X[:12] + moved, cluster=1), net.evidence(X[:12] - moved, cluster=1)
        slope = (up - down) / (2 * step)
        smooth += (np.abs(slope - rows.grad[:, column].numpy()) < 1e-4 * (1.0 + np.abs(slope))).sum()
    assert smooth >= 46  # of 48: a point may stand on a kink


def test_captum_reads_it(net):
    """Integrated gradients are complete: they sum to the difference of evidence."""
    module = net.to_torch()
    baseline = torch.tensor(X[:5] + 0.1 * np.arange(4))
    rows = torch.tensor(X[5:10])
    found, delta = IntegratedGradients(module).attribute(
        rows, baseline, target=0, n_steps=200, return_convergence_delta=True
    )
    assert found.shape == rows.shape
    difference = (module(rows) - module(baseline))[:, 0]
    scale = difference.abs().max().item()
    assert delta.abs().max().item() < 0.05 * scale
    assert torch.allclose(found.sum(dim=1), difference, atol=0.05 * scale)


def test_for_two_clusters_integrated_gradients_from_the_middle_are_our_relevance():
    """K = 2: the network is linear, so every complete attribution from the mid-point is Eq. (4)."""
    model = KMeans(2, n_init=2, random_state=0).fit(X)
    net = wc.neuralize(model, X)
    middle = torch.tensor(np.tile(model.cluster_centers_.mean(axis=0), (len(X), 1)))
    found = IntegratedGradients(net.to_torch()).attribute(torch.tensor(X), middle, target=0, n_steps=4)
    wanted = net.relevance(X, cluster=0, against=1).values
    assert np.abs(found.numpy() - wanted).max() < BOUND * np.abs(wanted).max()


def test_the_input_is_the_encoded_table():
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(colour=np.where(X[:, 0] > 0, "red", "blue"))
    frame.loc[3, "a"] = np.nan
    branches = make_column_transformer(
        (make_pipeline(SimpleImputer(), PCA(2)), ["a", "b", "c"]), (OneHotEncoder(), ["colour"])
    )
    net = wc.neuralize(make_pipeline(branches, KMeans(3, n_init=2, random_state=0)).fit(frame), frame)
    encoded = torch.tensor(net.features.encode(frame))
    with torch.no_grad():
        found = net.to_torch()(encoded).numpy()
    assert np.abs(found - all_evidence(net, frame)).max() < BOUND


def test_a_zero_row_behind_a_normalizer():
    table = np.vstack([X, np.zeros(4)])
    net = wc.neuralize(make_pipeline(Normalizer(), KMeans(3, n_init=2, random_state=0)).fit(table), table)
    with torch.no_grad():
        found = net.to_torch()(torch.tensor(table)).numpy()
    assert np.abs(found - all_evidence(net, table)).max() < BOUND


def test_too_many_supports_are_refused_before_memory_is_taken():
    generator = np.random.default_rng(0)
    table = generator.normal(size=(3000, 40)) + (np.arange(3000) % 2)[:, None]
    model = KernelKMeans(2, algorithm="leave_one_out", init=np.arange(3000) % 2, max_iter=0, gamma=0.1)
    net = wc.neuralize(model.fit(table))
    with pytest.raises(ValueError, match=r"3000 prototypes.*too many.*n_support"):
        net.to_torch()
    assert net.relevance(table[:5]).values.shape == (5, 40)  # which needs no such network


def test_a_background_is_refused():
    model = KernelKMeans(3, algorithm="standard", gamma=0.3, random_state=0).fit(X)
    assert model.background_.any()
    with pytest.raises(TypeError, match="leave_one_out"):
        wc.neuralize(model).to_torch()


def test_without_torch_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"needs PyTorch.*\.\[torch\]"):
        wc.neuralize(KMeans(2, n_init=1, random_state=0).fit(X)).to_torch()
