"""Frames of any library are read by name; only what has no names is read by position."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import whyclust as wc
from whyclust.cluster import PrototypeSurrogate
from whyclust.inputs.reading import numeric, read_input

WINE = load_wine(as_frame=True).data
LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "narwhals": nw.from_native,
    "record batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
}


def k_means(n_clusters=3):
    return KMeans(n_clusters, n_init=2, random_state=0)


@pytest.fixture(scope="module")
def wine_model():
    return make_pipeline(StandardScaler(), k_means()).fit(WINE)


@pytest.fixture(params=LIBRARIES)
def into(request):
    return LIBRARIES[request.param]


# --------------------------------------------------------------------------- columns


def test_columns_in_another_order(wine_model, into):
    ex = wc.explain(wine_model, into(WINE[WINE.columns[::-1]]), background=WINE)
    assert ex.feature_names == list(WINE.columns)
    np.testing.assert_array_equal(ex.assigned, wine_model.predict(WINE))
    np.testing.assert_array_equal(ex.values, wc.explain(wine_model, WINE).values)


def test_everything_that_takes_a_table(wine_model, into):
    table = into(WINE[WINE.columns[::-1]])
    ex = wc.explain(wine_model, WINE)
    net = wc.neuralize(wine_model, table)
    assert net.beta == ex.beta
    np.testing.assert_array_equal(net.predict(table), ex.assigned)
    again = wc.explain(wine_model, WINE, background=table)
    np.testing.assert_array_equal(again.values, ex.values)
    one = into(WINE.iloc[[7], ::-1])
    by_name = wc.explain(wine_model, WINE, method="ig", steps=4, reference=one)
    by_position = wc.explain(wine_model, WINE, method="ig", steps=4, reference=WINE.iloc[7].to_numpy())
    np.testing.assert_allclose(by_name.values, by_position.values)
    named = wc.explain(wine_model, WINE, method="ig", steps=4, reference=WINE.iloc[7, ::-1])
    np.testing.assert_allclose(named.values, by_position.values)
    scores = [
        wc.metrics.flipping_auc(wine_model, X, found, imputer="mean", n_repeats=1).auc
        for X, found in [(WINE, ex), (table, ex), (WINE, into(ex.to_pandas()[WINE.columns[::-1]]))]
    ]
    assert len(set(scores)) == 1
    assert wc.metrics.uniqueness(ex, table).value == wc.metrics.uniqueness(ex, WINE).value
    lost = wc.metrics.faithfulness(wine_model, table, ex)
    np.testing.assert_array_equal(lost.drop, wc.metrics.faithfulness(wine_model, WINE, ex).drop)


@pytest.mark.filterwarnings("ignore:The surrogate agrees with")  # of labels by two of thirteen columns
def test_labels_and_tables_of_one_library(into):
    labels = k_means().fit_predict(WINE[["alcohol", "hue"]])
    ex = wc.explain(labels, WINE)
    column = into(pd.DataFrame({"cluster": labels}))
    again = wc.explain(column, into(WINE))
    np.testing.assert_array_equal(again.values, ex.values)
    assert wc.metrics.clustering_accuracy(column, labels) == 1.0


def test_a_background_in_another_order_than_x_for_a_model_without_names():
    model = k_means().fit(WINE.to_numpy())
    turned = WINE[WINE.columns[::-1]]
    assert wc.explain(model, WINE, background=turned).beta == wc.explain(model, WINE).beta
    found = wc.explain(model, WINE)
    scores = [
        wc.metrics.flipping_auc(judge, WINE, found, imputer="mean", n_repeats=1, background=background).auc
        for judge in (model, lambda points: model.predict(points))
        for background in (WINE, turned)
    ]
    assert len(set(scores)) == 1
    options = {"methods": ["sensitivity"], "n_repeats": 1, "n_refits": 0, "max_rows": 20}
    audits = [wc.audit(model, WINE, background=background, **options) for background in (WINE, turned)]
    pd.testing.assert_frame_equal(audits[0].methods, audits[1].methods)
    fewer = WINE.iloc[:, 1:].assign(other=1.0)
    assert wc.explain(model, WINE, background=fewer).beta > 0  # other names: by position


def test_a_lazy_frame_is_not_read(wine_model):
    with pytest.raises(TypeError, match=r"X is a polars LazyFrame, whose rows are .*: call collect\(\)"):
        wc.explain(wine_model, pl.from_pandas(WINE).lazy())


@pytest.mark.parametrize(
    "one", [pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0]), pa.chunked_array([[1.0, 2.0]])]
)
def test_a_series_is_no_table(wine_model, one):
    with pytest.raises(ValueError, match=r"X is a (pandas|polars|pyarrow) Series, expected a table of two"):
        wc.explain(wine_model, one)


def test_names_that_occur_twice(wine_model):
    table = pa.table([pa.array([1.0, 2.0])] * 2, names=["a", "a"])
    with pytest.raises(ValueError, match="X has more than one column called 'a': rename them"):
        wc.explain(wine_model, table)


def test_a_frame_keeps_its_kinds(into):
    frame = pd.DataFrame(
        {
            "text": ["a", None, "b"],
            "kind": pd.Categorical(["x", "y", "x"]),
            "when": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
            "count": [1, 2, 3],
            "small": np.array([1, 2, 3], dtype=np.float32),
            "gappy": [1.0, np.nan, 3.0],
            "flag": [True, False, True],
        }
    )
    table = read_input(into(frame))
    assert table.names == list(frame.columns)
    assert table.data["text"].isna().tolist() == [False, True, False]
    assert table.data["kind"].tolist() == ["x", "y", "x"]
    assert table.data["when"].dtype.kind == "M"
    assert [table.data[name].dtype.kind for name in ("count", "small", "gappy", "flag")] == list("iffb")
    assert numeric(read_input(into(frame[["small"]])).data).dtype == np.float32


def test_narwhals_frames_keep_the_index():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    assert list(read_input(nw.from_native(frame)).index) == ["x", "y"]
    assert read_input(pl.from_pandas(frame)).index is None


def test_decimals_are_numbers():
    from decimal import Decimal

    table = pa.table({"a": pa.array([Decimal("1.5"), Decimal("2.25"), None])})
    np.testing.assert_array_equal(numeric(read_input(table).data), [[1.5], [2.25], [np.nan]])


def test_a_pandas_frame_is_not_copied():
    assert read_input(WINE).data is WINE


# --------------------------------------------------------------------------- encoders

MIXED = pd.DataFrame(
    {
        "colour": np.resize(["red", "green", "blue"], 60),
        "rooms": np.resize([1, 2, 3, 4], 60),
        "flag": np.resize([True, False], 60),
        "size": np.random.default_rng(0).normal(size=60),
    }
)
GAPPY = MIXED.assign(colour=MIXED["colour"].where(np.arange(60) % 7 > 0, None))


def fitted(model, table):
    """Before 1.9, scikit-learn did not take all of these frames, or not their names."""
    old = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)
    try:
        model.fit(table)
    except (AttributeError, TypeError):
        if old:
            pytest.skip("this scikit-learn does not take such frames")
        raise
    if old and not hasattr(model[0], "feature_names_in_"):
        pytest.skip("this scikit-learn does not know the names of such frames")
    return model


def one_hot(columns):
    encode = make_column_transformer((OneHotEncoder(), columns), remainder=SimpleImputer())
    return make_pipeline(encode, k_means())


@pytest.mark.parametrize("frame", [MIXED, GAPPY], ids=["whole", "gappy"])
@pytest.mark.parametrize("fitted_on", ["pandas", "polars", "pyarrow"])
def test_encoders_of_text_and_numbers(frame, fitted_on, into):
    """A polars frame of text and numbers is one array of objects to an encoder, a pandas frame is not."""
    table = LIBRARIES[fitted_on](frame)
    model = fitted(one_hot(["colour", "rooms", "flag"]), table)
    expected = model.predict(table)
    np.testing.assert_array_equal(wc.explain(model, into(frame)).assigned, expected)


@pytest.mark.parametrize("fitted_on", ["pandas", "polars", "pyarrow"])
def test_a_model_predicts_in_the_library_it_was_fitted_on(fitted_on):
    table = LIBRARIES[fitted_on](GAPPY)
    model = fitted(one_hot(["colour", "rooms", "flag"]), table)
    lost = wc.metrics.faithfulness(model, table, wc.explain(model, table), imputer="permute")
    assert lost.full_performance == 1.0
    assert lost.drop.max() > 0


@pytest.mark.parametrize("fitted_on", ["pandas", "polars"])
def test_ordinal_encoders_of_text_and_numbers(fitted_on, into):
    table = LIBRARIES[fitted_on](MIXED[["colour", "rooms"]])
    model = fitted(make_pipeline(OrdinalEncoder(), k_means()), table)
    ex = wc.explain(model, into(MIXED[["rooms", "colour"]]))
    np.testing.assert_array_equal(ex.assigned, model.predict(table))


# --------------------------------------------------------------------------- rows


@pytest.fixture(scope="module")
def customers():
    generator = np.random.default_rng(1)
    index = pd.Index([f"customer {row}" for row in range(30)])
    points = generator.normal(size=(30, 3)) + 6 * (np.arange(30) % 3)[:, None]
    return pd.DataFrame(points, columns=["a", "b", "c"], index=index)


@pytest.fixture(scope="module")
def model(customers):
    return k_means().fit(customers)


@pytest.fixture
def shuffled(customers):
    return np.random.default_rng(2).permutation(len(customers))


@pytest.mark.parametrize("method", ["neon", "sensitivity"])
def test_clusters_for_each_row_are_matched_by_index(customers, model, shuffled, method):
    asked = pd.Series((model.labels_ + 1) % 3, index=customers.index)
    other = pd.Series((model.labels_ + 2) % 3, index=customers.index)
    ex = wc.explain(model, customers, cluster=asked, against=other, method=method)
    again = wc.explain(
        model, customers, cluster=asked.iloc[shuffled], against=other.iloc[shuffled[::-1]], method=method
    )
    np.testing.assert_array_equal(again.clusters, asked)
    np.testing.assert_array_equal(again.values, ex.values)
    np.testing.assert_array_equal(again.base_values, ex.base_values)


def test_networks_match_by_index_too(customers, model, shuffled):
    net = wc.neuralize(model, customers)
    asked = pd.Series((model.labels_ + 1) % 3, index=customers.index)
    turned = asked.iloc[shuffled]
    np.testing.assert_array_equal(
        net.evidence(customers, cluster=turned), net.evidence(customers, cluster=asked)
    )
    np.testing.assert_array_equal(
        net.gradient(customers, cluster=turned), net.gradient(customers, cluster=asked)
    )
    found = net.relevance(customers, cluster=turned)
    np.testing.assert_array_equal(found.values, net.relevance(customers, cluster=asked).values)


def test_rows_without_names_are_read_by_position(customers, model):
    asked = pd.Series((model.labels_ + 1) % 3, index=customers.index)
    by_position = wc.explain(k_means().fit(customers.to_numpy()), customers.to_numpy(), cluster=asked)
    np.testing.assert_array_equal(by_position.clusters, asked)
    polars = wc.explain(model, pl.from_pandas(customers), cluster=asked)
    np.testing.assert_array_equal(polars.clusters, asked)
    np.testing.assert_array_equal(
        wc.explain(model, customers, cluster=pl.Series(asked.to_numpy())).clusters, asked
    )


def test_labels_are_matched_by_index(customers, model, shuffled):
    labels = pd.Series(model.labels_, index=customers.index)
    ex = wc.explain(labels.iloc[shuffled], customers)
    np.testing.assert_array_equal(ex.given, labels)
    frame = labels.to_frame().iloc[shuffled]
    np.testing.assert_array_equal(wc.explain(frame, customers).given, labels)
    score = wc.metrics.silhouette(customers, labels)
    assert wc.metrics.silhouette(customers, labels.iloc[shuffled]) == score
    assert wc.metrics.clustering_accuracy(labels, labels.iloc[shuffled]) == 1.0
    ex = wc.explain(model, customers)
    lost = wc.metrics.faithfulness(model, customers, ex, labels=labels)
    again = wc.metrics.faithfulness(model, customers, ex, labels=labels.iloc[shuffled])
    np.testing.assert_array_equal(again.drop, lost.drop)
    surrogate = PrototypeSurrogate(random_state=0).fit(customers, labels)
    options = {"n_repeats": 2, "random_state": 0}
    stable = wc.metrics.stability(surrogate, customers, labels=labels, **options)
    again = wc.metrics.stability(surrogate, customers, labels=labels.iloc[shuffled], **options)
    np.testing.assert_array_equal(again.jaccard_per_repeat, stable.jaccard_per_repeat)


def test_relevance_is_matched_by_index(customers, model, shuffled):
    relevance = wc.explain(model, customers).to_pandas()
    turned = relevance.iloc[shuffled]
    auc = wc.metrics.flipping_auc(model, customers, relevance, imputer="mean", n_repeats=1).auc
    assert wc.metrics.flipping_auc(model, customers, turned, imputer="mean", n_repeats=1).auc == auc
    least = wc.metrics.uniqueness(relevance, customers).value
    assert wc.metrics.uniqueness(turned, customers).value == least
    with pytest.raises(ValueError, match="explanation and X have different indexes"):
        wc.metrics.faithfulness(model, customers, relevance.reset_index(drop=True))


NOT_THE_SAME_ROWS = {
    "nothing in common": lambda index: index + "?",
    "numbered from 0": lambda index: pd.RangeIndex(len(index)),
    "partly": lambda index: index[1:].append(pd.Index(["customer 99"])),
    "one twice": lambda index: index[1:].append(index[1:2]),
}


@pytest.mark.parametrize("change", NOT_THE_SAME_ROWS.values(), ids=NOT_THE_SAME_ROWS)
def test_other_indexes_are_refused(customers, model, change):
    other = pd.Series(model.labels_, index=change(customers.index))
    told = r"{} and {} have different indexes \(.* is in one of them only\): .* {}.to_numpy\(\) .* position"
    with pytest.raises(ValueError, match=told.format("labels", "X", "labels")):
        wc.explain(other, customers)
    with pytest.raises(ValueError, match=told.format("cluster", "X", "cluster")):
        wc.explain(model, customers, cluster=other)
    with pytest.raises(ValueError, match=told.format("against", "X", "against")):
        wc.explain(model, customers, cluster=(model.labels_ + 1) % 3, against=other)
    with pytest.raises(ValueError, match=told.format("labels", "X", "labels")):
        wc.metrics.silhouette(customers, other)
    ex = wc.explain(model, customers)
    with pytest.raises(ValueError, match=told.format("rows", "ex", "rows")):
        ex[other == 1]


def test_a_new_count_of_rows_says_nothing_about_their_order(customers, model):
    """X has been sorted, and the labels are numbered anew, or not: both readings are plausible."""
    table = customers.reset_index(drop=True).iloc[::-1]
    labels = pd.Series(model.predict(customers.iloc[::-1]))
    with pytest.raises(
        ValueError, match=r"labels are numbered 0, 1, … and X .*: pass labels.loc\[X.index\] "
    ):
        wc.explain(labels, table)
    np.testing.assert_array_equal(wc.explain(labels.to_numpy(), table).given, labels)
    ex = wc.explain(model, table)
    with pytest.raises(ValueError, match=r"rows are numbered 0, 1, … .*: pass rows.loc\[ex.index\] "):
        ex[labels == 1]


def test_indexes_of_several_levels_and_of_times(customers, model, shuffled):
    for index in [
        pd.MultiIndex.from_product([range(6), list("abcde")]),
        pd.date_range("2024-01-01", periods=30, tz="Europe/Berlin"),
    ]:
        table = customers.set_axis(index)
        asked = pd.Series((model.labels_ + 1) % 3, index=index)
        ex = wc.explain(model, table, cluster=asked.iloc[shuffled])
        np.testing.assert_array_equal(ex.clusters, asked)
        np.testing.assert_array_equal(ex[(asked == 1).iloc[shuffled]].index, ex.index[asked == 1])


def test_masks_are_matched_by_index(customers, model, shuffled):
    ex = wc.explain(model, customers)
    mask = customers["a"] > 3
    wanted = ex[mask.to_numpy()]
    for given in [mask, mask.iloc[shuffled], mask.astype("boolean").iloc[shuffled]]:
        found = ex[given]
        assert list(found.index) == list(wanted.index)
        np.testing.assert_array_equal(found.values, wanted.values)
        pd.testing.assert_frame_equal(found.data, wanted.data)
    half = ex[::2]
    np.testing.assert_array_equal(half[mask[::2].iloc[::-1]].index, half.index[mask[::2]])
    grouped = wc.explain(model, customers, groups={"both": ["a", "b"]})
    np.testing.assert_array_equal(grouped[mask.iloc[shuffled]].index, wanted.index)


def test_masks_of_rows_without_names(customers):
    ex = wc.explain(k_means().fit(customers.to_numpy()), customers.to_numpy())
    mask = customers["a"] > 3
    np.testing.assert_array_equal(ex[mask].index, np.flatnonzero(mask))
    np.testing.assert_array_equal(ex[pl.Series(mask.to_numpy())].index, np.flatnonzero(mask))
    np.testing.assert_array_equal(ex[pd.Series([5, 3])].index, [5, 3])
    with pytest.raises(IndexError, match="do not fit an explanation of 30 rows"):
        ex[mask[1:]]
    with pytest.raises(IndexError, match="rows=True"):
        ex[True]


# --------------------------------------------------------------------------- groups


def test_groups_of_columns_that_are_numbers():
    points = np.random.default_rng(0).normal(size=(40, 4))
    frame = pd.DataFrame(points, columns=[3, 2, 1, 0])
    model = k_means().fit(frame)
    ex = wc.explain(model, frame)
    grouped = wc.explain(model, frame, groups={"pair": [3, 2]})
    assert grouped.feature_names == ["pair", "1", "0"]
    np.testing.assert_allclose(grouped.values[:, 0], ex.values[:, :2].sum(axis=1))
    years = frame.set_axis([2019, 2020, 2021, 2022], axis=1)
    assert wc.explain(model, years, groups={"late": [2021, 2022]}).feature_names == ["late", "2019", "2020"]
    assert wc.explain(model, years, groups={"late": ["2021", np.int64(2022)]}).feature_names[0] == "late"
    with pytest.raises(ValueError, match=r"groups\['late'\] names the column 3, which X does not have"):
        wc.explain(model, years, groups={"late": [3]})


def test_groups_of_columns_whose_names_look_like_numbers():
    points = np.random.default_rng(0).normal(size=(40, 4))
    frame = pd.DataFrame(points, columns=["3", "2", "1", "0"])
    model = k_means().fit(frame)
    with pytest.raises(ValueError, match=r"groups\['pair'\] names 3, .* column called '3' is at position 0"):
        wc.explain(model, frame, groups={"pair": [3, 2]})
    assert wc.explain(model, frame, groups={"pair": ["3", "2"]}).feature_names == ["pair", "1", "0"]
    in_order = frame.set_axis(["0", "1", "2", "3"], axis=1)
    assert wc.explain(k_means().fit(in_order), in_order, groups={"pair": [3, 2]}).feature_names[0] == "pair"


def test_feature_names_do_not_rename_columns_by_position(customers, model):
    with pytest.raises(ValueError, match="feature_names has the columns of X in another order: leave it out"):
        wc.explain(model, customers, feature_names=["c", "b", "a"])
    assert wc.explain(model, customers, feature_names=["A", "B", "C"]).feature_names == ["A", "B", "C"]


# --------------------------------------------------------------------------- other kinds of X


def test_sparse_rows_of_one_dimension():
    import scipy.sparse as sp

    model = k_means().fit(WINE.to_numpy())
    with pytest.raises(ValueError, match=r"X has 1 dimension\(s\), expected a table of rows and columns"):
        wc.explain(model, sp.coo_array(WINE.iloc[0].to_numpy()))


def test_tensors():
    torch = pytest.importorskip("torch")
    model = k_means().fit(WINE.to_numpy())
    expected = wc.explain(model, WINE.to_numpy())
    tensor = torch.tensor(WINE.to_numpy(), requires_grad=True)
    ex = wc.explain(model, tensor)
    np.testing.assert_array_equal(ex.values, expected.values)
    assert isinstance(ex.data, np.ndarray)
    half = wc.explain(model, torch.tensor(WINE.to_numpy()).to(torch.bfloat16))
    assert half.values.dtype == np.float32
    labels = torch.tensor(model.labels_)
    np.testing.assert_array_equal(wc.explain(labels, tensor).given, model.labels_)
