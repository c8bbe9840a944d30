"""Plots by name: what is registered here can be called from an explanation, as ``ex.plot.name(...)``."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from whyclust._checks import refuse_taken

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

Drawing = TypeVar("Drawing", bound=Callable[..., Any])

_PLOTS: dict[str, Callable[..., Any]] = {}
# Plots that are not of an explanation, and where they are.
_ELSEWHERE = {
    "choose_k": "it is of a choice, whyclust.cluster.choose_k(X).plot()",
    "number_of_clusters": "it is of a choice, whyclust.cluster.choose_k(X).plot()",
    "history": "it is of a deep model, whyclust.plots.history(model)",
}


def plot(function: Drawing) -> Drawing:
    """Register a function whose first argument is an explanation; its name is that of the plot."""
    refuse_taken(function.__name__, _PLOTS.get(function.__name__), function)
    _PLOTS[function.__name__] = function
    return function


def registered(name: str) -> Callable[..., Any]:
    """The plot of this name."""
    if name in _ELSEWHERE:
        raise AttributeError(f"An explanation has no plot {name!r}: {_ELSEWHERE[name]}.")
    if name not in _PLOTS:
        close = get_close_matches(name, _PLOTS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(_PLOTS))}."
        raise AttributeError(f"There is no plot {name!r}: {hint}")
    return _PLOTS[name]


class Plots:
    """The plots of one explanation: ``ex.plot.relevance()`` is ``wc.plots.relevance(ex)``."""

    def __init__(self, explanation: Explanation) -> None:
        self._explanation = explanation

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = registered(name)
        bound = partial(function, self._explanation)

        def drawn(*others: Any, **settings: Any) -> Any:
            return bound(*others, **settings)

        # help() of a partial function would be that of functools.
        drawn.__name__, drawn.__doc__ = name, function.__doc__
        drawn.__signature__ = signature(bound)  # type: ignore[attr-defined]
        return drawn

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Refuse, by the names of the plots: ``ex.plot`` alone draws nothing."""
        listed = " or ".join(f"ex.plot.{name}()" for name in sorted(_PLOTS))
        raise TypeError(f"ex.plot() does not say which plot: call {listed}.")

    def __dir__(self) -> list[str]:
        return sorted(_PLOTS)

    def __repr__(self) -> str:
        return f"<plots: {', '.join(sorted(_PLOTS))}>"
