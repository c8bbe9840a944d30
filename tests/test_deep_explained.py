"""Deep clusterings explained in their inputs: equal to the plain form of section IV of NEON."""

import copy
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from torch import nn

import whyclust as wc
from whyclust.deep import (
    DCN,
    DEC,
    DKM,
    IDEC,
    AutoencoderKMeans,
    ClusteringModule,
    ClusteringModuleEM,
    CNet,
)
from whyclust.deep.explained import with_rules
from whyclust.network import torch_stored_trunk
from whyclust.network.torch_trunk import TorchTrunk
from whyclust.propagate import Centered, Gamma, propagate
from whyclust.saving.packing import pack, unpack


def digits(n=150):
    return StandardScaler().fit_transform(load_digits().data[:n])


def small(activation="leaky_relu", **options):
    settings = {"hidden": (16, 12), "epochs": 3, "batch_size": 32, "random_state": 0, **options}
    return AutoencoderKMeans(4, activation=activation, **settings)


def literal_relevance(model, x, beta, gamma=0.01):
    """One row: distances in the embedding, the detection layer with the last layer folded in, LRP-γ."""
    encoder = model.model_.autoencoder.encoder
    W, b = (p.detach().double().numpy() for p in (encoder[-1].weight, encoder[-1].bias))
    centers = model.cluster_centers_.astype(float)
    row = torch.from_numpy(x[None].astype(np.float32))
    with torch.no_grad():
        a = encoder[:-1](row).double().numpy()[0]
    z = W @ a + b
    distances = ((z - centers) ** 2).sum(axis=1)
    c = int(distances.argmin())
    others = [k for k in range(len(centers)) if k != c]
    h = np.array([distances[k] - distances[c] for k in others])
    p = np.exp(-beta * (h - h.min()))
    p /= p.sum()
    alpha = p * h.min() / (p @ h)
    # h_k = 2(μ_c − μ_k)·(W a + b) + ‖μ_k‖² − ‖μ_c‖²: relevance of the activations, reference zero.
    relevance = sum(w * a * (2 * (centers[c] - centers[k]) @ W) for w, k in zip(alpha, others, strict=True))
    start = torch.from_numpy(relevance[None].astype(np.float32))
    mean = torch.from_numpy(model.feature_means_)
    rules = {"0": Centered(mean, Gamma(gamma)), nn.Module: Gamma(gamma)}
    return c, h.min(), propagate(encoder[:-1], row, start, rules=rules).numpy()[0]


@pytest.mark.parametrize("activation", ["leaky_relu", "relu", "tanh"])
def test_equals_the_literal_form(activation):
    X = digits(60) + 2.0
    model = small(activation).fit(X)
    net = wc.neuralize(model, X)
    ex = wc.explain(net, X)
    for row in range(0, 60, 7):
        c, f, values = literal_relevance(model, X[row], net.beta)
        assert ex.clusters[row] == c
        assert abs(ex.evidence[row] - f) < 1e-4 * max(1, f)
        assert np.abs(ex.values[row] - values).max() < 1e-4 * np.abs(values).max()


def test_the_network_assigns_as_the_model_does():
    X = digits()
    model = small().fit(X)
    net = wc.neuralize(model, X)
    agree = net.predict(X) == model.predict(X)
    assert agree[net.evidence(X) > 1e-3].all()
    assert agree.mean() > 0.99


def test_values_and_base_sum_to_the_evidence():
    X = digits()
    ex = wc.explain(small().fit(X), X)
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-9
    assert np.abs(ex.explained - ex.evidence).max() < 1e-6 * ex.evidence.max()
    assert ex.values.shape == X.shape


def test_a_row_alone_equals_the_row_in_the_table():
    X = digits()
    net = wc.neuralize(small().fit(X), X)
    whole = wc.explain(net, X)
    assert (
        np.abs(wc.explain(net, X[[5]]).values - whole.values[5]).max() < 1e-4 * np.abs(whole.values[5]).max()
    )


