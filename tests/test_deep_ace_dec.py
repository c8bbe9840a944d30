"""ACe/DeC: Eq. (5) and everything around it, written out, one row, cluster and dimension at a time."""

import copy
import pickle
import re
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from interruptions import KilledError, assert_same_fit, kill_after

torch = pytest.importorskip("torch")

import whyclust as wc  # noqa: E402
from whyclust.cluster import SubKMeans  # noqa: E402
from whyclust.deep import DCN, DEC, DKM, IDEC, ACeDeC, AutoencoderKMeans, CNet, showing_spaces  # noqa: E402
from whyclust.deep.models import centroids, two_spaces  # noqa: E402
from whyclust.deep.models.two_spaces import TwoSpaces, random_rotation, random_weights, whiten  # noqa: E402
from whyclust.deep.training.loop import train  # noqa: E402
from whyclust.deep.training.phases import Batch, snapshot  # noqa: E402

N, D, P, K = 7, 4, 3, 3
nn = torch.nn

pytestmark = pytest.mark.filterwarnings("ignore:The (clusters|spaces) have collapsed")

BASES = {
    "DCN": lambda **more: DCN(K, **more),
    "DEC": lambda **more: DEC(K, tol=0.0, **more),
    "IDEC": lambda **more: IDEC(K, tol=0.0, **more),
    "DKM": lambda **more: DKM(K, alpha=2.0, **more),
}
every_base = pytest.mark.parametrize("base", BASES)


def random(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


@pytest.fixture
def rows():
    return random(0, N, D)


def built(base="DCN", **own):
    """A module in double precision, with any V, β, μ and centroids."""
    base = BASES[base](hidden=(5,), embedding_dim=P, random_state=0) if isinstance(base, str) else base
    model = ACeDeC(base, **own)._model(D, torch.Generator().manual_seed(1)).double().eval()
    for number, tensor in enumerate(model.autoencoder.parameters()):
        tensor.data.copy_(random(10 + number, *tensor.shape) * 0.5)
    with torch.no_grad():  # centroids among embedded rows, so that all have members
        near = model.encoder(random(0, N, D))[[0, 2, 5]]
    model.centers.data.copy_(near + 0.1 * random(2, K, P))
    model.space.assign(torch.eye(P) + 0.4 * random(3, P, P), torch.tensor([0.3, 0.6, 0.8]))
    model.space.middle.copy_(random(4, P) * 0.5)
    return model


def batch(x, view=None):
    return Batch(x, torch.arange(len(x)), x, epoch=0, done=0.0, generator=torch.Generator(), view=view)


# --- the paper, literally ----------------------------------------------------------------------------


def turned(rotation, z):
    """Vᵀz."""
    return torch.stack([sum(rotation[j, i] * z[j] for j in range(P)) for i in range(P)])


def turned_back(rotation, h):
    """V h."""
    return torch.stack([sum(rotation[j, i] * h[i] for i in range(P)) for j in range(P)])


def distance(h, g, weights):
    """Eq. (2)."""
    return sum(weights[i] ** 2 * (h[i] - g[i]) ** 2 for i in range(P))


def own_term(model, distances, seen, row):
    """The base's clustering term of one row, of its distances and those of the row it belongs with."""
    settings = model.settings
    if isinstance(settings, DEC):
        q = [1 / (1 + one) for one in distances]
        kl = sum(p * (p / (one / sum(q))).log() for p, one in zip(model.target[row], q, strict=True))
        return kl * D  # IDEC with γ = 1
    if isinstance(settings, DKM):
        weights = [(-2.0 * one).exp() for one in seen]
        return sum(w / sum(weights) * one for w, one in zip(weights, distances, strict=True))
    return distances[int(np.argmin([one.item() for one in seen]))]


def literal(model, views, mode):
    """The loss with the base's own term, V and β held in it; and Eq. (5). Both are means over rows."""
    space, mu = model.space, model.space.middle
    rotation, weights = space.turn.weight, space.scores.sigmoid()
    shares = 1 - weights
    own = five = 0.0
    firsts = [model.encoder(x[None])[0] for x in views[0]]
    for number, rows in enumerate(views):
        for row, x in enumerate(rows):
            z = model.encoder(x[None])[0]
            first = firsts[row].detach() if number else z
            v, w = rotation.detach(), weights.detach()
            held = [distance(turned(v, z), turned(v, c), w) for c in model.centers]
            seen = [distance(turned(v, first), turned(v, c), w) for c in model.centers]
            nearest = int(np.argmin([one.item() for one in seen]))
            h, m = turned(rotation, z), turned(rotation, mu)
            cluster = distance(h, turned(rotation, model.centers[nearest]), weights)
            shared = distance(h, m, shares)
            given = h
            if len(views) == 2 and mode == "spaces":
                given = weights * h + shares * m if number == 0 else shares * h + weights * m
            back = model.autoencoder.decoder(turned_back(rotation, given)[None])[0]
            rest = shared + sum((x[i] - back[i]) ** 2 for i in range(D))
            own = own + (own_term(model, held, seen, row) + rest) / (len(rows) * len(views))
            five = five + (cluster + rest) / (len(rows) * len(views))
    return own, five


@pytest.mark.parametrize("mode", ["one view", "spaces", "whole"])
@every_base
def test_the_loss_is_equation_5(rows, base, mode):
    model = built(base, views="whole" if mode == "whole" else "spaces")
    view = None if mode == "one view" else rows + 2.0 * random(5, N, D)
    if hasattr(model, "update_target"):
        with torch.no_grad():
            model.update_target(rows, 0)
    if view is not None:  # it would belong elsewhere by itself
        labels = [model.logits(model.embed(x)).argmax(dim=1) for x in (rows, view)]
        assert not torch.equal(*labels)
    terms = model.space.loss(model, batch(rows, view))
    assert set(terms) == {"clustering", "shared", "reconstruction"}
    loss = sum(terms.values())
    own, five = literal(model, [rows] if view is None else [rows, view], mode)
    assert abs((loss - own).item()) < 1e-10

    network = list(model.autoencoder.parameters())
    spaces = [model.space.turn.weight, model.space.scores]
    learned = [model.centers] if isinstance(model.centers, nn.Parameter) else []
    if base == "DCN":  # all of it is Eq. (5), and the centroids follow by themselves
        assert abs((loss - five).item()) < 1e-10
        assert not learned
        own = five
    moved = torch.autograd.grad(loss, [*network, *learned, *spaces], retain_graph=True)
    expected = torch.autograd.grad(own, [*network, *learned], retain_graph=True)
    expected += torch.autograd.grad(five, spaces)
    for found, wanted in zip(moved, expected, strict=True):
        assert float(wanted.abs().max()) > 1e-5
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)


def test_base_of_equal_terms_is_left_as_it_was_given():
    base = DCN(K, hidden=(5,), embedding_dim=P)
    model = ACeDeC(base)._model(D, torch.Generator())
    assert model.settings.lam == 2.0  # ½ λ = 1
    assert base.lam == 0.1


@every_base
def test_the_spaces_alone_follow_equation_5(rows, base):
    model = built(base)
    with torch.no_grad():
        model.space.fixed = model.encoder(rows)
    chosen = torch.tensor([4, 0, 6])
    part = Batch(rows[chosen], chosen, rows, epoch=0, done=0.0, generator=torch.Generator())
    loss = sum(model.space.alone(model, part).values())
    if hasattr(model, "update_target"):
        with torch.no_grad():
            model.update_target(rows, 0)
    _, five = literal(model, [rows[chosen]], "whole")
    assert abs((loss - five).item()) < 1e-10
    spaces = [model.space.turn.weight, model.space.scores]
    found, wanted = torch.autograd.grad(loss, spaces), torch.autograd.grad(five, spaces)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)
    assert not model.space.fixed.requires_grad


def small(kind, **more):
    return kind(K, hidden=(5,), embedding_dim=P, batch_size=16, random_state=0, **more)


