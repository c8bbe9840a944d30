"""SubKMeans against the cost of its paper, the steps that lower it, and its explanation."""

import numpy as np
import pytest
from scipy.linalg import expm, subspace_angles
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import generators
import paper
import whyclust as wc
from literal_models import LiteralPrototypes
from whyclust.cluster import SubKMeans, sub_k_means
from whyclust.cluster._subspace import best_rotation, cluster_means, count_clustered, random_rotation
from whyclust.datasets import make_synth

# How the dimensions are chosen: all, the strong ones, a given number (fewer or more than there are).
CHOICES = [{}, {"tol": 0.02}, {"n_components": 1}, {"n_components": 2}, {"n_components": 5}]


@pytest.fixture
def blobs():
    return make_blobs(150, n_features=5, centers=4, cluster_std=2.5, random_state=1)


def literal_cost(X, labels, centres, rotation, m, mean):
    """J of the paper, one row and one rotated dimension at a time."""
    cost = 0.0
    for k in range(len(centres)):
        for x in X[labels == k]:
            for i in range(m):
                cost += (rotation[:, i] @ x - rotation[:, i] @ centres[k]) ** 2
    for x in X:
        for i in range(m, X.shape[1]):
            cost += (rotation[:, i] @ x - rotation[:, i] @ mean) ** 2
    return cost


def cost_of(model, X):
    state = (model.cluster_centers_, model.rotation_, model.n_components_, model.mean_)
    return literal_cost(X, model.labels_, *state)


def scatter(X, around):
    return (X - around).T @ (X - around)


def scatters(X, labels):
    """Σ_k S_k and S_D."""
    within = sum(scatter(X[labels == k], X[labels == k].mean(axis=0)) for k in np.unique(labels))
    return within, scatter(X, X.mean(axis=0))


# --- the cost --------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_inertia_and_score_equal_the_double_loop(choice):
    X = np.random.default_rng(0).normal(size=(80, 6))
    for max_iter in (1, 300):  # before the end, too, where centres are not yet the means of the labels
        model = SubKMeans(5, max_iter=max_iter, n_init=2, random_state=0, **choice).fit(X)
        assert model.inertia_ == pytest.approx(cost_of(model, X), rel=1e-10)
        assert -model.score(X) == pytest.approx(model.inertia_, rel=1e-12)


def weighted_square(beta, h, g):
    """Eq. (2) of the ACe/DeC paper."""
    return sum(beta[i] ** 2 * (h[i] - g[i]) ** 2 for i in range(len(h)))


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_cost_is_that_of_acedec_with_hard_weights_and_no_encoder(blobs, choice):
    X = blobs[0]
    model = SubKMeans(4, n_init=2, random_state=0, **choice).fit(X)
    V, mu = model.rotation_, X.mean(axis=0)
    beta_cs = (np.arange(5) < model.n_components_).astype(float)
    beta_ss = 1.0 - beta_cs
    # Eq. (5), with z = enc(x) = x and dec(z) = z.
    clusters = sum(
        weighted_square(beta_cs, V.T @ z, V.T @ model.cluster_centers_[k])
        for k in range(4)
        for z in X[model.labels_ == k]
    )
    shared = sum(weighted_square(beta_ss, V.T @ z, V.T @ mu) for z in X)
    reconstruction = sum(np.sum((x - V @ V.T @ x) ** 2) for x in X)
    assert reconstruction < 1e-20 * np.square(X).sum()
    assert model.inertia_ == pytest.approx(clusters + shared + reconstruction, rel=1e-10)


def costs_by_iteration(X, seed, **choice):
    """The cost after each iteration of one start, and the dimensions."""
    costs, dimensions = [], []
    for max_iter in range(1, 100):
        model = SubKMeans(6, n_init=1, max_iter=max_iter, random_state=seed, **choice).fit(X)
        costs.append(cost_of(model, X))
        dimensions.append(model.n_components_)
        if model.n_iter_ < max_iter:
            break
    return np.array(costs), np.array(dimensions)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_no_iteration_raises_the_cost(choice, seed):
    X = np.random.default_rng(seed).normal(size=(120, 5)) * [1, 2, 1, 3, 1]
    costs, dimensions = costs_by_iteration(X, seed, **choice)
    total = np.trace(scatter(X, X.mean(axis=0)))
    if "n_components" not in choice:  # each dimension has its price
        costs = costs + choice.get("tol", 1e-10) * total * dimensions
    assert len(costs) > 3
    assert np.diff(costs).max() < 1e-10 * total
    assert costs[-1] < costs[0] * 0.999


