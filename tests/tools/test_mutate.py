"""Mutations are tried on the tests of a project, which stays as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(300)

TOOLS = Path(__file__).resolve().parents[2] / "tools"

RULES = """
def is_over(count, most):
    return count > most


def note(seen, item):
    seen.append(item)


def power(base, exponent):
    return pow(base, exponent)
"""
RULES_TESTED = """
import os

import pytest

from sapwood.rules.counting import is_over, power


def test_over():
    assert not is_over(1, 1)


@pytest.mark.skipif(os.environ.get("SAPWOOD_TESTS") != "full", reason="the full tier's")
def test_power():
    assert power(2, 3) == 8
"""
NOTE_TESTED = """
from sapwood.rules.counting import note


def test_note():
    seen = []
    note(seen, 1)
    assert seen
"""
WAITING = """
import os
import time
from pathlib import Path


def test_waiting():
    place = Path(os.environ["TMPDIR"])
    (place / "new").write_text(str(os.getpid()))
    (place / "new").rename(place / "pid")
    time.sleep(600)
"""
CONTEXT = "async def rest(items):\n    return items[1:]\n"
CONTEXT_TESTED = """
from sapwood.context._sync.resting import rest


def test_rest_of_the_twin():
    assert rest("abc") == "bc"
"""


def _write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def _mutate(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    tool = [sys.executable, "-B", root / "tools" / "mutate" / "run.py"]
    state = ["--state", root.parent / "state.json"]
    return subprocess.run([*tool, *state, *options], capture_output=True, text=True)


def _cells(told: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Give the last cell of the table by the one before it."""
    rows = [line.strip("| ").split(" | ") for line in told.stdout.splitlines() if line[:1] == "|"]
    return {row[3]: row[4] for row in rows[2:]}


def _state(root: Path) -> dict[Path, tuple[int, bytes]]:
    """Give the content of each file, and when it was written: also what was put back shows."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a small project with the names of this one."""
    root = tmp_path / "project"
    shutil.copytree(TOOLS / "mutate", root / "tools/mutate", ignore=lambda *_: {"__pycache__"})
    shutil.copy(TOOLS / "unasync.py", root / "tools")
    _write(
        root,
        {
            "src/sapwood/__init__.py": "",
            "src/sapwood/rules/counting.py": RULES,
            "src/sapwood/context/_async/resting.py": CONTEXT,
            "tests/rules/test_counting.py": RULES_TESTED,
            "tests/context/test_resting.py": CONTEXT_TESTED,
        },
    )
    subprocess.run([sys.executable, root / "tools" / "unasync.py"], check=True, capture_output=True)
    return root


def test_the_table_says_which_tier_catches_each_and_the_project_is_not_touched(
    project: Path,
) -> None:
    before = _state(project)
    told = _mutate(project, "--only", "rules,context", "--no-baseline")
    by_twin = "`tests/context/test_resting.py::test_rest_of_the_twin`"
    assert _cells(told) == {
        "`count > most` → `count >= most`": "`tests/rules/test_counting.py::test_over`",
        "`seen.append(item)` → `pass`": "survived",
        "`pow(base, exponent)` → `pow(exponent, base)`": (
            "only full: `tests/rules/test_counting.py::test_power`"
        ),
        "`1:` → `0:`": by_twin,
        "`1:` → `2:`": by_twin,
    }
    assert "5 mutations: 3 caught by the default tier, 1 by the full tier only, 1" in told.stdout
    assert told.returncode == 1
    assert _state(project) == before


def test_a_run_goes_on_where_it_ended_and_tries_again_what_it_is_asked_to(project: Path) -> None:
    options = ("--only", "rules", "--count", "2", "--no-baseline")
    over, note = "`count > most` → `count >= most`", "`seen.append(item)` → `pass`"
    by_over = "`tests/rules/test_counting.py::test_over`"
    assert _cells(_mutate(project, *options)) == {over: by_over, note: "survived"}

    (project / "tests/rules/test_counting.py").unlink()
    _write(project, {"tests/rules/test_noting.py": NOTE_TESTED})
    assert _cells(_mutate(project, *options)) == {over: by_over, note: "survived"}
    again = _mutate(project, *options, "--again")
    assert _cells(again) == {over: by_over, note: "`tests/rules/test_noting.py::test_note`"}
    assert again.returncode == 0


@pytest.mark.full
def test_tests_that_hang_have_noticed(project: Path) -> None:
    _write(
        project,
        {
            "src/sapwood/rules/counting.py": "def drain(a):\n    while a:\n        a.pop()\n",
            "tests/rules/test_counting.py": "from sapwood.rules.counting import drain\n\n\n"
            "def test_drain():\n    drain([1])\n",
        },
    )
    told = _mutate(project, "--only", "rules", "--no-baseline", "--limit", "5")
    assert _cells(told)["`a.pop()` → `pass`"].startswith("hung")


@pytest.mark.full
def test_a_run_that_is_ended_takes_its_tests_and_its_copy_along(project: Path) -> None:
    place = project.parent / "temporary"
    place.mkdir()
    _write(project, {"tests/rules/test_counting.py": WAITING})
    command = [sys.executable, "-B", project / "tools/mutate/run.py", "--only", "rules"]
    tool = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(place)})
    while not (place / "pid").exists():
        assert tool.poll() is None
        time.sleep(0.1)
    tool.terminate()
    assert tool.wait() != 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((place / "pid").read_text()), 0)
    assert [path.name for path in place.iterdir()] == ["pid"]


@pytest.mark.full
def test_tests_that_fail_without_a_mutation_or_do_not_run_are_told(project: Path) -> None:
    skipped = "import pytest\n\n\n@pytest.mark.skip\ndef test_skipped():\n    pass\n"
    for text, why in (
        ("def test_wrong():\n    assert False\n", "ended with tests/rules/test_counting.py::test"),
        (skipped, "had none to run"),
    ):
        _write(project, {"tests/rules/test_counting.py": text})
        told = _mutate(project, "--only", "rules")
        assert told.returncode == 1
        assert "without a mutation, the default tier's tests of rules" in told.stderr
        assert why in told.stderr


def test_a_package_that_is_not_known_is_told(project: Path) -> None:
    told = _mutate(project, "--only", "rules,cli")
    assert told.returncode == 1
    assert "--only takes some of rules, compaction" in told.stderr