@pytest.mark.parametrize(
    "base",
    [
        small(AutoencoderKMeans, epochs=1),
        small(DCN, pretrain_epochs=1),
        small(DCN, pretrain_epochs=1, batch_norm=True),
    ],
)
def test_only_the_spaces_move_before_clusters_do(base):
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(40, D)).astype(np.float32))
    model = ACeDeC(base, space_epochs=3, start="random", starts=1)._model(D, torch.Generator().manual_seed(0))
    phases = model.phases()
    names = [phase.name for phase in phases]
    assert names == [
        "autoencoder",
        "spaces",
        "k-means" if isinstance(base, AutoencoderKMeans) else "clustering",
    ]
    states = []
    alone = phases[1]
    with torch.no_grad():
        alone.begin(X, torch.Generator().manual_seed(0))
    states.append(snapshot(model))
    only = copy.copy(model)
    only.phases = lambda: [type(alone)(**{**vars(alone), "begin": lambda *a: None})]
    sizes = []
    decoder = model.autoencoder.decoder.register_forward_pre_hook(
        lambda _, given: sizes.append(len(given[0]))
    )
    history = train(only, X, torch.Generator().manual_seed(0)).history["spaces"]
    decoder.remove()
    assert sizes == [14, 13, 13] * 3  # batches of at most 16
    states.append(snapshot(model))
    assert {len(values) for values in history.values()} == {3}
    moved = {name for name in states[0] if not torch.equal(states[0][name], states[1][name])}
    assert moved == {"space.turn.weight", "space.scores", "space.fixed"}
    assert states[1]["space.fixed"].shape == (0, P)


def test_b_moves_ten_times_as_fast():
    base = DCN(K, hidden=(5,), embedding_dim=P, learning_rate=0.02)
    phases = ACeDeC(base)._model(D, torch.Generator()).phases()
    for phase in phases[1:]:
        groups = phase.updates[0].parameters
        model_scores = [group for group in groups if "lr" in group]
        assert len(model_scores) == 1
        assert model_scores[0]["lr"] == pytest.approx(0.2)
        assert model_scores[0]["params"][0].shape == (P,)
    assert phases[0].updates[0].optimizer.learning_rate == 0.02


# --- β ---------------------------------------------------------------------------------------------


def test_weights_grow_where_centroids_fit_better_than_the_mean():
    model = built()
    space = model.space
    z = torch.cat([random(0, 30, P) + 3 * random(1, K, P).repeat_interleave(10, 0)])
    space.assign(torch.eye(P), torch.full((P,), 0.5))
    model.centers.copy_(z.reshape(K, 10, P).mean(dim=1))
    model.centers[:, 2] += 5.0  # here the mean is better
    space.middle.copy_(z.mean(dim=0))
    labels = model.logits(space.points(z)).argmax(dim=1)
    cluster = (z - model.centers[labels]).square().mean(dim=0)
    shared = (z - z.mean(dim=0)).square().mean(dim=0)
    assert 0 < int((cluster < shared).sum()) < P
    loss = space.squares(model, z) + space.rest(z)["shared"]
    (gradient,) = torch.autograd.grad(loss, space.scores)
    np.testing.assert_array_equal(gradient < 0, cluster < shared)
    # β² L_c + (1 − β)² L_s: the derivative 2 (β L_c − (1 − β) L_s), times that of the sigmoid, ¼ at 0.
    np.testing.assert_allclose(gradient, 0.25 * (cluster - shared), atol=1e-12)


def test_optimal_weight_of_a_dimension():
    model = built()
    space = model.space
    z = random(0, 20, P)
    labels = torch.arange(20) % K
    model.centers.copy_(torch.stack([z[labels == k].mean(dim=0) for k in range(K)]))
    model.logits = lambda points: nn.functional.one_hot(labels, K).double()  # whatever β is
    space.middle.copy_(z.mean(dim=0))
    rotation = random_rotation(P, torch.Generator().manual_seed(0)).double()
    turned_rows, turned_centers = z @ rotation, model.centers @ rotation
    for dimension in range(P):

        def cost(weight, dimension=dimension):
            weights = torch.full((P,), 0.5, dtype=torch.float64)
            weights[dimension] = weight
            space.assign(rotation, weights)
            with torch.no_grad():
                return float(space.squares(model, z) + space.rest(z)["shared"])

        best = minimize_scalar(cost, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-10}).x
        cluster = float((turned_rows - turned_centers[labels])[:, dimension].square().mean())
        shared = float((turned_rows - turned_rows.mean(dim=0))[:, dimension].square().mean())
        assert best == pytest.approx(shared / (shared + cluster), abs=1e-6)
        assert best >= 0.5


def test_hard_spaces_cost_what_sub_k_means_minimises():
    X = make_blobs(60, 5, centers=4, random_state=0)[0] + 20.0
    linear = SubKMeans(4, n_components=2, n_init=2, random_state=0).fit(X)
    identity = [nn.Linear(5, 5), nn.Linear(5, 5)]
    for layer in identity:
        layer.weight.data.copy_(torch.eye(5))
        layer.bias.data.zero_()
    model = ACeDeC(DCN(4, autoencoder=tuple(identity)))._model(5, torch.Generator()).double()
    model.space.assign(torch.from_numpy(linear.rotation_), torch.tensor([0.9, 0.9, 0.1, 0.1, 0.1]))
    model.space.hard.fill_(True)
    model.space.middle.copy_(torch.from_numpy(linear.mean_))
    model.centers.copy_(torch.from_numpy(linear.cluster_centers_))
    terms = model.space.loss(model, batch(torch.from_numpy(X)))
    expected = linear.inertia_ / len(X)
    assert abs(sum(one.item() for one in terms.values()) / expected - 1) < 1e-10
    assert terms["reconstruction"].item() < 1e-20
    assert terms["shared"].item() > 0.1


# --- centroids ---------------------------------------------------------------------------------------


def test_centroids_follow_every_batch(rows):
    model = built()
    space = model.space
    model.centers[2] += 100.0  # has no members
    centers, mu, pace = model.centers.clone(), space.middle.clone(), [0.0] * K
    members = [0] * K
    for part in (rows, rows[:4], rows[2:]):
        with torch.no_grad():
            z = model.encoder(part)
            labels = model.logits(space.points(z)).argmax(dim=1).tolist()
        space.loss(model, batch(part))
        with torch.no_grad():
            space.follow(model, None, batch(part))
        mu = 0.5 * mu + 0.5 * z.mean(dim=0)
        for k in range(K):
            own = [row for row, label in zip(z, labels, strict=True) if label == k]
            pace[k] = (pace[k] + len(own)) / 2
            members[k] += len(own)
            if own:
                rate = 1 / (1 + pace[k])
                centers[k] = (1 - rate) * centers[k] + rate * sum(own) / len(own)
        np.testing.assert_allclose(model.centers, centers, rtol=1e-12)
        np.testing.assert_allclose(space.middle, mu, rtol=1e-12)
        np.testing.assert_allclose(space.pace, pace, rtol=1e-12)
        assert space.members.tolist() == members


def test_labels_are_those_of_the_originals_and_of_before_the_step(rows):
    model = built()
    space = model.space
    space.loss(model, batch(rows, rows + 10.0))
    with torch.no_grad():
        z = model.encoder(rows)
        np.testing.assert_array_equal(space._latest[0], z)
        np.testing.assert_array_equal(space._latest[1], model.logits(space.points(z)).argmax(dim=1))
    model.autoencoder.encoder[0].weight.data.mul_(2.0)  # the network moves
    before = space.middle.clone()
    with torch.no_grad():
        space.follow(model, None, batch(rows))
    np.testing.assert_allclose(space.middle, 0.5 * (before + z.mean(dim=0)), rtol=1e-12)


@pytest.mark.parametrize("reseed", [True, False])
def test_empty_clusters_get_another_place(rows, reseed):
    model = built(DCN(K, hidden=(5,), embedding_dim=P, reseed=reseed))
    space = model.space
    with torch.no_grad():
        z = model.encoder(rows)
        before = model.centers.clone()
        space.members.copy_(torch.tensor([2.0, 0.0, 3.0]))
        space.revive(model, rows, 0)  # of the first epoch nothing is known
        assert torch.equal(model.centers, before)
        assert not space.members.any()
        space.members.copy_(torch.tensor([2.0, 0.0, 3.0]))
        space.revive(model, rows, 1)
        points, others = space.points(z), space.points(before[[0, 2]])
    farthest = ((points[:, None] - others) ** 2).sum(dim=2).amin(dim=1).argmax()
    expected = before.clone()
    if reseed:
        expected[1] = z[farthest]
    np.testing.assert_array_equal(model.centers, expected)
    assert int(model.reseeded) == int(reseed)
    assert not space.members.any()


