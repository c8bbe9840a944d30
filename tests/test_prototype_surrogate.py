"""The surrogate: its formulas, its choice of smoothness, its certificate."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_digits, load_wine, make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, train_test_split

import generators
import paper
import whyclust as wc
from whyclust.cluster import PrototypeSurrogate
from whyclust.cluster._centres import centres_of
from whyclust.cluster._fine_tuning import Task, fine_tune
from whyclust.cluster._labelled_rows import PRICES, LabelledRows, Setting
from whyclust.cluster._likelihoods import SHARPNESS_PENALTY, Likelihoods, Problem, Sight
from whyclust.cluster._own_order import own_order
from whyclust.cluster._prototype_fit import Prototypes, shrink, start_noise, start_prototypes
from whyclust.cluster._surrogate_selection import Validation, _leave_columns_out, deal_folds
from whyclust.cluster.fidelity import Fidelity
from whyclust.cluster.prototype_surrogate import _sample


def two_moons(n_rows=200):
    return make_moons(n_rows, noise=0.06, random_state=0)


def blobs_with_noise():
    """Two tight blobs in a field of noise."""
    generator = np.random.default_rng(0)
    inside, labels = make_blobs(160, centers=[[-4, 0], [4, 0]], cluster_std=0.5, random_state=1)
    outside = generator.uniform(-9, 9, (60, 2))
    outside = outside[np.abs(outside - [-4, 0]).max(axis=1) > 2.5]
    outside = outside[np.abs(outside - [4, 0]).max(axis=1) > 2.5]
    return np.concatenate([inside, outside]), np.append(labels, np.full(len(outside), -1))


def started(points, codes, n_clusters, n_support):
    """Where prototypes of one table start."""
    return start_prototypes([(points, codes)], n_clusters, n_support, seed=0)[0]


def likelihood_of(points, codes, start, free, price, unit, n_rows=None):
    """The objective of one problem, whose rows may be filled up."""
    lengths = 0.5 * (points**2).sum(axis=1)
    sight = Sight.of(points, codes, n_rows or len(points), lengths)
    problem = Problem(sight, start.vectors, start.weights, start.noise, free, price, unit, factor=1.0)
    return Likelihoods([problem], start.members)


# Tests of anything but the search need none.
CHOSEN = {"n_support": 4, "gamma": 3.0, "shrinkage": 0.0, "standardize": False, "random_state": 0}


@pytest.fixture(scope="module")
def of_moons():
    """Fitted to two moons, and not to be changed."""
    return PrototypeSurrogate(random_state=0).fit(*two_moons())


@pytest.fixture(scope="module")
def of_noise():
    """Fitted to two blobs and noise, and not to be changed."""
    return PrototypeSurrogate(random_state=0).fit(*blobs_with_noise())


# --- formulas ------------------------------------------------------------------------------------


def literal_outlier_scores(model, x):
    """o_k of the class's docstring, one prototype at a time."""
    a = (x - model.center_) / model.scale_
    scores = []
    for cluster in range(model.support_clusters_[-1] + 1):
        total = 0.0
        for j in np.flatnonzero(model.support_clusters_ == cluster):
            distance = paper.squared_distance(a, model.support_vectors_[j])
            total += np.exp(-model.gamma_ * (distance + model.support_offsets_[j]))
        scores.append(-np.log(total) / model.gamma_)
    return scores if model.noise_threshold_ is None else [*scores, model.noise_threshold_]


@pytest.mark.parametrize("with_noise", [False, True])
def test_assignments_and_network_are_the_stated_formula(with_noise, of_noise, of_moons):
    X, _ = blobs_with_noise() if with_noise else two_moons()
    model = of_noise if with_noise else of_moons
    literal = np.array([literal_outlier_scores(model, x) for x in X])
    assert np.abs(model._outlier_scores(X) - literal).max() < 1e-9
    assert np.array_equal(model.predict(X), model.cluster_ids_[literal.argmin(axis=1)])
    net = wc.neuralize(model)
    assert np.array_equal(net.predict(X), model.predict(X))
    assert list(net.clusters) == list(model.cluster_ids_)
    in_order = model.predict_proba(X)[:, np.searchsorted(model.classes_, model.cluster_ids_)]
    assert np.abs(net.predict_proba(X) - in_order).max() < 1e-9
    assert np.abs(model.predict_proba(X).sum(axis=1) - 1).max() < 1e-12
    found = net.relevance(X)
    assert np.abs(found.values.sum(axis=1) + found.base_values - found.explained).max() < 1e-9
    ordered = np.sort(literal, axis=1)
    assert np.abs(found.evidence - (ordered[:, 1] - ordered[:, 0])).max() < 1e-9
    assert net.beta == pytest.approx(1 / found.evidence.mean(), rel=1e-9)


def literal_loss(points, codes, start, now, sharpness, price, weight_price=None):
    """−log posterior of the labels and the price of every change, in double precision."""
    n_clusters = start.members[-1] + 1
    total = 0.0
    for z, code in zip(points, codes, strict=True):
        densities = np.zeros(n_clusters + (now.noise is not None))
        for v, k, w in zip(now.vectors, now.members, now.weights, strict=True):
            densities[k] += np.exp(w - 0.5 * paper.squared_distance(z, v))
        if now.noise is not None:
            densities[n_clusters] = np.exp(now.noise)
        powers = densities**sharpness
        total -= np.log(powers[code] / powers.sum())
    total += 0.5 * price * ((now.vectors - start.vectors) ** 2).sum()
    total += 0.5 * 10 * (weight_price or price) * ((now.weights - start.weights) ** 2).sum()
    total += 0.5 * SHARPNESS_PENALTY * np.log(sharpness) ** 2
    return total / len(points)


