"""Baselines by name, each registered with what others must know of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from whyclust._checks import refuse_taken
from whyclust.baselines.asked import Attribution

NEON = "neon"


@dataclass(frozen=True)
class Baseline:
    """A way to explain that is not NEON, and what is to be known of it.

    Attributes
    ----------
    name : str
        As in ``explain(model, X, method=name)``.
    function : callable
        Of an :class:`whyclust.baselines.asked.Asked`, and of options, which are keyword-only; returns an
        :class:`whyclust.baselines.asked.Attribution`.
    title : str
        What it is, for readers of an audit.
    scores : str
        What the score of a column is, for the table in docs/baselines.md.
    needs : str or None
        An extra that must be installed.
    usual : bool
        Whether an audit compares NEON with it unasked; by name it always can be.
    audited_with : mapping
        Options that an audit gives it.
    only_for : str or None
        The models that it can explain, where it cannot explain all.
    measures : str or None
        What values are, in words that follow "largest by", where they are no reason for a cluster.
    """

    name: str
    function: Callable[..., Attribution]
    title: str
    scores: str
    needs: str | None = None
    usual: bool = False
    audited_with: Mapping[str, Any] = field(default_factory=dict)
    only_for: str | None = None
    measures: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Its options, with the values that they have by default."""
        parameters = inspect.signature(self.function).parameters.values()
        return {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}


METHODS: dict[str, Baseline] = {}


def baseline(
    name: str,
    *,
    title: str,
    scores: str,
    needs: str | None = None,
    usual: bool = False,
    audited_with: Mapping[str, Any] | None = None,
    only_for: str | None = None,
    measures: str | None = None,
) -> Callable[[Callable[..., Attribution]], Callable[..., Attribution]]:
    """Register a function as a baseline; what is to be said of it is in :class:`Baseline`.

    >>> @baseline("place", title="the place of a column", scores="0, 1, 2, …")
    ... def place(asked):
    ...     return Attribution.without_base(asked.points * 0 + range(asked.points.shape[1]))
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X, method="place").values[0]
    array([0., 1.])
    >>> del METHODS["place"]
    """
    if name == NEON:
        raise ValueError(f"{name!r} is no baseline: register the function under another name.")

    def register(function: Callable[..., Attribution]) -> Callable[..., Attribution]:
        known = METHODS.get(name)
        refuse_taken(name, None if known is None else known.function, function)
        METHODS[name] = Baseline(
            name, function, title, scores, needs, usual, audited_with or {}, only_for, measures
        )
        return function

    return register


def find(method: str) -> Baseline:
    """The baseline of this name."""
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method={method!r} is unknown, expected one of {', '.join([NEON, *METHODS])}.")
    return METHODS[method]
