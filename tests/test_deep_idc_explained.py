"""Explanations of IDC: relevance through gates, the gates themselves, and both side by side."""

import copy
import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

torch = pytest.importorskip("torch")

import whyclust as wc  # noqa: E402
from whyclust.datasets import make_idc_synthetic  # noqa: E402
from whyclust.deep import IDC, with_rules  # noqa: E402
from whyclust.deep.models.stochastic_gates import HardGate, SharedGates  # noqa: E402
from whyclust.explaining.of_gates import _rank_correlation, decided_otherwise  # noqa: E402
from whyclust.propagate import Centered, Gamma, Gated, Halves, propagate, propagate_layers  # noqa: E402

nn = torch.nn
SETTINGS = {"hidden": (16,), "epochs": 10, "pretrain_epochs": 40, "batch_size": 50, "random_state": 0}
pytestmark = pytest.mark.filterwarnings(
    "ignore:The (clusters|gates) have collapsed", "ignore:The gates of clusters have hardly moved"
)


@pytest.fixture(scope="module")
def table():
    """Columns that are far from zero, so that it matters from where they are seen."""
    return (make_idc_synthetic(200, n_nuisance=4, random_state=0)[0] + 0.4).astype(np.float32)


@pytest.fixture(scope="module")
def model(table):
    return IDC(4, **SETTINGS).fit(table)


def gating(d, scale=1.0):
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(d, 6), nn.Tanh(), nn.Linear(6, d), nn.Tanh(), HardGate())
    with torch.no_grad():
        network[2].weight.mul_(4 * scale)
    return network.double().requires_grad_(False)


def coder(d):
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(d, 8), nn.ReLU(), nn.Linear(8, 3)).double().requires_grad_(False)


class Constant(nn.Module):
    """Gates that do not look at the row."""

    def __init__(self, gates):
        super().__init__()
        self.gates = gates

    def forward(self, x):
        return self.gates


# --- the signal takes all ----------------------------------------------------------------------------


def test_relevance_is_that_of_frozen_gates():
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(30, 5)))
    x[0] = 0.0
    gate, network = gating(5), coder(5)
    gates = gate(x)
    assert (gates == 0).any()
    assert ((gates > 0) & (gates < 1)).any()
    outputs = network(x * gates)
    found = propagate(nn.Sequential(Gated(gate), *network), x, outputs, rules=Gamma(0.01))
    for row in range(30):
        # The gates of this row as numbers, in the weights of the first layer.
        first = nn.Linear(5, 8).double().requires_grad_(False)
        first.weight.copy_(network[0].weight * gates[row])
        first.bias.copy_(network[0].bias)
        frozen = nn.Sequential(first, *list(network)[1:])
        one = slice(row, row + 1)
        expected = propagate(frozen, x[one], outputs[one], rules=Gamma(0.01))
        assert (found[one] - expected).abs().max() < 1e-10
    assert not found[gates == 0].any()
    assert torch.isfinite(found).all()


def literal_gamma(weight, bias, inputs, relevance, gamma=0.01):
    """The γ rule by loops over outputs, for one row."""
    handed = np.zeros(len(inputs))
    for w, b, r in zip(weight, bias, relevance, strict=True):
        z = inputs * w
        total = z.sum() + b
        sign = 1.0 if total >= 0 else -1.0
        favoured = np.where(sign * z > 0, z, 0.0)
        bonus = favoured.sum() + (b if sign * b > 0 else 0.0)
        denominator = total + gamma * bonus
        if denominator:
            handed += (z + gamma * favoured) / denominator * r
    return handed


