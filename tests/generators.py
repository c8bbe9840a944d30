"""The global generators of random numbers, which the library leaves alone."""

import random
import sys
from contextlib import contextmanager

import numpy as np


def states():
    """Where each of them stands. numpy's keys alone would say little: they change once in 624 numbers."""
    name, keys, *others = np.random.get_state()  # noqa: NPY002
    found = {"python": random.getstate(), "numpy": (name, keys.tolist(), *others)}
    if "torch" in sys.modules:
        found["torch"] = sys.modules["torch"].get_rng_state().tolist()
    return found


@contextmanager
def untouched():
    """None of them stands elsewhere at the end."""
    before = states()
    yield
    assert {name: state for name, state in states().items() if name in before} == before
