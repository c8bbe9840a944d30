"""Scores of clusterings, on cases solved by hand."""

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import generators
from whyclust import metrics
from whyclust.metrics.reading import read_codes

SCORES = [
    metrics.clustering_accuracy,
    metrics.purity,
    metrics.normalized_mutual_information,
    metrics.adjusted_rand_index,
]
# Classes a, a, a, b, b, c against clusters 0, 0, 1, 1, 1, 1.
TRUE = ["a", "a", "a", "b", "b", "c"]
FOUND = [0, 0, 1, 1, 1, 1]


def test_accuracy_by_hand():
    # a ↔ 0 (2 rows), b ↔ 1 (2 rows): 4 of 6.
    assert metrics.clustering_accuracy(TRUE, FOUND) == pytest.approx(4 / 6, abs=1e-15)


def test_accuracy_is_no_greedy_matching():
    # Greedy takes the largest cell (x, 0) = 5 and is left with (y, 1) = 0; the best is 4 + 4.
    true = ["x"] * 9 + ["y"] * 4
    found = [0] * 5 + [1] * 4 + [0] * 4
    assert metrics.clustering_accuracy(true, found) == pytest.approx(8 / 13, abs=1e-15)


def test_rows_of_left_over_clusters_are_wrong():
    assert metrics.clustering_accuracy([0, 0, 0, 0], [0, 0, 1, 2]) == 0.5
    assert metrics.clustering_accuracy([0, 0, 1, 2], [0, 0, 0, 0]) == 0.5


def test_purity_by_hand():
    # Cluster 0 is all a (2), cluster 1 has b twice (2): 4 of 6; the other way round 2 + 2 + 1.
    assert metrics.purity(TRUE, FOUND) == pytest.approx(4 / 6, abs=1e-15)
    assert metrics.purity(FOUND, TRUE) == pytest.approx(5 / 6, abs=1e-15)


def test_rand_index_by_hand():
    # Pairs together in both: aa and bb, 1 + 1. In the classes 3 + 1, in the clusters 1 + 6, of 15 in all.
    together, classes, clusters, total = 2, 4, 7, 15
    expected = classes * clusters / total
    index = (together - expected) / ((classes + clusters) / 2 - expected)
    assert metrics.adjusted_rand_index(TRUE, FOUND) == pytest.approx(index, abs=1e-12)


def test_mutual_information_by_hand():
    def entropy(*shares):
        return -sum(share * np.log(share) for share in shares)

    first, second = entropy(3 / 6, 2 / 6, 1 / 6), entropy(2 / 6, 4 / 6)
    joint = entropy(2 / 6, 1 / 6, 2 / 6, 1 / 6)
    by_hand = (first + second - joint) / ((first + second) / 2)
    assert metrics.normalized_mutual_information(TRUE, FOUND) == pytest.approx(by_hand, abs=1e-12)


def test_silhouette_by_hand():
    # Rows 0, 1 | 5: a = 1, b = 5 and 4; the single row counts 0.
    by_hand = ((5 - 1) / 5 + (4 - 1) / 4 + 0) / 3
    assert metrics.silhouette([[0.0], [1.0], [5.0]], ["a", "a", "b"]) == pytest.approx(by_hand, abs=1e-12)


def test_silhouette_of_a_sample():
    generator = np.random.default_rng(0)
    codes = np.repeat([0, 1], 500)
    points = codes[:, None] * 8.0 + generator.normal(size=(1000, 2))
    whole = metrics.silhouette(points, codes)
    sampled = metrics.silhouette(points, codes, max_rows=300, random_state=1)
    assert sampled == metrics.silhouette(points, codes, max_rows=300, random_state=1)
    assert sampled != whole
    assert abs(sampled - whole) < 0.03


def test_silhouette_without_noise():
    points, labels = [[0.0], [1.0], [5.0], [99.0]], [0, 0, 1, -1]
    assert metrics.silhouette(points, labels, ignore_noise=True) == metrics.silhouette(points[:3], labels[:3])
    assert metrics.silhouette(points, labels) != metrics.silhouette(points[:3], labels[:3])


@pytest.mark.parametrize("score", SCORES)
def test_noise_is_a_label_unless_ignored(score):
    true, found = [0, 0, 1, 1, 1, 0], [0, 0, 1, 1, -1, -1]
    assert score(true, found, ignore_noise=True) == pytest.approx(1.0, abs=1e-12)
    assert score(["0", "0", "1", "1", "1", "0"], list(map(str, found)), ignore_noise=True) == pytest.approx(
        1.0
    )
    relabelled = [5 if label == -1 else label for label in found]
    assert score(true, found) == score(true, relabelled)
    assert score(true, found) < 1.0


def test_agreement_by_hand():
    found = metrics.agreement([0, 0, 0, 1, 1, -1], ["x", "x", "y", "y", "y", "z"])
    assert found.share == pytest.approx(5 / 6, abs=1e-15)
    assert found.matching == {0: "x", 1: "y", -1: "z"}
    assert (found.n_rows, found.n_ignored) == (6, 0)
    assert repr(found).startswith("<Agreement: 83.3% of 6 rows, ARI ")
    without = metrics.agreement([0, 0, 0, 1, 1, -1], ["x", "x", "y", "y", "y", "z"], ignore_noise=True)
    assert (without.share, without.n_rows, without.n_ignored) == (0.8, 5, 1)
    assert without.matching == {0: "x", 1: "y"}


