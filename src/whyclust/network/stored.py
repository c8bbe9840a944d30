"""Networks in files: a network is its fields, and what a file says is checked before it is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyclust.inputs import Images, InputKind
from whyclust.inputs.kind import TABLE
from whyclust.network.network import Neuralized
from whyclust.saving.registry import saved


def _restored(parts: dict[str, Any]) -> Neuralized:
    """The network that a file says, or an error; older files know the shape of images only."""
    if "image_shape" in parts:
        parts = dict(parts)
        shape = parts.pop("image_shape")
        parts["kind"] = TABLE if shape is None else Images(tuple(int(size) for size in shape))
    net = Neuralized(**parts)
    stiffness = net.head.probability_stiffness
    if not (
        isinstance(net.feature_names, tuple)
        and len(net.feature_names) == net.features.n_columns
        and all(isinstance(name, str) for name in [*net.feature_names, net.model])
        and isinstance(net.named, bool)
        and isinstance(net.kind, InputKind)
        and (net.reading is None or hasattr(net.reading, "of_rows"))
        and isinstance(net.cluster_names, dict)
        and (stiffness is None or 0 < stiffness < np.inf)
    ):
        raise ValueError("The parts do not make a network.")
    # Numbers that are none, and arrays that do not fit, are noticed by whoever computes with them.
    folded = net.folded(np.dtype(np.float64))
    with np.errstate(all="ignore"):
        response = folded.respond(np.zeros((1, net.features.n_points)))
        h = folded.evidence(response, np.zeros(1, dtype=np.intp))
        net.pool.weights(h, h.min(axis=0), np.zeros(1, dtype=bool), net.beta, None)
        net.pool.evidence(h, h.min(axis=0)) + net.pool.offset(h)
    return net


saved(Neuralized, put_together=_restored)
