"""IDC: its formulas against the paper's, its two stages, and what it makes of bad input."""

import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.special import erf, log_softmax, softmax
from scipy.stats import norm
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812 (as PyTorch itself writes it)

import whyclust as wc  # noqa: E402
from whyclust.datasets import make_idc_synthetic  # noqa: E402
from whyclust.deep import DCN, IDC  # noqa: E402
from whyclust.deep.models import gated_clustering, head_starts, idc  # noqa: E402
from whyclust.deep.models.coding_rate import (  # noqa: E402
    cluster_coding_rates,
    coding_rate,
    directions,
    gumbel_softmax,
    head_loss,
)
from whyclust.deep.models.column_groups import correlated  # noqa: E402
from whyclust.deep.models.gate_complaints import of_clusters, of_number  # noqa: E402
from whyclust.deep.models.gated_clustering import GatedClusteringModel  # noqa: E402
from whyclust.deep.models.head_starts import begin_head, best_start, k_means_start  # noqa: E402
from whyclust.deep.models.idc import _mean  # noqa: E402
from whyclust.deep.models.sparsity import Sparsity  # noqa: E402
from whyclust.deep.models.stochastic_gates import (  # noqa: E402
    bounded,
    gating_network,
    hard_gates,
    learning_rates,
    open_probability,
)
from whyclust.deep.networks.autoencoders import dense  # noqa: E402
from whyclust.deep.networks.residual import residual_autoencoder  # noqa: E402
from whyclust.deep.training.keeping import Keeper  # noqa: E402
from whyclust.deep.training.phases import Batch, snapshot  # noqa: E402

SMALL = {"hidden": (8,), "epochs": 3, "pretrain_epochs": 5, "batch_size": 32, "random_state": 0}
# Three epochs move few gates.
pytestmark = pytest.mark.filterwarnings("ignore:The gates of clusters have hardly moved")
collapse_may_be = pytest.mark.filterwarnings("ignore:The (clusters|gates) have collapsed")


@pytest.fixture(scope="module")
def table():
    return make_idc_synthetic(120, n_nuisance=3, random_state=0)[0].astype(np.float32)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def batch_of(rows, done=0.25, seed=3):
    x = torch.from_numpy(rows)
    return Batch(x, torch.arange(len(x)), x, 0, done, generator(seed))


def module(n_features, settings):
    """A model with weights that are far from their beginnings, as in the midst of training."""
    model = settings._model(n_features, generator())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator(1)))
    return model.train()


# --- formulas --------------------------------------------------------------------------------------


def test_gates_are_those_of_equation_1():
    rng = np.random.default_rng(0)
    mu, noise = rng.normal(size=(2, 50, 7))
    literal = np.maximum(0, np.minimum(1, 0.5 + mu + noise))
    found = hard_gates(torch.from_numpy(mu), torch.from_numpy(noise)).numpy()
    np.testing.assert_array_equal(found, literal)
    assert (found == 0).any()
    assert (found == 1).any()
    np.testing.assert_array_equal(hard_gates(torch.from_numpy(mu)), np.clip(0.5 + mu, 0, 1))


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_open_gates_are_counted_by_equation_3(sigma):
    mu = np.random.default_rng(0).normal(size=(6, 4))
    literal = 0.0
    for row in mu:
        for value in row:
            literal += (0.5 - 0.5 * erf(-(value + 0.5) / (math.sqrt(2) * sigma))) / len(mu)
    found = open_probability(torch.from_numpy(mu), sigma)
    assert float(found.sum()) / len(mu) == pytest.approx(literal, rel=1e-12)
    np.testing.assert_allclose(found, norm.cdf((mu + 0.5) / sigma), rtol=1e-12)


def test_the_regulariser_pulls_most_at_the_noise_of_the_paper():
    """Figure 4: φ(.5/σ)/σ, the slope at μ = 0, peaks at σ = 0.5, which is the noise that gates have."""
    sigmas = np.linspace(0.05, 2, 40)  # 0.05, 0.1, …
    slopes = []
    for sigma in sigmas:
        mu = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        open_probability(mu, float(sigma)).sum().backward()
        slopes.append(mu.grad.item())
    np.testing.assert_allclose(slopes, norm.pdf(0.5 / sigmas) / sigmas, rtol=1e-10)
    assert sigmas[np.argmax(slopes)] == pytest.approx(0.5)
    form = IDC()._model(3, generator()).form
    assert form.noise == form.sigma == 0.5


@pytest.mark.parametrize(("n", "d"), [(5, 12), (12, 5), (4, 4)])
def test_the_coding_rate_is_the_same_by_rows_and_by_columns(n, d):
    rows = np.random.default_rng(0).uniform(size=(n, d))
    scale = d / n
    literal = 0.5 * np.linalg.slogdet(np.eye(d) + scale * rows.T @ rows)[1]
    assert float(coding_rate(torch.from_numpy(rows), scale)) == pytest.approx(literal, rel=1e-12)


def test_gumbel_memberships_are_those_of_equation_5():
    logits = np.random.default_rng(0).normal(size=(40, 3))
    found = gumbel_softmax(torch.from_numpy(logits), 0.7, generator(5)).numpy()
    uniform = torch.rand(logits.shape, generator=generator(5)).double().numpy()
    gumbel = -np.log(-np.log(uniform))
    log_shares = log_softmax(logits, axis=1)
    np.testing.assert_allclose(found, softmax((log_shares + gumbel) / 0.7, axis=1), rtol=1e-6)
    # The largest of log π + g is a draw from π.
    many = gumbel_softmax(torch.tensor([[1.0, 0.0]]).expand(20_000, 2), 1.0, generator())
    assert float((many[:, 0] > 0.5).float().mean()) == pytest.approx(math.e / (1 + math.e), abs=0.015)


def literal_rates(points, shares, scale):
    """½ log det(I + λ₂ E_k[hhᵀ]) by loops."""
    rates = []
    for k in range(shares.shape[1]):
        mean = np.zeros((points.shape[1],) * 2)
        for h, share in zip(points, shares[:, k], strict=True):
            mean += share * np.outer(h, h) / max(shares[:, k].sum(), 1e-8)
        rates.append(0.5 * np.linalg.slogdet(np.eye(len(mean)) + scale * mean)[1])
    return np.array(rates)


def literal_directions(points, coding):
    """On the unit sphere; rays begin beside the points, as far away as these are from their mean."""
    if coding == "rays":
        points = points - points.mean(axis=0)
        away = np.sqrt((np.linalg.norm(points, axis=1) ** 2).mean())
        points = np.column_stack([points, np.full(len(points), away)])
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def test_the_head_minimises_equation_6():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 4))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    shares = rng.dirichlet(np.ones(3), size=30)
    tensors = torch.from_numpy(points), torch.from_numpy(shares)
    rates = literal_rates(points, shares, 40.0)
    weighted = sum(share * rate for share, rate in zip(shares.mean(axis=0), rates, strict=True))
    assert float(head_loss(*tensors, 40.0)) == pytest.approx(weighted, rel=1e-12)
    hard = np.eye(3)[shares.argmax(axis=1)]
    printed = literal_rates(points, hard, 40.0).sum()
    assert float(head_loss(*tensors, 40.0, printed=True)) == pytest.approx(printed, rel=1e-12)
    # The arg max has no gradient; that of the memberships stands for it.
    given = tensors[1].clone().requires_grad_()
    head_loss(tensors[0], given, 40.0, printed=True).backward()
    assert given.grad.abs().max() > 0


