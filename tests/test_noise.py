"""Noise, a constant competitor of prototypes, against its formulas written out pair by pair."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

import paper
import whyclust as wc
from literal_models import relevance_of_competitors
from whyclust.network import MinPool, PrototypeHead
from whyclust.network.beta import prototype_stiffness

NOISE = -1
N_CLUSTERS = 3
N_FEATURES = 4
BETA = 0.3
EXACT = 1e-10  # float64, where evidence and relevance are below a thousand
FAR = 1e6


class LiteralNoise:
    """Prototypes and a constant competitor, one point, pair, prototype and feature at a time.

    ``a = matrix (x − middle) + offset``; a prototype's pre-image is the nearest to the middle.
    """

    def __init__(self, head, matrix, middle, offset):
        self.head, self.matrix, self.middle, self.offset = head, matrix, middle, offset
        self.noise = int(head.members[-1]) + 1
        self.offsets = np.zeros(len(head.members)) if head.offsets is None else head.offsets
        inverse = np.linalg.pinv(matrix)
        self.preimages = [inverse @ (prototype - offset) for prototype in head.prototypes]

    def image(self, x):
        """Features of a point that is given around the middle."""
        return self.matrix @ x + self.offset

    def inside(self, k):
        """Prototypes of a cluster."""
        return [j for j in range(len(self.head.members)) if self.head.members[j] == k]

    def distances(self, x, k):
        """‖a − u_j‖² + offset_j."""
        a = self.image(x)
        return [paper.squared_distance(a, self.head.prototypes[j]) + self.offsets[j] for j in self.inside(k)]

    def outlier_score(self, x, k):
        """o_k; that of noise is a constant."""
        if k == self.noise:
            return self.head.noise
        distances = self.distances(x, k)
        if math.isinf(self.head.gamma):
            return min(distances)
        return paper.log_weighted_exp(distances, [0.0] * len(distances), -self.head.gamma)

    def shares(self, x, k):
        """P_j of the cluster's prototypes."""
        distances = self.distances(x, k)
        if math.isinf(self.head.gamma):
            return [float(distance == min(distances)) for distance in distances]
        return paper.softmax([-self.head.gamma * distance for distance in distances])

    def evidence(self, x, c, k):
        """h = logit_c − logit_k."""
        return self.head.scale * (self.outlier_score(x, k) - self.outlier_score(x, c))

    def against_noise(self, x, c):
        """−scale Σ_j P_j (x − p_j) ⊙ AᵀA(x − p_j)."""
        result = np.zeros(len(x))
        for j, share in zip(self.inside(c), self.shares(x, c), strict=True):
            away = x - self.preimages[j]
            for i in range(len(x)):
                pulled = 0.0
                for other in range(len(x)):
                    for row in range(len(self.matrix)):
                        pulled += self.matrix[row, i] * self.matrix[row, other] * away[other]
                result[i] -= self.head.scale * share * away[i] * pulled
        return result

    def pair(self, x, c, k):
        """Relevance of h for c against k."""
        if k == self.noise:
            return self.against_noise(x, c)
        if c == self.noise:
            return -self.against_noise(x, k)
        result = np.zeros(len(x))
        for i, own in zip(self.inside(c), self.shares(x, c), strict=True):
            for j, other in zip(self.inside(k), self.shares(x, k), strict=True):
                difference = self.head.prototypes[i] - self.head.prototypes[j]
                slope = 2.0 * self.head.scale * (self.matrix.T @ difference)
                for column in range(len(x)):
                    middle = (self.preimages[i][column] + self.preimages[j][column]) / 2.0
                    result[column] += own * other * (x[column] - middle) * slope[column]
        return result

    def assigned(self, x):
        """The smallest outlier score."""
        return int(np.argmin([self.outlier_score(x, k) for k in range(self.noise + 1)]))

    def explain(self, x, c, rule, against):
        """Values, Σ α h, and f_c."""
        others = [k for k in range(self.noise + 1) if k != c] if against is None else [against]
        h = [self.evidence(x, c, k) for k in others]
        relevance = relevance_of_competitors(h, BETA, rule, against is not None or self.assigned(x) == c)
        values = np.zeros(len(x))
        for k, value, r in zip(others, h, relevance, strict=True):
            values += r / value * self.pair(x, c, k)
        return values, sum(relevance), min(h)