# --- the rotation ----------------------------------------------------------------------------


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_the_rotation_is_the_optimum_for_the_labels(blobs, choice):
    X = blobs[0]
    model = SubKMeans(4, n_init=2, random_state=0, **choice).fit(X)
    V, m = model.rotation_, model.n_components_
    within, total = scatters(X, model.labels_)
    clustered = np.diag((np.arange(5) < m).astype(float))
    assert np.abs(V.T @ V - np.eye(5)).max() < 1e-12

    def cost(W):
        return np.trace(clustered @ W.T @ within @ W) + np.trace((np.eye(5) - clustered) @ W.T @ total @ W)

    assert model.inertia_ == pytest.approx(cost(V), rel=1e-10)
    gradient = V.T @ (2 * within @ V @ clustered + 2 * total @ V @ (np.eye(5) - clustered))
    assert np.abs(gradient - gradient.T).max() / 2 < 1e-8 * np.abs(gradient).max()
    generator = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        for _ in range(50):
            A = generator.normal(size=(5, 5))
            assert cost(V @ expm(size * (A - A.T))) > cost(V) * (1 - 1e-12)
    if not choice:  # no other number of dimensions is better
        means, counts = cluster_means(X - X.mean(axis=0), model.labels_, 4)
        found = best_rotation(means, counts)[1]
        assert all(found[:m].sum() <= found[:other].sum() + 1e-9 for other in range(1, 6))


def test_the_rotation_holds_the_eigenvectors_of_the_difference_of_scatters(blobs):
    X, labels = blobs[0] - blobs[0].mean(axis=0), np.arange(150) % 7 % 4
    within, total = scatters(X, labels)
    expected = np.linalg.eigvalsh(within - total)
    V, eigenvalues = best_rotation(*cluster_means(X, labels, 4))
    assert np.abs(eigenvalues - expected).max() < 1e-10 * np.trace(total)
    assert (np.diff(eigenvalues) >= 0).all()
    residual = (within - total) @ V - V * eigenvalues
    assert np.abs(residual).max() < 1e-10 * np.trace(total)
    assert (V[np.abs(V).argmax(axis=0), np.arange(5)] > 0).all()
    assert count_clustered(expected, 1e-10 * np.trace(total)) == 3


def test_first_rotations_prefer_no_direction():
    random_state = np.random.RandomState(0)
    drawn = np.array([random_rotation(3, random_state) for _ in range(2000)])
    assert np.abs(np.einsum("nij,nik->njk", drawn, drawn) - np.eye(3)).max() < 1e-12
    # Entries of a Haar matrix have mean 0 and variance 1/d: five standard errors.
    assert np.abs(drawn.mean(axis=0)).max() < 5 * np.sqrt(1 / 3 / 2000)
    assert np.abs(np.square(drawn).mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(0.1 / 2000)
    assert abs(np.sign(np.linalg.det(drawn)).mean()) < 5 / np.sqrt(2000)


# --- dimensions ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_clusters", "n_features"), [(10, 10), (4, 10), (10, 4), (2, 3), (1, 3)])
def test_no_more_dimensions_than_the_centres_span(n_clusters, n_features):
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(300, n_features))
        model = SubKMeans(n_clusters, n_init=1, random_state=seed).fit(X)
        assert model.n_components_ == max(1, min(n_clusters - 1, n_features))
        # Without a tolerance rounding counts, and is taken for one direction more.
        literal = SubKMeans(n_clusters, n_init=1, tol=0, random_state=seed).fit(X)
        assert model.n_components_ <= literal.n_components_ <= min(n_clusters, n_features)
        assert np.array_equal(literal.labels_, model.labels_)


@pytest.mark.parametrize("seed", range(5))
def test_with_all_dimensions_it_is_k_means(blobs, seed):
    X = blobs[0]
    model = SubKMeans(6, n_init=1, random_state=seed).fit(X)
    k_means = KMeans(6, init=model.cluster_centers_, n_init=1, tol=0).fit(X)
    assert k_means.n_iter_ <= 2  # nothing moves
    assert np.array_equal(k_means.labels_, model.labels_)
    assert model.inertia_ == pytest.approx(k_means.inertia_, rel=1e-10)
    more = SubKMeans(6, n_components=5, n_init=1, random_state=seed).fit(X)
    assert more.n_components_ == 5


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_subspace_is_found(seed):
    X, y = make_synth(2000, n_noise_dimensions=5, noise_scale=1.0, random_state=seed)
    turn = random_rotation(7, np.random.RandomState(seed))
    X = X @ turn.T
    planted = turn[:, :2]
    for choice in ({"n_components": 2}, {"tol": 1e-3}):
        model = SubKMeans(4, random_state=0, **choice).fit(X)
        assert model.n_components_ == 2
        assert adjusted_rand_score(y, model.labels_) > 0.99
        assert np.rad2deg(subspace_angles(model.rotation_[:, :2], planted)).max() < 2
    # Four centres of finite samples span three directions: the third differs by chance.
    model = SubKMeans(4, random_state=0).fit(X)
    assert model.n_components_ == 3
    assert np.rad2deg(subspace_angles(model.rotation_[:, :3], planted)).max() < 2


