"""Soft resets: new weights are mixed into the encoder's, and centroids begin anew."""

import copy

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from interruptions import KilledError, assert_same_fit, kill_after, n_epochs

torch = pytest.importorskip("torch")

from whyclust.deep import DCN, DEC, DKM, IDEC, ACeDeC, MaskAndJitter  # noqa: E402
from whyclust.deep.models import centroids  # noqa: E402
from whyclust.deep.models.centroids import CentroidModel  # noqa: E402
from whyclust.deep.models.dec import target_distribution  # noqa: E402
from whyclust.deep.networks.autoencoders import initialise  # noqa: E402
from whyclust.deep.training import loop  # noqa: E402
from whyclust.deep.training.loop import Progress  # noqa: E402
from whyclust.deep.training.phases import snapshot  # noqa: E402

D, P, K = 4, 3, 3
KINDS = {"DCN": DCN, "DEC": DEC, "IDEC": IDEC, "DKM": DKM}

pytestmark = pytest.mark.filterwarnings("ignore:The (clusters|spaces) have collapsed")


@pytest.fixture(scope="module")
def table():
    return make_blobs(40, D, centers=3, random_state=0)[0].astype(np.float32) / 5


def small(kind, **more):
    more = {"hidden": (5,), "embedding_dim": P, "batch_size": 10, "random_state": 0, **more}
    return kind(K, **({"tol": 0.0} if issubclass(kind, DEC) else {}), **more)


def built(kind, *, wrapped=False, **more):
    base = small(kind, **more)
    model = (ACeDeC(base) if wrapped else base)._model(D, torch.Generator().manual_seed(1)).eval()
    rng = np.random.default_rng(2)
    model.centers.data.copy_(torch.from_numpy(rng.normal(size=(K, P)).astype(np.float32)))
    return model


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_weights_are_mixed_and_centroids_placed_anew(kind, wrapped, table):
    model = built(kind, wrapped=wrapped)
    data = torch.from_numpy(table)
    for tensor in model.encoder.parameters():  # biases, too, are mixed: new ones are zero
        tensor.data.add_(0.1)
    before = snapshot(model)
    fresh = copy.deepcopy(model.encoder)
    initialise(fresh, torch.Generator().manual_seed(7))
    with torch.no_grad():
        forgotten = model.soft_reset(data, torch.Generator().manual_seed(7))
    for name, new in fresh.state_dict().items():
        old = before[f"autoencoder.encoder.{name}"].double()
        expected = 0.8 * old + 0.2 * new.double()
        np.testing.assert_allclose(model.encoder.state_dict()[name], expected, rtol=0, atol=1e-6)
    for name, value in snapshot(model).items():
        if "decoder" in name or "turn" in name or "scores" in name:
            assert torch.equal(value, before[name]), name

    # Centroids are those of k-means in the space, best of twenty.
    with torch.no_grad():
        z = model.encoder(data)
        points, centers = model.space.points(z), model.centroids
        labels = ((points[:, None] - centers) ** 2).sum(dim=2).argmin(dim=1)
    inertia = ((points - centers[labels]) ** 2).sum().item()
    best = KMeans(K, n_init=20, random_state=0).fit(points.numpy()).inertia_
    assert inertia < 1.01 * best
    for k in range(K):
        np.testing.assert_allclose(
            model.centers[k].detach(), z[labels == k].mean(dim=0), rtol=1e-3, atol=1e-4
        )
    learned = isinstance(model.centers, torch.nn.Parameter)
    assert learned == (kind is not DCN)
    assert [id(one) for one in forgotten] == ([id(model.centers)] if learned else [])


@pytest.mark.parametrize("rows", [40, 33])
def test_centroids_are_placed_in_the_embedding_of_the_mixed_weights(rows, table, monkeypatch):
    """Batch normalisation knows the rows' means and variances of the weights before."""
    monkeypatch.setattr(centroids.settle, "__defaults__", (16,))  # 33 rows leave one for the last block
    model = built(DCN, batch_norm=True)
    data = torch.from_numpy(table[:rows])
    norms = [one for one in model.encoder.modules() if isinstance(one, torch.nn.BatchNorm1d)]
    paces = [one.momentum for one in norms]
    with torch.no_grad():
        model.soft_reset(data, torch.Generator().manual_seed(7))
        whole = data if rows == 40 else data[:32]
        inner = copy.deepcopy(model.encoder)
        for layer in inner:
            if isinstance(layer, torch.nn.BatchNorm1d):
                break
            whole = layer(whole)
    parts = whole.split(16)
    np.testing.assert_allclose(
        norms[0].running_mean, torch.stack([part.mean(dim=0) for part in parts]).mean(dim=0), atol=1e-6
    )
    np.testing.assert_allclose(
        norms[0].running_var, torch.stack([part.var(dim=0) for part in parts]).mean(dim=0), rtol=1e-5
    )
    assert norms
    assert [one.momentum for one in norms] == paces
    assert not any(one.training for one in norms)


