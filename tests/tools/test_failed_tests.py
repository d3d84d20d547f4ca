"""What is tried again after a run of the tests that failed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "failed_tests.py"


def _note(root: Path, failed: list[str], skipped: list[str]) -> None:
    cache = root / ".pytest_cache" / "v"
    (cache / "cache").mkdir(parents=True)
    (cache / "sapwood").mkdir()
    (cache / "cache" / "lastfailed").write_text(json.dumps(dict.fromkeys(failed, True)))
    (cache / "sapwood" / "skipped").write_text(json.dumps(skipped))


def _run(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOOL, "--root", root, *options], capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("failed", "skipped", "code"),
    [
        ([], [], 1),
        (["t::a"], [], 0),
        (["t::a", "t::b", "t::c"], [], 1),
        (["t::a"], ["s"], 1),
        ([], ["s"], 1),
        (["gw1"], [], 1),
    ],
)
def test_a_few_that_failed_are_tried_again_unless_one_was_skipped(
    tmp_path: Path, failed: list[str], skipped: list[str], code: int
) -> None:
    _note(tmp_path, failed, skipped)
    told = _run(tmp_path, "--most", "2")
    assert told.returncode == code
    assert all(name in told.stdout for name in failed + skipped)
    if code == 0:
        assert _run(tmp_path, "--before").stdout.split() == failed


def test_what_an_earlier_run_left_is_forgotten(tmp_path: Path) -> None:
    _note(tmp_path, ["a"], ["s"])
    assert _run(tmp_path, "--forget").returncode == 0
    told = _run(tmp_path, "--most", "2")
    assert (told.returncode, told.stdout.split()) == (1, ["0", "failed:"])