def test_behind_a_scaler_relevance_is_that_of_scaled_columns():
    raw = load_digits().data[:150] + 3.0
    scaler = StandardScaler().fit(raw)
    model = small().fit(scaler.transform(raw))
    pipeline = make_pipeline(scaler, model)
    frame = pd.DataFrame(raw, columns=[f"pixel {i}" for i in range(64)])
    behind = wc.explain(pipeline, frame.to_numpy())
    alone = wc.explain(model, scaler.transform(raw))
    assert np.abs(behind.values - alone.values).max() < 1e-4 * np.abs(alone.values).max()
    assert np.array_equal(behind.clusters, alone.clusters)


def test_a_pca_before_the_encoder_is_one_with_its_first_layer():
    X = load_digits().data[:150]
    pipeline = make_pipeline(StandardScaler(), PCA(8, random_state=0), small()).fit(X)
    net = wc.neuralize(pipeline, X)
    assert (net.predict(X) == pipeline.predict(X)).mean() > 0.99
    ex = wc.explain(net, X)
    assert ex.values.shape == X.shape
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-9
    # With a rule that does not bend anything, bias-free parts are as with a separate layer.
    first = net.features.trunk.module[0]
    assert first.weight.shape == (16, 64)


def test_a_normalizer_before_an_encoder_is_refused():
    X = load_digits().data[:60]
    pipeline = make_pipeline(Normalizer(), small()).fit(X)
    with pytest.raises(TypeError, match="Normalizer before an encoder"):
        wc.neuralize(pipeline, X)


def test_gradient_against_differences():
    X = digits(60)
    net = wc.neuralize(small("tanh").fit(X), X)
    slopes = net.gradient(X[:4])
    step = 0.05
    for column in range(0, 64, 9):
        move = np.zeros(64)
        move[column] = step
        numeric = (net.evidence(X[:4] + move) - net.evidence(X[:4] - move)) / (2 * step)
        assert np.abs(slopes[:, column] - numeric).max() < 0.02 * np.abs(slopes).max()


@pytest.mark.parametrize("method", ["ig", "sensitivity", "squared", "pda_zero", "gradient_shap", "random"])
def test_baselines_and_algorithm_1(method):
    X = digits(60)
    net = wc.neuralize(small().fit(X), X)
    ex = wc.explain(net, X, method=method)
    assert ex.values.shape == X.shape
    assert 0 < wc.metrics.flipping_auc(net, X, ex, n_repeats=1).auc <= 100


def test_any_cluster_and_any_competitor():
    X = digits(80)
    net = wc.neuralize(small().fit(X), X)
    why_not = wc.explain(net, X, cluster=1)
    assert (why_not.clusters == 1).all()
    duel = wc.explain(net, X, cluster=1, against=2)
    assert np.abs(duel.values.sum(axis=1) + duel.base_values - duel.evidence).max() < 1e-4


def test_an_encoder_that_does_not_end_in_a_linear_layer_and_one_that_is_linear():
    X = digits(80)
    bent = (nn.Sequential(nn.Linear(64, 5), nn.Tanh()), nn.Sequential(nn.Linear(5, 64)))
    straight = (nn.Sequential(nn.Linear(64, 5)), nn.Sequential(nn.Linear(5, 64)))
    for pair in (bent, straight):
        model = AutoencoderKMeans(3, autoencoder=pair, embedding_dim=5, epochs=2, random_state=0).fit(X)
        net = wc.neuralize(model, X)
        assert (net.predict(X) == model.predict(X)).mean() > 0.98
        ex = wc.explain(net, X)
        assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-9


def test_images():
    X, _ = make_blobs(40, centers=3, n_features=48, random_state=0)
    model = AutoencoderKMeans(
        3, image_shape=(3, 4, 4), hidden=(4,), embedding_dim=3, epochs=2, random_state=0
    ).fit(X / 10)
    ex = wc.explain(model, X / 10)
    assert ex.values.shape == (40, 48)
    assert np.isfinite(ex.values).all()


