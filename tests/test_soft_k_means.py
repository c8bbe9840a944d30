"""SoftKMeans against the equations of supplement E, and the numerical functions below it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

import generators
from whyclust.cluster import SoftKMeans, _distances
from whyclust.cluster._distances import (
    group_log_sum_exp,
    group_starts,
    row_blocks,
    squared_distances,
)
from whyclust.cluster._margins import inverse_mean_margin, margins
from whyclust.cluster._mixture_em import em_step

ONE_GROUP = np.array([0])


@pytest.fixture
def blobs():
    return make_blobs(200, n_features=3, centers=4, cluster_std=1.0, random_state=3)


def literal_logits(X, centres, stiffness):
    """Eq. (31), one entry at a time."""
    return np.array([[-stiffness * np.sum((x - mu) ** 2) for mu in centres] for x in X])


# --- distances -----------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_squared_distances_keep_their_digits(offset, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 5)) + offset).astype(dtype)
    Y = (rng.normal(size=(7, 5)) + offset).astype(dtype)
    wide_X, wide_Y = X.astype(np.longdouble), Y.astype(np.longdouble)
    expected = np.square(wide_X[:, None] - wide_Y[None]).sum(axis=2)
    found = squared_distances(X, Y)
    assert found.dtype == np.float64
    # The offset itself costs nothing: X and Y are rounded, their difference is not.
    assert np.abs(found - expected).max() < 1e-12 * max(1.0, np.sqrt(offset))


def test_squared_distances_are_never_negative():
    X = np.random.default_rng(1).normal(size=(50, 40)) * 1e3
    assert squared_distances(X, X).min() >= 0


@settings(deadline=None)
@given(st.integers(0, 5000), st.integers(1, 2**21))
def test_row_blocks_cover_every_row_once(n_rows, width):
    blocks = list(row_blocks(n_rows, width))
    covered = [row for block in blocks for row in range(block.start, block.stop)]
    assert covered == list(range(n_rows))
    for block in blocks:
        rows = block.stop - block.start
        assert rows == 1 or rows * width <= _distances.BLOCK_ELEMENTS


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, 1000))
def test_group_log_sum_exp_equals_scipy(sizes, seed):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    logits = 1e3 * np.random.default_rng(seed).normal(size=(4, len(groups)))
    expected = np.column_stack([logsumexp(logits[:, groups == group], axis=1) for group in range(len(sizes))])
    found = group_log_sum_exp(logits, group_starts(groups))
    assert np.abs(found - expected).max() < 1e-10


def test_margins_and_their_inverse_mean():
    scores = np.random.default_rng(2).normal(size=(20, 5))
    ordered = np.sort(scores, axis=1)
    assert np.array_equal(margins(scores), ordered[:, 1] - ordered[:, 0])
    assert inverse_mean_margin(scores) == pytest.approx(1 / margins(scores).mean())
    assert inverse_mean_margin(scores[:, :1]) == 1.0


@pytest.mark.parametrize("scale", [0.0, 1e-320])
def test_beta_is_finite_where_all_clusters_coincide(scale):
    with pytest.warns(ConvergenceWarning, match="beta_ was set to 1"):
        assert inverse_mean_margin(scale * np.array([[0.0, 1.0], [1.0, 0.0]])) == 1.0


# --- the mixture of tied isotropic Gaussians -------------------------------------------------


def test_one_step_equals_the_literal_mixture_update(blobs):
    X = blobs[0][:40] - blobs[0][:40].mean(axis=0)
    centres, stiffness, epsilon = X[:4].copy(), 0.3, 1e-9
    responsibilities = np.exp(literal_logits(X, centres, stiffness))
    responsibilities /= responsibilities.sum(axis=1, keepdims=True)
    expected = np.array(
        [
            sum(responsibilities[n, k] * X[n] for n in range(len(X)))
            / sum(responsibilities[n, k] for n in range(len(X)))
            for k in range(4)
        ]
    )
    spread = sum(
        responsibilities[n, k] * np.sum((X[n] - expected[k]) ** 2) for n in range(len(X)) for k in range(4)
    )
    step = em_step(X, centres, ONE_GROUP, stiffness, epsilon=epsilon)
    assert np.abs(step.support_vectors - expected).max() < 1e-10
    assert abs(step.gamma - 1 / (2 * spread / X.size + epsilon)) < 1e-10


@pytest.mark.parametrize("learn_gamma", [True, False])
def test_objective_never_increases(blobs, learn_gamma):
    X = blobs[0] - blobs[0].mean(axis=0)
    centres, stiffness = X[:6].copy(), 0.5
    objectives = []
    for _ in range(60):
        step = em_step(X, centres, ONE_GROUP, stiffness, learn_gamma=learn_gamma)
        centres, stiffness = step.support_vectors, step.gamma
        objectives.append(step.objective)
    assert np.diff(objectives).max() < 1e-9
    assert objectives[-1] < objectives[0] - 1


# --- the estimator ---------------------------------------------------------------------------


def test_finds_blobs_and_their_scale():
    X, y = make_blobs(2000, n_features=4, centers=5, cluster_std=0.7, random_state=0)
    model = SoftKMeans(5, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.99
    assert model.stiffness_ == pytest.approx(1 / (2 * 0.7**2), rel=0.05)


def test_estimated_stiffness_is_a_fixed_point(blobs):
    X = blobs[0]
    model = SoftKMeans(4, tol=0, max_iter=1000, n_init=1, random_state=0).fit(X)
    probabilities = model.predict_proba(X)
    spread = (probabilities * model.transform(X) ** 2).sum()
    assert model.stiffness_ == pytest.approx(1 / (2 * spread / X.size), rel=1e-5)
    centres = probabilities.T @ X / probabilities.sum(axis=0)[:, None]
    assert np.abs(centres - model.cluster_centers_[:, :]).max() < 1e-5


def test_probabilities_and_objective_equal_the_equations(blobs):
    X = blobs[0][:50]
    model = SoftKMeans(3, random_state=0).fit(X)
    logits = literal_logits(X, model.cluster_centers_, model.stiffness_)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert np.abs(model.predict_proba(X) - expected).max() < 1e-10
    assert np.array_equal(model.predict(X), expected.argmax(axis=1))
    density = (model.stiffness_ / np.pi) ** (3 / 2) * np.exp(logits).mean(axis=1)
    assert model.score(X) == pytest.approx(np.log(density).mean(), rel=1e-10)
    constant = 0.5 * X.size * np.log(np.pi)
    assert model.objective_ == pytest.approx(-np.log(density).sum() - constant, rel=1e-10)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
def test_decision_function_equals_lemmas_3_and_4(blobs, threshold):
    X = blobs[0][:60]
    parameters = {"n_clusters": 4, "stiffness": 0.1, "random_state": 0}
    relative = SoftKMeans(**parameters).fit(X)
    absolute = SoftKMeans(**parameters, decision="absolute", threshold=threshold).fit(X)
    p = relative.predict_proba(X)
    for c in range(4):
        others = np.delete(p, c, axis=1)
        expected = np.log(p[:, c] / others.max(axis=1))
        assert np.abs(relative.decision_function(X)[:, c] - expected).max() < 1e-9
        expected = np.log(p[:, c] / others.sum(axis=1)) + np.log((1 - threshold) / threshold)
        assert np.abs(absolute.decision_function(X)[:, c] - expected).max() < 1e-9
    assert np.array_equal(absolute.decision_function(X) > 0, p > threshold)


def test_beta_is_the_inverse_mean_evidence(blobs):
    X = blobs[0]
    model = SoftKMeans(4, random_state=0).fit(X)
    evidence = model.decision_function(X).max(axis=1)
    assert model.beta_ == pytest.approx(1 / evidence.mean(), rel=1e-10)


def test_stiff_model_is_k_means(blobs):
    X = blobs[0]
    model = SoftKMeans(4, stiffness=1e6, random_state=0).fit(X)
    means = np.array([X[model.labels_ == k].mean(axis=0) for k in range(4)])
    assert np.abs(means - model.cluster_centers_).max() < 1e-9


def test_coinciding_clusters_warn_and_keep_beta_finite():
    X = np.array([[-1.0], [1.0]])
    with pytest.warns(ConvergenceWarning, match="larger stiffness"):
        model = SoftKMeans(2, stiffness=1e-12, init=[[0.0], [0.0]]).fit(X)
    assert model.beta_ == 1.0


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_deterministic_and_global_generator_untouched(blobs, init):
    X = blobs[0]
    with generators.untouched():
        first = SoftKMeans(4, init=init, random_state=7).fit(X)
        second = SoftKMeans(4, init=init, random_state=7).fit(X)
    assert np.array_equal(first.cluster_centers_, second.cluster_centers_)
    assert np.array_equal(first.predict(X), first.labels_)


def test_single_precision_is_kept(blobs):
    X = blobs[0].astype(np.float32)
    single, double = (SoftKMeans(4, random_state=0).fit(Z) for Z in (X, X.astype(np.float64)))
    assert single.cluster_centers_.dtype == np.float32
    for method in ("predict_proba", "transform", "decision_function"):
        assert getattr(single, method)(X).dtype == np.float32
    assert np.abs(single.cluster_centers_ - double.cluster_centers_).max() < 1e-5
    assert np.array_equal(single.labels_, double.labels_)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_offset_and_unit_do_not_matter(blobs, scale):
    X = blobs[0]
    plain = SoftKMeans(4, random_state=0).fit(X)
    shifted = SoftKMeans(4, random_state=0).fit(X + 1e6)
    scaled = SoftKMeans(4, random_state=0).fit(X * scale)
    assert np.array_equal(plain.labels_, shifted.labels_)
    assert np.array_equal(plain.labels_, scaled.labels_)
    assert np.abs(shifted.cluster_centers_ - 1e6 - plain.cluster_centers_).max() < 1e-8
    assert np.abs(shifted.predict_proba(X + 1e6) - plain.predict_proba(X)).max() < 1e-7
    assert scaled.stiffness_ * scale**2 == pytest.approx(plain.stiffness_, rel=1e-8)


def test_given_centres_are_the_only_start(blobs):
    X = blobs[0]
    start = np.array([X[blobs[1] == k].mean(axis=0) for k in range(4)])
    model = SoftKMeans(4, init=start, random_state=0).fit(X)
    assert np.abs(model.cluster_centers_ - start).max() < 2.0  # the order is kept
    with pytest.raises(ValueError, match=r"shape \(3, 3\) but expected finite centres"):
        SoftKMeans(4, init=start[:3]).fit(X)


def test_repeated_points():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    model = SoftKMeans(3, random_state=0).fit(X)
    assert len(set(model.labels_)) == 3
    assert np.isfinite(model.stiffness_)
    assert np.isfinite(model.predict_proba(X)).all()


def test_too_few_distinct_points():
    with pytest.raises(ValueError, match=r"^Found 2 distinct rows \(n_samples=40\).*smaller"):
        SoftKMeans(3).fit(np.repeat([[0.0], [1.0]], 20, axis=0))


@pytest.mark.parametrize(
    "parameters",
    [{"threshold": 1.0}, {"stiffness": 0.0}, {"decision": "neither"}, {"n_clusters": 0}],
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        SoftKMeans(**parameters).fit(np.eye(10))


def test_unfitted():
    with pytest.raises(NotFittedError):
        SoftKMeans().predict(np.eye(3))


def test_frames_in_and_names_out():
    frame = load_iris(as_frame=True).data
    model = SoftKMeans(3, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert list(model.transform(frame).columns) == ["softkmeans0", "softkmeans1", "softkmeans2"]
