"""Stability under refits, on cases solved by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import DBSCAN, Birch, KMeans, MeanShift
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import generators
import whyclust as wc
from whyclust import metrics
from whyclust.cluster import PrototypeSurrogate
from whyclust.metrics.stability import row_correlations
from whyclust.network.features import Features
from whyclust.network.heads import PrototypeHead
from whyclust.network.pools import MinPool

WINE = load_wine(as_frame=True).data


def make_blobs(n=30):
    generator = np.random.default_rng(0)
    middles = np.array([[0.0, 0.0, 0.0, 0.0], [9.0, 0.0, 1.0, 3.0], [0.0, 9.0, -1.0, 2.0]])
    codes = np.repeat(np.arange(3), n)
    return middles[codes] + 0.5 * generator.normal(size=(3 * n, 4)), codes


X, CODES = make_blobs()


class Fixed(ClusterMixin, BaseEstimator):
    """Centres that its seed chooses, so that refits are solved by hand."""

    def __init__(self, random_state=0):
        self.random_state = random_state

    def fit(self, X, y=None):
        self.n_features_in_ = np.shape(X)[1]
        # Any seed but 0 moves the boundary between the first two clusters, and swaps their names.
        ends = [[0.0, 0, 0], [10.0, 4, 2]] if self.random_state == 0 else [[14.0, 4, 2], [0.0, 0, 0]]
        self.cluster_centers_ = np.array(ends)
        self.labels_ = self.predict(X)
        return self

    def predict(self, X):
        apart = np.asarray(X)[:, None] - self.cluster_centers_[None]
        return (apart**2).sum(axis=2).argmin(axis=1)


@wc.neuralizer(Fixed)
def _fixed(model):
    return Features.identity(3), PrototypeHead.one_each(model.cluster_centers_), MinPool()


# Along the line from one centre to the other: boundary at 5 before, at 7 after.
LINE = np.array([[0.0, 0, 0], [1, 1, 0], [2, 0, 1], [4, 1, 0], [6, 1, 1], [11, 4, 2], [12, 4, 0], [13, 5, 2]])


def test_refits_by_hand():
    model = Fixed().fit(LINE)
    before, after = model.predict(LINE), Fixed(1).fit(LINE).predict(LINE)
    assert before.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert after.tolist() == [1, 1, 1, 1, 1, 0, 0, 0]
    found = metrics.stability(model, LINE, n_repeats=3, bootstrap=False, reseed=True)
    # One row of eight goes over; of the first cluster 4/5 is left, of the second 3/4.
    np.testing.assert_allclose(found.share_per_repeat, [7 / 8] * 3, rtol=1e-12)
    np.testing.assert_allclose(found.jaccard_per_repeat, [[4 / 5, 3 / 4]] * 3, rtol=1e-12)
    np.testing.assert_allclose(found.ari_per_repeat, [metrics.adjusted_rand_index(before, after)] * 3)
    assert found.share == metrics.Estimate(7 / 8, 0.0)
    assert found.sizes.tolist() == [4, 4]
    # Relevance of the rows that keep their cluster, all but the fifth.
    one = wc.explain(model, LINE).values
    two = wc.explain(Fixed(1).fit(LINE), LINE).values
    kept = [0, 1, 2, 3, 5, 6, 7]
    assert found.pearson.mean == pytest.approx(
        np.mean([pearsonr(one[i], two[i])[0] for i in kept]), abs=1e-12
    )
    ranks = np.mean([spearmanr(one[i], two[i])[0] for i in kept])
    assert found.spearman.mean == pytest.approx(ranks, abs=1e-12)
    profiles = [
        pearsonr(one[before == c].mean(axis=0), two[after == 1 - c].mean(axis=0)).statistic for c in (0, 1)
    ]
    np.testing.assert_allclose(found.profile_per_repeat, [profiles] * 3, atol=1e-12)


def test_separate_clusters_are_stable():
    found = metrics.stability(KMeans(3, n_init=5, random_state=0).fit(X), X, n_repeats=5)
    assert found.share.mean == found.ari.mean == 1.0
    np.testing.assert_array_equal(found.jaccard_per_repeat, np.ones((5, 3)))
    assert found.pearson.mean > 0.99
    assert found.n_repeats == 5


def test_one_blob_is_not():
    blob = np.random.default_rng(0).normal(size=(90, 4))
    found = metrics.stability(KMeans(3, n_init=1, random_state=0).fit(blob), blob, n_repeats=5)
    assert found.share.mean < 0.9
    assert found.share.standard_error > 0.0


def test_the_same_seed_finds_the_same_again():
    model = KMeans(3, n_init=1, random_state=5).fit(WINE)
    one, two = (metrics.stability(model, WINE, n_repeats=3, random_state=7) for _ in range(2))
    pd.testing.assert_frame_equal(one.to_pandas(), two.to_pandas())
    pd.testing.assert_frame_equal(one.repeats_to_pandas(), two.repeats_to_pandas())
    other = metrics.stability(model, WINE, n_repeats=3, random_state=8)
    assert not one.repeats_to_pandas().equals(other.repeats_to_pandas())


def test_sources_are_told_apart():
    blob = np.random.default_rng(0).normal(size=(60, 3))
    model = KMeans(3, n_init=1, random_state=0).fit(blob)
    by_data = metrics.stability(model, blob, n_repeats=4)
    by_seed = metrics.stability(model, blob, n_repeats=4, bootstrap=False, reseed=True)
    both = metrics.stability(model, blob, n_repeats=4, reseed=True)
    assert [found.sources for found in (by_data, by_seed, both)] == [
        ("bootstrap",),
        ("reseed",),
        ("bootstrap", "reseed"),
    ]
    # With 30 starts the seed does not matter any more.
    settled = KMeans(3, n_init=30, random_state=0).fit(X)
    assert metrics.stability(settled, X, n_repeats=3, bootstrap=False, reseed=True).share.mean == 1.0


def test_every_seed_of_a_pipeline_is_set():
    model = make_pipeline(StandardScaler(), PCA(3, random_state=1), KMeans(3, n_init=1, random_state=None))
    model.fit(WINE)
    with generators.untouched():
        found = metrics.stability(model, WINE, n_repeats=3)
    again = metrics.stability(model, WINE, n_repeats=3)
    pd.testing.assert_frame_equal(found.repeats_to_pandas(), again.repeats_to_pandas())
    reseeded = metrics.stability(model, WINE, n_repeats=3, bootstrap=False, reseed=True)
    assert reseeded.share.mean > 0.5


def test_the_model_is_not_touched():
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(WINE)
    centers, labels = model[-1].cluster_centers_.copy(), model[-1].labels_.copy()
    metrics.stability(model, WINE, n_repeats=2, reseed=True)
    np.testing.assert_array_equal(model[-1].cluster_centers_, centers)
    np.testing.assert_array_equal(model[-1].labels_, labels)
    assert model[-1].random_state == 0


def test_tables_and_words():
    found = metrics.stability(KMeans(3, n_init=5, random_state=0).fit(X), X, n_repeats=3)
    frame = found.to_pandas()
    assert frame.columns.tolist() == ["cluster", "rows", "jaccard", "jaccard_se", "profile", "profile_se"]
    assert frame["rows"].tolist() == [30, 30, 30]
    assert found.sentence().startswith(
        "Fitted 3 times again on bootstrap samples of the rows, the clustering keeps 1.000 ± 0.000 of the "
        "rows in their cluster (adjusted Rand index 1.000 ± 0.000); all clusters come back, with a Jaccard "
        "similarity of 1.000; "
    )
    worse = replace(found, jaccard_per_repeat=np.tile([1.0, 0.75, 1.0], (3, 1)))
    assert "; the least stable cluster is 1, with a Jaccard similarity of 0.750; " in worse.sentence()
    assert "correlate by" in found.sentence()
    assert repr(found).startswith("<Stability by bootstrap: share 1.000 ± 0.000")


def test_standard_error_by_hand():
    values = np.array([0.5, 0.7, 0.9])
    found = metrics.stability(KMeans(2, n_init=1, random_state=0).fit(X), X, n_repeats=2)
    object.__setattr__(found, "share_per_repeat", values)
    assert found.share.mean == pytest.approx(0.7, abs=1e-12)
    assert found.share.standard_error == pytest.approx(0.2 / np.sqrt(3), abs=1e-12)


def test_two_columns_have_no_correlation():
    found = metrics.stability(KMeans(3, n_init=2, random_state=0).fit(X[:, :2]), X[:, :2], n_repeats=2)
    assert found.pearson is None
    assert found.spearman is None
    assert found.to_pandas()["profile"].isna().all()
    assert found.share.mean > 0.9
    assert "correlate" not in found.sentence()


def test_refits_may_find_another_number_of_clusters():
    # A bandwidth at which the pair of far rows is a cluster of its own only when it is drawn.
    rows = np.vstack([X, [[40.0, 40, 40, 40]]])
    model = MeanShift(bandwidth=4.0).fit(rows)
    assert len(model.cluster_centers_) == 4
    found = metrics.stability(model, rows, n_repeats=8)
    lonely = int(np.argmin(found.sizes))
    missed = found.jaccard_per_repeat[:, lonely] < 1
    assert missed.any()
    assert not missed.all()
    assert (found.share_per_repeat[missed] < 1).all()


def test_a_refit_with_one_cluster_has_no_relevance():
    rows = np.vstack([X[:30], [[40.0, 40, 40, 40]]])
    model = MeanShift(bandwidth=4.0).fit(rows)
    found = metrics.stability(model, rows, n_repeats=8)
    alone = np.isnan(found.pearson_per_repeat)
    assert alone.any()
    assert not alone.all()
    np.testing.assert_array_equal(found.ari_per_repeat[alone], 0.0)
    assert np.isfinite(found.pearson.mean)


def test_a_surrogate_is_fitted_to_labels_again():
    names = np.array(["ants", "bees", "cats"])[CODES]
    surrogate = PrototypeSurrogate(random_state=0, n_support=1, gamma=1.0, cv=2).fit(X, names)
    found = metrics.stability(surrogate, X, n_repeats=2, labels=names)
    assert found.clusters.tolist() == ["ants", "bees", "cats"]
    assert found.share.mean == 1.0
    piped = make_pipeline(StandardScaler(), clone(surrogate)).fit(X, names)
    assert metrics.stability(piped, X, n_repeats=2, labels=names).share.mean == 1.0
    with pytest.raises(ValueError, match="labels are needed to fit it again"):
        metrics.stability(surrogate, X)
    with pytest.raises(ValueError, match="labels has 89 labels, but X has 90 rows"):
        metrics.stability(surrogate, X, labels=names[:-1])


@pytest.mark.parametrize(
    ("model", "options", "kind", "message"),
    [
        (CODES, {}, TypeError, "model is labels, which cannot be fitted again"),
        (lambda: None, {}, TypeError, "model is a function"),
        (DBSCAN(), {}, TypeError, "DBSCAN has no predict"),
        (make_pipeline(StandardScaler(), DBSCAN()), {}, TypeError, "DBSCAN has no predict"),
        (KMeans(3), {}, NotFittedError, "not fitted yet"),
        (Birch(n_clusters=3).fit(X), {"reseed": True}, ValueError, "Birch has no random_state"),
        (Birch(n_clusters=3).fit(X), {"bootstrap": False}, ValueError, "both False"),
        (Birch(n_clusters=3).fit(X), {"labels": CODES}, ValueError, "Birch needs none"),
        (
            Birch(n_clusters=3).fit(X),
            {"n_repeats": 1},
            ValueError,
            "n_repeats=1, expected a whole number, 2 or more",
        ),
        (Birch(n_clusters=3).fit(X), {"n_repeats": "ten"}, ValueError, "n_repeats='ten'"),
        (Birch(n_clusters=3).fit(X), {"rule": "best"}, ValueError, "rule='best' is unknown"),
    ],
)
def test_nonsense_is_refused(model, options, kind, message):
    with pytest.raises(kind, match=message):
        metrics.stability(model, X, **options)


def test_a_network_cannot_be_fitted_again():
    net = wc.neuralize(KMeans(3, n_init=1, random_state=0).fit(X), X)
    with pytest.raises(TypeError, match="model is a Neuralized, which cannot be fitted again"):
        metrics.stability(net, X)


def test_rows_of_one_cluster_are_refused():
    model = KMeans(3, n_init=5, random_state=0).fit(X)
    with pytest.raises(ValueError, match="all rows of X into one cluster"):
        metrics.stability(model, X[:30])


def test_correlations_of_rows():
    generator = np.random.default_rng(0)
    one, other = generator.normal(size=(2, 6, 5))
    by_scipy = [pearsonr(a, b).statistic for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose(row_correlations(one, other), by_scipy, atol=1e-12)
    other[2] = 3.0
    assert np.isnan(row_correlations(one, other)).tolist() == [False, False, True, False, False, False]


def test_columns_in_another_order_are_the_same_columns():
    generator = np.random.default_rng(0)
    shifts = np.array([[0, 0, 0, 0], [4, 0, 1, 0], [0, 4, 0, 0]])[generator.integers(0, 3, 90)]
    frame = pd.DataFrame(generator.normal(size=(90, 4)) + shifts, columns=list("abcd"))
    model = KMeans(3, n_init=3, random_state=0).fit(frame)
    same = metrics.stability(model, frame, n_repeats=3)
    mixed = metrics.stability(model, frame[list("dcba")], n_repeats=3)
    assert mixed.pearson.mean == pytest.approx(same.pearson.mean, abs=1e-9)
    assert same.pearson.mean > 0.9


def found_sizes(n_rows, n_repeats):
    """Different rows of each bootstrap sample, as stability draws them, ascending."""
    generator = np.random.RandomState(0)
    draws = [np.unique(generator.randint(n_rows, size=n_rows)) for _ in range(n_repeats)]
    return sorted(len(draw) for draw in draws)


class FailsNowAndThen(KMeans):
    """A clustering that some samples do not suit."""

    def fit(self, X, y=None, sample_weight=None):
        if len(np.unique(X, axis=0)) < self.fewest:
            raise ValueError("too few\n  different rows")
        return super().fit(X)

    fewest = 0


def test_refits_that_fail_are_left_out_and_counted(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0], [5], [9]], 20, axis=0)
    model = FailsNowAndThen(3, n_init=1, random_state=0).fit(X)
    monkeypatch.setattr(FailsNowAndThen, "fewest", 38)
    with pytest.warns(UserWarning, match=r"of 12 refits failed and are left out: too few different rows"):
        found = metrics.stability(model, X, n_repeats=12)
    assert 2 <= found.n_repeats < 12
    count = next(count for count in range(3, 30) if found_sizes(60, count)[-1] > found_sizes(60, count)[-2])
    monkeypatch.setattr(FailsNowAndThen, "fewest", found_sizes(60, count)[-1])
    with pytest.raises(ValueError, match=f"{count - 1} of {count} refits"):  # one has no standard error
        metrics.stability(model, X, n_repeats=count)
    monkeypatch.setattr(FailsNowAndThen, "fewest", 61)
    with pytest.raises(ValueError, match="12 of 12 refits failed: too few different rows"):
        metrics.stability(model, X, n_repeats=12)


def test_a_frozen_clustering_cannot_be_fitted_again():
    X = np.random.default_rng(0).normal(size=(60, 2))
    frozen = FrozenEstimator(KMeans(3, n_init=1, random_state=0).fit(X))
    for model in (frozen, make_pipeline(StandardScaler(), frozen).fit(X)):
        with pytest.raises(TypeError, match="ends in a FrozenEstimator, which keeps its clusters in any fit"):
            metrics.stability(model, X)
    told = wc.audit(make_pipeline(StandardScaler(), frozen).fit(X), X, n_repeats=1, max_rows=20)
    assert "is not known" in next(one.reason for one in told.answers if one.question == "stability")
