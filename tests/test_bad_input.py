"""Bad input: one sentence that says what was found and what to do, or it works."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.cluster import KernelKMeans, SoftKMeans

X = np.random.default_rng(2).normal(size=(40, 3)) + 4.0 * (np.arange(40) % 4)[:, None]


def k_means(k=4):
    return KMeans(k, n_init=2, random_state=0)


@pytest.fixture(scope="module")
def model():
    return k_means().fit(X)


def refuses(match, function, *args, kind=ValueError, **options):
    """One sentence, no line break, of the kind that callers already catch."""
    with pytest.raises(kind, match=match) as caught:
        function(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert ". " not in message.replace("Prop. ", ""), message
    assert message.endswith((".", ")")), message
    return message


# --------------------------------------------------------------------------- numbers


CALLS = ["explain", "predict", "evidence", "relevance", "background"]


def call(name, model, table):
    net = wc.neuralize(model, X)
    if name == "background":
        return lambda: wc.neuralize(model, table)
    return (lambda: wc.explain(model, table)) if name == "explain" else (lambda: getattr(net, name)(table))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nan_and_infinity_name_row_and_column(model, name, value, dtype):
    table = X.astype(dtype)
    table[7, 1] = value
    what, remedy = ("NaN", "SimpleImputer") if np.isnan(value) else ("infinity", "put a finite number in its")
    refuses(rf"{what}.*row 7, column 'x1'.*: .*{remedy}.* or drop the row", call(name, model, table))


@pytest.mark.parametrize(
    "last",
    [
        MiniBatchKMeans(3, n_init=1, random_state=0),
        BisectingKMeans(3, random_state=0),
        SoftKMeans(3, random_state=0),
        SoftKMeans(3, decision="absolute", random_state=0),
        KernelKMeans(3, n_support=3, n_init=1, max_iter=5, random_state=0),
        KernelKMeans(3, algorithm="standard", random_state=0),
        make_pipeline(StandardScaler(), PCA(2), k_means()),
    ],
    ids=lambda last: f"{type(last).__name__} {getattr(last, 'algorithm', getattr(last, 'decision', ''))}",
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_infinity_for_every_model(last, value):
    last.fit(X)
    table = X.copy()
    table[5, 2] = value
    refuses(r"row 5, column 'x2'", wc.explain, last, table)


def test_the_row_is_counted_over_blocks(model):
    table = np.concatenate([X] * 3000)
    table[117_003, 2] = np.nan
    refuses(r"row 117003, column 'x2'", wc.neuralize(model, X).relevance, table)


def test_nan_in_a_frame_names_its_column():
    frame = pd.DataFrame(X.copy(), columns=["height", "width", "depth"])
    fitted = k_means().fit(frame)
    frame.loc[3, "width"] = np.nan
    refuses(r"NaN.*row 3, column 'width'", wc.explain, fitted, frame)
    refuses(r"NaN.*row 3, column 'width'", wc.explain, k_means().fit(X), frame)  # a model without names


def test_nan_is_fine_where_the_pipeline_imputes():
    table = X.copy()
    table[7, 1] = np.nan
    fitted = make_pipeline(SimpleImputer(), StandardScaler(), k_means()).fit(table)
    assert np.isfinite(wc.explain(fitted, table).values).all()
    table[9, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        wc.explain(fitted, table)
    table[9, 0] = np.nan  # as the error for infinity advises
    assert np.isfinite(wc.explain(fitted, table).values).all()


def finite_or_refused(function):
    """Huge numbers: finite values, or one sentence; never NaN and never a warning."""
    try:
        ex = function()
    except ValueError as error:
        assert "too large" in str(error), error
        assert "\n" not in str(error)
        return "refused"
    for name in ("values", "base_values", "explained", "evidence"):
        assert np.isfinite(getattr(ex, name)).all(), name
    assert np.isfinite(ex.beta)
    size = max(1.0, np.abs(ex.explained).max())
    error = ex.values.sum(axis=1, dtype=float) / size + ex.base_values / size - ex.explained / size
    assert np.abs(error).max() < (1e-10 if ex.values.dtype == np.float64 else 1e-4)
    return "finite"


HUGE = [1e100, 1e150, 1e152, 1e153, 3e153, 1e154, 1e160, 1e200, 1e300]


@pytest.mark.parametrize("factor", HUGE)
@pytest.mark.parametrize("question", [{}, {"cluster": 1}, {"cluster": 2, "against": 0}], ids=str)
def test_huge_rows(model, factor, question):
    answer = finite_or_refused(lambda: wc.explain(model, X * factor, background=X, **question))
    assert answer == "finite" or factor > 1e150


@pytest.mark.parametrize("factor", HUGE)
def test_huge_rows_as_their_own_background(model, factor):
    finite_or_refused(lambda: wc.explain(model, X * factor))


def with_centers(centers):
    fitted = k_means().fit(X)
    fitted.cluster_centers_ = centers
    return fitted


@pytest.mark.parametrize("factor", HUGE)
def test_huge_centres(model, factor):
    fitted = with_centers(model.cluster_centers_ * factor)
    answer = finite_or_refused(lambda: wc.explain(fitted, X * factor))
    if not 1e150 < factor < 1e154:  # in between, squares are at the limit of float64
        assert answer == ("finite" if factor <= 1e150 else "refused")


@pytest.mark.parametrize("factor", [1e10, 1e15, 1e17, 1e18, 1e19, 1e20, 1e30, 1e37])
def test_huge_float32(model, factor):
    small = (X * factor).astype(np.float32)
    fitted = with_centers(model.cluster_centers_ * factor)
    assert finite_or_refused(lambda: wc.explain(fitted, small)) == "finite" or factor > 1e15
    finite_or_refused(lambda: wc.explain(model, small, background=X))
    # The same numbers as float64, which the message proposes, work.
    assert finite_or_refused(lambda: wc.explain(fitted, small.astype(np.float64))) == "finite"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("factor", [1e-20, 1e-40, 1e-160, 1e-300, 0.0])
@pytest.mark.filterwarnings("ignore:The mean evidence of the background is not positive")
def test_tiny_numbers(model, dtype, factor):
    fitted = with_centers(model.cluster_centers_ * factor)
    ex = wc.explain(fitted, (X * factor).astype(dtype))
    assert np.isfinite(ex.values).all()
    assert np.isfinite(ex.beta)
    assert ex.beta > 0


# --------------------------------------------------------------------------- tables


def test_shapes(model):
    refuses(r"2 columns, but the model was fitted on 3", wc.explain, model, X[:, :2])
    refuses(r"4 columns, but the model was fitted on 3", wc.explain, model, np.ones((2, 4)))
    refuses(r"1 dimension.*reshape\(1, -1\)", wc.explain, model, X[0])
    refuses(r"120 columns, but the model was fitted on 3", wc.explain, model, X[None])  # one image
    refuses(r"5 dimension", wc.explain, model, X[None, None, None])
    refuses(r"empty \(0 rows, 3 columns\)", wc.explain, model, X[:0])
    refuses(r"empty", wc.explain, model, np.empty((5, 0)))
    refuses(r"empty", wc.explain, model, pd.DataFrame(columns=["a", "b", "c"]))
    refuses(r"empty", wc.explain, model, sp.csr_array((0, 3)))
    refuses(r"empty", wc.explain, model, [[]])
    refuses(r"pandas Series", wc.explain, model, pd.Series([1.0, 2.0, 3.0]))


def test_things_that_are_no_tables(model):
    for thing in ("customers.csv", None, 5, {"a": [1, 2]}, iter([1])):
        with pytest.raises((TypeError, ValueError)) as caught:
            wc.explain(model, thing)
        assert "reshape" not in str(caught.value), "a file name cannot be reshaped"
    with pytest.raises(ValueError, match=r"rows.*(same number|length)"):
        wc.explain(model, [[1.0, 2.0, 3.0], [1.0, 2.0]])


def test_text_is_shown(model):
    table = X.astype(object)
    table[4, 2] = "tall"
    refuses(r"not numbers \('tall' is one\).*OneHotEncoder", wc.explain, model, table)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(c="tall")
    refuses(r"'c', expected numbers.*OneHotEncoder", wc.explain, model, frame)
    refuses(r"complex", wc.explain, model, X + 1j)
    refuses(r"X holds complex numbers, expected real", wc.explain, model, sp.csr_array(X + 1j))
    dates = pd.DataFrame(X, columns=["a", "b", "c"]).assign(b=pd.date_range("2020", periods=40))
    refuses(r"datetime.*'b'", wc.explain, model, dates)
    refuses(r"dates or times", wc.explain, model, X.astype("int64").astype("datetime64[s]"))


def test_duplicate_names(model):
    refuses(r"more than one column called 'a'", wc.explain, model, pd.DataFrame(X, columns=["a", "b", "a"]))
    # Names that differ in type only look the same to the reader of a report.
    refuses(r"more than one column called '1'", wc.explain, model, pd.DataFrame(X, columns=[1, "1", "b"]))


def test_lazy_frame(model):
    lazy = pl.DataFrame(X, schema=["a", "b", "c"]).lazy()
    with pytest.raises((TypeError, ValueError), match=r"collect\(\)"):
        wc.explain(model, lazy)


def test_frames_of_sparse_columns(model):
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_array(X))
    assert np.abs(np.asarray(wc.explain(model, frame).values) - wc.explain(model, X).values).max() < 1e-10


# --------------------------------------------------------------------------- questions


def test_unknown_clusters(model):
    refuses(
        r"cluster=9 is no cluster of this model: choose one of 0, 1, 2, 3", wc.explain, model, X, cluster=9
    )
    refuses(r"cluster=-1 is no cluster", wc.explain, model, X, cluster=-1)
    refuses(r"cluster='a' is no cluster", wc.explain, model, X, cluster="a")
    refuses(r"cluster=nan is no cluster", wc.explain, model, X, cluster=np.nan)
    refuses(r"against=7 is no cluster", wc.explain, model, X, cluster=0, against=7)
    refuses(r"cluster has shape \(3,\).*each of the 40 rows", wc.explain, model, X, cluster=[0, 1, 2])
    refuses(r"shape \(1, 1\)", wc.explain, model, X, cluster=[[0]])
    mixed = [0] * 39 + [9]
    refuses(r"cluster=9 is no cluster", wc.explain, model, X, cluster=mixed)
    refuses(r"against=1 was given without cluster=", wc.explain, model, X, against=1)
    refuses(r"both 1: name two different", wc.explain, model, X, cluster=1, against=1)
    refuses(r"both 0", wc.explain, model, X, cluster=[0] * 40, against=[1] * 39 + [0])


def test_unknown_rules(model):
    refuses(
        r"rule='best' is unknown, expected one of min_take_most, expected", wc.explain, model, X, rule="best"
    )
    refuses(r"rule='expected' or leave", wc.explain, model, X, cluster=1, rule="min_take_most")
    absolute = SoftKMeans(3, decision="absolute", random_state=0).fit(X)
    refuses(r"leave rule=None", wc.explain, absolute, X, rule="expected")


def test_groups_that_make_no_sense(model):
    refuses(r"in two groups", wc.explain, model, X, groups={"a": [0, 1], "b": [1, 2]})
    refuses(r"the column 'x7', which X does not have", wc.explain, model, X, groups={"a": ["x7"]})
    refuses(r"position 3, but X has 3 columns", wc.explain, model, X, groups={"a": [3]})
    refuses(r"position -1", wc.explain, model, X, groups={"a": [-1]})
    refuses(r"expected a list", wc.explain, model, X, groups={"a": "x1"})
    refuses(r"expected a list", wc.explain, model, X, groups={"a": []})


def test_groups_with_the_name_of_another_column(model):
    """Two features of one name would overwrite each other in frames and files."""
    refuses(r"groups\['x1'\]", wc.explain, model, X, groups={"x1": ["x0", "x2"]})
    ex = wc.explain(model, X, groups={"x1": ["x0", "x1"]})  # its own column: no clash
    assert ex.feature_names == ["x1", "x2"]


def test_groups_of_other_types(model):
    for groups in ([["x0", "x1"]], "x0", {"a": [0.5]}, {"a": 1}, {"a": [None]}):
        with pytest.raises((TypeError, ValueError), match="groups"):
            wc.explain(model, X, groups=groups)


# --------------------------------------------------------------------------- models


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans, BisectingKMeans, SoftKMeans, KernelKMeans])
def test_unfitted_models(kind):
    refuses(f"This {kind.__name__} is not fitted yet: call fit", wc.explain, kind(3), X, kind=NotFittedError)
    refuses("not fitted yet", wc.neuralize, make_pipeline(StandardScaler(), kind(3)), kind=NotFittedError)
    refuses(f"{kind.__name__} is a class, expected a fitted model", wc.explain, kind, X, kind=TypeError)


def test_unfitted_step(model):
    with pytest.raises(NotFittedError, match="StandardScaler"):
        wc.explain(make_pipeline(StandardScaler(), model), X)


@pytest.mark.parametrize("kind", [KMeans, BisectingKMeans])
def test_one_cluster(kind):
    refuses(r"one cluster.*n_clusters of 2 or more", wc.explain, kind(1, random_state=0).fit(X), X)
    refuses(r"one cluster", wc.neuralize, kind(1, random_state=0).fit(X), X)


def test_models_that_are_no_clusterings(model):
    refuses(r"expected a fitted model or a label for each row", wc.explain, "k-means", X, kind=TypeError)
    for thing in (None, PCA(2).fit(X), make_pipeline(StandardScaler()).fit(X), 3):
        message = refuses(r"cannot be neuralised yet", wc.explain, thing, X, kind=TypeError)
        assert "KMeans" in message
    with pytest.raises(TypeError, match="does not end in a clustering"):
        wc.explain(Pipeline([("scale", StandardScaler()), ("last", "passthrough")]).fit(X), X)
    other = KernelKMeans(3, algorithm="standard", kernel="linear", random_state=0).fit(X)
    refuses(r"kernel='rbf'", wc.explain, other, X, kind=TypeError)


def test_no_probabilities_and_no_logits(model):
    refuses(r"knows no probabilities", wc.neuralize(model).predict_proba, X, kind=TypeError)
    tree = BisectingKMeans(3, random_state=0).fit(X)
    refuses(r"has no logits", wc.neuralize(tree).logits, X, kind=TypeError)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_as_many_clusters_as_distinct_points():
    table = np.repeat(X[:3], 5, axis=0)
    ex = wc.explain(KMeans(5, n_init=1, random_state=0).fit(table), table)
    assert np.isfinite(ex.values).all()
    exact = wc.explain(KMeans(3, n_init=1, random_state=0).fit(table), table)
    assert np.isfinite(exact.values).all()
    refuses(r"distinct", KernelKMeans(5, random_state=0).fit, table)


def test_constant_and_single_columns():
    constant = np.column_stack([X[:, 0], np.full(40, 7.0)])
    for steps in ([], [StandardScaler()], [PCA(1)], [StandardScaler(), PCA(1, whiten=True)]):
        ex = wc.explain(make_pipeline(*steps, k_means(3)).fit(constant), constant)
        assert np.isfinite(ex.values).all()
        assert np.abs(ex.values[:, 1]).max() < 1e-10
    one = wc.explain(k_means(3).fit(X[:, :1]), X[:, :1])
    assert np.abs(one.values[:, 0] - one.evidence).max() < 1e-10


def test_masked_values_are_missing(model):
    masked = np.ma.masked_array(X.copy(), mask=np.zeros(X.shape, dtype=bool))
    masked[2, 1] = np.ma.masked
    with pytest.raises(ValueError, match="NaN"):
        wc.explain(model, masked)


@pytest.mark.parametrize(("dtype", "factor"), [(np.float32, 3e18), (np.float64, 3e153)])
def test_numbers_near_the_largest_are_right_or_refused(model, dtype, factor):
    fitted = with_centers(model.cluster_centers_ * factor)
    try:
        ex = wc.explain(fitted, (X * factor).astype(dtype))
    except ValueError as error:
        assert "too large" in str(error)
    else:
        assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-5 * ex.explained.max()


def test_groups_may_be_any_iterable_but_not_share_a_name(model):
    ex = wc.explain(model, X, groups={"g": (column for column in [0, 1])})
    whole = wc.explain(model, X)
    assert np.abs(ex.values[:, 0] - whole.values[:, :2].sum(axis=1)).max() < 1e-12
    with pytest.raises(ValueError, match="same name"):
        wc.explain(model, X, groups={1: [0], "1": [1]})


def test_the_background_is_named_when_it_is_wrong(model):
    with pytest.raises(ValueError, match="background has 1 columns"):
        wc.explain(model, X, background=X[:, :1])


def test_what_is_wrong_with_the_background_is_told_of_it(model):
    holes = X.copy()
    holes[3, 1] = np.nan
    refuses(r"background holds NaN .* in row 3, column 'x1'", wc.explain, model, X, background=holes)
    refuses(r"background holds NaN", wc.neuralize, model, holes)
    refuses(r"X holds NaN .* in row 3", wc.explain, model, holes)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_centres_that_are_no_numbers_are_not_called_large(value):
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    model.cluster_centers_[1, 0] = value
    refuses(r"holds NaN or infinite numbers \(prototypes\).*fit it again", wc.explain, model, X)
    large = KMeans(3, n_init=1, random_state=0).fit(X)
    large.cluster_centers_[1, 0] = 1e200
    refuses(r"too large for float64", wc.explain, large, X)


DOCUMENTS = ["red apple", "green apple", "blue sky", "dark sky"] * 5


@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, pd.Series, pl.Series, lambda texts: np.array(texts, dtype=object)]
)
def test_documents_must_be_vectorised_first(kind):
    pipeline = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0), k_means(2)).fit(DOCUMENTS)
    documents = kind(DOCUMENTS)
    told = (
        r"one text for each row.*explain a pipeline that begins with a vectorizer.* words.transform\(texts\)"
    )
    refuses(told, wc.explain, pipeline[-1], documents)
    refuses(told, wc.explain, wc.neuralize(pipeline), documents)
    refuses(told, wc.explain, [0, 1] * 10, documents)
    # What is advised works.
    ex = wc.explain(pipeline, documents)
    assert ex.feature_names == sorted(set(" ".join(DOCUMENTS).split()))
    np.testing.assert_array_equal(ex.assigned, pipeline.predict(DOCUMENTS))


def test_pipelines_that_read_no_table():
    pipeline = make_pipeline(TfidfVectorizer(), k_means(2)).fit(DOCUMENTS)
    told = r"table of 1 column\(s\), expected texts.*pass the column of texts, X\['d'\]"
    refuses(told, wc.explain, pipeline, pd.DataFrame({"d": DOCUMENTS}))
    counts = [{"a": 1.0}, {"b": 2.0}, {"b": 3.0}]
    other = make_pipeline(DictVectorizer(sparse=False), k_means(2)).fit(counts)
    with pytest.raises(TypeError, match=r"begins with DictVectorizer, which reads no table of columns"):
        wc.neuralize(other)
