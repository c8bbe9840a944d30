"""What a neuralizer returns, and which neuralizer belongs to which type.

A new clustering is supported by one function::

    @neuralizer(MyClustering)
    def _my_clustering(model):
        features = Features.identity(model.n_features_in_)
        return Parts(features, PrototypeHead.one_each(model.centers_), MinPool())
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from whyclust.network.features import Features
from whyclust.network.heads import Head
from whyclust.network.pools import Pool


class Parts(NamedTuple):
    """The parts of the network that a fitted clustering is.

    Attributes
    ----------
    features : Features
    head : Head
    pool : Pool
    beta : float or None
        β = 1/E[f_c] over the rows of the fit, where the model has kept it.
    clusters : ndarray of shape (n_clusters,) or None
        What ``predict`` calls the clusters, where it is not by their positions, and noise -1.
    """

    features: Features
    head: Head
    pool: Pool
    beta: float | None = None
    clusters: NDArray | None = None

    @property
    def cluster_ids(self) -> NDArray:
        """The ids that ``predict`` returns, in the order of the head's clusters."""
        if self.clusters is not None:
            return np.asarray(self.clusters)
        positions = np.arange(self.head.n_clusters, dtype=np.int32)
        if self.head.noise is not None:
            positions[-1] = -1
        return positions


# A neuralizer may return a plain tuple of the first three.
Neuralizer = Callable[[Any], Parts | tuple[Features, Head, Pool]]
Function = TypeVar("Function", bound=Neuralizer)


@singledispatch
def _parts(model: Any) -> Parts | tuple[Features, Head, Pool]:
    raise TypeError(
        f"{type(model).__name__} cannot be neuralised yet, expected one of "
        f"{', '.join(_known_models())} or a Pipeline that ends in one: fit one of these "
        "(PrototypeSurrogate().fit(X, labels) stands for any labels), or register a function for your type "
        "with whyclust.neuralizer."
    )


def _known_models() -> list[str]:
    hidden = (object, Pipeline)
    return sorted(kind.__name__ for kind in _parts.registry if kind not in hidden)


def neuralizer(*types: type) -> Callable[[Function], Function]:
    """Register the function that returns the :class:`Parts` of models of these types."""

    def register(function: Function) -> Function:
        for kind in types:
            _parts.register(kind)(function)
        return function

    return register


def network_parts(model: Any) -> Parts:
    """Return the parts of a fitted model; unknown types are refused."""
    found = _parts(model)
    if not isinstance(found, tuple) or len(found) not in (3, 4, 5):
        raise TypeError(
            f"The function registered for {type(model).__name__} returned a {type(found).__name__}, expected "
            "whyclust.network.Parts(features, head, pool), with beta= where the model keeps one."
        )
    parts = Parts(*found)
    refuse_no_parts(*parts[:3])
    return parts


_KINDS: dict[str, Any] = {"features": Features, "head": Head, "pool": Pool}
# Types that have passed: protocols take long to compare, and every network is looked at.
_passed: dict[str, WeakSet[type]] = {name: WeakSet() for name in _KINDS}


def refuse_no_parts(features: Any, head: Any, pool: Any) -> None:
    """Say which part of a network is not what it should be: another one's, say, or a class."""
    for (name, kind), part in zip(_KINDS.items(), (features, head, pool), strict=True):
        if type(part) in _passed[name]:
            continue
        if isinstance(part, type):
            raise TypeError(f"The {name} of a network is the class {part.__name__}: create one of it.")
        if not isinstance(part, kind):
            raise TypeError(
                f"The {name} of a network is a {type(part).__name__}, expected all that "
                f"{kind.__module__}.{kind.__name__} has: Parts(features, head, pool), in this order."
            )
        _passed[name].add(type(part))


def refuse_no_ids(clusters: Any, count: int) -> None:
    """Clusters have a name each."""
    if not isinstance(clusters, np.ndarray) or clusters.shape != (count,):
        shape = getattr(clusters, "shape", type(clusters).__name__)
        raise ValueError(
            f"clusters, the ids that predict returns, has shape {shape}, expected one for each of the "
            f"{count} clusters of the head (the last is noise where it has any)."
        )
    try:
        distinct = len(set(clusters.tolist()))
    except TypeError:
        distinct = 0
    if distinct != count:
        raise ValueError("clusters names two clusters the same: expected an id, a number or text, for each.")


def has_network(model: Any) -> bool:
    """Whether a function is registered for models of this type."""
    return _parts.dispatch(type(model)) is not _parts.dispatch(object)


def registered_type(model: Any) -> type | None:
    """The type among the model's own and its parents for which a function is registered.

    None where there is none: the model's type was declared a subclass, but has inherited nothing.
    """
    function = _parts.dispatch(type(model))
    return next((kind for kind in type(model).__mro__ if _parts.registry.get(kind) is function), None)