@pytest.mark.parametrize("centroids", ["mini-batch", "alternating"])
def test_whose_steps_centroids_take(rows, centroids):
    model = built(centroids=centroids)
    phase = model.phases()[-1]
    before = model.centers.clone()
    phase.updates[0].loss(batch(rows))
    with torch.no_grad():
        phase.after_step(batch(rows))
    moved = model.centers.clone()
    assert not torch.equal(before, moved)
    if centroids == "mini-batch":
        assert model.counts.tolist() == [100] * K
        assert phase.before_epoch.func == model.space.revive
        return
    assert int(model.counts.sum()) == 100 * K + N
    assert phase.before_epoch == model.revive
    model.centers.copy_(before)
    model.counts.fill_(100)
    with torch.no_grad():
        model.move_centers(batch(rows))
    np.testing.assert_allclose(model.centers, moved, rtol=1e-12)


@pytest.mark.parametrize("base", ["DEC", "DKM"])
def test_learned_centroids_do_not_follow_batches(rows, base):
    model = built(base, **({"centroids": "alternating"} if base == "DKM" else {}))
    before, middle = model.centers.detach().clone(), model.space.middle.clone()
    phase = model.phases()[-1]
    if base == "DEC":
        with torch.no_grad():
            model.update_target(rows, 0)
    phase.updates[0].loss(batch(rows))
    with torch.no_grad():
        phase.after_step(batch(rows))
    assert torch.equal(model.centers.detach(), before)
    assert not torch.equal(model.space.middle, middle)
    moved = [tensor for group in phase.updates[0].parameters for tensor in group["params"]]
    assert any(tensor is model.centers for tensor in moved)
    # DEC itself leaves its decoder alone; here the reconstruction is in the loss.
    assert all(any(tensor is one for one in moved) for tensor in model.autoencoder.parameters())
    assert len({id(tensor) for tensor in moved}) == len(moved)


def test_means_of_members_follow_batches_though_their_model_learns_them(rows):
    model = built("DKM")
    phase = model.phases()[-1]
    before = model.centers.detach().clone()
    phase.updates[0].loss(batch(rows))
    with torch.no_grad():
        phase.after_step(batch(rows))
        z, labels = model.encoder(rows), model.logits(model.embed(rows)).argmax(dim=1)
    for k in range(K):
        own = z[labels == k]
        rate = 1 / (1 + len(own) / 2) if len(own) else 0.0  # n̄ = (n + 0) / 2
        expected = before[k] + rate * (own.mean(dim=0) - before[k]) if len(own) else before[k]
        np.testing.assert_allclose(model.centers.detach()[k], expected, rtol=1e-10)
    moved = [tensor for group in phase.updates[0].parameters for tensor in group["params"]]
    assert not any(tensor is model.centers for tensor in moved)


def test_softmaxes_sharpen_in_two_spaces_too(rows):
    model = ACeDeC(DKM(K, pretrain_epochs=0, alpha_epochs=2, hidden=(5,), embedding_dim=P))._model(
        D, torch.Generator().manual_seed(0)
    )
    phase = model.phases()[-1]
    found = []
    for epoch in range(5):
        with torch.no_grad():
            phase.before_epoch(rows.float(), epoch)
        found.append(float(model.alpha))
    assert found[0] == found[1] == pytest.approx(0.1)
    assert found[0] < found[2] == found[3] < found[4]


def test_the_shared_centre_ends_at_the_mean():
    X = make_blobs(60, D, centers=3, random_state=0)[0].astype(np.float32)
    model = ACeDeC(small(DCN, epochs=2, pretrain_epochs=1), space_epochs=1).fit(X)
    with torch.no_grad():
        z = model.model_.encoder(torch.from_numpy(X))
    np.testing.assert_allclose(model.model_.space.middle, z.mean(dim=0), rtol=1e-5, atol=1e-6)
    for k in range(K):  # and so do centroids, as DCN's do
        middle = z[model.labels_ == k].mean(dim=0)
        np.testing.assert_allclose(model.model_.centers[k], middle, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.turned_mean_, model.turned(X).mean(axis=0), rtol=1e-4, atol=1e-5)
    covariance = np.cov(model.turned(X).T, bias=True)
    np.testing.assert_allclose(model.turned_covariance_, covariance, rtol=1e-3, atol=1e-4)


def test_the_phase_of_the_base_is_ended(table):
    model = ACeDeC(small(DEC, epochs=1, pretrain_epochs=1), space_epochs=1).fit(table[:48])
    assert model.model_.target.shape == (0, K)


# --- V ---------------------------------------------------------------------------------------------


def slant(model):
    rotation = model.rotation_
    return np.linalg.norm(rotation.T @ rotation - np.eye(len(rotation)))


def test_what_keeps_the_rotation_orthogonal():
    X = StandardScaler().fit_transform(make_blobs(80, D, centers=3, random_state=0)[0])
    found = {}
    for orthogonal in ("free", "penalty", "exact"):
        base = small(DCN, epochs=4, pretrain_epochs=2, learning_rate=0.05)
        found[orthogonal] = ACeDeC(base, space_epochs=4, orthogonal=orthogonal).fit(X)
    assert np.abs(found["exact"].rotation_.T @ found["exact"].rotation_ - np.eye(P)).max() < 1e-5
    assert 1e-3 < slant(found["penalty"]) < slant(found["free"])
    assert "orthogonality" in found["penalty"].history_["spaces"]
    assert "orthogonality" not in found["free"].history_["clustering"]
    start = found["exact"].model_.space.turn.start.numpy()
    assert np.abs(found["exact"].rotation_ - start).max() > 1e-2  # it has moved
    again = pickle.loads(pickle.dumps(found["exact"]))
    np.testing.assert_array_equal(again.rotation_, found["exact"].rotation_)


def test_penalty_of_a_slanted_rotation(rows):
    model = built(orthogonal="penalty")
    v = model.space.turn.weight.detach().numpy()
    expected = sum((v[:, i] @ v[:, j] - (i == j)) ** 2 for i in range(P) for j in range(P))
    assert model.space.rest(rows[:, :P])["orthogonality"].item() == pytest.approx(expected, rel=1e-12)


def test_exact_rotation_is_set_and_turned():
    space = TwoSpaces(P, ACeDeC(DCN(K), orthogonal="exact"), torch.Generator().manual_seed(0)).double()
    wanted = torch.linalg.qr(random(3, P, P)).Q
    space.turn.angles.data.fill_(0.3)
    space.assign(wanted, torch.tensor([0.2, 0.5, 0.7]))
    np.testing.assert_array_equal(space.rotation.detach(), wanted)
    np.testing.assert_allclose(space.cluster_weights.detach(), [0.2, 0.5, 0.7], rtol=1e-6)
    space.turn.angles.data.copy_(random(0, P, P))
    turn = space.rotation.detach().numpy()
    np.testing.assert_allclose(turn.T @ turn, np.eye(P), atol=1e-12)


# --- the beginning -----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 6])
def test_random_rotations_follow_haars_measure(width):
    """Gram and Schmidt's way from normal numbers; LAPACK alone would choose the signs by itself."""
    for seed in range(5):
        drawn = torch.randn(width, width, generator=torch.Generator().manual_seed(seed)).double()
        expected = torch.zeros(width, width).double()
        for column in range(width):
            rest = drawn[:, column]
            for before in range(column):
                rest = rest - (rest @ expected[:, before]) * expected[:, before]
            expected[:, column] = rest / rest.norm()
        rotation = random_rotation(width, torch.Generator().manual_seed(seed)).double()
        np.testing.assert_allclose(rotation, expected, atol=1e-4)
        np.testing.assert_allclose(rotation.T @ rotation, np.eye(width), atol=1e-5)
    if width == 1:  # turned either way
        generator = torch.Generator().manual_seed(0)
        assert {float(random_rotation(1, generator)) for _ in range(20)} == {-1.0, 1.0}


