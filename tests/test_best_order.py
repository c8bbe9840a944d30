"""The best order known: a reference for Algorithm 1, never behind what it is compared with."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

import whyclust as wc
from whyclust.metrics import flipping_auc
from whyclust.metrics.flipping import FlippingResult, share_attained
from whyclust.perturbing.imputation import KernelDensity


@pytest.fixture(scope="module")
def wine():
    X = load_wine().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KMeans(3, n_init=5, random_state=0).fit(X)
    return model, X[::4], wc.explain(model, X[::4])


def scored(wine, explanation, order="insert", **options):
    model, X, _ = wine
    return flipping_auc(model, X, explanation, order=order, n_repeats=5, reference=True, **options)


@pytest.mark.parametrize("order", ["insert", "delete"])
def test_the_best_order_is_ahead_of_relevance_and_relevance_of_chance(wine, order):
    found = scored(wine, wine[2], order)
    sign = 1 if order == "insert" else -1
    assert sign * (found.reference - found.auc) > 0 and sign * (found.auc - found.random) > 0
    assert 0.3 < found.attained < 1.0
    expected = (found.auc - found.random) / (found.reference - found.random)
    assert found.attained == pytest.approx(expected)


def test_not_asked_is_not_told(wine):
    model, X, ex = wine
    found = flipping_auc(model, X, ex, n_repeats=2)
    assert found.attained is None and found.reference is None
    asked = flipping_auc(model, X, ex, n_repeats=2, reference=True)
    assert asked.auc == found.auc and np.array_equal(asked.per_point, found.per_point)


def result(auc, random, reference, order="insert"):
    nothing = np.zeros(2)
    return FlippingResult(auc, 0.0, nothing, nothing, nothing, order, "kde", random, reference)


def test_attained_is_never_above_one():
    assert result(80.0, 60.0, 70.0).attained == 1.0  # better than the reference: it is the best known
    assert result(20.0, 60.0, 30.0, "delete").attained == 1.0
    assert result(60.0, 60.0, 70.0).attained == 0.0
    assert result(55.0, 60.0, 70.0).attained == pytest.approx(-0.5)
    assert np.isnan(result(60.0, 60.0, 60.0).attained)
    assert np.isnan(share_attained(59.0, 60.0, [58.0], "insert"))


def test_the_reference_order_attains_all_and_chance_nothing(wine):
    """Scored as an explanation on the same draws, the reference itself has the area of the reference."""
    from whyclust.metrics.flipping import _Scoring
    from whyclust.metrics.flipping_setting import setting_of

    model, X, ex = wine
    setting = setting_of(model, X, None, ex)
    order = _Scoring.of(setting, ex, "kde", 5, "insert", True, 0).best_order(ex.values)
    assert {tuple(row) for row in np.sort(order, axis=1)} == {tuple(range(1, 14))}
    found = scored(wine, ex)
    itself = flipping_auc(model, X, order, n_repeats=5)
    assert itself.auc == found.reference
    assert share_attained(itself.auc, found.random, [found.reference], "insert") == 1.0
    generator = np.random.default_rng(0)
    by_chance = [
        flipping_auc(model, X, generator.random(X.shape), n_repeats=2, random_state=seed).auc
        for seed in range(20)
    ]
    mean = share_attained(np.mean(by_chance), found.random, [found.reference], "insert")
    assert abs(mean) < 0.1


def test_greedy_finds_the_order_where_it_is_known():
    """Two columns decide, the first more often: without any hint they come first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    X[:60, 3] += 10.0
    model = KMeans(2, n_init=5, random_state=0).fit(X)
    found = flipping_auc(model, X, rng.random(X.shape), n_repeats=5, reference=True)
    by_hand = np.zeros(X.shape)
    by_hand[:, 3] = 1.0
    best = flipping_auc(model, X, by_hand, n_repeats=5)
    assert found.reference == pytest.approx(best.auc, abs=0.5)


def test_a_column_made_unknown_again_leaves_no_trace():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 4))
    sources = np.array([0, 1, 1, 2])
    path = KernelDensity.fit(rows).path(rows[:6], sources)
    path.leave_out(np.arange(6))
    path.reveal(np.array([0, 1, 2, 0, 1, 2]))
    distances, known = path.distances.copy(), path.known.copy()
    other = np.array([1, 2, 0, 1, 2, 0])
    path.reveal(other)
    assert not np.array_equal(path.known, known)
    path.conceal(other)
    assert np.array_equal(path.known, known)
    finite = np.isfinite(distances)
    assert np.array_equal(finite, np.isfinite(path.distances))
    assert np.abs(path.distances[finite] - distances[finite]).max() < 1e-9


def test_the_audit_tells_what_is_attained(wine):
    model, X, _ = wine
    audit = wc.audit(model, X, n_refits=0, n_repeats=3)
    share = audit.comparison.attained()
    assert 0 < share <= 1 and audit.comparison.attained("random") == 0.0
    assert all(audit.comparison.attained(name) <= 1 for name in audit.comparison.results)
    assert any(f"{share:.0%} of the best order known" in sentence for sentence in audit.verdict)
