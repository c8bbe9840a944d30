"""Fits of small tables in one thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Rows × columns. A step of k-means on fewer is over in a few milliseconds. Threads of OpenMP wait for each
# other by turning in a loop, and where another program has a core, each step waits for that program's turn:
# an audit of 891 rows took 170 processor seconds on two cores, one of them busy, and 10 in one thread.
_SMALL = 1_000_000
# Which libraries are loaded is looked up in milliseconds, longer than a small table is fitted: whoever holds
# the limit already does not look again. A limit is one thread's own.
_held = threading.local()


def is_small(X: Any) -> bool:
    """Whether a table is fitted in one thread."""
    return bool(X.shape[0] * X.shape[1] <= _SMALL)


@contextmanager
def one_thread_if_small(X: Any) -> Iterator[None]:
    """Let scikit-learn fit small tables in one thread; larger ones, and PyTorch, keep all of theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from whyclust._threads import one_thread_if_small
    >>> X = np.array([[0.0], [1.0], [9.0]])
    >>> with one_thread_if_small(X):
    ...     labels = KMeans(2, n_init=1, random_state=0).fit_predict(X)
    """
    if not is_small(X) or getattr(_held, "limit", False):
        yield
        return
    from threadpoolctl import ThreadpoolController

    loaded = ThreadpoolController()
    own = [
        one.filepath
        for one in loaded.lib_controllers
        if one.user_api == "openmp" and "torch" not in one.filepath
    ]
    with loaded.select(filepath=own).limit(limits=1):
        _held.limit = True
        try:
            yield
        finally:
            _held.limit = False