def test_explanations_see_gated_columns_from_the_gated_mean(model, table):
    """First layer: (x − x̄) ⊙ g(x); then activations, as they are; at the top the head's own split."""
    ex = wc.explain(model, table)
    net = wc.neuralize(model, table)
    gates = model.local_gates(table).astype(np.float64)
    assert (gates == 0).any()
    assert not np.asarray(ex.values)[gates == 0].any()
    np.testing.assert_array_equal(ex.assigned, model.labels_)
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-10

    trunk = net.features.trunk
    layers = list(trunk.module)
    assert isinstance(layers[0], Gated)
    frozen = copy.deepcopy(nn.Sequential(*layers[1:])).double()
    x, mean = torch.from_numpy(table).double(), torch.from_numpy(model.feature_means_).double()
    torch.manual_seed(0)
    at_outputs = torch.randn(len(x), trunk.n_outputs, dtype=torch.float64)
    found = trunk.passage(table).relevance(at_outputs.numpy())
    g = torch.from_numpy(gates)
    expected = propagate(
        frozen, x * g, at_outputs, rules={"0": Centered(mean * g, Gamma(0.01)), nn.Module: Gamma(0.01)}
    )
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5 * float(expected.abs().max()))
    # The layer in which columns meet, by the literal rule.
    weights = frozen[0].weight.detach().numpy(), frozen[0].bias.detach().numpy()
    assert isinstance(frozen[1], nn.BatchNorm1d)
    scale = (frozen[1].weight / (frozen[1].running_var + frozen[1].eps).sqrt()).detach().numpy()
    weight = weights[0] * scale[:, None]
    bias = (weights[1] - frozen[1].running_mean.numpy()) * scale + frozen[1].bias.detach().numpy()
    layer = propagate_layers(frozen, x * g, at_outputs, rules=Gamma(0.01))
    for row in range(5):
        moved = (x[row] - mean).numpy() * gates[row]
        seen = bias + weight @ (mean.numpy() * gates[row])
        literal = literal_gamma(weight, seen, moved, layer.layers["1"][row].numpy())
        np.testing.assert_allclose(found[row], literal, rtol=1e-3, atol=1e-5 * np.abs(literal).max() + 1e-7)


def test_shares_of_explained_networks_have_the_temperature_of_the_fit(table):
    """At 3 they are those of a third of the head's outputs."""
    found = IDC(4, **{**SETTINGS, "epochs": 1, "pretrain_epochs": 2}, temperature=3.0).fit(table)
    network = found.model_
    with torch.no_grad():
        network.head[-1].weight.mul_(20.0)  # outputs that are far apart
        outputs = network.head(network.embed(torch.from_numpy(table))).double().numpy()
    expected = softmax(outputs / 3.0, axis=1)
    assert np.abs(expected - softmax(outputs, axis=1)).max() > 0.05
    np.testing.assert_allclose(found.predict_proba(table), expected, atol=1e-5)
    np.testing.assert_allclose(wc.neuralize(found, table).predict_proba(table), expected, atol=1e-5)


def test_the_end_of_the_encoder_and_the_beginning_of_the_head_are_one_layer(model, table):
    """No activation is between the two: relevance passes their product, and outputs are the same."""
    network = model.model_
    last, first = network.autoencoder.encoder[-1], network.head[0]
    inner, outer = (one.weight.detach().double().numpy() for one in (last, first))
    bias = outer @ last.bias.detach().double().numpy() + first.bias.detach().double().numpy()
    layers = [one for one in network.encoder if isinstance(one, nn.Linear)]
    assert len(layers) == sum(isinstance(one, nn.Linear) for one in network.autoencoder.encoder)
    np.testing.assert_allclose(layers[-1].weight.detach(), outer @ inner, atol=1e-6)
    np.testing.assert_allclose(layers[-1].bias.detach(), bias, atol=1e-6)
    x = torch.from_numpy(table[:20])
    with torch.no_grad():
        np.testing.assert_allclose(network.encoder(x), network.head[:-1](network.embed(x)), atol=1e-4)


def test_columns_of_zeros_and_shut_gates_are_finite(model, table):
    rows = table[:20].copy()
    rows[:5] = 0.0
    ex = wc.explain(model, rows)
    assert np.isfinite(ex.values).all()
    for method in ("gates", "gate_halves", "ig", "sensitivity"):
        assert np.isfinite(wc.explain(model, rows, method=method).values).all()


# --- half each ----------------------------------------------------------------------------------------


def test_halves_of_a_product():
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(20, 4)))
    gate = gating(4, scale=0.5)
    module = Gated(gate)
    gates = gate(x)
    relevance = torch.from_numpy(np.random.default_rng(1).normal(size=(20, 4)))
    parts = {
        part: propagate_layers(module, x, relevance, rules={Gated: Halves(part)})
        for part in ("both", "signal", "gates")
    }
    np.testing.assert_allclose(parts["signal"].inputs, relevance / 2, rtol=1e-12)
    # What is fully open or shut does not depend on the row: its half stays.
    half = torch.where((gates > 0) & (gates < 1), relevance / 2, 0.0)
    assert (half == 0).any()
    assert (half != 0).any()
    down = propagate(gate[:-1], x, half)
    np.testing.assert_allclose(parts["gates"].inputs, down, rtol=1e-12)
    assert parts["gates"].inputs.abs().max() > 0
    np.testing.assert_allclose(parts["both"].inputs, parts["signal"].inputs + down, rtol=1e-12, atol=1e-15)
    for found in parts.values():
        kept = sum(found.absorbed.values())
        np.testing.assert_allclose(
            found.inputs.sum(dim=1) + kept, relevance.sum(dim=1), rtol=1e-9, atol=1e-12
        )
    with pytest.raises(TypeError, match="Halves shares products, not sums"):
        propagate(coder(4), x, torch.ones(20, 3, dtype=torch.float64), rules=Halves())
    with pytest.raises(ValueError, match="part='other' is unknown, expected one of both, signal, gates"):
        Halves("other")


