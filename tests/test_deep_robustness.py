"""Deep clusterings with what users bring along: hooks, forwards of their own, offsets, Ctrl-C, odd files."""

import base64
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import whyclust as wc  # noqa: E402
from whyclust.deep import (  # noqa: E402
    DCN,
    DEC,
    DKM,
    IDC,
    TELL,
    AutoencoderKMeans,
    ClusteringModule,
    ClusteringModuleEM,
    CNet,
)
from whyclust.deep.explained import with_rules  # noqa: E402
from whyclust.deep.models.c_net import to_unit_scale  # noqa: E402
from whyclust.deep.networks.autoencoders import given_autoencoder  # noqa: E402
from whyclust.deep.training.averaging import AveragedWeights  # noqa: E402
from whyclust.deep.training.checkpoints import read_checkpoint, write_checkpoint  # noqa: E402
from whyclust.deep.training.phases import Adam, Phase  # noqa: E402
from whyclust.network.torch_trunk import TorchTrunk  # noqa: E402
from whyclust.propagate import Flat, WSquare, ZBox, ZPlus, propagate, propagate_layers  # noqa: E402


@pytest.fixture(autouse=True)
def same_weights_in_any_order():
    torch.manual_seed(0)


SMALL = {"hidden": (8,), "epochs": 3, "batch_size": 32, "random_state": 0}
may_collapse = pytest.mark.filterwarnings("ignore:The clusters have collapsed")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(30, 4)) + 4 * np.eye(4)[place] for place in range(3)])


def with_encoder(encoder, X, width, **options):
    pair = (encoder, nn.Linear(width, X.shape[1]))
    return AutoencoderKMeans(3, autoencoder=pair, epochs=3, random_state=0, **options).fit(X)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (DCN, "reseed"),
        (DKM, "reseed"),
        (TELL, "reseed"),
        (CNet, "averaging"),
        (ClusteringModule, "averaging"),
        (IDC, "batch_norm"),
    ],
)
@pytest.mark.parametrize("value", ["no", None, 0])
def test_what_is_neither_true_nor_false_is_refused(table, kind, name, value):
    """The text "no" has a truth, and it is another one."""
    with pytest.raises(ValueError, match=f"{name}={value!r}, expected True or False"):
        kind(3, **{name: value}).fit(table)


