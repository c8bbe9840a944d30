"""What gates themselves say: which columns are open, and what relevance passes signal and gate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from whyclust.baselines.asked import Asked, Attribution
from whyclust.baselines.registry import baseline
from whyclust.network import Neuralized
from whyclust.perturbing.encoded import as_rows

_GATED = "models that multiply columns by gates (IDC)"


@baseline(
    "gates",
    title="gates of the row",
    scores="g(x), between 0 and 1: how much of the column the model lets in",
    only_for=_GATED,
    measures="gate of the row, which is the same whatever the cluster",
)
def gates(asked: Asked) -> Attribution:
    """The gate of each column, whatever the cluster: 0 where it is shut."""
    trunk = gated_trunk(asked.net, "gates")
    return Attribution.without_base(trunk.gates(asked.net.features.before_trunk(asked.points)))


@baseline(
    "gate_halves",
    title="relevance, half of it through the gates",
    scores="half of the relevance to the column, half to what opened its gate",
    only_for=_GATED,
)
def gate_halves(asked: Asked, *, part: str = "both") -> Attribution:
    """Relevance of which signal and gate take half each; the gate's half goes down the gating network.

    ``part="signal"`` and ``part="gates"`` are the halves apart. What the other half holds is then in the base
    value, and so is the half of gates that are fully open or shut.
    """
    from whyclust.network.torch_trunk import with_product_rule  # PyTorch is imported on use
    from whyclust.propagate import Halves

    trunk = with_product_rule(gated_trunk(asked.net, "gate_halves"), Halves(part))
    features = replace(asked.net.features, trunk=trunk)
    found = replace(asked.net, features=features).relevance_rows(
        as_rows(asked.points), cluster=asked.clusters, against=asked.against
    )
    return Attribution(np.asarray(found.values), found.base_values)


def gated_trunk(net: Neuralized, method: str) -> Any:
    """The layers of a network that begins with gates; refuses others."""
    trunk: Any = net.features.trunk
    if getattr(trunk, "gate", None) is None:
        raise TypeError(
            f"method={method!r} reads the gates of a model, but this {net.model or 'model'} has none: use it "
            "for a whyclust.deep.IDC without gates=False, or another method."
        )
    return trunk
