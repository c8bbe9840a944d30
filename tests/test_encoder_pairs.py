"""A trained encoder and centroids, a head or a clustering of its embedding: explained in one call."""

import copy
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import whyclust as wc
from whyclust.cluster import PrototypeSurrogate
from whyclust.deep import AutoencoderKMeans, CNet

X = StandardScaler().fit_transform(load_digits().data[:150]).astype(np.float32)
MODEL = AutoencoderKMeans(4, hidden=(16,), embedding_dim=5, epochs=2, batch_size=32, random_state=0).fit(X)
ENCODER = MODEL.model_.autoencoder.encoder
EMBEDDED = MODEL.transform(X)


def conserves(ex):
    size = max(1.0, np.abs(ex.explained).max())
    return np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-9 * size


def test_centroids():
    before = copy.deepcopy(ENCODER.state_dict())
    ENCODER.train()
    ex = wc.explain((ENCODER, MODEL.cluster_centers_), X)
    assert ENCODER.training
    ENCODER.eval()
    same = wc.explain(MODEL, X)
    assert np.array_equal(ex.clusters, same.clusters)
    assert np.abs(ex.values - same.values).max() < 1e-5 * np.abs(same.values).max()
    assert ex.beta == pytest.approx(same.beta, rel=1e-5)
    assert all(torch.equal(before[name], tensor) for name, tensor in ENCODER.state_dict().items())
    net = wc.neuralize((ENCODER, torch.from_numpy(MODEL.cluster_centers_)), X)
    alone = wc.explain(net, X[[3]])
    assert np.abs(alone.values[0] - ex.values[3]).max() < 1e-4 * np.abs(ex.values[3]).max()
    assert "Sequential" in repr(net)


@pytest.mark.parametrize("end", [None, nn.Softmax(dim=1), nn.LogSoftmax(dim=-1)])
def test_a_linear_head(end):
    model = CNet(3, hidden=(12,), epochs=2, pretrain_epochs=2, batch_size=32, random_state=0).fit(X)
    head = model.model_.head.encoder
    pair = (model.model_.autoencoder.encoder, head if end is None else nn.Sequential(head, end))
    ex, same = wc.explain(pair, X), wc.explain(model, X)
    assert np.array_equal(ex.clusters, same.clusters)
    assert np.abs(ex.values - same.values).max() < 1e-5 * np.abs(same.values).max()
    net = wc.neuralize(pair, X)
    assert np.abs(net.predict_proba(X) - model.predict_proba(X)).max() < 1e-5
    one, other = wc.explain(pair, X, threshold=0.8), wc.explain(model, X, threshold=0.8)
    assert np.abs(one.values - other.values).max() < 1e-4 * np.abs(other.values).max()


def test_a_head_with_layers_of_its_own():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        head = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
    ex = wc.explain((ENCODER, head), X)
    with torch.no_grad():
        assert np.array_equal(ex.clusters, head(torch.from_numpy(EMBEDDED)).argmax(dim=1).numpy())
    assert conserves(ex)


def test_a_fitted_clustering_of_the_embedding():
    labels = np.array(["a", "b"])[load_digits().target[:150] % 2]
    clusterers = [
        KMeans(4, n_init=1, random_state=0).fit(EMBEDDED),
        make_pipeline(StandardScaler(), GaussianMixture(3, random_state=0)).fit(EMBEDDED),
        PrototypeSurrogate(random_state=0).fit(EMBEDDED, labels),
    ]
    for clusterer in clusterers:
        net = wc.neuralize((ENCODER, clusterer), X)
        assert (net.predict(X) == clusterer.predict(EMBEDDED)).mean() > 0.98
        assert conserves(wc.explain(net, X))
    assert wc.explain((ENCODER, clusterers[-1]), X).beta == clusterers[-1].beta_

    class Turned(KMeans):
        def predict(self, X):
            return 1 - super().predict(X)

    with pytest.raises(TypeError, match="Turned has a predict of its own"):
        wc.explain((ENCODER, Turned(2, n_init=1, random_state=0).fit(EMBEDDED)), X)
    with pytest.raises(TypeError, match="DBSCAN cannot be neuralised"):
        wc.explain((ENCODER, DBSCAN().fit(EMBEDDED)), X)
    with pytest.raises(NotFittedError):
        wc.explain((ENCODER, KMeans(2)), X)


def test_affine_encoders_are_explained_in_closed_form():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = nn.Linear(64, 5)
    with torch.no_grad():
        embedded = encoder(torch.from_numpy(X)).double().numpy()
    centers = embedded[:3]
    ex = wc.explain((encoder, centers), X.astype(float), cluster=1, against=0)
    weight = encoder.weight.detach().double().numpy()
    distances = ((embedded[:, None] - centers) ** 2).sum(axis=2)
    assert np.abs(ex.evidence - (distances[:, 0] - distances[:, 1])).max() < 1e-4
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.evidence).max() < 1e-8
    direction = 2 * (centers[1] - centers[0]) @ weight
    steps = ex.values[0] - ex.values[1]
    assert np.abs(steps - (X[0] - X[1]).astype(float) * direction).max() < 1e-6 * np.abs(steps).max()
    head = nn.Linear(5, 3)
    logits = wc.explain((encoder, head), X.astype(float))
    assert conserves(logits)
    moved = wc.explain((encoder, head), X.astype(float) + 2.0)
    assert np.abs(moved.values - logits.values).max() < 10 * np.abs(logits.values).max()