@may_collapse
@pytest.mark.parametrize("changed", [{"n_clusters": 5}, {"hidden": (9,)}, {"gates": False}])
def test_settings_of_another_fit_are_not_saved(table, tmp_path, changed):
    """The file could not be read again."""
    kind = IDC if "gates" in changed else DCN
    model = kind(3, **SMALL, pretrain_epochs=2).fit(table)
    before = model.get_params()
    with pytest.raises(ValueError, match=r"The settings of this (IDC|DCN) were changed .*set them back"):
        wc.save(model.set_params(**changed), tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())
    again = wc.load(wc.save(model.set_params(**before), tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.predict(table), model.labels_)


@may_collapse
@pytest.mark.filterwarnings("ignore:The spaces have collapsed")
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_answer_nothing(table, tmp_path, number):
    """An argmax of NaN would be cluster 0, and a file of them would be complete."""
    model = wc.deep.ACeDeC(base=DCN(3, **SMALL, pretrain_epochs=2), space_epochs=2).fit(table)
    with torch.no_grad():
        model.model_.space.turn.weight[0, 0] = number
    told = "The network holds NaN or infinite numbers"
    for ask in (model.predict, model.predict_proba, model.transform, model.reconstruct):
        with pytest.raises(ValueError, match=told):
            ask(table)
    with pytest.raises(ValueError, match=told):
        wc.save(model, tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


# --- what is explained is what the model does --------------------------------------------------------


@pytest.mark.parametrize("hidden", [(4,), (8,), (8, 6)])
def test_torch_module_has_the_encoder(table, hidden):
    model = make_pipeline(
        StandardScaler(), CNet(3, hidden=hidden, epochs=3, pretrain_epochs=3, random_state=0)
    ).fit(table)
    net = wc.neuralize(model, table)
    found = net.to_torch()(torch.from_numpy(table)).detach().numpy()
    np.testing.assert_array_equal(found.argmax(axis=1), net.predict(table))
    for cluster in range(3):
        expected = net.evidence(table, cluster=cluster)
        np.testing.assert_allclose(found[:, cluster], expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("offset", [1e3, 1e4, 1e5])
def test_rows_far_from_zero_in_single_precision(table, offset):
    model = AutoencoderKMeans(3, hidden=(16,), epochs=30, random_state=0).fit(table + offset)
    rows = (table + offset).astype(np.float32)
    np.testing.assert_array_equal(wc.explain(model, rows).clusters, model.predict(rows))


class Scaled(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


def test_sequentials_with_a_forward_of_their_own(table):
    encoder = Scaled(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    model = with_encoder(encoder, table, 4)
    net = wc.neuralize(model, table)
    np.testing.assert_array_equal(net.predict(table), model.predict(table))
    assert np.isfinite(wc.explain(net, table).values).all()


def test_hooks_in_an_encoder_are_refused(table):
    encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    model = with_encoder(encoder, table, 3)
    model.model_.autoencoder.encoder[2].register_forward_hook(lambda module, inputs, output: output.flip(1))
    with pytest.raises(TypeError, match="of the encoder has a hook"):
        wc.neuralize(model, table)


@pytest.mark.parametrize("end", ["nested", "identity", "dropout"])
def test_the_last_linear_layer_is_found_wherever_it_stands(table, end):
    first, last = nn.Linear(4, 8), nn.Linear(8, 3)
    encoders = {
        "nested": nn.Sequential(nn.Sequential(first, nn.ReLU()), nn.Sequential(last)),
        "identity": nn.Sequential(first, nn.ReLU(), last, nn.Identity()),
        "dropout": nn.Sequential(nn.Sequential(first, nn.ReLU(), last), nn.Dropout(0.0)),
    }
    net = wc.neuralize(with_encoder(encoders[end], table, 3), table)
    assert [type(layer) for layer in net.features.trunk.module] == [nn.Linear, nn.ReLU]
    assert net.head.n_inputs == 8


# --- rules of an encoder's layers --------------------------------------------------------------------


def test_rules_of_pooling_and_normalisation_are_taken(table):
    rng = np.random.default_rng(1)
    images = rng.uniform(size=(40, 16))
    layers = [nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    encoder = nn.Sequential(*layers, nn.Flatten(), nn.Linear(12, 3))
    net = wc.neuralize(with_encoder(encoder, images, 3), images)
    plain = wc.explain(net, images).values
    shared = wc.explain(with_rules(net, {nn.MaxPool2d: Flat()}), images).values
    assert np.abs(shared - plain).max() > 1e-3 * np.abs(plain).max()
    encoder = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    net = wc.neuralize(with_encoder(encoder, table, 3), table)
    plain = wc.explain(net, table).values
    apart = wc.explain(with_rules(net, {nn.BatchNorm1d: ZPlus()}), table).values
    assert np.abs(apart - plain).max() > 1e-3 * np.abs(plain).max()


def test_boxes_are_not_moved_to_the_reference():
    images = np.random.default_rng(1).uniform(size=(40, 16)).astype(np.float32)
    encoder = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
    net = wc.neuralize(with_encoder(encoder, images, 3), images)
    trunk = with_rules(net, ZBox(0.0, 1.0)).features.trunk
    at_outputs = np.random.default_rng(2).normal(size=(40, 8)).astype(np.float32)
    expected = propagate(
        trunk.module, torch.from_numpy(images), torch.from_numpy(at_outputs), rules=ZBox(0.0, 1.0)
    )
    np.testing.assert_array_equal(trunk.passage(images).relevance(at_outputs), expected.numpy())
    assert np.isfinite(wc.explain(with_rules(net, "image"), images).values).all()


def test_columns_are_seen_from_their_mean_through_a_first_normalisation(table):
    encoder = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    net = wc.neuralize(with_encoder(encoder, table + 10, 3), table + 10)
    rows = np.stack([(table + 10).astype(np.float32).mean(axis=0), table[0] + 10])
    values = wc.explain(net, rows).values
    assert np.abs(values[0]).max() < 1e-4 * np.abs(values[1]).max()


def test_a_linear_step_before_a_trunk_is_merged_with_the_bias_and_the_reference():
    rng = np.random.default_rng(3)
    first = nn.Linear(2, 5)
    nn.init.normal_(first.bias, std=3.0)
    trunk = TorchTrunk.of(nn.Sequential(first, nn.ReLU()), rng.normal(size=2))
    matrix, origin, offset = rng.normal(size=(2, 4)), rng.normal(size=4), rng.normal(size=2)
    merged = trunk.behind(matrix, origin, offset)
    rows = rng.normal(size=(10, 4))
    before = (rows - origin) @ matrix.T + offset
    np.testing.assert_allclose(merged.activations(rows), trunk.activations(before), atol=1e-5)
    # The reference is where the step leads to the trunk's own.
    np.testing.assert_allclose((merged.reference - origin) @ matrix.T + offset, trunk.reference, atol=1e-5)


def test_a_pipeline_with_other_rows_than_the_reference(table):
    step = PCA(2).fit(table - 3.0)
    model = AutoencoderKMeans(3, **SMALL).fit(step.transform(table))
    net = wc.neuralize(make_pipeline(step, model), table)
    expected = model.feature_means_ @ step.components_ + step.mean_
    np.testing.assert_allclose(net.features.trunk.reference, expected, atol=1e-4)


# --- forwards that cannot be followed ------------------------------------------------------------------


class Turned(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.layer, self.name = nn.Conv1d(2, 3, 1, bias=False), name

    def forward(self, x):
        return self.layer(getattr(x, self.name))


def test_turned_tensors_carry_relevance():
    module, x = Turned("mT"), torch.rand(2, 5, 2)
    outputs = module(x).detach()
    found = propagate(module, x, outputs, rules="zero")
    assert found.shape == x.shape
    torch.testing.assert_close(found.sum(dim=(1, 2)), outputs.sum(dim=(1, 2)), rtol=1e-4, atol=1e-5)
    straight = propagate(module.layer, x.mT.contiguous(), outputs, rules="zero")
    torch.testing.assert_close(found, straight.mT)


def test_other_attributes_are_refused():
    with pytest.raises(TypeError, match="which has no rule"):
        propagate(Turned("data"), torch.rand(2, 2, 5), torch.ones(2, 3, 5))


def test_layers_without_a_rule_are_explained_by_gradients():
    X = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    encoder = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 3))
    decoder = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 6))
    model = AutoencoderKMeans(3, autoencoder=(encoder, decoder), epochs=2, random_state=0).fit(X)
    with pytest.raises(TypeError, match=r"LayerNorm, which has no rule.*method='ig'\) needs no rules"):
        wc.explain(model, X)
    ex = wc.explain(model, X, method="ig", steps=200)
    np.testing.assert_array_equal(ex.assigned, model.labels_)
    assert ex.provenance.propagation is None
    # Complete: the values bridge the evidence of the reference and that of the row.
    np.testing.assert_allclose(ex.values.sum(axis=1) + ex.base_values, ex.evidence, rtol=0.02, atol=0.02)
    assert np.abs(ex.values).max() > 0.1


class Overwriting(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        y = self.layer(x)
        return nn.functional.relu(y, inplace=True) + y


def test_functions_that_overwrite_are_refused():
    module = Overwriting()
    with torch.no_grad():  # only what is negative tells, here the sixth of eight rows
        module.layer.weight.copy_(torch.ones(3, 4))
        module.layer.bias.zero_()
    rows = torch.ones(8, 4)
    rows[5] = -1.0
    with pytest.raises(TypeError, match="does not compute what its layers do"):
        propagate(module, rows, torch.ones(8, 3))


class Joined(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3, bias=False)

    def forward(self, x):
        return torch.cat(tensors=[self.layer(x), x], dim=1)


def test_parts_joined_by_name():
    module, x = Joined(), torch.randn(5, 4)
    relevance = torch.randn(5, 7)
    expected = propagate(module.layer, x, relevance[:, :3]) + relevance[:, 3:]
    torch.testing.assert_close(propagate(module, x, relevance), expected)


def test_inputs_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"inputs of shape \(2, 5\) .* cannot be led through"):
        propagate(nn.Linear(4, 3), torch.ones(2, 5), torch.ones(2, 3))


@pytest.mark.parametrize("rule", [WSquare(), ZBox(-1.0, 1.0)], ids=["w²", "box"])
def test_what_lands_on_padding_is_absorbed(rule):
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 2, 3, bias=False), nn.Flatten(), nn.Linear(32, 2, bias=False)]
    module, x = nn.Sequential(nn.ZeroPad2d(1), *layers), torch.rand(3, 1, 4, 4)
    given = module(x).detach()
    found = propagate_layers(module, x, given, rules={"1": rule})
    assert found.absorbed["0"].abs().max() > 1e-3
    total = found.inputs.flatten(1).sum(dim=1) + found.total_absorbed
    torch.testing.assert_close(total, given.sum(dim=1), rtol=1e-4, atol=1e-5)


# --- fits that go wrong --------------------------------------------------------------------------------


@may_collapse
@pytest.mark.parametrize(
    "model",
    [
        ClusteringModule(3, learning_rate=1e38, epochs=1, averaging=False, batch_size=100, random_state=0),
        DEC(3, learning_rate=1e30, epochs=1, pretrain_epochs=0, batch_size=100, hidden=(8,), random_state=0),
    ],
    ids=["ClusteringModule", "DEC"],
)
def test_a_last_step_that_diverges_is_told(table, model):
    with pytest.raises(FloatingPointError, match="lower learning_rate"):
        model.fit(table)


def test_huge_values_in_em():
    huge = np.random.default_rng(0).normal(size=(20, 2)) * 1e200
    with pytest.raises(ValueError, match="rescale the columns"):
        ClusteringModuleEM(2).fit(huge)
    model = ClusteringModuleEM(2, random_state=0).fit(huge / 1e200)
    with pytest.raises(ValueError, match="rescale the columns"):
        model.predict(huge)


def test_em_is_saved(table, tmp_path):
    model = ClusteringModuleEM(3, random_state=0).fit(table)
    again = wc.load(wc.save(model, tmp_path / "em.npz"))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.get_params() == model.get_params()


def test_ctrl_c_in_k_means_loses_nothing(table, monkeypatch):
    reference = DEC(3, **SMALL, pretrain_epochs=3).fit(table)
    plain, calls = KMeans.fit, []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return plain(self, *arguments)

    monkeypatch.setattr(KMeans, "fit", interrupted)
    with pytest.warns(UserWarning, match="Interrupted before clustering: what was trained so far is kept"):
        model = DEC(3, **SMALL, pretrain_epochs=3).fit(table)
    assert model.history_["autoencoder"] == reference.history_["autoencoder"]
    assert model.history_["clustering"] == {}
    np.testing.assert_array_equal(model.predict(table), model.labels_)


def test_checkpoints_with_parts_missing(table, tmp_path):
    path = tmp_path / "c.npz"
    model = AutoencoderKMeans(3, **{**SMALL, "epochs": 2}, checkpoint=path, checkpoint_every=1)
    saved = {}

    def keep(self, *arguments):
        saved.setdefault("content", path.read_bytes())
        raise RuntimeError("stop here")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KMeans, "fit", keep)
        with pytest.raises(RuntimeError, match="stop here"):
            model.fit(table)
    meta, tensors = read_checkpoint(path)
    for missing in ("generator", next(name for name in tensors if name.startswith("model."))):
        write_checkpoint(path, meta, {name: tensor for name, tensor in tensors.items() if name != missing})
        with pytest.raises(ValueError, match="is damaged or no checkpoint"):
            model.fit(table)
    with path.open("wb") as stream:
        np.savez(stream, __meta__=np.frombuffer(json.dumps([1]).encode(), dtype=np.uint8))
    with pytest.raises(ValueError, match="is damaged or no checkpoint"):
        model.fit(table)


