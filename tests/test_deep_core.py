"""The training loop, checkpoints, input and answers that all deep clusterings share."""

import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import generators

torch = pytest.importorskip("torch")

import whyclust.deep  # noqa: E402
from whyclust._extras import missing  # noqa: E402
from whyclust._progress import Watch, watched  # noqa: E402
from whyclust.deep import DCN, DKM, IDEC, AutoencoderKMeans  # noqa: E402
from whyclust.deep.models.centroids import CentroidModel  # noqa: E402
from whyclust.deep.networks.autoencoders import convolutional_autoencoder, dense_autoencoder, initialise  # noqa: E402
from whyclust.deep.stored import from_arrays, to_arrays  # noqa: E402
from whyclust.deep.training import keeping as keeping_module  # noqa: E402
from whyclust.deep.training.keeping import Keeper, Notice  # noqa: E402
from whyclust.deep.training.loop import Progress, train  # noqa: E402
from whyclust.deep.training.phases import Adam, DeepModel, Linear, Phase, Update, snapshot  # noqa: E402

# Settings with which any model is fitted in a moment; one takes those that it has.
SMALL = {"hidden": (8,), "batch_size": 32, "random_state": 0, "epochs": 4, "pretrain_epochs": 3, "tol": 0.0}

SHORT = {"epochs": 2, "pretrain_epochs": 2, "batch_size": 16}


def small(kind, **usual):
    if "base" in kind.declared:  # a model around another has a few settings of its own, and the other's
        base = small(DCN, **usual)
        own = dict.fromkeys(("space_epochs", "starts"), 2)

        def around(**more):
            mine = {name: more.pop(name) for name in list(more) if name in kind.declared}
            return kind(base(**more), **{**own, **mine})

        return around
    own = {name: value for name, value in {**SMALL, **usual}.items() if name in kind.declared}
    return lambda **more: kind(3, **{**own, **more})


# A new model is picked up by itself.
KINDS = [kind for name in whyclust.deep.__all__ if hasattr(kind := getattr(whyclust.deep, name), "fit")]
MODELS = {kind.__name__: small(kind) for kind in KINDS}
MODELS |= {
    "AutoencoderKMeans": small(AutoencoderKMeans, epochs=6),
    "IDEC, other interval": small(IDEC, update_interval=3, tol=1e-3),
    "DKM, random": small(DKM, epochs=7, pretrain_epochs=0, alpha_epochs=2, lam=0.1),
}
every_model = pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
# From a random start, of so few epochs, a cluster may well be empty: that is not what is tested here.
# Of a few epochs.
pytestmark = pytest.mark.filterwarnings("ignore:The gates of clusters have hardly moved")
collapse_may_be = pytest.mark.filterwarnings("ignore:The (clusters|spaces|gates) have collapsed")


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(150, centers=3, n_features=5, random_state=1)
    return StandardScaler().fit_transform(X), y


def weights(model):
    return {name: tensor.numpy().copy() for name, tensor in model.model_.state_dict().items()}


def assert_same_fit(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.history_ == other.history_
    assert one.scores_.tolist() == other.scores_.tolist()
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)


class Line(DeepModel):
    """x ↦ w x, of which everything is known."""

    def __init__(self, **options):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([[1.0, -1.0]]))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.options = {"epochs": 3, "batch_size": 4, "optimizer": Adam(0.1), "schedule": None, **options}

    def loss(self, batch):
        return {"square": ((batch.x @ self.weight.T - 1) ** 2).mean(), "size": 0.1 * self.weight.abs().sum()}

    def phases(self):
        options = dict(self.options)
        update = Update(self.loss, [self.weight], options.pop("optimizer"), options.pop("schedule"))
        return [Phase("line", updates=[update], **options)]


@pytest.fixture
def rows():
    return torch.from_numpy(np.random.default_rng(0).normal(size=(10, 2)).astype(np.float32))


# --- the loop --------------------------------------------------------------------------------------


@pytest.mark.parametrize("final_rate", [None, 0.01])
def test_loop_is_the_literal_one(rows, final_rate):
    model = Line(schedule=None if final_rate is None else Linear(final_rate / 0.1))
    progress = train(model, rows, torch.Generator().manual_seed(3))

    weight = torch.tensor([[1.0, -1.0]], requires_grad=True)
    mean, square = torch.zeros(1, 2), torch.zeros(1, 2)
    generator = torch.Generator().manual_seed(3)
    squares, step = [], 0
    for _ in range(3):
        order = torch.randperm(10, generator=generator)
        losses = []
        for part in (order[:4], order[4:7], order[7:]):  # equal parts of at most 4
            rate = 0.1 if final_rate is None else 0.1 - step / 9 * (0.1 - final_rate)
            first = ((rows[part] @ weight.T - 1) ** 2).mean()
            (first + 0.1 * weight.abs().sum()).backward()
            losses.append(first.item())
            step += 1
            mean = 0.9 * mean + 0.1 * weight.grad
            square = 0.999 * square + 0.001 * weight.grad**2
            with torch.no_grad():
                weight -= rate * (mean / (1 - 0.9**step)) / ((square / (1 - 0.999**step)).sqrt() + 1e-3)
            weight.grad = None
        squares.append(np.mean(losses))
    np.testing.assert_allclose(model.weight.detach(), weight.detach(), rtol=1e-5)
    np.testing.assert_allclose(progress.history["line"]["square"], squares, rtol=1e-5)
    assert len(progress.history["line"]["size"]) == 3
    assert not model.training


