"""Settings of an estimator, declared once: its name, type, default and check in one line.

    class Model(Declared):
        n_clusters: int = setting(8, whole(1), positional=True)
        epochs: int = setting(100, whole(0))

    class Longer(Model):
        epochs: int = 500  # as declared above, with another default

From the declarations come ``__init__`` (which only stores, as scikit-learn wants it), its signature, the
checks of ``fit`` and the list of parameters in the docstring: a class describes what it declares, what it
inherits is added.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

from whyclust._checks import one_of, positive, whole_number

Check = Callable[[str, Any], Any]


@dataclass(frozen=True)
class Setting:
    """A parameter: its default, what it is checked by, and whether it can be passed by position."""

    default: Any
    check: Check
    positional: bool = False


def anything(name: str, value: Any) -> None:
    """Accept every value: what uses it will tell."""


def setting(default: Any, check: Check = anything, *, positional: bool = False) -> Any:
    """Declare a parameter."""
    return Setting(default, check, positional)


# --- checks, as declarations take them ----------------------------------------------------------


def whole(least: int) -> Check:
    """A whole number that is large enough."""
    return lambda name, value: whole_number(name, value, least)


def number(*, zero: bool = False, below: float | None = None) -> Check:
    """A positive number; or zero; or one that is not too large."""

    def check(name: str, value: Any) -> None:
        positive(name, value, zero=zero)
        if below is not None and value >= below:
            raise ValueError(f"{name}={value!r}, expected a number below {below:g}.")

    return check


def choice(options: Iterable[str]) -> Check:
    """One of some names."""
    listed = list(options)
    return lambda name, value: one_of(name, value, listed)


def optional(check: Check) -> Check:
    """None, or what the check accepts."""
    return lambda name, value: None if value is None else check(name, value)


def yes_or_no(name: str, value: Any) -> None:
    """True or False; other values have a truth, too, but it may not be the one that was meant ("no")."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r}, expected True or False.")


def path(name: str, value: Any) -> None:
    """The path of a file, or None."""
    if not isinstance(value, (str, os.PathLike, type(None))):
        raise TypeError(f"{name}={value!r}, expected the path of a file, or None.")


def sizes(name: str, value: Any) -> None:
    """Sizes of layers, or None."""
    if value is None:
        return
    listed = list(value) if np.iterable(value) and not isinstance(value, str) else [None]
    if not all(isinstance(size, (int, np.integer)) and size >= 1 for size in listed):
        raise ValueError(
            f"{name}={value!r}, expected the sizes of the hidden layers, such as (500, 500, 2000)."
        )


# --- the base class -----------------------------------------------------------------------------


@dataclass_transform(kw_only_default=True, field_specifiers=(setting,))
class Declared:
    """An estimator whose parameters are declared in the bodies of its classes."""

    declared: ClassVar[dict[str, Setting]] = {}

    def __init_subclass__(cls, *, around: str | None = None, **options: Any) -> None:
        """Merge what classes declare.

        An estimator `around` another (the name of the parameter that holds it) has no settings of its own
        but those that its body declares: what it would inherit is read from the other.
        """
        super().__init_subclass__(**options)
        merged = _own_settings(cls)
        for base in cls.__mro__[1:]:
            inherited = vars(base).get("declared", {})  # other libraries' mixins declare nothing
            added = {name: one for name, one in inherited.items() if name not in merged}
            if around is not None:
                for name in added:
                    setattr(cls, name, _lent(around, name))
            merged |= {name: one for name, one in added.items() if not _is_lent(cls, name)}
        # What a class adds comes first, after what can be passed by position.
        cls.declared = dict(sorted(merged.items(), key=lambda item: not item[1].positional))
        if "__init__" not in vars(cls):
            cls.__init__ = _stores(cls.declared)  # type: ignore[method-assign]
        cls.__doc__ = _described(cls)

    def set_params(self, **settings: Any) -> Self:
        """Set parameters, also those that are read from the estimator this one is around."""
        lent = {name: settings.pop(name) for name in list(settings) if _is_lent(type(self), name)}
        base: Any = super()
        base.set_params(**settings)
        for name, value in lent.items():  # of the other that is set here, if one is
            setattr(self, name, value)
        return self

    def _check_settings(self) -> None:
        """Refuse settings that make no sense; a model adds what several of them must have together."""
        for name, declared in self.declared.items():
            declared.check(name, getattr(self, name))


class _Lent(property):
    """A setting that an estimator reads from the one it is around."""


def _lent(around: str, name: str) -> _Lent:
    def read(self: Any) -> Any:
        lender = getattr(self, around)
        if lender is None:  # an AttributeError, so that hasattr says no
            kind = type(self).__name__
            raise AttributeError(
                f"{name} of {kind} is that of its {around}, which is None: give it one, {kind}({around}=...)."
            )
        return lender

    return _Lent(lambda self: getattr(read(self), name), lambda self, value: setattr(read(self), name, value))


def _is_lent(cls: type, name: str) -> bool:
    return isinstance(inspect.getattr_static(cls, name, None), _Lent)


def _own_settings(cls: type[Declared]) -> dict[str, Setting]:
    """What the body of a class declares, or gives another default; taken out of the class."""
    own: dict[str, Setting] = {}
    known = cls.declared
    for name in list(inspect.get_annotations(cls)):
        value = vars(cls).get(name, inspect.Parameter.empty)
        if isinstance(value, Setting):
            own[name] = value
        elif name in known and value is not inspect.Parameter.empty:
            own[name] = replace(known[name], default=value)
        else:
            continue
        delattr(cls, name)
    return own


def _stores(declared: dict[str, Setting]) -> Callable[..., None]:
    """An ``__init__`` with these parameters, which it stores."""
    kinds = {True: inspect.Parameter.POSITIONAL_OR_KEYWORD, False: inspect.Parameter.KEYWORD_ONLY}
    parameters = [
        inspect.Parameter(name, kinds[one.positional], default=one.default) for name, one in declared.items()
    ]
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([this, *parameters])

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
        try:
            bound = signature.bind(self, *values, **named)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}.") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


# --- docstrings ---------------------------------------------------------------------------------

_HEADING = "Parameters\n----------\n"
_NEXT = re.compile(r"\n\n(?=[A-Z][A-Za-z ]+\n-{3,}\n)")


def _described(cls: type[Declared]) -> str | None:
    """The docstring of a class, with the parameters that its bases describe after its own."""
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    if not text:
        return None
    described: dict[str, str] = {}
    for base in cls.__mro__[1:]:
        described = {**_entries(vars(base).get("__doc__") or ""), **described}
    own = _entries(text)
    names = [name for name in cls.declared if name in own or name in described]
    section = _HEADING + "\n".join(own.get(name) or described[name] for name in names)
    before, after = _around(text)
    return before.rstrip() + "\n\n" + section + ("\n\n" + after if after else "\n")


def _around(text: str) -> tuple[str, str]:
    """What stands before the parameters and what stands after them."""
    if _HEADING in text:
        before, rest = text.split(_HEADING, 1)
        parts = _NEXT.split(rest, maxsplit=1)
        return before, parts[1] if len(parts) > 1 else ""
    parts = _NEXT.split(text, maxsplit=1)
    return parts[0], parts[1] if len(parts) > 1 else ""


def _entries(text: str) -> dict[str, str]:
    """Parameters that a docstring describes, each with its lines."""
    text = inspect.cleandoc(text)
    if _HEADING not in text:
        return {}
    section = _NEXT.split(text.split(_HEADING, 1)[1], maxsplit=1)[0]
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section.strip("\n")):
        found[entry.split(" :", 1)[0].strip()] = entry
    return found