# --------------------------------------------------------------------------- what is compared

MAPS = {
    "identity": list,
    "scaler": lambda: [StandardScaler()],
    "rotated": lambda: [StandardScaler(), PCA(N_FEATURES)],
    "fewer components": lambda: [StandardScaler(), PCA(2)],
    "whitened": lambda: [PCA(3, whiten=True)],
}
# Prototypes a cluster, γ, scale.
HEADS = {
    "one each": ([1, 1, 1], 1.0, 1.0),
    "one each, scaled": ([1, 1, 1], 1.0, 0.4),
    "several": ([3, 1, 4], 0.6, 1.0),
    "several, scaled": ([2, 3, 2], 0.9, 1.7),
    "nearest": ([3, 1, 4], np.inf, 1.3),
}


def blobs(seed=3, n_points=60):
    generator = np.random.default_rng(seed)
    middles = generator.normal(scale=2.0, size=(N_CLUSTERS, N_FEATURES))
    table = middles[generator.integers(N_CLUSTERS, size=n_points)]
    table = table + generator.normal(scale=0.7, size=table.shape)
    table[:6] += generator.normal(scale=4.0, size=(6, N_FEATURES))  # outliers, among those explained
    return table


def read_map(steps, width):
    """Matrix, middle and offset of a scaler and a PCA, from their definitions."""
    matrix, middle, offset = np.eye(width), np.zeros(width), np.zeros(width)
    for step in steps:
        if isinstance(step, StandardScaler):
            matrix, middle = matrix / step.scale_[:, None], step.mean_
        else:
            rotation = step.components_
            if step.whiten:
                rotation = rotation / np.sqrt(step.explained_variance_)[:, None]
            if middle.any():
                offset = -rotation @ step.mean_
            else:
                offset, middle = np.zeros(len(rotation)), step.mean_
            matrix = rotation @ matrix
    return matrix, middle, offset


def build(map_name, head_name, shift=0.0, dtype=np.float64):
    """A table, a network with noise, and its formulas; a third of the rows or so is noise."""
    table = (blobs() + shift).astype(dtype)
    steps = MAPS[map_name]()
    pipeline = make_pipeline(*steps, KMeans(N_CLUSTERS, n_init=1, random_state=0)).fit(table)
    matrix, middle, offset = read_map(steps, N_FEATURES)
    if not steps:
        middle = np.full(N_FEATURES, shift)
    counts, gamma, scale = HEADS[head_name]
    generator = np.random.default_rng(5)
    rows = generator.choice(np.arange(6, len(table)), size=sum(counts), replace=False)
    prototypes = (table[rows].astype(float) - middle) @ matrix.T + offset
    members = np.repeat(np.arange(N_CLUSTERS), counts)
    offsets = 0.2 * generator.normal(size=len(members))
    head = PrototypeHead(prototypes, members, offsets=offsets, gamma=gamma, scale=scale, noise=0.0)
    literal = LiteralNoise(head, matrix, middle, offset)
    scores = [
        min(literal.outlier_score(x - middle, k) for k in range(N_CLUSTERS)) for x in table.astype(float)
    ]
    literal.head = head = dataclasses.replace(head, noise=float(np.quantile(scores, 0.6)))
    # The network is given prototypes where its points are; the formulas see them around the middle.
    placed = head if steps else dataclasses.replace(head, prototypes=prototypes + shift)
    net = dataclasses.replace(
        wc.neuralize(pipeline, table),
        head=placed,
        pool=MinPool(),
        beta=BETA,
        clusters=np.array([*range(N_CLUSTERS), NOISE], dtype=np.int32),
    )
    return table, net, literal


