"""Explanations of parts of a table, put together."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp

from whyclust._frames import is_frame
from whyclust.explaining.explanation import PER_ROW, Explanation
from whyclust.explaining.left_out import RowsLeftOut


def joined(parts: list[Explanation]) -> Explanation:
    """One explanation of all rows, in the order of the parts."""
    if not parts:
        raise ValueError("No explanations were given, expected at least one: concat([first, second]).")
    for part in parts:
        if not isinstance(part, Explanation):
            raise TypeError(f"A {type(part).__name__} was given, expected explanations.")
    first = parts[0]
    for part in parts[1:]:
        _refuse_other(first, part)
    if len(parts) == 1:
        return first
    kind: Any = first.kind
    for part in parts[1:]:
        kind = kind.joined(part.kind)
        if kind is None:
            raise ValueError("The explanations are of rows of different kinds: explain them alike.")
    joined_rows: dict[str, Any]
    known = [name for name in ("given", "errors") if getattr(first, name) is not None]
    per_row = [*PER_ROW, "index", *known]
    joined_rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in per_row}
    return replace(
        first,
        values=_values(parts),
        data=_data([part.data for part in parts]),
        kind=kind,
        origin=None,
        rivalry=_rivalry(parts),
        **joined_rows,
    )


def _refuse_other(first: Explanation, other: Explanation) -> None:
    """Numbers of different networks or questions do not stand beside each other."""
    names = ("feature_names", "beta", "rule", "question", "provenance")
    for name in names:
        if getattr(first, name) != getattr(other, name):
            raise ValueError(
                f"The explanations differ in {name} ({_short(getattr(first, name))} and "
                f"{_short(getattr(other, name))}): join those of one network that answer one question."
            )
    if (first.given is None) != (other.given is None):
        raise ValueError("Some explanations are of given labels and some are not: join those of one kind.")
    if (first.errors is None) != (other.errors is None):
        raise ValueError("Some explanations have standard errors, some have not: join those of one method.")


def _rivalry(parts: list[Explanation]) -> Any:
    """Weights of competitors add up, if all parts know them."""
    known = [part.rivalry for part in parts if part.rivalry is not None]
    return reduce(add, known) if len(known) == len(parts) else None


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 60 else text[:57] + "..."


def _values(parts: list[Explanation]) -> Any:
    values = [part.values for part in parts]
    first = values[0]
    factored = all(part.is_factored for part in parts)
    if not factored or any(part.folded is not first.folded for part in values):
        return np.concatenate([np.asarray(part) for part in values])
    return replace(
        first,
        points=sp.csr_array(sp.vstack([part.points for part in values])),
        clusters=np.concatenate([part.clusters for part in values]),
        weights=np.concatenate([part.weights for part in values], axis=1),
    )


def _data(parts: list[Any]) -> Any:
    if all(is_frame(part) for part in parts):
        import pandas as pd

        return pd.concat(parts)
    if sp.issparse(parts[0]):
        return sp.csr_array(sp.vstack(parts))
    if any(isinstance(part, RowsLeftOut) for part in parts):
        names = {part.named_by if isinstance(part, RowsLeftOut) else None for part in parts}
        named_by = names.pop() if len(names) == 1 else None
        return RowsLeftOut(sum(len(part) for part in parts), parts[0].shape[1], named_by)
    return np.concatenate(parts)