def test_hooks_are_called_in_order(rows):
    model, calls = Line(), []

    def note(name):
        def called(*arguments):
            calls.append((name, *(a for a in arguments if isinstance(a, int))))
            assert not torch.is_grad_enabled()
            assert model.training == (name == "after_step")

        return called

    names = ("begin", "before_epoch", "before_step", "after_step", "end")
    model.options |= {name: note(name) for name in names} | {"epochs": 2, "batch_size": 5, "every": 3}
    train(model, rows, torch.Generator())
    expected = [("begin",), ("before_epoch", 0), ("before_step", 0), ("after_step",), ("after_step",)]
    expected += [("before_epoch", 1), ("after_step",), ("before_step", 3), ("after_step",), ("end",)]
    assert calls == expected


@pytest.mark.parametrize("hook", ["before_epoch", "before_step"])
def test_a_hook_ends_the_phase(rows, hook):
    limit = {"before_epoch": 2, "before_step": 4}[hook]
    model = Line(epochs=9, batch_size=5, **{hook: lambda data, number: number >= limit})
    progress = train(model, rows, torch.Generator())
    assert len(progress.history["line"]["square"]) == 2
    ended = Line(epochs=9, batch_size=5, **{hook: lambda data, number: True})
    assert train(ended, rows, torch.Generator()).history == {"line": {}}
    np.testing.assert_array_equal(ended.weight.detach(), [[1.0, -1.0]])


def test_patience_ends_a_phase_that_has_settled(rows):
    still = Line(epochs=50, optimizer=Adam(1e-12), patience=3, batch_size=10)
    assert len(train(still, rows, torch.Generator()).history["line"]["square"]) == 4
    moving = Line(epochs=50, optimizer=Adam(1e-12), batch_size=10)
    assert len(train(moving, rows, torch.Generator()).history["line"]["square"]) == 50


def test_no_value_is_fetched_within_an_epoch(rows, monkeypatch):
    fetched = []
    monkeypatch.setattr(torch.Tensor, "item", lambda self: fetched.append(1) or 0.0)
    monkeypatch.setattr(torch.Tensor, "__float__", lambda self: fetched.append(1) or 0.0)
    train(Line(epochs=2, batch_size=1), rows, torch.Generator())
    assert len(fetched) == 2 * 2  # two terms, two epochs


def test_not_finite_loss_says_what_to_lower(blobs):
    model = MODELS["AutoencoderKMeans"](epochs=30, learning_rate=1e20)
    told = r"autoencoder.*(nan|inf).*lower learning_rate \(now 1e\+20\)"
    with pytest.raises(FloatingPointError, match=told):
        model.fit(blobs[0])
    assert not hasattr(model, "labels_")


# --- interruption and resumption -------------------------------------------------------------------


def interrupting_loss(monkeypatch, kind, after):
    """Press Ctrl-C in a loss, after so many steps."""
    plain, count = kind.reconstruction, [0]

    def loss(self, batch):
        count[0] += 1
        if count[0] > after:
            raise KeyboardInterrupt
        return plain(self, batch)

    monkeypatch.setattr(kind, "reconstruction", loss)


def test_ctrl_c_keeps_the_best_state(blobs, monkeypatch):
    reference = MODELS["AutoencoderKMeans"](epochs=3).fit(blobs[0])
    assert np.argmin(reference.history_["autoencoder"]["reconstruction"]) == 2
    interrupting_loss(monkeypatch, CentroidModel, after=3 * 5 + 2)  # five steps an epoch
    with pytest.warns(
        UserWarning, match="Interrupted in epoch 4 of 6 of autoencoder: the state of the lowest"
    ):
        model = MODELS["AutoencoderKMeans"]().fit(blobs[0])
    assert model.history_ == reference.history_
    np.testing.assert_array_equal(model.transform(blobs[0]), reference.transform(blobs[0]))
    # k-means still ran, from a seed that was drawn later.
    assert adjusted_rand_score(model.labels_, reference.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(blobs[0]), model.labels_)


def test_ctrl_c_in_the_first_epoch_keeps_what_was_there(blobs, monkeypatch):
    interrupting_loss(monkeypatch, CentroidModel, after=2)
    with pytest.warns(UserWarning, match="the state before it is kept; the fit ends with it"):
        model = MODELS["DEC"]().fit(blobs[0])
    assert model.history_ == {"autoencoder": {}, "clustering": {}}
    fresh = dense_autoencoder(5, 3, [8], "leaky_relu")
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    initialise(fresh, torch.Generator().manual_seed(seed))
    for name, value in snapshot(fresh).items():
        np.testing.assert_array_equal(weights(model)[f"autoencoder.{name}"], value)
    assert len(np.unique(model.predict(blobs[0]))) == 3


def test_ctrl_c_in_a_later_start_takes_an_earlier_one(blobs, monkeypatch):
    reference = MODELS["AutoencoderKMeans"]().fit(blobs[0])
    interrupting_loss(monkeypatch, CentroidModel, after=6 * 5 + 2)
    with pytest.warns(UserWarning, match="the best of 1 earlier starts is taken instead"):
        model = MODELS["AutoencoderKMeans"](n_init=3).fit(blobs[0])
    assert_same_fit(model, reference)


def test_after_ctrl_c_a_checkpoint_goes_on(blobs, tmp_path, monkeypatch):
    options = {"checkpoint": tmp_path / "c.npz", "checkpoint_every": 1, "n_init": 2}
    whole = MODELS["AutoencoderKMeans"](n_init=2).fit(blobs[0])
    for steps in (3 * 5 + 2, (6 + 1 - 3) * 5 + 2):  # once in each start
        with monkeypatch.context() as patch, pytest.warns(UserWarning, match="Interrupted in epoch"):
            interrupting_loss(patch, CentroidModel, after=steps)
            MODELS["AutoencoderKMeans"](**options).fit(blobs[0])
    assert_same_fit(MODELS["AutoencoderKMeans"](**options).fit(blobs[0]), whole)


