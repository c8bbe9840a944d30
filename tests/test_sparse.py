"""Sparse tables: the dense result, without ever being dense."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, OneHotEncoder, QuantileTransformer, StandardScaler

import whyclust as wc
from sparse_rows import random_rows
from whyclust.cluster import KernelKMeans, SoftKMeans
from whyclust.network import FactoredValues

BOUND = 1e-10
GENERATOR = np.random.default_rng(8)
S = random_rows((150, 40), 0.15, GENERATOR)
S.data += 0.5
DENSE = S.toarray()


def largest(array):
    return np.abs(np.asarray(array, dtype=float)).max()


def k_means(k=4):
    return KMeans(k, n_init=2, random_state=0)


MODELS = {
    "k-means": k_means(),
    "mini-batch": MiniBatchKMeans(4, n_init=2, random_state=0),
    "bisecting": BisectingKMeans(5, random_state=0),
    "normalizer": make_pipeline(Normalizer(), k_means()),
    "normalizer l1": make_pipeline(MaxAbsScaler(), Normalizer("l1"), k_means()),
    "normalizer max": make_pipeline(Normalizer("max"), k_means()),
    "max-abs": make_pipeline(MaxAbsScaler(), k_means()),
    "standard": make_pipeline(StandardScaler(with_mean=False), MiniBatchKMeans(3, n_init=1, random_state=0)),
    "svd": make_pipeline(TruncatedSVD(5, random_state=0), k_means()),
    "normalizer, svd": make_pipeline(Normalizer(), TruncatedSVD(5, random_state=0), k_means()),
    "svd, normalizer": make_pipeline(TruncatedSVD(5, random_state=0), Normalizer(), k_means()),
    "svd, tree": make_pipeline(TruncatedSVD(4, random_state=0), BisectingKMeans(4, random_state=0)),
}
FORMS = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "lil_matrix": sp.lil_matrix,
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    return MODELS[request.param].fit(S)


@pytest.mark.parametrize("question", [{}, {"cluster": 1}, {"cluster": 2, "against": 0}], ids=str)
def test_equal_to_the_dense_result(fitted, question):
    net = wc.neuralize(fitted, S)
    assert net.beta == pytest.approx(wc.neuralize(fitted, DENSE).beta, rel=1e-10)
    sparse, dense = net.relevance(S, **question), net.relevance(DENSE, **question)
    assert isinstance(sparse.values, FactoredValues)
    assert largest(np.asarray(sparse.values) - dense.values) < BOUND
    for name in ("base_values", "explained", "evidence"):
        assert largest(getattr(sparse, name) - getattr(dense, name)) < BOUND
    for name in ("clusters", "assigned", "competitors"):
        np.testing.assert_array_equal(getattr(sparse, name), getattr(dense, name))
    assert largest(sparse.values.sum(axis=1) + sparse.base_values - sparse.explained) < BOUND


def test_predict(fitted):
    net = wc.neuralize(fitted, S)
    sure = net.evidence(S) > 1e-9
    np.testing.assert_array_equal(net.predict(S)[sure], fitted.predict(S)[sure])
    assert sure.mean() > 0.9


@pytest.mark.parametrize("form", FORMS)
def test_every_sparse_form(form):
    model = k_means().fit(S)
    ex = wc.explain(model, FORMS[form](S))
    assert ex.is_factored
    assert largest(np.asarray(ex.values) - wc.explain(model, DENSE).values) < BOUND


@pytest.mark.parametrize(
    ("dtype", "result"), [(np.float32, np.float32), (np.int64, np.float64), (bool, np.float64)]
)
def test_types(dtype, result):
    table = S.astype(dtype)
    model = k_means().fit(S)
    ex = wc.explain(model, table)
    assert ex.values.dtype == result
    dense = wc.explain(model, table.toarray().astype(float))
    assert largest(np.asarray(ex.values) - dense.values) < (1e-4 if result == np.float32 else BOUND)


def test_explicit_zeros_and_unsorted_indices():
    table = S.copy()
    table.data[:10] = 0.0
    model = k_means().fit(table.toarray())
    wanted = wc.explain(model, table.toarray()).values
    shuffled = sp.csr_array(table.tocoo())
    for row in range(len(shuffled.indptr) - 1):
        span = slice(shuffled.indptr[row], shuffled.indptr[row + 1])
        shuffled.indices[span] = shuffled.indices[span][::-1].copy()
        shuffled.data[span] = shuffled.data[span][::-1].copy()
    shuffled.has_sorted_indices = False
    assert largest(np.asarray(wc.explain(model, shuffled).values) - wanted) < BOUND


# --------------------------------------------------------------------------- rows, columns, top


@pytest.fixture(scope="module")
def pair():
    model = make_pipeline(Normalizer(), TruncatedSVD(5, random_state=0), k_means()).fit(S)
    net = wc.neuralize(model, S)
    return wc.explain(net, S), wc.explain(net, DENSE)


@pytest.mark.parametrize(
    "key",
    [
        3,
        -1,
        np.int64(5),
        (slice(None), 4),
        (slice(None), [4, 1]),
        (slice(None), -1),
        (7, slice(None)),
        (7, 8),
        (-2, -3),
        (slice(2, 9), slice(0, 20, 3)),
        (slice(None), np.arange(40) % 7 == 0),
        (slice(None), slice(None)),
    ],
    ids=str,
)
def test_parts_on_demand(pair, key):
    sparse, dense = pair
    found = sparse.values[key]
    assert np.shape(found) == np.shape(dense.values[key])
    assert largest(found - dense.values[key]) < BOUND


@pytest.mark.parametrize(
    "rows", [slice(5, 60, 4), [3, 3, 1], np.arange(150) % 9 == 0], ids=["slice", "list", "mask"]
)
def test_rows_stay_factors(pair, rows):
    sparse, dense = pair
    part = sparse.values[rows]
    assert isinstance(part, FactoredValues)
    assert part.shape == dense.values[rows].shape
    assert largest(np.asarray(part) - dense.values[rows]) < BOUND
    explained = sparse[rows]
    assert explained.is_factored
    assert largest(np.asarray(explained.values) - dense[rows].values) < BOUND
    assert largest(explained.data.toarray() - DENSE[rows]) == 0.0


def test_sums_and_means(pair):
    sparse, dense = pair
    for axis in (None, 0, 1):
        assert largest(sparse.values.sum(axis=axis) - dense.values.sum(axis=axis)) < BOUND
        assert largest(sparse.values.mean(axis=axis) - dense.values.mean(axis=axis)) < BOUND
    assert (len(sparse.values), sparse.values.ndim) == (150, 2)
    assert "150 × 40" in repr(sparse.values)


def test_top(pair):
    sparse, dense = pair
    columns, values = sparse.strongest(3)
    np.testing.assert_array_equal(sparse.top(3)[0], np.array(sparse.feature_names)[columns])
    assert columns.shape == values.shape == (150, 3)
    assert largest(np.abs(values) - np.sort(np.abs(dense.values), axis=1)[:, :-4:-1]) < BOUND
    assert largest(np.take_along_axis(dense.values, columns, axis=1) - values) < BOUND


def test_what_people_do_with_it(pair, tmp_path):
    sparse, dense = pair
    assert largest(sparse.to_pandas().to_numpy() - dense.values) < BOUND
    for ours, theirs in zip(sparse.summary(), dense.summary(), strict=True):
        assert (ours.cluster, ours.size, ours.borderline) == (theirs.cluster, theirs.size, theirs.borderline)
        assert largest(ours.features["relevance"] - theirs.features["relevance"]) < BOUND
        one, other = ours.features.set_index("feature"), theirs.features.set_index("feature")
        assert dict(one["direction"]) == dict(other["direction"])
        assert largest(one["inside"] - other.loc[one.index, "inside"]) < BOUND
    assert sparse[3].describe() == dense[3].describe()
    again = wc.load(sparse.save(tmp_path / "ex.npz"))
    assert again.is_factored
    np.testing.assert_array_equal(np.asarray(again.values), np.asarray(sparse.values))
    assert largest(again.data.toarray() - DENSE) == 0.0


def test_groups():
    model = k_means().fit(S)
    groups = {"even": list(range(0, 40, 2))}
    sparse, dense = wc.explain(model, S, groups=groups), wc.explain(model, DENSE, groups=groups)
    assert sparse.feature_names == dense.feature_names
    assert largest(np.asarray(sparse.values) - dense.values) < BOUND
    assert largest(sparse.column("even") - dense.column("even")) < BOUND
    assert largest(sparse.values[:, [0, 3]] - dense.values[:, [0, 3]]) < BOUND


def test_several_prototypes_need_dense_rows():
    model = KernelKMeans(3, algorithm="leave_one_out", gamma=0.3, random_state=0).fit(DENSE)
    with pytest.raises(TypeError, match=r"pass X\.toarray\(\)"):
        wc.explain(model, S)
    soft = SoftKMeans(3, random_state=0).fit(DENSE)
    assert largest(np.asarray(wc.explain(soft, S).values) - wc.explain(soft, DENSE).values) < BOUND


def test_nan_in_a_sparse_table():
    table = S.copy()
    table.data[30] = np.nan
    row, column = np.argwhere(np.isnan(table.toarray()))[0]
    with pytest.raises(ValueError, match=rf"NaN.*row {row}, column 'x{column}'"):
        wc.explain(k_means().fit(S), table)


# --------------------------------------------------------------------------- as numpy does it

ROWS, COLUMNS = 150, 40


def positions(size):
    """Positions along an axis, as lists and arrays of one or two dimensions that fit each other."""
    one = st.integers(-size, size - 1)
    flat = st.lists(one, min_size=3, max_size=3)
    return st.one_of(
        flat,
        flat.map(np.array),
        flat.map(lambda found: np.array(found)[:, None]),
        st.lists(one, min_size=1, max_size=1),
        st.lists(one, max_size=0),
        one.map(np.array),
    )


def along(size):
    """Whatever numpy takes for one axis."""
    one = st.integers(-size, size - 1)
    edge = st.one_of(st.none(), st.integers(-size - 3, size + 3))
    step = st.sampled_from([None, 1, 2, 7, -1, -3])
    mask = st.sets(one, min_size=3, max_size=3).map(lambda found: np.isin(np.arange(size), list(found)))
    return st.one_of(one, one.map(np.int32), st.builds(slice, edge, edge, step), mask, positions(size))


@pytest.fixture(scope="module", params=[None, {"few": [3, 5, 6]}], ids=["single", "groups"])
def both(request):
    values = wc.explain(k_means().fit(S), S, groups=request.param).values
    return values, np.asarray(values)


@settings(max_examples=400, deadline=None)
@given(key=st.one_of(along(ROWS), st.tuples(along(ROWS)), st.tuples(along(ROWS), along(COLUMNS - 2))))
def test_indexed_as_numpy_does(both, key):
    """The same numbers in the same shape, or an IndexError where numpy has one, or three axes."""
    values, dense = both
    try:
        wanted = dense[key]
    except IndexError:
        wanted = None
    if wanted is None or wanted.ndim > 2:
        with pytest.raises(IndexError, match=r"expected.*\.$"):
            values[key]
        return
    found = values[key]
    assert np.shape(found) == wanted.shape
    assert np.asarray(found).dtype == wanted.dtype
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=0, atol=BOUND)


def test_pairs_of_positions_are_single_numbers(pair):
    sparse, dense = pair
    assert sparse.values[[1, 2], [3, 4]].shape == (2,)
    assert largest(sparse.values[[1, 2], [3, 4]] - dense.values[[1, 2], [3, 4]]) < BOUND
    chosen = np.ix_([4, 2, 2], [-1, 7])
    assert largest(sparse.values[chosen] - dense.values[chosen]) < BOUND
    # More of them than one block holds, in no order.
    rows, columns = GENERATOR.integers(-150, 150, 3000), GENERATOR.integers(-40, 40, 3000)
    assert largest(sparse.values[rows, columns] - dense.values[rows, columns]) < BOUND
    # A mask of the whole table is a list of pairs.
    mask = dense.values > np.quantile(dense.values, 0.99)
    assert largest(sparse.values[mask] - dense.values[mask]) < BOUND


def test_ellipsis(pair):
    sparse, dense = pair
    assert sparse.values[...] is sparse.values
    for key in [(..., 3), (3, ...), (..., [3, 4]), (slice(2, 5), ...), (..., slice(2, 5), 1), (2, 3, ...)]:
        assert np.shape(sparse.values[key]) == dense.values[key].shape
        assert largest(np.asarray(sparse.values[key]) - dense.values[key]) < BOUND


@pytest.mark.parametrize(
    "key",
    [
        150,
        -151,
        (0, 40),
        ([0, 150], 0),
        (0, [-41]),
        (0, 0, 0),
        (..., ...),
        None,
        (None, 2),
        True,
        np.True_,
        (False, 0),
        1.0,
        "a",
        [1.0, 2.0],
        (slice(None), "a"),
        np.ones(7, dtype=bool),
        (0, np.ones(7, dtype=bool)),
        np.ones((40, 150), dtype=bool),
        ([1, 2], [3, 4, 5]),
        [[1, 2], [3, 4]],
        [[1, 2], [3]],
        slice(None, None, 0),
        slice(0.5, 2),
    ],
    ids=lambda key: str(key).split("\n")[0][:40],
)
def test_what_cannot_be_asked_for_is_refused_in_a_sentence(pair, key):
    with pytest.raises((IndexError, TypeError, ValueError), match=r"expected.*\.$"):
        pair[0].values[key]


def test_nothing_left(pair):
    """No rows, or no columns, are a table of that shape, which sums and averages as numpy's do."""
    sparse, dense = pair
    for none in (slice(0), [], np.zeros(150, dtype=bool)):
        part, empty = sparse.values[none], dense.values[none]
        assert part.shape == empty.shape == np.asarray(part).shape
        for axis in (None, 0, 1, -1):
            assert np.array_equal(part.sum(axis=axis), empty.sum(axis=axis))
        assert part.mean(axis=1).shape == (0,)
        with pytest.warns(RuntimeWarning, match="invalid value"):
            assert np.isnan(part.mean(axis=0)).all()
        assert [found.shape for found in part.top(3)] == [(0, 3), (0, 3)]
        assert len(sparse[none].summary()) == 0
    assert sparse.values[:, []].shape == (150, 0)
    assert sparse.values[[], []].shape == (0,)
    assert sparse.values[3, :0].shape == (0,)


