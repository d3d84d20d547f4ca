"""How deep the package's classes are: a base of ours is one level, others are none."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from sources import Module


class Depths:
    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._classes = {
            (module.name, node.name): node
            for module in modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef)
        }
        self._imported = {
            (module.name, here): (source, there)
            for module in modules.values()
            for here, source, there in module.imports()
        }

    def of(self, module: str, node: ast.ClassDef) -> int:
        """Return how many classes of ours lie on the longest way up, itself included."""
        found = [self._find(module, base) for base in node.bases]
        return 1 + max((self.of(*base) for base in found if base), default=0)

    def _find(self, module: str, base: ast.expr) -> tuple[str, ast.ClassDef] | None:
        if isinstance(base, ast.Subscript):
            return self._find(module, base.value)
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            return self._named(".".join(self._imported.get((module, base.value.id), "")), base.attr)
        return self._named(module, base.id) if isinstance(base, ast.Name) else None

    def _named(self, module: str, name: str) -> tuple[str, ast.ClassDef] | None:
        """Find a class by its name in a module, which may have it from another one."""
        if (module, name) in self._classes:
            return module, self._classes[module, name]
        source = self._imported.get((module, name))
        return self._named(*source) if source else None