class KilledError(Exception):
    """Stands for a kill."""


def kill_after(monkeypatch, epochs):
    plain, count = Keeper.end_epoch, [0]

    def end_epoch(self, progress, optimizer):
        plain(self, progress, optimizer)
        count[0] += 1
        if count[0] == epochs:
            raise KilledError

    monkeypatch.setattr(Keeper, "end_epoch", end_epoch)


@every_model
@collapse_may_be
def test_resumed_fit_is_the_same_after_a_kill_at_any_epoch(build, blobs, tmp_path, monkeypatch):
    whole = build().fit(blobs[0])
    n_epochs = sum(len(next(iter(terms.values()), [])) for terms in whole.history_.values())
    for number in range(1, n_epochs + 1):
        path = tmp_path / f"{number}.npz"
        with monkeypatch.context() as patch, pytest.raises(KilledError):
            kill_after(patch, number)
            build(checkpoint=path, checkpoint_every=2).fit(blobs[0])
        assert_same_fit(build(checkpoint=path, checkpoint_every=2).fit(blobs[0]), whole)
        # And once more: nothing is left to do.
        assert_same_fit(build(checkpoint=path, checkpoint_every=2).fit(blobs[0]), whole)


def test_resumed_fit_stops_where_the_whole_one_did(blobs, tmp_path, monkeypatch):
    options = {"epochs": 40, "patience": 2, "learning_rate": 0.05, "checkpoint_every": 1}
    whole = MODELS["AutoencoderKMeans"](**options).fit(blobs[0])
    n_epochs = len(whole.history_["autoencoder"]["reconstruction"])
    assert 3 < n_epochs < 40
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        kill_after(patch, n_epochs)
        MODELS["AutoencoderKMeans"](**options, checkpoint=tmp_path / "c.npz").fit(blobs[0])
    assert_same_fit(
        MODELS["AutoencoderKMeans"](**options, checkpoint=tmp_path / "c.npz").fit(blobs[0]), whole
    )


def test_settled_labels_end_dec_and_its_resumption(blobs, tmp_path, monkeypatch):
    options = {"tol": 0.5, "checkpoint_every": 1}
    whole = MODELS["DEC"](**options).fit(blobs[0])
    assert len(whole.history_["clustering"]["clustering"]) == 1  # the first update sees no change
    for number in (3, 4):
        path = tmp_path / f"{number}.npz"
        with monkeypatch.context() as patch, pytest.raises(KilledError):
            kill_after(patch, number)
            MODELS["DEC"](**options, checkpoint=path).fit(blobs[0])
        assert_same_fit(MODELS["DEC"](**options, checkpoint=path).fit(blobs[0]), whole)


def test_dropout_is_resumed_too(blobs, tmp_path, monkeypatch):
    nn = torch.nn

    def build(**more):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(5)
            pair = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.3), nn.Linear(8, 3)), nn.Linear(3, 5)
        return MODELS["AutoencoderKMeans"](autoencoder=pair, checkpoint_every=1, **more)

    whole = build().fit(blobs[0])
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        kill_after(patch, 3)
        build(checkpoint=tmp_path / "c.npz").fit(blobs[0])
    assert_same_fit(build(checkpoint=tmp_path / "c.npz").fit(blobs[0]), whole)