@pytest.mark.parametrize("share", [0.5, 0.01])
def test_share_of_the_new_weights(share, table):
    model = built(DCN, reset_share=share)
    before = model.encoder[0].weight.detach().clone()
    fresh = copy.deepcopy(model.encoder)
    initialise(fresh, torch.Generator().manual_seed(7))
    with torch.no_grad():
        model.soft_reset(torch.from_numpy(table), torch.Generator().manual_seed(7))
    expected = (1 - share) * before + share * fresh[0].weight
    np.testing.assert_allclose(model.encoder[0].weight.detach(), expected.detach(), atol=1e-6)


def test_counts_of_dcn_are_as_at_first(table):
    model = built(DCN)
    model.counts.copy_(torch.tensor([150, 100, 300]))
    model.earlier_counts.copy_(torch.tensor([150, 100, 200]))
    data = torch.from_numpy(table)
    with torch.no_grad():
        model.soft_reset(data, torch.Generator().manual_seed(0))
        assert model.counts.tolist() == [100] * K
        placed = model.centers.clone()
        model.revive(data, 1)  # nobody was empty: it has just begun
    assert torch.equal(model.centers, placed)
    assert int(model.reseeded) == 0


def test_a_cluster_that_was_empty_stays_where_it_is_placed_anew(table):
    model = built(DCN, wrapped=True)
    space, data = model.space, torch.from_numpy(table)
    space.members.copy_(torch.tensor([5.0, 0.0, 3.0]))
    space.pace.fill_(4.0)
    space.middle.fill_(9.0)
    with torch.no_grad():
        model.soft_reset(data, torch.Generator().manual_seed(0))
        placed = model.centers.clone()
        space.revive(model, data, 3)
        np.testing.assert_allclose(space.middle, model.encoder(data).mean(dim=0), rtol=1e-6)
    assert torch.equal(model.centers, placed)
    assert not space.pace.any()


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_target_is_that_of_the_new_centroids(wrapped, table):
    model = built(DEC, wrapped=wrapped)
    data = torch.from_numpy(table)
    with torch.no_grad():
        model.update_target(data, 0)
        before = model.target
        model.soft_reset(data, torch.Generator().manual_seed(0))
        q = model.probabilities(model.embed(data))
    assert not torch.equal(model.target, before)
    np.testing.assert_allclose(model.target, target_distribution(q), rtol=1e-5)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("kind", [DEC, IDEC])
def test_labels_of_the_former_centroids_are_compared_with_none(kind, wrapped, table):
    model = built(kind, wrapped=wrapped)
    model.settings.set_params(tol=0.5)
    data = torch.from_numpy(table)
    with torch.no_grad():
        assert not model.update_target(data, 0)
        assert model.update_target(data, 4)  # no label has changed
        model.soft_reset(data, torch.Generator().manual_seed(0))
        assert not model.update_target(data, 8)
        assert model.update_target(data, 12)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("kind", [DEC, IDEC])
def test_a_reset_does_not_end_the_fit(kind, wrapped, table):
    # The first update of an epoch sees the labels that the reset has just left.
    base = small(kind, pretrain_epochs=1, epochs=3, reset_every=1, update_interval=4)
    base.set_params(tol=0.5)
    model = (ACeDeC(base, space_epochs=1) if wrapped else base).fit(table)
    assert len(model.history_["clustering"]["clustering"]) == 3


@pytest.mark.parametrize("kind", [DCN, DEC, IDEC])
def test_starts_of_k_means(kind, table, monkeypatch):
    asked = []

    class Watched(centroids.KMeans):
        def __init__(self, n_clusters, *, n_init, **more):
            asked.append(n_init)
            super().__init__(n_clusters, n_init=n_init, **more)

    monkeypatch.setattr(centroids, "KMeans", Watched)
    model = built(kind, **({} if kind is DCN else {"kmeans_starts": 3}))
    with torch.no_grad():
        model.soft_reset(torch.from_numpy(table), torch.Generator())
    assert asked == [20 if kind is DCN else 3]