def test_axes_are_counted_as_numpy_does(pair):
    sparse, dense = pair
    for axis in (None, 0, 1, -1, -2, np.int64(-1)):
        assert largest(sparse.values.sum(axis=axis) - dense.values.sum(axis=axis)) < BOUND
        assert largest(sparse.values.mean(axis=axis) - dense.values.mean(axis=axis)) < BOUND
    for method in (sparse.values.sum, sparse.values.mean):
        for axis in (2, -3, 5):
            with pytest.raises(np.exceptions.AxisError, match=r"axis.*expected 0, 1"):
                method(axis=axis)
        for axis in (1.0, "rows", (0, 1), [0], True):
            with pytest.raises(TypeError, match=r"axis.*expected 0, 1"):
                method(axis=axis)


def test_functions_of_numpy_sum_the_values(pair):
    sparse, dense = pair
    for function in (np.sum, np.mean):
        for options in ({}, {"keepdims": True}, {"keepdims": False}, {"dtype": np.float64}):
            for axis in (None, 0, 1, -1):
                found = function(sparse.values, axis=axis, **options)
                wanted = function(dense.values, axis=axis, **options)
                assert found.shape == wanted.shape
                assert found.dtype == wanted.dtype
                assert largest(found - wanted) < BOUND
        assert function(sparse.values, axis=1, dtype=np.float32).dtype == np.float32
        with pytest.raises(np.exceptions.AxisError, match="axis=2 of values with two axes"):
            function(sparse.values, axis=2)
        with pytest.raises(TypeError, match="dtype=int64, expected a type of real numbers"):
            function(sparse.values, dtype=np.int64)
        for asked in ({"out": np.zeros(150)}, {"where": np.ones((150, 40), dtype=bool)}):
            with pytest.raises(
                TypeError, match=r"kept as factors, expected .*use numpy\.asarray\(values\)\."
            ):
                function(sparse.values, axis=1, **asked)


