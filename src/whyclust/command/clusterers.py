"""Clusterings of the command line, by name: what ``--method`` takes.

A new one is a function that makes it, unfitted, from the number of clusters and a seed::

    @clusterer("mixture")
    def _mixture(k, seed):
        return GaussianMixture(k, random_state=seed)

The first line of its docstring is what the help says of it. Nothing is imported before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whyclust._checks import refuse_taken

Maker = Callable[[int, int], Any]

_CLUSTERERS: dict[str, Maker] = {}


def clusterer(name: str) -> Callable[[Maker], Maker]:
    """Register a function that makes a clustering."""

    def register(function: Maker) -> Maker:
        refuse_taken(name, _CLUSTERERS.get(name), function)
        _CLUSTERERS[name] = function
        return function

    return register


def names() -> list[str]:
    """What can be asked for."""
    return list(_CLUSTERERS)


def made(name: str, k: int, seed: int) -> Any:
    """The clustering of this name, unfitted."""
    check(name)
    return _CLUSTERERS[name](k, seed)


def check(name: str) -> None:
    """Refuse a name that nobody has registered."""
    if name not in _CLUSTERERS:
        raise ValueError(f"there is no method '{name}': use one of {', '.join(_CLUSTERERS)}.")


@clusterer("kmeans")
def _k_means(k: int, seed: int) -> Any:
    """Round clusters."""
    from sklearn.cluster import KMeans

    return KMeans(n_clusters=k, n_init=10, random_state=seed)


@clusterer("kernel")
def _kernel_k_means(k: int, seed: int) -> Any:
    """Clusters of any shape."""
    from whyclust.cluster import KernelKMeans

    return KernelKMeans(n_clusters=k, random_state=seed)


@clusterer("soft")
def _soft_k_means(k: int, seed: int) -> Any:
    """Round clusters with probabilities."""
    from whyclust.cluster import SoftKMeans

    return SoftKMeans(n_clusters=k, random_state=seed)


@clusterer("minibatch")
def _mini_batch_k_means(k: int, seed: int) -> Any:
    """Round clusters, in one pass over tables in blocks."""
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(n_clusters=k, n_init=10, random_state=seed)