@pytest.mark.parametrize("kind", [DCN, DEC, DKM])
def test_what_the_optimiser_forgets(kind, table):
    model = built(kind, reset_every=1, epochs=5)
    phase = model.phases()[-1]
    data = torch.from_numpy(table)
    optimizers = [update.optimizer.build(update.parameters) for update in phase.updates]
    with torch.no_grad():
        phase.begin(data, torch.Generator())
    progress = Progress(history={phase.name: {}})
    loop._epoch(model, phase, data, torch.Generator(), optimizers, progress, loop.Team())
    loop._epoch(model, phase, data, torch.Generator(), optimizers, progress, loop.Team())
    (optimizer,) = optimizers
    steps = {id(tensor): int(state["step"]) for tensor, state in optimizer.state.items()}
    for tensor in model.encoder.parameters():
        assert steps[id(tensor)] == 8
    # The centroids' mean gradients were forgotten before the second epoch.
    assert steps.get(id(model.centers)) == (None if kind is DCN else 4)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(("every", "expected"), [(None, []), (2, [2, 4]), (3, [3]), (1, [1, 2, 3, 4])])
def test_resets_come_every_few_epochs(every, expected, wrapped, table, monkeypatch):
    seen, plain, begun = [], CentroidModel.soft_reset, []

    def soft_reset(self, data, generator):
        assert not self.training
        assert not torch.is_grad_enabled()
        seen.append(len(begun) // 4 - 3)  # three epochs of the autoencoder alone come before
        return plain(self, data, generator)

    def augment(x):  # once a step: four an epoch
        begun.append(1)
        return x

    monkeypatch.setattr(CentroidModel, "soft_reset", soft_reset)
    base = small(DCN, pretrain_epochs=3, epochs=5, reset_every=every, augment=augment)
    (ACeDeC(base, space_epochs=3) if wrapped else base).fit(table)
    assert seen == expected


def test_off_by_default(table):
    assert [small(kind).reset_every for kind in KINDS.values()] == [None] * 4
    assert small(DCN).reset_share == 0.2
    settings = {"pretrain_epochs": 1, "epochs": 4}
    plain, other = small(DCN, **settings).fit(table), small(DCN, **settings, reset_every=2).fit(table)
    first, second = (model.history_["clustering"]["reconstruction"] for model in (plain, other))
    assert first[:2] == second[:2]
    assert first[2] < second[2]  # some of what it knew is lost


MODELS = {
    "DCN": lambda **more: small(DCN, pretrain_epochs=1, epochs=5, reset_every=2, **more),
    "DEC": lambda **more: small(DEC, pretrain_epochs=1, epochs=5, reset_every=2, **more),
    "DKM": lambda **more: small(DKM, pretrain_epochs=1, epochs=5, reset_every=2, **more),
    "ACeDeC": lambda **more: ACeDeC(
        small(DCN, pretrain_epochs=1, epochs=5, reset_every=2, augment=MaskAndJitter(), **more),
        space_epochs=1,
    ),
    "ACeDeC, IDEC": lambda **more: ACeDeC(
        small(IDEC, pretrain_epochs=1, epochs=5, reset_every=2, **more), space_epochs=1
    ),
}


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
def test_resumed_across_a_reset(build, table, tmp_path, monkeypatch):
    whole = build().fit(table)
    total = n_epochs(whole)
    for number in range(total - 4, total):  # before, at and after both resets
        path = tmp_path / f"{number}.npz"
        with monkeypatch.context() as patch, pytest.raises(KilledError):
            kill_after(patch, number)
            build(checkpoint=path, checkpoint_every=1).fit(table)
        assert_same_fit(build(checkpoint=path, checkpoint_every=1).fit(table), whole)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"reset_every": 0}, "reset_every=0, expected a whole number, 1 or more"),
        ({"reset_share": 0.0}, "reset_share=0.0, expected a number above zero"),
        ({"reset_share": 1.0}, "reset_share=1.0, expected a number below 1"),
    ],
)
def test_settings_that_make_no_sense(settings, told, table):
    with pytest.raises(ValueError, match=told):
        small(DEC, **settings).fit(table)