def test_groups_hand_relevance_to_their_value():
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 2)))
    layer = SharedGates(5, np.array([0, 1, 0, 1, 1]))
    relevance = torch.from_numpy(np.random.default_rng(1).normal(size=(6, 5)))
    found = propagate(nn.Sequential(layer), x, relevance)
    literal = np.stack([relevance[:, [0, 2]].sum(dim=1), relevance[:, [1, 3, 4]].sum(dim=1)], axis=1)
    np.testing.assert_allclose(found, literal, rtol=1e-12)


def test_halves_are_reported_apart(model, table, tmp_path):
    neon = wc.explain(model, table)
    both, signal, gates = (
        wc.explain(model, table, method="gate_halves", part=part) for part in ("both", "signal", "gates")
    )
    np.testing.assert_allclose(signal.values, neon.values / 2, rtol=1e-5, atol=1e-7)
    largest = np.abs(neon.values).max()
    np.testing.assert_allclose(both.values, signal.values + gates.values, atol=1e-5 * largest)
    for ex in (both, signal, gates):
        np.testing.assert_allclose(ex.explained, neon.explained, rtol=1e-9)
    net = with_rules(wc.neuralize(model, table), {Gated: Halves(), nn.Module: Gamma(0.01)})
    again = wc.load(wc.save(net, tmp_path / "net.npz"))
    np.testing.assert_allclose(again.relevance(table).values, both.values, atol=1e-6 * largest)


# --- gates as explanations ----------------------------------------------------------------------------


def test_gates_are_an_explanation(model, table):
    ex = wc.explain(model, table, method="gates")
    np.testing.assert_array_equal(ex.values, model.local_gates(table).astype(float))
    assert ex.provenance.method == "gates"
    np.testing.assert_allclose(ex.evidence, wc.explain(model, table).evidence, rtol=1e-3, atol=1e-5)
    behind = make_pipeline(StandardScaler(), IDC(4, **SETTINGS)).fit(table)
    scaled = behind[0].transform(table)
    found = wc.explain(behind, table, method="gates").values
    np.testing.assert_allclose(found, behind[-1].local_gates(scaled), atol=1e-5)
    assert not np.asarray(wc.explain(behind, table).values)[found == 0].any()
    with pytest.raises(TypeError, match="method='gate_halves' reads the gates"):
        from sklearn.cluster import KMeans

        wc.explain(KMeans(2, n_init=1, random_state=0).fit(table), table, method="gate_halves")


def test_gates_of_a_column_with_several_parts_are_those_of_the_widest(table):
    frame = pd.DataFrame(table[:, :4], columns=list("abcd")).assign(
        e=np.where(table[:, 4] > np.median(table[:, 4]), "yes", "no")
    )
    parts = make_column_transformer(
        (StandardScaler(), list("abcd")), (OneHotEncoder(sparse_output=False), ["e"])
    )
    pipe = make_pipeline(parts, IDC(4, **SETTINGS)).fit(frame)
    found = wc.explain(pipe, frame, method="gates")
    gates = pipe[-1].local_gates(pipe[:-1].transform(frame))
    np.testing.assert_allclose(found.values[:, 4], gates[:, 4:].max(axis=1), atol=1e-5)
    np.testing.assert_allclose(found.values[:, :4], gates[:, :4], atol=1e-5)
    assert (gates[:, 4:].min(axis=1) > 0).any()


def test_gates_that_had_no_epoch_are_told(table):
    with pytest.warns(UserWarning, match="have not learned: pretrain_epochs=1 leaves them no epoch"):
        IDC(4, **SETTINGS | {"pretrain_epochs": 1, "epochs": 1}).fit(table)