TINY = {"hidden": (12,), "batch_size": 32, "random_state": 0}
ALL = [
    DEC(4, pretrain_epochs=2, epochs=2, **TINY),
    IDEC(4, pretrain_epochs=2, epochs=2, **TINY),
    DCN(4, pretrain_epochs=2, epochs=2, **TINY),
    DKM(4, pretrain_epochs=2, epochs=2, **TINY),
    CNet(4, epochs=3, **TINY),
    ClusteringModule(4, epochs=20, batch_size=32, random_state=0),
    ClusteringModuleEM(4, random_state=0),
]


@pytest.mark.filterwarnings("ignore:The clusters have collapsed", "ignore:The mean evidence")
@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_every_model_is_the_network_it_already_is(model):
    X = digits()
    model = model.fit(X)
    net = wc.neuralize(model, X)
    inside = net.evidence(X) > 1e-3
    assert (net.predict(X) == model.predict(X))[inside].all()
    ex = wc.explain(net, X)
    assert np.isfinite(ex.values).all()
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-6 * max(
        1, np.abs(ex.explained).max()
    )
    assert ex.values.shape == X.shape


@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
@pytest.mark.parametrize("model", ALL[-3:], ids=lambda model: type(model).__name__)
def test_absolute_decisions_of_softmax_heads(model):
    """Prop. 7: the evidence is the log-odds of the model's own probability against the threshold."""
    X = digits() / 6.0
    model = model.fit(X)
    assert np.abs(wc.neuralize(model, X).predict_proba(X) - model.predict_proba(X)).max() < 1e-5
    ex = wc.explain(model, X, threshold=0.7)
    p = model.predict_proba(X)[np.arange(len(X)), ex.clusters].astype(float)
    clear = (p > 1e-4) & (p < 1 - 1e-4)
    assert clear.sum() > 10
    odds = np.log(p[clear] / (1 - p[clear])) - np.log(0.7 / 0.3)
    assert np.abs(ex.evidence[clear] - odds).max() < 0.05


def test_rules_of_the_layers_can_be_chosen():
    X = digits(60)
    net = wc.neuralize(small().fit(X), X)
    default = wc.explain(net, X).values
    assert (wc.explain(with_rules(net, Gamma(0.01)), X).values == default).all()
    assert np.abs(wc.explain(with_rules(net, "zero"), X).values - default).max() > 1e-3
    shallow = wc.neuralize(ClusteringModuleEM(3, random_state=0).fit(X), X)
    with pytest.raises(TypeError, match="has no encoder"):
        with_rules(shallow, "zero")


def test_saved_and_loaded(tmp_path):
    X = digits(60)
    model = small().fit(X)
    loaded = wc.load(wc.save(model, tmp_path / "deep.npz"))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.abs(wc.explain(loaded, X).values - wc.explain(model, X).values).max() == 0


@pytest.mark.parametrize("image_shape", [None, (1, 8, 8)])
def test_networks_of_whole_pipelines_are_saved_and_loaded(tmp_path, image_shape):
    X = digits(60)
    deep = small(image_shape=image_shape, hidden=(6, 4))
    model = make_pipeline(StandardScaler(), deep).fit(X)
    net = with_rules(wc.neuralize(model, X), Gamma(0.25))
    loaded = wc.load(wc.save(net, tmp_path / "net.npz"))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.abs(wc.explain(loaded, X).values - wc.explain(net, X).values).max() == 0
    assert np.abs(wc.explain(loaded, X).values - wc.explain(model, X).values).max() > 0  # other rules