@pytest.mark.parametrize("with_noise", [False, True])
def test_likelihood_and_gradient_against_the_literal_form(with_noise):
    generator = np.random.default_rng(2)
    points = generator.standard_normal((25, 3))
    codes = generator.integers(0, 3, 25)  # two clusters, or two and noise
    if not with_noise:
        codes = codes % 2
    start, _ = started(points, codes, 2, 3)
    start = start_noise(points, codes, start)
    assert (start.noise is not None) == with_noise
    likelihood = likelihood_of(points, codes, start, None, price=0.7 * 0.25, unit=0.25, n_rows=27)
    parameters = likelihood.pack()[0]
    parameters += 0.3 * generator.standard_normal(len(parameters)).astype(np.float32)
    assert likelihood.reach[0] == np.float32(0.5)  # √unit: a step of one moves a prototype by it

    def literal(parameters):
        count, width = start.vectors.shape
        vectors = start.vectors + 0.5 * parameters[: count * width].reshape(count, width)
        weights = start.weights + parameters[count * width : count * (width + 1)]
        sharpness = np.exp(7 * np.tanh(parameters[count * (width + 1)] / 7))
        now = Prototypes(vectors, start.members, weights, parameters[-1] if with_noise else None)
        return literal_loss(points, codes, start, now, sharpness, 0.7, 0.7 * 0.25)

    (value,), (gradient,) = likelihood(parameters[None])
    parameters = parameters.astype(float)
    assert value == pytest.approx(literal(parameters), rel=1e-6)
    step = 1e-6
    numeric = [
        (literal(parameters + step * unit) - literal(parameters - step * unit)) / (2 * step)
        for unit in np.eye(len(parameters))
    ]
    assert np.abs(gradient - numeric).max() < 2e-6 * max(1.0, np.abs(numeric).max())


def test_fine_tuning_leaves_fixed_coordinates_alone_and_does_not_go_astray():
    X, y = two_moons()
    start, counts = started(X, y, 2, 3)
    free = np.ones_like(start.vectors)
    free[:, 1] = 0
    tuned = fine_tune([Task(X, y, start, free, price=0.3, unit=1.0, factor=1.0)])[0]
    before = literal_loss(X, y, start, start, 1.0, 0.3)
    assert min(literal_loss(X, y, start, tuned, t, 0.3) for t in (1, 3, 10, 30)) < before - 0.05
    assert np.abs(tuned.vectors[:, 1] - start.vectors[:, 1]).max() < 1e-6
    assert np.abs(tuned.vectors[:, 0] - start.vectors[:, 0]).max() < 2
    assert counts.sum() == len(X)


def test_columns_near_the_centre_are_put_onto_it():
    vectors = np.array([[3.0, 0.4], [-1.0, -0.1], [0.1, 0.9]])
    start = Prototypes(vectors, np.array([0, 1, 1]), np.zeros(3))
    counts, deviation = np.array([4.0, 16.0, 16.0]), np.array([1.0, 2.0])
    found = shrink(start, counts, np.zeros(2), deviation, level=1.0)
    assert np.allclose(found.vectors, [[3.0, 0.0], [-1.0, -0.1], [0.1, 0.9]])
    found = shrink(start, counts, np.zeros(2), deviation, level=2.0)
    assert np.allclose(found.vectors, [[3.0, 0.0], [-1.0, 0.0], [0.1, 0.0]])


# --- how smooth ----------------------------------------------------------------------------------


def test_the_smoothest_within_one_standard_error_is_taken():
    X, y = two_moons(100)
    validation = Validation(LabelledRows(X, y, 2, 0), 5)
    agreed = np.ones(100)
    worse, slightly = agreed.copy(), agreed.copy()
    worse[:9] = 0  # 9 % behind, standard error 2.9 %
    slightly[:1] = 0  # one row behind, which is one standard error
    validation.tried = {Setting(8, 1.0): agreed, Setting(1, 1.0): worse, Setting(2, 1.0): slightly}
    assert validation.smoothest() == Setting(2, 1.0)


