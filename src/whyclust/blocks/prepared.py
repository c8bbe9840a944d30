"""Rows as the clustering sees them: what `columns.preparation` makes of a plan, without its copies."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust.columns import TablePlan, preparation
from whyclust.columns.deciding import NUMBER
from whyclust.columns.plan import ColumnPlan
from whyclust.columns.scaling import LIMIT, NONE, ROBUST, STANDARD

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Prepared:
    """From batches of a table to the numbers that are clustered.

    Parameters
    ----------
    plan : TablePlan
    """

    def __init__(self, plan: TablePlan) -> None:
        self.plan = plan

    @property
    def columns(self) -> list[str]:
        """Columns of the table that are read."""
        return [column.name for column in self.plan.columns]

    @cached_property
    def _transformer(self) -> Any:
        return preparation(self.plan)

    @cached_property
    def _numbers(self) -> list[ColumnPlan] | None:
        """The columns in the transformer's order, if all are numbers that are moved and stretched."""
        by_kind: dict[str, list[ColumnPlan]] = {}
        for column in self.plan.columns:
            known = column.scaling is not None and column.scaling.kind in (STANDARD, ROBUST, NONE)
            if column.kind != NUMBER or column.scaling is None or not known:
                return None
            by_kind.setdefault(column.scaling.kind, []).append(column)
        return [column for columns in by_kind.values() for column in columns]

    def of_frame(self, frame: pd.DataFrame) -> NDArray:
        """Of rows of the table, as a frame."""
        return np.asarray(self._transformer.transform(self.plan.apply(frame)), dtype=np.float64)

    def of_batch(self, batch: pa.RecordBatch) -> NDArray:
        """Of rows of the table, as Arrow has them."""
        if self._numbers is None:
            return self.of_frame(batch.to_pandas(ignore_metadata=True))
        found = np.empty((batch.num_rows, len(self._numbers)), order="F")
        for place, column in enumerate(self._numbers):
            scaling: Any = column.scaling
            into = found[:, place]
            try:
                into[:] = batch.column(column.name).to_numpy(zero_copy_only=False)
            except (TypeError, ValueError):  # decimals and the like
                return self.of_frame(batch.to_pandas(ignore_metadata=True))
            if scaling.kind != NONE:
                into -= scaling.center
                into /= scaling.scale
            if scaling.kind == ROBUST:
                np.clip(into, -LIMIT, LIMIT, out=into)
            if column.n_missing:
                into[np.isnan(into)] = scaling.center if scaling.kind == NONE else 0.0
        return found

    def __getstate__(self) -> dict[str, Any]:
        # Transformers are made again where they are needed: smaller than what travels.
        return {"plan": self.plan}