QUANTILES = {"n_quantiles": 20, "random_state": 0}
BEFORE_QUANTILES = {
    "max-abs": [MaxAbsScaler()],
    "standard": [StandardScaler(with_mean=False)],
    "chosen columns": [VarianceThreshold(0.05), MaxAbsScaler()],
    "quantiles": [QuantileTransformer(**QUANTILES), MaxAbsScaler()],
}


@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "csc_array"])
@pytest.mark.parametrize("steps", BEFORE_QUANTILES.values(), ids=BEFORE_QUANTILES)
@pytest.mark.parametrize("distribution", ["uniform", "normal"])
def test_a_scaler_before_quantiles_hands_on_sparse_rows(form, steps, distribution):
    """Quantiles of sparse rows leave what is not stored at zero, which dense rows do not have."""
    table = S.copy()
    table.data[::7] = 0.0  # stored, and so not left out
    table = FORMS[form](table)
    quantiles = QuantileTransformer(output_distribution=distribution, **QUANTILES)
    model = make_pipeline(*map(clone, steps), quantiles, k_means()).fit(table)
    ex = wc.explain(model, table)
    np.testing.assert_array_equal(ex.clusters, model.predict(table))
    inside = wc.explain(model[-1], model[:-1].transform(table).toarray())
    # Steps that look at one column each do not move relevance between columns.
    kept = model[0].get_support() if hasattr(model[0], "get_support") else np.ones(40, dtype=bool)
    assert largest(ex.values[:, kept] - inside.values) < BOUND
    assert not ex.values[:, ~kept].any()
    assert largest(ex.values.sum(axis=1) + ex.base_values - ex.explained) < BOUND


