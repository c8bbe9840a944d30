"""KernelKMeans against the papers' equations, written out entry by entry."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import StandardScaler

import generators
import whyclust as wc
from whyclust.cluster import KernelKMeans
from whyclust.cluster._distances import group_starts
from whyclust.cluster._feature_space import (
    fill_empty_clusters,
    leave_one_out_distances,
    standard_distances,
)
from whyclust.cluster._kernels import Kernel, KernelSums
from whyclust.cluster._mixture_em import em_step, reseed_empty_groups, run_em
from whyclust.cluster._starts import check_start_labels, is_better, seed_support_vectors

ALGORITHMS = ["em", "standard", "leave_one_out"]


@pytest.fixture
def blobs():
    return make_blobs(120, n_features=3, centers=3, cluster_std=1.5, random_state=1)


@pytest.fixture(scope="module")
def unequal():
    """Clusters of very different width: their centroids differ in norm."""
    rng = np.random.default_rng(5)
    parts = [rng.normal(size=(50, 2)) * 0.2, rng.normal(size=(30, 2)) + 2, rng.normal(size=(20, 2))]
    parts[2] = 2.5 * parts[2] - 3
    return np.concatenate(parts), np.repeat([0, 1, 2], [50, 30, 20])


def gaussian(X, Y, gamma):
    """Gaussian kernel, from differences: no expansion of the square."""
    return np.exp(-gamma * np.square(X[:, None] - Y[None]).sum(axis=2))


def literal_feature_distance(kernel_xx, kernel_xu, kernel_uu, normalizer=None):
    """K(x,x) − 2/Z Σ K(x,u) + 1/Z² ΣΣ K(u,u'), one cluster."""
    normalizer = kernel_uu.shape[0] if normalizer is None else normalizer
    return kernel_xx - 2 / normalizer * kernel_xu.sum(axis=1) + kernel_uu.sum() / normalizer**2


# --- EM: supplement F ------------------------------------------------------------------------


def literal_em_step(X, vectors, groups, gamma, epsilon, labels=None):
    """Eqs. (36), (37), (38) in loops; with labels, these are the points' clusters."""
    n_samples, n_features = X.shape
    n_clusters = groups.max() + 1
    lme = np.empty((n_samples, n_clusters))
    for n in range(n_samples):
        for k in range(n_clusters):
            own = [u for u, g in zip(vectors, groups, strict=True) if g == k]
            mean = sum(np.exp(-gamma * np.sum((X[n] - u) ** 2)) for u in own) / len(own)
            lme[n, k] = -np.log(mean) / gamma
    delta = lme.argmin(axis=1) if labels is None else labels
    objective = gamma * sum(lme[n, delta[n]] for n in range(n_samples))
    objective -= n_samples * n_features / 2 * np.log(gamma)
    responsibilities = np.zeros((n_samples, len(vectors)))
    for n in range(n_samples):
        own = np.flatnonzero(groups == delta[n])
        terms = [np.exp(-gamma * np.sum((X[n] - vectors[j]) ** 2)) for j in own]
        responsibilities[n, own] = np.array(terms) / sum(terms)
    updated = np.array(
        [
            sum(responsibilities[n, j] * X[n] for n in range(n_samples))
            / sum(responsibilities[n, j] for n in range(n_samples))
            for j in range(len(vectors))
        ]
    )
    spread = sum(
        responsibilities[n, j] * np.sum((X[n] - updated[j]) ** 2)
        for n in range(n_samples)
        for j in range(len(vectors))
    )
    new_gamma = 1 / (2 / (n_samples * n_features) * spread + epsilon)
    return updated, new_gamma, objective, delta


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    gamma=st.floats(0.05, 3.0),
)
def test_one_em_step_equals_the_literal_equations(seed, sizes, gamma):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3))
    X -= X.mean(axis=0)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    # Close to all points, so that every component has weight in the literal quotient.
    vectors = 0.5 * rng.normal(size=(len(groups), 3))
    with np.errstate(invalid="ignore"):
        expected = literal_em_step(X, vectors, groups, gamma, 1e-9)
    # Without points in every cluster the literal equation divides by zero.
    assume(np.isfinite(expected[0]).all())
    step = em_step(X, vectors, group_starts(groups), gamma, epsilon=1e-9)
    assert np.array_equal(step.labels, expected[3])
    assert np.abs(step.support_vectors - expected[0]).max() < 1e-10
    assert abs(step.gamma - expected[1]) < 1e-10 * max(1.0, expected[1])
    assert abs(step.objective - expected[2]) < 1e-10 * max(1.0, abs(expected[2]))


