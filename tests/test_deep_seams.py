"""New deep models come in from outside: a space around centroid models, and gates with two optimisers.

Nothing of the package is changed for them: they declare their parameters, say their phases and their affine
logits, and training, checkpoints, files and explanations are there.
"""

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch")

import whyclust as wc  # noqa: E402
import whyclust.deep  # noqa: E402
from whyclust.deep import DCN, DEC, DKM, IDEC, AutoencoderKMeans, ClusteringModule, stored_layer  # noqa: E402
from whyclust.deep.base import DeepClusterer  # noqa: E402
from whyclust.deep.models.centroids import squared_distances  # noqa: E402
from whyclust.deep.models.spaces import Space  # noqa: E402
from whyclust.deep.networks.autoencoders import dense, initialise  # noqa: E402
from whyclust.deep.parameters import number, setting, whole  # noqa: E402
from whyclust.deep.training import keeping  # noqa: E402
from whyclust.deep.training.loop import train  # noqa: E402
from whyclust.deep.training.phases import (  # noqa: E402
    SGD,
    Adam,
    Cosine,
    DeepModel,
    Linear,
    Phase,
    Update,
    linear_logits,
)

pytestmark = pytest.mark.filterwarnings("ignore:The clusters have collapsed")


@pytest.fixture(scope="module")
def table():
    X, _ = make_blobs(120, centers=3, n_features=5, random_state=1)
    return StandardScaler().fit_transform(X).astype(np.float32)


# --- a space around centroid models ----------------------------------------------------------------


class Turned(Space):
    """A rotation and a weight for each dimension, learned by the squared distance to the own centroid."""

    def __init__(self, width, generator):
        super().__init__()
        random = torch.randn(width, width, generator=generator)
        self.rotation = torch.nn.Parameter(torch.linalg.qr(random).Q)
        self.scores = torch.nn.Parameter(torch.linspace(-1.0, 1.0, width))

    def points(self, z):
        return (z @ self.rotation) * self.scores.sigmoid()

    def back(self, points):
        return (points / self.scores.sigmoid()) @ torch.linalg.inv(self.rotation)

    def centers(self, found, z, labels):
        return self.back(found)

    def around(self, model, phases):
        *before, last = phases
        if not last.epochs:
            return phases

        def distance(batch):
            points = model.embed(batch.x)
            return {"space": squared_distances(points, model.centroids.detach()).amin(dim=1).mean()}

        moved = Update(distance, list(self.parameters()), SGD(1e-3))
        return [*before, replace(last, updates=[*last.updates, moved])]


class Around(DeepClusterer):
    """Any centroid model, its clusters compared in a turned space.

    Parameters
    ----------
    base : estimator
        The model.
    """

    base: Any = setting(None)

    def _model(self, n_features, generator):
        model = clone(self.base).set_params(n_clusters=self.n_clusters)._model(n_features, generator)
        model.space = Turned(model.autoencoder.embedding_dim, generator)
        return model


