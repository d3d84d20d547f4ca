"""The full tier leaves nothing out."""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "full"))
    import parts

    yield parts
    sys.modules.pop("parts")


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
