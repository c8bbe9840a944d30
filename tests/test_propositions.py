"""Lemmas and propositions of the papers, first on the literal equations, then on whyclust."""

import math

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paper
import whyclust as wc
from literal_models import literal_of_kernel
from whyclust.cluster import KernelKMeans
from whyclust.network import Features, LinearHead, MinPool, Neuralized, SoftMinPool

SEEDS = range(5)


def data(seed, n_points=12, n_features=4, n_clusters=4):
    generator = np.random.default_rng(seed)
    centers = generator.normal(size=(n_clusters, n_features))
    return generator.normal(size=(n_points, n_features)), centers


def kernel_data(seed, n_clusters=3, n_features=3):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 5, size=n_clusters)
    places = [generator.normal(size=(size, n_features)) for size in sizes]
    return generator.normal(size=(8, n_features)), places, float(generator.uniform(0.2, 2.0))


# --------------------------------------------------------------------------- literal equations


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_1_evidence_is_positive_only_for_the_nearest_centre(seed):
    X, centers = data(seed)
    for x in X:
        distances = [paper.squared_distance(x, center) for center in centers]
        for c in range(len(centers)):
            evidence = paper.hard_evidence(paper.activations(x, paper.k_means_neurons(centers, c)))
            gap = min(distances[k] for k in range(len(centers)) if k != c) - distances[c]
            assert abs(evidence - gap) < 1e-12
            assert (evidence > 0) == (np.argmin(distances) == c)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_1_and_proposition_2_without_stiffness_the_minimum_is_shared_evenly(seed):
    h = np.random.default_rng(seed).uniform(0.1, 3.0, size=5)
    shapley = paper.shapley_value(min, h, np.zeros(5))
    assert np.abs(shapley - h.min() / 5).max() < 1e-14
    assert np.abs(shapley - paper.min_take_most(h, beta=0.0)).max() < 1e-14


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_2_the_shapley_value_of_a_linear_model(seed):
    generator = np.random.default_rng(seed)
    w, x, reference = generator.normal(size=(3, 5))
    shapley = paper.shapley_value(lambda point: float(w @ point) + 0.7, x, reference)
    assert np.abs(shapley - w * (x - reference)).max() < 1e-13


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_3_two_clusters_give_the_shapley_value(seed):
    X, centers = data(seed, n_clusters=2, n_features=5)
    for x in X:
        for c in range(2):
            neurons = paper.k_means_neurons(centers, c)
            shapley = paper.shapley_value(
                lambda point, neurons=neurons: neurons[0].activation(point),
                x,
                neurons[0].reference,
            )
            h = paper.activations(x, neurons)
            relevance = paper.propagate(x, neurons, paper.min_take_most(h, beta=0.9))
            assert np.abs(shapley - relevance).max() < 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_4_soft_distance_is_a_function_of_feature_space_distance(seed):
    X, places, gamma = kernel_data(seed)
    for members in places:
        spherical = math.sqrt(paper.centroid_squared_norm(members, gamma, 1.0))
        for normalization in (len(members), spherical):
            for x in X:
                distance = paper.feature_space_distance(x, members, gamma, normalization)
                soft = paper.log_mean_exp([paper.squared_distance(x, place) for place in members], -gamma)
                related = paper.soft_distance_of(distance, members, gamma, normalization)
                # Far away Li_1 takes the logarithm of a rounded difference: compare inside it.
                assert abs(math.exp(-gamma * soft) - math.exp(-gamma * related)) < 1e-14


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_5_four_layers_give_differences_of_soft_distances(seed):
    X, places, gamma = kernel_data(seed)
    members = [paper.uniform_members(place, gamma) for place in places]
    for x in X:
        scores = [
            paper.log_mean_exp([paper.squared_distance(x, u) for u in place], -gamma) for place in places
        ]
        for c in range(len(places)):
            others = paper.competitors_of(len(places), c)
            h_ijk, _, h_k, evidence = paper.kernel_forward(x, members[c], [members[k] for k in others], gamma)
            for position, k in enumerate(others):
                assert abs(h_k[position] - (scores[k] - scores[c])) < 1e-12  # Eqs. 20–22
                for j, u_j in enumerate(places[k]):
                    for i, u_i in enumerate(places[c]):
                        gap = paper.squared_distance(x, u_j) - paper.squared_distance(x, u_i)
                        assert abs(h_ijk[position][j][i] - gap) < 1e-12
            assert (evidence > 0) == (np.argmin(scores) == c)  # Eq. 6