KILLED_SCRIPT = """
import os, signal, sys
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler
from whyclust.deep import DCN
from whyclust.deep.training import keeping

plain = keeping.write_checkpoint
def write(path, meta, tensors):
    plain(path, meta, tensors)
    if meta["progress"]["phase"] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
keeping.write_checkpoint = write
X = StandardScaler().fit_transform(make_blobs(150, centers=3, n_features=5, random_state=1)[0])
DCN(3, hidden=(8,), batch_size=32, random_state=0, epochs=4, pretrain_epochs=3, checkpoint=sys.argv[1],
    checkpoint_every=2).fit(X)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_resumed_after_a_real_kill(blobs, tmp_path):
    path = tmp_path / "c.npz"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", KILLED_SCRIPT, str(path)], env=environment, check=False)
    assert run.returncode == -signal.SIGKILL
    assert [file.name for file in tmp_path.iterdir()] == ["c.npz"]
    whole = MODELS["DCN"](checkpoint_every=2).fit(blobs[0])
    assert_same_fit(MODELS["DCN"](checkpoint=path, checkpoint_every=2).fit(blobs[0]), whole)


def test_starts_are_resumed_between_and_within(blobs, tmp_path, monkeypatch):
    whole = MODELS["AutoencoderKMeans"](n_init=3, checkpoint_every=2).fit(blobs[0])
    assert len(whole.scores_) == 3
    for number in (6, 9, 12, 18):
        path = tmp_path / f"{number}.npz"
        with monkeypatch.context() as patch, pytest.raises(KilledError):
            kill_after(patch, number)
            MODELS["AutoencoderKMeans"](n_init=3, checkpoint_every=2, checkpoint=path).fit(blobs[0])
        again = MODELS["AutoencoderKMeans"](n_init=3, checkpoint_every=2, checkpoint=path)
        assert_same_fit(again.fit(blobs[0]), whole)


def test_checkpoint_of_something_else_is_refused_and_left_alone(blobs, tmp_path):
    path = tmp_path / "c.npz"
    MODELS["DCN"](checkpoint=path, checkpoint_every=1).fit(blobs[0])
    content = path.read_bytes()
    others = [
        (MODELS["AutoencoderKMeans"](checkpoint=path), blobs[0]),
        (MODELS["DCN"](checkpoint=path, lam=0.2), blobs[0]),
        (MODELS["DCN"](checkpoint=path, random_state=1), blobs[0]),
        (MODELS["DCN"](checkpoint=path), blobs[0] + 1e-3),
        (MODELS["DCN"](checkpoint=path), blobs[0][:-1]),
    ]
    for model, X in others:
        with pytest.raises(
            ValueError, match=r"c\.npz' is of another model, other settings or other data: name"
        ):
            model.fit(X)
        assert path.read_bytes() == content
    MODELS["DCN"](checkpoint=path, checkpoint_every=3, verbose=False).fit(blobs[0])  # how often is no matter


def test_another_autoencoder_is_another_fit(blobs, tmp_path):
    path = tmp_path / "c.npz"
    first, second = (MODELS["AutoencoderKMeans"](random_state=seed).fit(blobs[0]) for seed in (0, 1))
    MODELS["DCN"](checkpoint=path, autoencoder=first).fit(blobs[0])
    with pytest.raises(ValueError, match="of another model"):
        MODELS["DCN"](checkpoint=path, autoencoder=second).fit(blobs[0])


@pytest.mark.parametrize("damage", ["half", "empty", "text", "array", "last byte"])
def test_damaged_checkpoint_is_refused_and_left_alone(blobs, tmp_path, damage):
    path = tmp_path / "c.npz"
    MODELS["DCN"](checkpoint=path, checkpoint_every=1).fit(blobs[0])
    content = path.read_bytes()
    bad = {"half": content[: len(content) // 2], "empty": b"", "text": b"hello", "last byte": content[:-30]}
    if damage == "array":
        with path.open("wb") as stream:
            np.save(stream, np.arange(3))
    else:
        path.write_bytes(bad[damage])
    content = path.read_bytes()
    with pytest.raises(ValueError, match=r"c\.npz' is damaged or no checkpoint .*delete it to start anew"):
        MODELS["DCN"](checkpoint=path).fit(blobs[0])
    assert path.read_bytes() == content


def test_checkpoint_needs_a_seed(blobs, tmp_path):
    with pytest.raises(ValueError, match=r"needs a fixed seed.*random_state is None"):
        MODELS["DCN"](checkpoint=tmp_path / "c.npz", random_state=None).fit(blobs[0])


# --- seeds, starts, global state -------------------------------------------------------------------


@every_model
@collapse_may_be
def test_same_seed_same_fit(build, blobs):
    assert_same_fit(build().fit(blobs[0]), build().fit(blobs[0]))


def test_other_seed_other_fit(blobs):
    one, other = (MODELS["DCN"](random_state=seed).fit(blobs[0]) for seed in (0, 1))
    assert one.history_ != other.history_


@every_model
@collapse_may_be
def test_nothing_global_is_changed(build, blobs):
    torch.manual_seed(7)
    settings = (torch.get_num_threads(), torch.get_num_interop_threads(), torch.get_default_dtype())
    with generators.untouched():
        build().fit(blobs[0]).predict(blobs[0])
    assert settings == (torch.get_num_threads(), torch.get_num_interop_threads(), torch.get_default_dtype())
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.is_grad_enabled()


def test_lowest_score_wins(blobs):
    model = MODELS["AutoencoderKMeans"](n_init=4).fit(blobs[0])
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    scores = []
    for run in range(4):
        # The same starts, one by one: a RandomState that draws the seed plus the number of the start.
        alone = MODELS["AutoencoderKMeans"](random_state=FixedDraw(seed + run)).fit(blobs[0])
        scores.append(alone.scores_[0])
        if run == np.argmin(model.scores_):
            np.testing.assert_array_equal(alone.labels_, model.labels_)
            assert alone.history_ == model.history_
    assert scores == model.scores_.tolist()
    assert len(set(scores)) == 4


class FixedDraw(np.random.RandomState):
    def __init__(self, value):
        super().__init__(0)
        self.value = value

    def randint(self, *arguments, **options):
        return self.value


def test_score_of_autoencoder_k_means(blobs):
    model = MODELS["AutoencoderKMeans"]().fit(blobs[0])
    distances = ((blobs[0] - model.decoded_centers()[model.labels_]) ** 2).sum(axis=1)
    np.testing.assert_allclose(model.scores_, [distances.mean()], rtol=1e-5)


def test_starts_with_empty_clusters_come_last():
    runs = keeping_module.Runs()
    model = Line()
    for score, empty in ((5.0, 1), (7.0, 0), (6.0, 0), (1.0, 2)):
        runs.add(score, empty, Progress(history={"score": score}), model)
    assert runs.history == {"score": 6.0}
    assert runs.scores == [5.0, 7.0, 6.0, 1.0]


# --- estimators ------------------------------------------------------------------------------------


# The head of IDC begins with even memberships: it needs some steps before it can tell clusters apart.
LONGER = {"IDC": {"epochs": 20, "pretrain_epochs": 20, "hidden": None}}


def short(kind):
    # scikit-learn seeds estimators, but not those inside of them.
    seed = {"random_state": 0 if "base" in kind.declared else None}
    return small(kind, **{**SHORT, **seed, **LONGER.get(kind.__name__, {})})()


@parametrize_with_checks([short(kind) for kind in KINDS])
@collapse_may_be
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@every_model
@collapse_may_be
def test_answers(build, blobs):
    X, _ = blobs
    model = build().fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    shares = model.predict_proba(X)
    assert shares.shape == (150, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.labels_)
    embedded = model.transform(X)
    assert model.decoded_centers().shape == (3, 5)
    if isinstance(model.model_, CentroidModel):  # others have borders of their own
        distances = ((embedded[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
        np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)
    assert model.decode(embedded).shape == X.shape
    assert model.decode(embedded[0]).shape == (1, 5)
    assert set(np.flatnonzero(np.bincount(model.labels_, minlength=3) == 0)) == set(model.empty_clusters_)
    names = [f"{type(model).__name__.lower()}{i}" for i in range(embedded.shape[1])]
    assert list(model.get_feature_names_out()) == names


def test_history_is_the_whole_course(blobs):
    model = MODELS["IDEC"](tol=0.0).fit(blobs[0])
    lengths = {phase: {t: len(v) for t, v in terms.items()} for phase, terms in model.history_.items()}
    assert lengths == {
        "autoencoder": {"reconstruction": 3},
        "clustering": {"clustering": 4, "reconstruction": 4},
    }
    assert (
        model.history_["autoencoder"]["reconstruction"][0]
        > model.history_["clustering"]["reconstruction"][-1]
    )


def test_generated_rows(blobs):
    model = MODELS["AutoencoderKMeans"]().fit(blobs[0])
    centers, embedded = model.cluster_centers_, model.transform(blobs[0])
    np.testing.assert_allclose(model.decoded_centers(), model.decode(centers))
    way = model.interpolate(0, 2, steps=5)
    np.testing.assert_allclose(way[[0, 4]], model.decode(centers[[0, 2]]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(way[2], model.decode((centers[0] + centers[2]) / 2)[0], rtol=1e-5, atol=1e-6)
    for cluster in range(3):
        spread = embedded[model.labels_ == cluster].std(axis=0)
        np.testing.assert_allclose(model.cluster_spreads_[cluster], spread, rtol=1e-4)
    noise = np.random.RandomState(4).standard_normal((6, 3))
    made = model.sample(1, n_samples=6, scale=0.5, random_state=4)
    expected = model.decode(centers[1] + 0.5 * noise * model.cluster_spreads_[1])
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        model.sample(1, n_samples=1, scale=0.0)[0], model.decoded_centers()[1], rtol=1e-6
    )


def test_generated_rows_of_nothing_are_refused(blobs):
    model = MODELS["AutoencoderKMeans"]().fit(blobs[0])
    for call, told in [
        (lambda: model.sample(3), "cluster 3 is unknown, expected one of 0 to 2"),
        (lambda: model.interpolate(0, -1), "cluster -1 is unknown"),
        (lambda: model.interpolate(0, 1, steps=1), "steps=1, expected a whole number, 2 or more"),
        (lambda: model.sample(0, scale=-1.0), "scale=-1.0, expected a number of zero or more"),
        (lambda: model.sample(0, n_samples=0), "n_samples=0"),
        (lambda: model.decode(np.zeros((2, 4))), r"Z has shape \(2, 4\), expected finite.*\(n, 3\)"),
        (lambda: model.decode([np.nan, 0, 0]), "Z has shape .*expected finite"),
    ]:
        with pytest.raises(ValueError, match=told):
            call()


def test_progress_bar_only_on_request(blobs, capfd):
    MODELS["DCN"](verbose=None).fit(blobs[0])
    assert capfd.readouterr() == ("", "")
    MODELS["DCN"](verbose=True).fit(blobs[0])
    out, err = capfd.readouterr()
    assert out == ""
    assert "DCN: autoencoder, loss" in err
    assert "DCN: clustering, loss" in err
    assert "4/4" in err


def test_a_long_fit_says_of_each_long_phase_how_long_it_takes(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr("whyclust.deep.training.keeping.time.monotonic", lambda: now[0])

    def train(notice, name, epochs, seconds, first=0):
        notice.begin_phase(Phase(name, epochs, []), first)
        for epoch in range(first + 1, epochs + 1):
            now[0] += seconds
            notice.end_epoch(Progress(epoch=epoch), [])

    notice = Notice("DCN")
    train(notice, "autoencoder", 100, 2.0, first=20)
    assert capsys.readouterr().err == (
        "DCN: autoencoder, 100 epochs, takes about 3 minutes. verbose=True shows progress, verbose=None "
        "says nothing.\n"
    )
    train(notice, "layers", 5, 0.1)
    assert capsys.readouterr().err == ""
    train(notice, "clustering", 40, 0.7)
    train(notice, "clustering", 40, 0.7)
    assert capsys.readouterr().err == "DCN: clustering, 40 epochs, takes about 28 seconds.\n"

    # Two phases that each take less than one waits gladly, but together more.
    notice = Notice("DEC", starts=3)
    train(notice, "autoencoder", 10, 0.15)
    assert capsys.readouterr().err == ""
    train(notice, "clustering", 25, 0.12)
    assert capsys.readouterr().err == (
        "DEC: clustering, 25 epochs, takes about 3 seconds for each of 3 starts. verbose=True shows "
        "progress, verbose=None says nothing.\n"
    )
    train(Notice("DCN"), "autoencoder", 10, 0.1)
    assert capsys.readouterr() == ("", "")


def test_fits_without_a_bar_have_the_notice(blobs, monkeypatch, capsys):
    monkeypatch.setattr(Notice.__init__, "__defaults__", (1, 0.0))
    MODELS["DCN"]().fit(blobs[0])
    told = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in told] == ["DCN: autoencoder", "DCN: clustering"]
    MODELS["DCN"](verbose=None).fit(blobs[0])
    assert capsys.readouterr() == ("", "")
    with watched(Watch({}, None, 0.0)):  # refits of an audit, which is shown as a whole
        MODELS["DCN"]().fit(blobs[0])
        MODELS["DCN"](verbose=True).fit(blobs[0])
    assert capsys.readouterr() == ("", "")


def test_history_as_a_frame(blobs):
    model = MODELS["DCN"]().fit(blobs[0])
    frame = model.history_frame()
    assert list(frame.columns) == ["phase", "epoch", "term", "value"]
    assert len(frame) == sum(len(values) for terms in model.history_.values() for values in terms.values())
    for (phase, term), part in frame.groupby(["phase", "term"]):
        assert part["epoch"].tolist() == list(range(1, len(part) + 1))
        assert part["value"].tolist() == model.history_[phase][term]


def test_pipelines_clones_and_pickles(blobs):
    X, y = blobs
    fitted = MODELS["AutoencoderKMeans"](epochs=30).fit(X)
    model = make_pipeline(StandardScaler(), MODELS["DEC"](autoencoder=fitted))
    labels = clone(model).fit(X).predict(X)
    assert adjusted_rand_score(labels, y) > 0.9
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.labels_)


# --- networks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 7, 9), (2, 1, 5), (1, 16, 3)])
def test_convolutions_give_back_the_shape(shape):
    network = convolutional_autoencoder(shape, 4, [3, 5, 6], "relu")
    x = torch.randn(2, int(np.prod(shape)))
    z, back = network(x)
    assert z.shape == (2, 4)
    assert back.shape == x.shape


@pytest.mark.parametrize("shape", [(1, 6, 6), (2, 3, 5)])
def test_images(shape):
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(2, int(np.prod(shape))))
    X = kinds[np.repeat([0, 1], 30)] + 0.1 * rng.normal(size=(60, kinds.shape[1]))
    model = AutoencoderKMeans(
        2, hidden=(4, 8), image_shape=shape, epochs=5, batch_size=20, random_state=0
    ).fit(X)
    assert adjusted_rand_score(model.labels_, np.repeat([0, 1], 30)) == 1.0
    assert model.decoded_centers().shape == kinds.shape


@pytest.mark.parametrize("activation", ["leaky_relu", "relu", "gelu", "tanh"])
def test_dense_networks(activation):
    network = dense_autoencoder(6, 2, [5, 4], activation)
    linear = [layer for layer in network.modules() if isinstance(layer, torch.nn.Linear)]
    sizes = [(layer.in_features, layer.out_features) for layer in linear]
    assert sizes == [(6, 5), (5, 4), (4, 2), (2, 4), (4, 5), (5, 6)]
    initialise(network, torch.Generator().manual_seed(0))
    for layer in linear:  # Glorot's bounds
        bound = (6 / (layer.in_features + layer.out_features)) ** 0.5
        assert layer.weight.abs().max() <= bound
        assert not layer.bias.any()
    assert isinstance(network.encoder[-1], torch.nn.Linear)


def test_modules_of_ones_own_are_copied_and_trained(blobs):
    torch.manual_seed(0)
    encoder, decoder = torch.nn.Linear(5, 2).double(), torch.nn.Linear(2, 5)
    before = snapshot(encoder)
    model = MODELS["DCN"](autoencoder=(encoder, decoder), embedding_dim=2).fit(blobs[0])
    assert model.transform(blobs[0]).shape == (150, 2)
    assert torch.equal(encoder.weight, before["weight"])
    learned = weights(model)["autoencoder.encoder.weight"]
    assert not np.allclose(learned, before["weight"])
    # Pretraining begins from these weights: without any, k-means sees their embedding.
    untrained = MODELS["AutoencoderKMeans"](autoencoder=(encoder, decoder), epochs=0).fit(blobs[0])
    np.testing.assert_array_equal(weights(untrained)["autoencoder.encoder.weight"], before["weight"].float())


def test_layers_in_place_leave_the_data_alone(blobs):
    nn = torch.nn
    X = blobs[0].astype(np.float32)
    before = X.copy()
    pair = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(5, 3)), nn.Linear(3, 5)
    model = MODELS["DEC"](autoencoder=pair).fit(X)
    model.transform(X)
    np.testing.assert_array_equal(X, before)
    assert pair[0][0].inplace


def test_fitted_autoencoder_is_shared_and_not_trained_again(blobs):
    fitted = MODELS["AutoencoderKMeans"]().fit(blobs[0])
    before = weights(fitted)
    model = MODELS["DEC"](autoencoder=fitted, epochs=0).fit(blobs[0])
    assert model.history_ == {"autoencoder": {}, "clustering": {}}
    np.testing.assert_array_equal(model.transform(blobs[0]), fitted.transform(blobs[0]))
    MODELS["DEC"](autoencoder=fitted).fit(blobs[0])
    for name, value in weights(fitted).items():
        np.testing.assert_array_equal(value, before[name])


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"n_clusters": 0}, "n_clusters=0, expected a whole number, 1 or more"),
        ({"n_clusters": 2.5}, r"n_clusters=2.5, expected"),
        ({"n_clusters": 151}, "n_samples=150, fewer rows than n_clusters=151: use fewer"),
        ({"batch_size": 0}, "batch_size=0, expected a whole number, 1 or more"),
        ({"epochs": -1}, "epochs=-1, expected"),
        ({"epochs": None}, "epochs=None, expected"),
        ({"pretrain_epochs": True}, "pretrain_epochs=True, expected"),
        ({"patience": 0}, "patience=0, expected"),
        ({"n_init": 0}, "n_init=0, expected"),
        ({"embedding_dim": 0}, "embedding_dim=0, expected"),
        ({"learning_rate": 0.0}, "learning_rate=0.0, expected a number above zero"),
        ({"learning_rate": float("nan")}, "learning_rate=nan, expected"),
        ({"activation": "step"}, "activation='step' is unknown, expected one of leaky_relu, relu"),
        ({"hidden": (0,)}, r"hidden=\(0,\), expected the sizes"),
        ({"hidden": 500}, "hidden=500, expected the sizes"),
        ({"image_shape": (1, 2, 3)}, r"image_shape=\(1, 2, 3\) does not make up the 5 columns"),
        ({"image_shape": (1, 5)}, r"image_shape=\(1, 5\) does not make up"),
        ({"device": "abacus"}, "device='abacus' is unknown or not available"),
        ({"lam": -1.0}, "lam=-1.0, expected"),
        ({"checkpoint_every": 0}, "checkpoint_every=0, expected"),
    ],
)
def test_settings_that_make_no_sense(blobs, settings, told):
    model = MODELS["DCN"]().set_params(**settings)
    with pytest.raises(ValueError, match=told):
        model.fit(blobs[0])
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    ("build", "settings", "told"),
    [
        ("DEC", {"tol": -1}, "tol=-1"),
        ("DEC", {"update_interval": 0}, "update_interval=0"),
        ("IDEC", {"gamma": -0.1}, "gamma=-0.1"),
        ("DKM", {"alpha": 0}, "alpha=0, expected a number above zero"),
        ("DKM", {"alpha_epochs": 0}, "alpha_epochs=0"),
        ("DKM", {"lam": "much"}, "lam='much'"),
    ],
)
def test_settings_of_single_models(blobs, build, settings, told):
    with pytest.raises(ValueError, match=told):
        MODELS[build](**settings).fit(blobs[0])


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ("ae", TypeError, "autoencoder is a str, expected None, a pair"),
        ((torch.nn.Linear(5, 3),), TypeError, "expected None, a pair"),
        (
            (torch.nn.Linear(5, 3), torch.nn.Linear(3, 6)),
            ValueError,
            r"decoder returns shape \(2, 6\).*\(2, 5\)",
        ),
        (
            (torch.nn.Linear(5, 2), torch.nn.Linear(2, 5)),
            ValueError,
            r"encoder returns shape \(2, 2\).*\(2, 3\)",
        ),
        ((torch.nn.Linear(4, 3), torch.nn.Linear(3, 5)), ValueError, "does not fit a table of 5 columns"),
        (AutoencoderKMeans(3), ValueError, "autoencoder is a AutoencoderKMeans that is not fitted yet"),
    ],
)
def test_autoencoders_that_do_not_fit(blobs, given, error, told):
    with pytest.raises(error, match=told):
        MODELS["DCN"](autoencoder=given, embedding_dim=3).fit(blobs[0])


def test_input_that_makes_no_sense(blobs):
    X = blobs[0].copy()
    for value, told in (
        (1e13, "values as large as 1e\\+13, expected at most 1e\\+12"),
        (np.nan, "NaN"),
        (np.inf, "infinity"),
    ):
        X[0, 0] = value
        with pytest.raises(ValueError, match=told):
            MODELS["DCN"]().fit(X)
    X[0, 0] = 1e300
    with pytest.raises(ValueError, match="expected at most 1e"):
        MODELS["DCN"]().fit(X)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, bool])
def test_any_kind_of_number(dtype):
    X = np.random.default_rng(0).integers(0, 2, size=(40, 4)).astype(dtype)
    X.flags.writeable = False
    model = MODELS["AutoencoderKMeans"]().fit(X)
    assert model.transform(X).dtype == np.float32
    np.testing.assert_array_equal(model.predict(X.astype(np.float64)), model.labels_)


def test_one_column():
    X = np.r_[np.zeros(20), np.ones(20), np.full(20, 5.0)][:, None] + np.linspace(0, 0.1, 60)[:, None]
    model = MODELS["AutoencoderKMeans"](epochs=20).fit(X)
    assert adjusted_rand_score(model.labels_, np.repeat([0, 1, 2], 20)) == 1.0


@every_model
def test_one_cluster_is_no_collapse(build, blobs):
    model = build()
    model.n_clusters = 1
    model.fit(blobs[0])
    assert not model.labels_.any()
    assert len(model.empty_clusters_) == 0


@every_model
def test_constant_columns_are_reported(build):
    with pytest.warns(
        UserWarning, match=r"The clusters have collapsed: 2 of 3 clusters are empty and .* 100%"
    ):
        model = build().fit(np.ones((40, 3)))
    assert len(model.empty_clusters_) == 2
    with pytest.raises(ValueError, match="has no members whose spread"):
        model.sample(int(model.empty_clusters_[0]))


def test_columns_are_summed_in_double_precision():
    """Of 50,000 rows around 20,012 single precision makes 20,019 on average, with a deviation of 7."""
    X = np.random.default_rng(0).normal([20_011.7, 0.0], size=(50_000, 2)).astype(np.float32)
    assert abs(X.mean(axis=0)[0] - 20_011.7) > 5
    model = AutoencoderKMeans(1, hidden=(), embedding_dim=1, epochs=0, random_state=0).fit(X)
    wide = X.astype(np.float64)
    np.testing.assert_allclose(model.feature_means_, wide.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.feature_deviations_, wide.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ([8.0, 2.0, 20.1], True),
        ([8.0, 2.0, 19.9], False),  # less than ten times the best
        ([50.0, 2.0, 30.0], False),  # better than at first
        ([8.0], False),
        ([], False),
    ],
)
def test_training_that_diverged_is_told(blobs, errors, told):
    """A loss that is finite, but far above where it had been, is no result."""
    model = MODELS["DCN"](epochs=2).fit(blobs[0])
    assert not any("diverged" in sentence for sentence in model._complaints())
    model.history_["clustering"]["reconstruction"] = errors
    found = [sentence for sentence in model._complaints() if "diverged" in sentence]
    assert len(found) == told
    assert all("of clustering was 2 at best and is 20.1 in its last epoch" in one for one in found)
    # What other terms have gained more than makes up for it.
    model.history_["clustering"]["clustering"] = [30.0, 20.0, 1.0]
    assert not any("diverged" in sentence for sentence in model._complaints())


# --- files -----------------------------------------------------------------------------------------


@every_model
@collapse_may_be
def test_stored_and_back(build, blobs, tmp_path):
    import json

    model = build().fit(blobs[0])
    description, arrays = to_arrays(model)
    np.savez(tmp_path / "m.npz", **arrays)
    with np.load(tmp_path / "m.npz", allow_pickle=False) as stored:
        again = from_arrays(json.loads(json.dumps(description)), dict(stored))
    assert_same_fit(again, model)
    np.testing.assert_array_equal(again.predict_proba(blobs[0]), model.predict_proba(blobs[0]))
    np.testing.assert_array_equal(again.decoded_centers(), model.decoded_centers())
    assert plain_settings(again) == plain_settings(model)


def plain_settings(model):
    return {name: value for name, value in model.get_params().items() if not hasattr(value, "fit")}


def test_files_from_before_know_the_layers_of_before(blobs):
    model = AutoencoderKMeans(3, hidden=(500, 500, 2000), epochs=1, random_state=0).fit(blobs[0])
    description, arrays = to_arrays(model)
    assert description.pop("layers") == [500, 500, 2000]
    description["settings"]["hidden"] = None
    again = from_arrays(description, arrays)
    assert again.hidden is None
    np.testing.assert_array_equal(again.predict(blobs[0]), model.labels_)


@collapse_may_be
def test_files_tell_the_layers(blobs):
    for model in (MODELS["AutoencoderKMeans"](hidden=None), MODELS["ACeDeC"](hidden=None)):
        description, arrays = to_arrays(model.fit(blobs[0]))
        assert description["layers"] == [64, 64]
        again = from_arrays(description, arrays)
        assert again.hidden is None
        np.testing.assert_array_equal(again.predict(blobs[0]), model.labels_)


def test_stored_with_a_shared_autoencoder(blobs):
    first = MODELS["AutoencoderKMeans"](hidden=(7, 4), embedding_dim=2, epochs=2).fit(blobs[0])
    second = MODELS["DCN"](autoencoder=first).fit(blobs[0])
    third = MODELS["DEC"](autoencoder=second).fit(blobs[0])
    again = from_arrays(*to_arrays(third))
    np.testing.assert_array_equal(again.predict(blobs[0]), third.labels_)
    assert again.hidden == (7, 4)
    assert again.embedding_dim == 2


def test_stored_refuses_what_needs_code(blobs):
    pair = torch.nn.Linear(5, 3), torch.nn.Linear(3, 5)
    model = MODELS["AutoencoderKMeans"](autoencoder=pair).fit(blobs[0])
    with pytest.raises(TypeError, match="was given modules of your own, which a file without code cannot"):
        to_arrays(model)
    description, arrays = to_arrays(MODELS["AutoencoderKMeans"]().fit(blobs[0]))
    with pytest.raises(ValueError, match="'system', which nothing has registered"):
        from_arrays({**description, "class": "system"}, arrays)


def test_stored_names_of_columns(blobs):
    import pandas as pd

    frame = pd.DataFrame(blobs[0], columns=list("abcde"))
    model = MODELS["DCN"](random_state=np.random.RandomState(0)).fit(frame)
    again = from_arrays(*to_arrays(model))
    np.testing.assert_array_equal(again.predict(frame), model.labels_)
    assert again.random_state is None
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[list("edcba")])


# --- the package -----------------------------------------------------------------------------------


def run_python(code):
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_without_torch_the_extra_is_named():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import whyclust\n"
        "try:\n    import whyclust.deep\nexcept ImportError as error:\n    print(error)"
    )
    assert run_python(code) == str(missing("whyclust.deep", "torch"))


def test_whyclust_does_not_import_torch():
    assert run_python("import sys, whyclust; print('torch' in sys.modules)") == "False"


class Scripted(Line):
    """Losses as they are told, one a step; each step moves the weight all the same."""

    def __init__(self, losses, **options):
        super().__init__(batch_size=10, **options)
        self.losses = iter(losses)

    def loss(self, *batch):
        """The next loss; Ctrl-C where there is none."""
        told = next(self.losses, None)
        if told is None:
            raise KeyboardInterrupt
        return {"told": torch.tensor(told) + self.weight.sum() - self.weight.sum().detach()}


@pytest.mark.parametrize(("fall", "epochs"), [(0.01, 12), (0.0002, 4)])
def test_a_fall_by_a_thousandth_is_progress(rows, fall, epochs):
    """Three epochs of 1% each go on; three of 0.02% each end the phase."""
    model = Scripted([(1 - fall) ** epoch for epoch in range(12)], epochs=12, patience=3)
    assert len(train(model, rows, torch.Generator()).history["line"]["told"]) == epochs


def test_ctrl_c_keeps_the_lowest_loss_and_not_the_last(rows):
    kept = {}
    for losses in ([3.0, 1.0], [3.0, 1.0, 2.0, 5.0]):
        model = Scripted(losses, epochs=9)
        progress = train(model, rows, torch.Generator())
        assert progress.interrupted.endswith("the state of the lowest loss is kept")
        kept[len(losses)] = model.weight.detach().clone()
    assert torch.equal(kept[2], kept[4])
    changing = Scripted([3.0, 1.0, 2.0, 5.0], epochs=9, comparable=False)
    assert train(changing, rows, torch.Generator()).interrupted.endswith("last whole epoch is kept")
    assert not torch.equal(changing.weight.detach(), kept[4])