# --- networks of users -----------------------------------------------------------------------------------


def test_shared_weights_stay_shared():
    encoder, decoder = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    decoder.weight = encoder.weight
    copied = given_autoencoder(encoder, decoder, 4, None)
    assert copied.encoder.weight is copied.decoder.weight
    assert copied.encoder.weight is not encoder.weight


def test_weights_that_are_computed_are_not_rescaled():
    torch.manual_seed(0)
    decoder = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
    network = given_autoencoder(nn.Linear(4, 3), decoder, 4, None)
    x = torch.randn(5, 4)
    before = network(x)[1].detach().clone()
    assert to_unit_scale(network, torch.randn(3, 3) * 7) == 1.0
    torch.testing.assert_close(network(x)[1], before)


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ((nn.LSTM(4, 3), nn.Linear(3, 4)), "does not fit a table of 4 columns"),
        ((nn.Identity(), nn.Identity()), "no weights to be trained"),
    ],
)
def test_modules_that_are_no_autoencoder(table, pair, told):
    with pytest.raises(ValueError, match=told):
        AutoencoderKMeans(3, autoencoder=pair, epochs=1).fit(table)


@pytest.mark.parametrize("batch_size", [1, 2])
def test_batch_normalisation_needs_two_rows_in_a_step(table, batch_size):
    pair = (nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), nn.Linear(3, 4))
    with pytest.raises(ValueError, match="use larger batches"):
        AutoencoderKMeans(3, autoencoder=pair, epochs=1, batch_size=batch_size).fit(table[:45])


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"activation": ["relu"]}, ValueError, "activation="),
        ({"checkpoint": 3}, TypeError, "expected the path of a file"),
        ({"checkpoint": True}, TypeError, "expected the path of a file"),
    ],
)
def test_settings_of_the_wrong_type(table, settings, error, told):
    with pytest.raises(error, match=told):
        AutoencoderKMeans(3, **{**SMALL, **settings}).fit(table)