def test_names_and_images():
    frame = pd.DataFrame(X, columns=[f"pixel {column}" for column in range(64)])
    net = wc.neuralize((ENCODER, MODEL.cluster_centers_), frame)
    turned = frame[frame.columns[::-1]]
    assert np.array_equal(net.predict(turned), MODEL.predict(X))
    assert wc.explain(net, turned).feature_names[0] == "pixel 0"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(18, 3))
    images = load_digits().images[:40] / 16
    for shaped in (images, images[:, None]):
        ex = wc.explain((encoder, np.eye(3) / 10), shaped)
        assert ex.images.shape == shaped.shape
        assert conserves(ex)
    flat = wc.explain((nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), np.eye(3) / 10), images)
    assert flat.images.shape == images.shape


def test_saved_and_audited(tmp_path):
    net = wc.neuralize((ENCODER, MODEL.cluster_centers_), X)
    loaded = wc.load(wc.save(net, tmp_path / "net.npz"))
    assert np.array_equal(loaded.predict(X), MODEL.predict(X))
    audit = wc.audit((ENCODER, MODEL.cluster_centers_), X, methods=["random"], n_repeats=1, max_rows=20)
    assert "cannot be fitted again" in audit.refits.unknown


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (np.zeros((3, 4)), r"centres of shape \(3, 4\).*\(n_clusters, 5\)"),
        (np.zeros(5), r"centres of shape \(5,\)"),
        (np.full((2, 5), np.nan), "NaN or infinite"),
        (nn.Linear(4, 3), "does not fit"),
        (nn.Linear(5, 1), "one cluster"),
        ("centres", "expected centres"),
    ],
)
def test_what_does_not_fit_is_told(second, message):
    with pytest.raises((TypeError, ValueError), match=message):
        wc.explain((ENCODER, second), X)


def test_other_mistakes():
    centers = MODEL.cluster_centers_
    with pytest.raises(ValueError, match=r"no rows.*background=X"):
        wc.neuralize((ENCODER, centers))
    with pytest.raises(ValueError, match=r"encoder does not take rows of 30 columns"):
        wc.explain((ENCODER, centers), X[:, :30])
    with pytest.raises(ValueError, match="expected finite"):
        wc.explain((ENCODER, centers), np.where(np.arange(64) == 3, np.nan, X))
    with pytest.raises(ValueError, match=r"returns shape \(2, 1, 6, 6\)"):
        wc.explain((nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 1, 3)), centers), X)


def test_labels_are_still_labels_and_torch_is_not_imported():
    code = (
        "import sys, numpy as np, whyclust as wc; X = np.random.default_rng(0).normal(size=(30, 3)); "
        "X[:15] += 9; wc.explain((0,) * 15 + (1,) * 15, X); print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_pairs_in_another_form_are_told_how_to_stand():
    centers = MODEL.cluster_centers_
    for given in ([ENCODER, centers], (centers, ENCODER), (ENCODER,), (ENCODER, centers, centers)):
        for ask in (wc.explain, wc.neuralize):
            with pytest.raises(
                TypeError, match=r"was given, expected a tuple of two: .*\(encoder, centres\)"
            ):
                ask(given, X)


class Logarithm(nn.Module):
    def forward(self, x):
        return torch.log(x)


def test_encoders_that_return_no_numbers_are_named():
    broken = copy.deepcopy(ENCODER)
    with torch.no_grad():
        broken[0].weight.fill_(torch.nan)
    with pytest.raises(
        ValueError, match="The encoder returns NaN or infinite numbers for the mean of the rows"
    ):
        wc.explain((broken, MODEL.cluster_centers_), X)
    # Of a mean it makes a number, but not of all rows.
    rows = np.full((6, 4), 2.0, dtype=np.float32)
    rows[3] = -1.0
    net = wc.neuralize((nn.Sequential(nn.Linear(4, 4), nn.Tanh()), np.eye(4)[:2]), rows)
    trunk = replace(net.features.trunk, module=nn.Sequential(Logarithm()), rules=None)
    net = replace(net, features=replace(net.features, trunk=trunk))
    with pytest.raises(ValueError, match="The encoder returns NaN or infinite numbers for row 3, whose own"):
        net.predict(rows)
    rows[3] = np.nan
    with pytest.raises(ValueError, match=r"X holds NaN .* in row 3"):
        net.predict(rows)
