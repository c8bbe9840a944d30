"""DEC, IDEC, DCN, DKM: every loss and update against its equations, written out in numpy."""

import math

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch")

from whyclust.deep import DCN, DEC, DKM, IDEC, AutoencoderKMeans  # noqa: E402
from whyclust.deep.models import centroids  # noqa: E402
from whyclust.deep.models.centroids import squared_distances  # noqa: E402
from whyclust.deep.models.dec import target_distribution  # noqa: E402
from whyclust.deep.models.dkm import annealed  # noqa: E402
from whyclust.deep.training.phases import Batch  # noqa: E402

N, D, P, K = 12, 4, 3, 3


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)


def built(estimator):
    """The module of an estimator with four columns, its centroids set to something."""
    model = estimator._model(D, torch.Generator().manual_seed(1)).eval()
    rng = np.random.default_rng(2)
    model.centers.data.copy_(torch.from_numpy(rng.normal(size=model.centers.shape).astype(np.float32)))
    return model


def seen(model, x):
    """Embedding, reconstruction and centroids in double precision."""
    with torch.no_grad():
        z, back = model.autoencoder(torch.from_numpy(x))
    return z.double().numpy(), back.double().numpy(), model.centers.detach().double().numpy()


def batch(x, rows=None):
    rows = torch.arange(len(x)) if rows is None else rows
    return Batch(x, rows, x, epoch=0, done=0.0, generator=torch.Generator())


def small(kind, **more):
    return kind(K, hidden=(5,), embedding_dim=P, batch_size=4, random_state=0, **more)


def literal_q(z, centers):
    q = np.zeros((len(z), len(centers)))
    for i in range(len(z)):
        for j in range(len(centers)):
            q[i, j] = 1 / (1 + np.sum((z[i] - centers[j]) ** 2))
        q[i] /= q[i].sum()
    return q


def literal_p(q):
    p = np.zeros_like(q)
    for i in range(len(q)):
        for j in range(q.shape[1]):
            p[i, j] = q[i, j] ** 2 / q[:, j].sum()
        p[i] /= p[i].sum()
    return p


def gradient(loss, tensor, entry, step=1e-3):
    """A difference quotient."""
    with torch.no_grad():
        tensor[entry] += step
        above = loss()
        tensor[entry] -= 2 * step
        below = loss()
        tensor[entry] += step
    return (above - below) / (2 * step)


def test_distances_far_from_the_origin():
    rng = np.random.default_rng(0)
    z, centers = rng.normal(size=(6, 3)) + 1000.0, rng.normal(size=(2, 3)) + 1000.0
    z, centers = z.astype(np.float32), centers.astype(np.float32)
    expected = ((z[:, None].astype(float) - centers) ** 2).sum(axis=2)
    found = squared_distances(torch.from_numpy(z), torch.from_numpy(centers))
    np.testing.assert_allclose(found, expected, rtol=1e-3)


# --- DEC and IDEC ----------------------------------------------------------------------------------


def test_target_distribution():
    q = np.random.default_rng(0).dirichlet(np.ones(4), size=7)
    np.testing.assert_allclose(target_distribution(torch.from_numpy(q)), literal_p(q), rtol=1e-12)
    # A cluster that no one is in makes no NaN.
    empty = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(target_distribution(empty), empty)


