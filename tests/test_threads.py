"""Blocks of rows are shared by threads: the same bytes, the same errors, whatever their number."""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

import whyclust as wc
from whyclust._threads import one_thread_if_small
from whyclust.cluster import KernelKMeans, SoftKMeans
from whyclust.network.blocks import Blocks, one_thread_products

MODELS = {
    "k-means": lambda: KMeans(4, n_init=1, random_state=0),
    "scaled": lambda: make_pipeline(StandardScaler(), KMeans(4, n_init=1, random_state=0)),
    "normalised": lambda: make_pipeline(Normalizer(), KMeans(4, n_init=1, random_state=0)),
    "bisecting": lambda: BisectingKMeans(4, random_state=0),
    "mixture": lambda: GaussianMixture(3, random_state=0),
    "soft": lambda: SoftKMeans(3, random_state=0),
    "kernel": lambda: KernelKMeans(3, random_state=0),
}
ARRAYS = ("values", "base_values", "explained", "evidence", "clusters", "assigned", "competitors")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyclust.network.blocks._BLOCK_BYTES", 1)


def table(n_rows: int = 900) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n_rows, 5)) + 3.0


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("threads", [2, 8])
def test_any_number_of_threads_gives_the_same_bytes(name: str, threads: int) -> None:
    X = table()
    net = wc.neuralize(MODELS[name]().fit(X), X)
    assert len(Blocks.of(net, net.read(X)).rows) >= 14
    with threadpool_limits(1):
        alone = net.relevance(X)
        evidence, labels = net.evidence(X), net.predict(X)
    with threadpool_limits(threads):
        together = net.relevance(X)
        assert np.array_equal(net.evidence(X), evidence)
        assert np.array_equal(net.predict(X), labels)
    for part in ARRAYS:
        assert np.array_equal(getattr(together, part), getattr(alone, part)), part
    assert np.array_equal(together.rivalry.weights, alone.rivalry.weights)


def test_sparse_rows_give_the_same_bytes() -> None:
    X = sp.random(9000, 30, density=0.2, random_state=0, format="csr")
    net = wc.neuralize(KMeans(3, n_init=1, random_state=0).fit(X), X)
    with threadpool_limits(1):
        alone = net.relevance(X)
    with threadpool_limits(2):
        together = net.relevance(X)
    assert np.array_equal(np.asarray(alone.values), np.asarray(together.values))


def workers(net: Any, X: np.ndarray) -> set[int]:
    """Threads that took part."""
    seen: set[int] = set()
    both = threading.Barrier(2, timeout=20)

    def work(block: Any) -> None:
        if len(seen) < 2 and threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            both.wait()  # until another thread has begun a block, too

    for _ in Blocks.of(net, net.read(X)).each(work):
        pass
    return seen


def test_threads_take_part_and_products_inside_take_one() -> None:
    X = table()
    net = wc.neuralize(MODELS["k-means"]().fit(X), X)
    with threadpool_limits(2):
        assert len(workers(net, X)) == 2
        inside = []
        for _ in Blocks.of(net, net.read(X)).each(
            lambda block: inside.append(
                max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
            )
        ):
            pass
        assert set(inside) == {1}
        after = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
        assert max(after) == 2


def test_the_first_bad_row_is_told() -> None:
    X = table()
    net = wc.neuralize(MODELS["k-means"]().fit(X), X)
    X[[850, 300, 301], 2] = np.nan
    for threads in (1, 4):
        with threadpool_limits(threads), pytest.raises(ValueError, match=r"row 300\b"):
            net.relevance(X)


def test_threads_of_the_user_get_what_one_thread_gets() -> None:
    """Eight threads explain at a time, with one network."""
    X = table()
    net = wc.neuralize(MODELS["mixture"]().fit(X), X)
    alone = net.relevance(X).values
    found: list[Any] = [None] * 8

    def run(place: int) -> None:
        found[place] = net.relevance(X).values

    threads = [threading.Thread(target=run, args=(place,)) for place in range(8)]
    with threadpool_limits(2):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Whoever came while products took one thread must not have taken that for what was before.
        after = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    assert max(after) == 2
    assert all(np.array_equal(one, alone) for one in found)


def products() -> int:
    return max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")


def test_the_limit_is_taken_once_and_given_back_by_the_last() -> None:
    with threadpool_limits(2):
        with one_thread_products() as first:
            with one_thread_products() as second:
                assert (first, second) == (2, 1)
                assert products() == 1
            assert products() == 1  # the first one is still there
        assert products() == 2


def test_numpy_warns_in_threads_as_it_was_told() -> None:
    """What numpy does about overflows belongs to a context, which threads do not have by themselves."""
    X = table()
    net = wc.neuralize(MODELS["k-means"]().fit(X), X)
    with threadpool_limits(2), np.errstate(divide="raise"):
        told = list(Blocks.of(net, net.read(X)).each(lambda block: np.geterr()["divide"]))
    assert set(told) == {"raise"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_in_the_middle_is_neither_stuck_nor_slow() -> None:
    X = table()
    net = wc.neuralize(MODELS["k-means"]().fit(X), X)
    with threadpool_limits(2), one_thread_products(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
        if child == 0:
            code = 1
            try:
                right = products() == 2 and np.isfinite(net.relevance(X).values).all()
                code = 0 if right and products() == 2 else 1
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class _Noted(KMeans):
    """k-means that notes how many threads scikit-learn has while it is fitted."""

    seen: list[int] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> _Noted:
        self.seen.append(_openmp_threads())
        return super().fit(X, y, sample_weight)


def _openmp_threads() -> int:
    own = [one for one in threadpool_info() if one["user_api"] == "openmp" and "torch" not in one["filepath"]]
    return max(one["num_threads"] for one in own)


@pytest.mark.parametrize(("limit", "expected"), [(10_000, 1), (100, 2)])
def test_small_tables_are_fitted_again_in_one_thread(
    monkeypatch: pytest.MonkeyPatch, limit: int, expected: int
) -> None:
    """Threads that wait for each other on a busy machine took seventeen times as long."""
    monkeypatch.setattr("whyclust._threads._SMALL", limit)
    monkeypatch.setattr(_Noted, "seen", [])
    X = table(300)
    model = _Noted(3, n_init=1, random_state=0).fit(X)
    with threadpool_limits(2, user_api="openmp"):
        _Noted.seen.clear()
        wc.metrics.stability(model, X, n_repeats=2, random_state=0)
        assert _Noted.seen == [expected] * 2
        assert _openmp_threads() == 2


def test_one_thread_leaves_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with one_thread_if_small(table()):
            assert _openmp_threads() == 1
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_who_holds_one_thread_takes_no_limit_of_its_own() -> None:
    with threadpool_limits(2, user_api="openmp"):
        with one_thread_if_small(table()):
            with one_thread_if_small(table()):
                assert _openmp_threads() == 1
            assert _openmp_threads() == 1  # the first one is still there
        assert _openmp_threads() == 2
        with pytest.raises(KeyError), one_thread_if_small(table()):
            raise KeyError
        with one_thread_if_small(table()):
            assert _openmp_threads() == 1