@pytest.mark.parametrize("seed", SEEDS)
def test_one_member_per_cluster_turns_kernel_k_means_into_k_means(seed):
    X, centers = data(seed)
    members = [paper.Members(center[None], np.zeros(1)) for center in centers]
    for x in X:
        c = int(np.argmin([paper.squared_distance(x, center) for center in centers]))
        rule = lambda h: paper.min_take_most(h, beta=0.6)  # noqa: E731
        others = [members[k] for k in paper.competitors_of(len(centers), c)]
        kernel = paper.kernel_relevance(x, members[c], others, 1.3, rule)
        neurons = paper.k_means_neurons(centers, c)
        plain = paper.propagate(x, neurons, rule(paper.activations(x, neurons)))
        assert np.abs(kernel - plain).max() < 1e-11


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_3_relative_evidence_is_a_log_likelihood_ratio(seed):
    logits = np.random.default_rng(seed).normal(size=5)
    probabilities = paper.softmax(logits)
    for c in range(5):
        others = paper.competitors_of(5, c)
        ratio = math.log(probabilities[c] / max(probabilities[k] for k in others))  # Eq. 25
        assert ratio == pytest.approx(min(logits[c] - logits[k] for k in others), abs=1e-13)
        assert (ratio > 0) == (int(np.argmax(probabilities)) == c)  # Eq. 24


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_lemma_4_absolute_evidence_is_a_shifted_logit(seed, threshold):
    logits = np.random.default_rng(seed).normal(size=5)
    probabilities = paper.softmax(logits)
    for c in range(5):
        p = probabilities[c]
        ratio = math.log(p / (1 - p)) + math.log((1 - threshold) / threshold)  # Eq. 29
        constant = paper.threshold_constant(5, threshold)
        h = [logits[c] - logits[k] + constant for k in paper.competitors_of(5, c)]
        assert ratio == pytest.approx(paper.soft_evidence(h), abs=1e-13)  # Eq. 30
        assert (ratio > 0) == (p > threshold)  # Eq. 28


@pytest.mark.parametrize("seed", SEEDS)
def test_propositions_6_and_7_linear_softmax_heads(seed):
    generator = np.random.default_rng(seed)
    weights, biases = generator.normal(size=(4, 3)), np.zeros(4)
    threshold = 0.4
    for a in generator.normal(size=(8, 3)):
        probabilities = paper.softmax([float(weight @ a) for weight in weights])
        for c in range(4):
            others = paper.competitors_of(4, c)
            relative = paper.activations(a, paper.linear_neurons(weights, biases, c))
            rival = max(probabilities[k] for k in others)
            assert paper.hard_evidence(relative) == pytest.approx(
                math.log(probabilities[c] / rival), abs=1e-12
            )
            constant = paper.threshold_constant(4, threshold)
            absolute = paper.activations(a, paper.linear_neurons(weights, biases, c, constant))
            odds = math.log(probabilities[c] / (1 - probabilities[c]))
            assert paper.soft_evidence(absolute) == pytest.approx(
                odds + math.log((1 - threshold) / threshold), abs=1e-12
            )
            assert (paper.soft_evidence(absolute) > 0) == (probabilities[c] > threshold)


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_and_relevance_are_two_ways_to_write_the_rules(seed):
    X, centers = data(seed)
    for x in X:
        c = int(np.argmin([paper.squared_distance(x, center) for center in centers]))
        neurons = paper.k_means_neurons(centers, c)
        h = paper.activations(x, neurons)
        pairs = [
            (paper.min_take_most(h, 0.7), paper.min_take_most_weights(h, 0.7)),
            (paper.expected(h, 0.7, True), paper.expected_weights(h, 0.7, True)),
            (paper.expected(h, 0.7, False), paper.expected_weights(h, 0.7, False)),
        ]
        for relevance, weights in pairs:
            literal = paper.propagate(x, neurons, relevance)
            assert np.abs(literal - paper.propagate_weights(x, neurons, weights)).max() < 1e-11
            assert literal.sum() == pytest.approx(sum(relevance), abs=1e-11)


