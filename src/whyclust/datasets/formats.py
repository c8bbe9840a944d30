"""The files of the UCI repository as arrays: X, names, classes, and what belongs to the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_SEEDS = (
    "area", "perimeter", "compactness", "kernel_length", "kernel_width", "asymmetry_coefficient",
    "groove_length",
)  # fmt: skip
# The file calls them Category 1 to 10; the repository's description has the names.
_TRAVEL = (
    "art galleries", "dance clubs", "juice bars", "restaurants", "museums", "resorts", "parks/picnic spots",
    "beaches", "theaters", "religious institutions",
)  # fmt: skip
_HEPATITIS = ("Age", "ALB", "ALP", "ALT", "AST", "BIL", "CHE", "CHOL", "CREA", "GGT", "PROT")
_SPENDING = ("Fresh", "Milk", "Grocery", "Frozen", "Detergents_Paper", "Delicassen")
_LEISURE = ("Sports", "Religious", "Nature", "Theatre", "Shopping", "Picnic")
# Where (E input, P primary, D secondary settler, S output, RD performance) and what is measured.
_WATER = (
    "Q-E", "ZN-E", "PH-E", "DBO-E", "DQO-E", "SS-E", "SSV-E", "SED-E", "COND-E",
    "PH-P", "DBO-P", "SS-P", "SSV-P", "SED-P", "COND-P",
    "PH-D", "DBO-D", "DQO-D", "SS-D", "SSV-D", "SED-D", "COND-D",
    "PH-S", "DBO-S", "DQO-S", "SS-S", "SSV-S", "SED-S", "COND-S",
    "RD-DBO-P", "RD-SS-P", "RD-SED-P", "RD-DBO-S", "RD-DQO-S", "RD-DBO-G", "RD-DQO-G", "RD-SS-G", "RD-SED-G",
)  # fmt: skip


def _table(frame: pd.DataFrame, names: tuple[str, ...]) -> dict[str, Any]:
    """Columns of numbers, by name."""
    missing = [name for name in names if name not in frame]
    if missing:
        found = ", ".join(map(str, frame.columns[:5]))
        raise ValueError(f"there is no column {missing[0]!r}, but {found}, ...")
    return {"X": frame[list(names)].to_numpy(np.float64), "feature_names": np.array(names)}


def seeds(path: Path) -> dict[str, Any]:
    """Seven measures and the variety, 1 to 3, between blanks or tabs."""
    frame = pd.read_csv(path, sep=r"\s+", header=None, names=[*_SEEDS, "variety"])
    return {
        **_table(frame, _SEEDS),
        "y": frame["variety"].to_numpy() - 1,
        "class_names": np.array(["Kama", "Rosa", "Canadian"]),
    }


def buddy(path: Path) -> dict[str, Any]:
    """A user id, then reviews by category."""
    return _table(pd.read_csv(path), _LEISURE)


def hepac(path: Path) -> dict[str, Any]:
    """Category, age, sex and blood values; missing ones are NA."""
    frame = pd.read_csv(path)
    class_names, y = np.unique(frame["Category"].to_numpy(str), return_inverse=True)
    return {
        **_table(frame, _HEPATITIS),
        "y": y,
        "class_names": class_names,
        "sex": frame["Sex"].to_numpy(str),
    }


def whlsl(path: Path) -> dict[str, Any]:
    """Channel and region, both from 1, then spending."""
    frame = pd.read_csv(path)
    return {
        **_table(frame, _SPENDING),
        "y": frame["Channel"].to_numpy() - 1,
        "region": frame["Region"].to_numpy(),
    }


def trpad(path: Path) -> dict[str, Any]:
    """A user id, then ten mean ratings."""
    frame = pd.read_csv(path)
    return _table(frame.iloc[:, 1:].set_axis(_TRAVEL[: frame.shape[1] - 1], axis=1), _TRAVEL)


def sales(path: Path) -> dict[str, Any]:
    """A product code, counts W0 to W51, then the same normalised."""
    frame = pd.read_csv(path)
    weeks = tuple(f"W{week}" for week in range(52))
    return {**_table(frame, weeks), "product_code": frame["Product_Code"].to_numpy(str)}


def water(path: Path) -> dict[str, Any]:
    """A date, then 38 measures; missing ones are question marks."""
    frame = pd.read_csv(path, header=None, names=["date", *_WATER], na_values="?")
    return {**_table(frame, _WATER), "date": frame["date"].to_numpy(str)}
