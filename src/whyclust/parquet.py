"""Explanations as Parquet tables that any other tool can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from whyclust._validation import is_frame
from whyclust.explanation import Explanation

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


def write_explanation(explanation: Explanation, stream: Any) -> None:
    """Write one row per row, with columns relevance.NAME and data.NAME."""
    if explanation.is_factored:
        raise ValueError(
            "The explanation of a sparse table has too many columns for Parquet: save it as .npz, "
            "or save part of it, ex.values[rows, columns]."
        )
    columns: dict[str, Any] = {
        name: pa.array(getattr(explanation, attribute)) for name, attribute in _PER_ROW.items()
    }
    for position, name in enumerate(explanation.feature_names):
        columns[f"relevance.{name}"] = pa.array(explanation.values[:, position])
    data = explanation.data
    framed = is_frame(data)
    for position, name in enumerate(explanation.feature_names):
        column = data.iloc[:, position] if framed else data[:, position]
        columns[f"data.{name}"] = pa.array(column)
    table = pa.table(columns)
    header = {
        "feature_names": explanation.feature_names,
        "beta": explanation.beta,
        "rule": explanation.rule,
        "details": explanation.details,
        "frame": framed,
    }
    pq.write_table(table.replace_schema_metadata({_KEY: json.dumps(header).encode()}), stream)


def read_explanation(path: Path) -> Explanation:
    """Read what :func:`write_explanation` wrote."""
    table = pq.read_table(path)
    metadata = table.schema.metadata or {}
    if _KEY not in metadata:
        raise ValueError(f"{path.name} is a Parquet table, but not an explanation that whyclust has written.")
    header = json.loads(metadata[_KEY])
    names = header["feature_names"]

    def column(name: str) -> np.ndarray:
        return table.column(name).to_numpy()

    if names:
        relevance = np.column_stack([column(f"relevance.{name}") for name in names])
    frame = pd.DataFrame({name: table.column(f"data.{name}").to_pandas() for name in names})
    return Explanation(
        values=relevance,
        feature_names=names,
        data=frame if header["frame"] else frame.to_numpy(),
        beta=header["beta"],
        rule=header["rule"],
        details=header["details"],
        **{attribute: column(name) for name, attribute in _PER_ROW.items()},
    )
