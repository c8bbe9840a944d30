"""CM and CM-EM: every term against literal loops of the paper's equations."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import generators

torch = pytest.importorskip("torch")

import whyclust.deep  # noqa: E402
from whyclust.cluster.clustering_module_em import ClusteringModuleEM, step_with_prior  # noqa: E402
from whyclust.deep.models.clustering_head import (  # noqa: E402
    ClusteringHead,
    concentrations,
    one_lloyd_step,
    usual_alpha,
)
from whyclust.deep.models.clustering_module import ClusteringModule  # noqa: E402
from whyclust.deep.models.mixture_loss import ambiguity, balance, module_terms  # noqa: E402
from whyclust.deep.presets import ALIASES, NAMES  # noqa: E402
from whyclust.deep.training.averaging import AveragedWeights  # noqa: E402


def problem(seed=0, n=7, d=3, k=4):
    rng = np.random.default_rng(seed)
    gamma = rng.dirichlet(np.ones(k), size=n)
    return rng.normal(size=(n, d)), gamma, rng.normal(size=(k, d)), rng.uniform(1, 9, size=k)


def tensors(*arrays):
    return [torch.from_numpy(array) for array in arrays]


def blobs(n=240, k=3, d=4, seed=0):
    X, y = make_blobs(n, d, centers=k, cluster_std=0.5, random_state=seed)
    return StandardScaler().fit_transform(X), y


# --- the loss ----------------------------------------------------------------------------------


def literal_terms(x, gamma, mu, alpha):
    """Eq. (8), sum by sum."""
    n, k = gamma.shape
    e1 = e2 = e3 = 0.0
    for i in range(n):
        back = sum(gamma[i, c] * mu[c] for c in range(k))
        e1 += float(((x[i] - back) ** 2).sum())
        for c in range(k):
            e2 += gamma[i, c] * (1 - gamma[i, c]) * float(mu[c] @ mu[c])
            for other in range(k):
                if other != c:
                    e3 += gamma[i, c] * gamma[i, other] * float(mu[c] @ mu[other])
    shares = [sum(gamma[i, c] for i in range(n)) / n for c in range(k)]
    e4 = sum((1 - a) * np.log(s + 1e-10) for a, s in zip(sorted(alpha), sorted(shares), strict=True))
    return {"E1": e1, "E2": e2, "-E3": -e3, "E4": e4}


@pytest.mark.parametrize("seed", range(5))
def test_terms_are_those_of_equation_8(seed):
    x, gamma, mu, alpha = problem(seed)
    found = module_terms(*tensors(x, gamma, mu, alpha))
    for name, value in literal_terms(x, gamma, mu, alpha).items():
        assert abs(float(found[name]) - value) < 1e-10


@pytest.mark.parametrize("seed", range(5))
def test_first_three_terms_are_squared_distances(seed):
    # Section 3.3: Σ_k γ_ik ‖x_i − μ_k‖² = E₁ + E₂ − E₃.
    x, gamma, mu, alpha = problem(seed)
    found = module_terms(*tensors(x, gamma, mu, alpha))
    expected = sum(gamma[i, c] * ((x[i] - mu[c]) ** 2).sum() for i in range(len(x)) for c in range(len(mu)))
    assert abs(float(found["E1"] + found["E2"] + found["-E3"]) - expected) < 1e-10


def test_weight_of_the_merging_term():
    x, gamma, mu, alpha = tensors(*problem())
    once, twice = module_terms(x, gamma, mu, alpha), module_terms(x, gamma, mu, alpha, e3_weight=2.0)
    assert float(twice["-E3"]) == pytest.approx(2 * float(once["-E3"]), rel=1e-12)
    assert float(module_terms(x, gamma, mu, alpha, e3_weight=0.0)["-E3"]) == 0


def test_equal_concentrations_need_no_order():
    # With α = 1 + 1/K the term is a Kullback-Leibler divergence, up to a constant (end of section 3.3).
    _, gamma, _, _ = problem(3)
    k = gamma.shape[1]
    found = float(balance(torch.from_numpy(gamma), torch.full((k,), 1 + 1 / k, dtype=torch.float64)))
    divergence = sum(np.log((1 / k) / share) / k for share in gamma.mean(axis=0))
    assert abs(found - (divergence + np.log(k))) < 1e-8


def test_an_empty_cluster_has_a_finite_balance():
    gamma = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert float(balance(gamma, torch.tensor([3.0, 3.0]))) == pytest.approx(-2 * np.log(1e-10), rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_ambiguity_is_e2_minus_e3(seed):
    _, gamma, mu, alpha = problem(seed)
    terms = literal_terms(np.zeros((len(gamma), mu.shape[1])), gamma, mu, alpha)
    found = float(ambiguity(*tensors(gamma, mu)))
    assert abs(found - (terms["E2"] + terms["-E3"])) < 1e-10
    assert found > 0


def test_ambiguity_by_hand():
    # Eq. (10): γ (1 − γ) ‖μ_1 − μ_2‖² = 0.25 · 0.75 · 25.
    gamma, mu = torch.tensor([[0.25, 0.75]]), torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    assert float(ambiguity(gamma, mu)) == pytest.approx(4.6875, rel=1e-6)
    assert float(ambiguity(gamma, mu + 1000.0)) == pytest.approx(4.6875, rel=1e-4)
    assert float(ambiguity(torch.eye(2), mu)) == 0


# --- the head ----------------------------------------------------------------------------------


def head_of(d=3, k=4, seed=0):
    return ClusteringHead(d, k, torch.Generator().manual_seed(seed))


def test_the_decoder_of_unit_vectors_is_the_centroids():
    head = head_of()
    torch.nn.init.normal_(head.decoder.bias, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(head.decoder(torch.eye(4)), head.centers(), atol=1e-7)


def test_placed_centroids_are_mapped_to_unit_vectors():
    head = head_of(d=5, k=4)
    centers = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 5)))
    head.place(centers)
    assert torch.allclose(head.centers().double(), centers, atol=1e-6)
    assert torch.allclose(head.encoder(centers.float()), torch.eye(4), atol=1e-5)


def test_centroids_of_a_centred_table_leave_small_weights():
    # Their weighted sum is zero: without a tolerance the pseudo-inverse would divide by rounding errors.
    X, _ = blobs()
    centers = one_lloyd_step(X.astype(np.float32), 3, seed=0)
    head = head_of(d=4, k=3)
    head.place(torch.from_numpy(centers))
    assert float(head.encoder.weight.detach().abs().max()) < 10


def test_one_step_of_lloyd():
    X = np.array([[0.0], [1.0], [10.0], [12.0]])
    assert sorted(one_lloyd_step(X, 2, seed=0).ravel()) == [0.5, 11.0]


def test_one_step_of_lloyd_on_rows_that_are_all_the_same():
    assert one_lloyd_step(np.ones((5, 2)), 3, seed=0).tolist() == [[1.0, 1.0]] * 3


def test_concentrations():
    assert concentrations(5.0, None, 3).tolist() == [5, 5, 5]
    assert concentrations(5.0, [1, 1, 1], 3) == pytest.approx([5, 5, 5])
    assert concentrations(6.0, [2, 1, 1], 3) == pytest.approx([9, 4.5, 4.5])


def test_usual_concentration_by_hand():
    # 100 rows in batches of at most 30 are 4 steps of 25 rows.
    assert usual_alpha(8.0, 100, 30, 5) == pytest.approx(1 + 0.33 * 25 / 5 * 8)


def test_mean_of_the_weights_of_the_last_epoch():
    weight = torch.nn.Parameter(torch.zeros(2, 2))
    bias = torch.nn.Parameter(torch.zeros(2))
    average = AveragedWeights([weight, bias], last_epoch=1)
    nothing = torch.zeros(0)
    value = 0.0
    for epoch in (0, 1):
        average.before_epoch(nothing, epoch)
        for _ in range(3):
            value += 1.0
            weight.data.fill_(value)
            bias.data.fill_(-value)
            average.after_step(None)
    average.end(nothing)
    assert weight.tolist() == [[5.0, 5.0], [5.0, 5.0]]  # of 4, 5 and 6
    assert bias.tolist() == [-5.0, -5.0]
    assert average.mean.numel() == 0


def test_without_a_whole_epoch_weights_stay():
    weight = torch.nn.Parameter(torch.ones(2))
    average = AveragedWeights([weight], last_epoch=5)
    average.before_epoch(torch.zeros(0), 0)
    average.after_step(None)
    average.end(torch.zeros(0))
    assert weight.tolist() == [1.0, 1.0]


# --- the estimator -----------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_blobs_are_found(init):
    X, y = blobs()
    model = ClusteringModule(3, init=init, n_init=2, epochs=60, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.99
    means = np.array([X[model.labels_ == c].mean(axis=0) for c in range(3)])
    assert np.abs(model.cluster_centers_ - means).max() < 0.2


@pytest.mark.parametrize("load", [load_wine, load_digits])
def test_defaults_do_not_collapse_on_standardised_tables(load):
    X, y = load(return_X_y=True)
    k = len(np.unique(y))
    model = ClusteringModule(k, epochs=40, random_state=0).fit(StandardScaler().fit_transform(X))
    assert len(model.empty_clusters_) == 0
    assert np.bincount(model.labels_).min() >= len(X) / k / 10
    assert adjusted_rand_score(y, model.labels_) > 0.4


def test_answers_fit_together():
    X, _ = blobs()
    model = ClusteringModule(3, epochs=10, random_state=0).fit(X)
    gamma = model.predict_proba(X)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(gamma.argmax(axis=1), model.labels_)
    assert np.allclose(gamma.sum(axis=1), 1, atol=1e-5)
    assert np.array_equal(model.transform(X), gamma)
    assert model.get_feature_names_out().shape == (3,)
    assert np.allclose(model.decode(np.eye(3)), model.cluster_centers_, atol=1e-6)
    assert np.allclose(model.decode(gamma), gamma @ model.cluster_centers_, atol=1e-4)
    assert np.array_equal(model.decoded_centers(), model.cluster_centers_)
    way = model.interpolate(0, 2, steps=3)
    assert np.allclose(way[[0, 2]], model.cluster_centers_[[0, 2]], atol=1e-6)
    assert np.allclose(way[1], model.cluster_centers_[[0, 2]].mean(axis=0), atol=1e-6)
    assert np.allclose(model.sample(1, scale=0, n_samples=2), model.cluster_centers_[1], atol=1e-6)


def test_history_and_score():
    X, _ = blobs()
    model = ClusteringModule(3, epochs=8, n_init=2, random_state=0).fit(X)
    history = model.history_["clustering module"]
    assert list(history) == ["E1", "E2", "-E3", "E4"]
    assert {len(values) for values in history.values()} == {9}  # one is the averaging epoch
    gamma, mu = model.predict_proba(X).astype(float), model.cluster_centers_.astype(float)
    expected = float(ambiguity(*tensors(gamma, mu)))
    assert model.scores_.shape == (2,)
    assert model.scores_.min() == pytest.approx(expected, rel=1e-3, abs=1e-3)
    plain = ClusteringModule(3, epochs=8, averaging=False, random_state=0).fit(X)
    assert len(plain.history_["clustering module"]["E1"]) == 8


def test_same_seed_same_result_and_no_global_state():
    X, _ = blobs()
    with generators.untouched():
        first = ClusteringModule(3, epochs=5, init="random", random_state=3).fit(X)
        second = ClusteringModule(3, epochs=5, init="random", random_state=3).fit(X)
    assert np.array_equal(first.cluster_centers_, second.cluster_centers_)


def test_the_usual_prior_follows_the_unit_of_the_data():
    X, _ = blobs()
    small = ClusteringModule(3, epochs=1, random_state=0).fit(X)
    large = ClusteringModule(3, epochs=1, random_state=0).fit(10 * X)
    assert large.alpha_ - 1 == pytest.approx(100 * (small.alpha_ - 1), rel=1e-5)


# The prior is on mean responsibilities: the rarest cluster need not be the first choice of any row.
@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
def test_a_strong_prior_makes_shares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    wanted = [0.7, 0.2, 0.1]
    model = ClusteringModule(
        3, alpha=2000, prior=wanted, init="random", epochs=60, batch_size=200, random_state=0
    ).fit(X)
    shares = np.sort(model.predict_proba(X).mean(axis=0))[::-1]
    assert np.abs(shares - wanted).max() < 0.05
    even = ClusteringModule(3, alpha=2000, epochs=60, batch_size=200, random_state=0).fit(X)
    assert np.abs(even.predict_proba(X).mean(axis=0) - 1 / 3).max() < 0.05


def test_learning_rate_of_small_tables():
    X, _ = blobs(64)
    few = ClusteringModule(3, epochs=10, random_state=0).fit(X)
    assert few.learning_rate_ == 1e-2
    assert ClusteringModule(3, epochs=10, learning_rate=2e-3).fit(X).learning_rate_ == 2e-3


def test_a_fit_that_was_killed_ends_the_same(tmp_path):
    X, _ = blobs()
    chosen = {"n_clusters": 3, "epochs": 6, "random_state": 0}
    whole = ClusteringModule(**chosen).fit(X)
    path = tmp_path / "fit.npz"

    class KilledError(Exception):
        pass

    model = ClusteringModule(**chosen, checkpoint=path, checkpoint_every=2)
    loss = ClusteringHead.terms
    calls = []

    def killed(self, *arguments):
        calls.append(1)
        if len(calls) > 4 * 4 + 1:  # in the fifth epoch of four steps
            raise KilledError
        return loss(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusteringHead, "terms", killed)
        with pytest.raises(KilledError):
            model.fit(X)
    resumed = model.fit(X)
    assert np.array_equal(resumed.cluster_centers_, whole.cluster_centers_)
    assert np.array_equal(resumed.labels_, whole.labels_)


def test_patience_ends_early_and_still_averages():
    X, _ = blobs()
    model = ClusteringModule(3, epochs=400, patience=3, random_state=0).fit(X)
    assert len(model.history_["clustering module"]["E1"]) < 400
    assert len(model.empty_clusters_) == 0


def test_a_fit_that_patience_has_ended_has_the_mean_weights_of_its_last_epoch(monkeypatch):
    X, _ = blobs()
    epochs = []
    before, after = AveragedWeights.before_epoch, AveragedWeights.after_step

    def begun(self, data, epoch):
        epochs.append([])
        before(self, data, epoch)

    def stepped(self, batch):
        epochs[-1].append(torch.cat([one.detach().flatten() for one in self.targets]).clone())
        after(self, batch)

    monkeypatch.setattr(AveragedWeights, "before_epoch", begun)
    monkeypatch.setattr(AveragedWeights, "after_step", stepped)
    model = ClusteringModule(3, epochs=400, patience=1, random_state=0).fit(X)
    assert 1 < len(epochs) < 400
    averaging = next(part for part in model.model_.modules() if isinstance(part, AveragedWeights))
    found = torch.cat([one.detach().flatten() for one in averaging.targets])
    torch.testing.assert_close(found, torch.stack(epochs[-1]).mean(dim=0), rtol=1e-5, atol=1e-6)
    assert averaging.steps == 0


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"alpha": 0}, "alpha=0"),
        ({"alpha": float("nan")}, "alpha=nan"),
        ({"prior": [1, 2]}, "expected 3 positive numbers"),
        ({"prior": [1, 2, 0]}, "expected 3 positive numbers"),
        ({"prior": ["a", "b", "c"]}, "expected 3 positive numbers"),
        ({"init": "pca"}, "init='pca' is unknown, expected one of k-means\\+\\+, k-means, random"),
        ({"init": 3}, "init=3 is unknown"),
        ({"init": np.zeros((2, 2))}, r"init has shape \(2, 2\), expected finite numbers of shape \(3, "),
        ({"init": [["a", "b"]] * 3}, "expected finite numbers"),
        ({"init": np.full((3, 2), np.nan)}, "expected finite numbers"),
        ({"e3_weight": -1}, "e3_weight=-1"),
        ({"epochs": 0}, "epochs=0"),
        ({"learning_rate": 0}, "learning_rate=0"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"n_clusters": 0}, "n_clusters=0"),
    ],
)
def test_bad_settings(wrong, told):
    X, _ = blobs(30)
    with pytest.raises(ValueError, match=told):
        ClusteringModule(**{"n_clusters": 3, **wrong}).fit(X)


def test_centres_to_begin_with():
    X, y = blobs(90)
    centers = np.stack([X[y == cluster].mean(axis=0) for cluster in range(3)])
    # So short a fit leaves the centres where they were put.
    near = {"epochs": 1, "averaging": False, "learning_rate": 1e-8, "random_state": 0}
    given = ClusteringModule(3, init=centers, **near).fit(X)
    np.testing.assert_allclose(given.cluster_centers_, centers, atol=1e-5)
    assert clone(given).fit(X).labels_.tolist() == given.labels_.tolist()
    found = ClusteringModule(3, init="k-means", **near).fit(X)
    best = KMeans(3, n_init=10, random_state=0).fit(X).cluster_centers_
    apart = ((found.cluster_centers_[:, None] - best) ** 2).sum(axis=2).min(axis=1)
    assert apart.max() < 1e-8


@pytest.mark.parametrize("kind", [np.float16, np.int64, np.float32])
def test_other_types(kind):
    X = (10 * blobs(60)[0]).astype(kind)
    model = ClusteringModule(3, epochs=2, random_state=0).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)


def test_one_column_and_constant_columns():
    column = np.concatenate([np.zeros(20), np.ones(20) * 9])[:, None] - 4.5
    model = ClusteringModule(2, epochs=30, random_state=0).fit(column)
    assert adjusted_rand_score(column.ravel() > 0, model.labels_) == 1
    with_constant = np.hstack([column, np.zeros_like(column)])
    assert adjusted_rand_score(model.labels_, clone(model).fit_predict(with_constant)) == 1


def test_collapse_is_told():
    with pytest.warns(UserWarning, match="collapsed"):
        model = ClusteringModule(3, epochs=2, random_state=0).fit(np.ones((20, 2)))
    assert len(model.empty_clusters_) > 0


# --- CM-EM -------------------------------------------------------------------------------------


def literal_objective(X, centers, weights, alpha):
    total = (alpha - 1) * sum(np.log(w) for w in weights)
    for x in X:
        total += np.log(sum(w * np.exp(-((x - m) ** 2).sum()) for w, m in zip(weights, centers, strict=True)))
    return total


def test_one_step_of_em_against_loops():
    X, _, centers, _ = problem(1, n=20)
    weights, alpha = np.array([0.1, 0.2, 0.3, 0.4]), 2.5
    moved, new_weights, objective = step_with_prior(X, centers, weights, alpha, np.ones(len(X)))
    mass, sums = np.zeros(4), np.zeros((4, 3))
    for x in X:
        scores = np.array([w * np.exp(-((x - m) ** 2).sum()) for w, m in zip(weights, centers, strict=True)])
        mass += scores / scores.sum()
        sums += np.outer(scores / scores.sum(), x)
    assert np.abs(moved - sums / mass[:, None]).max() < 1e-12
    assert np.abs(new_weights - (mass + 1.5) / (20 + 4 * 1.5)).max() < 1e-12
    assert abs(objective - literal_objective(X, centers, weights, alpha)) < 1e-9


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("alpha", [1.0, 1.5, 30.0, None])
@pytest.mark.parametrize("seed", range(4))
def test_em_never_falls(init, alpha, seed):
    X = np.random.default_rng(seed).normal(size=(80, 3)) * 1.5
    model = ClusteringModuleEM(5, alpha=alpha, init=init, tol=0, max_iter=60, random_state=seed).fit(X)
    steps = np.diff(model.objectives_)
    assert len(steps) > 3
    assert steps.min() > -1e-9 * abs(model.objective_)
    expected = literal_objective(X, model.cluster_centers_, model.weights_, model.alpha_)
    assert model.objective_ == pytest.approx(expected, rel=1e-9)


def test_em_finds_blobs():
    X, y = blobs()
    model = ClusteringModuleEM(3, n_init=3, random_state=0).fit(4 * X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.weights_.sum() == pytest.approx(1)
    assert np.array_equal(model.predict(4 * X), model.labels_)


def test_em_falls_on_the_mean_where_nothing_varies_enough():
    # The variance is far below ½ in every direction, as in the paper's pendigit (table 6).
    X, _ = blobs()
    model = ClusteringModuleEM(3, alpha=1.0, max_iter=2000, tol=0, random_state=0)
    with pytest.warns(UserWarning, match="collapsed: 2 of 3 are empty"):
        model.fit(X / 20)
    assert len(model.empty_clusters_) == 2
    assert np.abs(model.cluster_centers_ - X.mean(axis=0) / 20).max() < 1e-3


def test_a_strong_prior_of_em_makes_equal_weights():
    X, _ = blobs(100)
    model = ClusteringModuleEM(3, alpha=1e9, random_state=0).fit(X)
    assert model.weights_ == pytest.approx(np.full(3, 1 / 3), rel=1e-6)


def test_rows_of_em_count_as_often_as_their_weight():
    generator = np.random.default_rng(0)
    X, counts = generator.normal(size=(20, 3)), generator.integers(0, 4, 20)
    centers, weights = generator.normal(size=(4, 3)), np.full(4, 0.25)
    weighted = step_with_prior(X, centers, weights, 2.0, counts.astype(float))
    repeated = np.repeat(X, counts, axis=0)
    for one, other in zip(
        weighted, step_with_prior(repeated, centers, weights, 2.0, np.ones(len(repeated))), strict=True
    ):
        assert np.abs(one - other).max() < 1e-12
    blob, y = blobs()
    model = ClusteringModuleEM(2, n_init=3, random_state=0).fit(4 * blob, sample_weight=(y < 2).astype(float))
    fewer = ClusteringModuleEM(2, n_init=3, random_state=0).fit(4 * blob[y < 2])
    assert model.alpha_ == fewer.alpha_
    assert model.objective_ == pytest.approx(fewer.objective_, rel=1e-6)
    with pytest.raises(ValueError, match="at least one non-zero"):
        ClusteringModuleEM(2).fit(blob, sample_weight=np.zeros(len(blob)))


def test_em_wants_enough_rows():
    with pytest.raises(ValueError, match="fewer rows than n_clusters=3"):
        ClusteringModuleEM(3).fit(np.eye(2))


# --- contract and presets ----------------------------------------------------------------------


@parametrize_with_checks(
    [
        ClusteringModuleEM(2),
        ClusteringModuleEM(2, alpha=1.0, init="random", n_init=2),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "other rows are drawn for the first centres",
        "check_sample_weight_equivalence_on_sparse_data": "other rows are drawn for the first centres",
    },
)
@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", [*NAMES, *ALIASES])
def test_presets(name):
    model = ClusteringModule.preset(name, epochs=3)
    assert model.epochs == 3
    assert model.alpha > 1
    assert model.get_params() == clone(model).get_params()


def test_preset_of_pendigit():
    model = ClusteringModule.preset("pendigits")
    assert (model.n_clusters, model.alpha, model.batch_size, model.epochs) == (10, 13, 80, 150)


KINDS = [kind for name in whyclust.deep.__all__ if hasattr(kind := getattr(whyclust.deep, name), "fit")]


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in kind.presets])
@pytest.mark.parametrize("pretrained", [True, False])
def test_every_preset_is_made_of_parameters(kind, name, pretrained):
    found = kind.presets[name] | ({} if pretrained else kind.presets_from_random.get(name, {}))
    at_random = {} if pretrained or "pretrain_epochs" not in kind.declared else {"pretrain_epochs": 0}
    estimator = kind.preset(name, **at_random)
    found |= at_random  # what is passed comes first
    assert {key: estimator.get_params()[key] for key in found} == found


def test_presets_of_the_other_models():
    # Table 9, column USPS.
    deep = whyclust.deep
    assert deep.DEC.presets["usps"] == {
        "n_clusters": 10,
        "update_interval": 30,
        "embedding_dim": 30,
        "hidden": (500, 500, 2000),
    }
    # The papers' layers are dense; images have convolutions of their own.
    assert deep.DEC.preset("usps", image_shape=(1, 16, 16)).hidden is None
    assert deep.IDEC.preset("usps").gamma == 0.1
    assert deep.DKM.preset("usps").lam == 0.1
    assert deep.DKM.preset("usps", pretrain_epochs=0).lam == 0.01
    assert deep.CNet.preset("20news").n_clusters == 20


def test_unknown_preset():
    with pytest.raises(ValueError, match="No preset of ClusteringModule is called 'iris', expected one of"):
        ClusteringModule.preset("iris")


def test_em_far_from_zero_is_em_near_zero():
    """Sixteenths are exact near and far, so that nothing but the offset differs."""
    X = np.round(16 * blobs()[0] * 4) / 16
    near, far = (ClusteringModuleEM(3, random_state=0).fit(table) for table in (X, X + 2.0**36))
    assert np.array_equal(near.labels_, far.labels_)
    # Centres are rounded to a 2¹⁶th there.
    assert np.abs(far.cluster_centers_ - 2.0**36 - near.cluster_centers_).max() < 2.0**-16
    assert np.abs(far.weights_ - near.weights_).max() < 1e-12
