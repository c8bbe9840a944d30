"""A new clustering, or a new step before one, is one function and one registration."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.network import AffineMap, Features, LinearHead, MinPool, PrototypeHead, step_describer

X = np.random.default_rng(0).normal(size=(60, 4))


class Medoids(BaseEstimator):
    def __init__(self, rows=(0, 1, 2)):
        self.rows = rows

    def fit(self, X, y=None):
        self.medoids_ = np.asarray(X)[list(self.rows)]
        return self

    def predict(self, X):
        return ((np.asarray(X)[:, None] - self.medoids_) ** 2).sum(axis=2).argmin(axis=1)


class Halves(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X / 2


def test_unknown_models_are_refused_with_a_way_out():
    with pytest.raises(TypeError, match=r"Medoids cannot be neuralised.*KMeans.*neuralizer"):
        wc.explain(Medoids().fit(X), X)


def test_a_registered_model_is_explained_alone_and_in_a_pipeline():
    class Registered(Medoids):
        pass

    @wc.neuralizer(Registered)
    def parts(model):
        head = PrototypeHead.one_each(model.medoids_)
        return Features.identity(head.n_inputs), head, MinPool()

    model = Registered().fit(X)
    ex = wc.explain(model, X)
    assert np.array_equal(ex.assigned, model.predict(X))
    assert np.abs(ex.values.sum(axis=1) - ex.evidence).max() < 1e-12


def test_features_of_a_registered_model_join_the_pipeline():
    """A model may bring an affine map of its own; scikit-learn's steps come before it."""

    class Projected(Medoids):
        def predict(self, X):
            return super().predict(np.asarray(X)[:, ::-1])

    @wc.neuralizer(Projected)
    def parts(model):
        flip = AffineMap(np.eye(4)[::-1], np.zeros(4), np.zeros(4))
        return Features(flip), PrototypeHead.one_each(model.medoids_), MinPool()

    model = make_pipeline(StandardScaler(), Projected()).fit(X)
    ex = wc.explain(model, X)
    assert np.array_equal(ex.assigned, model.predict(X))
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-12


def test_linear_heads():
    """Softmax heads are explained against zero; their biases are base (Prop. 6)."""

    class Softmax(BaseEstimator):
        def fit(self, X, y=None):
            random = np.random.default_rng(1)
            self.weights_, self.biases_ = random.normal(size=(3, X.shape[1])), random.normal(size=3)
            return self

    @wc.neuralizer(Softmax)
    def parts(model):
        return Features.identity(4), LinearHead(model.weights_, model.biases_), MinPool()

    model = Softmax().fit(X)
    with pytest.warns(UserWarning, match="β = 1"):
        wc.neuralize(model)
    net = wc.neuralize(model, X)
    logits = X @ model.weights_.T + model.biases_
    assert np.abs(net.logits(X) - logits).max() < 1e-12
    found = net.relevance(X, cluster=2, against=0)
    assert np.abs(found.values - X * (model.weights_[2] - model.weights_[0])).max() < 1e-12
    assert np.abs(found.base_values - (model.biases_[2] - model.biases_[0])).max() < 1e-12
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    assert np.abs(net.predict_proba(X) - odds / odds.sum(axis=1, keepdims=True)).max() < 1e-12


def test_a_registered_step_is_followed():
    model = make_pipeline(Halves(), KMeans(3, n_init=1, random_state=0)).fit(X)
    with pytest.raises(TypeError, match=r"'halves' \(Halves\).*step_describer"):
        wc.explain(model, X)

    class Followed(Halves):
        pass

    @step_describer(Followed)
    def describe(step, n_inputs):
        return [AffineMap(np.eye(n_inputs) / 2, np.zeros(n_inputs), np.zeros(n_inputs))]

    model = make_pipeline(Followed(), KMeans(3, n_init=1, random_state=0)).fit(X)
    ex = wc.explain(model, X)
    inner = wc.explain(wc.neuralize(model[-1], X / 2), X / 2)
    assert np.abs(ex.values - inner.values).max() < 1e-12


def test_linear_heads_with_a_reference():
    """Values are (x − r) ⊙ (w_c − w_k), the base is what the reference itself gets."""

    class FromMean(BaseEstimator):
        def fit(self, X, y=None):
            random = np.random.default_rng(1)
            self.weights_, self.biases_ = random.normal(size=(3, X.shape[1])), random.normal(size=3)
            self.mean_ = X.mean(axis=0) + 1.0
            return self

    @wc.neuralizer(FromMean)
    def parts(model):
        head = LinearHead(model.weights_, model.biases_, reference=model.mean_)
        return Features.identity(4), head, MinPool()

    model = FromMean().fit(X)
    difference = model.weights_[2] - model.weights_[0]
    found = wc.neuralize(model, X).relevance(X, cluster=2, against=0)
    assert np.abs(found.values - (X - model.mean_) * difference).max() < 1e-12
    base = model.mean_ @ difference + model.biases_[2] - model.biases_[0]
    assert np.abs(found.base_values - base).max() < 1e-12
    scaler = StandardScaler().fit(X * 3.0 + 100.0)
    behind = make_pipeline(scaler, FromMean()).fit(X * 3.0 + 100.0)
    inner = wc.neuralize(behind[-1], scaler.transform(X * 3.0 + 100.0))
    outer = wc.neuralize(behind, X * 3.0 + 100.0)
    for cluster in (None, 1):
        one = inner.relevance(scaler.transform(X * 3.0 + 100.0), cluster=cluster)
        other = outer.relevance(X * 3.0 + 100.0, cluster=cluster)
        assert np.abs(one.values - other.values).max() < 1e-10
    sparse = outer.relevance(X * 3.0 + 100.0, cluster=1)
    assert np.abs(sparse.values.sum(axis=1) + sparse.base_values - sparse.explained).max() < 1e-10