def test_gates_of_components_are_not_those_of_columns(table):
    pipe = make_pipeline(StandardScaler(), PCA(3), IDC(4, **SETTINGS)).fit(table)
    with pytest.raises(TypeError, match="a step before the IDC mixes columns"):
        wc.explain(pipe, table, method="gates")


def test_clusters_have_an_explanation(model, table, tmp_path):
    ex = model.global_explanation()
    np.testing.assert_array_equal(ex.values, model.global_gates_.astype(float))
    np.testing.assert_array_equal(ex.clusters, range(4))
    np.testing.assert_array_equal(ex.data, model.cluster_means_)
    assert "only row" not in ex.describe()  # a cluster's mean is no row of it
    assert ex.describe().startswith("Cluster 0 as a whole. Largest by gate of the cluster: ")
    alone = r"Cluster 2 as a whole, at the mean of its rows: evidence -?[\d.]+ against"
    assert re.match(alone, ex[2].describe())
    for cluster in np.unique(model.labels_):
        own = table[model.labels_ == cluster]
        np.testing.assert_allclose(model.cluster_means_[cluster], own.mean(axis=0), rtol=1e-4, atol=1e-5)
        gates = model.local_gates(own).mean(axis=0)
        np.testing.assert_allclose(model.cluster_gates_[cluster], gates, rtol=1e-4, atol=1e-6)
    again = wc.load(ex.save(tmp_path / "ex.npz"))
    np.testing.assert_array_equal(again.values, ex.values)
    later = copy.deepcopy(model).set_params(n_clusters=6)  # for a fit to come
    np.testing.assert_array_equal(later.global_explanation().values, ex.values)
    selected = (model.cluster_gates_[np.unique(model.labels_)] > 0.5).any(axis=0)
    np.testing.assert_array_equal(model.selected_features_, np.flatnonzero(selected))


def test_gates_of_clusters_take_names_that_a_scaler_lost(model):
    names = list("abcdefg")
    assert model.global_explanation(feature_names=names).feature_names == names
    with pytest.raises(ValueError, match="feature_names"):
        model.global_explanation(feature_names=names[:3])


def test_gates_are_told_as_gates(model, table):
    """They are the same whatever cluster is asked about, so they set none apart and speak for none."""
    gates = wc.explain(model, table, method="gates")
    told = "Largest by gate of the row, which is the same whatever the cluster: "
    for line in gates.describe().split("\n"):
        assert told in line
    assert told in gates[0].describe()
    of_clusters = model.global_explanation()
    assert "Cluster 0 as a whole. Largest by gate of the cluster: " in of_clusters.describe()
    for text in (gates.describe(), gates[0].describe(), of_clusters.describe(), of_clusters[0].describe()):
        assert "Its mean" not in text
        assert "For cluster" not in text


def test_gates_beside_relevance(model, table):
    from scipy.stats import spearmanr

    found = model.compare_gates(table)
    gates, relevance = model.local_gates(table), np.abs(wc.explain(model, table).values)
    np.testing.assert_array_equal(found.n_open, (gates > 0).sum(axis=1))
    for row in (0, 7, 60):
        opened = gates[row] > 0
        if len(np.unique(gates[row, opened])) > 1:
            expected = spearmanr(gates[row, opened], relevance[row, opened]).statistic
            assert found.correlation[row] == pytest.approx(expected)
        descending = np.sort(relevance[row])[::-1]
        held = [descending[:count].sum() >= 0.9 * descending.sum() for count in range(len(descending) + 1)]
        assert found.n_relevant[row] == held.index(True)
    alike = _rank_correlation(np.array([[0.5, 0.5, 0.0], [0.0, 0.7, 0.0]]), np.array([[0.2, 0.3, 0.0]] * 2))
    assert np.isnan(alike).all()
    assert "gates of a row are open" in str(found) == repr(found)
    few = replace(found, correlation=np.array([np.nan, 0.5, np.nan]))
    assert "ranks correlate by 0.50 (" in str(few)
    assert "rows whose open gates are alike left out)." in str(few)
    assert "In no row there are gates to be ranked" in str(replace(found, correlation=np.full(3, np.nan)))
    assert 0 <= found.decided_otherwise <= 1