@pytest.mark.parametrize("kind", [DEC, IDEC])
def test_self_training_loss(kind, rows):
    model = built(small(kind, **({"gamma": 0.3} if kind is IDEC else {})))
    z, back, centers = seen(model, rows)
    q = literal_q(z, centers)
    with torch.no_grad():
        model.update_target(torch.from_numpy(rows), 0)
    np.testing.assert_allclose(model.target, literal_p(q), rtol=1e-4)
    np.testing.assert_array_equal(model.labels, q.argmax(axis=1))
    np.testing.assert_allclose(model.probabilities(torch.from_numpy(z).float()).detach(), q, rtol=1e-4)

    chosen = np.array([7, 2, 11, 5])
    p = literal_p(q)
    divergence = np.mean([sum(p[i, j] * math.log(p[i, j] / q[i, j]) for j in range(K)) for i in chosen])
    terms = model.loss(batch(torch.from_numpy(rows[chosen]), torch.from_numpy(chosen)))
    # d: the balance of the released code, mean squares and γ KL, times d.
    weight = 1.0 if kind is DEC else 0.3 * rows.shape[1]
    assert terms["clustering"].item() == pytest.approx(weight * divergence, rel=1e-4)
    assert set(terms) == {"clustering"} | ({"reconstruction"} if kind is IDEC else set())
    if kind is IDEC:
        squares = np.mean([np.sum((rows[i] - back[i]) ** 2) for i in chosen])
        assert terms["reconstruction"].item() == pytest.approx(squares, rel=1e-4)


def test_dec_gradient_of_a_centroid(rows):
    """Eq. (5) of Xie et al., for α = 1: −2 Σ_i (p_ij − q_ij)(z_i − μ_j) / (1 + ‖z_i − μ_j‖²)."""
    model = built(small(DEC))
    with torch.no_grad():
        model.update_target(torch.from_numpy(rows), 0)
    z, _, centers = seen(model, rows)
    q = literal_q(z, centers)
    p = literal_p(q)
    expected = np.zeros_like(centers)
    for i in range(N):
        for j in range(K):
            apart = z[i] - centers[j]
            expected[j] -= 2 * (p[i, j] - q[i, j]) * apart / (1 + apart @ apart) / N
    model.loss(batch(torch.from_numpy(rows)))["clustering"].backward()
    np.testing.assert_allclose(model.centers.grad, expected, atol=1e-6)


@pytest.mark.parametrize("kind", [DEC, IDEC])
def test_starts_of_k_means(kind, rows, monkeypatch):
    asked = []

    class Watched(centroids.KMeans):
        def __init__(self, n_clusters, *, n_init, **more):
            asked.append(n_init)
            super().__init__(n_clusters, n_init=n_init, **more)

    monkeypatch.setattr(centroids, "KMeans", Watched)
    small(kind, pretrain_epochs=1, epochs=1, kmeans_starts=3).fit(rows)
    small(kind, pretrain_epochs=1, epochs=1).fit(rows)
    assert asked == [3, 20]
    with pytest.raises(ValueError, match="kmeans_starts=0, expected a whole number, 1 or more"):
        small(kind, kmeans_starts=0).fit(rows)


def test_what_dec_moves(rows):
    model = small(DEC, pretrain_epochs=2, epochs=3, tol=0.0).fit(np.tile(rows, (3, 1)))
    pretrained = small(AutoencoderKMeans, epochs=2).fit(np.tile(rows, (3, 1)))
    state, before = model.model_.state_dict(), pretrained.model_.state_dict()
    for name in before:
        if "decoder" in name:
            assert torch.equal(state[name], before[name])
        if ".encoder." in name and "weight" in name:
            assert not torch.equal(state[name], before[name])
    # IDEC trains on.
    improved = (
        small(IDEC, pretrain_epochs=2, epochs=3, tol=0.0).fit(np.tile(rows, (3, 1))).model_.state_dict()
    )
    assert not any(torch.equal(improved[n], before[n]) for n in before if "weight" in n)
    assert model.model_.target.shape == (0, K)


@pytest.mark.parametrize(
    ("interval", "expected"), [(None, [0, 2, 4, 6, 8, 10]), (5, [0, 5, 10]), (1, range(12))]
)
def test_target_is_updated_every_few_steps(rows, monkeypatch, interval, expected):
    from whyclust.deep.models import dec

    plain, steps = dec._SelfTrained.update_target, []

    def update(self, data, step):
        before = self.target
        result = plain(self, data, step)
        if self.target is not before:
            steps.append(step)
        return result

    monkeypatch.setattr(dec._SelfTrained, "update_target", update)
    # 16 rows, 4 a step: 4 steps an epoch.
    small(DEC, pretrain_epochs=0, epochs=3, tol=0.0, update_interval=interval).fit(np.r_[rows, rows[:4]])
    assert steps == list(expected)


