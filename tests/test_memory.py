"""Explaining works in blocks: beyond input and output, memory does not grow with the table."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

import whyclust as wc
from whyclust.cluster import KernelKMeans
from whyclust.network import blocks

RESULTS = ("values", "base_values", "explained", "evidence", "clusters", "assigned", "competitors")
MEGABYTE = 1e6
# Working arrays of one block, and half as much again for what a block's steps hold for a moment.
BLOCK = 1.5 * blocks._BLOCK_BYTES / MEGABYTE


def k_means():
    return KMeans(10, n_init=1, max_iter=5, random_state=0)


def rows(count, dtype=np.float32):
    return np.random.default_rng(0).normal(size=(count, 20)).astype(dtype)


def extra(function):
    """Megabytes that were held at the peak beyond what is returned."""
    tracemalloc.start()
    try:
        result = function()
        output = sum(getattr(result, name).nbytes for name in RESULTS)
        return result, (tracemalloc.get_traced_memory()[1] - output) / MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def table():
    return rows(400_000)


@pytest.fixture(scope="module")
def net(table):
    return wc.neuralize(k_means().fit(table[:2000]), table[:2000])


def test_extra_memory_does_not_grow_with_rows(net, table):
    net.relevance(table[:10])  # the folded head is kept
    _, small = extra(lambda: net.relevance(table[:200_000]))
    _, large = extra(lambda: net.relevance(table))
    assert small < BLOCK
    assert large - small < 0.5


@pytest.mark.parametrize(
    "question", [{"cluster": 3}, {"cluster": 3, "against": 1}, {"rule": "expected"}], ids=str
)
def test_other_questions(net, table, question):
    _, small = extra(lambda: net.relevance(table[:50_000], **question))
    _, large = extra(lambda: net.relevance(table[:100_000], **question))
    assert small < BLOCK
    assert large - small < 0.9


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), k_means()),
        make_pipeline(StandardScaler(), PCA(5), k_means()),
        make_pipeline(Normalizer(), k_means()),
        make_pipeline(MinMaxScaler(clip=True), k_means()),
        BisectingKMeans(6, random_state=0),
        KernelKMeans(3, n_support=10, n_init=1, max_iter=5, random_state=0),
    ],
    ids=["scaler", "pca", "normalizer", "encoder", "tree", "kernel"],
)
def test_every_kind_of_network(model, table):
    net = wc.neuralize(model.fit(table[:1000]), table[:1000])
    net.relevance(table[:10])
    _, small = extra(lambda: net.relevance(table[:100_000]))
    _, large = extra(lambda: net.relevance(table[:200_000]))
    assert small < BLOCK
    assert large - small < 0.9


def test_frames_are_read_block_by_block(net, table):
    frame = pd.DataFrame(table[:100_000])
    _, megabytes = extra(lambda: net.relevance(frame))
    assert megabytes < BLOCK


def test_integers_are_converted_block_by_block(net):
    counts = np.random.default_rng(0).integers(0, 9, size=(100_000, 20), dtype=np.int8)
    _, megabytes = extra(lambda: net.relevance(counts))
    assert megabytes < BLOCK


def test_wide_tables_have_small_blocks():
    wide = np.random.default_rng(0).normal(size=(600, 20_000)).astype(np.float32)
    net = wc.neuralize(KMeans(3, n_init=1, max_iter=2, random_state=0).fit(wide[:50]), wide[:50])
    net.relevance(wide[:2])
    _, megabytes = extra(lambda: net.relevance(wide))
    assert megabytes < 30  # 64 rows × 20,000 columns × 4 bytes, a few times


def test_explain_keeps_no_copy_of_the_table(net, table):
    part = table[:100_000]
    ex, megabytes = extra(lambda: wc.explain(net, part))
    assert np.shares_memory(ex.data, part)
    assert megabytes < BLOCK


def test_thousands_of_support_vectors():
    """p² neurons would be 4,000² × 10 × 8 bytes = 1,280 MB."""
    data = rows(4000, np.float64)[:, :10]
    model = KernelKMeans(2, algorithm="leave_one_out", init=np.arange(4000) % 2, max_iter=0, gamma=0.05)
    net = wc.neuralize(model.fit(data))
    net.relevance(data[:2])
    _, megabytes = extra(lambda: net.relevance(data[:500]))
    assert megabytes < 60
