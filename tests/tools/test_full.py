"""The full tier leaves nothing out."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from pathlib import Path, PurePath
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "full"))
    import parts

    yield parts
    for name in ("parts", "files"):
        sys.modules.pop(name, None)


def test_every_file_of_tests_is_in_one_part(full: Any) -> None:
    files = {it.relative_to(ROOT) for it in (ROOT / "tests").rglob("test_*.py")}
    found = Counter(
        file
        for part in full.PARTS
        for path in part.paths
        for file in files
        if file.is_relative_to(path)
    )
    assert files - {*found} == set()
    assert [file for file, count in found.items() if count > 1] == []


def test_every_python_that_is_claimed_has_a_part(full: Any) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [it.rpartition(" :: ")[2] for it in project["classifiers"] if "Python :: 3." in it]
    assert named == [project["requires-python"].removeprefix(">="), *full.PYTHONS]


ASKED = {"rules", "redis", "mongodb", "stores", "surface", "python-3.13"}
"""A part of each kind."""


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ("src/sapwood/errors.py", ASKED),
        ("tests/contract/places.py", ASKED),
        ("tools/servers/install.py", ASKED),
        ("tests/rules/test_tree.py", {"rules", "surface", "python-3.13"}),
        ("docs/redis.md", {"rules", "stores", "surface", "python-3.13"}),
        ("README.md", {"surface", "python-3.13"}),
        ("src/sapwood/stores/redis/store.py", {"redis", "stores", "surface", "python-3.13"}),
        (
            "src/sapwood/stores/recordlog/x.py",
            {"rules", "mongodb", "stores", "surface", "python-3.13"},
        ),
        ("src/sapwood/cli/app.py", {"rules", "stores", "surface", "python-3.13"}),
        ("src/sapwood/session/x.py", {"rules", "stores", "surface", "python-3.13"}),
        ("tests/endpoint/server.py", {"rules", "stores", "surface", "python-3.13"}),
    ],
)
def test_a_part_runs_again_when_a_file_changed_that_it_rests_on(
    full: Any, changed: str, again: set[str]
) -> None:
    from files import fingerprint  # type: ignore[import-not-found]

    before = {PurePath(changed): "one", PurePath("pyproject.toml"): "same"}
    after = {**before, PurePath(changed): "other"}
    found = {it.name for it in full.PARTS if fingerprint(it, before) != fingerprint(it, after)}
    assert found & ASKED == again


def test_no_part_uses_what_it_does_not_rest_on(full: Any) -> None:
    """Or it would not run again when that changes."""
    from files import rests_on

    tops = {it.name for it in (ROOT / "tests").iterdir()}
    for part in full.PARTS:
        for file in _files_of(part):
            for name in _imported(file):
                here = name.split(".")
                root = ("src",) if here[0] == "sapwood" else ("tests",)
                if here[0] == "sapwood" or here[0] in tops:
                    for path in (PurePath(*root, *here, "x.py"), _module(*root, *here)):
                        assert rests_on(part, path), (part.name, file, name)


def _files_of(part: Any) -> list[Path]:
    found = [ROOT / it for it in part.paths]
    return [file for it in found for file in ([it] if it.is_file() else it.rglob("*.py"))]


def _module(*names: str) -> PurePath:
    return PurePath(*names[:-1], f"{names[-1]}.py")


def _imported(file: Path) -> list[str]:
    """Return the modules that a file imports, with their whole names."""
    package = file.relative_to(ROOT / "tests").parent.parts
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            found.append(".".join((*above, *([node.module] if node.module else ()))))
    return found