def test_labels_that_have_settled_end_dec(rows):
    model = built(small(DEC, tol=0.2))
    data = torch.from_numpy(rows)
    with torch.no_grad():
        assert not model.update_target(data, 0)  # nothing to compare with
        model.labels[:3] = (model.labels[:3] + 1) % K  # a quarter of twelve
        assert not model.update_target(data, 4)
        model.labels[:2] = (model.labels[:2] + 1) % K  # a sixth
        assert model.update_target(data, 8)
        assert model.update_target(data, 12)


# --- DCN -------------------------------------------------------------------------------------------


def test_dcn_loss(rows):
    model = built(small(DCN, lam=0.7))
    z, back, centers = seen(model, rows)
    reconstruction, clustering = [], []
    for i in range(N):
        reconstruction.append(np.sum((rows[i] - back[i]) ** 2))
        clustering.append(0.5 * 0.7 * min(np.sum((z[i] - center) ** 2) for center in centers))
    terms = model.loss(batch(torch.from_numpy(rows)))
    assert terms["reconstruction"].item() == pytest.approx(np.mean(reconstruction), rel=1e-4)
    assert terms["clustering"].item() == pytest.approx(np.mean(clustering), rel=1e-4)


def test_dcn_centroids_follow_row_by_row(rows):
    model = built(small(DCN))
    z, _, centers = seen(model, rows)
    counts = np.full(K, 100.0)
    for _ in range(3):
        labels = [int(np.argmin([np.sum((row - center) ** 2) for center in centers])) for row in z]
        for row, label in zip(z, labels, strict=True):  # Eq. (8), one row after the other
            counts[label] += 1
            centers[label] -= (centers[label] - row) / counts[label]
        with torch.no_grad():
            model.move_centers(batch(torch.from_numpy(rows)))
        np.testing.assert_array_equal(model.counts, counts)
        np.testing.assert_allclose(model.centers, centers, rtol=1e-5)


@pytest.mark.parametrize("reseed", [True, False])
def test_dcn_gives_empty_clusters_another_place(rows, reseed):
    model = built(small(DCN, reseed=reseed))
    data = torch.from_numpy(rows)
    model.centers[1:] += 1e4  # two that no row is near to
    with torch.no_grad():
        model.revive(data, 0)
        model.move_centers(batch(data))
        assert model.counts.tolist() == [100 + N, 100, 100]
        before = model.centers.clone()
        model.revive(data, 1)
    if not reseed:
        assert torch.equal(model.centers, before)
        return
    z, _, _ = seen(model, rows)
    nearest = ((z - before[0].double().numpy()) ** 2).sum(axis=1)
    first = z[nearest.argmax()]
    second = z[np.minimum(nearest, ((z - first) ** 2).sum(axis=1)).argmax()]
    np.testing.assert_allclose(model.centers[1], first, rtol=1e-6)
    np.testing.assert_allclose(model.centers[2], second, rtol=1e-6)
    assert int(model.reseeded) == 2
    with torch.no_grad():
        model.move_centers(batch(data))
        model.revive(data, 2)
    assert int(model.reseeded) == 2  # now they have members