def test_columns_are_left_out_up_to_one_step_before_it_hurts():
    X, y = two_moons(100)
    validation = Validation(LabelledRows(X, y, 2, 0), 5)
    worse = np.ones(100)
    worse[:20] = 0
    for limit, expected in [(8.0, 6.0), (3.0, 2.0), (1.0, 0.0), (0.0, 0.0)]:
        validation.tried = {
            Setting(2, 1.0, 3.0, level): np.ones(100) if level <= limit else worse
            for level in (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
        }
        assert _leave_columns_out(validation, Setting(2, 1.0, 3.0)).shrinkage == expected


def test_smooth_means_a_small_change_then_few_prototypes_then_a_small_gamma_then_few_columns():
    order = [
        Setting(1, 9.0, 3.0, 0.0),
        Setting(2, 1.0, 3.0, 4.0),
        Setting(2, 1.0, 3.0, 1.0),
        Setting(2, 2.0, 3.0, 8.0),
        Setting(1, 1.0, 0.3, 8.0),
    ]
    mixed = order[::-1]
    mixed.sort(key=lambda setting: setting.smoothness)
    assert mixed == order


def test_columns_speak_for_the_cluster_and_hardly_anything_is_left_over():
    """Prototypes stay among their rows, so mid-points lie between clusters."""
    X, y = make_blobs(300, centers=4, n_features=5, cluster_std=2.0, random_state=3)
    model = PrototypeSurrogate(random_state=0).fit(X, y)
    ex = wc.explain(model, X)
    assert (ex.values.sum(axis=1) > 0).mean() > 0.98
    assert abs(ex.base_values.mean()) < 0.05 * ex.explained.mean()
    for cluster in range(4):
        own = model.support_vectors_[model.support_clusters_ == cluster] * model.scale_ + model.center_
        spread = X[y == cluster].std(axis=0)
        assert (np.abs(own - X[y == cluster].mean(axis=0)) < 3 * spread).all()


def test_folds_hold_every_cluster_as_evenly_as_it_can_be():
    codes = np.repeat([0, 1, 2], [50, 13, 2])
    folds = deal_folds(codes, 5, seed=3)
    counts = np.array([[(folds[codes == k] == fold).sum() for fold in range(5)] for k in range(3)])
    assert (np.ptp(counts, axis=1) <= 1).all()
    assert (np.ptp(counts.sum(axis=0)) == 0).all()


def test_held_out_logits_come_from_models_that_have_not_seen_the_row():
    X, y = two_moons(100)
    rows = LabelledRows(X, y, 2, 0)
    validation = Validation(rows, 5)
    setting = Setting(4, 3.0)
    before = validation.logits([setting])[0][0]
    # A row that is moved far away changes its own logits and those of rows in other folds only.
    folds = deal_folds(y, 5, 0)
    moved = X.copy()
    moved[0] += 50
    after = Validation(LabelledRows(moved, y, 2, 0), 5).logits([setting])[0][0]
    same_fold = (folds == folds[0]) & (np.arange(100) != 0)
    assert np.array_equal(before[same_fold], after[same_fold])
    assert not np.array_equal(before[folds != folds[0]], after[folds != folds[0]])


def test_what_the_user_gives_is_not_searched():
    X, y = two_moons()
    model = PrototypeSurrogate(n_support=5, gamma=2.0, standardize=True, shrinkage=0, random_state=0)
    model.fit(X, y)
    assert (model.n_support_, model.gamma_, model.shrinkage_) == (5, 2.0, 0.0)
    assert np.allclose(model.scale_, X.std(axis=0))
    assert len(model.support_vectors_) == 10


@pytest.mark.parametrize(
    ("table", "at_least"),
    [("moons", 0.99), ("circles", 0.99), ("blobs", 0.94), ("digits", 0.95), ("wine", 0.95), ("genes", 0.95)],
)
def test_sensible_without_tuning(table, at_least):
    if table == "moons":
        X, y = make_moons(400, noise=0.06, random_state=1)
    elif table == "circles":
        X, y = make_circles(240, noise=0.05, factor=0.5, random_state=1)
    elif table == "blobs":
        X, y = make_blobs(400, cluster_std=[0.3, 1.0, 2.5], random_state=1)
    elif table == "digits":
        X, y = (part[:500] for part in load_digits(return_X_y=True))
    elif table == "wine":  # columns of very different scale
        X, y = load_wine(return_X_y=True)
    else:  # log counts of 2,000 genes in four kinds of cells, thirty marker genes each
        generator = np.random.default_rng(0)
        y = np.repeat(np.arange(4), 40)
        rates = np.tile(generator.gamma(0.5, 2.0, 2000), (160, 1))
        for kind in range(4):
            rates[40 * kind : 40 * kind + 40, 30 * kind : 30 * kind + 30] *= 4
        X = np.log1p(generator.poisson(rates))
    right, certified = [], []
    for split in range(2):
        train, test, of_train, of_test = train_test_split(
            X, y, test_size=0.25, stratify=y, random_state=split
        )
        model = PrototypeSurrogate(random_state=0).fit(train, of_train)
        right.append((model.predict(test) == of_test).mean())
        certified.append(model.fidelity_.overall_held_out)
        assert model.fidelity_.overall_in_sample >= at_least
    assert np.mean(certified) >= at_least - 0.01
    assert np.mean(right) >= at_least


def test_columns_are_not_left_out_where_most_prototypes_are_single_rows():
    """In a fold every row is a prototype: leaving columns out does nothing there, and much in the end."""
    X, y = (part[:500] for part in load_digits(return_X_y=True))
    validation = Validation(LabelledRows(X[:200] - X[:200].mean(axis=0), y[:200], 10, 0), 5)
    chosen = Setting(16, 0.01)
    validation.tried = {replace(chosen, shrinkage=level): np.ones(200) for level in (0.0, 1.0, 2.0, 3.0)}
    assert _leave_columns_out(validation, chosen) == chosen


def test_columns_of_noise_get_no_relevance():
    generator = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = generator.standard_normal((180, 12))
    for cluster in range(3):
        X[y == cluster, cluster] += 4
    model = PrototypeSurrogate(random_state=0).fit(X, y)
    values = np.abs(wc.explain(model, X).values)
    assert model.shrinkage_ > 0
    assert values[:, 3:].sum() < 1e-9 * values[:, :3].sum()


# --- the certificate -----------------------------------------------------------------------------


def test_fidelity_counts_agreement():
    X, labels = blobs_with_noise()
    labels = labels.copy()
    labels[:7] = 1 - labels[:7]  # some labels nobody can reproduce
    model = PrototypeSurrogate(**CHOSEN).fit(X, labels)
    fidelity = model.fidelity_
    assert fidelity.clusters.tolist() == [0, 1, -1]
    assert fidelity.noise == -1
    for place, label in enumerate(fidelity.clusters):
        own = labels == label
        assert fidelity.sizes[place] == own.sum()
        assert fidelity.in_sample[place] == (model.labels_[own] == label).mean()
    assert fidelity.overall_in_sample == pytest.approx((model.labels_ == labels).mean())
    assert 0.8 < fidelity.overall_held_out <= 1


def test_a_cluster_that_takes_the_rows_of_others_is_not_certified():
    """Of nearly equal labels one is preferred: it keeps its rows, and gets the others' as well."""
    clusters = np.arange(2)
    fidelity = Fidelity(
        clusters, np.array([90, 30]), np.ones(2), np.array([0.95, 0.0]), np.array([0.75, 1.0])
    )
    assert fidelity.untrusted == [0, 1]
    assert fidelity.doubt(0).endswith("of the rows not seen that get this label, only 75.0% have it.")
    assert fidelity.doubt(1).endswith("of its rows not seen, the surrogate assigns only 0.0% to it.")
    generator = np.random.default_rng(0)
    X, labels = generator.standard_normal((120, 2)), np.repeat([0, 1], [100, 20])
    assert PrototypeSurrogate(n_support=2, shrinkage=0.0, random_state=0).fit(
        X, labels
    ).fidelity_.untrusted == [0, 1]


def test_labels_without_structure_are_not_certified():
    generator = np.random.default_rng(0)
    X = generator.standard_normal((60, 3))
    labels = generator.integers(0, 3, 60)
    fidelity = PrototypeSurrogate(random_state=0).fit(X, labels).fidelity_
    assert fidelity.overall_held_out < 0.6
    assert fidelity.untrusted == [0, 1, 2]
    assert "- Cluster 0: " in fidelity.warning()
    assert fidelity.sentences()[1].startswith("It reproduces none of the 3 labels")


def test_a_good_surrogate_has_no_warning(of_moons):
    fidelity = of_moons.fidelity_
    assert fidelity.warning() is None
    assert len(fidelity.sentences()) == 1
    assert fidelity.untrusted == []
    assert fidelity.to_json()["held_out"] >= 0.99
    assert "held out" in repr(fidelity)


def test_many_weak_clusters_are_counted():
    shares = np.linspace(0, 0.5, 9)[::-1]  # the weakest are told first
    clusters = np.arange(9)[::-1]
    fidelity = Fidelity(clusters, np.full(9, 10), np.ones(9), shares, np.ones(9), noise=0)
    _, *lines, advice = fidelity.warning().splitlines()
    assert lines == [
        "- Noise: 0.0% of its rows not seen get its label.",
        "- Cluster 1: 6.2% of its rows not seen get its label.",
        "- Cluster 2: 12.5% of its rows not seen get its label.",
        "- Cluster 3: 18.8% of its rows not seen get its label.",
        "- Cluster 4: 25.0% of its rows not seen get its label.",
        "- And 4 more.",
    ]
    assert "merge those it takes for one another" in advice


def test_rows_beyond_max_samples_are_held_out():
    X, y = make_blobs(300, centers=3, random_state=0)
    y = np.append(y, 3)  # a cluster of one row keeps it in any sample
    X = np.concatenate([X, [[30.0, 30.0]]])
    model = PrototypeSurrogate(max_samples=60, random_state=0).fit(X, y)
    assert model.support_clusters_[-1] == 3
    assert model.predict([[30.0, 30.0]])[0] == 3
    assert len(model.labels_) == len(X)
    assert model.fidelity_.overall_held_out > 0.85


def test_the_certificate_counts_rows_that_nobody_has_seen():
    """Literally: both deals of folds that did not choose the setting, and rows beyond the sample."""
    X, y = make_blobs(140, centers=3, cluster_std=3.0, random_state=2)
    # Folds are dealt among rows and clusters in their own order, in which these already are.
    order = own_order(X, y, 3)
    X, y = X[order.rows], order.ranks[y[order.rows]]
    for max_samples in (500, 100):
        model = PrototypeSurrogate(
            n_support=1, standardize=False, shrinkage=0, max_samples=max_samples, random_state=0
        ).fit(X, y)
        seed = int(np.random.RandomState(0).randint(2**31 - 1))
        rows = np.flatnonzero(np.isin(np.arange(140), _sample(y, max_samples, seed)))
        setting = Setting(1, model.gamma_, price=0.0)
        fits = {}
        points = (X - model.center_) / model.scale_
        labelled = LabelledRows(points[rows], y[rows], 3, seed)
        for price in PRICES:  # the one that was chosen gives the same prototypes
            setting = Setting(1, model.gamma_, price)
            fits[price] = np.abs(labelled.fit(setting).vectors - model.support_vectors_).max()
        setting = Setting(1, model.gamma_, min(fits, key=fits.get))
        right, of_label, to_label = np.zeros(3), np.zeros(3), np.zeros(3)
        for deal in (10, 11):
            folds = deal_folds(y[rows], 5, seed + deal)
            for fold in range(5):
                train = labelled.take(np.flatnonzero(folds != fold)).fit(setting)
                factor = np.sqrt(2 * setting.gamma)
                for row in np.flatnonzero(folds == fold):
                    found = train.scaled(factor).logits(labelled.points[[row]] * factor).argmax()
                    of_label[y[rows[row]]] += 1
                    to_label[found] += 1
                    right[found] += found == y[rows[row]]
            for row in set(range(140)) - set(rows.tolist()):
                found = model.predict(X[[row]])[0]
                of_label[y[row]] += 1
                to_label[found] += 1
                right[found] += found == y[row]
        assert of_label.sum() == 280
        assert np.allclose(model.fidelity_.held_out, right / of_label, atol=1e-12)
        assert np.allclose(model.fidelity_.precision, right / to_label, atol=1e-12)
        assert right.sum() < 280


def test_a_sample_does_not_follow_the_order_of_the_rows():
    codes = np.repeat([0, 1], 500)
    chosen = _sample(codes, 100, seed=0)
    inside = np.sort(chosen[chosen < 500])
    assert 90 <= len(chosen) <= 102
    assert np.diff(inside).max() > 2 * np.diff(inside).min()  # not every tenth row


def test_probabilities_are_calibrated_on_rows_not_seen():
    X, y = make_blobs(3000, centers=[[0, 0], [2, 0], [0, 2]], cluster_std=1.0, random_state=0)
    model = PrototypeSurrogate(n_support=1, shrinkage=0.0, random_state=0).fit(X[:400], y[:400])
    found = model.predict_proba(X[400:])
    right = model.predict(X[400:]) == y[400:]
    assert abs(found.max(axis=1).mean() - right.mean()) < 0.04

    def loss(probabilities):
        return -np.log(np.maximum(probabilities[np.arange(2600), y[400:]], 1e-12)).mean()

    kept = model.stiffness_
    for factor in (0.3, 3.0):
        model.stiffness_ = factor * kept
        assert loss(model.predict_proba(X[400:])) > loss(found)


def test_a_cluster_that_no_row_of_a_fold_has_is_never_assigned_there():
    X, y = two_moons(60)
    start, counts = started(X, y, 3, 2)
    assert counts[-1] == 0
    found = fine_tune([Task(X, y, start, None, 0.3, 1.0, 1.0)])[0]
    assert (found.logits(X).argmax(axis=1) < 2).all()


@pytest.mark.parametrize("with_noise", [False, True])
def test_fits_side_by_side_are_those_of_each_alone(with_noise):
    """Folds of different sizes, clusters of fewer rows than prototypes, and settings of one fold."""
    X, y = blobs_with_noise()
    y = np.where(y == -1, 2, y)
    y[:3] = 2 if with_noise else 1
    if not with_noise:
        X, y = X[y < 2], y[y < 2]
    X = X - X.mean(axis=0)
    few = np.flatnonzero((y != 0) | (np.cumsum(y == 0) <= 3))
    tables = [LabelledRows(X[rows], y[rows], 2, 0) for rows in (few, np.arange(0, len(X), 2))]
    settings = [Setting(5, 0.3, 3.0), Setting(5, 0.5, 3.0), Setting(5, 0.3, 3.0, shrinkage=4.0)]
    together = fine_tune([rows.task(setting) for rows in tables for setting in settings])
    alone = [rows.fit(setting) for rows in tables for setting in settings]
    assert [len(one.vectors) for one in alone] == [8, 8, 8, 10, 10, 10]
    for one, other in zip(together, alone, strict=True):
        assert np.array_equal(one.members, other.members)
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-4 * np.abs(X).max())
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-3)
        assert (one.noise is not None) == with_noise


