"""Whether a network assigns rows as the model does, where the model's class does not say so by itself.

A neuralizer is registered for a type and serves its subclasses. One that has a `predict` of its own may
assign rows otherwise, and would be explained as its parent: so it is compared with the network.
"""

from __future__ import annotations

import warnings
from inspect import getattr_static
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from whyclust.inputs.reading import read_input
from whyclust.network.network import Neuralized
from whyclust.network.parts import registered_type

# Rows on which a model and its network are compared, at most.
COMPARED = 2000
# A smaller share of rows that differ may be ties and rounding.
_TIES = 0.01


def refuse_another_predict(model: Any, net: Neuralized, rows: Any) -> None:
    """Compare a model that has replaced `predict` with its network; refuse it where they differ.

    Parameters
    ----------
    model : fitted clustering, or Pipeline
    net : Neuralized
    rows : table or None
        At most 2,000 of its rows are compared, evenly spread. With None nothing can be: a warning says so.
    """
    own = _with_own_predict(model)
    if own is None:
        return
    said = f"{own} has a predict of its own"
    if rows is None:
        warnings.warn(
            f"{said}, which was not compared with the network, for want of rows: pass background=X.",
            UserWarning,
            stacklevel=4,
        )
        return
    table = read_input(rows)
    table = net.among(table).match(table)
    compared = table.rows(slice(None, None, -(-table.shape[0] // COMPARED)))
    with warnings.catch_warnings():  # of scikit-learn, where names are known and X is an array
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        expected = np.asarray(model.predict(compared))
    found = net.predict(compared)
    comparable = expected.shape == found.shape and (expected.dtype.kind == "U") == (found.dtype.kind == "U")
    differ = int((expected != found).sum()) if comparable else len(found)
    if differ > _TIES * len(found):
        raise TypeError(
            f"{said}, which assigns {differ} of {len(found)} rows otherwise than the class it descends from: "
            "register a function for it with whyclust.neuralizer, or explain its labels, "
            "wc.explain(model.predict(X), X)."
        )
    if differ:
        warnings.warn(
            f"{said}, which assigns {differ} of {len(found)} rows otherwise than the network that is "
            "explained.",
            UserWarning,
            stacklevel=4,
        )


def _with_own_predict(model: Any) -> str | None:
    """The type of what has replaced the `predict` of its registered type, in a Pipeline or alone."""
    steps = [model]
    while isinstance(steps[-1], Pipeline) and steps[-1].steps:
        steps.append(steps[-1].steps[-1][1])
    for step in steps:
        # Statically: scikit-learn makes some methods anew whenever they are looked at.
        own = getattr_static(type(step), "predict", None)
        known = getattr_static(registered_type(step), "predict", None)
        # A type that has none of its own to inherit leaves it to those who say that they are of it.
        written = known is not None and not getattr(known, "__isabstractmethod__", False)
        if (written and own is not known) or "predict" in getattr(step, "__dict__", {}):
            return type(step).__name__
    return None
