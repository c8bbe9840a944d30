"""Gaussian mixtures: quadratic evidence, explained exactly (closed form 4)."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paper
import whyclust as wc
from whyclust.cluster import SoftKMeans
from whyclust.network import Features, MinPool, Neuralized, QuadraticHead, SoftMinPool

COVARIANCES = ["full", "tied", "diag", "spherical"]
X, _ = make_blobs(150, centers=4, n_features=4, cluster_std=[1.0, 2.0, 0.5, 1.5], random_state=5)


def fitted(kind, covariance, X=X):
    return kind(n_components=3, covariance_type=covariance, random_state=0, max_iter=300).fit(X)


def log_odds(model, x, c, k):
    """h_k(x), from the mixture itself."""
    scores = model._estimate_weighted_log_prob(x[None])[0]
    return scores[c] - scores[k]


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kind", [GaussianMixture, BayesianGaussianMixture])
def test_evidence_and_shapley_values_by_enumeration(kind, covariance):
    model = fitted(kind, covariance)
    net = wc.neuralize(model, X)
    assert np.array_equal(net.predict(X), model.predict(X))
    assert np.abs(net.predict_proba(X) - model.predict_proba(X)).max() < 1e-10
    for c, k in [(0, 1), (2, 0)]:
        found = net.relevance(X[:12], cluster=c, against=k)
        middle = (model.means_[c] + model.means_[k]) / 2
        for row in range(12):
            literal = paper.shapley_value(lambda x: log_odds(model, x, c, k), X[row], middle)  # noqa: B023
            scale = max(1.0, np.abs(literal).max())
            assert np.abs(found.values[row] - literal).max() < 1e-10 * scale
            assert abs(found.base_values[row] - log_odds(model, middle, c, k)) < 1e-10 * scale


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_pool_weighs_the_pairs(covariance):
    """Against all: Σ_k α_k times the pairs' Shapley values, for each rule and decision."""
    model = fitted(GaussianMixture, covariance)
    net = wc.neuralize(model, X)
    soft = Neuralized(net.features, net.head, SoftMinPool(0.7), 1.0, net.clusters, net.feature_names)
    pairs = {(c, k): net.relevance(X, cluster=c, against=k) for c in range(3) for k in range(3) if c != k}
    cases = [(net, None), (net, "expected"), (net, "min_take_most"), (soft, None)]
    for network, rule in cases:
        found = network.relevance(X, rule=rule)
        assert np.abs(found.values.sum(axis=1) + found.base_values - found.explained).max() < 1e-9
        for row in range(0, len(X), 11):
            c = found.clusters[row]
            others = [k for k in range(3) if k != c]
            h = [pairs[c, k].evidence[row] for k in others]
            if network is soft:
                constant = paper.threshold_constant(3, 0.7)
                weights = paper.softmax([-value for value in h])
                assert abs(found.evidence[row] - paper.soft_evidence([v + constant for v in h])) < 1e-9
            elif rule == "min_take_most":
                weights = paper.min_take_most_weights(h, network.beta)
            else:
                weights = paper.expected_weights(h, network.beta, True)
            literal = sum(w * pairs[c, k].values[row] for w, k in zip(weights, others, strict=True))
            assert np.abs(found.values[row] - literal).max() < 1e-9 * max(1.0, np.abs(literal).max())


def test_equal_spheres_are_soft_k_means():
    soft = SoftKMeans(3, n_init=2, random_state=0).fit(X)
    roots = np.full((3, 4), np.sqrt(2 * soft.stiffness_))
    head = QuadraticHead(soft.cluster_centers_, roots, np.zeros(3))
    reference = wc.neuralize(soft, X)
    net = Neuralized(
        Features.identity(4), head, MinPool(), reference.beta, reference.clusters, reference.feature_names
    )
    for question in ({}, {"cluster": 1}, {"cluster": 2, "against": 0}):
        ours, theirs = net.relevance(X, **question), reference.relevance(X, **question)
        assert np.abs(ours.values - theirs.values).max() < 1e-10
        assert np.abs(ours.base_values).max() < 1e-10


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_behind_a_pipeline_in_the_users_columns(covariance):
    steps = [StandardScaler(), PCA(3, random_state=0)]
    model = make_pipeline(*steps, GaussianMixture(3, covariance_type=covariance, random_state=0)).fit(X)
    net = wc.neuralize(model, X)
    assert np.array_equal(net.predict(X), model.predict(X))
    found = net.relevance(X[:6], cluster=0, against=1)
    linear = net.features.folded
    middle = linear.preimage(model[-1].means_[:2]).mean(axis=0)

    def odds(x):
        return log_odds(model[-1], model[:-1].transform(x[None])[0], 0, 1)

    for row in range(6):
        literal = paper.shapley_value(odds, X[row], middle)
        assert np.abs(found.values[row] - literal).max() < 1e-9 * max(1.0, np.abs(literal).max())