def test_folds_that_see_no_noise_are_fitted_beside_those_that_do():
    X, y = make_blobs(40, centers=[[0, 0], [9, 9]], random_state=0)
    points, codes = np.concatenate([X, [[50.0, 50.0]]]), np.append(y, 2)
    tables = [LabelledRows(points, codes, 2, 0), LabelledRows(points[:-1], codes[:-1], 2, 0)]
    found = fine_tune([rows.task(Setting(1, 0.2)) for rows in tables])
    assert [one.noise is None for one in found] == [False, True]


def test_centres_of_several_sets_are_those_of_k_means():
    generator = np.random.default_rng(0)
    around = generator.normal(scale=20.0, size=(4, 3))
    sets = [np.repeat(around, count, axis=0) + generator.normal(size=(4 * count, 3)) for count in (5, 12)]
    for rows, (centres, sizes) in zip(sets, centres_of(sets, 4, seed=0), strict=True):
        nearest = np.abs(centres[:, None] - around).sum(axis=2).argmin(axis=1)
        assert sorted(nearest.tolist()) == [0, 1, 2, 3]
        assert (sizes == len(rows) // 4).all()
        means = rows.reshape(4, -1, 3).mean(axis=1)
        np.testing.assert_allclose(centres, means[nearest], atol=1e-9)
    # Equal rows leave centres empty, which are left out.
    ((centres, sizes),) = centres_of([np.repeat([[1.0], [2.0]], 5, axis=0)], 4, seed=0)
    assert sorted(zip(centres[:, 0].tolist(), sizes.tolist(), strict=True)) == [(1.0, 5), (2.0, 5)]


def test_moving_prototypes_is_paid_for():
    X, y = make_blobs(120, centers=3, cluster_std=2.0, random_state=0)
    rows = LabelledRows(X - X.mean(axis=0), y, 3, 0)
    moved = [
        np.abs(rows.fit(Setting(1, 0.1, price)).vectors - rows.start(1)[0].vectors).max()
        for price in (300.0, 3.0, 0.03)
    ]
    assert moved[0] < 0.2 * moved[1] < 0.2 * moved[2]


def test_deterministic_under_a_seed_and_no_global_generator():
    X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=0)
    with generators.untouched():
        one = PrototypeSurrogate(n_support=2, random_state=3).fit(X, y)
    other = PrototypeSurrogate(n_support=2, random_state=3).fit(X, y)
    assert np.array_equal(one.support_vectors_, other.support_vectors_)
    assert np.array_equal(one.fidelity_.held_out, other.fidelity_.held_out)