# --- the estimator ---------------------------------------------------------------------------


def test_transform_gives_the_coordinates_in_which_rows_are_assigned(blobs):
    X = blobs[0]
    model = SubKMeans(4, n_components=2, random_state=0).fit(X)
    found = model.transform(X)
    assert np.abs(found - (X - X.mean(axis=0)) @ model.rotation_[:, :2]).max() < 1e-12
    centres = model.transform(model.cluster_centers_)
    distances = np.square(found[:, None] - centres).sum(axis=2)
    assert np.array_equal(distances.argmin(axis=1), model.predict(X))
    assert np.array_equal(model.fit_predict(X), model.labels_)
    ordered = np.sort(distances, axis=1)
    assert model.beta_ == pytest.approx(1 / (ordered[:, 1] - ordered[:, 0]).mean(), rel=1e-10)
    means = np.array([X[model.labels_ == k].mean(axis=0) for k in range(4)])
    assert np.abs(means - model.cluster_centers_).max() < 1e-12


def test_what_differs_in_the_shared_space_moves_no_row(blobs):
    X = blobs[0]
    model = SubKMeans(4, n_components=2, random_state=0).fit(X)
    shared = model.rotation_[:, 2:]
    moved = X + np.random.default_rng(0).normal(scale=5.0, size=(len(X), 3)) @ shared.T
    assert np.array_equal(model.predict(moved), model.labels_)
    assert np.abs(model.transform(moved) - model.transform(X)).max() < 1e-12


def test_more_starts_are_no_worse(blobs):
    costs = [SubKMeans(6, n_init=n, random_state=0).fit(blobs[0]).inertia_ for n in (1, 3, 10)]
    assert costs[0] >= costs[1] >= costs[2]


def begin_at(monkeypatch, *chosen):
    """The first centres are these rows."""
    first = lambda rows, n_clusters, random_state: (None, np.array(chosen))  # noqa: E731
    monkeypatch.setattr(sub_k_means, "kmeans_plusplus", first)