def test_a_cluster_with_less_than_one_row_has_the_mean_of_its_share():
    """Memberships of 0.02 to 0.1 in five rows are weights as any; without any the rate is 0."""
    points = literal_directions(np.random.default_rng(0).normal(size=(5, 3)), "weighted")
    shares = np.linspace([0.98, 0.02, 0.0], [0.9, 0.1, 0.0], 5)
    assert 0 < shares[:, 1].sum() < 1
    found = cluster_coding_rates(torch.from_numpy(points), torch.from_numpy(shares), 40.0).numpy()
    np.testing.assert_allclose(found, literal_rates(points, shares, 40.0), rtol=1e-10, atol=1e-14)
    assert found[2] == 0


def test_mu_is_bounded_and_finds_back():
    mu = torch.tensor([-3.0, -0.5, 0.5, 3.0, -3.0, 3.0], requires_grad=True)
    found = bounded(mu)
    np.testing.assert_array_equal(found.detach(), [-1.0, -0.5, 0.5, 1.0, -1.0, 1.0])
    # Descent goes against the gradient: away from the bounds it stops, back it goes.
    found.backward(torch.tensor([1.0, 1.0, -1.0, -1.0, -1.0, 1.0]))
    np.testing.assert_array_equal(mu.grad, [0.0, 1.0, -1.0, 0.0, -1.0, 1.0])


@pytest.mark.parametrize(("d", "n_hidden", "parts"), [(100, 64, (1.0, 1.0)), (7840, 2048, (0.1, 0.25))])
def test_gates_of_wide_tables_learn_slowly(d, n_hidden, parts):
    network = gating_network(d, n_hidden, d, generator())
    rates = {id(group["params"][0]): group["lr"] for group in learning_rates(network, 0.01, few_rows=False)}
    assert len(rates) == len(list(network.parameters()))
    for layer, part in zip((network[0], network[2]), parts, strict=True):
        assert rates[id(layer.weight)] == pytest.approx(0.01 * part)
        assert rates[id(layer.bias)] == 0.01


@pytest.mark.parametrize(("d", "n_hidden"), [(4, 8), (100, 64), (7840, 2048)])
def test_gates_of_few_rows_move_as_much_by_the_bias_as_by_the_weights(d, n_hidden):
    network = gating_network(d, n_hidden, d, generator())
    rates = {id(group["params"][0]): group["lr"] for group in learning_rates(network, 0.01, few_rows=True)}
    for layer, n_inputs in zip((network[0], network[2]), (d, n_hidden), strict=True):
        assert rates[id(layer.bias)] == pytest.approx(0.1)
        # A sum of inputs of size one moves by as many rates; no rate is above the usual one.
        assert rates[id(layer.weight)] == pytest.approx(min(0.01, 0.1 / n_inputs))


def test_directions_from_zero_and_from_beside_all_points():
    points = np.random.default_rng(1).normal(3.0, 2.0, size=(40, 3))
    from_zero = points / np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose(directions(torch.from_numpy(points), beside=False), from_zero, atol=1e-14)
    beside = literal_directions(points, "rays")
    np.testing.assert_allclose(directions(torch.from_numpy(points), beside=True), beside, atol=1e-14)
    assert not directions(torch.ones(5, 3), beside=True).isnan().any()


def test_clusters_of_few_rows_are_found_in_embeddings_wider_than_there_are_clusters():
    """Of as many axes as rows, if noise is as wide as clusters, all rows are equally far from each other."""
    rng = np.random.default_rng(8)
    y = np.repeat(np.arange(3), 14)
    X = rng.normal(size=(42, 300))
    for cluster in range(3):
        X[y == cluster, 20 * cluster : 20 * cluster + 20] += 2.5
    X = StandardScaler().fit_transform(X).astype(np.float32)
    model = IDC(3, embedding_dim=40, pretrain_epochs=60, epochs=60, random_state=0).fit(X)
    assert accuracy(y, model.labels_) == 1.0


def test_an_embedding_that_is_not_finite_is_told_before_clusters_are_sought():
    X = genes()[0]
    estimator = IDC(3, random_state=0)
    estimator._n_rows = len(X)
    model = module(X.shape[1], estimator)
    with torch.no_grad():
        model.autoencoder.encoder[-1].bias[0] = np.inf
    with pytest.raises(FloatingPointError, match="embedding is not finite: lower learning_rate"):
        model.begin_clusters(torch.from_numpy(X), generator())


def test_starts_of_few_rows_are_judged_and_begun_by_the_same_directions(monkeypatch):
    X = genes()[0]
    seen = []
    plain = head_starts.k_means

    def k_means(points, *others, **settings):
        seen.append(points)
        return plain(points, *others, **settings)

    monkeypatch.setattr(head_starts, "k_means", k_means)
    model = IDC(3, pretrain_epochs=5, epochs=20, random_state=0).fit(X)
    h = literal_directions(model.transform(X).astype(np.float64), "rays")
    assert len(set(model.labels_)) == 3
    assert model.scores_ == pytest.approx([-silhouette_score(h, model.labels_)], rel=1e-3)
    np.testing.assert_allclose(seen[0].double().numpy(), h, atol=1e-4)


def test_only_rays_tell_opposite_sides_apart():
    """Two clusters at ±e₁: from zero, the true halves cost no less than halves that mix them."""
    generator = np.random.default_rng(2)
    sides = np.repeat([1.0, -1.0], 50)
    points = torch.from_numpy(np.column_stack([5.0 * sides, np.zeros(100)]) + generator.normal(size=(100, 2)))
    true = torch.from_numpy(np.column_stack([sides > 0, sides < 0]).astype(float))
    mixed = torch.eye(2, dtype=torch.float64).repeat(50, 1)
    costs = {}
    for beside in (False, True):
        h = directions(points, beside=beside)
        costs[beside] = [float(head_loss(h, shares, 10.0 * h.shape[1])) for shares in (true, mixed)]
    assert costs[False][0] == pytest.approx(costs[False][1], rel=0.02)
    assert costs[True][0] < 0.8 * costs[True][1]


def test_as_printed_one_cluster_for_all_costs_less():
    """Ten orthonormal directions, λ₂ = 100: each its own cluster, or one for all."""
    points = torch.eye(10, dtype=torch.float64).repeat(5, 1)
    apart = torch.eye(10, dtype=torch.float64).repeat(5, 1)
    together = torch.zeros(50, 10, dtype=torch.float64)
    together[:, 0] = 1
    costs = {
        printed: [float(head_loss(points, shares, 100.0, printed=printed)) for shares in (apart, together)]
        for printed in (True, False)
    }
    assert costs[True] == pytest.approx([5 * math.log(101), 5 * math.log(11)])  # 23.1 and 12.0
    assert costs[False] == pytest.approx([0.5 * math.log(101), 5 * math.log(11)])  # 2.3 and 12.0