@pytest.mark.parametrize("seed", range(5))
def test_one_em_step_with_fixed_labels_equals_the_literal_equations(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3))
    X -= X.mean(axis=0)
    groups, labels = np.repeat([0, 1, 2], [2, 3, 1]), rng.permutation(np.arange(25) % 3)
    vectors = 0.5 * rng.normal(size=(len(groups), 3))
    expected = literal_em_step(X, vectors, groups, 0.5, 1e-9, labels)
    step = em_step(X, vectors, group_starts(groups), 0.5, epsilon=1e-9, given=labels)
    assert np.array_equal(step.labels, labels)
    assert np.abs(step.support_vectors - expected[0]).max() < 1e-10
    assert abs(step.gamma - expected[1]) < 1e-10 * max(1.0, expected[1])
    assert abs(step.objective - expected[2]) < 1e-10 * max(1.0, abs(expected[2]))


@pytest.mark.parametrize("learn_gamma", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_objective_never_increases_without_noise(seed, learn_gamma):
    X = StandardScaler().fit_transform(load_wine().data)
    rng = np.random.RandomState(seed)
    labels = rng.permutation(np.arange(len(X)) % 3)
    vectors, _ = seed_support_vectors(X, labels, 3, 5, rng)
    starts, gamma, objectives = np.array([0, 5, 10]), 0.1, []
    for _ in range(60):
        step = em_step(X, vectors, starts, gamma, learn_gamma=learn_gamma)
        vectors, gamma = step.support_vectors, step.gamma
        objectives.append(step.objective)
    assert np.diff(objectives).max() < 1e-8
    assert objectives[-1] < objectives[0] - 1


def test_empty_group_moves_to_the_worst_point():
    X = np.concatenate([np.zeros((10, 1)), np.full((3, 1), 100.0)]) + np.arange(13)[:, None] / 100
    vectors = np.array([[0.0], [0.1], [-1e4], [-1e4]])
    starts = np.array([0, 2])
    step = em_step(X, vectors, starts, 1.0)
    moved = reseed_empty_groups(X, step, starts)
    assert np.array_equal(moved[:2], step.support_vectors[:2])
    assert (moved[2:] >= 100).all()
    after = em_step(X, moved, starts, 1.0)
    assert after.objective <= step.objective
    assert set(after.labels) == {0, 1}


def test_em_objective_and_scores_equal_the_equations(blobs):
    X = blobs[0]
    model = KernelKMeans(3, n_support=4, n_init=2, random_state=0).fit(X)
    assert model.support_vectors_.shape == (12, 3)
    assert np.array_equal(model.support_clusters_, np.repeat([0, 1, 2], 4))
    lme = np.empty((len(X), 3))
    for k in range(3):
        own = model.support_vectors_[model.support_clusters_ == k]
        lme[:, k] = -np.log(gaussian(X, own, model.gamma_).mean(axis=1)) / model.gamma_
    assert np.abs(model.outlier_scores(X) - lme).max() < 1e-9
    objective = model.gamma_ * lme.min(axis=1).sum() - X.size / 2 * np.log(model.gamma_)
    assert model.objective_ == pytest.approx(objective, rel=1e-10)


def test_given_gamma_is_kept(blobs):
    assert KernelKMeans(3, gamma=0.37, n_init=1).fit(blobs[0]).gamma_ == 0.37


def test_em_finds_blobs():
    X, y = make_blobs(300, n_features=5, centers=4, cluster_std=0.8, random_state=0)
    model = KernelKMeans(4, n_support=3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.98


def test_every_point_its_own_support_vector_stays_finite(blobs):
    X = blobs[0][:12]
    model = KernelKMeans(2, n_support=10, random_state=0).fit(X)
    assert np.isfinite(model.gamma_)
    assert np.isfinite(model.outlier_scores(X)).all()
    assert np.isfinite(model.outlier_scores(1e4 * X)).all()


# --- Proposition 4 ---------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 8),
    gamma=st.floats(0.05, 1.0),
    spherical=st.booleans(),
)
def test_proposition_4(seed, size, gamma, spherical):
    rng = np.random.default_rng(seed)
    # Near points: far away 1 − ξ/2 − Δ is a difference of almost equal numbers.
    x, vectors = rng.uniform(-1, 1, size=(6, 2)), rng.uniform(-1, 1, size=(size, 2))
    kernel_uu = gaussian(vectors, vectors, gamma)
    normalizer = np.sqrt(kernel_uu.sum()) if spherical else float(size)
    distance = literal_feature_distance(1.0, gaussian(x, vectors, gamma), kernel_uu, normalizer)
    squared_norm = kernel_uu.sum() / normalizer**2
    delta, h = (1 - squared_norm) / 2, np.log(size / normalizer)
    transformed = (-np.log(1 - (distance / 2 + delta)) + h) / gamma  # g_c with Li_1
    lme = -np.log(gaussian(x, vectors, gamma).mean(axis=1)) / gamma
    assert np.abs(transformed - lme).max() < 1e-10 / gamma


@pytest.mark.parametrize("algorithm", ["standard", "leave_one_out"])
def test_stored_offsets_are_those_of_proposition_4(unequal, algorithm):
    X, labels = unequal
    model = KernelKMeans(3, algorithm=algorithm, gamma=0.5, init=labels, max_iter=0).fit(X)
    for k in range(3):
        own = X[labels == k]
        kernel_uu = gaussian(own, own, 0.5)
        normalizer = np.sqrt(kernel_uu.sum()) if algorithm == "leave_one_out" else len(own)
        offsets = model.support_offsets_[model.support_clusters_ == k]
        assert np.abs(offsets - np.log(normalizer) / 0.5).max() < 1e-10
        assert model.squared_norms_[k] == pytest.approx(kernel_uu.sum() / normalizer**2)
        inner = gaussian(X, own, 0.5).sum(axis=1) / normalizer
        assert np.abs(model.inlierness(X)[:, k] - inner - model.background_[k]).max() < 1e-10


# --- standard kernel k-means, Eq. (5) --------------------------------------------------------


def literal_standard_distances(model, X, gamma):
    columns = []
    for k in range(model.n_clusters):
        own = model.support_vectors_[model.support_clusters_ == k]
        columns.append(literal_feature_distance(1.0, gaussian(X, own, gamma), gaussian(own, own, gamma)))
    return np.column_stack(columns)


@pytest.mark.parametrize("gamma", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("max_iter", [0, 100])
def test_standard_predict_is_the_nearest_centroid_in_feature_space(unequal, gamma, max_iter):
    X, labels = unequal
    model = KernelKMeans(3, algorithm="standard", gamma=gamma, init=labels, max_iter=max_iter)
    model.fit(X)
    assert np.ptp(model.squared_norms_) > 1e-3
    rng = np.random.default_rng(0)
    points = np.concatenate([scale * rng.normal(size=(500, 2)) for scale in (1, 3, 10, 100)])
    distances = literal_standard_distances(model, points, gamma)
    ordered = np.sort(distances, axis=1)
    clear = ordered[:, 1] - ordered[:, 0] > 1e-12
    assert clear.mean() > 0.99
    assert np.array_equal(model.predict(points)[clear], distances.argmin(axis=1)[clear])
    assert np.array_equal(model.predict(X), model.labels_)


def test_equal_norms_leave_no_background():
    rng = np.random.default_rng(3)
    half = rng.normal(size=(40, 2))
    X = np.concatenate([half + 3, -half - 3])
    labels = np.repeat([0, 1], 40)
    model = KernelKMeans(2, algorithm="standard", gamma=0.3, init=labels).fit(X)
    assert np.array_equal(model.background_, [0.0, 0.0])
    far = np.array([[1e3, 1e3], [-1e3, -1e3]])  # every kernel underflows there
    assert np.array_equal(model.predict(far), [0, 1])


def literal_lloyd(kernel, labels, n_clusters):
    """Kernel k-means from the kernel matrix alone."""
    while True:
        distances = np.empty((len(labels), n_clusters))
        for k in range(n_clusters):
            own = labels == k
            distances[:, k] = literal_feature_distance(
                np.diag(kernel), kernel[:, own], kernel[np.ix_(own, own)]
            )
        if np.array_equal(distances.argmin(axis=1), labels):
            return labels, distances[np.arange(len(labels)), labels].sum()
        labels = distances.argmin(axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_standard_fit_equals_literal_lloyd(seed, blobs):
    X = blobs[0]
    start = np.random.RandomState(seed).permutation(np.arange(len(X)) % 3)
    labels, objective = literal_lloyd(gaussian(X, X, 0.1), start, 3)
    model = KernelKMeans(3, algorithm="standard", gamma=0.1, init=start).fit(X)
    assert np.array_equal(model.labels_, labels)
    assert model.objective_ == pytest.approx(objective, rel=1e-10)


@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        ("linear", {}),
        ("polynomial", {"gamma": 0.1, "degree": 2, "coef0": 0.5}),
        ("laplacian", {"gamma": 0.2}),
        ("cosine", {}),
        (lambda x, y: float(np.exp(-np.abs(x - y).sum())), {}),
    ],
)
def test_other_kernels_predict_through_kernel_expansions(blobs, kernel, parameters):
    X = blobs[0][:60]
    points = np.random.default_rng(0).normal(size=(80, 3)) * 5
    for algorithm in ("standard", "leave_one_out"):
        model = KernelKMeans(3, algorithm=algorithm, kernel=kernel, n_init=2, random_state=0)
        model.set_params(**parameters).fit(X)
        vectors, clusters = model.support_vectors_, model.support_clusters_
        distances = np.empty((len(points), 3))
        inner = np.empty((len(points), 3))
        for k in range(3):
            own = vectors[clusters == k]
            kernel_uu = pairwise_kernels(own, metric=kernel, **parameters)
            kernel_xu = pairwise_kernels(points, own, metric=kernel, **parameters)
            kernel_xx = np.diag(pairwise_kernels(points, metric=kernel, **parameters))
            total = np.sqrt(kernel_uu.sum())
            normalizer = len(own) if algorithm == "standard" else total
            inner[:, k] = kernel_xu.sum(axis=1) / normalizer
            distances[:, k] = literal_feature_distance(kernel_xx, kernel_xu, kernel_uu, normalizer)
        scale = np.abs(distances).max()
        assert np.abs(model.outlier_scores(points) - distances).max() < 1e-10 * scale
        assert np.array_equal(model.predict(points), distances.argmin(axis=1))
        found = model.inlierness(points) - model.background_
        assert np.abs(found - inner).max() < 1e-10 * scale
        assert np.array_equal(model.inlierness(points).argmax(axis=1), model.predict(points))
        assert np.array_equal(model.predict(X), model.labels_)
        assert np.abs(model.predict_proba(points).sum(axis=1) - 1).max() < 1e-12
        assert not hasattr(model, "support_offsets_")


def test_linear_kernel_is_k_means(blobs):
    X = blobs[0] - blobs[0].mean(axis=0)
    k_means = KMeans(3, n_init=10, random_state=0).fit(X)
    model = KernelKMeans(3, algorithm="standard", kernel="linear", random_state=0).fit(X)
    assert adjusted_rand_score(k_means.labels_, model.labels_) == 1.0
    assert model.objective_ == pytest.approx(k_means.inertia_)


def test_kernel_sums_in_blocks_equal_the_kept_matrix(blobs, monkeypatch):
    X, labels = blobs
    kept = KernelSums(Kernel("rbf", 0.2), X)
    monkeypatch.setattr("whyclust.cluster._distances.BLOCK_ELEMENTS", 1000)
    blocks = KernelSums(Kernel("rbf", 0.2), X, kept_bytes=0)
    sums = kept.over_clusters(labels, 3)
    assert np.abs(blocks.over_clusters(labels, 3) - sums).max() < 1e-12
    kernel = gaussian(X, X, 0.2) - np.eye(len(X))
    expected = np.column_stack([kernel[:, labels == k].sum(axis=1) for k in range(3)])
    assert np.abs(sums - expected).max() < 1e-10


def test_empty_clusters_are_filled_and_infinitely_far():
    kernel = KernelSums(Kernel("rbf", 1.0), np.arange(5.0)[:, None])
    labels = np.array([0, 0, 0, 2, 2])
    sums = kernel.over_clusters(labels, 3)
    for distances_of in (standard_distances, leave_one_out_distances):
        distances = distances_of(sums, kernel.diagonal, labels)
        assert np.isinf(distances[:, 1]).all()
        assert np.isfinite(distances[:, [0, 2]]).all()
    filled = fill_empty_clusters(labels, np.array([1.0, 2.0, 9.0, 3.0, 4.0]), 3)
    assert np.array_equal(filled, [0, 0, 1, 2, 2])
    # The worst point is alone in its cluster, which would be empty next: the next worst one goes.
    alone = fill_empty_clusters(np.array([0, 0, 1]), np.array([0.1, 0.3, 0.9]), 3)
    assert np.array_equal(alone, [0, 2, 1])


# --- leave-one-out, 001 appendix E -----------------------------------------------------------


def literal_leave_one_out(kernel, labels, n_clusters):
    """The four steps; centroids computed anew for every point and cluster.

    Returns all assignments visited with their objectives.
    """
    visited = []
    for _ in range(101):
        distances = np.empty((len(labels), n_clusters))
        for point in range(len(labels)):
            for k in range(n_clusters):
                members = [j for j in range(len(labels)) if labels[j] == k and j != point]
                alpha = kernel[np.ix_(members, members)].sum() ** -0.5
                inner = alpha * kernel[point, members].sum()
                distances[point, k] = kernel[point, point] - 2 * inner + 1
        visited.append((labels, distances[np.arange(len(labels)), labels].sum()))
        if np.array_equal(distances.argmin(axis=1), labels):
            break
        labels = distances.argmin(axis=1)
    return visited


@pytest.mark.parametrize(
    ("gamma", "seed", "converges"),
    [*((gamma, seed, True) for gamma in (0.02, 0.1) for seed in range(3)), (0.5, 1, False)],
)
def test_leave_one_out_fit_equals_the_literal_steps(gamma, seed, converges, blobs):
    X = blobs[0][:60]
    start = np.random.RandomState(seed).permutation(np.arange(60) % 3)
    visited = literal_leave_one_out(gaussian(X, X, gamma), start, 3)
    assert (len(visited) < 101) is converges
    # Where points swap clusters for ever, the best assignment after the start is kept.
    labels, objective = visited[-1] if converges else min(visited[1:], key=lambda pair: pair[1])
    model = KernelKMeans(3, algorithm="leave_one_out", gamma=gamma, init=start).fit(X)
    order = np.argsort(labels, kind="stable")
    assert np.array_equal(model.support_vectors_, X[order])
    assert np.array_equal(model.support_clusters_, labels[order])
    assert model.objective_ == pytest.approx(objective, rel=1e-10)
    assert model.n_iter_ == (len(visited) if converges else 100)


def test_leave_one_out_escapes_where_every_point_sits_on_its_own_bump():
    """The reason for the variant: a small bandwidth freezes standard kernel k-means."""
    X, y = make_blobs(150, centers=3, cluster_std=0.5, random_state=4)
    start = np.random.RandomState(0).permutation(np.arange(150) % 3)
    results = {
        algorithm: KernelKMeans(3, algorithm=algorithm, gamma=60.0, init=start).fit(X)
        for algorithm in ("standard", "leave_one_out")
    }
    scores = {name: adjusted_rand_score(y, model.labels_) for name, model in results.items()}
    assert (results["standard"].labels_ == start).mean() > 0.9
    assert scores["leave_one_out"] > scores["standard"]


def test_point_alone_in_its_cluster_is_handled():
    X = np.array([[0.0], [0.1], [0.2], [50.0]])
    model = KernelKMeans(2, algorithm="leave_one_out", gamma=1.0, init=[0, 0, 0, 1]).fit(X)
    assert np.array_equal(model.labels_, [0, 0, 0, 1])
    assert np.isfinite(model.objective_)


# --- probabilities, 001 appendices A and B ---------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("stiffness", [None, 0.3, 1.5])
def test_probabilities_are_powers_and_logits_are_soft_minima(unequal, algorithm, stiffness):
    X = unequal[0]
    model = KernelKMeans(
        3, algorithm=algorithm, gamma=0.5, stiffness=stiffness, n_init=2, random_state=0
    ).fit(X)
    beta = stiffness or model.gamma_
    p = model.predict_proba(X)
    powers = model.inlierness(X) ** (beta / model.gamma_)
    assert np.abs(p - powers / powers.sum(axis=1, keepdims=True)).max() < 1e-10
    scores = model.outlier_scores(X)
    for c in range(3):
        others = np.delete(scores, c, axis=1)
        soft_minimum = -logsumexp(-beta * (others - scores[:, [c]]), axis=1) / beta
        logits = np.log(p[:, c]) - np.log(np.delete(p, c, axis=1).sum(axis=1))
        assert np.abs(logits - beta * soft_minimum).max() < 1e-9


def test_default_probabilities_are_the_posterior_of_the_mixtures(blobs):
    X = blobs[0]
    model = KernelKMeans(3, n_support=3, n_init=2, random_state=0).fit(X)
    densities = np.column_stack(
        [
            gaussian(X, model.support_vectors_[model.support_clusters_ == k], model.gamma_).mean(1)
            for k in range(3)
        ]
    )
    expected = densities / densities.sum(axis=1, keepdims=True)
    assert np.abs(model.predict_proba(X) - expected).max() < 1e-9


# --- the estimator ---------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["standard", "leave_one_out"])
@pytest.mark.parametrize(
    ("data", "gamma"),
    [
        (make_circles(300, noise=0.04, factor=0.3, random_state=0), 3.0),
        (make_moons(300, noise=0.06, random_state=0), 10.0),
    ],
    ids=["rings", "moons"],
)
def test_separates_what_k_means_cannot(algorithm, data, gamma):
    X, y = data
    plain = KMeans(2, n_init=10, random_state=0).fit_predict(X)
    model = KernelKMeans(2, algorithm=algorithm, gamma=gamma, init="random", random_state=0)
    assert adjusted_rand_score(y, plain) < 0.3
    assert adjusted_rand_score(y, model.fit(X).labels_) > 0.95


def test_em_condenses_rings_into_few_support_vectors():
    X, y = make_circles(400, noise=0.04, factor=0.3, random_state=0)
    train, test = X[:300], X[300:]
    full = KernelKMeans(2, algorithm="standard", gamma=3.0, init="random", random_state=0)
    start = full.fit_predict(train)
    model = KernelKMeans(2, n_support=10, init=start, random_state=0).fit(train)
    assert len(model.support_vectors_) == 20
    assert adjusted_rand_score(y[:300], model.labels_) > 0.95
    assert adjusted_rand_score(y[300:], model.predict(test)) > 0.95


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_labels_are_those_of_predict_and_beta_of_the_margins(unequal, algorithm):
    X = unequal[0]
    model = KernelKMeans(4, algorithm=algorithm, n_init=2, random_state=0).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.fit_predict(X), model.labels_)
    ordered = np.sort(model.outlier_scores(X), axis=1)
    assert model.beta_ == pytest.approx(1 / (ordered[:, 1] - ordered[:, 0]).mean())
    assert set(model.support_clusters_) == {0, 1, 2, 3}
    assert (np.diff(model.support_clusters_) >= 0).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_network_of_given_labels(unequal, algorithm):
    X, labels = unequal
    model = KernelKMeans(3, algorithm=algorithm, init=labels, max_iter=0).fit(X)
    assert model.n_iter_ == 0
    assert adjusted_rand_score(model.labels_, labels) > 0.5
    if algorithm != "em":
        assert np.array_equal(model.support_vectors_, X[np.argsort(labels, kind="stable")])