QUESTIONS = [
    (None, None),
    (0, None),
    (2, None),
    (NOISE, None),
    (0, 1),
    (1, NOISE),
    (2, NOISE),
    (NOISE, 0),
    (NOISE, 2),
]


def largest(array):
    return float(np.abs(array).max())


def largest_error(net, literal, table, rules=(None, "expected")):
    """Over all questions and rules: values, base, explained, evidence; and the size of all terms."""
    rows, errors, size = table[:15:2], [], 1.0
    position = {cluster: k for k, cluster in enumerate(net.clusters.tolist())}
    for cluster, against in QUESTIONS:
        for rule in rules:
            result = net.relevance(rows, cluster=cluster, against=against, rule=rule)
            for row, point in enumerate(rows.astype(float)):
                x = point - literal.middle
                assigned = literal.assigned(x)
                c = assigned if cluster is None else position[cluster]
                values, explained, evidence = literal.explain(
                    x, c, rule, None if against is None else position[against]
                )
                assert result.assigned[row] == net.clusters[assigned]
                assert result.clusters[row] == net.clusters[c]
                errors.append(largest(result.values[row] - values))
                errors.append(abs(result.base_values[row] - (explained - values.sum())))
                errors.append(abs(result.explained[row] - explained))
                errors.append(abs(result.evidence[row] - evidence))
                size = max(size, largest(values), abs(explained))
    return max(errors), size


CASES = [(map_name, head_name) for map_name in MAPS for head_name in HEADS]


@pytest.fixture(scope="module")
def built():
    cache = {}

    def get(*key):
        if key not in cache:
            cache[key] = build(*key)
        return cache[key]

    return get


# --------------------------------------------------------------------------- the formulas


@pytest.mark.parametrize("shift", [0.0, FAR], ids=["near", "far"])
@pytest.mark.parametrize(("map_name", "head_name"), CASES)
def test_equal_to_the_formulas_pair_by_pair(built, map_name, head_name, shift):
    table, net, literal = built(map_name, head_name, shift)
    error, size = largest_error(net, literal, table)
    assert size < 1000
    # Pre-images far away are numbers near 1e6, whose last place is 1e-10.
    assert error < (EXACT if shift == 0.0 or map_name == "identity" else 10 * EXACT)


@pytest.mark.parametrize("shift", [0.0, 100.0], ids=["near", "far"])
@pytest.mark.parametrize(("map_name", "head_name"), CASES)
def test_in_float32(built, map_name, head_name, shift):
    # 1e-5 of the largest value: about 80 units in the last place of float32.
    table, net, literal = built(map_name, head_name, shift, np.float32)
    error, size = largest_error(net, literal, table)
    assert error < 1e-5 * size
    assert net.relevance(table).values.dtype == np.float32


@pytest.mark.parametrize("head_name", HEADS)
def test_a_column_wise_map_gives_squared_differences(built, head_name):
    """Against noise: −Σ_j P_j (a − u_j)², column by column, times the scale."""
    table, net, literal = built("scaler", head_name)
    found = net.relevance(table[:8], cluster=1, against=NOISE).values
    for row in range(8):
        x = table[row] - literal.middle
        wanted = np.zeros(N_FEATURES)
        for j, share in zip(literal.inside(1), literal.shares(x, 1), strict=True):
            wanted -= literal.head.scale * share * (literal.image(x) - literal.head.prototypes[j]) ** 2
        assert largest(found[row] - wanted) < EXACT
        assert (found[row] <= EXACT).all()