def test_an_empty_cluster_takes_the_farthest_row(monkeypatch):
    """After one iteration, since later ones would repair another choice."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [9.0, 9.0]])
    begin_at(monkeypatch, 0, 0)  # of two centres at one place the first gets all rows
    model = SubKMeans(2, n_components=2, n_init=1, max_iter=1, random_state=0).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, [[1 / 3, 1 / 3], [9.0, 9.0]], rtol=1e-12)
    assert model.labels_.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("chosen", "max_iter", "n_iter", "centres"),
    [
        ((1, 4), 300, 1, [1.0, 10.0]),  # no row changes its cluster
        ((0, 1), 300, 2, [1.0, 10.0]),  # 0 | 1 2 9 10 11, then 0 1 2 | 9 10 11
        ((0, 1), 2, 2, [1.0, 10.0]),
        ((0, 1), 1, 1, [0.0, 6.6]),  # stopped before the end
    ],
)
def test_a_start_ends_when_no_row_changes_its_cluster(monkeypatch, chosen, max_iter, n_iter, centres):
    begin_at(monkeypatch, *chosen)
    X = np.array([0.0, 1.0, 2.0, 9.0, 10.0, 11.0])[:, None]
    model = SubKMeans(2, n_init=1, max_iter=max_iter, random_state=0).fit(X)
    assert model.n_iter_ == n_iter
    np.testing.assert_allclose(model.cluster_centers_[:, 0], centres, atol=1e-12)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]


def test_deterministic_and_global_generator_untouched(blobs):
    X = blobs[0]
    with generators.untouched():
        first, second = (SubKMeans(4, random_state=7).fit(X) for _ in range(2))
    assert np.array_equal(first.rotation_, second.rotation_)
    assert np.array_equal(first.cluster_centers_, second.cluster_centers_)
    assert np.array_equal(first.predict(X), first.labels_)


def test_single_precision_is_kept(blobs):
    X = blobs[0].astype(np.float32)
    single, double = (SubKMeans(4, random_state=0).fit(Z) for Z in (X, X.astype(np.float64)))
    assert single.cluster_centers_.dtype == np.float32
    assert single.transform(X).dtype == np.float32
    assert np.array_equal(single.labels_, double.labels_)
    assert np.abs(single.transform(X) - double.transform(X)).max() < 1e-5
    assert single.inertia_ == pytest.approx(double.inertia_, rel=1e-6)
    assert wc.explain(single, X).values.dtype == np.float32


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_offset_and_unit_do_not_matter(blobs, choice):
    X = blobs[0]
    plain = SubKMeans(4, random_state=0, **choice).fit(X)
    shifted = SubKMeans(4, random_state=0, **choice).fit(X + 1e6)
    assert np.array_equal(plain.labels_, shifted.labels_)
    assert plain.n_components_ == shifted.n_components_
    kept = min(plain.n_components_, 3)  # beyond those in which clusters differ any direction will do
    difference = shifted.transform(X + 1e6) - plain.transform(X)
    assert np.abs(difference[:, :kept]).max() < 1e-7
    assert shifted.inertia_ == pytest.approx(plain.inertia_, rel=1e-8)
    for unit in (1e-6, 1e6):
        scaled = SubKMeans(4, random_state=0, **choice).fit(X * unit)
        assert np.array_equal(plain.labels_, scaled.labels_)
        assert plain.n_components_ == scaled.n_components_


def test_one_cluster_and_one_column():
    X = np.arange(6.0)[:, None]
    model = SubKMeans(1).fit(X)
    assert (model.n_components_, set(model.labels_)) == (1, {0})
    assert model.inertia_ == pytest.approx(17.5)
    assert SubKMeans(2, random_state=0).fit(X).transform(X).shape == (6, 1)


@pytest.mark.parametrize(
    "parameters",
    [{"n_components": 0}, {"tol": -0.1}, {"tol": 1.0}, {"n_clusters": 0}, {"n_init": 0}, {"max_iter": 0}],
    ids=str,
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        SubKMeans(**parameters).fit(np.eye(10))


def test_bad_input():
    with pytest.raises(ValueError, match=r"^Found 3 columns but n_components=4, .*choose at most 3, or None"):
        SubKMeans(2, n_components=4).fit(np.eye(3))
    with pytest.raises(ValueError, match=r"^Found 2 distinct rows \(n_samples=40\).*smaller"):
        SubKMeans(3).fit(np.repeat([[0.0], [1.0]], 20, axis=0))
    with pytest.raises(ValueError, match="contains NaN"):
        SubKMeans(2).fit([[0.0, np.nan], [1.0, 0.0]])
    with pytest.raises(NotFittedError):
        SubKMeans().predict(np.eye(3))


def test_rows_that_coincide_in_the_clustered_space():
    X = [[9.0, 0.0], [9.0, 0.0], [-9.0, 1e-200], [-9.0, -1e-200]]
    with pytest.warns(ConvergenceWarning, match="Only 2 of 3 clusters have rows"):
        model = SubKMeans(3, n_components=1, n_init=3, random_state=0).fit(X)
    assert np.isfinite(model.inertia_)
    assert np.array_equal(model.predict(X), model.labels_)
    lost = pytest.warns(ConvergenceWarning, match="Only 1 of 2 clusters have rows")
    with lost, pytest.warns(ConvergenceWarning, match="beta_ was set to 1"):
        SubKMeans(2, random_state=0).fit(1e-200 * np.eye(2))


def test_frames_in_and_names_out():
    frame = load_iris(as_frame=True).data
    model = SubKMeans(3, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert list(model.transform(frame).columns) == ["subkmeans0", "subkmeans1"]


# --- its explanation -------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_relevance_is_that_of_centres_behind_the_rotation(blobs, choice, offset):
    X = blobs[0] + offset
    model = SubKMeans(4, random_state=0, **choice).fit(X)
    net = wc.neuralize(model)
    assert net.beta == model.beta_
    assert np.array_equal(net.predict(X), model.predict(X))
    # Closed form 3, a = A x + b.
    matrix = model.rotation_[:, : model.n_components_].T
    shift = -matrix @ model.mean_
    centres = model.transform(model.cluster_centers_)
    origins = [paper.minimum_norm_pre_image(matrix, shift, mu, model.mean_) for mu in centres]
    for cluster in (None, 2):
        ex = wc.explain(model, X, cluster=cluster)
        assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-10
        for row in range(8):
            a = matrix @ X[row] + shift
            nearest = LiteralPrototypes(centres).assigned(a)
            c = nearest if cluster is None else cluster
            h = paper.activations(a, paper.k_means_neurons(centres, c))
            weights = paper.expected_weights(h, net.beta, c == nearest)
            values = paper.linear_feature_relevance(X[row], matrix, centres, origins, c, weights)
            assert np.abs(ex.values[row] - values).max() < 1e-9
            assert abs(ex.evidence[row] - min(h)) < 1e-9
            assert abs(ex.explained[row] - np.dot(weights, h)) < 1e-9


def test_columns_of_the_shared_space_have_no_relevance():
    X, _ = make_synth(2000, n_noise_dimensions=5, noise_scale=1.0, random_state=0)
    model = SubKMeans(4, n_components=2, random_state=0).fit(X)
    share = np.abs(wc.explain(model, X).values).mean(axis=0)
    assert share[2:].max() < 0.01 * share[:2].min()


def test_in_a_pipeline_and_as_its_step(blobs):
    X = blobs[0] * [1, 10, 100, 1, 1]
    ending = make_pipeline(StandardScaler(), SubKMeans(4, n_components=2, random_state=0)).fit(X)
    between = make_pipeline(
        StandardScaler(),
        SubKMeans(4, n_components=2, random_state=0),
        KMeans(3, n_init=2, random_state=0),
    ).fit(X)
    for model in (ending, between):
        ex = wc.explain(model, X)
        assert np.array_equal(ex.assigned, model.predict(X))
        assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-10
        assert np.abs(ex.explained - ex.evidence).max() < 1e-10


@pytest.mark.parametrize("suffix", ["npz", "json"])
def test_saved_and_loaded(blobs, suffix, tmp_path):
    X = blobs[0]
    model = SubKMeans(4, n_components=2, random_state=0).fit(X)
    again = wc.load(wc.save(model, tmp_path / f"model.{suffix}"))
    assert again.get_params() == model.get_params()
    for name in ("labels_", "cluster_centers_", "rotation_", "mean_"):
        assert np.array_equal(getattr(again, name), getattr(model, name))
    for name in ("n_components_", "inertia_", "n_iter_", "beta_"):
        assert getattr(again, name) == getattr(model, name)
    assert np.array_equal(again.transform(X), model.transform(X))
    net = wc.load(wc.save(wc.neuralize(model), tmp_path / f"net.{suffix}"))
    assert np.array_equal(net.relevance(X).values, wc.explain(again, X).values)


def test_numbers_whose_squares_overflow_get_one_sentence(blobs):
    with pytest.raises(ValueError, match=r"^X holds values as large as \d.*rescale the columns"):
        SubKMeans(2, n_init=1, random_state=0).fit(blobs[0] * 1e160)


def test_squares_of_single_precision_are_summed_in_double(blobs):
    X = (blobs[0] * 1e30).astype(np.float32)
    assert np.isfinite(SubKMeans(2, n_init=1, random_state=0).fit(X).inertia_)


def test_starts_are_compared_by_the_cost_and_the_price_of_found_dimensions(blobs):
    X = blobs[0] - blobs[0].mean(axis=0)
    found, given = SubKMeans(4, tol=0.01), SubKMeans(4, n_components=2)
    split = given._run(X, 0.0, np.random.RandomState(0))
    cost = given._objective(X, split, 7.0)
    assert cost == given._objective(X, split, 0.0)
    assert found._objective(X, split, 7.0) == pytest.approx(cost + 2 * 7.0)


@pytest.mark.parametrize(("columns", "given", "expected"), [(5, None, 3), (4, None, 2), (5, 1, 1)])
def test_starts_are_in_half_of_the_space(monkeypatch, columns, given, expected):
    """k-means++ chooses the first centres among rows of a random half of the dimensions."""
    seen, plain = [], sub_k_means.kmeans_plusplus

    def chosen(points, *arguments, **more):
        seen.append(points)
        return plain(points, *arguments, **more)

    monkeypatch.setattr(sub_k_means, "kmeans_plusplus", chosen)
    X = np.random.default_rng(0).normal(size=(30, columns))
    SubKMeans(3, n_components=given, n_init=4, random_state=0).fit(X)
    assert [points.shape for points in seen] == [(30, expected)] * 4
    # Turned, not chosen among the columns; and every start has its own half.
    assert all(np.linalg.matrix_rank(points) == expected for points in seen)
    assert len({float(points[0, 0]) for points in seen}) == 4
