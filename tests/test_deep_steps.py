"""A fitted deep model as a step before any clustering: explained in the columns of the table."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, BisectingKMeans, KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import whyclust as wc
from whyclust.cluster import KernelKMeans, PrototypeSurrogate
from whyclust.deep import AutoencoderKMeans, ClusteringModule, with_rules
from whyclust.network import PrototypeHead
from whyclust.propagate import Centered, Gamma, Zero, propagate

RAW = load_digits().data[:200]
SCALER = StandardScaler().fit(RAW)
X = SCALER.transform(RAW).astype(np.float32)
SETTINGS = {"epochs": 2, "batch_size": 32, "random_state": 0}
ENCODER = AutoencoderKMeans(4, hidden=(16, 12), embedding_dim=5, **SETTINGS).fit(X)
EMBEDDED = ENCODER.transform(X)


def conserves(ex, slack=1e-9):
    size = max(1.0, np.abs(ex.explained).max())
    return np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < slack * size


CLUSTERERS = {
    "k-means": KMeans(4, n_init=2, random_state=0),
    "scaled k-means": make_pipeline(StandardScaler(), KMeans(4, n_init=2, random_state=0)),
    "rotated k-means": make_pipeline(PCA(3, random_state=0), KMeans(4, n_init=2, random_state=0)),
    "bisecting": BisectingKMeans(4, random_state=0),
    "kernel": KernelKMeans(4, random_state=0),
    "feature space": KernelKMeans(3, algorithm="standard", random_state=0),
    "mixture": GaussianMixture(3, reg_covar=1e-2, random_state=0),
    "rotated mixture": make_pipeline(PCA(3, random_state=0), GaussianMixture(3, random_state=0)),
    "clustering module": make_pipeline(
        StandardScaler(), ClusteringModule(3, epochs=20, batch_size=32, random_state=0)
    ),
}


def after_encoder(name, scaled=False):
    """A pipeline whose encoder is fitted already, so that only the clustering is fitted here."""
    clusterer = clone(CLUSTERERS[name]).fit(EMBEDDED)
    steps = [("encode", ENCODER), ("cluster", clusterer)]
    return Pipeline([("scale", SCALER), *steps] if scaled else steps)


@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", list(CLUSTERERS))
def test_predictions_and_conservation(name, scaled):
    pipeline, rows = after_encoder(name, scaled), RAW if scaled else X
    net = wc.neuralize(pipeline, rows)
    evidence = net.evidence(rows)
    clear = evidence > 1e-3 * np.median(evidence)
    assert clear.mean() > 0.9
    assert np.array_equal(net.predict(rows)[clear], pipeline.predict(rows)[clear])
    for question in ({}, {"cluster": 1}, {"cluster": 1, "against": 0}):
        ex = wc.explain(net, rows, **question)
        assert ex.values.shape == rows.shape
        assert np.isfinite(ex.values).all()
        assert conserves(ex)
    if scaled:
        alone = wc.explain(after_encoder(name), X)
        behind = wc.explain(pipeline, RAW)
        assert np.abs(alone.values - behind.values).max() < 1e-3 * np.abs(alone.values).max()


def test_equal_to_the_model_that_clusters_its_own_embedding():
    """AE+KM is such a pipeline: the last layer is folded, activations are seen from zero."""
    kmeans = KMeans(4, n_init=1).fit(EMBEDDED)
    kmeans.cluster_centers_ = ENCODER.cluster_centers_
    pipeline = Pipeline([("encode", ENCODER), ("cluster", kmeans)])
    one, other = wc.explain(ENCODER, X), wc.explain(pipeline, X)
    assert np.array_equal(one.clusters, other.clusters)
    assert np.abs(one.values - other.values).max() < 1e-6 * np.abs(one.values).max()
    assert np.abs(one.base_values - other.base_values).max() < 1e-6 * np.abs(one.evidence).max()
    assert one.beta == pytest.approx(other.beta, rel=1e-6)


def test_a_mixture_against_the_literal_formula():
    """h(a) is quadratic in the activations: its Shapley value from zero is a ⊙ ½(∇h(a) + ∇h(0)), then LRP."""
    mixture = GaussianMixture(2, reg_covar=1e-2, random_state=0).fit(EMBEDDED)
    pipeline = Pipeline([("encode", ENCODER), ("cluster", mixture)])
    ex = wc.explain(pipeline, X[:20], cluster=1, against=0)
    encoder = ENCODER.model_.autoencoder.encoder
    W, b = (part.detach().double().numpy() for part in (encoder[-1].weight, encoder[-1].bias))
    with torch.no_grad():
        activations = encoder[:-1](torch.from_numpy(X[:20])).double().numpy()

    def slope(a):
        z = a @ W.T + b
        roots = mixture.precisions_cholesky_
        one, other = (-(z - mixture.means_[k]) @ roots[k] @ roots[k].T for k in range(2))
        return (other - one) @ W

    relevance = activations * 0.5 * (slope(activations) + slope(np.zeros_like(activations)))
    first = Centered(torch.from_numpy(ENCODER.feature_means_), Gamma(0.01))
    rules = {"0": first, torch.nn.Module: Gamma(0.01)}
    start = torch.from_numpy(relevance.astype(np.float32))
    values = propagate(encoder[:-1], torch.from_numpy(X[:20]), start, rules=rules).numpy()
    assert np.abs(ex.values - values).max() < 1e-4 * np.abs(values).max()


@pytest.mark.parametrize("clusterer", [AgglomerativeClustering(4), DBSCAN(eps=0.35, min_samples=4)])
@pytest.mark.filterwarnings("ignore:The surrogate agrees with")
def test_labels_of_the_embedding(clusterer):
    """Section V's deep surrogate: prototypes in the embedding, relevance in the columns."""
    clusterer = clone(clusterer).fit(EMBEDDED)
    pipeline = Pipeline([("scale", SCALER), ("encode", ENCODER), ("cluster", clusterer)])
    ex = wc.explain(pipeline, RAW)
    assert np.array_equal(ex.clusters, clusterer.labels_)
    assert ex.values.shape == RAW.shape
    assert conserves(ex)
    surrogate = PrototypeSurrogate(random_state=0).fit(EMBEDDED, clusterer.labels_)
    assert ex.fidelity.overall_in_sample == pytest.approx(surrogate.fidelity_.overall_in_sample)
    assert (ex.assigned == surrogate.predict(EMBEDDED)).mean() > 0.98
    against_noise = wc.explain(pipeline, RAW, cluster=0, against=-1 if -1 in clusterer.labels_ else 1)
    assert conserves(against_noise)


