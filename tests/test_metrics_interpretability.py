"""Diversity, uniqueness and faithfulness, on cases solved by hand and against literal loops."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import whyclust as wc
from whyclust import metrics

WINE = load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def model():
    return make_pipeline(StandardScaler(), KMeans(3, n_init=10, random_state=0)).fit(WINE)


@pytest.fixture(scope="module")
def ex(model):
    return wc.explain(model, WINE)


# --------------------------------------------------------------------------- diversity


def test_diversity_by_hand():
    # {0, 1}, {1, 2}, {3, 4}: Jaccard 1/3, 0, 0.
    assert metrics.diversity([{0, 1}, {1, 2}, {3, 4}]) == pytest.approx(1 - 1 / 9, abs=1e-15)
    importance = [[2.0, 1.0, 0.5, 0, 0], [0, -1.0, 2.0, 0, 0.5], [0.1, 0, 0, 3, 3]]
    assert metrics.diversity(importance, top=2) == pytest.approx(1 - 1 / 9, abs=1e-15)


def test_the_range_of_diversity():
    assert metrics.diversity([{"a"}, {"b"}]) == 1.0
    # As printed, with ordered pairs over the number of unordered ones, this would be -1.
    assert metrics.diversity([{"a"}, {"a"}, {"a"}]) == 0.0


def literal_released_diversity(labels, gates, n_clusters):
    """Sets by the median over rows, and every pair, a cluster with itself among them."""
    sets = [np.median(gates[labels == k], axis=0) > 0 for k in range(n_clusters)]
    total = 0.0
    for one in sets:
        for other in sets:
            either = (one | other).sum()
            total += (one & other).sum() / either if either else 0.0
    return 1 - total / (n_clusters * (n_clusters - 1))


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_three_forms_of_diversity_against_literal_loops(n_clusters):
    rng = np.random.default_rng(n_clusters)
    sets = [set(rng.choice(8, size=rng.integers(1, 6), replace=False).tolist()) for _ in range(n_clusters)]
    pairs = [
        len(a & b) / len(a | b) for i, a in enumerate(sets) for j, b in enumerate(sets) if i != j
    ]  # ordered
    half = n_clusters * (n_clusters - 1) / 2
    assert metrics.diversity(sets) == pytest.approx(1 - np.mean(pairs), abs=1e-14)
    assert metrics.diversity(sets, form="printed") == pytest.approx(1 - sum(pairs) / half, abs=1e-14)
    released = 1 - (sum(pairs) + n_clusters) / (2 * half)
    assert metrics.diversity(sets, form="released") == pytest.approx(released, abs=1e-14)
    for form in ("mean", "printed", "released"):
        found = metrics.diversity(sets, form=form)
        assert isinstance(found, float)
        assert (found.form, found.n_clusters) == (form, n_clusters)
    assert metrics.diversity(sets) == metrics.diversity(sets, form="mean")


def test_ten_clusters_cannot_exceed_889_in_the_released_form_unless_a_set_is_empty():
    apart = [{k} for k in range(10)]
    assert metrics.diversity(apart, form="released") == pytest.approx(1 - 1 / 9, abs=1e-15)
    assert metrics.diversity([set(), *apart[1:]], form="released") == pytest.approx(0.9, abs=1e-15)
    assert metrics.diversity([{"a"}, {"a"}, {"a"}], form="printed") == -1.0


def test_released_diversity_of_rows_goes_by_their_median(ex):
    _, labels = np.unique(ex.clusters, return_inverse=True)
    order = np.argsort(-np.abs(ex.values), axis=1)[:, :3]
    gates = np.zeros(ex.shape)
    np.put_along_axis(gates, order, 1.0, axis=1)
    found = metrics.diversity(ex, top=3, form="released")
    assert found == pytest.approx(literal_released_diversity(labels, gates, 3), abs=1e-14)
    assert repr(found).endswith("of 3 clusters, a cluster with itself counted, as in the released code>")
    with pytest.raises(ValueError, match="give top"):
        metrics.diversity(ex, form="released")
    with pytest.raises(ValueError, match="form='median' is unknown, expected one of mean, printed, released"):
        metrics.diversity(ex, top=3, form="median")


def test_a_feature_of_exactly_half_of_the_rows_counts_in_the_released_form(ex):
    first = np.abs(ex.values).argmax(axis=1)
    rows = []
    for cluster in np.unique(ex.clusters):
        members = np.flatnonzero(ex.clusters == cluster)
        rows += [members[0], members[first[members] != first[members[0]]][0]]
    labels = np.repeat(np.arange(3), 2)
    gates = np.eye(ex.shape[1])[first[rows]]  # a median of one half
    found = metrics.diversity(ex[rows], top=1, form="released")
    assert found == pytest.approx(literal_released_diversity(labels, gates, 3), abs=1e-14)
    assert found < 1.0


def test_features_without_importance_never_count():
    # Top 3 of the first cluster are only 0 and 1; otherwise the zeros of both would meet.
    gates = [[1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 1.0]]
    assert metrics.diversity(gates, top=3) == 1.0
    assert metrics.diversity(gates) == 1.0


def test_diversity_of_an_explanation(ex):
    sets = []
    for cluster in np.unique(ex.clusters):
        importance = np.abs(ex.values[ex.clusters == cluster]).mean(axis=0)
        sets.append(set(np.argsort(importance)[-4:].tolist()))
    by_hand = 1 - np.mean([len(a & b) / len(a | b) for a, b in combinations(sets, 2)])
    assert metrics.diversity(ex, top=4) == pytest.approx(by_hand, abs=1e-12)
    assert 0 < by_hand < 1


def test_diversity_of_a_sparse_explanation():
    generator = np.random.default_rng(0)
    dense = np.vstack(
        [generator.poisson(rate, size=(20, 6)) for rate in ([3, 2, 1, 0, 0, 0], [0, 0, 0, 1, 2, 3])]
    )
    dense = dense.astype(float)
    fitted = KMeans(2, n_init=1, random_state=0).fit(dense)
    factored = wc.explain(fitted, sp.csr_array(dense))
    assert factored.is_factored
    full = wc.explain(fitted, dense)
    for top in (1, 2, 3):
        assert metrics.diversity(factored, top=top) == metrics.diversity(full, top=top)


def test_noise_is_no_cluster_of_diversity(ex):
    clusters = np.where(ex.clusters == 2, -1, ex.clusters)
    noisy = replace(ex, clusters=clusters, provenance=replace(ex.provenance, noise=-1))
    assert metrics.diversity(noisy, top=4) == metrics.diversity(ex[ex.clusters != 2], top=4)
    assert metrics.diversity(noisy, top=4) != metrics.diversity(ex, top=4)
    with pytest.raises(ValueError, match=r"Found 1 cluster\(s\), expected at least two"):
        metrics.diversity(noisy[noisy.clusters != 1], top=1)


@pytest.mark.parametrize(
    ("importance", "top", "message"),
    [
        ([[1.0, 2.0]], 1, r"Found 1 cluster\(s\)"),
        ([{"a"}], None, r"Found 1 cluster\(s\)"),
        ([[1.0, 2.0], [2.0, 1.0]], 3, "top=3, expected a whole number from 1 to the number of features, 2"),
        ([[1.0, 2.0], [2.0, 1.0]], 0, "top=0"),
        ([[1.0, 2.0], [2.0, 1.0]], 1.5, "top=1.5"),
        ([[1.0, 2.0], [2.0, 1.0]], None, "give top"),
        ([[1.0, 2.0], [3.0, 3.0]], 1, "importance of cluster 1 is 3 for every feature"),
        ([[0.0, 0.0], [2.0, 1.0]], 1, "importance of cluster 0 is 0"),
        ([[1.0, np.nan], [3.0, 2.0]], 1, r"1 value\(s\) that are not finite"),
        ([[2.0, 2.0], [2.0, 2.0]], 1, "importance is 2 everywhere"),
        ([{"a"}, {"b"}], 1, "leave top out"),
        ([{"a"}, set()], None, r"importance\[1\] is set\(\)"),
        ([{"a"}, [1]], None, r"importance\[1\] is \[1\]"),
    ],
)
def test_diversity_refuses_nonsense(importance, top, message):
    with pytest.raises(ValueError, match=message):
        metrics.diversity(importance, top=top)


# --------------------------------------------------------------------------- uniqueness


def test_uniqueness_by_hand():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [30.0, 0.0]])
    weights = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
    found = metrics.uniqueness(weights, points, radius=2)
    # Pairs (0, 1): 1/1, (1, 2): 1/2. The pair (0, 2) is 3 apart.
    assert (found.value, found.mean, found.median) == (0.5, 0.75, 0.75)
    assert (found.n_pairs, found.n_identical, found.pair, found.radius) == (2, 0, (1, 2), 2.0)
    assert found.covered == 0.75


def test_released_uniqueness_against_the_literal_loop(ex):
    points = StandardScaler().fit_transform(WINE)
    ratios = []
    for i in range(len(points)):
        apart = np.linalg.norm(points - points[i], axis=1)
        apart[i] = np.inf
        k = int(apart.argmin())
        ratios.append(np.linalg.norm(ex.values[i] - ex.values[k]) / apart[k])
    found = metrics.uniqueness(ex, points, form="released")
    assert found.value == found.mean == pytest.approx(np.mean(ratios), rel=1e-12)
    assert found.median == pytest.approx(np.median(ratios), rel=1e-12)
    assert (found.form, found.n_pairs, found.covered) == ("released", 178, 1.0)
    assert found.pair[0] in (int(np.argmin(ratios)), found.pair[1])
    assert "as released" in repr(found)
    assert metrics.uniqueness(ex, points).form == "printed"


def test_released_uniqueness_leaves_identical_rows_out():
    points = np.array([[0.0], [0.0], [1.0], [5.0]])
    weights = np.array([[1.0], [3.0], [0.0], [0.0]])
    found = metrics.uniqueness(weights, points, form="released")
    # Row 2 is nearest to the first of the two that are the same.
    assert found.value == pytest.approx(np.mean([1.0, 3.0, 1.0, 0.0]))
    assert (found.n_identical, found.radius, found.pair) == (1, 4.0, (3, 2))
    with pytest.raises(ValueError, match=r"radius=1 was given with form='released'.*leave radius out"):
        metrics.uniqueness(weights, points, radius=1, form="released")
    with pytest.raises(ValueError, match="All rows of X are identical"):
        metrics.uniqueness(weights, np.ones((4, 1)), form="released")


def test_identical_rows_are_left_out_and_counted():
    points = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    weights = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    found = metrics.uniqueness(weights, points)
    assert (found.n_identical, found.n_pairs, found.radius) == (2, 4, 1.0)
    assert found.value == 1.0
    # Rows that no rounding of a matrix product tells from equal ones.
    far = metrics.uniqueness(weights, points + 1e6, radius=1)
    assert (far.n_identical, far.value) == (2, 1.0)


def test_uniqueness_against_the_literal_loop(ex):
    points = StandardScaler().fit_transform(WINE)
    found = metrics.uniqueness(ex, points, radius=2.5)
    ratios = {}
    for i, k in combinations(range(len(points)), 2):
        apart = np.linalg.norm(points[i] - points[k])
        if apart <= 2.5:
            ratios[i, k] = np.linalg.norm(ex.values[i] - ex.values[k]) / apart
    assert found.n_pairs == len(ratios) > 100
    assert found.pair == min(ratios, key=ratios.get)
    values = list(ratios.values())
    for mine, theirs in [
        (found.value, min(values)),
        (found.mean, np.mean(values)),
        (found.median, np.median(values)),
    ]:
        assert mine == pytest.approx(theirs, rel=1e-12)


def test_most_rows_have_a_neighbour_within_the_default_radius(ex):
    points = StandardScaler().fit_transform(WINE)
    found = metrics.uniqueness(ex, points)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2) + np.diag(np.full(len(points), np.inf))
    share = np.mean(apart.min(axis=1) <= found.radius)
    assert 0.9 <= share < 0.93
    assert found.covered == pytest.approx(share, abs=1e-12)


def test_top_features_of_uniqueness():
    points = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    weights = [[5.0, 1.0, -7.0], [4.0, 3.0, -8.0]]
    assert metrics.uniqueness(weights, points).value == pytest.approx(np.sqrt(1 + 4 + 1) / 2, abs=1e-12)
    assert metrics.uniqueness(weights, points, top=1).value == 0.5
    assert metrics.uniqueness(weights, points, top=2).value == pytest.approx(np.sqrt(2) / 2, abs=1e-12)
    # The top features are the same, 2 and 0, so as sets nothing differs.
    assert metrics.uniqueness(weights, points, top=2, as_sets=True).value == 0.0
    gates = [[1.0, 0.0, 0.2], [0.0, 0.7, 0.9]]
    assert metrics.uniqueness(gates, points, as_sets=True).value == pytest.approx(np.sqrt(2) / 2, abs=1e-12)


def test_columns_of_a_frame_are_matched_by_name(ex):
    found = metrics.uniqueness(ex, WINE[WINE.columns[::-1]])
    assert found.value == pytest.approx(metrics.uniqueness(ex, WINE).value, rel=1e-9)
    with pytest.raises(ValueError, match="X has the column 'other', which the explanation does not have"):
        metrics.uniqueness(ex, WINE.rename(columns={"hue": "other"}))


@pytest.mark.parametrize(
    ("weights", "X", "options", "message"),
    [
        ([[1.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]], {}, "explanation has 1 rows, but X has 2"),
        ([[1.0], [0.0]], [[0.0, 0.0], [1.0, 1.0]], {}, "explanation has 1 columns, but X has 2"),
        ([[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]], {}, "All rows of X are identical"),
        ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [3.0, 4.0]], {"radius": 2}, "a neighbour within 5"),
        ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [3.0, 4.0]], {"radius": 0}, "radius=0, expected a positive"),
        ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [3.0, 4.0]], {"radius": np.nan}, "radius=nan"),
        ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [3.0, 4.0]], {"radius": "auto"}, "radius='auto'"),
        ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [3.0, 4.0]], {"top": 3}, "top=3"),
        ([[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [3.0, 4.0]], {"as_sets": True}, "give top"),
        ([[1.0, np.inf], [2.0, 1.0]], [[0.0, 0.0], [3.0, 4.0]], {}, "not finite"),
        ([[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [3.0, 4.0]], {}, "explanation is 1 everywhere"),
        ([[1.0, 0.0], [0.0, 1.0]], [[0.0, np.nan], [3.0, 4.0]], {}, "NaN"),
    ],
)
def test_uniqueness_refuses_nonsense(weights, X, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.uniqueness(weights, X, **options)


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setitem(metrics.uniqueness.__globals__, "_MOST_PAIRS", 5)
    points = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="6 pairs of rows are within radius=9"):
        metrics.uniqueness(points, points, radius=9)
    assert metrics.uniqueness(points, points, radius=2.5).n_pairs == 5


def test_the_pair_at_the_very_radius_counts():
    generator = np.random.default_rng(0)
    for _ in range(200):
        points = generator.normal(size=(2, 3))
        assert metrics.uniqueness(points, points).n_pairs == 1
        assert metrics.uniqueness(points, points, radius=np.linalg.norm(points[0] - points[1])).value == 1.0


def test_large_sparse_tables_are_refused(monkeypatch):
    table = sp.csr_array(np.eye(6))
    fitted = KMeans(2, n_init=1, random_state=0).fit(table)
    ex = wc.explain(fitted, table)
    assert metrics.uniqueness(ex, table).n_pairs == 15
    monkeypatch.setattr("whyclust.metrics.reading.MOST_DENSE_NUMBERS", 35)
    for call in (metrics.uniqueness, lambda ex, table: metrics.faithfulness(fitted, table, ex)):
        with pytest.raises(ValueError, match="sparse with 6 rows and 6 columns, too many"):
            call(ex, table)
    with pytest.raises(ValueError, match="X is sparse with 6 rows"):
        metrics.stability(fitted, table)


# --------------------------------------------------------------------------- faithfulness


class Votes:
    """A row's cluster is the weighted sum of its columns, cut at 1.5: removals are solved by hand."""

    def predict(self, X):
        return (np.asarray(X, dtype=float) @ [4.0, 2.0, 1.0, 0.0] > 1.5).astype(int)


