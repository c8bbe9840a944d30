"""What an audit and an explanation do while they run, counted in a process of its own.

Run as a script with the sources to be measured on ``PYTHONPATH``; prints JSON. Functions are looked up by
name in all modules of the package, so that they are found wherever they stand; what was renamed must be
added to the lists below, and is told as missing until then.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import whyclust as wc

# What is counted, and what the functions that do it may be called: NAME, or CLASS.NAME. Of several that call
# each other the outermost call counts.
COUNTED = {
    "reads": ("read_table", "read_input", "read_rows", "Neuralized.read"),
    "betas": ("stiffness", "inverse_mean_evidence"),
    "density_fits": ("KernelDensity.fit",),
}
# A function of the same name that reads files.
ELSEWHERE = ("whyclust.tables",)
ROWS = 300


class Counter:
    """Counts the calls of functions, wherever they were imported to."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.calls = self.depth = self.unread = 0
        self.found: list[str] = []
        for name in names:
            owner_name, _, function_name = name.rpartition(".")
            for owner in _owners(owner_name):
                function = inspect.getattr_static(owner, function_name, None)
                if function is not None and _defined_in(owner, function):
                    self._replace(owner, function_name, function)
                    self.found.append(f"{getattr(owner, '__name__', owner)}.{function_name}")

    def _replace(self, owner: Any, name: str, function: Any) -> None:
        if isinstance(function, classmethod):
            setattr(owner, name, classmethod(self._counting(function.__func__)))
            return
        if inspect.isclass(owner):
            setattr(owner, name, self._counting(function))
            return
        counting = self._counting(function)
        for module in _modules():
            for known, value in list(vars(module).items()):
                if value is function:
                    setattr(module, known, counting)

    def _counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.calls += self.depth == 0
            self.depth += 1
            try:
                result = function(*arguments, **options)
            finally:
                self.depth -= 1
            # What was read already is handed back as it is.
            self.unread += self.depth == 0 and not any(result is argument for argument in arguments)
            return result

        return counted


def _modules() -> list[Any]:
    return [module for name, module in list(sys.modules.items()) if f"{name}.".startswith("whyclust.")]


def _owners(class_name: str) -> Iterator[Any]:
    """Modules, or the classes of a name that they define."""
    for module in _modules():
        if module.__name__.startswith(ELSEWHERE):
            continue
        if not class_name:
            yield module
        elif getattr(vars(module).get(class_name), "__module__", None) == module.__name__:
            yield vars(module)[class_name]


def _defined_in(owner: Any, function: Any) -> bool:
    return inspect.isclass(owner) or getattr(function, "__module__", None) == owner.__name__


def audit_of_wine() -> dict[str, Any]:
    """An audit of 178 rows: CPU seconds, the least of three; then once more, counted."""
    X = load_wine(as_frame=True).data
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=10, random_state=0)).fit(X)
    seconds = []
    for _ in range(4):
        start = time.process_time()
        wc.audit(model, X)
        seconds.append(time.process_time() - start)
    for module in pkgutil.walk_packages(wc.__path__, "whyclust."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    counters = {what: Counter(names) for what, names in COUNTED.items()}
    wc.audit(model, X, n_refits=0)
    without_refits = counters["betas"].calls
    for one in counters.values():
        one.calls = one.unread = 0
    wc.audit(model, X)
    found: dict[str, Any] = {what: one.calls if one.found else None for what, one in counters.items()}
    found["reads_of_what_was_not_read"] = counters["reads"].unread
    return {
        **found,
        "betas_without_refits": without_refits,
        "cpu_seconds": round(min(seconds[1:]), 3),
        "functions": {what: one.found for what, one in counters.items()},
    }


def forwards_of_a_row() -> dict[str, Any]:
    """How often a row passes the first layer of an encoder when it is explained."""
    import torch
    from torch.overrides import TorchFunctionMode

    from whyclust.deep import DEC

    X = np.random.default_rng(0).normal(size=(ROWS, 7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DEC(3, hidden=(20,), epochs=1, pretrain_epochs=1, random_state=0).fit(X)
    own = next(
        tensor for tensor in model.model_.state_dict().values() if tuple(tensor.shape) == (20, 7)
    ).clone()

    class Passing(TorchFunctionMode):
        rows = 0

        def __torch_function__(
            self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
        ) -> Any:
            if function is torch.nn.functional.linear:
                weight = args[1].detach()
                # Rules hand relevance down by other weights, which are no forward passes.
                if weight.shape == own.shape and torch.allclose(weight.to(own), own):
                    self.rows += len(args[0])
            return function(*args, **(kwargs or {}))

    net = wc.neuralize(model, X)
    found = {}
    for name, explained in (("model", model), ("network", net)):
        with Passing() as passing:
            wc.explain(explained, X)
        found[name] = round(passing.rows / ROWS, 3)
    return found


def main() -> None:
    with threadpool_limits(1):
        found = {"audit": audit_of_wine(), "forwards_per_row": forwards_of_a_row()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
