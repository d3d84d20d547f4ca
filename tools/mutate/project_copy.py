"""A copy of the project, in which a file is changed for a while."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from mutation import Mutation

# What is not part of the project; the folder of the servers is linked, since it is large.
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", ".servers", ".mutate", ".hypothesis", ".*_cache", "__pycache__", "work-*"
)


@contextmanager
def copied(root: Path) -> Iterator[Path]:
    """Copy a project for a while."""
    with tempfile.TemporaryDirectory(prefix="sapwood-mutate-") as folder:
        copy = Path(folder).resolve() / "project"
        shutil.copytree(root, copy, ignore=LEFT_OUT)
        if (root / ".servers").exists():
            (copy / ".servers").symlink_to((root / ".servers").resolve())
        yield copy


@contextmanager
def applied(mutation: Mutation, root: Path) -> Iterator[None]:
    """Make the change, in both twins, and take it back at the end."""
    source = root / mutation.path
    unasync = _unasync_of(root)
    paths = [source, unasync.twin_of(source)] if "_async" in source.parts else [source]
    before = {path: path.read_bytes() for path in paths}
    try:
        _write(source, mutation.on(source.read_text()).encode())
        for twin in paths[1:]:
            _write(twin, unasync.convert(source, set()).encode())
        yield
    finally:
        for path, content in before.items():
            _write(path, content)
        # An example that showed one mutation would be tried first on the next.
        shutil.rmtree(root / ".hypothesis", ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    # Compiled code is told by seconds and size, which two changes may share.
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def _unasync_of(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("unasync", root / "tools" / "unasync.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
