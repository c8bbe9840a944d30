"""Tables in files for the tests of blocks, and a job that runs in a process of its own."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from whyclust.blocks import source

COLUMNS = list("abcdef")


def clusters(n_rows=900, n_clusters=3, seed=0, gaps=False):
    """Overlapping clusters in six columns, a category, and the cluster that each row was drawn from."""
    generator = np.random.default_rng(seed)
    centers = generator.normal(size=(n_clusters, len(COLUMNS))) * 3
    group = generator.integers(0, n_clusters, n_rows)
    frame = pd.DataFrame(centers[group] + generator.normal(size=(n_rows, len(COLUMNS))), columns=COLUMNS)
    if gaps:
        frame.loc[generator.random(n_rows) < 0.1, "b"] = np.nan
    frame["colour"] = np.array(["red", "green", "blue"])[(group + (generator.random(n_rows) < 0.3)) % 3]
    frame["group"] = group
    return frame


def parquet(frame, folder, n_files=3, group_rows=50):
    """A folder of Parquet, with small row groups."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        table = pa.Table.from_pandas(frame.iloc[rows], preserve_index=False)
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=group_rows)
    return folder


def small_blocks(monkeypatch, block=1200, batch=500):
    """Blocks of a hundred rows or so, and batches of half of them."""
    monkeypatch.setattr(source, "BLOCK_NUMBERS", block)
    monkeypatch.setattr(source, "BATCH_NUMBERS", batch)


def largest(one, other):
    difference = np.abs(np.asarray(one, dtype=float) - np.asarray(other, dtype=float))
    return float(difference.max(initial=0.0))