def test_shift_single_precision_and_files(tmp_path):
    model = fitted(GaussianMixture, "full")
    net = wc.neuralize(model, X)
    expected = net.relevance(X)
    again = wc.load(wc.save(net, tmp_path / "mixture.npz")).relevance(X)
    assert np.array_equal(again.values, expected.values)
    single = net.relevance(X.astype(np.float32))
    assert single.values.dtype == np.float32
    assert np.abs(single.values - expected.values).max() < 1e-4 * np.abs(expected.values).max()
    moved = QuadraticHead(net.head.means + 1e6, net.head.roots, net.head.constants)
    far = Neuralized(net.features, moved, net.pool, net.beta, net.clusters, net.feature_names)
    shifted = X + 1e6
    near = net.relevance(shifted - 1e6)
    assert np.abs(far.relevance(shifted).values - near.values).max() < 1e-7 * np.abs(near.values).max()


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_torch(covariance):
    torch = pytest.importorskip("torch")
    net = wc.neuralize(fitted(GaussianMixture, covariance), X)
    with torch.no_grad():
        evidence = net.to_torch()(torch.tensor(X)).numpy()
    for cluster in range(3):
        assert np.abs(evidence[:, cluster] - net.evidence(X, cluster=cluster)).max() < 1e-9


def test_one_component_is_refused():
    with pytest.raises(ValueError, match="one cluster"):
        wc.explain(GaussianMixture(1, random_state=0).fit(X), X)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_absolute_decision_is_that_of_the_probability(covariance):
    """f_c = log(p_c/(1 − p_c)) − log(θ/(1 − θ)) (Prop. 7), for the cluster a row is in and for any other."""
    wide = X + np.random.default_rng(0).normal(0, 5, X.shape)  # so that few rows are certain
    model = fitted(GaussianMixture, covariance, wide)
    assert (model.predict_proba(wide).max(axis=1) < 0.99).sum() > 10
    probabilities = np.clip(model.predict_proba(wide), 1e-12, 1 - 1e-12)
    for threshold in (0.2, 0.5, 0.9):
        own = wc.explain(model, wide, threshold=threshold)
        found = {2: wc.explain(model, wide, cluster=2, threshold=threshold).evidence}
        largest = probabilities.max(axis=1)
        for evidence, p in [(own.evidence, largest), (found[2], probabilities[:, 2])]:
            literal = np.log(p / (1 - p)) - np.log(threshold / (1 - threshold))
            sure = (p > 1e-9) & (p < 1 - 1e-9)
            assert (np.abs(evidence - literal)[sure] < 1e-6).all()
            assert ((evidence > 0) == (p > threshold)).all()
        assert np.abs(own.values.sum(axis=1) + own.base_values - own.explained).max() < 1e-9
        assert own.rule == "soft_min"


def test_a_threshold_needs_probabilities():
    with pytest.raises(ValueError, match=r"threshold=1\.5 is no probability"):
        wc.explain(fitted(GaussianMixture, "full"), X, threshold=1.5)
    with pytest.raises(TypeError, match="KMeans decides by distances"):
        wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X, threshold=0.5)
    soft = SoftKMeans(3, random_state=0).fit(X)
    absolute = SoftKMeans(3, decision="absolute", threshold=0.7, random_state=0).fit(X)
    one, other = wc.explain(soft, X, threshold=0.7), wc.explain(absolute, X)
    assert np.abs(one.values - other.values).max() < 1e-12
    net = wc.neuralize(soft)
    assert np.abs(wc.explain(net, X, threshold=0.7).values - other.values).max() < 1e-12


def test_the_threshold_is_told():
    ex = wc.explain(fitted(GaussianMixture, "full"), X, threshold=0.9)
    assert ex.question.threshold == 0.9
    assert str(ex.question) == "whether the probability of the assigned cluster exceeds 0.9"
    assert "its probability of cluster" in ex[0].describe()
    assert "exceeds 0.9" in ex[0].describe()
    with pytest.raises(ValueError, match="give one of them"):
        wc.explain(fitted(GaussianMixture, "full"), X, threshold=0.9, cluster=0, against=1)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_single_precision_far_from_zero(covariance):
    """Rows are moved to the middle of the means before anything is rounded away."""
    far = (X + 1e5).astype(np.float32)
    net = wc.neuralize(fitted(GaussianMixture, covariance, far.astype(np.float64)), far)
    single, double = net.relevance(far), net.relevance(far.astype(np.float64))
    assert single.values.dtype == np.float32
    size = np.abs(double.values).max()
    assert np.abs(single.values - double.values).max() < 1e-5 * size
    assert np.abs(single.evidence - double.evidence).max() < 1e-5 * size


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinite_rows_are_refused_by_place(covariance, value):
    """The score of a row that is infinitely far is −∞ for every component, which is no answer."""
    net = wc.neuralize(fitted(GaussianMixture, covariance), X)
    table = X.copy()
    table[7, 2] = value
    for question in (net.predict, net.predict_proba, net.evidence, net.relevance):
        with pytest.raises(ValueError, match="in row 7, column 'x2'"):
            question(table)