@pytest.mark.parametrize("points", [np.zeros((0, 3)), [[1.0, 2.0, 3.0], [1.0]], [["a", "b", "c"]]])
def test_points_that_cannot_be_decoded(table, points):
    with pytest.raises(ValueError, match="points of the embedding"):
        AutoencoderKMeans(3, **SMALL).fit(table).decode(points)


def test_no_samples_of_an_empty_cluster(table):
    model = ClusteringModule(3, epochs=2, random_state=0).fit(table)
    model.empty_clusters_ = np.array([1])
    with pytest.raises(ValueError, match="no members"):
        model.sample(1)


def test_plots_behind_an_imputer(table):
    pytest.importorskip("matplotlib")
    gaps = table.copy()
    gaps[0, 0] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), AutoencoderKMeans(3, **SMALL)).fit(gaps)
    assert wc.plots.decoded_centers(model) is not None
    flagged = make_pipeline(SimpleImputer(add_indicator=True), AutoencoderKMeans(3, **SMALL)).fit(gaps)
    with pytest.raises(TypeError, match="SimpleImputer cannot be undone"):
        wc.plots.decoded_centers(flagged)


# --- what a mutation would not have been noticed in ------------------------------------------------------


class Noisy(nn.Module):
    """Draws when it is used, as dropout does, from torch's global generator."""

    def forward(self, x):
        return x + torch.randn_like(x) if self.training else x


