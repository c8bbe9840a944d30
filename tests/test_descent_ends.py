"""Where a descent ends: when nothing is gained, when it is flat, and how much it remembers."""

import numpy as np

from whyclust.cluster._descent import descend


class Bowls:
    """Quadratic losses of any curvatures, which counts how often it is asked."""

    def __init__(self, curvatures, asked):
        self.curvatures, self.asked = curvatures, asked

    def __call__(self, x):
        self.asked.append(len(x))
        return 0.5 * (self.curvatures * x**2).sum(axis=1), self.curvatures * x

    def take(self, kept):
        return Bowls(self.curvatures[kept], self.asked)


class Rising:
    """Whatever is tried is worse than what was there."""

    def __init__(self, asked):
        self.asked = asked

    def __call__(self, x):
        self.asked.append(len(x))
        return np.full(len(x), float(len(self.asked))), np.ones_like(x)

    def take(self, kept):
        return self


def test_who_gains_nothing_stops_where_it_was():
    asked = []
    start = np.array([[1.0, 2.0]])
    found = descend(Rising(asked), start, max_iter=100, tolerance=1e-9)
    assert np.array_equal(found, start)
    assert len(asked) == 14  # the start, and thirteen steps, each shorter than the one before


def test_a_problem_that_is_flat_stays_while_others_move():
    start = np.full((10, 2), 3.0)
    start[4] = 5e-6  # its gradient is zero for all that counts
    found = descend(Bowls(np.ones((10, 2)), []), start, max_iter=50, tolerance=1e-12)
    assert np.array_equal(found[4], start[4])
    assert np.abs(np.delete(found, 4, axis=0)).max() < 1e-4


def test_what_is_remembered_shortens_the_way():
    """Thirty evaluations end at 7e-7; with three steps remembered at 7e-3, and with one at 5e-2."""
    curvatures = np.array([[1.0, 3.0, 10.0, 30.0, 100.0, 300.0]])
    found = descend(Bowls(curvatures, []), np.ones((1, 6)), max_iter=30, tolerance=0.0)
    assert 0.5 * (curvatures * found**2).sum() < 1e-4
