"""A new clustering, head, pool, or step before one, is one class or function and one registration."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.network import (
    AffineMap,
    Features,
    LinearHead,
    MinPool,
    Neuralized,
    Parts,
    PrototypeHead,
    step_describer,
)

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


# --------------------------------------------------------------------------- heads and pools of one's own


@wc.saved(alone=False)
@dataclass(frozen=True)
class MeanPool:
    """f_c is the mean over competitors, or by its other rule the nearest of them."""

    power: float = 1.0
    name: ClassVar[str] = "mean"
    rule: ClassVar[str] = "mean"
    rules: ClassVar[tuple[str, ...]] = ("mean", "nearest")
    threshold: ClassVar[float | None] = None
    takes_beta: ClassVar[bool] = False

    def evidence(self, h, smallest):
        return (self.slopes(h, smallest) * h).sum(axis=0)

    def offset(self, h):
        return 0.0

    def weights(self, h, smallest, inside, beta, rule):
        alpha = MinPool().slopes(h, smallest) if rule == "nearest" else self.slopes(h, smallest)
        return alpha, (alpha * h).sum(axis=0)

    def slopes(self, h, smallest):
        there = h < np.finfo(h.dtype).max
        return self.power * there / there.sum(axis=0)


@wc.saved(alone=False)
@dataclass(frozen=True)
class Balls:
    """Nearest centres; what is in no ball is noise. Its noise is no field."""

    centers: np.ndarray
    radius: float | None
    name: ClassVar[str] = "balls"
    probability_stiffness: ClassVar[float | None] = None

    @property
    def noise(self):
        return None if self.radius is None else self.radius**2

    @property
    def _prototypes(self):
        return PrototypeHead(self.centers, np.arange(len(self.centers)), noise=self.noise)

    @property
    def n_clusters(self):
        return self._prototypes.n_clusters

    @property
    def n_inputs(self):
        return self.centers.shape[1]

    def without_noise(self):
        return replace(self, radius=None)

    def typical_points(self, linear):
        return self._prototypes.typical_points(linear)

    def fold(self, linear, dtype, centred):
        return self._prototypes.fold(linear, dtype, centred)


class InBalls(Medoids):
    def __init__(self, rows=(0, 1, 2), radius=2.0, pool=None):
        super().__init__(rows)
        self.radius, self.pool = radius, pool

    def predict(self, X):
        distances = ((np.asarray(X)[:, None] - self.medoids_) ** 2).sum(axis=2)
        return np.where(distances.min(axis=1) < self.radius**2, distances.argmin(axis=1), -1)


@wc.neuralizer(InBalls)
def _in_balls(model):
    return Parts(Features.identity(4), Balls(model.medoids_, model.radius), model.pool or MinPool())


GROUPS = np.repeat([0, 1, 2], 30)
BLOBS = np.random.default_rng(2).normal(size=(90, 4)) * 0.5 + 4.0 * np.eye(4)[GROUPS]


def test_a_pool_of_ones_own_is_explained_saved_audited_and_turned_to_torch(tmp_path):
    torch = pytest.importorskip("torch")
    from whyclust.network.torch_module import pooling

    model = InBalls((0, 30, 60), radius=30.0, pool=MeanPool(0.5)).fit(BLOBS)
    net = wc.neuralize(model)
    distances = ((BLOBS[:, None] - model.medoids_) ** 2).sum(axis=2)
    scores = np.column_stack([distances, np.full(90, 900.0)])
    wanted = 0.5 * ((scores.sum(axis=1) - scores.min(axis=1)) / 3 - scores.min(axis=1))
    assert np.abs(net.evidence(BLOBS) - wanted).max() < 1e-9
    ex = wc.explain(net, BLOBS)
    assert (ex.rule, ex.provenance.pool) == ("mean", "mean")
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-9
    nearest = net.relevance(BLOBS, rule="nearest")
    assert (nearest.rule, np.abs(nearest.values - ex.values).max() > 1.0) == ("nearest", True)
    with pytest.raises(ValueError, match="rule='expected' is unknown, expected one of mean, nearest or None"):
        net.relevance(BLOBS, rule="expected")
    with pytest.raises(ValueError, match=r"pool 'mean' .*a stiffness of its own.*leave beta=None"):
        wc.neuralize(model, beta=1.0)
    assert net.with_beta(BLOBS) is net
    again = wc.load(wc.save(net, tmp_path / "net.npz"))
    assert again.pool == MeanPool(0.5)
    np.testing.assert_array_equal(again.relevance(BLOBS).values, net.relevance(BLOBS).values)
    assert wc.audit(net, BLOBS, methods=["squared"], n_refits=0).trusted in ("yes", "with care")
    with pytest.raises(TypeError, match=r"The pool MeanPool has no torch module yet: register .*pooling"):
        net.to_torch()

    class MeanPooling(torch.nn.Module):
        def forward(self, h):
            return 0.5 * h.mean(dim=2)

    pooling.register(MeanPool, lambda pool: MeanPooling())
    found = net.to_torch()(torch.from_numpy(BLOBS)).detach().numpy()
    assert np.abs(found - net.scores(BLOBS)).max() < 1e-9


def test_a_head_of_ones_own_whose_noise_is_no_field(tmp_path):
    pytest.importorskip("torch")
    rows = np.vstack([BLOBS, np.full((5, 4), 40.0)])
    model = InBalls((0, 30, 60), radius=6.0).fit(rows)
    net = wc.neuralize(model, rows)
    usual = replace(net, head=net.head._prototypes)
    ex, wanted = wc.explain(net, rows), wc.explain(usual, rows)
    np.testing.assert_array_equal(ex.assigned, model.predict(rows))
    assert set(ex.assigned) == {0, 1, 2, -1}
    np.testing.assert_array_equal(ex.values, wanted.values)
    assert (ex.provenance.head, ex.provenance.noise, ex.provenance.n_clusters) == ("balls", -1, 3)
    again = wc.load(wc.save(net, tmp_path / "net.npz"))
    np.testing.assert_array_equal(wc.explain(again, rows).values, ex.values)
    assert wc.audit(net, rows, methods=["squared"], n_refits=0).trusted in ("yes", "with care")
    import torch

    assert np.abs(net.to_torch()(torch.from_numpy(rows)).detach().numpy() - net.scores(rows)).max() < 1e-9


@pytest.mark.parametrize(
    ("clusters", "labels"),
    [
        (("a", "b", "c"), np.array(["a", "b", "c", "c", "other"])),
        ((10, 20, 30), np.array([10, 20, 30, 30, -1])),
        ((10, 20, 30), [10, 20, 30, 30]),
        ((0, 1, 2), np.array([0.0, 1.0, 2.0, 2.0, np.nan])),
        ((0, 1, 2), np.array([0, 1, 2, 2, 7, -1])),
    ],
)
def test_labels_of_any_type_weigh_the_clusters(clusters, labels):
    """β without a background is that of the centres, each as often as the model's labels have it."""

    class Labelled(Medoids):
        pass

    @wc.neuralizer(Labelled)
    def parts(model):
        head = PrototypeHead.one_each(model.medoids_)
        return Parts(Features.identity(4), head, MinPool(), clusters=np.array(clusters))

    model = Labelled((0, 30, 60)).fit(BLOBS)
    model.labels_ = labels
    net = wc.neuralize(model)
    assert net.beta == pytest.approx(4 / (net.evidence(model.medoids_) @ [1, 1, 2]), rel=1e-12)


