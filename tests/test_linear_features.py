"""Closed form 3: linear maps folded into the head, against a loop over competitors."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import paper
import whyclust as wc
from literal_models import LiteralPrototypes, blobs
from whyclust.network import AffineMap, Features, LinearHead, MinPool, Neuralized, PrototypeHead

N_EXPLAINED = 10
EXACT = 1e-12


@pytest.mark.parametrize("n_components", [2, 4])
@pytest.mark.parametrize("whiten", [False, True])
def test_linear_features_equal_the_loop_over_competitors(n_components, whiten):
    X = blobs(3, n_features=4)
    model = make_pipeline(
        StandardScaler(),
        PCA(n_components, whiten=whiten, random_state=0),
        KMeans(4, n_init=2, random_state=0),
    ).fit(X)
    scaler, pca, kmeans = (step for _, step in model.steps)
    rotation = pca.components_
    if whiten:
        rotation = rotation / np.sqrt(pca.explained_variance_)[:, None]
    matrix = rotation / scaler.scale_  # a = A x + b
    shift = -matrix @ scaler.mean_ - rotation @ pca.mean_
    assert np.abs(X @ matrix.T + shift - model[:-1].transform(X)).max() < 1e-12
    pre_images = [
        paper.minimum_norm_pre_image(matrix, shift, center, scaler.mean_)
        for center in kmeans.cluster_centers_
    ]
    net = wc.neuralize(model, X)
    result = net.relevance(X[:N_EXPLAINED])
    for position, x in enumerate(X[:N_EXPLAINED]):
        a = matrix @ x + shift
        c = int(kmeans.predict(a[None])[0])
        h = paper.activations(a, paper.k_means_neurons(kmeans.cluster_centers_, c))
        values = paper.linear_feature_relevance(
            x,
            matrix,
            kmeans.cluster_centers_,
            pre_images,
            c,
            paper.expected_weights(h, net.beta, True),
        )
        assert np.abs(result.values[position] - values).max() < EXACT
        assert abs(result.explained[position] - min(h)) < EXACT
        assert abs(result.base_values[position] - (min(h) - values.sum())) < EXACT


def mixing_map(n_outputs, n_inputs, seed):
    """a = A(x − origin) + offset; with more outputs than inputs most centres are out of reach."""
    generator = np.random.default_rng(seed)
    return AffineMap(
        generator.normal(size=(n_outputs, n_inputs)),
        generator.normal(size=n_inputs),
        generator.normal(size=n_outputs),
    )


def network_behind(mapping, head):
    return Neuralized(
        features=Features(mapping),
        head=head,
        pool=MinPool(),
        beta=0.4,
        clusters=np.arange(head.n_clusters),
        feature_names=tuple(f"x{i}" for i in range(mapping.n_inputs)),
    )


@pytest.mark.parametrize(("n_outputs", "n_inputs"), [(2, 4), (3, 3), (5, 2)])
def test_what_centres_have_outside_the_range_of_a_map_goes_to_the_base(n_outputs, n_inputs):
    generator = np.random.default_rng(7)
    mapping = mixing_map(n_outputs, n_inputs, 8)
    shift = mapping.offset - mapping.matrix @ mapping.origin
    centers = generator.normal(size=(4, n_outputs))
    X = generator.normal(size=(N_EXPLAINED, n_inputs))
    pre_images = [
        paper.minimum_norm_pre_image(mapping.matrix, shift, center, mapping.origin) for center in centers
    ]
    net = network_behind(mapping, PrototypeHead.one_each(centers))
    result = net.relevance(X)
    for position, x in enumerate(X):
        a = mapping.matrix @ x + shift
        c = LiteralPrototypes(centers).assigned(a)
        h = paper.activations(a, paper.k_means_neurons(centers, c))
        weights = paper.expected_weights(h, net.beta, True)
        values = paper.linear_feature_relevance(x, mapping.matrix, centers, pre_images, c, weights)
        assert np.abs(result.values[position] - values).max() < EXACT
        assert abs(result.explained[position] - min(h)) < EXACT
        assert abs(result.base_values[position] - (min(h) - values.sum())) < EXACT
    assert (np.abs(result.base_values).max() > 1e-3) == (n_outputs > n_inputs)


@pytest.mark.parametrize(("n_outputs", "n_inputs"), [(2, 4), (3, 3), (5, 2)])
def test_a_kernel_head_behind_a_map(n_outputs, n_inputs):
    # For one pair of clusters α = 1, and Eqs. (4), (10) sum over the pairs of support vectors.
    generator = np.random.default_rng(9)
    mapping, gamma = mixing_map(n_outputs, n_inputs, 10), 0.3
    shift = mapping.offset - mapping.matrix @ mapping.origin
    supports = generator.normal(size=(6, n_outputs))
    members = np.repeat([0, 1], 3)
    offsets = generator.uniform(size=6)
    net = network_behind(mapping, PrototypeHead(supports, members, offsets, gamma))
    groups = [paper.Members(supports[members == k], offsets[members == k]) for k in (0, 1)]
    X = generator.normal(size=(N_EXPLAINED, n_inputs))
    result = net.relevance(X, cluster=0)
    for position, x in enumerate(X):
        a = mapping.matrix @ x + shift
        values = np.zeros(n_inputs)
        shares = [
            paper.softmax([-gamma * d + w for d, w in zip(g.distances(a), g.log_weights(gamma), strict=True)])
            for g in groups
        ]
        for share_i, u_i in zip(shares[0], groups[0].places, strict=True):
            for share_j, u_j in zip(shares[1], groups[1].places, strict=True):
                pair = np.array([u_i, u_j])
                pre_images = [
                    paper.minimum_norm_pre_image(mapping.matrix, shift, u, mapping.origin) for u in pair
                ]
                values += paper.linear_feature_relevance(
                    x, mapping.matrix, pair, pre_images, 0, [share_i * share_j]
                )
        scores = [paper.outlier_score(a, group, gamma) for group in groups]
        assert np.abs(result.values[position] - values).max() < EXACT
        assert abs(result.explained[position] - (scores[1] - scores[0])) < EXACT
        assert abs(result.base_values[position] - (scores[1] - scores[0] - values.sum())) < EXACT


@pytest.mark.parametrize(("n_outputs", "n_inputs"), [(2, 4), (3, 3), (5, 2)])
def test_a_linear_head_behind_a_map_is_explained_from_what_maps_to_zero(n_outputs, n_inputs):
    generator = np.random.default_rng(11)
    mapping = mixing_map(n_outputs, n_inputs, 12)
    shift = mapping.offset - mapping.matrix @ mapping.origin
    weights, biases = generator.normal(size=(4, n_outputs)), generator.normal(size=4)
    zero = paper.minimum_norm_pre_image(mapping.matrix, shift, np.zeros(n_outputs), mapping.origin)
    net = network_behind(mapping, LinearHead(weights, biases))
    X = generator.normal(size=(N_EXPLAINED, n_inputs))
    result = net.relevance(X)
    for position, x in enumerate(X):
        a = mapping.matrix @ x + shift
        c = int(np.argmax(weights @ a + biases))
        neurons = paper.linear_neurons(weights, biases, c)
        h = paper.activations(a, neurons)
        alphas = paper.expected_weights(h, net.beta, True)
        folded = [paper.Neuron(mapping.matrix.T @ neuron.weight, 0.0, reference=zero) for neuron in neurons]
        values = paper.propagate_weights(x, folded, alphas)
        assert np.abs(result.values[position] - values).max() < EXACT
        assert abs(result.explained[position] - min(h)) < EXACT
        assert abs(result.base_values[position] - (min(h) - values.sum())) < EXACT


def test_a_diagonal_map_leaves_relevance_as_it_was():
    X = blobs(4) * [1.0, 10.0, 0.01] + [0.0, 5.0, 1e3]
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)).fit(X)
    through = wc.neuralize(model, X).relevance(X)
    inside = wc.neuralize(model[-1], model[:-1].transform(X)).relevance(model[:-1].transform(X))
    # One unit in the last place of 1e3 is 1e-11 of the width of the last column.
    assert np.abs(through.values - inside.values).max() < 1e-10
    assert np.abs(through.base_values).max() < 1e-10


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_a_norm_is_a_scale_of_each_row(norm):
    X = blobs(5) + 2.0
    model = make_pipeline(Normalizer(norm), KMeans(3, n_init=2, random_state=0)).fit(X)
    inside = model[:-1].transform(X)
    expected = wc.neuralize(model[-1], inside).relevance(inside)
    through = wc.neuralize(model, X).relevance(X)
    assert np.abs(through.values - expected.values).max() < EXACT
    assert np.abs(through.base_values).max() < EXACT


def test_a_norm_after_a_rotation_scales_the_row_before_it():
    X = blobs(6, n_features=4) + 1.0
    model = make_pipeline(
        TruncatedSVD(2, random_state=0), Normalizer(), KMeans(3, n_init=2, random_state=0)
    ).fit(X)
    matrix, centers = model[0].components_, model[-1].cluster_centers_
    pre_images = [np.linalg.pinv(matrix) @ center for center in centers]
    net = wc.neuralize(model, X)
    result = net.relevance(X[:N_EXPLAINED])
    for position, x in enumerate(X[:N_EXPLAINED]):
        scaled = x / np.linalg.norm(matrix @ x)
        c = int(model[-1].predict((matrix @ scaled)[None])[0])
        h = paper.activations(matrix @ scaled, paper.k_means_neurons(centers, c))
        weights = paper.expected_weights(h, net.beta, True)
        values = paper.linear_feature_relevance(scaled, matrix, centers, pre_images, c, weights)
        assert np.abs(result.values[position] - values).max() < EXACT
        assert abs(result.explained[position] - min(h)) < EXACT


@pytest.mark.parametrize("part", [1e-1, 1e-3])
def test_however_little_a_centre_has_outside_the_range_of_a_map_it_is_in_the_base(part):
    """a = (x, x): the centres leave the diagonal by so much, which no x can reach."""
    mapping = AffineMap(np.array([[1.0], [1.0]]), np.zeros(1), np.zeros(2))
    centers = np.array([[0.0, 0.0], [2.0 + part, 2.0 - part], [9.0, 9.0]])
    net = network_behind(mapping, PrototypeHead.one_each(centers))
    result = net.relevance([[0.5]], cluster=1, against=0)
    # h = ‖a‖² − ‖a − μ‖² = 4 · 2 x − ‖μ‖², and ‖μ‖² = 8 + 2 part²; by x alone 8 (x − 1).
    assert abs(result.values[0, 0] - 8 * (0.5 - 1.0)) < EXACT
    assert abs(result.base_values[0] + 2 * part**2) < EXACT


def test_a_linear_head_on_sparse_rows_has_its_base_at_the_reference():
    """Sparse rows are not moved to the reference, so that its logits must come from the head."""
    generator = np.random.default_rng(3)
    rows = sparse.random_array((20, 4), density=0.4, format="csr", rng=generator)
    scale = sparse.csr_array(sparse.diags_array([1.0, 2.0, 0.5, 3.0]))
    mapping = AffineMap(scale, np.array([1.0, -1.0, 0.5, 2.0]), np.array([0.5, 0.0, 1.0, -1.0]))
    head = LinearHead(generator.normal(size=(3, 4)), generator.normal(size=3))
    net = network_behind(mapping, head)
    for question in ({}, {"cluster": 1}, {"cluster": 2, "against": 0}):
        found, wanted = net.relevance(rows, **question), net.relevance(rows.toarray(), **question)
        assert np.abs(np.asarray(found.values) - wanted.values).max() < EXACT
        assert np.abs(found.base_values - wanted.base_values).max() < EXACT
        assert np.abs(found.explained - wanted.explained).max() < EXACT
    assert np.abs(wanted.base_values).min() > 0.1


@pytest.mark.parametrize(
    "step",
    [
        FastICA(3, random_state=0),
        FastICA(whiten="arbitrary-variance", random_state=0),
        FastICA(whiten=False, random_state=0),
        FactorAnalysis(2, random_state=0),
        FactorAnalysis(3, rotation="varimax", random_state=0),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:Ignoring n_components")
def test_independent_components_and_factors_are_affine(step):
    rows = np.random.default_rng(0).laplace(size=(150, 5)) @ np.random.default_rng(1).normal(size=(5, 5))
    rows = rows / rows.std(axis=0) + 7.0
    model = make_pipeline(step, KMeans(3, n_init=1, random_state=0)).fit(rows)
    net = wc.neuralize(model, rows)
    transformed = model[:-1].transform(rows)
    assert np.abs(net.features.folded(rows) - transformed).max() < 1e-10 * np.abs(transformed).max()
    clear = net.evidence(rows) > 1e-9
    assert np.array_equal(net.predict(rows)[clear], model.predict(rows)[clear])
    ex = wc.explain(net, rows)
    assert ex.values.shape == rows.shape
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-8 * ex.evidence.max()


@pytest.mark.parametrize("offset", [0.0, 2.0])
@pytest.mark.parametrize("origin", [0.0, 3.0])
def test_sparse_rows_are_mapped_as_dense_ones(offset, origin):
    """What is added to a column is added where nothing is stored, too."""
    rows = sparse.random_array((8, 3), density=0.5, format="csr", rng=np.random.default_rng(0))
    scale = sparse.csr_array(sparse.diags_array([1.0, 2.0, 4.0]))
    found = AffineMap(scale, np.full(3, origin), np.full(3, offset)).transform(rows)
    assert sparse.issparse(found) == (offset == origin == 0.0)
    found = found.toarray() if sparse.issparse(found) else found
    assert np.abs(found - ((rows.toarray() - origin) * [1.0, 2.0, 4.0] + offset)).max() < 1e-12