def test_dcn_centroids_are_brought_to_their_members(rows):
    model = built(small(DCN))
    data = torch.from_numpy(np.vstack([rows, rows + 1.5]))
    z, _, centers = seen(model, data.numpy())
    centers[2] += 1e4  # has no member, and stays
    model.centers[2] += 1e4
    for _ in range(100):  # Lloyd's steps, with the centroids as they are
        labels = ((z[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        for k in set(labels):
            centers[k] = z[labels == k].mean(axis=0)
    with torch.no_grad():
        before = model.centers.clone()
        for epoch in (0, 9):
            model.revive(data, epoch)
            model.earlier_counts -= 1  # all had members
            assert torch.equal(model.centers, before)
        model.revive(data, 10)
    assert not torch.equal(model.centers[:2], before[:2])
    np.testing.assert_allclose(model.centers, centers, rtol=1e-4, atol=1e-5)


def test_dcn_ends_with_centroids_among_their_members():
    X = make_blobs(120, 5, centers=4, random_state=0)[0].astype(np.float32)
    model = small(DCN, pretrain_epochs=3, epochs=3, learning_rate=0.01).fit(X)
    z = model.transform(X)
    for k in np.unique(model.labels_):
        middle = z[model.labels_ == k].mean(axis=0)
        np.testing.assert_allclose(model.cluster_centers_[k], middle, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", [DCN, DKM])
def test_number_of_reseeded_clusters_is_told(rows, kind):
    fitted = small(kind, pretrain_epochs=1, epochs=2).fit(rows)
    assert fitted.n_reseeded_ == 0
    fitted.model_.reseeded += 2
    assert fitted.n_reseeded_ == 2


# --- DKM -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.1, 3.0, 1000.0])
def test_dkm_loss(rows, alpha):
    model = built(small(DKM, lam=0.7, alpha=alpha))
    z, back, centers = seen(model, rows)
    reconstruction, clustering = [], []
    for i in range(N):
        distances = np.array([np.sum((z[i] - center) ** 2) for center in centers])
        weights = np.exp(-alpha * (distances - distances.min()))
        weights /= weights.sum()
        reconstruction.append(np.sum((rows[i] - back[i]) ** 2))
        clustering.append(0.7 * np.sum(weights * distances))
        found = model.probabilities(torch.from_numpy(z[[i]]).float())[0].detach()
        np.testing.assert_allclose(found, weights, rtol=1e-2 if alpha > 10 else 1e-4, atol=1e-6)
    terms = model.loss(batch(torch.from_numpy(rows)))
    assert terms["reconstruction"].item() == pytest.approx(np.mean(reconstruction), rel=1e-4)
    assert terms["clustering"].item() == pytest.approx(np.mean(clustering), rel=1e-4)


def test_dkm_gradient_goes_through_the_softmax(rows):
    model = built(small(DKM, alpha=2.0))
    data = torch.from_numpy(rows)
    loss = model.loss(batch(data))["clustering"]
    loss.backward()
    z, _, centers = seen(model, rows)

    def value():
        distances = ((z[:, None] - centers) ** 2).sum(axis=2)
        weights = np.exp(-2.0 * distances)
        return 0.1 * (weights / weights.sum(axis=1, keepdims=True) * distances).sum(axis=1).mean()

    for entry in ((0, 0), (1, 2), (2, 1)):
        assert model.centers.grad[entry].item() == pytest.approx(gradient(value, centers, entry), rel=1e-3)


def test_annealing():
    alphas = [0.1]
    for i in range(2, 41):
        alphas.append(2 ** (1 / math.log(i) ** 2) * alphas[-1])
    np.testing.assert_allclose([annealed(i) for i in range(1, 41)], alphas, rtol=1e-12)
    assert annealed(1) == 0.1
    assert annealed(2) == pytest.approx(0.1 * 2 ** (1 / math.log(2) ** 2))


def test_dkm_schedules(rows, monkeypatch):
    from whyclust.deep.models import dkm

    plain, alphas = dkm._SoftKMeans.sharpen, []

    def sharpen(self, data, epoch):
        plain(self, data, epoch)
        alphas.append(self.alpha.item())

    monkeypatch.setattr(dkm._SoftKMeans, "sharpen", sharpen)
    small(DKM, pretrain_epochs=0, epochs=5, alpha_epochs=2).fit(rows)
    np.testing.assert_allclose(alphas, [annealed(i) for i in (1, 1, 2, 2, 3)], rtol=1e-6)
    alphas.clear()
    small(DKM, pretrain_epochs=1, epochs=3).fit(rows)
    assert alphas == [1000.0] * 3
    alphas.clear()
    small(DKM, pretrain_epochs=0, alpha=7.0, epochs=2).fit(rows)
    assert alphas == [7.0] * 2


@pytest.mark.parametrize(
    ("reseed", "epoch", "expected"), [(True, 4, 2), (True, 3, 0), (True, 0, 0), (False, 4, 0)]
)
def test_dkm_gives_empty_clusters_another_place(rows, reseed, epoch, expected):
    model = built(small(DKM, reseed=reseed, pretrain_epochs=0, alpha_epochs=2))
    model.centers.data[1:] += 1e4
    with torch.no_grad():
        model.sharpen(torch.from_numpy(rows), epoch)
    assert int(model.reseeded) == expected
    z, _, centers = seen(model, rows)
    at_rows = [any(np.allclose(center, row) for row in z) for center in centers]
    assert at_rows == [False, expected > 0, expected > 0]


def test_published_lengths_of_dkm():
    def epochs(**more):
        return small(DKM, **more)._model(D, torch.Generator()).phases()[-1].epochs

    assert epochs() == 20 * 5
    assert epochs(pretrain_epochs=0) == 40 * 5
    assert epochs(pretrain_epochs=0, alpha=5.0) == 100
    assert epochs(epochs=3) == 3


def test_dkm_begins_at_random_or_at_k_means(rows):
    random = small(DKM, pretrain_epochs=0)._model(D, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        random.begin(torch.from_numpy(rows), generator)
    assert random.centers.abs().max() < 1
    assert len(random.centers.unique()) == K * P
    trained = built(small(DKM))
    with torch.no_grad():
        trained.begin(torch.from_numpy(rows), torch.Generator().manual_seed(5))
    z, _, centers = seen(trained, rows)
    labels = ((z[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    for label in range(K):  # each is the mean of its members
        np.testing.assert_allclose(centers[label], z[labels == label].mean(axis=0), rtol=1e-3, atol=1e-4)


# --- all of them on data ---------------------------------------------------------------------------


def test_k_means_on_the_embedding():
    X = StandardScaler().fit_transform(make_blobs(200, centers=4, n_features=5, random_state=3)[0])
    model = AutoencoderKMeans(4, hidden=(16,), epochs=10, batch_size=32, random_state=0).fit(X)
    embedded = model.transform(X)
    best = KMeans(4, n_init=20, random_state=0).fit(embedded)
    assert adjusted_rand_score(best.labels_, model.labels_) == 1.0


@pytest.mark.parametrize("kind", [AutoencoderKMeans, DEC, IDEC, DCN, DKM])
def test_blobs_are_found(kind):
    X, y = make_blobs(300, centers=4, n_features=8, random_state=0)
    X = StandardScaler().fit_transform(X)
    more = {"epochs": 15} if kind is AutoencoderKMeans else {"pretrain_epochs": 15, "epochs": 10}
    model = kind(4, hidden=(32,), batch_size=32, random_state=0, **more).fit(X)
    assert adjusted_rand_score(model.labels_, y) > 0.95


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    start = AutoencoderKMeans(10, hidden=(64, 64), epochs=15, batch_size=64, random_state=0).fit(X)
    return X, y, start


@pytest.mark.parametrize("kind", [DEC, IDEC, DCN, DKM])
def test_digits_from_one_beginning(kind, digits):
    """All models refine the same autoencoder, and none loses a cluster."""
    X, y, start = digits
    more = {"lam": 0.1} if kind in (DCN, DKM) else {}
    model = kind(10, autoencoder=start, epochs=10, batch_size=64, random_state=0, **more).fit(X)
    assert len(model.empty_clusters_) == 0
    assert adjusted_rand_score(model.labels_, y) > adjusted_rand_score(start.labels_, y) - 0.02
    name = "clustering"
    if kind in (DCN, DKM):  # clusters become denser
        assert model.history_["clustering"][name][-1] < model.history_["clustering"][name][0]


def test_random_start_of_dkm_leaves_no_cluster_empty(digits):
    X, y, _ = digits
    model = DKM(
        10, hidden=(32,), pretrain_epochs=0, epochs=30, alpha_epochs=2, batch_size=64, random_state=0
    ).fit(X)
    assert len(model.empty_clusters_) == 0
    assert model.n_reseeded_ > 0
    assert adjusted_rand_score(model.labels_, y) > 0.3
