"""Hold the package to what can be counted: names, lengths, depths. Run by `make check`.

A type's name (of a class at any level, or of an alias; private ones count, too) is defined once,
outside `testing` and the generated twins. No function is longer than 60 lines, no file longer than
400, no class deeper than 4, and a session no deeper than 3. Errors may be deeper, as designed.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from classes import Depths
from sources import SRC, Module, modules

LONGEST_FUNCTION = 60
LONGEST_FILE = 400
DEEPEST = 4
DEEPEST_OF = {"AsyncSession": 3}


class Finding(NamedTuple):
    key: str
    """What is wrong, by its kind and name."""
    where: str
    what: str


def findings(found: Mapping[str, Module]) -> list[Finding]:
    depths = Depths(found)
    written = [module for module in found.values() if not module.is_generated]
    each = [it for module in written for it in (*_lengths(module), *_depths(module, depths))]
    return [*_names(written), *each]


def _names(written: Collection[Module]) -> Iterator[Finding]:
    places: dict[str, list[str]] = defaultdict(list)
    for module in written:
        for node in ast.walk(module.tree) if not module.is_testing else ():
            if name := _type_name(node):
                places[name].append(_where(module, node))
    for name, there in sorted(places.items()):
        for where in there if len(there) > 1 else ():
            yield Finding(f"name {name}", where, f"{name} is defined {len(there)} times")


def _type_name(node: ast.AST) -> str | None:
    """Return the name of the type that a statement defines, if it defines one."""
    if isinstance(node, ast.ClassDef):
        return node.name
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id if "TypeAlias" in ast.unparse(node.annotation) else None
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return None
    # Types are called LikeThis, constants LIKE_THIS, and a type in brackets is a type again.
    name, value = node.targets[0].id, node.value
    is_named_so = name.lstrip("_")[:1].isupper() and not name.isupper()
    is_type = isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.BinOp)
    is_new = isinstance(value, ast.Call) and ast.unparse(value.func).endswith("NewType")
    return name if is_named_so and (is_type or is_new) else None


def _lengths(module: Module) -> Iterator[Finding]:
    if module.lines > LONGEST_FILE:
        where = f"src/{module.path}:{LONGEST_FILE + 1}"
        yield Finding(f"file {module.path}", where, f"the file has {module.lines} lines")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                what = f"{node.name} has {lines} lines"
                yield Finding(f"function {node.name}", _where(module, node), what)


def _depths(module: Module, depths: Depths) -> Iterator[Finding]:
    for node in ast.walk(module.tree) if module.name != "sapwood.errors" else ():
        if isinstance(node, ast.ClassDef):
            depth = depths.of(module.name, node)
            if depth > DEEPEST_OF.get(node.name, DEEPEST):
                what = f"{node.name} is {depth} deep"
                yield Finding(f"class {node.name}", _where(module, node), what)


def _where(module: Module, node: ast.AST) -> str:
    return f"src/{module.path}:{getattr(node, 'lineno', 1)}"


def main(src: Path = SRC) -> int:
    wrong = findings(modules(src))
    for it in wrong:
        print(f"{it.where}: {it.what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