def test_global_draws_of_modules_follow_the_seed(table):
    pair = (nn.Sequential(nn.Linear(4, 3), Noisy()), nn.Linear(3, 4))
    fits = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        model = AutoencoderKMeans(3, autoencoder=pair, epochs=3, random_state=0).fit(table)
        fits.append(model.transform(table))
    np.testing.assert_array_equal(*fits)


def test_averaging_with_patience_averages_any_last_epoch():
    weight = nn.Parameter(torch.zeros(1))
    for always, expected in ((True, 3.0), (False, 5.0)):
        average = AveragedWeights([weight], last_epoch=9, always=always)
        average.before_epoch(torch.zeros(1), 2)
        for value in (1.0, 3.0, 5.0):
            weight.data.fill_(value)
            average.after_step(None)
        average.end(torch.zeros(1))
        assert weight.item() == expected


def test_revived_centroids_of_dcn_have_their_first_count(table):
    model = DCN(3, **SMALL, pretrain_epochs=1).fit(table).model_
    model.counts.copy_(torch.tensor([150.0, 400.0, 300.0]))
    model.earlier_counts.copy_(torch.tensor([140.0, 400.0, 290.0]))
    with torch.no_grad():
        model.revive(torch.from_numpy(table.astype(np.float32)), 1)
    assert model.counts.tolist() == [150.0, 100.0, 300.0]


