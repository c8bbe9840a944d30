"""Rows block by block, each led up to what the head says of it; by several threads where there are many.

A block's result does not depend on who computes it: matrix products inside it take one thread, and what
blocks add to is summed in their order. So the same numbers come out of one thread and of eight.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from whyclust.inputs.reading import InputTable, is_sparse, numeric, refuse_not_finite
from whyclust.network.folded import Folded
from whyclust.network.pools import absent
from whyclust.network.records import Block

if TYPE_CHECKING:
    from whyclust.network.network import Neuralized

Found = TypeVar("Found")

# Working arrays of one block fit the caches: more gains nothing, less costs calls.
_BLOCK_BYTES = 1 << 23
# Fewer blocks are over before threads have begun.
_FEW = 4
# Freed at once, never touched: from a freed chunk of this size the C library (glibc) learns to keep what
# blocks free, instead of giving it back to the system and faulting it in again for the next block.
# Measured without it, in processes of their own by turns, medians of eight: k-means takes 9% more processor
# time at 784 columns and 20% at 64, a mixture 6%, a hundred calls of 200 rows 7%, kernel k-means the same.
np.empty(30 << 20, dtype=np.uint8)


@lru_cache(maxsize=1)
def _products(n_modules: int) -> ThreadpoolController:
    """The libraries of matrix products that are loaded; looked for again where modules were imported.

    The search reads the map of the process's memory, which takes milliseconds while all threads wait.
    """
    return ThreadpoolController().select(user_api="blas")


class _OneThreadProducts:
    """Matrix products of one thread each, while anybody needs it.

    The limit is one of the process. Who comes while it holds must not take it for what was before.
    """

    def __init__(self) -> None:
        self._forget()
        # A fork has one thread: those that held the lock, or were to restore the limit, are not in it.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    def _forked(self) -> None:
        limit = self._limit
        self._forget()
        if limit is not None:
            limit.restore_original_limits()

    @contextmanager
    def __call__(self) -> Iterator[int]:
        """Yield how many threads they took before: 1 for all but the first."""
        threads = 1
        with self._lock:
            if self._inside == 0:
                products = _products(len(sys.modules))
                threads = max((one["num_threads"] for one in products.info()), default=1)
                self._limit = products.limit(limits=1)
            self._inside += 1
        try:
            yield threads
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limit.restore_original_limits()
                    self._limit = None


one_thread_products = _OneThreadProducts()


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a table, as a network walks through them.

    Attributes
    ----------
    network : Neuralized
    table : InputTable
    folded : Folded
    dtype : dtype
    size : int
        Rows of a block.
    sparse : bool
        Whether rows stay sparse.
    come_down : bool
        Whether relevance comes down an encoder again, which needs what its layers were given.
    """

    network: Neuralized
    table: InputTable
    folded: Folded
    dtype: np.dtype
    size: int
    sparse: bool
    come_down: bool
    _rooms: threading.local = field(default_factory=threading.local)

    @classmethod
    def of(cls, net: Neuralized, table: InputTable, *, come_down: bool = False) -> Blocks:
        """The blocks of a table that the network has read."""
        features = net.features
        sparse, dtype = net._stays_sparse(table), net._dtype(table)
        folded = net.folded(dtype, centred=not sparse)
        if sparse and not folded.separable:
            dense = "pass X.toarray()."
            if table.kind.has_words:
                dense = (
                    "use KMeans behind the vectorizer, or explain the columns that it clusters, "
                    "wc.explain(pipeline[-1], pipeline[:-1].transform(texts))."
                )
            raise TypeError(
                f"X is sparse, but {net.model} compares with more than one centre a cluster and needs dense "
                f"rows: {dense}"
            )
        # Points, relevance and a product; a row norm needs its image in double precision besides.
        copies = 3 if features.norm is None else 9
        numbers = copies * features.n_points + folded.width
        # Sparse rows and encoders are paid per call, not per number. Many prototypes a cluster make
        # arrays that are walked through often, so those blocks are smaller.
        budget, at_least = (_BLOCK_BYTES, 64) if folded.separable else (_BLOCK_BYTES // 4, 32)
        if sparse or features.encoder or features.trunk is not None:
            at_least = 2048
        size = min(table.shape[0], max(budget // (numbers * dtype.itemsize), at_least))
        return cls(net, table, folded, dtype, size, sparse, come_down)

    @property
    def rows(self) -> list[slice]:
        """Which rows are in which block."""
        n_rows = self.table.shape[0]
        return [slice(start, min(start + self.size, n_rows)) for start in range(0, n_rows, self.size or 1)]

    def __iter__(self) -> Iterator[Block]:
        return map(self.block, self.rows)

    def room(self, name: str, n_rows: int) -> np.ndarray:
        """Where points go, or a product of their shape: a thread's own, which its next block overwrites."""
        if not hasattr(self._rooms, name):
            shape = (0 if self.sparse else self.size, self.network.features.n_points)
            setattr(self._rooms, name, np.empty(shape, dtype=self.dtype))
        return getattr(self._rooms, name)[:n_rows]

    def block(self, rows: slice) -> Block:
        """Some rows, their points, and what the head says of them."""
        features, folded = self.network.features, self.folded
        encoded = numeric(features.encode(self.table.rows(rows)))
        if is_sparse(encoded) and not self.sparse:
            encoded = encoded.toarray()
        passage = features.passage(encoded) if self.come_down else None
        points = features.points(encoded, folded.center, self.room("points", rows.stop - rows.start), passage)
        with np.errstate(invalid="ignore", over="ignore"):
            response = folded.respond(points)
        # Evidence near the largest number of its type could not be told from `absent`.
        limit = absent(self.dtype) / 1e4
        if not (response.largest.max() < limit and response.largest.min() > -limit):
            self._refuse_bad_activations(encoded, points, rows.start)
            known = self.network.feature_names if self.table.names is None else self.table.names
            names = [known[column] for column in features.sources]
            refuse_not_finite(encoded, names, rows.start, self.table.called)
        return Block(rows, encoded, points, folded, response, passage)

    def _refuse_bad_activations(self, encoded: Any, points: Any, start: int) -> None:
        """Tell an encoder that makes no numbers of numbers from rows that have none."""
        if self.network.features.trunk is None or not np.isfinite(encoded).all():
            return
        bad = ~np.isfinite(points).all(axis=1)
        if bad.any():
            raise ValueError(
                f"The encoder returns NaN or infinite numbers for row {start + int(bad.argmax())}, whose own "
                "are finite: look for what divides or takes logarithms in it."
            )

    def each(self, work: Callable[[Block], Found]) -> Iterator[Found]:
        """What `work` makes of each block, in their order.

        As many threads take part as matrix products may (``OMP_NUM_THREADS``, ``threadpool_limits``); a
        network of PyTorch has threads of its own.
        """
        parts = self.rows
        if len(parts) < _FEW or self.network.features.trunk is not None:
            yield from (work(self.block(rows)) for rows in parts)
            return
        with one_thread_products() as threads:
            if threads == 1:
                yield from (work(self.block(rows)) for rows in parts)
                return
            # What numpy does about overflows belongs to a context, and each call needs its own.
            with ThreadPoolExecutor(min(threads, len(parts))) as pool:
                begun: deque[Future[Found]] = deque()
                for rows in parts:
                    begun.append(pool.submit(copy_context().run, self._worked, work, rows))
                    if len(begun) > 2 * threads:
                        yield begun.popleft().result()
                while begun:
                    yield begun.popleft().result()

    def _worked(self, work: Callable[[Block], Found], rows: slice) -> Found:
        return work(self.block(rows))
