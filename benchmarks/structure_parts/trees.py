"""The source of a package as syntax trees, and what the names in it stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "whyclust"


@dataclass(frozen=True, eq=False)
class Module:
    """A file of the package."""

    name: str
    path: Path
    tree: ast.Module

    @cached_property
    def imported(self) -> dict[str, str]:
        """What imported names stand for, wherever in the file they are imported."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return found

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """Classes by name, those inside others too."""
        return {node.name: node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)}

    def stands_for(self, node: ast.expr) -> str:
        """The dotted name of an expression of names, as far as imports tell it."""
        if isinstance(node, ast.Name):
            if node.id in self.classes:
                return f"{self.name}.{node.id}"
            return self.imported.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            return f"{self.stands_for(node.value)}.{node.attr}"
        return ""


@dataclass(frozen=True, eq=False)
class Package:
    """All files of the package."""

    root: Path
    modules: dict[str, Module]

    @classmethod
    def read(cls, src: Path) -> Package:
        """Parse the package below a folder of sources."""
        root = src / PACKAGE
        if not root.is_dir():
            raise SystemExit(f"There is no package {PACKAGE!r} in {src}: expected the folder that holds it.")
        modules = {}
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(src).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__init__")
            modules[name] = Module(name, path, ast.parse(path.read_text(encoding="utf-8")))
        return cls(root, modules)

    def place(self, module: Module, node: ast.AST) -> str:
        """Where something stands, for a reader."""
        return f"{module.path.relative_to(self.root)}:{getattr(node, 'lineno', 1)}"

    @cached_property
    def class_names(self) -> dict[str, list[Module]]:
        """Modules in which classes of a name are defined."""
        found: dict[str, list[Module]] = {}
        for module in self.modules.values():
            for name in module.classes:
                found.setdefault(name, []).append(module)
        return found

    def own_class(self, module: Module, node: ast.expr) -> str | None:
        """The name of a class of the package that an expression stands for, or None."""
        parts = module.stands_for(node).split(".")
        return parts[-1] if parts[0] == PACKAGE and parts[-1] in self.class_names else None

    def ancestors(self, module: Module, node: ast.ClassDef) -> Iterator[tuple[Module, ast.ClassDef]]:
        """A class and its bases within the package, whatever modules they are in."""
        yield module, node
        for base in node.bases:
            name = self.own_class(module, base)
            for other in self.class_names.get(name or "", []):
                yield from self.ancestors(other, other.classes[name or ""])


def lines_of(node: ast.AST) -> int:
    """How many lines something takes."""
    return getattr(node, "end_lineno", 1) - getattr(node, "lineno", 1) + 1
