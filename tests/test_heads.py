"""Heads by themselves: scales, ties, and β without data."""

import numpy as np
import pytest
from sklearn.cluster import Birch, BisectingKMeans, KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.cluster import KernelKMeans
from whyclust.network import Features, MinPool, Neuralized, PrototypeHead, TreeHead

random = np.random.default_rng(0)
X = random.normal(size=(40, 3))
MEMBERS = np.array([0, 0, 1, 1, 1, 2])


def network(**options):
    head = PrototypeHead(random_prototypes(), MEMBERS, offsets=np.linspace(0, 1, 6), gamma=0.7, **options)
    return Neuralized(Features.identity(3), head, MinPool(), 1.0, np.arange(3), ("a", "b", "c"))


def random_prototypes():
    return np.random.default_rng(1).normal(size=(6, 3))


@pytest.mark.parametrize("background", [None, np.array([0.0, 0.3, 0.1])])
def test_a_scale_multiplies_everything(background):
    one, five = network(background=background), network(background=background, scale=5.0)
    odds = one.logits(X)
    # Logits leave out what all clusters share, so differences are compared.
    assert np.abs((five.logits(X) - 5 * odds) - (five.logits(X) - 5 * odds)[:, :1]).max() < 1e-10
    single, scaled = one.relevance(X, cluster=1, against=0), five.relevance(X, cluster=1, against=0)
    assert np.abs(scaled.values - 5 * single.values).max() < 1e-10
    assert np.abs(scaled.base_values - 5 * single.base_values).max() < 1e-10


@pytest.mark.parametrize("algorithm", ["em", "standard", "leave_one_out"])
def test_kernel_behind_a_mixing_map_conserves(algorithm):
    table = random.normal(size=(80, 5)) @ random.normal(size=(5, 5)) + 3
    model = make_pipeline(PCA(3), KernelKMeans(3, algorithm=algorithm, n_init=1, random_state=0)).fit(table)
    found = wc.neuralize(model, table).relevance(table)
    assert np.abs(found.values.sum(axis=1) + found.base_values - found.explained).max() < 1e-10


def test_at_a_tie_the_left_child_wins_as_in_scikit_learn():
    head = TreeHead(np.array([[-1.0], [1.0]]), np.array([-1, -1]), np.array([0, 1]))
    net = Neuralized(Features.identity(1), head, MinPool(), 1.0, np.arange(2), ("x",))
    assert net.predict([[0.0]]).tolist() == [0]
    model = BisectingKMeans(2, random_state=0).fit([[-1.0], [-1.0], [1.0], [1.0]])
    assert wc.neuralize(model).predict([[0.0]]).tolist() == model.predict([[0.0]]).tolist()


def test_beta_without_data_is_the_mean_over_clusters_of_the_mean_over_prototypes():
    """1/β = Σ_c π_c E[f_c at the prototypes of c], π the shares of the labels."""
    table = np.concatenate([random.normal(size=(30, 2)), random.normal(size=(10, 2)) + 8])
    model = Birch(threshold=0.8, n_clusters=2).fit(table)
    labels, centers = model.subcluster_labels_, model.subcluster_centers_
    assert np.bincount(labels).min() >= 2, "several prototypes in each cluster"
    expected = 0.0
    for c in range(2):
        own, other = centers[labels == c], centers[labels != c]
        evidence = [min(((x - u) ** 2).sum() for u in other) for x in own]  # its own distance is zero
        expected += np.mean(model.labels_ == c) * np.mean(evidence)
    assert wc.neuralize(model).beta == pytest.approx(1 / expected, rel=1e-12)


# The mean of three such numbers is not the number itself, but 0.125 more.
CONSTANT = 0.1 * 2.0**53


def test_a_constant_column_has_no_part_in_the_distance_to_noise():
    """All prototypes agree in the second column, and so do the rows: exactly nothing is left of it."""
    prototypes = np.array([[0.0, CONSTANT], [4.0, CONSTANT], [8.0, CONSTANT]])
    assert prototypes[:, 1].mean() != CONSTANT
    head = PrototypeHead(prototypes, np.arange(3), noise=9.0)
    net = Neuralized(Features.identity(2), head, MinPool(), 1.0, np.arange(4), ("a", "b"))
    rows = np.array([[0.5, CONSTANT], [5.0, CONSTANT], [-20.0, CONSTANT]])
    found = net.relevance(rows, cluster=0, against=3)
    assert np.array_equal(found.values[:, 1], np.zeros(3))
    assert np.array_equal(found.evidence, 9.0 - rows[:, 0] ** 2)
    assert net.predict(rows).tolist() == [0, 1, 3]


@pytest.mark.parametrize("steps", [[], [StandardScaler()]], ids=["bare", "scaled"])
def test_a_constant_column_has_no_relevance_wherever_a_row_is_in_it(steps):
    """0.1 is no number of single precision: what rounding leaves of the column must not count."""
    table = random.normal(size=(200, 3))
    table[:, 1] = 0.1
    model = make_pipeline(*steps, KMeans(7, n_init=1, random_state=0)).fit(table)
    net = wc.neuralize(model, table)
    rows = table.copy()
    rows[:, 1] = random.normal(size=200)
    for dtype in (np.float32, np.float64):
        found = net.relevance(rows.astype(dtype))
        assert np.array_equal(found.values[:, 1], np.zeros(200))
        assert found.values[:, [0, 2]].all()


def test_hundreds_of_clusters():
    """Positions do not fit a byte."""
    centers = np.arange(300.0)[:, None]
    head = PrototypeHead.one_each(centers)
    net = Neuralized(Features.identity(1), head, MinPool(), 1.0, np.arange(300), ("x",))
    rows = centers[::-1] + 0.25
    assert np.array_equal(net.predict(rows), np.arange(300)[::-1])
    found = net.relevance(rows)
    assert np.array_equal(found.competitors, [298, *range(299, 0, -1)])
