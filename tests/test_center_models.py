"""Clusterings of scikit-learn that have centres: exact without a surrogate."""

import numpy as np
import pytest
from sklearn.cluster import AffinityPropagation, Birch, MeanShift
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paper
import whyclust as wc

X, _ = make_blobs(120, centers=5, n_features=3, cluster_std=1.5, random_state=3)


def literal_relevance(x, centers, c, beta):
    """Eqs. (2) and (4)."""
    neurons = paper.k_means_neurons(centers, c)
    return paper.propagate(x, neurons, paper.expected(paper.activations(x, neurons), beta, True))


@pytest.mark.parametrize(
    "model",
    [MeanShift(bandwidth=4.0), AffinityPropagation(random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_one_centre_a_cluster_is_k_means(model):
    model.fit(X)
    net = wc.neuralize(model, X)
    assert np.array_equal(net.predict(X), model.predict(X))
    found = net.relevance(X)
    for row in range(0, len(X), 7):
        literal = literal_relevance(X[row], model.cluster_centers_, found.clusters[row], net.beta)
        assert np.abs(found.values[row] - literal).max() < 1e-10


@pytest.mark.parametrize("n_clusters", [2, 4, None])
def test_birch_is_its_nearest_subcluster(n_clusters):
    model = Birch(threshold=1.0, n_clusters=n_clusters).fit(X)
    net = wc.neuralize(model, X)
    assert np.array_equal(net.predict(X), model.predict(X))
    found = net.relevance(X)
    assert np.abs(found.values.sum(axis=1) + found.base_values - found.explained).max() < 1e-10
    assert np.abs(found.base_values).max() < 1e-10
    labels, centers = model.subcluster_labels_, model.subcluster_centers_
    for row in range(0, len(X), 5):
        x, c = X[row], found.clusters[row]
        nearest = np.array(
            [
                min(centers[labels == k], key=lambda center: ((x - center) ** 2).sum())
                for k in range(labels.max() + 1)
            ]
        )
        literal = literal_relevance(x, nearest, c, net.beta)
        assert np.abs(found.values[row] - literal).max() < 1e-10


def test_birch_in_a_pipeline_in_torch_and_in_a_file(tmp_path):
    torch = pytest.importorskip("torch")
    model = make_pipeline(StandardScaler(), Birch(threshold=0.3, n_clusters=3)).fit(X)
    net = wc.neuralize(model, X)
    with torch.no_grad():
        evidence = net.to_torch()(torch.tensor(X)).numpy()
    for cluster in net.clusters:
        assert np.abs(evidence[:, cluster] - net.evidence(X, cluster=cluster)).max() < 1e-10
    again = wc.load(wc.save(net, tmp_path / "birch.npz"))
    assert np.array_equal(again.relevance(X).values, net.relevance(X).values)


def test_no_centres_are_an_error():
    model = AffinityPropagation(affinity="precomputed", random_state=0).fit(
        -((X[:, None] - X) ** 2).sum(axis=2)
    )
    with pytest.raises(ValueError, match="no cluster centres"):
        wc.explain(model, X)