def test_an_encoded_column_gets_the_sum_over_its_categories():
    table = blobs()
    frame = pd.DataFrame(table, columns=["a", "b", "c", "d"])
    frame["colour"] = np.array(["red", "green", "blue"])[np.arange(len(frame)) % 3]
    numbers = ["a", "b", "c", "d"]
    encode = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), ["colour"]))
    pipeline = make_pipeline(encode, KMeans(N_CLUSTERS, n_init=1, random_state=0)).fit(frame)
    images = np.asarray(encode.transform(frame))
    rows = [8, 20, 33, 41, 52]
    head = PrototypeHead(images[rows], np.array([0, 0, 1, 2, 2]), gamma=0.7, noise=2.0)
    net = dataclasses.replace(
        wc.neuralize(pipeline, frame), head=head, beta=BETA, clusters=np.array([0, 1, 2, NOISE])
    )
    literal = LiteralNoise(head, np.eye(7), np.zeros(7), np.zeros(7))  # in the scaled columns
    for cluster, against in QUESTIONS:
        result = net.relevance(frame.iloc[:12], cluster=cluster, against=against)
        for row in range(12):
            c = literal.assigned(images[row]) if cluster is None else cluster % 4
            other = None if against is None else against % 4
            values, explained, _ = literal.explain(images[row], c, None, other)
            assert largest(result.values[row, :4] - values[:4]) < EXACT
            assert abs(result.values[row, 4] - values[4:].sum()) < EXACT
            assert abs(result.explained[row] - explained) < EXACT


def test_a_row_norm_comes_first():
    table = blobs()
    pipeline = make_pipeline(Normalizer(), KMeans(N_CLUSTERS, n_init=1, random_state=0)).fit(table)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    head = PrototypeHead(unit[[8, 20, 33, 41]], np.array([0, 1, 1, 2]), gamma=3.0, noise=0.1)
    net = dataclasses.replace(
        wc.neuralize(pipeline, table), head=head, beta=BETA, clusters=np.array([0, 1, 2, NOISE])
    )
    literal = LiteralNoise(head, np.eye(4), np.zeros(4), np.zeros(4))
    for cluster in (None, 1, NOISE):
        result = net.relevance(table[:10], cluster=cluster)
        for row, x in enumerate(unit[:10]):
            c = literal.assigned(x) if cluster is None else cluster % 4
            values, explained, _ = literal.explain(x, c, None, None)
            assert largest(result.values[row] - values) < EXACT
            assert abs(result.explained[row] - explained) < EXACT


@pytest.mark.parametrize("map_name", MAPS)
def test_a_background_has_no_direction_against_noise_either(built, map_name):
    """c against noise: only the prototypes' part of the similarity spreads; the sums still agree."""
    table, net, literal = built(map_name, "several")
    head = dataclasses.replace(net.head, background=np.array([0.1, 0.0, 0.4]))
    net = dataclasses.replace(net, head=head)
    result = net.relevance(table[:10], cluster=2, against=NOISE)
    for row in range(10):
        x = table[row] - literal.middle
        similarity = sum(math.exp(-head.gamma * distance) for distance in literal.distances(x, 2))
        wanted = literal.against_noise(x, 2) * similarity / (similarity + 0.4)
        assert largest(result.values[row] - wanted) < EXACT
        evidence = head.noise + math.log(similarity + 0.4) / head.gamma
        assert abs(result.evidence[row] - evidence) < EXACT
    for cluster, against in QUESTIONS:
        result = net.relevance(table, cluster=cluster, against=against)
        assert largest(result.values.sum(axis=1) + result.base_values - result.explained) < EXACT


# --------------------------------------------------------------------------- what a network promises