# --- noise ---------------------------------------------------------------------------------------


def test_noise_has_no_prototypes_and_a_threshold(of_noise):
    model = of_noise
    assert model.cluster_ids_.tolist() == [0, 1, -1]
    assert model.classes_.tolist() == [-1, 0, 1]
    assert model.support_clusters_.max() == 1
    assert model.predict([[-4.0, 0.0], [4.0, 0.0], [0.0, 40.0], [0.0, 0.0]]).tolist() == [0, 1, -1, -1]
    far = wc.explain(model, np.array([[4.0, 40.0]]), cluster=1)
    assert far.evidence[0] < 0
    assert far.values[0].argmin() == 1  # the second column keeps it out of cluster 1
    noise = wc.explain(model, np.array([[4.0, 40.0]]))
    assert noise.clusters[0] == -1
    assert noise.values[0].argmax() == 1


def test_one_cluster_and_noise():
    generator = np.random.default_rng(0)
    X = np.concatenate([0.3 * generator.standard_normal((80, 2)), generator.uniform(-8, 8, (30, 2))])
    labels = DBSCAN(eps=0.5).fit_predict(X)
    assert set(labels) == {-1, 0}
    model = PrototypeSurrogate(random_state=0).fit(X, labels)
    assert (model.labels_ == labels).mean() > 0.95
    assert np.isfinite(wc.explain(model, X).values).all()


