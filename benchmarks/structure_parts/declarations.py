"""Lines that declare parameters of deep clusterings, wherever they stand.

Counted are, for every estimator of the package ``deep`` (and for ``ClusteringModuleEM``, in a row of its
own, in whatever package it is), once each with all classes of the package that it derives from:

- ``__init__``, if it has parameters: all its lines, signature and assignments;
- class-level declarations: ``name: type``, ``name: type = value`` and ``name = Something(…)`` for public
  names; not for learned attributes, which end in ``_``, and not for ``ClassVar``. One that takes several
  lines counts as several;
- entries of ``_parameter_constraints``;

and, in ``deep``, fields of classes whose name ends in Settings, Parameters or Options, and calls outside
of functions whose name speaks of parameters (``EPOCHS = Parameter(…)``, or a list of them). Checks in other
places (entries keyed by a parameter's name in tables of limits, and lines of ``_check_settings``) are told
apart: they declare nothing, but a declaration that holds its check makes them go.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import Any

from structure_parts.trees import PACKAGE, Module, Package, lines_of

# Bases from outside that make an estimator.
_ESTIMATOR = "BaseEstimator"
_APART = "ClusteringModuleEM"
_DECLARING = re.compile(r"param|setting|option|declare", re.IGNORECASE)
_HOLDERS = ("Settings", "Parameters", "Options")


def count_declarations(package: Package) -> dict[str, Any]:
    """Lines by kind and by file."""
    seen: set[tuple[str, str]] = set()
    kinds: Counter[str] = Counter()
    files: Counter[str] = Counter()
    apart: Counter[str] = Counter()
    for module, node in _estimators(package):
        for owner, one in package.ancestors(module, node):
            if (owner.name, one.name) in seen:
                continue
            seen.add((owner.name, one.name))
            found = _in_class(one)
            if node.name == _APART:
                apart += found
            else:
                kinds += found
                files[str(owner.path.relative_to(package.root))] += sum(found.values())
    for module in _deep(package):
        found = _elsewhere(module, seen)
        kinds += found
        if found:
            files[str(module.path.relative_to(package.root))] += sum(found.values())
    names = _parameter_names(package)
    checks = sum(_checks(module, names) for module in _deep(package))
    return {
        "lines": sum(kinds.values()),
        "by_kind": dict(kinds),
        "by_file": dict(files),
        _APART: sum(apart.values()),
        "checks_elsewhere": checks,
    }


def _deep(package: Package) -> list[Module]:
    return [module for name, module in package.modules.items() if f"{name}.".startswith(f"{PACKAGE}.deep.")]


def _estimators(package: Package) -> list[tuple[Module, ast.ClassDef]]:
    """Estimators of deep, and the one that is counted apart, last."""
    found = []
    inside = {module.name for module in _deep(package)}
    for module in package.modules.values():
        for node in module.classes.values():
            if node.name != _APART and module.name not in inside:
                continue
            bases = [base for owner, one in package.ancestors(module, node) for base in one.bases]
            if any(ast.unparse(base).rpartition(".")[2] == _ESTIMATOR for base in bases):
                found.append((module, node))
    return sorted(found, key=lambda one: one[1].name == _APART)


def _in_class(node: ast.ClassDef) -> Counter[str]:
    found: Counter[str] = Counter()
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            arguments = statement.args
            if arguments.args[1:] or arguments.kwonlyargs:
                found["constructors"] += lines_of(statement)
        elif _constraints(statement):
            found["constraints"] += len(_constraints(statement))
        elif _declares(statement):
            found["class bodies"] += lines_of(statement)
    return found


def _constraints(statement: ast.stmt) -> list[Any]:
    target = _target(statement)
    value = getattr(statement, "value", None)
    return value.keys if target == "_parameter_constraints" and isinstance(value, ast.Dict) else []


def _target(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def _declares(statement: ast.stmt) -> bool:
    name = _target(statement)
    if name is None or name.startswith("_") or name.endswith("_"):
        return False
    if isinstance(statement, ast.AnnAssign):
        return "ClassVar" not in ast.unparse(statement.annotation)
    return isinstance(statement.value, ast.Call) if isinstance(statement, ast.Assign) else False


def _elsewhere(module: Module, seen: set[tuple[str, str]]) -> Counter[str]:
    """Records of settings, and calls that declare parameters, outside of the estimators."""
    found: Counter[str] = Counter()
    for statement in module.tree.body:
        if isinstance(statement, ast.ClassDef):
            if statement.name.endswith(_HOLDERS) and (module.name, statement.name) not in seen:
                found["records"] += sum(lines_of(part) for part in statement.body if _declares(part))
            elif (module.name, statement.name) in seen:
                # A list of declarations in a private name of an estimator.
                hidden = [part for part in statement.body if _target(part) and not _counted(part)]
                found["lists"] += sum(_calls(part) for part in hidden)
        elif _target(statement):
            found["lists"] += _calls(statement)
    return +found


def _counted(statement: ast.stmt) -> bool:
    return _declares(statement) or bool(_constraints(statement))


def _calls(statement: ast.stmt) -> int:
    """Lines of calls whose name speaks of parameters."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return sum(
        lines_of(call) for call in calls if _DECLARING.search(ast.unparse(call.func).rpartition(".")[2])
    )


def _parameter_names(package: Package) -> set[str]:
    names = set()
    for module, node in _estimators(package):
        for _, one in package.ancestors(module, node):
            for statement in one.body:
                if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                    arguments = [*statement.args.args[1:], *statement.args.kwonlyargs]
                    names |= {argument.arg for argument in arguments}
                elif _declares(statement):
                    names.add(_target(statement) or "")
    return names


def _checks(module: Module, names: set[str]) -> int:
    """Entries of tables of limits, and lines of the functions that check settings."""
    found = 0
    for statement in module.tree.body:
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Dict):
            keys = [key.value for key in value.keys if isinstance(key, ast.Constant)]
            if keys and names.issuperset(keys):
                found += len(keys)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef) and node.name in ("_check_settings", "check_settings"):
            found += sum(lines_of(statement) for statement in node.body)
    return found