@pytest.mark.parametrize("form", ["paper", "released"])
def test_stage_1_is_the_literal_loss(table, form):
    settings = IDC(3, **SMALL, form=form)
    model = module(table.shape[1], settings)
    found = {name: float(value.detach()) for name, value in model.denoising_loss(batch_of(table)).items()}

    noise, sigma, diversity = (0.5, 0.5, 0.2) if form == "paper" else (0.25, 1.0, 0.01)
    n, d = table.shape
    model = module(d, settings)
    drawn = generator(3)
    x = torch.from_numpy(table)
    with torch.no_grad():
        kept = (torch.rand(x.shape, generator=drawn) >= 0.9).float()
        mu = model.gating(x).clamp(-1, 1)
        epsilon = noise * torch.randn(mu.shape, generator=drawn)
        gates = (0.5 + mu + epsilon).clamp(0, 1)
        # Batch normalisation sees all inputs of a step.
        z = model.autoencoder.encoder(torch.cat([x, x * kept, x * gates]))
        latent = 1 + 0.01 * torch.randn((n, z.shape[1]), generator=drawn)
        backs = model.autoencoder.decoder(torch.cat([z, z[:n] * latent])).double().numpy()
    mu, gates, rows = mu.double().numpy(), gates.double().numpy(), table.astype(np.float64)
    expected = {}
    for name, back in zip(("clean", "masked", "gated", "latent"), np.split(backs, 4), strict=True):
        errors = np.abs(back - rows) if form == "paper" else (back - rows) ** 2
        expected[name] = errors.sum() / n if form == "paper" else errors.mean()
    rising = 0.5 * (1 - math.cos(math.pi * 0.25))
    expected_open = norm.cdf((mu + 0.5) / sigma)
    opened = expected_open.sum() / n if form == "paper" else expected_open.mean()
    expected["open"] = 0.5 * rising * opened
    rate = 0.5 * np.linalg.slogdet(np.eye(d) + d / n * gates.T @ gates)[1]
    expected["diversity"] = -diversity * (d if form == "paper" else 1) * rate / n
    assert found == pytest.approx(expected, rel=1e-4)
    assert kept.mean() == pytest.approx(0.1, abs=0.03)


def test_the_autoencoder_begins_without_gates(table):
    model = module(table.shape[1], IDC(3, **SMALL))
    x = torch.from_numpy(table)
    terms = model.ungated_loss(batch_of(table))
    with torch.no_grad():
        back = module(table.shape[1], IDC(3, **SMALL)).autoencoder(x)[1]
    assert set(terms) == {"clean"}
    assert float(terms["clean"].detach()) == pytest.approx(float((back - x).abs().sum() / len(x)), rel=1e-5)


@pytest.mark.parametrize("coding_of", ["rays", "weighted"])
def test_stage_2_is_the_literal_loss(table, coding_of):
    settings = IDC(3, **SMALL, global_sparsity=0.4, coding=coding_of)
    model = module(table.shape[1], settings)
    coding = model.clustering_loss(batch_of(table))
    other = model.global_loss(batch_of(table))
    twin = module(table.shape[1], settings)
    x = torch.from_numpy(table)
    drawn = generator(3)
    with torch.no_grad():
        twin.eval()
        gates = twin.gating(x).add(0.5).clamp(0, 1)
        h = twin.autoencoder.encoder(x * gates)
        twin.train()
        logits = twin.head(h)  # moves its statistics, as the first loss did
        shares = gumbel_softmax(logits, 1.0, drawn).double().numpy()
        twin.eval()
        labels = twin.head(h).argmax(dim=1)
        mu = twin.global_mu[labels]
        global_gates = (0.5 + mu + 0.5 * torch.randn(mu.shape, generator=generator(3))).clamp(0, 1)
        twin.train()
        found = twin.classifier(x * gates * global_gates)
        entropy = -found.log_softmax(dim=1)[torch.arange(len(x)), labels].mean()
    points = literal_directions(h.double().numpy(), coding_of)
    rates = literal_rates(points, shares, points.shape[1] / 0.1)
    assert float(coding["coding"].detach()) == pytest.approx(float(shares.mean(axis=0) @ rates), rel=1e-4)
    assert float(other["classifier"].detach()) == pytest.approx(float(entropy), rel=1e-4)
    rising = 0.5 * (1 - math.cos(math.pi * 0.25))
    opened = norm.cdf((mu.double().numpy() + 0.5) / 0.5).sum() / len(x)
    assert float(other["global open"].detach()) == pytest.approx(0.4 * rising * opened, rel=1e-4)


def test_the_price_of_gates_rises_along_a_cosine():
    model = IDC(sparsity=2.0)._model(4, generator())
    prices = [float(model.sparsity.weight(done)) for done in (0.0, 0.25, 0.5, 1.0)]
    assert prices == pytest.approx([0.0, 2 * 0.5 * (1 - math.cos(math.pi / 4)), 1.0, 2.0])


# --- the two stages --------------------------------------------------------------------------------


def state(model):
    return {name: tensor.numpy().copy() for name, tensor in model.model_.state_dict().items()}


@collapse_may_be
def test_clusters_leave_gates_and_encoder_alone(table):
    first, both = (IDC(3, **{**SMALL, "epochs": epochs}).fit(table) for epochs in (0, 3))
    one, other = state(first), state(both)
    moved = {name.split(".")[0] for name in one if not np.array_equal(one[name], other[name])}
    assert moved == {"head", "classifier", "global_mu", "centers"}
    assert list(both.history_) == ["autoencoder", "gates", "clusters"]
    assert {phase: len(next(iter(terms.values()))) for phase, terms in both.history_.items()} == {
        "autoencoder": 1,
        "gates": 4,
        "clusters": 3,
    }
    assert set(both.history_["gates"]) == {"open", "diversity", "clean", "masked", "gated", "latent"}
    assert set(both.history_["clusters"]) == {"coding", "classifier", "global open"}
    assert both.model_.cache is None


def test_rates_of_what_learns_in_each_phase():
    """The head's is 10 and that of the clusters' gates 100 times as large; two fall to a thousandth."""
    model = IDC(3, **{**SMALL, "pretrain_epochs": 15}, learning_rate=0.002)._model(6, generator())
    first, second, third = model.phases()
    assert (first.epochs, second.epochs, third.epochs) == (2, 13, 3)
    rates = []
    for update in (*first.updates, *second.updates, *third.updates):
        falls = update.schedule or (lambda done: 1.0)
        rates.append([update.optimizer.learning_rate * falls(done) for done in (0.0, 0.5, 1.0)])
    expected = [
        [0.002, 0.002, 0.002],  # the autoencoder, alone
        [0.002, 0.001001, 0.000002],  # with gates
        [0.02, 0.01001, 0.00002],  # the head
        [0.2, 0.2, 0.2],  # the gates of clusters
    ]
    np.testing.assert_allclose(rates, expected, rtol=1e-9)


@collapse_may_be
def test_an_autoencoder_that_has_learned_is_not_taught_without_gates_again(table):
    """Gates learn for as many epochs as they would otherwise."""
    taught = IDC(3, **SMALL).fit(table)
    again = IDC(3, **{**SMALL, "epochs": 1}, autoencoder=taught).fit(table)
    for model, n_epochs in ((taught, 1), (again, 0)):
        assert len(model.history_["autoencoder"].get("clean", [])) == n_epochs
        assert len(model.history_["gates"]["clean"]) == 4


class EmptyLast(IDC):
    """No row is in the last cluster, whose gates alone are all open."""

    def _model(self, n_features, generator):
        model = super()._model(n_features, generator)
        with torch.no_grad():
            model.head[-1].bias.copy_(torch.tensor([0.0, 0.0, -50.0]))
            model.global_mu.fill_(-1.0)
            model.global_mu[:2, 1] = model.global_mu[2] = 1.0
        return model