# --- unusual labels ------------------------------------------------------------------------------


def test_strings_are_kept_as_names():
    X, y = two_moons()
    names = np.array(["upper", "lower"])[y]
    model = PrototypeSurrogate(**CHOSEN).fit(X, names)
    assert model.cluster_ids_.tolist() == ["lower", "upper"]
    assert (model.predict(X) == names).all()
    assert wc.explain(model, X).clusters.tolist() == names.tolist()
    with_noise = names.astype(object)
    with_noise[:5] = "-1"
    assert PrototypeSurrogate(**CHOSEN).fit(X, with_noise.astype(str)).cluster_ids_[-1] == "-1"
    series = pd.Series(with_noise, dtype=object)  # of objects, as frames have them
    of_objects = PrototypeSurrogate(**CHOSEN).fit(X, series)
    assert of_objects.fidelity_.noise == "-1"
    assert of_objects.classes_.dtype.kind == "U"
    with pytest.warns(UserWarning, match="- Noise: "):  # five rows among the others
        assert wc.explain(of_objects, X, method="squared").clusters.dtype.kind == "U"
    other = PrototypeSurrogate(noise_label="upper", **CHOSEN).fit(X, names)
    assert other.fidelity_.noise == "upper"


def test_a_cluster_of_one_row():
    X, y = two_moons()
    X, y = np.concatenate([X, [[9.0, 9.0]]]), np.append(y, 7)
    model = PrototypeSurrogate(**CHOSEN).fit(X, y)
    assert model.predict([[9.0, 9.0]])[0] == 7
    assert model.fidelity_.held_out[2] == 0  # whoever has not seen it cannot know it
    assert 7 in model.fidelity_.untrusted
    with pytest.warns(UserWarning, match=r"- Cluster 7: 0\.0% of its rows not seen get its label"):
        assert np.isfinite(wc.explain(model, X).values).all()


@pytest.mark.parametrize("n_rows", [2, 3, 30])
def test_one_row_in_a_cluster_and_all_others_noise(n_rows):
    X = np.random.default_rng(0).standard_normal((n_rows, 2))
    labels = np.full(n_rows, -1)
    labels[0] = 0
    model = PrototypeSurrogate(random_state=0).fit(X, labels)
    net = wc.neuralize(model)
    assert np.array_equal(net.predict(X), model.predict(X))
    assert np.abs(net.predict_proba(X)[:, ::-1] - model.predict_proba(X)).max() < 1e-6
    assert model.fidelity_.held_out[0] == 0  # whoever has not seen the row cannot know it
    assert 0 in model.fidelity_.untrusted