@pytest.mark.parametrize(("map_name", "head_name"), CASES)
def test_sums_and_signs(built, map_name, head_name):
    table, net, literal = built(map_name, head_name)
    labels = net.predict(table)
    assert NOISE in labels
    assert len(set(labels.tolist())) > 2
    for cluster, against in QUESTIONS:
        result = net.relevance(table, cluster=cluster, against=against)
        assert largest(result.values.sum(axis=1) + result.base_values - result.explained) < EXACT
    own = net.relevance(table)
    assert own.rule == "expected"
    assert largest(own.explained - own.evidence) < EXACT
    assert (own.evidence >= 0).all()
    assert (own.competitors != own.clusters).all()
    for cluster in net.clusters:
        evidence = net.evidence(table, cluster=cluster)
        assert ((evidence > 0) == (labels == cluster)).all()
        assert largest(evidence - net.relevance(table, cluster=cluster).evidence) == 0.0
    away = labels == NOISE
    assert net.relevance(table[away], cluster=0).rule == "expected"
    with pytest.raises(ValueError, match="min_take_most"):
        net.relevance(table[away], cluster=0, rule="min_take_most")
    pair, back = (
        net.relevance(table, cluster=1, against=NOISE),
        net.relevance(table, cluster=NOISE, against=1),
    )
    assert largest(pair.values + back.values) < EXACT
    assert largest(pair.base_values + back.base_values) < EXACT
    literal_labels = [literal.assigned(x - literal.middle) for x in table]
    assert (labels == net.clusters[literal_labels]).all()


@pytest.mark.parametrize("head_name", HEADS)
def test_probabilities_have_noise_last(built, head_name):
    table, net, literal = built("scaler", head_name)
    soft = dataclasses.replace(net, head=dataclasses.replace(net.head, probability_stiffness=0.8))
    found = soft.predict_proba(table)
    assert found.shape == (len(table), N_CLUSTERS + 1)
    for row in range(10):
        x = table[row] - literal.middle
        logits = [-literal.head.scale * literal.outlier_score(x, k) for k in range(N_CLUSTERS + 1)]
        assert largest(found[row] - np.array(paper.softmax([0.8 * logit for logit in logits]))) < EXACT
    assert (soft.clusters[found.argmax(axis=1)] == soft.predict(table)).all()


@pytest.mark.parametrize("map_name", MAPS)
@pytest.mark.parametrize("head_name", HEADS)
def test_a_row_alone_equals_the_row_in_any_table(built, map_name, head_name, monkeypatch):
    table, net, _ = built(map_name, head_name)
    for cluster in (None, 1, NOISE):
        whole = net.relevance(table, cluster=cluster)
        for row in (0, 5, 30):
            alone = net.relevance(table[row : row + 1], cluster=cluster)
            assert largest(alone.values[0] - whole.values[row]) < EXACT
            assert abs(alone.base_values[0] - whole.base_values[row]) < EXACT
        long = np.tile(table, (40, 1))
        with monkeypatch.context() as patch:
            patch.setattr("whyclust.network.blocks._BLOCK_BYTES", 1)
            blocks = net.relevance(long, cluster=cluster)
        assert largest(blocks.values - np.tile(whole.values, (40, 1))) < EXACT


@pytest.mark.parametrize("map_name", MAPS)
@pytest.mark.parametrize("head_name", ["one each", "several"])
def test_relevance_is_continuous_across_the_border_of_noise(built, map_name, head_name):
    """Along a line out of a cluster, relevance for a given cluster has no jumps."""
    _, net, literal = built(map_name, head_name)
    away = literal.preimages[0] - np.mean(literal.preimages, axis=0)
    path = literal.middle + literal.preimages[0] + np.linspace(0.0, 3.0, 4001)[:, None] * away
    labels = net.predict(path)
    assert labels[0] != NOISE
    assert labels[-1] == NOISE
    # Against one competitor there is one function everywhere, against all there is f_c / h_k beside
    # the border, where the rule changes: 1 for the nearest, nearly 0 for the others.
    for cluster, against in [(0, NOISE), (NOISE, 0), (0, 1)]:
        values = net.relevance(path, cluster=cluster, against=against).values
        steps = np.abs(np.diff(values, axis=0)).max(axis=1)
        assert steps.max() < 0.01 * np.abs(values).max()
    for cluster in (0, NOISE):
        values = net.relevance(path, cluster=cluster, rule="expected").values
        same = np.flatnonzero(labels[1:] == labels[:-1])
        assert np.abs(np.diff(values, axis=0))[same].max() < 0.02 * np.abs(values).max()


