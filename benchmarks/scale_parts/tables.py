"""Tables of overlapping clusters, made on the spot as a folder of Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE_ROWS, GROUP_ROWS = 1_000_000, 125_000
TRUE_CLUSTERS = 12


def make(folder: Path, rows: int, columns: int) -> Path:
    """Write a table of single precision, of a million rows a file; one that is there stays."""
    done = folder / "_made"
    if done.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"x{column}" for column in range(columns)]
    centers = np.random.default_rng(0).normal(size=(TRUE_CLUSTERS, columns)).astype(np.float32)
    for number, first in enumerate(range(0, rows, FILE_ROWS)):
        generator = np.random.default_rng([1, number])
        left = min(FILE_ROWS, rows - first)
        with pq.ParquetWriter(
            folder / f"{number:05d}.parquet",
            pa.schema([(name, pa.float32()) for name in names]),
            use_dictionary=False,
        ) as writer:
            for start in range(0, left, GROUP_ROWS):
                count = min(GROUP_ROWS, left - start)
                points = generator.standard_normal((columns, count), dtype=np.float32)
                points += centers[generator.integers(0, TRUE_CLUSTERS, count)].T
                writer.write_table(pa.table(dict(zip(names, points, strict=True))))
    done.touch()
    return folder
