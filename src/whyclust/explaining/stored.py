"""Explanations in files: an explanation is its fields, and rows have one set of labels."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from whyclust._frames import is_frame
from whyclust.cluster.fidelity import Fidelity
from whyclust.explaining.explanation import PER_ROW, Explanation
from whyclust.explaining.left_out import RowsLeftOut
from whyclust.explaining.records import Provenance, Question
from whyclust.inputs import Images, InputKind
from whyclust.inputs.reading import is_sparse
from whyclust.network.rivalry import Rivalry
from whyclust.saving.registry import Lists, saved


def _parts(explanation: Explanation) -> dict[str, Any]:
    import pandas as pd

    from whyclust.saving.frames import as_index

    # The network is saved by itself, by whoever wants to ask more.
    names = [part.name for part in fields(explanation) if part.name != "origin"]
    parts = {name: getattr(explanation, name) for name in names}
    data, index = explanation.data, as_index(explanation.index)
    if isinstance(data, RowsLeftOut):
        return {**parts, "data": data, "index": index, "framed": False}
    if is_frame(data):
        # The frame's own index also knows its names.
        index = data.index if np.array_equal(np.asarray(data.index), explanation.index) else index
        data = data.reset_index(drop=True)
    elif data.dtype == object:
        data = pd.DataFrame(data, dtype=object)
    return {**parts, "data": data, "index": index, "framed": is_frame(explanation.data)}


def _restored(parts: dict[str, Any]) -> Explanation:
    """An explanation of what a file says, or an error: nothing may be amiss that breaks later."""
    import pandas as pd

    from whyclust.saving.frames import as_index

    data, labels = parts["data"], parts["index"]
    index = labels if isinstance(labels, pd.Index) else as_index(labels)
    if is_frame(data):
        data = data.set_axis(index) if parts.get("framed", True) else data.to_numpy(dtype=object)
    known = {key: part for key, part in _with_records(parts).items() if key != "framed"}
    found = Explanation(**{**known, "data": data, "index": np.asarray(index)})
    n_rows, n_columns = found.shape
    per_row = [getattr(found, name) for name in PER_ROW] + ([] if found.given is None else [found.given])
    if not (
        found.values.dtype.kind == "f"
        and found.data.shape == (n_rows, n_columns)
        and all(array.shape == (n_rows,) for array in [*per_row, found.index])
        and len(found.feature_names) == n_columns
        and all(isinstance(name, str) for name in [*found.feature_names, found.rule])
        and 0 < found.beta < np.inf
        and isinstance(found.question, Question)
        and isinstance(found.provenance, Provenance)
        and isinstance(found.kind, InputKind)
        and isinstance(found.fidelity, Fidelity | None)
        and isinstance(found.names, dict)
        and all(isinstance(name, str) for name in found.names.values())
        and isinstance(found.rivalry, Rivalry | None)
        and (found.errors is None or found.errors.shape == found.shape)
    ):
        raise ValueError("The parts do not make an explanation.")
    return found


def _with_records(parts: dict[str, Any]) -> dict[str, Any]:
    """Older files have one dictionary where there are records now; its question was in words."""
    if "details" not in parts:
        return parts
    details = dict(parts["details"])
    told = str(details.get("question", ""))
    about: Any = {"the": "given" if told.startswith("the given") else "assigned"}.get(told[:3], "chosen")
    if told.startswith("whether"):
        about = "assigned" if "of the assigned" in told else "given" if "of the given" in told else "chosen"
    found = parts["clusters"], parts["competitors"]
    duel = bool(details.get("against"))
    own, other = (ids[0].item() if len(ids) and (ids == ids[0]).all() else None for ids in found)
    chosen = about == "chosen"
    shape = details.get("image_shape")
    names = ("method", "model", "labels", "head", "pool", "n_clusters", "noise", "propagation")
    return {
        **{key: part for key, part in parts.items() if key != "details"},
        "question": Question(
            about, own if chosen else None, duel, other if duel else None, details.get("threshold")
        ),
        "provenance": Provenance(**{name: details[name] for name in names if name in details}),
        "kind": InputKind() if shape is None else Images(tuple(int(size) for size in shape)),
    }


def _column_names(explanation: Explanation) -> dict[str, Any]:
    """What parts are called as columns of a table."""
    names = explanation.feature_names
    values: dict[str, Any] = {"values": [f"relevance.{name}" for name in names]}
    if explanation.is_factored:  # as it is kept in memory: relevance itself would be dense
        points, weights = Lists("factors.points"), Lists("factors.competitors")
        own = {"values/clusters": "factors.cluster"}
        values = {"values/points": points, "values/weights": weights, **own}
    data: Any = Lists("data") if is_sparse(explanation.data) else [f"data.{name}" for name in names]
    singular = {"clusters": "cluster", "competitors": "competitor", "base_values": "base_value"}
    return {
        "index": "row",
        **{name: singular.get(name, name) for name in ("clusters", "assigned", "competitors")},
        **{name: singular.get(name, name) for name in ("evidence", "explained", "base_values", "given")},
        **values,
        "errors": [f"error.{name}" for name in names],
        "data": data,
    }


saved(Explanation, take_apart=_parts, put_together=_restored, columns=_column_names)
