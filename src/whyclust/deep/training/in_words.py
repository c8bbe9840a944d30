"""Settings in words that differ where the settings do, and are the same in every process."""

from __future__ import annotations

import dis
import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import partial, singledispatch
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from torch import Tensor, nn

# Functions in these folders belong to libraries, and are what they are called.
_LIBRARIES = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")})
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


@singledispatch
def in_words(value: Any) -> str:
    """A setting in words; modules by their weights, and so are fitted models, once registered."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(in_words(item) for item in value)})"
    if isinstance(value, dict):
        return f"({', '.join(f'{key}={in_words(item)}' for key, item in value.items())})"
    if isinstance(value, nn.Module):
        weights = b"".join(tensor.detach().cpu().numpy().tobytes() for tensor in value.state_dict().values())
        return f"{value!r} {digest(weights)}"
    own = type(value).__module__.startswith("whyclust.")  # says all in its repr
    if callable(value) and not own and not isinstance(value, type):
        return _Telling().told(value)
    return repr(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)


def digest(content: bytes) -> str:
    """A short text that stands for a long one."""
    return hashlib.sha256(content).hexdigest()


class _Telling:
    """What a function does: its code, and what that uses; its address is another one in every process."""

    def __init__(self) -> None:
        self.known: dict[int, Any] = {}  # held, so that no address is given away twice

    def told(self, value: Any) -> str:
        """Anything that a function may use."""
        if isinstance(value, (type(None), bool, int, float, complex, str, bytes)):
            return repr(value)
        if id(value) in self.known:  # functions may call each other, and lists hold themselves
            return f"<{type(value).__qualname__} told before>"
        self.known[id(value)] = value
        found = f"{type(value).__qualname__} {' '.join(self._parts(value))}"
        # Whether equal values are one object is chance; functions and classes are themselves.
        if not isinstance(value, (FunctionType, type)):
            del self.known[id(value)]
        return found

    def _parts(self, value: Any) -> Iterator[str]:
        if isinstance(value, ModuleType):
            yield value.__name__
        elif isinstance(value, (tuple, list)):
            yield from map(self.told, value)
        elif isinstance(value, (set, frozenset)):  # in any order
            yield from sorted(map(self.told, value))
        elif isinstance(value, dict):
            yield from (f"{self.told(key)}: {self.told(item)}" for key, item in value.items())
        elif isinstance(value, CodeType):
            yield from (value.co_code.hex(), str(value.co_names), self.told(value.co_consts))
        elif isinstance(value, FunctionType):
            yield from self._of_function(value)
        elif isinstance(value, partial):
            yield from map(self.told, (value.func, value.args, value.keywords))
        elif isinstance(value, MethodType):
            yield from map(self.told, (value.__func__, value.__self__))
        elif isinstance(value, BuiltinFunctionType):
            yield str(value.__qualname__)
            yield "" if isinstance(value.__self__, (type, type(None))) else self.told(value.__self__)
        elif isinstance(value, type):
            yield from self._of_class(value)
        elif isinstance(value, Tensor):
            yield f"{value.dtype} {value.detach().cpu().to_dense().tolist()}"
        elif isinstance(value, (np.ndarray, np.generic)):
            yield f"{value.dtype} {value.tolist()}"
        elif isinstance(value, nn.Module):
            yield _ADDRESS.sub("", in_words(value))
        elif _of_a_library(type(value)):
            yield _ADDRESS.sub("", repr(value))
            yield self.told(getattr(value, "__dict__", None))
        else:
            yield self.told(type(value))
            yield self.told(value.__getstate__())

    def _of_function(self, value: FunctionType) -> Iterator[str]:
        yield f"{value.__module__}.{value.__qualname__}"
        if value.__code__.co_filename.startswith(_LIBRARIES):
            return
        yield self.told(value.__code__)
        yield self.told(value.__defaults__)
        yield self.told(value.__kwdefaults__)
        for cell in value.__closure__ or ():
            try:
                yield self.told(cell.cell_contents)
            except ValueError:  # nothing is in it yet
                yield "nothing"
        for name in _globals_of(value.__code__):
            if name in value.__globals__:
                yield f"{name}={self.told(value.__globals__[name])}"

    def _of_class(self, kind: type) -> Iterator[str]:
        yield f"{kind.__module__}.{kind.__qualname__}"
        if _of_a_library(kind):
            return
        for base in kind.__bases__:
            yield self.told(base)
        for name, part in vars(kind).items():
            if isinstance(part, (FunctionType, int, float, str, Tensor, np.ndarray)):
                yield f"{name}={self.told(part)}"


def _of_a_library(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    source = getattr(module, "__file__", None) or ""
    # What is made of C has no file; what was typed in has none either, but is called so.
    return source.startswith(_LIBRARIES) or (not source and kind.__module__ != "__main__")


def _globals_of(code: CodeType) -> list[str]:
    """Names that code, and the code within it, reads from around its module."""
    found = {one.argval for one in dis.get_instructions(code) if one.opname in {"LOAD_GLOBAL", "LOAD_NAME"}}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= set(_globals_of(inner))
    return sorted(found)
