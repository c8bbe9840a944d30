"""Explanations of labels depend neither on the order of rows nor on the names of clusters."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_iris, make_moons

import whyclust as wc
from whyclust.cluster._own_order import own_order


def ordinary_labels(kind):
    """Labels of one kind on a table that needs several prototypes, columns of several units, or noise."""
    generator = np.random.default_rng(5)
    if kind == "iris":
        return load_iris(return_X_y=True)
    if kind == "noise":
        X, _ = make_moons(240, noise=0.06, random_state=1)
        X = np.vstack([X, generator.uniform(-2, 3, size=(20, 2))])
        return X, DBSCAN(eps=0.2).fit_predict(X)
    if kind == "wide":
        X = generator.normal(size=(48, 60)) * generator.uniform(0.5, 20, 60)
        return X, (X[:, 0] / X[:, 0].std() + X[:, 1] / X[:, 1].std() > 0).astype(int)
    # Whole numbers in few columns: many rows are equal, some of them with another label.
    X = generator.integers(0, 4, size=(200, 2)).astype(float)
    return X, np.where(generator.random(200) < 0.9, X[:, 0] > 1, X[:, 0] <= 1).astype(int)


@pytest.mark.parametrize("kind", ["iris", "noise", "wide", "equal rows"])
@pytest.mark.filterwarnings("ignore:.*rows equal a row with another label")
def test_neither_the_order_of_rows_nor_the_names_of_clusters_changes_an_explanation(kind):
    X, labels = ordinary_labels(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of low agreement, which is not what is asked here
        expected = wc.explain(labels, X)
        order = np.random.default_rng(0).permutation(len(X))
        permuted = wc.explain(labels[order], X[order])
        # The first name becomes the last; noise is called as before.
        names = np.array([str(-1 if label == -1 else f"{'zyxw'[label]}-{label}") for label in labels])
        renamed = wc.explain(names, X)
    scale = np.abs(expected.values).max()
    assert np.abs(permuted.values - expected.values[order]).max() < 1e-6 * scale
    assert np.abs(renamed.values - expected.values).max() < 1e-6 * scale
    assert (permuted.assigned == expected.assigned[order]).all()
    assert permuted.fidelity.overall_held_out == expected.fidelity.overall_held_out
    assert renamed.fidelity.overall_held_out == expected.fidelity.overall_held_out
    back = dict(zip(names, labels, strict=True))
    assert [back[name] for name in renamed.competitors] == expected.competitors.tolist()


def test_rows_and_clusters_are_ordered_by_what_they_hold_as_by_comparing_them_one_by_one():
    generator = np.random.default_rng(3)
    # More columns than are looked at together, and ties in the first ones.
    X = np.column_stack([generator.integers(0, 2, size=(60, 20)), generator.normal(size=(60, 2)).round(1)])
    codes = generator.integers(0, 3, size=60)
    found = own_order(X, codes, 3)
    literal = sorted(range(60), key=lambda row: X[row].tolist())
    assert X[found.rows].tolist() == X[literal].tolist()
    sizes = np.bincount(codes)
    members = [sorted(X[codes == cluster].tolist()) for cluster in range(3)]
    assert found.clusters.tolist() == sorted(range(3), key=lambda one: (-sizes[one], members[one]))
    # Noise stays where it is.
    assert own_order(X, np.where(codes == 2, 3, codes % 2), 3).ranks[3] == 3


def test_clusters_of_one_size_are_ordered_by_their_rows():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    for codes in ([0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1]):
        found = own_order(X, np.array(codes), 2)
        assert found.clusters[0] == codes[0]