def test_gates_computed_anew_may_decide_otherwise(table):
    """Row by row: the most relevant open column at its mean, by the row's gates and by new ones."""
    model = IDC(4, **{**SETTINGS, "pretrain_epochs": 12}).fit(table)
    ex = wc.explain(model, table)
    network = model.model_
    different = []
    for row, relevance in zip(table, np.asarray(ex.values), strict=True):
        x = torch.from_numpy(row[None])
        with torch.no_grad():
            gates = network.local_gates(x)
            opened = (gates > 0).numpy()[0]
            count = max(1, int(0.1 * opened.sum()))
            size = np.where(opened, np.abs(relevance), -1.0)
            removed = np.argsort(-size, kind="stable")[:count]
            changed = x.clone()
            changed[0, removed] = torch.from_numpy(model.feature_means_[removed]).float()
            frozen = network.logits(network.autoencoder.encoder(changed * gates)).argmax()
            anew = network.logits(network.embed(changed)).argmax()
        different.append(bool(frozen != anew))
    assert decided_otherwise(ex) == pytest.approx(np.mean(different), abs=1 / len(table))


# --- pictures -----------------------------------------------------------------------------------------


def test_pictures(model, table, tmp_path):
    pytest.importorskip("matplotlib")
    ex = wc.explain(model, table)
    figure = ex.plot.gates_and_relevance(rows=[3, 8], path=tmp_path / "rows.png")
    assert (tmp_path / "rows.png").exists()
    gates, relevance = figure.axes[:2]
    np.testing.assert_allclose(gates.images[0].get_array(), model.local_gates(table[[3, 8]]), atol=1e-6)
    largest = np.abs(ex.values[[3, 8]]).max(axis=1, keepdims=True)
    np.testing.assert_allclose(
        relevance.images[0].get_array(), ex.values[[3, 8]] / np.where(largest, largest, 1)
    )
    figure = ex.plot.gates_and_relevance(by="clusters")
    drawn = figure.axes[0].images[0].get_array()
    np.testing.assert_allclose(drawn, model.cluster_gates_[np.unique(model.labels_)], atol=1e-5)
    figure = wc.plots.gates_and_relevance(ex[:2], rows=[0], image_shape=(1, 7))
    assert [axis.get_ylabel() for axis in figure.axes] == ["input", "gates", "relevance"]
    np.testing.assert_allclose(figure.axes[1].images[0].get_array(), model.local_gates(table[:1]), atol=1e-6)
    with pytest.raises(ValueError, match="by='cells' is unknown, expected one of rows, clusters"):
        ex.plot.gates_and_relevance(by="cells")
    gates = wc.explain(model, table, method="gates")
    with pytest.raises(ValueError, match="The values of this explanation are gates, expected relevance"):
        gates.plot.gates_and_relevance()
    with pytest.raises(ValueError, match="The values of this explanation are gates, expected relevance"):
        model.global_explanation().plot.gates_and_relevance()
    with pytest.raises(TypeError, match="IDC was given, expected an explanation"):
        wc.plots.gates_and_relevance(model)


def test_rows_that_were_sliced_are_drawn(model, table, monkeypatch):
    pytest.importorskip("matplotlib")
    ex = wc.explain(model, table)
    rows = [9, 2, 30, 31, 32, 33]
    figure = ex[rows].plot.gates_and_relevance()
    drawn = figure.axes[0].images[0].get_array()
    np.testing.assert_allclose(drawn, model.local_gates(table[rows]), atol=1e-6)
    named = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert named == [f"row {row}, cluster {model.labels_[row]}" for row in rows]
    assert figure.get_supxlabel() == ""
    # Of more rows than a reader takes in there is one for each cluster, and the picture says so.
    clusters = len(np.unique(model.labels_[:11]))
    figure = ex[:11].plot.gates_and_relevance()
    assert len(figure.axes[0].images[0].get_array()) == clusters
    assert figure.get_supxlabel() == (
        "Of 11 rows the most typical one of each cluster; rows=[...] draws others."
    )
    figure = ex[:11].plot.gates_and_relevance(image_shape=(1, 7))
    assert figure.get_supxlabel().startswith("Of 11 rows the most typical one")
    # The function has the name of its module, so that this cannot be named in one string.
    monkeypatch.setattr(sys.modules["whyclust.plots.gates_and_relevance"], "_MOST_ROWS", 1)
    assert len(np.unique(model.labels_)) > 1
    figure = ex.plot.gates_and_relevance()
    assert f"one of 1 of {len(np.unique(model.labels_))} clusters" in figure.get_supxlabel()
    assert ex.plot.gates_and_relevance(by="clusters").get_supxlabel() == ""