LAYERS = {
    "convolution": nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 4, 3, padding=2, stride=2, dilation=2, padding_mode="circular", bias=False),
        nn.BatchNorm2d(4, eps=0.1),
        nn.LeakyReLU(0.3),
        nn.Conv2d(4, 4, 1, groups=2),
        nn.Dropout(0.5),
    ),
    "pooling": nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True),
        nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False),
    ),
    "dense": nn.Sequential(
        nn.Linear(64, 6, bias=False),
        nn.BatchNorm1d(6, affine=False),
        nn.GELU(approximate="tanh"),
        nn.Sigmoid(),
    ),
}


@pytest.mark.parametrize("name", list(LAYERS))
def test_settings_of_layers_are_kept(tmp_path, name):
    X = digits(60)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = copy.deepcopy(LAYERS[name])
        layers(torch.from_numpy(X.astype(np.float32)))  # moves the statistics of normalisation
        layers.append(nn.Flatten()).eval()
    trunk = TorchTrunk.of(layers, X.mean(axis=0))
    content, held = pack(replace(trunk, rules=Gamma(np.float32(0.25))))
    again = unpack(json.loads(json.dumps(content)), held)
    np.testing.assert_array_equal(again.activations(X), trunk.activations(X))
    assert again.rules == Gamma(0.25)
    assert not again.module.training
    description, arrays = torch_stored_trunk.to_arrays(trunk)
    description["rules"] = {"rule": "Gamma", "settings": {"gamma": 0.5}}  # as older files have it
    assert torch_stored_trunk.from_arrays(description, arrays).rules == Gamma(0.5)
    broken = {**description, "n_outputs": trunk.n_outputs + 1}
    with pytest.raises(ValueError, match="as many outputs"):
        torch_stored_trunk.from_arrays(broken, arrays)
    for part in ({"layer": "Sequential", "settings": {}}, {"layer": "Module", "settings": {}}):
        with pytest.raises(ValueError, match="which nothing has registered"):
            torch_stored_trunk.from_arrays({**description, "layers": [*description["layers"], part]}, arrays)
    with pytest.raises(ValueError, match="is not a rule"):
        torch_stored_trunk.from_arrays({**description, "rules": {"rule": "Rule", "settings": {}}}, arrays)


def test_layers_that_do_more_than_they_say_are_not_saved():
    class Own(nn.Linear):
        pass

    X = digits(20)
    hooked = nn.Sequential(nn.Linear(64, 3))
    hooked[0].register_forward_hook(lambda module, inputs, output: 2 * output)
    normed = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(64, 3)))
    for layers, message in (
        (hooked, "has a hook"),
        (normed, "Parametrized|do more than"),
        (nn.Sequential(Own(64, 3)), "a layer Own"),
    ):
        with pytest.raises(TypeError, match=message):
            torch_stored_trunk.to_arrays(TorchTrunk.of(layers, X.mean(axis=0)))
    # What is hung on later is seen by what comes out.
    later = TorchTrunk.of(nn.Sequential(nn.Linear(64, 3)), X.mean(axis=0))
    later.module[0].register_forward_hook(lambda module, inputs, output: 2 * output)
    with pytest.raises(TypeError, match="do more than their settings say"):
        torch_stored_trunk.to_arrays(later)


def test_networks_with_code_of_their_own_are_not_saved(tmp_path):
    class Twice(torch.nn.Module):
        def forward(self, x):
            return 2 * x

    X = digits(60)
    encoder = torch.nn.Sequential(torch.nn.Linear(64, 4), Twice(), torch.nn.Linear(4, 3))
    own = small(autoencoder=(encoder, torch.nn.Linear(3, 64)), embedding_dim=3).fit(X)
    net = wc.neuralize(own, X)
    with pytest.raises(TypeError, match="a layer Twice, which a file without code cannot bring back"):
        wc.save(net, tmp_path / "net.npz")
    chosen = with_rules(wc.neuralize(small().fit(X), X), lambda name, layer: Gamma(1.0))
    with pytest.raises(TypeError, match="rules given by name"):
        wc.save(chosen, tmp_path / "net.npz")
    assert not (tmp_path / "net.npz").exists()