def test_dkm_has_its_own_adam_and_no_patience_while_it_anneals(table):
    def phase(**settings):
        model = DKM(3, **SMALL, patience=2, **settings)
        return model._model(4, torch.Generator().manual_seed(0)).phases()[-1]

    annealed, constant = phase(pretrain_epochs=0), phase(alpha=10.0, pretrain_epochs=0)
    assert annealed.updates[0].optimizer == constant.updates[0].optimizer == Adam(1e-3, epsilon=1e-7)
    assert annealed.patience is None
    assert constant.patience == 2
    assert isinstance(annealed, Phase)


def test_a_cluster_that_swallows_the_others_is_reported():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 3)) * 0.01, [[9.0, 9.0, 9.0]]])
    with pytest.warns(UserWarning, match="0 of 2 clusters are empty and the largest holds 100%"):
        AutoencoderKMeans(2, hidden=(8,), epochs=2, random_state=0).fit(X)


def test_the_head_of_a_network_begins_with_the_usual_prior_of_the_embedding(table):
    from whyclust.deep.models.clustering_head import total_variance, usual_alpha

    model = CNet(3, hidden=(8,), epochs=1, pretrain_epochs=2, random_state=0)
    network = model._model(4, torch.Generator().manual_seed(0))
    data = torch.from_numpy(table.astype(np.float32))
    with torch.no_grad():
        network.begin_head(data, torch.Generator().manual_seed(0))
    expected = usual_alpha(total_variance(network.fixed), len(table), 64, 3)
    assert expected > 1.5
    np.testing.assert_allclose(network.head.alpha.numpy(), expected, rtol=1e-5)


# --- what users expect ---------------------------------------------------------------------------------


def test_images_have_a_network_of_their_size():
    images = np.random.default_rng(0).uniform(size=(40, 8, 8))
    model = AutoencoderKMeans(3, image_shape=(1, 8, 8), epochs=1, random_state=0).fit(images)
    sizes = [layer.out_channels for layer in model.model_.modules() if isinstance(layer, nn.Conv2d)]
    assert sizes == [32, 64, 128]
    table = images.reshape(40, -1)
    dense = AutoencoderKMeans(3, epochs=1, random_state=0)._model(64, torch.Generator().manual_seed(0))
    widths = [layer.out_features for layer in dense.autoencoder.encoder if isinstance(layer, nn.Linear)]
    assert widths == [128, 128, 3]
    assert model.predict(table).shape == (40,)