def test_a_scaler_between_categories_and_quantiles():
    table = np.array([["a", "x"], ["b", "x"], ["a", "y"], ["c", "y"]] * 10, dtype=object)
    steps = [OneHotEncoder(), MaxAbsScaler(), QuantileTransformer(**QUANTILES)]
    model = make_pipeline(*steps, k_means(2)).fit(table)
    ex = wc.explain(model, table)
    np.testing.assert_array_equal(ex.clusters, model.predict(table))
    assert largest(ex.values.sum(axis=1) + ex.base_values - ex.explained) < BOUND


def test_a_copy_is_never_promised_away(pair):
    """The numbers are made when they are looked at."""
    with pytest.raises(ValueError, match="copy"):
        pair[0].values.__array__(copy=False)
    assert np.array(pair[0].values, dtype=np.float32).dtype == np.float32


# --------------------------------------------------------------------------- never densified


@pytest.fixture(scope="module")
def wide():
    return random_rows((20_000, 50_000), 1e-4, np.random.default_rng(0))


@pytest.fixture(scope="module")
def wide_model(wide):
    return MiniBatchKMeans(4, n_init=1, max_iter=3, batch_size=512, random_state=0).fit(wide[:2000])


def peak_of(function):
    """(result, megabytes at the peak)."""
    tracemalloc.start()
    try:
        result = function()
        return result, tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_a_wide_table_is_never_densified(wide, wide_model):
    """Dense it would be 8,000 MB."""
    ex, megabytes = peak_of(lambda: wc.explain(wide_model, wide))
    assert megabytes < 60
    assert ex.shape == (20_000, 50_000)
    row, megabytes = peak_of(lambda: ex.values[19_999])
    assert megabytes < 20
    # One row by hand: the weights of the competitors are the paper's.
    alone = wc.explain(wc.neuralize(wide_model, wide), wide[19_999:].toarray())
    assert largest(row - alone.values[0]) < BOUND
    columns, megabytes = peak_of(lambda: ex.values[:, [7, 49_999]])
    assert megabytes < 20
    assert columns.shape == (20_000, 2)
    assert columns[19_999, 1] == pytest.approx(row[49_999], abs=1e-12)
    found, megabytes = peak_of(lambda: ex[:40].top(5))
    assert megabytes < 150
    assert largest(np.sort(np.abs(row))[-5:][::-1] - np.abs(ex[19_999].top(5)[1][0])) < 1e-12
    assert found[0].shape == (40, 5)


