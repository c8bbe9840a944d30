"""What all tests share."""

import sys

import pytest
from hypothesis import settings

# How long an example takes says more about what else the machine does than about the library.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _figures_do_not_pile_up():
    """Plots belong to pyplot once anything has imported it, and it keeps them until they are closed."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