@collapse_may_be
def test_gates_of_clusters_without_rows_select_no_columns(table):
    model = EmptyLast(3, **{**SMALL, "epochs": 0}, gates=False).fit(table)
    assert 2 not in model.labels_
    np.testing.assert_array_equal(model.global_gates_, [[0, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [1] * 6])
    np.testing.assert_array_equal(model.selected_features_, [1])


@collapse_may_be
def test_without_gates(table, tmp_path):
    model = IDC(3, gates=False, **SMALL).fit(table)
    assert not any(name.startswith("gating") for name in model.model_.state_dict())
    assert list(model.history_) == ["autoencoder", "denoising", "clusters"]
    assert set(model.history_["denoising"]) == {"clean", "masked", "latent"}
    np.testing.assert_array_equal(model.local_gates(table), np.ones_like(table))
    assert wc.explain(model, table).shape == table.shape
    assert model.global_explanation().shape == (3, 6)
    driving = model.global_gates_[np.unique(model.labels_)]
    np.testing.assert_array_equal(model.selected_features_, np.flatnonzero((driving > 0.5).any(axis=0)))
    assert 0 < len(model.selected_features_) < 6  # local gates are all open, and would select all columns
    for cluster in np.unique(model.labels_):
        center = model.transform(table)[model.labels_ == cluster].mean(axis=0)
        np.testing.assert_allclose(model.cluster_centers_[cluster], center, rtol=1e-4, atol=1e-6)
    told = "method='gates' reads the gates of a model, but this IDC has none: .* without gates=False"
    with pytest.raises(TypeError, match=told):
        wc.explain(model, table, method="gates")
    again = wc.load(wc.save(model, tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.predict(table), model.labels_)
    with pytest.raises(ValueError, match="n_features=3 counts gates, but gates=False"):
        clone(model).set_params(n_features=3).fit(table)


@collapse_may_be
def test_a_temperature_for_a_fit_to_come_changes_no_answer(table, tmp_path):
    model = IDC(3, **SMALL, temperature=0.5).fit(table)
    shares, evidence = model.predict_proba(table), wc.explain(model, table).evidence
    model.set_params(temperature=7.0)
    again = wc.load(wc.save(model, tmp_path / "m.npz"))
    for one in (model, again):
        np.testing.assert_allclose(one.predict_proba(table), shares, rtol=1e-5)
        np.testing.assert_allclose(wc.explain(one, table).evidence, evidence, rtol=1e-5)
    assert model.temperature == 7.0
    assert again.temperature == 0.5  # of the fit
    logits = model.model_.logits(torch.from_numpy(model.transform(table))).detach().numpy()
    np.testing.assert_allclose(shares, softmax(logits / 0.5, axis=1), rtol=1e-4)


@collapse_may_be
def test_all_rows_at_once(table):
    whole, counted = (IDC(3, **{**SMALL, "batch_size": size}).fit(table) for size in (None, len(table)))
    assert whole.history_ == counted.history_
    np.testing.assert_array_equal(whole.labels_, counted.labels_)
    larger = IDC(3, **{**SMALL, "batch_size": 10 * len(table)}).fit(table)
    assert larger.history_ == whole.history_


@collapse_may_be
def test_starts_are_compared_without_labels(table):
    for chosen_by in ("silhouette", "loss"):
        model = IDC(3, **SMALL | {"epochs": 10}, chosen_by=chosen_by).fit(table)
        z = literal_directions(model.transform(table).astype(np.float64), "rays")
        assert len(set(model.labels_)) == 3
        hard = np.eye(3)[model.labels_]
        expected = {
            "silhouette": -silhouette_score(z, model.labels_),
            "loss": float(hard.mean(axis=0) @ literal_rates(z, hard, 40.0)),
        }
        assert model.scores_ == pytest.approx([expected[chosen_by]], rel=1e-4)


@collapse_may_be
def test_a_single_cluster_is_the_worst_start(table):
    model = IDC(3, **SMALL).fit(table)
    assert len(set(model.labels_)) == 1
    assert model.scores_ == [1.0]


@pytest.mark.parametrize("prefers", ["loss", "members"])
def test_the_best_start_of_a_head_is_kept(prefers):
    """Fewest empty clusters first, then the lowest loss; here empty clusters are the cheapest."""
    points = torch.randn(6, 2, generator=generator(1))
    head = dense([2, 4, 2 if prefers == "loss" else 5], "relu", batch_norm=True)
    seen = []

    def final(logits):
        empty = logits.shape[1] - len(logits.argmax(dim=1).unique())
        cost = float((len(seen) - 3) ** 2) if prefers == "loss" else -float(empty)
        seen.append((empty, cost, snapshot(head)))
        return torch.tensor(cost)

    best_start(
        head,
        points,
        lambda rows, logits: logits.square().sum() * len(rows),
        final,
        starts=12,
        steps=1,
        batch_size=4,
        optimizer=lambda: torch.optim.SGD(head.parameters(), lr=1e-3),
        generator=generator(),
    )
    assert len(seen) == 12
    best = min(seen, key=lambda start: start[:2])
    assert best is not seen[-1]
    if prefers == "members":
        assert len({start[0] for start in seen}) > 1
    for name, value in best[2].items():
        np.testing.assert_array_equal(head.state_dict()[name], value, err_msg=name)


def test_a_head_may_begin_with_k_means():
    """It has their clusters, which are those of the directions; the points are only what the head sees."""
    rng = np.random.default_rng(0)
    members = np.repeat([0, 1, 2], [30, 20, 10])
    seen = np.eye(3)[members] + 0.01 * rng.normal(size=(60, 3))
    points = torch.from_numpy(
        (3.0 * np.eye(3)[:, [1, 2, 0]][members] + rng.normal(size=(60, 3))).astype("f4")
    )
    head = dense([3, 16, 3], "relu", batch_norm=True)
    k_means_start(
        head,
        points,
        torch.from_numpy(seen.astype(np.float32)),
        steps=60,
        batch_size=1024,
        optimizer=lambda: torch.optim.Adam(head.parameters(), lr=1e-2),
        generator=generator(),
    )
    labels = head(points).argmax(dim=1).numpy()
    counts = np.zeros((3, 3))
    np.add.at(counts, (members, labels), 1)
    assert counts[linear_sum_assignment(-counts)].sum() >= 58
    assert all(parameter.grad is None or not parameter.grad.any() for parameter in head.parameters())


def test_k_means_begins_ten_times_from_seeds_of_the_fit(monkeypatch):
    """So it finds nine blobs, which a single run may miss, and another fit parts mere noise otherwise."""
    plain, seen = head_starts.k_means, []

    def k_means(*arguments, **settings):
        found = plain(*arguments, **settings)
        seen.append(found[1].numpy())
        return found

    monkeypatch.setattr(head_starts, "k_means", k_means)

    def labels_of(points, n_clusters, seed):
        head = dense([2, 4, n_clusters], "relu", batch_norm=True)
        x = torch.from_numpy(points.astype(np.float32))
        common = {"steps": 1, "batch_size": 8, "generator": generator(seed)}
        k_means_start(head, x, x, optimizer=lambda: torch.optim.SGD(head.parameters(), lr=0.1), **common)
        return seen[-1]

    rng = np.random.default_rng(21)
    members = np.repeat(np.arange(9), 8)
    blobs = 6.0 * np.stack([members % 3, members // 3], axis=1) + rng.normal(size=(72, 2))
    single = KMeans(9, n_init=1, random_state=0).fit(blobs.astype(np.float32)).labels_
    assert len(set(zip(members, single, strict=True))) > 9  # it parts a blob
    for seed in range(8):
        assert len(set(zip(members, labels_of(blobs, 9, seed), strict=True))) == 9
    noise = rng.uniform(size=(200, 2))
    one, same, other = (labels_of(noise, 12, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_a_head_that_begins_anew_has_forgotten_all_rows():
    """It is one that never saw any, down to the means and variances by which batches are normalised."""
    used, new = (dense([2, 4, 3], "relu", batch_norm=True) for _ in range(2))
    used.train()(5.0 + 3.0 * torch.randn(20, 2, generator=generator(1)))
    for head in (used, new):
        begin_head(head, generator())
    found = used.state_dict()
    assert any(name.endswith("running_mean") for name in found)
    for name, value in new.state_dict().items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def accuracy(y, labels):
    counts = np.zeros((4, 4))
    np.add.at(counts, (y, labels), 1)
    return counts[linear_sum_assignment(-counts)].sum() / len(y)


def test_the_synthetic_set(tmp_path):
    """Appendix I: two columns tell the clusters of each pair apart."""
    X, y, informative = make_idc_synthetic(1200, random_state=0)
    model = IDC(4, pretrain_epochs=60, epochs=15, random_state=0).fit(X)
    assert accuracy(y, model.labels_) >= 0.99
    opened, wanted = model.local_gates(X) > 0, informative[y]
    precision, recall = (opened & wanted).sum() / opened.sum(), (opened & wanted).sum() / wanted.sum()
    assert 2 * precision * recall / (precision + recall) >= 0.88
    np.testing.assert_array_equal(model.selected_features_, [0, 1, 2])
    assert model.n_open_ == pytest.approx(opened.sum(axis=1).mean())
    # Rows that it has not seen.
    X, y, _ = make_idc_synthetic(400, random_state=1)
    assert accuracy(y, model.predict(X)) >= 0.97


@pytest.fixture(scope="module")
def alike():
    """Three hidden directions, 16 columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3)) @ rng.normal(size=(3, 16))
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)


SEARCH = {"hidden": (32,), "epochs": 1, "pretrain_epochs": 100, "batch_size": 48, "random_state": 0}
SEARCH["learning_rate"] = 3e-3  # gates move by it, and there are few steps


@pytest.mark.parametrize(("wanted", "low", "high"), [(3, 2, 4.5), (9, 7, 11)])
@collapse_may_be
def test_a_number_of_features_is_reached(alike, wanted, low, high):
    model = IDC(3, **SEARCH, n_features=wanted).fit(alike)
    assert low <= model.n_open_ <= high
    assert model.sparsity_ != 0.5


@collapse_may_be
def test_a_number_of_features_is_reached_in_a_short_fit():
    """Where λ looked ten epochs ahead whatever the length of a fit, 15 gates were open here."""
    X = (load_digits().data[:600] / 16.0).astype(np.float32)
    settings = {"pretrain_epochs": 30, "epochs": 1, "batch_size": 20, "random_state": 0}
    assert IDC(10, n_features=6, **settings).fit(X).n_open_ == pytest.approx(6, abs=1.5)


@pytest.mark.parametrize(("n_epochs", "ahead"), [(40, 3.0), (120, 9.0), (135, 10.0), (1000, 10.0)])
def test_lambda_follows_the_gates_that_will_be_open(n_epochs, ahead):
    """λ times (coming / wanted)^0.3, where the last change goes on for a share of the phase, ten at most."""

    class Gates:
        n_gate_epochs = n_epochs
        count = 0

        def local_gates(self, rows):
            return (torch.arange(100) < self.count).float().expand(len(rows), 100)

    model, sparsity = Gates(), Sparsity(IDC(2, n_features=20), 100)
    lam = 0.25
    for before, now in ((0, 50), (50, 48), (48, 49), (49, 47)):
        model.count = now
        sparsity.follow(model, torch.zeros(7, 100), n_epochs // 2)
        coming = now * (now / before) ** ahead if before else now
        lam *= min(max((coming / 20) ** 0.3, 1 / 1.5), 1.5)
        assert float(sparsity.lam) == pytest.approx(lam, rel=1e-6)


@pytest.mark.parametrize(("count", "bound"), [(100, 1e2), (0, 1e-4)])
def test_lambda_stays_within_bounds(count, bound):
    """However long all gates are open, or none is."""

    class Gates:
        n_gate_epochs = 40

        def local_gates(self, rows):
            return (torch.arange(100) < count).float().expand(len(rows), 100)

    sparsity = Sparsity(IDC(2, n_features=20), 100)
    for _ in range(30):
        sparsity.follow(Gates(), torch.zeros(2, 100), 30)
    assert float(sparsity.lam) == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize(
    ("clean", "gated", "factor"),
    [
        (0.2, 0.2, math.exp(3.0 * (1.0 - 0.9))),  # gated rows lose nothing: gates may cost more
        (0.2, 0.32, math.exp(3.0 * (0.85 - 0.9))),  # 0.68 of 0.8 are kept, and 0.9 of them should be
        (1.0, 0.5, 1.0),
        (3.0, 0.5, 1.0),
        (3.0, 9.0, 1.0),
    ],
)
def test_lambda_waits_for_an_autoencoder_that_beats_the_mean(clean, gated, factor):
    """Errors are in units of that of the mean row."""

    class Coder:
        n_gate_epochs = 10

        def autoencoder(self, rows):
            return rows, (1.0 - clean) * rows

        def embed(self, rows):
            return rows

        def decode(self, rows):
            return (1.0 - gated) * rows

        def error(self, rows, back):
            return (rows - back).abs().mean()

    sparsity = Sparsity(IDC(2, n_features="auto"), 3)
    sparsity.follow(Coder(), torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]), 1)
    assert float(sparsity.lam) == pytest.approx(0.25 * factor, rel=1e-5)


@collapse_may_be
def test_few_features_are_found_where_few_suffice(alike):
    """The gates that are left restore nine tenths of what can be restored."""
    model = IDC(3, **SEARCH, n_features="auto").fit(alike)
    assert model.n_open_ < 12
    x, network = torch.from_numpy(alike), model.model_
    with torch.no_grad():
        clean = network.autoencoder(x)[1]
        gated = network.decode(network.embed(x))
        errors = [float(network.error(x, back)) for back in (x.mean(dim=0).expand_as(x), gated, clean)]
    assert (errors[0] - errors[1]) / (errors[0] - errors[2]) == pytest.approx(0.9, abs=0.05)


@collapse_may_be
def test_a_number_that_was_not_reached_is_told(alike):
    told = r"n_features=2 was asked for, but .* gates of a row are open on average: train longer"
    with pytest.warns(UserWarning, match=told):
        IDC(3, **{**SEARCH, "pretrain_epochs": 3}, n_features=2).fit(alike)


# --- groups ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_rows", "seen"), [(7, 7), (1024, 1024), (1025, 513), (2047, 1024), (5000, 1000)])
def test_open_gates_are_counted_on_1024_rows_at_most(n_rows, seen):
    class Gates:
        n_gate_epochs = 10

        def local_gates(self, rows):
            assert len(rows) == seen
            return torch.ones(len(rows), 2)

    data = torch.zeros(n_rows, 2)
    Sparsity(IDC(2, n_features=1), 2).follow(Gates(), data, 1)


@collapse_may_be
def test_columns_of_a_group_open_together(table, tmp_path):
    model = IDC(3, **SMALL, groups=[[1, 4], [0, 5, 2]]).fit(table)
    np.testing.assert_array_equal(model.column_groups_, [1, 0, 1, 2, 0, 1])
    gates = model.local_gates(table)
    np.testing.assert_array_equal(gates[:, 1], gates[:, 4])
    np.testing.assert_array_equal(gates[:, [0, 0]], gates[:, [5, 2]])
    assert (gates[:, 0] != gates[:, 1]).any()
    np.testing.assert_array_equal(model.global_gates_[:, 1], model.global_gates_[:, 4])
    again = wc.load(wc.save(model, tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.local_gates(table), gates)
    # A group costs as much as a column: three gates are counted.
    assert model.model_.opened(torch.full((5, 3), 10.0)) == pytest.approx(3.0)
    assert not hasattr(clone(model).set_params(groups=None).fit(table), "column_groups_")


@pytest.mark.parametrize(("n", "n_groups"), [(100, 3), (50, 1), (8, 12)])
def test_the_coding_rate_of_shared_gates(n, n_groups):
    """Thousands of columns that are alike: by columns, single precision has no determinant of them."""
    d = 5000
    members = np.arange(d) % n_groups
    model = IDC(2, hidden=(4,), groups=[list(np.flatnonzero(members == one)) for one in range(n_groups)])
    model._prepare(np.zeros((n, d), dtype=np.float32))
    network = model._model(d, generator())
    mu = torch.randn((n, n_groups), generator=generator(1)) / 2
    gates = hard_gates(mu)
    spread = gates.double().numpy()[:, members]
    literal = 0.5 * np.linalg.slogdet(np.eye(n) + d / n * spread @ spread.T)[1]
    found = float(network.gate_terms(mu, gates, 0.5)["diversity"])
    assert found == pytest.approx(-0.2 * d * literal / n, rel=1e-4)


def test_groups_by_correlation(table):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(200, 3))
    X = np.column_stack(
        [base[:, 0], base[:, 1], -2 * base[:, 0] + 0.01 * base[:, 2], np.ones(200), base[:, 2]]
    )
    np.testing.assert_array_equal(correlated(X), [0, 1, 0, 2, 3])
    model = IDC(2, **SMALL, groups="correlation")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(model.fit(X).column_groups_, [0, 1, 0, 2, 3])


def test_a_column_stays_in_the_first_group_that_it_is_like():
    """Three columns at 0, 20 and 40 degrees: the second is like both others, which are not alike."""
    axes = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    angles = np.deg2rad([0.0, 20.0, 40.0])
    X = axes @ np.stack([np.cos(angles), np.sin(angles)])
    np.testing.assert_allclose(np.corrcoef(X.T)[1], [np.cos(angles[1]), 1, np.cos(angles[1])])
    np.testing.assert_array_equal(correlated(X), [0, 0, 1])


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ("alike", "groups='alike', expected None, 'correlation', or lists"),
        ([1, 2], r"groups=\[1, 2\], expected None, 'correlation', or lists"),
        ([[0, 6]], "groups has 6, expected positions of columns from 0 to 5"),
        ([[0, 1], [1, 2]], "groups has the column 1 twice"),
        (
            [["height"]],
            r"groups has 'height', expected positions of columns from 0 to 5, for X came without names: give "
            r"positions, or, in a Pipeline, .*: pipeline.set_output\(transform=\"pandas\"\).$",
        ),
        (iter([[0, 1]]), "groups=<list_iterator .*expected None, 'correlation', or lists"),
    ],
)
def test_groups_that_make_no_sense(table, groups, told):
    with pytest.raises(ValueError, match=told):
        IDC(3, **SMALL, groups=groups).fit(table)


@collapse_may_be
def test_groups_by_name(table):
    import pandas as pd

    frame = pd.DataFrame(table, columns=list("abcdef"))
    model = IDC(3, **SMALL, groups=[["b", "e"]]).fit(frame)
    assert model.column_groups_[1] == model.column_groups_[4]
    told = "groups has 'bb', expected positions of columns from 0 to 5, or their names: did you mean 'b'?"
    with pytest.raises(ValueError, match=re.escape(told)):
        IDC(3, **SMALL, groups=[["bb", "e"]]).fit(frame)
    behind = make_pipeline(StandardScaler(), clone(model))
    with pytest.raises(ValueError, match=r"groups has 'b', .* X came without names"):
        behind.fit(frame)
    behind.set_output(transform="pandas").fit(frame)  # as the sentence says
    assert behind[-1].column_groups_[1] == behind[-1].column_groups_[4]


# --- bad input -------------------------------------------------------------------------------------


def genes(n=60, d=240, seed=0):
    """Three clusters, each with 20 columns of its own that it raises; all others are noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d))
    for cluster in range(3):
        X[y == cluster, 20 * cluster : 20 * cluster + 20] += 2.5
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32), y


@collapse_may_be
def test_few_rows_take_a_linear_autoencoder_unless_layers_are_given(tmp_path):
    X = genes()[0]
    settings = {"pretrain_epochs": 2, "epochs": 1, "random_state": 0}
    linear, deep = IDC(3, **settings).fit(X), IDC(3, hidden=(8,), **settings).fit(X)
    assert [type(layer).__name__ for layer in linear.model_.autoencoder.encoder] == ["Linear"]
    assert deep.model_.autoencoder.encoder[0].out_features == 8
    many = IDC(3, **settings).fit(np.tile(X[:, :60], (1, 1)))  # as many columns as rows
    assert many.model_.autoencoder.encoder[0].out_features == 128
    again = wc.load(wc.save(linear, tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.predict_proba(X), linear.predict_proba(X))
    # A table with more rows is no longer one of few, whatever was fitted before.
    linear.fit(np.tile(X, (5, 1)))
    assert linear.model_.autoencoder.encoder[0].out_features == 256
    np.testing.assert_array_equal(wc.load(wc.save(linear, tmp_path / "n.npz")).labels_, linear.labels_)


def test_gates_of_few_rows_hold_for_new_rows():
    """They used to know their rows one by one: those of new rows were all open."""
    X, y = genes(90)
    settings = {"n_features": 30, "pretrain_epochs": 100, "epochs": 20, "batch_size": 15}
    model = IDC(3, **settings, random_state=0).fit(X[:60])
    assert 20 < model.n_open_ < 45
    new = (model.local_gates(X[60:]) > 0).sum(axis=1).mean()
    assert 20 < new < 45
    assert accuracy(y[60:], model.predict(X[60:])) == 1.0
    # Columns that tell nothing are shut.
    assert (model.cluster_gates_.max(axis=0) > 0.5)[60:].mean() < 0.05


def test_the_head_of_few_rows_sees_all_rows():
    """One that sees four rows of a cluster minimises something else: the loss of the table rises."""
    X = genes(120)[0]
    estimator = IDC(3, hidden=(8,), batch_size=8, epochs=2, random_state=0)
    estimator._n_rows = len(X)
    model = module(X.shape[1], estimator)
    assert model.few_rows
    x = torch.from_numpy(X)
    part = Batch(x[:8], torch.arange(8), x, 0, 0.0, generator(3))
    found = float(model.clustering_loss(part)["coding"].detach())
    twin = module(X.shape[1], estimator)
    drawn = generator(3)
    order = torch.randperm(len(x), generator=drawn)
    with torch.no_grad():
        twin.eval()
        z = twin.embed(x)
        twin.train()
        shares = gumbel_softmax(twin.head(z[order]), 1.0, drawn).double().numpy()
    points = literal_directions(z.double().numpy(), "rays")[order]
    rates = literal_rates(points, shares, points.shape[1] / 0.1)
    assert found == pytest.approx(float(shares.mean(axis=0) @ rates), rel=1e-4)


@pytest.mark.parametrize(("epochs", "begun"), [(2, 0), (30, 1)])
@collapse_may_be
def test_k_means_teaches_a_head_of_few_rows_by_all_of_them(monkeypatch, epochs, begun):
    """Steps of stage 2 that would be less than ten leave none for the start."""
    seen = []
    monkeypatch.setattr(
        gated_clustering,
        "k_means_start",
        lambda *_, steps, batch_size, **__: seen.append((steps, batch_size)),
    )
    IDC(3, pretrain_epochs=2, epochs=epochs, batch_size=40, random_state=0).fit(genes()[0])
    assert seen == [(2 * epochs // 10, 1024)] * begun


@pytest.mark.parametrize("most", [50, 2000])
def test_the_silhouette_of_a_start_is_that_of_every_so_many_rows(table, monkeypatch, most):
    monkeypatch.setattr(idc, "_MOST_ROWS", most)
    model = IDC(3, **SMALL | {"epochs": 10}).fit(table)
    step = 3 if most == 50 else 1
    h = literal_directions(model.transform(table).astype(np.float64), "rays")[::step]
    assert model.scores_ == pytest.approx([-silhouette_score(h, model.labels_[::step])], rel=1e-4)


@pytest.mark.parametrize("n_columns", [3, 40])
def test_rows_that_are_all_alike_end_in_one_cluster_and_a_warning(n_columns):
    X = np.ones((20, n_columns), dtype=np.float32)
    settings = {"epochs": 20, "pretrain_epochs": 5, "batch_size": 10, "random_state": 0}
    with pytest.warns(UserWarning, match="The clusters have collapsed: 2 of 3 clusters are empty"):
        model = IDC(3, **settings).fit(X)
    assert len(set(model.labels_)) == 1
    assert len(model.empty_clusters_) == 2
    for values in (model.predict_proba(X), model.global_gates_, wc.explain(model, X).values):
        assert np.isfinite(values).all()


@collapse_may_be
@pytest.mark.filterwarnings("ignore:Every row has the same number in 1 column")
def test_few_rows_and_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 300)).astype(np.float32)
    X[:, 7] = 5.0  # constant
    model = IDC(2, batch_size=None, epochs=3, pretrain_epochs=4, random_state=0).fit(X)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(wc.explain(model, X).values).all()
    assert model.local_gates(X).shape == X.shape


@collapse_may_be
def test_columns_of_one_number_and_of_large_ones_are_told(table):
    frame = pd.DataFrame(table, columns=[f"gene {column}" for column in range(table.shape[1])])
    with pytest.warns(UserWarning, match=r"same number in 2 columns \('seven', 'one'\)\. That tells nothing"):
        IDC(2, **SMALL).fit(frame.assign(seven=7.0, zero=0.0, one=1.0))
    with pytest.warns(UserWarning, match=r"numbers of 'x1' are spread by .* by 1 at most\. Large ones"):
        IDC(2, **SMALL).fit(
            StandardScaler().fit_transform(frame) @ np.diag([1, 101, *[1] * (table.shape[1] - 2)])
        )


def test_steps_have_fewer_rows_where_a_table_has_fewer_rows_than_columns(table):
    wide = np.random.default_rng(0).normal(size=(40, 60)).astype(np.float32)
    settings = {**SMALL, "batch_size": "auto", "epochs": 1, "pretrain_epochs": 1, "hidden": (4,)}
    for X, size in ((wide, 16), (table, 100)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = IDC(2, **settings).fit(X), IDC(2, **{**settings, "batch_size": size}).fit(X)
        assert found.model_.batch_size == size
        np.testing.assert_array_equal(found.model_.global_mu.detach(), expected.model_.global_mu.detach())


def test_words_in_a_table_are_told_with_their_place(table):
    frame = pd.DataFrame(table).assign(sex=["m", "f"] * (len(table) // 2))
    told = r"X holds 'm' in row 0, column 'sex', expected numbers: encode the column \(a Pipeline"
    for given in (frame, frame.rename(columns=str)):
        with pytest.raises(ValueError, match=told):
            IDC(2, **SMALL).fit(given)
    with pytest.raises(ValueError, match=r"X holds 'f' in row 1, column 'x1', expected numbers"):
        IDC(2, **SMALL).fit(np.array([[1.0, 2.0], [3.0, "f"]], dtype=object))


def test_an_automatic_number_that_was_not_found_is_told():
    (told,) = of_number("auto", 1994.0, 2000, True)
    assert "'auto' found no number: with 1994 of 2000 gates open" in told
    assert "Ask for a number, as n_features=20, or" in told
    assert list(of_number("auto", 12.0, 2000, False)) == []
    assert "smaller batches (batch_size)." in next(of_number(20, 9.7, 2000, False))
    search = Sparsity(IDC(3, n_features="auto"), 200)
    assert not search.is_free
    search.lam.fill_(1e-4)
    assert search.is_free


def test_gates_of_clusters_that_say_nothing_are_told():
    rows, used = np.full((3, 4), 0.45), np.array([0, 2])
    rows[1] = 1.0  # of a cluster without rows
    (told,) = of_clusters(rows, used, 0.1)
    assert told.startswith("The gates of clusters have hardly moved: all lie between 0.45 and 0.45")
    rows[2, 0] = 0.56
    assert list(of_clusters(rows, used, 0.1)) == []
    rows[0] = 0.0
    (told,) = of_clusters(rows, used, 0.1)
    assert told.startswith(
        "The gates of 1 cluster are all shut (0), so they name no columns: lower global_spars"
    )


class OpenGates(IDC):
    """Gates that begin far beyond open, so that the noise of a few steps shuts none."""

    def _model(self, n_features, generator):
        model = super()._model(n_features, generator)
        torch.nn.init.constant_(model.gating[-1].bias, 50.0)
        return model


def test_gates_that_are_all_shut_or_all_open_are_reported(table):
    told = r"The gates have collapsed: all are shut .*lower sparsity \(it was 1e\+04\)"
    settings = {**SMALL, "pretrain_epochs": 60, "epochs": 2, "learning_rate": 1e-2}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The clusters")
        with pytest.warns(UserWarning, match=told) as seen:
            model = IDC(2, **settings, sparsity=1e4, diversity=0.0).fit(table)
        assert {one.filename for one in seen} == {__file__}  # where the user fitted it
        assert model.n_open_ == 0
        assert len(model.selected_features_) == 0
        assert not wc.explain(model, table).values.any()
        with pytest.warns(UserWarning, match=r"all are open for all rows.*raise sparsity \(it was 0\)"):
            model = OpenGates(2, **SMALL, sparsity=0.0, diversity=0.0).fit(table)
        np.testing.assert_array_equal(model.local_gates(table), np.ones_like(table))
        assert len(model.selected_features_) == table.shape[1]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"n_features": 0}, "n_features=0, expected a whole number, 1 or more"),
        ({"n_features": "some"}, "n_features='some', expected None, 'auto' or a whole number"),
        ({"n_features": 7}, "n_features=7, more than the 6 columns of X"),
        ({"sparsity": -1}, "sparsity=-1, expected"),
        ({"global_sparsity": -1}, "global_sparsity=-1, expected"),
        ({"diversity": -1}, "diversity=-1, expected"),
        ({"temperature": 0}, "temperature=0, expected a number above zero"),
        ({"coding": "none"}, "coding='none' is unknown, expected one of rays, weighted, printed"),
        ({"form": "other"}, "form='other' is unknown, expected one of paper, released"),
        ({"chosen_by": "accuracy"}, "chosen_by='accuracy' is unknown, expected one of silhouette, loss"),
        ({"batch_size": 0}, "batch_size=0, expected"),
        ({"batch_size": "all"}, "batch_size='all', expected None, 'auto' or a whole number"),
        ({"batch_size": 1}, "batch_size=1 leaves steps of a single one of 120 rows"),
        ({"batch_size": 1, "batch_norm": False}, "batch_size=1 leaves steps of a single one of 120 rows"),
        ({"gates": "no"}, "gates='no', expected True or False"),
        ({"gates": None}, "gates=None, expected True or False"),
    ],
)
def test_settings_that_make_no_sense(table, settings, told):
    model = IDC(3, **{**SMALL, **settings})
    with pytest.raises(ValueError, match=told):
        model.fit(table)
    assert not hasattr(model, "labels_")


# --- other models, presets, images -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "epochs"),
    [
        ("synthetic", (4, 50, 2000, 800)),
        ("mnist", (10, 300, 600, 256)),
        ("mnist10k", (10, 300, 700, 100)),
        ("fashion-mnist", (10, 100, 500, 256)),
        ("tox171", (4, 10000, 2000, None)),
        ("allaml", (2, 10000, 1000, None)),
        ("prostate_ge", (2, 10000, 1000, None)),
        ("srbct", (4, 2000, 1000, None)),
        ("biase", (4, 2000, 4000, None)),
        ("intestine", (13, 4000, 2000, None)),
        ("pbmc2", (2, 100, 200, 256)),
    ],
)
def test_presets_are_table_7(name, epochs):
    model = IDC.preset(name)
    assert (model.n_clusters, model.pretrain_epochs, model.epochs, model.batch_size) == epochs
    assert model.hidden == (512, 512, 2048)


@collapse_may_be
def test_its_autoencoder_serves_another_model(table, tmp_path):
    first = IDC(3, **SMALL).fit(table)
    second = DCN(3, autoencoder=first, epochs=1, pretrain_epochs=1, random_state=0).fit(table)
    again = wc.load(wc.save(second, tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.predict(table), second.labels_)
    assert again.batch_norm


@collapse_may_be
def test_it_is_a_step_before_another_clustering(table):
    model = make_pipeline(IDC(3, **SMALL), KMeans(4, n_init=1, random_state=0)).fit(table)
    np.testing.assert_array_equal(wc.neuralize(model, table).predict(table), model.predict(table))


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 7, 9), (2, 1, 5)])
def test_residual_autoencoders_give_back_the_shape(shape):
    network = residual_autoencoder(shape, 4, [3, 5], "relu")
    x = torch.randn(3, int(np.prod(shape)))
    z, back = network(x)
    assert z.shape == (3, 4)
    assert back.shape == x.shape


