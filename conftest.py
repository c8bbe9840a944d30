"""What all tests share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _figures_do_not_pile_up():
    """Plots belong to pyplot once anything has imported it, and it keeps them until they are closed."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