def test_modules_of_images_are_given_images():
    images = np.random.default_rng(0).uniform(size=(40, 1, 6, 6)).astype(np.float32)
    encoder = nn.Sequential(
        nn.Conv2d(1, 2, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(18, 3)
    )
    decoder = nn.Sequential(nn.Linear(3, 36), nn.Unflatten(1, (1, 6, 6)))
    options = {"autoencoder": (encoder, decoder), "epochs": 2, "random_state": 0}
    model = AutoencoderKMeans(3, **options, image_shape=(1, 6, 6)).fit(images)
    np.testing.assert_array_equal(wc.neuralize(model, images).predict(images), model.predict(images))
    assert wc.explain(model, images).images.shape == (40, 1, 6, 6)
    assert model.decoded_centers().shape == (3, 36)
    with pytest.raises(ValueError, match="does not fit a table of 36 columns"):
        AutoencoderKMeans(3, **options).fit(images.reshape(40, -1))


def test_the_weight_of_merging_has_a_bound(table):
    # All centroids at t and even responsibilities: from 1 + K/(K − 1) on the loss falls with t.
    from whyclust.deep.models.mixture_loss import module_terms

    x, even, alpha = torch.zeros(1, 2), torch.full((1, 3), 1 / 3), torch.ones(3)
    for weight, falls in ((2.4, False), (2.6, True)):
        near, far = (
            float(sum(module_terms(x, even, torch.full((3, 2), t), alpha, e3_weight=weight).values()))
            for t in (10.0, 100.0)
        )
        assert (far < near) == falls
    with pytest.raises(ValueError, match=r"e3_weight=2\.5, expected less than 2\.5"):
        ClusteringModule(3, e3_weight=2.5).fit(table)


def test_rules_are_checked_when_they_are_given(table):
    net = wc.neuralize(AutoencoderKMeans(3, **SMALL).fit(table), table)
    with pytest.raises(ValueError, match="rules='gama'"):
        wc.deep.with_rules(net, "gama")
    with pytest.raises(TypeError, match=r"expected a network: wc\.neuralize"):
        wc.deep.with_rules(table, "gamma")
    assert "Gamma" in wc.explain(net, table).provenance.propagation


def test_refits_train_a_shared_autoencoder_anew(table, monkeypatch):
    first = AutoencoderKMeans(3, **SMALL).fit(table)
    model = DEC(3, autoencoder=first, epochs=1, batch_size=32, random_state=0).fit(table)
    fitted = []
    plain = AutoencoderKMeans.fit

    def fit(self, X, y=None):
        fitted.append((self.random_state, np.asarray(X)))
        return plain(self, X, y)

    monkeypatch.setattr(AutoencoderKMeans, "fit", fit)
    wc.metrics.stability(model, table, n_repeats=2, bootstrap=True, reseed=True, random_state=0)
    assert len(fitted) == 2
    assert len({seed for seed, _ in fitted} - {0}) == 2
    assert not np.array_equal(fitted[0][1], table)
    assert model.autoencoder is first


def test_refits_of_a_pipeline_pretrain_on_what_its_steps_give(table):
    scaled = StandardScaler().fit(table)
    first = AutoencoderKMeans(3, **SMALL).fit(scaled.transform(table))
    model = make_pipeline(
        StandardScaler(), DEC(3, autoencoder=first, epochs=1, batch_size=32, random_state=0)
    ).fit(table * 100)
    seen = []
    plain = AutoencoderKMeans.fit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AutoencoderKMeans, "fit", lambda self, X, y=None: (seen.append(X), plain(self, X))[1])
        wc.metrics.stability(model, table * 100, n_repeats=2, bootstrap=False, reseed=True, random_state=0)
    np.testing.assert_allclose(seen[0].std(axis=0), 1.0, rtol=1e-6)


def test_colours_of_tables_are_deviations_of_the_data(table):
    pytest.importorskip("matplotlib")
    raw = table * np.array([1.0, 100.0, 0.01, 5.0]) + 7
    for steps in ([StandardScaler()], [StandardScaler(), PCA(4)]):
        model = make_pipeline(*steps, AutoencoderKMeans(3, **SMALL)).fit(raw)
        figure = wc.plots.decoded_centers(model)
        drawn = figure.axes[0].images[0].get_array()
        rows = model[-1].decoded_centers()
        for step in reversed(model[:-1]):
            rows = step.inverse_transform(rows)
        expected = (rows - raw.mean(axis=0)) / raw.std(axis=0)
        np.testing.assert_allclose(np.asarray(drawn), expected, atol=1e-4)


