"""Code that asks what one of the package's own things is, instead of letting a registry or a method say it.

- ``isinstance``, ``issubclass``, ``type(x) is`` and ``match`` on a class of the package. Told apart, and not
  counted, are guards (``if not isinstance(net, Neuralized): raise …``) and passing on what is already read
  (``if isinstance(X, InputTable): return X``);
- ``hasattr(x, "name")`` and ``getattr(x, "name", default)`` for an attribute that only classes of the
  package define: names that other libraries know, too, are asked of their things;
- names of the package's modules compared with strings (``type(x).__module__ == "whyclust.deep.trunk"``),
  and ``type(x).__name__`` looked up or compared.

Tables of the package's module names are told apart, too: some are registries that import on use.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from structure_parts.trees import PACKAGE, Module, Package

# Kinds that are counted, and what they are called in a table.
COUNTED = {
    "isinstance": "classes asked for",
    "inputs": "public classes asked for, where something foreign may stand as well",
    "probes": "attributes probed for",
    "names": "names of modules and classes compared",
}
_MODULE_NAME = re.compile(rf"{PACKAGE}(\.[a-z_]+)+\.?")
# What scikit-learn, pandas, numpy, scipy and torch call theirs; own classes have some of these, too.
FOREIGN = {
    "affinity", "bias", "cluster_centers_", "columns", "components_", "core_sample_indices_", "data", "dtype",
    "feature_names_in_", "fit", "func", "get_params", "get_support", "groups", "iloc", "index", "inplace",
    "item", "kind", "labels_", "mean_", "metric", "multiply", "n_features_in_", "name", "predict", "shape",
    "steps", "subtype", "to_pandas", "toarray", "transform", "weight", "clip",
}  # fmt: skip


def count_dispatch(package: Package) -> dict[str, Any]:
    """Places by kind."""
    attributes = _own_attributes(package) - FOREIGN
    found: dict[str, list[str]] = {kind: [] for kind in (*COUNTED, "guards", "tables")}
    for module in package.modules.values():
        for node, kind, told in _asked(package, module, attributes):
            found[kind].append(f"{package.place(module, node)} {told}")
    counted = {kind: len(places) for kind, places in found.items()}
    return {"dispatch": sum(counted[kind] for kind in COUNTED), "by_kind": counted, "places": found}


def _own_attributes(package: Package) -> set[str]:
    """Names that classes of the package give to fields, methods and what they store in self."""
    found: set[str] = set()
    for module in package.modules.values():
        for node in module.classes.values():
            for part in ast.walk(node):
                if isinstance(part, ast.FunctionDef):
                    found.add(part.name)
                elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                    found.add(part.target.id)
                elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                    found.add(part.attr)
            found |= {
                target.id
                for part in node.body
                if isinstance(part, ast.Assign)
                for target in part.targets
                if isinstance(target, ast.Name)
            }
    return found


def _asked(package: Package, module: Module, attributes: set[str]) -> Iterator[tuple[ast.AST, str, str]]:
    guards, public = _guards(module), _exported(package)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = node.func.id
            if called in ("isinstance", "issubclass") and len(node.args) == 2:
                own = [package.own_class(module, kind) for kind in _kinds(module, node.args[1])]
                if any(own):
                    asked = set(filter(None, own))
                    kind = "inputs" if asked <= public else "isinstance"
                    kind = "guards" if id(node) in guards else kind
                    yield node, kind, f"isinstance {', '.join(sorted(asked))}"
            elif called in ("hasattr", "getattr") and len(node.args) >= 2:
                name = node.args[1]
                probes = called == "hasattr" or len(node.args) == 3
                own_name = isinstance(name, ast.Constant) and name.value in attributes
                if probes and own_name and not str(name.value).startswith("__"):
                    yield node, "probes", f"{called} {name.value}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("startswith", "endswith"):
                yield from ((part, "names", told) for part, told in _module_names(node.args))
        elif isinstance(node, ast.Compare):
            yield from _compared(package, module, node)
        elif isinstance(node, ast.MatchClass):
            own_class = package.own_class(module, node.cls)
            if own_class:
                yield node.cls, "isinstance", f"match {own_class}"
        elif isinstance(node, (ast.Dict, ast.Tuple, ast.List, ast.Set)):
            parts = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts
            yield from ((part, "tables", told) for part, told in _module_names(parts))


def _exported(package: Package) -> set[str]:
    """What users import from the package itself, and hand in where a model or an array may stand, too."""
    for statement in package.modules[PACKAGE].tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return {str(name) for name in ast.literal_eval(statement.value)}
    return set()


def _module_names(nodes: Iterable[ast.expr | None]) -> Iterator[tuple[ast.expr, str]]:
    for node in nodes:
        value = node.value if isinstance(node, ast.Constant) else None
        if node is not None and isinstance(value, str) and _MODULE_NAME.fullmatch(value):
            yield node, f"string {value!r}"


def _compared(package: Package, module: Module, node: ast.Compare) -> Iterator[tuple[ast.AST, str, str]]:
    sides = [node.left, *node.comparators]
    yield from ((part, "names", told) for part, told in _module_names(sides))
    if any(_is_type_of(side) for side in sides):
        own = [package.own_class(module, side) for side in sides]
        if any(own):
            yield node, "isinstance", f"type is {', '.join(filter(None, own))}"
    if any(isinstance(side, ast.Attribute) and side.attr == "__name__" for side in sides):
        yield node, "names", ast.unparse(node)[:80]


def _is_type_of(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def _kinds(module: Module, node: ast.expr) -> list[ast.expr]:
    """The classes that are asked for: one, several, or a module's constant that holds several."""
    if isinstance(node, ast.Tuple):
        return [kind for part in node.elts for kind in _kinds(module, part)]
    if isinstance(node, ast.BinOp):
        return [*_kinds(module, node.left), *_kinds(module, node.right)]
    if isinstance(node, ast.Name):
        for statement in module.tree.body:
            several = isinstance(statement, ast.Assign) and isinstance(
                statement.value, (ast.Tuple, ast.BinOp)
            )
            if several and any(ast.unparse(target) == node.id for target in statement.targets):
                return _kinds(module, statement.value)
    return [node]


def _guards(module: Module) -> set[int]:
    """Questions that end in an error, or in handing back the very argument that was asked about."""
    found = set()
    for function in ast.walk(module.tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        arguments = {argument.arg for argument in function.args.args}
        for node in ast.walk(function):
            if not isinstance(node, ast.If) or node.orelse:
                continue
            first, last = node.body[0], node.body[-1]
            passed = first.value if isinstance(first, ast.Return) else None
            for part in ast.walk(node.test):
                if isinstance(part, ast.Call) and part.args:
                    asked = part.args[0]
                    same = isinstance(asked, ast.Name) and asked.id in arguments and _same(asked, passed)
                    if same or isinstance(last, ast.Raise):
                        found.add(id(part))
    return found


def _same(one: ast.Name, other: ast.expr | None) -> bool:
    return isinstance(other, ast.Name) and other.id == one.id
