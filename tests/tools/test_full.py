"""The full tier leaves nothing out."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ("src/sapwood/errors.py", {"rules", "redis", "stores", "surface", "python-3.13"}),
        ("tests/contract/places.py", {"rules", "redis", "stores", "surface", "python-3.13"}),
        ("tests/rules/test_tree.py", {"rules", "surface", "python-3.13"}),
        ("docs/redis.md", {"stores", "surface", "python-3.13"}),
        ("README.md", {"surface", "python-3.13"}),
    ],
)
def test_a_part_runs_again_when_a_file_changed_that_it_rests_on(
    full: Any, changed: str, again: set[str]
) -> None:
    from files import fingerprint  # type: ignore[import-not-found]

    before = {PurePath(changed): "one", PurePath("pyproject.toml"): "same"}
    after = {**before, PurePath(changed): "other"}
    found = {it.name for it in full.PARTS if fingerprint(it, before) != fingerprint(it, after)}
    asked = {"rules", "redis", "stores", "surface", "python-3.13"}
    assert found & asked == again


def test_no_part_uses_the_tests_of_another(full: Any) -> None:
    """Or it would not run again when these change."""
    used = re.compile(r"^from (\w[\w.]*\.test_\w+) import", re.MULTILINE)
    for part in full.PARTS:
        for file in (ROOT / "tests").rglob("*.py"):
            if any(file.relative_to(ROOT).is_relative_to(it) for it in part.paths):
                for name in used.findall(file.read_text()):
                    path = PurePath("tests", *name.split(".")).with_suffix(".py")
                    assert any(path.is_relative_to(it) for it in part.paths), file