# --------------------------------------------------------------------------- whyclust


def blobs(seed, n_points=40, n_features=3):
    generator = np.random.default_rng(seed)
    middles = generator.normal(scale=1.5, size=(4, n_features))
    group = generator.integers(4, size=n_points)
    return middles[group] + 0.7 * generator.normal(size=(n_points, n_features))


def linear_network(weights, biases, pool, beta=1.0):
    """A softmax head of Props. 6 and 7, straight on the input."""
    return Neuralized(
        features=Features.identity(weights.shape[1]),
        head=LinearHead(weights, biases),
        pool=pool,
        beta=beta,
        clusters=np.arange(len(weights)),
        feature_names=tuple(f"x{i}" for i in range(weights.shape[1])),
    )


def test_proposition_1_holds_for_the_network_of_fitted_k_means():
    X = blobs(0)
    model = KMeans(4, n_init=2, random_state=0).fit(X)
    net = wc.neuralize(model, X)
    distances = model.transform(X) ** 2
    for c in range(4):
        gap = np.delete(distances, c, axis=1).min(axis=1) - distances[:, c]
        evidence = net.evidence(X, cluster=c)
        assert np.abs(evidence - gap).max() < 1e-12
        np.testing.assert_array_equal(evidence > 0, model.labels_ == c)


def test_proposition_2_without_stiffness_the_pool_gives_the_shapley_value():
    h = np.random.default_rng(0).uniform(0.1, 3.0, size=(5, 7))  # competitors × points
    weights, _ = MinPool().weights(h, h.min(axis=0), np.ones(7, dtype=bool), 0.0, "min_take_most")
    for point in range(7):
        shapley = paper.shapley_value(min, h[:, point], np.zeros(5))
        assert np.abs(weights[:, point] * h[:, point] - shapley).max() < 1e-14


@pytest.mark.parametrize("rule", [None, "min_take_most", "expected"])
def test_proposition_3_two_clusters_are_explained_by_the_shapley_value(rule):
    X = blobs(1, n_features=5)
    model = KMeans(2, n_init=2, random_state=0).fit(X)
    net = wc.neuralize(model, X)
    explanation = wc.explain(net, X[:6], rule=rule)
    middle = model.cluster_centers_.mean(axis=0)
    for position, x in enumerate(X[:6]):
        c = int(explanation.clusters[position])
        shapley = paper.shapley_value(lambda point, c=c: net.evidence(point[None], cluster=c)[0], x, middle)
        assert np.abs(explanation.values[position] - shapley).max() < 1e-12


def test_proposition_3_behind_a_scaler_and_a_rotation():
    # In the user's columns the reference is the mid-point of the pre-images; what the evidence
    # is there, is the base.
    X = blobs(2, n_features=4) * [1.0, 5.0, 0.2, 3.0]
    model = make_pipeline(StandardScaler(), PCA(2), KMeans(2, n_init=2, random_state=0)).fit(X)
    scaler, pca, kmeans = (step for _, step in model.steps)
    middle = kmeans.cluster_centers_.mean(axis=0)
    matrix = pca.components_ / scaler.scale_
    shift = -matrix @ scaler.mean_ - pca.components_ @ pca.mean_
    reference = paper.minimum_norm_pre_image(matrix, shift, middle, scaler.mean_)
    net = wc.neuralize(model, X)
    result = net.relevance(X[:6])
    for position, x in enumerate(X[:6]):
        c = int(result.clusters[position])
        shapley = paper.shapley_value(
            lambda point, c=c: net.evidence(point[None], cluster=c)[0], x, reference
        )
        assert np.abs(result.values[position] - shapley).max() < 1e-12