def test_relevance_of_images_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    images = np.random.default_rng(0).uniform(size=(30, 6, 5))
    model = AutoencoderKMeans(3, **SMALL).fit(images.reshape(30, -1))
    explanation = wc.explain(model, images)
    figure = wc.plots.relevance(explanation, rows=[4, 7], path=tmp_path / "relevance.png")
    assert (tmp_path / "relevance.png").exists()
    picture, heat = figure.axes[0].images[0].get_array(), figure.axes[2].images[0].get_array()
    np.testing.assert_allclose(np.asarray(picture), images[4])
    expected = explanation.images[4] / np.abs(explanation.images[4]).max()
    np.testing.assert_allclose(np.asarray(heat), expected)
    drawn = len([axis for axis in wc.plots.relevance(explanation).axes if axis.images])
    assert drawn == 2 * len(np.unique(model.labels_))
    with pytest.raises(ValueError, match="positions from 0 to 29"):
        wc.plots.relevance(explanation, rows=[30])
    with pytest.raises(TypeError, match="expected an explanation"):
        wc.plots.relevance(images)


def test_the_report_of_images_shows_them(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    images = np.random.default_rng(0).uniform(size=(30, 6, 5))
    model = AutoencoderKMeans(3, **SMALL).fit(images.reshape(30, -1))
    explanation = wc.explain(model, images)
    page = explanation.to_html(tmp_path / "report.html").read_text()
    assert "img-src data:" in page
    found = re.findall(r'src="data:image/png;base64,([^"]+)" alt="([^"]+)"', page)
    cluster = explanation.summary()[explanation.clusters[0]]
    typical = cluster.typical[0]
    place = [told for _, told in found].index(f"typical: row {typical}")
    picture, heat = (
        image.imread(io.BytesIO(base64.b64decode(found[at][0])))[..., :3] for at in (place, place + 1)
    )
    low, high = images.min(), images.max()
    np.testing.assert_allclose(picture[..., 0], (images[typical] - low) / (high - low), atol=0.003)
    own = explanation.images[typical] / np.abs(explanation.images[typical]).max()
    # Red where relevance is positive, blue where it is negative, the stronger the farther from white.
    assert ((heat[..., 0] > heat[..., 2]) == (own > 0))[np.abs(own) > 0.05].all()
    np.testing.assert_allclose(1.0 - heat[..., 2][own > 0], own[own > 0] * (1 - 43 / 255), atol=0.003)
    plain = wc.explain(model, images.reshape(30, -1)).to_html(tmp_path / "table.html").read_text()
    assert "<img" not in plain


def test_gaps_are_told_with_their_place(table):
    rows = np.array(table, dtype=float)
    model = DCN(3, **SMALL).fit(rows)
    rows[4, 2] = np.nan
    told = r"X holds NaN \(a missing value\) in row 4, column 'x2', expected finite numbers: impute it"
    for ask in (DCN(3, **SMALL).fit, model.predict, model.transform):
        with pytest.raises(ValueError, match=told):
            ask(rows)
    named = pd.DataFrame(rows, columns=[f"column {place}" for place in range(rows.shape[1])])
    with pytest.raises(ValueError, match="in row 4, column 'column 2'"):
        DCN(3, **SMALL).fit(named)
    rows[4, 2] = np.inf
    with pytest.raises(ValueError, match="X holds infinity in row 4, column 'x2'"):
        model.predict(rows)


def test_a_network_of_your_own_may_have_an_infinite_mask(table):
    class Masked(nn.Linear):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.register_buffer("mask", torch.full((2, 2), -torch.inf).triu(1))

    X = np.array(table, dtype=np.float32)
    pair = (Masked(X.shape[1], 2), nn.Linear(2, X.shape[1]))
    model = DCN(3, autoencoder=pair, epochs=1, pretrain_epochs=1, random_state=0).fit(X)
    assert np.isfinite(model.transform(X)).all()