def test_dimensions_are_assigned_at_random():
    generator = torch.Generator().manual_seed(0)
    drawn = torch.stack([random_weights(4, generator) for _ in range(3000)])
    np.testing.assert_allclose(drawn.unique(), [0.1, 0.9], rtol=1e-6)
    clustered = (drawn > 0.5).double()
    assert bool(clustered.any(dim=1).all())  # clusters need a dimension
    # One in two, and of the others the one of four that is taken for sure: ½ + ½ · ¼ in each.
    np.testing.assert_allclose(clustered.mean(dim=0), 0.625, atol=0.03)
    assert random_weights(1, generator).tolist() == pytest.approx([0.9])


def test_the_best_of_random_beginnings_is_taken(rows, monkeypatch):
    X = torch.cat([rows, rows + 2.0, rows - 1.0])
    model = built(starts=4, start="random")
    space, costs, states = model.space, [], []
    plain = TwoSpaces.squares

    def squares(self, *arguments):
        found = plain(self, *arguments)
        z = arguments[1]
        costs.append(float(found + self.shared(z).square().sum() / len(z)))
        states.append((self.rotation.detach().clone(), self.cluster_weights.detach(), model.centers.clone()))
        return found

    monkeypatch.setattr(TwoSpaces, "squares", squares)
    with torch.no_grad():
        space.begin(model, X, torch.Generator().manual_seed(0))
    assert len(costs) == 4
    assert np.argmin(costs) != 3
    best = states[int(np.argmin(costs))]
    np.testing.assert_array_equal(space.rotation.detach(), best[0])
    np.testing.assert_allclose(space.cluster_weights.detach(), best[1], rtol=1e-12)
    np.testing.assert_array_equal(model.centers, best[2])
    with torch.no_grad():
        np.testing.assert_allclose(space.middle, model.encoder(X).mean(dim=0), rtol=1e-12)
        np.testing.assert_array_equal(space.fixed, model.encoder(X))
        labels = model.logits(space.points(space.fixed)).argmax(dim=1)
    for k in range(K):  # centroids stand in the embedding, among their members
        np.testing.assert_allclose(model.centers[k], space.fixed[labels == k].mean(dim=0), rtol=1e-6)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_random_beginnings_are_compared_by_equation_5(monkeypatch, order):
    """Both terms are means over rows. That of the shared space alone would prefer the other beginning."""
    size = 1.75**0.5
    X = torch.tensor([[across, down] for across in (-1.0, 1.0) for down in (-size, 0.0, size)])
    # Squares are 6 and 7 in all; the second column has 1.75 of its 7 within two clusters. So those of the
    # first column cost (0.01 · 7 + 0.01 · 6 + 0.81 · 7) / 6 = 0.967, and those of the second
    # (0.81 · 1.75 + 0.01 · 6 + 0.81 · 6 + 0.01 · 7) / 6 = 1.068.
    beginnings = [torch.tensor([0.9, 0.1]), torch.tensor([0.1, 0.9])]
    left = [beginnings[number] for number in order]
    monkeypatch.setattr(two_spaces, "random_weights", lambda width, generator: left.pop(0))
    monkeypatch.setattr(two_spaces, "random_rotation", lambda width, generator: torch.eye(width))
    base = DCN(2, autoencoder=(nn.Linear(2, 2), nn.Linear(2, 2)))
    model = ACeDeC(base, start="random", starts=2)._model(2, torch.Generator())
    with torch.no_grad():
        model.space.begin_at_random(model, X, torch.Generator().manual_seed(0))
    assert not left
    np.testing.assert_allclose(model.space.cluster_weights.detach(), [0.9, 0.1], rtol=1e-6)
    np.testing.assert_allclose(np.sort(model.centers, axis=0), [[-1.0, 0.0], [1.0, 0.0]], atol=1e-6)


