"""Modules that import each other in a circle around the one that defines ``Explanation``.

An edge is any import of a module of the package outside of ``if TYPE_CHECKING``, within functions too: what
is imported on use must be there all the same. Packages' ``__init__`` count as modules where something is
imported from them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from structure_parts.trees import PACKAGE, Module, Package

AROUND = "Explanation"


def find_cycle(package: Package) -> dict[str, list[str]]:
    """The modules of the circle, none if there is no circle."""
    edges = {name: set(_imports(package, module)) - {name} for name, module in package.modules.items()}
    homes = package.class_names.get(AROUND, [])
    found: set[str] = set()
    for home in homes:
        reached = _reached(edges, home.name)
        found |= {name for name in reached if home.name in _reached(edges, name)}
    return {"modules": sorted(found), "around": [home.name for home in homes]}


def _reached(edges: dict[str, set[str]], start: str) -> set[str]:
    """Modules that are imported, directly or not."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for name in edges[waiting.pop()] - found:
            found.add(name)
            waiting.append(name)
    return found


def _imports(package: Package, module: Module) -> Iterator[str]:
    for node in _outside_type_checking(module.tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # A name may be a module itself, and then its package is only the way to it.
            names = [
                f"{node.module}.{alias.name}"
                if f"{node.module}.{alias.name}" in package.modules
                else node.module
                for alias in node.names
            ]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == PACKAGE and name in package.modules)


def _outside_type_checking(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _outside_type_checking(child)