# Means are 0.5, so a removed column gives 2, 1, 0.5 or 0.
ROWS = np.array([[0, 0, 0, 1], [1, 1, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])


def test_faithfulness_by_hand():
    # All: 0, 7, 2, 5, so clusters 0 1 1 1. Without the first column: 2, 5, 4, 3, of which one changes.
    # Without the second: 1, 6, 1, 6, the third row changes. Without the third: 0.5, 6.5, 2.5, 4.5.
    found = metrics.faithfulness(Votes(), ROWS, [0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(found.drop, [0.25, 0.25, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found.performance, [0.75, 0.75, 1, 1], atol=1e-12)
    assert found.full_performance == 1.0
    assert found.value == pytest.approx(np.corrcoef([0.4, 0.3, 0.2, 0.1], [1, 1, 0, 0])[0, 1], abs=1e-12)
    assert found.spearman == pytest.approx(np.corrcoef([4, 3, 2, 1], [3.5, 3.5, 1.5, 1.5])[0, 1], abs=1e-12)


def test_removal_one_after_the_other():
    # In the order of columns 1, 2, 0, 3: first as above (the third row changes, 0.75 left); then all are
    # 1.5, 5.5, 1.5, 5.5 (0.75 left); then 3.5 everywhere, where the first row changes and the third is back.
    found = metrics.faithfulness(Votes(), ROWS, [0.2, 0.4, 0.3, 0.1], cumulative=True)
    np.testing.assert_allclose(found.performance, [0.75, 0.75, 0.75, 0.75], atol=1e-12)
    np.testing.assert_allclose(found.drop, [0, 0.25, 0, 0], atol=1e-12)
    assert found.value == pytest.approx(np.corrcoef([0.2, 0.4, 0.3, 0.1], [0, 1, 0, 0])[0, 1], abs=1e-12)
    assert found.to_pandas()["feature"].tolist() == ["x1", "x2", "x0", "x3"]
    assert "one after the other" in repr(found)


def test_faithfulness_against_labels():
    # The clusters 0 1 1 1 are right for 3 of 4 rows; without the first column all are 1: 2 of 4.
    found = metrics.faithfulness(Votes(), ROWS, [0.4, 0.3, 0.2, 0.1], labels=["a", "b", "a", "b"])
    assert found.full_performance == 0.75
    # Without the second: clusters 0 1 0 1, all right, so that performance rises.
    np.testing.assert_allclose(found.performance, [0.5, 1.0, 0.75, 0.75], atol=1e-12)
    np.testing.assert_allclose(found.drop, [0.25, -0.25, 0, 0], atol=1e-12)


def test_importance_is_the_mean_of_absolute_relevance():
    relevance = np.array([[4.0, -3, 2, 1], [-4, 1, 2, 3], [4, 3, 0, 1], [4, 1, 0, 3]])
    found = metrics.faithfulness(Votes(), ROWS, relevance)
    np.testing.assert_allclose(found.importance, [4, 2, 1, 2], atol=1e-12)
    only = metrics.faithfulness(Votes(), ROWS, relevance, top=2)
    np.testing.assert_allclose(only.importance, [4, 1.5, 0, 1.5], atol=1e-12)
    vector = metrics.faithfulness(Votes(), ROWS, [4.0, 3.0, 2.0, 1.0], top=2)
    np.testing.assert_allclose(vector.importance, [4, 3, 0, 0], atol=1e-12)


def test_permuted_columns():
    options = {"imputer": "permute", "random_state": 3}
    found = metrics.faithfulness(Votes(), ROWS, [0.4, 0.3, 0.2, 0.1], **options)
    again = metrics.faithfulness(Votes(), ROWS, [0.4, 0.3, 0.2, 0.1], **options)
    np.testing.assert_array_equal(found.drop, again.drop)
    # What has no weight costs nothing, in whatever order.
    assert found.drop[3] == 0.0
    assert found.drop[0] > 0.0


@pytest.mark.parametrize("cumulative", [False, True])
def test_faithfulness_of_an_explanation(model, ex, cumulative):
    found = metrics.faithfulness(model, WINE, ex, cumulative=cumulative)
    full, current = model.predict(WINE), WINE.copy()
    importance = np.abs(ex.values).mean(axis=0)
    drop, before = np.zeros(13), 1.0
    for column in np.argsort(-importance):
        current = current if cumulative else WINE.copy()
        current.isetitem(column, WINE.iloc[:, column].mean())
        now = np.mean(model.predict(current) == full)
        drop[column] = before - now
        before = now if cumulative else 1.0
    np.testing.assert_allclose(found.drop, drop, atol=1e-12)
    assert found.value == pytest.approx(np.corrcoef(importance, drop)[0, 1], abs=1e-12)
    assert found.spearman == pytest.approx(spearmanr(importance, drop).statistic, abs=1e-12)
    assert found.feature_names == list(WINE.columns)


def test_the_network_and_the_model_are_the_same(model, ex):
    by_model = metrics.faithfulness(model, WINE, ex)
    by_network = metrics.faithfulness(wc.neuralize(model, WINE), WINE, ex)
    np.testing.assert_array_equal(by_model.drop, by_network.drop)
    shuffled = metrics.faithfulness(model, WINE[WINE.columns[::-1]], ex)
    np.testing.assert_array_equal(by_model.drop, shuffled.drop)


def test_the_table_is_not_changed(model, ex):
    table = WINE.copy()
    metrics.faithfulness(model, table, ex, imputer="permute", cumulative=True)
    pd.testing.assert_frame_equal(table, WINE)
    rows = ROWS.copy()
    metrics.faithfulness(Votes(), rows, [0.4, 0.3, 0.2, 0.1])
    np.testing.assert_array_equal(rows, ROWS)


def test_sparse_tables():
    dense = np.repeat(np.eye(4) * [8.0, 6.0, 4.0, 2.0], 5, axis=0)
    fitted = KMeans(4, n_init=3, random_state=0).fit(dense)
    table = sp.csr_array(dense)
    found = metrics.faithfulness(fitted, table, wc.explain(fitted, table))
    other = metrics.faithfulness(fitted, dense, wc.explain(fitted, dense))
    np.testing.assert_allclose(found.drop, other.drop, atol=1e-12)


@pytest.mark.parametrize("imputer", ["mean", "permute"])
def test_text_columns(imputer):
    frame = pd.DataFrame(
        {
            "city": ["bonn", "ulm"] * 15,
            "size": [1, 1, 1, 9, 9] * 6,
            "age": np.random.default_rng(0).normal(size=30),
        }
    )
    encode = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    fitted = make_pipeline(encode, KMeans(2, n_init=3, random_state=0)).fit(frame)
    found = metrics.faithfulness(fitted, frame, wc.explain(fitted, frame), imputer=imputer)
    assert found.feature_names == ["city", "size", "age"]
    assert found.drop[1] == found.drop.max()


@pytest.mark.parametrize(
    ("importance", "options", "message"),
    [
        ([0.4, 0.3, 0.2], {}, "explanation has 3 columns, but X has 4"),
        (np.arange(8.0).reshape(2, 4), {}, r"explanation has 2 rows, but X has 4.*mean\(axis=0\)"),
        (np.ones(4), {}, "explanation is 1 everywhere"),
        (np.eye(4), {}, "The mean importance is 0.25 everywhere"),
        ([0.4, np.nan, 0.2, 0.1], {}, "not finite"),
        ([0.4, 0.3, 0.2, 0.1], {"top": 5}, "top=5"),
        (
            [0.4, 0.3, 0.2, 0.1],
            {"imputer": "zero"},
            "imputer='zero' is unknown, expected one of mean, permute",
        ),
        ([0.4, 0.3, 0.2, 0.1], {"labels": [0, 1]}, "labels has 2 labels, but X has 4 rows"),
    ],
)
def test_faithfulness_refuses_nonsense(importance, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.faithfulness(Votes(), ROWS, importance, **options)


def test_faithfulness_refuses_other_data(model, ex):
    with pytest.raises(ValueError, match="explanation has 178 rows, but X has 100"):
        metrics.faithfulness(model, WINE.iloc[:100], ex)
    with pytest.raises(ValueError, match="The explanation is of other values than X holds"):
        metrics.faithfulness(model, WINE.iloc[::-1], ex)
    grouped = wc.explain(model, WINE, groups={"colour": ["color_intensity", "hue"]})
    with pytest.raises(ValueError, match="explanation has 12 columns, but X has 13"):
        metrics.faithfulness(model, WINE, grouped)


def test_faithfulness_needs_something_to_lose():
    class Same:
        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    class First:
        def predict(self, X):
            return np.arange(len(X)) % 2

    with pytest.raises(ValueError, match="all rows into one cluster"):
        metrics.faithfulness(Same(), ROWS, [0.4, 0.3, 0.2, 0.1])
    with pytest.raises(ValueError, match=r"costs the same, 0, .* try cumulative=True"):
        metrics.faithfulness(First(), ROWS, [0.4, 0.3, 0.2, 0.1])
    with pytest.raises(ValueError, match=r"costs the same, 0, .* expected a clustering that depends on X"):
        metrics.faithfulness(First(), ROWS, [0.4, 0.3, 0.2, 0.1], cumulative=True)
    with pytest.raises(ValueError, match=r"Found 2 feature\(s\), expected three"):
        metrics.faithfulness(First(), ROWS[:, :2], [0.4, 0.3])
    with pytest.raises(TypeError, match="DBSCAN cannot be neuralised"):
        metrics.faithfulness(DBSCAN().fit(ROWS), ROWS, [0.4, 0.3, 0.2, 0.1])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_faithfulness_follows_the_names_of_columns():
    generator = np.random.default_rng(0)
    shifts = np.repeat([[0, 0, 0, 0], [4, 0, 1, 0], [0, 3, 0, 1]], 30, axis=0)
    frame = pd.DataFrame(generator.normal(size=(90, 4)) + shifts, columns=list("abcd"))
    model = KMeans(3, n_init=3, random_state=0).fit(frame)
    ex = wc.explain(model, frame)
    plain = metrics.faithfulness(model, frame, ex)
    values = pd.DataFrame(ex.values, columns=list("abcd"))
    mixed = frame[list("dabc")]
    mean = values.abs().mean()
    for X, given in (
        (mixed, ex),
        (mixed, values),
        (mixed, values[list("bcda")]),
        (mixed, values[list("dabc")].to_numpy()),
        (mixed, mean[list("cdab")]),
        (frame.to_numpy(), mean[list("cdab")]),
        (frame, mean[list("cdab")]),
    ):
        assert metrics.faithfulness(model, X, given).value == pytest.approx(plain.value, abs=1e-9)


def test_numbered_columns_are_read_by_their_numbers():
    """Columns of an array are called x0, x1, …: relevance in another order of these is put in theirs."""
    random = np.random.default_rng(0)
    table, relevance = random.normal(size=(40, 4)), random.normal(size=(40, 4))
    model = KMeans(3, n_init=1, random_state=0).fit(table)

    def area(values):
        return metrics.flipping_auc(model, table, values, n_repeats=2, random_state=0).auc

    wanted, order = area(relevance), [2, 0, 3, 1]
    for names in (["x0", "x1", "x2", "x3"], [0, 1, 2, 3]):
        frame = pd.DataFrame(relevance, columns=names)
        assert area(frame) == area(frame.iloc[:, order]) == wanted
    named = pd.DataFrame(relevance, columns=list("abcd"))
    assert area(named) == wanted
    assert area(named.iloc[:, order]) != wanted
    assert area(sp.csr_array(relevance)) == wanted


def test_explanations_of_arrays_are_of_frames_by_position():
    """The model was fitted on an array: that its columns are called x0, x1, … says nothing of a frame."""
    table = np.random.default_rng(0).normal(size=(40, 4))
    ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(table), table)
    framed = pd.DataFrame(table, columns=list("abcd"))
    assert metrics.uniqueness(ex, framed).value == metrics.uniqueness(ex, table).value
