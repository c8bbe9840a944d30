"""Explanations as Parquet tables that any other tool can read."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from whyclust._validation import is_frame
from whyclust.explanation import Explanation
from whyclust.fidelity import Fidelity

_KEY = b"whyclust"
_PER_ROW = {
    "row": "index",
    "cluster": "clusters",
    "assigned": "assigned",
    "competitor": "competitors",
    "evidence": "evidence",
    "explained": "explained",
    "base_value": "base_values",
}
_LABELS = ("cluster", "assigned", "competitor", "given")


def write_explanation(explanation: Explanation, stream: Any) -> None:
    """Write one row per row, with columns relevance.NAME and data.NAME."""
    if explanation.is_factored:
        raise ValueError(
            "The explanation of a sparse table has too many columns for Parquet: save it as .npz, "
            "or save part of it, ex.values[rows, columns]."
        )
    columns: dict[str, Any] = {
        name: pa.array(getattr(explanation, attribute))
        for name, attribute in _PER_ROW.items()
        if name != "row"
    }
    columns = {"row": pa.array(plain_labels(explanation.index)), **columns}
    if explanation.given is not None:
        columns["given"] = pa.array(explanation.given)
    for position, name in enumerate(explanation.feature_names):
        columns[f"relevance.{name}"] = pa.array(explanation.values[:, position])
    data = explanation.data
    framed = is_frame(data)
    for position, name in enumerate(explanation.feature_names):
        column = data.iloc[:, position] if framed else data[:, position]
        try:
            columns[f"data.{name}"] = pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            # Mixed kinds in one column: Parquet has one type a column, so they become text.
            text = [None if pd.isna(value) else str(value) for value in column]
            columns[f"data.{name}"] = pa.array(text)
    table = pa.table(columns)
    header = {
        "feature_names": explanation.feature_names,
        "beta": explanation.beta,
        "rule": explanation.rule,
        "details": explanation.details,
        "frame": framed,
        "fidelity": None if explanation.fidelity is None else _fidelity_header(explanation.fidelity),
    }
    pq.write_table(table.replace_schema_metadata({_KEY: json.dumps(header).encode()}), stream)


def _fidelity_header(fidelity: Fidelity) -> dict[str, Any]:
    return {part.name: np.asarray(getattr(fidelity, part.name)).tolist() for part in fields(fidelity)}


def _read_fidelity(header: dict[str, Any] | None) -> Fidelity | None:
    if header is None:
        return None
    return Fidelity(**{**{key: np.asarray(value) for key, value in header.items()}, "noise": header["noise"]})


def plain_labels(index: np.ndarray) -> np.ndarray:
    """Row labels that any file can hold: other kinds than text, numbers and times become text."""
    if index.dtype != object:
        return index
    kinds = {type(label) for label in index}
    simple = kinds <= {str} or kinds <= {int} or kinds <= {float}
    return index if simple else np.array([str(label) for label in index], dtype=object)


def read_explanation(path: Path) -> Explanation:
    """Read what :func:`write_explanation` wrote."""
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError, ValueError):
        raise ValueError(f"{path.name} is damaged: it starts like Parquet but cannot be read.") from None
    metadata = table.schema.metadata or {}
    if _KEY not in metadata:
        raise ValueError(f"{path.name} is a Parquet table, but not an explanation that whyclust has written.")
    try:
        header = json.loads(metadata[_KEY])
        return _rebuild(table, header)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError(f"{path.name} is damaged: parts of the explanation are missing.") from None


def _rebuild(table: pa.Table, header: dict[str, Any]) -> Explanation:
    names = header["feature_names"]

    def column(name: str) -> np.ndarray:
        values = table.column(name).to_numpy()
        # Names of clusters come back as objects, which cannot be asked for as cluster=.
        return values.astype(np.str_) if name in _LABELS and values.dtype == object else values

    relevance = np.column_stack([column(f"relevance.{name}") for name in names])
    frame = pd.DataFrame({name: table.column(f"data.{name}").to_pandas() for name in names})
    frame.index = pd.Index(column("row"))
    return Explanation(
        values=relevance,
        feature_names=names,
        data=frame if header["frame"] else frame.to_numpy(),
        beta=header["beta"],
        rule=header["rule"],
        details=header["details"],
        # Files of versions that knew no given labels have neither of these.
        given=column("given") if "given" in table.column_names else None,
        fidelity=_read_fidelity(header.get("fidelity")),
        **{attribute: column(name) for name, attribute in _PER_ROW.items()},
    )
