"""Summaries and sentences at their thresholds: mostly or often, worth naming or not; numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.telling.rounding import exact, number, percent

X, _ = make_blobs(90, centers=3, n_features=3, cluster_std=2.0, random_state=2)


@pytest.fixture(scope="module")
def model():
    return KMeans(3, n_init=2, random_state=0).fit(X)


def told_of(colours, inside):
    """Direction, inside and outside of a column of categories, for the rows of one cluster."""
    rows = np.where(inside, 0.0, 9.0)[:, None]
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(rows), rows)
    told = replace(ex, data=pd.DataFrame({"x0": colours})).summary()[ex.clusters[0]].features.iloc[0]
    return told["direction"], told["inside"], told["outside"]


def test_half_of_the_rows_are_often_and_more_are_mostly():
    inside = np.array([True, True, True, True, False, False])
    often = ["red", "red", "blue", "green", "blue", "blue"]
    assert told_of(often, inside) == ("often red", "50% red", "0% red")
    mostly = ["red", "red", "red", "green", "blue", "blue"]
    assert told_of(mostly, inside) == ("mostly red", "75% red", "0% red")


def test_the_category_that_sets_a_cluster_apart_is_told_and_not_the_most_frequent():
    inside = np.array([True] * 5 + [False] * 5)
    colours = ["red"] * 3 + ["blue"] * 2 + ["red"] * 5
    assert told_of(colours, inside) == ("often blue", "40% blue", "0% blue")


def test_a_cluster_is_told_by_the_rows_that_are_in_it(model):
    """All rows are explained for cluster 1; those of other clusters say why not."""
    ex = wc.explain(model, X, cluster=1)
    one = ex.summary()[1]
    own = np.flatnonzero(model.labels_ == 1)
    mean = ex.values[own].mean(axis=0)
    found = one.features.set_index("feature")["relevance"]
    assert np.abs(found[["x0", "x1", "x2"]] - mean).max() < 1e-12
    assert one.size == 90
    distance = ((ex.values[own] - mean) ** 2).sum(axis=1)
    assert one.typical == own[np.argsort(distance)[:3]].tolist()
    assert one.borderline == own[np.argsort(ex.evidence[own])[:3]].tolist()
    assert one.evidence == pytest.approx(ex.evidence[own].mean())


def test_sparse_columns_are_compared_as_dense_ones_are():
    table = sp.random_array((60, 5), density=0.4, format="csr", rng=np.random.default_rng(0))
    fitted = KMeans(3, n_init=2, random_state=0).fit(table)
    sparse, dense = (wc.explain(fitted, rows).summary().to_pandas() for rows in (table, table.toarray()))
    for name in ("cluster", "feature", "direction"):
        assert sparse[name].tolist() == dense[name].tolist()
    for name in ("relevance", "fraction", "inside", "outside"):
        assert np.abs((sparse[name] - dense[name]).astype(float)).max() < 1e-10
    for row in sparse.itertuples():
        column = table.toarray()[:, int(row.feature[1:])]
        assert row.inside == pytest.approx(column[fitted.labels_ == row.cluster].mean(), abs=1e-12)
        assert row.outside == pytest.approx(column[fitted.labels_ != row.cluster].mean(), abs=1e-12)


@pytest.mark.parametrize(("weak", "named"), [(1.0, True), (0.99, False)])
def test_a_column_of_half_a_percent_is_named_and_less_is_not(weak, named):
    rows = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(rows), rows, feature_names=["long", "wide"])
    told = replace(ex, values=np.tile([200.0 - weak, weak], (4, 1))).describe()
    assert ("wide" in told) == named


def test_of_many_columns_the_strongest_are_named():
    """Each of many columns has little of the relevance, and all of them speak for their cluster."""
    rows, _ = make_blobs(60, centers=3, n_features=3000, random_state=0)
    ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(rows), rows)
    strongest = ex.summary()[0].features.head(3)
    assert strongest["fraction"].max() < 0.005
    told = ex.describe()
    assert "no column" not in told
    assert [f"Its mean {name} is" in told for name in strongest["feature"]] == [True] * 3
    assert "typical" in told
    # Those with less than most others are no reason worth naming.
    level = replace(ex, values=np.where(np.arange(3000) < 2998, 1.0, 0.9) * np.ones((60, 1)))
    assert len(level.summary()[0].named_features(3000)) == len(level.summary()[0].standings)
    flat = replace(ex, values=np.where(np.arange(3000) < 30, 1.0, 0.1) * np.ones((60, 1)))
    assert len(flat.summary()[0].named_features(3000)) == 30


def test_rows_of_gaps_are_not_typical():
    """What was filled in is what is usual, so a row that has nothing is nearest to the mean of all."""
    model = make_pipeline(SimpleImputer(), KMeans(2, n_init=1, random_state=0))
    near = np.random.default_rng(0).normal(size=(40, 4))
    table = np.vstack([near, near + 8.0])
    table[40:, 0] -= 8.0
    table[3] = table[:40].mean(axis=0)
    model.fit(table)
    assert wc.explain(model, table).summary()[model.predict(table)[0]].typical[0] == 3
    for gaps in ([1, 2, 3], [0, 1, 2, 3]):
        few = table.copy()
        few[3, gaps] = np.nan
        fitted = model.set_params(simpleimputer__strategy="constant").fit(few)
        ex = wc.explain(fitted, few)
        own = ex.summary()[fitted.predict(few)[0]]
        assert ex.assigned[3] == own.cluster
        assert 3 not in own.typical
    # Where most rows of a cluster have gaps, they are what is typical.
    most = table.copy()
    most[:30, [1, 2]] = np.nan
    fitted = model.fit(most)
    own = wc.explain(fitted, most).summary()[fitted.predict(most)[0]]
    assert own.size == 40
    assert max(own.typical) < 30


def test_numbers_as_people_write_them():
    assert number(9999.0) == "9999"
    assert number(10_000.0) == "10,000"
    assert number(-10_000.0) == "-10,000"
    assert number(60_156.4) == "60,200"
    assert number(0.012345) == "0.0123"
    assert number(float("nan")) == "missing"
    assert exact(60_156.0) == "60,156"  # a row's own, to be found again
    assert (percent(0.002), percent(0.0), percent(0.006)) == ("under 1%", "0%", "1%")


@pytest.mark.parametrize(("count", "told"), [(9_999, "9999"), (10_000, "10,000")])
def test_thousands_of_rows_are_set_apart_from_ten_thousand_on(count, told):
    table = np.repeat([[0.0], [9.0]], [count - 5, 5], axis=0)
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(table), table)
    assert f"5 of {told} rows" in ex.describe()


def test_what_speaks_most_for_or_against_is_named_first():
    rows = [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(rows), rows, feature_names=list("abcd"))
    told = replace(ex, values=np.tile([1.0, -2.0, 3.0, -4.0], (2, 1)))[0].describe(top=1)
    assert "c = 0 (relevance +3)" in told
    assert "d = 0 (-4)" in told
    assert "a =" not in told
    assert "b =" not in told


def test_a_name_does_not_say_low_where_the_sentence_says_above():
    """A few rows far away: what lies above the other large cluster is near the lower end of all three."""
    rng = np.random.default_rng(0)
    which = np.repeat([0, 1, 2], [60, 60, 3])
    table = pd.DataFrame({"age": rng.normal(np.array([30.0, 60.0, 60.0])[which], 1.0)})
    table["income"] = rng.normal(np.array([2.0, 6.0, 90.0])[which], 0.5)
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=10, random_state=0)).fit(table)
    ex = wc.explain(model, table)
    one = ex.summary()[ex.labels[60]]
    assert f"Its mean income is above cluster {ex.labels[0]}" in ex.describe()
    assert one.name == "high age"
    # Income is low here, too, but has less than a quarter of the relevance of age.
    assert ex.summary()[ex.labels[0]].name == "low age"


@pytest.mark.parametrize(("share", "named"), [(0.5, True), (0.35, True), (0.15, False)])
def test_clusters_are_called_by_columns_with_a_quarter_of_the_strongest_relevance(share, named):
    """Relevance of k-means is as the squares of the distances between the centres."""
    way = np.array([4.0, 4.0 * np.sqrt(share)])
    noise = np.random.default_rng(0).normal(size=(40, 2)) * 0.01
    table = pd.DataFrame(np.repeat([[0.0], [1.0]], 20, axis=0) * way + noise, columns=["age", "income"])
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(table), table)
    for one in ex.summary():
        assert one.features["fraction"].min() / one.features["fraction"].max() == pytest.approx(
            share, abs=0.02
        )
        assert "age" in one.name
        assert ("income" in one.name) == named
