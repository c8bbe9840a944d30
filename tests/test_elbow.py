"""The number of clusters at the elbow of the inertia."""

import numpy as np
import pytest
import scipy.sparse as sp

from whyclust.cluster.elbow import find_elbow, inertia_curve


def test_the_elbow_is_where_the_curve_is_farthest_below_its_chord():
    ks = np.arange(1, 8)
    curve = np.array([100.0, 60, 25, 20, 17, 15, 14])
    # Literally: the distance of each scaled point from the line between the ends.
    points = np.stack([(ks - 1) / 6, (curve - 14) / 86], axis=1)
    distance = np.abs(points.sum(axis=1) - 1) / np.sqrt(2)
    assert find_elbow(ks, curve).k == ks[np.argmax(distance)] == 3
    assert find_elbow([1, 2], [5.0, 1.0]).k == 2
    assert find_elbow([1, 2, 3], [4.0, 2.0, 0.0]).k == 2
    assert find_elbow([1, 2, 3], [0.0, 0.0, 0.0]).k == 2


def test_the_elbow_finds_blobs():
    generator = np.random.default_rng(0)
    for k in (2, 3, 5):
        # Equally far from each other: every merge costs the same.
        centres = 20 * np.eye(5)[:k]
        X = np.concatenate([generator.normal(centre, 1, size=(60, 5)) for centre in centres])
        assert inertia_curve(X, random_state=0).k == k


@pytest.mark.parametrize(
    ("ks", "curve", "message"),
    [
        ([1], [1.0], "at least two"),
        ([1, 2], [1.0], "equally many"),
        ([2, 1], [1.0, 2.0], "increase"),
        ([1, 2], [1.0, np.nan], "finite"),
    ],
)
def test_curves_that_are_none(ks, curve, message):
    with pytest.raises(ValueError, match=message):
        find_elbow(ks, curve)


def test_large_tables_are_sampled_and_few_points_refused(monkeypatch):
    monkeypatch.setattr("whyclust.cluster.elbow.SAMPLE_ROWS", 50)
    X = np.random.default_rng(0).normal(size=(200, 2))
    tried = []
    elbow = inertia_curve(X, largest=4, random_state=0, progress=tried.append)
    assert tried == elbow.n_clusters == [1, 2, 3, 4]
    assert elbow.inertia[0] < ((X - X.mean(axis=0)) ** 2).sum() / 2
    assert elbow == inertia_curve(X, largest=4, random_state=0)
    with pytest.raises(ValueError, match="found 2 distinct points, expected at least 3"):
        inertia_curve([[0.0], [0.0], [1.0]])
    assert inertia_curve([[0.0], [0.1], [1.0]]).n_clusters == [1, 2]


def test_sparse_points_have_the_same_elbow():
    generator = np.random.default_rng(0)
    centres = 20 * np.eye(5)[:3]
    X = np.concatenate([generator.normal(centre, 1, size=(40, 5)) for centre in centres])
    dense, sparse = (inertia_curve(one, random_state=0) for one in (X, sp.csr_array(X)))
    assert dense.k == sparse.k == 3
    np.testing.assert_allclose(dense.inertia, sparse.inertia)
    zero = sp.csr_array(([0.0, 1.0], ([0, 1], [0, 1])), shape=(3, 2))  # a zero that is written down
    with pytest.raises(ValueError, match="found 2 distinct points, expected at least 3"):
        inertia_curve(zero)
