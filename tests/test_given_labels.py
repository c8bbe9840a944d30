"""Labels from anywhere, explained through a surrogate."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    FeatureAgglomeration,
    KMeans,
    SpectralClustering,
)
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

import whyclust as wc
from whyclust.cluster import PrototypeSurrogate
from whyclust.columns import column_facts, plan_columns, preparation
from whyclust.labels.given import is_labels, noise_of, read_labels
from whyclust.labels.surrogates import surrogate_of, surrogate_pipeline
from whyclust.network import Features, MinPool, Neuralized, PrototypeHead

BOUND = 1e-10
COLUMNS = ["height", "weight", "age"]


def largest(array):
    return np.abs(np.asarray(array, dtype=float)).max()


def make_blobs(n_noise=0):
    generator = np.random.default_rng(0)
    middles = np.array([[0.0, 0.0, 0.0], [6.0, 0.0, 1.0], [0.0, 6.0, -1.0]])
    codes = np.repeat(np.arange(3), 30)
    points = middles[codes] + 0.5 * generator.normal(size=(90, 3))
    far = 40.0 * generator.choice([-1, 1], size=(n_noise, 3)) + generator.normal(size=(n_noise, 3))
    table = pd.DataFrame(np.vstack([points, far]) * [10.0, 1.0, 5.0] + [170.0, 70.0, 40.0], columns=COLUMNS)
    return table, np.append(codes, np.full(n_noise, -1))


X, CODES = make_blobs()
NAMES = np.array(["ants", "bees", "cats"])[CODES]


@pytest.fixture(scope="module")
def ex():
    return wc.explain(NAMES, X)


@pytest.fixture(scope="module")
def noisy():
    """Three clusters and noise, with two rows that carry a label of another cluster."""
    table, codes = make_blobs(n_noise=12)
    codes[[0, 30]] = 1, 2
    return wc.explain(codes, table)


@pytest.fixture(scope="module")
def noisy_surrogate(noisy):
    """What was fitted to them."""
    return PrototypeSurrogate(random_state=0).fit(make_blobs(n_noise=12)[0], noisy.given)


# --------------------------------------------------------------------------- reading labels

KINDS = {
    "list": CODES.tolist(),
    "tuple": tuple(CODES.tolist()),
    "array": CODES,
    "small integers": CODES.astype(np.int8),
    "unsigned": CODES.astype(np.uint16),
    "whole floats": CODES.astype(float),
    "float32": CODES.astype(np.float32),
    "column": CODES[:, None],
    "nested list": CODES[:, None].tolist(),
    "pandas": pd.Series(CODES),
    "nullable": pd.Series(CODES, dtype="Int64"),
    "objects": pd.Series(CODES.tolist(), dtype=object),
    "frame": pd.DataFrame({"cluster": CODES}),
    "index": pd.Index(CODES),
    "categorical": pd.Categorical(CODES),
    "categorical series": pd.Series(CODES).astype("category"),
    "polars": pl.Series(CODES),
    "polars frame": pl.DataFrame({"cluster": CODES}),
    "masked": np.ma.masked_array(CODES, mask=False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_in_any_form(kind):
    found = read_labels(KINDS[kind])
    assert found.dtype == np.int64
    assert is_labels(KINDS[kind])
    np.testing.assert_array_equal(found, CODES)


@pytest.mark.parametrize(
    "labels",
    [
        NAMES,
        NAMES.tolist(),
        NAMES.astype(object),
        pd.Series(NAMES),
        pd.Series(NAMES, dtype="string"),
        pd.Series(NAMES).astype("category"),
        pd.Categorical(NAMES),
        pl.Series(NAMES),
        pl.Series(NAMES, dtype=pl.Categorical),
    ],
    ids=lambda labels: f"{type(labels).__name__} {getattr(labels, 'dtype', '')}",
)
def test_names_in_any_form(labels):
    found = read_labels(labels)
    assert found.dtype.kind == "U"
    np.testing.assert_array_equal(found, NAMES)


def test_booleans_stay_booleans():
    found = read_labels(pd.Series(CODES > 0))
    assert found.dtype == bool
    assert noise_of(found) == -1
    ex = wc.explain(CODES > 0, X)
    assert set(ex.clusters.tolist()) == {True, False}
    assert "Cluster True holds 60 of 90 rows" in ex.describe()


def test_names_and_minus_one():
    """Numbers among names are names, so noise is '-1'."""
    mixed = [*NAMES.tolist(), -1, -1]
    found = read_labels(mixed)
    assert found[-1] == noise_of(found) == "-1"
    assert read_labels(pd.Series(mixed, dtype=object)).tolist() == found.tolist()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, None, 1], r"1 of 4 labels are missing in labels: leave these rows out .* or label them -1"),
        ([0.0, np.nan, np.nan, 1.0], r"2 of 4 labels are missing"),
        (["a", "b", None, "a", "b"], r"1 of 5 labels are missing"),
        (pd.Series([0, 1, pd.NA, 1], dtype="Int64"), r"1 of 4 labels are missing"),
        (pl.Series([0, 1, None, 1]), r"1 of 4 labels are missing"),
        (np.ma.masked_array([0, 1, 0, 1], mask=[1, 0, 0, 0]), r"1 of 4 labels are missing"),
        ([0.5, 1.5, 0.5, 1.5], r"Found 0.5 in labels, expected whole numbers or names"),
        ([0.0, np.inf, 0.0, np.inf], r"Found inf in labels"),
        ([1, 1, 1, 1], r"Found one label only in labels, expected at least two clusters"),
        (["-1"] * 4, r"Found noise \(-1\) in labels, expected at least two"),
        ([-1] * 4, r"Found noise \(-1\) in labels"),
        ([], r"labels has 0 labels, but X has 90 rows"),
        (
            list("abcd"),
            r"Found 4 different values in 4 rows in labels, expected clusters of at least",
        ),
        (np.zeros((4, 2)), r"shape \(4, 2\), expected one label per row: explain\(labels, X\) takes"),
        (X, r"shape \(90, 3\), expected one label per row"),
        (np.array(3), r"shape \(\), expected one label per row"),
        ([[0], [1, 2]], r"Found a list in labels"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"] * 3), r"Found a Timestamp in labels, expected whole"),
        ([(1, 2), (1, 2), (3, 4), (3, 4)], r"expected one label per row"),
        ([KMeans(2), KMeans(3), KMeans(2), KMeans(3)], r"Found a KMeans in labels"),
    ],
    ids=str,
)
def test_what_is_wrong_with_labels(labels, message):
    n_rows = len(labels) if np.ndim(np.asarray(labels, dtype=object)) else 0
    with pytest.raises(ValueError, match=message):
        wc.explain(labels, X[: n_rows or None])


def test_other_things_are_no_labels():
    for thing in (None, 3, "k-means", {0, 1}, {"a": 1}, KMeans(2), KMeans, wc.neuralize(KMeans(2).fit(X))):
        assert not is_labels(thing)


def test_wrong_length():
    with pytest.raises(ValueError, match=r"labels has 89 labels, but X has 90 rows: expected one label"):
        wc.explain(NAMES[1:], X)


def test_an_index_in_another_order():
    """Both readings are plausible and one of them wrong, so neither is taken."""
    labels = pd.Series(CODES)
    turned = X.iloc[::-1]
    with pytest.raises(ValueError, match=r"another order: pass labels.loc\[X.index\]"):
        wc.explain(labels, turned)
    by_index = wc.explain(labels.loc[turned.index], turned)
    np.testing.assert_array_equal(by_index.given, CODES[::-1])
    np.testing.assert_array_equal(wc.explain(labels[::-1], X).given, CODES)
    with pytest.raises(ValueError, match=r"labels and X have different indexes .*pass labels.to_numpy\(\)"):
        wc.explain(pd.Series(CODES, index=np.arange(90) + 1000), X)


# --------------------------------------------------------------------------- explain(labels, X)


def test_labels_are_explained_by_the_columns(ex):
    assert ex.values.shape == (90, 3)
    assert ex.feature_names == COLUMNS
    np.testing.assert_array_equal(ex.given, NAMES)
    np.testing.assert_array_equal(ex.clusters, NAMES)
    assert not ex.disagrees.any()
    assert ex.fidelity.overall_in_sample == 1
    assert ex.fidelity.clusters.tolist() == ["ants", "bees", "cats"]
    assert ex.noise is None
    assert largest(ex.values.sum(axis=1) + ex.base_values - ex.explained) < BOUND * largest(ex.explained)
    assert ex.provenance.labels == "given labels"
    assert str(ex.question) == "the given label against all others"


def test_columns_that_separate_speak_for_their_cluster(ex):
    """The groups differ in height (bees) and weight (cats): these speak for them, age hardly does."""
    for name, column in (("bees", "height"), ("cats", "weight")):
        features = ex.summary()[name].features.set_index("feature")
        assert features["relevance"].idxmax() == column
        assert features["direction"][column] == "above"
    colour = np.where(CODES == 0, "red", "blue").astype(object)
    encoded = wc.explain(NAMES, X.assign(colour=colour))
    assert encoded.values[:, 3].min() > 0


def test_it_is_the_surrogate_anyone_can_fit(ex):
    surrogate = PrototypeSurrogate(random_state=0).fit(X, NAMES)
    own = wc.explain(surrogate, X, cluster=NAMES)
    np.testing.assert_array_equal(own.values, ex.values)
    np.testing.assert_array_equal(own.evidence, ex.evidence)
    assert own.given is None
    assert own.fidelity is surrogate.fidelity_
    new = wc.explain(surrogate, X.iloc[[5]])
    assert new.clusters.tolist() == surrogate.predict(X.iloc[[5]]).tolist()
    assert not new.disagrees.any()
    assert new.fidelity.overall_held_out == ex.fidelity.overall_held_out
    assert "agrees with" in repr(new)


@pytest.mark.parametrize("form", [np.asarray, pl.DataFrame, lambda X: X.astype(np.float32)])
def test_tables_of_any_kind(ex, form):
    other = wc.explain(NAMES, form(X))
    np.testing.assert_array_equal(other.assigned, NAMES)
    assert largest(other.values - ex.values) < 1e-2 * largest(ex.values)


def test_sparse_tables(monkeypatch):
    dense = np.round(X.to_numpy())
    sparse = sp.csr_array(dense)
    assert largest(wc.explain(CODES, sparse).values - wc.explain(CODES, dense).values) < BOUND
    monkeypatch.setattr("whyclust.labels.surrogates.MOST_DENSE_NUMBERS", 100)
    with pytest.raises(ValueError, match=r"sparse with 90 rows and 3 columns, too many .*TruncatedSVD"):
        wc.explain(CODES, sparse)


def test_missing_values_in_the_table():
    table = X.copy()
    table.iloc[7, 1] = np.nan
    told = r"Missing values \(of 90\) were replaced by the mean of their column: '{}' \(1\)"
    with pytest.warns(UserWarning, match=told.format("weight")) as warned:
        ex = wc.explain(CODES, table)
    assert ex.notes == [str(warned[0].message)]
    assert ex.feature_names == list(X.columns)
    assert np.isnan(ex.data.iloc[7, 1])  # shown as it is
    assert "weight = missing" in ex[7].describe(top=3)
    np.testing.assert_array_equal(ex.index, table.index)
    # As if the mean had been there, by the same preparation as on the command line.
    plan = plan_columns(column_facts(table, table.columns), asked=list(table.columns))
    model = surrogate_pipeline(preparation(plan), plan.apply(table), CODES)
    np.testing.assert_array_equal(ex.values, wc.explain(model, plan.apply(table)).values)
    filled = table.fillna({"weight": table["weight"].mean()})
    assert np.abs(ex.values - wc.explain(model, filled).values).max() < 1e-10
    with pytest.warns(UserWarning, match=told.format("x1")):
        of_array = wc.explain(CODES, table.to_numpy())
    assert of_array.feature_names == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(of_array.values, ex.values)
    with pytest.warns(UserWarning, match=told.format("weight")):
        coloured = wc.explain(CODES, table.assign(colour=pd.Categorical(np.where(CODES == 0, "red", "blue"))))
    assert coloured.shape == (90, 4)
    table.iloc[8, 2] = np.inf
    with pytest.raises(ValueError, match=r"X holds infinity in row 8, column 'age'"):
        wc.explain(CODES, table)


def test_audits_fill_in_missing_values_too():
    table = X.copy()
    table.iloc[7, 1] = np.nan
    with pytest.warns(UserWarning, match="replaced by the mean"):
        found = wc.audit(CODES, table, n_repeats=1, max_rows=20)
    assert found.settings["n_columns"] == 3


def test_text_columns_are_encoded():
    colour = np.where(CODES == 0, "red", "blue").astype(object)
    colour[[3, 50]] = None
    table = X.assign(colour=colour, urban=CODES == 1).rename(columns={"age": 7})
    with pytest.warns(UserWarning, match="Missing values .* are a category of their own"):
        ex = wc.explain(NAMES, table)
    assert ex.feature_names == ["height", "weight", "7", "colour", "urban"]
    assert ex.values.shape == (90, 5)
    assert not ex.disagrees.any()
    assert "colour = red" in ex[0].describe(top=5)


def test_columns_that_cannot_be_used_are_left_out_aloud():
    table = X.assign(colour=np.where(CODES == 0, "red", "blue"), born=pd.Timestamp("2020-01-01"))
    with pytest.warns(UserWarning, match="Columns left out: 'born' .*dates"):
        ex = wc.explain(NAMES, table)
    assert ex.feature_names == [*COLUMNS, "colour"]


def test_users_may_ask_for_another_cluster(ex):
    why_not = wc.explain(NAMES, X, cluster="bees")
    assert (why_not.clusters == "bees").all()
    np.testing.assert_array_equal(why_not.given, NAMES)
    assert why_not[0].describe().startswith("Row 0 is in cluster ants, not in cluster bees")
    duel = wc.explain(NAMES, X, cluster="bees", against="cats")
    assert (duel.competitors == "cats").all()
    assert duel[0].describe().startswith("Row 0, which is in cluster ants: cluster bees against cluster cats")
    with pytest.raises(ValueError, match="without cluster="):
        wc.explain(NAMES, X, against="cats")
    with pytest.raises(ValueError, match="no cluster of this model: choose one of 'ants', 'bees', 'cats'"):
        wc.explain(NAMES, X, cluster="dogs")
    grouped = wc.explain(NAMES, X, groups={"body": ["height", "weight"]})
    assert grouped.feature_names == ["body", "age"]
    assert largest(grouped.values.sum(axis=1) - ex.values.sum(axis=1)) < BOUND * largest(ex.values)


def test_labels_without_a_pattern_are_not_to_be_trusted():
    labels = np.random.default_rng(1).integers(3, size=30)
    with pytest.warns(UserWarning, match=r"The surrogate agrees with .*% of the labels on rows") as caught:
        ex = wc.explain(labels, X.iloc[::3])
    assert any(warning.filename == __file__ for warning in caught)
    assert ex.fidelity.untrusted
    doubted = ex.fidelity.untrusted[0]
    line = next(line for line in ex.describe().splitlines() if line.startswith(f"Cluster {doubted} "))
    assert "With care: of " in line


# --------------------------------------------------------------------------- clusterings


CLUSTERINGS = {
    "DBSCAN": DBSCAN(eps=1.0),
    "HDBSCAN": HDBSCAN(min_cluster_size=10, copy=True),
    "OPTICS": OPTICS(min_samples=10, xi=0.1),
    "agglomerative": AgglomerativeClustering(3),
    "spectral": SpectralClustering(3, gamma=0.001, random_state=0),
}


@pytest.mark.filterwarnings("ignore:The surrogate agrees with")
@pytest.mark.parametrize("name", CLUSTERINGS)
def test_clusterings_without_prototypes(name):
    table, _ = make_blobs(n_noise=6)
    points = table.to_numpy()[::2] / [10.0, 1.0, 5.0]
    model = CLUSTERINGS[name].fit(points)
    ex = wc.explain(model, points)
    np.testing.assert_array_equal(ex.given, model.labels_)
    np.testing.assert_array_equal(ex.clusters, model.labels_)
    assert ex.provenance.labels == type(model).__name__
    assert np.isfinite(ex.values).all()
    assert (ex.fidelity.noise == -1) if (model.labels_ == -1).any() else ex.fidelity.noise is None


def test_pipelines_are_explained_in_the_users_columns():
    model = make_pipeline(StandardScaler(), PCA(2), AgglomerativeClustering(3)).fit(X)
    ex = wc.explain(model, X)
    assert ex.feature_names == COLUMNS
    assert not ex.disagrees.any()
    np.testing.assert_array_equal(ex.given, model[-1].labels_)
    # The same steps with the surrogate at their end are a model like any other.
    inner = PrototypeSurrogate(random_state=0).fit(model[:-1].transform(X), model[-1].labels_)
    whole = Pipeline([*model.steps[:-1], ("cluster", inner)])
    np.testing.assert_array_equal(wc.explain(whole, X, cluster=ex.given).values, ex.values)
    shuffled = X[["age", "height", "weight"]]
    np.testing.assert_array_equal(wc.explain(model, shuffled).values, ex.values)
    nested = make_pipeline(StandardScaler(), make_pipeline(PCA(2), AgglomerativeClustering(3))).fit(X)
    assert largest(wc.explain(nested, X).values - ex.values) < BOUND * largest(ex.values)
    alone = Pipeline([("only", AgglomerativeClustering(3))]).fit(X * [0.1, 1, 0.2])
    np.testing.assert_array_equal(wc.explain(alone, X).given, alone[-1].labels_)


def test_pipelines_of_sparse_and_encoded_tables():
    table = X.assign(colour=np.where(CODES == 0, "red", "blue"))
    encode = OneHotEncoder().fit(table[["colour"]])
    model = Pipeline([("encode", encode), ("cluster", AgglomerativeClustering(2))])
    model.steps[-1][1].fit(encode.transform(table[["colour"]]).toarray())
    ex = wc.explain(model, table[["colour"]])
    assert ex.feature_names == ["colour"]
    assert not ex.disagrees.any()
    sparse = sp.csr_array(X.to_numpy())
    scaled = make_pipeline(MaxAbsScaler(), DBSCAN(eps=0.15)).fit(sparse)
    assert wc.explain(scaled, sparse).values.shape == (90, 3)


def test_steps_that_cannot_be_followed():
    model = make_pipeline(KernelPCA(2, kernel="cosine"), AgglomerativeClustering(3)).fit(X)
    with pytest.raises(TypeError, match=r"KernelPCA.*wc.explain\(pipeline\[-1\].labels_, X\)"):
        wc.explain(model, X)
    unfitted = Pipeline([("scale", StandardScaler()), ("cluster", model[-1])])
    with pytest.raises(NotFittedError, match="not fitted"):
        wc.explain(unfitted, X)


def test_other_rows_than_were_clustered():
    model = DBSCAN(eps=12).fit(X)
    with pytest.raises(
        ValueError, match=r"This DBSCAN was fitted on 90 rows, but X has 10.*PrototypeSurrogate"
    ):
        wc.explain(model, X[:10])
    with pytest.raises(ValueError, match=r"lacks the column 'age'"):
        wc.explain(model, X[["height", "weight"]])
    with pytest.raises(ValueError, match=r"has 2 columns, but the model was fitted on 3"):
        wc.explain(DBSCAN(eps=12).fit(X.to_numpy()), X.to_numpy()[:, :2])


def test_clusterings_of_distances():
    distances = np.linalg.norm(X.to_numpy()[:, None] - X.to_numpy(), axis=2)
    model = DBSCAN(eps=12, metric="precomputed").fit(distances)
    with pytest.raises(ValueError, match=r"precomputed distances .* pass the table of the same rows"):
        wc.explain(model, distances)
    ex = wc.explain(model, X)
    assert ex.feature_names == COLUMNS


def test_clusterings_that_are_not_fitted_or_cluster_columns():
    with pytest.raises(NotFittedError, match="DBSCAN is not fitted"):
        wc.explain(DBSCAN(), X)
    with pytest.raises(TypeError, match="FeatureAgglomeration clusters columns"):
        wc.explain(FeatureAgglomeration(2).fit(X), X)
    with pytest.raises(TypeError, match="FeatureAgglomeration clusters columns"):
        wc.explain(make_pipeline(StandardScaler(), FeatureAgglomeration(2)).fit(X), X)
    with pytest.raises(ValueError, match=r"Found noise .* in the labels_ of this DBSCAN"):
        wc.explain(DBSCAN(eps=1e-9).fit(X), X)


def test_models_with_a_network_need_no_surrogate():
    assert surrogate_of(KMeans(3, n_init=1, random_state=0).fit(X), X) is None
    ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X)
    assert ex.given is None
    assert ex.fidelity is None
    assert not ex.disagrees.any()
    assert "surrogate" not in repr(ex) + ex.describe() + ex._repr_html_()


# --------------------------------------------------------------------------- what people read


def test_rows_on_which_the_surrogate_disagrees(noisy):
    rows = np.flatnonzero(noisy.disagrees)
    assert rows.tolist() == [0, 30]
    assert (noisy.clusters == noisy.given).all()
    assert noisy.evidence[0] < 0
    assert noisy.assigned[0] == 0
    told = "The surrogate assigns 2 of 102 rows elsewhere than to the label given; they are explained for"
    assert told in noisy.describe()
    assert told in noisy._repr_html_()
    text = noisy[0].describe()
    assert text.startswith("Row 0 is in cluster 1, but the surrogate assigns it to cluster 0 (evidence -")
    other = replace(noisy[0], clusters=np.array([2]))
    assert "Row 0 is in cluster 1, not in cluster 2" in other.describe()
    assert "The surrogate assigns it to cluster 0." in other.describe()
    # A cluster is told by the rows that are in it for both; its size counts what was given.
    summary = noisy.summary()
    assert summary[1].size == 30
    assert 0 not in summary[1].borderline


def test_noise_reads_as_noise(noisy):
    assert noisy.noise == -1
    assert "clusters 0, 1, 2, noise, rule" in repr(noisy)
    assert repr(noisy).endswith("% of labels not seen>")
    text = noisy.describe()
    assert "Noise holds 12 of 102 rows. Its rows are unusual in" in text
    assert text.index("Cluster 2 ") < text.index("Noise holds")
    assert "luster -1" not in text + noisy._repr_html_() + repr(noisy.summary())
    assert noisy[95].describe().startswith("Row 95 is noise and not in cluster")
    assert "For noise: " in noisy[95].describe()
    why_not = replace(noisy[95], clusters=np.array([2]))
    assert why_not.describe().startswith("Row 95 is noise, not in cluster 2")
    assert [one.is_noise for one in noisy.summary()] == [False, False, False, True]
    assert noisy.summary().to_json()[-1]["is_noise"]
    assert noisy.short_name(-1) == "noise"
    assert noisy.named(1) == "cluster 1"


def test_rows_of_clusters_are_told_from_other_clusters(noisy, noisy_surrogate):
    """Against noise only the distance counts, for which no column speaks: it is left aside."""
    inside = (noisy.clusters != -1) & (noisy.assigned != -1)
    assert inside.sum() == 90
    assert (noisy.competitors[inside] != -1).all()
    table, _ = make_blobs(n_noise=12)
    network = wc.neuralize(noisy_surrogate)
    alone = replace(network, head=replace(network.head, noise=None), clusters=network.clusters[:-1])
    expected = alone.relevance(table, cluster=np.where(inside, noisy.clusters, 0))
    for name in ("values", "base_values", "explained", "evidence", "competitors"):
        np.testing.assert_array_equal(getattr(noisy, name)[inside], getattr(expected, name)[inside])
    whole = network.relevance(table, cluster=noisy.clusters)
    np.testing.assert_array_equal(noisy.values[~inside], whole.values[~inside])
    assert largest(noisy.values.sum(axis=1) + noisy.base_values - noisy.explained) < 1e-9 * largest(
        noisy.explained
    )
    # Who asks about noise gets an answer.
    duel = wc.explain(network, table[inside], cluster=0, against=-1)
    assert (duel.competitors == -1).all()
    assert "cluster 0 against noise" in duel[0].describe()
    # One row alone equals that row in the table.
    one = wc.explain(network, table.iloc[[5]])
    assert largest(one.values - noisy[5].values) < 1e-9 * largest(noisy.values)


def test_one_cluster_and_noise():
    table, codes = make_blobs(n_noise=20)
    rows = (codes == 0) | (codes == -1)
    ex = wc.explain(codes[rows], table[rows])
    assert set(ex.clusters.tolist()) == {0, -1}
    assert np.isfinite(ex.values).all()
    assert "not noise" in ex[0].describe()


def test_slices_keep_labels_and_fidelity(noisy):
    some = noisy[[0, 95]]
    assert some.given.tolist() == [1, -1]
    assert some.disagrees.tolist() == [True, False]
    assert some.fidelity is noisy.fidelity
    assert some.noise == -1
    assert "1 of 2 rows" in some.describe()


def test_the_report_tells_by_itself(noisy, tmp_path):
    page = noisy.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Can this be relied on?" in page
    assert "3 clusters and noise" in page
    assert "luster -1" not in page
    assert "labels from" in page


# --------------------------------------------------------------------------- files


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize("which", ["noisy", "ex"])
def test_files_keep_labels_and_fidelity(request, which, suffix, tmp_path):
    explanation = request.getfixturevalue(which)
    again = wc.load(explanation.save(tmp_path / f"file{suffix}"))
    for name in ("given", "clusters", "assigned", "competitors"):
        np.testing.assert_array_equal(getattr(again, name), getattr(explanation, name))
        assert getattr(again, name).dtype.kind == getattr(explanation, name).dtype.kind
    assert again.noise == explanation.noise
    assert again.describe() == explanation.describe()
    assert again[0].describe() == explanation[0].describe()
    pd.testing.assert_frame_equal(again.fidelity.to_pandas(), explanation.fidelity.to_pandas())
    assert repr(again) == repr(explanation)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_boolean_labels_in_files(suffix, tmp_path):
    ex = wc.explain(CODES > 0, X)
    again = wc.load(ex.save(tmp_path / f"file{suffix}"))
    assert again.given.dtype == again.clusters.dtype == bool
    np.testing.assert_array_equal(again.given, ex.given)


def test_surrogates_and_their_networks_are_saved(noisy_surrogate, tmp_path):
    table, surrogate = make_blobs(n_noise=12)[0], noisy_surrogate
    again = wc.load(wc.save(surrogate, tmp_path / "surrogate.npz"))
    np.testing.assert_array_equal(again.predict(table), surrogate.predict(table))
    assert again.fidelity_.overall_held_out == surrogate.fidelity_.overall_held_out
    network = wc.load(wc.save(wc.neuralize(surrogate), tmp_path / "network.npz"))
    np.testing.assert_array_equal(network.predict(table), surrogate.predict(table))
    # A network has no fidelity, but knows what noise is.
    assert wc.explain(network, table.iloc[[95]]).describe().startswith("Row 95 is noise")


def test_nothing_is_warned_of_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wc.explain(NAMES, X)


def test_rows_in_another_order_than_fitted_are_refused():
    points = X.to_numpy() / [10.0, 1.0, 5.0]
    model = DBSCAN(eps=1.0).fit(points)
    with pytest.raises(ValueError, match="DBSCAN was fitted on, or another order of them"):
        wc.explain(model, points[::-1])


def test_columns_that_tell_nothing_apart_have_no_relevance_at_all():
    generator = np.random.default_rng(0)
    points = generator.standard_normal((120, 6))
    labels = np.repeat([0, 1], 60)
    points[labels == 1, 0] += 6
    ex = wc.explain(labels, points + 3.7)
    assert (np.abs(ex.values[:, 1:]) == 0).all()
    assert "x1" not in ex.describe()
    assert "x0" in ex.describe()


def test_the_number_of_labels_is_told_before_what_they_are():
    with pytest.raises(ValueError, match="labels has 5 labels, but X has 9 rows"):
        wc.explain(np.zeros(5, dtype=int), np.arange(18.0).reshape(9, 2))


def test_labels_whose_index_overlaps_with_that_of_the_table_are_refused():
    """Some rows would get a label by index and others none: the user must say what is meant."""
    moved = pd.Series(CODES, index=np.arange(90) + 45)
    with pytest.raises(ValueError, match=r"different indexes.*labels\.to_numpy\(\)"):
        wc.explain(moved, X)
    swapped = pd.Series(CODES, index=[*range(89), 1000])
    with pytest.raises(ValueError, match="different indexes"):
        wc.explain(swapped, X)


def test_as_many_clusters_as_pairs_of_rows_are_labels():
    assert read_labels([0, 0, 1, 1, 2, 2]).tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(ValueError, match="at least two rows on average"):
        read_labels([0, 0, 1, 1, 2])


def test_rows_that_the_surrogate_takes_for_noise_are_told_from_noise():
    """Asked why cluster 0, a row far from all clusters is answered why not: it is noise."""
    head = PrototypeHead(np.array([[0.0, 0.0], [6.0, 0.0]]), np.arange(2), noise=9.0)
    names = np.array([0, 1, -1])
    net = Neuralized(Features.identity(2), head, MinPool(), 0.1, names, ("a", "b"))
    rows = np.array([[0.5, 0.0], [0.0, 20.0], [5.0, 0.0]])
    assert net.predict(rows).tolist() == [0, -1, 1]
    ex = wc.explain(net, rows, cluster=0)
    assert ex.competitors.tolist() == [1, -1, 1]
    assert ex.evidence[1] == 9.0 - 400.0
    whole = net.relevance(rows, cluster=0)
    np.testing.assert_array_equal(ex.values[1], whole.values[1])
    assert ex.values[1, 1] < 0


WITHOUT_INDEX = {
    "list": NAMES.tolist(),
    "tuple": tuple(NAMES.tolist()),
    "objects": NAMES.astype(object),
    "text of pandas": pd.array(NAMES, dtype="string"),
    "index": pd.Index(NAMES),
    "categories": pd.Categorical(NAMES),
    "whole floats": CODES.astype(float),
    "polars": pl.Series(NAMES),
    "polars frame": pl.DataFrame({"cluster": NAMES}),
}


@pytest.mark.parametrize("labels", WITHOUT_INDEX.values(), ids=WITHOUT_INDEX)
def test_labels_without_an_index_belong_to_rows_by_position(labels):
    """Rows were dropped, so the frame's index has gaps; the labels' places have none."""
    table = X.set_axis(np.arange(90) * 2 + 3)
    given = wc.explain(labels, table).given
    np.testing.assert_array_equal(given, CODES if given.dtype.kind == "i" else NAMES)


def test_floats_beside_an_index_are_told_to_be_no_labels():
    with pytest.raises(ValueError, match=r"Found 0\.5 in labels, expected whole numbers or names"):
        wc.explain((CODES + 0.5).tolist(), X.set_axis(np.arange(90) + 3))


def test_errors_show_plain_row_labels():
    with pytest.raises(ValueError, match=r"different indexes \(0 is in one of them only\)"):
        wc.explain(pd.Series(CODES), X.set_axis(np.arange(90) + 3))


@pytest.mark.parametrize("ask", [wc.explain, wc.audit])
def test_the_name_of_a_column_is_no_labels(ask):
    frame = pd.DataFrame({"kind": ["a", "b"] * 10, "size": range(20)})
    with pytest.raises(TypeError, match=r"pass the column .* X\['kind'\] and X.drop\(columns='kind'\)"):
        ask("kind", frame)
    with pytest.raises(TypeError, match="expected a fitted model or a label for each row"):
        ask("leiden", frame)


def test_a_gap_changes_nothing_else_in_a_table_with_far_numbers():
    table = X.copy()
    table.iloc[40, 0] = table.iloc[:, 0].mean() + 30 * table.iloc[:, 0].std()
    whole = wc.explain(CODES, table)
    table.iloc[7, 1] = np.nan
    with pytest.warns(UserWarning, match="replaced by the mean") as warned:
        ex = wc.explain(CODES, table)
    assert len(warned) == 1
    assert (ex.values.argmax(axis=1) == whole.values.argmax(axis=1)).mean() > 0.95


def test_names_of_several_kinds():
    table = X.rename(columns={"age": 7})
    ex = wc.explain(CODES, table)
    assert ex.feature_names == [str(name) for name in table.columns]
    np.testing.assert_array_equal(ex.values, wc.explain(CODES, table.rename(columns=str)).values)
    np.testing.assert_array_equal(ex.assigned, wc.explain(CODES, X).assigned)