# --------------------------------------------------------------------------- what a user sees


def two_groups(per_cluster):
    generator = np.random.default_rng(8)
    prototypes = np.repeat([[0.0, 0.0, 0.0, 0.0], [6.0, 6.0, 0.0, 0.0]], per_cluster, axis=0)
    prototypes = prototypes + 0.1 * generator.normal(size=prototypes.shape)
    head = PrototypeHead(prototypes, np.repeat([0, 1], per_cluster), gamma=2.0, noise=4.0)
    template = wc.neuralize(KMeans(2, n_init=1, random_state=0).fit(prototypes), prototypes)
    return dataclasses.replace(template, head=head, beta=0.1, clusters=np.array([0, 1, NOISE]))


@pytest.mark.parametrize("per_cluster", [1, 5])
def test_the_far_column_makes_an_outlier(per_cluster):
    net = two_groups(per_cluster)
    outlier = np.array([[0.2, -0.3, 7.0, 0.1]])
    assert net.predict(outlier) == NOISE
    own = net.relevance(outlier)
    assert own.values[0].argmax() == 2
    assert own.values[0, 2] > 0.9 * np.abs(own.values[0]).sum()
    assert own.competitors[0] == 0
    kept_out = net.relevance(outlier, cluster=0)
    assert kept_out.evidence[0] < 0
    assert kept_out.values[0].argmin() == 2
    assert kept_out.values[0, 2] < -0.9 * np.abs(np.delete(kept_out.values[0], 2)).max()
    assert (net.relevance(outlier, cluster=0, against=NOISE).values <= 0).all()


@pytest.mark.parametrize("per_cluster", [1, 5])
def test_a_member_is_far_from_noise(per_cluster):
    net = two_groups(per_cluster)
    member = np.array([[5.9, 6.2, 0.1, -0.2]])
    assert net.predict(member) == 1
    result = net.relevance(member)
    assert result.competitors[0] == NOISE  # nearer than the other group
    assert result.base_values[0] > 0.5 * result.explained[0]  # the level of noise is no column's
    assert net.relevance(member, cluster=NOISE).evidence[0] == -result.evidence[0]


def test_one_cluster_and_noise_is_enough():
    net = two_groups(1)
    head = PrototypeHead.one_each(net.head.prototypes[:1])
    net = dataclasses.replace(net, head=dataclasses.replace(head, noise=4.0), clusters=np.array([0, NOISE]))
    points = np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 3.0, 1.0]])
    assert net.predict(points).tolist() == [0, NOISE]
    assert net.relevance(points).values[1].argmax() == 2


def test_a_tie_goes_to_the_cluster():
    head = PrototypeHead(np.zeros((1, 4)), np.array([0]), noise=4.0)
    net = dataclasses.replace(two_groups(1), head=head, clusters=np.array([0, NOISE]))
    on_border = np.array([[2.0, 0.0, 0.0, 0.0]])
    assert net.predict(on_border) == 0
    assert net.evidence(on_border) == 0.0
    result = net.relevance(on_border)
    assert np.isfinite(result.values).all()
    assert result.explained[0] == 0.0


# --------------------------------------------------------------------------- beta, files, torch, bad input


@pytest.mark.parametrize("head_name", HEADS)
def test_beta_from_a_background(built, head_name):
    table, net, literal = built("scaler", head_name)
    evidence = []
    for row in table:
        x = row - literal.middle
        c = literal.assigned(x)
        evidence.append(min(literal.evidence(x, c, k) for k in range(N_CLUSTERS + 1) if k != c))
    assert net.with_beta(table).beta == pytest.approx(1.0 / np.mean(evidence), rel=1e-12)