def normalised(x, layer):
    """Batch normalisation, with the means and variances it has seen."""
    mean, variance, weight, bias = (
        one[:, None, None] for one in (layer.running_mean, layer.running_var, layer.weight, layer.bias)
    )
    return (x - mean) / (variance + layer.eps) ** 0.5 * weight + bias


def smaller(x, block):
    """relu(BN(3×3(relu(BN(3×3, by two)))) + BN(1×1, by two)): a block of the encoder, written out."""
    first, first_norm, _, second, second_norm = block.layers
    across, across_norm = block.shortcut
    inner = normalised(F.conv2d(x, first.weight, stride=2, padding=1), first_norm).clamp_min(0)
    inner = normalised(F.conv2d(inner, second.weight, padding=1), second_norm)
    return (inner + normalised(F.conv2d(x, across.weight, stride=2), across_norm)).clamp_min(0)


def larger(x, block, rest):
    """The same for the decoder, where the second convolution and the shortcut are transposed."""
    first, first_norm, _, second, second_norm = block.layers
    across, across_norm = block.shortcut
    inner = normalised(F.conv2d(x, first.weight, padding=1), first_norm).clamp_min(0)
    inner = F.conv_transpose2d(inner, second.weight, stride=2, padding=1, output_padding=rest)
    shortcut = F.conv_transpose2d(x, across.weight, stride=2, output_padding=rest)
    return (normalised(inner, second_norm) + normalised(shortcut, across_norm)).clamp_min(0)