@pytest.mark.parametrize(
    "steps", [[Normalizer()], [MaxAbsScaler()], [TruncatedSVD(3, n_iter=1, random_state=0)]]
)
def test_steps_do_not_densify(wide, steps):
    part = wide[:4000]
    model = make_pipeline(*steps, KMeans(3, n_init=1, max_iter=3, random_state=0)).fit(part[:500])
    ex, megabytes = peak_of(lambda: wc.explain(model, part))
    assert megabytes < 80
    assert largest(ex[:50].values.sum(axis=1) + ex[:50].base_values - ex[:50].explained) < BOUND


def test_whole_matrices_are_not_densified_by_any_method(monkeypatch):
    """Blocks of rows may be; the table itself must not."""
    table = random_rows((5000, 300), 0.01, np.random.default_rng(1))
    model = MiniBatchKMeans(4, n_init=1, max_iter=3, random_state=0).fit(table)

    for kind in (sp.csr_array, sp.csc_array):
        original = kind.toarray

        def watched(self, *args, original=original, **kwargs):
            assert self.shape not in ((5000, 300), (300, 5000)), "the whole table was densified"
            return original(self, *args, **kwargs)

        monkeypatch.setattr(kind, "toarray", watched)
    with pytest.raises(AssertionError, match="densified"):
        table.toarray()
    ex = wc.explain(model, table)
    ex.values[:, 3]
    ex.values[4]
    ex[:5].top(2)