@pytest.mark.parametrize("algorithm", ["standard", "leave_one_out"])
def test_proposition_4_the_network_decides_as_distances_in_feature_space_do(algorithm):
    X = blobs(3)
    model = KernelKMeans(3, algorithm=algorithm, gamma=0.4, n_init=2, random_state=0).fit(X)
    net = wc.neuralize(model, X)
    points = np.vstack([X, np.random.default_rng(3).normal(scale=2.0, size=(20, 3))])
    distances = np.empty((len(points), 3))
    for k in range(3):
        places = model.support_vectors_[model.support_clusters_ == k]
        normalization = (
            len(places)
            if algorithm == "standard"
            else math.sqrt(paper.centroid_squared_norm(places, 0.4, 1.0))
        )
        for position, x in enumerate(points):
            distances[position, k] = paper.feature_space_distance(x, places, 0.4, normalization)
    ordered = np.sort(distances, axis=1)
    clear = ordered[:, 1] - ordered[:, 0] > 1e-12
    np.testing.assert_array_equal(net.predict(points)[clear], distances.argmin(axis=1)[clear])  # Eq. (5)


def test_proposition_5_the_torch_network_has_four_layers_and_the_same_output():
    torch = pytest.importorskip("torch")
    X = blobs(4)
    model = KernelKMeans(3, n_support=3, n_init=2, max_iter=20, random_state=0).fit(X)
    net = wc.neuralize(model, X)
    module = net.to_torch().double()
    output = module(torch.from_numpy(X)).detach().numpy()
    members = literal_of_kernel(model).members
    for c in range(3):
        others = [members[k] for k in paper.competitors_of(3, c)]
        for position, x in enumerate(X[:8]):
            evidence = paper.kernel_forward(x, members[c], others, model.gamma_)[3]
            assert abs(output[position, c] - evidence) < 1e-10
        assert np.abs(net.evidence(X, cluster=c) - output[:, c]).max() < 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_6_linear_head_relative(seed):
    generator = np.random.default_rng(seed)
    weights, biases = generator.normal(size=(4, 3)), generator.normal(size=4)
    A = generator.normal(size=(8, 3))
    net = linear_network(weights, biases, MinPool(), beta=0.8)
    logits = A @ weights.T + biases
    np.testing.assert_array_equal(net.predict(A), logits.argmax(axis=1))
    result = net.relevance(A, rule="min_take_most")
    for position, a in enumerate(A):
        c = int(result.clusters[position])
        probabilities = paper.softmax(logits[position])
        rival = max(probabilities[k] for k in paper.competitors_of(4, c))
        assert abs(result.evidence[position] - math.log(probabilities[c] / rival)) < 1e-12
        neurons = paper.linear_neurons(weights, biases, c)
        relevance = paper.min_take_most(paper.activations(a, neurons), 0.8)
        values = paper.propagate(a, neurons, relevance)
        assert np.abs(result.values[position] - values).max() < 1e-10
        assert abs(result.base_values[position] - (sum(relevance) - values.sum())) < 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_7_linear_head_absolute(seed):
    generator = np.random.default_rng(seed)
    weights, biases = generator.normal(size=(4, 3)), generator.normal(size=4)
    A = generator.normal(size=(8, 3))
    net = linear_network(weights, biases, SoftMinPool(threshold=0.3))
    constant = paper.threshold_constant(4, 0.3)
    for c in range(4):
        result = net.relevance(A, cluster=c)
        neurons = paper.linear_neurons(weights, biases, c, constant)
        for position, a in enumerate(A):
            p = paper.softmax(weights @ a + biases)[c]
            shifted = math.log(p / (1 - p)) + math.log(0.7 / 0.3)
            assert abs(result.evidence[position] - shifted) < 1e-12
            relevance = paper.soft_min_take_most(paper.activations(a, neurons))
            values = paper.propagate(a, neurons, relevance)
            assert np.abs(result.values[position] - values).max() < 1e-10
            assert abs(result.explained[position] - sum(relevance)) < 1e-10
        np.testing.assert_array_equal(result.evidence > 0, net.predict_proba(A)[:, c] > 0.3)  # Eq. (13)