@pytest.mark.parametrize("head_name", HEADS)
def test_beta_from_prototypes(built, head_name):
    """Noise has no prototype, so it has no part in the mean over clusters."""
    _, net, literal = built("scaler", head_name)
    labels = np.array([0, 0, 0, 1, 2, 2])
    mean = 0.0
    for c, share in enumerate([1 / 2, 1 / 6, 1 / 3]):
        inside = literal.inside(c)
        for j in inside:
            x = literal.preimages[j]
            others = [k for k in range(N_CLUSTERS + 1) if k != c]
            mean += share / len(inside) * min(literal.evidence(x, c, k) for k in others)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = prototype_stiffness(net, labels)
    assert found == pytest.approx(1.0 / mean, rel=1e-10)
    points, members = net.head.typical_points(net.features.folded)
    assert len(points) == len(members) == len(net.head.prototypes)
    assert net.head.n_clusters == members.max() + 2


@pytest.mark.parametrize(("map_name", "head_name"), CASES)
def test_save_and_load(built, map_name, head_name, tmp_path):
    table, net, _ = built(map_name, head_name)
    again = wc.load(wc.save(net, tmp_path / "net.npz"))
    assert again.head.noise == net.head.noise
    assert again.clusters.tolist() == net.clusters.tolist()
    for cluster in (None, 1, NOISE):
        one, other = net.relevance(table, cluster=cluster), again.relevance(table, cluster=cluster)
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.base_values, other.base_values)


@pytest.mark.parametrize("shift", [0.0, FAR], ids=["near", "far"])
@pytest.mark.parametrize(("map_name", "head_name"), CASES)
def test_the_torch_module_has_noise_too(built, map_name, head_name, shift):
    torch = pytest.importorskip("torch")
    table, net, _ = built(map_name, head_name, shift)
    with torch.no_grad():
        found = net.to_torch()(torch.tensor(table)).numpy()
    wanted = np.stack([net.evidence(table, cluster=cluster) for cluster in net.clusters], axis=1)
    assert largest(found - wanted) < EXACT  # evidence needs no pre-images


def test_sparse_tables_are_refused(built):
    table, net, _ = built("identity", "one each")
    with pytest.raises(TypeError, match=r"X is sparse.*X\.toarray"):
        net.relevance(sparse.csr_array(table))


@pytest.mark.parametrize("level", [np.inf, np.nan])
def test_a_level_that_is_no_number_is_refused(level):
    with pytest.raises(ValueError, match="is no outlier score: pass a finite number, or None"):
        PrototypeHead(np.zeros((1, 2)), np.array([0]), noise=level)


def test_without_noise_nothing_changes(built):
    """A level that no point reaches: the same clusters, the same relevance."""
    table, net, _ = built("rotated", "several")
    bare = dataclasses.replace(
        net, head=dataclasses.replace(net.head, noise=None), clusters=np.arange(N_CLUSTERS)
    )
    far = dataclasses.replace(net, head=dataclasses.replace(net.head, noise=1e5))
    assert (far.predict(table) == bare.predict(table)).all()
    assert largest(far.relevance(table).values - bare.relevance(table).values) < 1e-8


@pytest.mark.parametrize("labels", [None, np.array([0, 0, 1, 2, 3, 3, 3])], ids=["none", "with noise"])
def test_beta_from_prototypes_leaves_the_share_of_noise_to_the_clusters(built, labels):
    _, net, literal = built("scaler", "one each")
    shares = [1 / 3] * 3 if labels is None else [1 / 2, 1 / 4, 1 / 4]
    mean = 0.0
    for c, share in enumerate(shares):
        x = literal.preimages[c]
        mean += share * min(literal.evidence(x, c, k) for k in range(N_CLUSTERS + 1) if k != c)
    assert prototype_stiffness(net, labels) == pytest.approx(1.0 / mean, rel=1e-10)
