"""∇f_c in closed form, against central differences and against autograd."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

import whyclust as wc
from whyclust.cluster import KernelKMeans, SoftKMeans
from whyclust.network import (
    AffineMap,
    Features,
    LinearHead,
    MinPool,
    Neuralized,
    PrototypeHead,
    SoftMinPool,
)

STEP = 1e-5
BOUND = 1e-6  # of differences: STEP² times third derivatives, and rounding divided by STEP
EXACT = 1e-10  # of closed forms in float64


def blobs(n_points=60, n_features=4, seed=6):
    generator = np.random.default_rng(seed)
    middles = generator.normal(scale=2.0, size=(4, n_features))
    return middles[generator.integers(4, size=n_points)] + 0.6 * generator.normal(size=(n_points, n_features))


X = blobs()


def fitted(model):
    return wc.neuralize(model.fit(X), X)


def mixture(kind, threshold=None):
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    return wc.neuralize(model, X, threshold=threshold)


def rotation():
    matrix = np.random.default_rng(1).normal(size=(3, 4))
    return Features(AffineMap(matrix, np.full(4, 0.2), np.full(3, -0.1)))


def with_noise(*, members, gamma=0.7, scale=1.0, background=None, features=None, pool=None):
    """Prototypes at rows of X, and noise as one more cluster."""
    features = Features.identity(4) if features is None else features
    prototypes = features.inner(X[: len(members)]) + 0.01
    head = PrototypeHead(
        prototypes,
        np.array(members),
        gamma=gamma,
        scale=scale,
        background=background,
        noise=6.0,
    )
    return network(head, features, pool)


def network(head, features, pool=None):
    names = tuple("abcd")
    return Neuralized(features, head, pool or MinPool(), 0.3, np.arange(head.n_clusters), names)


def linear_head(pool=None):
    generator = np.random.default_rng(2)
    head = LinearHead(generator.normal(size=(4, 3)), generator.normal(size=4))
    return network(head, rotation(), pool)


def normalised(norm, *, before=(), after=()):
    return lambda: fitted(
        make_pipeline(*before, Normalizer(norm), *after, KMeans(3, n_init=2, random_state=0))
    )


# Each makes a network; those of WITHOUT_MODULE have no torch module to compare with.
NETWORKS = {
    "k-means": lambda: fitted(KMeans(4, n_init=2, random_state=0)),
    "two clusters": lambda: fitted(KMeans(2, n_init=2, random_state=0)),
    "scaled": lambda: fitted(make_pipeline(StandardScaler(), KMeans(4, n_init=2, random_state=0))),
    "whitened": lambda: fitted(make_pipeline(PCA(2, whiten=True), KMeans(4, n_init=2, random_state=0))),
    "soft": lambda: fitted(SoftKMeans(4, random_state=0)),
    "absolute": lambda: fitted(SoftKMeans(4, decision="absolute", threshold=0.8, random_state=0)),
    "kernel": lambda: fitted(KernelKMeans(3, n_support=5, n_init=2, max_iter=20, random_state=0)),
    "leave one out": lambda: fitted(KernelKMeans(3, algorithm="leave_one_out", gamma=0.3, random_state=0)),
    "rotated kernel": lambda: fitted(
        make_pipeline(PCA(2), KernelKMeans(3, n_support=4, n_init=2, random_state=0))
    ),
    "kernel with background": lambda: fitted(
        KernelKMeans(3, algorithm="standard", gamma=0.3, random_state=0)
    ),
    "rotated kernel with background": lambda: fitted(
        make_pipeline(PCA(3), KernelKMeans(3, algorithm="standard", gamma=0.3, random_state=0))
    ),
    "bisecting": lambda: fitted(BisectingKMeans(6, random_state=0)),
    "rotated tree": lambda: fitted(
        make_pipeline(StandardScaler(), PCA(3), BisectingKMeans(5, random_state=0))
    ),
    "full mixture": lambda: mixture("full"),
    "tied mixture": lambda: mixture("tied"),
    "diagonal mixture": lambda: mixture("diag"),
    "spherical mixture": lambda: mixture("spherical"),
    "absolute mixture": lambda: mixture("full", threshold=0.7),
    "rotated mixture": lambda: fitted(make_pipeline(PCA(3), GaussianMixture(3, random_state=0))),
    "linear": linear_head,
    "absolute linear": lambda: linear_head(SoftMinPool(0.6)),
    "noise, one prototype": lambda: with_noise(members=[0, 1, 2]),
    "noise, several": lambda: with_noise(members=[0, 0, 1, 1, 1, 2], scale=0.6),
    "noise, nearest alone": lambda: with_noise(members=[0, 0, 1, 1, 1, 2], gamma=math.inf),
    "noise, rotated": lambda: with_noise(members=[0, 0, 1, 1, 1, 2], features=rotation(), scale=1.4),
    "noise, absolute": lambda: with_noise(members=[0, 0, 1, 2], pool=SoftMinPool(0.4)),
    "noise and background": lambda: with_noise(
        members=[0, 0, 1, 1, 1, 2], background=np.array([1e-3, 1e-2, 0.0]), features=rotation()
    ),
    "l2": normalised("l2"),
    "l1": normalised("l1"),
    "max": normalised("max"),
    "l2 between": normalised("l2", before=(StandardScaler(), PCA(3)), after=(StandardScaler(),)),
    "l1 between": normalised("l1", before=(StandardScaler(), PCA(3)), after=(StandardScaler(),)),
    "max between": normalised("max", before=(PCA(3),)),
}
WITHOUT_MODULE = {name for name in NETWORKS if "background" in name}


def differences(net, points, **question):
    """∇f_c by central differences, column by column."""
    result = np.empty(points.shape)
    for column in range(points.shape[1]):
        up, down = points.copy(), points.copy()
        up[:, column] += STEP
        down[:, column] -= STEP
        result[:, column] = (net.evidence(up, **question) - net.evidence(down, **question)) / (
            up[:, column] - down[:, column]
        )
    return result


def largest(found, wanted):
    return np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max())


@pytest.fixture(scope="module", params=NETWORKS)
def net(request):
    return NETWORKS[request.param]()


@pytest.fixture(scope="module", params=sorted(set(NETWORKS) - WITHOUT_MODULE))
def net_with_module(request):
    return NETWORKS[request.param]()


def test_own_cluster(net):
    clusters = net.predict(X)
    found = net.gradient(X)
    assert found.shape == X.shape
    assert found.any(axis=1).all()
    assert largest(found, differences(net, X, cluster=clusters)) < BOUND
    assert np.array_equal(found, net.gradient(X, cluster=clusters))


def test_every_cluster(net):
    for cluster in net.clusters:
        wanted = differences(net, X, cluster=cluster)
        assert largest(net.gradient(X, cluster=cluster), wanted) < BOUND


def test_one_competitor(net):
    for cluster, other in [(0, 1), (1, 0), (len(net.clusters) - 1, 0), (0, len(net.clusters) - 1)]:
        question = {"cluster": cluster, "against": other}
        assert largest(net.gradient(X, **question), differences(net, X, **question)) < BOUND


def test_autograd(net_with_module):
    torch = pytest.importorskip("torch")
    net = net_with_module
    module = net.to_torch()
    for cluster in range(len(net.clusters)):
        rows = torch.tensor(X, requires_grad=True)
        module(rows)[:, cluster].sum().backward()
        found = net.gradient(X, cluster=net.clusters[cluster])
        assert largest(found, rows.grad.numpy()) < EXACT


def test_one_row_alone_is_that_row_in_the_table(net):
    whole = net.gradient(X)
    for row in (0, 7, 59):
        assert largest(net.gradient(X[[row]]), whole[[row]]) < EXACT


def test_small_blocks_change_nothing(monkeypatch):
    net = NETWORKS["noise, several"]()
    many = np.tile(X, (40, 1))
    whole = net.gradient(many)
    monkeypatch.setattr("whyclust.network.blocks._BLOCK_BYTES", 1)
    assert np.array_equal(net.gradient(many), whole)


def test_two_centres_have_one_slope():
    """f_c = ‖x − μ_k‖² − ‖x − μ_c‖², so ∇f_c = 2(μ_c − μ_k) everywhere."""
    model = KMeans(2, n_init=2, random_state=0).fit(X)
    own = model.cluster_centers_[model.labels_]
    other = model.cluster_centers_[1 - model.labels_]
    assert largest(wc.neuralize(model, X).gradient(X), 2 * (own - other)) < EXACT


def test_the_first_of_equal_competitors_decides():
    head = PrototypeHead.one_each(np.array([[0.0, 0.0], [2.0, 0.0], [-2.0, 0.0]]))
    net = Neuralized(Features.identity(2), head, MinPool(), 1.0, np.arange(3), ("a", "b"))
    assert net.gradient([[0.0, 1.0]]).tolist() == [[-4.0, 0.0]]


def test_a_zero_row_is_not_scaled():
    table = np.vstack([X, np.zeros(4)])
    net = wc.neuralize(make_pipeline(Normalizer(), KMeans(3, n_init=2, random_state=0)).fit(table), table)
    plain = dataclasses.replace(net, features=Features.identity(4))
    assert largest(net.gradient(np.zeros((1, 4))), plain.gradient(np.zeros((1, 4)))) < EXACT


def test_sparse_rows():
    table = sp.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    for steps in ([], [Normalizer()]):
        net = wc.neuralize(make_pipeline(*steps, KMeans(3, n_init=2, random_state=0)).fit(table), table)
        assert largest(net.gradient(table), net.gradient(table.toarray())) < EXACT


def test_single_precision_is_kept(net):
    found = net.gradient(X.astype(np.float32))
    wanted = net.gradient(X.astype(np.float32).astype(np.float64))
    assert found.dtype == np.float32
    assert largest(found, wanted) < 1e-4


def test_columns_are_the_encoded_ones():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(colour=np.where(X[:, 0] > 0, "red", "blue"))
    encoder = make_column_transformer((StandardScaler(), ["a", "c"]), (OneHotEncoder(), ["colour"]))
    net = wc.neuralize(make_pipeline(encoder, KMeans(3, n_init=2, random_state=0)).fit(frame), frame)
    assert net.gradient(frame).shape == net.features.encode(frame).shape


def test_questions_are_read():
    net = NETWORKS["k-means"]()
    with pytest.raises(ValueError, match="no cluster of this model"):
        net.gradient(X, cluster=9)
    with pytest.raises(ValueError, match="without cluster="):
        net.gradient(X, against=1)