def test_noise_behind_layers_against_the_literal_formula():
    """−‖A a − u‖² from zero: a ⊙ (2Aᵀu − AᵀA a) for one prototype a cluster."""
    points = EMBEDDED.astype(float)
    pipeline = after_encoder("k-means")
    net = wc.neuralize(pipeline, X)
    centers = points[:3]
    head = PrototypeHead(centers, np.arange(3), noise=4.0)
    net = replace(net, head=head, clusters=np.array([0, 1, 2, -1]))
    zero = with_rules(net, Zero())
    found = zero.relevance(X[:10], cluster=1, against=-1)
    encoder = ENCODER.model_.autoencoder.encoder
    W, b = (part.detach().double().numpy() for part in (encoder[-1].weight, encoder[-1].bias))
    with torch.no_grad():
        a = encoder[:-1](torch.from_numpy(X[:10])).double().numpy()
    u = centers[1] - b
    relevance = a * (2 * u @ W - a @ W.T @ W)
    mean = torch.from_numpy(ENCODER.feature_means_)
    values = propagate(
        encoder[:-1],
        torch.from_numpy(X[:10]),
        torch.from_numpy(relevance.astype(np.float32)),
        rules={"0": Centered(mean, Zero()), torch.nn.Module: Zero()},
    ).numpy()
    assert np.abs(found.values - values).max() < 1e-4 * np.abs(values).max()
    assert np.abs(found.evidence - (4.0 - ((a @ W.T + b - centers[1]) ** 2).sum(axis=1))).max() < 1e-4


def test_pipelines_fitted_as_a_whole_frozen_and_nested():
    small = AutoencoderKMeans(3, hidden=(8,), epochs=1, batch_size=64, random_state=0)
    whole = make_pipeline(StandardScaler(), small, KMeans(4, n_init=2, random_state=0)).fit(RAW)
    frozen = make_pipeline(SCALER, FrozenEstimator(ENCODER), KMeans(4, n_init=2, random_state=0)).fit(RAW)
    nested = make_pipeline(make_pipeline(SCALER, ENCODER), clone(CLUSTERERS["k-means"]).fit(EMBEDDED))
    for pipeline in (whole, frozen, nested):
        ex = wc.explain(pipeline, RAW)
        assert (ex.assigned == pipeline.predict(RAW)).mean() > 0.98
        assert conserves(ex)
    assert np.abs(ex.values - wc.explain(after_encoder("k-means", scaled=True), RAW).values).max() == 0


def test_one_network_after_another():
    first = AutoencoderKMeans(3, hidden=(16,), embedding_dim=6, **SETTINGS).fit(X)
    second = AutoencoderKMeans(3, hidden=(8,), **SETTINGS).fit(first.transform(X))
    pipeline = Pipeline([("one", first), ("two", second)])
    ex = wc.explain(pipeline, X)
    assert (ex.assigned == pipeline.predict(X)).mean() > 0.98
    assert conserves(ex)


def test_saved_and_asked_by_other_methods(tmp_path):
    net = wc.neuralize(after_encoder("mixture", scaled=True), RAW)
    loaded = wc.load(wc.save(net, tmp_path / "net.npz"))
    assert np.abs(wc.explain(loaded, RAW).values - wc.explain(net, RAW).values).max() == 0
    for method in ("ig", "pda_zero", "squared"):
        assert np.isfinite(wc.explain(net, RAW[:20], method=method).values).all()
    rows = torch.tensor(RAW[:20])
    with torch.no_grad():
        evidence = net.to_torch()(rows).numpy()
    assert np.abs(evidence[:, 2] - net.evidence(RAW[:20], cluster=2)).max() < 1e-6 * np.abs(evidence).max()
    slopes = wc.neuralize(after_encoder("mixture"), X).gradient(X[:3])
    assert slopes.shape == (3, 64)
    assert wc.neuralize(after_encoder("k-means")).beta > 0


def test_image_shapes_are_those_of_the_encoder():
    images = load_digits().images[:80, None] / 16
    encoder = AutoencoderKMeans(
        3, image_shape=(1, 8, 8), hidden=(4,), embedding_dim=3, epochs=1, random_state=0
    ).fit(images)
    clusterer = KMeans(3, n_init=1, random_state=0).fit(encoder.transform(images))
    ex = wc.explain(Pipeline([("encode", encoder), ("cluster", clusterer)]), images.reshape(80, -1))
    assert ex.images.shape == (80, 1, 8, 8)


def test_a_normalizer_after_an_encoder_is_refused():
    pipeline = make_pipeline(FrozenEstimator(ENCODER), Normalizer(), KMeans(3, n_init=1)).fit(X)
    with pytest.raises(TypeError, match="Normalizer after an encoder"):
        wc.explain(pipeline, X)
