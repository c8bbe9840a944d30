"""What explain() answers, and what people do with the answer."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

import whyclust as wc
from sparse_rows import random_rows
from whyclust.cluster import KernelKMeans, SoftKMeans

BOUND = 1e-10


def largest(array):
    return np.abs(np.asarray(array, dtype=float)).max()


def blobs(n_points=90, n_features=4, seed=3):
    generator = np.random.default_rng(seed)
    middles = generator.normal(scale=2.0, size=(4, n_features))
    group = generator.integers(4, size=n_points)
    return middles[group] + 0.6 * generator.normal(size=(n_points, n_features))


X = blobs()


def k_means(k=4):
    return KMeans(k, n_init=2, random_state=0)


@pytest.fixture(scope="module")
def model():
    return k_means().fit(X)


@pytest.fixture(scope="module")
def ex(model):
    return wc.explain(model, X)


# --------------------------------------------------------------------------- groups


FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])


@pytest.mark.parametrize("columns", [["d", "b"], [3, 1], ["b", 3], np.array([1, 3])])
def test_groups_sum_their_columns(columns):
    fitted = k_means().fit(FRAME)
    single = wc.explain(fitted, FRAME)
    grouped = wc.explain(fitted, FRAME, groups={"both": columns})
    assert grouped.feature_names == ["both", "a", "c"]
    assert largest(grouped.values[:, 0] - single.values[:, 1] - single.values[:, 3]) < BOUND
    np.testing.assert_array_equal(grouped.values[:, 1:], single.values[:, [0, 2]])
    np.testing.assert_array_equal(grouped.explained, single.explained)
    assert largest(grouped.column("both") - FRAME[["b", "d"]].mean(axis=1)) < BOUND
    np.testing.assert_array_equal(grouped.column("c"), FRAME["c"])


def test_groups_of_arrays_and_of_everything(model):
    single = wc.explain(model, X)
    grouped = wc.explain(model, X, groups={"first": ["x0", "x1"], "last": [2, 3]})
    assert grouped.feature_names == ["first", "last"]
    assert largest(grouped.values - single.values.reshape(-1, 2, 2).sum(axis=2)) < BOUND
    assert largest(grouped.values.sum(axis=1) - grouped.evidence) < BOUND


def test_groups_of_columns_that_are_misspelled():
    table = FRAME.set_axis(["bill_length", "bill_depth", "flipper", "mass"], axis=1)
    fitted = k_means().fit(table)
    with pytest.raises(
        ValueError, match=r"'bill_lenght', which X does not have: did you mean 'bill_length'\?"
    ):
        wc.explain(fitted, table, groups={"bill": ["bill_lenght"]})
    with pytest.raises(ValueError, match=r"'sex', which X does not have\.$"):
        wc.explain(fitted, table, groups={"bill": ["sex"]})


def test_groups_of_encoded_columns():
    table = FRAME.assign(colour=np.where(X[:, 0] > 0, "red", "blue"))
    branches = make_column_transformer((PCA(2), ["a", "b", "c"]), (OneHotEncoder(), ["colour"]))
    fitted = make_pipeline(branches, k_means()).fit(table)
    single = wc.explain(fitted, table)
    grouped = wc.explain(fitted, table, groups={"some": ["colour", "b"]})
    assert grouped.feature_names == ["some", "a", "c"]  # d is dropped
    assert single.feature_names == ["a", "b", "c", "colour"]
    assert largest(grouped.values[:, 0] - single.values[:, 3] - single.values[:, 1]) < BOUND
    np.testing.assert_array_equal(grouped.column("some"), table["b"])  # the mean of its numbers


# --------------------------------------------------------------------------- questions


@pytest.mark.parametrize("kind", [KMeans, BisectingKMeans, SoftKMeans, KernelKMeans])
def test_questions_as_arrays(kind):
    """One cluster for each row is the same as asking cluster by cluster."""
    fitted = kind(4, random_state=0).fit(X)
    net = wc.neuralize(fitted, X)
    asked = np.arange(len(X)) % 4
    against = (asked + 1 + np.arange(len(X)) % 3) % 4
    mixed = net.relevance(X, cluster=asked)
    paired = net.relevance(X, cluster=asked, against=list(against))
    np.testing.assert_array_equal(mixed.clusters, asked)
    for cluster in range(4):
        rows = asked == cluster
        alone = net.relevance(X, cluster=cluster)
        assert largest(mixed.values[rows] - alone.values[rows]) < BOUND
        assert largest(mixed.evidence[rows] - alone.evidence[rows]) < BOUND
        for other in set(range(4)) - {cluster}:
            rows = (asked == cluster) & (against == other)
            pair = net.relevance(X[rows], cluster=cluster, against=other)
            assert largest(paired.values[rows] - pair.values) < BOUND


def test_one_against_another_by_hand(model):
    """R = (x − (μ_c + μ_k)/2) ⊙ 2(μ_c − μ_k), for every row, and the other way round its negative."""
    c, k = model.cluster_centers_[[2, 0]]
    ex = wc.explain(model, X, cluster=2, against=0)
    assert largest(ex.values - (X - (c + k) / 2) * 2 * (c - k)) < BOUND
    assert largest(ex.evidence - ((X - k) ** 2 - (X - c) ** 2).sum(axis=1)) < BOUND
    np.testing.assert_array_equal(ex.competitors, 0)
    assert largest(ex.values + wc.explain(model, X, cluster=0, against=2).values) < BOUND
    assert "cluster 2 against cluster 0" in str(ex.question)


def test_the_assigned_cluster_is_the_default(model, ex):
    np.testing.assert_array_equal(ex.clusters, model.labels_)
    np.testing.assert_array_equal(ex.assigned, model.labels_)
    same = wc.explain(model, X, cluster=model.labels_)
    np.testing.assert_array_equal(same.values, ex.values)
    distances = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(ex.competitors, np.argsort(distances, axis=1)[:, 1])
    ordered = np.sort(distances, axis=1)
    assert largest(ex.evidence - (ordered[:, 1] - ordered[:, 0])) < BOUND
    assert largest(ex.values.sum(axis=1) - ex.evidence) < BOUND


# --------------------------------------------------------------------------- β


WITH_BETA = {
    "k-means": k_means(),
    "mini-batch": MiniBatchKMeans(4, n_init=2, random_state=0),
    "bisecting": BisectingKMeans(4, random_state=0),
    "soft": SoftKMeans(4, random_state=0),
    "kernel": KernelKMeans(3, n_support=4, n_init=2, random_state=0),
    "standard kernel": KernelKMeans(3, algorithm="standard", gamma=0.2, random_state=0),
    "pipeline": make_pipeline(SimpleImputer(), StandardScaler(), PCA(2), k_means()),
    "normalised": make_pipeline(Normalizer(), k_means()),
}


@pytest.mark.parametrize("name", WITH_BETA)
def test_one_row_alone_equals_that_row_in_the_table(name, tmp_path):
    fitted = WITH_BETA[name].fit(X)
    net = wc.neuralize(fitted, X)
    many = np.concatenate([X] * 40)  # several blocks
    whole = wc.explain(net, many)
    loaded = wc.load(wc.save(net, tmp_path / "net.npz"))
    assert loaded.beta == net.beta
    for row in (0, 7, len(X) - 1, len(many) - 1):
        for one in (wc.explain(net, many[row : row + 1]), wc.explain(loaded, many[row : row + 1])):
            assert largest(one.values[0] - whole.values[row]) < BOUND
            assert abs(one.explained[0] - whole.explained[row]) < BOUND
            assert one.beta == whole.beta == net.beta
    block = wc.explain(loaded, many[100:300])
    assert largest(block.values - whole.values[100:300]) < BOUND


def test_beta_is_one_over_the_mean_evidence_of_the_background(model):
    net = wc.neuralize(model, X[:30])
    distances = np.sort(((X[:30, None] - model.cluster_centers_) ** 2).sum(axis=2), axis=1)
    assert net.beta == pytest.approx(1.0 / np.mean(distances[:, 1] - distances[:, 0]), rel=1e-12)
    assert wc.explain(model, X[5:6], background=X[:30]).beta == net.beta
    assert wc.explain(model, X[:30]).beta == net.beta  # the table itself, when no other is known
    assert wc.explain(net, X[50:]).beta == net.beta
    assert wc.explain(net, X[50:], background=X).beta == pytest.approx(wc.neuralize(model, X).beta)
    assert net.beta != wc.neuralize(model, X).beta


def test_without_any_background_the_centres_stand_for_the_data(model):
    centers = model.cluster_centers_
    between = ((centers[:, None] - centers) ** 2).sum(axis=2) + np.diag([np.inf] * 4)
    shares = np.bincount(model.labels_) / len(X)
    assert wc.neuralize(model).beta == pytest.approx(1.0 / (shares @ between.min(axis=1)), rel=1e-12)


@pytest.mark.parametrize("kind", [SoftKMeans, KernelKMeans])
def test_our_estimators_bring_their_beta(kind):
    fitted = kind(3, random_state=0).fit(X)
    assert wc.explain(fitted, X[:3]).beta == fitted.beta_
    assert fitted.beta_ == pytest.approx(wc.neuralize(fitted, X).beta, rel=1e-9)


def two_points():
    fitted = KMeans(2, n_init=1, random_state=0).fit([[0.0, 0.0], [4.0, 0.0]])
    fitted.cluster_centers_ = np.array([[0.0, 0.0], [4.0, 0.0]])
    return fitted


def test_all_points_on_boundaries():
    """E[f_c] = 0: β falls back to 1 with a warning, and everything is finite."""
    boundary = np.array([[2.0, 5.0], [2.0, -1.0]])
    with pytest.warns(UserWarning, match="all points are on boundaries"):
        ex = wc.explain(two_points(), boundary)
    assert ex.beta == 1.0
    assert largest(ex.evidence) == largest(ex.values) == 0.0


def test_one_warning_for_one_fallback():
    fitted = k_means(3).fit(X)
    fitted.cluster_centers_ = np.ones((3, 4))  # duplicates
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ex = wc.explain(fitted, X)
    assert largest(ex.values) == 0.0
    assert len(caught) == 1, [str(warning.message) for warning in caught]


# --------------------------------------------------------------------------- arrays of all kinds


@pytest.mark.parametrize(
    "change",
    [
        lambda table: np.asfortranarray(table),
        lambda table: np.repeat(table, 2, axis=1)[:, ::2],
        lambda table: table[::-1][::-1],
        lambda table: table.tolist(),
        lambda table: table.astype(object),
        lambda table: pd.DataFrame(table),
        lambda table: pd.DataFrame(table).astype("Float64"),
    ],
    ids=["fortran", "strided columns", "strided rows", "list", "object", "frame", "nullable frame"],
)
def test_the_same_numbers_in_another_form(model, ex, change):
    assert largest(wc.explain(model, change(X)).values - ex.values) < BOUND


def test_read_only_input_is_neither_changed_nor_refused(model, ex):
    table = X.copy()
    table.setflags(write=False)
    np.testing.assert_array_equal(wc.explain(model, table).values, ex.values)
    changed = X.copy()
    wc.explain(model, changed, cluster=1)
    np.testing.assert_array_equal(changed, X)


@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        (np.float64, np.float64),
        (np.float32, np.float32),
        (np.float16, np.float32),
        (np.int64, np.float64),
        (np.uint8, np.float64),
        (bool, np.float64),
        (np.longdouble, np.float64),
    ],
)
def test_types(dtype, result):
    table = np.abs(np.round(X * 3)).astype(dtype)
    fitted = k_means(3).fit(table.astype(float))
    ex = wc.explain(fitted, table)
    assert ex.values.dtype == result
    exact = wc.explain(fitted, table.astype(float))
    assert largest(ex.values - exact.values) <= (
        0.0 if result == np.float64 else 1e-5 * largest(exact.values)
    )
    frame = pd.DataFrame(table)
    if dtype is not np.longdouble:
        assert wc.explain(fitted, frame).values.dtype == result


def test_one_row_and_constant_columns():
    table = np.column_stack([X[:, 0], np.full(len(X), 3.0), X[:, 1]])
    fitted = k_means(3).fit(table)
    ex = wc.explain(fitted, table[:1])
    assert ex.shape == (1, 3)
    assert ex.values[0, 1] == pytest.approx(0.0, abs=1e-12)
    assert wc.explain(make_pipeline(StandardScaler(), fitted).fit(table), table).values[:, 1].any() == 0


# --------------------------------------------------------------------------- the object


def test_slices_are_explanations(ex):
    for rows, wanted in [
        (5, [5]),
        (-1, [len(X) - 1]),
        (np.int64(3), [3]),
        (slice(2, 20, 3), range(2, 20, 3)),
        (ex.clusters == 2, np.flatnonzero(ex.clusters == 2)),
        ([4, 4, 1], [4, 4, 1]),
        (np.array([7, -2]), [7, len(X) - 2]),
    ]:
        part = ex[rows]
        assert isinstance(part, wc.Explanation)
        wanted = list(wanted)
        assert len(part) == len(wanted)
        np.testing.assert_array_equal(part.values, ex.values[wanted])
        np.testing.assert_array_equal(part.data, X[wanted])
        np.testing.assert_array_equal(part.index, ex.index[wanted])
        for name in ("base_values", "explained", "evidence", "clusters", "assigned", "competitors"):
            np.testing.assert_array_equal(getattr(part, name), getattr(ex, name)[wanted])
    rows = list(ex[:4])
    assert [len(row) for row in rows] == [1, 1, 1, 1]
    np.testing.assert_array_equal(rows[2].values[0], ex.values[2])


def test_slices_of_frames(tmp_path):
    frame = FRAME.set_axis([f"row {row}" for row in range(len(X))])
    ex = wc.explain(k_means().fit(frame), frame)
    part = ex[[8, 3]]
    assert list(part.index) == ["row 8", "row 3"]
    pd.testing.assert_frame_equal(part.data, frame.iloc[[8, 3]])
    table = part.to_pandas()
    assert list(table.index) == ["row 8", "row 3"]
    assert list(table.columns) == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(table.to_numpy(), ex.values[[8, 3]])


@pytest.mark.parametrize(
    "rows",
    [1000, [True, False], [0.5], True, False, np.True_, [[1, 2]], slice(0.5), slice(None, None, 0)],
    ids=str,
)
def test_rows_that_do_not_fit(ex, rows):
    with pytest.raises(IndexError, match=f"explanation of {len(X)} rows"):
        ex[rows]


def test_a_label_that_is_not_there(ex):
    with pytest.raises(KeyError, match=f"no row 'row 8' in this explanation of {len(X)} rows"):
        ex["row 8"]
    with pytest.raises(TypeError, match=r"\[None\] is no choice of rows"):
        ex[None]


def test_slicing_by_positions_of_columns_is_refused(ex):
    with pytest.raises(TypeError, match=r"ex\.values\[rows, columns\] takes positions"):
        ex[3, 2]


def test_repr_is_short(ex):
    assert len(repr(ex)) < 120
    assert f"{len(X)} rows × 4 columns" in repr(ex)
    assert repr(ex[0]).startswith("<Explanation of 1 row × 4 columns, ")
    wide = wc.explain(k_means(40).fit(X), X)
    assert len(repr(wide)) < 140


def test_explanations_can_be_compared(ex):
    """Comparing arrays inside a dataclass raises; equality is identity."""
    assert ex == ex
    assert (ex == ex[:3]) is False
    assert len({ex}) == 1


def test_html_escapes_what_users_wrote():
    nasty = "<script>alert('x')</script>"
    table = pd.DataFrame(X[:, :2], columns=[nasty, "a & b"])
    table["colour"] = np.where(X[:, 0] > 0, "<b>red</b>", "blue")
    branches = make_column_transformer((StandardScaler(), [nasty, "a & b"]), (OneHotEncoder(), ["colour"]))
    ex = wc.explain(make_pipeline(branches, k_means(2)).fit(table), table)
    for html in (ex._repr_html_(), ex.summary()._repr_html_()):
        assert "<script" not in html
        assert "<b>" not in html
        assert "&lt;script&gt;" in html


def test_rows_by_label_and_columns_by_name(model):
    frame = FRAME.set_axis([f"row {place}" for place in range(len(X))])
    ex = wc.explain(k_means().fit(frame), frame)
    np.testing.assert_array_equal(ex["row 3"].values, ex[3].values)
    for several in (["row 7", "row 2"], np.array(["row 7", "row 2"]), pd.Index(["row 7", "row 2"])):
        np.testing.assert_array_equal(ex[several].values, ex[[7, 2]].values)
    with pytest.raises(KeyError, match=r"no row 'row1' in this explanation of .* rows: did you mean 'row 1"):
        ex["row1"]
    income = ex[:5, "b"]
    assert (income.name, list(income.index)) == ("b", [f"row {place}" for place in range(5)])
    np.testing.assert_array_equal(income, ex.values[:5, 1])
    np.testing.assert_array_equal(ex[["row 7", "row 2"], ["c", "a"]], ex.values[[7, 2]][:, [2, 0]])
    with pytest.raises(KeyError, match="There is no feature 'e'"):
        ex[:, "e"]
    with pytest.raises(TypeError, match="columns=1, expected a name or a list of names"):
        ex[:, 1]
    doubled = wc.explain(k_means().fit(FRAME), FRAME.set_axis(["same"] * len(X)))
    assert len(doubled["same"]) == len(X)


def test_choices_of_rows_and_columns_that_pandas_makes():
    ex = wc.explain(k_means().fit(FRAME), FRAME)
    mask = FRAME["a"] > 0
    for one in (mask, mask.sample(frac=1, random_state=0), mask.astype("boolean"), mask.to_numpy()):
        np.testing.assert_array_equal(ex[one].values, ex.values[mask.to_numpy()])
    np.testing.assert_array_equal(ex[mask, "b"], ex.values[mask.to_numpy(), 1])
    for names in (["c", "a"], np.array(["c", "a"]), pd.Index(["c", "a"]), pd.Series(["c", "a"])):
        found = ex[:4, names]
        assert list(found.columns) == ["c", "a"]
        np.testing.assert_array_equal(found, ex.values[:4, [2, 0]])


@pytest.mark.parametrize(
    ("rows", "kind", "told"),
    [
        (FRAME["a"][:10] > 0, IndexError, "rows is a mask of 10 rows, which do not fit"),
        (
            pd.Series([True, None], dtype="boolean"),
            IndexError,
            r"missing: mask\.fillna\(False\) leaves them out",
        ),
        (FRAME > 0, IndexError, r"rows=a DataFrame of shape \(\d+, \d+\) do not fit"),
        ("a", KeyError, r"no row 'a' .*: it is a column, ex\[:, 'a'\]"),
        (99_999, IndexError, "rows=99999 do not fit an explanation of"),
        ((slice(3), ("a", "b")), TypeError, "expected a name or a list of names"),
    ],
)
def test_choices_that_fit_nothing_are_refused_in_one_line(rows, kind, told):
    with pytest.raises(kind, match=told) as error:
        wc.explain(k_means().fit(FRAME), FRAME)[rows]
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250


@pytest.mark.parametrize("count", [-1, 1.5, "a", True])
def test_how_many_columns_is_a_whole_number(ex, count):
    for method in (ex.top, ex.strongest):
        with pytest.raises(ValueError, match=r"count=.* expected a whole number, 0 or more"):
            method(count)


def test_long_frame_has_what_a_plot_needs():
    ex = wc.explain(k_means().fit(FRAME), FRAME)
    frame = ex.to_pandas(long=True)
    names = ["cluster", "competitor", "evidence", "feature", "value", "relevance"]
    assert list(frame.columns) == names
    assert len(frame) == FRAME.size
    one = frame.loc[9].set_index("feature")
    np.testing.assert_array_equal(one["relevance"], ex.values[9])
    np.testing.assert_array_equal(one["value"], FRAME.loc[9])
    assert set(one["cluster"]) == {ex.clusters[9]}
    assert set(one["competitor"]) == {ex.competitors[9]}
    assert set(one["evidence"]) == {ex.evidence[9]}


def test_top_and_column(ex):
    names, values = ex.top(2)
    order = np.argsort(-np.abs(ex.values), axis=1)[:, :2]
    np.testing.assert_array_equal(ex.strongest(2)[0], order)
    np.testing.assert_array_equal(names, np.array(ex.feature_names)[order])
    np.testing.assert_array_equal(values, np.take_along_axis(ex.values, order, axis=1))
    assert ex.top(100)[0].shape == ex.shape
    np.testing.assert_array_equal(ex.column("x2"), X[:, 2])
    with pytest.raises((KeyError, ValueError), match=r"no feature .?'x9"):
        ex.column("x9")


def test_to_shap():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shap's own imports warn
        import shap
    fitted = KernelKMeans(3, algorithm="standard", gamma=0.3, random_state=0).fit(FRAME)
    ex = wc.explain(fitted, FRAME)
    assert largest(ex.base_values) > 1e-6  # a case in which the base matters
    theirs = ex.to_shap()
    assert isinstance(theirs, shap.Explanation)
    # shap's additivity: what a model outputs is base + values.
    assert largest(theirs.values.sum(axis=1) + theirs.base_values - ex.explained) < BOUND
    assert list(theirs.feature_names) == list(FRAME.columns)
    np.testing.assert_array_equal(theirs.data, X)
    np.testing.assert_array_equal(theirs[3].values, ex.values[3])
    assert theirs[3].base_values == ex.base_values[3]


# --------------------------------------------------------------------------- summary and sentences


def hand_made():
    """Two clusters of which everything is known: centres (0, 1) and (4, 1), two colours."""
    table = pd.DataFrame(
        {
            "height": [0.0, 0.0, 1.0, 4.0, 4.0, 3.5],
            "noise": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
            "colour": ["red", "red", "blue", "blue", "blue", "blue"],
        },
        index=["A", "B", "C", "D", "E", "F"],
    )
    return wc.Explanation(
        # R = (x − 2) ⊙ 2(μ_c − μ_k) with μ = 0 and 4.
        values=np.array(
            [[16.0, 0.0, 2.0], [16.0, 0.0, 2.0], [8.0, 0.0, -1.0], [16.0, 0, 1], [16.0, 0, 1], [12.0, 0, 1]]
        ),
        base_values=np.zeros(6),
        explained=np.array([18.0, 18.0, 7.0, 17.0, 17.0, 13.0]),
        evidence=np.array([18.0, 18.0, 7.0, 17.0, 17.0, 13.0]),
        clusters=np.array([0, 0, 0, 1, 1, 1]),
        assigned=np.array([0, 0, 0, 1, 1, 1]),
        competitors=np.array([1, 1, 1, 0, 0, 0]),
        feature_names=["height", "noise", "colour"],
        data=table,
        index=np.asarray(table.index),
        beta=1.0,
        rule="min_take_most",
    )


def test_summary_by_hand():
    summary = hand_made().summary(members=2)
    assert len(summary) == 2
    assert [one.cluster for one in summary] == [0, 1]
    first = summary[0]
    assert (first.size, first.share) == (3, 0.5)
    assert first.evidence == pytest.approx(43.0 / 3.0)
    features = first.features.set_index("feature")
    assert list(first.features["feature"]) == ["height", "colour", "noise"]
    assert features.loc["height", "relevance"] == pytest.approx(40.0 / 3.0)
    assert features.loc["colour", "relevance"] == pytest.approx(1.0)
    assert features.loc["height", "fraction"] == pytest.approx((40.0 / 3.0) / (43.0 / 3.0))
    assert features["fraction"].sum() == pytest.approx(1.0)
    assert list(features["direction"]) == ["below", "mostly red", "similar"]
    assert features.loc["height", "inside"] == pytest.approx(1.0 / 3.0)
    assert features.loc["height", "outside"] == pytest.approx(11.5 / 3.0)
    assert features.loc["colour", "inside"] == "67% red"
    assert features.loc["colour", "outside"] == "0% red"
    assert first.typical == [0]  # nearest the mean relevance; row 1 is its copy, and 2 the closest to leaving
    assert first.borderline == [2, 0]  # least evidence first
    second = summary[1].features.set_index("feature")
    assert list(second["direction"]) == ["above", "mostly blue", "similar"]
    assert summary[1].borderline == [5, 3]
    with pytest.raises(KeyError, match="No cluster 7"):
        summary[7]


def test_summary_in_other_forms():
    summary = hand_made().summary()
    table = summary.to_pandas()
    assert len(table) == 6
    assert list(table.columns[:4]) == ["cluster", "name", "size", "share"]
    assert list(table["name"].unique()) == ["low height", "high height"]
    plain = summary.to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain[0]["features"][0]["feature"] == "height"
    assert plain[0]["features"][0]["against"] == 1
    assert plain[0]["name"] == "low height"
    assert "cluster 0 'low height': 3 rows (50%); height below" in repr(summary)
    assert "height" in summary._repr_html_()


def test_describe_by_hand():
    text = hand_made().describe(top=2)
    first, second = text.split("\n")
    assert first == (
        "Cluster 0 'low height' holds 3 of 6 rows. Its mean height is below cluster 1 (0.33 against "
        "3.83). Its colour is mostly red (67%, against 0% in cluster 1). Row A is typical of it; row C is "
        "closest to leaving it, for cluster 1."
    )
    assert second.startswith("Cluster 1 'high height' holds 3 of 6 rows. Its mean height is above")
    row = hand_made()[2].describe()
    assert row == (
        "Row C is in cluster 0 and not in cluster 1 (evidence 7, 0 on the boundary). For cluster 0: "
        "height = 1 (relevance +8). Against cluster 0: colour = blue (-1)."
    )


@pytest.mark.parametrize("top", ["x", 1.5, -1, None])
def test_how_many_features_are_described(ex, top):
    for some in (ex, ex[0]):
        with pytest.raises(ValueError, match=r"top=.*, expected a whole number, 0 or more"):
            some.describe(top=top)


def test_describe_other_questions(model):
    ex = wc.explain(model, X, cluster=1)
    outside = ex[int(np.flatnonzero(ex.assigned != 1)[0])]
    assert f"is in cluster {outside.assigned[0]}, not in cluster 1" in outside.describe()
    assert ex.describe().startswith(f"Cluster 1 was explained for {len(X)} rows")
    kernel = KernelKMeans(3, algorithm="standard", gamma=0.3, random_state=0).fit(X)
    assert "belongs to no column" in wc.explain(kernel, X)[0].describe()


def test_missing_values_and_switches_in_the_summary():
    table = pd.DataFrame(
        {
            "height": [0.0, np.nan, 0.5, 8.0, 8.5, 9.0],
            "member": [True, True, True, False, False, True],
            "colour": ["red", None, "red", "blue", "blue", None],
            "count": pd.array([1, None, 1, 5, 5, 5], dtype="Int64"),
        }
    )
    ex = hand_made()
    ex = wc.Explanation(
        **{
            **{name: getattr(ex, name) for name in ex.__dataclass_fields__},
            "values": np.ones((6, 4)),
            "feature_names": list(table.columns),
            "data": table,
        }
    )
    features = ex.summary()[0].features.set_index("feature")
    assert features.loc["height", "inside"] == pytest.approx(0.25)
    assert features.loc["member", "direction"] == "mostly True"
    assert features.loc["colour", "direction"] == "mostly red"
    assert features.loc["count", "direction"] == "below"
    assert features.loc["count", "outside"] == pytest.approx(5.0)
    ex.describe()


def test_nothing_left(ex):
    """A mask that no row fits gives an explanation of no rows, which still answers."""
    empty = ex[ex.clusters == 99]
    assert len(empty) == 0
    assert len(empty.summary()) == 0
    assert len(empty.summary().to_pandas()) == 0
    assert empty.to_pandas().shape == (0, 4)
    assert isinstance(empty.describe(), str)


# --------------------------------------------------------------------------- files


def assert_same(one, other):
    for name in ("values", "base_values", "explained", "evidence", "clusters", "assigned", "competitors"):
        first, second = getattr(one, name), getattr(other, name)
        assert first.dtype == second.dtype, name
        np.testing.assert_array_equal(first, second, err_msg=name)
    assert one.feature_names == other.feature_names
    assert (one.beta, one.rule, one.question, one.provenance, one.kind) == (
        other.beta,
        other.rule,
        other.question,
        other.provenance,
        other.kind,
    )


@pytest.mark.parametrize("suffix", ["parquet", "npz"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_round_trip_of_arrays(model, tmp_path, suffix, dtype):
    ex = wc.explain(model, X.astype(dtype))
    path = ex.save(tmp_path / f"ex.{suffix}")
    again = wc.load(path)
    assert_same(ex, again)
    assert again.data.dtype == dtype
    np.testing.assert_array_equal(again.data, ex.data)
    np.testing.assert_array_equal(again.index, ex.index)
    assert wc.load(str(path))[3].describe() == ex[3].describe()


def everything():
    frame = pd.DataFrame(X.copy(), columns=["cluster", "relevance.x", "data.y", "row"])
    frame["colour"] = np.where(X[:, 0] > 0, "red", "blue")
    frame.loc[3, "colour"] = None
    frame["kind"] = pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))
    frame["flag"] = X[:, 2] > 0
    frame.index = [f"r{row}" for row in range(len(frame))]
    branches = make_column_transformer(
        (StandardScaler(), ["cluster", "relevance.x", "data.y", "row"]),
        (OneHotEncoder(), ["colour", "kind"]),
        ("passthrough", ["flag"]),
    )
    return make_pipeline(branches, k_means()).fit(frame), frame


@pytest.mark.parametrize("suffix", ["parquet", "npz"])
def test_round_trip_of_frames(tmp_path, suffix):
    ex = wc.explain(*everything())
    again = wc.load(ex.save(tmp_path / f"ex.{suffix}"))
    assert_same(ex, again)
    assert list(again.index) == list(ex.index)
    pd.testing.assert_frame_equal(again.data.reset_index(drop=True), ex.data.reset_index(drop=True))
    assert again.describe() == ex.describe()
    assert again[3].describe() == ex[3].describe()


@pytest.mark.parametrize("suffix", ["parquet", "npz"])
@pytest.mark.parametrize("missing", [None, np.nan])
def test_round_trip_of_objects(tmp_path, suffix, missing):
    table = np.column_stack([X[:, 0].astype(object), np.where(X[:, 0] > 0, "red", "blue").astype(object)])
    table[3, 1] = missing
    branches = make_column_transformer((StandardScaler(), [0]), (OneHotEncoder(), [1]))
    ex = wc.explain(make_pipeline(branches, k_means()).fit(table), table)
    again = wc.load(ex.save(tmp_path / f"ex.{suffix}"))
    assert_same(ex, again)
    complete = np.arange(len(X)) != 3
    assert (again.data[complete] == ex.data[complete]).all()
    assert pd.isna(again.data[3, 1])


@pytest.mark.parametrize("suffix", ["parquet", "npz"])
def test_round_trip_of_nullable_columns(tmp_path, suffix):
    frame = FRAME.assign(count=pd.array([1, None, 3] * 30, dtype="Int64"))
    ex = wc.explain(make_pipeline(SimpleImputer(), k_means()).fit(frame), frame)
    again = wc.load(ex.save(tmp_path / f"ex.{suffix}"))
    assert again.data["count"].isna().sum() == 30
    np.testing.assert_array_equal(again.data["count"].dropna().astype(int), [1, 3] * 30)


LABELS = {
    "dates": pd.date_range("2020-01-01", periods=90),
    "dates with a zone": pd.date_range("2020-01-01", periods=90, tz="Europe/Berlin"),
    "several levels": pd.MultiIndex.from_product([range(9), list("abcdefghij")]),
    "months": pd.period_range("2020-01", periods=90, freq="M"),
    "mixed": [1, "a"] * 45,
    "floats": np.linspace(0.0, 1.0, 90),
    "intervals": pd.interval_range(0, 90),
}


@pytest.mark.parametrize("suffix", ["parquet", "npz"])
@pytest.mark.parametrize("name", LABELS)
def test_any_row_labels_can_be_saved(tmp_path, suffix, name):
    frame = FRAME.set_axis(LABELS[name])
    ex = wc.explain(k_means().fit(frame), frame)
    again = wc.load(ex.save(tmp_path / f"ex.{suffix}"))
    assert_same(ex, again)
    assert len(again.index) == len(frame)
    assert again[4].describe() == ex[4].describe()


def test_columns_of_arrays_and_sparse_matrices_can_be_named():
    table = random_rows((30, 4), 0.5, np.random.default_rng(0))
    model = KMeans(2, n_init=1, random_state=0).fit(table)
    ex = wc.explain(model, table, feature_names=["ape", "bee", "cat", "dog"], groups={"insects": ["bee"]})
    assert ex.feature_names == ["insects", "ape", "cat", "dog"]
    assert "x1" not in ex.describe()
    with pytest.raises(ValueError, match="3 names, but X has 4"):
        wc.explain(model, table, feature_names=["ape", "bee", "cat"])
    with pytest.raises(ValueError, match="'ape' twice"):
        wc.explain(model, table, feature_names=["ape", "ape", "cat", "dog"])
    for names in (TfidfVectorizer(), "abcd", 4):
        with pytest.raises(TypeError, match=r"expected a sequence of names.*get_feature_names_out\(\)"):
            wc.explain(model, table, feature_names=names)


def test_a_duel_names_both_sides():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [30.0], [31.0]])
    model = KMeans(3, init=[[0.5], [10.5], [30.5]], n_init=1).fit(X)
    ex = wc.explain(model, X, cluster=1, against=2)
    assert (
        ex[0]
        .describe()
        .startswith(
            "Row 0, which is in cluster 0: cluster 1 against cluster 2 (evidence 820, so 1 is nearer)."
        )
    )
    assert ex.describe().startswith("Cluster 1 was explained against cluster 2 for 6 rows")


def test_a_cluster_between_its_competitors_is_told_so():
    X = np.concatenate([np.full(10, -5.0), np.full(10, 0.1), np.full(10, 5.0)])[:, None]
    model = KMeans(3, init=[[-5.0], [0.1], [5.0]], n_init=1).fit(X)
    summary = wc.explain(model, X).summary()
    assert [one.features["direction"][0] for one in summary] == ["below", "between", "above"]


def test_a_column_missing_in_a_whole_cluster_and_a_cluster_of_one():
    frame = pd.DataFrame({"a": [0.0, 0.1, 9.0], "b": [np.nan, np.nan, 1.0]})
    steps = make_pipeline(SimpleImputer(), KMeans(2, init=[[0.0, 1.0], [9.0, 1.0]], n_init=1)).fit(frame)
    ex = wc.explain(steps, frame)
    assert ex.summary()[0].features.set_index("feature")["direction"]["b"] == "missing"
    assert "Its only row is 2." in ex.describe()


def test_the_summary_is_made_once():
    ex = hand_made()
    assert ex.summary() is ex.summary()
    assert ex.summary(members=1) is not ex.summary()


def test_columns_whose_names_are_numbers_are_chosen_by_them():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=[3, 5, 7])
    explained = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X.to_numpy()), X)
    np.testing.assert_array_equal(explained[:, 5], explained[:, "5"])
    assert explained[:, [3, 7]].columns.tolist() == [3, 7]
    with pytest.raises(TypeError, match="columns=0, expected a name"):
        explained[:, 0]


def test_rows_of_several_levels_are_asked_for_by_their_tuples():
    index = pd.MultiIndex.from_product([["no", "se"], range(2000, 2010)])
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), index, ["a", "b"])
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(table), table)
    np.testing.assert_array_equal(ex[("se", 2003)].values, ex[13].values)
    np.testing.assert_array_equal(ex["se", np.int64(2003)].values, ex[13].values)
    np.testing.assert_array_equal(ex[[("se", 2003), ("no", 2001)]].values, ex[[13, 1]].values)
    assert ex.smallest_change(("se", 2003)).describe() == ex.smallest_change(13).describe()
    assert "row ('se', 2003)" in ex.plot.waterfall(row=("se", 2003)).get_title()
    pd.testing.assert_frame_equal(ex[:3, ["a"]], ex[:3].to_pandas()[["a"]])
    with pytest.raises(KeyError, match="no row 'fi'"):
        _ = ex["fi", 2003]
    with pytest.raises(KeyError, match=r"There is no row \(.*fi.*, 2003\) in this explanation of 20 rows"):
        _ = ex[[("no", 2000), ("fi", 2003)]]
    # What is missing equals itself, and slices choose several rows.
    table.index = pd.MultiIndex.from_tuples([("p", float("nan")), *index[1:]])
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(table), table)
    assert len(ex["p", np.nan]) == len(ex[[("p", np.nan)]]) == 1
    pd.testing.assert_frame_equal(ex[:3, ["a"]], ex[:3].to_pandas()[["a"]])
