"""β belongs to a network: where it comes from, and who may set it."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.auditing.subject import subject_of
from whyclust.cluster import KernelKMeans, PrototypeSurrogate, SoftKMeans
from whyclust.inputs.reading import read_input
from whyclust.metrics.stability import _explained as explained_again
from whyclust.network import Features, MinPool, Parts, PrototypeHead

X = StandardScaler().fit_transform(load_wine().data)


def mean_beta(model, rows):
    return 1.0 / wc.neuralize(model, rows).evidence(rows).mean()


def test_the_reconstruction_weight_of_a_network_is_no_stiffness():
    from whyclust.deep import CNet

    model = CNet(3, beta=5.0, hidden=(12,), epochs=3, pretrain_epochs=2, random_state=0).fit(X)
    assert model.beta_ == 5.0
    expected = pytest.approx(mean_beta(model, X), rel=1e-6)
    assert wc.explain(model, X).beta == expected
    assert wc.explain(model, X).beta != pytest.approx(5.0, rel=0.1)
    assert subject_of(model, X).net.beta == expected
    assert explained_again(model, read_input(X), None).beta == expected


@pytest.mark.parametrize(
    "model",
    [
        KernelKMeans(3, random_state=0).fit(X),
        SoftKMeans(3, random_state=0).fit(X),
        PrototypeSurrogate(random_state=0).fit(X, load_wine().target),
        make_pipeline(StandardScaler(), KernelKMeans(3, random_state=0)).fit(X),
    ],
    ids=["kernel", "soft", "surrogate", "pipeline"],
)
def test_the_order_of_precedence(model):
    """The argument, the background, what the model kept, the rows."""
    kept = (model[-1] if hasattr(model, "steps") else model).beta_
    few = X[:20]
    assert wc.explain(model, few).beta == kept
    assert wc.neuralize(model).beta == kept
    other = wc.explain(model, few, background=few).beta
    assert other == pytest.approx(mean_beta(model, few))
    assert other != kept
    assert wc.explain(model, few, background=few, beta=0.25).beta == 0.25
    assert wc.neuralize(model, few, beta=0.25).beta == 0.25


def test_without_a_beta_of_its_own_the_rows_tell():
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    assert wc.explain(model, X[:20]).beta == pytest.approx(mean_beta(model, X[:20]))
    net = wc.neuralize(model, X)
    assert wc.explain(net, X[:20]).beta == net.beta
    assert wc.explain(net, X[:20], beta=3).beta == 3.0


def test_a_given_beta_is_used():
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    ex = wc.explain(model, X, beta=0.01)
    h = np.sort(((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2), axis=1)
    h = h[:, 1:] - h[:, :1]
    p = np.exp(-0.01 * (h - h[:, :1]))
    p /= p.sum(axis=1, keepdims=True)
    weights = p * (h[:, :1] / (p * h).sum(axis=1, keepdims=True))
    order = np.argsort(((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2), axis=1)
    c, others = model.cluster_centers_[order[:, :1]], model.cluster_centers_[order[:, 1:]]
    literal = (weights[:, :, None] * (X[:, None] - (c + others) / 2) * 2 * (c - others)).sum(axis=1)
    assert np.abs(ex.values - literal).max() < 1e-10
    assert np.abs(ex.values - wc.explain(model, X).values).max() > 0.01


@pytest.mark.parametrize("beta", [0, -1.0, np.inf, np.nan, "1", True, [1.0]])
def test_no_other_beta_is_taken(beta):
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="expected a positive finite number"):
        wc.explain(model, X, beta=beta)
    with pytest.raises(ValueError, match="expected a positive finite number"):
        wc.neuralize(model, beta=beta)


def test_absolute_decisions_have_a_stiffness_of_their_own():
    model = GaussianMixture(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"absolute decision.*leave beta=None"):
        wc.explain(model, X, threshold=0.9, beta=2.0)


class Centers(BaseEstimator):
    """Has a β of another meaning."""

    def fit(self, X, y=None):
        self.centers_, self.beta_ = X[:3], 40.0
        return self


def test_a_registered_model_hands_over_its_beta_or_none():
    class Silent(Centers):
        pass

    class Telling(Centers):
        pass

    class Wrong(Centers):
        pass

    @wc.neuralizer(Silent)
    def silent(model):
        head = PrototypeHead.one_each(model.centers_)
        return Features.identity(head.n_inputs), head, MinPool()

    @wc.neuralizer(Telling)
    def telling(model):
        head = PrototypeHead.one_each(model.centers_)
        return Parts(Features.identity(head.n_inputs), head, MinPool(), beta=0.125)

    @wc.neuralizer(Wrong)
    def wrong(model):
        return PrototypeHead.one_each(model.centers_)

    assert wc.explain(Silent().fit(X), X).beta == pytest.approx(mean_beta(Silent().fit(X), X))
    assert wc.explain(Telling().fit(X), X).beta == 0.125
    assert wc.explain(make_pipeline(StandardScaler(), Telling()).fit(X), X).beta == 0.125
    with pytest.raises(TypeError, match=r"registered for Wrong returned a PrototypeHead.*Parts"):
        wc.explain(Wrong().fit(X), X)