def test_summary_of_a_wide_table_is_cheap(wide, wide_model):
    """A word per column: the summary must not make a dense column of each."""
    ex = wc.explain(wide_model, wide[:300])
    summary, megabytes = peak_of(ex.summary)
    assert len(summary) >= 1
    assert megabytes < 200


def test_groups_of_a_wide_table_are_cheap(wide, wide_model):
    ex, megabytes = peak_of(lambda: wc.explain(wide_model, wide[:300], groups={"few": [0, 1, 2]}))
    assert ex.shape == (300, 49_998)
    assert megabytes < 80


def test_nan_in_a_wide_table_is_found_cheaply(wide, wide_model):
    table = wide[:2000].copy()
    table.data[5] = np.nan

    def failing():
        with pytest.raises(ValueError, match="NaN"):
            wc.explain(wide_model, table)

    assert peak_of(failing)[1] < 80


@pytest.mark.parametrize("middle", [[], [TruncatedSVD(3, random_state=0)]])
def test_a_scaler_before_the_norm_keeps_rows_sparse(middle):
    from sklearn.preprocessing import StandardScaler

    table = random_rows((80, 40), 0.1, np.random.default_rng(2))
    steps = [StandardScaler(with_mean=False), *middle, Normalizer()]
    model = make_pipeline(*steps, KMeans(3, n_init=1, random_state=0)).fit(table)
    net = wc.neuralize(model, table)
    found, dense = net.relevance(table), net.relevance(table.toarray())
    assert isinstance(found.values, wc.network.FactoredValues)
    assert largest(np.asarray(found.values) - dense.values) < BOUND