@pytest.mark.parametrize("shape", [None, (1, 2, 2)])
def test_whitening_changes_nothing_but_the_embedding(shape):
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(50, D)).astype(np.float32)) * 3 + 5
    base = DCN(K, hidden=(6,), embedding_dim=P, image_shape=shape)
    model = ACeDeC(base)._model(D, torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        z, back = model.autoencoder(X)
        whiten(model, X)
        seen, again = model.autoencoder(X)
    np.testing.assert_allclose(again, back, rtol=0, atol=1e-4)
    variance = np.trace(np.cov(z.T.double(), bias=True)) / P
    np.testing.assert_allclose(np.cov(seen.T.double(), bias=True), variance * np.eye(P), atol=1e-4 * variance)
    np.testing.assert_allclose(seen.mean(dim=0), 0.0, atol=1e-4)
    assert not np.allclose(seen, z, atol=0.1)


def test_a_direction_without_variance_is_not_blown_up():
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(50, 1)).astype(np.float32)).repeat(1, D)
    model = ACeDeC(DCN(K, hidden=(), embedding_dim=P))._model(D, torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        _, back = model.autoencoder(X)
        whiten(model, X)
        seen, again = model.autoencoder(X)
    np.testing.assert_allclose(again, back, rtol=0, atol=1e-4)
    assert float(seen.abs().max()) < 10
    before = snapshot(model)
    with torch.no_grad():
        whiten(model, torch.ones(5, D))  # no variance at all
    assert all(torch.equal(before[name], value) for name, value in snapshot(model).items())


class Unordered(nn.Module):
    """Layers in another order than they are used in, and an activation that is no layer."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(P, P)
        self.first = nn.Linear(D, P)

    def forward(self, x):
        return torch.tanh(self.last(self.first(x)))


class Bent(nn.Linear):
    """What is called linear, and is not."""

    def forward(self, x):
        return torch.tanh(super().forward(x))


def hooked(layer):
    layer.register_forward_hook(lambda module, x, out: out + 1)
    return layer


def tied(encoder, decoder):
    decoder.weight = encoder.weight
    return encoder, decoder


@pytest.mark.parametrize(
    "pair",
    [
        (nn.Sequential(nn.Linear(D, P), nn.Tanh()), nn.Linear(P, D)),
        (nn.Linear(D, P), nn.Sequential(nn.Tanh(), nn.Linear(P, D))),
        (nn.Linear(D, P, bias=False), nn.Linear(P, D)),
        (Unordered(), nn.Linear(P, D)),
        (Bent(D, P), nn.Linear(P, D)),
        (nn.utils.spectral_norm(nn.Linear(D, P)), nn.Linear(P, D)),  # a hook sets the weights
        (nn.Linear(D, P), hooked(nn.Linear(P, D))),
        tied(nn.Linear(D, D), nn.Linear(D, D)),
    ],
)
def test_autoencoders_without_linear_ends_of_their_own_stay_as_they_are(pair):
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(50, D)).astype(np.float32))
    model = ACeDeC(DCN(K, autoencoder=pair))._model(D, torch.Generator())
    before = snapshot(model)
    with torch.no_grad():
        whiten(model, X)
    for name, value in snapshot(model).items():
        assert torch.equal(value, before[name]), name


def test_beginning_at_k_means_of_the_whitened_embedding():
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(60, D)).astype(np.float32))
    model = ACeDeC(DCN(K, hidden=(), embedding_dim=P))._model(D, torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        model.space.begin(model, X, torch.Generator().manual_seed(0))
        z = model.encoder(X)
    covariance = np.cov(z.T, bias=True)
    np.testing.assert_allclose(covariance, covariance[0, 0] * np.eye(P), atol=1e-4)
    np.testing.assert_allclose(model.space.cluster_weights.detach(), 0.5)
    best = KMeans(K, n_init=10, random_state=0).fit(z.numpy()).inertia_
    ours = ((z[:, None] - model.centers) ** 2).sum(dim=2).amin(dim=1).sum()
    assert float(ours) < 1.05 * best


def test_the_rows_that_k_means_sees_are_drawn_from_all(monkeypatch):
    seen = []

    def k_means(points, n_clusters, **settings):
        seen.append(points)
        return points[:n_clusters], torch.arange(len(points)) % n_clusters

    monkeypatch.setattr(centroids, "k_means", k_means)
    X = torch.zeros(10_050, D)
    X[-50:] = 1.0  # rows in the order of their groups, as tables often are
    model = ACeDeC(DCN(K, hidden=(), embedding_dim=P))._model(D, torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        model.space.begin(model, X, torch.Generator().manual_seed(0))
    assert (seen[0] != seen[0].median(dim=0).values).any(dim=1).sum() > 40


@pytest.mark.parametrize(("n_rows", "seen"), [(150, 150), (10_050, 10_000)])
def test_starts_of_k_means_and_the_rows_that_they_see(monkeypatch, n_rows, seen):
    calls = []

    def k_means(points, n_clusters, **settings):
        calls.append((len(points), settings["n_init"]))
        return points[:n_clusters], torch.arange(len(points)) % n_clusters

    monkeypatch.setattr(centroids, "k_means", k_means)
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(n_rows, D)).astype(np.float32))
    base = DCN(K, hidden=(), embedding_dim=P)
    model = ACeDeC(base, starts=7)._model(D, torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        model.space.begin(model, X, torch.Generator().manual_seed(0))
    assert calls == [(seen, 7)]
    calls.clear()
    model = ACeDeC(base, starts=3, start="random")._model(D, torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        model.space.begin(model, X, torch.Generator().manual_seed(0))
    assert calls == [(seen, 1)] * 3


def test_centroids_that_have_members_in_the_cluster_space_settle():
    pair = nn.Linear(2, 2), nn.Linear(2, 2)
    for layer in pair:
        layer.weight.data.copy_(torch.eye(2))
        layer.bias.data.zero_()
    model = ACeDeC(DCN(3, autoencoder=pair))._model(2, torch.Generator())
    model.space.assign(torch.eye(2), torch.tensor([0.9, 0.1]))
    model.space.hard.fill_(True)
    # The third centroid is the first's twin in the first dimension, which alone counts here.
    model.centers.copy_(torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 100.0]]))
    rows = torch.tensor([[0.0, 0.0], [1.0, 100.0], [10.0, 0.0], [11.0, 90.0]])
    with torch.no_grad():
        model.settle(rows)
    np.testing.assert_allclose(model.centers, [[0.5, 50.0], [10.5, 45.0], [0.0, 100.0]])


# --- what the spaces show ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    clusters = make_blobs(120, 2, centers=[[-4, 0], [4, 0], [0, 5]], random_state=0)[0]
    X = np.c_[clusters, 2.0 * rng.normal(size=(120, 3))] @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    return X.astype(np.float32)


def fitted_to(table, base=DCN, own=None, **more):
    settings = {"hidden": (), "batch_size": 30, "learning_rate": 0.01, "random_state": 0, "epochs": 4}
    settings |= {} if base is AutoencoderKMeans else {"pretrain_epochs": 8}
    return ACeDeC(base(3, **settings | more), **{"space_epochs": 15, **(own or {})}).fit(table)


@pytest.fixture(scope="module")
def fitted(table):
    model = fitted_to(table)
    assert 0 < len(model.cluster_dims_) < 5
    return model


def embedded(model, table):
    """z and the decoder, in double precision."""
    network = copy.deepcopy(model.model_.autoencoder).double()
    with torch.no_grad():
        z = network.encoder(torch.from_numpy(table).double()).numpy()

    def decode(z):
        with torch.no_grad():
            return network.decoder(torch.from_numpy(z)).numpy()

    return z, decode


def test_dimensions_by_their_weight(fitted):
    model = copy.deepcopy(fitted)
    weights = torch.tensor([0.2, 0.5499, 0.9, 0.5501, 0.7])
    model.model_.space.assign(torch.eye(5), weights)
    assert model.cluster_dims_.tolist() == [2, 4, 3]  # β_ss at most 0.45
    assert model.shared_dims_.tolist() == [0, 1]
    np.testing.assert_allclose(model.cluster_weights_, weights, rtol=1e-6)


def test_a_dimension_on_the_border_is_in_one_space_only(fitted, monkeypatch):
    monkeypatch.setattr(showing_spaces, "SHARED", 0.25)
    monkeypatch.setattr(ACeDeC, "cluster_weights_", np.array([0.75, 0.5, 0.875, 0.75, 0.25]))
    assert fitted.cluster_dims_.tolist() == [2, 0, 3]
    assert fitted.shared_dims_.tolist() == [4, 1]


def test_a_dimension_on_the_border_stays_in_its_space_when_hardened(fitted, table, monkeypatch):
    for module in (showing_spaces, two_spaces):
        monkeypatch.setattr(module, "SHARED", 0.5)
    model = copy.deepcopy(fitted)
    model.model_.space.scores.data.copy_(torch.tensor([0.0, 2.0, -2.0, -1e-6, 1e-6]))  # the sigmoid of 0 is ½
    assert model.cluster_weights_[0] == 0.5
    assert sorted(model.cluster_dims_) == [0, 1, 4]
    assert model.hardened(table).cluster_weights_.tolist() == [1.0, 1.0, 0.0, 0.0, 1.0]


def test_the_spread_of_an_embedding_far_from_zero_keeps_its_digits():
    space = TwoSpaces(P, ACeDeC(DCN(K)), torch.Generator())
    space.assign(torch.eye(P), torch.full((P,), 0.5))
    z = (random(0, 500, P) + 3000.0).float()
    mean, covariance = space.spread(z)
    exact = z.double().numpy()
    np.testing.assert_allclose(mean.detach(), exact.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(covariance.detach(), np.cov(exact.T, bias=True), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("hard", [False, True])
def test_rows_from_one_space(fitted, table, hard):
    model = fitted.hardened(table) if hard else fitted
    z, decode = embedded(model, table)
    v, weights = model.rotation_, model.cluster_weights_
    assert bool(np.isin(weights, [0, 1]).all()) == hard
    mu = z.mean(axis=0)
    expected = {
        "cluster": [v @ (weights * (v.T @ one) + (1 - weights) * (v.T @ mu)) for one in z],
        "shared": [v @ ((1 - weights) * (v.T @ one) + weights * (v.T @ mu)) for one in z],
        "both": [v @ (v.T @ one) for one in z],
    }
    for space, points in expected.items():
        np.testing.assert_allclose(
            model.reconstruct(table, space=space), decode(np.array(points)), rtol=0, atol=1e-4
        )
    np.testing.assert_allclose(model.turned(table), z @ v, rtol=0, atol=1e-4)
    # Points of the cluster space, as transform gives them, are decoded in the same way.
    np.testing.assert_allclose(model.transform(table), weights * (z @ v), rtol=0, atol=1e-4)
    np.testing.assert_allclose(
        model.decode(model.transform(table)), model.reconstruct(table, space="cluster"), rtol=0, atol=1e-4
    )
    assert np.abs(model.reconstruct(table, "cluster") - model.reconstruct(table, "shared")).max() > 0.5


def test_ways_through_the_spaces(fitted, table):
    fitted = copy.deepcopy(fitted)
    space = fitted.model_.space
    space.assign(space.rotation.detach().clone(), torch.tensor([0.5, 0.9, 0.4, 0.7, 0.52]))
    turned_rows = fitted.turned(table).astype(float)
    v, weights = fitted.rotation_, fitted.cluster_weights_
    _, decode = embedded(fitted, table)
    for space, dims in (("cluster", fitted.cluster_dims_), ("shared", fitted.shared_dims_)):
        units, spreads = fitted.directions(space)
        assert units.shape == (len(dims), 5)
        np.testing.assert_allclose(units @ units.T, np.eye(len(dims)), atol=1e-6)
        np.testing.assert_allclose(spreads, (turned_rows @ units.T).std(axis=0), rtol=1e-3)
        assert np.abs(units[:, np.setdiff1d(range(5), dims)]).max() == 0
        if space == "cluster":
            np.testing.assert_array_equal(units.argmax(axis=1), dims)
        else:
            assert (np.diff(spreads) <= 0).all()
            between = np.cov((turned_rows @ units.T).T, bias=True)
            np.testing.assert_allclose(between, np.diag(spreads**2), atol=1e-3 * spreads[0] ** 2)
        way = [turned_rows.mean(axis=0) + step * 1.5 * spreads[-1] * units[-1] for step in (-1, 0, 1)]
        made = fitted.traverse(space, len(dims) - 1, steps=3, extent=1.5)
        np.testing.assert_allclose(made, decode(np.array(way) @ v.T), rtol=0, atol=1e-3)
        center = fitted.model_.centers[2].double().numpy() @ v
        start = weights * center + (1 - weights) * turned_rows.mean(axis=0)
        way = [start + step * 2.0 * spreads[0] * units[0] for step in (-1, 1)]
        made = fitted.traverse(space, cluster=2, steps=2)
        np.testing.assert_allclose(made, decode(np.array(way) @ v.T), rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m, X: m.traverse("shared", 9), "component=9 is unknown, expected one of the"),
        (lambda m, X: m.traverse("shared", True), "component=True is unknown"),
        (lambda m, X: m.traverse("both"), "space='both' is unknown, expected one of cluster, shared"),
        (lambda m, X: m.traverse(steps=1), "steps=1, expected a whole number, 2 or more"),
        (lambda m, X: m.traverse(extent=0.0), "extent=0.0, expected a number above zero"),
        (lambda m, X: m.traverse(cluster=3), "cluster 3 is unknown, expected one of 0 to 2"),
        (
            lambda m, X: m.reconstruct(X, "left"),
            "space='left' is unknown, expected one of cluster, shared, both",
        ),
    ],
)
def test_ways_that_are_not_there(fitted, table, call, told):
    with pytest.raises(ValueError, match=told):
        call(fitted, table)


def test_hardened(fitted, table):
    before = fitted.predict(table)
    state = snapshot(fitted.model_)
    hard = fitted.hardened(table[:50])
    assert all(torch.equal(state[name], value) for name, value in snapshot(fitted.model_).items())
    assert hard.cluster_weights_.tolist() == [float(i in fitted.cluster_dims_) for i in range(5)]
    np.testing.assert_array_equal(hard.labels_, hard.predict(table[:50]))
    assert hard.n_changed_ == int((hard.labels_ != before[:50]).sum())
    np.testing.assert_array_equal(hard.cluster_centers_[:, fitted.shared_dims_], 0.0)

    # What lies in the shared space counts for nothing any more.
    other = copy.deepcopy(hard)
    space, shared = other.model_.space, hard.shared_dims_
    with torch.no_grad():
        inverse = torch.linalg.inv(space.rotation)
        coordinates = other.model_.centers @ space.rotation
        coordinates[:, shared] += 7.0
        other.model_.centers.copy_(coordinates @ inverse)
    other_still = wc.explain(other, table)
    still = wc.explain(hard, table)
    np.testing.assert_array_equal(other.predict(table), hard.predict(table))
    np.testing.assert_allclose(other_still.evidence, still.evidence, rtol=0, atol=3e-4)
    np.testing.assert_allclose(other_still.values, still.values, rtol=0, atol=3e-4)
    with torch.no_grad():
        hard.model_.space.turn.weight[:, shared] = 5.0
    np.testing.assert_array_equal(hard.predict(table), other.predict(table))
    np.testing.assert_allclose(wc.explain(hard, table).evidence, still.evidence, rtol=1e-6)
    np.testing.assert_allclose(wc.explain(hard, table).values, still.values, rtol=1e-6, atol=1e-9)


def test_labels_that_hardening_changes_are_counted(fitted, table):
    model = copy.deepcopy(fitted)
    with torch.no_grad():  # two centroids that differ in a shared dimension alone
        model.model_.space.assign(torch.eye(5), torch.tensor([0.9, 0.5, 0.5, 0.5, 0.5]))
        model.model_.centers.copy_(torch.zeros(3, 5))
        model.model_.centers[0, 0], model.model_.centers[1, 1], model.model_.centers[2, 1] = 2.0, -9.0, 9.0
    hard = model.hardened(table)
    expected = int((hard.predict(table) != model.predict(table)).sum())
    assert hard.n_changed_ == expected > 0
    assert not (hard.labels_ == 2).any()  # a tie: the first of both


@pytest.mark.filterwarnings("default:The clusters have collapsed")
def test_clusters_that_hardening_empties_are_told(fitted, table):
    model = copy.deepcopy(fitted)
    with torch.no_grad():  # the second and the third centroid differ in a shared dimension alone
        model.model_.space.assign(torch.eye(5), torch.tensor([0.9, 0.5, 0.5, 0.5, 0.5]))
        model.model_.centers.copy_(torch.zeros(3, 5))
        model.model_.centers[0, 0], model.model_.centers[1, 1], model.model_.centers[2, 1] = 2.0, -9.0, 9.0
    assert not len(model.empty_clusters_)
    with pytest.warns(
        UserWarning, match=r"collapsed in hardening: 1 of 3 clusters are empty .* Keep the soft"
    ):
        hard = model.hardened(table)
    assert hard.empty_clusters_.tolist() == [2]
    with pytest.raises(ValueError, match="cluster 2 has no members"):
        hard.sample(2)
    # Two rows are in two clusters at most, hard or soft.
    one = fitted.predict(table)[0]
    few = table[fitted.predict(table) == one][:2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitted.hardened(few).empty_clusters_.tolist() == [k for k in range(3) if k != one]


def test_a_hardened_model_that_is_fitted_again_is_soft(fitted, table):
    again = fitted.hardened(table)
    assert again.n_changed_ >= 0
    again.set_params(base__epochs=1, base__pretrain_epochs=1, space_epochs=1).fit(table[:48])
    assert not hasattr(again, "n_changed_")
    assert not np.isin(again.cluster_weights_, [0, 1]).any()


def test_nothing_can_be_assigned_without_a_dimension(fitted, table):
    model = copy.deepcopy(fitted)
    model.model_.space.assign(torch.eye(5), torch.full((5,), 0.5))
    with pytest.raises(ValueError, match=r"No dimension is left in the cluster space after hardening.*keep"):
        model.hardened(table)


@pytest.mark.parametrize(("weight", "told"), [(0.5, "in the shared space"), (0.9, "in the cluster space")])
def test_collapsed_spaces_are_told(fitted, weight, told):
    model = copy.deepcopy(fitted)
    model.model_.space.assign(torch.eye(5), torch.full((5,), weight))
    (sentence,) = model._complaints()
    assert re.search(f"spaces have collapsed: all 5 dimensions .* are {told}", sentence)
    assert not list(fitted._complaints())


@pytest.mark.parametrize("weight", [0.5, 0.9])
def test_of_collapsed_clusters_and_spaces_the_clusters_alone_are_told(fitted, weight):
    """Spaces tell clusters apart: where one is empty, that is what went wrong."""
    model = copy.deepcopy(fitted)
    model.model_.space.assign(torch.eye(5), torch.full((5,), weight))
    model.labels_ = np.where(model.labels_ == 2, 0, model.labels_)
    (sentence,) = model._complaints()
    assert sentence.startswith("The clusters have collapsed: 1 of 3 clusters are empty")


@pytest.mark.parametrize("weight", [0.5, 0.9])
def test_a_single_cluster_needs_no_spaces(table, weight):
    base = DCN(1, hidden=(), embedding_dim=3, epochs=0, pretrain_epochs=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ACeDeC(base, space_epochs=0).fit(table)
    model.model_.space.assign(torch.eye(3), torch.full((3,), weight))
    assert not list(model._complaints())


# --- explanations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [AutoencoderKMeans, DCN, DEC, IDEC, DKM])
def test_explained_by_weighted_distances(table, base):
    model = fitted_to(table, base, hidden=(8,))
    np.testing.assert_array_equal(wc.neuralize(model, table).predict(table), model.labels_)
    z, _ = embedded(model, table)
    v, weights = model.rotation_, model.cluster_weights_
    centers = model.model_.centers.detach().double().numpy()
    distances = np.array(
        [[sum(weights**2 * (v.T @ one - v.T @ center) ** 2) for center in centers] for one in z]
    )
    np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)
    np.testing.assert_allclose(model.cluster_centers_, weights * (centers @ v), rtol=0, atol=1e-4)
    found = wc.explain(model, table)
    nearest, second = np.sort(distances, axis=1)[:, :2].T
    np.testing.assert_allclose(found.evidence, second - nearest, rtol=1e-4, atol=1e-4 * distances.max())
    np.testing.assert_allclose(
        found.values.sum(axis=1) + found.base_values, found.explained, rtol=1e-9, atol=1e-9
    )


# --- the estimator -----------------------------------------------------------------------------------


def test_settings_of_both():
    base = DCN(3, epochs=7, random_state=4)
    model = ACeDeC(base, space_epochs=2)
    assert model.get_params()["base__epochs"] == 7
    assert "n_clusters" not in model.get_params()
    assert (model.n_clusters, model.epochs, model.random_state) == (3, 7, 4)
    twin = clone(model)
    assert twin.base is not base
    assert twin.get_params()["base__epochs"] == 7
    twin.set_params(base__epochs=9, n_clusters=5, space_epochs=1)
    assert (twin.base.epochs, twin.base.n_clusters, twin.space_epochs) == (9, 5, 1)
    assert (base.epochs, base.n_clusters) == (7, 3)
    # With another base at once it is that one's.
    other = DEC(4)
    twin.set_params(n_clusters=6, base=other)
    assert (other.n_clusters, twin.n_clusters) == (6, 6)


def test_settings_of_a_base_that_is_not_there():
    told = r"^n_clusters of ACeDeC is that of its base, which is None: give it one, ACeDeC\(base=\.\.\.\)\.$"
    with pytest.raises(AttributeError, match=told):
        _ = ACeDeC().n_clusters
    with pytest.raises(AttributeError, match=told):
        ACeDeC().set_params(n_clusters=3)
    assert not hasattr(ACeDeC(), "epochs")
    assert ACeDeC().set_params(base=DCN(), n_clusters=3).base.n_clusters == 3


@pytest.mark.parametrize("base", [None, DCN, KMeans(3), CNet(3), ACeDeC(DCN(3)), "DCN"])
def test_bases_that_are_none(base, table):
    with pytest.raises(TypeError, match=r"^base is .*expected a centroid-based deep clustering: Autoencoder"):
        ACeDeC(base).fit(table)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (ACeDeC(DCN(3, lam=0.5)), "lam=0.5 of the base is a trade-off that ACe/DeC does without"),
        (ACeDeC(IDEC(3, gamma=0.5)), "gamma=0.5 of the base is a trade-off that ACe/DeC does without"),
        (ACeDeC(DKM(3, lam=0.5)), "lam=0.5 of the base is a trade-off that ACe/DeC does without"),
        (ACeDeC(DCN(0)), "n_clusters=0, expected"),
        (ACeDeC(DCN(3), space_epochs=-1), "space_epochs=-1, expected"),
        (ACeDeC(DCN(3), start="cold"), "start='cold' is unknown, expected one of whitened, random"),
        (ACeDeC(DCN(3), starts=0), "starts=0, expected"),
        (ACeDeC(DCN(3), orthogonal="no"), "orthogonal='no' is unknown, expected one of free, penalty, exact"),
        (ACeDeC(DCN(3), centroids="no"), "centroids='no' is unknown"),
        (ACeDeC(DCN(3), views="no"), "views='no' is unknown"),
    ],
)
def test_settings_that_make_no_sense(model, told, table):
    with pytest.raises(ValueError, match=told):
        model.fit(table)


def test_presets():
    model = ACeDeC.preset("MNIST", base__epochs=3, space_epochs=1)
    assert isinstance(model.base, DCN)
    assert (model.n_clusters, model.embedding_dim, model.hidden) == (10, 10, (500, 500, 2000))
    assert (model.epochs, model.batch_size, model.space_epochs) == (3, 128, 1)
    papers = dict.fromkeys(("mnist", "fmnist", "usps", "gtsrb10"), (10, (500, 500, 2000), 10))
    papers |= {"objects": (3, (500, 500, 2000), 10), "synth": (4, (), None)}
    assert set(ACeDeC.presets) == set(papers)
    for name, expected in papers.items():
        made = ACeDeC.preset(name)
        assert (made.n_clusters, made.hidden, made.embedding_dim) == expected, name
        assert (made.batch_size, made.epochs) == (128, 150)
    given = DEC(tol=0.1)
    other = ACeDeC.preset("synth", base=given)
    assert (other.base.tol, other.n_clusters, other.hidden) == (0.1, 4, ())
    assert given.n_clusters == 8
    own = ACeDeC.preset("mnist", base=DEC(3, epochs=5, hidden=(8,)), base__epochs=6)
    assert (own.n_clusters, own.epochs, own.hidden, own.embedding_dim) == (3, 6, (8,), 10)
    with pytest.raises(
        ValueError, match="No preset of ACeDeC is called 'moon', expected one of mnist, fmnist"
    ):
        ACeDeC.preset("moon")
    for wrong, told in ((DEC, "the class DEC"), (3, "a int")):
        with pytest.raises(TypeError, match=f"^base is {told}, expected a centroid-based deep clustering"):
            ACeDeC.preset("usps", base=wrong)


@pytest.mark.parametrize(
    ("columns", "settings", "width"),
    [(5, {}, 5), (40, {}, 32), (36, {"image_shape": (1, 6, 6)}, 10), (40, {"embedding_dim": 7}, 7)],
)
def test_width_of_the_embedding(columns, settings, width):
    model = ACeDeC(DCN(3, hidden=(4,), **settings))._model(columns, torch.Generator())
    assert model.autoencoder.embedding_dim == width
    assert model.space.scores.shape == (width,)


SETTINGS = {
    "DCN": lambda **more: ACeDeC(small(DCN, epochs=2, pretrain_epochs=2, n_init=2, **more), space_epochs=2),
    "DEC": lambda **more: ACeDeC(
        small(DEC, epochs=2, pretrain_epochs=2, tol=0.0, **more),
        space_epochs=2,
        orthogonal="exact",
        start="random",
        starts=2,
    ),
    "AutoencoderKMeans": lambda **more: ACeDeC(small(AutoencoderKMeans, epochs=2, **more), space_epochs=2),
}


@pytest.mark.parametrize("build", SETTINGS.values(), ids=SETTINGS)
def test_resumed_in_each_phase(build, table, tmp_path, monkeypatch):
    X = table[:48]
    whole = build().fit(X)
    per_run = 4 if isinstance(whole.base, AutoencoderKMeans) else 6
    kills = [1, 3, 4, 5, per_run + 3] if whole.n_init == 2 else [1, 3, 4]
    assert len(whole.scores_) == whole.n_init
    for number in kills:
        path = tmp_path / f"{number}.npz"
        with monkeypatch.context() as patch, pytest.raises(KilledError):
            kill_after(patch, number)
            build(checkpoint=path, checkpoint_every=1).fit(X)
        assert_same_fit(build(checkpoint=path, checkpoint_every=1).fit(X), whole)


def test_starts_are_compared_as_the_base_does(table):
    X = table[:48]
    model = ACeDeC(small(AutoencoderKMeans, epochs=1, n_init=3), space_epochs=1).fit(X)
    distances = ((X - model.decoded_centers()[model.labels_]) ** 2).sum(axis=1)
    assert len(set(model.scores_)) == 3
    assert model.scores_.min() == pytest.approx(distances.mean(), rel=1e-5)
    other = ACeDeC(small(DCN, epochs=1, pretrain_epochs=1, n_init=2), space_epochs=1).fit(X)
    last = sum(values[-1] for values in other.history_["clustering"].values())
    assert other.scores_.min() == pytest.approx(last)


def test_a_checkpoint_is_of_one_base(table, tmp_path):
    X, path = table[:48], tmp_path / "c.npz"

    def build(**more):
        return ACeDeC(small(DCN, epochs=1, pretrain_epochs=1, checkpoint=path, **more), space_epochs=1)

    first = build().fit(X)
    assert_same_fit(build(checkpoint_every=3, verbose=False).fit(X), first)  # how it is kept is no matter
    starts = [small(AutoencoderKMeans, epochs=1).fit(rows) for rows in (X, X[:40])]  # of the same settings
    with pytest.raises(ValueError, match="is of another model, other settings"):
        build(lam=2.0).fit(X)
    path.unlink()
    build(autoencoder=starts[0]).fit(X)
    build(autoencoder=starts[0]).fit(X)
    with pytest.raises(ValueError, match="is of another model, other settings"):
        build(autoencoder=starts[1]).fit(X)
    path.unlink()
    fitted = small(DCN, epochs=1, pretrain_epochs=1, checkpoint=path).fit(X)  # a base may be fitted itself
    path.unlink()
    ACeDeC(fitted, space_epochs=1).fit(X)
    with pytest.raises(ValueError, match="is of another model, other settings"):
        ACeDeC(fitted.set_params(lam=2.0), space_epochs=1).fit(X)


def test_ctrl_c_among_the_spaces(table, monkeypatch):
    plain, count = TwoSpaces.alone, [0]

    def alone(self, *arguments):
        count[0] += 1
        if count[0] > 7:  # three steps an epoch
            raise KeyboardInterrupt
        return plain(self, *arguments)

    monkeypatch.setattr(TwoSpaces, "alone", alone)
    with pytest.warns(UserWarning, match="Interrupted in epoch 3 of 9 of spaces: .* kept"):
        model = ACeDeC(small(DCN, epochs=3, pretrain_epochs=1), space_epochs=9).fit(table[:48])
    assert len(model.history_["spaces"]["shared"]) == 2
    assert model.history_["clustering"] == {}
    assert model.model_.space.fixed.shape == (0, P)
    assert len(np.unique(model.labels_)) == 3
    np.testing.assert_array_equal(model.predict(table[:48]), model.labels_)


@pytest.mark.parametrize("hard", [False, True])
def test_saved_and_loaded(fitted, table, tmp_path, hard):
    model = fitted.hardened(table) if hard else fitted
    again = wc.load(wc.save(model, tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.predict(table), model.labels_)
    np.testing.assert_array_equal(again.cluster_weights_, model.cluster_weights_)
    np.testing.assert_array_equal(again.traverse(cluster=1), model.traverse(cluster=1))
    np.testing.assert_array_equal(again.reconstruct(table, "shared"), model.reconstruct(table, "shared"))
    one, other = wc.explain(again, table), wc.explain(model, table)
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.evidence, other.evidence)
    assert again.get_params()["base__learning_rate"] == 0.01
    assert getattr(again, "n_changed_", None) == getattr(model, "n_changed_", None)


def test_weights_that_run_away_are_told(table):
    first = small(AutoencoderKMeans, epochs=1).fit(table)
    base = DCN(3, autoencoder=first, learning_rate=1e25, epochs=1, random_state=0)
    with pytest.raises(FloatingPointError, match=r"of spaces.*lower learning_rate \(now 1e\+25\)"):
        ACeDeC(base, space_epochs=2).fit(table)


@pytest.mark.parametrize("start", ["whitened", "random"])
def test_an_embedding_that_is_not_finite_is_told(table, start):
    base = small(DCN, learning_rate=1e30, pretrain_epochs=1, epochs=1)
    pair = nn.Linear(5, P), nn.Linear(P, 5)
    pair[0].weight.data[0, 0] = np.nan
    given = DCN(K, autoencoder=pair, pretrain_epochs=0, epochs=1, random_state=0)
    for one in (base.set_params(hidden=(5, 5), batch_size=500), given):
        with pytest.raises(FloatingPointError, match="The embedding is not finite: lower learning_rate"):
            ACeDeC(one, space_epochs=2, start=start).fit(table)


def test_nothing_of_single_rows_is_left_behind(fitted):
    assert fitted.model_.space._latest is None
    assert fitted.model_.space.fixed.shape == (0, 5)


def test_another_model_begins_with_its_autoencoder(fitted, table, tmp_path):
    model = DEC(3, autoencoder=fitted, epochs=1, batch_size=64, random_state=0).fit(table)
    assert model.history_["autoencoder"] == {}
    again = wc.load(wc.save(model, tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.predict(table), model.labels_)
    assert (again.embedding_dim, again.hidden) == (5, ())
    nested = ACeDeC(DCN(3, autoencoder=fitted, epochs=1, random_state=0), space_epochs=1).fit(table)
    again = wc.load(wc.save(nested, tmp_path / "n.npz"))
    np.testing.assert_array_equal(again.predict(table), nested.labels_)
    assert again.base.autoencoder is None


@pytest.mark.parametrize("reseed", [True, False])
@pytest.mark.parametrize("seed", [7, None])
@pytest.mark.parametrize("piped", [True, False])
def test_refits_pretrain_the_autoencoder_of_the_base_anew(table, monkeypatch, reseed, seed, piped):
    X = table[:60]
    first = AutoencoderKMeans(3, hidden=(4,), epochs=1, random_state=seed).fit(X)
    base = DCN(3, autoencoder=first, epochs=1, random_state=0)
    model = ACeDeC(base, space_epochs=1, starts=1)
    model = make_pipeline(StandardScaler(), model) if piped else model
    model.fit(X)
    told, plain = [], AutoencoderKMeans.fit

    def fit(self, X, y=None):
        told.append((self.random_state, np.asarray(X)))
        return plain(self, X, y)

    monkeypatch.setattr(AutoencoderKMeans, "fit", fit)
    before = snapshot(first.model_)
    wc.metrics.stability(model, X, n_repeats=2, bootstrap=not reseed, reseed=reseed, random_state=0)
    assert len(told) == 2
    seeds = {one for one, _ in told}
    assert len(seeds) == (2 if reseed else 1)
    assert None not in seeds
    assert reseed or seed is None or seeds == {7}
    assert np.allclose(told[0][1].std(axis=0), 1.0, atol=1e-3) == piped
    # The original, and what it was given, are as before.
    assert first.random_state == seed
    assert (model[-1] if piped else model).base.autoencoder is first
    assert all(torch.equal(before[name], value) for name, value in snapshot(first.model_).items())


def test_audited_with_the_autoencoder_of_the_base(table, monkeypatch):
    X = table[:60]
    first = AutoencoderKMeans(3, hidden=(4,), epochs=1, random_state=0).fit(X)
    model = ACeDeC(DCN(3, autoencoder=first, epochs=1, random_state=0), space_epochs=1, starts=1).fit(X)
    plain, count = AutoencoderKMeans.fit, []
    monkeypatch.setattr(
        AutoencoderKMeans, "fit", lambda self, X, y=None: (count.append(1), plain(self, X))[1]
    )
    wc.audit(model, X, methods=["neon"], n_repeats=2, n_refits=2)
    assert len(count) >= 2
    assert first.random_state == 0


def test_a_fitted_model_keeps_its_clusters_when_the_base_is_set_anew(tmp_path):
    """As in a loop over the number of clusters, with one base."""
    X = make_blobs(60, D, centers=3, random_state=0)[0]
    base = DCN(3, embedding_dim=P, epochs=2, pretrain_epochs=2, batch_size=16, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ACeDeC(base, space_epochs=2).fit(X)
    space = model._space
    space.assign(space.rotation.detach(), torch.full((P,), 0.8))
    wanted = model.traverse("cluster", 0, cluster=2)
    for number in (2, 5):
        base.set_params(n_clusters=number)
        np.testing.assert_array_equal(model.traverse("cluster", 0, cluster=2), wanted)
        assert len(model.hardened(X).empty_clusters_) <= 3
        with pytest.raises(ValueError, match="cluster 4 is unknown, expected one of 0 to 2"):
            model.sample(4)
        names = [label.get_text() for label in wc.plots.decoded_centers(model).axes[0].get_yticklabels()]
        assert names == ["cluster 0", "cluster 1", "cluster 2"]
        assert [text.get_text() for text in wc.plots.spaces(model, X).legends[0].texts] == ["0", "1", "2"]
        with pytest.raises(ValueError, match="were changed after it was fitted"):
            wc.save(model, tmp_path / "model.npz")
    space.assign(space.rotation.detach(), torch.tensor([0.8, 0.5, 0.5]))
    assert wc.plots.traversal(model, X).axes
    base.set_params(n_clusters=3)
    assert wc.load(wc.save(model, tmp_path / "model.npz")).n_clusters == 3


@pytest.mark.filterwarnings("ignore:The (clusters|spaces) have collapsed")
@pytest.mark.parametrize(
    ("fitted", "other"), [(AutoencoderKMeans, DCN), (DKM, DEC), (DEC, DKM), (DCN, AutoencoderKMeans)]
)
def test_another_base_than_fitted_is_not_saved(fitted, other, tmp_path):
    X = make_blobs(60, D, centers=3, random_state=0)[0]
    model = ACeDeC(small(fitted, epochs=1), space_epochs=1).fit(X)
    model.set_params(base=small(other))
    with pytest.raises(ValueError, match="were changed after it was fitted"):
        wc.save(model, tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_way_that_leaves_single_precision_is_refused():
    X = make_blobs(60, D, centers=3, random_state=0)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ACeDeC(small(DCN, epochs=1, pretrain_epochs=1), space_epochs=1).fit(X)
    with pytest.raises(ValueError, match=r"points as large as .* choose a smaller extent"):
        model.traverse("shared", extent=1e300)
