"""Selected features against known ones, and heat maps against masks, on cases solved by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

import whyclust as wc
from whyclust import metrics

# --------------------------------------------------------------------------- selection


def test_one_set_by_hand():
    # Two hits of three selected, of four true: 2/3, 1/2, and 2·2/(3 + 4).
    scores = metrics.selection_scores([0, 1, 4], [0, 1, 2, 3], n_features=6)
    assert scores.precision == pytest.approx(2 / 3, abs=1e-15)
    assert scores.recall == 0.5
    assert scores.f1 == pytest.approx(4 / 7, abs=1e-15)
    assert scores.pooled_f1 == scores.f1


def test_rows_by_hand():
    scores = metrics.selection_scores([[0], [0, 1], []], [[0, 1], [1, 0], [2]], n_features=3)
    np.testing.assert_array_equal(scores.precision_per_row, [1, 1, 0])
    np.testing.assert_array_equal(scores.recall_per_row, [0.5, 1, 0])
    np.testing.assert_allclose(scores.f1_per_row, [2 / 3, 1, 0], rtol=1e-15)
    assert scores.precision == pytest.approx(2 / 3, abs=1e-15)
    # Pooled: 3 hits, 3 selected, 5 true.
    assert scores.pooled_f1 == pytest.approx(6 / 8, abs=1e-15)
    assert scores.to_pandas()["hits"].tolist() == [1, 2, 0]
    assert repr(scores) == "<SelectionScores: precision 0.667, recall 0.500, F1 0.556 (mean over 3 rows)>"


@pytest.mark.parametrize(
    "selected",
    [
        np.array([True, False, True]),
        [True, False, True],
        pd.Series([True, False, True]),
        {0, 2},
        (2, 0),
        np.array([0, 2]),
        [np.int64(0), 2],
    ],
    ids=lambda selected: type(selected).__name__,
)
def test_sets_in_any_form(selected):
    for truth in ([0, 1], [True, True, False]):
        scores = metrics.selection_scores(selected, truth, n_features=3)
        assert (scores.precision, scores.recall, scores.f1) == (0.5, 0.5, 0.5)


def test_one_truth_for_all_rows():
    mask = np.array([[True, True, False], [False, False, True]])
    scores = metrics.selection_scores(mask, [0, 1])
    np.testing.assert_array_equal(scores.f1_per_row, [1, 0])
    by_lists = metrics.selection_scores([[0, 1], [2]], [[True, True, False]] * 2)
    np.testing.assert_array_equal(by_lists.f1_per_row, [1, 0])


def make_explanation():
    """Column 'a' alone separates two clusters; the others are the same in both."""
    frame = pd.DataFrame({"a": [0.0, 0.0, 8.0, 8.0], "b": [0.0, 1.0, 0.0, 1.0], "c": [1.0, 0.0, 0.0, 1.0]})
    return wc.explain(KMeans(2, n_init=1, random_state=0).fit(frame), frame)


def test_an_explanation():
    ex = make_explanation()
    found = metrics.selection_scores(ex, ["a"], top=1)
    assert (found.precision, found.recall, found.f1) == (1.0, 1.0, 1.0)
    # 'b' and 'c' have no relevance, so they are not selected either.
    assert metrics.selection_scores(ex, [0], top=3).precision == 1.0
    per_row = metrics.selection_scores(ex, [["a"], ["a", "b"], ["b"], [0, "c"]], top=1)
    np.testing.assert_array_equal(per_row.recall_per_row, [1, 0.5, 0, 0.5])


@given(st.lists(st.booleans(), min_size=5, max_size=5), st.lists(st.booleans(), min_size=5, max_size=5))
@settings(max_examples=60, deadline=None)
def test_f1_is_the_harmonic_mean(selected, truth):
    if not any(truth):
        truth[0] = True
    scores = metrics.selection_scores(selected, truth)
    both = scores.precision + scores.recall
    assert scores.f1 == pytest.approx(2 * scores.precision * scores.recall / both if both else 0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("selected", "truth", "options", "message"),
    [
        ([0], [1], {}, "n_features is needed"),
        ([0], [5], {"n_features": 3}, "names the feature 5, but there are 3"),
        ([-1], [1], {"n_features": 3}, "names the feature -1"),
        ([0, 0], [1], {"n_features": 3}, "the feature 0 twice"),
        ([0.5], [1], {"n_features": 3}, "selected holds 0.5"),
        ([0, True], [1], {"n_features": 3}, "selected holds True"),
        (["a"], [1], {"n_features": 3}, "names the feature 'a', which is not known"),
        ([True, False], [True, False, False], {}, "mask of 3 features, expected 2"),
        ([True, False], [0], {"n_features": 3}, "mask of 2 features, expected 3"),
        ([[True], [True, False]], [0], {}, "rows of the same length"),
        ([0], [], {"n_features": 3}, "truth has no feature for row 0"),
        ([[0], [1]], [[0], [1], [2]], {"n_features": 3}, "truth has 3 sets, but selected has 2"),
        ([0], [1], {"n_features": 3, "top": 1}, "top=1 is for explanations"),
    ],
)
def test_selection_refuses_nonsense(selected, truth, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.selection_scores(selected, truth, **options)


def test_selection_refuses_what_does_not_fit_the_explanation():
    ex = make_explanation()
    with pytest.raises(ValueError, match="top=4, expected a whole number from 1 to"):
        metrics.selection_scores(ex, [0], top=4)
    with pytest.raises(ValueError, match="n_features=7, but the explanation has 3"):
        metrics.selection_scores(ex, [0], n_features=7)
    with pytest.raises(ValueError, match="names the feature 'z'"):
        metrics.selection_scores(ex, ["z"], top=1)
    with pytest.raises(TypeError, match="truth is 'a'"):
        metrics.selection_scores(ex, "a", top=1)
    with pytest.raises(TypeError, match=r"truth\[1\] is 2"):
        metrics.selection_scores(ex, [[0], 2], top=1)


# --------------------------------------------------------------------------- heat maps and masks

MASKS = np.array([[[1, 1], [0, 0]], [[0, 0], [1, 1]]])


def test_matching_by_hand():
    # The first map is mask 1 itself, the second half of mask 0.
    maps = np.array([[[0.0, 0.0], [3.0, 3.0]], [[1.0, 0.0], [0.0, 0.0]]])
    found = metrics.match_heatmaps(maps, MASKS)
    assert found.pairs.tolist() == [[0, 1], [1, 0]]
    np.testing.assert_allclose(found.similarities, [1.0, 1 / np.sqrt(2)], rtol=1e-12)
    assert found.mean == pytest.approx((1 + 1 / np.sqrt(2)) / 2, abs=1e-12)
    np.testing.assert_allclose(found.cosines, [[0, 1], [1 / np.sqrt(2), 0]], atol=1e-12)


def test_the_sum_decides_and_not_the_best_pair():
    # Cosines 0.7, 0.6 and 0.65, 0: the greedy choice of 0.7 would leave 0.
    maps = np.array([[[0.7, 0.6, np.sqrt(0.15)]], [[0.65, 0.0, np.sqrt(1 - 0.65**2)]]])
    masks = np.array([[[1, 0, 0]], [[0, 1, 0]]])
    found = metrics.match_heatmaps(maps, masks)
    assert found.pairs.tolist() == [[0, 1], [1, 0]]
    assert found.mean == pytest.approx((0.6 + 0.65) / 2, abs=1e-12)


def test_as_many_pairs_as_there_are_of_the_fewer():
    maps = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 1.0]]])
    found = metrics.match_heatmaps(maps, [[[1, 1]]])
    assert found.pairs.tolist() == [[2, 0]]
    assert found.mean == pytest.approx(1.0, abs=1e-12)
    other = metrics.match_heatmaps(maps[:1], MASKS[:, :1] + [[[0, 0]], [[0, 1]]])
    assert len(other.pairs) == 1


def test_negative_similarity_counts():
    found = metrics.match_heatmaps([[[-1.0, -1.0]]], [[[1, 1]]])
    assert found.mean == pytest.approx(-1.0, abs=1e-12)


def test_an_empty_heat_map_is_similar_to_nothing():
    found = metrics.match_heatmaps(np.zeros((2, 2, 2)), MASKS)
    np.testing.assert_array_equal(found.cosines, np.zeros((2, 2)))
    assert found.mean == 0.0


def test_a_label_image():
    labels = np.array([[0, 7, 255], [0, 7, 255]], dtype=np.uint8)
    maps = np.array([[[0, 1, 9], [0, 1, 9]], [[1, 0, 9], [1, 0, 9]]], dtype=float)
    found = metrics.match_heatmaps(maps, labels, ignore_label=255)
    assert found.labels.tolist() == [0, 7]
    assert found.pairs.tolist() == [[0, 1], [1, 0]]
    # What the maps hold at ignored pixels does not count.
    assert found.mean == pytest.approx(1.0, abs=1e-12)
    all_three = metrics.match_heatmaps(maps, labels)
    assert all_three.labels.tolist() == [0, 7, 255]
    assert all_three.mean < 1.0
    masks = labels[None] == np.array([0, 7, 255])[:, None, None]
    np.testing.assert_allclose(metrics.match_heatmaps(maps, masks).cosines, all_three.cosines, rtol=1e-15)


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
def test_scale_does_not_matter(factor):
    maps = np.random.default_rng(0).normal(size=(2, 2, 2))
    expected = metrics.match_heatmaps(maps, MASKS).cosines
    np.testing.assert_allclose(metrics.match_heatmaps(factor * maps, MASKS).cosines, expected, rtol=1e-12)


def test_cosines_against_the_literal_formula():
    generator = np.random.default_rng(1)
    maps, masks = generator.normal(size=(4, 5, 6)), generator.random((3, 5, 6)) > 0.5
    found = metrics.match_heatmaps(maps, masks).cosines
    for i, heat in enumerate(maps):
        for j, mask in enumerate(masks):
            cosine = (heat * mask).sum() / np.sqrt((heat**2).sum() * mask.sum())
            assert found[i, j] == pytest.approx(cosine, abs=1e-12)


@pytest.mark.parametrize(
    ("maps", "masks", "options", "message"),
    [
        (np.ones((2, 2)), MASKS, {}, r"heatmaps has the shape \(2, 2\).*heatmaps\[None\]"),
        (np.ones((0, 2, 2)), MASKS, {}, r"heatmaps has the shape \(0, 2, 2\)"),
        (np.ones((1, 3, 2)), MASKS, {}, "heatmaps are of 3 × 2 pixels, masks of 2 × 2"),
        (np.full((1, 2, 2), np.nan), MASKS, {}, "heatmaps holds NaN"),
        (np.full((1, 2, 2), "a"), MASKS, {}, "heatmaps holds <U1"),
        (np.ones((1, 2, 2)), np.zeros((1, 2, 2)), {}, "Mask 0 has no pixel"),
        (np.ones((1, 2, 2)), -MASKS, {}, "masks holds -1"),
        (np.ones((1, 2, 2)), MASKS, {"ignore_label": 0}, "pass the label image"),
        (np.ones((1, 2, 2)), np.ones((2, 2)), {}, "image of whole numbers"),
        (np.ones((1, 2, 2)), np.ones((2, 2), dtype=int), {"ignore_label": 1}, "All pixels have the label 1"),
    ],
)
def test_matching_refuses_nonsense(maps, masks, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.match_heatmaps(maps, masks, **options)


def test_the_matching_says_what_it_is():
    assert (
        repr(metrics.match_heatmaps(MASKS.astype(float), MASKS))
        == "<HeatmapMatching: mean cosine 1.000 of 2 pairs, 2 heat maps and 2 masks>"
    )