def test_identical_rows_with_different_labels():
    X, y = two_moons()
    X, y = np.concatenate([X, X[:20]]), np.append(y, 1 - y[:20])
    with pytest.warns(UserWarning, match="40 rows equal a row with another label"):
        model = PrototypeSurrogate(**CHOSEN).fit(X, y)
    assert model.fidelity_.overall_in_sample < 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may or may not be sure enough of the rest
        assert np.isfinite(wc.explain(model, X).values).all()


def test_only_identical_rows():
    X, y = np.ones((10, 2)), np.repeat([0, 1], 5)
    with pytest.warns(UserWarning, match="10 rows equal"), pytest.warns(ConvergenceWarning, match="margin"):
        model = PrototypeSurrogate(random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (np.full(200, -1), "All rows are noise"),
        (np.zeros(200, int), "All rows are of one class, 0"),
        (np.zeros(199, int), "y has 199 labels, but X has 200 rows: expected one label per row"),
        (np.linspace(0, 1, 200), "Unknown label type"),
    ],
)
def test_labels_that_cannot_be_explained(labels, said):
    with pytest.raises(ValueError, match=said):
        PrototypeSurrogate().fit(two_moons()[0], labels)


def test_constant_columns_and_large_offsets(of_moons):
    X, y = two_moons()
    wide = np.column_stack([X + 1e6, np.full(len(X), 3.0)])
    shifted = PrototypeSurrogate(random_state=0).fit(wide, y)
    assert (of_moons.labels_ == shifted.labels_).mean() > 0.99
    values = wc.explain(shifted, wide).values
    assert np.isfinite(values).all()
    assert np.abs(values[:, 2]).max() == 0


@pytest.mark.parametrize("narrow", [1e-13, 1e-150, 1e150])
def test_columns_of_any_size(narrow):
    X, y = make_blobs(45, centers=3, n_features=3, random_state=0)
    model = PrototypeSurrogate(random_state=0).fit(X * [narrow, narrow, 1.0], y)
    assert model.fidelity_.overall_held_out > 0.9


def test_more_folds_than_rows():
    model = PrototypeSurrogate(n_support=1, cv=50, random_state=0).fit(
        [[0.0], [1.0], [9.0], [8.0]], [0, 0, 1, 1]
    )
    assert model.fidelity_.overall_held_out == 1


def test_clusters_are_never_put_onto_each_other():
    generator = np.random.default_rng(3)
    X, labels = generator.standard_normal((24, 3)), generator.integers(0, 3, 24)
    model = PrototypeSurrogate(random_state=0).fit(X, labels)
    assert len(np.unique(model.support_vectors_, axis=0)) >= 2
    with pytest.warns(UserWarning, match="The surrogate agrees with"):
        assert np.abs(wc.explain(model, X).values).max() > 0


def test_saved_and_loaded(of_noise, tmp_path):
    X, model = blobs_with_noise()[0], of_noise
    again = wc.load(wc.save(model, tmp_path / "surrogate.npz"))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.fidelity_.overall_held_out == model.fidelity_.overall_held_out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(wc.explain(again, X).values, wc.explain(model, X).values)


def labelled_rows(n_rows, n_columns, noise=False):
    generator = np.random.default_rng(n_columns)
    codes = np.sort(generator.integers(0, 3, n_rows))
    points = generator.normal(size=(n_rows, n_columns))
    points[:, :6] += 2.0 * np.eye(3)[codes].repeat(2, axis=1)
    if noise:
        codes[:4] = 3
    return LabelledRows(points - points.mean(axis=0), codes, 3, seed=0)


def loss_and_gradient(points, codes, start, free, at, noise):
    """The objective of fine-tuning at other prototypes than those it begins with."""
    begin = replace(start, noise=0.3 if noise else None)
    likelihood = likelihood_of(points, codes, begin, free, 0.3, 7.0)
    parameters = likelihood.pack()
    parameters[0, : at.size] = (at - start.vectors).ravel()  # of unit 7 a step of one is one
    (loss,), (gradient,) = likelihood(parameters)
    return loss, gradient[: at.size].reshape(at.shape), gradient[at.size :]


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("n_support", [1, 3])
def test_wide_tables_are_turned_into_few_columns_without_a_change(noise, n_support):
    """The objective is the same, and its gradient never leaves the rows' own directions."""
    rows = labelled_rows(40, 300, noise)
    slim = rows.slim()
    assert slim.points.shape == (40, 40)
    basis = np.linalg.qr(rows.points.T)[0]
    np.testing.assert_allclose(slim.points @ basis.T, rows.points, atol=1e-12)
    assert slim.gamma(n_support, 1.0) == pytest.approx(rows.gamma(n_support, 1.0), rel=1e-9)
    starts = [one.start(n_support)[0] for one in (rows, slim)]
    np.testing.assert_allclose(starts[1].vectors @ basis.T, starts[0].vectors, atol=1e-9)
    mixed = np.random.default_rng(0).normal(scale=0.1, size=(len(starts[0].vectors), 40))
    full, turned = (
        loss_and_gradient(one.points, one.codes, start, None, mixed @ one.points, noise)
        for one, start in zip((rows, slim), starts, strict=True)
    )
    assert full[0] == pytest.approx(turned[0], rel=1e-5)
    scale = np.abs(full[1]).max()
    assert np.abs(turned[1] @ basis.T - full[1]).max() < 1e-5 * scale
    assert np.abs(turned[2] - full[2]).max() < 1e-4
    tall = labelled_rows(40, 8)
    assert tall.slim() is tall