def test_clusters_that_share_no_row_are_no_partners():
    found = metrics.agreement([0, 0, 0, 1], ["x", "x", "x", "x"])
    assert found.matching == {0: "x"}
    # 0 and x share three rows, which leaves 1 and y to each other, and these share none.
    crossed = metrics.agreement([0, 0, 0, 0, 1], ["x", "x", "x", "y", "x"])
    assert crossed.matching == {0: "x"}
    assert crossed.share == 0.6


labellings = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


@given(labellings, st.permutations(range(4)))
@settings(max_examples=60, deadline=None)
def test_names_of_clusters_do_not_matter(pairs, names):
    true, found = (np.array(column) for column in zip(*pairs, strict=True))
    renamed = [f"cluster {names[label]}" for label in found]
    for score in SCORES:
        assert score(true, renamed) == pytest.approx(score(true, found), abs=1e-12)
    assert metrics.agreement(true, renamed).share == metrics.agreement(found, true).share


@given(labellings)
@settings(max_examples=60, deadline=None)
def test_accuracy_is_the_best_of_all_matchings(pairs):
    true, found = (np.array(column) for column in zip(*pairs, strict=True))
    best = max(np.mean(true == np.array(names)[found]) for names in permutations(range(4)))
    assert metrics.clustering_accuracy(true, found) == pytest.approx(best, abs=1e-12)
    assert metrics.purity(true, found) >= best - 1e-12


@pytest.mark.parametrize(
    "labels",
    [
        FOUND,
        tuple(FOUND),
        np.array(FOUND),
        np.array(FOUND, dtype=float),
        np.array(FOUND)[:, None],
        pd.Series(FOUND, index=[9, 8, 7, 6, 5, 4]),
        pd.Series(FOUND).astype("category"),
        pd.Series(FOUND, dtype="Int64"),
        pd.DataFrame({"label": FOUND}),
        pl.Series(FOUND),
        np.array(FOUND).astype(bool),
        (label for label in FOUND),
    ],
    ids=lambda labels: f"{type(labels).__name__} {getattr(labels, 'dtype', '')}",
)
def test_labels_in_any_form(labels):
    assert metrics.clustering_accuracy(TRUE, labels) == pytest.approx(4 / 6, abs=1e-15)


def test_large_numbers_are_not_rounded():
    codes, names = read_codes([2**60, 2**60 + 1], "labels")
    assert codes.tolist() == [0, 1]
    assert names.tolist() == [2**60, 2**60 + 1]


WRONG = [
    ([0, 1], [0, 1, 1], ValueError, "labels_true has 2 labels and labels_pred 3"),
    ([], [], ValueError, "labels_true is empty"),
    ([0.0, np.nan], [0, 1], ValueError, "1 of 2 labels are missing in labels_true"),
    ([0, 1], ["a", None], ValueError, "1 of 2 labels are missing in labels_pred"),
    ([0, 1], [0.5, 1.0], ValueError, "Found 0.5 in labels_pred, expected whole numbers or names"),
    (
        [0, 1],
        [[0, 1], [1, 0]],
        ValueError,
        r"labels_pred of shape \(2, 2\), expected one label per row\.$",
    ),
    ([0, 1], 3, TypeError, "labels_pred is a int, expected a sequence"),
    ("ab", [0, 1], TypeError, "labels_true is a str"),
    ([0, 1], [pd.Timestamp("2020"), pd.Timestamp("2021")], ValueError, "Found a Timestamp in labels_pred"),
]


@pytest.mark.parametrize(("true", "found", "kind", "message"), WRONG)
@pytest.mark.parametrize("score", SCORES)
def test_nonsense_is_refused(score, true, found, kind, message):
    with pytest.raises(kind, match=message):
        score(true, found)


def test_all_noise_is_refused():
    with pytest.raises(ValueError, match="All rows are noise"):
        metrics.agreement([0, 1], [-1, -1], ignore_noise=True)


@pytest.mark.parametrize(
    ("X", "labels", "options", "message"),
    [
        ([[0.0], [1.0]], [0, 1, 1], {}, "labels has 3 labels, but X has 2 rows"),
        ([[0.0], [1.0], [2.0]], [0, 0, 0], {}, r"Found 1 cluster\(s\) of 3 rows"),
        ([[0.0], [1.0], [2.0]], [0, 1, 2], {}, r"Found 3 cluster\(s\) of 3 rows"),
        ([[0.0], [np.nan], [2.0]], [0, 1, 1], {}, "NaN .* in row 1, column 'x0'"),
        ([["a"], ["b"], ["c"]], [0, 1, 1], {}, "not numbers"),
        ([[0.0], [1.0], [2.0]], [0, 1, 1], {"max_rows": 2}, "max_rows=2"),
        (np.zeros((9, 1)), [0] * 8 + [1], {"max_rows": 3}, r"in a sample of 3 rows"),
        ([[0.0], [1.0], [2.0]], [0, 0, -1], {"ignore_noise": True}, r"Found 1 cluster\(s\) of 2 rows"),
    ],
)
def test_silhouette_refuses_nonsense(X, labels, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.silhouette(X, labels, **options)


def test_the_global_generator_is_left_alone():
    with generators.untouched():
        metrics.silhouette(np.arange(20.0)[:, None], [0, 1] * 10, max_rows=5)
