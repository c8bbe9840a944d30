"""Pools by themselves: points on boundaries, and the stiffness of what has no evidence."""

import numpy as np
import pytest

import paper
from whyclust.network import Features, MinPool, Neuralized, PrototypeHead
from whyclust.network.beta import stiffness

BETA = 0.3
# The first column is a point on the boundary of two clusters, the last one on that of three.
H = np.array([[0.0, 1.0, 0.0, 0.0], [2.0, 3.0, 5.0, 0.0], [7.0, 4.0, 1.0, 6.0]])
# Against one competitor nothing is left on the boundary.
PAIR = np.array([[0.0, 3.0, 0.5]])
LITERAL = {
    "min_take_most": paper.min_take_most_weights,
    "expected": lambda h, beta: paper.expected_weights(h, beta, True),
}


def weights_of(rule, h):
    return MinPool().weights(h.copy(), h.min(axis=0), np.ones(1, dtype=bool), BETA, rule)


@pytest.mark.parametrize("evidence", [H, PAIR], ids=["three", "one"])
@pytest.mark.parametrize("rule", LITERAL)
def test_weights_beside_and_on_a_boundary(rule, evidence):
    """f_c / h_k is 1 where both are zero, whether other points of the block are on a boundary or not."""
    weights, explained = weights_of(rule, evidence)
    for column, h in enumerate(evidence.T):
        wanted = LITERAL[rule](h.tolist(), BETA)
        assert np.abs(weights[:, column] - wanted).max() < 1e-15
        assert abs(explained[column] - h.min()) < 1e-15
        alone, _ = weights_of(rule, h[:, None])
        assert np.abs(weights[:, column] - alone[:, 0]).max() < 1e-15


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_papers_rule_on_a_boundary_of_three_clusters(dtype):
    """In the middle of two centres f_c = 0: only the competitor on the boundary takes part, with 0."""
    head = PrototypeHead.one_each(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 10.0]]))
    net = Neuralized(Features.identity(2), head, MinPool(), 1.0, np.arange(3), ("a", "b"))
    points = np.array([[2.0, 1.0], [1.0, 1.0], [2.0, -3.0]], dtype=dtype)
    found = net.relevance(points, rule="min_take_most")
    assert found.clusters.tolist() == [0, 0, 0]
    # e^(−80) is all that the third centre has of the first point, and f_c / h takes that away, too.
    assert np.array_equal(found.values[[0, 2]], np.zeros((2, 2)))
    assert np.array_equal(found.explained[[0, 2]], [0.0, 0.0])
    assert found.explained[1] == 8.0


def test_beta_falls_back_on_the_points_inside_their_clusters():
    with pytest.warns(UserWarning, match="the points inside their clusters"):
        assert stiffness(np.array([-6.0, 1.0, 3.0])) == 1 / 2
    with pytest.warns(UserWarning, match="all points are on boundaries"):
        assert stiffness(np.array([-6.0, 0.0])) == 1.0
    assert stiffness(np.array([-1.0, 1.0, 3.0])) == 1.0