def test_parts_are_checked():
    head = PrototypeHead.one_each(BLOBS[::30])
    features = Features.identity(4)

    def neuralized(*parts, **more):
        class Wrong(Medoids):
            pass

        wc.neuralizer(Wrong)(lambda model: Parts(*parts, **more))
        return wc.neuralize(Wrong((0, 30, 60)).fit(BLOBS), beta=more.get("beta", 1.0))

    assert isinstance(neuralized(features, head, MinPool()), Neuralized)
    for parts, told in (
        ((head, features, MinPool()), "The features of a network is a PrototypeHead, expected all that"),
        ((features, MinPool(), head), r"The head of a network is a MinPool, .*Parts\(features, head, pool\)"),
        ((features, head, MinPool), "The pool of a network is the class MinPool: create one"),
        ((features, head, None), "The pool of a network is a NoneType"),
    ):
        with pytest.raises(TypeError, match=told):
            neuralized(*parts)
    for clusters in (np.arange(2), np.arange(4), np.arange(3)[None], np.array(3)):
        with pytest.raises(ValueError, match=r"clusters, .* expected one for each of the 3 clusters"):
            neuralized(features, head, MinPool(), clusters=clusters)
    with pytest.raises(ValueError, match="names two clusters the same"):
        neuralized(features, head, MinPool(), clusters=["a", "b", "a"])
    for beta in ("x", None, 10**400, True - 1):
        with pytest.raises(ValueError, match="expected a positive, finite number"):
            Neuralized(features, head, MinPool(), beta, np.arange(3), ("a", "b", "c", "d"))
    for count in (0, 2, 6):

        class Few(Medoids):
            pass

        wc.neuralizer(Few)(
            lambda model, count=count: (features, head, MinPool(), 1.0, np.arange(3), 0)[:count]
        )
        with pytest.raises(TypeError, match="registered for Few returned a tuple, expected"):
            wc.neuralize(Few().fit(X))


def test_a_type_that_others_only_say_to_be_of():
    """What was inherited from nobody is no predict that replaces another."""

    class Centred(ABC):
        @abstractmethod
        def predict(self, X): ...

    class Real(Medoids, Centred):
        pass

    class Virtual(Medoids):
        pass

    Centred.register(Virtual)

    @wc.neuralizer(Centred)
    def parts(model):
        return Parts(Features.identity(4), PrototypeHead.one_each(model.medoids_), MinPool())

    for kind in (Real, Virtual):  # warnings are errors
        wc.neuralize(kind((0, 30, 60)).fit(BLOBS))


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (None, "registered for Odd returned a NoneType, expected a list of whyclust.network's AffineMap"),
        ([AffineMap.identity(4), "x"], "returned a list with a str, expected a list"),
        (AffineMap.identity(4), "returned a AffineMap, expected a list"),
        ([AffineMap.identity(3)], "an AffineMap of 3 columns, expected one of the 4"),
    ],
)
def test_describers_that_return_something_else_are_told_so(returned, told):
    class Odd(Halves):
        pass

    step_describer(Odd)(lambda step, n_inputs: returned)
    model = make_pipeline(Odd(), KMeans(3, n_init=1, random_state=0)).fit(X)
    with pytest.raises((TypeError, ValueError), match=told):
        wc.explain(model, X)
