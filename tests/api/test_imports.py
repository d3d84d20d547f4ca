"""What importing costs, and which way imports go."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def modules_after(code: str, folder: Path) -> set[str]:
    """Give the modules that a fresh interpreter has loaded after some code."""
    report = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", report], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_sapwood_loads_next_to_nothing(tmp_path: Path) -> None:
    extra = modules_after("import sapwood", tmp_path) - modules_after("import typing", tmp_path)
    assert extra == {"sapwood", "sapwood._version", "__future__"}


def test_reading_streams_loads_no_vendor_and_no_loop(tmp_path: Path) -> None:
    code = "from sapwood.streaming import EventStream; list(EventStream(['x']))"
    assert not {"asyncio", "openai", "anthropic"} & modules_after(code, tmp_path)


def test_naming_the_sessions_loads_no_driver_and_no_loop(tmp_path: Path) -> None:
    code = "import sapwood; sapwood.open; sapwood.AsyncSession; sapwood.Message; sapwood.errors"
    assert not {"asyncio", "apsw", "sqlite3"} & modules_after(code, tmp_path)


@pytest.mark.parametrize("url", ["memory://", "sqlite:///a.db"])
def test_the_sync_twin_loads_no_event_loop(url: str, tmp_path: Path) -> None:
    code = (
        "import sapwood\n"
        f"with sapwood.open({url!r}) as sessions:\n"
        "    sessions.session('chat').append('user', 'hello')\n"
    )
    loaded = modules_after(code, tmp_path)
    assert "asyncio" not in loaded
    assert ("apsw" in loaded) is url.startswith("sqlite")


def test_imports_go_downwards_only() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