def test_files_of_sparse_explanations(tmp_path):
    """Every format keeps them sparse, bit for bit; few columns are as sparse as many."""
    few = random_rows((40, 3), 0.5, np.random.default_rng(0))
    many = random_rows((30, 6000), 0.01, np.random.default_rng(1))
    for X, names in (
        (few, None),
        (many, None),
        (many.astype(np.float32), [f"word {i}" for i in range(6000)]),
    ):
        ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X, feature_names=names)
        for suffix in (".npz", ".json", ".parquet"):
            loaded = wc.load(ex.save(tmp_path / f"ex{suffix}"))
            assert loaded.is_factored
            assert same_bits(loaded.values.points, ex.values.points)
            assert same_bits(loaded.data, ex.data)
            assert np.asarray(loaded.values).tobytes() == np.asarray(ex.values).tobytes()
            assert loaded.values.weights.tobytes() == ex.values.weights.tobytes()
            assert loaded.values.weights.dtype == ex.values.weights.dtype
            assert loaded.feature_names == ex.feature_names
            arrays = (loaded.evidence, loaded.values.folded.nodes.slopes, loaded.data.data)
            assert all(array.flags.writeable for array in arrays)
            assert loaded.describe() == ex.describe()


def same_bits(one, other):
    parts = [(getattr(one, name), getattr(other, name)) for name in ("data", "indices", "indptr")]
    return one.shape == other.shape and all(
        a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in parts
    )


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_few_sparse_rows_in_a_table_of_lists(rows, tmp_path):
    X = random_rows((40, 5000), 0.01, np.random.default_rng(0))
    groups = {"even": list(range(0, 5000, 2))}
    ex = wc.explain(KMeans(4, n_init=1, random_state=0).fit(X), X, groups=groups)[:rows]
    loaded = wc.load(ex.save(tmp_path / "ex.parquet"))
    assert loaded.shape == ex.shape == (rows, 2501)
    assert loaded.values.weights.shape == ex.values.weights.shape
    np.testing.assert_array_equal(np.asarray(loaded.values), np.asarray(ex.values))


def test_other_tools_read_sparse_rows(tmp_path):
    """A row's entries are two lists; what is large and no column is in the first row, not in the metadata."""
    import pandas as pd
    import pyarrow.parquet as pq

    X = random_rows((50, 6000), 0.01, np.random.default_rng(0))
    ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X)
    frame = pd.read_parquet(ex.save(tmp_path / "ex.parquet"))
    np.testing.assert_array_equal(frame["cluster"], ex.clusters)
    for row in (0, 49):
        own = X[[row]].tocsr()
        np.testing.assert_array_equal(frame["data.columns"][row], own.indices)
        np.testing.assert_array_equal(frame["data.values"][row], own.data)
        np.testing.assert_array_equal(frame["factors.competitors"][row], ex.values.weights[:, row])
    slopes = "values/folded/nodes/slopes"
    assert [len(entry) for entry in frame[slopes]] == [ex.values.folded.nodes.slopes.size, *[0] * 49]
    # The names of the columns are most of it: arrays of 18,000 numbers are not.
    assert len(pq.read_schema(tmp_path / "ex.parquet").metadata[b"whyclust"]) < 30 * 6000


def test_a_flipped_bit_in_a_table_of_lists_is_refused(tmp_path):
    X = random_rows((20, 30), 0.2, np.random.default_rng(0))
    path = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X).save(tmp_path / "ex.parquet")
    whole, generator = path.read_bytes(), np.random.default_rng(0)
    for place in generator.choice(len(whole), 100, replace=False).tolist():
        changed = bytearray(whole)
        changed[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(bytes(changed))
        with pytest.raises(ValueError, match="not a file that whyclust has written, or it is damaged"):
            wc.load(path)


def test_lists_of_different_lengths_are_refused(tmp_path):
    """Another program has written the table again, so there is no digest that would tell."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = random_rows((20, 30), 0.2, np.random.default_rng(0))
    path = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X).save(tmp_path / "ex.parquet")
    table = pq.read_table(path)
    pq.write_table(table, path)
    assert wc.load(path).shape == (20, 30)
    shorter = pa.array([entry[1:] for entry in table.column("data.values").to_pylist()])
    place = table.column_names.index("data.values")
    pq.write_table(table.set_column(place, "data.values", shorter), path)
    with pytest.raises(ValueError, match="damaged"):
        wc.load(path)