def test_fixed_labels_are_kept_while_support_vectors_are_fitted(unequal):
    """With one support vector each, those are the means of the labels, wherever points would go."""
    X, _ = unequal
    labels = np.arange(len(X)) % 3  # which no clustering would find
    model = KernelKMeans(3, n_support=1, init=labels, fixed_labels=True, random_state=0).fit(X)
    means = np.stack([X[labels == k].mean(axis=0) for k in range(3)])
    assert np.abs(model.support_vectors_ - means).max() < 1e-5  # there is noise on support vectors
    assert adjusted_rand_score(model.labels_, labels) < 0.2
    assert np.array_equal(model.labels_, model.predict(X))
    free = KernelKMeans(3, n_support=1, init=labels, random_state=0).fit(X)
    assert np.abs(free.support_vectors_ - means).max() > 0.5


def test_fixed_labels_fit_better_than_their_first_support_vectors(unequal):
    X, labels = unequal
    agreement = [
        adjusted_rand_score(
            KernelKMeans(3, n_support=5, init=labels, **how, random_state=0).fit(X).labels_, labels
        )
        for how in ({"max_iter": 0}, {"fixed_labels": True})
    ]
    assert agreement[1] >= agreement[0]
    model = KernelKMeans(3, n_support=5, init=labels, fixed_labels=True, random_state=0).fit(X)
    start = KernelKMeans(3, n_support=5, init=labels, fixed_labels=True, max_iter=0, random_state=0).fit(X)
    assert model.objective_ < start.objective_


