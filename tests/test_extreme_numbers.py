"""Numbers at the ends: explanations are finite and add up, or are refused in a sentence."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import whyclust as wc
from whyclust.cluster import SoftKMeans

DOUBLE = np.finfo(np.float64).eps
PARTS = ("values", "base_values", "explained", "evidence")
seeds = st.integers(0, 10_000)
examples = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def quietly(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


def table(seed, n_rows, n_columns, n_groups):
    draw = np.random.default_rng(seed)
    middles = draw.normal(scale=4.0, size=(n_groups, n_columns))
    return middles[np.arange(n_rows) % n_groups] + draw.normal(size=(n_rows, n_columns))


def k_means(k):
    return KMeans(k, n_init=1, max_iter=20, random_state=0)


def assert_sound(found, size=0.0, eps=DOUBLE):
    """Finite; and what columns and base have is what is explained, but for the rounding of what is added."""
    for part in PARTS:
        assert np.isfinite(np.asarray(getattr(found, part), dtype=np.float64)).all(), part
    values = np.asarray(found.values, dtype=np.float64)
    gap = np.abs(values.sum(axis=1) + found.base_values - found.explained)
    added = np.abs(values).sum(axis=1) + np.abs(found.base_values) + np.abs(found.explained)
    smallest = 100 * np.finfo(np.float64).smallest_subnormal
    assert (gap <= 200 * eps * (added + size) + smallest).all(), (gap / (added + smallest)).max()


def sound_or_refused(model, X, size=0.0, eps=DOUBLE):
    """Whether it was explained; a refusal is a sentence of ours, or scikit-learn's."""
    try:
        fitted = quietly(lambda: model.fit(X))
        found = quietly(lambda: wc.explain(fitted, X))
    except ValueError as error:
        assert str(error)
        return False
    assert_sound(found, size, eps)
    return True


@pytest.mark.parametrize("kind", ["k-means", "soft", "scaled"])
@examples
@given(seed=seeds, exponent=st.integers(-300, 300))
def test_any_scale(kind, seed, exponent):
    model = {
        "k-means": k_means(3),
        "soft": SoftKMeans(3, n_init=1, max_iter=30, random_state=0),
        "scaled": make_pipeline(StandardScaler(), k_means(3)),
    }[kind]
    with np.errstate(all="ignore"):
        told = sound_or_refused(model, table(seed, 40, 3, 3) * 10.0**exponent)
    # Where squares are numbers, there is nothing to refuse.
    assert told or abs(exponent) > 140


@examples
@given(seed=seeds, steps=st.integers(1, 50))
def test_rows_that_differ_by_single_bits(seed, steps):
    X = np.repeat(table(seed, 4, 3, 4), 8, axis=0)
    X += np.spacing(X) * np.random.default_rng(seed).integers(-steps, steps + 1, size=X.shape)
    assert sound_or_refused(k_means(4), X, size=float(np.square(X).max()))


@examples
@given(seed=seeds, n_rows=st.integers(2, 60))
def test_as_many_clusters_as_rows(seed, n_rows):
    X = table(seed, n_rows, 2, n_rows)
    found = quietly(lambda: wc.explain(k_means(n_rows).fit(X), X))
    assert_sound(found)
    assert len(set(found.clusters.tolist())) == n_rows


@examples
@given(seed=seeds)
def test_many_clusters(seed):
    X = table(seed, 400, 2, 150)
    # A row between two of many clusters is told by the difference of two squared distances.
    assert sound_or_refused(k_means(150), X, size=float(np.square(X - X.mean(axis=0)).max()))


@examples
@given(seed=seeds, n_columns=st.integers(200, 2000))
def test_far_more_columns_than_rows(seed, n_columns):
    X = table(seed, 12, n_columns, 3)
    assert sound_or_refused(k_means(3), X)
    assert sound_or_refused(make_pipeline(StandardScaler(), k_means(3)), X)


@examples
@given(seed=seeds, exponent=st.integers(1, 12), whiten=st.booleans())
def test_ill_conditioned_rotations(seed, exponent, whiten):
    """Columns that are nearly sums of others: the last components have nearly no variance."""
    X = table(seed, 60, 4, 3)
    X[:, 3] = X[:, 0] + X[:, 1] + 10.0**-exponent * X[:, 3]
    model = make_pipeline(PCA(4, whiten=whiten, svd_solver="full"), k_means(3)).fit(X)
    found = quietly(lambda: wc.explain(model, X))
    # Whitened, rows are divided by those deviations, and so is their rounding.
    stretched = (10.0**exponent if whiten else 1.0) * float(np.square(model[0].transform(X)).max())
    assert_sound(found, size=stretched * float(np.abs(X).max()))


@examples
@given(seed=seeds, count=st.integers(1, 1000))
def test_denormal_columns(seed, count):
    X = table(seed, 30, 3, 3)
    X[:, 1] = np.finfo(np.float64).smallest_subnormal * np.random.default_rng(seed).integers(0, count + 1, 30)
    assert sound_or_refused(k_means(3), X)
    tiny = X[:, [1]] * np.ones((1, 2))
    sound_or_refused(k_means(2), tiny)


@examples
@given(seed=seeds, offset=st.sampled_from([0.0, 1e2, 1e4, 1e6]))
def test_single_precision_far_from_zero(seed, offset):
    X = (table(seed, 60, 3, 3) + offset).astype(np.float32)
    eps = float(np.finfo(np.float32).eps)
    # Centres are single precision, too: a spacing of them, times how far rows are apart.
    assert sound_or_refused(k_means(3), X, size=float(np.square(X - X.mean(axis=0)).max()), eps=eps)


@examples
@given(seed=seeds)
def test_mixed_types(seed):
    draw = np.random.default_rng(seed)
    numbers = table(seed, 60, 3, 3)
    frame = pd.DataFrame(
        {
            "float": numbers[:, 0],
            "single": numbers[:, 1].astype(np.float32),
            "whole": (10 * numbers[:, 2]).astype(np.int16),
            "flag": draw.random(60) < 0.3,
            "town": pd.Categorical(draw.choice(["a", "b", "c"], 60)),
        }
    )
    encode = make_column_transformer(
        (StandardScaler(), ["float", "single", "whole"]), (OneHotEncoder(), ["town"]), remainder="passthrough"
    )
    assert sound_or_refused(make_pipeline(encode, k_means(3)), frame)


@examples
@given(
    seed=seeds,
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    row=st.integers(0, 29),
    column=st.integers(0, 2),
)
def test_what_is_no_number_never_passes_silently(seed, bad, row, column):
    X = table(seed, 30, 3, 3)
    model = k_means(3).fit(X)
    wrong = X.copy()
    wrong[row, column] = bad
    net = wc.neuralize(model, X)
    for ask in (lambda: wc.explain(model, wrong), lambda: net.relevance(wrong), lambda: net.predict(wrong)):
        with pytest.raises(ValueError, match=rf"row {row}\b.*column"):
            ask()
