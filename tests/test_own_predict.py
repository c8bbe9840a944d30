"""A clustering is explained as what it predicts, not as what its class descends from."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans, MeanShift
from sklearn.datasets import load_wine, make_blobs
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.auditing.subject import subject_of
from whyclust.network import Features, MinPool, Parts, PrototypeHead

X = StandardScaler().fit_transform(load_wine().data)


class Turned(KMeans):
    """Other labels than k-means."""

    def predict(self, X):
        return (super().predict(X) + 1) % self.n_clusters


class Named(KMeans):
    """Labels of another kind."""

    def predict(self, X):
        return np.array(["a", "b", "c"])[super().predict(X)]


class Counting(KMeans):
    """The same labels, and the number of rows it was asked for."""

    def predict(self, X):
        self.asked_ = len(X)
        return super().predict(X).astype(np.int64)


class OneOff(KMeans):
    """Disagrees in one row."""

    def predict(self, X):
        labels = super().predict(X)
        labels[0] = (labels[0] + 1) % self.n_clusters
        return labels


def fitted(kind):
    return kind(3, n_init=1, random_state=0).fit(X)


@pytest.mark.parametrize("kind", [Turned, Named])
def test_another_predict_is_refused(kind):
    model = fitted(kind)
    message = rf"{kind.__name__} has a predict of its own.*178 of 178 rows.*whyclust\.neuralizer.*labels"
    with pytest.raises(TypeError, match=message):
        wc.explain(model, X)
    with pytest.raises(TypeError, match=message):
        wc.neuralize(model, X)
    with pytest.raises(TypeError, match=message):
        subject_of(model, X)
    with pytest.raises(TypeError, match=message):
        wc.explain(make_pipeline(StandardScaler(), model).fit(X), X)


def test_a_pipeline_and_an_instance_with_a_predict_of_their_own():
    class Relabelled(Pipeline):
        def predict(self, X):
            return 2 - super().predict(X)

    with pytest.raises(TypeError, match="Relabelled has a predict of its own"):
        wc.explain(Relabelled([("cluster", KMeans(3, n_init=1, random_state=0))]).fit(X), X)
    model = fitted(KMeans)
    model.predict = lambda rows: np.zeros(len(rows), dtype=int)
    with pytest.raises(TypeError, match="KMeans has a predict of its own"):
        wc.explain(model, X)


def test_the_same_labels_are_explained():
    frame = pd.DataFrame(X, columns=load_wine().feature_names)
    model = Counting(3, n_init=1, random_state=0).fit(frame)
    plain = KMeans(3, n_init=1, random_state=0).fit(frame)
    shuffled = frame[frame.columns[::-1]]
    assert np.array_equal(wc.explain(model, shuffled).values, wc.explain(plain, shuffled).values)
    assert model.asked_ == 178
    wc.explain(model, X)  # no word about the names that an array does not have
    many = np.tile(X, (20, 1))
    wc.explain(fitted(Counting), many)
    model = fitted(Counting)
    wc.neuralize(model, many)
    assert 1000 < model.asked_ <= 2000


def test_a_few_disagreements_are_told():
    with pytest.warns(UserWarning, match="OneOff has a predict of its own.*1 of 178 rows"):
        wc.explain(fitted(OneOff), X)


def test_without_rows_nothing_can_be_compared():
    with pytest.warns(UserWarning, match="Turned has a predict of its own.*pass background"):
        wc.neuralize(fitted(Turned))


def test_whoever_registers_a_type_vouches_for_it():
    class Registered(Turned):
        pass

    @wc.neuralizer(Registered)
    def parts(model):
        centers = np.roll(model.cluster_centers_, 1, axis=0)
        return Parts(Features.identity(13), PrototypeHead.one_each(centers), MinPool())

    model = fitted(Registered)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(wc.explain(model, X).assigned, model.predict(X))


BLOBS = make_blobs(120, centers=3, n_features=3, cluster_std=1.5, random_state=0)[0]


def test_orphans_of_mean_shift_are_noise():
    model = MeanShift(bandwidth=3.0, cluster_all=False).fit(BLOBS)
    orphans = model.labels_ == -1
    assert 0 < orphans.sum() < 60
    net = wc.neuralize(model, BLOBS)
    assert np.array_equal(net.predict(BLOBS), model.labels_)
    ex = wc.explain(model, BLOBS)
    assert np.array_equal(ex.clusters, model.labels_)
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-9
    # The evidence of noise is how far the nearest centre is beyond the bandwidth, in squares.
    squares = ((BLOBS[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    beyond = squares.min(axis=1) - 3.0**2
    assert np.abs(ex.evidence[orphans] - beyond[orphans]).max() < 1e-9
    assert np.isfinite(wc.neuralize(model).beta)
    together = MeanShift(bandwidth=3.0).fit(BLOBS)
    assert np.array_equal(wc.explain(together, BLOBS).assigned, together.labels_)
    inside = ~orphans
    assert np.abs((ex.evidence - wc.explain(together, BLOBS).evidence)[inside]).max() < 1e-9


@pytest.mark.filterwarnings("ignore:The surrogate agrees with")
def test_orphans_without_a_known_bandwidth_are_refused():
    model = MeanShift(cluster_all=False).fit(BLOBS)
    assert (model.labels_ == -1).any()
    with pytest.raises(ValueError, match=r"bandwidth.*wc\.explain\(model\.labels_, X\)"):
        wc.explain(model, BLOBS)
    assert np.array_equal(wc.explain(model.labels_, BLOBS).clusters, model.labels_)
