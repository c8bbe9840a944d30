"""C-Net: its loss against literal loops of Eq. (14), its phases, and its settings."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import generators

torch = pytest.importorskip("torch")

from whyclust.deep.models.autoencoder_k_means import AutoencoderKMeans  # noqa: E402
from whyclust.deep.models.c_net import CNet, to_unit_scale  # noqa: E402
from whyclust.deep.models.mixture_loss import ambiguity, network_terms, orthonormality  # noqa: E402
from whyclust.deep.networks.autoencoders import Autoencoder  # noqa: E402
from whyclust.deep.presets import ALIASES, NAMES  # noqa: E402
from whyclust.deep.training.phases import Adam, Batch, Linear  # noqa: E402

SMALL = {"hidden": (16,), "batch_size": 64, "random_state": 0}
TINY = {"hidden": (8,), "epochs": 3, "pretrain_epochs": 3, "random_state": 0}


def blobs(n=240, k=3, d=4, seed=0):
    X, y = make_blobs(n, d, centers=k, cluster_std=0.5, random_state=seed)
    return StandardScaler().fit_transform(X), y


# --- the loss ----------------------------------------------------------------------------------


def literal_terms(x, back, z, gamma, mu, alpha, beta, lam):
    """Eq. (14), line by line."""
    n, k = gamma.shape
    reconstruction = sum(((x[i] - back[i]) ** 2).sum() for i in range(n))
    module = sum(((z[i] - sum(gamma[i, c] * mu[c] for c in range(k))) ** 2).sum() for i in range(n))
    sparsity = sum(gamma[i, c] * (1 - gamma[i, c]) for i in range(n) for c in range(k))
    shares = sorted(sum(gamma[i, c] for i in range(n)) / n for c in range(k))
    prior = sum((1 - a) * np.log(s + 1e-10) for a, s in zip(sorted(alpha), shares, strict=True))
    norm = sum(abs(mu[a] @ mu[b] - (a == b)) for a in range(k) for b in range(k))
    return {
        "reconstruction": beta * reconstruction,
        "E1": module,
        "sparsity": sparsity,
        "E4": prior,
        "orthonormality": lam * norm,
    }


@pytest.mark.parametrize("seed", range(5))
def test_terms_are_those_of_equation_14(seed):
    rng = np.random.default_rng(seed)
    x, back, z, mu = (rng.normal(size=shape) for shape in ((6, 5), (6, 5), (6, 3), (4, 3)))
    gamma, alpha = rng.dirichlet(np.ones(4), size=6), rng.uniform(1, 9, size=4)
    arrays = (x, back, z, gamma, mu, alpha)
    found = network_terms(*map(torch.from_numpy, arrays), beta=0.7, lam=1.3)
    expected = literal_terms(*arrays, 0.7, 1.3)
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert abs(float(found[name]) - value) < 1e-10


def test_orthonormality_by_hand():
    assert float(orthonormality(torch.eye(3))) == 0
    # Gram matrix [[4, 2], [2, 1]], minus the identity: 3 + 2 + 2 + 0.
    assert float(orthonormality(torch.tensor([[2.0, 0.0], [1.0, 0.0]]))) == 7


# --- the estimator -----------------------------------------------------------------------------


def test_first_loss_of_the_network_is_that_of_the_formula():
    X, _ = blobs(50)
    model = CNet(3, init="random", hidden=(8,), epochs=1, averaging=False, batch_size=50, random_state=0)
    fresh = model._model(4, torch.Generator().manual_seed(7))
    data = torch.from_numpy(X.astype(np.float32))
    with torch.no_grad():
        fresh.begin_joint(data, torch.Generator())
        seen = fresh.joint_loss(Batch(data, torch.arange(50), data, 0, 0.0, torch.Generator()))
        z, back = fresh.autoencoder(data)
        gamma = torch.softmax(z @ fresh.head.encoder.weight.T + fresh.head.encoder.bias, dim=1)
        mu = fresh.head.decoder.weight.T + fresh.head.decoder.bias
    arrays = [array.double().numpy() for array in (data, back, z, gamma, mu)]
    alpha = 1 + 50 / 3
    for name, value in literal_terms(*arrays, [alpha] * 3, 1.0, 1.0).items():
        assert float(seen[name]) == pytest.approx(value, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    "settings",
    [{"init": "pretrained", "pretrain_epochs": 30}, {"init": "random", "embedding_dim": 6, "n_init": 2}],
)
def test_blobs_are_found(settings):
    X, y = blobs(400)
    model = CNet(3, **SMALL, epochs=150, learning_rate=5e-3, **settings).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    # Centroids are on the way to orthonormal vectors.
    gram = model.cluster_centers_ @ model.cluster_centers_.T
    assert np.abs(gram - np.eye(3)).max() < 0.3
    assert np.abs(model.decoded_centers()).max() < 3


def test_answers_fit_together():
    X, _ = blobs()
    model = CNet(3, embedding_dim=5, **SMALL, epochs=10, pretrain_epochs=10).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    gamma, z = model.predict_proba(X), model.transform(X)
    assert np.allclose(gamma.sum(axis=1), 1, atol=1e-5)
    assert np.array_equal(gamma.argmax(axis=1), model.labels_)
    assert z.shape == (240, 5)
    assert model.cluster_centers_.shape == (3, 5)
    assert model.decode(z).shape == X.shape
    assert model.interpolate(0, 1, steps=4).shape == (4, 4)
    assert model.sample(0, n_samples=6, random_state=0).shape == (6, 4)
    expected = float(
        ambiguity(torch.from_numpy(gamma).double(), torch.from_numpy(model.cluster_centers_).double())
    )
    assert model.scores_[0] == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_phases_and_history():
    X, _ = blobs()
    model = CNet(3, **{**SMALL, "batch_size": 80}, init="pretrained", epochs=4, pretrain_epochs=5).fit(X)
    assert list(model.history_) == ["autoencoder", "clustering module", "clustering network"]
    assert list(model.history_["clustering module"]) == ["E1", "E2", "-E3", "E4"]
    joint = model.history_["clustering network"]
    assert list(joint) == ["reconstruction", "E1", "sparsity", "E4", "orthonormality"]
    assert len(joint["E1"]) == 5  # one is the averaging epoch
    assert model.alpha_ == pytest.approx(np.full(3, 1 + 80 / 3))
    assert model.beta_ == pytest.approx(1.0, rel=1e-5)
    assert model.model_.fixed.numel() == 0


def test_the_module_learns_alone_before_all_do():
    X, _ = blobs()
    model = CNet(3, **SMALL, init="pretrained", epochs=1, pretrain_epochs=5, alpha=4.0)
    network = model._model(4, torch.Generator().manual_seed(0))
    phases = network.phases()
    alone = {id(parameter) for parameter in phases[1].updates[0].parameters}
    assert alone == {id(parameter) for parameter in network.head.parameters()}
    assert len(phases[2].updates[0].parameters) == len(list(network.parameters()))
    data = torch.from_numpy(X.astype(np.float32))
    with torch.no_grad():
        phases[1].begin(data, torch.Generator().manual_seed(0))
        assert torch.allclose(network.fixed, network.embed(data))
        labels = torch.cdist(network.fixed, network.head.centers()).argmin(dim=1)
        means = torch.stack([network.fixed[labels == c].mean(dim=0) for c in range(3)])
        assert torch.allclose(network.head.centers(), means, atol=1e-4)  # k-means has converged
        assert network.head.alpha.tolist() == [4.0, 4.0, 4.0]


@pytest.mark.parametrize("image_shape", [None, (1, 2, 2)])
def test_unit_scale_keeps_the_reconstruction(image_shape):
    X = torch.from_numpy(blobs()[0].astype(np.float32))
    model = CNet(3, embedding_dim=5, hidden=(6,), image_shape=image_shape)
    autoencoder = model._autoencoder(4, torch.Generator().manual_seed(0))
    centers = 20 * torch.randn(3, 5, generator=torch.Generator().manual_seed(1)) + 100
    with torch.no_grad():
        z, back = autoencoder(X)
        factor = to_unit_scale(autoencoder, centers)
        scaled, back_again = autoencoder(X)
    assert torch.allclose(scaled, factor * z, atol=1e-6)
    assert torch.allclose(back_again, back, atol=1e-4)
    moved = factor * centers
    # The spread of orthonormal vectors around their mean: 1 − 1/3.
    assert float(((moved - moved.mean(dim=0)) ** 2).sum(dim=1).mean()) == pytest.approx(2 / 3, rel=1e-4)


def test_unit_scale_leaves_other_modules_alone():
    autoencoder = Autoencoder(
        torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Tanh()), torch.nn.Linear(2, 4), 2
    )
    before = autoencoder.encoder[0].weight.detach().clone()
    assert to_unit_scale(autoencoder, torch.randn(3, 2)) == 1
    assert to_unit_scale(autoencoder, torch.ones(3, 2)) == 1
    assert torch.equal(autoencoder.encoder[0].weight, before)


def test_a_shared_autoencoder_is_not_trained_again():
    X, _ = blobs()
    first = AutoencoderKMeans(3, hidden=(16,), epochs=5, random_state=0).fit(X)
    model = CNet(3, **SMALL, init="pretrained", epochs=1, pretrain_epochs=5, autoencoder=first).fit(X)
    assert model.history_["autoencoder"] == {}
    assert clone(model).autoencoder is first


def test_users_modules_and_images():
    X, _ = blobs(d=6)
    pair = torch.nn.Linear(6, 4), torch.nn.Linear(4, 6)
    weights = pair[0].weight.detach().clone()
    model = CNet(3, autoencoder=pair, batch_size=64, epochs=2, pretrain_epochs=2, random_state=0).fit(X)
    assert model.transform(X).shape == (240, 4)
    assert torch.equal(pair[0].weight, weights)  # copied
    images = CNet(3, image_shape=(1, 2, 3), hidden=(4,), epochs=2, pretrain_epochs=2, random_state=0).fit(X)
    assert images.decode(images.transform(X)).shape == X.shape


@pytest.mark.parametrize("init", ["random", "pretrained"])
@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
def test_a_fit_that_was_killed_ends_the_same(tmp_path, init):
    X, _ = blobs()
    settings = {"n_clusters": 3, **SMALL, "epochs": 5, "pretrain_epochs": 4, "init": init}
    whole = CNet(**settings).fit(X)

    class KilledError(Exception):
        pass

    model = CNet(**settings, checkpoint=tmp_path / "fit.npz", checkpoint_every=1)
    import whyclust.deep.models.c_net as module

    loss, calls = module.network_terms, []

    def killed(*arguments, **options):
        calls.append(1)
        if len(calls) in (2, 18, 25):  # in the first epoch, and in the averaging epoch; four steps each
            raise KilledError
        return loss(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "network_terms", killed)
        for _ in range(3):
            with pytest.raises(KilledError):
                model.fit(X)
        resumed = model.fit(X)
    assert np.array_equal(resumed.labels_, whole.labels_)
    assert np.array_equal(resumed.cluster_centers_, whole.cluster_centers_)
    assert resumed.history_ == whole.history_


@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
def test_same_seed_same_result_and_no_global_state():
    X, _ = blobs()
    with generators.untouched():
        first, second = (CNet(3, **TINY).fit(X) for _ in range(2))
    assert np.array_equal(first.transform(X), second.transform(X))


def test_learning_rate_and_momentum_reach_the_optimiser():
    model = CNet(3, **TINY, init="random", learning_rate=2e-3, final_learning_rate=1e-4, momentum=0.99)
    (update,) = model._model(4, torch.Generator().manual_seed(0)).phases()[-1].updates
    assert update.optimizer == Adam(2e-3, betas=(0.99, 0.999), epsilon=1e-3)
    assert update.schedule == Linear(1e-4 / 2e-3)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"alpha": -1}, "alpha=-1"),
        ({"beta": -1}, "beta=-1"),
        ({"lam": -1}, "lam=-1"),
        ({"init": "k-means++"}, "expected one of random, pretrained"),
        ({"momentum": 1.0}, "below 1"),
        ({"final_learning_rate": 0}, "final_learning_rate=0"),
        ({"prior": [1, 2]}, "expected 3 positive numbers"),
        ({"epochs": 0}, "epochs=0"),
        ({"n_clusters": 300}, "fewer rows than n_clusters=300"),
    ],
)
def test_bad_settings(settings, told):
    X, _ = blobs(30)
    with pytest.raises(ValueError, match=told):
        CNet(**{"n_clusters": 3, **TINY, **settings}).fit(X)


def test_a_network_of_the_wrong_size():
    pair = torch.nn.Linear(4, 3), torch.nn.Linear(3, 7)
    with pytest.raises(ValueError, match="decoder returns shape"):
        CNet(3, autoencoder=pair).fit(blobs(30)[0])


@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
@pytest.mark.filterwarnings("ignore:Training has diverged")  # rows that are all alike do both
def test_constant_columns():
    X, _ = blobs(60)
    model = CNet(3, **TINY).fit(np.hstack([X, np.ones((60, 1))]))
    assert np.isfinite(model.predict_proba(np.hstack([X, np.ones((60, 1))]))).all()
    with pytest.warns(UserWarning, match="collapsed"):
        CNet(3, **TINY).fit(np.ones((20, 2)))


@pytest.mark.parametrize("name", [*NAMES, *ALIASES])
def test_presets(name):
    model = CNet.preset(name, verbose=True, n_clusters=4)
    assert (model.n_clusters, model.verbose, model.lam) == (4, True, 1)
    assert model.get_params() == clone(model).get_params()


def test_preset_of_pendigit():
    model = CNet.preset("pendigit")
    found = model.n_clusters, model.alpha, model.beta, model.batch_size, model.embedding_dim, model.init
    assert found == (10, 13, 0.5, 80, 70, "random")
