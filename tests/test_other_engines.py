"""What docs/scale.md shows for dask, Ray and Spark is run, where they are installed."""

import os
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

import whyclust as wc
from block_tables import COLUMNS, clusters, largest, parquet
from whyclust.blocks import explain_frame
from whyclust.command.run import explain_table
from whyclust.tables import Table

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
BOUND = 1e-6
# Warnings of the engines are about themselves and other packages.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def table():
    """Rows with a name each, and a network of their columns."""
    rows = clusters(n_rows=120, gaps=False)[COLUMNS]
    network = wc.neuralize(KMeans(3, n_init=1, random_state=0).fit(rows), rows)
    names = np.random.default_rng(0).permutation(120)
    return rows.assign(customer=[f"c{number}" for number in names]), network


@pytest.fixture
def folder(table, tmp_path, monkeypatch):
    """Where the engines are started: their processes look for files there."""
    parquet(table[0], tmp_path / "big")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_block(sign, **known):
    """Run the block of the page that holds a sign."""
    if not PAGE.exists():
        pytest.skip("the package is tested without its repository")
    found = re.findall(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    (block,) = (block for block in found if sign in block)
    exec(compile(block, str(PAGE), "exec"), {"explain_frame": explain_frame, **known})


def check_lines(folder, table):
    """What was written has the numbers of the whole table in memory, whatever the order of the lines."""
    rows, network = table
    found = pd.read_parquet(folder / "relevance").set_index("customer").loc[rows["customer"]]
    expected = wc.explain(network, rows[COLUMNS])
    assert len(found) == len(rows)
    assert largest(found[[f"relevance.{name}" for name in COLUMNS]], expected.values) < BOUND
    assert largest(found["evidence"], expected.evidence) < BOUND
    assert largest(found["base_value"], expected.base_values) < BOUND
    assert found["cluster"].tolist() == expected.clusters.tolist()
    assert found["competitor"].tolist() == expected.competitors.tolist()


def test_dask(folder, table):
    pytest.importorskip("dask.dataframe", reason="dask's frames are not installed", exc_type=ImportError)
    run_block("map_partitions", network=table[1])
    check_lines(folder, table)


def test_dask_is_not_told_of_rows_that_it_makes_up(table, tmp_path, monkeypatch):
    """Nor of columns that the model does not use, once for each block."""
    pytest.importorskip("dask.dataframe", reason="dask's frames are not installed", exc_type=ImportError)
    rows = table[0].assign(region=["north", "south"] * 60)
    network = explain_table(Table(rows), k=3, id_column="customer").network
    assert "region" in network.feature_names
    parquet(rows.assign(more=1.0), tmp_path / "big")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run_block("map_partitions", network=network)
    told = [str(one.message) for one in caught]
    assert [one for one in told if re.search("holds something|left out", one)] == []
    found = pd.read_parquet(tmp_path / "relevance")
    assert len(found) == 120 and "relevance.region" in found and "relevance.more" not in found


@pytest.fixture
def ray(folder, monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("ray.data", reason="ray[data] is not installed", exc_type=ImportError)
    import ray

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


def test_ray(ray, folder, table):
    run_block("map_batches", network=table[1])
    check_lines(folder, table)


@pytest.fixture
def spark(folder, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed")
    # Workers are other processes, which find whyclust as this one does.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    gateway = session.sparkContext._gateway
    yield session
    session.stop()
    # Java stays until Python ends, unless it is told.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)


def test_spark(spark, folder, table):
    run_block("mapInPandas", network=table[1], spark=spark)
    check_lines(folder, table)


# ---- what engines hand over, without them ----


def test_blocks_without_rows_have_lines_of_the_same_kind(table):
    rows, network = table
    some = explain_frame(rows[:2], network, id_column="customer")
    none = explain_frame(rows[:0], network, id_column="customer")
    pd.testing.assert_frame_equal(none, some[:0])


def test_a_column_of_names_that_is_not_there_or_taken_is_told(table):
    rows, network = table
    with pytest.raises(ValueError, match="there is no column 'custmer': did you mean 'customer'"):
        explain_frame(rows, network, id_column="custmer")
    with pytest.raises(ValueError, match="id_column='cluster' is what a column of the result is called"):
        explain_frame(rows.rename(columns={"customer": "cluster"}), network, id_column="cluster")


def test_a_feature_can_name_the_rows(table):
    rows, network = table
    found = explain_frame(rows[COLUMNS], network, id_column="a")
    assert found["a"].tolist() == rows["a"].tolist()
    assert largest(found["relevance.a"], wc.explain(network, rows[COLUMNS]).values[:, 0]) < BOUND
