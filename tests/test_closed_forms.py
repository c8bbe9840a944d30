"""Every closed form against the literal equations of tests/paper.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans

import paper
import whyclust as wc
from literal_models import (
    LiteralKernel,
    LiteralPrototypes,
    blobs,
    literal_of_centers,
    literal_of_kernel,
    literal_of_soft,
    literal_of_tree,
)
from whyclust.cluster import KernelKMeans, SoftKMeans

N_EXPLAINED = 6
EXACT = 1e-12  # float64: largest error allowed, where relevance is of the order of ten
FAR = 1e6

MODELS = {
    "k-means": (lambda: KMeans(4, n_init=2, random_state=0), literal_of_centers),
    "mini-batch": (lambda: MiniBatchKMeans(4, n_init=2, random_state=0), literal_of_centers),
    "bisecting": (lambda: BisectingKMeans(5, random_state=0), literal_of_tree),
    "soft, relative": (lambda: SoftKMeans(4, n_init=2, random_state=0), literal_of_soft),
    "soft, absolute": (
        lambda: SoftKMeans(4, decision="absolute", threshold=0.7, n_init=2, random_state=0),
        literal_of_soft,
    ),
    "kernel, em": (
        lambda: KernelKMeans(3, n_support=4, n_init=2, max_iter=20, random_state=0),
        literal_of_kernel,
    ),
    "kernel, standard": (
        lambda: KernelKMeans(3, algorithm="standard", gamma=0.3, n_init=2, random_state=0),
        literal_of_kernel,
    ),
    "kernel, leave one out": (
        lambda: KernelKMeans(3, algorithm="leave_one_out", gamma=0.3, n_init=2, random_state=0),
        literal_of_kernel,
    ),
}


@pytest.fixture(scope="module")
def fitted():
    """Models are fitted once for each (name, shift, dtype)."""
    cache = {}

    def fit(name, shift=0.0, dtype=np.float64):
        key = (name, shift, dtype)
        if key not in cache:
            X = (blobs(1) + shift).astype(dtype)
            make, literal = MODELS[name]
            model = make().fit(X)
            cache[key] = (model, X, literal(model, shift), wc.neuralize(model, X))
        return cache[key]

    return fit


def targets(literal):
    """Assigned, every cluster, and some pairs of clusters."""
    last = literal.n_clusters - 1
    yield None, None
    for cluster in range(literal.n_clusters):
        yield cluster, None
    yield from [(0, last), (last, 0), (last, 1)]


def largest_error(net, literal, X, shift, cluster, against, rule):
    """Largest difference in values, base, explained and evidence, and the size of the values."""
    rows = X[:N_EXPLAINED]
    result = net.relevance(rows, cluster=cluster, against=against, rule=rule)
    errors, size = [0.0], 1.0
    for position, row in enumerate(rows):
        x = row.astype(np.float64) - shift
        c = literal.assigned(x) if cluster is None else cluster
        expected = literal.explain(x, c, net.beta, rule, against)
        assert result.clusters[position] == c
        assert result.assigned[position] == literal.assigned(x)
        errors.append(np.abs(result.values[position] - expected.values).max())
        errors.append(abs(result.base_values[position] - expected.base))
        errors.append(abs(result.explained[position] - expected.explained))
        errors.append(abs(result.evidence[position] - expected.evidence))
        size = max(size, np.abs(expected.values).max(), abs(expected.explained))
    return max(errors), size


def rules_for(name, cluster):
    """An absolute decision has one rule; min_take_most is for the assigned cluster only."""
    if name == "soft, absolute":
        return [None]
    return [None, "expected", "min_take_most"] if cluster is None else [None, "expected"]


@pytest.mark.parametrize("shift", [0.0, FAR], ids=["near", "far"])
@pytest.mark.parametrize("name", MODELS)
def test_closed_form_equals_the_papers_equations(fitted, name, shift):
    # The literal network sees the same points with the shift taken off, which is exact (the
    # difference of two near numbers), so what is left is the library's own rounding.
    _, X, literal, net = fitted(name, shift)
    for cluster, against in targets(literal):
        for rule in rules_for(name, cluster):
            error, _ = largest_error(net, literal, X, shift, cluster, against, rule)
            assert error < EXACT, (cluster, against, rule)


@pytest.mark.parametrize("shift", [0.0, 100.0], ids=["near", "far"])
@pytest.mark.parametrize("name", MODELS)
def test_closed_form_in_float32(fitted, name, shift):
    # 5e-6 of the largest value: about 40 units in the last place of float32.
    _, X, literal, net = fitted(name, shift, np.float32)
    for cluster, against in targets(literal):
        for rule in rules_for(name, cluster):
            error, size = largest_error(net, literal, X, shift, cluster, against, rule)
            assert error < 5e-6 * size, (cluster, against, rule)
    assert net.relevance(X).values.dtype == np.float32


def test_standard_kernel_k_means_has_a_background(fitted):
    # Clusters differ in norm, so that Eq. (5) is not Eq. (6): pairs with the background matter.
    model, X, _, net = fitted("kernel, standard")
    assert model.background_.max() > 1e-2
    assert np.abs(net.relevance(X).base_values).max() > 1e-3


@pytest.mark.parametrize("name", MODELS)
def test_beta_is_one_over_the_mean_evidence(fitted, name):
    _, X, literal, net = fitted(name)
    evidence = []
    for x in X:
        others = literal.explain(x, literal.assigned(x), 1.0)
        evidence.append(others.evidence)
    if name != "soft, absolute":  # whose soft minimum has stiffness one
        assert net.beta == pytest.approx(1.0 / np.mean(evidence), rel=1e-9)  # Eq. (3)
    assert np.abs(net.evidence(X) - evidence).max() < EXACT


@pytest.mark.parametrize("name", MODELS)
def test_explain_gives_the_same_numbers_as_the_network(fitted, name):
    model, X, _, net = fitted(name)
    explanation = wc.explain(model, X[:N_EXPLAINED], background=X)
    result = net.relevance(X[:N_EXPLAINED])
    for attribute in ("values", "base_values", "explained", "evidence", "clusters", "assigned"):
        np.testing.assert_array_equal(getattr(explanation, attribute), getattr(result, attribute))


@pytest.mark.parametrize("name", MODELS)
def test_sparse_points(name):
    X = blobs(1)
    X[np.abs(X) < 0.7] = 0.0
    make, literal_of = MODELS[name]
    model = make().fit(X)
    literal, net = literal_of(model), wc.neuralize(model, X)
    if name.startswith("kernel"):
        with pytest.raises((TypeError, ValueError), match="toarray"):
            net.relevance(sparse.csr_array(X))
        return
    result = net.relevance(sparse.csr_array(X))
    values = np.asarray(result.values)
    for position, x in enumerate(X[:N_EXPLAINED]):
        expected = literal.explain(x, literal.assigned(x), net.beta)
        assert np.abs(values[position] - expected.values).max() < EXACT
        assert np.abs(result.values[position] - expected.values).max() < EXACT
        assert abs(result.explained[position] - expected.explained) < EXACT
        assert abs(result.base_values[position] - expected.base) < EXACT


def test_min_take_most_is_refused_for_a_cluster_that_points_are_not_in(fitted):
    _, X, _, net = fitted("k-means")
    with pytest.raises(ValueError, match="min_take_most"):
        net.relevance(X, cluster=0, rule="min_take_most")


def test_an_absolute_decision_refuses_the_rules_of_the_hard_minimum(fitted):
    _, X, _, net = fitted("soft, absolute")
    with pytest.raises(ValueError, match="absolute"):
        net.relevance(X, rule="expected")


# --------------------------------------------------------------------------- made-up data

whole = st.integers(-2, 2)


@st.composite
def grids(draw, min_clusters=2):
    """Points and prototypes on a coarse grid: ties, duplicates and boundaries happen."""
    n_features = draw(st.integers(1, 3))
    n_clusters = draw(st.integers(min_clusters, 4))

    def rows(n):
        row = st.lists(whole, min_size=n_features, max_size=n_features)
        return np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=float)

    return rows(draw(st.integers(1, 4))) / 2.0, rows(n_clusters)


def k_means_with(centers):
    """A fitted k-means model whose centres are given."""
    model = KMeans(len(centers))
    model.cluster_centers_ = centers
    model.labels_ = np.arange(len(centers), dtype=np.int32)
    model.n_features_in_ = centers.shape[1]
    model._n_threads = 1
    return model


def kernel_with(supports, n_clusters, gamma, background):
    """A fitted kernel k-means model whose supports are given, dealt out to clusters in turn."""
    clusters = np.sort(np.arange(len(supports)) % n_clusters)
    model = KernelKMeans(n_clusters)
    model.support_vectors_ = supports
    model.support_clusters_ = clusters
    model.support_offsets_ = np.log(np.bincount(clusters)[clusters]) / gamma
    model.gamma_ = gamma
    model.background_ = background
    model.beta_ = 0.5
    model.n_features_in_ = supports.shape[1]
    model.labels_ = clusters
    return model


def check_against_literal(net, literal, X, cluster, rule):
    """Finite and conserving everywhere; equal to the equations where those are continuous."""
    result = net.relevance(X, cluster=cluster, rule=rule)
    assert np.isfinite(result.values).all()
    assert np.isfinite(result.base_values).all()
    gap = result.values.sum(axis=1) + result.base_values - result.explained
    assert np.abs(gap).max() < EXACT
    for position, x in enumerate(X):
        c = int(result.clusters[position])
        h = literal.evidence_against(x, c)
        assert abs(result.evidence[position] - min(h)) < EXACT
        if (result.assigned == result.clusters)[position]:
            assert abs(result.explained[position] - min(h)) < EXACT
            # With two competitors on the boundary f_c/h_k is 0/0 twice, and no limit exists.
            if sum(abs(value) < 1e-6 for value in h) > 1:
                continue
        expected = literal.explain_weighted(x, c, net.beta, rule, result.assigned[position] == c)
        assert np.abs(result.values[position] - expected).max() < EXACT


class GridPrototypes(LiteralPrototypes):
    """Literal k-means through the weights α, which exist on a boundary too."""

    def evidence_against(self, x, c):
        return paper.activations(x, self.neurons(c))

    def explain_weighted(self, x, c, beta, rule, assigned):
        h = self.evidence_against(x, c)
        return paper.propagate_weights(x, self.neurons(c), weights_of(h, beta, rule, assigned))


class GridKernel(LiteralKernel):
    """Literal kernel k-means; the grid may put single neurons, not h_k, exactly on zero."""

    def evidence_against(self, x, c):
        others = [self.members[k] for k in paper.competitors_of(self.n_clusters, c)]
        return paper.kernel_forward(x, self.members[c], others, self.gamma)[2]

    def explain_weighted(self, x, c, beta, rule, assigned):
        weights = weights_of(self.evidence_against(x, c), beta, rule, assigned)
        others = [self.members[k] for k in paper.competitors_of(self.n_clusters, c)]
        return paper.kernel_relevance_from_weights(x, self.members[c], others, self.gamma, weights)


def weights_of(h, beta, rule, assigned):
    """α_k of the rule asked for, ``expected`` where none is."""
    if rule == "min_take_most":
        return paper.min_take_most_weights(h, beta)
    return paper.expected_weights(h, beta, assigned)


@pytest.mark.filterwarnings("ignore:The mean evidence")  # equal centres: β falls back
@settings(max_examples=60, deadline=None)
@given(grids(), st.sampled_from([None, "expected"]), st.booleans())
def test_k_means_on_grids(grid, rule, chosen):
    X, centers = grid
    literal = GridPrototypes(centers)
    background = centers + np.random.default_rng(0).normal(size=centers.shape)
    net = wc.neuralize(k_means_with(centers), background)
    check_against_literal(net, literal, X, 0 if chosen else None, rule)


@settings(max_examples=60, deadline=None)
@given(
    grids(min_clusters=4),
    st.sampled_from([None, "expected"]),
    st.booleans(),
    st.sampled_from([0.0, 0.2]),
)
def test_kernel_k_means_on_grids(grid, rule, chosen, background):
    X, supports = grid
    gamma = 0.7
    model = kernel_with(supports, 2, gamma, np.array([0.0, background]))
    literal = literal_of_kernel(model)
    literal = GridKernel(literal.members, literal.gamma)
    check_against_literal(wc.neuralize(model), literal, X, 0 if chosen else None, rule)