SMALL = {"hidden": (8,), "embedding_dim": 4, "batch_size": 32}
BASES = {
    "AutoencoderKMeans": AutoencoderKMeans(**SMALL, epochs=5),
    "DEC": DEC(**SMALL, epochs=4, pretrain_epochs=4),
    "IDEC": IDEC(**SMALL, epochs=4, pretrain_epochs=4),
    "DCN": DCN(**SMALL, epochs=4, pretrain_epochs=4),
    "DKM": DKM(**SMALL, epochs=4, pretrain_epochs=4),
}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_a_space_around_a_centroid_model(base, table, tmp_path):
    model = Around(3, base=base, random_state=0).fit(table)
    space = model.model_.space
    start = Around(3, base=base)._model(5, torch.Generator().manual_seed(0)).space.scores
    learned = base.epochs and not isinstance(base, AutoencoderKMeans)
    assert bool((space.scores.detach() != start.detach()).any()) == bool(learned)
    assert ("space" in model.history_.get("clustering", {})) == bool(learned)

    # Centroids and assignments are those of the turned space.
    with torch.no_grad():
        z = model.model_.autoencoder.encoder(torch.from_numpy(table))
        points = (z @ space.rotation * space.scores.sigmoid()).numpy()
    np.testing.assert_array_equal(model.transform(table), points)
    distances = ((points[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)
    # The decoder takes the embedding: a decoded centroid goes through the way back.
    with torch.no_grad():
        centers = torch.from_numpy(model.cluster_centers_)
        decoded = model.model_.autoencoder.decoder(
            (centers / space.scores.sigmoid()) @ torch.linalg.inv(space.rotation)
        )
    np.testing.assert_allclose(model.decoded_centers(), decoded, rtol=1e-4, atol=1e-5)

    again = wc.load(wc.save(model, tmp_path / "m.npz"))
    assert isinstance(again, Around)
    assert isinstance(again.base, type(base))
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert again.base.get_params() == clone(base).get_params()
    np.testing.assert_array_equal(again.predict(table), model.labels_)

    net = wc.neuralize(again, table)
    np.testing.assert_array_equal(net.predict(table), model.labels_)
    ex = wc.explain(model, table)
    # Evidence is the difference of squared distances in the turned space.
    nearest, second = np.sort(distances, axis=1)[:, :2].T
    np.testing.assert_allclose(ex.evidence, second - nearest, rtol=1e-3, atol=1e-4 * distances.max())
    np.testing.assert_allclose(ex.values.sum(axis=1) + ex.base_values, ex.explained, rtol=1e-9, atol=1e-9)


def test_a_model_in_a_space_is_a_step_before_another_clustering(table):
    deep = Around(3, base=BASES["DCN"], random_state=0)
    model = make_pipeline(deep, KMeans(4, n_init=1, random_state=0)).fit(table)
    np.testing.assert_array_equal(wc.neuralize(model, table).predict(table), model.predict(table))
    module = make_pipeline(ClusteringModule(3, epochs=2, random_state=0), KMeans(2, n_init=1, random_state=0))
    with pytest.raises(TypeError, match="ClusteringModule, whose transform is no embedding"):
        wc.neuralize(module.fit(table), table)


def test_the_embedding_itself_is_the_usual_space(table):
    plain = BASES["DCN"].set_params(n_clusters=3, random_state=0)
    assert not list(Space().parameters())
    matrix, offset = Space().affine(4)
    np.testing.assert_array_equal(matrix, np.eye(4))
    np.testing.assert_array_equal(offset, np.zeros(4))
    model = clone(plain).fit(table)
    assert not any(name.startswith("space") for name in model.model_.state_dict())


# --- gates, two optimisers, two stages -------------------------------------------------------------


@stored_layer("width")
class Gates(torch.nn.Module):
    """x ⊙ g(x), g between 0 and 1."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.scores = torch.nn.Linear(width, width)

    def forward(self, x):
        return x * self.scores(x).sigmoid()


class GatedModel(DeepModel):
    """Stage 1: gates, encoder and decoder. Stage 2: a softmax head on the embedding."""

    def __init__(self, n_features, settings, generator):
        super().__init__()
        self.settings = settings
        self.gates = Gates(n_features)
        self.network = dense([n_features, 8, 4], "relu")
        self.decoder = dense([4, 8, n_features], "relu")
        self.head = torch.nn.Linear(4, settings.n_clusters)
        self.register_buffer("centers", torch.zeros(settings.n_clusters, 4))
        initialise(self, generator)

    @property
    def encoder(self):
        return torch.nn.Sequential(self.gates, *self.network)

    def affine_logits(self):
        return linear_logits(self.head, 1.0)

    def embed(self, x):
        return self.network(self.gates(x))

    def logits(self, z):
        return self.head(z)

    def decode(self, z):
        return self.decoder(z)

    def cluster_centers(self):
        return self.centers

    def reconstruction(self, batch):
        scores = self.gates.scores(batch.x)
        noise = torch.randn(scores.shape, generator=batch.generator) * self.settings.noise
        gates = (scores + noise).sigmoid()
        back = self.decoder(self.network(batch.x * gates))
        # The regulariser rises with the phase.
        return {"square": (batch.x - back).square().mean(), "open": batch.done * gates.mean()}

    def separation(self, batch):
        shares = self.head(self.embed(batch.x)).softmax(dim=1)
        mean = shares.mean(dim=0)
        return {
            "certainty": -(shares * shares.clamp_min(1e-9).log()).sum(dim=1).mean(),
            "balance": (mean * mean.clamp_min(1e-9).log()).sum(),
        }

    def place(self, data):
        z = self.embed(data)
        labels = self.logits(z).argmax(dim=1)
        for cluster in range(len(self.centers)):
            if (labels == cluster).any():
                self.centers[cluster] = z[labels == cluster].mean(dim=0)

    def phases(self):
        settings = self.settings
        coder = [*self.network.parameters(), *self.decoder.parameters()]
        first = [
            Update(self.reconstruction, coder, Adam(1e-2), Cosine()),
            Update(self.reconstruction, list(self.gates.parameters()), SGD(0.1, momentum=0.9)),
        ]
        second = [Update(self.separation, list(self.head.parameters()), SGD(0.5, momentum=0.9), Linear(0.1))]
        return [
            Phase("gates", settings.gate_epochs, first, settings.batch_size),
            Phase("head", settings.epochs, second, settings.batch_size, end=self.place),
        ]


class Gated(DeepClusterer):
    """Clusters by gated columns.

    Parameters
    ----------
    noise : float
        Of the gates, while they learn.
    gate_epochs : int
        Of the first stage.
    """

    noise: float = setting(0.5, number(zero=True))
    gate_epochs: int = setting(4, whole(1))
    epochs: int = 4
    batch_size: int = 32

    def _model(self, n_features, generator):
        return GatedModel(n_features, self, generator)


class KilledError(Exception):
    pass


def state(model):
    return {name: tensor.numpy() for name, tensor in model.model_.state_dict().items()}


def test_two_stages_with_noise_and_two_optimisers_go_on_after_a_kill(table, tmp_path, monkeypatch):
    whole_fit = Gated(3, random_state=0).fit(table)
    assert set(whole_fit.history_) == {"gates", "head"}
    assert set(whole_fit.history_["gates"]) == {"square", "open"}
    plain = keeping.write_checkpoint
    for kill in range(1, 9):
        path, written = tmp_path / f"{kill}.npz", [0]

        def write(*arguments, kill=kill, written=written):
            plain(*arguments)
            written[0] += 1
            if written[0] == kill:
                raise KilledError

        settings = {"random_state": 0, "checkpoint": path, "checkpoint_every": 1}
        with monkeypatch.context() as patch, pytest.raises(KilledError):
            patch.setattr(keeping, "write_checkpoint", write)
            Gated(3, **settings).fit(table)
        again = Gated(3, **settings).fit(table)
        assert again.history_ == whole_fit.history_
        for name, value in state(whole_fit).items():
            np.testing.assert_array_equal(state(again)[name], value, err_msg=f"{name}, killed after {kill}")


def test_noise_is_drawn_from_the_fit_and_changes_it(table):
    noisy, quiet = (Gated(3, noise=noise, random_state=0).fit(table) for noise in (0.5, 0.0))
    assert noisy.history_ != quiet.history_
    assert noisy.history_ == Gated(3, noise=0.5, random_state=0).fit(table).history_


def test_a_new_model_is_an_estimator_with_files_and_explanations(table, tmp_path):
    model = Gated(3, random_state=0).fit(table)
    np.testing.assert_array_equal(wc.load(wc.save(model, tmp_path / "m.npz")).labels_, model.labels_)
    net = wc.neuralize(model, table)
    np.testing.assert_array_equal(net.predict(table), model.labels_)
    again = wc.load(wc.save(net, tmp_path / "net.npz"))
    np.testing.assert_array_equal(again.relevance(table).values, net.relevance(table).values)
    with pytest.raises(ValueError, match="noise=-1, expected a number of zero or more"):
        Gated(3, noise=-1).fit(table)


# --- updates ---------------------------------------------------------------------------------------


class Two(DeepModel):
    """Two numbers, one optimiser each."""

    def __init__(self, shared, schedule=None):
        super().__init__()
        self.one = torch.nn.Parameter(torch.tensor(1.0))
        self.other = torch.nn.Parameter(torch.tensor(2.0))
        self.shared, self.schedule, self.calls = shared, schedule, 0
        self.rates = []

    def together(self, batch):
        self.calls += 1
        return {"square": (self.one * self.other - 3) ** 2}

    def alone(self, batch):
        self.calls += 1
        return {"other": (self.one * self.other - 3) ** 2}

    def phases(self):
        second = self.together if self.shared else self.alone
        updates = [
            Update(self.together, [self.one], SGD(0.1), self.schedule),
            Update(second, [self.other], SGD(0.01)),
        ]
        return [Phase("two", 2, updates, 5)]


@pytest.mark.parametrize("shared", [True, False])
def test_updates_of_the_same_loss_share_a_pass(shared):
    model = Two(shared, Linear(0.5))
    progress = train(model, torch.zeros(10, 1), torch.Generator())
    one, other = 1.0, 2.0
    for step in range(4):
        rate = 0.1 * (1 - 0.5 * step / 4)
        error = one * other - 3
        moved = one - rate * 2 * error * other
        error = error if shared else moved * other - 3
        other = other - 0.01 * 2 * error * (one if shared else moved)
        one = moved
    assert model.one.item() == pytest.approx(one, rel=1e-5)
    assert model.other.item() == pytest.approx(other, rel=1e-5)
    assert model.calls == (4 if shared else 8)
    assert set(progress.history["two"]) == ({"square"} if shared else {"square", "other"})


def test_schedules():
    assert [Linear(0.1)(done) for done in (0.0, 0.5, 1.0)] == pytest.approx([1.0, 0.55, 0.1])
    assert [Cosine()(done) for done in (0.0, 0.5, 1.0)] == pytest.approx([1.0, 0.5, 0.0])
    assert Cosine(0.2)(1.0) == pytest.approx(0.2)


class Viewed(Two):
    """Keeps the rows and the views that it saw."""

    def __init__(self):
        super().__init__(True)
        self.seen = []

    def together(self, batch):
        self.seen.append(batch)
        return {"square": (self.one * self.other - 3) ** 2}

    def phases(self):
        def shifted(x, generator):
            assert not torch.is_grad_enabled()
            return x + torch.rand(x.shape, generator=generator)

        return [replace(phase, augment=shifted) for phase in super().phases()]


def test_views_are_made_where_they_are_asked_for():
    data = torch.arange(10.0)[:, None]
    model = Viewed()
    train(model, data, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(0)
    for number_of, batch in enumerate(model.seen):
        if number_of % 2 == 0:
            order = torch.randperm(10, generator=generator)
        rows = order.tensor_split(2)[number_of % 2]
        assert torch.equal(batch.rows, rows)
        assert torch.equal(batch.x, data[rows])
        assert torch.equal(batch.view, data[rows] + torch.rand(5, 1, generator=generator))
        assert (batch.epoch, batch.done) == (number_of // 2, number_of / 4)
        assert batch.data is data
    # Without them nothing is drawn but the order of the rows.
    plain = Two(True)
    generator = torch.Generator().manual_seed(0)
    train(plain, data, generator)
    expected = torch.Generator().manual_seed(0)
    for _ in range(2):
        torch.randperm(10, generator=expected)
    assert torch.equal(generator.get_state(), expected.get_state())


# --- declared parameters ---------------------------------------------------------------------------


def test_parameters_are_declared_once():
    class Longer(DCN):
        """With another default.

        Parameters
        ----------
        extra : int
            One more.

        Attributes
        ----------
        labels_ : ndarray
        """

        extra: int = setting(3, whole(1))
        epochs: int = 500

    names = list(inspect.signature(Longer).parameters)
    assert names[:3] == ["n_clusters", "extra", "epochs"]
    kinds = {p.kind for p in list(inspect.signature(Longer).parameters.values())[1:]}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    assert (Longer().epochs, DCN().epochs) == (500, 100)
    assert Longer(4).get_params() == {**DCN(4).get_params(), "extra": 3, "epochs": 500}
    with pytest.raises(ValueError, match="extra=0, expected a whole number, 1 or more"):
        Longer(extra=0).fit(np.ones((9, 2)))
    # A changed default keeps its check.
    with pytest.raises(ValueError, match="epochs=-1, expected a whole number, 0 or more"):
        Longer(epochs=-1).fit(np.ones((9, 2)))
    with pytest.raises(TypeError, match="Longer: got an unexpected keyword argument 'epoch'"):
        Longer(epoch=3)
    with pytest.raises(TypeError, match="too many positional"):
        Longer(3, 5)
    assert repr(Longer(4, lam=0.5)) == "Longer(lam=0.5, n_clusters=4)"
    entries = [line.split(" :")[0] for line in Longer.__doc__.splitlines() if " : " in line[:40]]
    assert [entry for entry in entries if entry in names] == names
    assert "Attributes\n----------\nlabels_ : ndarray" in Longer.__doc__


@pytest.mark.parametrize(
    "kind", [one for name in whyclust.deep.__all__ if hasattr(one := getattr(whyclust.deep, name), "fit")]
)
def test_every_parameter_is_described(kind):
    described = [line.split(" : ")[0] for line in kind.__doc__.splitlines() if line[:1].strip()]
    for name in kind.declared:
        assert described.count(name) == 1, f"{kind.__name__} describes {name} {described.count(name)} times"


def test_a_model_called_like_one_of_ours_is_another(table, tmp_path):
    own = type("DCN", (DCN,), {"__module__": "elsewhere", "__doc__": "Another."})
    fitted = own(3, **SMALL, epochs=1, pretrain_epochs=1, random_state=0).fit(table)
    assert type(wc.load(wc.save(fitted, tmp_path / "own.npz"))) is own
    ours = DCN(3, **SMALL, epochs=1, pretrain_epochs=1, random_state=0).fit(table)
    assert type(wc.load(wc.save(ours, tmp_path / "ours.npz"))) is DCN
