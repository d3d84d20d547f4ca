"""The modules of the package, as they stand in a folder or in a commit."""

from __future__ import annotations

import ast
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"


class Module(NamedTuple):
    name: str
    path: PurePath
    """Where it is below the folder of sources."""
    lines: int
    tree: ast.Module

    @property
    def is_generated(self) -> bool:
        return "_sync" in self.path.parts

    @property
    def is_testing(self) -> bool:
        return self.path.parts[1] == "testing"

    def imports(self) -> Iterator[tuple[str, str, str]]:
        """Return each name that is imported: as it is called here, from where, and there."""
        names = self.name.split(".")
        package = names if self.path.stem == "__init__" else names[:-1]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else []
                source = ".".join([*above, *([node.module] if node.module else [])])
                yield from ((it.asname or it.name, source, it.name) for it in node.names)


def modules(src: Path) -> dict[str, Module]:
    """Return every module of the package by its name, in the order of their paths."""
    found = {}
    for file in sorted((src / "sapwood").rglob("*.py")):
        path, text = file.relative_to(src), file.read_text()
        parts = path.parent.parts if path.stem == "__init__" else path.with_suffix("").parts
        name = ".".join(parts)
        found[name] = Module(name, path, len(text.splitlines()), ast.parse(text))
    return found


@contextmanager
def exported(commit: str) -> Iterator[Path]:
    """Write the sources of a commit into a folder, for a while."""
    command = ["git", "archive", commit, "src/sapwood"]
    packed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder) / "src"
