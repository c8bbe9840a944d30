"""The certificate of a surrogate, at its thresholds."""

import numpy as np
import pytest

from whyclust.cluster.fidelity import Fidelity


def certificate(held_out, precision):
    count = len(held_out)
    return Fidelity(
        clusters=np.arange(count),
        sizes=np.full(count, 10),
        in_sample=np.ones(count),
        held_out=np.array(held_out),
        precision=np.array(precision),
        noise=None,
    )


def test_ninety_percent_are_enough_in_both_directions():
    found = certificate([0.9, 1.0, 0.9], [0.9, 0.9, 1.0])
    assert found.untrusted == []
    assert found.warning() is None
    assert len(found.sentences()) == 1
    assert [found.doubt(cluster) for cluster in range(3)] == [None] * 3
    assert found.to_pandas()["trusted"].all()


@pytest.mark.parametrize(
    ("held_out", "precision", "told"),
    [
        (0.89, 0.95, "of its rows not seen, the surrogate assigns only 89.0% to it"),
        (0.95, 0.89, "of the rows not seen that get this label, only 89.0% have it"),
        (0.5, 0.5, "of its rows not seen, the surrogate assigns only 50.0% to it"),
    ],
)
def test_less_is_a_doubt_that_says_why(held_out, precision, told):
    found = certificate([1.0, held_out], [1.0, precision])
    assert found.untrusted == [1]
    assert found.doubt(0) is None
    assert told in found.doubt(1)
    assert f"\n- Cluster 1: {min(held_out, precision):.1%} of " in found.warning()
    assert found.to_pandas()["trusted"].tolist() == [True, False]