@torch.no_grad()
def test_residual_blocks_are_the_literal_ones():
    network = residual_autoencoder((2, 7, 8), 3, [4, 4], "relu").double()
    drawn = generator(5)
    for tensor in network.state_dict().values():
        if tensor.is_floating_point():  # also what batches are normalised by; variances are above zero
            tensor.copy_(0.1 + torch.rand(tensor.shape, generator=drawn, dtype=torch.float64))
    for weight in (tensor for tensor in network.parameters() if tensor.ndim > 1):
        weight.sub_(0.6)
    network.eval()
    x = torch.randn(5, 2, 7, 8, generator=drawn, dtype=torch.float64)
    z, back = network(x.flatten(1))

    _, first, _, second, _, _, embedding = network.encoder  # 7 × 8 to 4 × 4 to 2 × 2
    inner = smaller(smaller(x, first), second).flatten(1)
    expected = inner @ embedding.weight.T + embedding.bias
    assert float((z - expected).abs().max()) < 1e-10

    begin, _, _, block, _, last, _ = network.decoder
    inner = (expected @ begin.weight.T + begin.bias).clamp_min(0).unflatten(1, (4, 2, 2))
    inner = larger(inner, block, (1, 1))
    pixels = F.conv_transpose2d(inner, last.weight, last.bias, stride=2, padding=1, output_padding=(0, 1))
    assert pixels.shape == x.shape
    assert float((back - pixels.flatten(1)).abs().max()) < 1e-10
    assert (pixels < 0).any()  # nothing bounds them


