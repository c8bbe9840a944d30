"""Absolute decisions of everything that has a softmax: f_c > 0 exactly where p_c exceeds the threshold."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_digits, load_wine, make_moons
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paper
import whyclust as wc
from whyclust.cluster import KernelKMeans, PrototypeSurrogate, SoftKMeans

WINE = StandardScaler().fit_transform(load_wine().data)
MOONS = make_moons(200, noise=0.2, random_state=0)[0]


def with_noise():
    labels = DBSCAN(eps=0.15).fit(MOONS).labels_
    labels = np.where(labels > 1, -1, labels)
    return PrototypeSurrogate(random_state=0).fit(MOONS, labels), MOONS


MODELS = {
    "kernel": lambda: (KernelKMeans(3, random_state=0).fit(WINE), WINE),
    "kernel with its own stiffness": lambda: (KernelKMeans(3, stiffness=0.2, random_state=0).fit(WINE), WINE),
    "feature space": lambda: (KernelKMeans(3, algorithm="standard", random_state=0).fit(WINE), WINE),
    "behind a PCA": lambda: (make_pipeline(PCA(4), KernelKMeans(3, random_state=0)).fit(WINE), WINE),
    "surrogate": lambda: (PrototypeSurrogate(random_state=0).fit(WINE, load_wine().target), WINE),
    "surrogate with noise": with_noise,
}


@pytest.mark.filterwarnings("ignore:The surrogate agrees with")
@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("threshold", [0.4, 0.95])
def test_the_evidence_is_the_log_odds_of_the_models_own_probability(name, threshold):
    model, X = MODELS[name]()
    last = model[-1] if hasattr(model, "steps") else model
    order = np.argsort(getattr(last, "cluster_ids_", np.arange(3)), kind="stable")
    probabilities = model.predict_proba(X).astype(float)
    names = getattr(last, "cluster_ids_", np.arange(3))[order]
    net = wc.neuralize(model, X, threshold=threshold)
    for cluster in (None, names[0], names[-1]):
        ex = wc.explain(model, X, cluster=cluster, threshold=threshold)
        p = probabilities[np.arange(len(X)), np.searchsorted(names, ex.clusters)]
        clear = (p > 1e-7) & (p < 1 - 1e-7)
        assert clear.sum() > 10
        literal = np.log(p[clear] / (1 - p[clear])) - np.log(threshold / (1 - threshold))
        assert np.abs(ex.evidence[clear] - literal).max() < 1e-6
        sure = np.abs(p - threshold) > 1e-9
        assert ((ex.evidence > 0) == (p > threshold))[sure].all()
        assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-8
        assert ex.rule == "soft_min"
        assert np.abs(ex.evidence - net.evidence(X, cluster=cluster)).max() < 1e-12


def test_relevance_against_the_literal_formula():
    """Σ_k s p_k h_k with p = softmax(−s h): one prototype a cluster, so h_k is shared as in k-means."""
    model = KernelKMeans(3, n_support=1, stiffness=0.3, random_state=0).fit(WINE)
    ex = wc.explain(model, WINE, threshold=0.8)
    order = np.argsort(model.support_clusters_)
    centers, offsets = model.support_vectors_[order], model.support_offsets_[order]
    for row in range(0, len(WINE), 17):
        x = WINE[row]
        scores = ((x - centers) ** 2).sum(axis=1) + offsets
        c = int(scores.argmin())
        others = [k for k in range(3) if k != c]
        h = scores[others] - scores[c]
        p = np.exp(-0.3 * h) / np.exp(-0.3 * h).sum()
        values = sum(
            0.3 * share * (x - (centers[c] + centers[k]) / 2) * 2 * (centers[c] - centers[k])
            for share, k in zip(p, others, strict=True)
        )
        assert np.abs(ex.values[row] - values).max() < 1e-10
        assert abs(ex.explained[row] - 0.3 * p @ h - paper.threshold_constant(3, 0.8)) < 1e-10


def test_the_gradient_and_the_torch_module():
    torch = pytest.importorskip("torch")
    model = KernelKMeans(3, n_support=3, stiffness=0.3, random_state=0).fit(WINE)
    net = wc.neuralize(model, WINE, threshold=0.8)
    few = torch.tensor(WINE[:6], requires_grad=True)
    outputs = net.to_torch()(few)
    clusters = net.predict(WINE[:6])
    own = outputs[torch.arange(6), torch.tensor(clusters.astype(int))]
    assert np.abs(own.detach().numpy() - net.evidence(WINE[:6])).max() < 1e-9
    (slopes,) = torch.autograd.grad(own.sum(), few)
    assert np.abs(slopes.numpy() - net.gradient(WINE[:6])).max() < 1e-9


def test_deep_centroids():
    from whyclust.deep import DCN, DKM, AutoencoderKMeans

    X = StandardScaler().fit_transform(load_digits().data[:150]) / 6.0
    settings = {"hidden": (12,), "pretrain_epochs": 2, "epochs": 2, "batch_size": 32, "random_state": 0}
    models = [
        DKM(4, alpha=3.0, **settings),
        DCN(4, **settings),
        AutoencoderKMeans(4, hidden=(12,), epochs=2, batch_size=32, random_state=0),
    ]
    for model in models:
        model.fit(X)
        assert np.abs(wc.neuralize(model, X).predict_proba(X) - model.predict_proba(X)).max() < 1e-5
        ex = wc.explain(model, X, threshold=0.7)
        p = model.predict_proba(X)[np.arange(len(X)), ex.clusters].astype(float)
        clear = (p > 1e-4) & (p < 1 - 1e-4)
        assert clear.sum() > 10
        odds = np.log(p[clear] / (1 - p[clear])) - np.log(0.7 / 0.3)
        assert np.abs(ex.evidence[clear] - odds).max() < 0.02
        assert ((ex.evidence > 0) == (p > 0.7))[np.abs(p - 0.7) > 1e-4].all()


@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
def test_students_t_is_no_softmax_of_distances():
    from whyclust.deep import DEC

    X = StandardScaler().fit_transform(load_digits().data[:100])
    model = DEC(3, hidden=(8,), pretrain_epochs=1, epochs=1, random_state=0).fit(X)
    net = wc.neuralize(model, X)
    assert (net.predict(X) == model.predict(X)).mean() > 0.98
    with pytest.raises(TypeError, match=r"network of DEC compares distances.*predict_proba of the model"):
        net.predict_proba(X)
    with pytest.raises(TypeError, match=r"DEC decides by distances"):
        wc.explain(model, X, threshold=0.5)


@pytest.mark.parametrize("threshold", [".5", [0.5], True, 0.0, 1, np.nan])
def test_no_probability(threshold):
    model = KernelKMeans(3, n_support=2, random_state=0).fit(WINE)
    with pytest.raises(ValueError, match=r"is no probability to exceed: choose a number between 0 and 1"):
        wc.explain(model, WINE, threshold=threshold)


def test_two_clusters_are_compared_by_their_difference():
    """Against one competitor an absolute decision is none: the pair decides, by the rule of a minimum."""
    model = SoftKMeans(3, decision="absolute", threshold=0.8, random_state=0).fit(WINE)
    net = wc.neuralize(model, WINE)
    logits = net.logits(WINE)
    difference = logits[:, 1] - logits[:, 2]
    assert np.abs(net.evidence(WINE, cluster=1, against=2) - difference).max() < 1e-10
    duel = net.relevance(WINE, cluster=1, against=2)
    assert duel.rule == "expected"
    assert np.abs(duel.evidence - difference).max() < 1e-10
    assert net.relevance(WINE, cluster=1).rule == "soft_min"
    ex = wc.explain(model, WINE)
    assert (ex.rule, ex.question.threshold) == ("soft_min", 0.8)
    assert (
        wc.explain(wc.neuralize(model.set_params(decision="relative"), WINE), WINE).question.threshold is None
    )
