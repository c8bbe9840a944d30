"""Many minimisations at a time: each ends where it would alone."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from whyclust.cluster._descent import descend


class Valleys:
    """Rosenbrock's valley, stretched differently in each problem; counts how often it is asked."""

    def __init__(self, stretch, asked):
        self.stretch, self.asked = stretch, asked

    def __call__(self, x):
        self.asked.append(len(x))
        value = np.array([rosen(s * one) for s, one in zip(self.stretch, x, strict=True)])
        gradient = np.array([s * rosen_der(s * one) for s, one in zip(self.stretch, x, strict=True)])
        return value, gradient

    def take(self, kept):
        return Valleys(self.stretch[kept], self.asked)


def test_every_problem_reaches_its_minimum():
    stretch, asked = np.array([0.5, 1.0, 3.0]), []
    found = descend(Valleys(stretch, asked), np.full((3, 2), -0.3), max_iter=400, tolerance=1e-14)
    assert np.abs(found * stretch[:, None] - 1.0).max() < 1e-3
    assert asked[0] == 3
    assert asked[-1] < 3  # those that are done are not asked again


def test_a_problem_ends_where_it_would_alone():
    stretch, start = np.array([0.5, 1.0, 3.0]), np.full((3, 2), -0.3)
    together = descend(Valleys(stretch, []), start, max_iter=30, tolerance=1e-9)
    for place in range(3):
        one = slice(place, place + 1)
        alone = descend(Valleys(stretch[one], []), start[one], max_iter=30, tolerance=1e-9)
        np.testing.assert_allclose(together[one], alone, rtol=1e-12)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_it_never_ends_above_its_start(max_iter):
    stretch, start = np.array([1.0, 30.0]), np.array([[-1.0, 2.0], [2.0, 2.0]])
    valleys = Valleys(stretch, [])
    found = descend(valleys, start, max_iter=max_iter, tolerance=1e-9)
    assert (valleys(found)[0] <= valleys(start)[0]).all()


def test_a_start_at_the_minimum_stays():
    found = descend(Valleys(np.ones(2), []), np.ones((2, 2)), max_iter=10, tolerance=1e-9)
    assert np.array_equal(found, np.ones((2, 2)))