def test_columns_that_no_cluster_keeps_change_nothing():
    rows = labelled_rows(60, 80)
    setting = Setting(1, rows.gamma(1, 1.0), shrinkage=3.0)
    begin = rows.beginning(setting)
    moves = begin.vectors != rows.center
    used = moves.any(axis=0)
    assert 6 <= used.sum() < 40
    at = begin.vectors + moves * np.random.default_rng(0).normal(size=moves.shape)
    free = moves.astype(np.float32)
    all_columns = loss_and_gradient(rows.points, rows.codes, begin, free, at, noise=False)
    fewer = replace(begin, vectors=begin.vectors[:, used])
    some = loss_and_gradient(rows.points[:, used], rows.codes, fewer, free[:, used], at[:, used], noise=False)
    assert all_columns[0] == pytest.approx(some[0], rel=1e-5)
    np.testing.assert_allclose(all_columns[1][:, used], some[1], atol=1e-5 * np.abs(some[1]).max())
    assert (all_columns[1][:, ~used] == 0).all()
    found = rows.fit(setting)
    np.testing.assert_allclose(found.vectors[~moves], begin.vectors[~moves], rtol=1e-6)
    assert np.abs(found.vectors - begin.vectors)[moves].max() > 1e-3


def test_the_certificate_of_wide_tables_counts_their_units_as_learned():
    """Columns that move in few rows put every new row far from all clusters, once they are standardised."""
    generator = np.random.default_rng(0)
    y = np.r_[np.zeros(14, dtype=int), np.ones(14, dtype=int), np.full(6, -1)]
    X = generator.normal(size=(34, 400)) * (generator.random((34, 400)) < 0.04)
    X[y == 0, :15] += 3.0
    X[y == 1, 15:30] += 3.0
    X[y == -1, :30] += generator.normal(scale=4.0, size=(6, 30))
    own = PrototypeSurrogate(standardize=True, n_support=1, shrinkage=0.0, random_state=0)
    told = own.fit(X, y).fidelity_.overall_held_out
    splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    right = [clone(own).fit(X[seen], y[seen]).predict(X[held]) == y[held] for seen, held in splits]
    assert told == pytest.approx(np.concatenate(right).mean(), abs=0.15)
    free = clone(own).set_params(standardize="auto").fit(X, y)
    assert free.fidelity_.overall_held_out > told + 0.1  # other units are better, and are taken
    assert (free.scale_ == free.scale_[0]).all()


def test_residuals_are_taken_from_the_means_of_the_clusters():
    """Clusters far apart along one column are spread in three: what parts them is no spread."""
    generator = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 200)  # 2 is noise
    points = generator.normal(size=(600, 3)) + 100.0 * codes[:, None] * [1.0, 0.0, 0.0]
    rows = LabelledRows(points, codes, 2, seed=0)
    wanted = np.concatenate(
        [points[:200] - points[:200].mean(axis=0), points[200:400] - points[200:400].mean(axis=0)]
    )
    assert np.abs(rows.residuals - wanted).max() < 1e-12
    assert 2.8 < rows.dimensions <= 3.0
    # γ of one prototype a cluster is that of a Gaussian of the residuals' variance.
    assert rows.gamma(1, 1.0) == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("n_support", [1, 5])
def test_the_spread_around_few_prototypes_counts_their_freedom(n_support):
    X, y = make_blobs(20, centers=[[0, 0], [9, 9]], random_state=0)
    rows = LabelledRows(X, y, 2, seed=0)
    prototypes, counts = rows.start(n_support)
    within = 0.0
    for x, cluster in zip(X, y, strict=True):
        own = prototypes.vectors[prototypes.members == cluster]
        within += min(paper.squared_distance(x, u) for u in own)
    freedom = 1.0 - len(counts) / 20
    assert rows.spread(n_support) == pytest.approx(within / freedom / 20, rel=1e-9)


def test_noise_begins_where_one_row_in_fifty_would_be_noise():
    X, y = make_blobs(200, centers=[[0, 0], [9, 9]], random_state=0)
    points, codes = np.concatenate([X, [[50.0, 50.0]]]), np.append(y, 2)
    start, _ = started(points, codes, 2, 1)
    found = start_noise(points, codes, start)
    inside = found.logits(X)
    assert (inside.argmax(axis=1) == 2).sum() == 4


@pytest.mark.parametrize("gamma", [0.02, 30.0])
def test_probabilities_do_not_depend_on_the_unit_of_gamma(gamma):
    """With one prototype a cluster γ does not change an assignment; it must not make it surer, either."""
    X, y = make_blobs(1500, centers=[[0, 0], [2, 0], [0, 2]], cluster_std=1.0, random_state=0)
    differences = []
    for seed in range(3):  # three ways to deal the rows out
        model = PrototypeSurrogate(n_support=1, gamma=gamma, random_state=seed).fit(X[:300], y[:300])
        right = model.predict(X[300:]) == y[300:]
        differences.append(model.predict_proba(X[300:]).max(axis=1).mean() - right.mean())
    assert abs(np.mean(differences)) < 0.04