@pytest.mark.parametrize("algorithm", ["standard", "leave_one_out"])
def test_fixed_labels_of_other_algorithms_are_turned_into_support_vectors(unequal, algorithm):
    X, labels = unequal
    fixed = KernelKMeans(3, algorithm=algorithm, init=labels, fixed_labels=True).fit(X)
    none = KernelKMeans(3, algorithm=algorithm, init=labels, max_iter=0).fit(X)
    assert fixed.n_iter_ == 0
    assert np.array_equal(fixed.support_vectors_, none.support_vectors_)
    assert np.array_equal(fixed.labels_, none.labels_)


def test_fixed_labels_are_saved_and_explained(unequal, tmp_path):
    X, labels = unequal
    model = KernelKMeans(3, n_support=4, init=labels, fixed_labels=True, random_state=0).fit(X)
    again = wc.load(wc.save(model, tmp_path / "model.npz"))
    assert again.fixed_labels is True
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(wc.explain(again, X).values, wc.explain(model, X).values)
    assert clone(model).get_params()["fixed_labels"] is True


def test_fixed_labels_need_labels():
    with pytest.raises(ValueError, match=r"^Found fixed_labels=True with init='random' but [^.]*\.$"):
        KernelKMeans(2, init="random", fixed_labels=True).fit(np.eye(4))