@collapse_may_be
def test_images(tmp_path):
    from sklearn.datasets import load_digits

    images = load_digits().images[:80].astype(np.float32) / 16
    settings = {**SMALL, "hidden": (4, 6), "image_shape": (1, 8, 8)}
    model = IDC(3, **settings).fit(images)
    again = wc.load(wc.save(model, tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.predict(images), model.labels_)
    ex = wc.explain(model, images)
    assert ex.images.shape == (80, 8, 8)
    np.testing.assert_array_equal(ex.assigned, model.labels_)
    assert not ex.values[model.local_gates(images) == 0].any()


# --- interruption ----------------------------------------------------------------------------------


class KilledError(Exception):
    """Stands for a kill."""


@pytest.mark.filterwarnings("ignore:n_features=3 was asked for", "ignore:The (clusters|gates) have collapsed")
def test_a_search_goes_on_where_it_was_killed(table, tmp_path, monkeypatch):
    settings = {**SMALL, "n_features": 3, "groups": [[0, 1]], "checkpoint_every": 1}
    whole = IDC(3, **settings).fit(table)
    plain = Keeper.end_epoch
    for kill in (2, 4, 6):  # within the gates, after them, and among the clusters
        count = [0]

        def end_epoch(self, *arguments, count=count, kill=kill):
            plain(self, *arguments)
            count[0] += 1
            if count[0] == kill:
                raise KilledError

        path = tmp_path / f"{kill}.npz"
        with monkeypatch.context() as patch, pytest.raises(KilledError):
            patch.setattr(Keeper, "end_epoch", end_epoch)
            IDC(3, **settings, checkpoint=path).fit(table)
        again = IDC(3, **settings, checkpoint=path).fit(table)
        assert again.history_ == whole.history_
        assert again.sparsity_ == whole.sparsity_
        for name, value in state(whole).items():
            np.testing.assert_array_equal(state(again)[name], value, err_msg=f"{name}, killed after {kill}")


@collapse_may_be
def test_ctrl_c_leaves_a_whole_model(table, monkeypatch):
    plain, count = GatedClusteringModel.denoising_loss, [0]

    def loss(self, batch):
        count[0] += 1
        if count[0] > 6:  # four steps an epoch
            raise KeyboardInterrupt
        return plain(self, batch)

    monkeypatch.setattr(GatedClusteringModel, "denoising_loss", loss)
    with pytest.warns(UserWarning, match="Interrupted in epoch 2 of 4 of gates: the state of the last whole"):
        model = IDC(3, **SMALL).fit(table)
    assert len(model.history_["gates"]["gated"]) == 1
    assert model.history_["clusters"] == {}
    assert model.predict(table).shape == (120,)
    assert model.local_gates(table).shape == table.shape


def test_means_of_clusters_are_summed_in_double_precision():
    rows = np.random.default_rng(0).normal(20_011.7, size=(50_000, 2)).astype(np.float32)
    assert abs(float(rows.mean(axis=0)[0]) - 20_011.7) > 5
    np.testing.assert_allclose(_mean(rows, rows), rows.astype(np.float64).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(_mean(rows[:0], rows), rows.astype(np.float64).mean(axis=0), rtol=1e-12)
