"""Classes that a file can bring back: each says so where it is defined.

A class is saved as named parts: numbers, text, arrays, frames, lists and dictionaries of these, and other
saved things. Nothing else has to know of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, overload

from whyclust._extras import missing

Kind = TypeVar("Kind", bound=type)
Parts = dict[str, Any]


@dataclass(frozen=True)
class Lists:
    """The name of a part that is a list for each row: a sparse table, or an array of rows side by side."""

    name: str


# What a part's columns are called in a table: one name, or one for each.
Columns = Mapping[str, str | list[str] | Lists]

# Where whyclust's own classes are, imported when a file names one that is not known yet. Classes of others
# are known as soon as their module is: a file never says what to import.
_ROOMS = ("whyclust.explaining", "whyclust.cluster", "whyclust.select", "whyclust.tables")
# What needs PyTorch, by the room that it comes from: imported only for what comes from there.
_WITH_TORCH = {
    "whyclust.deep": "whyclust.deep",
    "whyclust.network": "whyclust.network.torch_stored_trunk",
    "whyclust.propagate": "whyclust.propagate.torch_rules",
}


@dataclass(frozen=True)
class Saved:
    """How things of one class are taken apart and put together again."""

    kind: type
    name: str
    take_apart: Callable[[Any], Parts]
    put_together: Callable[[Parts], Any]
    columns: Callable[[Any], Columns] | None
    alone: bool

    @property
    def room(self) -> str:
        """The package it comes from; of whyclust also the folder in it."""
        parts = self.kind.__module__.split(".")
        return ".".join(parts[: 2 if parts[0] == "whyclust" else 1])


_BY_NAME: dict[str, Saved] = {}


class UnknownKindError(ValueError):
    """A file holds something of a class that nobody has registered."""

    def __init__(self, name: str, room: str) -> None:
        own = not room or room.split(".")[0] == "whyclust"
        remedy = (
            "update whyclust, or write it again"
            if own
            else f"import {room!r:.60}, which may, and load it again"
        )
        super().__init__(f"holds a {name!r:.60}, which nothing has registered, or is damaged: {remedy}.")


@overload
def saved(
    kind: Kind,
    /,
    *,
    name: str | None = None,
    take_apart: Callable[[Any], Parts] | None = None,
    put_together: Callable[[Parts], Any] | None = None,
    columns: Callable[[Any], Columns] | None = None,
    alone: bool = True,
) -> Kind: ...


@overload
def saved(
    kind: None = None,
    /,
    *,
    name: str | None = None,
    take_apart: Callable[[Any], Parts] | None = None,
    put_together: Callable[[Parts], Any] | None = None,
    columns: Callable[[Any], Columns] | None = None,
    alone: bool = True,
) -> Callable[[Kind], Kind]: ...


def saved(
    kind: Any = None,
    /,
    *,
    name: str | None = None,
    take_apart: Callable[[Any], Parts] | None = None,
    put_together: Callable[[Parts], Any] | None = None,
    columns: Callable[[Any], Columns] | None = None,
    alone: bool = True,
) -> Any:
    """Register a class, so that :func:`whyclust.save` and :func:`whyclust.load` know it.

    A dataclass is saved by its fields, and a scikit-learn estimator by its attributes; for others, and to
    check what a file brings, give the two functions. Put together is only what a file says: parts may be
    missing or wrong, and a ValueError, TypeError or KeyError refuses the file.

    Parameters
    ----------
    kind : type
        The class; things of its subclasses are of another kind.
    name : str, optional
        What files call it; the name of the class by default.
    take_apart : callable, optional
        From a thing to its named parts.
    put_together : callable, optional
        From named parts to the thing.
    columns : callable, optional
        From a thing to the names of columns, for parts that have an entry for each row: with it, it can
        also be saved as a Parquet table. A sparse part has the name ``Lists(name)``, of this module.
    alone : bool
        Whether it can be saved by itself, and not only as a part of others.

    Examples
    --------
    >>> import tempfile, whyclust as wc
    >>> from dataclasses import dataclass
    >>> from pathlib import Path
    >>> @wc.saved
    ... @dataclass
    ... class Threshold:
    ...     column: str
    ...     value: float
    >>> wc.load(wc.save(Threshold("age", 30.0), Path(tempfile.mkdtemp()) / "threshold.npz"))
    Threshold(column='age', value=30.0)
    """
    if kind is None:
        return lambda given: _register(given, name, take_apart, put_together, columns, alone)
    return _register(kind, name, take_apart, put_together, columns, alone)


def _register(
    kind: Kind,
    name: str | None,
    take_apart: Callable[[Any], Parts] | None,
    put_together: Callable[[Parts], Any] | None,
    columns: Callable[[Any], Columns] | None,
    alone: bool,
) -> Kind:
    name = kind.__name__ if name is None else name
    if take_apart is None:
        take_apart = _own_fields if is_dataclass(kind) else _own_attributes
    if put_together is None:
        put_together = (
            (lambda parts: kind(**parts)) if is_dataclass(kind) else (lambda parts: _with(kind, parts))
        )
    if not (is_dataclass(kind) or hasattr(kind, "get_params")) and take_apart is _own_attributes:
        raise TypeError(
            f"{kind.__name__} is neither a dataclass nor a scikit-learn estimator, so its parts are not "
            "known: give take_apart= and put_together=."
        )
    known = _BY_NAME.get(name)
    # The same class once more is a module or a notebook's cell that was run again.
    if known is not None and _origin(known.kind) != _origin(kind):
        raise ValueError(
            f"{name!r} is already what files call {'.'.join(_origin(known.kind))}: register "
            f"{'.'.join(_origin(kind))} with another name=."
        )
    _BY_NAME[name] = Saved(kind, name, take_apart, put_together, columns, alone)
    return kind


def _origin(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def _own_fields(thing: Any) -> Parts:
    # What the constructor does not take, it makes of the others.
    return {part.name: getattr(thing, part.name) for part in fields(thing) if part.init}


def _own_attributes(thing: Any) -> Parts:
    return dict(vars(thing))


def _with(kind: type, parts: Parts) -> Any:
    """An estimator whose attributes are set, as they were: nothing of it is called."""
    thing: Any = object.__new__(kind)
    for name, value in parts.items():
        setattr(thing, name, value)
    return thing


def of_thing(thing: Any) -> Saved | None:
    """How a thing is saved, or None. A subclass is not its parent, so it is not saved as one."""
    found = [entry for entry in _BY_NAME.values() if entry.kind is type(thing)]
    return found[0] if found else None


def of_name(name: str, room: str) -> Saved:
    """How what files call by this name is put together; `room` is the package it came from."""
    if not isinstance(name, str):
        raise TypeError(f"A kind is called {name!r}, expected a name.")
    for package in _ROOMS:
        if name not in _BY_NAME:
            importlib.import_module(package)
    if name not in _BY_NAME and room in _WITH_TORCH:
        _import_with_torch(_WITH_TORCH[room])
    if name not in _BY_NAME:
        raise UnknownKindError(name, room)
    return _BY_NAME[name]


def _import_with_torch(package: str) -> None:
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise missing("A file with layers of an encoder", "torch") from error