def test_zero_iterations_need_labels():
    with pytest.raises(ValueError, match=r"^Found max_iter=0 with init='random' but [^.]*\.$"):
        KernelKMeans(2, init="random", max_iter=0).fit(np.eye(4))


@pytest.mark.parametrize(
    ("labels", "message"),
    [([0, 1], r"shape \(2,\)"), ([0, 0, 2, 2], "labels 0, 2"), ([0, 1, 1, -1], "labels -1, 0, 1")],
)
def test_wrong_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        check_start_labels(labels, n_samples=4, n_clusters=2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_single_precision_is_kept(unequal, algorithm):
    X = unequal[0].astype(np.float32)
    single, double = (
        KernelKMeans(3, algorithm=algorithm, n_init=1, random_state=0).fit(Z)
        for Z in (X, X.astype(np.float64))
    )
    for name in ("support_vectors_", "support_offsets_", "background_"):
        assert getattr(single, name).dtype == np.float32
        assert getattr(double, name).dtype == np.float64
    for method in ("outlier_scores", "inlierness", "predict_proba"):
        assert getattr(single, method)(X).dtype == np.float32
    assert np.array_equal(single.labels_, single.predict(X))
    assert np.array_equal(single.labels_, double.labels_)
    difference = np.abs(single.outlier_scores(X) - double.outlier_scores(X.astype(np.float64)))
    assert difference.max() < 1e-5 * np.abs(double.outlier_scores(X)).max()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_offset_costs_no_digits(unequal, algorithm):
    X = unequal[0]
    # Numbers that the shifted data can hold exactly: only the method's own errors remain.
    X = np.round(X * 2**20) / 2**20
    plain, shifted = (
        KernelKMeans(3, algorithm=algorithm, n_init=2, random_state=0).fit(X + offset)
        for offset in (0.0, 1e6)
    )
    assert np.array_equal(plain.labels_, shifted.labels_)
    assert shifted.gamma_ == pytest.approx(plain.gamma_, rel=1e-7)
    scores = plain.outlier_scores(X)
    assert np.abs(shifted.outlier_scores(X + 1e6) - scores).max() < 1e-6 * np.abs(scores).max()


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_unit_of_the_data_does_not_matter(unequal, scale):
    X = unequal[0]
    plain, scaled = (KernelKMeans(3, n_init=2, random_state=0).fit(Z) for Z in (X, scale * X))
    assert np.array_equal(plain.labels_, scaled.labels_)
    assert scaled.gamma_ * scale**2 == pytest.approx(plain.gamma_, rel=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_repeated_points(algorithm):
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 15, axis=0)
    model = KernelKMeans(3, algorithm=algorithm, n_support=4, random_state=0).fit(X)
    assert len(set(model.labels_)) == 3
    assert np.isfinite(model.outlier_scores(X)).all()
    assert np.isfinite(model.beta_)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_too_few_distinct_points(algorithm):
    X = np.repeat([[0.0, 0.0], [1.0, 0.0]], 15, axis=0)
    with pytest.raises(ValueError, match=r"^Found 2 distinct rows \(n_samples=30\) [^.]*\.$"):
        KernelKMeans(3, algorithm=algorithm).fit(X)


def test_constant_data_and_one_cluster():
    for algorithm in ALGORITHMS:
        model = KernelKMeans(1, algorithm=algorithm, random_state=0).fit(np.ones((5, 2)))
        assert np.isfinite(model.gamma_)
        assert model.beta_ == 1.0
        assert np.array_equal(model.predict_proba(np.zeros((2, 2))), [[1.0], [1.0]])


def test_em_needs_the_gaussian_kernel():
    with pytest.raises(ValueError, match=r"^Found kernel='linear' but [^.]*\.$"):
        KernelKMeans(2, kernel="linear").fit(np.eye(4))


@pytest.mark.parametrize(
    "parameters", [{"algorithm": "hard"}, {"kernel": "gauss"}, {"gamma": 0.0}, {"n_support": 0}]
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        KernelKMeans(2, **parameters).fit(np.eye(4))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_deterministic_and_global_generator_untouched(blobs, algorithm, init):
    X = blobs[0]
    parameters = {"algorithm": algorithm, "init": init, "n_init": 2, "random_state": 5}
    with generators.untouched():
        first, second = (KernelKMeans(3, **parameters).fit(X) for _ in range(2))
    assert np.array_equal(first.support_vectors_, second.support_vectors_)
    assert first.objective_ == second.objective_


def test_best_of_the_starts_is_kept():
    X = StandardScaler().fit_transform(load_wine().data)
    one = KernelKMeans(3, n_init=1, random_state=0).fit(X)
    six = KernelKMeans(3, n_init=6, random_state=0).fit(X)
    assert six.objective_ < one.objective_


def test_thousands_of_support_vectors():
    X, y = make_blobs(2500, n_features=8, centers=4, random_state=0)
    model = KernelKMeans(4, algorithm="standard", n_init=1, random_state=0).fit(X)
    assert len(model.support_vectors_) == 2500
    assert adjusted_rand_score(y, model.labels_) > 0.99
    assert np.array_equal(model.predict(X), model.labels_)


def test_many_support_vectors_by_em():
    X, _ = make_blobs(1500, n_features=4, centers=3, random_state=0)
    model = KernelKMeans(3, n_support=400, n_init=1, max_iter=3, random_state=0).fit(X)
    assert model.support_vectors_.shape == (1200, 4)
    assert np.isfinite(model.outlier_scores(X)).all()


@pytest.mark.parametrize(("noise", "parted"), [(0.0, False), (1e-3, True)])
def test_noise_parts_repeated_support_vectors(noise, parted):
    """Two support vectors on one place get the same share of every point, for ever, but for the noise."""
    X = np.concatenate([np.full((20, 1), -3.0), np.full((20, 1), 3.0)])
    X = X + np.random.default_rng(0).normal(scale=0.1, size=X.shape)
    state = run_em(
        X,
        np.zeros((2, 1)),
        np.array([0]),
        1.0,
        epsilon=1e-9,
        learn_gamma=False,
        max_iter=200,
        noise=noise,
        random_state=np.random.RandomState(0),
    )
    distance = float(np.abs(np.diff(state.support_vectors[:, 0]))[0])
    assert (distance > 5.0) == parted
    assert parted or distance == 0.0


def test_noise_is_used_by_the_estimator(monkeypatch):
    from whyclust.cluster import _kernel_fits

    seen = []
    original = _kernel_fits.run_em

    def watched(*args, noise, **options):
        seen.append(noise)
        return original(*args, noise=noise, **options)

    monkeypatch.setattr(_kernel_fits, "run_em", watched)
    KernelKMeans(2, n_init=2, random_state=0).fit(make_blobs(40, random_state=0)[0])
    assert len(seen) == 2
    assert min(seen) > 0


def test_of_starts_that_end_alike_the_first_one_is_kept():
    assert is_better(1.0, np.inf, 10.0)
    assert is_better(1.0, 1.0 + 1e-7, 10.0)
    assert not is_better(1.0, 1.0, 10.0)
    assert not is_better(1.0, 1.0 + 1e-9, 10.0)
    assert not is_better(1.0, 1.0 - 1e-9, 10.0)
