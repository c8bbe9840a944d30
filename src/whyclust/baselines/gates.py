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
    scores="g(x), between 0 and 1: how much of the column the model lets in; of one-hot columns the widest "
    "open",
    only_for=_GATED,
    measures="gate of the row, which is the same whatever the cluster",
)
def gates(asked: Asked) -> Attribution:
    """The gate of each column, whatever the cluster: 0 where it is shut.

    Of a column with several encoded ones it is that of the one that is open widest: a sum would exceed 1.
    """
    trunk = gated_trunk(asked.net, "gates")
    encoded = trunk.gates(asked.net.features.before_trunk(asked.points))
    rows = asked.prepared.rows
    if np.array_equal(rows.sources, np.arange(rows.n_columns)):
        return Attribution.without_base(encoded)
    values = np.zeros((len(encoded), rows.n_columns), dtype=encoded.dtype)
    np.maximum.at(values.T, rows.sources, encoded.T)
    return Attribution(values, np.zeros(len(values)), collected=True)


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
        if _gated_later(trunk):
            raise TypeError(
                f"method={method!r} reads gates of columns, but a step before the {net.model} mixes columns "
                "(PCA, say), and its gates are of what comes out: "
                "pipe[-1].local_gates(pipe[:-1].transform(X)) has them, or take relevance, explain(pipe, X)."
            )
        raise TypeError(
            f"method={method!r} reads the gates of a model, but this {net.model or 'model'} has none: use it "
            "for a whyclust.deep.IDC without gates=False, or another method."
        )
    return trunk


def _gated_later(trunk: Any) -> bool:
    """Whether there are gates behind other layers: those of columns that an earlier step has made."""
    if trunk is None:
        return False
    from whyclust.propagate.torch_modules import Gated  # PyTorch is imported on use

    return any(isinstance(layer, Gated) for layer in trunk.module.modules())
